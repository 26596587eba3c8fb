// SPDX-License-Identifier: BSD-3-Clause
// Scan lcores as threads: one for each CPU of lcores.scan, or one where the control core runs if
// none is named. Each takes a scan worker's turns (app/scan/worker.h), sleeps when nothing is due,
// and stays outside of RCU: however long an engine thinks, no reload waits for it.
//
// Called by the control core, but for scan_threads_wake.
#ifndef SLUICE_SCAN_THREAD_H
#define SLUICE_SCAN_THREAD_H

#include <stddef.h>
#include "config/gateway.h"
#include "pipeline/lcore/lcore.h"
#include "scan/trial.h"

struct scan_threads;

// After the lcores were made, before they are launched and before rights are given up: sets
// dp->scan and the lcores' holds, starts the threads. Without an engine *out is NULL. -ENOMEM,
// -errno of a thread or a CPU, with a message.
// `arena`: of files under scan, outlives the threads; NULL: there is none.
int scan_threads_new(struct dataplane *dp, const struct gateway *gateway,
	const struct scan_arena *arena, struct scan_threads **out, char *err, size_t err_len);
unsigned scan_threads_count(const struct scan_threads *threads);
// What became of a scan parent, to scan lcore `index`, which takes the descriptor. 0; -EAGAIN: it
// has too much to read; the descriptor is the caller's still.
int scan_threads_tell(struct scan_threads *threads, unsigned index, const struct scan_news *news);
// False: there is no such scan lcore, or its engine has nothing to tell.
bool scan_threads_status(struct scan_threads *threads, unsigned index, struct scan_status *out);
// For a file of the control core's; each worker has a link for it. Never NULL.
struct scan_trial *scan_threads_trial(struct scan_threads *threads);
// The lists of hashes (gateway.json: scan.allow, scan.deny) again, while scan lcores run; those in
// force stay if one has an error. `check`: only whether they could be. 0, also if there are none;
// -errno with a message that names file and line (hash_list.h).
int scan_threads_read_lists(struct scan_threads *threads, bool check, char *err, size_t err_len);
// Wakes those whose bit is set. Any data lcore, between its turns (lcore.scan_wakes).
void scan_threads_wake(void *threads, uint64_t workers);
// Ends the threads; no verdict comes any more. NULL is allowed; twice, too.
void scan_threads_stop(struct scan_threads *threads);
// After stop, and when no lcore runs: what data lcores know of it is freed, too. NULL is allowed.
void scan_threads_free(struct scan_threads *threads);

#endif
