// SPDX-License-Identifier: BSD-3-Clause
// Chance on an impaired link: as often as reported, in bursts as long as reported, and the same in
// every run of a transfer.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/pipeline/impaired.h"

#define SEGMENT 1448 // where the next begins; what they carry is one byte
#define N       4000
#define HALF    (IMPAIR_ALWAYS / 2)

// One segment of a transfer that began at `isn`.
static struct pipe_packet segment(uint32_t isn, uint32_t index)
{
	static const uint8_t payload[1];

	return (struct pipe_packet){.payload = payload,
		.payload_length = sizeof(payload),
		.seq = isn + 1 + index * SEGMENT,
		.ack = 1};
}

// Which of n segments, each sent `times` times, come out; bit per transmission.
static void transfer(
	struct pipe *pipe, uint16_t sport, uint32_t isn, unsigned n, unsigned times, uint8_t *out)
{
	impaired_syn(pipe, sport, isn);
	memset(out, 0, n);
	for (unsigned time = 0; time < times; time++) {
		for (unsigned i = 0; i < n; i++) {
			struct pipe_packet packet = segment(isn, i);

			packet.sport = sport;
			out[i] |= (uint8_t)(impaired_turn(pipe, &packet) << time);
		}
	}
}

static unsigned count(const uint8_t *passed, unsigned n, unsigned bit)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += passed[i] >> bit & 1;
	return sum;
}

static void loss_is_as_often_as_told(void **state)
{
	static uint8_t passed[N];
	struct pipe *pipe = impaired_new(impaired_settings(
		IMPAIR_RX, (struct impair_link){.lost_good = IMPAIR_ALWAYS / 20}));
	(void)state;

	transfer(pipe, 40000, 1000, N, 2, passed);
	// 200 +- 4 standard deviations of 13.8
	assert_in_range(N - count(passed, N, 0), 145, 255);
	assert_in_range(N - count(passed, N, 1), 145, 255);
	unsigned twice = 0;

	for (unsigned i = 0; i < N; i++)
		twice += !passed[i];
	assert_in_range(twice, 1, 30); // the two do not depend on each other: 10 is the mean
	struct stats stats = pipe_stats(pipe);

	assert_int_equal(stats.dropped_pkts[DROP_IMPAIRED_LOSS],
		2 * N - count(passed, N, 0) - count(passed, N, 1));
	pipe_free(pipe);
}

// The same transfer sees the same, whatever its first sequence and the client's port.
static void chance_is_the_same_in_every_run(void **state)
{
	static uint8_t first[N], again[N], other[N];
	struct impair_settings settings =
		impaired_settings(IMPAIR_RX, (struct impair_link){.lost_good = IMPAIR_ALWAYS / 10});
	struct pipe *pipe = impaired_new(settings);
	(void)state;

	transfer(pipe, 40000, 1000, N, 3, first);
	// In the same gateway, past the wrap of the sequence; then in another.
	transfer(pipe, 51234, UINT32_MAX - 5000, N, 3, again);
	assert_memory_equal(first, again, N);
	// The tuple is used again.
	transfer(pipe, 40000, 77777, N, 3, again);
	assert_memory_equal(first, again, N);
	pipe_free(pipe);
	pipe = impaired_new(settings);
	transfer(pipe, 33333, 99, N, 3, again);
	assert_memory_equal(first, again, N);
	pipe_free(pipe);

	settings.seed++;
	pipe = impaired_new(settings);
	transfer(pipe, 40000, 1000, N, 3, other);
	assert_memory_not_equal(first, other, N);
	pipe_free(pipe);

	settings.seed--;
	settings.whole_tuple = true;
	pipe = impaired_new(settings);
	transfer(pipe, 40000, 1000, N, 1, first);
	transfer(pipe, 40001, 1000, N, 1, other);
	assert_memory_not_equal(first, other, N);
	pipe_free(pipe);
}

