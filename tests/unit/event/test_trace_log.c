// SPDX-License-Identifier: BSD-3-Clause
// trace_log: steps in order, of one flow among several, and what was overwritten.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "lib/control/eve_lines.h"
#include "control/event/trace_log.h"

struct world {
	struct dataplane *dp;
	struct rule_names *names;
	struct sink *sink;
	struct trace_log *log;
};

static struct world world_new(void)
{
	struct sink_options options = {.source = "pcap"};
	struct world w = {.dp = fake_dataplane_new(1, false), .names = rule_names_new()};
	char err[256] = "";

	assert_int_equal(sink_new(&options, w.dp, w.names, &w.sink, err, sizeof err), 0);
	assert_int_equal(trace_log_new(w.sink, &w.log), 0);
	return w;
}

static void world_free(struct world *w)
{
	sink_free(w->sink);
	trace_log_free(w->log);
	rule_names_free(w->names);
	fake_dataplane_free(w->dp);
}

static struct event step(uint64_t flow_id, uint32_t packet)
{
	struct event event = {.type = EVENT_TRACE, .flow_id = flow_id, .now_ns = T0 + packet};

	event.trace.packet = packet;
	snprintf(event.trace.text, sizeof event.trace.text, "decide: step %u", packet);
	return event;
}

static void what_lcores_tell_is_kept(void **state)
{
	struct world w = world_new();
	struct event one = step(7, 1), other = step(8, 2), flow = {.type = EVENT_FLOW};
	const struct trace_step *found;
	bool missed = false;

	(void)state;
	assert_int_equal(trace_log_newest(w.log), 0);
	assert_null(trace_log_next(w.log, 7, 0, &missed));
	// by way of the sink, as lcores send them
	assert_int_equal(rte_ring_sp_enqueue_elem(w.dp->lcores[0]->events, &one, sizeof one), 0);
	assert_int_equal(rte_ring_sp_enqueue_elem(w.dp->lcores[0]->events, &flow, sizeof flow), 0);
	assert_int_equal(
		rte_ring_sp_enqueue_elem(w.dp->lcores[0]->events, &other, sizeof other), 0);
	sink_drain(w.sink, 0);
	assert_int_equal(trace_log_newest(w.log), 2);
	found = trace_log_next(w.log, 8, 0, &missed);
	assert_non_null(found);
	assert_int_equal(found->number, 2);
	assert_int_equal(found->packet, 2);
	assert_string_equal(found->text, "decide: step 2");
	assert_null(trace_log_next(w.log, 8, 2, &missed));
	assert_null(trace_log_next(w.log, 9, 0, &missed));
	assert_false(missed);
	world_free(&w);
}

static void what_is_overwritten_is_told(void **state)
{
	struct world w = world_new();
	const struct trace_step *found;
	bool missed = false;

	(void)state;
	for (uint32_t i = 1; i <= TRACE_LOG_STEPS + 10; i++) {
		struct event event = step(1 + i % 2, i);

		memset(event.trace.text, 'x', sizeof event.trace.text); // no end
		trace_log_take(w.log, &event);
	}
	found = trace_log_next(w.log, 1, 10, &missed);
	assert_false(missed);
	assert_int_equal(found->number, 12);
	assert_int_equal(strlen(found->text), sizeof found->text - 1);
	found = trace_log_next(w.log, 2, 9, &missed);
	assert_true(missed);
	assert_int_equal(found->number, 11);
	missed = false;
	found = trace_log_next(w.log, 2, UINT64_MAX / 2, &missed); // of before a restart
	assert_null(found);
	assert_false(missed);
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_lcores_tell_is_kept),
		cmocka_unit_test(what_is_overwritten_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
