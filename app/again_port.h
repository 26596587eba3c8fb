// SPDX-License-Identifier: BSD-3-Clause
// A port that goes on by sockets of the launcher (again.h).
#ifndef SLUICE_AGAIN_PORT_H
#define SLUICE_AGAIN_PORT_H

#include "again.h"
#include "lcore.h"

struct again;

// Takes the descriptors, also when it fails. 0 or -errno.
// What `before`, if there was one, has counted, is counted on.
int again_take(struct again_sockets *sockets, struct rte_mempool *pool, const struct again *before,
	struct again **out);
// When no lcore and no standby is in it any more. NULL is allowed.
void again_free(struct again *again);
uint32_t again_ifindex(const struct again *again);
// A port's receive and send; ctx: the port, whose `again` it goes by. Its lcores, the standby.
uint16_t again_receive(void *ctx, uint16_t queue, struct rte_mbuf **pkts, uint16_t n);
uint16_t again_transmit(void *ctx, uint16_t queue, struct rte_mbuf **pkts, uint16_t n);
// Adds its own.
void again_counters(const struct again *again, struct port_counters *out);

#endif
