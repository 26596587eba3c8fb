// SPDX-License-Identifier: BSD-3-Clause
// The one way out. Each packet that leaves passes egress_packet() once, on the lcore that owns its
// flow, with what it is; behind it are the rows (shaper, NAT ...: none yet) and the send buffers of
// tx.h, beside which nothing reaches a driver. By kind, packets that entered are those that were
// sent, dropped here or are held (struct stats).
//
// Rows run while the lease is free (lcore/lease.h): they touch neither ring nor driver. The lcore.
#ifndef SLUICE_EGRESS_H
#define SLUICE_EGRESS_H

#include "pipeline/egress/drop.h"
#include "pipeline/lcore/lcore.h"
#include "pipeline/vocab/egress_kind.h"

#define EGRESS_ALL ((1u << EGRESS_KINDS_MAX) - 1)

enum egress_verdict {
	EGRESS_PASS,  // on to the next row
	EGRESS_TAKEN, // the row keeps it
	EGRESS_DROP,  // for `*reason`
};

// A row that takes packets of `kinds` (1 << enum egress_kind). `ref`: its flow or stub, or
// FLOW_REF_NONE.
struct egress_row {
	const char *name;
	uint32_t kinds;
	enum egress_verdict (*run)(struct lcore *lcore, struct rte_mbuf *m, uint32_t ref,
		enum egress_kind kind, enum drop_reason *reason);
};

// What the inline half does not know: no pair, too long, a full buffer.
void egress_refuse(struct lcore *lcore, struct rte_mbuf *m);
// Through dp->egress_rows, then into the buffer.
void egress_rows(struct lcore *lcore, struct rte_mbuf *m, uint32_t ref, enum egress_kind kind);

// Into the buffer of the peer of its in_port. For packets that have passed the entry point: the
// rows' end, and what another lcore has handed to the one that owns the queue. Takes `m`.
static inline void egress_handed(struct lcore *lcore, struct rte_mbuf *m)
{
	const struct dataplane *dp = lcore->dp;
	unsigned peer = dp->ports[pkt_of(m)->in_port].peer;

	if (likely(peer != PORT_NONE)) {
		struct tx_buffer *buffer = &lcore->tx[peer];

		if (likely(m->pkt_len <= dp->ports[peer].max_frame && buffer->n < TX_BUFFER)) {
			buffer->pkts[buffer->n++] = m;
			return;
		}
	}
	egress_refuse(lcore, m);
}

// The buffer that `m` would go into has no room.
static inline bool egress_is_full(const struct lcore *lcore, struct rte_mbuf *m)
{
	unsigned peer = lcore->dp->ports[pkt_of(m)->in_port].peer;

	return peer != PORT_NONE && lcore->tx[peer].n == TX_BUFFER;
}

// Sends `m` out of the peer of its in_port. Takes it. `ref`: its flow or stub, or FLOW_REF_NONE.
static inline void egress_packet(
	struct lcore *lcore, struct rte_mbuf *m, uint32_t ref, enum egress_kind kind)
{
	pkt_of(m)->egress = (uint8_t)kind;
	lcore->stats.egress_entered[kind]++;
	if (unlikely(lcore->dp->egress_rows != NULL))
		egress_rows(lcore, m, ref, kind);
	else
		egress_handed(lcore, m);
}

// The kind of a packet that was received.
static inline enum egress_kind egress_kind_of(const struct pkt *pkt)
{
	if (unlikely(pkt->class != PKT_IP))
		return EGRESS_LINK;
	return unlikely(pkt->flags & PKT_ICMP_ERROR) ? EGRESS_ICMP_ERROR : EGRESS_FLOW;
}

// A packet that we made: counts it as injected.
void egress_inject(struct lcore *lcore, struct rte_mbuf *m, uint32_t ref, enum egress_kind kind);
// One that nobody has inspected: counts it so.
void egress_bypass(struct lcore *lcore, struct rte_mbuf *m);

#endif
