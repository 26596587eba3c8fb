// SPDX-License-Identifier: BSD-3-Clause
// Creates the tracker of an lcore, assigns and frees its connections, and enforces its limits.
#include <string.h>
#include <rte_malloc.h>
#include "reassembly/track_work.h"

#define SMALL_WINDOW 40 // blocks: 64 KiB, and what the ends of segments waste

// Of `blocks`, copies leave so many to what is in order: else what fills their hole would find no
// room, and nothing would ever leave.
static uint32_t less_reserve(uint32_t blocks, uint32_t of)
{
	uint32_t reserve = of / 8 + 4; // a large segment at least

	return blocks > reserve ? blocks - reserve : 0;
}

bool track_has_room(const struct work *work, uint32_t blocks, bool ahead)
{
	const struct tracker *tracker = work->tracker;
	uint32_t of_half = tracker->limits.half_blocks, of_all = slab_free(&tracker->slab);

	if (ahead) {
		of_half = less_reserve(of_half, of_half);
		of_all = less_reserve(of_all, tracker->slab.n);
	}
	const struct slab *slab = &tracker->slab;
	bool half_full = work->half->q2.n_blocks + blocks > of_half;

	// as much as all others leave of three quarters: however many have holes, one more finds
	// room
	if (ahead && slab->copies + work->half->q2.n_copies + blocks > slab->n - slab->n / 4)
		of_all = 0;

	// what nobody acknowledges: as much as all others leave of three quarters, or a small
	// window
	uint32_t kept = work->half->q2.n_blocks + blocks;

	if (!ahead && !work->half->q2.n_copies && kept > SMALL_WINDOW &&
		kept + slab->n / 4 > of_all)
		of_all = 0;
	if (!half_full && blocks <= of_all)
		return true;
	work->result->target =
		half_full ? STREAM_TARGET_HALF_LIMIT : STREAM_TARGET_REASSEMBLY_MEMORY;
	return false;
}

void track_no_room(const struct work *work, enum drop_reason reason)
{
	const struct tcp_segment *segment = work->segment;
	struct stream_report *report = work->track->report;
	uint8_t target = (uint8_t)(1u << work->result->target);

	work->result->full = true;
	if (!segment->enforces) {
		report->ignored |= target;
	} else if (segment->passes_limits) {
		report->passed |= target;
		work->result->waived = true;
	} else {
		report->dropped |= target;
		work->result->verdict = TRACK_DROP;
		work->result->reason = reason;
	}
}

enum drop_reason track_limit_reason(const struct work *work)
{
	return work->result->target == STREAM_TARGET_HALF_LIMIT ? DROP_STREAM_LIMIT
								: DROP_STREAM_MEMORY;
}

static void put(struct tracker *tracker, struct tcp_track *track)
{
	if (track->on_resuming)
		return;
	track->on_resuming = true;
	TAILQ_INSERT_TAIL(&tracker->resuming, track, resuming);
}

void track_put_resuming(struct tracker *tracker, struct tcp_track *track, struct tcp_half *half)
{
	half->flags |= HALF_RESUMING;
	put(tracker, track);
}

void track_put_releasing(struct tracker *tracker, struct tcp_track *track, struct tcp_half *half)
{
	half->flags |= HALF_RELEASING;
	put(tracker, track);
}

void track_drop_held(struct tracker *tracker, struct tcp_half *half, enum drop_reason reason)
{
	struct rte_mbuf *m;

	while ((m = q2_unhold(&half->q2, &tracker->slab, TAILQ_FIRST(&half->q2.held)))) {
		tracker->n_held--;
		tracker->drop(tracker->ctx, m, reason);
	}
}

void track_note_hold(const struct tcp_track *track, const struct tcp_half *half, uint64_t now_ns)
{
	if (now_ns > half->held_ns)
		stream_report_hold(track->report, half_which(track, half), now_ns - half->held_ns);
}

