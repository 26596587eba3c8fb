// SPDX-License-Identifier: BSD-3-Clause
// What may happen to a flow while it waits for a verdict, and what is not scanned at all.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/pipeline/hold_rig.h"
#include "pipeline/event/event.h"
#include "pipeline/lcore/lcore.h"
#include "reassembly/tcp_track.h"
#include "pipeline/flow/table.h"
#include "pipeline/policy/policy.h"
#include "scan/job.h"

// The flow ends while its job is out; its verdict finds nobody.
static void assert_stale(struct pipe *pipe)
{
	pipe_turns(pipe);
	unsigned before = pipe->n_sent;

	assert_int_equal(pipe_stats(pipe).scan_abandoned, 1);
	assert_int_equal(pipe_stats(pipe).scan_pending, 0);
	pipe_advance(pipe, 3);
	assert_int_equal(pipe_stats(pipe).scan_stale, 1);
	assert_int_equal(pipe_stats(pipe).scan_clean, 0);
	assert_int_equal(resets(pipe, before), 0);
	pipe_free(pipe);
}

static void the_operator_resets_a_flow_that_waits(void **state)
{
	struct pipe *pipe = world(&clean);
	struct lcore *lcore = pipe->dp.lcores[0];

	(void)state;
	hold_flow(pipe, 40000);
	pipe_turns(pipe);
	operator_reset(lcore, 0, CACHE_NONE);
	assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_HELD_CLOSED], 2);
	assert_stale(pipe);
}

static void a_flow_that_waits_is_evicted_and_its_place_is_anothers(void **state)
{
	struct pipe *pipe = world(&clean);
	struct lcore *lcore = pipe->dp.lcores[0];

	(void)state;
	hold_flow(pipe, 40000);
	pipe_turns(pipe);
	uint32_t gen = flow_at(lcore->flows, 0)->gen;

	flow_end_entry(lcore, 0, FLOW_STEP_EVICT);
	hold_flow(pipe, 40001); // the same index, place and half
	assert_int_not_equal(flow_at(lcore->flows, 0)->gen, gen);
	assert_int_equal(flow_at(lcore->flows, 0)->l4_proto, IPPROTO_TCP);
	unsigned before = pipe->n_sent;

	pipe_advance(pipe, 2.999); // the verdict of the first
	pipe_advance(pipe, 0.0005);
	pipe_advance(pipe, 0.0005);
	assert_int_equal(pipe_stats(pipe).scan_abandoned, 1);
	assert_int_equal(pipe_stats(pipe).scan_stale, 1);
	assert_int_equal(pipe_stats(pipe).scan_pending, 1);
	assert_int_equal(pipe->n_sent, before);
	pipe_advance(pipe, 0.01); // of the second, whose job went out a turn later
	pipe_advance(pipe, 3);
	assert_int_equal(pipe_stats(pipe).scan_clean, 1);
	assert_int_equal(pipe->n_sent, before + 2);
	pipe_free(pipe);
}

static void a_reset_closes_what_waits(void **state)
{
	struct pipe *pipe = world(&clean);

	(void)state;
	hold_flow(pipe, 40000);
	pipe_turns(pipe);
	// the server's: what it had sent before is not released any more
	pipe_run(pipe, 0,
		&(struct pipe_packet){.from_outside = true,
			.seq = S_ISN + 1 + 3 * MSS,
			.ack = C_ISN + 101,
			.tcp_flags = TH_RST | TH_ACK});
	unsigned before = pipe->n_sent;

	pipe_advance(pipe, 3);
	for (unsigned i = before; i < pipe->n_sent; i++)
		assert_true(pipe->sent[i].length < MSS);
	assert_int_equal(pipe_stats(pipe).tcp_released_pkts, 0);
	assert_int_equal(pipe_stats(pipe).scan_clean, 1); // the job went on
	pipe_free(pipe);
}

