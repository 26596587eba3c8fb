// SPDX-License-Identifier: BSD-3-Clause
// A port that goes on by sockets of the launcher (again.h).
#ifndef SLUICE_AGAIN_PORT_H
#define SLUICE_AGAIN_PORT_H

#include "process/again.h"
#include "pipeline/lcore/lcore.h"

struct again;

// Takes the descriptors, also when it fails. 0 or -errno.
// `before`, if there was one, becomes its own: what that counts is counted on.
int again_take(struct again_sockets *sockets, struct rte_mempool *pool, struct again *before,
	struct again **out);
bool again_has_before(const struct again *again);
// When no lcore and no standby is in the one before any more.
void again_free_before(struct again *again);
// Its interface is gone: leaves nothing of ours on it, should it still be somewhere.
void again_let_go(struct again *again);
// When no lcore and no standby is in it any more. NULL is allowed.
void again_free(struct again *again);
uint32_t again_ifindex(const struct again *again);
// Once: frames have come that its interface should have made whole, or cut.
bool again_has_offloads(struct again *again);
// A port's receive and send; ctx: the port, whose `again` it goes by. Its lcores, the standby.
uint16_t again_receive(void *ctx, uint16_t queue, struct rte_mbuf **pkts, uint16_t n);
// Of a frame that the kernel refuses for good: TX_TOO_LONG, TX_LINK_LOST (tx.h).
uint16_t again_transmit(void *ctx, uint16_t queue, struct rte_mbuf **pkts, uint16_t n);
// Adds its own.
void again_counters(const struct again *again, struct port_counters *out);

#endif
