// SPDX-License-Identifier: BSD-3-Clause
// The gateway's half of again.h: a port's packets by sockets that the launcher has opened.
#include "machine/again_port.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <linux/if_xdp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include <rte_ether.h>
#include <rte_mbuf.h>
#include "pipeline/egress/tx.h"

#define KICKS 64 // of a send: the kernel takes 32 packets at a time

struct ring { // one of the four of an AF_XDP socket; we are its producer or its consumer
	_Atomic uint32_t *producer, *consumer, *flags;
	void *entries;
	void *map;
	size_t map_bytes;
};

// The two halves may be of different lcores.
struct tally {
	uint64_t pkts, bytes, errors, nombuf;
} __attribute__((aligned(64)));

struct again_queue {
	int fd;
	char *memory; // AGAIN_FRAMES, the second half of them for sending
	struct ring fill, completed, rx, tx;
	uint32_t n_free; // frames that may be sent from
	uint32_t free[AGAIN_RING];
	struct tally in;
};

struct again {
	enum again_kind kind;
	struct rte_mempool *pool;
	uint32_t ifindex;
	unsigned n;
	struct again *before;      // no lcore shall be in it, but one may be
	struct port_counters past; // of those before that one
	uint8_t offloads;          // set by lcores; 2: reported
	int extras[AGAIN_EXTRAS];  // -1: none
	size_t memory_bytes;
	char *memory;
	struct tally out[LCORES_MAX]; // by tx queue: several may share a socket
	struct again_queue queues[];
};

static int ring_map(
	int fd, const struct xdp_ring_offset *at, uint64_t where, size_t entry, struct ring *ring)
{
	ring->map_bytes = at->desc + AGAIN_RING * entry;
	ring->map = mmap(NULL, ring->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
		fd, (off_t)where);
	if (ring->map == MAP_FAILED) {
		ring->map = NULL;
		return -errno;
	}
	char *base = ring->map;
	ring->producer = (_Atomic uint32_t *)(void *)(base + at->producer);
	ring->consumer = (_Atomic uint32_t *)(void *)(base + at->consumer);
	ring->flags = (_Atomic uint32_t *)(void *)(base + at->flags);
	ring->entries = base + at->desc;
	return 0;
}

static uint32_t ring_read(const _Atomic uint32_t *index)
{
	return atomic_load_explicit(index, memory_order_acquire);
}

static uint32_t ring_own(const _Atomic uint32_t *index)
{
	return atomic_load_explicit(index, memory_order_relaxed);
}

static void ring_write(_Atomic uint32_t *index, uint32_t value)
{
	atomic_store_explicit(index, value, memory_order_release);
}

static uint64_t *address_at(const struct ring *ring, uint32_t index)
{
	return (uint64_t *)ring->entries + index % AGAIN_RING;
}

static struct xdp_desc *desc_at(const struct ring *ring, uint32_t index)
{
	return (struct xdp_desc *)ring->entries + index % AGAIN_RING;
}

static int xdp_queue(struct again_queue *queue)
{
	struct xdp_mmap_offsets at;
	socklen_t length = sizeof(at);
	int rc = 0;

	if (getsockopt(queue->fd, SOL_XDP, XDP_MMAP_OFFSETS, &at, &length) < 0)
		return -errno;
	rc = ring_map(queue->fd, &at.rx, XDP_PGOFF_RX_RING, sizeof(struct xdp_desc), &queue->rx);
	if (!rc)
		rc = ring_map(
			queue->fd, &at.tx, XDP_PGOFF_TX_RING, sizeof(struct xdp_desc), &queue->tx);
	if (!rc)
		rc = ring_map(queue->fd, &at.fr, XDP_UMEM_PGOFF_FILL_RING, sizeof(uint64_t),
			&queue->fill);
	if (!rc)
		rc = ring_map(queue->fd, &at.cr, XDP_UMEM_PGOFF_COMPLETION_RING, sizeof(uint64_t),
			&queue->completed);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < AGAIN_RING; i++) {
		*address_at(&queue->fill, i) = (uint64_t)i * AGAIN_FRAME;
		queue->free[i] = AGAIN_RING + i;
	}
	queue->n_free = AGAIN_RING;
	ring_write(queue->fill.producer, AGAIN_RING);
	return 0;
}

int again_take(struct again_sockets *sockets, struct rte_mempool *pool, struct again *before,
	struct again **out)
{
	unsigned n = sockets->answer.queues;
	bool xdp = sockets->answer.kind == AGAIN_XDP;
	int rc = 0;