// A sender that was once short of bytes cuts all that follows elsewhere.
static void where_segments_begin_does_not_matter(void **state)
{
	static uint8_t first[N], again[N];
	struct impair_settings settings =
		impaired_settings(IMPAIR_RX, (struct impair_link){.lost_good = IMPAIR_ALWAYS / 10});
	struct pipe *pipe = impaired_new(settings);
	(void)state;

	transfer(pipe, 40000, 1000, N, 1, first);
	pipe_free(pipe);
	pipe = impaired_new(settings);
	impaired_syn(pipe, 40000, 1000);
	for (unsigned i = 0; i < N; i++) {
		struct pipe_packet packet = segment(1000, i);

		packet.seq += i < 100 ? 0 : 600;
		again[i] = (uint8_t)impaired_turn(pipe, &packet);
	}
	assert_memory_equal(first, again, N);
	pipe_free(pipe);
}

// In which order segments come, and what comes between, has no part in it.
static void order_does_not_matter(void **state)
{
	static uint8_t forth[N], back[N];
	struct impair_settings settings =
		impaired_settings(IMPAIR_RX, (struct impair_link){.loss = IMPAIR_GILBERT_ELLIOTT,
						     .to_bad = IMPAIR_ALWAYS / 20,
						     .to_good = IMPAIR_ALWAYS / 4,
						     .lost_bad = HALF});
	struct pipe *pipe = impaired_new(settings);
	(void)state;

	transfer(pipe, 40000, 1000, N, 1, forth);
	pipe_free(pipe);
	pipe = impaired_new(settings);
	impaired_syn(pipe, 40000, 5);
	for (unsigned i = N; i-- > 0;) {
		struct pipe_packet packet = segment(5, i), noise = impaired_datagram(0);

		back[i] = (uint8_t)impaired_turn(pipe, &packet);
		impaired_turn(pipe, &noise);
	}
	assert_memory_equal(forth, back, N);
	pipe_free(pipe);
}

// Segments of the chain's step, so that each is one step of it.
static uint8_t gilbert_elliott(struct pipe *pipe, uint32_t isn, uint32_t step)
{
	static const uint8_t payload[1];
	struct pipe_packet packet = {
		.payload = payload, .payload_length = 1, .seq = isn + step * 1448, .ack = 1};

	return (uint8_t)impaired_turn(pipe, &packet);
}

static void bursts_have_their_length(void **state)
{
	struct pipe *pipe = impaired_new(
		impaired_settings(IMPAIR_RX, (struct impair_link){.loss = IMPAIR_GILBERT_ELLIOTT,
						     .to_bad = IMPAIR_ALWAYS / 50,
						     .to_good = IMPAIR_ALWAYS / 4,
						     .lost_bad = IMPAIR_ALWAYS}));
	unsigned lost = 0, bursts = 0, retransmitted = 0;
	bool before = false;
	(void)state;

	impaired_syn(pipe, 40000, 0);
	for (unsigned i = 1; i <= 20000; i++) {
		bool here = !gilbert_elliott(pipe, 0, i);

		lost += here;
		bursts += here && !before;
		before = here;
		// Retransmissions do not meet the burst that took the first.
		if (here && bursts <= 50)
			retransmitted += gilbert_elliott(pipe, 0, i);
	}
	// p / (p + r) = 7.4 % are lost, in bursts of 1 / r = 4
	assert_in_range(lost, 1250, 1750);
	assert_in_range(lost * 100 / bursts, 350, 450);
	assert_true(retransmitted > 100);
	pipe_free(pipe);
}

// Where both states leave at once, they take turns.
static void a_chain_that_always_turns(void **state)
{
	struct pipe *pipe = impaired_new(
		impaired_settings(IMPAIR_RX, (struct impair_link){.loss = IMPAIR_GILBERT_ELLIOTT,
						     .to_bad = IMPAIR_ALWAYS,
						     .to_good = IMPAIR_ALWAYS,
						     .lost_bad = IMPAIR_ALWAYS}));
	(void)state;

	impaired_turn(
		pipe, &(struct pipe_packet){.tcp_flags = TH_SYN, .seq = 0}); // step 0 is bad: lost
	assert_int_equal(pipe->n_sent, 0);
	for (uint32_t i = 1; i < 100; i++)
		assert_int_equal(gilbert_elliott(pipe, 0, i), i % 2);
	pipe_free(pipe);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loss_is_as_often_as_told),
		cmocka_unit_test(chance_is_the_same_in_every_run),
		cmocka_unit_test(where_segments_begin_does_not_matter),
		cmocka_unit_test(order_does_not_matter),
		cmocka_unit_test(bursts_have_their_length),
		cmocka_unit_test(a_chain_that_always_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
