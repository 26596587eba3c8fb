// SPDX-License-Identifier: BSD-3-Clause
// A scan lcore's work: jobs from every data lcore into its engine, verdicts back. A thread of its
// own runs it on a gateway (app/machine/scan_thread.c); replay and tests let the data lcore take
// the turns at their own clock. One caller at a time.
#ifndef SLUICE_SCAN_WORKER_H
#define SLUICE_SCAN_WORKER_H

#include "scan/engine.h"
#include "scan/scan_link.h"

struct scan_worker;

// With a link to each of `n_lcores` data lcores. -ENOMEM, or what the engine says, with a message.
int scan_worker_new(const struct scan_config *config, unsigned index, unsigned n_lcores, int socket,
	struct scan_worker **out, char *err, size_t err_len);
void scan_worker_free(struct scan_worker *worker); // NULL is allowed
struct scan_link *scan_worker_link(struct scan_worker *worker, unsigned lcore);

// Takes what jobs there are, tells what verdicts are due, each a bounded number. True: there was
// something; call again before sleeping.
bool scan_worker_turn(struct scan_worker *worker, uint64_t now_ns);
// The engine's next_ns.
uint64_t scan_worker_next_ns(const struct scan_worker *worker);
// What the engine's descriptors are: to poll() for while asleep. At most SCAN_FDS_MAX.
unsigned scan_worker_descriptors(const struct scan_worker *worker, struct pollfd out[SCAN_FDS_MAX]);
// The engine's adopt, which takes the descriptor; without one it is closed.
void scan_worker_adopt(struct scan_worker *worker, const struct scan_news *news, uint64_t now_ns);
// Any thread. False: the engine has nothing to tell.
bool scan_worker_status(struct scan_worker *worker, struct scan_status *out);
// Before a sleep: from now on who submits wakes. False: there is work already; do not sleep.
bool scan_worker_may_sleep(struct scan_worker *worker);
void scan_worker_woke(struct scan_worker *worker);

#endif
