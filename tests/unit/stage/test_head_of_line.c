// SPDX-License-Identifier: BSD-3-Clause
// Head-of-line (kP2PADM, figure 2): while one connection waits ten seconds for its verdict, and
// when all that it held is let go, 100 others do not notice: each of their frames leaves in the
// same turn with the same bytes as in a run in which nothing is scanned. Time is virtual.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include <rte_cycles.h>
#include "lib/pipeline/departures.h"
#include "pipeline/stage/hold.h"

#define OTHERS       100
#define TURN_MS      10
#define TURNS        1300
#define SENT_PACKETS 300 // of the connection that is held, each SENT_BYTES
#define SENT_BYTES   200
#define FREE_PACKETS 24                            // of these leave before the job's trigger
#define HELD_PACKETS (SENT_PACKETS - FREE_PACKETS) // more than one turn lets go
#define TURN_LIMIT   128 // held packets and runs of copies that a turn works off (inspect_tcp.c)

static const struct scan_config scan = {
	.ops = &scan_engine_null,
	.timeout_ns = 60 * NS_PER_S,
	.flows = 256,
	.on_timeout = SCAN_FAILURE_RESET,
	.on_error = SCAN_FAILURE_RESET,
	.n_script = 1,
	.script = {{.half = HALF_C2S,
		.after_bytes = (FREE_PACKETS + 1) * SENT_BYTES,
		.delay_ms = 10000}},
};

struct course {
	struct departures *others;
	unsigned held_frames, held_before; // of the held connection; before its verdict
	uint64_t most_released;            // packets that were let go in one turn
	uint64_t most_held, longest_cycles, all_cycles;
};

static void send_one(struct pipe *pipe, uint32_t client, bool back, uint32_t seq, uint32_t ack,
	uint8_t flags, uint16_t length)
{
	static uint8_t payload[SENT_BYTES];

	for (unsigned i = 0; i < length; i++)
		payload[i] = (uint8_t)((seq + i) * 31 + client);
	const struct pipe_packet packet = {
		.client = client,
		.from_outside = back,
		.seq = seq,
		.ack = ack,
		.tcp_flags = flags,
		.payload = payload,
		.payload_length = length,
	};

	pipe_run(pipe, 0, &packet);
}

static void note(struct course *course, struct pipe *pipe, unsigned turn)
{
	for (unsigned i = 0; i < pipe->n_sent; i++) {
		const struct pipe_sent *sent = &pipe->sent[i];

		if (departures_client(sent) > OTHERS)
			course->held_frames++;
		else
			departures_note(course->others, sent, turn);
	}
	pipe->n_sent = 0;
}

// The connection that is held has number OTHERS + 1; it goes on sending while it waits.
static void take_turn(struct course *course, struct pipe *pipe, unsigned turn, uint32_t *seq)
{
	for (uint32_t client = 1; client <= OTHERS; client++) {
		if ((turn + client) % 10)
			continue;
		send_one(pipe, client, false, seq[client], 5001, TH_ACK, 20);
		seq[client] += 20;
		send_one(pipe, client, true, 5001, seq[client], TH_ACK, 0);
	}
	note(course, pipe, turn);
	if (turn >= 50 && turn < 50 + SENT_PACKETS) {
		send_one(pipe, OTHERS + 1, false, seq[OTHERS + 1], 5001, TH_ACK, SENT_BYTES);
		seq[OTHERS + 1] += SENT_BYTES;
		note(course, pipe, turn);
	}
	uint64_t before = pipe->dp.lcores[0]->stats.tcp_released_pkts, start = rte_rdtsc_precise();

	pipe_turns(pipe);
	uint64_t cycles = rte_rdtsc_precise() - start;
	uint64_t released = pipe->dp.lcores[0]->stats.tcp_released_pkts - before;

	note(course, pipe, turn);
	course->longest_cycles = RTE_MAX(course->longest_cycles, cycles);
	course->all_cycles += cycles;
	course->most_released = RTE_MAX(course->most_released, released);
	course->most_held = RTE_MAX(course->most_held, pipe_stats(pipe).tcp_held_active);
	if (turn < 50 + 900)
		course->held_before = course->held_frames;
	pipe->now_ns += TURN_MS * NS_PER_MS;
}

