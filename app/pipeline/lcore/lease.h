// SPDX-License-Identifier: BSD-3-Clause
// Who may do an lcore's input and output: its receive and send queues, the rings that it takes
// packets from, and those that it puts packets on. Drivers' queues and SP/SC rings bear one thread
// at a time; the lease says which.
//
// The lcore holds it but while the stages look at a burst: there a pattern or a verifier may run
// away, and there it touches nothing of the above (what the stages send stays in its tx buffers,
// which are never another's). While it naps it lets go of it, too. If it stalls in such a place,
// the standby may take the lease and forward for it (bypass.h); if it stalls while it holds the
// lease, inside a driver, nobody can.
//
//   FREE -> LCORE    the lcore goes on            LCORE -> FREE      stages begin, or a nap
//   FREE -> STANDBY  the heartbeat is late        STANDBY -> WANTED  the lcore is back, and waits
//   WANTED, STANDBY -> FREE  the standby has sent what it had
//
// One compare-and-swap and one store for each burst; the word has a cache line of its own.
#ifndef SLUICE_LEASE_H
#define SLUICE_LEASE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum lease_holder { LEASE_FREE, LEASE_LCORE, LEASE_STANDBY, LEASE_WANTED };

struct lease {
	_Atomic uint32_t holder; // enum lease_holder
} __attribute__((aligned(64)));

// What the one before did is seen by the one who takes it. False: it is not free.
static inline bool lease_take(struct lease *lease, enum lease_holder holder)
{
	uint32_t expected = LEASE_FREE;

	return atomic_compare_exchange_strong_explicit(
		&lease->holder, &expected, holder, memory_order_acquire, memory_order_relaxed);
}

// By its holder only.
static inline void lease_give(struct lease *lease)
{
	atomic_store_explicit(&lease->holder, LEASE_FREE, memory_order_release);
}

// The lcore: tells the standby that it is back.
static inline void lease_want(struct lease *lease)
{
	uint32_t expected = LEASE_STANDBY;

	atomic_compare_exchange_strong_explicit(&lease->holder, &expected, LEASE_WANTED,
		memory_order_relaxed, memory_order_relaxed);
}

static inline enum lease_holder lease_holder(const struct lease *lease)
{
	return atomic_load_explicit(&lease->holder, memory_order_relaxed);
}

#endif
