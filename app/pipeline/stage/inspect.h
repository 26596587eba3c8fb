// SPDX-License-Identifier: BSD-3-Clause
// Between the stream of a flow and those who look at it: classifier, decoder, scan engine. The
// owning lcore only.
#ifndef SLUICE_INSPECT_H
#define SLUICE_INSPECT_H

#include <netinet/in.h>
#include "pipeline/vocab/span.h"
#include "reassembly/tcp_track.h"
#include "pipeline/stage/packet_ctx.h"

struct inspection {
	struct lcore *lcore;
	struct packet_ctx *ctx; // without a packet: of bytes that were kept
	struct flow *flow;
	struct flow_cold *cold;
	bool counted; // the packet at hand is counted against classification's budget
};

// The policy may drop packets of the flow.
static inline bool inspect_enforces(const struct lcore *lcore, const struct flow *flow)
{
	return lcore->policy->enforces && !(flow->flags & FLOW_ALLOWED);
}

// Counts what became of the walk's segment, and tells what is an anomaly. `expected`: the offset
// of the half's next byte before it.
void inspect_report(const struct inspection *in, const struct tcp_track *track, uint64_t expected,
	const struct track_result *result);

// Before a packet of the walk's flow is looked at: where classifier states, tracker states or
// memory are used up, flows that rank lower end (reason forced), and such that rest for long. What
// comes of them next begins a new entry, and is looked at as such.
void inspect_end_others(struct lcore *lcore, const struct packet_ctx *ctx);
static inline void inspect_make_room(struct lcore *lcore, const struct packet_ctx *ctx)
{
	const struct flow *flow = flow_at(lcore->flows, ctx->ref);
	bool room = classifier_feeds(lcore->classifier, ctx->ref, flow_class_rank[flow->lru_class]);

	if (flow->l4_proto == IPPROTO_TCP)
		room &= lcore->tracker->n_free && !track_is_scarce(lcore->tracker);
	if (unlikely(!room))
		inspect_end_others(lcore, ctx);
}
// The flow gets this rank (flow.h).
void inspect_rank(struct lcore *lcore, uint32_t ref, unsigned rank);

// The stage's TCP half (pipeline/stage/inspect.c).
enum verdict inspect_tcp(struct lcore *lcore, struct packet_ctx *ctx);

// Halves that resume, worked off once per turn: packets that were held come free one by one, and
// each is walked (the stages from reload on) before the next, as it may end its flow.
#define INSPECT_WORK_BUDGET 128 // held packets and copies worked off in one turn
struct inspect_work {
	struct tcp_track *track; // at which it is; NULL: the next that resumes
	unsigned budget;         // INSPECT_WORK_BUDGET at first; what is left of it
	uint32_t ref, gen;       // of its flow
	enum half half;
	bool more; // the half has more to work off
};
// The next packet that comes free, of work->ref and work->half. NULL: none in this turn.
struct rte_mbuf *inspect_release(struct lcore *lcore, struct inspect_work *work);
// Once per turn: drops what is held for too long.
void inspect_age(struct lcore *lcore);

// The flow ends: what lies behind holes is looked at.
void inspect_finish(struct lcore *lcore, uint32_t ref);
// How a half of the flow stands. False: it is not tracked, or not any more.
bool inspect_look(const struct lcore *lcore, uint32_t ref, unsigned half, struct stream_look *look);
// A packet that was held was dropped.
void inspect_dropped(struct lcore *lcore, struct rte_mbuf *m, enum drop_reason reason);
// The gauges of reassembly.
void inspect_publish(struct lcore *lcore);
// Packets that are held. The keeper's part of pipeline_held.
unsigned inspect_held(const struct lcore *lcore);

#endif
