// SPDX-License-Identifier: BSD-3-Clause
// Decides who gives up what inspection needs: states of the classifier, of the tracker, blocks of
// memory. The flow ends as a whole, as it does when the flow table is full: what comes of it next
// is a new entry, so it is classified again, and never passes for what it was.
#include "pipeline/stage/inspect_room.h"
#include <netinet/in.h>
#include "pipeline/stage/inspect_track.h"

// A flow of the same rank may be ended, too, if it has rested for so long: undecided ones that wait
// for ever would else keep out all others. What is refused is sent again meanwhile (TCP).
#define ROOM_IDLE_NS (10 * NS_PER_S)
#define ROOM_LOOKS   4  // at flows of the same rank
#define ROOM_ENDS    16 // flows that are ended for the memory of one packet

typedef bool oldest_fn(const struct lcore *lcore, unsigned rank, uint32_t *ref);
typedef void younger_fn(struct lcore *lcore, uint32_t ref, unsigned rank);

static bool oldest_state(const struct lcore *lcore, unsigned rank, uint32_t *ref)
{
	return classifier_oldest(lcore->classifier, rank, ref);
}

static bool oldest_track(const struct lcore *lcore, unsigned rank, uint32_t *ref)
{
	return track_oldest(lcore->tracker, rank, ref);
}

static void younger_state(struct lcore *lcore, uint32_t ref, unsigned rank)
{
	const struct flow *flow = flow_at(lcore->flows, ref);

	classifier_rank(lcore->classifier, flow->classify_state, rank);
	classifier_rank(lcore->classifier, flow->decoder_state, rank);
}

static void younger_track(struct lcore *lcore, uint32_t ref, unsigned rank)
{
	struct tcp_track *track = inspect_track(lcore, flow_cold_at(lcore->flows, ref));

	if (track)
		track_rank(lcore->tracker, track, rank);
}

static void end(struct lcore *lcore, uint32_t ref)
{
	lcore->stats.flows_evicted++;
	lcore->stats.inspections_evicted++;
	flow_end_entry(lcore, ref, FLOW_STEP_EVICT);
}

static bool rests(const struct lcore *lcore, uint32_t ref)
{
	return lcore->now_ns > flow_at(lcore->flows, ref)->last_ns + ROOM_IDLE_NS;
}

// For `own`, which has that rank. Of what was not heard the oldest goes, whatever it does.
static void end_lowest(
	struct lcore *lcore, uint32_t own, unsigned rank, oldest_fn *oldest, younger_fn *younger)
{
	uint32_t ref;

	for (unsigned below = 0; below < rank || below <= FLOW_RANK_UNHEARD; below++) {
		if (!oldest(lcore, below, &ref) || ref == own)
			continue;
		end(lcore, ref);
		return;
	}
	for (unsigned i = 0; i < ROOM_LOOKS && oldest(lcore, rank, &ref) && ref != own; i++) {
		if (rests(lcore, ref)) {
			end(lcore, ref);
			return;
		}
		younger(lcore, ref, rank);
	}
}

// The oldest that is tracked, which may keep no bytes. False: there is none but `own`.
static bool end_unheard_track(struct lcore *lcore, uint32_t own)
{
	uint32_t ref;

	for (unsigned low = 0; low <= FLOW_RANK_UNHEARD; low++)
		if (oldest_track(lcore, low, &ref) && ref != own) {
			end(lcore, ref);
			return true;
		}
	return false;
}

void inspect_end_others(struct lcore *lcore, const struct packet_ctx *ctx)
{
	const struct flow *flow = flow_at(lcore->flows, ctx->ref);
	unsigned rank = flow_class_rank[flow->lru_class];

	if (!classifier_states_free(lcore->classifier))
		end_lowest(lcore, ctx->ref, rank, oldest_state, younger_state);
	if (flow->l4_proto != IPPROTO_TCP)
		return;
	if (!lcore->tracker->n_free)
		end_lowest(lcore, ctx->ref, rank, oldest_track, younger_track);
	for (unsigned i = 0; i < ROOM_ENDS && track_is_scarce(lcore->tracker); i++)
		if (!end_unheard_track(lcore, ctx->ref))
			break;
}

void inspect_rank(struct lcore *lcore, uint32_t ref, unsigned rank)
{
	younger_state(lcore, ref, rank);
	younger_track(lcore, ref, rank);
}
