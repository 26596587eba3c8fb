// SPDX-License-Identifier: BSD-3-Clause
// What one core takes of the machine, in all (TA29): memory of what waits (queues), of what is not
// whole yet (fragments), of half frames either way (streams); and descriptors of sessions. One of
// each core; queues, fragments and streams join with a share.
//
// Where memory is full, who holds most of all shares gives way, the rest goes on. Nobody is cut for
// one who would then hold more.
#ifndef TRANSPORTAPI_BUDGET_H
#define TRANSPORTAPI_BUDGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "transportapi/base/memory_accounting.h"
#include "transportapi/base/transport.h"

struct tapi_budget_share {
	struct tapi_memory memory;                     // its holders
	void (*cut)(struct tapi_memory_user *largest); // holds less after it
	TAILQ_ENTRY(tapi_budget_share) next;
};

struct tapi_budget {
	uint64_t bytes, bytes_max;
	uint32_t sending; // from a queue: nobody is cut by fit() before it is over
	TAILQ_HEAD(, tapi_budget_share) shares;
	// Of sessions of streams, those that linger included.
	uint32_t descriptors, descriptors_max;
	uint32_t descriptors_wanted; // what the limits of all transports may come to
};

void tapi_budget_init(struct tapi_budget *budget, uint64_t bytes_max);
TAPI_EXPORT void tapi_budget_join(struct tapi_budget *budget, struct tapi_budget_share *share);
TAPI_EXPORT void tapi_budget_leave(struct tapi_budget *budget, struct tapi_budget_share *share);
// Room for `need` of one who holds `own`; false: he would hold most himself.
TAPI_EXPORT bool tapi_budget_room(struct tapi_budget *budget, uint64_t own, uint64_t need);
// Cuts until what is held fits: after a growth that could not be refused, or another bound.
TAPI_EXPORT void tapi_budget_fit(struct tapi_budget *budget);
// Descriptors by RLIMIT_NOFILE: less what is open now, and a reserve. *rlimit, *open: what there
// is; UINT32_MAX descriptors: no limit.
void tapi_budget_descriptors(struct tapi_budget *budget, uint64_t *rlimit, uint32_t *open);

// NULL: nothing is bounded (a transport alone).
static inline void tapi_budget_hold(struct tapi_budget *budget, uint64_t more, uint64_t less)
{
	if (budget)
		budget->bytes += more - less;
}
static inline bool tapi_budget_over(const struct tapi_budget *budget, uint64_t need)
{
	return budget && budget->bytes + need > budget->bytes_max;
}
static inline bool tapi_budget_no_descriptor(const struct tapi_budget *budget)
{
	return budget && budget->descriptors >= budget->descriptors_max;
}

#endif
