// SPDX-License-Identifier: BSD-3-Clause
// Sorts a segment's bytes into old, expected and ahead of a hole.
#include <netinet/tcp.h>
#include "pipeline/vocab/pkt.h"
#include "reassembly/track_work.h"

#define ONE_SIDED_KEPT 65536 // bytes behind `next` that are kept where no acknowledgement is seen

// What waits for a hole leaves room for what fills it, as copies do: else neither would ever leave.
static bool fills_up(const struct work *work)
{
	return work->result->ahead && !work->segment->resumed && !track_has_room(work, 1, true);
}

static void hold(struct work *work, bool news)
{
	struct tracker *tracker = work->tracker;
	struct tcp_half *half = work->half;
	const struct tcp_segment *segment = work->segment;

	bool full = tracker->n_held >= tracker->limits.held / (segment->unheard ? 2 : 1) ||
		    half->q2.n_held >= tracker->limits.half_held;
	// While copies are worked off packets leave as they came: a sender takes what is overtaken
	// for lost (RFC 8985). What waits for a hole, or for long, leaves in order.
	bool by_offset = !track_passes_ahead(tracker, work->track, half) ||
			 half->flags & (HALF_PROCESSING | HALF_GATED);
	enum hold_place place = by_offset          ? HOLD_BY_OFFSET
				: segment->resumed ? HOLD_FIRST
						   : HOLD_LAST;

	if (fills_up(work)) {
		track_no_room(work, track_limit_reason(work));
		return;
	}
	if (segment->keep_whole || (full && !segment->resumed) ||
		!q2_hold(&half->q2, &tracker->slab, work->start, work->bytes,
			(uint32_t)(work->end - work->start), place)) {
		work->result->target = STREAM_TARGET_HELD_LIMIT;
		track_no_room(work, DROP_HELD_LIMIT);
		return;
	}
	if (half->q2.n_held == 1)
		half->held_ns = segment->now_ns;
	tracker->n_held++;
	if (!segment->resumed)
		stream_report_add16(&half_report(work->track, half)->held_pkts, 1);
	if (!work->track->on_holding) {
		work->track->on_holding = true;
		TAILQ_INSERT_TAIL(&tracker->holding, work->track, holding);
	}
	if (half->top < work->end)
		half->top = work->end;
	work->result->verdict = TRACK_HELD;
	// a FIN behind held bytes is not reported: it takes its place in the stream
	work->result->ack_due = news && !segment->resumed;
	work->result->ack_seq = half_seq(half, half->sent);
}

static bool is_fin(const struct segment *held)
{
	return pkt_of(held->m)->tcp_flags & TH_FIN;
}

static void note_old(const struct work *work, uint32_t bytes)
{
	work->result->old += bytes;
	stream_report_add32(&half_report(work->track, work->half)->duplicate_bytes, bytes);
}

// Its bytes are others than those of packets that are held, which came first. What was consumed is
// not theirs to tell.
static bool contradicts_held(struct work *work)
{
	uint64_t from = RTE_MAX(work->start, RTE_MIN(work->half->next, work->end));
	const struct payload bytes = {
		work->bytes.m, work->bytes.at + (uint32_t)(from - work->start)};
	struct q2_compared seen =
		q2_held_compare(&work->half->q2, from, bytes, (uint32_t)(work->end - from));
	uint32_t others = (uint32_t)(work->end - work->start) - work->result->old;

	note_old(work, RTE_MIN(seen.known, others)); // what is kept ahead of a hole is counted
	if (!seen.differ)
		return false;
	if (!work->result->differ)
		work->result->differ_at = seen.first;
	work->result->differ += seen.differ;
	work->result->verdict = TRACK_DROP;
	work->result->reason = DROP_CONFLICT;
	return true;
}

static void sort_closing(const struct work *work)
{
	work->result->verdict = TRACK_DROP;
	work->result->reason = DROP_HELD_CLOSED;
}

// It is like all that is held, and waits, too.
static void join_held(struct work *work, bool news)
{
	struct tcp_half *half = work->half;
	uint32_t length = (uint32_t)(work->end - work->start);
	bool fin = work->segment->tcp_flags & TH_FIN;
	const struct segment *same = q2_held_covers(&half->q2, work->start, length);

	if (same && (length || fin) && (!fin || is_fin(same))) {
		work->result->verdict = TRACK_ABSORBED;
		work->result->ack_due = news;
		work->result->ack_seq = half_seq(half, half->sent);
		return;
	}
	hold(work, news);
}

