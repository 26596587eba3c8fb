// SPDX-License-Identifier: BSD-3-Clause
// When a heart that rests is reported, to whom, and what is done about it; with the test's clock.
#include "control/stats/watchdog.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "pipeline/bypass.h"
#include "lib/control/eve_lines.h"

#define LOOK_NS (WATCHDOG_CHECK_MS * NS_PER_MS)

static uint64_t clock_ns = T0;

static uint64_t now(void)
{
	return clock_ns;
}

struct world {
	struct control_context context;
	struct stall_options options;
	struct watchdog watchdog;
	struct standby {
		bool can, has;
		unsigned asked;
	} standby;
	bool beats[2];
	uint64_t missed;
	char dir[40], path[64];
};

static bool take(void *ctx, unsigned lcore)
{
	struct standby *standby = ctx;

	assert_int_equal(lcore, 1);
	standby->asked++;
	standby->has |= standby->can;
	return standby->can;
}

static bool has(void *ctx, unsigned lcore)
{
	(void)lcore;
	return ((struct standby *)ctx)->has;
}

static void counters(void *ctx, struct port_counters *out)
{
	out->rx_missed = ((struct world *)ctx)->missed;
}

static void world_new(struct world *w, bool open)
{
	struct sink_options sink = {.live = true};
	char err[256];

	*w = (struct world){.dir = "/tmp/test_hearts.XXXXXX", .beats = {true, true}};
	assert_non_null(mkdtemp(w->dir));
	snprintf(w->path, sizeof w->path, "%s/eve.json", w->dir);
	sink.path = w->path;
	w->context.dp = fake_dataplane_new(2, false);
	w->context.now_ns = now;
	w->context.dp->ports[0].counters = counters;
	w->context.dp->ports[0].ctx = w;
	w->context.dp->lcores[1]->rx[0] = (struct rx_queue){.port = 0, .queue = 0};
	w->context.dp->lcores[1]->rx[1] = (struct rx_queue){.port = 0, .queue = 1}; // once
	w->context.dp->lcores[1]->n_rx = 2;
	w->context.names = rule_names_new();
	assert_int_equal(
		sink_new(&sink, w->context.dp, w->context.names, &w->context.sink, err, sizeof err),
		0);
	w->options = (struct stall_options){
		.after_ms = 500, .fail_open = open, .take = take, .has = has, .ctx = &w->standby};
	watchdog_start(&w->watchdog, &w->context, &w->options);
}

static json_t *world_free(struct world *w)
{
	sink_flush(w->context.sink);
	json_t *lines = lines_read(w->path);

	sink_free(w->context.sink);
	rule_names_free(w->context.names);
	fake_dataplane_free(w->context.dp);
	unlink(w->path);
	rmdir(w->dir);
	return lines;
}

// One look, `ns` after the last.
static bool look(struct world *w, uint64_t ns)
{
	clock_ns += ns;
	for (unsigned i = 0; i < 2; i++)
		if (w->beats[i])
			w->context.dp->lcores[i]->stats.heartbeat_ns = clock_ns - 1;
	return watchdog_check(&w->watchdog, clock_ns);
}

// Looks until reported; how long the heart had rested, ms.
static uint64_t until_told(struct world *w)
{
	uint64_t began = clock_ns;

	while (look(w, LOOK_NS))
		assert_true(clock_ns - began < 2 * NS_PER_S);
	return (clock_ns - began) / NS_PER_MS;
}

static void a_stall_is_told_within_a_second_and_once(void **state)
{
	struct world w;
	json_t *lines, *o;
	(void)state;

	world_new(&w, false);
	for (unsigned i = 0; i < 30; i++)
		assert_true(look(&w, LOOK_NS));
	w.missed = 1000;
	w.beats[1] = false;
	assert_in_range(until_told(&w), 500, 700);
	w.missed = 1730;
	for (unsigned i = 0; i < 20; i++)
		assert_false(look(&w, LOOK_NS));
	assert_int_equal(w.context.lcore_stalls, 1);
	assert_int_equal(w.standby.asked, 0); // closed
	assert_false(is_bypassed(w.context.dp, 1));
	w.beats[1] = true;
	assert_true(look(&w, LOOK_NS));
	assert_true(look(&w, LOOK_NS));
	lines = world_free(&w);
	assert_int_equal(json_array_size(lines), 2);
	o = json_array_get(lines, 0);
	has_text(o, "event_type", "stall");
	has_number(o, "lcore", 1);
	has_text(o, "stall.state", "begin");
	has_text(o, "stall.policy", "closed");
	has_text(o, "stall.action", "none");
	has_not(o, "stall.reason");
	assert_in_range(json_integer_value(at(o, "stall.rested_ms")), 500, 700);
	o = json_array_get(lines, 1);
	has_text(o, "stall.state", "end");
	has_number(o, "stall.rx_missed", 730);
	has_number(o, "stall.bypassed_pkts", 0);
	assert_in_range(json_integer_value(at(o, "stall.rested_ms")), 2600, 2800);
	json_decref(lines);
}

