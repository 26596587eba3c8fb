// SPDX-License-Identifier: BSD-3-Clause
// Several lcores: what belongs together lands together, and what one learns the others apply.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include <rte_thash.h>
#include "lib/pipeline/pipe.h"
#include "pipeline/stage/fragments.h"
#include "pipeline/query.h"
#include "pipeline/lcores.h"
#include "pipeline/wire/owner.h"

#define LCORES 3

static uint64_t handoffs(const struct pipe *pipe, unsigned lcore)
{
	return pipe->dp.lcores[lcore]->stats.handoff_in_pkts;
}

// A source port whose flow to port 80 belongs to `owner`.
static uint16_t port_owned_by(const struct pipe *pipe, unsigned owner, uint16_t from)
{
	for (uint16_t port = from;; port++) {
		struct pipe_packet packet = {.sport = port};
		uint8_t frame[256];
		unsigned length = pipe_build(&packet, frame, sizeof(frame));
		struct pkt pkt = {.link = LINK_ETHERNET};

		parse_packet(&pkt, frame, length, length);
		if (flow_owner(&pipe->dp, &pkt) == owner)
			return port;
	}
}

// What NICs compute: Toeplitz (rte_softrss) over the tuple, with the symmetric key.
static void owner_slot_is_the_hash_of_a_nic(void **state)
{
	uint8_t key[52];
	(void)state;

	for (unsigned i = 0; i < sizeof(key); i++)
		key[i] = i % 2 ? 0x5a : 0x6d;
	for (uint32_t i = 0; i < 1000; i++) {
		uint32_t tuple[3] = {0x0a000000 + i * 7919, 0xc0a80000 + i * 104729,
			(i * 31 % 65536) << 16 | (i * 17 % 65536)};
		union flow_key flow = {.v4 = {
					       .addr_a = htonl(tuple[0]),
					       .addr_b = htonl(tuple[1]),
					       .port_a = (uint16_t)(tuple[2] >> 16),
					       .port_b = (uint16_t)tuple[2],
					       .l4_proto = IPPROTO_UDP,
				       }};

		assert_int_equal(
			owner_slot(&flow, false), rte_softrss(tuple, 3, key) % OWNER_TABLE);
		flow.v4.l4_proto = IPPROTO_ICMP; // by addresses alone
		assert_int_equal(
			owner_slot(&flow, false), rte_softrss(tuple, 2, key) % OWNER_TABLE);
	}
}

static void slots_follow_the_redirection_table_of_a_nic(void **state)
{
	struct dataplane dp = {.n_lcores = 3, .reta_size = 128};
	(void)state;

	dataplane_owner_fill(&dp);
	for (unsigned slot = 0; slot < OWNER_TABLE; slot++)
		assert_int_equal(dp.owner[slot], slot % 128 % 3);
}

static void both_directions_land_on_the_owner(void **state)
{
	struct pipe *pipe = pipe_new(LCORES, NULL);
	(void)state;

	for (unsigned owner = 0; owner < LCORES; owner++) {
		uint16_t port = port_owned_by(pipe, owner, (uint16_t)(30000 + 1000 * owner));
		uint64_t before = handoffs(pipe, owner);
		struct pipe_packet syn = {.sport = port, .tcp_flags = TH_SYN};
		struct pipe_packet answer = {
			.sport = port, .tcp_flags = TH_SYN | TH_ACK, .from_outside = true};

		pipe_run(pipe, 0, &syn); // lcore 0 receives everything
		pipe_turns(pipe);
		pipe_run(pipe, 0, &answer);
		pipe_turns(pipe);
		assert_int_equal(handoffs(pipe, owner) - before, owner ? 2 : 0);
		assert_int_equal(pipe->dp.lcores[owner]->stats.embryos_active, 1);
	}
	assert_int_equal(pipe->n_sent, 2 * LCORES);
	pipe_free(pipe);
}

static void fragments_of_a_datagram_land_together(void **state)
{
	struct pipe *pipe = pipe_new(LCORES, NULL);
	(void)state;

	for (uint16_t id = 1; id < 40; id++) {
		uint64_t before[LCORES], moved = 0;

		for (unsigned i = 0; i < LCORES; i++)
			before[i] = pipe->dp.lcores[i]->stats.fragment_pkts;
		for (uint16_t offset = 0; offset < 4; offset++) {
			struct pipe_packet fragment = {.proto = IPPROTO_UDP,
				.ip_id = id,
				.fragment = (uint16_t)((offset < 3 ? 0x2000 : 0) | offset * 2),
				.payload = "01234567",
				.payload_length = 8};

			pipe_run(pipe, 0, &fragment);
			pipe_turns(pipe);
		}
		for (unsigned i = 0; i < LCORES; i++) {
			uint64_t n = pipe->dp.lcores[i]->stats.fragment_pkts - before[i];

			assert_true(n == 0 || n == 4);
			moved += n;
		}
		assert_int_equal(moved, 4);
	}
	pipe_free(pipe);
}

