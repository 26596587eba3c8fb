// SPDX-License-Identifier: BSD-3-Clause
// Packs a datagram and the fragments that it came in into one packet buffer.
#include "pipeline/stage/fragments_bundle.h"

#include <string.h>

struct rte_mbuf *bundle_new(
	struct rte_mempool *pool, struct rte_mbuf *m, struct rte_mbuf *const *packets, unsigned n)
{
	struct rte_mbuf *bundle = rte_pktmbuf_copy(m, pool, 0, UINT32_MAX);
	struct rte_mbuf *last = bundle ? rte_pktmbuf_alloc(pool) : NULL;
	char *list = last ? rte_pktmbuf_append(last, (uint16_t)(n * sizeof(packets[0]))) : NULL;

	if (!list || rte_pktmbuf_chain(bundle, last)) {
		rte_pktmbuf_free(last);
		rte_pktmbuf_free(bundle);
		return NULL;
	}
	memcpy(list, packets, n * sizeof(packets[0]));
	*pkt_of(bundle) = *pkt_of(m);
	pkt_of(bundle)->owner_slot |= PKT_BUNDLE;
	return bundle;
}

unsigned bundle_packets(struct rte_mbuf *m, struct rte_mbuf **packets)
{
	if (!bundle_is(m)) {
		packets[0] = m;
		return 1;
	}
	const struct rte_mbuf *last = rte_pktmbuf_lastseg(m);

	memcpy(packets, rte_pktmbuf_mtod(last, const void *), last->data_len);
	return last->data_len / (unsigned)sizeof(packets[0]);
}

unsigned bundle_mbufs(struct rte_mbuf *bundle)
{
	const struct rte_mbuf *last = rte_pktmbuf_lastseg(bundle);
	struct rte_mbuf *const *packets = rte_pktmbuf_mtod(last, struct rte_mbuf *const *);
	unsigned n = 0;

	for (unsigned i = 0; i < last->data_len / sizeof(packets[0]); i++)
		n += packets[i]->nb_segs;
	return n;
}

void bundle_free(struct rte_mbuf *m)
{
	if (bundle_is(m))
		rte_pktmbuf_free(m);
}
