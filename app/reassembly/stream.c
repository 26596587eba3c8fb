// SPDX-License-Identifier: BSD-3-Clause
// Delivers the bytes of a half to its consumer in order, with gaps where bytes are missing.
#include <netinet/tcp.h>
#include "pipeline/vocab/pkt.h"
#include "reassembly/track_work.h"

#define ONE_SIDED_AHEAD 65536 // bytes ahead of a hole after which it is given up there
#define PATIENT_AHEAD   16384 // the same where its bytes were acknowledged and nobody waits

bool stream_obey(struct tcp_half *half, enum consumed consumed)
{
	if (consumed == CONSUMED_HOLD)
		half->flags |= HALF_PROCESSING;
	return consumed < CONSUMED_NOTHING;
}

bool stream_copy(struct tracker *tracker, struct tcp_track *track, struct tcp_half *half,
	struct segment *copy, const struct stream_consumer *consumer)
{
	const struct span span = {
		.half = (uint8_t)half_which(track, half),
		.flags = span_flags(half),
		.offset64 = half->next,
		.unchecked = copy->bytes + (half->next - copy->start),
		.extent = (uint32_t)(copy->start + copy->length - half->next),
	};

	half->flags |= HALF_TAKEN;
	if (!MUTATED(COPIES) && !stream_obey(half, consumer->take(consumer->ctx, &span)))
		return false;
	half->next += span.extent;
	q2_sent(&half->q2, &tracker->slab, copy);
	return true;
}

struct segment *stream_copy_at_next(struct tcp_half *half)
{
	struct segment *at = half->q2.n_copies ? q2_at(&half->q2, half->next) : NULL;

	return at && at->start <= half->next && at->kind == SEGMENT_COPY ? at : NULL;
}

bool stream_fin(
	struct tcp_track *track, struct tcp_half *half, const struct stream_consumer *consumer)
{
	if (half->fin_due != half->next + 1 || half->flags & (HALF_PROCESSING | HALF_FREE))
		return true;
	const struct span span = {
		.half = (uint8_t)half_which(track, half),
		.flags = (uint8_t)(span_flags(half) | SPAN_FIN),
		.offset64 = half->next,
	};

	if (!stream_obey(half, consumer->take(consumer->ctx, &span)))
		return false;
	half->fin_due = 0;
	half->flags |= HALF_FIN_TOLD;
	return true;
}

void stream_drain(struct tracker *tracker, struct tcp_track *track, struct tcp_half *half,
	const struct stream_consumer *consumer)
{
	struct segment *copy;

	for (unsigned budget = TRACK_DRAIN_BUDGET; (copy = stream_copy_at_next(half));) {
		if (half->flags & (HALF_PROCESSING | HALF_FREE))
			return;
		// what could not be looked at now is tried again in later turns
		if (!budget-- || !stream_copy(tracker, track, half, copy, consumer)) {
			track_put_resuming(tracker, track, half);
			return;
		}
	}
	if (!stream_fin(track, half, consumer))
		track_put_resuming(tracker, track, half);
}

void stream_gap(struct tcp_track *track, struct tcp_half *half, uint64_t until, uint8_t flags,
	const struct stream_consumer *consumer)
{
	uint64_t length = until - half->next;

	stream_report_gap(
		track->report, half_which(track, half), (uint32_t)RTE_MIN(length, UINT32_MAX));
	while (length) {
		uint32_t here = length < UINT32_MAX ? (uint32_t)length : UINT32_MAX;
		const struct span span = {
			.half = (uint8_t)half_which(track, half),
			.flags = (uint8_t)(span_flags(half) | SPAN_GAP | flags),
			.offset64 = half->next,
			.extent = here,
		};

		stream_obey(half, consumer->take(consumer->ctx, &span));
		half->next += here;
		length -= here;
	}
	half->flags |= HALF_TAKEN;
}

void stream_give_up(struct tracker *tracker, struct tcp_track *track, struct tcp_half *half,
	const struct stream_consumer *consumer, bool one_sided, bool patient)
{
	unsigned budget = TRACK_DRAIN_BUDGET;
	struct segment *first;

	while (half->q2.n_copies && !half_waits(half) && !(half->flags & HALF_FREE) &&
		(first = q2_at(&half->q2, half->next)) && first->start > half->next) {
		uint64_t ahead = half->top - half->next;
		bool acked = half->acked >= first->start && (!patient || ahead > PATIENT_AHEAD);

		if (!acked && !(one_sided && ahead > ONE_SIDED_AHEAD))
			return;
		// one acknowledgement may be of thousands; where nothing is enforced nobody could
		// be made to wait for the rest
		if (!patient && !budget--) {
			track_put_resuming(tracker, track, half);
			return;
		}
		stream_gap(track, half, first->start, 0, consumer);
		stream_drain(tracker, track, half, consumer);
		half->sent = half->next;
	}
}

