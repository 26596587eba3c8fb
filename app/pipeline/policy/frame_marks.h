// SPDX-License-Identifier: BSD-3-Clause
// What rules may ask of a frame beside its addresses: the MAC address of its inside end, and its
// DSCP. Both are one sender's word. Read where an entry is made or decided, and, if a rule asks, of
// packets that have none.
#ifndef SLUICE_FRAME_MARKS_H
#define SLUICE_FRAME_MARKS_H

#include "pipeline/flow/flow.h"
#include "pipeline/vocab/pkt.h"

#define MAC_BYTES 6

// Of the inside end: the source of a frame from inside, the destination of another. NULL: the link
// has none, or it is a group's. Points into the frame or `buffer`.
static inline const uint8_t *frame_mac(
	struct rte_mbuf *m, bool from_inside, uint8_t buffer[MAC_BYTES])
{
	const uint8_t *mac;

	if (pkt_of(m)->link != LINK_ETHERNET)
		return NULL;
	mac = rte_pktmbuf_read(m, from_inside ? MAC_BYTES : 0, MAC_BYTES, buffer);
	return mac && !(mac[0] & 1) ? mac : NULL;
}

// Of the flow: of its first frame from inside, else of the first to the inside.
static inline const uint8_t *flow_mac(const struct flow *flow, const struct flow_cold *cold)
{
	unsigned inside = flow->flags & FLOW_C2S_INSIDE ? HALF_C2S : HALF_S2C;

	for (unsigned i = 0; i < 2; i++) {
		unsigned half = i ? !inside : inside;
		const struct flow_half *from = &cold->half[half];
		const uint8_t *mac = from->l2 + (i ? 0 : MAC_BYTES);

		if (flow->seen[half] & (SEEN_TEMPLATE | SEEN_MACS) && from->link == LINK_ETHERNET &&
			from->l2_length >= 2 * MAC_BYTES && !(mac[0] & 1))
			return mac;
	}
	return NULL;
}

// Of the IP header at `offset`; 0 where there is none.
static inline uint8_t frame_dscp(struct rte_mbuf *m, uint32_t offset)
{
	uint8_t buffer[2];
	const uint8_t *ip = rte_pktmbuf_read(m, offset, sizeof(buffer), buffer);

	if (!ip)
		return 0;
	return ip[0] >> 4 == 6 ? (uint8_t)((ip[0] << 2 | ip[1] >> 6) & 0x3f) : ip[1] >> 2;
}

#endif
