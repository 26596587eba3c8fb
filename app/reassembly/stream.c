// SPDX-License-Identifier: BSD-3-Clause
#include "stream.h"

void stream_syn(struct stream_half *half, uint32_t seq)
{
	if (half->flags & STREAM_TAKEN)
		return;
	half->next = seq + 1;
	half->ahead = 0;
	half->flags = STREAM_STARTED;
}

void stream_unseen(struct stream_half *half)
{
	if (half->flags & STREAM_STARTED)
		half->flags |= STREAM_UNSEEN;
}

// Whether a segment shows that some were missed: the first that is not one of before again.
static bool goes_on(struct stream_half *half, uint32_t behind)
{
	if (behind && behind <= half->offset64)
		return false;
	half->flags &= (uint8_t)~STREAM_UNSEEN;
	if (!behind)
		return false; // none were missed
	half->flags |= STREAM_MIDSTREAM;
	return true;
}

struct stream_take stream_segment(struct stream_half *half, uint32_t seq, uint32_t length)
{
	struct stream_take take = {0};

	if (!(half->flags & STREAM_STARTED)) {
		half->flags |= STREAM_STARTED | STREAM_MIDSTREAM;
		half->next = seq;
	}
	int32_t distance = (int32_t)(seq - half->next);
	uint32_t behind = half->next - seq;

	bool jumps = half->flags & STREAM_UNSEEN && goes_on(half, behind);

	if (!(half->flags & (STREAM_MIDSTREAM | STREAM_UNSEEN)) &&
		(distance > 0 ? (uint32_t)distance > STREAM_WINDOW_MAX
			      : behind > half->offset64 + 1)) {
		take.refused = true;
		return take;
	}
	if (jumps) {
		take.gap = (uint32_t)distance;
	} else if (distance > 0) {
		if (half->ahead < STREAM_AHEAD_MAX) {
			half->ahead++;
			take.ahead = true;
			return take;
		}
		take.gap = (uint32_t)distance;
	} else {
		take.skip = behind;
		if (take.skip >= length) {
			take.skip = length;
			take.offset64 = half->offset64;
			return take;
		}
	}
	take.length = length - take.skip;
	take.offset64 = half->offset64 + take.gap;
	half->offset64 = take.offset64 + take.length;
	half->next = seq + length;
	half->ahead = 0;
	half->flags |= STREAM_TAKEN;
	if (take.gap > UINT32_MAX - half->gap_bytes)
		half->gap_bytes = UINT32_MAX;
	else
		half->gap_bytes += take.gap;
	return take;
}
