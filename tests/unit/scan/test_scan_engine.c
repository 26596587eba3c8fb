// SPDX-License-Identifier: BSD-3-Clause
// The null engine's script, and a scan lcore's work between rings: what is asked for, what is
// reported and when, and what becomes of it when there is no room.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <rte_eal.h>
#include "pipeline/vocab/tick.h"
#include "scan/worker.h"

#define T0 (1000 * NS_PER_S)

static const struct scan_config config = {
	.ops = &scan_engine_null,
	.timeout_ns = 10 * NS_PER_S,
	.n_script = 4,
	.script =
		{
			{.half = HALF_S2C, .after_bytes = 200000, .delay_ms = 3000},
			{.half = HALF_S2C,
				.after_bytes = 1000000,
				.verdict = SCAN_SCRIPT_INFECTED,
				.every = true,
				.delay_ms = 1000},
			{.half = HALF_C2S, .after_bytes = 1, .verdict = SCAN_SCRIPT_NEVER},
			{.half = HALF_C2S, .after_bytes = 10, .verdict = SCAN_SCRIPT_ERROR},
		},
};

static int start(void **state)
{
	char *argv[] = {(char[]){"test"}, (char[]){"--no-shconf"}, (char[]){"--no-huge"},
		(char[]){"-m"}, (char[]){"128"}, (char[]){"--no-pci"}, (char[]){"--no-telemetry"},
		(char[]){"--log-level=3"}};

	(void)state;
	return rte_eal_init(8, argv) < 0;
}

static struct scan_worker *worker_new(unsigned n_lcores)
{
	struct scan_worker *worker;
	char err[200];

	assert_int_equal(
		scan_worker_new(&config, 0, n_lcores, SOCKET_ID_ANY, &worker, err, sizeof(err)), 0);
	return worker;
}

static struct scan_job job(uint64_t id, uint8_t lcore, uint32_t trigger)
{
	return (struct scan_job){
		.id = id,
		.to64 = 100,
		.submitted_ns = T0,
		.deadline_ns = T0 + config.timeout_ns,
		.flow = 7,
		.generation = 8,
		.trigger = trigger,
		.lcore = lcore,
		.half = HALF_S2C,
	};
}

static int asks(enum half half, uint64_t from, uint64_t to)
{
	return config.ops->trigger(&config, half, from, to);
}

static void a_line_fires_where_its_byte_goes_by(void **state)
{
	(void)state;
	assert_int_equal(asks(HALF_S2C, 0, 199999), SCAN_TRIGGER_NONE);
	assert_int_equal(asks(HALF_S2C, 199999, 200000), 0);
	assert_int_equal(asks(HALF_S2C, 0, 5000000), 0); // the first that fits speaks
	assert_int_equal(asks(HALF_S2C, 200000, 999999), SCAN_TRIGGER_NONE);
	assert_int_equal(asks(HALF_S2C, 999999, 1000000), 1);
	assert_int_equal(asks(HALF_S2C, 1000000, 1999999), SCAN_TRIGGER_NONE);
	assert_int_equal(asks(HALF_S2C, 1999000, 2000001), 1); // every
	assert_int_equal(asks(HALF_S2C, UINT64_C(1) << 40, (UINT64_C(1) << 40) + 1000000), 1);
	assert_int_equal(asks(HALF_C2S, 0, 1), 2);
	assert_int_equal(asks(HALF_C2S, 1, 9), SCAN_TRIGGER_NONE); // once
	assert_int_equal(asks(HALF_C2S, 9, 10), 3);
}

