// SPDX-License-Identifier: BSD-3-Clause
// A data lcore that stands still: who does its input and output, what its flows are reported after.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/pipeline/wire.h"
#include "pipeline/bypass.h"
#include "pipeline/egress/tx.h"
#include "pipeline/event/event.h"
#include "pipeline/lcore/lcore.h"
#include "pipeline/lcore/port.h"
#include "pipeline/policy/policy.h"
#include "pipeline/loop.h"

static const struct pipe_packet text = {.payload = "hi", .payload_length = 2};
static const uint8_t pause_frame[60] = {
	0x01, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0x88, 0x08, 0, 1};

static struct pipe *world_new(unsigned n_lcores)
{
	struct pipe *pipe = pipe_new(n_lcores, NULL);
	struct lcore *lcore = pipe->dp.lcores[0];

	memset(&wire, 0, sizeof(wire));
	pipe->dp.ports[PIPE_INSIDE].receive = wire_receive;
	lcore->rx[0] = (struct rx_queue){.port = PIPE_INSIDE};
	lcore->n_rx = 1;
	for (unsigned i = 0; i < n_lcores; i++)
		assert_int_equal(bypass_new(&pipe->dp, i), 0);
	return pipe;
}

static void a_lease_has_one_holder(void **state)
{
	struct lease lease = {LEASE_LCORE};
	(void)state;

	assert_int_equal(sizeof(lease), 64);
	assert_false(lease_take(&lease, LEASE_STANDBY));
	lease_give(&lease);
	lease_want(&lease); // nobody to tell
	assert_int_equal(lease_holder(&lease), LEASE_FREE);
	assert_true(lease_take(&lease, LEASE_STANDBY));
	assert_false(lease_take(&lease, LEASE_LCORE));
	assert_int_equal(lease_holder(&lease), LEASE_STANDBY);
	lease_want(&lease);
	assert_int_equal(lease_holder(&lease), LEASE_WANTED);
	lease_want(&lease);
	assert_int_equal(lease_holder(&lease), LEASE_WANTED);
	assert_false(lease_take(&lease, LEASE_STANDBY));
	lease_give(&lease);
	assert_true(lease_take(&lease, LEASE_LCORE));
}

static void what_is_for_a_port_without_link_is_lost_not_sent(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct pipe_packet datagram = {
		.proto = IPPROTO_UDP, .payload = "hello", .payload_length = 5};
	struct port *out = &pipe->dp.ports[PIPE_OUTSIDE];
	port_send_fn *send = out->send;
	(void)state;

	assert_int_equal(pipe_run(pipe, 0, &datagram), 1);
	out->send = tx_no_link;
	for (unsigned i = 0; i < TX_BUFFER + 3; i++)
		assert_int_equal(pipe_run(pipe, 0, &datagram), 0);
	assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_LINK_DOWN], TX_BUFFER + 3);
	assert_int_equal(pipe_stats(pipe).sent_pkts, 1);
	pipe_turns(pipe);
	assert_int_equal(pipe_stats(pipe).held_pkts, 0); // nothing stale leaves when it is back
	out->send = send;
	assert_int_equal(pipe_run(pipe, 0, &datagram), 1);
	assert_int_equal(pipe_unaccounted(pipe), 0);
	pipe_free(pipe);
}

static uint16_t refused; // what `send` says instead of a count
static uint16_t refuse(void *ctx, uint16_t queue, struct rte_mbuf **pkts, uint16_t n)
{
	(void)ctx;
	(void)queue;
	(void)pkts;
	(void)n;
	return refused;
}

static void what_the_kernel_refuses_is_dropped_not_sent(void **state)
{
	static const struct {
		uint16_t refused;
		enum drop_reason reason;
	} rows[] = {{TX_TOO_LONG, DROP_TX_OVERSIZE}, {TX_LINK_LOST, DROP_LINK_DOWN}};
	struct pipe_packet datagram = {
		.proto = IPPROTO_UDP, .payload = "hello", .payload_length = 5};
	(void)state;

	for (unsigned i = 0; i < 2; i++) {
		struct pipe *pipe = pipe_new(1, NULL);
		struct port *out = &pipe->dp.ports[PIPE_OUTSIDE];
		port_send_fn *send = out->send;

		refused = rows[i].refused;
		out->send = refuse;
		assert_int_equal(pipe_run(pipe, 0, &datagram), 0);
		assert_int_equal(pipe_stats(pipe).dropped_pkts[rows[i].reason], 1);
		assert_int_equal(pipe_stats(pipe).sent_pkts, 0);
		assert_int_equal(tx_held(pipe->dp.lcores[0]), 0);
		out->send = send;
		assert_int_equal(pipe_run(pipe, 0, &datagram), 1); // that one alone
		assert_int_equal(pipe_unaccounted(pipe), 0);
		pipe_free(pipe);
	}
}

