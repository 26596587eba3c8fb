// SPDX-License-Identifier: BSD-3-Clause
// The tracker state of a flow under inspection (reassembly/tcp_track.h): where it begins, what is
// asked of it, and where it ends. Segments are fed to it by inspect_tcp.h. The owning lcore only.
#ifndef SLUICE_INSPECT_TRACK_H
#define SLUICE_INSPECT_TRACK_H

#include <rte_prefetch.h>
#include "pipeline/stage/inspect.h"

// The flow's tracker state; NULL: it is not tracked.
static inline struct tcp_track *inspect_track(
	const struct lcore *lcore, const struct flow_cold *cold)
{
	return cold->track ? track_at(lcore->tracker, cold->track) : NULL;
}
// While packet `at` of a burst passes the stages: lines that later ones will need are sent for, if
// their flows are under inspection. First those that say where a flow is tracked, then its
// tracker's. Only a hint: a flow may end before its packet's turn comes.
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

// A flow that is not tracked gets its state, and begins where its halves are known to. NULL: there
// is none free.
struct tcp_track *inspect_begin(struct inspection *in);

// Number of the next byte that is to be looked at; of a flow that is not tracked, of what left.
uint32_t inspect_next(const struct lcore *lcore, uint32_t ref, unsigned half);
// What this packet changed of the edge to which the half's receiver got everything.
void inspect_released(struct lcore *lcore, uint32_t ref, unsigned half, const struct pkt *pkt);

// The job of the half is done: what was held since is processed again, a bounded number in each
// turn.
void inspect_resume(struct lcore *lcore, uint32_t ref, unsigned half);

// The policy passes the flow, and nothing looks at it any more. True: it can be final now; false:
// what was inspected is not all acknowledged, and is still compared with what comes again.
bool inspect_settled(struct lcore *lcore, uint32_t ref);
// A flow whose inspection is over is looked at again: its track begins with what comes next.
void inspect_again_from_here(struct lcore *lcore, uint32_t ref);
// Its tracker's state goes back; what it held is dropped. The report stays.
void inspect_end(struct lcore *lcore, uint32_t ref, enum drop_reason reason);

#endif
