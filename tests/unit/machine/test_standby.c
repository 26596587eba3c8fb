// SPDX-License-Identifier: BSD-3-Clause
// The standby, with threads: takes over, hands back, and never shares a driver with the lcore.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <time.h>
#include <cmocka.h>
#include "lib/pipeline/wire.h"
#include "pipeline/bypass.h"
#include "machine/standby.h"
#include "pipeline/egress/tx.h"

static const struct pipe_packet text = {.payload = "hi", .payload_length = 2};

static uint64_t clock_now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return 1700000000 * NS_PER_S + (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

static void rest(uint64_t ns)
{
	struct timespec time = {.tv_nsec = (long)(ns % NS_PER_S)};

	nanosleep(&time, NULL);
}

static _Atomic bool still, go_on;

static void until_told(uint64_t ns)
{
	(void)ns;
	atomic_store(&still, true);
	while (!atomic_load(&go_on))
		rest(100 * NS_PER_US);
	atomic_store(&still, false);
}

static void *run_lcore(void *arg)
{
	struct lcore *lcore = arg;
	struct dataplane *dp = lcore->dp;

	rte_rcu_qsbr_thread_online(dp->qsbr, lcore->index);
	while (atomic_load(&dp->stopping) < 2) {
		pipeline_turn(lcore, clock_now());
		rte_rcu_qsbr_quiescent(dp->qsbr, lcore->index);
	}
	rte_rcu_qsbr_thread_offline(dp->qsbr, lcore->index);
	return NULL;
}

static void wait_for(bool (*what)(struct pipe *pipe), struct pipe *pipe)
{
	for (unsigned i = 0; i < 50000 && !what(pipe); i++)
		rest(100 * NS_PER_US);
	assert_true(what(pipe));
}

static bool stands_still(struct pipe *pipe)
{
	(void)pipe;
	return atomic_load(&still);
}

static uint64_t peek(const uint64_t *value)
{
	return __atomic_load_n(value, __ATOMIC_RELAXED);
}

static bool has_bypassed(struct pipe *pipe)
{
	return peek(&pipe->dp.standbys[0]->stats.bypassed_pkts) > 1000;
}

static uint64_t loops_before;

static bool turns_again(struct pipe *pipe)
{
	return peek(&pipe->dp.lcores[0]->stats.loops) > loops_before + 10;
}

struct threads {
	struct pipe *pipe;
	struct standby *standby;
	pthread_t lcore;
};

static void threads_new(struct threads *threads)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct dataplane *dp = &pipe->dp;
	struct pipe_packet packet = text;
	char err[200];

	memset(&wire, 0, sizeof(wire));
	wire.endless = true;
	for (packet.sport = 1; packet.sport <= 50; packet.sport++)
		wire_put_packet(&packet);
	dp->clock_ns = clock_now;
	dp->stand_still = until_told;
	dp->ports[PIPE_INSIDE].receive = wire_receive;
	dp->ports[PIPE_OUTSIDE].send = wire_send;
	dp->lcores[0]->rx[0] = (struct rx_queue){.port = PIPE_INSIDE};
	dp->lcores[0]->n_rx = 1;
	dp->qsbr = aligned_alloc(64, (rte_rcu_qsbr_get_memsize(2) + 63) / 64 * 64);
	assert_non_null(dp->qsbr);
	assert_int_equal(rte_rcu_qsbr_init(dp->qsbr, 2), 0);
	rte_rcu_qsbr_thread_register(dp->qsbr, 0);
	assert_int_equal(standby_new(dp, &threads->standby, err, sizeof(err)), 0);
	threads->pipe = pipe;
	atomic_store(&still, false);
	atomic_store(&go_on, false);
	assert_int_equal(pthread_create(&threads->lcore, NULL, run_lcore, dp->lcores[0]), 0);
}

// Ends all; the ledger closes and every mbuf is back.
static void threads_free(struct threads *threads)
{
	struct dataplane *dp = &threads->pipe->dp;

	atomic_store(&dp->stopping, 2);
	pthread_join(threads->lcore, NULL);
	standby_free(threads->standby);
	assert_int_equal(lease_holder(&dp->lcores[0]->lease), LEASE_LCORE);
	assert_int_equal(wire.clashes, 0);
	free(dp->qsbr);
	dp->qsbr = NULL;
	pipe_free(threads->pipe); // asserts the ledger and the pool
}

