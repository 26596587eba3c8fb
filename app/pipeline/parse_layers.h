// SPDX-License-Identifier: BSD-3-Clause
// Between the files of the parser. A cursor never passes its end: have() comes before every read.
#ifndef SLUICE_PARSE_LAYERS_H
#define SLUICE_PARSE_LAYERS_H

#include <stdbool.h>
#include "parse.h"

#define TYPE_IPV4 0x0800
#define TYPE_IPV6 0x86dd

struct cursor {
	const uint8_t *bytes;
	uint32_t length;       // readable
	uint32_t frame_length; // of the whole frame, at least `length`
	uint32_t offset;
};

// Moves to the network layer; PKT_IP when it is there, with pkt->ethertype set.
enum pkt_class parse_link(struct pkt *pkt, struct cursor *c);
// From an IP header of pkt->ethertype's family on, through tunnels.
enum pkt_class parse_network(struct pkt *pkt, struct cursor *c);

#endif
