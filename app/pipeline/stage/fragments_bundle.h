// SPDX-License-Identifier: BSD-3-Clause
// A fragment that came in a datagram which was in fragments itself, as the table of fragments holds
// it: a copy of the bytes of that datagram, and behind them, in a segment of their own, pointers to
// the packets that it came in. Those are packets of the ledger, the bundle is none. Pure but for
// the pool; one lcore's own.
#ifndef SLUICE_FRAGMENTS_BUNDLE_H
#define SLUICE_FRAGMENTS_BUNDLE_H

#include <stdbool.h>
#include "pipeline/vocab/pkt.h"

static inline bool bundle_is(struct rte_mbuf *m)
{
	return pkt_of(m)->owner_slot & PKT_BUNDLE;
}

// A copy of `m` with its struct pkt, and these packets. NULL: no mbuf was free.
struct rte_mbuf *bundle_new(
	struct rte_mempool *pool, struct rte_mbuf *m, struct rte_mbuf *const *packets, unsigned n);
// mbufs of its packets; its own are not among them.
unsigned bundle_mbufs(struct rte_mbuf *bundle);
// Writes its packets, or `m` if it is no bundle; returns how many.
unsigned bundle_packets(struct rte_mbuf *m, struct rte_mbuf **packets);
// Frees it, but not its packets; does nothing with what is no bundle.
void bundle_free(struct rte_mbuf *m);

#endif