// What happens while lcore 0 stands still inside the stages; on its own stack.
static struct pipe *at_hand;
static void (*meanwhile)(struct pipe *pipe);

static void stand_still(uint64_t ns)
{
	assert_int_equal(ns, 77);
	meanwhile(at_hand);
}

static void stall(struct pipe *pipe, void (*what)(struct pipe *pipe))
{
	at_hand = pipe;
	meanwhile = what;
	pipe->dp.stand_still = stand_still;
	pipe->dp.lcores[0]->stall_inspect_ns = 77;
	pipeline_turn(pipe->dp.lcores[0], pipe->now_ns);
	assert_int_equal(pipe->dp.lcores[0]->stall_inspect_ns, 0); // once
}

// received + injected - sent - dropped - consumed, and what lcores and standbys have now
static int64_t unaccounted_now(const struct pipe *pipe)
{
	int64_t open = pipe_unaccounted(pipe) + (int64_t)pipe_stats(pipe).held_pkts;

	for (unsigned i = 0; i < pipe->dp.n_lcores; i++)
		open -= pipeline_held(pipe->dp.lcores[i]) + tx_held(pipe->dp.standbys[i]);
	return open;
}

static void forward_for_it(struct pipe *pipe)
{
	struct lcore *lcore = pipe->dp.lcores[0], *standby = pipe->dp.standbys[0];
	struct pipe_packet packet = text;

	assert_int_equal(pipe->n_sent, 0);
	assert_int_equal(lcore->in_hand, 2);
	assert_int_equal(unaccounted_now(pipe), 0);
	assert_true(lease_take(&lcore->lease, LEASE_STANDBY));
	bypass_begin(&pipe->dp, 0);
	for (packet.sport = 50000; packet.sport < 50040; packet.sport++)
		wire_put_packet(&packet);
	wire_put(pause_frame, sizeof(pause_frame));
	while (bypass_turn(standby, pipe->now_ns))
		;
	assert_int_equal(pipe->n_sent, 40);
	assert_int_equal(standby->stats.bypassed_pkts, 40);
	assert_int_equal(standby->stats.received_pkts, 41);
	assert_int_equal(standby->stats.dropped_pkts[DROP_ETHERTYPE], 1); // as ever
	assert_int_equal(unaccounted_now(pipe), 0);
	assert_true(is_bypassed(&pipe->dp, 0));
	bypass_end(standby, pipe->now_ns + 5);
	lease_give(&lcore->lease);
	assert_false(is_bypassed(&pipe->dp, 0));
	assert_int_equal(lcore->unseen_until_ns, pipe->now_ns + 5);
}

static struct policy *without_pause(struct pipe *pipe)
{
	struct policy *policy = pipe_policy(pipe);

	for (unsigned i = 0; i < sizeof(policy->link) / sizeof(policy->link[0]); i++)
		policy->link[i] = ACTION_DROP;
	return policy;
}

static void the_standby_forwards_uninspected_and_the_ledger_closes(void **state)
{
	struct pipe *pipe = world_new(1);
	struct pipe_packet packet = text;
	(void)state;

	pipe_publish(pipe, without_pause(pipe));
	wire_put_packet(&packet);
	packet.sport = 40001;
	wire_put_packet(&packet);
	stall(pipe, forward_for_it);
	assert_int_equal(pipe->n_sent, 42); // what it had in hand left behind the others
	assert_int_equal(pipe_stats(pipe).flows_created, 2);
	assert_int_equal(pipe_stats(pipe).bypassed_pkts, 40);
	assert_int_equal(pipe_stats(pipe).bypassed_bytes, 40 * (14 + 20 + 20 + 2));
	assert_int_equal(pipe_unaccounted(pipe), 0);
	pipe_free(pipe);
}

