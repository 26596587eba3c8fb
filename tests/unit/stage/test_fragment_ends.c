// SPDX-License-Identifier: BSD-3-Clause
// Fragments that are no plain matter: conflicts, time-outs, limits, other lcores, tunnels, the
// longest datagram, wrong checksums, no room anywhere. The ledger and the pool hold throughout.
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
#include "pipeline/egress/egress.h"
#include "pipeline/wire/checksum.h"
#include "pipeline/egress/tx.h"
#include "pipeline/stage/fragments.h"
#include "pipeline/loop.h"

static uint64_t dropped(const struct pipe *pipe, enum drop_reason reason)
{
	return pipe_stats(pipe).dropped_pkts[reason];
}

// A datagram of 96 bytes in three fragments.
static void three_pieces(bool v6, uint32_t id, struct piece *pieces)
{
	static const uint8_t payload[88] = "nothing that anybody knows";
	struct pipe_packet packet = {.v6 = v6,
		.proto = IPPROTO_UDP,
		.payload = payload,
		.payload_length = sizeof(payload)};

	assert_int_equal(cut_packet(&packet, id, 32, pieces), 3);
}

static void conflicting_fragments_take_their_datagram(void **state)
{
	(void)state;
	for (unsigned v6 = 0; v6 < 2; v6++)
		for (unsigned enforce = 0; enforce < 2; enforce++) {
			struct pipe *pipe = enforce ? blocking(1) : pipe_new(1, NULL);
			struct piece pieces[3], other;
			unsigned end = v6 ? 62 : 34;
			struct event event;

			three_pieces(v6, 1, pieces);
			other = pieces[1];
			other.frame[end] ^= 1;
			run_piece(pipe, 0, &pieces[0], false);
			run_piece(pipe, 0, &pieces[1], false);
			// both leave with it, if any does, and in order
			assert_int_equal(run_piece(pipe, 0, &other, false), enforce ? 0 : 3);
			assert_int_equal(run_piece(pipe, 0, &pieces[2], false), enforce ? 0 : 1);
			assert_int_equal(run_piece(pipe, 0, &pieces[1], false), enforce ? 0 : 1);
			assert_int_equal(dropped(pipe, DROP_FRAGMENT_OVERLAP), enforce ? 5 : 0);
			assert_int_equal(pipe_stats(pipe).datagrams_overlap, 1);
			assert_true(pipe_event(pipe, 0, EVENT_ANOMALY, &event));
			assert_int_equal(event.reason, ANOMALY_FRAGMENT_OVERLAP);
			assert_int_equal(event.anomaly.offset, 32);
			assert_int_equal(event.anomaly.bytes, 32);
			assert_int_equal(pipe_stats(pipe).flows_created, 0);
			if (!enforce) {
				check_sent(pipe, 0, &pieces[0]);
				check_sent(pipe, 2, &other);
				check_sent(pipe, 3, &pieces[2]);
			}
			pipe_advance(pipe, 31);
			pipe->n_sent = 0;
			assert_int_equal(run_pieces(pipe, pieces, 3, NULL, false), 3);
			pipe_free(pipe);
		}
}

static void duplicates_and_lengths(void **state)
{
	(void)state;
	for (unsigned v6 = 0; v6 < 2; v6++) {
		struct pipe *pipe = blocking(1);
		struct piece pieces[3];

		three_pieces(v6, 1, pieces);
		run_piece(pipe, 0, &pieces[0], false);
		run_piece(pipe, 0, &pieces[0], false);
		run_piece(pipe, 0, &pieces[1], false);
		assert_int_equal(dropped(pipe, DROP_FRAGMENT_DUPLICATE), 1);
		assert_int_equal(run_piece(pipe, 0, &pieces[2], false), 3);
		// not a multiple of 8, and more to come: IPv6 hosts refuse it, IPv4 hosts differ
		three_pieces(v6, 2, pieces);
		if (v6) {
			pieces[0].frame[19]--;
		} else {
			pieces[0].frame[17]--;
			checksum_fill(pieces[0].frame + 14, NULL, 0, 0, false);
		}
		assert_int_equal(run_piece(pipe, 0, &pieces[0], false), v6 ? 1 : 0);
		assert_int_equal(pipe_stats(pipe).malformed_pkts, v6);
		assert_int_equal(dropped(pipe, DROP_FRAGMENT_INVALID), !v6);
		pipe_free(pipe);
	}
}

