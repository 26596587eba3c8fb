// SPDX-License-Identifier: BSD-3-Clause
// What run_scan.c and run_scan_reload.c share; nobody else includes it.
#ifndef SLUICE_RUN_SCAN_INSIDE_H
#define SLUICE_RUN_SCAN_INSIDE_H

#include "cmd/run_scan.h"

// To every scan lcore, when it can read it.
void run_scan_tell_all(struct run_scan *scan, const struct scan_news *news);
void run_scan_lost_launcher(struct run_scan *scan);

void run_scan_reload_new(struct run_scan *scan);
// From what `n` scan lcores say in scan->status: what is new is logged, and the next step of a
// reload taken.
void run_scan_reload_tick(struct run_scan *scan, unsigned n);

#endif