static void icmp_error_lands_on_the_owner_of_the_flow_it_speaks_of(void **state)
{
	struct pipe *pipe = pipe_new(LCORES, NULL);
	(void)state;

	for (unsigned owner = 0; owner < LCORES; owner++) {
		uint16_t port = port_owned_by(pipe, owner, (uint16_t)(30000 + 1000 * owner));
		struct pipe_packet syn = {.sport = port, .tcp_flags = TH_SYN};
		uint8_t frame[256], error[128] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0};
		uint64_t before = pipe->dp.lcores[owner]->stats.icmp_error_pkts;

		pipe_run(pipe, 0, &syn);
		pipe_turns(pipe);
		pipe_build(&syn, frame, sizeof(frame));
		// from a router on the way: time exceeded, quoting 28 bytes
		static const uint8_t ip[20] = {0x45, 0, 0, 56, 0, 0, 0, 0, 64, IPPROTO_ICMP, 0, 0,
			203, 0, 113, 1, 10, 0, 0, 1};

		memcpy(error + 14, ip, sizeof(ip));
		error[34] = 11;
		memcpy(error + 42, frame + 14, 28);
		pipe_run_frame(pipe, 0, error, 70, true, 1);
		pipe_turns(pipe);
		assert_int_equal(pipe->dp.lcores[owner]->stats.icmp_error_pkts - before, 1);
	}
	pipe_free(pipe);
}

static void peer_blocked_by_one_lcore_is_blocked_on_all(void **state)
{
	struct pipe *pipe = pipe_new(LCORES, NULL);
	struct policy *policy = pipe_policy(pipe);
	(void)state;

	pipe_rule_app(policy, 7, ACTION_RESET, "bittorrent");
	pipe_publish(pipe, policy);
	uint16_t port = port_owned_by(pipe, 1, 30000);
	struct pipe_packet syn = {.sport = port, .seq = 99, .tcp_flags = TH_SYN};
	struct pipe_packet hello = {.sport = port,
		.seq = 100,
		.ack = 100,
		.payload = "\x13"
			   "BitTorrent protocol\0\0\0\0\0\0\0\0",
		.payload_length = 28};

	pipe_run(pipe, 0, &syn);
	pipe_turns(pipe);
	syn.from_outside = true;
	syn.ack = 100;
	syn.tcp_flags = TH_SYN | TH_ACK;
	pipe_run(pipe, 0, &syn);
	pipe_turns(pipe);
	pipe_run(pipe, 0, &hello);
	pipe_turns(pipe);
	assert_int_equal(pipe->dp.lcores[1]->stats.cache_learned, 1);
	pipe_turns(pipe);
	for (unsigned owner = 0; owner < LCORES; owner++) {
		struct pipe_packet again = {
			.sport = port_owned_by(pipe, owner, 50000), .tcp_flags = TH_SYN};

		assert_int_equal(pipe->dp.lcores[owner]->stats.cache_entries, 1);
		pipe_run(pipe, 0, &again);
		pipe_turns(pipe);
		assert_int_equal(pipe->dp.lcores[owner]->stats.cache_hits, 1);
	}
	assert_int_equal(pipe_stats(pipe).cache_replicated, LCORES - 1);
	pipe_free(pipe);
}

static void full_handoff_ring_drops_and_counts(void **state)
{
	struct pipe *pipe = pipe_new(LCORES, NULL);
	uint16_t port = port_owned_by(pipe, 2, 30000);
	struct pipe_packet packet = {.sport = port};
	(void)state;

	// the pool of this test is smaller than the ring: fill the ring's room by hand
	struct rte_ring *ring = pipe->dp.lcores[2]->handoff_in[0];
	unsigned room = rte_ring_free_count(ring);

	for (unsigned i = 0; i < room; i++)
		assert_int_equal(rte_ring_sp_enqueue(ring, pipe), 0);
	pipe_run(pipe, 0, &packet);
	assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_HANDOFF_FULL], 1);
	void *taken;

	while (!rte_ring_sc_dequeue(ring, &taken))
		;
	pipe_free(pipe);
}

static void lcore_without_a_tx_queue_gives_packets_to_the_owner(void **state)
{
	struct pipe *pipe = pipe_new(2, NULL);
	struct pipe_packet packet = {.sport = port_owned_by(pipe, 1, 30000)};
	(void)state;

	for (unsigned i = 0; i < 2; i++) {
		pipe->dp.ports[i].tx_queue[1] = UINT16_MAX;
		pipe->dp.ports[i].tx_lcore[1] = 0;
	}
	assert_int_equal(pipe_run(pipe, 1, &packet), 0);
	assert_int_equal(pipe_stats(pipe).tx_handoff_pkts, 1);
	assert_int_equal(pipe_turns(pipe), 1);
	assert_int_equal(pipe_unaccounted(pipe), 0);
	pipe_free(pipe);
}

