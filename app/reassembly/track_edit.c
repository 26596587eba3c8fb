// SPDX-License-Identifier: BSD-3-Clause
// Takes edits from consumers, and makes them in what is kept and in what leaves.
#include "reassembly/track_work.h"

bool track_can_write(const struct tcp_segment *segment)
{
	return !segment->keep_whole && rte_mbuf_refcnt_read(segment->m) == 1;
}

void track_edits(struct tracker *tracker, struct tcp_track *track, unsigned halves)
{
	unsigned changed = track->edits ^ halves;

	track->edits = (uint8_t)halves;
	for (unsigned i = 0; changed >> i; i++) {
		struct tcp_half *half = &track->half[i];

		if (!(changed >> i & 1) || !half->q2.n_held)
			continue;
		// what waits for a hole need not wait any longer; what leaves by offset is listed
		// so
		if (track_passes_ahead(tracker, track, half))
			track_put_resuming(tracker, track, half);
		else
			q2_held_order(&half->q2);
	}
}

// Where only one side is seen nobody tells until when an edit must be remembered.
static bool can_edit(const struct tracker *tracker, const struct tcp_track *track, unsigned half)
{
	const struct tcp_segment *segment = tracker->at_hand;

	return track->edits >> half & 1 && segment && segment->half == half && segment->enforces &&
	       !segment->one_sided && track_can_write(segment);
}

enum edit_answer track_edit(struct tracker *tracker, struct tcp_track *track, unsigned which_half,
	const struct stream_edit *edits, unsigned n)
{
	struct tcp_half *half = &track->half[which_half & 1];
	const struct tcp_segment *segment = tracker->at_hand;

	if (!can_edit(tracker, track, which_half & 1))
		return EDIT_LEFT;
	uint64_t end = (uint64_t)track_offset(half, segment->seq) + segment->length;

	for (unsigned i = 0; i < n; i++)
		if (!edits[i].length || edits[i].offset64 < half->left ||
			edits[i].offset64 + edits[i].length > end)
			return EDIT_LEFT;
	if (!edits_add(&half->q2, &tracker->slab, edits, n))
		return EDIT_NO_ROOM;
	track->edited |= (uint8_t)(1u << (which_half & 1));
	return EDIT_TAKEN;
}

bool track_make_edits(const struct work *work)
{
	struct tcp_half *half = work->half;

	if (!work->segment->enforces) { // every packet leaves as it came
		edits_forget(&half->q2, &work->tracker->slab);
		return true;
	}
	if (edits_make(&half->q2, &work->tracker->slab, half->next))
		return true;
	work->track->report->dropped |= 1u << STREAM_TARGET_REASSEMBLY_MEMORY;
	work->result->target = STREAM_TARGET_REASSEMBLY_MEMORY;
	work->result->full = true;
	work->result->verdict = TRACK_DROP;
	work->result->reason = DROP_STREAM_MEMORY;
	return false;
}

void track_edit_packet(const struct work *work)
{
	struct tcp_half *half = work->half;
	uint64_t end = RTE_MIN(work->end, half->next);

	if (!track_make_edits(work) || end <= work->start)
		return;
	struct q2_compared seen = q2_compare(
		&half->q2, work->start, work->bytes, (uint32_t)(end - work->start), true);

	work->result->edited += seen.edited;
	work->result->rewritten |= seen.edited > 0;
}
