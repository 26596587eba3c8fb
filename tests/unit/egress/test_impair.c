// SPDX-License-Identifier: BSD-3-Clause
// The impairment stage in virtual time: what each effect does to packets, and that none is lost but
// by its own account. (What chance does: test_impair_chance.c.)
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/pipeline/impaired.h"
#include "lib/pipeline/wire.h"

#define HALF (IMPAIR_ALWAYS / 2)

static unsigned number_of(const struct pipe_sent *sent)
{
	return 256u * sent->frame[42] + sent->frame[43];
}

static void off_is_not_there(void **state)
{
	struct pipe *pipe = impaired_new((struct impair_settings){0});
	struct pipe_packet packet = impaired_datagram(1);
	uint8_t frame[256];
	(void)state;

	assert_null(pipe->dp.lcores[0]->impair_rx);
	assert_null(pipe->dp.lcores[0]->impair_tx);
	assert_int_equal(impaired_turn(pipe, &packet), 1);
	unsigned length = pipe_build(&packet, frame, sizeof(frame));

	assert_int_equal(pipe->sent[0].length, length);
	assert_memory_equal(pipe->sent[0].frame, frame, length);
	assert_int_equal(pipe_stats(pipe).impaired_pkts, 0);
	pipe_free(pipe);
}

// On, with nothing in this direction, bytes and order are as without, too.
static void the_other_direction_is_untouched(void **state)
{
	struct pipe *pipe = impaired_new((struct impair_settings){.on = true,
		.limit = 64,
		.links = {[IMPAIR_TO_INSIDE] = {.lost_good = IMPAIR_ALWAYS}}});
	(void)state;

	for (uint16_t i = 0; i < 40; i++) {
		struct pipe_packet packet = impaired_datagram(i);

		assert_int_equal(impaired_turn(pipe, &packet), 1);
		assert_int_equal(number_of(&pipe->sent[0]), i);
	}
	assert_int_equal(pipe_stats(pipe).impaired_pkts, 40);
	assert_int_equal(pipe_stats(pipe).impaired_delayed, 0);
	pipe_free(pipe);
}

static void delays_to_the_nanosecond(enum impair_place at)
{
	struct pipe *pipe = impaired_new(
		impaired_settings(at, (struct impair_link){.delay_ns = 10 * NS_PER_MS}));
	uint64_t start = pipe->now_ns;
	struct lcore *lcore = pipe->dp.lcores[0];

	for (uint16_t i = 0; i < 5; i++) { // one a millisecond
		struct pipe_packet packet = impaired_datagram(i);

		assert_int_equal(impaired_turn(pipe, &packet), 0);
		assert_int_equal(lcore->stats.held_pkts, i + 1);
		assert_int_equal(lcore->wake_ns, start + 10 * NS_PER_MS);
		pipe->now_ns += NS_PER_MS;
	}
	for (uint16_t i = 0; i < 5; i++) {
		pipe->now_ns = start + (10u + i) * NS_PER_MS - 1;
		assert_int_equal(impaired_turn(pipe, NULL), 0);
		pipe->now_ns++;
		assert_int_equal(impaired_turn(pipe, NULL), 1);
		assert_int_equal(number_of(&pipe->sent[0]), i);
	}
	assert_int_equal(lcore->wake_ns, 0);
	assert_int_equal(lcore->stats.held_pkts, 0);
	assert_int_equal(lcore->stats.impaired_delayed, 5);
	// The gateway's own latency is not the link's.
	assert_true(lcore->latency[PIPE_OUTSIDE].max_ns < NS_PER_MS);
	pipe_free(pipe);
}

static void delay_at_rx(void **state)
{
	(void)state;
	delays_to_the_nanosecond(IMPAIR_RX);
}

static void delay_at_tx(void **state)
{
	(void)state;
	delays_to_the_nanosecond(IMPAIR_TX);
}

static void jitter_is_within_its_bounds(void **state)
{
	struct pipe *pipe = impaired_new(impaired_settings(IMPAIR_RX,
		(struct impair_link){.delay_ns = 10 * NS_PER_MS, .jitter_ns = 4 * NS_PER_MS}));
	uint64_t least = UINT64_MAX, most = 0, sum = 0;
	(void)state;

	for (uint16_t i = 0; i < 500; i++) {
		struct pipe_packet packet = impaired_datagram(i);
		uint64_t sent = pipe->now_ns;

		impaired_turn(pipe, &packet);
		uint64_t delay = pipe->dp.lcores[0]->wake_ns - sent;

		least = delay < least ? delay : least;
		most = delay > most ? delay : most;
		sum += delay;
		pipe->now_ns += 20 * NS_PER_MS;
		assert_int_equal(impaired_turn(pipe, NULL), 1);
	}
	assert_in_range(least, 6 * NS_PER_MS, 6 * NS_PER_MS + 100000);
	assert_in_range(most, 14 * NS_PER_MS - 100000, 14 * NS_PER_MS);
	assert_in_range(sum / 500, 10 * NS_PER_MS - 400000, 10 * NS_PER_MS + 400000);
	pipe_free(pipe);
}

