// SPDX-License-Identifier: BSD-3-Clause
// Asks the flow's track for edits of what its decoder is given.
#ifndef SLUICE_CONTENT_EDIT_H
#define SLUICE_CONTENT_EDIT_H

#include "pipeline/content/state.h"
#include "pipeline/flow/table.h"
#include "reassembly/tcp_track.h"

// False: none is made, as some of the bytes have left, or are yet to come.
static inline bool content_edit(
	struct feeding *feeding, unsigned half, const struct stream_edit *edits, unsigned n)
{
	struct tracker *tracker = feeding->lcore->tracker;
	uint32_t track = flow_cold_at(feeding->lcore->flows, feeding->flow->ref)->track;

	return track != TRACK_NONE &&
	       track_edit(tracker, track_at(tracker, track), half, edits, n) == EDIT_TAKEN;
}

#endif
