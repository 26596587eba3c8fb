// SPDX-License-Identifier: BSD-3-Clause
// Processes a segment: what of it is new, and whether it is forwarded, held or dropped.
#include <netinet/tcp.h>
#include "reassembly/track_work.h"

#ifdef SLUICE_MUTATIONS
enum track_mutation track_mutation;
#endif

void half_start(struct tcp_half *half, uint32_t seq)
{
	half->base = seq;
	half->next = half->sent = half->unsent = half->acked = half->top = half->left = 0;
	// inspection that is over does not begin again because its half begins late
	half->flags = HALF_STARTED | (half->flags & (HALF_PACKET | HALF_STAMPED | HALF_TIMESTAMP |
							    HALF_FREE | HALF_DIFFER));
	half->free_from = 0;
	half->fin_due = 0;
}

void track_syn(struct tcp_half *half, uint32_t seq)
{
	if (half->flags & HALF_STARTED && half->base != seq + 1)
		half->flags |= HALF_DIFFER;
	if (!(half->flags & HALF_TAKEN) && !half->q2.n_blocks && !half->q2.n_held)
		half_start(half, seq + 1);
}

bool track_restart(
	struct tracker *tracker, struct tcp_track *track, unsigned which_half, uint32_t seq)
{
	struct tcp_half *half = &track->half[which_half];

	if (half->flags & HALF_BEHIND_SYN || half->q2.n_held)
		return false;
	q2_forget(&half->q2, &tracker->slab, UINT64_MAX, UINT32_MAX);
	edits_forget(&half->q2, &tracker->slab);
	half_start(half, seq + 1);
	half->flags &= (uint32_t)~HALF_FREE; // what takes the place of its payload is looked at
	half->flags |= HALF_KNOWN;
	return true;
}

void track_unseen(struct tcp_track *track)
{
	for (unsigned i = 0; i < 2; i++)
		if (track->half[i].flags & HALF_STARTED) {
			track->half[i].flags |= HALF_UNSEEN;
			track->half[i].flags &= (uint32_t) ~(HALF_EDGE | HALF_TIMESTAMP);
		}
}

// No receiver can have more: what is held has not left, and was maybe not even inspected. With the
// number of a FIN.
static uint64_t end_of_sent(const struct tcp_half *half)
{
	const struct segment *held = TAILQ_FIRST(&half->q2.held);

	if (half->unsent > half->sent)
		return half->sent;
	if (!held || held->start >= half->left)
		return half->left;
	return held->start > half->sent ? held->start : half->sent;
}

// It acknowledges no more than has left (RFC 9293 section 3.10.7.4: else the segment is not taken),
// nothing before the first byte, and no less than the largest window ago: some receivers take that,
// those of RFC 5961 section 5 do not.
// Nothing that it says is passed on in the header of a held packet. Where nothing is enforced,
// packets may be missing here that its sender has seen: a mirror, a capture. Of a half whose first
// bytes passed before we looked, its receiver may have more than has come since: that is not
// believed, but its sender must learn it, or it sends the same again until it gives up.
static bool ack_was_sent(const struct tcp_half *other, const struct tcp_segment *segment)
{
	if (!(segment->tcp_flags & TH_ACK) || !(other->flags & HALF_STARTED) ||
		other->flags & HALF_UNSEEN || !segment->enforces)
		return true;
	int64_t ack = track_offset(other, segment->ack);

	if (ack + (int64_t)TRACK_WINDOW_MAX < (int64_t)other->acked ||
		(ack < 0 && !(other->flags & HALF_MIDSTREAM)))
		return false;
	return ack <= (int64_t)end_of_sent(other) ||
	       (other->flags & HALF_MIDSTREAM && ack > (int64_t)other->top);
}