// The interface, whose count it was, is deleted while a lcore stands still.
static void a_count_that_begins_anew_is_no_loss(void **state)
{
	struct world w;
	(void)state;

	world_new(&w, false);
	for (unsigned i = 0; i < 30; i++)
		assert_true(look(&w, LOOK_NS));
	w.missed = 1000;
	w.beats[1] = false;
	until_told(&w);
	w.missed = 10;
	w.beats[1] = true;
	assert_true(look(&w, LOOK_NS));
	json_t *lines = world_free(&w);
	has_number(json_array_get(lines, 1), "stall.rx_missed", 0);
	json_decref(lines);
}

static void open_is_over_when_it_was_given_back(void **state)
{
	struct world w;
	json_t *lines, *o;
	(void)state;

	world_new(&w, true);
	look(&w, LOOK_NS);
	w.standby.can = true;
	w.beats[1] = false;
	w.context.dp->lcores[0]->stats.bypassed_pkts = 7; // of another time
	until_told(&w);
	assert_int_equal(w.standby.asked, 1);
	assert_true(is_bypassed(w.context.dp, 1));
	w.context.dp->lcores[0]->stats.bypassed_pkts = 17;
	w.context.dp->lcores[0]->stats.bypassed_bytes = 1000;
	// it is back, and waits for what the standby still has
	w.beats[1] = true;
	assert_false(look(&w, LOOK_NS));
	assert_false(look(&w, LOOK_NS));
	w.standby.has = false;
	bypass_over(w.context.dp, 1, 42); // as the standby does
	assert_true(look(&w, LOOK_NS));
	assert_int_equal(w.context.dp->lcores[1]->unseen_until_ns, 42);
	assert_int_equal(w.standby.asked, 1);
	lines = world_free(&w);
	assert_int_equal(json_array_size(lines), 2);
	o = json_array_get(lines, 0);
	has_text(o, "stall.policy", "open");
	has_text(o, "stall.action", "bypass");
	o = json_array_get(lines, 1);
	has_text(o, "stall.state", "end");
	has_text(o, "stall.action", "bypass");
	has_number(o, "stall.bypassed_pkts", 10);
	has_number(o, "stall.bypassed_bytes", 1000);
	json_decref(lines);
}

static void inside_a_driver_it_is_tried_again(void **state)
{
	struct world w;
	json_t *lines, *o;
	(void)state;

	world_new(&w, true);
	look(&w, LOOK_NS);
	w.beats[1] = false;
	until_told(&w);
	look(&w, LOOK_NS);
	look(&w, LOOK_NS);
	assert_int_equal(w.standby.asked, 3);
	assert_true(is_bypassed(w.context.dp, 1)); // other lcores pass by it
	w.standby.can = true;
	assert_false(look(&w, LOOK_NS));
	assert_int_equal(w.standby.asked, 4);
	look(&w, LOOK_NS);
	assert_int_equal(w.standby.asked, 4);
	w.standby.has = false;
	w.beats[1] = true;
	assert_true(look(&w, LOOK_NS));
	lines = world_free(&w);
	assert_int_equal(json_array_size(lines), 3);
	o = json_array_get(lines, 0);
	has_text(o, "stall.action", "none");
	has_text(o, "stall.reason", "driver");
	o = json_array_get(lines, 1);
	has_text(o, "stall.state", "bypass");
	has_text(o, "stall.action", "bypass");
	json_decref(lines);
}

static void what_never_was_taken_over_ends_all_the_same(void **state)
{
	struct world w;
	(void)state;

	world_new(&w, true);
	look(&w, LOOK_NS);
	w.beats[1] = false;
	until_told(&w);
	w.beats[1] = true;
	assert_true(look(&w, LOOK_NS));
	assert_false(is_bypassed(w.context.dp, 1));
	assert_int_equal(w.context.dp->lcores[1]->unseen_until_ns, clock_ns);
	json_decref(world_free(&w));
}

static void a_pause_of_the_machine_is_no_stall(void **state)
{
	struct world w;
	(void)state;

	world_new(&w, false);
	look(&w, LOOK_NS);
	w.beats[0] = w.beats[1] = false; // they have not run yet, either
	assert_true(look(&w, 3600 * NS_PER_S));
	w.beats[0] = w.beats[1] = true;
	assert_true(look(&w, LOOK_NS));
	assert_int_equal(w.context.lcore_stalls, 0);
	// but one that does not come back is reported as soon as ever
	w.beats[1] = false;
	assert_true(look(&w, 3600 * NS_PER_S));
	assert_in_range(until_told(&w), 300, 500);
	json_decref(world_free(&w));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stall_is_told_within_a_second_and_once),
		cmocka_unit_test(a_count_that_begins_anew_is_no_loss),
		cmocka_unit_test(open_is_over_when_it_was_given_back),
		cmocka_unit_test(inside_a_driver_it_is_tried_again),
		cmocka_unit_test(what_never_was_taken_over_ends_all_the_same),
		cmocka_unit_test(a_pause_of_the_machine_is_no_stall),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
