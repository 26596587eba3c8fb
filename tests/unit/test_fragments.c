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
#include "../lib/pipe.h"
#include "checksum.h"
#include "fragments.h"

#define MOST 80

static const uint8_t handshake[68] = "\x13"
				     "BitTorrent protocol\0\0\0\0\0\0\0\0"
				     "abcdefghijklmnopqrst-XX0000-123456789012";

struct piece {
	uint8_t frame[2048];
	uint32_t length;
};

// One fragment of `size` bytes from `offset` on of the IP payload of a whole frame (no VLAN).
static void cut(const uint8_t *whole, uint32_t length, uint32_t id, uint32_t offset, uint32_t size,
	bool last, struct piece *out)
{
	bool v6 = whole[12] == 0x86;
	uint32_t header = v6 ? 54 : 34, at = v6 ? 62 : 34;
	uint8_t *ip = out->frame + 14;

	assert_true(header + offset + size <= length && at + size <= sizeof(out->frame));
	memcpy(out->frame, whole, header);
	memcpy(out->frame + at, whole + header + offset, size);
	out->length = at + size;
	if (v6) {
		uint8_t next = ip[6], *fragment = ip + 40;

		ip[6] = IPPROTO_FRAGMENT;
		ip[4] = (uint8_t)((size + 8) >> 8);
		ip[5] = (uint8_t)(size + 8);
		fragment[0] = next;
		fragment[1] = 0;
		fragment[2] = (uint8_t)(offset >> 8);
		fragment[3] = (uint8_t)(offset | !last);
		memcpy(fragment + 4, &id, 4);
		return;
	}
	ip[2] = (uint8_t)((size + 20) >> 8);
	ip[3] = (uint8_t)(size + 20);
	memcpy(ip + 4, &id, 2);
	ip[6] = (uint8_t)((last ? 0 : 0x20) | offset >> 11);
	ip[7] = (uint8_t)(offset >> 3);
	checksum_fill(ip, NULL, 0, 0, false);
}

// The packet in fragments of `step` bytes; how many.
static unsigned cut_packet(
	const struct pipe_packet *packet, uint32_t id, uint32_t step, struct piece *pieces)
{
	uint8_t whole[2048];
	uint32_t length = pipe_build(packet, whole, sizeof(whole));
	uint32_t total = length - (packet->v6 ? 54 : 34);
	unsigned n = 0;

	for (uint32_t at = 0; at < total; at += step, n++) {
		bool last = at + step >= total;

		assert_true(n < MOST);
		cut(whole, length, id, at, last ? total - at : step, last, &pieces[n]);
	}
	return n;
}

static unsigned run_piece(
	struct pipe *pipe, unsigned lcore, const struct piece *piece, bool from_outside)
{
	return pipe_run_frame(pipe, lcore, piece->frame, piece->length, from_outside, 1);
}

// All of them in this order (0, 1, 2 ... if NULL); how many frames came out.
static unsigned run_pieces(struct pipe *pipe, const struct piece *pieces, unsigned n,
	const unsigned *order, bool from_outside)
{
	unsigned out = 0;

	for (unsigned i = 0; i < n; i++)
		out += run_piece(pipe, 0, &pieces[order ? order[i] : i], from_outside);
	return out;
}

static unsigned run_cut(
	struct pipe *pipe, const struct pipe_packet *packet, uint32_t id, uint32_t step)
{
	struct piece pieces[MOST];

	return run_pieces(
		pipe, pieces, cut_packet(packet, id, step, pieces), NULL, packet->from_outside);
}

static void check_sent(const struct pipe *pipe, unsigned at, const struct piece *piece)
{
	assert_int_equal(pipe->sent[at].length, piece->length);
	assert_memory_equal(pipe->sent[at].frame, piece->frame, piece->length);
}

static void publish_block(struct pipe *pipe, enum action action)
{
	struct policy *policy = pipe_policy(pipe);

	pipe_rule_app(policy, 7, action, "bittorrent")->cache = CACHE_NONE;
	pipe_publish(pipe, policy);
}

static struct pipe *blocking(unsigned n_lcores)
{
	struct pipe *pipe = pipe_new(n_lcores, NULL);

	publish_block(pipe, ACTION_RESET);
	return pipe;
}

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
			// what comes of the condemned flow is dropped, in fragments, too
			assert_int_equal(run_cut(pipe, &packet, 10, step), 1); // a RST
			assert_int_equal(pipe_stats(pipe).resets_sent, 3);
			assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_CONDEMNED], n);
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
		cmocka_unit_test(fragments_leave_as_they_came),
		cmocka_unit_test(what_is_normalized_does_not_leave_in_fragments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