static void questions_are_answered_in_pieces(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct flow_record records[8];
	struct query query = {.type = QUERY_FLOWS, .out = records, .max = 8};
	struct pipe_packet text = {.payload = "hi", .payload_length = 2},
			   syn = {.sport = 5, .tcp_flags = TH_SYN};
	(void)state;

	pipe_run(pipe, 0, &text);
	pipe_run(pipe, 0, &syn);
	assert_int_equal(rte_ring_sp_enqueue(pipe->dp.lcores[0]->queries, &query), 0);
	for (unsigned i = 0; i < 10 && !query.done; i++)
		pipe_turns(pipe);
	assert_true(query.done);
	assert_int_equal(query.n, 2);
	assert_int_equal(query.total, 2);
	assert_int_equal(records[0].ends.port[HALF_C2S], 5); // stubs come first
	assert_int_equal(records[1].ends.port[HALF_C2S], 40000);
	assert_int_equal(records[1].n_data_pkts, 1);
	assert_true(records[0].flow_id != records[1].flow_id);

	struct query trace = {.type = QUERY_TRACE, .flow_id = records[1].flow_id, .trace_on = true};

	assert_int_equal(rte_ring_sp_enqueue(pipe->dp.lcores[0]->queries, &trace), 0);
	pipe_turns(pipe);
	assert_true(trace.done);
	assert_int_equal(trace.total, 1);
	struct event event;

	pipe_run(pipe, 0, &text);
	assert_true(pipe_event(pipe, 0, EVENT_TRACE, &event));
	assert_int_equal(event.flow_id, records[1].flow_id);
	assert_int_equal(event.trace.packet, 1);
	assert_int_equal(event.trace.payload_len, 2);
	assert_true(event.trace.frame_length > event.trace.payload_len);
	// A ring that is half full is for others.
	while (pipe_event(pipe, 0, EVENT_TRACE, &event))
		;
	event = (struct event){.type = EVENT_FLOW};
	while (rte_ring_free_count(pipe->dp.lcores[0]->events) >= EVENT_RING_SIZE / 2)
		assert_int_equal(
			rte_ring_sp_enqueue_elem(pipe->dp.lcores[0]->events, &event, sizeof event),
			0);
	assert_int_equal(pipe->dp.lcores[0]->stats.trace_lost, 0);
	pipe_run(pipe, 0, &text);
	assert_true(pipe->dp.lcores[0]->stats.trace_lost > 0);
	assert_false(pipe_event(pipe, 0, EVENT_TRACE, &event));
	pipe_free(pipe);
}

static void questions_are_answered_page_by_page(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct flow_record records[2];
	struct query query = {.type = QUERY_FLOWS, .out = records, .max = 2, .page = true};
	unsigned seen = 0, ports = 0;
	(void)state;

	for (uint16_t i = 0; i < 5; i++) {
		struct pipe_packet text = {
			.sport = (uint16_t)(1000 + i), .payload = "hi", .payload_length = 2};

		pipe_run(pipe, 0, &text);
	}
	do { // as the control core asks: the last page is not full
		query.n = 0;
		query.done = false;
		assert_int_equal(rte_ring_sp_enqueue(pipe->dp.lcores[0]->queries, &query), 0);
		for (unsigned i = 0; i < 10 && !query.done; i++)
			pipe_turns(pipe);
		assert_true(query.done);
		for (unsigned i = 0; i < query.n; i++)
			ports |= 1u << (records[i].ends.port[HALF_C2S] - 1000);
		seen += query.n;
	} while (query.n == query.max);
	assert_int_equal(seen, 5);
	assert_int_equal(query.total, 5);
	assert_int_equal(ports, 0x1f); // each flow once
	pipe_free(pipe);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(owner_slot_is_the_hash_of_a_nic),
		cmocka_unit_test(slots_follow_the_redirection_table_of_a_nic),
		cmocka_unit_test(both_directions_land_on_the_owner),
		cmocka_unit_test(fragments_of_a_datagram_land_together),
		cmocka_unit_test(icmp_error_lands_on_the_owner_of_the_flow_it_speaks_of),
		cmocka_unit_test(peer_blocked_by_one_lcore_is_blocked_on_all),
		cmocka_unit_test(full_handoff_ring_drops_and_counts),
		cmocka_unit_test(lcore_without_a_tx_queue_gives_packets_to_the_owner),
		cmocka_unit_test(questions_are_answered_in_pieces),
		cmocka_unit_test(questions_are_answered_page_by_page),
	};

	return cmocka_run_group_tests_name("lcores", tests, NULL, NULL);
}
