// SPDX-License-Identifier: BSD-3-Clause
// Computes the size of the receive pools and creates them.
#include "machine/mbuf_pool.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_memzone.h>
#include "config/eal_args.h"
#include "base/log.h"
#include "pipeline/vocab/pkt.h"
#include "machine/port.h"

#define POOL_CACHE 256
#define PAGE_BYTES 4096u

// Bytes per entry of the tables that EAL holds, with their hash tables and spare room; measured,
// rounded up.
#define FLOW_BYTES            512ull
#define TRACK_BYTES           512ull
#define EMBRYO_BYTES          224ull
#define CONN_CACHE_BYTES      256ull // in every lcore's replica
#define EXPECTATION_BYTES     448ull
#define LCORE_LINK_BYTES      (320ull << 10) // hints, from one data lcore to another
#define ENDPOINT_BYTES        144ull
#define EVIDENCE_RECORD_BYTES 96ull
#define SCAN_FLOW_BYTES       240ull
#define SCAN_LCORE_BYTES      (1ull << 20)
#define SCAN_LINK_BYTES       (256ull << 10) // between a scan lcore and a data lcore, or the control core
#define FRAG_DATAGRAM_BYTES   160ull
#define FRAG_PACKET_BYTES     64ull        // beside its mbuf
#define IMPAIRED_BYTES        32ull        // each packet on its way, beside its mbuf
#define IMPAIR_MEMORY_BYTES   (2ull << 20) // each data lcore

static uint32_t pool_size(const struct gateway *gateway)
{
	return gateway->memory.mbufs ? gateway->memory.mbufs : ports_mbufs_needed(gateway);
}

// net_af_xdp hands the whole pool to the kernel, and until DPDK 24.07 it takes the pool's length
// for mbufs x their size. Without hugepages an mbuf never crosses a page, so that pages have rests
// and the last third of the mbufs lies behind that length: the kernel refuses each of them for
// ever, and the port falls silent. Mbufs of exactly a page from an aligned area have no rests.
static bool wants_page_mbufs(const struct gateway *gateway)
{
	for (unsigned i = 0; i < gateway->n_ports; i++) {
		char driver[64];
		device_driver_of(gateway->ports[i].device, driver, sizeof(driver));
		if (strcmp(driver, "net_af_xdp") == 0)
			return true;
	}
	return false;
}