static void a_policy_that_scans_no_more_lets_go(void **state)
{
	struct scan_config config = says(SCAN_SCRIPT_INFECTED, SCAN_FAILURE_RESET);
	struct pipe *pipe = world(&config);

	(void)state;
	hold_flow(pipe, 40000);
	pipe_turns(pipe);
	struct policy *policy = pipe_policy(pipe);

	pipe_rule(policy, RULE + 1, ACTION_RESET)->l4_proto = IPPROTO_GRE; // still enforces
	pipe_publish(pipe, policy);
	unsigned before = pipe->n_sent;

	client(pipe, 40000, 101, 1 + MSS, TH_ACK, 0); // decided again
	pipe_turns(pipe);
	assert_int_equal(pipe->n_sent, before + 3);
	assert_part(&pipe->sent[before + 1], MSS);
	assert_part(&pipe->sent[before + 2], 2 * MSS);
	pipe_advance(pipe, 3);
	assert_int_equal(pipe_stats(pipe).scan_stale, 1);
	assert_int_equal(pipe_stats(pipe).scan_infected, 0);
	assert_int_equal(server(pipe, 40000, 3 * MSS, 101), 1);
	pipe_free(pipe);
}

static void a_verdict_under_another_policy_is_that_policys(void **state)
{
	struct scan_config config = says(SCAN_SCRIPT_INFECTED, SCAN_FAILURE_RESET);

	(void)state;
	for (unsigned scans = 0; scans < 2; scans++) {
		struct pipe *pipe = world(&config);

		hold_flow(pipe, 40000);
		pipe_turns(pipe);
		struct policy *policy = pipe_policy(pipe);

		if (scans)
			pipe_rule(policy, RULE, ACTION_SCAN);
		else
			pipe_rule(policy, RULE + 1, ACTION_RESET)->l4_proto = IPPROTO_GRE;
		pipe_publish(pipe, policy);
		unsigned before = pipe->n_sent;

		pipe_advance(pipe, 3); // no packet came between
		assert_int_equal(resets(pipe, before) >= 2, scans);
		assert_int_equal(pipe_stats(pipe).tcp_released_pkts, scans ? 0 : 2);
		pipe_free(pipe);
	}
}

static void forged_verdicts_are_counted_and_move_nothing(void **state)
{
	struct scan_config config = says(SCAN_SCRIPT_NEVER, SCAN_FAILURE_RESET);
	struct pipe *pipe = world(&config);
	struct lcore *lcore = pipe->dp.lcores[0];
	struct scan_link *link = pipe_scan_link(pipe, 0);

	(void)state;
	hold_flow(pipe, 40000);
	pipe_turns(pipe);
	struct scan_verdict good = {
		.job =
			{
				.id = 1,
				.flow = 0,
				.generation = flow_at(lcore->flows, 0)->gen,
				.half = HALF_S2C,
			},
		.value = SCAN_CLEAN,
	};
	struct scan_verdict forged[] = {good, good, good, good, good, good, good, good};

	forged[0].job.id = 2;
	forged[1].job.id = 0;
	forged[2].job.flow = 1;
	forged[3].job.flow = UINT32_MAX;
	forged[4].job.generation++;
	forged[5].job.lcore = 1;
	forged[6].job.half = HALF_C2S;
	forged[7].job.half = 2;
	unsigned before = pipe->n_sent;

	for (unsigned i = 0; i < RTE_DIM(forged); i++)
		assert_int_equal(
			rte_ring_sp_enqueue_elem(link->verdicts, &forged[i], sizeof(forged[i])), 0);
	struct scan_verdict strange = good;

	strange.value = SCAN_VALUES_MAX;
	assert_int_equal(rte_ring_sp_enqueue_elem(link->verdicts, &strange, sizeof(strange)), 0);
	pipe_turns(pipe);
	assert_int_equal(pipe_stats(pipe).scan_stale, RTE_DIM(forged) + 1);
	assert_int_equal(pipe->n_sent, before);
	// twice the right one: the second is stale
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(rte_ring_sp_enqueue_elem(link->verdicts, &good, sizeof(good)), 0);
	pipe_turns(pipe);
	assert_int_equal(pipe_stats(pipe).scan_stale, RTE_DIM(forged) + 2);
	assert_int_equal(pipe_stats(pipe).scan_clean, 1);
	assert_int_equal(pipe->n_sent, before + 2);
	pipe_free(pipe);
}

