// SPDX-License-Identifier: BSD-3-Clause
// The entry point's rows, and the packets that have a counter of their own.
#include "pipeline/egress/egress.h"
#include "pipeline/flow/table.h"

void egress_refuse(struct lcore *lcore, struct rte_mbuf *m)
{
	const struct port *in = &lcore->dp->ports[pkt_of(m)->in_port];

	if (in->peer == PORT_NONE) {
		packet_drop(lcore, m, DROP_NO_PAIR);
		return;
	}
	const struct port *out = &lcore->dp->ports[in->peer];

	if (m->pkt_len > out->max_frame) {
		packet_drop(lcore, m, DROP_TX_OVERSIZE);
		return;
	}
	packet_drop(lcore, m, DROP_TX_FULL);
}

void egress_rows(struct lcore *lcore, struct rte_mbuf *m, uint32_t ref, enum egress_kind kind)
{
	for (const struct egress_row *row = lcore->dp->egress_rows; row->run; row++) {
		enum drop_reason reason = DROP_TX_FULL;

		if (!(row->kinds >> kind & 1))
			continue;
		switch (row->run(lcore, m, ref, kind, &reason)) {
		case EGRESS_DROP: packet_drop(lcore, m, reason); return;
		case EGRESS_TAKEN: return;
		case EGRESS_PASS: break;
		}
	}
	egress_handed(lcore, m);
}

void egress_inject(struct lcore *lcore, struct rte_mbuf *m, uint32_t ref, enum egress_kind kind)
{
	lcore->stats.injected_pkts++;
	pkt_of(m)->rx_ns = 0; // it was never received: no latency
	egress_packet(lcore, m, ref, kind);
}

void egress_bypass(struct lcore *lcore, struct rte_mbuf *m)
{
	lcore->stats.bypassed_pkts++;
	lcore->stats.bypassed_bytes += m->pkt_len;
	egress_packet(lcore, m, FLOW_REF_NONE, EGRESS_BYPASS);
}
