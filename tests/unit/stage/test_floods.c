// SPDX-License-Identifier: BSD-3-Clause
// Floods beside an established transfer, under a policy that enforces and, the same flood again,
// under one that lets everything pass: SYNs of as many tuples, and flows that send ahead of holes
// for ever. Memory stays within its caps, the transfer keeps its goodput, and afterwards new
// connections are served. Counts decide; times are printed. SLUICE_LONG=1: a million tuples.
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
#include "lib/pipeline/pipe.h"
#include "pipeline/event/stream_tap.h"
#include "pipeline/vocab/span.h"

#define TRANSFER_PORT 50000 // of the client that is honest
#define SEGMENT       1400
#define WINDOW        45 // segments: 63,000 bytes
#define GREEDY        200
#define MUTE          20
#define EMBRYOS       8192
#define BLOCKS        4096
#define HALF_BLOCKS   1024

struct transfer { // a connection that acknowledges what it gets, window by window
	uint16_t sport;
	uint32_t seq;
	unsigned sent, delivered;
};

struct outcome {
	unsigned sent, delivered; // segments of the transfer during the flood
	unsigned later_sent, later_delivered;
	uint64_t blocks_used, embryos, cycles, dropped;
};

static unsigned one(struct pipe *pipe, uint32_t client, uint16_t sport, bool back, uint32_t seq,
	uint32_t ack, uint8_t flags, uint16_t length)
{
	static uint8_t payload[SEGMENT];
	unsigned sent;

	memset(payload, (int)(seq % 251), length);
	const struct pipe_packet packet = {
		.client = client,
		.sport = sport,
		.from_outside = back,
		.seq = seq,
		.ack = ack,
		.tcp_flags = flags,
		.payload = payload,
		.payload_length = length,
	};

	pipe->n_sent = 0;
	sent = pipe_run(pipe, 0, &packet);
	pipe->n_sent = 0;
	return sent;
}

static void shake_hands(struct pipe *pipe, uint32_t client, uint16_t sport)
{
	one(pipe, client, sport, false, 1000, 0, TH_SYN, 0);
	one(pipe, client, sport, true, 5000, 1001, TH_SYN | TH_ACK, 0);
	one(pipe, client, sport, false, 1001, 5001, TH_ACK, 0);
}

static struct transfer transfer_begin(struct pipe *pipe, uint16_t sport)
{
	shake_hands(pipe, 1, sport);
	return (struct transfer){.sport = sport, .seq = 1001};
}

// One segment; two of a window change places. The last one's acknowledgement moves the window.
// What was lost stays lost: its sender would send it again, in time that goodput is counted in.
static void transfer_step(struct pipe *pipe, struct transfer *transfer)
{
	unsigned at = transfer->sent % WINDOW;
	unsigned place = at == 10 ? 11 : at == 11 ? 10 : at;

	transfer->delivered += one(pipe, 1, transfer->sport, false, transfer->seq + place * SEGMENT,
		5001, TH_ACK, SEGMENT);
	if (++transfer->sent % WINDOW)
		return;
	transfer->seq += WINDOW * SEGMENT;
	one(pipe, 1, transfer->sport, true, 5001, transfer->seq, TH_ACK, 0);
}

static struct pipe *gateway(bool enforces)
{
	struct lcore_limits limits = pipe_limits();

	limits.flows = 1024;
	limits.embryos = EMBRYOS;
	limits.classifying = 512;
	limits.tracker = (struct tracker_limits){
		.tracks = 1024,
		.blocks = BLOCKS,
		.half_blocks = HALF_BLOCKS,
		.held = 512,
		.half_held = 128,
		.hold_ns = 30 * NS_PER_S,
		.fast_pass = true,
	};
	struct pipe *pipe = pipe_new(1, &limits);
	struct policy *policy = pipe_policy(pipe);

	// of UDP, by another rule: TCP flows stay under inspection as long as classification wants
	if (enforces) {
		pipe_rule(policy, 1, ACTION_DROP)->l4_proto = IPPROTO_UDP;
		pipe_rule_app(policy, 2, ACTION_RESET, "bittorrent");
	}
	pipe_publish(pipe, policy);
	return pipe;
}

