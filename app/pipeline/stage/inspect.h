// SPDX-License-Identifier: BSD-3-Clause
// A flow under inspection, as it is handed between those who take part: its stream
// (inspect_tcp.h), and those who look at what it carries (inspect_payload.h).
#ifndef SLUICE_INSPECT_H
#define SLUICE_INSPECT_H

#include "reassembly/tcp_track.h"
#include "pipeline/stage/packet_ctx.h"

struct inspection {
	struct lcore *lcore;
	struct packet_ctx *ctx; // without a packet: of bytes that were kept
	struct flow *flow;
	struct flow_cold *cold;
	bool counted; // the packet at hand is counted against classification's budget
	bool doubted; // the span at hand is classified before it is fed to what was announced
};

// A datagram, in one piece, of a flow of which nobody but its decoder wants anything
// (packet_followed).
void inspect_followed(struct lcore *lcore, struct packet_ctx *ctx);

// The policy may drop packets of the flow.
static inline bool inspect_enforces(const struct lcore *lcore, const struct flow *flow)
{
	return lcore->policy->enforces && !(flow->flags & FLOW_ALLOWED);
}

#endif