static struct course *run(bool scans)
{
	struct course *course = calloc(1, sizeof(*course));
	struct lcore_limits limits = pipe_limits();
	uint32_t seq[OTHERS + 2];
	char err[200];

	limits.flows = limits.embryos = 256;
	limits.classifying = 256;
	limits.tracker = (struct tracker_limits){
		.tracks = 256,
		.blocks = 2048,
		.half_blocks = 1024,
		.held = 512,
		.half_held = 400,
		.hold_ns = 30 * NS_PER_S,
		.fast_pass = true,
	};
	struct pipe *pipe = pipe_new(1, &limits);
	struct lcore *lcore = pipe->dp.lcores[0];
	struct policy *policy = pipe_policy(pipe);
	struct scan_worker *worker = NULL;

	assert_non_null(course);
	course->others = departures_new();
	pipe->dp.scan = scans ? &scan : NULL;
	// in both runs the policy enforces, and every TCP connection is inspected
	pipe_rule(policy, 1, ACTION_DROP)->l4_proto = IPPROTO_UDP;
	if (scans)
		pipe_rule(policy, 2, ACTION_SCAN)->l4_proto = IPPROTO_TCP;
	pipe_publish(pipe, policy);
	if (scans)
		assert_int_equal(
			scan_worker_new(&scan, 0, 1, SOCKET_ID_ANY, &worker, err, sizeof(err)), 0);
	struct scan_worker *workers[1] = {worker};
	const struct hold_workers as_seen = {
		.config = &scan, .workers = workers, .n_workers = 1, .in_line = true};

	if (scans)
		assert_int_equal(hold_new(lcore, &as_seen, err, sizeof(err)), 0);
	for (uint32_t client = 1; client <= OTHERS + 1; client++) {
		seq[client] = 1001;
		send_one(pipe, client, false, 1000, 0, TH_SYN, 0);
		send_one(pipe, client, true, 5000, 1001, TH_SYN | TH_ACK, 0);
		send_one(pipe, client, false, 1001, 5001, TH_ACK, 0);
		pipe->n_sent = 0;
	}
	for (unsigned turn = 0; turn < TURNS; turn++)
		take_turn(course, pipe, turn, seq);
	pipeline_drain(lcore, pipe->now_ns);
	if (scans)
		hold_free(lcore);
	scan_worker_free(worker);
	pipe_free(pipe);
	return course;
}

static void others_do_not_notice_a_hold(void **state)
{
	struct course *plain = run(false), *held = run(true);
	double us = 1e6 / (double)rte_get_tsc_hz();
	(void)state;

	// the hold was one: nothing but what was inspected before left for ten seconds
	assert_int_equal(plain->held_frames, SENT_PACKETS);
	assert_int_equal(held->most_held, HELD_PACKETS);
	assert_int_equal(held->held_before, FREE_PACKETS);
	assert_int_equal(held->held_frames, SENT_PACKETS);
	assert_true(plain->others->n > 2u * OTHERS * TURNS / 10 - 2 * OTHERS);
	departures_equal(plain->others, held->others);
	// what bounds a turn is counted; how long it took depends on the machine, too
	assert_true(held->most_released > 0 && held->most_released <= TURN_LIMIT);
	print_message("%u frames of %u connections left as without the hold of %u packets; a turn "
		      "let go at most %llu and took at most %.0f us (%.1f us on average; without "
		      "a hold %.0f, %.1f)\n",
		held->others->n, OTHERS, HELD_PACKETS, (unsigned long long)held->most_released,
		(double)held->longest_cycles * us, (double)held->all_cycles * us / TURNS,
		(double)plain->longest_cycles * us, (double)plain->all_cycles * us / TURNS);
	departures_free(plain->others);
	departures_free(held->others);
	free(plain);
	free(held);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(others_do_not_notice_a_hold)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
