// SPDX-License-Identifier: BSD-3-Clause
// Delays, drops, duplicates and reorders packets as an impaired link would.
#include "pipeline/egress/impair.h"

#include <errno.h>
#include <rte_ether.h>
#include <rte_malloc.h>
#include "pipeline/egress/impair_decide.h"
#include "pipeline/lcore/lcore.h"
#include "pipeline/egress/drop.h"

struct departure {
	uint64_t due_ns;
	uint64_t order; // of arrival: decides among those due at the same time
	uint64_t taken_ns;
	struct rte_mbuf *m;
};

struct impair {
	struct impair_settings settings;
	uint64_t line_free_ns[PORTS_MAX]; // at rx by in port, at tx by out port
	uint64_t order;
	struct impair_memory *memory;
	struct tx_buffer *out; // at tx: PORTS_MAX of them
	unsigned n;
	struct departure heap[]; // the first to go is first; settings.limit
};

int impair_new(const struct impair_settings *settings, int socket, struct impair **out)
{
	*out = NULL;
	if (!settings->on)
		return 0;
	struct impair *impair = rte_zmalloc_socket(
		"impair", sizeof(*impair) + settings->limit * sizeof(impair->heap[0]), 64, socket);
	if (!impair)
		return -ENOMEM;
	impair->settings = *settings;
	impair->memory = rte_zmalloc_socket("impair_memory", sizeof(*impair->memory), 64, socket);
	if (settings->at == IMPAIR_TX)
		impair->out = rte_zmalloc_socket(
			"impair_out", PORTS_MAX * sizeof(*impair->out), 64, socket);
	if (!impair->memory || (settings->at == IMPAIR_TX && !impair->out)) {
		impair_free(impair);
		return -ENOMEM;
	}
	*out = impair;
	return 0;
}

void impair_free(struct impair *impair)
{
	if (!impair)
		return;
	rte_free(impair->memory);
	rte_free(impair->out);
	rte_free(impair);
}

static bool goes_before(const struct departure *a, const struct departure *b)
{
	return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->order < b->order;
}