// Memory of an mbuf with its headers.
static uint32_t mbuf_bytes(const struct gateway *gateway, uint16_t data_room)
{
	uint32_t bytes = rte_mempool_calc_obj_size(
		(uint32_t)(sizeof(struct rte_mbuf) + PKT_PRIV_SIZE) + data_room, 0, NULL);

	if (gateway->memory.hugepages && !wants_page_mbufs(gateway))
		return bytes;
	return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

uint32_t memory_needed_mb(const struct gateway *gateway)
{
	uint64_t bytes = 64ull << 20; // EAL, drivers, rings
	uint64_t n = gateway->n_data ? gateway->n_data : 1;

	bytes += (uint64_t)pool_size(gateway) * mbuf_bytes(gateway, RTE_MBUF_DEFAULT_BUF_SIZE);
	bytes += gateway->limits.flows * FLOW_BYTES;
	bytes += (uint64_t)gateway->reassembly.memory_mb << 20;
	bytes += (gateway->reassembly.tracked + n) * TRACK_BYTES;
	bytes += gateway->limits.embryos * EMBRYO_BYTES;
	bytes += n * gateway->limits.conn_cache * CONN_CACHE_BYTES;
	bytes += n * (n - 1) * LCORE_LINK_BYTES;
	bytes += n * gateway->limits.expectations * EXPECTATION_BYTES;
	bytes += n * (gateway->limits.endpoints + gateway->limits.names) * ENDPOINT_BYTES;
	bytes += n * gateway->limits.evidence * EVIDENCE_RECORD_BYTES;
	if (gateway->scan.engine != SCAN_ENGINE_NONE)
		bytes += gateway->scan.flows * SCAN_FLOW_BYTES +
			 (gateway->n_scan + 1) * (SCAN_LCORE_BYTES + (n + 1) * SCAN_LINK_BYTES);
	bytes += n * gateway->fragments.datagrams * FRAG_DATAGRAM_BYTES;
	bytes += n * gateway->fragments.packets * FRAG_PACKET_BYTES;
	if (gateway_impairs(gateway))
		bytes += n * (gateway->impairment.limit * IMPAIRED_BYTES + IMPAIR_MEMORY_BYTES);
	return (uint32_t)(bytes >> 20) + 1;
}

uint32_t memory_used_mb(void)
{
	uint64_t bytes = 0;

	for (int i = 0; i < RTE_MAX_NUMA_NODES; i++) {
		struct rte_malloc_socket_stats stats;
		if (rte_malloc_get_socket_stats(i, &stats) == 0)
			bytes += stats.heap_allocsz_bytes;
	}
	return (uint32_t)(bytes >> 20);
}

// Room for data of an mbuf that is a page with its headers; 0 if it cannot be made so.
static uint16_t page_data_room(void)
{
	struct rte_mempool_objsz sizes;
	uint32_t headers = (uint32_t)(sizeof(struct rte_mbuf) + PKT_PRIV_SIZE);

	rte_mempool_calc_obj_size(headers, RTE_MEMPOOL_F_NO_SPREAD, &sizes);
	uint32_t room = PAGE_BYTES - sizes.header_size - headers;
	rte_mempool_calc_obj_size(headers + room, RTE_MEMPOOL_F_NO_SPREAD, &sizes);
	return sizes.total_size == PAGE_BYTES ? (uint16_t)room : 0;
}

static struct rte_mempool *page_pool_new(
	const char *name, uint32_t size, uint16_t data_room, unsigned socket)
{
	struct rte_pktmbuf_pool_private private = {
		.mbuf_data_room_size = data_room, .mbuf_priv_size = PKT_PRIV_SIZE};
	uint32_t element = (uint32_t)(sizeof(struct rte_mbuf) + PKT_PRIV_SIZE) + data_room;
	struct rte_mempool *pool = rte_mempool_create_empty(name, size, element, POOL_CACHE,
		sizeof(private), (int)socket, RTE_MEMPOOL_F_NO_SPREAD);
	if (!pool)
		return NULL;
	const struct rte_memzone *zone = rte_memzone_reserve_aligned(
		name, (size_t)size * PAGE_BYTES, (int)socket, 0, PAGE_BYTES);
	int rc = zone ? rte_mempool_set_ops_byname(pool, rte_mbuf_best_mempool_ops(), NULL)
		      : -ENOMEM;
	if (!rc) {
		rte_pktmbuf_pool_init(pool, &private);
		rc = rte_mempool_populate_virt(pool, zone->addr, zone->len, PAGE_BYTES, NULL, NULL);
	}
	if (rc < 0 || pool->populated_size < size) {
		rte_mempool_free(pool);
		rte_memzone_free(zone);
		rte_errno = rc < 0 ? -rc : ENOMEM;
		return NULL;
	}
	rte_mempool_obj_iter(pool, rte_pktmbuf_init, NULL);
	return pool;
}

static int pool_new(const struct gateway *gateway, unsigned socket, uint16_t data_room,
	struct rte_mempool **out, char *err, size_t err_len)
{
	uint32_t size = pool_size(gateway);
	char name[RTE_MEMPOOL_NAMESIZE];

	snprintf(name, sizeof(name), "mbufs_%u", socket);
	if (wants_page_mbufs(gateway)) {
		uint16_t room = page_data_room();
		if (room < data_room) {
			snprintf(err, err_len,
				"frames of %u bytes do not fit beside an af_xdp port, which takes "
				"%u: use a smaller MTU",
				data_room - RTE_PKTMBUF_HEADROOM, room - RTE_PKTMBUF_HEADROOM);
			return -ERANGE;
		}
		data_room = room;
		*out = page_pool_new(name, size, room, socket);
	} else {
		*out = rte_pktmbuf_pool_create(
			name, size, POOL_CACHE, PKT_PRIV_SIZE, data_room, (int)socket);
	}
	if (!*out) {
		snprintf(err, err_len,
			"no memory for %u mbufs of %u bytes (%u MB) on socket %u: %s; the whole "
			"gateway needs about %u MB (\"memory\" in gateway.json)",
			size, data_room,
			(uint32_t)((uint64_t)size * mbuf_bytes(gateway, data_room) >> 20), socket,
			rte_strerror(rte_errno), memory_needed_mb(gateway));
		return -ENOMEM;
	}
	log_info("pool %s: %u mbufs of %u bytes", name, size, data_room);
	return 0;
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
		if (pools[socket])
			continue;
		int rc = pool_new(gateway, socket, data_room, &pools[socket], err, err_len);
		if (rc < 0) {
			mbuf_pools_free(pools);
			return rc;
		}
	}
	return 0;
}

void mbuf_pools_free(struct rte_mempool *pools[RTE_MAX_NUMA_NODES])
{
	for (int i = 0; i < RTE_MAX_NUMA_NODES; i++) {
		if (!pools[i])
			continue;
		const struct rte_memzone *zone = rte_memzone_lookup(pools[i]->name);
		rte_mempool_free(pools[i]);
		rte_memzone_free(zone); // of a pool of pages, which is not the mempool's own
		pools[i] = NULL;
	}
}
