// SPDX-License-Identifier: BSD-3-Clause
// Between the launcher, which runs the scanner (process/scan_parent.h), and the scan lcores, which
// talk to it. Control core only.
#ifndef SLUICE_RUN_SCAN_H
#define SLUICE_RUN_SCAN_H

#include "config/gateway.h"
#include "control/stats/context.h"
#include "machine/scan_thread.h"
#include "process/launcher.h"
#include "scan/reload.h"

#define RUN_SCAN_MAIL_MAX 4
#define RUN_SCAN_ENDS_MAX 8 // more than live at a time

struct run_scan { // zeroed
	struct scan_arena arena;
	struct scan_threads *threads; // NULL: there is no engine
	struct launcher *launcher;
	struct control_context *context;
	// A scan lcore had too much to read: what it is to be told before anything else.
	struct scan_news later[SCAN_PARENT_CONTROLS_MAX][RUN_SCAN_MAIL_MAX];
	uint8_t n_later[SCAN_PARENT_CONTROLS_MAX];
	uint32_t asked[RUN_SCAN_ENDS_MAX]; // parents that were asked to be killed last
	unsigned n_asked;
	struct scan_reload reload;
	struct scan_reloads reloads;
	char why_not[300];                                   // a reload was not begun
	struct scan_status status[SCAN_PARENT_CONTROLS_MAX]; // as of this tick
	uint8_t state;   // as it was reported last, of scan lcore 0
	uint32_t parent; // whose signatures were reported last
	uint8_t digest[SCAN_WIRE_DIGEST];
	uint32_t watched, folders; // of which parent so many changes of its folder were seen
	uint64_t generation;       // of the policy, when the lists of hashes were read last
	bool is_lost;              // the launcher has died
};

// Before the launcher is forked, which hands the arena on. Without the engine "clamav" there is
// none. 0, -errno with a message.
int run_scan_arena(struct run_scan *scan, const struct gateway *gateway, struct launcher *launcher,
	char *err, size_t err_len);
// The scan lcores (scan_threads_new), and the wish for a scanner; sets context->scan_reloads.
// Without an engine threads is NULL. -errno with a message.
int run_scan_new(struct run_scan *scan, struct control_context *context, struct launcher *launcher,
	char *err, size_t err_len);
// Whether the lists of hashes could be read again, as they are on disk: a reload asks before it
// takes a policy.
void run_scan_check_lists(
	const struct run_scan *scan, const char *gateway_path, struct config_errors *errors);
// Every 100 ms. `generation`: of the policy in force; a new one has the lists of hashes read again.
void run_scan_tick(struct run_scan *scan, uint64_t generation);
// When no lcore runs. One that is zeroed is allowed.
void run_scan_free(struct run_scan *scan);

#endif