static void same_time_first_come_first_served(void **state)
{
	struct pipe *pipe = impaired_new(
		impaired_settings(IMPAIR_RX, (struct impair_link){.delay_ns = NS_PER_MS}));
	(void)state;

	wire.n = wire.taken = 0;
	for (uint16_t i = 0; i < 64; i++) {
		struct pipe_packet packet = impaired_datagram(i);

		wire_put_packet(&packet);
	}
	for (unsigned i = 0; i < 3; i++) // a burst of 32 in each
		pipeline_turn(pipe->dp.lcores[0], pipe->now_ns);
	pipe->now_ns += NS_PER_MS;
	assert_int_equal(impaired_turn(pipe, NULL), 64);
	for (unsigned i = 0; i < 64; i++)
		assert_int_equal(number_of(&pipe->sent[i]), i);
	pipe_free(pipe);
}

// 106 bytes at 8 Mbit/s are 106 us; a queue of 1 ms.
static void a_line_takes_its_time(enum impair_place at)
{
	struct pipe *pipe = impaired_new(impaired_settings(
		at, (struct impair_link){.ps_per_byte = 1000000, .queue_ns = NS_PER_MS}));
	uint64_t start = pipe->now_ns;
	unsigned left = 0;

	wire.n = wire.taken = 0;
	for (uint16_t i = 0; i < 20; i++) {
		struct pipe_packet packet = impaired_datagram(i);

		wire_put_packet(&packet);
	}
	pipe->n_sent = 0;
	pipeline_turn(pipe->dp.lcores[0], pipe->now_ns);
	struct stats stats = pipe_stats(pipe);

	assert_int_equal(
		stats.impaired_queue_full, 10); // 1 in the line, 9 that wait less than 1 ms
	assert_int_equal(stats.dropped_pkts[DROP_IMPAIRED_LIMIT], 10);
	for (unsigned i = 1; i <= 10; i++, left++) {
		pipe->now_ns = start + i * 106000 - 1;
		assert_int_equal(impaired_turn(pipe, NULL), 0);
		pipe->now_ns++;
		assert_int_equal(impaired_turn(pipe, NULL), 1);
		assert_int_equal(number_of(&pipe->sent[0]), left);
	}
	pipe_free(pipe);
}

static void rate_at_rx(void **state)
{
	(void)state;
	a_line_takes_its_time(IMPAIR_RX);
}

static void rate_at_tx(void **state)
{
	(void)state;
	a_line_takes_its_time(IMPAIR_TX);
}

static void duplicates_are_injected(enum impair_place at)
{
	struct pipe *pipe = impaired_new(impaired_settings(
		at, (struct impair_link){.delay_ns = NS_PER_MS, .duplicate = IMPAIR_ALWAYS}));
	struct pipe_packet packet = impaired_datagram(3);

	assert_int_equal(impaired_turn(pipe, &packet), 0);
	assert_int_equal(pipe->dp.lcores[0]->stats.held_pkts, 2);
	pipe->now_ns += NS_PER_MS;
	assert_int_equal(impaired_turn(pipe, NULL), 2);
	assert_int_equal(pipe->sent[0].length, pipe->sent[1].length);
	assert_memory_equal(pipe->sent[0].frame, pipe->sent[1].frame, pipe->sent[0].length);
	struct stats stats = pipe_stats(pipe);

	assert_int_equal(stats.received_pkts, 1);
	assert_int_equal(stats.injected_pkts, 1);
	assert_int_equal(stats.impaired_duplicated, 1);
	pipe_free(pipe);
}

static void duplicate_at_rx(void **state)
{
	(void)state;
	duplicates_are_injected(IMPAIR_RX);
}

static void duplicate_at_tx(void **state)
{
	(void)state;
	duplicates_are_injected(IMPAIR_TX);
}

static void no_duplicate_without_a_buffer(void **state)
{
	struct pipe *pipe = impaired_new(
		impaired_settings(IMPAIR_RX, (struct impair_link){.duplicate = IMPAIR_ALWAYS}));
	static struct rte_mbuf *all[1023];
	struct pipe_packet packet = impaired_datagram(3);
	unsigned n = 0;
	(void)state;

	while (n < 1022)
		all[n++] = rte_pktmbuf_alloc(pipe->pool);
	assert_int_equal(impaired_turn(pipe, &packet), 1);
	assert_int_equal(pipe_stats(pipe).impaired_nomem, 1);
	assert_int_equal(pipe_stats(pipe).injected_pkts, 0);
	rte_pktmbuf_free_bulk(all, n);
	pipe_free(pipe);
}

