// SPDX-License-Identifier: BSD-3-Clause
// The packet path as the gateway of the streams' model: one lcore, made once
// and used for all schedules. A tap sees what is inspected, and its jobs hold halves.
#ifndef SLUICE_MODEL_STREAM_PIPE_H
#define SLUICE_MODEL_STREAM_PIPE_H

#include "stream_world.h"

enum stream_pipe_edits {
	STREAM_PIPE_NO_EDITS,
	STREAM_PIPE_EDITS,          // a consumer blanks bytes of every span
	STREAM_PIPE_EDITS_AT_TIMES, // ... and may at times not: fast pass comes and goes
	STREAM_PIPE_GATES,          // none: the newest bytes of some spans wait (track_gate)
};

struct stream_gateway stream_pipe(void);
struct stream_gateway stream_pipe_editing(enum stream_pipe_edits edits);
void stream_pipe_free(void);

#endif
