// SPDX-License-Identifier: BSD-3-Clause
// Starts and stops the threads of the data lcores, and runs their loop.
#include "machine/lcore_launch.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_pause.h>
#include "pipeline/vocab/tick.h"

// The ramp: turns without a packet until the next step, and how long a nap is there.
#define IDLE_SPIN_TURNS  256
#define IDLE_SHORT_TURNS 1024
#define IDLE_SHORT_NS    20000
#define IDLE_LONG_NS     200000

#define STOP_POLL_NS 500000

static struct { // written once, before the threads; until then the wall clock itself is read
	uint64_t wall_ns;
	uint64_t tsc;
	uint64_t ns_per_tsc; // in 2^-32 ns
} origin;

static uint64_t wall_ns(void)
{
	struct timespec wall;

	clock_gettime(CLOCK_REALTIME, &wall);
	return (uint64_t)wall.tv_sec * NS_PER_S + (uint64_t)wall.tv_nsec;
}

void clock_start(void)
{
	origin.tsc = rte_rdtsc();
	origin.wall_ns = wall_ns();
	origin.ns_per_tsc =
		(uint64_t)(((unsigned __int128)NS_PER_S << 32) / (rte_get_tsc_hz() ?: 1));
}

uint64_t clock_ns(void)
{
	if (!origin.ns_per_tsc)
		return wall_ns();
	unsigned __int128 elapsed = rte_rdtsc() - origin.tsc;

	return origin.wall_ns + (uint64_t)(elapsed * origin.ns_per_tsc >> 32);
}

int64_t clock_error_ns(void)
{
	return (int64_t)(wall_ns() - clock_ns());
}

static void nap(uint64_t ns)
{
	struct timespec time = {.tv_sec = 0, .tv_nsec = (long)ns};

	nanosleep(&time, NULL);
}

void lcore_stand_still(uint64_t ns)
{
	struct timespec left = {
		.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

// How long a nap of at most `longest` may be: a keeper of the lcore may have a packet due before.
static uint64_t nap_ns(const struct lcore *lcore, uint64_t longest)
{
	if (!lcore->wake_ns)
		return longest;
	uint64_t now = clock_ns(), left = lcore->wake_ns > now ? lcore->wake_ns - now : 0;

	return left < longest ? left : longest;
}

// A lcore that has found nothing for `turns` turns.
static void idle(const struct lcore_thread *thread, unsigned turns)
{
	struct rte_rcu_qsbr *qsbr = thread->lcore->dp->qsbr;
	unsigned id = thread->lcore->index;

	// If its CPU is taken from it here, the standby can help.
	lease_give(&thread->lcore->lease);
	if (!thread->idle_sleep || turns < IDLE_SPIN_TURNS) {
		if (thread->shares_cpu)
			sched_yield(); // or the others on this CPU wait for our time slice
		else
			rte_pause();
	} else if (turns < IDLE_SHORT_TURNS) {
		nap(nap_ns(thread->lcore,
			IDLE_SHORT_NS)); // short enough for a grace period to wait for
	} else {
		// Offline: a sleeping reader must not keep reclaim waiting.
		rte_rcu_qsbr_thread_offline(qsbr, id);
		nap(nap_ns(thread->lcore, IDLE_LONG_NS));
		rte_rcu_qsbr_thread_online(qsbr, id);
	}
	lcore_lease_take(thread->lcore);
}

static int lcore_main(void *arg)
{
	const struct lcore_thread *thread = arg;
	struct lcore *lcore = thread->lcore;
	struct dataplane *dp = lcore->dp;
	unsigned idle_turns = 0;

	prctl(PR_SET_TIMERSLACK, 1000ul); // ns; the default of 50 us is more than our naps
	rte_rcu_qsbr_thread_online(dp->qsbr, lcore->index);
	while (atomic_load_explicit(&dp->stopping, memory_order_acquire) < 2) {
		unsigned n = thread->turn(lcore, clock_ns());
		rte_rcu_qsbr_quiescent(dp->qsbr, lcore->index);
		if (unlikely(lcore->scan_wakes)) {
			thread->wake(thread->wake_ctx, lcore->scan_wakes);
			lcore->scan_wakes = 0;
		}
		if (n) {
			idle_turns = 0;
			continue;
		}
		idle(thread, idle_turns);
		if (idle_turns < IDLE_SHORT_TURNS)
			idle_turns++;
	}
	rte_rcu_qsbr_thread_offline(dp->qsbr, lcore->index);
	return 0;
}

int lcores_launch(struct dataplane *dp, struct lcore_thread *threads, char *err, size_t err_len)
{
	for (unsigned i = 0; i < dp->n_lcores; i++) {
		int rc = rte_rcu_qsbr_thread_register(dp->qsbr, i);
		if (!rc)
			rc = rte_eal_remote_launch(lcore_main, &threads[i], i + 1);
		if (rc) {
			snprintf(err, err_len, "data lcore %u did not start: %s", i, strerror(-rc));
			return -EBUSY;
		}
	}
	return 0;
}

// Loads of another thread's plain counters: one writer, whole words.
static uint64_t peek(const uint64_t *value)
{
	return __atomic_load_n(value, __ATOMIC_RELAXED);
}

// True when every lcore has looped at least twice since `since` was taken and holds nothing.
static bool all_empty(const struct dataplane *dp, uint64_t since[])
{
	bool looped = true, empty = true;

	for (unsigned i = 0; i < dp->n_lcores; i++) {
		looped &= peek(&dp->lcores[i]->stats.loops) >= since[i] + 2;
		empty &= peek(&dp->lcores[i]->stats.held_pkts) == 0;
	}
	if (!looped)
		return false;
	for (unsigned i = 0; i < dp->n_lcores; i++)
		since[i] = peek(&dp->lcores[i]->stats.loops);
	return empty;
}

static bool all_left(const struct dataplane *dp)
{
	for (unsigned i = 0; i < dp->n_lcores; i++) {
		if (rte_eal_get_lcore_state(i + 1) == RUNNING)
			return false;
	}
	return true;
}

int lcores_stop(struct dataplane *dp, uint64_t drain_ns, void (*pump)(void *ctx), void *ctx)
{
	uint64_t deadline = clock_ns() + drain_ns;
	uint64_t loops[LCORES_MAX];
	unsigned empty = 0;

	for (unsigned i = 0; i < dp->n_lcores; i++)
		loops[i] = peek(&dp->lcores[i]->stats.loops);
	atomic_store_explicit(&dp->stopping, 1, memory_order_release);
	// Twice: a packet may be between two lcores that were looked at one after the other.
	while (empty < 2 && clock_ns() < deadline) {
		nap(STOP_POLL_NS);
		pump(ctx);
		if (all_empty(dp, loops))
			empty++;
	}
	atomic_store_explicit(&dp->stopping, 2, memory_order_release);
	deadline = clock_ns() + NS_PER_S;
	while (!all_left(dp)) {
		if (clock_ns() > deadline)
			return -ETIMEDOUT;
		nap(STOP_POLL_NS);
		pump(ctx);
	}
	for (unsigned i = 0; i < dp->n_lcores; i++) {
		rte_eal_wait_lcore(i + 1);
		rte_rcu_qsbr_thread_unregister(dp->qsbr, i);
	}
	pump(ctx);
	return 0;
}
