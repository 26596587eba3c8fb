// SPDX-License-Identifier: BSD-3-Clause
// chaos, over each transport: every message has one fate, each is counted, and the same seed has
// the same fates.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "rows.h"

#define MESSAGES 3000
// Three rates, each its own: one is not taken for another.
#define STORM                                                                       \
	"\"drop_ppm\": 100000, \"duplicate_ppm\": 80000, \"reorder_ppm\": 150000, " \
	"\"reorder_ms\": 9000"

static bool is_chaos(void)
{
	return row->below && !row_has(ROW_SILENT);
}

// Paced, so that nothing is lost but on purpose; then the time of all that still waits passes.
static void send_all(struct row_pair *pair, unsigned n)
{
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(rig_send(pair->out, 1000 + i, 64), TAPI_OK);
		if (i % 20 == 19)
			rig_pump(&pair->rig, 0);
	}
	pair->rig.ahead_us += 10000000;
	for (unsigned still = 0, last = 0; still < 10; still++) {
		rig_pump(&pair->rig, 3);
		if (pair->a->n_arrivals != last)
			still = 0;
		last = pair->a->n_arrivals;
	}
}

static void each_has_its_fate(void **state)
{
	static unsigned times[MESSAGES];
	struct row_pair pair;
	const struct tapi_transport_stats *stats;
	unsigned none = 0, twice = 0, overtaken = 0;

	(void)state;
	if (!is_chaos())
		skip();
	row_pair_begin_as(&pair, NULL, &(struct row_wish){.chaos = STORM});
	send_all(&pair, MESSAGES);
	memset(times, 0, sizeof(times));
	for (unsigned i = 0; i < pair.a->n_arrivals; i++) {
		const struct rig_arrival *arrival = &pair.a->arrivals[i];

		assert_in_range(arrival->serial, 1000, 1000 + MESSAGES - 1);
		times[arrival->serial - 1000]++;
		overtaken += i > 0 && arrival->serial < pair.a->arrivals[i - 1].serial;
	}
	for (unsigned i = 0; i < MESSAGES; i++) {
		assert_in_range(times[i], 0, 2);
		none += times[i] == 0;
		twice += times[i] == 2;
	}
	stats = rig_stats(pair.b);
	assert_int_equal(stats->sent_msgs, MESSAGES); // it took them all
	assert_int_equal(stats->fault_refused, 0);
	assert_int_equal(stats->fault_dropped, none);
	assert_int_equal(stats->fault_doubled, twice);
	assert_int_equal(pair.a->n_arrivals, MESSAGES - none + twice);
	// 10 % of 3,000, and 8 % and 15 % of the others; 5 standard deviations to either side.
	assert_in_range(stats->fault_dropped, 218, 382);
	assert_in_range(stats->fault_doubled, 146, 286);
	assert_in_range(stats->fault_reordered, 313, 497);
	assert_in_range(overtaken, 100, stats->fault_reordered + twice);
	row_pair_end(&pair);
}

// The order of arrivals of a run, as a number.
static uint64_t run(const char *seed)
{
	struct row_pair pair;
	uint64_t hash = 14695981039346656037u;

	row_pair_begin_as(&pair, NULL, &(struct row_wish){.chaos = STORM, .seed = seed});
	send_all(&pair, 400);
	for (unsigned i = 0; i < pair.a->n_arrivals; i++)
		hash = (hash ^ pair.a->arrivals[i].serial) * 1099511628211u;
	row_pair_end(&pair);
	return hash;
}

static void same_seed_same_fates(void **state)
{
	(void)state;
	if (!is_chaos())
		skip();
	assert_true(run("42") == run("42"));
	assert_true(run("42") != run("43"));
}