// Of several SYNs with different numbers, its receiver took the one that it acknowledges. Only with
// its own next number, and before a byte was sent. Where all SYNs had one number, what acknowledges
// another one is of nothing that was sent.
static void learn_base(
	const struct tcp_half *half, struct tcp_half *other, const struct tcp_segment *segment)
{
	if (!(segment->tcp_flags & TH_ACK) || !(other->flags & HALF_DIFFER) ||
		!(other->flags & HALF_STARTED) ||
		other->flags & (HALF_TAKEN | HALF_KNOWN | HALF_MIDSTREAM | HALF_UNSEEN) ||
		other->left || other->q2.n_blocks || other->q2.n_held ||
		segment->ack == other->base || !(half->flags & HALF_STARTED) ||
		segment->seq != half_seq(half, half->next))
		return;
	half_start(other, segment->ack);
}

static bool is_beyond(const struct tcp_half *half, const struct tcp_segment *segment)
{
	if (!(half->flags & HALF_STARTED) || half->flags & HALF_UNSEEN)
		return false;
	int64_t at = track_offset(half, segment->seq);

	return half->flags & HALF_EDGE ? at > (int64_t)half->edge
				       : at - (int64_t)half->next > (int64_t)TRACK_WINDOW_MAX;
}

// Its receiver looks at what it says: it is not all of what was acknowledged long ago. Whoever does
// not know the numbers can claim nothing (RFC 5961 section 5).
static bool is_heard(const struct tcp_half *half, const struct tcp_segment *segment)
{
	if (!(half->flags & HALF_STARTED) || half->flags & HALF_UNSEEN)
		return true;
	return track_offset(half, segment->seq) + (int64_t)segment->length >= (int64_t)half->acked;
}

// What the sender says of the other half.
static void hear(const struct work *work)
{
	const struct tcp_segment *segment = work->segment;
	struct tcp_half *other = &work->track->half[!segment->half];

	if (!(segment->tcp_flags & TH_ACK) || segment->astray || !(other->flags & HALF_STARTED))
		return;
	int64_t ack = track_offset(other, segment->ack);
	uint32_t window = segment->tcp_flags & TH_SYN ? segment->window
						      : (uint32_t)segment->window << segment->scale;

	if (ack < 0 || ((uint64_t)ack > end_of_sent(other) && !(other->flags & HALF_UNSEEN)))
		return; // of nothing that was sent
	if (segment->has_timestamp && segment->tsecr &&
		(!(other->flags & HALF_TIMESTAMP) || seq_lt(other->ts_recent, segment->tsecr))) {
		other->ts_recent = segment->tsecr;
		other->flags |= HALF_TIMESTAMP;
	}
	other->flags |= HALF_KNOWN;
	if (!(other->flags & HALF_EDGE) || (uint64_t)ack + window > other->edge) {
		other->edge = (uint64_t)ack + window;
		other->flags |= HALF_EDGE;
	}
	if ((uint64_t)ack <= other->acked)
		return;
	other->acked = (uint64_t)ack;
	if (!work->tracker->keep_acked)
		q2_forget(&other->q2, &work->tracker->slab,
			other->acked < other->next ? other->acked : other->next, FORGET_BUDGET);
	stream_give_up(
		work->tracker, work->track, other, work->consumer, false, !segment->enforces);
}

// The newest of what this half's sender says, for packets that are held meanwhile. True: its
// receiver would learn something from it.
static bool note_newest(
	struct tcp_half *half, const struct tcp_half *other, const struct tcp_segment *segment)
{
	bool first = !(half->flags & HALF_PACKET), news = first;

	if (!(segment->tcp_flags & TH_ACK))
		return false;
	if (first || seq_lt(half->newest_ack, segment->ack)) {
		half->newest_ack = segment->ack;
		news = true;
	}
	if (segment->ack == half->newest_ack && half->newest_window != segment->window) {
		half->newest_window = segment->window;
		news = true;
	}
	if (segment->has_timestamp) {
		bool stamped = half->flags & HALF_STAMPED;

		if (!stamped || seq_lt(half->newest_tsval, segment->tsval)) {
			half->newest_tsval = segment->tsval;
			// to a sender that waits for an acknowledgement it would be a duplicate
			news |= other->acked >= other->top;
		}
		if (!stamped || seq_lt(half->newest_tsecr, segment->tsecr))
			half->newest_tsecr = segment->tsecr;
		half->flags |= HALF_STAMPED;
	}
	half->flags |= HALF_PACKET;
	return news;
}

