// SPDX-License-Identifier: BSD-3-Clause
// Between the launcher, which runs the scanner (process/scan_parent.h), and the scan lcores, which
// talk to it. Control core only.
#ifndef SLUICE_RUN_SCAN_H
#define SLUICE_RUN_SCAN_H

#include "config/gateway.h"
#include "machine/scan_thread.h"
#include "process/launcher.h"

struct run_scan { // zeroed
	struct scan_arena arena;
	struct scan_threads *threads; // NULL: there is no engine
	struct launcher *launcher;
	struct scan_news later[SCAN_PARENT_CONTROLS_MAX]; // a scan lcore had too much to read
	bool waits[SCAN_PARENT_CONTROLS_MAX];
	uint32_t killed; // the last parent that was asked to be
	uint8_t state;   // as it was reported last, of scan lcore 0
	uint32_t refused;
	bool is_lost; // the launcher has died
};

// Before the launcher is forked, which hands the arena on. Without the engine "clamav" there is
// none. 0, -errno with a message.
int run_scan_arena(struct run_scan *scan, const struct gateway *gateway, struct launcher *launcher,
	char *err, size_t err_len);
// The scan lcores (scan_threads_new), and the wish for a scanner. Without an engine threads is
// NULL. -errno with a message.
int run_scan_new(struct run_scan *scan, struct dataplane *dp, const struct gateway *gateway,
	struct launcher *launcher, char *err, size_t err_len);
// Every 100 ms.
void run_scan_tick(struct run_scan *scan);
// When no lcore runs. One that is zeroed is allowed.
void run_scan_free(struct run_scan *scan);

#endif
