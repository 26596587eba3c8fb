// SPDX-License-Identifier: BSD-3-Clause
// The watch over the data lcores' heartbeats, in its place between two timers of the control loop.
// A heartbeat is stats.heartbeat_ns, written in every turn. One that is older than `after_ms` is
// reported: log, event `stall`, counter. If inspection fails open, the standby is
// asked to forward for the lcore, again each time until it could; what is forwarded is reported
// when the lcore goes on.
//
// Only time during which the control core itself was awake counts: after a pause of the whole
// machine, or of this thread, lcores have a while to beat first.
#ifndef SLUICE_WATCHDOG_H
#define SLUICE_WATCHDOG_H

#include "control/stats/context.h"

#define WATCHDOG_CHECK_MS 100 // how often watchdog_check is to be called

struct stall_options {
	uint32_t after_ms; // 0: 500
	bool fail_open;
	// The standby (app/machine/standby.h), when fail_open: takes over for a lcore, false if the
	// lcore stands still inside a driver; whether it still has it.
	bool (*take)(void *ctx, unsigned lcore);
	bool (*has)(void *ctx, unsigned lcore);
	void *ctx;
};

struct heartbeat { // one data lcore's
	uint64_t beat_ns;
	uint64_t changed_ns; // by our clock: the last time that it was seen to beat
	uint64_t rested_ns;  // while we were awake
	bool stalled;
	bool taken; // the standby forwards, or has
	// When it was reported
	uint64_t bypassed_pkts, bypassed_bytes, rx_missed;
};

struct watchdog { // the caller's memory
	struct control_context *context;
	const struct stall_options *options;
	uint64_t watched_ns;
	struct heartbeat watchdog[LCORES_MAX];
};

void watchdog_start(struct watchdog *watchdog, struct control_context *context,
	const struct stall_options *options);
// False while a data lcore stands still, or is being forwarded for.
bool watchdog_check(struct watchdog *watchdog, uint64_t now_ns);

#endif
