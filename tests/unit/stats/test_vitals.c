// SPDX-License-Identifier: BSD-3-Clause
// What an lcore measures of itself: how long packets stay, and how busy it is.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/pipeline/pipe.h"
#include "pipeline/egress/tx.h"

#define US NS_PER_US

static uint64_t wall_ns; // what the gateway's clock says within a turn

static uint64_t wall(void)
{
	return wall_ns;
}

static const struct pipe_packet text = {.payload = "hi", .payload_length = 2};

static uint64_t count(const struct pipe *pipe, unsigned lcore, unsigned port)
{
	return histogram_count(&pipe->dp.lcores[lcore]->latency[port]);
}

static void latency_is_of_the_out_port_from_receive_to_driver(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct pipe_packet back = text;
	const struct histogram *latency = pipe->dp.lcores[0]->latency;
	(void)state;

	back.from_outside = true;
	pipe->dp.clock_ns = wall;
	wall_ns = pipe->now_ns + 3 * US;
	pipe_run(pipe, 0, &text);
	pipe_run(pipe, 0, &text);
	wall_ns = pipe->now_ns + 40 * US;
	pipe_run(pipe, 0, &back);
	assert_int_equal(count(pipe, 0, PIPE_OUTSIDE), 2);
	assert_int_equal(latency[PIPE_OUTSIDE].sum_ns, 6 * US);
	assert_int_equal(latency[PIPE_OUTSIDE].max_ns, 3 * US);
	assert_int_equal(count(pipe, 0, PIPE_INSIDE), 1);
	assert_int_equal(latency[PIPE_INSIDE].max_ns, 40 * US);
	wall_ns = pipe->now_ns - 1; // clocks of two CPUs may be a little apart
	pipe_run(pipe, 0, &text);
	assert_int_equal(latency[PIPE_OUTSIDE].sum_ns, 6 * US);
	pipe_free(pipe);
}

static void what_a_driver_refuses_is_measured_when_it_goes(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	const struct histogram *latency = &pipe->dp.lcores[0]->latency[PIPE_OUTSIDE];
	(void)state;

	pipe->dp.clock_ns = wall;
	wall_ns = pipe->now_ns + 5 * US;
	pipe->refuse = 2;
	pipe_run(pipe, 0, &text);
	assert_int_equal(histogram_count(latency), 0);
	assert_int_equal(latency->sum_ns, 0);
	assert_int_equal(pipe_stats(pipe).sent_pkts, 0);
	assert_int_equal(pipe_stats(pipe).sent_bytes, 0); // counted when they go, once
	pipe->refuse = 0;
	wall_ns = pipe->now_ns + 900 * US;
	tx_flush(pipe->dp.lcores[0]);
	assert_int_equal(histogram_count(latency), 1);
	assert_int_equal(latency->sum_ns, 900 * US);
	assert_int_equal(pipe_stats(pipe).sent_pkts, 1);
	assert_int_equal(pipe_stats(pipe).sent_bytes, pipe->sent[0].length);
	pipe_free(pipe);
}

static void the_way_over_another_lcore_counts(void **state)
{
	struct pipe *pipe = pipe_new(2, NULL);
	struct pipe_packet packet = text;
	(void)state;

	pipe->dp.clock_ns = wall;
	for (packet.sport = 30000; !rte_ring_count(pipe->dp.lcores[1]->handoff_in[0]);
		packet.sport++)
		pipe_run(pipe, 0, &packet);
	uint64_t before = count(pipe, 0, PIPE_OUTSIDE);

	pipe->now_ns += 70 * US;
	wall_ns = pipe->now_ns + US;
	pipe_turns(pipe);
	assert_int_equal(count(pipe, 0, PIPE_OUTSIDE), before);
	assert_int_equal(count(pipe, 1, PIPE_OUTSIDE), 1);
	assert_int_equal(pipe->dp.lcores[1]->latency[PIPE_OUTSIDE].max_ns, 71 * US);
	pipe_free(pipe);
}

static void what_we_make_has_none(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct policy *policy = pipe_policy(pipe);
	(void)state;

	pipe_rule_app(policy, 7, ACTION_RESET, "bittorrent");
	pipe_publish(pipe, policy);
	pipe_run(pipe, 0, &(struct pipe_packet){.seq = 1000, .tcp_flags = TH_SYN});
	pipe_run(pipe, 0,
		&(struct pipe_packet){.from_outside = true,
			.seq = 5000,
			.ack = 1001,
			.tcp_flags = TH_SYN | TH_ACK});
	pipe_run(pipe, 0,
		&(struct pipe_packet){.seq = 1001,
			.ack = 5001,
			.payload = "\x13"
				   "BitTorrent protocol\0\0\0\0\0\x10\0\x05"
				   "AAAAAAAAAAAAAAAAAAAA-qB4520-BBBBBBBBBBBB",
			.payload_length = 68});
	assert_int_equal(pipe_stats(pipe).resets_sent, 2);
	assert_int_equal(pipe_stats(pipe).sent_pkts, 4);
	assert_int_equal(count(pipe, 0, PIPE_INSIDE) + count(pipe, 0, PIPE_OUTSIDE), 2);
	pipe_free(pipe);
}

static uint16_t receive_one(void *ctx, uint16_t queue, struct rte_mbuf **pkts, uint16_t n)
{
	struct pipe *pipe = ctx;

	(void)queue;
	(void)n;
	if (!pipe->accept)
		return 0;
	pipe->accept--;
	pkts[0] = rte_pktmbuf_alloc(pipe->pool);
	assert_non_null(pkts[0]);
	assert_non_null(rte_pktmbuf_append(pkts[0], 60)); // of EtherType 0
	memset(rte_pktmbuf_mtod(pkts[0], void *), 0, 60);
	return 1;
}

// A turn at `us` microseconds from now that takes a packet, or none.
static void turn(struct pipe *pipe, uint64_t us, bool takes)
{
	pipe->now_ns += us * US;
	pipe->accept = takes;
	pipe->n_sent = 0; // the wire's memory is short
	pipeline_turn(pipe->dp.lcores[0], pipe->now_ns);
}

static void time_with_packets_is_busy(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct lcore *lcore = pipe->dp.lcores[0];
	const struct stats *stats = &lcore->stats;
	(void)state;

	pipe->dp.ports[PIPE_INSIDE].receive = receive_one;
	lcore->rx[0] = (struct rx_queue){.port = PIPE_INSIDE};
	lcore->n_rx = 1;
	turn(pipe, 1, true); // the first: nothing to measure from
	turn(pipe, 30, false);
	assert_int_equal(stats->busy_ns, 30 * US);
	assert_int_equal(stats->loop_ns, 30 * US);
	turn(pipe, 70, true);
	turn(pipe, 20, true);
	assert_int_equal(stats->busy_ns, 50 * US);
	assert_int_equal(stats->loop_ns, 120 * US);
	// a quarter of two seconds
	for (unsigned i = 0; i < 2000; i++) {
		turn(pipe, 750, true);
		turn(pipe, 250, false);
	}
	assert_in_range(stats->busy_permille, 245, 255);
	for (unsigned i = 0; i < 3000; i++)
		turn(pipe, 1000, false);
	assert_int_equal(stats->busy_permille, 0);
	pipe_free(pipe);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(latency_is_of_the_out_port_from_receive_to_driver),
		cmocka_unit_test(what_a_driver_refuses_is_measured_when_it_goes),
		cmocka_unit_test(the_way_over_another_lcore_counts),
		cmocka_unit_test(what_we_make_has_none),
		cmocka_unit_test(time_with_packets_is_busy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
