// SPDX-License-Identifier: BSD-3-Clause
// The sampled cost of each step: what is counted, and that nothing is when it is off.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <netinet/in.h>
#include <cmocka.h>
#include "lib/pipeline/pipe.h"
#include "pipeline/stage/stages.h"

static uint64_t pkts_of(const struct pipe *pipe, const char *name)
{
	for (unsigned step = 0; step < METER_MAX; step++) {
		const char *known = stage_meter_name(step);

		if (known && !strcmp(known, name))
			return pipe->dp.lcores[0]->meter.costs[step].pkts;
	}
	fail_msg("no step is called %s", name);
	return 0;
}

static void datagram(struct pipe *pipe)
{
	const struct pipe_packet packet = {
		.proto = IPPROTO_UDP, .payload = "payload", .payload_length = 7};

	pipe_run(pipe, 0, &packet);
}

static void off_nothing_is_counted(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);

	(void)state;
	datagram(pipe);
	for (unsigned step = 0; step < METER_MAX; step++) {
		assert_int_equal(pipe->dp.lcores[0]->meter.costs[step].pkts, 0);
		assert_int_equal(pipe->dp.lcores[0]->meter.costs[step].cycles, 0);
	}
	pipe_free(pipe);
}

static void a_packet_counts_where_it_went(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);

	(void)state;
	atomic_store(&pipe->dp.meter_every, 1);
	datagram(pipe);
	assert_int_equal(pkts_of(pipe, "parse"), 1);
	assert_int_equal(pkts_of(pipe, "lookup"), 1);
	assert_int_equal(pkts_of(pipe, "admit"), 1);
	assert_int_equal(pkts_of(pipe, "decide"), 1);
	assert_int_equal(pkts_of(pipe, "send"), 1);
	assert_int_equal(pkts_of(pipe, "short way of final flows"), 0);
	for (unsigned i = 0; i < CLASSIFY_BUDGET_PKTS; i++) // unknown: it gives up, and is final
		datagram(pipe);
	assert_int_equal(pkts_of(pipe, "parse"), 1 + CLASSIFY_BUDGET_PKTS);
	assert_int_equal(pkts_of(pipe, "short way of final flows"), 1);
	assert_int_equal(pkts_of(pipe, "inspect"), CLASSIFY_BUDGET_PKTS);
	assert_true(pipe->dp.lcores[0]->meter.costs[METER_PARSE].cycles > 0);
	pipe_free(pipe);
}

static void all_stages_take_no_fast_path(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);

	(void)state;
	pipe->dp.all_stages = true;
	atomic_store(&pipe->dp.meter_every, 1);
	for (unsigned i = 0; i < CLASSIFY_BUDGET_PKTS + 2; i++)
		datagram(pipe);
	assert_int_equal(pkts_of(pipe, "short way of final flows"), 0);
	assert_int_equal(pkts_of(pipe, "final"), CLASSIFY_BUDGET_PKTS + 2);
	assert_int_equal(pkts_of(pipe, "inspect"), CLASSIFY_BUDGET_PKTS);
	pipe_free(pipe);
}

static void one_burst_in_so_many(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);

	(void)state;
	atomic_store(&pipe->dp.meter_every, 4);
	for (unsigned i = 0; i < 12; i++)
		datagram(pipe);
	assert_int_equal(pkts_of(pipe, "parse"), 3);
	atomic_store(&pipe->dp.meter_every, 2); // sooner than the four that were asked before
	for (unsigned i = 0; i < 4; i++)
		datagram(pipe);
	assert_int_equal(pkts_of(pipe, "parse"), 5);
	atomic_store(&pipe->dp.meter_every, 0);
	for (unsigned i = 0; i < 4; i++)
		datagram(pipe);
	assert_int_equal(pkts_of(pipe, "parse"), 5);
	pipe_free(pipe);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(off_nothing_is_counted),
		cmocka_unit_test(a_packet_counts_where_it_went),
		cmocka_unit_test(all_stages_take_no_fast_path),
		cmocka_unit_test(one_burst_in_so_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
