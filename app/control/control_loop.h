// SPDX-License-Identifier: BSD-3-Clause
// The control core's life between the launch of the data lcores and the stop of the gateway: one
// libevent loop, asleep unless a timer, a signal or a client wakes it.
//
//   signals  HUP reopens the event file, and calls `reopen`; USR2 reloads the policy; TERM and INT
//   end the loop timers   event rings are drained every 10 ms, reload_step every 5 ms while a grace
//   period
//            runs, output is flushed every 250 ms, the stats record every stats_interval_s,
//            heartbeats are watched and `tick` is called every 100 ms
//
// Order of startup: event_base_new, sink_new, reload_new, reload_load, lcores, control_socket_new,
// control_run. Of death: control_run returned, stop and join the lcores, sink_drain,
// control_socket_free (answers what is open), reload_free, sink_free, event_base_free.
// Block every signal before EAL starts its threads: control_run opens just the four above, in
// its own thread and for its own time, so that one that came earlier is not lost.
#ifndef SLUICE_CONTROL_LOOP_H
#define SLUICE_CONTROL_LOOP_H

#include "control/stats/watchdog.h"

struct control_options {
	uint32_t stats_interval_s; // EVE stats record; 0: none
	struct stall_options stall;
	// May be NULL. Every 100 ms; `healthy` is false while a data lcore's heartbeat is late. The
	// place for the watchdog of the service manager, STATUS= and link states.
	void (*tick)(void *ctx, uint64_t now_ns, bool healthy);
	void (*reopen)(void *ctx); // HUP: files of others were renamed. May be NULL
	void *ctx;
};

// Returns the signal that ended the loop (SIGTERM, SIGINT), 0 after control_stop(), or -errno if
// the loop could not be made.
int control_run(struct control_context *context, const struct control_options *options);
// Ends control_run from one of its callbacks.
void control_stop(struct control_context *context);

#endif
