// SPDX-License-Identifier: BSD-3-Clause
// Packets that we make: RST (RFC 9293 section 3.5.2, RFC 5961) and other segments of TCP, ICMP
// unreachables (RFC 792, 1812, 4443). Pure; any lcore. `out` is an empty mbuf of one segment; its
// struct pkt is the caller's to set. All checksums are filled; Ethernet frames are at least 60
// bytes long (IEEE 802.3), the rest is zero. -EMSGSIZE: no room in `out`; -EINVAL: cannot be built
// from this packet. After an error `out` is as it was.
#ifndef SLUICE_CRAFT_H
#define SLUICE_CRAFT_H

#include <stdbool.h>
#include "pipeline/vocab/pkt.h"

struct craft_segment {
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
	uint16_t window; // as it stands on the wire
	bool stamped;    // with a timestamp (RFC 7323): where both ends send them, nothing without
	uint32_t ts_value; // one but a RST is taken
	uint32_t ts_echo;
	const uint8_t *payload; // borrowed
	uint16_t length;        // ... of it
};
int craft_segment(struct rte_mbuf *out, const struct craft_segment *spec);

// To the sender of `m` (parsed), as its receiver would refuse it (RFC 9293 section 3.10.7.1): with
// its acknowledgement number as ours and no ACK, or, without ACK, from 0 and acknowledging it. The
// L2 header is that of `m` with the MAC addresses swapped: VLAN tags and the PPPoE session are
// kept; MPLS labels belong to one direction, so -EINVAL. Not in tunnels, nor for fragments, group
// addresses, ICMP errors, nor for a RST.
int craft_reset_reply(struct rte_mbuf *out, struct rte_mbuf *m);

// The L2 header of such an answer alone, under the same conditions; `room` bytes for it.
int craft_l2_back(struct rte_mbuf *m, uint8_t *l2, uint16_t room, uint8_t *length);

// Port unreachable (ICMP type 3 code 3, ICMPv6 type 1 code 4) to the sender of the datagram `m`,
// quoting as much of it as fits 576 (RFC 1812 section 4.3.2.3) or 1280 bytes (RFC 4443 section 3.1)
// and `out`; same exceptions, and none about any ICMP.
int craft_unreachable(struct rte_mbuf *out, struct rte_mbuf *m);

#endif
