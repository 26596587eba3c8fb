// SPDX-License-Identifier: BSD-3-Clause
// Who is at the ends of a flow, and what a flow is called in records. The owning lcore only.
#ifndef SLUICE_FLOW_ENDS_H
#define SLUICE_FLOW_ENDS_H

#include "pipeline/flow/flow.h"
#include "pipeline/policy/frame_marks.h"

// Initiator and responder of a flow or stub, from its key.
void flow_ends_of(const union flow_key *key, uint16_t flags, struct flow_ends *ends);
// EVE flow_id: from the key and the start, so it is the same for a stub and the flow it becomes.
uint64_t flow_id_of(const union flow_key *key, bool v6, uint64_t start_ns);
// Source and destination of a packet as ends (initiator = its sender), from its own headers.
void packet_ends(struct rte_mbuf *m, struct flow_ends *ends);
// The uid of the user at the inside end, as the policy in force knows it; 0: nobody's address.
uint32_t flow_user_uid(
	const struct lcore *lcore, const struct flow_ends *ends, bool c2s_from_inside);

// The MAC address of the flow's inside end: of its first frame from inside, else of the first to
// the inside.
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

#endif