// While the half waits for a verdict.
static void sort_waiting(struct work *work, bool news)
{
	const struct tcp_half *half = work->half;

	if (half->flags & HALF_CLOSING) {
		sort_closing(work);
		return;
	}
	if (work->end <= half->sent && !(work->segment->tcp_flags & TH_FIN)) {
		work->result->known = (uint32_t)(work->end - work->start);
		return; // of bytes that have left
	}
	if (!contradicts_held(work))
		join_held(work, news);
}

// Ahead of a hole.
static void sort_ahead(struct work *work, bool news)
{
	struct tcp_half *half = work->half;
	const struct tcp_segment *segment = work->segment;
	uint64_t at = work->start;

	work->result->ahead = true;
	if (!track_passes_ahead(work->tracker, work->track, half) && segment->enforces &&
		!segment->resumed) {
		if (half->flags & HALF_CLOSING)
			sort_closing(work);
		else
			join_held(work, news);
		return;
	}
	if (!track_has_room(work, q2_blocks_for((uint32_t)(work->end - at)) + 2, true)) {
		track_no_room(work, track_limit_reason(work));
		return;
	}
	while (at < work->end) {
		const struct segment *kept = q2_at(&half->q2, at);
		uint64_t until = kept && kept->start < work->end ? kept->start : work->end;

		if (kept && kept->start <= at) {
			at = kept->start + kept->length;
			continue;
		}
		// a segment of many small parts between kept ones takes a block for each
		if (slab_free(&work->tracker->slab) < q2_blocks_for((uint32_t)(until - at))) {
			work->result->target = STREAM_TARGET_REASSEMBLY_MEMORY;
			track_no_room(work, DROP_STREAM_MEMORY);
			return;
		}
		q2_keep(&half->q2, &work->tracker->slab, SEGMENT_COPY, at,
			(struct payload){
				work->bytes.m, work->bytes.at + (uint32_t)(at - work->start)},
			(uint32_t)(until - at));
		work->result->copied = true;
		at = until;
	}
	stream_report_copied(
		work->track->report, segment->half, (uint64_t)half->q2.n_copies * SEGMENT_BYTES);
}

// From `next` on: to the consumer, with the copies that lie in it and behind it.
static void take_in_order(struct work *work)
{
	struct tcp_half *half = work->half;
	const struct tcp_segment *segment = work->segment;
	bool keeps =
		track_has_room(work, q2_blocks_for((uint32_t)(work->end - half->next)) + 2, false);

	if (!keeps) {
		track_no_room(work, track_limit_reason(work));
		if (segment->enforces)
			return;
	}
	half->flags |= HALF_TAKEN;
	while (half->next < work->end && !(half->flags & HALF_PROCESSING && segment->enforces)) {
		struct segment *kept = half->q2.n_copies ? q2_at(&half->q2, half->next) : NULL;

		if (kept && kept->start <= half->next) {
			if (!stream_copy(work->tracker, work->track, half, kept, work->consumer))
				break;
			continue;
		}
		uint64_t until = kept && kept->start < work->end ? kept->start : work->end;
		struct payload bytes = {
			work->bytes.m, work->bytes.at + (uint32_t)(half->next - work->start)};
		const struct span span = {
			.half = segment->half,
			.flags = span_flags(half),
			.offset64 = half->next,
			.extent = (uint32_t)(until - half->next),
		};

		enum consumed consumed =
			work->consumer->take_packet(work->consumer->ctx, &span, bytes);

		if (!stream_obey(half, consumed)) {
			if (consumed == CONSUMED_LATER && segment->enforces)
				break; // it is held
			work->result->verdict = TRACK_DROP;
			work->result->reason = DROP_UNCLASSIFIED;
			return;
		}
		if (keeps && !MUTATED(FORGOTTEN))
			q2_keep(&half->q2, &work->tracker->slab, SEGMENT_SENT, half->next, bytes,
				span.extent);
		half->next = until;
		work->result->taken = true;
	}
	stream_drain(work->tracker, work->track, half, work->consumer);
	if (unlikely(half->q2.edits != NULL))
		track_edit_packet(work);
	if (segment->one_sided && !work->tracker->keep_acked && half->next > ONE_SIDED_KEPT)
		q2_forget(&half->q2, &work->tracker->slab, half->next - ONE_SIDED_KEPT,
			FORGET_BUDGET);
}

