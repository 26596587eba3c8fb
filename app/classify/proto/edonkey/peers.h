// SPDX-License-Identifier: BSD-3-Clause
// Inside app/classify: what eDonkey, eMule and Kad in clear say of other clients, for the endpoint
// cache: contacts and sources that Kad nodes list, sources that servers and clients list, and where
// a client says that it listens itself. A later connection to one of them is named even if it is
// obfuscated. Decoders (app_proto.h): no heap, no clock. What is reported was said by somebody who
// may lie. What came compressed is not looked into.
#ifndef SLUICE_EDONKEY_PEERS_H
#define SLUICE_EDONKEY_PEERS_H

#include "classify/app_proto.h"

#define EDONKEY_PEERS_PER_MESSAGE 128             // of one message; the rest is left out
#define EDONKEY_STREAM_BYTES64    (256ull * 1024) // of a half that are followed

bool edonkey_peers_datagram(
	const struct span *span, const struct flow_ends *ends, const struct decoder_sink *sink);
void edonkey_peers_stream(struct decoder_state *state, const struct span *span,
	const struct flow_ends *ends, const struct decoder_sink *sink);

#endif