static void a_stall_in_inspection_is_bridged_and_handed_back(void **state)
{
	struct threads threads;
	(void)state;

	threads_new(&threads);
	struct dataplane *dp = &threads.pipe->dp;

	for (unsigned round = 0; round < 20; round++) {
		uint64_t bypassed = peek(&dp->standbys[0]->stats.bypassed_pkts);

		atomic_store(&go_on, false);
		atomic_store(&dp->lcores[0]->stall_inspect_ns, 1);
		wait_for(stands_still, threads.pipe);
		bypass_begin(dp, 0);
		assert_true(standby_take(threads.standby, 0));
		assert_true(standby_has(threads.standby, 0));
		assert_false(standby_take(threads.standby, 0)); // it has it
		if (!round)
			wait_for(has_bypassed, threads.pipe);
		loops_before = peek(&dp->lcores[0]->stats.loops);
		atomic_store(&go_on, true);
		wait_for(turns_again, threads.pipe);
		assert_false(standby_has(threads.standby, 0));
		assert_false(is_bypassed(dp, 0));
		assert_true(peek(&dp->standbys[0]->stats.bypassed_pkts) >= bypassed);
		uint64_t after = peek(&dp->standbys[0]->stats.bypassed_pkts);

		loops_before = peek(&dp->lcores[0]->stats.loops);
		wait_for(turns_again, threads.pipe);
		assert_int_equal(peek(&dp->standbys[0]->stats.bypassed_pkts), after);
	}
	threads_free(&threads);
}

static void a_stall_in_a_driver_cannot_be_bridged(void **state)
{
	struct threads threads;
	(void)state;

	threads_new(&threads);
	struct dataplane *dp = &threads.pipe->dp;

	atomic_store(&dp->lcores[0]->stall_turn_ns, 1);
	wait_for(stands_still, threads.pipe);
	assert_false(standby_take(threads.standby, 0));
	assert_false(standby_has(threads.standby, 0));
	atomic_store(&go_on, true);
	threads_free(&threads);
}

static uint64_t beat_before;

static bool heart_beats(struct pipe *pipe)
{
	return peek(&pipe->dp.lcores[0]->stats.heartbeat_ns) > beat_before + NS_PER_MS;
}

// Nobody serves: the lease is the test's.
static void a_lcore_that_is_back_waits_with_a_beating_heart(void **state)
{
	struct threads threads;
	(void)state;

	threads_new(&threads);
	struct dataplane *dp = &threads.pipe->dp;
	struct lease *lease = &dp->lcores[0]->lease;

	atomic_store(&dp->lcores[0]->stall_inspect_ns, 1);
	wait_for(stands_still, threads.pipe);
	assert_true(lease_take(lease, LEASE_STANDBY));
	atomic_store(&go_on, true);
	uint64_t loops = peek(&dp->lcores[0]->stats.loops);

	beat_before = clock_now();
	wait_for(heart_beats, threads.pipe);
	assert_int_equal(lease_holder(lease), LEASE_WANTED);
	assert_int_equal(peek(&dp->lcores[0]->stats.loops), loops);
	lease_give(lease);
	threads_free(&threads);
}

// received + injected - sent - dropped - consumed, and what lcores and standbys have now
static int64_t unaccounted_now(const struct pipe *pipe)
{
	int64_t open = pipe_unaccounted(pipe) + (int64_t)pipe_stats(pipe).held_pkts;

	for (unsigned i = 0; i < pipe->dp.n_lcores; i++)
		open -= pipeline_held(pipe->dp.lcores[i]) + tx_held(pipe->dp.standbys[i]);
	return open;
}

static void a_stop_while_it_stands_still_loses_no_packet(void **state)
{
	struct threads threads;
	(void)state;

	threads_new(&threads);
	struct dataplane *dp = &threads.pipe->dp;

	atomic_store(&dp->lcores[0]->stall_inspect_ns, 1);
	wait_for(stands_still, threads.pipe);
	bypass_begin(dp, 0);
	assert_true(standby_take(threads.standby, 0));
	wait_for(has_bypassed, threads.pipe);
	atomic_store(&dp->stopping, 2);
	standby_free(threads.standby);
	threads.standby = NULL;
	// as the gateway ends that cannot wait for it: all that is open is in its hands
	assert_true(dp->lcores[0]->in_hand > 0);
	assert_int_equal(unaccounted_now(threads.pipe), 0);
	atomic_store(&go_on, true);
	threads_free(&threads);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stall_in_inspection_is_bridged_and_handed_back),
		cmocka_unit_test(a_stall_in_a_driver_cannot_be_bridged),
		cmocka_unit_test(a_lcore_that_is_back_waits_with_a_beating_heart),
		cmocka_unit_test(a_stop_while_it_stands_still_loses_no_packet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
