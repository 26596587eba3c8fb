// SPDX-License-Identifier: BSD-3-Clause
// Between one data lcore and one scan lcore: a ring of jobs to the one, a ring of verdicts back,
// each with one producer and one consumer. A full job ring leaves the job with the data lcore,
// which then has its policy for it. A verdict always finds room: no more jobs are taken from the
// ring than there is room for their verdicts (worker.c).
//
// A scan lcore sleeps when it has nothing to do. Its sleep is a flag that the data lcore reads when
// it has put a job on the ring: who finds it set has somebody to wake, outside of the stages
// (lcore_launch.c). `asleep` and the rings are ordered by full fences on both sides.
#ifndef SLUICE_SCAN_LINK_H
#define SLUICE_SCAN_LINK_H

#include <stdatomic.h>
#include <rte_ring.h>
#include "scan/job.h"

#define SCAN_RING 1024 // jobs, verdicts; a power of two

struct scan_link {
	struct rte_ring *jobs;     // producer: the data lcore
	struct rte_ring *verdicts; // producer: the scan lcore
	_Atomic bool *asleep;      // of the scan lcore
};

// `lcore`, `worker`: for the rings' names. -ENOMEM.
int scan_link_init(struct scan_link *link, unsigned lcore, unsigned worker, int socket);
void scan_link_fini(struct scan_link *link);

// The data lcore's side. False: full.
bool scan_link_submit(struct scan_link *link, const struct scan_job *job);
unsigned scan_link_verdicts(struct scan_link *link, struct scan_verdict *out, unsigned max);
// After submits: somebody must be woken.
static inline bool scan_link_is_asleep(const struct scan_link *link)
{
	atomic_thread_fence(memory_order_seq_cst);
	return atomic_load_explicit(link->asleep, memory_order_relaxed);
}

#endif
