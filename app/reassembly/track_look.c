// SPDX-License-Identifier: BSD-3-Clause
// Fills the view of a half that lists of flows show.
#include <string.h>
#include "reassembly/track_work.h"

static uint8_t bits_of(const struct tcp_half *half)
{
	static const struct {
		uint16_t flag;
		uint8_t bit;
	} rows[] = {
		{HALF_STARTED, STREAM_LOOK_STARTED},
		{HALF_MIDSTREAM, STREAM_LOOK_MIDSTREAM},
		{HALF_FIN, STREAM_LOOK_FIN},
		{HALF_CLOSING, STREAM_LOOK_CLOSING},
		{HALF_PROCESSING, STREAM_LOOK_PROCESSING},
		{HALF_RESUMING, STREAM_LOOK_RELEASING},
		{HALF_FREE, STREAM_LOOK_FREE},
	};
	uint8_t bits = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (half->flags & rows[i].flag)
			bits |= (uint8_t)(1u << rows[i].bit);
	return bits;
}

static void count(struct stream_count *count, uint32_t bytes)
{
	count->segments++;
	count->bytes += bytes;
}

void track_look(struct tcp_half *half, struct stream_look *look)
{
	const struct segment *held = TAILQ_FIRST(&half->q2.held);
	unsigned budget = STREAM_LOOK_MAX;
	uint64_t edge = half->next; // where a copy would lie that has no hole before it

	memset(look, 0, sizeof(*look));
	look->next = half->next;
	look->released = half->sent;
	look->acked = half->acked;
	look->seq = half_seq(half, half->next);
	look->has_window = half->flags & HALF_EDGE;
	look->window = look->has_window && half->edge > half->acked ? half->edge - half->acked : 0;
	look->held_ns = held ? half->held_ns : 0;
	look->bits = bits_of(half);
	for (struct segment *kept = q2_at(&half->q2, 0); kept && budget; budget--) {
		if (kept->kind == SEGMENT_SENT) {
			count(&look->sent, kept->length);
		} else {
			count(&look->copies, kept->length);
			look->holes += kept->start > edge;
			edge = kept->start + kept->length;
		}
		kept = q2_after(kept);
		if (kept && budget == 1)
			look->bits |= 1 << STREAM_LOOK_CUT;
	}
	for (budget = STREAM_LOOK_MAX; held && budget; budget--) {
		count(&look->held, held->length);
		held = TAILQ_NEXT(held, link);
	}
	if (held)
		look->bits |= 1 << STREAM_LOOK_CUT;
}