static unsigned bits_that_differ(const uint8_t *a, const uint8_t *b, unsigned n)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += (unsigned)__builtin_popcount(a[i] ^ b[i]);
	return sum;
}

// At tx, so that what was flipped is not looked at: one bit of each, behind the link header.
static void one_bit_flips(void **state)
{
	struct pipe *pipe = impaired_new(
		impaired_settings(IMPAIR_TX, (struct impair_link){.corrupt = IMPAIR_ALWAYS}));
	uint8_t frame[256], at[256] = {0};
	unsigned places = 0;
	(void)state;

	for (uint16_t i = 0; i < 200; i++) {
		struct pipe_packet packet = impaired_datagram(i);
		unsigned length = pipe_build(&packet, frame, sizeof(frame));

		assert_int_equal(impaired_turn(pipe, &packet), 1);
		assert_memory_equal(pipe->sent[0].frame, frame, 14);
		assert_int_equal(bits_that_differ(pipe->sent[0].frame, frame, length), 1);
		for (unsigned k = 0; k < length; k++)
			at[k] |= pipe->sent[0].frame[k] != frame[k];
	}
	for (unsigned k = 0; k < sizeof(at); k++)
		places += at[k];
	assert_true(places > 60); // of 92 bytes
	assert_int_equal(pipe_stats(pipe).impaired_corrupted, 200);
	pipe_free(pipe);
}

// At rx the gateway finds it: a flipped bit of UDP is a bad checksum.
static void what_flips_before_the_gateway_is_seen_by_it(void **state)
{
	struct pipe *pipe = impaired_new(
		impaired_settings(IMPAIR_RX, (struct impair_link){.corrupt = IMPAIR_ALWAYS}));
	(void)state;

	for (uint16_t i = 0; i < 100; i++) {
		struct pipe_packet packet = impaired_datagram(i);

		impaired_turn(pipe, &packet);
	}
	struct stats stats = pipe_stats(pipe);

	assert_true(stats.bad_checksum_pkts + stats.malformed_pkts + stats.unsupported_pkts > 60);
	pipe_free(pipe);
}

static void some_overtake(void **state)
{
	struct pipe *pipe = impaired_new(impaired_settings(IMPAIR_RX,
		(struct impair_link){.delay_ns = 5 * NS_PER_MS, .reorder = IMPAIR_ALWAYS / 4}));
	unsigned early = 0;
	(void)state;

	for (uint16_t i = 0; i < 400; i++) {
		struct pipe_packet packet = impaired_datagram(i);
		bool at_once = impaired_turn(pipe, &packet) == 1;

		early += at_once;
		pipe->now_ns += 5 * NS_PER_MS;
		assert_int_equal(impaired_turn(pipe, NULL), !at_once);
	}
	assert_in_range(early, 65, 135);
	assert_int_equal(pipe_stats(pipe).impaired_reordered, early);
	pipe_free(pipe);
}

static void the_cap_holds(enum impair_place at)
{
	struct impair_settings settings = impaired_settings(
		at, (struct impair_link){.delay_ns = NS_PER_S, .duplicate = HALF});
	struct pipe *pipe = impaired_new(settings);

	for (uint16_t i = 0; i < 400; i++) {
		struct pipe_packet packet = impaired_datagram(i);

		impaired_turn(pipe, &packet);
		assert_true(pipe->dp.lcores[0]->stats.held_pkts <= settings.limit);
	}
	struct stats stats = pipe_stats(pipe);

	assert_int_equal(pipe->dp.lcores[0]->stats.held_pkts, settings.limit);
	assert_true(stats.dropped_pkts[DROP_IMPAIRED_LIMIT] > 200);
	assert_int_equal(stats.impaired_queue_full, 0);
	// And the drain: pipe_free asks for the ledger, and for every mbuf.
	pipeline_drain(pipe->dp.lcores[0], pipe->now_ns);
	assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_SHUTDOWN], settings.limit);
	pipe_free(pipe);
}

static void cap_at_rx(void **state)
{
	(void)state;
	the_cap_holds(IMPAIR_RX);
}

static void cap_at_tx(void **state)
{
	(void)state;
	the_cap_holds(IMPAIR_TX);
}

// At a stop nothing is received any more, but what is on its way arrives.
static void a_stop_waits_for_what_is_on_its_way(void **state)
{
	struct pipe *pipe = impaired_new(
		impaired_settings(IMPAIR_RX, (struct impair_link){.delay_ns = NS_PER_MS}));
	struct pipe_packet packet = impaired_datagram(1);
	(void)state;

	assert_int_equal(impaired_turn(pipe, &packet), 0);
	atomic_store(&pipe->dp.stopping, 1);
	assert_int_equal(impaired_turn(pipe, &packet), 0);
	pipe->now_ns += NS_PER_MS;
	assert_int_equal(impaired_turn(pipe, NULL), 1);
	assert_int_equal(pipe_stats(pipe).received_pkts, 1);
	pipe_free(pipe);
}

