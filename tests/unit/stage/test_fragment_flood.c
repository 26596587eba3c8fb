// SPDX-License-Identifier: BSD-3-Clause
// A million fragments of datagrams that are never whole, beside a transfer over TCP and honest
// datagrams in fragments: memory stays within its limits, the transfer loses nothing, the honest
// come through, and when the flood is over all is as before. What it costs beside a path that only
// forwards is printed.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/packet/pieces.h"
#include "pipeline/egress/egress.h"
#include "pipeline/wire/checksum.h"
#include "pipeline/egress/tx.h"

#define FLOOD 1000000u
#define EVERY 100u // fragments between two packets of the transfer

static uint64_t random_state = 0x9e3779b97f4a7c15;

static uint32_t random_word(void)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return (uint32_t)(random_state * 0x2545f4914f6cdd1d >> 32);
}

// Any source, any identification, any place but the first; always more to come.
static void random_fragment(struct piece *piece, const struct piece *model, bool v6)
{
	uint32_t word = random_word(), place = 1 + random_word() % 7000;

	*piece = *model;
	if (v6) {
		memcpy(piece->frame + 14 + 20, &word, 4);
		piece->frame[56] = (uint8_t)(place >> 5);
		piece->frame[57] = (uint8_t)(place << 3 | 1);
		word = random_word();
		memcpy(piece->frame + 58, &word, 4);
		return;
	}
	memcpy(piece->frame + 14 + 12, &word, 4);
	piece->frame[20] = (uint8_t)(0x20 | place >> 8);
	piece->frame[21] = (uint8_t)place;
	word = random_word();
	memcpy(piece->frame + 18, &word, 2);
	checksum_fill(piece->frame + 14, NULL, 0, 0, false);
}

static void models(struct piece out[2])
{
	static const uint8_t payload[88];

	for (unsigned v6 = 0; v6 < 2; v6++) {
		struct pipe_packet packet = {.v6 = v6,
			.proto = IPPROTO_UDP,
			.payload = payload,
			.payload_length = sizeof(payload)};
		struct piece pieces[MOST];

		cut_packet(&packet, 1, 32, pieces);
		out[v6] = pieces[1];
	}
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// A segment with its acknowledgement; how many of the two left.
static unsigned transfer(struct pipe *pipe, uint32_t *seq)
{
	static const uint8_t payload[1000] = "GET ";
	struct pipe_packet segment = {
		.seq = *seq, .ack = 5001, .payload = payload, .payload_length = sizeof(payload)};
	struct pipe_packet ack = {.seq = 5001, .ack = *seq + sizeof(payload), .from_outside = true};

	*seq += sizeof(payload);
	return pipe_run(pipe, 0, &segment) + pipe_run(pipe, 0, &ack);
}

static unsigned honest(struct pipe *pipe, uint32_t id, bool v6)
{
	static const uint8_t payload[1400] = "nothing that anybody knows";
	struct pipe_packet packet = {.v6 = v6,
		.proto = IPPROTO_UDP,
		.client = 77,
		.payload = payload,
		.payload_length = sizeof(payload)};

	return run_cut(pipe, &packet, id, 512);
}

// The same frames, parsed and forwarded.
static double pass_through(void)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct lcore *lcore = pipe->dp.lcores[0];
	struct piece model[2], piece;
	union flow_key key;
	double begin;

	models(model);
	begin = seconds();
	for (uint32_t i = 0; i < FLOOD; i++) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(pipe->pool);

		random_fragment(&piece, &model[i & 1], i & 1);
		memcpy(rte_pktmbuf_append(m, (uint16_t)piece.length), piece.frame, piece.length);
		pipeline_receive(lcore, m, PIPE_INSIDE, LINK_ETHERNET, pipe->now_ns, 0);
		lcore->stats.received_pkts++;
		parse_mbuf(m, &PARSE_SETTINGS_FIXED, &key);
		egress_bypass(lcore, m);
		tx_flush(lcore);
		pipe->n_sent = 0;
	}
	double took = seconds() - begin;

	pipe_free(pipe);
	return took;
}

static void a_flood_of_fragments(void **state)
{
	struct pipe *pipe = blocking(1);
	struct lcore *lcore = pipe->dp.lcores[0];
	const struct frag_limits *limits = &pipe->dp.limits->fragments;
	struct pipe_packet syn = {.seq = 1000, .tcp_flags = TH_SYN};
	struct pipe_packet answer = {
		.seq = 5000, .ack = 1001, .tcp_flags = TH_SYN | TH_ACK, .from_outside = true};
	struct piece model[2], piece;
	uint32_t seq = 1001, sent = 0, left = 0, datagrams = 0, whole = 0;
	double begin;
	(void)state;

	models(model);
	pipe_run(pipe, 0, &syn);
	pipe_run(pipe, 0, &answer);
	begin = seconds();
	for (uint32_t i = 0; i < FLOOD; i++) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(pipe->pool);

		random_fragment(&piece, &model[i & 1], i & 1);
		memcpy(rte_pktmbuf_append(m, (uint16_t)piece.length), piece.frame, piece.length);
		pipeline_receive(lcore, m, PIPE_INSIDE, LINK_ETHERNET, pipe->now_ns, 0);
		pipeline_run(lcore, &m, 1, pipe->now_ns);
		pipe->now_ns += NS_PER_S / 100000; // 100,000 a second
		if (i % EVERY)
			continue;
		pipe->n_sent = 0;
		left += transfer(pipe, &seq);
		sent += 2;
		whole += honest(pipe, i, i / EVERY & 1);
		datagrams++;
		pipe_turns(pipe);
		assert_true(lcore->stats.fragments_held <= limits->packets);
		assert_true(lcore->stats.datagrams_held <= limits->datagrams);
		assert_true(rte_mempool_in_use_count(pipe->pool) <= limits->packets);
		assert_int_equal(pipe_unaccounted(pipe), 0);
	}
	double took = seconds() - begin;
	struct stats stats = pipe_stats(pipe);

	assert_int_equal(left, sent); // not one of the transfer's was lost
	assert_int_equal(whole, 3 * datagrams);
	assert_int_equal(stats.datagrams_whole, datagrams);
	assert_true(stats.dropped_pkts[DROP_FRAGMENT_LIMIT] > FLOOD * 9 / 10);
	// at once, and so within 10 s; what the flood left behind goes by its time-out
	pipe->n_sent = 0;
	assert_int_equal(honest(pipe, 1, false), 3);
	assert_int_equal(honest(pipe, 2, true), 3);
	assert_int_equal(transfer(pipe, &seq), 2);
	pipe_advance(pipe, 31);
	assert_int_equal(pipe_stats(pipe).held_pkts, 0);
	assert_int_equal(rte_mempool_in_use_count(pipe->pool), 0);
	pipe_free(pipe);
	double beside = pass_through();

	printf("%u fragments: %.2f s, %.2f s where they only pass: ratio %.2f\n", FLOOD, took,
		beside, took / beside);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flood_of_fragments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
