// SPDX-License-Identifier: BSD-3-Clause
// What rules may ask of a frame beside its addresses: the MAC address of its inside end, and its
// DSCP. Both are one sender's word. Read where an entry is made or decided, and, if a rule asks, of
// packets that have none.
#ifndef SLUICE_FRAME_MARKS_H
#define SLUICE_FRAME_MARKS_H

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