static void a_full_ring_is_an_error_of_the_job(void **state)
{
	struct scan_config config = says(SCAN_SCRIPT_CLEAN, SCAN_FAILURE_PASS);
	struct pipe *pipe = world(&config);
	struct scan_link *link = pipe_scan_link(pipe, 0);
	const struct scan_job other = {.id = 1000000, .deadline_ns = 1};

	(void)state;
	open_flow(pipe, 40000);
	server(pipe, 40000, 0, 101);
	while (scan_link_submit(link, &other))
		;
	assert_int_equal(server(pipe, 40000, MSS, 101), 0); // held until the next turn
	assert_int_equal(pipe_stats(pipe).scan_ring_full, 1);
	unsigned before = pipe->n_sent;

	pipe_turns(pipe);
	assert_int_equal(pipe->n_sent, before + 1);
	assert_part(&pipe->sent[before], MSS);
	assert_int_equal(pipe_stats(pipe).scan_errors, 1);
	assert_int_equal(pipe_stats(pipe).scan_jobs, 0);
	assert_int_equal(pipe_stats(pipe).scan_pending, 0);
	pipe_free(pipe);
}

static void flows_beyond_the_cap_go_by_on_error(void **state)
{
	(void)state;
	for (unsigned reset = 0; reset < 2; reset++) {
		struct scan_config config =
			says(SCAN_SCRIPT_CLEAN, reset ? SCAN_FAILURE_RESET : SCAN_FAILURE_PASS);
		struct event event;

		config.flows = 1;
		struct pipe *pipe = world(&config);

		hold_flow(pipe, 40000);
		if (reset) {
			client(pipe, 40001, 0, 0, TH_SYN, 0);
			pipe_run(pipe, 0,
				&(struct pipe_packet){.from_outside = true,
					.sport = 40001,
					.seq = S_ISN,
					.ack = C_ISN + 1,
					.tcp_flags = TH_SYN | TH_ACK});
			unsigned before = pipe->n_sent;

			client(pipe, 40001, 1, 1, TH_PUSH | TH_ACK, 100);
			assert_true(resets(pipe, before) >= 2);
			assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_UNSCANNED], 1);
		} else {
			open_flow(pipe, 40001);
			for (uint32_t i = 0; i < 4; i++)
				assert_int_equal(server(pipe, 40001, i * MSS, 101), 1);
		}
		assert_true(pipe_stats(pipe).scan_flows_full >= 1);
		pipe_turns(pipe);
		pipe_advance(pipe, 3);
		while (pipe_event(pipe, 0, EVENT_FLOW, &event))
			;
		flow_end_all(pipe->dp.lcores[0], FLOW_STEP_SHUTDOWN);
		bool told = false;

		while (pipe_event(pipe, 0, EVENT_FLOW, &event))
			told |= event.flow.scan == FLOW_SCAN_NO_ROOM;
		assert_int_equal(told, !reset);
		pipe_free(pipe);
	}
}

// The record of the only flow at its end.
static struct event ended(struct pipe *pipe)
{
	struct event event;

	flow_end_all(pipe->dp.lcores[0], FLOW_STEP_SHUTDOWN);
	assert_true(pipe_event(pipe, 0, EVENT_FLOW, &event));
	return event;
}

