// SPDX-License-Identifier: BSD-3-Clause
// Fragments on the packet path: datagrams are inspected whole, their fragments leave as they came
// or not at all, on every lcore, in both families, under every policy; nothing is lost from the
// ledger or the pool.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/packet/pieces.h"
#include "pipeline/egress/tx.h"
#include "pipeline/stage/fragments.h"
#include "pipeline/loop.h"

static void open_connection(struct pipe *pipe, bool v6, uint16_t sport)
{
	struct pipe_packet syn = {.v6 = v6, .sport = sport, .seq = 1000, .tcp_flags = TH_SYN};
	struct pipe_packet answer = {.v6 = v6,
		.sport = sport,
		.seq = 5000,
		.ack = 1001,
		.tcp_flags = TH_SYN | TH_ACK,
		.from_outside = true};
	struct pipe_packet ack = {.v6 = v6, .sport = sport, .seq = 1001, .ack = 5001};

	pipe_run(pipe, 0, &syn);
	pipe_run(pipe, 0, &answer);
	pipe_run(pipe, 0, &ack);
	pipe->n_sent = 0;
}

static void the_handshake_in_fragments_is_seen(void **state)
{
	(void)state;
	for (unsigned v6 = 0; v6 < 2; v6++)
		// in IPv6 the first fragment must have the whole header (RFC 7112)
		for (uint32_t step = v6 ? 24 : 8; step <= 64; step += 8) {
			struct pipe *pipe = blocking(1);
			struct pipe_packet packet = {.v6 = v6,
				.seq = 1001,
				.ack = 5001,
				.payload = handshake,
				.payload_length = sizeof(handshake)};
			struct piece pieces[MOST];
			unsigned n = cut_packet(&packet, 9, step, pieces);
			struct event event;

			// 7112)
			open_connection(pipe, v6, 40000);
			assert_int_equal(run_pieces(pipe, pieces, n, NULL, false), 2); // resets
			struct stats stats = pipe_stats(pipe);

			assert_int_equal(stats.resets_sent, 2);
			assert_int_equal(stats.dropped_pkts[DROP_RULE], n);
			assert_int_equal(stats.fragment_pkts, n);
			assert_int_equal(stats.datagrams_whole, 1);
			assert_true(pipe_event(pipe, 0, EVENT_ALERT, &event));
			// what comes of the blocked flow is dropped, in fragments, too
			assert_int_equal(run_cut(pipe, &packet, 10, step), 1); // a RST
			assert_int_equal(pipe_stats(pipe).resets_sent, 3);
			assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_BLOCKED], n);
			pipe_free(pipe);
		}
}

static void a_syn_in_fragments_makes_a_flow(void **state)
{
	(void)state;
	for (unsigned v6 = 0; v6 < 2; v6++) {
		struct pipe *pipe = blocking(1);
		struct pipe_packet syn = {.v6 = v6,
			.seq = 1000,
			.tcp_flags = TH_SYN,
			.payload = "with data of its own",
			.payload_length = 20};

		assert_int_equal(run_cut(pipe, &syn, 1, 24), 2);
		assert_int_equal(pipe_stats(pipe).flows_created, 1);
		assert_int_equal(pipe_stats(pipe).flows_midstream, 0);
		pipe_free(pipe);
	}
}

static void fragments_leave_as_they_came(void **state)
{
	static const unsigned orders[][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}};
	(void)state;

	for (unsigned v6 = 0; v6 < 2; v6++)
		for (unsigned i = 0; i < RTE_DIM(orders); i++)
			for (unsigned enforce = 0; enforce < 2; enforce++) {
				struct pipe *pipe = enforce ? blocking(1) : pipe_new(1, NULL);
				uint8_t payload[100] = "nothing that anybody knows";
				struct pipe_packet packet = {.v6 = v6,
					.proto = IPPROTO_UDP,
					.payload = payload,
					.payload_length = sizeof(payload)};
				struct piece pieces[MOST];

				assert_int_equal(cut_packet(&packet, 3, 32, pieces), 4);
				for (unsigned k = 0; k < 3; k++)
					assert_int_equal(
						run_piece(pipe, 0, &pieces[orders[i][k]], false),
						0);
				assert_int_equal(pipeline_held(pipe->dp.lcores[0]), 3);
				pipe_turns(pipe);
				assert_int_equal(pipe_unaccounted(pipe), 0);
				assert_int_equal(pipe_stats(pipe).held_pkts, 3);
				assert_int_equal(
					run_piece(pipe, 0, &pieces[orders[i][3]], false), 4);
				for (unsigned k = 0; k < 4; k++)
					check_sent(pipe, k, &pieces[orders[i][k]]);
				assert_int_equal(pipe_stats(pipe).flows_created, 1);
				assert_int_equal(pipeline_held(pipe->dp.lcores[0]), 0);
				pipe_free(pipe);
			}
}