	if (!n || sockets->n_fds != n + (xdp ? AGAIN_EXTRAS : 0)) {
		again_close(sockets);
		return -EPROTO;
	}
	struct again *again =
		aligned_alloc(64, (sizeof(*again) + n * sizeof(struct again_queue) + 63) / 64 * 64);
	if (!again) {
		again_close(sockets);
		return -ENOMEM;
	}
	memset(again, 0, sizeof(*again) + n * sizeof(struct again_queue));
	again->kind = (enum again_kind)sockets->answer.kind;
	again->pool = pool;
	again->ifindex = sockets->answer.ifindex;
	again->n = n;
	for (unsigned i = 0; i < AGAIN_EXTRAS; i++)
		again->extras[i] = xdp ? sockets->fds[n + i] : -1;
	for (unsigned i = 0; i < n; i++)
		again->queues[i].fd = sockets->fds[i];
	sockets->n_fds = 0; // they are ours
	if (xdp) {
		again->memory_bytes = (size_t)n * AGAIN_FRAMES * AGAIN_FRAME;
		again->memory = mmap(NULL, again->memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			again->extras[AGAIN_MEMORY], 0);
		if (again->memory == MAP_FAILED) {
			rc = -errno;
			again->memory = NULL;
		}
	}
	for (unsigned i = 0; xdp && i < n && !rc; i++) {
		again->queues[i].memory = again->memory + (size_t)i * AGAIN_FRAMES * AGAIN_FRAME;
		rc = xdp_queue(&again->queues[i]);
	}
	if (rc) {
		again_free(again);
		return rc;
	}
	again->before = before;
	*out = again;
	return 0;
}

static void ring_unmap(const struct ring *ring)
{
	if (ring->map)
		munmap(ring->map, ring->map_bytes);
}

bool again_has_before(const struct again *again)
{
	return again && again->before;
}

// Not earlier: until the lcores have left it, it counts.
void again_free_before(struct again *again)
{
	again_counters(again->before, &again->past);
	again_free(again->before);
	again->before = NULL;
}

void again_let_go(struct again *again)
{
	for (unsigned i = AGAIN_LINK; i < AGAIN_EXTRAS; i++) {
		if (again->extras[i] >= 0)
			close(again->extras[i]);
		again->extras[i] = -1;
	}
}

void again_free(struct again *again)
{
	if (!again)
		return;
	again_free(again->before);
	again_let_go(again);
	for (unsigned i = 0; i < again->n; i++) {
		const struct again_queue *queue = &again->queues[i];

		ring_unmap(&queue->fill);
		ring_unmap(&queue->completed);
		ring_unmap(&queue->rx);
		ring_unmap(&queue->tx);
		close(queue->fd);
	}
	if (again->memory)
		munmap(again->memory, again->memory_bytes);
	if (again->extras[AGAIN_MEMORY] >= 0)
		close(again->extras[AGAIN_MEMORY]);
	free(again);
}

uint32_t again_ifindex(const struct again *again)
{
	return again->ifindex;
}

