// SPDX-License-Identifier: BSD-3-Clause
// The end of flows when the gateway ends: their packets leave, their records are written.
#ifndef SLUICE_RUN_DRAIN_H
#define SLUICE_RUN_DRAIN_H

#include "control/event/sink.h"

// With every lcore gone. Flows end in pieces that the event ring holds, while there is time: the
// records of a full table may take longer to write than an operator waits.
void run_drain(struct dataplane *dp, struct sink *sink, uint64_t deadline_ns);

#endif