static void what_was_not_scanned_says_why(void **state)
{
	struct scan_config config = clean;
	struct pipe *pipe = world(NULL);
	const struct pipe_packet datagram = {
		.proto = IPPROTO_UDP, .payload = file, .payload_length = 100};

	(void)state;
	open_flow(pipe, 40000);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(server(pipe, 40000, i * MSS, 101), 1);
	assert_int_equal(ended(pipe).flow.scan, FLOW_SCAN_NO_ENGINE);
	pipe_free(pipe);
	config.script[0].after_bytes = 1000000;
	pipe = world(&config);
	open_flow(pipe, 40000);
	assert_int_equal(server(pipe, 40000, 0, 101), 1);
	assert_false(flow_at(pipe->dp.lcores[0]->flows, 0)->flags & FLOW_FINAL);
	assert_int_equal(ended(pipe).flow.scan, FLOW_SCAN_NOT_ASKED);
	pipe_free(pipe);
	pipe = world(&clean);
	for (unsigned i = 0; i < 12; i++)
		assert_int_equal(pipe_run(pipe, 0, &datagram), 1);
	assert_true(flow_at(pipe->dp.lcores[0]->flows, 0)->flags & FLOW_FINAL);
	assert_int_equal(ended(pipe).flow.scan, FLOW_SCAN_PROTOCOL);
	pipe_free(pipe);
	pipe = world(&clean);
	hold_flow(pipe, 40000);
	struct event event = ended(pipe);

	assert_int_equal(event.flow.scan, FLOW_SCAN_NO_VERDICT);
	assert_int_equal(event.flow.scan_jobs, 1);
	pipe_free(pipe);
}

static void both_halves_wait_for_themselves(void **state)
{
	struct scan_config config = clean;

	(void)state;
	config.n_script = 2;
	config.script[1] =
		(struct scan_script){.half = HALF_C2S, .after_bytes = 200, .delay_ms = 1000};
	struct pipe *pipe = world(&config);

	hold_flow(pipe, 40000);
	client(pipe, 40000, 101, 1 + MSS, TH_PUSH | TH_ACK, 100); // held
	assert_int_equal(pipe_stats(pipe).scan_pending, 2);
	unsigned before = pipe->n_sent;

	pipe_turns(pipe);
	pipe_advance(pipe, 1);
	assert_int_equal(pipe->n_sent, before + 1);
	assert_int_equal(pipe->sent[before].port, PIPE_OUTSIDE);
	pipe_advance(pipe, 2);
	assert_int_equal(pipe->n_sent, before + 3);
	assert_part(&pipe->sent[before + 1], MSS);
	assert_int_equal(pipe_stats(pipe).scan_clean, 2);
	pipe_free(pipe);
}

static void the_operators_word_stands_above_the_engines(void **state)
{
	struct scan_config config = says(SCAN_SCRIPT_INFECTED, SCAN_FAILURE_RESET);
	struct pipe *pipe = world(&config);

	(void)state;
	hold_flow(pipe, 40000);
	pipe_turns(pipe);
	assert_true(operator_allow(pipe->dp.lcores[0], 0, 0));
	unsigned before = pipe->n_sent;

	pipe_advance(pipe, 3);
	assert_int_equal(resets(pipe, before), 0);
	assert_int_equal(pipe_stats(pipe).tcp_released_pkts, 2);
	pipe_free(pipe);
}

static void a_monitor_rule_scans_nothing_and_says_so(void **state)
{
	struct pipe *pipe = world(&clean);
	struct policy *policy = pipe_policy(pipe);
	struct event event;

	(void)state;
	pipe_rule(policy, RULE, ACTION_SCAN)->mode = MODE_MONITOR;
	pipe_publish(pipe, policy);
	open_flow(pipe, 40000);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(server(pipe, 40000, i * MSS, 101), 1);
	assert_int_equal(pipe_stats(pipe).scan_jobs, 0);
	assert_true(pipe_event(pipe, 0, EVENT_ALERT, &event));
	assert_int_equal(event.action, ACTION_SCAN);
	assert_int_equal(event.mode, MODE_MONITOR);
	assert_false(event.alert.scanned);
	pipe_free(pipe);
}