static void datagrams_that_are_never_whole(void **state)
{
	(void)state;
	for (unsigned v6 = 0; v6 < 2; v6++)
		for (unsigned enforce = 0; enforce < 2; enforce++) {
			struct pipe *pipe = enforce ? blocking(1) : pipe_new(1, NULL);
			struct piece pieces[3];

			three_pieces(v6, 1, pieces);
			run_pieces(pipe, pieces + 1, 2, NULL, false);
			pipe_advance(pipe, 29.9);
			assert_int_equal(pipe_stats(pipe).fragments_held, 2);
			assert_int_equal(pipe_stats(pipe).datagrams_held, 1);
			pipe_advance(pipe, 0.2);
			assert_int_equal(pipe_stats(pipe).held_pkts, 0);
			assert_int_equal(pipe->n_sent, enforce ? 0 : 2);
			assert_int_equal(dropped(pipe, DROP_FRAGMENT_TIMEOUT), enforce ? 2 : 0);
			// one more than there is room for
			pipe->n_sent = 0;
			for (uint32_t id = 2; id < 19; id++) {
				three_pieces(v6, id, pieces);
				run_piece(pipe, 0, &pieces[id % 3], false);
			}
			assert_int_equal(pipe_stats(pipe).datagrams_limit, 1);
			assert_int_equal(dropped(pipe, DROP_FRAGMENT_LIMIT), enforce);
			assert_int_equal(pipe->n_sent, !enforce);
			assert_int_equal(pipeline_held(pipe->dp.lcores[0]), 16);
			pipeline_drain(pipe->dp.lcores[0], pipe->now_ns);
			assert_int_equal(dropped(pipe, DROP_SHUTDOWN), enforce ? 16 : 0);
			assert_int_equal(pipe->n_sent, enforce ? 0 : 17);
			pipe_free(pipe);
		}
}

// Fragments come to an lcore by their addresses, their flow may be another's.
static void the_flow_of_another_lcore(void **state)
{
	uint64_t handed = 0;
	(void)state;
	for (unsigned v6 = 0; v6 < 2; v6++)
		for (uint16_t port = 40000; port < 40008; port++) {
			struct pipe *pipe = blocking(3);
			struct pipe_packet syn = {
				.v6 = v6, .sport = port, .seq = 1000, .tcp_flags = TH_SYN};
			struct pipe_packet packet = {.v6 = v6,
				.sport = port,
				.seq = 1001,
				.ack = 5001,
				.payload = handshake,
				.payload_length = sizeof(handshake)};
			struct piece pieces[MOST];
			unsigned n = cut_packet(&packet, 7, 32, pieces), flows = 0;

			pipe_run(pipe, 0, &syn);
			pipe_turns(pipe);
			for (unsigned i = 0; i < n; i++) {
				run_piece(pipe, i % 3, &pieces[i], false);
				pipe_turns(pipe);
			}
			pipe_turns(pipe);
			struct stats stats = pipe_stats(pipe);

			assert_int_equal(pipe_unaccounted(pipe), 0);
			assert_int_equal(stats.fragment_pkts, n);
			assert_int_equal(stats.datagrams_whole, 1);
			assert_int_equal(stats.dropped_pkts[DROP_RULE], n);
			assert_int_equal(stats.flows_embryonic, 1); // the SYN's, on the same lcore
			for (unsigned i = 0; i < 3; i++)
				flows += (unsigned)pipe->dp.lcores[i]->stats.flows_condemned;
			assert_int_equal(flows, 1);
			handed += stats.datagrams_handoff;
			pipe_free(pipe);
		}
	assert_in_range(handed, 1, 15); // some went, some stayed
}

static void a_full_ring_loses_the_whole_datagram(void **state)
{
	struct pipe *pipe = blocking(2);
	struct piece pieces[3];
	uint64_t lost = 0;
	(void)state;

	for (uint32_t id = 1; id < 2000 && !lost; id++) {
		static const uint8_t payload[88];
		struct pipe_packet packet = {.proto = IPPROTO_UDP,
			.sport = (uint16_t)(1000 + id % 2), // owners differ
			.payload = payload,
			.payload_length = sizeof(payload)};

		cut_packet(&packet, id, 32, pieces);
		for (unsigned i = 0; i < 3; i++)
			run_piece(pipe, 0, &pieces[i], false), pipe->n_sent = 0;
		lost = dropped(pipe, DROP_HANDOFF_FULL);
		if (rte_mempool_avail_count(pipe->pool) < 100)
			break;
	}
	for (unsigned i = 0; i < 40; i++) {
		pipe->n_sent = 0;
		pipe_turns(pipe);
	}
	assert_int_equal(lost % 3, 0);
	assert_true(pipe_stats(pipe).datagrams_handoff > 100);
	assert_int_equal(pipe_unaccounted(pipe), 0);
	pipe_free(pipe);
}