// What honest hosts send over small links: 119 of 48 bytes hold 5,700 bytes; the limit is 128.
static void datagrams_of_many_fragments_pass(void **state)
{
	static const unsigned counts[] = {64, 65, 119, 128, 129};
	static const uint8_t payload[129 * 8];
	static struct piece pieces[MOST];
	(void)state;

	for (unsigned i = 0; i < 2 * RTE_DIM(counts); i++) {
		unsigned n = counts[i / 2];
		bool fits = n <= 128;
		struct pipe *pipe = blocking(1);
		struct pipe_packet packet = {.v6 = i & 1,
			.proto = IPPROTO_UDP,
			.payload = payload,
			.payload_length = (uint16_t)(n * 8 - 8)};

		assert_int_equal(cut_packet(&packet, 3, 8, pieces), n);
		assert_int_equal(run_pieces(pipe, pieces, n, NULL, false), fits ? n : 0);
		assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_FRAGMENT_LIMIT], fits ? 0 : n);
		pipe_free(pipe);
	}
}

// A frame in two mbuf segments, as a capture has it of which the snap length has cut the rest.
static void run_captured(struct pipe *pipe, const uint8_t *frame, uint32_t length)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pipe->pool), *rest = rte_pktmbuf_alloc(pipe->pool);
	uint16_t half = (uint16_t)(length / 2);

	assert_non_null(m);
	assert_non_null(rest);
	memcpy(rte_pktmbuf_append(m, half), frame, half);
	memcpy(rte_pktmbuf_append(rest, (uint16_t)(length - half)), frame + half, length - half);
	assert_int_equal(rte_pktmbuf_chain(m, rest), 0);
	pipeline_receive(pipe->dp.lcores[0], m, PIPE_INSIDE, LINK_ETHERNET, pipe->now_ns,
		PKT_CAPTURED | PKT_CSUM_IGNORE | PKT_FROM_INSIDE);
	pipeline_run(pipe->dp.lcores[0], &m, 1, pipe->now_ns);
	tx_flush(pipe->dp.lcores[0]);
}

// Nothing of its payload is there to be copied, at the end of the last segment.
static void a_capture_may_end_where_a_fragments_payload_begins(void **state)
{
	static const uint32_t headers[] = {14 + 20, 14 + 40 + 8};
	uint8_t payload[100] = "nothing that anybody knows";
	(void)state;

	for (unsigned v6 = 0; v6 < 2; v6++)
		for (unsigned n_cut = 1; n_cut <= 2; n_cut++) {
			struct pipe *pipe = pipe_new(1, NULL);
			const struct pipe_packet packet = {.v6 = v6,
				.proto = IPPROTO_UDP,
				.payload = payload,
				.payload_length = sizeof(payload)};
			struct piece pieces[MOST];
			unsigned n = cut_packet(&packet, 3, 64, pieces);

			assert_int_equal(n, 2);
			for (unsigned i = 0; i < n; i++)
				run_captured(pipe, pieces[i].frame,
					i >= n - n_cut ? headers[v6] : pieces[i].length);
			assert_int_equal(pipe->n_sent, n);
			assert_int_equal(pipe_stats(pipe).datagrams_whole, 1);
			pipe_free(pipe);
		}
}

// replay --checksum ignore, and what a snap length has cut: a datagram is taken as good like its
// fragments, so that it is inspected.
static void what_is_not_summed_up_is_inspected(void **state)
{
	(void)state;
	for (unsigned v6 = 0; v6 < 2; v6++) {
		struct pipe *pipe = blocking(1);
		struct pipe_packet packet = {.v6 = v6,
			.seq = 1001,
			.ack = 5001,
			.payload = handshake,
			.payload_length = sizeof(handshake),
			.bad_checksum = true};
		struct piece pieces[MOST];
		unsigned n = cut_packet(&packet, 9, 64, pieces);

		open_connection(pipe, v6, 40000);
		pipe_run_frame(pipe, 0, pieces[0].frame, pieces[0].length, false, 1);
		for (unsigned i = 1; i < n; i++) // one that says so is enough
			run_captured(pipe, pieces[i].frame, pieces[i].length);
		assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_RULE], n);
		assert_int_equal(pipe_stats(pipe).flows_condemned, 1);
		pipe_free(pipe);
	}
}

// What would have to be changed cannot be: its fragments leave as they came, or not at all.
static void what_is_normalized_does_not_leave_in_fragments(void **state)
{
	(void)state;
	for (unsigned enforce = 0; enforce < 2; enforce++) {
		struct pipe *pipe = enforce ? blocking(1) : pipe_new(1, NULL);
		struct pipe_packet packet = {.seq = 1001,
			.ack = 5001,
			.tcp_flags = TH_URG | TH_ACK,
			.payload = handshake,
			.payload_length = 40};

		open_connection(pipe, false, 40000);
		assert_int_equal(run_cut(pipe, &packet, 1, 32), enforce ? 0 : 2);
		assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_NOT_TAKEN], enforce ? 2 : 0);
		pipe_free(pipe);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_handshake_in_fragments_is_seen),
		cmocka_unit_test(a_syn_in_fragments_makes_a_flow),
		cmocka_unit_test(a_capture_may_end_where_a_fragments_payload_begins),
		cmocka_unit_test(what_is_not_summed_up_is_inspected),
		cmocka_unit_test(fragments_leave_as_they_came),
		cmocka_unit_test(datagrams_of_many_fragments_pass),
		cmocka_unit_test(what_is_normalized_does_not_leave_in_fragments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