static void nothing(void *ctx, const struct lcore *lcore, uint32_t ref, const struct span *span)
{
	(void)ctx;
	(void)lcore;
	(void)ref;
	(void)span;
}

static void no_overlap(void *ctx, const struct lcore *lcore, uint32_t ref, unsigned half,
	uint32_t bytes, uint32_t conflict)
{
	(void)ctx;
	(void)lcore;
	(void)ref;
	(void)half;
	(void)bytes;
	(void)conflict;
}

static void no_end(void *ctx, const struct lcore *lcore, uint32_t ref)
{
	(void)ctx;
	(void)lcore;
	(void)ref;
}

// All flows stay under inspection to their end: the dearest case.
static const struct stream_tap tap = {.span = nothing, .overlap = no_overlap, .end = no_end};

static void events_away(struct pipe *pipe)
{
	struct event event;

	while (pipe_event(pipe, 0, EVENT_TRACE, &event))
		;
}

// Ten virtual seconds later: twenty new connections.
static void afterwards(struct pipe *pipe, struct outcome *outcome)
{
	for (unsigned i = 0; i < 1000; i++)
		pipe_advance(pipe, 0.01);
	for (uint16_t i = 1; i <= 20; i++) {
		struct transfer transfer = transfer_begin(pipe, TRANSFER_PORT + i);

		for (unsigned k = 0; k < 2 * WINDOW; k++)
			transfer_step(pipe, &transfer);
		outcome->later_sent += transfer.sent;
		outcome->later_delivered += transfer.delivered;
	}
	events_away(pipe);
	pipe_free(pipe);
}

static struct outcome syn_flood(bool enforces, uint32_t tuples)
{
	struct pipe *pipe = gateway(enforces);
	struct outcome outcome = {0};
	uint64_t start = rte_rdtsc_precise();

	pipe->dp.lcores[0]->tap = enforces ? &tap : NULL;
	struct transfer transfer = transfer_begin(pipe, TRANSFER_PORT);

	for (uint32_t i = 0; i < tuples; i++) {
		one(pipe, 100 + i / 50000, (uint16_t)(1 + i % 50000), false, i, 0, TH_SYN, 0);
		if (i % 16)
			continue;
		transfer_step(pipe, &transfer);
		pipe->now_ns += 160 * NS_PER_US; // 100,000 SYNs a second
		pipe_turns(pipe);
		outcome.embryos = RTE_MAX(outcome.embryos, pipe_stats(pipe).embryos_active);
		outcome.blocks_used =
			RTE_MAX(outcome.blocks_used, pipe_stats(pipe).slab_blocks_used);
		if (i % 1024 == 0)
			events_away(pipe);
	}
	outcome.cycles = rte_rdtsc_precise() - start;
	outcome.sent = transfer.sent;
	outcome.delivered = transfer.delivered;
	assert_true(outcome.embryos <= EMBRYOS);
	afterwards(pipe, &outcome);
	return outcome;
}

static void end_round(struct pipe *pipe, struct outcome *outcome)
{
	pipe->now_ns += NS_PER_MS;
	pipe_turns(pipe);
	outcome->blocks_used = RTE_MAX(outcome->blocks_used, pipe_stats(pipe).slab_blocks_used);
	events_away(pipe);
}

static struct outcome end_flood(
	struct pipe *pipe, struct outcome outcome, const struct transfer *transfer)
{
	struct stats stats = pipe_stats(pipe);

	outcome.sent = transfer->sent;
	outcome.delivered = transfer->delivered;
	outcome.dropped = stats.tcp_memory_drops + stats.tcp_half_limit_drops;
	afterwards(pipe, &outcome);
	return outcome;
}

// Every other segment is a byte, and no two of a flow touch.
static struct outcome hole_flood(bool enforces, unsigned rounds)
{
	struct pipe *pipe = gateway(enforces);
	struct outcome outcome = {0};

	pipe->dp.lcores[0]->tap = enforces ? &tap : NULL;
	for (uint32_t i = 0; i < GREEDY; i++)
		shake_hands(pipe, 1000 + i, 2000);
	struct transfer transfer = transfer_begin(pipe, TRANSFER_PORT);
	uint64_t start = rte_rdtsc_precise();

