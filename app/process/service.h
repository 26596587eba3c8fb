// SPDX-License-Identifier: BSD-3-Clause
// The gateway as a service: what the service manager is reported, and when (docs/operating.md).
// Owned by run.c; control core only.
//
//   start     EXTEND_TIMEOUT_USEC before signatures are compiled
//   READY=1   when every data lcore has made a turn of its loop: the policy is in force, packets
//             move
//   reload    RELOADING=1 before the files are read, WATCHDOG_USEC= for as long as that may take;
//   READY=1 when the last lcore obeys, or when
//             the reload was refused
//   always    STATUS= every two seconds; WATCHDOG=1 while every data lcore has a heartbeat
//   end       STOPPING=1; after a failure ERRNO= and STATUS= with the message
//
// The hook command (launcher.h) hears forwarding, stalled, recovered, stopping at the same places,
// and heartbeat each second in health.
#ifndef SLUICE_SERVICE_H
#define SLUICE_SERVICE_H

#include <stdbool.h>
#include "process/launcher.h"
#include "process/notify.h"
#include "process/status_line.h"

struct service { // zeroed: tells nobody
	struct notify notify;
	struct launcher *launcher; // runs the hook
	const struct control_context *context;
	struct reload *reload;
	struct status_line line;
	bool ready;
	bool reloading;
	bool healthy;
	bool paused;        // the watchdog waits for a reload
	uint64_t status_ns; // when STATUS= was last sent
	uint64_t watchdog_ns;
	uint64_t heartbeat_ns;
};

// Takes the manager's socket from the environment. What is wrong with it is logged, and no reason
// not to start.
void service_open(struct service *service);
// Before anything that may take long: the manager waits at least `seconds` more.
void service_patience(const struct service *service, unsigned seconds, const char *what);
// The lcores are launched. From here service_tick does the rest; its `reload` is observed.
void service_forwarding(
	struct service *service, const struct control_context *context, struct launcher *launcher);
// Every 100 ms; `healthy` is false while a data lcore's heartbeat is late.
void service_tick(struct service *service, uint64_t now_ns, bool healthy);
void service_stopping(struct service *service);
// The start, or the run, has failed. `code` is the exit code.
void service_failed(const struct service *service, int code, const char *text);
void service_close(struct service *service);

#endif
