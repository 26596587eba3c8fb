// SPDX-License-Identifier: BSD-3-Clause
// Frees packets that end here, and counts why.
#include "pipeline/egress/drop.h"
#include "pipeline/lcore/lcore.h"
#include "pipeline/vocab/pkt.h"

void packet_drop(struct lcore *lcore, struct rte_mbuf *m, enum drop_reason reason)
{
	lcore->stats.dropped_pkts[reason]++;
	lcore->stats.egress_dropped[pkt_of(m)->egress]++;
	lcore->stats.dropped_bytes += m->pkt_len;
	rte_pktmbuf_free(m);
}

void packets_drop(struct lcore *lcore, struct rte_mbuf **mbufs, unsigned n, enum drop_reason reason)
{
	lcore->stats.dropped_pkts[reason] += n;
	for (unsigned i = 0; i < n; i++) {
		lcore->stats.dropped_bytes += mbufs[i]->pkt_len;
		lcore->stats.egress_dropped[pkt_of(mbufs[i])->egress]++;
	}
	rte_pktmbuf_free_bulk(mbufs, n);
}