void track_resume(struct tracker *tracker, struct tcp_track *track, unsigned half)
{
	track->half[half].flags &= (uint32_t)~HALF_PROCESSING;
	track_put_resuming(tracker, track, &track->half[half]);
}

struct segment *stream_releasable(const struct tcp_half *half)
{
	struct segment *held;

	TAILQ_FOREACH (held, &half->q2.held, link) {
		uint64_t end = held->start + held->length;
		bool fin = pkt_of(held->m)->tcp_flags & TH_FIN;
		bool inspected = end <= half->next && !(fin && half_awaits_fin(half, end));

		if (held->start <= half->next && (!inspected || !half_stops(half, end, fin)))
			return held;
		if (held->start > half->next)
			break;
	}
	return NULL;
}

void track_gate(
	struct tracker *tracker, struct tcp_track *track, unsigned which_half, uint64_t gate64)
{
	struct tcp_half *half = &track->half[which_half];
	bool was = half->flags & HALF_GATED;

	if (gate64 == TRACK_GATE_NONE) {
		half->flags &= (uint32_t) ~(HALF_GATED | HALF_RELEASING);
		if (was && half->q2.n_held)
			track_put_resuming(tracker, track, half);
		return;
	}
	if (was && gate64 <= half->gate)
		return;
	half->flags |= HALF_GATED;
	half->gate = gate64;
	if (stream_releasable(half))
		track_put_releasing(tracker, track, half);
}

struct rte_mbuf *track_work(struct tracker *tracker, struct tcp_track *track, unsigned which_half,
	uint64_t now_ns, const struct stream_consumer *consumer, bool *more)
{
	struct tcp_half *half = &track->half[which_half];
	struct segment *held;

	*more = false;
	if (half->flags & HALF_PROCESSING || !(half->flags & (HALF_RESUMING | HALF_RELEASING)))
		return NULL;
	uint64_t before = half->next;

	stream_drain(tracker, track, half, consumer);
	if (half->flags & HALF_PROCESSING)
		return NULL;
	if (stream_copy_at_next(half)) {
		*more = half->next > before; // else it cannot be looked at in this turn
		return NULL;
	}
	bool gated = half->flags & HALF_GATED;

	half->flags &= (uint32_t) ~(HALF_RESUMING | HALF_RELEASING);
	held = gated ? stream_releasable(half) : TAILQ_FIRST(&half->q2.held);
	if (!held || (!track_passes_ahead(tracker, track, half) && held->start > half->next)) {
		stream_give_up(tracker, track, half, consumer, false, false);
		*more = half_waits(half) && !(half->flags & HALF_PROCESSING) && half->next > before;
		return NULL;
	}
	half->flags |= gated ? HALF_RELEASING : HALF_RESUMING;
	track_note_hold(track, half, now_ns);
	half->held_ns = now_ns;
	tracker->n_held--;
	*more = true;
	return q2_unhold(&half->q2, &tracker->slab, held);
}

void track_finish(struct tracker *tracker, struct tcp_track *track, unsigned which_half,
	const struct stream_consumer *consumer)
{
	struct tcp_half *half = &track->half[which_half];
	struct segment *first;

	if (half->flags & HALF_FREE)
		return;
	half->flags &= (uint32_t) ~(HALF_PROCESSING | HALF_RESUMING);
	while (half->q2.n_copies && (first = q2_at(&half->q2, half->next))) {
		if (first->start > half->next)
			stream_gap(track, half, first->start, 0, consumer);
		if (first->kind != SEGMENT_COPY ||
			!stream_copy(tracker, track, half, first, consumer))
			break;
	}
}

bool track_has_work(const struct tcp_track *track)
{
	for (unsigned i = 0; i < 2; i++) {
		uint32_t flags = track->half[i].flags;

		if (flags & (HALF_RESUMING | HALF_RELEASING) && !(flags & HALF_PROCESSING))
			return true;
	}
	return false;
}
