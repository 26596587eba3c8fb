// SPDX-License-Identifier: BSD-3-Clause
// Gnutella 0.6 connections in clear: a PUSH asks the servent behind a firewall to connect to who
// wants the file (descriptor 0x40: servent, index, address, port), and what then comes begins with
// "GIV index:servent/name". A half that is deflated after its handshake is not read.
#ifndef SLUICE_GNUTELLA_PUSH_H
#define SLUICE_GNUTELLA_PUSH_H

#include "classify/app_proto.h"

void gnutella_push_decode(struct decoder_state *state, const struct span *span,
	const struct flow_ends *ends, const struct decoder_sink *sink);
bool gnutella_push_datagram(
	const struct span *span, const struct flow_ends *ends, const struct decoder_sink *sink);

#endif