// What the driver refuses is offered again, not impaired again.
static void a_refusal_is_no_second_way(void **state)
{
	struct pipe *pipe = impaired_new(
		impaired_settings(IMPAIR_TX, (struct impair_link){.delay_ns = NS_PER_MS}));
	struct pipe_packet packet = impaired_datagram(1);
	(void)state;

	impaired_turn(pipe, &packet);
	pipe->now_ns += NS_PER_MS;
	pipe->refuse = 1;
	assert_int_equal(impaired_turn(pipe, NULL), 0);
	assert_int_equal(pipe->dp.lcores[0]->stats.held_pkts, 1);
	assert_int_equal(impaired_turn(pipe, NULL), 1);
	assert_int_equal(pipe_stats(pipe).impaired_pkts, 1);
	pipe_free(pipe);
}

// Everything at once, any packet: the ledger closes at every turn, and no mbuf is lost.
static void nothing_is_lost_without_account(enum impair_place at)
{
	struct pipe *pipe =
		impaired_new(impaired_settings(at, (struct impair_link){.delay_ns = 3 * NS_PER_MS,
							   .jitter_ns = 2 * NS_PER_MS,
							   .ps_per_byte = 100000,
							   .queue_ns = NS_PER_MS,
							   .loss = IMPAIR_GILBERT_ELLIOTT,
							   .to_bad = IMPAIR_ALWAYS / 10,
							   .to_good = IMPAIR_ALWAYS / 3,
							   .lost_bad = HALF,
							   .reorder = IMPAIR_ALWAYS / 10,
							   .duplicate = IMPAIR_ALWAYS / 5,
							   .corrupt = IMPAIR_ALWAYS / 5}));

	srand(11);
	for (unsigned i = 0; i < 5000; i++) {
		struct pipe_packet packet = {
			.proto = (uint8_t[]){IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMP}[rand() % 3],
			.v6 = rand() % 4 == 0 ? true : false,
			.client = (uint32_t)(1 + rand() % 50),
			.payload = "0123456789",
			.payload_length = (uint16_t)(rand() % 10),
			.seq = (uint32_t)(rand() % 5000),
			.ack = (uint32_t)(rand() % 5000),
			.n_vlan = (uint8_t)(rand() % 3),
			.vlan = {5, 6}};

		if (packet.v6 && packet.proto == IPPROTO_ICMP)
			packet.proto = IPPROTO_UDP;
		if (rand() % 20 == 0)
			packet.fragment = 0x2000;
		impaired_turn(pipe, &packet);
		pipe->now_ns += (uint64_t)(rand() % 500000);
	}
	struct stats stats = pipe_stats(pipe);

	assert_true(stats.impaired_pkts > 4000); // at tx, without what was refused before
	assert_true(stats.impaired_duplicated > 500 && stats.impaired_corrupted > 500 &&
		    stats.impaired_reordered > 300 && stats.dropped_pkts[DROP_IMPAIRED_LOSS] > 300);
	pipe_free(pipe);
}

static void ledger_at_rx(void **state)
{
	(void)state;
	nothing_is_lost_without_account(IMPAIR_RX);
}

static void ledger_at_tx(void **state)
{
	(void)state;
	nothing_is_lost_without_account(IMPAIR_TX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(off_is_not_there),
		cmocka_unit_test(the_other_direction_is_untouched),
		cmocka_unit_test(delay_at_rx),
		cmocka_unit_test(delay_at_tx),
		cmocka_unit_test(jitter_is_within_its_bounds),
		cmocka_unit_test(same_time_first_come_first_served),
		cmocka_unit_test(rate_at_rx),
		cmocka_unit_test(rate_at_tx),
		cmocka_unit_test(duplicate_at_rx),
		cmocka_unit_test(duplicate_at_tx),
		cmocka_unit_test(no_duplicate_without_a_buffer),
		cmocka_unit_test(one_bit_flips),
		cmocka_unit_test(what_flips_before_the_gateway_is_seen_by_it),
		cmocka_unit_test(some_overtake),
		cmocka_unit_test(cap_at_rx),
		cmocka_unit_test(cap_at_tx),
		cmocka_unit_test(a_stop_waits_for_what_is_on_its_way),
		cmocka_unit_test(a_refusal_is_no_second_way),
		cmocka_unit_test(ledger_at_rx),
		cmocka_unit_test(ledger_at_tx),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
