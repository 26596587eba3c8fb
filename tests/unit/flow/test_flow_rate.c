// SPDX-License-Identifier: BSD-3-Clause
// How fast a flow is said to be.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "lib/pipeline/pipe.h"
#include "pipeline/flow/rate.h"
#include "pipeline/query.h"

#define WINDOW_NS (1ull << RATE_WINDOW_SHIFT)

static uint64_t payload[120]; // 960 bytes; the frame is 1014

// The test's clock to the start of a window.
static void align(struct pipe *pipe)
{
	pipe->now_ns = (pipe->now_ns / WINDOW_NS + 1) * WINDOW_NS;
}

static void send(struct pipe *pipe, bool from_outside)
{
	pipe_run(pipe, 0,
		&(struct pipe_packet){.from_outside = from_outside,
			.payload = payload,
			.payload_length = sizeof(payload)});
	pipe->n_sent = 0; // the wire's memory is short
}

static uint64_t rate(struct pipe *pipe)
{
	struct flow_record record;
	struct query query = {.type = QUERY_FLOWS, .out = &record, .max = 1};

	assert_int_equal(rte_ring_sp_enqueue(pipe->dp.lcores[0]->queries, &query), 0);
	for (unsigned i = 0; i < 10 && !query.done; i++)
		pipe_turns(pipe);
	assert_true(query.done);
	assert_int_equal(query.n, 1);
	return record.rate_bytes_s;
}

static void assert_near(uint64_t got, uint64_t want)
{
	assert_in_range(got, want - want / 50, want + want / 50);
}

static void both_halves_of_the_last_window_make_the_rate(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	uint64_t expected = 200 * 1014 * NS_PER_S / WINDOW_NS;
	(void)state;

	align(pipe);
	for (unsigned window = 0; window < 3; window++) {
		for (unsigned i = 0; i < 100; i++) {
			pipe->now_ns += WINDOW_NS / 100;
			send(pipe, false);
			send(pipe, true);
		}
		assert_near(rate(pipe), expected);
	}
	// what comes next is less: the last whole window still counts
	pipe->now_ns += WINDOW_NS / 2;
	send(pipe, false);
	assert_near(rate(pipe), expected);
	pipe_free(pipe);
}

static void a_new_flow_has_a_rate_before_its_first_window_ends(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	(void)state;

	align(pipe);
	for (unsigned i = 0; i < 50; i++)
		send(pipe, false);
	assert_near(rate(pipe), 50 * 1014 * NS_PER_S / WINDOW_NS);
	pipe_free(pipe);
}

static void a_flow_that_rests_has_none(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	(void)state;

	align(pipe);
	for (unsigned i = 0; i < 50; i++)
		send(pipe, false);
	pipe->now_ns += WINDOW_NS; // its window is now the last whole one
	assert_near(rate(pipe), 50 * 1014 * NS_PER_S / WINDOW_NS);
	pipe->now_ns += WINDOW_NS;
	assert_int_equal(rate(pipe), 0);
	// and begins again with what comes: nothing of before the rest is counted
	pipe->now_ns += 5 * WINDOW_NS;
	for (unsigned i = 0; i < 10; i++)
		send(pipe, false);
	assert_near(rate(pipe), 10 * 1014 * NS_PER_S / WINDOW_NS);
	pipe_free(pipe);
}

// 8 Mbit/s for three seconds: about 1060 packets of ours a window.
static struct pipe *with_elephants(void)
{
	struct lcore_limits limits = pipe_limits();

	limits.elephant = flow_elephant_limits(8, 3);
	return pipe_new(1, &limits);
}

static void window_of(struct pipe *pipe, unsigned packets)
{
	for (unsigned i = 0; i < packets; i++)
		send(pipe, i & 1);
	pipe->now_ns += WINDOW_NS;
}

static void a_flow_that_is_fast_for_long_is_an_elephant(void **state)
{
	struct pipe *pipe = with_elephants();
	struct event event;
	(void)state;

	align(pipe);
	for (unsigned window = 0; window < 3; window++) {
		window_of(pipe, 1100);
		assert_int_equal(pipe_stats(pipe).elephants, 0);
	}
	send(pipe, false); // the first packet of the window after the third
	assert_int_equal(pipe_stats(pipe).elephants, 1);
	assert_int_equal(pipe_stats(pipe).elephants_active, 1);
	assert_true(pipe_event(pipe, 0, EVENT_ELEPHANT, &event));
	assert_true(event.flow.elephant);
	assert_near(event.flow.rate_bytes_s, 1100 * 1014 * NS_PER_S / WINDOW_NS);
	assert_int_equal(event.flow.pkts[0] + event.flow.pkts[1], 3300);
	// once, and for its life
	for (unsigned window = 0; window < 8; window++)
		window_of(pipe, window < 5 ? 1100 : 1);
	assert_int_equal(pipe_stats(pipe).elephants, 1);
	assert_int_equal(pipe_stats(pipe).elephants_active, 1);
	pipe_advance(pipe, 8000);
	assert_int_equal(pipe_stats(pipe).elephants_active, 0);
	assert_true(pipe_event(pipe, 0, EVENT_FLOW, &event));
	assert_true(event.flow.elephant);
	pipe_free(pipe);
}

static void a_flow_that_pauses_or_is_slow_is_none(void **state)
{
	struct pipe *pipe = with_elephants();
	(void)state;

	align(pipe);
	for (unsigned window = 0; window < 12; window++)
		window_of(pipe, window % 3 == 2 ? 900 : 1100); // never three in a row
	for (unsigned round = 0; round < 4; round++) {
		window_of(pipe, 1100);
		window_of(pipe, 1100);
		pipe->now_ns += WINDOW_NS; // a window with nothing
	}
	send(pipe, false);
	assert_int_equal(pipe_stats(pipe).elephants, 0);
	pipe_free(pipe);
}

static void limits_are_what_an_operator_says(void **state)
{
	(void)state;
	assert_int_equal(flow_elephant_limits(0, 5).rate, 0); // off
	// 100 Mbit/s for 1.074 s in units of 64 bytes
	assert_int_equal(flow_elephant_limits(100, 5).rate, 209715);
	assert_int_equal(flow_elephant_limits(100, 1).windows, 1);
	assert_int_equal(flow_elephant_limits(100, 5).windows, 5);
	assert_int_equal(flow_elephant_limits(1000000, 240).windows, 224);
	assert_int_equal(flow_elephant_limits(1000000, 240).rate, 2097152000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_halves_of_the_last_window_make_the_rate),
		cmocka_unit_test(a_new_flow_has_a_rate_before_its_first_window_ends),
		cmocka_unit_test(a_flow_that_rests_has_none),
		cmocka_unit_test(a_flow_that_is_fast_for_long_is_an_elephant),
		cmocka_unit_test(a_flow_that_pauses_or_is_slow_is_none),
		cmocka_unit_test(limits_are_what_an_operator_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