static void verdicts_come_when_they_are_due(void **state)
{
	struct scan_worker *worker = worker_new(2);
	struct scan_link *zero = scan_worker_link(worker, 0), *one = scan_worker_link(worker, 1);
	struct scan_job slow = job(1, 0, 0), quick = job(2, 1, 1), at_once = job(3, 0, 3);
	struct scan_verdict verdicts[4];

	(void)state;
	assert_null(scan_worker_link(worker, 2));
	assert_int_equal(scan_worker_next_ns(worker), SCAN_NEVER);
	assert_true(scan_link_submit(zero, &slow));
	assert_true(scan_link_submit(one, &quick));
	assert_true(scan_link_submit(zero, &at_once));
	assert_true(scan_worker_turn(worker, T0));
	assert_int_equal(scan_link_verdicts(zero, verdicts, 4), 1);
	assert_int_equal(verdicts[0].value, SCAN_ERROR);
	assert_true(scan_job_same(&verdicts[0].job, &at_once));
	assert_int_equal(scan_worker_next_ns(worker), T0 + NS_PER_S);
	assert_false(scan_worker_turn(worker, T0 + NS_PER_S - 1));
	assert_true(scan_worker_turn(worker, T0 + NS_PER_S));
	assert_int_equal(scan_link_verdicts(zero, verdicts, 4), 0);
	assert_int_equal(scan_link_verdicts(one, verdicts, 4), 1);
	assert_int_equal(verdicts[0].value, SCAN_INFECTED);
	assert_string_equal(verdicts[0].name, "Sluice.Script.1");
	assert_int_equal(verdicts[0].taken_ns, T0);
	assert_int_equal(verdicts[0].done_ns, T0 + NS_PER_S);
	assert_true(scan_worker_turn(worker, T0 + 5 * NS_PER_S));
	assert_int_equal(scan_link_verdicts(zero, verdicts, 4), 1);
	assert_int_equal(verdicts[0].value, SCAN_CLEAN);
	assert_string_equal(verdicts[0].name, "");
	assert_int_equal(scan_worker_next_ns(worker), SCAN_NEVER);
	scan_worker_free(worker);
}

static void never_is_told_when_nobody_waits(void **state)
{
	struct scan_worker *worker = worker_new(1);
	struct scan_link *link = scan_worker_link(worker, 0);
	struct scan_job never = job(1, 0, 2);
	struct scan_verdict verdict;

	(void)state;
	assert_true(scan_link_submit(link, &never));
	assert_true(scan_worker_turn(worker, T0));
	assert_false(scan_worker_turn(worker, never.deadline_ns));
	assert_int_equal(scan_link_verdicts(link, &verdict, 1), 0);
	assert_true(scan_worker_turn(worker, never.deadline_ns + NS_PER_S));
	assert_int_equal(scan_link_verdicts(link, &verdict, 1), 1);
	assert_int_equal(verdict.value, SCAN_TIMEOUT);
	assert_true(scan_job_same(&verdict.job, &never));
	scan_worker_free(worker);
}

// Rings of several data lcores together have more jobs than an engine has room.
static void what_the_engine_has_no_room_for_is_an_error(void **state)
{
	enum { LCORES = SCAN_JOBS_MAX / (SCAN_RING - 1) + 1 };
	struct scan_worker *worker = worker_new(LCORES);
	struct scan_verdict verdict;
	unsigned n = 0, refused = 0;

	(void)state;
	for (unsigned lcore = 0; lcore < LCORES; lcore++) {
		struct scan_job slow = job(++n, (uint8_t)lcore, 0);

		while (scan_link_submit(scan_worker_link(worker, lcore), &slow))
			slow.id = ++n;
		n--;
	}
	assert_true(n > SCAN_JOBS_MAX);
	while (scan_worker_turn(worker, T0))
		;
	for (unsigned lcore = 0; lcore < LCORES; lcore++) {
		while (scan_link_verdicts(scan_worker_link(worker, lcore), &verdict, 1)) {
			assert_int_equal(verdict.value, SCAN_ERROR);
			refused++;
		}
	}
	assert_int_equal(refused, n - SCAN_JOBS_MAX);
	scan_worker_free(worker);
}

