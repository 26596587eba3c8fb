// SPDX-License-Identifier: BSD-3-Clause
// The receive pools: one per NUMA socket that has a data lcore, sized so that no ring can starve
// another. Control core.
#ifndef SLUICE_MBUF_POOL_H
#define SLUICE_MBUF_POOL_H

#include <rte_config.h>
#include "config/gateway.h"
#include "pipeline/lcore/lcore.h"

// Memory that the gateway takes from EAL: pools and the lcores' tables, in MB; an upper bound.
uint32_t memory_needed_mb(const struct gateway *gateway);
// With an af_xdp port an mbuf is a page, headers included: see the source.
// What EAL has given out by now, in MB, to compare with that bound.
uint32_t memory_used_mb(void);
// pools[socket] for every socket of a data lcore; the others NULL. -ENOMEM with a message that says
// how much is missing where; -ERANGE.
int mbuf_pools_new(const struct gateway *gateway, uint16_t data_room,
	struct rte_mempool *pools[RTE_MAX_NUMA_NODES], char *err, size_t err_len);
void mbuf_pools_free(struct rte_mempool *pools[RTE_MAX_NUMA_NODES]);

#endif
