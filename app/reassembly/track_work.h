// SPDX-License-Identifier: BSD-3-Clause
// What the files of the tracker share; nobody else includes it.
#ifndef SLUICE_TRACK_WORK_H
#define SLUICE_TRACK_WORK_H

#include "reassembly/mutation.h"
#include "reassembly/seq.h"
#include "reassembly/tcp_track.h"

#define FORGET_BUDGET 64 // blocks given back by one acknowledgement

struct work { // of one segment
	struct tracker *tracker;
	struct tcp_track *track;
	struct tcp_half *half;
	const struct tcp_segment *segment;
	const struct stream_consumer *consumer;
	struct track_result *result;
	uint64_t start, end; // of its payload, from the half's first byte on
	struct payload bytes;
};

// The 64-bit offset of a number, which is within 2^31 of what is next.
static inline int64_t track_offset(const struct tcp_half *half, uint32_t seq)
{
	if (MUTATED(WRAP))
		return (int64_t)seq - (int64_t)half->base;
	return (int64_t)half->next + (int32_t)(seq - half_seq(half, half->next));
}

// Its packets wait: for a verdict, or until copies before them are worked off.
static inline bool half_waits(const struct tcp_half *half)
{
	return half->flags & (HALF_PROCESSING | HALF_RESUMING);
}

// No packet that ends there leaves now; `fin`: it ends with one.
static inline bool half_stops(const struct tcp_half *half, uint64_t end, bool fin)
{
	return half->flags & HALF_GATED && end + fin > half->gate;
}

// A FIN there is the one that the consumer is told.
static inline bool half_awaits_fin(const struct tcp_half *half, uint64_t end)
{
	return end == half->next && !(half->flags & HALF_FIN_TOLD) && half->fin_due <= end + 1;
}

static inline unsigned half_which(const struct tcp_track *track, const struct tcp_half *half)
{
	return half == &track->half[1];
}

// What comes ahead of a hole is forwarded, and copied.
static inline bool track_passes_ahead(
	const struct tracker *tracker, const struct tcp_track *track, const struct tcp_half *half)
{
	return tracker->limits.fast_pass && !(track->edits >> half_which(track, half) & 1);
}

static inline struct stream_half_report *half_report(
	const struct tcp_track *track, const struct tcp_half *half)
{
	return &track->report->half[half_which(track, half)];
}

static inline uint8_t span_flags(const struct tcp_half *half)
{
	return half->flags & HALF_MIDSTREAM ? SPAN_MIDSTREAM : 0;
}

// stream.c
bool stream_obey(struct tcp_half *half, enum consumed consumed);
// A copy at `next`: to the consumer. False: it could not be looked at.
bool stream_copy(struct tracker *tracker, struct tcp_track *track, struct tcp_half *half,
	struct segment *copy, const struct stream_consumer *consumer);
struct segment *stream_copy_at_next(struct tcp_half *half);
// A FIN right behind all that was consumed: to the consumer. False: it could not be looked at.
bool stream_fin(
	struct tcp_track *track, struct tcp_half *half, const struct stream_consumer *consumer);
// The copies behind `next` and the FIN behind them, until a hole, a hold or the budget's end.
void stream_drain(struct tracker *tracker, struct tcp_track *track, struct tcp_half *half,
	const struct stream_consumer *consumer);
// `flags`: of the spans, beside SPAN_GAP.
void stream_gap(struct tcp_track *track, struct tcp_half *half, uint64_t until, uint8_t flags,
	const struct stream_consumer *consumer);
// Holes whose bytes never come: the receiver has them already, or nobody tells what it has
// (`one_sided`). Where nothing is enforced nobody waits for the consumer, and what is mirrored may
// come in another order than it was received in: `patient` lets them stay for a while.
void stream_give_up(struct tracker *tracker, struct tcp_track *track, struct tcp_half *half,
	const struct stream_consumer *consumer, bool one_sided, bool patient);

// What a gated half has to work off: the first held packet that may leave, or is not inspected and
// lies at `next`. NULL: nothing.
struct segment *stream_releasable(const struct tcp_half *half);

// track_sort.c
void track_sort(struct work *work, bool news);

// track_edit.c
// Its bytes can be changed in place.
bool track_can_write(const struct tcp_segment *segment);
// Edits of bytes that are kept by now are made there. False: no block is free, and the result says
// so: the packet is dropped, and they are made when it comes again.
bool track_make_edits(const struct work *work);
// ... and in the packet at hand, whose bytes were taken.
void track_edit_packet(const struct work *work);

// tracker.c
// What can be kept of one half: its cap, and as much as is free to all others together, so that
// however many take what they can, there is room for one more.
bool track_has_room(const struct work *work, uint32_t blocks, bool ahead);
void track_no_room(const struct work *work, enum drop_reason reason);
enum drop_reason track_limit_reason(const struct work *work);
void track_put_resuming(struct tracker *tracker, struct tcp_track *track, struct tcp_half *half);
// The same of a gated half, which does not wait meanwhile.
void track_put_releasing(struct tracker *tracker, struct tcp_track *track, struct tcp_half *half);
void track_drop_held(struct tracker *tracker, struct tcp_half *half, enum drop_reason reason);
void track_note_hold(const struct tcp_track *track, const struct tcp_half *half, uint64_t now_ns);

// tcp_track.c
void half_start(struct tcp_half *half, uint32_t seq);

#endif