static void rings_are_emptied(struct pipe *pipe)
{
	struct lcore *lcore = pipe->dp.lcores[0], *standby = pipe->dp.standbys[0];
	struct pipe_packet packet = text;

	// from lcore 1: of lcore 0's flows, and to send by its queue
	for (packet.sport = 30000; rte_ring_count(lcore->handoff_in[1]) < 3; packet.sport++)
		pipe_run(pipe, 1, &packet);
	unsigned sent = pipe->n_sent;

	pipe->dp.ports[PIPE_OUTSIDE].tx_queue[1] = UINT16_MAX;
	pipe->dp.ports[PIPE_OUTSIDE].tx_lcore[1] = 0;
	for (; rte_ring_count(lcore->tx_in[1]) < 2; packet.sport++)
		pipe_run(pipe, 1, &packet);
	unsigned handed = rte_ring_count(lcore->handoff_in[1]);

	assert_true(lease_take(&lcore->lease, LEASE_STANDBY));
	pipe->refuse = 1; // a driver that does not take all at once
	pipe->accept = 1;
	while (bypass_turn(standby, pipe->now_ns))
		;
	assert_int_equal(unaccounted_now(pipe), 0);
	assert_int_equal(pipe->n_sent - sent, handed + 2);
	assert_int_equal(standby->stats.bypassed_pkts, handed);
	assert_int_equal(standby->stats.handoff_in_pkts, handed);
	// and one that takes nothing more when the lcore wants its lease back
	pipe->dp.ports[PIPE_OUTSIDE].tx_queue[1] = 0;
	unsigned before = rte_ring_count(lcore->handoff_in[1]);

	for (; rte_ring_count(lcore->handoff_in[1]) == before; packet.sport++)
		pipe_run(pipe, 1, &packet);
	pipe->refuse = 100;
	pipe->accept = 0;
	bypass_turn(standby, pipe->now_ns);
	assert_int_equal(standby->stats.held_pkts, 1);
	bypass_end(standby, pipe->now_ns);
	pipe->refuse = 0;
	assert_int_equal(standby->stats.dropped_pkts[DROP_TX_FULL], 1);
	assert_int_equal(unaccounted_now(pipe), 0);
	lease_give(&lcore->lease);
}

static void the_standby_takes_what_other_lcores_hand_over(void **state)
{
	struct pipe *pipe = world_new(2);
	struct pipe_packet packet = text;
	(void)state;

	while (!pipe->n_sent) { // a packet that lcore 0 owns
		pipe_run(pipe, 0, &packet);
		packet.sport = (uint16_t)(40000 + rand() % 1000);
	}
	pipe_turns(pipe);
	pipe->n_sent = 0;
	packet = text;
	for (unsigned i = 0; i < 16; i++) {
		packet.sport = (uint16_t)(41000 + i);
		wire_put_packet(&packet);
	}
	stall(pipe, rings_are_emptied);
	pipe_turns(pipe);
	assert_int_equal(pipe_unaccounted(pipe), 0);
	pipe_free(pipe);
}

static void other_lcores_send_what_nobody_would_inspect(void **state)
{
	struct pipe *pipe = world_new(2);
	struct pipe_packet packet = text;
	struct rte_ring *ring = pipe->dp.lcores[0]->handoff_in[1];
	(void)state;

	for (packet.sport = 30000; !rte_ring_count(ring); packet.sport++)
		pipe_run(pipe, 1, &packet);
	packet.sport--; // of a flow of lcore 0
	pipe->n_sent = 0;
	bypass_begin(&pipe->dp, 0);
	assert_int_equal(pipe_run(pipe, 1, &packet), 1);
	assert_int_equal(rte_ring_count(ring), 1); // that of before
	assert_int_equal(pipe->dp.lcores[1]->stats.bypassed_pkts, 1);
	bypass_over(&pipe->dp, 0, pipe->now_ns);
	assert_int_equal(pipe_run(pipe, 1, &packet), 0);
	assert_int_equal(rte_ring_count(ring), 2);
	pipe_turns(pipe);
	assert_int_equal(pipe_unaccounted(pipe), 0);
	pipe_free(pipe);
}

static void open_tcp(struct pipe *pipe)
{
	pipe_run(pipe, 0, &(struct pipe_packet){.seq = 1000, .tcp_flags = TH_SYN});
	pipe_run(pipe, 0,
		&(struct pipe_packet){.from_outside = true,
			.seq = 5000,
			.ack = 1001,
			.tcp_flags = TH_SYN | TH_ACK});
}

static unsigned from_client(struct pipe *pipe, uint32_t seq, uint8_t flags)
{
	return pipe_run(pipe, 0,
		&(struct pipe_packet){.seq = seq,
			.ack = 5001,
			.tcp_flags = flags,
			.payload = "hi",
			.payload_length = flags & (TH_FIN | TH_RST) ? 0 : 2});
}

