// SPDX-License-Identifier: BSD-3-Clause
// The last stage: per-port buffers of an lcore, and the end of every packet. Keeper: a packet that
// a driver has not accepted stays in the buffer until the next turn; the buffer's cap is TX_BUFFER,
// beyond it the packet is dropped as tx_full.
#ifndef SLUICE_TX_H
#define SLUICE_TX_H

#include "lcore.h"

// Sends `m` out of the peer of its in_port. Takes it.
void tx_packet(struct lcore *lcore, struct rte_mbuf *m);
// The same for a packet that we made: counts it as injected.
void tx_inject(struct lcore *lcore, struct rte_mbuf *m);
// Offers every buffer to its driver.
void tx_flush(struct lcore *lcore);
// Packets in this lcore's buffers.
unsigned tx_held(const struct lcore *lcore);
// Frees what is left, as DROP_SHUTDOWN.
void tx_discard(struct lcore *lcore);

// Frees a packet that ends here, counted by its reason. Takes it.
void packet_drop(struct lcore *lcore, struct rte_mbuf *m, enum drop_reason reason);

#endif
