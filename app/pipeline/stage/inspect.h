// SPDX-License-Identifier: BSD-3-Clause
// Between the stream of a flow and those who look at it: classifier, decoder, scan engine. The
// owning lcore only.
#ifndef SLUICE_INSPECT_H
#define SLUICE_INSPECT_H

#include <netinet/in.h>
#include <rte_prefetch.h>
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

// The flow's tracker state; NULL: it is not tracked.
static inline struct tcp_track *inspect_track(
	const struct lcore *lcore, const struct flow_cold *cold)
{
	return cold->track ? track_at(lcore->tracker, cold->track) : NULL;
}
// While packet `at` of a burst is walked: lines that later ones will need are sent for, if their
// flows are under inspection. First those that say where a flow is tracked, then its tracker's.
// Only a hint: a flow may end before its packet's turn comes.
#define INSPECT_COLD_AHEAD  6 // packets
#define INSPECT_TRACK_AHEAD 2
static inline bool inspect_needs(const struct lcore *lcore, uint32_t ref)
{
	return !(ref & FLOW_REF_STUB || flow_at(lcore->flows, ref)->flags & FLOW_FINAL);
}
static inline void inspect_fetch(
	const struct lcore *lcore, const struct flow_lookup *lookups, unsigned n, unsigned at)
{
	unsigned far = at + INSPECT_COLD_AHEAD, near = at + INSPECT_TRACK_AHEAD;

	if (far < n && inspect_needs(lcore, lookups[far].ref)) {
		const struct flow_cold *cold = flow_cold_at(lcore->flows, lookups[far].ref);

		rte_prefetch0(&cold->half[0].window_scale);
		rte_prefetch0(&cold->half[1].window_scale);
		rte_prefetch0(&cold->report);
		rte_prefetch0(&cold->track);
	}
	if (near < n && inspect_needs(lcore, lookups[near].ref)) {
		const struct tcp_track *track =
			inspect_track(lcore, flow_cold_at(lcore->flows, lookups[near].ref));

		for (size_t i = 0; track && i < sizeof(*track); i += RTE_CACHE_LINE_SIZE)
			rte_prefetch0((const char *)track + i);
	}
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

// Number of the next byte that is to be looked at; of a flow that is not tracked, of what left.
uint32_t inspect_next(const struct lcore *lcore, uint32_t ref, unsigned half);
// What this packet changed of the edge to which the half's receiver got everything.
void inspect_released(struct lcore *lcore, uint32_t ref, unsigned half, const struct pkt *pkt);

// The job of the half is done: what was held since is walked again, a bounded number in each turn.
void inspect_resume(struct lcore *lcore, uint32_t ref, unsigned half);
// Once per turn: works off halves that resume, drops what is held for too long. What was done: an
// lcore that still has some of it to do is not idle.
unsigned inspect_turn(struct lcore *lcore);

// The policy passes the flow, and nothing looks at it any more. True: it can be final now; false:
// what was inspected is not all acknowledged, and is still compared with what comes again.
bool inspect_settled(struct lcore *lcore, uint32_t ref);
// The flow ends: what lies behind holes is looked at.
void inspect_finish(struct lcore *lcore, uint32_t ref);
// Its tracker's state goes back; what it held is dropped. The report stays.
void inspect_end(struct lcore *lcore, uint32_t ref, enum drop_reason reason);

// How a half of the flow stands. False: it is not tracked, or not any more.
bool inspect_look(const struct lcore *lcore, uint32_t ref, unsigned half, struct stream_look *look);
// A packet that was held was dropped.
void inspect_dropped(struct lcore *lcore, struct rte_mbuf *m, enum drop_reason reason);
// The gauges of reassembly.
void inspect_publish(struct lcore *lcore);
// Packets that are held. The keeper's part of pipeline_held.
unsigned inspect_held(const struct lcore *lcore);

#endif
