// SPDX-License-Identifier: BSD-3-Clause
#include "mbuf_pool.h"

#include <errno.h>
#include <stdio.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include "log.h"
#include "pkt.h"
#include "port.h"

#define POOL_CACHE 256
// Beside the data room: the mempool's header, struct rte_mbuf, struct pkt.
#define MBUF_OVERHEAD 256u

// Bytes per entry of the tables, with their hash tables and spare room; measured, rounded up.
#define FLOW_BYTES        512ull
#define EMBRYO_BYTES      192ull
#define CLASSIFYING_BYTES 4608ull // two prefixes of 2 KiB
#define CONN_CACHE_BYTES  256ull  // in every lcore's replica
#define EXPECTATION_BYTES 128ull

static uint32_t pool_size(const struct gateway *gateway)
{
	return gateway->memory.mbufs ? gateway->memory.mbufs : ports_mbufs_needed(gateway);
}

uint32_t memory_needed_mb(const struct gateway *gateway)
{
	uint64_t bytes = 64ull << 20; // EAL, drivers, rings
	uint64_t n = gateway->n_data ? gateway->n_data : 1;

	bytes += (uint64_t)pool_size(gateway) * (RTE_MBUF_DEFAULT_BUF_SIZE + MBUF_OVERHEAD);
	bytes += gateway->limits.flows * FLOW_BYTES;
	bytes += gateway->limits.embryos * EMBRYO_BYTES;
	bytes += gateway->limits.classifying * CLASSIFYING_BYTES;
	bytes += n * gateway->limits.conn_cache * CONN_CACHE_BYTES;
	bytes += n * gateway->limits.expectations * EXPECTATION_BYTES;
	return (uint32_t)(bytes >> 20) + 1;
}

int mbuf_pools_new(const struct gateway *gateway, uint16_t data_room,
	struct rte_mempool *pools[RTE_MAX_NUMA_NODES], char *err, size_t err_len)
{
	uint32_t size = pool_size(gateway), needed = ports_mbufs_needed(gateway);

	if (size < needed)
		log_warning("memory.mbufs is %u, but the ports' and lcores' rings can hold %u: "
			    "receiving may stop (rx_nombuf)",
			size, needed);
	for (int i = 0; i < RTE_MAX_NUMA_NODES; i++)
		pools[i] = NULL;
	for (unsigned i = 0; i < gateway->n_data; i++) {
		unsigned socket = rte_lcore_to_socket_id(i + 1);
		char name[RTE_MEMPOOL_NAMESIZE];
		if (pools[socket])
			continue;
		snprintf(name, sizeof(name), "mbufs_%u", socket);
		pools[socket] = rte_pktmbuf_pool_create(
			name, size, POOL_CACHE, PKT_PRIV_SIZE, data_room, (int)socket);
		if (!pools[socket]) {
			snprintf(err, err_len,
				"no memory for %u mbufs of %u bytes (%llu MB) on socket %u: %s; "
				"the "
				"whole gateway needs about %u MB (\"memory\" in gateway.json)",
				size, data_room,
				(unsigned long long)size * (data_room + MBUF_OVERHEAD) >> 20,
				socket, rte_strerror(rte_errno), memory_needed_mb(gateway));
			mbuf_pools_free(pools);
			return -ENOMEM;
		}
		log_info("pool %s: %u mbufs of %u bytes", name, size, data_room);
	}
	return 0;
}

void mbuf_pools_free(struct rte_mempool *pools[RTE_MAX_NUMA_NODES])
{
	for (int i = 0; i < RTE_MAX_NUMA_NODES; i++) {
		rte_mempool_free(pools[i]);
		pools[i] = NULL;
	}
}
