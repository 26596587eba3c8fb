// SPDX-License-Identifier: BSD-3-Clause
// Buffers packets for each port and hands them to its driver.
#include <string.h>
#include "pipeline/egress/tx.h"
#include "pipeline/egress/impair.h"
#include "pipeline/egress/drop.h"

// Counts what is about to be the driver's, by kind and by how long it was here: from the turn that
// received it until now, one reading of the clock for all. Packets of a burst came at the same
// time, so it is a bucket for each run of them. Returns their bytes.
static uint64_t count_sent(struct lcore *lcore, struct histogram *latency,
	const struct tx_buffer *buffer, uint64_t now_ns)
{
	uint64_t bytes = 0, rx_ns = 0; // 0: made here
	unsigned run = 0;

	for (unsigned i = 0; i < buffer->n; i++) {
		const struct pkt *pkt = pkt_of(buffer->pkts[i]);

		bytes += buffer->pkts[i]->pkt_len;
		lcore->stats.egress_sent[pkt->egress]++;
		if (pkt->rx_ns != rx_ns) {
			if (rx_ns)
				histogram_add(latency, now_ns > rx_ns ? now_ns - rx_ns : 0, run);
			rx_ns = pkt->rx_ns;
			run = 0;
		}
		run++;
	}
	if (rx_ns)
		histogram_add(latency, now_ns > rx_ns ? now_ns - rx_ns : 0, run);
	return bytes;
}

// What the driver did not take is still here: it is measured when it goes.
static void measure_not(
	struct histogram *latency, const struct tx_buffer *buffer, uint64_t now_ns, unsigned from)
{
	for (unsigned i = from; i < buffer->n; i++) {
		uint64_t rx_ns = pkt_of(buffer->pkts[i])->rx_ns;

		if (rx_ns)
			histogram_take(latency, now_ns > rx_ns ? now_ns - rx_ns : 0);
	}
}

static void count_not(struct lcore *lcore, const struct tx_buffer *buffer, unsigned from)
{
	for (unsigned i = from; i < buffer->n; i++)
		lcore->stats.egress_sent[pkt_of(buffer->pkts[i])->egress]--;
}

// Fewer tx queues than lcores: to the lcore that owns the queue. Their out port is found again
// there from in_port.
static void hand_to_queue_owner(struct lcore *lcore, const struct port *port)
{
	struct lcore *owner = lcore->dp->lcores[port->tx_lcore[lcore->index]];
	struct tx_buffer *buffer = &lcore->tx[port->index];
	unsigned done = rte_ring_sp_enqueue_burst(
		owner->tx_in[lcore->index], (void **)buffer->pkts, buffer->n, NULL);

	lcore->stats.tx_handoff_pkts += done;
	for (unsigned i = done; i < buffer->n; i++)
		packet_drop(lcore, buffer->pkts[i], DROP_HANDOFF_FULL);
	buffer->n = 0;
}

uint16_t tx_no_link(void *ctx, uint16_t queue, struct rte_mbuf **pkts, uint16_t n)
{
	(void)ctx;
	(void)queue;
	(void)pkts;
	(void)n;
	return 0;
}

static void flush_port(struct lcore *lcore, unsigned index)
{
	struct tx_buffer *buffer = &lcore->tx[index];
	const struct port *port = &lcore->dp->ports[index];

	if (port->tx_queue[lcore->index] == UINT16_MAX) {
		hand_to_queue_owner(lcore, port);
		return;
	}
	if (unlikely(lcore->impair_tx))
		buffer = impair_send(lcore, index);
	if (!buffer->n)
		return;
	uint64_t now_ns = lcore->dp->clock_ns ? lcore->dp->clock_ns() : lcore->now_ns;
	// before they are the driver's; what is not taken is taken off below
	uint64_t bytes = count_sent(lcore, &lcore->latency[index], buffer, now_ns);

	// The control core may change it at any time: once is enough to look.
	port_send_fn *send = __atomic_load_n(&port->send, __ATOMIC_ACQUIRE);
	uint16_t sent = send(port->ctx, port->tx_queue[lcore->index], buffer->pkts, buffer->n);

	if (unlikely(sent > buffer->n)) {
		measure_not(&lcore->latency[index], buffer, now_ns, 0);
		count_not(lcore, buffer, 0);
		packet_drop(lcore, buffer->pkts[0],
			sent == TX_TOO_LONG ? DROP_TX_OVERSIZE : DROP_LINK_DOWN);
		memmove(buffer->pkts, buffer->pkts + 1, sizeof(buffer->pkts[0]) * --buffer->n);
		return;
	}
	measure_not(&lcore->latency[index], buffer, now_ns, sent);
	count_not(lcore, buffer, sent);
	for (unsigned i = sent; i < buffer->n; i++)
		bytes -= buffer->pkts[i]->pkt_len;
	lcore->stats.sent_pkts += sent;
	lcore->stats.sent_bytes += bytes;
	buffer->n = (uint16_t)(buffer->n - sent);
	if (unlikely(send == tx_no_link)) {
		packets_drop(lcore, buffer->pkts, buffer->n, DROP_LINK_DOWN);
		buffer->n = 0;
		return;
	}
	memmove(buffer->pkts, buffer->pkts + sent, sizeof(buffer->pkts[0]) * buffer->n);
}

void tx_flush_full(struct lcore *lcore)
{
	for (unsigned i = 0; i < lcore->dp->n_ports; i++)
		if (lcore->tx[i].n >= BURST)
			flush_port(lcore, i);
}

void tx_flush(struct lcore *lcore)
{
	for (unsigned i = 0; i < lcore->dp->n_ports; i++)
		if (lcore->tx[i].n || lcore->impair_tx) // there, packets may be due
			flush_port(lcore, i);
}

unsigned tx_held(const struct lcore *lcore)
{
	unsigned held = 0;

	for (unsigned i = 0; i < lcore->dp->n_ports; i++)
		held += lcore->tx[i].n;
	return held;
}

void tx_discard(struct lcore *lcore, enum drop_reason reason)
{
	for (unsigned i = 0; i < lcore->dp->n_ports; i++) {
		for (unsigned k = 0; k < lcore->tx[i].n; k++)
			packet_drop(lcore, lcore->tx[i].pkts[k], reason);
		lcore->tx[i].n = 0;
	}
}
