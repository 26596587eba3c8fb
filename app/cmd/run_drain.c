// SPDX-License-Identifier: BSD-3-Clause
// Ends flows, and empties lcores and their event rings.
#include "cmd/run_drain.h"

#include "machine/lcore_launch.h"
#include "pipeline/flow/table.h"
#include "pipeline/lcores.h"
#include "pipeline/loop.h"

#define EVENTS_PATIENCE_MS 1000 // that a disk is waited for

// All that is in the rings. A disk is waited for, but not one that hangs.
static void drain_events(struct sink *sink)
{
	do {
		sink_drain(sink, 0);
	} while (!sink_has_room(sink) &&
		 (sink_settle(sink, EVENTS_PATIENCE_MS) || sink_has_room(sink)));
}

void run_drain(struct dataplane *dp, struct sink *sink, uint64_t deadline_ns)
{
	for (unsigned i = 0; i < dp->n_lcores; i++)
		while (clock_ns() < deadline_ns &&
			flow_end_some(dp->lcores[i], FLOW_STEP_SHUTDOWN, EVENT_RING_SIZE / 4))
			drain_events(sink);
	// Twice: the first round may move packets to the lcore that owns their send queue.
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < dp->n_lcores; i++) {
			pipeline_drain(dp->lcores[i], clock_ns());
			drain_events(sink);
		}
	}
}
