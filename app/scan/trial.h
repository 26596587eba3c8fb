// SPDX-License-Identifier: BSD-3-Clause
// A file of the control core's, looked at as if a flow had brought it: its bytes lie in the spare
// room of the arena (arena.h), and a job about them goes to a scan lcore over a link of its own,
// into the same queue as those of data lcores. One file at a time.
//
// A file is named by a number that it has from trial_begin on; who names another one than that at
// hand is told -ESTALE. One that its sender forgets gives way to the next after TRIAL_IDLE_NS. What
// a job names stays as it is until its verdict, however late; who asked waits until its deadline.
// Control core only, but for scan_trial_new and scan_trial_free.
#ifndef SLUICE_SCAN_TRIAL_H
#define SLUICE_SCAN_TRIAL_H

#include "pipeline/vocab/tick.h"
#include "scan/worker.h"

#define TRIAL_IDLE_NS (10 * NS_PER_S)

struct scan_trial;

// `link`: that of each worker which no data lcore has. NULL: no memory.
struct scan_trial *scan_trial_new(const struct scan_config *config,
	struct scan_worker *const *workers, unsigned n_workers, unsigned link);
void scan_trial_free(struct scan_trial *trial); // NULL is allowed

// A file of `bytes` is to come; `*number` is its number. -EINVAL: of no bytes; -EFBIG: more than a
// job may have; -ENODEV: the engine takes no files; -EBUSY: another one is at hand.
int scan_trial_begin(struct scan_trial *trial, uint64_t bytes, uint64_t now_ns, uint64_t *number);
// Its next bytes, which begin at `at`. -ESTALE; -EINVAL: they do not begin where the last ones
// ended, or are too many.
int scan_trial_add(struct scan_trial *trial, uint64_t number, uint64_t at, const uint8_t *bytes,
	size_t length, uint64_t now_ns);
// All of it is there: the job goes out. `*worker`: to which scan lcore; `*asleep`: that one has to
// be woken. -ESTALE; -EINVAL: some of it is missing; -EAGAIN: the ring has no room.
int scan_trial_run(
	struct scan_trial *trial, uint64_t number, uint64_t now_ns, unsigned *worker, bool *asleep);
// Its verdict, once; the file is over then. -EAGAIN: not yet; -ESTALE. Where nobody has answered
// before the deadline it is a SCAN_TIMEOUT.
int scan_trial_verdict(
	struct scan_trial *trial, uint64_t number, uint64_t now_ns, struct scan_verdict *out);
// Nobody wants to know any more.
void scan_trial_drop(struct scan_trial *trial, uint64_t number);

#endif