static void heap_put(struct impair *impair, struct departure departure)
{
	unsigned at = impair->n++;

	while (at && goes_before(&departure, &impair->heap[(at - 1) / 2])) {
		impair->heap[at] = impair->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	impair->heap[at] = departure;
}

static struct departure heap_take(struct impair *impair)
{
	struct departure first = impair->heap[0], last = impair->heap[--impair->n];
	unsigned at = 0;

	for (;;) {
		unsigned child = 2 * at + 1;

		if (child >= impair->n)
			break;
		if (child + 1 < impair->n &&
			goes_before(&impair->heap[child + 1], &impair->heap[child]))
			child++;
		if (!goes_before(&impair->heap[child], &last))
			break;
		impair->heap[at] = impair->heap[child];
		at = child;
	}
	impair->heap[at] = last;
	return first;
}

// A copy of its own: the original's bytes may be changed, or be the driver's already.
static struct rte_mbuf *duplicate(struct lcore *lcore, struct rte_mbuf *m)
{
	struct rte_mbuf *copy = rte_pktmbuf_copy(m, lcore->pool, 0, UINT32_MAX);

	if (!copy) {
		lcore->stats.impaired_nomem++;
		return NULL;
	}
	*pkt_of(copy) = *pkt_of(m);
	pkt_of(copy)->rx_ns = 0; // it was never received: no latency
	lcore->stats.injected_pkts++;
	if (pkt_of(copy)->egress) // behind the entry point
		lcore->stats.egress_entered[pkt_of(copy)->egress]++;
	lcore->stats.impaired_duplicated++;
	return copy;
}

// One bit, somewhere behind the link header.
static void flip(struct lcore *lcore, struct rte_mbuf *m, uint64_t which)
{
	const struct pkt *pkt = pkt_of(m);
	uint32_t from = pkt->class == PKT_IP ? pkt->outer_l3_off : RTE_ETHER_HDR_LEN;

	if (m->pkt_len <= from)
		return;
	uint64_t bit = which % ((m->pkt_len - from) * 8ull);
	uint32_t at = from + (uint32_t)(bit / 8);

	while (at >= m->data_len) {
		at -= m->data_len;
		m = m->next;
	}
	if (rte_mbuf_refcnt_read(m) != 1 || RTE_MBUF_CLONED(m)) // others read these bytes
		return;
	*rte_pktmbuf_mtod_offset(m, uint8_t *, at) ^= (uint8_t)(1u << bit % 8);
	lcore->stats.impaired_corrupted++;
}

// When the line has sent it; 0: its queue is full.
static uint64_t line_pass(struct impair *impair, const struct impair_link *link, unsigned port,
	uint64_t now_ns, uint32_t bytes)
{
	uint64_t *free_ns = &impair->line_free_ns[port];

	if (!link->ps_per_byte)
		return now_ns;
	if (*free_ns < now_ns)
		*free_ns = now_ns;
	if (*free_ns - now_ns > link->queue_ns)
		return 0;
	return *free_ns += bytes * link->ps_per_byte / 1000;
}

static void take(struct lcore *lcore, struct impair *impair, struct rte_mbuf *m,
	enum impair_way way, unsigned port)
{
	const struct impair_link *link = &impair->settings.links[way];
	uint64_t now_ns = lcore->now_ns;
	union flow_key key;
	bool has_key = parse_mbuf(m, &lcore->parse, &key);
	struct impairment_of_packet impaired = impair_decide(
		impair->memory, &impair->settings, way, pkt_of(m), has_key ? &key : NULL);

	lcore->stats.impaired_pkts++;
	if (impaired.lost) {
		packet_drop(lcore, m, DROP_IMPAIRED_LOSS);
		return;
	}
	if (impair->n == impair->settings.limit) {
		packet_drop(lcore, m, DROP_IMPAIRED_LIMIT);
		return;
	}
	uint64_t due_ns = line_pass(impair, link, port, now_ns, m->pkt_len);

	if (!due_ns) {
		lcore->stats.impaired_queue_full++;
		packet_drop(lcore, m, DROP_IMPAIRED_LIMIT);
		return;
	}
	if (!impaired.reordered)
		due_ns += (uint64_t)((int64_t)link->delay_ns + impaired.jitter_ns);
	lcore->stats.impaired_reordered += impaired.reordered;
	lcore->stats.impaired_delayed += due_ns > now_ns;
	struct rte_mbuf *copy = impaired.duplicated && impair->n + 1 < impair->settings.limit
					? duplicate(lcore, m)
					: NULL;

	if (impaired.corrupted)
		flip(lcore, m, impaired.bit);
	heap_put(impair, (struct departure){due_ns, impair->order++, now_ns, m});
	if (copy)
		heap_put(impair, (struct departure){due_ns, impair->order++, now_ns, copy});
}

// The next that is due; NULL: none is.
static struct rte_mbuf *leave(struct impair *impair, uint64_t now_ns)
{
	if (!impair->n || impair->heap[0].due_ns > now_ns)
		return NULL;
	struct departure departure = heap_take(impair);
	struct pkt *pkt = pkt_of(departure.m);

	if (pkt->rx_ns)
		pkt->rx_ns += now_ns - departure.taken_ns;
	return departure.m;
}

void impair_receive(struct lcore *lcore, struct rte_mbuf **mbufs, unsigned n)
{
	lcore->stats.received_pkts += n;
	for (unsigned i = 0; i < n; i++) {
		unsigned port = pkt_of(mbufs[i])->in_port;

		lcore->stats.received_bytes += mbufs[i]->pkt_len;
		take(lcore, lcore->impair_rx, mbufs[i],
			lcore->dp->ports[port].inside ? IMPAIR_TO_OUTSIDE : IMPAIR_TO_INSIDE, port);
	}
}

unsigned impair_received(struct lcore *lcore, struct rte_mbuf **mbufs, unsigned max)
{
	unsigned n = 0;

	while (n < max && (mbufs[n] = leave(lcore->impair_rx, lcore->now_ns)))
		n++;
	return n;
}

struct tx_buffer *impair_send(struct lcore *lcore, unsigned port)
{
	struct impair *impair = lcore->impair_tx;
	struct tx_buffer *waiting = &lcore->tx[port];
	struct rte_mbuf *m;

	for (unsigned i = 0; i < waiting->n; i++)
		take(lcore, impair, waiting->pkts[i],
			lcore->dp->ports[port].inside ? IMPAIR_TO_INSIDE : IMPAIR_TO_OUTSIDE, port);
	waiting->n = 0;
	while ((m = leave(impair, lcore->now_ns))) {
		struct tx_buffer *out = &impair->out[lcore->dp->ports[pkt_of(m)->in_port].peer];

		if (out->n < TX_BUFFER)
			out->pkts[out->n++] = m;
		else
			packet_drop(lcore, m, DROP_TX_FULL);
	}
	return &impair->out[port];
}

static struct impair *impair_of(const struct lcore *lcore)
{
	return lcore->impair_rx ? lcore->impair_rx : lcore->impair_tx;
}

unsigned impair_held(const struct lcore *lcore)
{
	const struct impair *impair = impair_of(lcore);
	unsigned held = 0;

	if (!impair)
		return 0;
	held = impair->n;
	for (unsigned i = 0; impair->out && i < lcore->dp->n_ports; i++)
		held += impair->out[i].n;
	return held;
}

uint64_t impair_next_ns(const struct lcore *lcore)
{
	const struct impair *impair = impair_of(lcore);

	return impair && impair->n ? impair->heap[0].due_ns : 0;
}

void impair_discard(struct lcore *lcore, enum drop_reason reason)
{
	struct impair *impair = impair_of(lcore);

	if (!impair)
		return;
	while (impair->n)
		packet_drop(lcore, impair->heap[--impair->n].m, reason);
	for (unsigned i = 0; impair->out && i < lcore->dp->n_ports; i++) {
		packets_drop(lcore, impair->out[i].pkts, impair->out[i].n, reason);
		impair->out[i].n = 0;
	}
}