static void refuse(struct track_result *result, const struct tcp_segment *segment)
{
	result->refused = true;
	if (!segment->enforces)
		return;
	result->verdict = TRACK_DROP;
	result->reason = DROP_NOT_TAKEN;
}

// In the window it is believed, but it ends no inspection: only at its exact number a receiver is
// bound to obey it (RFC 5961 section 3).
static void take_reset(const struct work *work)
{
	struct tcp_half *half = work->half;

	if (work->segment->astray) {
		refuse(work->result, work->segment);
		return;
	}
	if (!(half->flags & HALF_STARTED))
		return;
	int64_t at = track_offset(half, work->segment->seq);

	if (at < (int64_t)half->acked || at - (int64_t)half->next > (int64_t)TRACK_WINDOW_MAX ||
		(half->flags & HALF_EDGE && at > (int64_t)half->edge)) {
		work->result->refused = true; // and ignored by its receiver: it may pass
		return;
	}
	half->flags |= HALF_CLOSING;
	if (MUTATED(RESET))
		track_set_free(work->tracker, work->track);
	track_drop_held(work->tracker, half, DROP_HELD_CLOSED);
}

static void note_left(struct tcp_half *half, uint64_t end)
{
	if (half->left < end)
		half->left = end;
}

void track_fin_first(struct tcp_half *half)
{
	half->flags |= HALF_FIN;
	half->fin = 0;
	note_left(half, 1);
}

static bool is_old_time(const struct tcp_half *half, const struct tcp_segment *segment)
{
	return segment->has_timestamp && half->flags & HALF_TIMESTAMP &&
	       seq_lt(segment->tsval, half->ts_recent);
}

// Where the half goes on after packets passed unseen.
static void go_on(const struct work *work)
{
	struct tcp_half *half = work->half;
	uint32_t behind = half_seq(half, half->next) - work->segment->seq;

	if (behind && behind <= half->next)
		return; // one of before, again
	half->flags &= (uint32_t)~HALF_UNSEEN;
	if (!behind)
		return; // none were missed
	uint64_t until = half->next + (uint32_t)-behind;

	half->flags |= HALF_MIDSTREAM;
	track_drop_held(work->tracker, half, DROP_HELD_CLOSED);
	q2_forget(&half->q2, &work->tracker->slab, UINT64_MAX, UINT32_MAX);
	edits_forget(&half->q2, &work->tracker->slab);
	stream_gap(work->track, half, until, 0, work->consumer);
	half->acked = half->top = half->left = half->sent = until;
	half->unsent = 0;
}

// False: no receiver takes it, and the result says so.
static bool place(struct work *work)
{
	const struct tcp_segment *segment = work->segment;
	struct tcp_half *half = work->half;

	// payload of a SYN that is not the first octets is of a SYN that its receiver challenges
	bool again = segment->tcp_flags & TH_SYN && half->flags & HALF_STARTED &&
		     segment->seq != half->base;

	if (segment->astray || again || !(segment->tcp_flags & (TH_ACK | TH_SYN)) ||
		!ack_was_sent(&work->track->half[!segment->half], segment)) {
		refuse(work->result, segment);
		return false;
	}
	if (!(half->flags & HALF_STARTED)) {
		half_start(half, segment->seq);
		half->flags |= HALF_MIDSTREAM;
	}
	if (half->flags & HALF_UNSEEN)
		go_on(work);
	int64_t at = track_offset(half, segment->seq), end = at + segment->length;
	// a keep-alive's octet may lie before the first byte, once its receiver has said where that
	// is; what goes on from there is of a connection with another beginning
	bool octet = half->flags & HALF_KNOWN && at == -1 && end <= 0;
	bool early = at < 0 && !octet && !(half->flags & HALF_MIDSTREAM);

	if (early || is_beyond(half, segment) ||
		(half->flags & HALF_FIN && end > (int64_t)half->fin && half->acked > half->fin)) {
		refuse(work->result, segment);
		return false;
	}
	if (is_old_time(half, segment)) {
		work->result->paws = true;
		refuse(work->result, segment);
		return false;
	}
	work->bytes = (struct payload){segment->m, segment->payload_at};
	work->start = at < 0 ? 0 : (uint64_t)at;
	work->end = end < 0 ? 0 : (uint64_t)end;
	if (at < 0) // of before the first byte: its receiver has it, or it is a keep-alive's octet
		work->bytes.at += (uint32_t)RTE_MIN(-at, (int64_t)segment->length);
	return true;
}

