// SPDX-License-Identifier: BSD-3-Clause
// Holding, through the whole path: a half waits for a verdict of the scan engine.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/pipeline/hold_rig.h"
#include "lib/packet/pieces.h"
#include "pipeline/loop.h"
#include "scan/job.h"

static void a_clean_half_goes_on_in_order(void **state)
{
	struct pipe *pipe = world(&clean);
	const struct lcore *lcore = pipe->dp.lcores[0];

	(void)state;
	hold_flow(pipe, 40000);
	assert_int_equal(lcore->stats.scan_flows, 1);
	// what the other half says goes by
	assert_int_equal(client(pipe, 40000, 101, 1 + MSS, TH_ACK, 0), 1);
	assert_int_equal(client(pipe, 40000, 101, 1 + MSS, TH_PUSH | TH_ACK, 50), 1);
	unsigned before = pipe->n_sent;
	uint64_t evidence = pipe_stats(pipe).evidence_written;

	pipe_advance(pipe, 0.001); // the engine has it now
	pipe_advance(pipe, 2.998);
	assert_int_equal(pipe->n_sent, before);
	pipe_advance(pipe, 0.003);
	assert_int_equal(pipe->n_sent, before + 2);
	assert_part(&pipe->sent[before], MSS);
	assert_part(&pipe->sent[before + 1], 2 * MSS);
	assert_int_equal(server(pipe, 40000, 3 * MSS, 151), 1);
	assert_part(&pipe->sent[before + 2], 3 * MSS);
	struct stats sum = pipe_stats(pipe);

	assert_int_equal(sum.scan_jobs, 1);
	assert_int_equal(sum.scan_clean, 1);
	assert_int_equal(sum.scan_pending, 0);
	// the job, its verdict; what is let go is not decided again and again
	assert_int_equal(sum.evidence_written - evidence, 1);
	assert_int_equal(sum.tcp_held_pkts, 2);
	assert_int_equal(sum.tcp_released_pkts, 2);
	assert_int_equal(histogram_count(&lcore->scan_hold), 1);
	assert_true(lcore->scan_hold.max_ns >= 3 * NS_PER_S);
	assert_true(lcore->scan_hold.max_ns < 3 * NS_PER_S + 10 * NS_PER_MS);
	pipe_free(pipe);
}

static void each_further_part_is_held_again(void **state)
{
	struct scan_config config = clean;
	struct pipe *pipe;

	(void)state;
	config.script[0].every = true;
	pipe = world(&config);
	hold_flow(pipe, 40000);
	server(pipe, 40000, 3 * MSS, 101); // the second two
	server(pipe, 40000, 4 * MSS, 101);
	unsigned before = pipe->n_sent;

	pipe_turns(pipe);
	pipe_advance(pipe, 3);
	assert_int_equal(pipe->n_sent, before + 2); // nothing overtakes the second verdict
	assert_part(&pipe->sent[before], MSS);
	assert_part(&pipe->sent[before + 1], 2 * MSS);
	assert_int_equal(pipe_stats(pipe).scan_jobs, 2);
	pipe_advance(pipe, 0.001);
	pipe_advance(pipe, 3);
	assert_int_equal(pipe->n_sent, before + 4);
	assert_part(&pipe->sent[before + 2], 3 * MSS);
	assert_part(&pipe->sent[before + 3], 4 * MSS);
	assert_int_equal(pipe_stats(pipe).scan_clean, 2);
	pipe_free(pipe);
}

