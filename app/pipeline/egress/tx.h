// SPDX-License-Identifier: BSD-3-Clause
// Per-port buffers of an lcore, behind the entry point (egress.h). Keeper: a packet that
// a driver has not accepted stays in the buffer until the next turn; the buffer's cap is TX_BUFFER,
// beyond it the packet is dropped as tx_full.
//
// Stages only fill the buffers: a flush touches drivers and rings, for which the lcore must hold
// its lease (lease.h). TX_BUFFER has room for what a burst can become beside what was left.
#ifndef SLUICE_TX_H
#define SLUICE_TX_H

#include "pipeline/egress/drop.h"
#include "pipeline/lcore/lcore.h"

// Offers every buffer to its driver, or to the lcore that owns the queue.
void tx_flush(struct lcore *lcore);
// The same for those that hold a burst: between bursts of a turn.
void tx_flush_full(struct lcore *lcore);
// `send` of a port that has no link: takes nothing, and what was to be sent is dropped as
// link_down. So a link costs nothing to look at while it is there.
uint16_t tx_no_link(void *ctx, uint16_t queue, struct rte_mbuf **pkts, uint16_t n);
// `send` says so instead of a count: it has taken none, and never takes the first, which is too
// long for what is behind the port, or finds no link there. That one is dropped.
#define TX_TOO_LONG  UINT16_MAX
#define TX_LINK_LOST (UINT16_MAX - 1)
// Packets in this lcore's buffers.
unsigned tx_held(const struct lcore *lcore);
// Frees what is left, counted by that reason.
void tx_discard(struct lcore *lcore, enum drop_reason reason);

#endif