unsigned track_age(struct tracker *tracker, uint64_t now_ns, unsigned budget)
{
	struct tcp_track *track, *first = NULL;
	uint32_t before = tracker->n_held;

	while (budget-- && (track = TAILQ_FIRST(&tracker->holding)) && track != first) {
		bool holds = false;

		for (unsigned i = 0; i < 2; i++) {
			struct tcp_half *half = &track->half[i];

			if (!half->q2.n_held)
				continue;
			if (now_ns < half->held_ns + tracker->limits.hold_ns) {
				holds = true;
				continue;
			}
			track_note_hold(track, half, now_ns);
			track_drop_held(tracker, half, DROP_HELD_TIMEOUT);
		}
		TAILQ_REMOVE(&tracker->holding, track, holding);
		track->on_holding = holds;
		if (!holds)
			continue;
		// one that holds anew all the time must not keep the others from their turn
		TAILQ_INSERT_TAIL(&tracker->holding, track, holding);
		if (!first)
			first = track;
	}
	return before - tracker->n_held;
}

static void init(struct tcp_track *track)
{
	memset(track, 0, sizeof(*track));
	q2_init(&track->half[0].q2);
	q2_init(&track->half[1].q2);
}

uint32_t track_take(struct tracker *tracker, uint32_t flow, struct stream_report *report)
{
	if (!tracker->n_free)
		return TRACK_NONE;
	uint32_t index = tracker->free[--tracker->n_free];
	struct tcp_track *track = track_at(tracker, index);

	init(track);
	track->flow = flow;
	track->report = report;
	TAILQ_INSERT_TAIL(&tracker->of_rank[0], track, age);
	return index;
}

void track_rank(struct tracker *tracker, struct tcp_track *track, unsigned rank)
{
	TAILQ_REMOVE(&tracker->of_rank[track->rank], track, age);
	track->rank = (uint8_t)rank;
	TAILQ_INSERT_TAIL(&tracker->of_rank[rank], track, age);
}

void track_give(struct tracker *tracker, uint32_t index, enum drop_reason reason)
{
	struct tcp_track *track = track_at(tracker, index);

	for (unsigned i = 0; i < 2; i++) {
		track_drop_held(tracker, &track->half[i], reason);
		q2_forget(&track->half[i].q2, &tracker->slab, UINT64_MAX, UINT32_MAX);
		edits_forget(&track->half[i].q2, &tracker->slab);
	}
	if (track->on_resuming)
		TAILQ_REMOVE(&tracker->resuming, track, resuming);
	if (track->on_holding)
		TAILQ_REMOVE(&tracker->holding, track, holding);
	TAILQ_REMOVE(&tracker->of_rank[track->rank], track, age);
	track->report = NULL;
	tracker->free[tracker->n_free++] = index;
}

struct tracker *tracker_new(const struct tracker_limits *limits, int socket)
{
	struct tracker *tracker = rte_zmalloc_socket("tracker", sizeof(*tracker), 64, socket);

	if (!tracker)
		return NULL;
	tracker->limits = *limits;
	TAILQ_INIT(&tracker->resuming);
	TAILQ_INIT(&tracker->holding);
	for (unsigned i = 0; i < TRACK_RANKS; i++)
		TAILQ_INIT(&tracker->of_rank[i]);
	tracker->memory =
		rte_malloc_socket("slab", (size_t)limits->blocks * SLAB_BLOCK, 64, socket);
	tracker->tracks = rte_zmalloc_socket(
		"tracks", sizeof(struct tcp_track) * (limits->tracks + 1ull), 64, socket);
	tracker->free = rte_zmalloc_socket(
		"tracks", sizeof(uint32_t) * (limits->tracks + 1ull), 64, socket);
	if (!tracker->memory || !tracker->tracks || !tracker->free) {
		tracker_free(tracker);
		return NULL;
	}
	slab_init(&tracker->slab, tracker->memory, limits->blocks);
	for (uint32_t i = limits->tracks; i > 0; i--)
		tracker->free[tracker->n_free++] = i;
	return tracker;
}

void tracker_free(struct tracker *tracker)
{
	if (!tracker)
		return;
	rte_free(tracker->memory);
	rte_free(tracker->tracks);
	rte_free(tracker->free);
	rte_free(tracker);
}