static bool ends_with_fin(const struct work *work)
{
	return work->segment->tcp_flags & TH_FIN;
}

// It is inspected, and may not leave yet.
static bool stops_at_gate(const struct work *work)
{
	return work->segment->enforces && work->result->verdict == TRACK_FORWARD &&
	       !work->result->waived && half_stops(work->half, work->end, ends_with_fin(work));
}

// It waits for a short time: what it says of the other half can wait as long.
static void stop_at_gate(struct work *work)
{
	hold(work, false);
	if (stream_releasable(work->half))
		track_put_releasing(work->tracker, work->track, work->half);
}

// Consumed, and then forwarded, held or dropped: what was consumed and did not leave is known by
// `sent` and `unsent`.
static void take(struct work *work, bool news)
{
	struct tcp_half *half = work->half;
	uint64_t before = half->next;

	take_in_order(work);
	if (work->segment->enforces && work->result->verdict == TRACK_FORWARD &&
		!work->result->waived &&
		(half->next < work->end || half->flags & HALF_PROCESSING ||
			half->fin_due == half->next + 1 || stream_copy_at_next(half))) {
		// it would complete what waits for a verdict, or what is behind it is not inspected
		// yet: it stops here
		track_put_resuming(work->tracker, work->track, half);
		hold(work, news);
	} else if (stops_at_gate(work)) {
		stop_at_gate(work);
	}
	if (half->next > before && work->result->verdict != TRACK_FORWARD)
		half->unsent = work->end < half->next ? work->end : half->next;
}

// Its place in the stream is where the first one that left, or is in order, had it.
static void note_fin(const struct work *work)
{
	struct tcp_half *half = work->half;

	if (half->fin_due && half->fin_due <= half->next)
		half->fin_due = 0; // bytes came behind it: it was none
	if (work->segment->tcp_flags & TH_FIN && !(half->flags & HALF_FIN_TOLD) && !half->fin_due &&
		work->end >= half->next)
		half->fin_due = work->end + work->segment->cut + 1;
}

// A FIN without new bytes before it.
static void take_fin(struct work *work, bool news)
{
	struct tcp_half *half = work->half;
	bool looked_at = stream_fin(work->track, half, work->consumer);

	if (!work->segment->enforces || (looked_at && !(half->flags & HALF_PROCESSING)))
		return;
	track_put_resuming(work->tracker, work->track, half);
	hold(work, news);
}

static void note_sent(const struct work *work)
{
	struct tcp_half *half = work->half;
	const struct segment *held = TAILQ_FIRST(&half->q2.held);

	if (work->start <= half->sent && half->sent < work->end)
		half->sent = work->end < half->next ? work->end : half->next;
	if (half->sent < half->unsent) // others wait; what lies before them may have left
		half->sent = q2_left_ahead(&half->q2, half->sent);
	if (half->sent >= half->unsent) // the rest left ahead of it
		half->sent = half->next;
	// without fast pass: what waited for this
	if (!held || held->start > half->next || half->flags & HALF_RESUMING)
		return;
	if (!(half->flags & HALF_GATED))
		track_put_resuming(work->tracker, work->track, half);
	else if (stream_releasable(half))
		track_put_releasing(work->tracker, work->track, half);
}

// Bytes that were consumed and then lost leave in order: `sent` says up to where the receiver may
// have them, and is what its acknowledgements are held against.
static bool out_of_turn(const struct work *work)
{
	const struct tcp_half *half = work->half;

	if (work->start <= half->sent || work->start >= half->unsent)
		return false;
	work->result->verdict = TRACK_DROP;
	work->result->reason = DROP_NOT_TAKEN;
	return true;
}

// What follows for a segment that differs from what was sent, or repeats what was edited.
static void obey_compared(
	struct work *work, const struct q2_compared *seen, uint32_t length, bool rewrites)
{
	const struct tcp_segment *segment = work->segment;
	struct track_result *result = work->result;