	for (unsigned round = 0; round < rounds; round++) {
		for (uint32_t i = 0; i < GREEDY; i++) {
			uint32_t at = 1101 + round % 40 * (SEGMENT + 100) +
				      round / 40 * 37; // inside the window
			one(pipe, 1000 + i, 2000, false, at, 5001, TH_ACK,
				(round + i) % 2 ? 1 : SEGMENT);
			if (i % 8 == 0)
				transfer_step(pipe, &transfer);
		}
		end_round(pipe, &outcome);
	}
	outcome.cycles = rte_rdtsc_precise() - start;
	return end_flood(pipe, outcome, &transfer);
}

// Flows whose receivers acknowledge nothing, each as far as its window goes.
static struct outcome mute_flood(bool enforces, unsigned rounds)
{
	struct pipe *pipe = gateway(enforces);
	struct outcome outcome = {0};
	uint32_t at[MUTE] = {0};

	pipe->dp.lcores[0]->tap = enforces ? &tap : NULL;
	for (uint32_t i = 0; i < MUTE; i++)
		shake_hands(pipe, 1000 + i, 2000);
	struct transfer transfer = transfer_begin(pipe, TRANSFER_PORT);
	uint64_t start = rte_rdtsc_precise();

	for (unsigned round = 0; round < rounds; round++) {
		for (uint32_t i = 0; i < MUTE; i++) {
			if (one(pipe, 1000 + i, 2000, false, 1001 + at[i], 5001, TH_ACK, SEGMENT))
				at[i] += SEGMENT;
			transfer_step(pipe, &transfer);
		}
		end_round(pipe, &outcome);
	}
	outcome.cycles = rte_rdtsc_precise() - start;
	return end_flood(pipe, outcome, &transfer);
}

static void compare(const char *what, const struct outcome *ours, const struct outcome *plain)
{
	print_message("%s: %u of %u segments of the transfer delivered (passed through: %u), "
		      "afterwards %u of %u; at most %llu of %u blocks; %llu refused; %.2f times as "
		      "long as passed through\n",
		what, ours->delivered, ours->sent, plain->delivered, ours->later_delivered,
		ours->later_sent, (unsigned long long)ours->blocks_used, BLOCKS,
		(unsigned long long)ours->dropped, (double)ours->cycles / (double)plain->cycles);
	assert_int_equal(plain->delivered, plain->sent);
	assert_int_equal(ours->sent, plain->sent);
	assert_true(ours->delivered * 10 >= ours->sent * 9);
	assert_true(ours->blocks_used <= BLOCKS);
	assert_int_equal(plain->later_delivered, plain->later_sent);
	assert_int_equal(ours->later_delivered, ours->later_sent);
}

static void a_flood_of_syns_leaves_room(void **state)
{
	uint32_t tuples = getenv("SLUICE_LONG") ? 1000000 : 100000;
	struct outcome ours = syn_flood(true, tuples), plain = syn_flood(false, tuples);
	(void)state;

	compare("SYNs", &ours, &plain);
}

static void a_flood_of_holes_leaves_room(void **state)
{
	unsigned rounds = getenv("SLUICE_LONG") ? 2000 : 120;
	struct outcome ours = hole_flood(true, rounds), plain = hole_flood(false, rounds);
	(void)state;

	compare("holes", &ours, &plain);
	assert_true(ours.dropped > 0);                  // it was one
	assert_true(ours.blocks_used > BLOCKS * 3 / 5); // nor is memory left unused
}

// Nobody can take all of the memory by never acknowledging.
static void flows_that_acknowledge_nothing_leave_room(void **state)
{
	unsigned rounds = getenv("SLUICE_LONG") ? 5000 : 500;
	struct outcome ours = mute_flood(true, rounds), plain = mute_flood(false, rounds);
	(void)state;

	compare("mute receivers", &ours, &plain);
	assert_true(ours.dropped > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flood_of_syns_leaves_room),
		cmocka_unit_test(a_flood_of_holes_leaves_room),
		cmocka_unit_test(flows_that_acknowledge_nothing_leave_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