static void the_longest_datagram(void **state)
{
	static uint8_t whole[14 + 65535];
	struct pipe *pipe = blocking(1);
	static struct piece pieces[64];
	unsigned n = 0;
	struct event event;
	(void)state;

	struct pipe_packet packet = {.proto = IPPROTO_UDP, .payload = "x", .payload_length = 1};

	pipe_build(&packet, whole, 100);
	uint8_t *udp = whole + 34;
	uint32_t length = 65515;

	for (uint32_t i = 8; i < length; i++)
		udp[i] = (uint8_t)(i * 13);
	udp[4] = (uint8_t)(length >> 8);
	udp[5] = (uint8_t)length;
	checksum_fill(whole + 14, udp, (uint16_t)length, IPPROTO_UDP, false);
	for (uint32_t at = 0; at < length; at += 1480, n++)
		cut(whole, sizeof(whole), 3, at, RTE_MIN(1480u, length - at), at + 1480 >= length,
			&pieces[n]);
	assert_int_equal(run_pieces(pipe, pieces, n, NULL, false), n);
	assert_int_equal(pipe_stats(pipe).bad_checksum_pkts, 0);
	assert_int_equal(pipe_stats(pipe).flows_created, 1);
	pipeline_drain(pipe->dp.lcores[0], pipe->now_ns);
	assert_true(pipe_event(pipe, 0, EVENT_FLOW, &event));
	pipe_free(pipe);
}

static void checksums_of_fragments_and_datagrams(void **state)
{
	struct pipe *pipe = blocking(1);
	struct piece pieces[3];
	(void)state;

	three_pieces(false, 1, pieces);
	pieces[1].frame[24] ^= 1; // of its header: no host takes it
	run_pieces(pipe, pieces, 2, NULL, false);
	assert_int_equal(pipe_stats(pipe).bad_checksum_pkts, 1);
	assert_int_equal(pipeline_held(pipe->dp.lcores[0]), 1);
	pieces[1].frame[24] ^= 1;
	run_pieces(pipe, pieces + 1, 2, NULL, false);
	assert_int_equal(pipe_stats(pipe).datagrams_whole, 1);
	for (unsigned v6 = 0; v6 < 2; v6++) {
		three_pieces(v6, 2, pieces);
		pieces[2].frame[pieces[2].length - 1] ^= 1; // of the datagram
		assert_int_equal(run_pieces(pipe, pieces, 3, NULL, false), 3);
		assert_int_equal(pipe_stats(pipe).bad_checksum_pkts, 2 + v6);
		assert_int_equal(pipe_stats(pipe).flows_created, 1); // none by it
	}
	pipe->policy->malformed = INVALID_DROP;
	three_pieces(false, 3, pieces);
	pieces[2].frame[pieces[2].length - 1] ^= 1;
	assert_int_equal(run_pieces(pipe, pieces, 3, NULL, false), 0);
	assert_int_equal(dropped(pipe, DROP_BAD_CHECKSUM), 3);
	pipe_free(pipe);
}

// In IPIP: as the inside, each with an outer header; or as the outside of one packet.
static void wrap(const uint8_t *frame, uint32_t length, uint8_t *out)
{
	uint8_t *ip = out + 14;

	memcpy(out, frame, 14);
	out[12] = 0x08;
	out[13] = 0;
	memset(ip, 0, 20);
	memcpy(out + 34, frame + 14, length - 14);
	ip[0] = 0x45;
	ip[2] = (uint8_t)((length + 6) >> 8);
	ip[3] = (uint8_t)(length + 6);
	ip[8] = 60;
	ip[9] = frame[12] == 0x86 ? IPPROTO_IPV6 : IPPROTO_IPIP;
	ip[12] = ip[16] = 192;
	ip[15] = 1;
	ip[19] = 2;
	checksum_fill(ip, NULL, 0, 0, false);
}