static void take_fin(const struct work *work)
{
	struct tcp_half *half = work->half;
	uint64_t last = half->flags & HALF_FREE ? half->top : half->next;

	if (work->result->verdict == TRACK_FORWARD && work->end == last &&
		!(half->flags & HALF_FIN)) {
		half->flags |= HALF_FIN;
		half->fin = work->end;
	}
}

struct track_result track_segment(struct tracker *tracker, struct tcp_track *track,
	const struct tcp_segment *segment, const struct stream_consumer *consumer)
{
	struct track_result result = {.verdict = TRACK_FORWARD};
	struct work work = {
		.tracker = tracker,
		.track = track,
		.half = &track->half[segment->half],
		.segment = segment,
		.consumer = consumer,
		.result = &result,
	};

	if (segment->tcp_flags & TH_RST) {
		take_reset(&work);
		return result;
	}
	if (!segment->astray)
		learn_base(work.half, &track->half[!segment->half], segment);
	if (!segment->length && !(segment->tcp_flags & TH_FIN)) {
		if (is_beyond(work.half, segment) ||
			!ack_was_sent(&track->half[!segment->half], segment)) {
			refuse(&result, segment);
			return result;
		}
		if (!is_heard(work.half, segment))
			return result;
		if (!is_old_time(work.half, segment) && !segment->astray)
			note_newest(work.half, &track->half[!segment->half], segment);
		hear(&work);
		return result;
	}
	if (!place(&work))
		return result;
	bool heard = is_heard(work.half, segment);
	bool news = heard && note_newest(work.half, &track->half[!segment->half], segment);

	if (heard && !segment->resumed)
		hear(&work);
	tracker->at_hand = segment;
	track_sort(&work, news);
	tracker->at_hand = NULL;
	if (segment->tcp_flags & TH_FIN)
		take_fin(&work);
	if (result.verdict == TRACK_FORWARD && !(segment->tcp_flags & TH_SYN))
		work.half->flags |= HALF_BEHIND_SYN;
	if (result.verdict == TRACK_FORWARD)
		note_left(work.half, work.end + !!(segment->tcp_flags & TH_FIN));
	stream_report_add32(&half_report(track, work.half)->conflict_bytes, result.differ);
	return result;
}

void track_set_free(struct tracker *tracker, struct tcp_track *track)
{
	for (unsigned i = 0; i < 2; i++) {
		struct tcp_half *half = &track->half[i];

		if (half->flags & HALF_FREE)
			continue;
		track_gate(tracker, track, i, TRACK_GATE_NONE);
		half->flags |= HALF_FREE;
		half->free_from = half->next;
		q2_forget_copies(&half->q2, &tracker->slab);
	}
}

bool track_is_idle(const struct tcp_track *track)
{
	for (unsigned i = 0; i < 2; i++) {
		const struct tcp_half *half = &track->half[i];

		if (half->flags & (HALF_PROCESSING | HALF_RESUMING | HALF_RELEASING) ||
			half->q2.n_held)
			return false;
		if (!(half->flags & HALF_FREE) ||
			(half->q2.n_blocks && half->acked < half->free_from))
			return false;
	}
	return true;
}