static void absorbed_and_refreshed(unsigned segments)
{
	struct pipe *pipe = world(&clean);
	uint8_t times[12] = {1, 1, 8, 10, 0, 0, 0, 50, 0, 0, 0, 9};
	struct pipe_packet part = {.from_outside = true,
		.seq = S_ISN + 1 + MSS,
		.ack = C_ISN + 101,
		.payload = file + MSS,
		.payload_length = MSS,
		.window = 1000,
		.options = times,
		.options_length = sizeof(times),
		.segments = segments};

	open_flow(pipe, 40000);
	server(pipe, 40000, 0, 101);
	assert_int_equal(pipe_run(pipe, 0, &part), 1); // an ACK of ours: its window is another
	assert_int_equal(tcp_of(&pipe->sent[pipe->n_sent - 1])[13], TH_ACK);
	client(pipe, 40000, 101, 1 + MSS, TH_PUSH | TH_ACK, 50);
	unsigned before = pipe->n_sent;

	// again, later, and it acknowledges what the client said meanwhile: told by an ACK of ours
	times[7] = 90;
	part.ack += 50;
	part.window = 2000;
	assert_int_equal(pipe_run(pipe, 0, &part), 1);
	const uint8_t *tcp = tcp_of(&pipe->sent[before]);

	assert_int_equal(tcp[13], TH_ACK);
	assert_int_equal(get32(tcp + 4), S_ISN + 1 + MSS);
	assert_int_equal(get32(tcp + 8), C_ISN + 151);
	assert_int_equal(pipe_stats(pipe).tcp_absorbed_pkts, 1);
	assert_int_equal(pipe_stats(pipe).consumed_pkts, 1);
	pipe_turns(pipe);
	pipe_advance(pipe, 3);
	assert_int_equal(pipe->n_sent, before + 2);
	tcp = tcp_of(&pipe->sent[before + 1]);
	assert_part(&pipe->sent[before + 1], MSS);
	assert_int_equal(get32(tcp + 8), C_ISN + 151);
	assert_int_equal(tcp[14] << 8 | tcp[15], 2000);
	assert_int_equal(tcp[27], 90);
	pipe_free(pipe);
}

// However a driver cuts it.
static void what_is_held_is_absorbed_and_leaves_as_its_sender_speaks_now(void **state)
{
	(void)state;
	absorbed_and_refreshed(1);
	absorbed_and_refreshed(100); // the header, too
}

// A view of fragments cannot stand for what is held: it is dropped, they are freed, once.
static void what_is_held_comes_again_in_fragments(void **state)
{
	struct pipe *pipe = world(&clean);
	struct pipe_packet again = {.from_outside = true,
		.seq = S_ISN + 1 + MSS,
		.ack = C_ISN + 101,
		.payload = file + MSS,
		.payload_length = MSS};
	struct piece pieces[MOST];
	unsigned n = cut_packet(&again, 7, 256, pieces), before;

	(void)state;
	assert_int_equal(n, 4);
	hold_flow(pipe, 40000);
	before = pipe->n_sent;
	for (unsigned time = 1; time <= 3; time++) {
		assert_int_equal(run_pieces(pipe, pieces, n, NULL, true), 0);
		pipe_turns(pipe);
		struct stats stats = pipe_stats(pipe);

		assert_int_equal(stats.dropped_pkts[DROP_NOT_TAKEN], time * n);
		assert_int_equal(stats.consumed_pkts, 0);
		assert_int_equal(pipeline_held(pipe->dp.lcores[0]), 2);
		assert_int_equal(rte_mempool_in_use_count(pipe->pool), 2);
		assert_int_equal(pipe_unaccounted(pipe), 0);
	}
	pipe_advance(pipe, 3);
	assert_int_equal(pipe->n_sent, before + 2);
	assert_part(&pipe->sent[before], MSS);
	assert_part(&pipe->sent[before + 1], 2 * MSS);
	// now it is a retransmission of what has left
	assert_int_equal(run_pieces(pipe, pieces, n, NULL, true), n);
	pipe_free(pipe);
}

