// SPDX-License-Identifier: BSD-3-Clause
// UDP: what one side says first is a claim. A verdict that the other side has not confirmed is
// provisional: the flow takes the fast path, but the other side's first datagram, and datagrams 16,
// 64, 256 ... of the flow, are classified again, from the start and with a budget of their own.
// Where that finds another application by payload, the flow is decided again; else it stays what it
// was. When each side has sent the same application, the verdict is final. The owning lcore only.
#ifndef SLUICE_INSPECT_AGAIN_H
#define SLUICE_INSPECT_AGAIN_H

#include "pipeline/stage/inspect.h"

#define AGAIN_FIRST 16u        // datagrams of the flow until it is classified again; then fourfold
#define AGAIN_NEVER UINT32_MAX // struct flow.look_at: each side has confirmed the verdict

// Whether the next datagram, of `half`, is to be classified again (of a flow that is decided). What
// struct flow counts is of the datagrams before it.
static inline bool again_is_due(const struct flow *flow, unsigned half)
{
	return !flow->pkts[half] | (flow->pkts[0] + flow->pkts[1] + 1 >= flow->look_at);
}

// A datagram was counted: begins another classification if it is due.
void again_begin(struct lcore *lcore, struct packet_ctx *ctx);
// Classification has ended, by a datagram of `half`. True: it is the other side's first, and
// nothing that it says itself; it is the first of another classification, too.
bool again_settled(struct lcore *lcore, uint32_t ref, unsigned half);
// While `cold->again.on`: a datagram.
void again_look(struct inspection *in, const struct span *span);

#endif
