// SPDX-License-Identifier: BSD-3-Clause
// The scan lcores, for the control core.
#ifndef SLUICE_RUN_SCAN_DESK_H
#define SLUICE_RUN_SCAN_DESK_H

#include "control/stats/scan_desk.h"
#include "machine/scan_thread.h"

struct run_scan_desk {
	struct scan_desk desk;
	struct scan_threads *threads;
	const struct dataplane *dp;
};

// For as long as the threads are there. Without them (NULL) there is no desk: NULL.
const struct scan_desk *run_scan_desk_init(
	struct run_scan_desk *out, struct scan_threads *threads, const struct dataplane *dp);

#endif