	result->differ = seen->differ;
	result->differ_at = seen->first;
	if (!segment->enforces)
		return;
	result->edited = seen->edited;
	if (!rewrites && (seen->differ || !track_can_write(segment))) {
		result->verdict = TRACK_DROP;
		result->reason = seen->differ ? DROP_CONFLICT : DROP_NOT_TAKEN;
		return;
	}
	if (!rewrites) // no conflict: it repeats what was edited
		q2_compare(&work->half->q2, work->start, work->bytes, length, true);
	result->rewritten = true;
}

static void compare_old(struct work *work)
{
	const struct tcp_segment *segment = work->segment;
	struct tcp_half *half = work->half;
	uint64_t end = work->end;

	if (half->flags & HALF_FREE && end > half->free_from)
		end = half->free_from;
	if (MUTATED(TAIL))
		end--;
	if (MUTATED(NO_COMPARE) || !half->q2.n_blocks || end <= work->start)
		return;
	if (unlikely(half->q2.edits != NULL) && !track_make_edits(work))
		return;
	bool rewrites = segment->enforces && track_can_write(segment) && segment->rewrites &&
			(segment->resumed || !half_waits(half));
	uint32_t length = (uint32_t)(end - work->start);
	struct q2_compared seen = q2_compare(&half->q2, work->start, work->bytes, length, rewrites);

	work->result->known = seen.known;
	if (unlikely(seen.differ || seen.edited))
		obey_compared(work, &seen, length, rewrites);
}

// Bytes that came before: those that were consumed, and those that are kept ahead of a hole.
static void count_old(const struct work *work)
{
	struct tcp_half *half = work->half;
	uint64_t from = RTE_MAX(work->start, RTE_MIN(half->next, work->end));
	uint32_t old = (uint32_t)(from - work->start);

	if (half->q2.n_copies && from < work->end) {
		const struct payload ahead = {work->bytes.m, work->bytes.at + old};

		old += q2_compare(&half->q2, from, ahead, (uint32_t)(work->end - from), false)
			       .known;
	}
	note_old(work, old);
}

// All of it was inspected, and stands at the gate.
static bool repeats_what_stops(const struct work *work)
{
	const struct tcp_half *half = work->half;

	return stops_at_gate(work) && !work->segment->resumed && work->end <= half->next &&
	       !(ends_with_fin(work) && half_awaits_fin(half, work->end));
}

// A capture has cut its end: that never comes, and nobody waits for it.
static void skip_cut(struct work *work)
{
	struct tcp_half *half = work->half;

	if (likely(!work->segment->cut) || half->next != work->end)
		return;
	stream_gap(work->track, half, work->end + work->segment->cut, SPAN_CUT, work->consumer);
	if (half->top < half->next)
		half->top = half->next;
	stream_drain(work->tracker, work->track, half, work->consumer);
	half->sent = half->next;
}

void track_sort(struct work *work, bool news)
{
	struct tcp_half *half = work->half;
	const struct tcp_segment *segment = work->segment;
	compare_old(work);
	if (!segment->resumed)
		count_old(work);
	if (work->result->verdict != TRACK_FORWARD)
		return;
	if (segment->enforces && half_waits(half) && !segment->resumed && !MUTATED(OVERTAKEN)) {
		sort_waiting(work, news);
		return;
	}
	if (repeats_what_stops(work)) {
		sort_waiting(work, news);
		return;
	}
	if (segment->enforces && out_of_turn(work))
		return;
	if (half->flags & HALF_FREE) {
		if (half->top < work->end)
			half->top = work->end;
		note_sent(work);
		return;
	}
	// without fast pass, what came ahead of a hole is held
	if (half->q2.n_held && !segment->resumed && segment->enforces && contradicts_held(work))
		return;
	bool ahead = work->start > half->next;

	if (ahead)
		sort_ahead(work, news);
	if (work->result->verdict == TRACK_FORWARD)
		note_fin(work);
	if (!ahead && work->end > half->next)
		take(work, news);
	else if (half->fin_due == half->next + 1)
		take_fin(work, news);
	if (!ahead && stops_at_gate(work))
		stop_at_gate(work);
	if (work->result->verdict != TRACK_FORWARD)
		return;
	if (half->top < work->end)
		half->top = work->end;
	note_sent(work);
	skip_cut(work);
	stream_give_up(work->tracker, work->track, half, work->consumer, segment->one_sided,
		!segment->enforces);
}
