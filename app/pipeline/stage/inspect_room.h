// SPDX-License-Identifier: BSD-3-Clause
// Which flows give up what inspection needs when it runs out: states of the classifier and of the
// tracker, blocks of memory. The owning lcore only.
#ifndef SLUICE_INSPECT_ROOM_H
#define SLUICE_INSPECT_ROOM_H

#include <netinet/in.h>
#include "pipeline/stage/inspect.h"

// Before a packet of the packet's flow is looked at: where classifier states, tracker states or
// memory are used up, flows that rank lower end (reason forced), and such that rest for long. What
// comes of them next begins a new entry, and is looked at as such.
void inspect_end_others(struct lcore *lcore, const struct packet_ctx *ctx);
// What is fed from here on is the flow's: states that it takes are ended with it. False: no state
// is free. Before whatever feeds the classifier or a decoder.
static inline bool inspect_owns(struct lcore *lcore, uint32_t ref)
{
	const struct flow *flow = flow_at(lcore->flows, ref);

	return classifier_feeds(lcore->classifier, ref, flow_class_rank[flow->lru_class]);
}
static inline void inspect_make_room(struct lcore *lcore, const struct packet_ctx *ctx)
{
	const struct flow *flow = flow_at(lcore->flows, ctx->ref);
	bool room = inspect_owns(lcore, ctx->ref);

	if (flow->l4_proto == IPPROTO_TCP)
		room &= lcore->tracker->n_free && !track_is_scarce(lcore->tracker);
	if (unlikely(!room))
		inspect_end_others(lcore, ctx);
}
// The flow gets this rank (flow.h).
void inspect_rank(struct lcore *lcore, uint32_t ref, unsigned rank);

#endif