static void late_ones_come_late(void **state)
{
	struct row_pair pair;
	struct tapi_helo helo_a;
	unsigned refused = 0, arrived = 12;

	(void)state;
	if (!is_chaos())
		skip();
	row_pair_begin(&pair);
	assert_int_equal(rig_send(pair.out, 1, 100), TAPI_OK);
	assert_true(rig_until_arrivals(pair.a, 1));
	assert_int_equal(
		rig_reload(pair.b, row_conf(1, &(struct row_wish){.chaos = "\"delay_ms\": 20000, "
									   "\"hold_msgs\": 5"})),
		TAPI_OK);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(rig_send(pair.out, 10 + i, 100), TAPI_OK);
	rig_turn(pair.b);
	assert_true(pair.b->wish <= rig_now(&pair.rig) + 20000000);
	assert_true(rig_until_arrivals(pair.a, 4)); // there was room for five
	rig_pump(&pair.rig, 20);
	assert_int_equal(pair.a->n_arrivals, 4);
	assert_int_equal(rig_stats(pair.b)->fault_delayed, 5);
	pair.rig.ahead_us += 15000000;
	rig_pump(&pair.rig, 10);
	assert_int_equal(pair.a->n_arrivals, 4);
	pair.rig.ahead_us += 6000000;
	assert_true(rig_until_arrivals(pair.a, 9));
	assert_int_equal(pair.a->arrivals[8].serial, 14);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(rig_send(pair.out, 20 + i, 100), TAPI_OK);
	assert_int_equal(rig_disconnect(pair.out), TAPI_OK);
	if (row_is(TAPI_SESSIONLESS)) {
		// An answer on a session of its own: it goes, and then the session ends.
		assert_int_equal(rig_stats(pair.b)->sessions_closed, 0);
		pair.rig.ahead_us += 21000000;
		assert_true(rig_until_arrivals(pair.a, 12));
	} else { // it was taken, and is counted as refused
		refused = 3;
		arrived = 9;
	}
	assert_int_equal(rig_stats(pair.b)->fault_refused, refused);
	assert_int_equal(rig_stats(pair.b)->sessions_closed, 1);
	// Where the session ends with the server, too.
	helo_a = row_helo(pair.b, pair.a);
	for (unsigned hung_up = 0; hung_up < 2; hung_up++) {
		assert_int_equal(rig_connect(pair.b, &helo_a, &pair.out), TAPI_OK);
		for (uint32_t i = 0; i < 2; i++)
			assert_int_equal(rig_send(pair.out, 30 + i, 100), TAPI_OK);
		if (hung_up)
			assert_int_equal(rig_disconnect(pair.out), TAPI_OK);
		rig_stop(pair.b);
		refused += 2;
		assert_int_equal(rig_stats(pair.b)->fault_refused, refused);
		rig_start(pair.b);
	}
	pair.rig.ahead_us += 100000000;
	rig_pump(&pair.rig, 10);
	assert_int_equal(pair.a->n_arrivals, arrived);
	row_pair_end(&pair);
}

static void what_cannot_change(void **state)
{
	struct row_pair pair;
	const char *conf = "{\"acl\": {\"local\": true}, \"chaos\": {\"below\": \"pigeon\"}}";

	(void)state;
	if (!row->below)
		skip();
	row_pair_begin(&pair);
	pair.rig.log[0] = 0;
	assert_int_equal(rig_reload(pair.b, conf), TAPI_ECONF);
	assert_non_null(strstr(pair.rig.log, "chaos.below"));
	assert_int_equal(
		rig_reload(pair.b, row_conf(1, &(struct row_wish){.seed = "8"})), TAPI_ECONF);
	assert_non_null(strstr(pair.rig.log, "chaos.seed"));
	assert_int_equal(
		rig_reload(pair.b,
			row_conf(1, &(struct row_wish){.chaos = "\"module_path\": \"/nowhere\""})),
		TAPI_ECONF);
	assert_non_null(strstr(pair.rig.log, "chaos.module_path"));
	assert_int_equal(rig_reload(pair.b, row_conf(1, NULL)), TAPI_OK);
	assert_int_equal(
		rig_reload(pair.b, row_conf(1, &(struct row_wish){.seed = "8"})), TAPI_ECONF);
	assert_int_equal(rig_send(pair.out, 1, 100), TAPI_OK);
	row_pair_end(&pair);
}

static void cannot_wrap(void **state)
{
	static const struct {
		const char *conf, *text;
	} wrong[] = {
		{"{\"chaos\": {\"below\": \"chaos\"}}", "cannot wrap itself"},
		{"{\"chaos\": {\"below\": \"pigeon\"}}", "transport pigeon: not built in"},
		{"{\"chaos\": {\"below\": \"null\"}, \"null\": {\"x\": 1}}", "below chaos: "},
		{"{\"chaos\": {\"drop_ppm\": 1000001}}", "drop_ppm"},
	};
	struct rig rig;

	(void)state;
	if (!row->below)
		skip();
	rig_init(&rig, 1);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct tapi_loaded loaded;
		struct tapi_error error;

		rig_configure(&rig.nodes[0], wrong[i].conf);
		rig.all_log[0] = 0;
		assert_int_equal(tapi_transport_load(
					 &loaded, "chaos", NULL, false, &rig.nodes[0].core, &error),
			TAPI_ECONF);
		if (!strstr(rig.all_log, wrong[i].text))
			fail_msg("%s: %s", wrong[i].conf, rig.all_log);
	}
	rig_end(&rig);
}

int cases_weather(void)
{
	const struct CMUnitTest tests[] = {
		CASE(each_has_its_fate),
		CASE(same_seed_same_fates),
		CASE(late_ones_come_late),
		CASE(what_cannot_change),
		CASE(cannot_wrap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
