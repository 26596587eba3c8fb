// SPDX-License-Identifier: BSD-3-Clause
#include <stdlib.h>
#include <string.h>
#include <rte_eal.h>
#include "packet.h"

struct rte_mempool *packet_pool(void)
{
	static struct rte_mempool *pool;
	char *argv[] = {(char[]){"test"}, (char[]){"--no-shconf"}, (char[]){"--no-huge"},
		(char[]){"-m"}, (char[]){"64"}, (char[]){"--no-pci"}, (char[]){"--no-telemetry"},
		(char[]){"--log-level=3"}};

	if (pool)
		return pool;
	if (rte_eal_init(8, argv) < 0)
		abort();
	pool = rte_pktmbuf_pool_create(
		"packets", 255, 0, PKT_PRIV_SIZE, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (!pool)
		abort();
	return pool;
}

static void heap_free(void *addr, void *shared)
{
	free(addr);
	free(shared);
}

static struct rte_mbuf *segment(struct rte_mempool *pool, const uint8_t *bytes, uint16_t length)
{
	struct rte_mbuf_ext_shared_info *shared = malloc(sizeof(*shared));
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	uint8_t *place = malloc(length ? length : 1);

	if (!m || !place || !shared)
		abort();
	if (length)
		memcpy(place, bytes, length);
	*shared = (struct rte_mbuf_ext_shared_info){.free_cb = heap_free, .fcb_opaque = shared};
	rte_mbuf_ext_refcnt_set(shared, 1);
	rte_pktmbuf_attach_extbuf(m, place, 0, length, shared);
	m->data_off = 0;
	m->data_len = length;
	m->pkt_len = length;
	return m;
}

struct rte_mbuf *packet_mbuf(struct rte_mempool *pool, const uint8_t *bytes, uint32_t length,
	uint8_t link, unsigned segments)
{
	struct rte_mbuf *head = NULL;

	for (uint32_t done = 0; segments; segments--) {
		uint32_t here = (length - done) / segments;
		struct rte_mbuf *m = segment(pool, bytes + done, (uint16_t)here);

		done += here;
		if (!head)
			head = m;
		else if (rte_pktmbuf_chain(head, m))
			abort();
	}
	*pkt_of(head) = (struct pkt){.link = link, .flow = PKT_FLOW_NONE};
	return head;
}
