// SPDX-License-Identifier: BSD-3-Clause
// The packet path as the gateway of the streams' model: one lcore, made once
// and used for all schedules. A tap sees what is inspected, and its jobs hold halves.
#ifndef SLUICE_MODEL_STREAM_PIPE_H
#define SLUICE_MODEL_STREAM_PIPE_H

#include "stream_world.h"

struct stream_gateway stream_pipe(void);
void stream_pipe_free(void);

#endif