static void enforce(struct pipe *pipe)
{
	struct policy *policy = pipe_policy(pipe);

	pipe_rule_app(policy, 7, ACTION_RESET, "bittorrent");
	pipe_publish(pipe, policy);
	assert_true(policy->enforces);
}

static void packets_went_by_unseen(struct pipe *pipe)
{
	pipe->now_ns += NS_PER_S;
	bypass_over(&pipe->dp, 0, pipe->now_ns);
	pipe->now_ns += NS_PER_MS;
}

#define FAR UINT32_C(1500000000) // more than any window

static void a_flow_goes_on_where_it_is_found_after(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct event event;
	(void)state;

	enforce(pipe);
	open_tcp(pipe);
	assert_int_equal(from_client(pipe, 1001, TH_ACK), 1);
	assert_int_equal(from_client(pipe, 1003 + FAR, TH_ACK), 0); // no receiver takes it
	assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_NOT_TAKEN], 1);
	packets_went_by_unseen(pipe);
	assert_int_equal(from_client(pipe, 1003 + FAR, TH_ACK), 1);
	assert_int_equal(pipe_stats(pipe).tcp_gaps, 1);
	assert_int_equal(from_client(pipe, 1005 + FAR, TH_ACK), 1);
	assert_int_equal(pipe_stats(pipe).tcp_gaps, 1);
	// and its end is believed
	from_client(pipe, 1007 + FAR, TH_RST);
	pipe_advance(pipe, 16);
	assert_true(pipe_event(pipe, 0, EVENT_FLOW, &event));
	assert_int_equal(event.flow.state, FLOW_STATE_CLOSED);
	pipe_free(pipe);
}

static void a_flow_that_had_only_begun_is_midstream_after(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	(void)state;

	enforce(pipe);
	open_tcp(pipe);
	packets_went_by_unseen(pipe);
	assert_int_equal(from_client(pipe, 1001 + FAR, TH_ACK), 1);
	assert_int_equal(pipe_stats(pipe).flows_midstream, 1);
	assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_NOT_TAKEN], 0);
	// what begins later is seen from its SYN on
	pipe->now_ns += NS_PER_S;
	pipe_run(pipe, 0, &(struct pipe_packet){.sport = 9, .seq = 1, .tcp_flags = TH_SYN});
	pipe_run(pipe, 0,
		&(struct pipe_packet){.sport = 9, .seq = 2, .payload = "x", .payload_length = 1});
	assert_int_equal(pipe_stats(pipe).flows_midstream, 1);
	pipe_free(pipe);
}

// The client acknowledges what passed unseen: there the server's half goes on.
static void a_first_acknowledgement_after_says_where_the_half_goes_on(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	(void)state;

	enforce(pipe);
	open_tcp(pipe);
	packets_went_by_unseen(pipe);
	pipe_run(pipe, 0,
		&(struct pipe_packet){.seq = 1001, .ack = 5001 + 110, .tcp_flags = TH_ACK});
	assert_int_equal(pipe_run(pipe, 0,
				 &(struct pipe_packet){.from_outside = true,
					 .seq = 5001 + 110,
					 .ack = 1001,
					 .tcp_flags = TH_ACK,
					 .payload = "hi",
					 .payload_length = 2}),
		1);
	// in order: nothing is awaited before it
	assert_int_equal(pipe_run(pipe, 0,
				 &(struct pipe_packet){.seq = 1001,
					 .ack = 5001 + 112,
					 .tcp_flags = TH_ACK,
					 .payload = "hi",
					 .payload_length = 2}),
		1);
	assert_int_equal(pipe_stats(pipe).tcp_gaps, 0);
	pipe_free(pipe);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lease_has_one_holder),
		cmocka_unit_test(what_is_for_a_port_without_link_is_lost_not_sent),
		cmocka_unit_test(what_the_kernel_refuses_is_dropped_not_sent),
		cmocka_unit_test(the_standby_forwards_uninspected_and_the_ledger_closes),
		cmocka_unit_test(the_standby_takes_what_other_lcores_hand_over),
		cmocka_unit_test(other_lcores_send_what_nobody_would_inspect),
		cmocka_unit_test(a_flow_goes_on_where_it_is_found_after),
		cmocka_unit_test(a_flow_that_had_only_begun_is_midstream_after),
		cmocka_unit_test(a_first_acknowledgement_after_says_where_the_half_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