static void fragments_within_and_around_a_tunnel(void **state)
{
	(void)state;
	for (unsigned v6 = 0; v6 < 2; v6++)
		for (unsigned around = 0; around < 2; around++) {
			struct pipe *pipe = blocking(1);
			struct pipe_packet packet = {.v6 = v6,
				.seq = 1001,
				.ack = 5001,
				.payload = handshake,
				.payload_length = sizeof(handshake)};
			struct piece pieces[MOST], outer[MOST];
			uint8_t whole[2048], tunnel[2048];
			unsigned n = 0;
			struct event event;

			struct pipe_packet syn = {.v6 = v6, .seq = 1000, .tcp_flags = TH_SYN};
			unsigned syn_length = pipe_build(&syn, whole, sizeof(whole));

			wrap(whole, syn_length, tunnel);
			pipe_run_frame(pipe, 0, tunnel, syn_length + 20, false, 1);
			if (around) {
				uint32_t length = pipe_build(&packet, whole, sizeof(whole));

				wrap(whole, length, tunnel);
				for (uint32_t at = 0; at < length - 14; at += 48, n++)
					cut(tunnel, length + 20, 9, at,
						RTE_MIN(48u, length - 14 - at),
						at + 48 >= length - 14, &outer[n]);
			} else {
				n = cut_packet(&packet, 9, 32, pieces);
				for (unsigned i = 0; i < n; i++) {
					wrap(pieces[i].frame, pieces[i].length, outer[i].frame);
					outer[i].length = pieces[i].length + 20;
				}
			}
			assert_true(n >= 2);
			assert_int_equal(run_pieces(pipe, outer, n, NULL, false), 0);
			assert_int_equal(pipe_stats(pipe).datagrams_whole, 1);
			assert_true(pipe_event(pipe, 0, EVENT_ALERT, &event));
			assert_int_equal(event.ends.port[0], 40000);
			pipe_free(pipe);
		}
}

static void no_mbuf_for_a_view(void **state)
{
	struct pipe *pipe = blocking(1);
	struct rte_mbuf *hostages[1023];
	struct piece pieces[3];
	unsigned n = 0;
	(void)state;

	three_pieces(false, 1, pieces);
	run_pieces(pipe, pieces, 2, NULL, false);
	while (rte_mempool_avail_count(pipe->pool) > 1) // for the last fragment itself
		hostages[n++] = rte_pktmbuf_alloc(pipe->pool);
	assert_int_equal(run_piece(pipe, 0, &pieces[2], false), 0);
	rte_pktmbuf_free_bulk(hostages, n);
	assert_int_equal(dropped(pipe, DROP_FRAGMENT_LIMIT), 3);
	assert_int_equal(run_pieces(pipe, pieces, 3, NULL, false), 3); // sent again
	pipe_free(pipe);
}

static void more_than_a_send_buffer_leaves(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct rte_mbuf *burst[BURST];
	static struct piece pieces[16][8];
	(void)state;

	// sixteen datagrams whose last fragments come in one burst
	for (uint32_t id = 0; id < 16; id++) {
		static const uint8_t payload[56];
		struct pipe_packet packet = {.proto = IPPROTO_UDP,
			.payload = payload,
			.payload_length = sizeof(payload)};

		assert_int_equal(cut_packet(&packet, id, 8, pieces[id]), 8);
		assert_int_equal(run_pieces(pipe, pieces[id], 7, NULL, false), 0);
	}
	for (uint32_t id = 0; id < 16; id++) {
		burst[id] = rte_pktmbuf_alloc(pipe->pool);
		memcpy(rte_pktmbuf_append(burst[id], (uint16_t)pieces[id][7].length),
			pieces[id][7].frame, pieces[id][7].length);
		pipeline_receive(
			pipe->dp.lcores[0], burst[id], PIPE_INSIDE, LINK_ETHERNET, pipe->now_ns, 0);
	}
	// what the buffer has already is part of it
	for (unsigned i = 0; i < TX_BUFFER - 100; i++) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(pipe->pool);

		rte_pktmbuf_append(m, 60);
		pkt_of(m)->in_port = PIPE_INSIDE;
		egress_inject(pipe->dp.lcores[0], m, FLOW_REF_NONE, EGRESS_INJECTED_OWN);
	}
	pipeline_run(pipe->dp.lcores[0], burst, 16, pipe->now_ns);
	pipe_turns(pipe);
	assert_int_equal(pipe->n_sent, TX_BUFFER - 100 + 128);
	assert_int_equal(dropped(pipe, DROP_TX_FULL), 0);
	pipe_free(pipe);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conflicting_fragments_take_their_datagram),
		cmocka_unit_test(duplicates_and_lengths),
		cmocka_unit_test(datagrams_that_are_never_whole),
		cmocka_unit_test(the_flow_of_another_lcore),
		cmocka_unit_test(a_full_ring_loses_the_whole_datagram),
		cmocka_unit_test(the_longest_datagram),
		cmocka_unit_test(checksums_of_fragments_and_datagrams),
		cmocka_unit_test(fragments_within_and_around_a_tunnel),
		cmocka_unit_test(no_mbuf_for_a_view),
		cmocka_unit_test(more_than_a_send_buffer_leaves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
