// SPDX-License-Identifier: BSD-3-Clause
// Inside app/classify: the torrents that a datagram names, whoever sends it: a query of the DHT for
// peers or to announce oneself (BEP 5), a node's samples (BEP 51), a request to a tracker (BEP 15),
// a handshake over uTP (BEP 3, 29). Pure; reads nothing beyond the datagram.
#ifndef SLUICE_BITTORRENT_IDS_H
#define SLUICE_BITTORRENT_IDS_H

#include "pipeline/vocab/content_id.h"
#include "pipeline/vocab/span.h"

// How many there are: the first `room` of them are in `ids`. They are claims: bytes at the places
// where ids stand.
unsigned bittorrent_datagram_ids(
	const struct span *datagram, struct content_id *ids, unsigned room);

#endif