static void infected_resets_and_gives_nothing_out(void **state)
{
	struct scan_config config = says(SCAN_SCRIPT_INFECTED, SCAN_FAILURE_PASS);
	struct pipe *pipe = world(&config);
	struct event event;

	(void)state;
	hold_flow(pipe, 40000);
	pipe_turns(pipe);
	unsigned before = pipe->n_sent;

	pipe_advance(pipe, 3);
	assert_true(resets(pipe, before) >= 2);
	assert_int_equal(resets(pipe, before), pipe->n_sent - before); // and nothing else
	struct stats sum = pipe_stats(pipe);

	assert_int_equal(sum.dropped_pkts[DROP_INFECTED], 2);
	assert_int_equal(sum.scan_infected, 1);
	assert_int_equal(sum.flows_condemned, 1);
	assert_true(pipe_event(pipe, 0, EVENT_ALERT, &event));
	assert_true(event.alert.scanned);
	assert_int_equal(event.alert.value, SCAN_INFECTED);
	assert_string_equal(event.alert.name, "Sluice.Script.0");
	assert_int_equal(event.alert.to64, 2 * MSS);
	assert_int_equal(event.rule_uid, RULE);
	assert_int_equal(event.action, ACTION_RESET);
	assert_true(pipe_event(pipe, 0, EVENT_DROP, &event));
	assert_int_equal(event.reason, DROP_INFECTED);
	assert_int_equal(event.drop.tcp_seq, S_ISN + 1 + MSS);
	assert_true(pipe_event(pipe, 0, EVENT_FLOW, &event));
	assert_int_equal(event.flow.scan, FLOW_SCAN_DONE);
	assert_int_equal(event.flow.scan_worst, SCAN_INFECTED);
	assert_int_equal(event.flow.state, FLOW_STATE_BLOCKED);
	// a policy that says nothing of it reprieves nobody
	pipe_publish(pipe, pipe_policy(pipe));
	server(pipe, 40000, 3 * MSS, 101);
	sum = pipe_stats(pipe);
	assert_int_equal(sum.dropped_pkts[DROP_BLOCKED], 1);
	pipe_free(pipe);
}

static void without_a_verdict_the_configuration_decides(void **state)
{
	static const struct {
		enum scan_script_verdict verdict;
		enum scan_failure failure;
		double after_s;
	} cases[] = {
		{SCAN_SCRIPT_ERROR, SCAN_FAILURE_PASS, 3},
		{SCAN_SCRIPT_ERROR, SCAN_FAILURE_RESET, 3},
		{SCAN_SCRIPT_NEVER, SCAN_FAILURE_PASS, 10},
		{SCAN_SCRIPT_NEVER, SCAN_FAILURE_RESET, 10},
	};

	(void)state;
	for (unsigned i = 0; i < RTE_DIM(cases); i++) {
		struct scan_config config = says(cases[i].verdict, cases[i].failure);
		struct pipe *pipe = world(&config);
		bool never = cases[i].verdict == SCAN_SCRIPT_NEVER;

		hold_flow(pipe, 40000);
		pipe_turns(pipe);
		unsigned before = pipe->n_sent;

		pipe_advance(pipe, cases[i].after_s - 0.01);
		assert_int_equal(pipe->n_sent, before);
		pipe_advance(pipe, 0.011);
		struct stats sum = pipe_stats(pipe);

		assert_int_equal(never ? sum.scan_timeouts : sum.scan_errors, 1);
		if (cases[i].failure == SCAN_FAILURE_PASS) {
			assert_int_equal(pipe->n_sent, before + 2);
			assert_part(&pipe->sent[before], MSS);
			assert_part(&pipe->sent[before + 1], 2 * MSS);
		} else {
			assert_true(resets(pipe, before) >= 2);
			assert_int_equal(resets(pipe, before), pipe->n_sent - before);
			assert_int_equal(sum.dropped_pkts[DROP_UNSCANNED], 2);
		}
		pipe_free(pipe);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_clean_half_goes_on_in_order),
		cmocka_unit_test(each_further_part_is_held_again),
		cmocka_unit_test(what_is_held_is_absorbed_and_leaves_as_its_sender_speaks_now),
		cmocka_unit_test(what_is_held_comes_again_in_fragments),
		cmocka_unit_test(infected_resets_and_gives_nothing_out),
		cmocka_unit_test(without_a_verdict_the_configuration_decides),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
