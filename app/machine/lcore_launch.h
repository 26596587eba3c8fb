// SPDX-License-Identifier: BSD-3-Clause
// Data lcores as threads: launch, the loop around pipeline_turn, the idle ramp, stop. Called by the
// control core (EAL's main lcore); data lcore i runs on EAL lcore i + 1 (eal_args).
#ifndef SLUICE_LCORE_LAUNCH_H
#define SLUICE_LCORE_LAUNCH_H

#include <stdbool.h>
#include "pipeline/lcore/lcore.h"

// What a lcore's thread gets; the caller's memory until lcores_stop has returned.
struct lcore_thread {
	struct lcore *lcore;
	unsigned (*turn)(struct lcore *lcore, uint64_t now_ns); // pipeline_turn
	bool idle_sleep; // gateway.json: spin, then 20 us, then 200 us naps when idle
	// Somebody sleeps who has work now (lcore.scan_wakes); NULL: nobody does.
	void (*wake)(void *ctx, uint64_t workers);
	void *wake_ctx;
	bool shares_cpu; // with another data lcore or the control core: yields when idle
};

// The gateway's clock: the wall clock at clock_start plus the TSC since, so that it never steps.
// clock_start after EAL (it has measured the TSC), before any thread; until then clock_ns is the
// wall clock.
void clock_start(void);
uint64_t clock_ns(void);
// The wall clock less ours, which never steps: what NTP or an operator has changed since the start.
int64_t clock_error_ns(void);

// The debug hook (dataplane.stand_still): the thread does nothing for so long.
void lcore_stand_still(uint64_t ns);

// Registers every lcore with dp->qsbr and starts its thread. 0, -EBUSY.
int lcores_launch(struct dataplane *dp, struct lcore_thread *threads, char *err, size_t err_len);
// Ends receiving (dp->stopping = 1), lets the lcores empty their rings and buffers for at most
// `drain_ns`, then makes them leave (dp->stopping = 2) and dp->qsbr with them. What they still hold
// is the caller's to drain: nobody else runs then. `pump` is called about every 500 us meanwhile,
// so that event rings do not overflow. 0; -ETIMEDOUT if a lcore has not left 1 s later (then
// nothing of it may be touched or freed).
int lcores_stop(struct dataplane *dp, uint64_t drain_ns, void (*pump)(void *ctx), void *ctx);

#endif
