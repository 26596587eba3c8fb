// SPDX-License-Identifier: BSD-3-Clause
// Inside app/classify: what BitTorrent in clear says of other peers, for the endpoint cache
// endpoint_cache.h. Nodes and peers that the DHT lists (BEP 5, 32), peers of trackers (BEP 3, 7,
// 15, 23) and of peers (BEP 10, 11), and what a client says of the port that it listens on itself.
// Decoders (app_proto.h): no heap, no clock. What is reported was said by somebody who may lie.
#ifndef SLUICE_BITTORRENT_PEERS_H
#define SLUICE_BITTORRENT_PEERS_H

#include "classify/app_proto.h"

#define PEERS_PER_MESSAGE    128          // of one message; the rest is left out
#define PEERS_STREAM_BYTES64 (1ull << 20) // of a half of the peer wire that are followed

bool bittorrent_peers_datagram(
	const struct span *span, const struct flow_ends *ends, const struct decoder_sink *sink);
void bittorrent_peers_stream(struct decoder_state *state, const struct span *span,
	const struct flow_ends *ends, const struct decoder_sink *sink);

#endif
