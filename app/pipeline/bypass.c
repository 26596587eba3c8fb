// SPDX-License-Identifier: BSD-3-Clause
// Forwards the packets of a stalled lcore without inspection.
#include "pipeline/bypass.h"

#include <errno.h>
#include <string.h>
#include <rte_malloc.h>
#include "pipeline/loop.h"
#include "pipeline/wire/parse.h"
#include "pipeline/egress/egress.h"
#include "pipeline/egress/tx.h"
#include "pipeline/stage/stages.h"

int bypass_new(struct dataplane *dp, unsigned index)
{
	const struct lcore *lcore = dp->lcores[index];
	struct lcore *standby = rte_zmalloc_socket("standby", sizeof(*standby), 64, lcore->socket);

	if (!standby)
		return -ENOMEM;
	standby->index = index; // as producer of rings and owner of queues it is the lcore
	standby->socket = lcore->socket;
	standby->parse = lcore->parse;
	standby->dp = dp;
	standby->pool = lcore->pool;
	memcpy(standby->rx, lcore->rx, sizeof(standby->rx));
	standby->n_rx = lcore->n_rx;
	memcpy(standby->handoff_in, lcore->handoff_in, sizeof(standby->handoff_in));
	memcpy(standby->tx_in, lcore->tx_in, sizeof(standby->tx_in));
	dp->standbys[index] = standby;
	return 0;
}

static void forward(struct lcore *standby, struct rte_mbuf *m)
{
	struct packet_ctx ctx = {.m = m, .pkt = pkt_of(m), .ref = FLOW_REF_NONE};

	if (ctx.pkt->class == PKT_LINK && stage_link(standby, &ctx) == VERDICT_DROP)
		packet_drop(standby, m, ctx.reason);
	else
		egress_bypass(standby, m);
}

static unsigned receive(struct lcore *standby)
{
	struct rte_mbuf *mbufs[BURST];
	union flow_key key;
	unsigned taken = 0;

	for (unsigned i = 0; i < standby->n_rx; i++) {
		const struct rx_queue *rx = &standby->rx[i];
		const struct port *port = &standby->dp->ports[rx->port];
		port_receive_fn *take = __atomic_load_n(&port->receive, __ATOMIC_ACQUIRE);
		unsigned n = take(port->ctx, rx->queue, mbufs, BURST);

		for (unsigned k = 0; k < n; k++) {
			standby->stats.received_pkts++;
			standby->stats.received_bytes += mbufs[k]->pkt_len;
			pipeline_receive(
				standby, mbufs[k], rx->port, LINK_ETHERNET, standby->now_ns, 0);
			parse_mbuf(mbufs[k], &standby->parse, &key);
			forward(standby, mbufs[k]);
		}
		tx_flush_full(standby);
		taken += n;
	}
	return taken;
}

static unsigned empty_rings(struct lcore *standby)
{
	struct rte_mbuf *mbufs[BURST];
	unsigned n, taken = 0;

	for (unsigned i = 0; i < standby->dp->n_lcores; i++) {
		if (!standby->handoff_in[i])
			continue;
		n = rte_ring_sc_dequeue_burst(standby->handoff_in[i], (void **)mbufs, BURST, NULL);
		standby->stats.handoff_in_pkts += n;
		for (unsigned k = 0; k < n; k++)
			egress_bypass(standby, mbufs[k]);
		taken += n;
		n = rte_ring_sc_dequeue_burst(standby->tx_in[i], (void **)mbufs, BURST, NULL);
		for (unsigned k = 0; k < n; k++)
			egress_handed(standby, mbufs[k]);
		taken += n;
		tx_flush_full(standby);
	}
	return taken;
}

unsigned bypass_turn(struct lcore *standby, uint64_t now_ns)
{
	struct dataplane *dp = standby->dp;
	unsigned taken = 0;

	standby->now_ns = now_ns;
	standby->policy = atomic_load_explicit(&dp->policy, memory_order_acquire);
	if (!atomic_load_explicit(&dp->stopping, memory_order_relaxed))
		taken = receive(standby);
	taken += empty_rings(standby);
	tx_flush(standby);
	standby->stats.held_pkts = tx_held(standby);
	return taken;
}

void bypass_end(struct lcore *standby, uint64_t now_ns)
{
	tx_flush(standby);
	tx_discard(standby, DROP_TX_FULL);
	standby->stats.held_pkts = 0;
	bypass_over(standby->dp, standby->index, now_ns);
}