bool again_has_offloads(struct again *again)
{
	uint8_t expected = 1;

	return __atomic_compare_exchange_n(
		&again->offloads, &expected, 2, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

// True: it is in the mbuf.
static bool fill_mbuf(
	struct again_queue *queue, struct rte_mbuf *m, const void *frame, size_t length)
{
	char *to = length <= UINT16_MAX ? rte_pktmbuf_append(m, (uint16_t)length) : NULL;

	if (!to) {
		queue->in.errors++;
		rte_pktmbuf_free(m);
		return false;
	}
	memcpy(to, frame, length);
	queue->in.pkts++;
	queue->in.bytes += length;
	return true;
}

static uint16_t xdp_receive(
	const struct again *again, struct again_queue *queue, struct rte_mbuf **pkts, uint16_t n)
{
	uint32_t at = ring_own(queue->rx.consumer), put = ring_own(queue->fill.producer);
	uint32_t there = ring_read(queue->rx.producer) - at;
	struct rte_mbuf *fresh[64];
	uint16_t taken = 0;

	if (ring_own(queue->fill.flags) & XDP_RING_NEED_WAKEUP)
		recvfrom(queue->fd, NULL, 0, MSG_DONTWAIT, NULL, NULL);
	n = n > 64 ? 64 : n;
	n = there < n ? (uint16_t)there : n;
	if (!n)
		return 0;
	if (rte_pktmbuf_alloc_bulk(again->pool, fresh, n)) {
		queue->in.nombuf++;
		return 0;
	}
	for (uint16_t i = 0; i < n; i++) {
		const struct xdp_desc *desc = desc_at(&queue->rx, at + i);

		if (fill_mbuf(queue, fresh[i], queue->memory + desc->addr, desc->len))
			pkts[taken++] = fresh[i];
		*address_at(&queue->fill, put + i) = desc->addr / AGAIN_FRAME * AGAIN_FRAME;
	}
	ring_write(queue->rx.consumer, at + n);
	ring_write(queue->fill.producer, put + n);
	return taken;
}

static void reclaim(struct again_queue *queue)
{
	uint32_t at = ring_own(queue->completed.consumer);
	uint32_t end = ring_read(queue->completed.producer);

	for (; at != end; at++)
		queue->free[queue->n_free++] =
			(uint32_t)(*address_at(&queue->completed, at) / AGAIN_FRAME);
	ring_write(queue->completed.consumer, at);
}

static void kick(struct again_queue *queue)
{
	for (unsigned i = 0; i < KICKS && ring_own(queue->tx.flags) & XDP_RING_NEED_WAKEUP &&
			     ring_read(queue->tx.consumer) != ring_own(queue->tx.producer);
		i++) {
		if (sendto(queue->fd, NULL, 0, MSG_DONTWAIT, NULL, 0) < 0 && errno != EAGAIN &&
			errno != EBUSY && errno != EINTR)
			return;
		reclaim(queue);
	}
}

static void sent(struct tally *tally, const struct rte_mbuf *m)
{
	tally->pkts++;
	tally->bytes += m->pkt_len;
}

static uint16_t xdp_send(
	struct again_queue *queue, struct tally *tally, struct rte_mbuf **pkts, uint16_t n)
{
	uint32_t at = ring_own(queue->tx.producer);

	reclaim(queue);
	if (n > queue->n_free) { // what was left by an earlier burst
		kick(queue);
		n = n > queue->n_free ? (uint16_t)queue->n_free : n;
	}
	for (uint16_t i = 0; i < n; i++) {
		uint64_t frame = (uint64_t)queue->free[--queue->n_free] * AGAIN_FRAME;
		uint32_t length = RTE_MIN(pkts[i]->pkt_len, AGAIN_FRAME); // max_frame is below
		char *to = queue->memory + frame;
		const char *from = rte_pktmbuf_read(pkts[i], 0, length, to);

		if (from != to)
			memcpy(to, from, length);
		*desc_at(&queue->tx, at + i) = (struct xdp_desc){.addr = frame, .len = length};
		sent(tally, pkts[i]);
	}
	ring_write(queue->tx.producer, at + n);
	rte_pktmbuf_free_bulk(pkts, n);
	kick(queue);
	return n;
}

static void note_offloads(struct again *again)
{
	if (!__atomic_load_n(&again->offloads, __ATOMIC_RELAXED))
		__atomic_store_n(&again->offloads, 1, __ATOMIC_RELAXED);
}

// The kernel takes the outer tag off and tells it aside.
static bool read_aside(struct again *again, struct rte_mbuf **m, struct msghdr *message)
{
	struct tpacket_auxdata aside;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		if (c->cmsg_level != SOL_PACKET || c->cmsg_type != PACKET_AUXDATA)
			continue;
		memcpy(&aside, CMSG_DATA(c), sizeof(aside));
		if (unlikely(aside.tp_status & TP_STATUS_CSUMNOTREADY))
			note_offloads(again);
		if (!(aside.tp_status & TP_STATUS_VLAN_VALID))
			continue;
		char *front = rte_pktmbuf_prepend(*m, sizeof(struct rte_vlan_hdr));
		if (!front)
			return false;
		memmove(front, front + sizeof(struct rte_vlan_hdr), 2 * RTE_ETHER_ADDR_LEN);
		uint16_t type = aside.tp_status & TP_STATUS_VLAN_TPID_VALID ? aside.tp_vlan_tpid
									    : RTE_ETHER_TYPE_VLAN;
		uint16_t words[2] = {rte_cpu_to_be_16(type), rte_cpu_to_be_16(aside.tp_vlan_tci)};
		memcpy(front + 2 * RTE_ETHER_ADDR_LEN, words, sizeof(words));
	}
	return true;
}

// A datagram, or of a tap a frame; its length, 0: there is none, -1: it was of no use.
static ssize_t take_one(struct again *again, struct again_queue *queue, struct rte_mbuf **m)
{
	char aside[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
	char more; // of a tap's frame that does not fit, of which nobody would say so
	struct iovec iov[2] = {
		{rte_pktmbuf_mtod(*m, void *), rte_pktmbuf_tailroom(*m)}, {&more, 1}};
	struct msghdr message = {.msg_iov = iov,
		.msg_iovlen = 1,
		.msg_control = aside,
		.msg_controllen = sizeof(aside)};
	ssize_t n = again->kind == AGAIN_TAP ? readv(queue->fd, iov, 2)
					     : recvmsg(queue->fd, &message, MSG_DONTWAIT);

	if (n <= 0)
		return 0;
	if ((size_t)n > iov[0].iov_len) {
		queue->in.errors++;
		return -1;
	}
	(*m)->data_len = (uint16_t)n;
	(*m)->pkt_len = (uint32_t)n;
	if (again->kind != AGAIN_PACKET)
		return n;
	if (message.msg_flags & MSG_TRUNC)
		note_offloads(again);
	if (message.msg_flags & MSG_TRUNC || !read_aside(again, m, &message)) {
		queue->in.errors++;
		return -1;
	}
	return n;
}

static uint16_t socket_receive(
	struct again *again, struct again_queue *queue, struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t taken = 0;

	while (taken < n) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(again->pool);
		ssize_t length;

		if (!m) {
			queue->in.nombuf++;
			break;
		}
		length = take_one(again, queue, &m);
		if (length <= 0) {
			rte_pktmbuf_free(m);
			if (!length)
				break;
			continue;
		}
		queue->in.pkts++;
		queue->in.bytes += m->pkt_len;
		pkts[taken++] = m;
	}
	return taken;
}

// One that is refused for good is reported alone, when those before it have gone.
static uint16_t socket_send(int fd, struct tally *tally, struct rte_mbuf **pkts, uint16_t n)
{
	char frame[UINT16_MAX];
	uint16_t i = 0;

	for (; i < n; i++) {
		uint32_t length = RTE_MIN(pkts[i]->pkt_len, (uint32_t)sizeof(frame));
		const void *from = rte_pktmbuf_read(pkts[i], 0, length, frame);

		if (write(fd, from, length) >= 0) {
			sent(tally, pkts[i]);
			continue;
		}
		if (i || errno == EAGAIN || errno == ENOBUFS)
			break; // tried again in the next turn
		tally->errors++;
		return errno == EMSGSIZE ? TX_TOO_LONG : TX_LINK_LOST;
	}
	rte_pktmbuf_free_bulk(pkts, i);
	return i;
}

uint16_t again_receive(void *ctx, uint16_t index, struct rte_mbuf **pkts, uint16_t n)
{
	const struct port *port = ctx;
	struct again *again = __atomic_load_n(&port->again, __ATOMIC_ACQUIRE);

	if (index >= again->n)
		return 0;
	return again->kind == AGAIN_XDP ? xdp_receive(again, &again->queues[index], pkts, n)
					: socket_receive(again, &again->queues[index], pkts, n);
}

uint16_t again_transmit(void *ctx, uint16_t index, struct rte_mbuf **pkts, uint16_t n)
{
	const struct port *port = ctx;
	struct again *again = __atomic_load_n(&port->again, __ATOMIC_ACQUIRE);

	if (again->kind != AGAIN_XDP)
		return socket_send(again->queues[0].fd, &again->out[index], pkts, n);
	return index < again->n ? xdp_send(&again->queues[index], &again->out[index], pkts, n) : 0;
}

static uint64_t peek(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

void again_counters(const struct again *again, struct port_counters *out)
{
#define X(name, help) out->name += again->past.name;
	PORT_COUNTERS(X)
#undef X
	if (again->before)
		again_counters(again->before, out);
	for (unsigned i = 0; i < LCORES_MAX; i++) {
		out->tx_pkts += peek(&again->out[i].pkts);
		out->tx_bytes += peek(&again->out[i].bytes);
		out->tx_errors += peek(&again->out[i].errors);
	}
	for (unsigned i = 0; i < again->n; i++) {
		const struct again_queue *queue = &again->queues[i];
		struct xdp_statistics xdp = {0};
		socklen_t length = sizeof(xdp);

		out->rx_pkts += peek(&queue->in.pkts);
		out->rx_bytes += peek(&queue->in.bytes);
		out->rx_errors += peek(&queue->in.errors);
		out->rx_nombuf += peek(&queue->in.nombuf);
		if (again->kind == AGAIN_XDP &&
			getsockopt(queue->fd, SOL_XDP, XDP_STATISTICS, &xdp, &length) == 0)
			out->rx_missed += xdp.rx_dropped + xdp.rx_ring_full;
	}
}
