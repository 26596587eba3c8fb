// SPDX-License-Identifier: BSD-3-Clause
// A spin lock between data lcores and scan lcores, for what several flows bring together. What is
// done under it is bounded: a segment's bytes are copied, a list is relinked, a few KiB are read.
// In the lab lcores share CPUs: who spins for long lets another run.
#ifndef SLUICE_SWARM_LOCK_H
#define SLUICE_SWARM_LOCK_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <rte_pause.h>

#define SWARM_SPINS  1000u // before the CPU is given away
#define SWARM_YIELDS 200u  // before a data lcore gives up

struct swarm_lock {
	_Atomic bool taken;
};

static inline bool swarm_try(struct swarm_lock *lock)
{
	return !atomic_load_explicit(&lock->taken, memory_order_relaxed) &&
	       !atomic_exchange_explicit(&lock->taken, true, memory_order_acquire);
}

// False: it was not free for so long.
static inline bool swarm_lock_within(struct swarm_lock *lock, unsigned yields)
{
	for (unsigned i = 0; !swarm_try(lock); i++) {
		if (i % SWARM_SPINS == SWARM_SPINS - 1) {
			if (!yields--)
				return false;
			sched_yield();
		}
		rte_pause();
	}
	return true;
}

// Whoever has it gives it back soon.
static inline void swarm_lock(struct swarm_lock *lock)
{
	while (!swarm_lock_within(lock, SWARM_YIELDS))
		;
}

static inline void swarm_unlock(struct swarm_lock *lock)
{
	atomic_store_explicit(&lock->taken, false, memory_order_release);
}

#endif