static void a_strange_job_and_a_late_one_are_answered_at_once(void **state)
{
	struct scan_worker *worker = worker_new(1);
	struct scan_link *link = scan_worker_link(worker, 0);
	struct scan_job strange = job(9, 0, 77), late = job(10, 0, 0);
	struct scan_verdict verdict;

	(void)state;
	assert_true(scan_link_submit(link, &strange));
	assert_true(scan_worker_turn(worker, T0));
	assert_int_equal(scan_link_verdicts(link, &verdict, 1), 1);
	assert_int_equal(verdict.value, SCAN_ERROR);
	assert_true(scan_link_submit(link, &late));
	assert_true(scan_worker_turn(worker, late.deadline_ns));
	assert_int_equal(scan_link_verdicts(link, &verdict, 1), 1);
	assert_int_equal(verdict.value, SCAN_TIMEOUT);
	assert_true(scan_job_same(&verdict.job, &late));
	assert_int_equal(scan_worker_next_ns(worker), SCAN_NEVER); // it was not begun
	scan_worker_free(worker);
}

static void no_verdict_is_lost_for_want_of_room(void **state)
{
	struct scan_worker *worker = worker_new(1);
	struct scan_link *link = scan_worker_link(worker, 0);
	struct scan_job error = job(1, 0, 3), slow = job(2, 0, 0);
	struct scan_verdict verdict;
	unsigned n = 0, told = 0;

	(void)state;
	assert_true(scan_link_submit(link, &slow)); // its verdict comes last, and has room
	assert_true(scan_worker_turn(worker, T0));
	while (scan_link_submit(link, &error))
		n++;
	assert_int_equal(n, SCAN_RING - 1);
	while (scan_worker_turn(worker, T0))
		;
	assert_int_equal(rte_ring_count(link->jobs), 1); // the last one stayed
	assert_true(scan_link_submit(link, &error));
	assert_false(scan_worker_turn(worker, T0)); // no room yet
	while (scan_link_verdicts(link, &verdict, 1))
		told += verdict.value == SCAN_ERROR;
	assert_int_equal(told, SCAN_RING - 2);
	while (scan_worker_turn(worker, T0 + 4 * NS_PER_S))
		;
	while (scan_link_verdicts(link, &verdict, 1))
		told += verdict.value == SCAN_ERROR || verdict.job.id == slow.id;
	assert_int_equal(told, n + 2);
	scan_worker_free(worker);
}

static void a_sleeper_is_seen_and_looks_again(void **state)
{
	struct scan_worker *worker = worker_new(1);
	struct scan_link *link = scan_worker_link(worker, 0);
	struct scan_job one = job(1, 0, 0);

	(void)state;
	assert_false(scan_link_is_asleep(link));
	assert_true(scan_worker_may_sleep(worker));
	assert_true(scan_link_is_asleep(link));
	scan_worker_woke(worker);
	assert_false(scan_link_is_asleep(link));
	assert_true(scan_link_submit(link, &one));
	assert_false(scan_worker_may_sleep(worker));
	assert_false(scan_link_is_asleep(link));
	scan_worker_free(worker);
}

static void what_names_a_job_is_all_of_it(void **state)
{
	const struct scan_job one = job(1, 0, 0);
	struct scan_job other = one;

	(void)state;
	assert_true(scan_job_same(&one, &other));
	other.generation++;
	assert_false(scan_job_same(&one, &other));
	other = one;
	other.flow++;
	assert_false(scan_job_same(&one, &other));
	other = one;
	other.id++;
	assert_false(scan_job_same(&one, &other));
	other = one;
	other.lcore++;
	assert_false(scan_job_same(&one, &other));
	other = one;
	other.half ^= 1;
	assert_false(scan_job_same(&one, &other));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_fires_where_its_byte_goes_by),
		cmocka_unit_test(verdicts_come_when_they_are_due),
		cmocka_unit_test(never_is_told_when_nobody_waits),
		cmocka_unit_test(what_the_engine_has_no_room_for_is_an_error),
		cmocka_unit_test(no_verdict_is_lost_for_want_of_room),
		cmocka_unit_test(a_strange_job_and_a_late_one_are_answered_at_once),
		cmocka_unit_test(a_sleeper_is_seen_and_looks_again),
		cmocka_unit_test(what_names_a_job_is_all_of_it),
	};

	return cmocka_run_group_tests(tests, start, NULL);
}
