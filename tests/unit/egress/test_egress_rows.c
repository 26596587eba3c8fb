// SPDX-License-Identifier: BSD-3-Clause
// Rows behind the entry point: one that drops, one that keeps a packet until later, and which
// packets come to them; packets of the control core.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <netinet/in.h>
#include <cmocka.h>
#include "lib/pipeline/pipe.h"
#include "pipeline/egress/egress.h"

static struct rte_mbuf *kept;
static unsigned n_behind;

static enum egress_verdict drop(struct lcore *lcore, struct rte_mbuf *m, uint32_t ref,
	enum egress_kind kind, enum drop_reason *reason)
{
	(void)lcore;
	(void)m;
	(void)ref;
	assert_int_equal(kind, EGRESS_LINK);
	*reason = DROP_NO_PAIR;
	return EGRESS_DROP;
}

static enum egress_verdict keep(struct lcore *lcore, struct rte_mbuf *m, uint32_t ref,
	enum egress_kind kind, enum drop_reason *reason)
{
	(void)lcore;
	(void)ref;
	(void)reason;
	assert_int_equal(kind, EGRESS_FLOW);
	if (kept)
		return EGRESS_PASS;
	kept = m;
	return EGRESS_TAKEN;
}

static enum egress_verdict behind(struct lcore *lcore, struct rte_mbuf *m, uint32_t ref,
	enum egress_kind kind, enum drop_reason *reason)
{
	(void)lcore;
	(void)m;
	(void)ref;
	(void)kind;
	(void)reason;
	n_behind++;
	return EGRESS_PASS;
}

static const uint8_t arp[60] = {[12] = 0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, 1};

static void rows_drop_keep_and_pass(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	const struct egress_row rows[] = {
		pipe_rows[0],
		{.name = "drop", .kinds = 1u << EGRESS_LINK, .run = drop},
		{.name = "keep", .kinds = 1u << EGRESS_FLOW, .run = keep},
		{.name = "behind", .kinds = EGRESS_ALL, .run = behind},
		{0},
	};
	struct pipe_packet datagram = {
		.proto = IPPROTO_UDP, .payload = "hello", .payload_length = 5};
	(void)state;

	pipe->dp.egress_rows = rows;
	assert_int_equal(pipe_run_frame(pipe, 0, arp, sizeof(arp), false, 1), 0);
	assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_NO_PAIR], 1);
	assert_int_equal(pipe_stats(pipe).egress_dropped[EGRESS_LINK], 1);

	assert_int_equal(pipe_run(pipe, 0, &datagram), 0);
	assert_non_null(kept);
	assert_int_equal(n_behind, 0);
	assert_int_equal(pipe_unaccounted(pipe), 1); // no part of pipeline_held
	assert_int_equal(pipe_run(pipe, 0, &datagram), 1);
	assert_int_equal(n_behind, 1);

	egress_handed(pipe->dp.lcores[0], kept);
	assert_int_equal(pipe_turns(pipe), 1);
	assert_int_equal(n_behind, 1); // no row is asked again
	pipe_free(pipe);
}

// It leaves by the peer of the port that it names, through the rows, as made here.
static void a_packet_of_the_control_core(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct lcore *lcore = pipe->dp.lcores[0];
	struct rte_mbuf *m = rte_pktmbuf_alloc(lcore->pool);

	(void)state;
	assert_non_null(m);
	memcpy(rte_pktmbuf_append(m, sizeof(arp)), arp, sizeof(arp));
	memset(pkt_of(m), 0, sizeof(*pkt_of(m)));
	pkt_of(m)->in_port = 1;
	assert_int_equal(rte_ring_sp_enqueue(lcore->inject, m), 0);
	assert_int_equal(pipe_turns(pipe), 1);
	assert_int_equal(pipe_stats(pipe).egress_entered[EGRESS_INJECTED_OWN], 1);
	assert_int_equal(pipe_stats(pipe).egress_sent[EGRESS_INJECTED_OWN], 1);
	assert_int_equal(pipe_stats(pipe).injected_pkts, 1);
	pipe_free(pipe);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_drop_keep_and_pass),
		cmocka_unit_test(a_packet_of_the_control_core),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
