// SPDX-License-Identifier: BSD-3-Clause
// Data lcores that rest do not hold up a reload: from its publication until the old policy is freed
// (reload_step), with the real threads and the real idle ramp.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <rte_eal.h>
#include <cmocka.h>
#include "lib/control/fake_control.h"
#include "machine/lcore_launch.h"
#include "control/policy/reload.h"

#define LCORES  3
#define RELOADS 60

static unsigned no_packets(struct lcore *lcore, uint64_t now_ns)
{
	// what a turn does with the policy: reads it, and lets go of it at the turn's end
	lcore->policy = atomic_load_explicit(&lcore->dp->policy, memory_order_acquire);
	__atomic_store_n(&lcore->stats.heartbeat_ns, now_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&lcore->stats.loops, lcore->stats.loops + 1, __ATOMIC_RELAXED);
	return 0;
}

static void no_pump(void *ctx)
{
	(void)ctx;
}

// The slowest of RELOADS, ns.
static uint64_t slowest_reload(bool idle_sleep)
{
	struct dataplane *dp = fake_dataplane_new(LCORES, true);
	struct rule_names *names = rule_names_new();
	struct lcore_thread threads[LCORES];
	struct config_errors errors = {0};
	struct reload *reload;
	uint64_t slowest = 0;
	char err[200];

	for (unsigned i = 0; i < LCORES; i++) {
		rte_rcu_qsbr_thread_offline(dp->qsbr, i);
		rte_rcu_qsbr_thread_unregister(dp->qsbr, i);
		threads[i] = (struct lcore_thread){.lcore = dp->lcores[i],
			.turn = no_packets,
			.idle_sleep = idle_sleep,
			.shares_cpu = true};
	}
	fake_signatures = "a";
	assert_int_equal(reload_new(dp, names, "signatures", NULL, &reload), 0);
	assert_int_equal(reload_load(reload, "/etc/policy.json", 1, &errors), 0);
	assert_int_equal(lcores_launch(dp, threads, err, sizeof(err)), 0);
	usleep(300000); // they are in their longest naps then
	for (unsigned i = 0; i < RELOADS; i++) {
		assert_int_equal(reload_load(reload, "/etc/policy.json", 2, &errors), 0);
		uint64_t began = clock_ns(), took;

		while (!reload_step(reload, 1))
			usleep(50);
		took = clock_ns() - began;
		if (took > slowest)
			slowest = took;
		usleep(3000);
	}
	assert_int_equal(reload_freed(reload), RELOADS);
	assert_int_equal(lcores_stop(dp, NS_PER_S, no_pump, NULL), 0);
	reload_free(reload);
	rule_names_free(names);
	fake_dataplane_free(dp);
	return slowest;
}

static void resting_lcores_let_a_reload_pass(void **state)
{
	uint64_t slowest = slowest_reload(true);
	(void)state;

	printf("idle_sleep: the slowest of %d reloads took %.2f ms\n", RELOADS,
		(double)slowest / 1e6);
	assert_true(slowest < 100 * NS_PER_MS);
}

static void so_do_those_that_poll(void **state)
{
	uint64_t slowest = slowest_reload(false);
	(void)state;

	printf("polling: the slowest of %d reloads took %.2f ms\n", RELOADS, (double)slowest / 1e6);
	assert_true(slowest < 100 * NS_PER_MS);
}

static int start(void **state)
{
	static char program[] = "test", huge[] = "--no-huge", conf[] = "--no-shconf",
		    pci[] = "--no-pci", telemetry[] = "--no-telemetry", m[] = "-m", mb[] = "16",
		    places[] = "--lcores=(0-3)@(0-1)";
	char *argv[] = {program, huge, conf, pci, telemetry, m, mb, places, NULL};
	(void)state;

	if (rte_eal_init(8, argv) < 0)
		return -1;
	clock_start();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(resting_lcores_let_a_reload_pass),
		cmocka_unit_test(so_do_those_that_poll),
	};

	return cmocka_run_group_tests(tests, start, NULL);
}