// Nothing of it is tracked any more, and then it is scanned again: bytes count from 0, and the
// engine is asked about them as about the first ones.
static void a_flow_that_is_scanned_again_is_asked_about_again(void **state)
{
	struct pipe *pipe = world(&clean);
	const struct lcore *lcore = pipe->dp.lcores[0];
	uint32_t at = 3 * MSS;

	(void)state;
	hold_flow(pipe, 40000);
	pipe_turns(pipe);
	pipe_advance(pipe, 3);
	assert_int_equal(pipe_stats(pipe).scan_clean, 1);
	client(pipe, 40000, 101, 1 + at, TH_ACK, 0);
	struct policy *policy = pipe_policy(pipe);

	pipe_rule(policy, RULE + 1, ACTION_RESET)->l4_proto = IPPROTO_GRE; // still enforces
	pipe_publish(pipe, policy);
	while (lcore->tracker->n_free < lcore->tracker->limits.tracks &&
		at < sizeof(file) - 4 * MSS) {
		assert_int_equal(server(pipe, 40000, at, 101), 1);
		at += MSS;
		client(pipe, 40000, 101, 1 + at, TH_ACK, 0);
	}
	assert_int_equal(lcore->tracker->n_free, lcore->tracker->limits.tracks);
	policy = pipe_policy(pipe);
	pipe_rule(policy, RULE, ACTION_SCAN)->l4_proto = 0;
	pipe_publish(pipe, policy);
	client(pipe, 40000, 101, 1 + at, TH_ACK, 0); // decided again
	assert_int_equal(server(pipe, 40000, at, 101), 1);
	assert_int_equal(server(pipe, 40000, at + MSS, 101), 0);
	assert_int_equal(pipe_stats(pipe).scan_jobs, 2);
	pipe_free(pipe);
}

// A server leaves the payload of a SYN, and it was clean: what comes in its place is asked about.
static void what_takes_the_place_of_a_syns_payload_is_asked_about(void **state)
{
	struct scan_config config = clean;
	struct pipe *pipe;

	(void)state;
	config.script[0].half = HALF_C2S;
	config.script[0].after_bytes = 150;
	pipe = world(&config);
	client(pipe, 40000, 0, 0, TH_SYN, 100);
	client(pipe, 40000, 0, 0, TH_SYN, 200); // again, with more
	assert_int_equal(pipe_stats(pipe).scan_jobs, 1);
	pipe_turns(pipe);
	pipe_advance(pipe, 3);
	assert_int_equal(pipe_stats(pipe).scan_clean, 1);
	pipe_run(pipe, 0,
		&(struct pipe_packet){.from_outside = true,
			.sport = 40000,
			.seq = S_ISN,
			.ack = C_ISN + 1,
			.tcp_flags = TH_SYN | TH_ACK});
	unsigned before = pipe->n_sent;

	client(pipe, 40000, 1, 1, TH_ACK, 200);
	assert_int_equal(pipe_stats(pipe).scan_jobs, 2);
	assert_int_equal(pipe->n_sent, before + 1); // an ACK of ours
	assert_int_equal(
		pipe->sent[before].frame[14 + 2] << 8 | pipe->sent[before].frame[14 + 3], 40);
	pipe_turns(pipe);
	pipe_advance(pipe, 3);
	assert_int_equal(pipe->n_sent, before + 2);
	pipe_free(pipe);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_operator_resets_a_flow_that_waits),
		cmocka_unit_test(a_flow_that_waits_is_evicted_and_its_place_is_anothers),
		cmocka_unit_test(a_reset_closes_what_waits),
		cmocka_unit_test(a_policy_that_scans_no_more_lets_go),
		cmocka_unit_test(a_verdict_under_another_policy_is_that_policys),
		cmocka_unit_test(forged_verdicts_are_counted_and_move_nothing),
		cmocka_unit_test(a_full_ring_is_an_error_of_the_job),
		cmocka_unit_test(flows_beyond_the_cap_go_by_on_error),
		cmocka_unit_test(what_was_not_scanned_says_why),
		cmocka_unit_test(both_halves_wait_for_themselves),
		cmocka_unit_test(the_operators_word_stands_above_the_engines),
		cmocka_unit_test(a_monitor_rule_scans_nothing_and_says_so),
		cmocka_unit_test(a_flow_that_is_scanned_again_is_asked_about_again),
		cmocka_unit_test(what_takes_the_place_of_a_syns_payload_is_asked_about),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
