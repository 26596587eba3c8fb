// SPDX-License-Identifier: BSD-3-Clause
// Packets that we make: RST (RFC 9293 section 3.5.2, RFC 5961), ICMP unreachables (RFC 792, 1812,
// 4443). Pure; any lcore. `out` is an empty mbuf; its struct pkt is the caller's to set. All
// checksums are filled. -EMSGSIZE: no room; -EINVAL: cannot be built from this packet.
#ifndef SLUICE_CRAFT_H
#define SLUICE_CRAFT_H

#include <stdbool.h>
#include "pkt.h"

struct craft_reset {
	const uint8_t *l2; // L2 header of a packet that travels the same way; borrowed
	uint8_t l2_length;
	uint8_t link; // enum pkt_link
	bool pppoe;   // its last 8 bytes are a PPPoE session header: the length is set
	bool v6;
	uint8_t source[16]; // v4-mapped for IPv4
	uint8_t destination[16];
	uint16_t sport;
	uint16_t dport;
	uint32_t seq;
	uint32_t ack;
	uint8_t tcp_flags;
	uint8_t ttl;
};
int craft_reset(struct rte_mbuf *out, const struct craft_reset *spec);

// To the sender of `m`, as its receiver would refuse it: with its acknowledgement number as ours,
// or, without ACK, acknowledging it. Not in tunnels, nor for fragments or group addresses.
int craft_reset_reply(struct rte_mbuf *out, struct rte_mbuf *m);

// Port unreachable to the sender of the datagram `m`, quoting it; same exceptions.
int craft_unreachable(struct rte_mbuf *out, struct rte_mbuf *m);

#endif
