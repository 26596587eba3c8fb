// SPDX-License-Identifier: BSD-3-Clause
// Writes back what reassembly changed in a TCP segment, and builds ACKs in place of held ones.
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include "pipeline/wire/checksum.h"
#include "pipeline/wire/resegment.h"

#define OPTION_END   0
#define OPTION_NOP   1
#define OPTION_SCALE 3
#define OPTION_SACK  5
#define OPTION_TIME  8

#define FRAME_LEAST 60 // without the frame check sequence

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v);
}

#define TCP_HEADER_MAX 60

// The TCP header, in `room` if it lies in several segments; NULL: there is none.
static const uint8_t *header_of(const struct rte_mbuf *m, const struct pkt *pkt, uint8_t *room)
{
	if (pkt->payload_off < pkt->l4_off + 20 || pkt->payload_off - pkt->l4_off > TCP_HEADER_MAX)
		return NULL;
	return rte_pktmbuf_read(m, pkt->l4_off, (uint32_t)(pkt->payload_off - pkt->l4_off), room);
}

static void write_back(struct rte_mbuf *m, uint32_t offset, const uint8_t *bytes, uint32_t length)
{
	for (; m && length; m = m->next) {
		if (offset >= m->data_len) {
			offset -= m->data_len;
			continue;
		}
		uint32_t here = RTE_MIN(length, m->data_len - offset);

		memcpy(rte_pktmbuf_mtod_offset(m, uint8_t *, offset), bytes, here);
		bytes += here;
		length -= here;
		offset = 0;
	}
}

// Where the option of a kind is, of at least `least` bytes with its head; 0: it has none, or what
// comes before cannot be read.
static uint32_t option_at(const uint8_t *tcp, uint32_t length, uint8_t kind, uint8_t least)
{
	for (uint32_t at = 20; at < length;) {
		if (tcp[at] == OPTION_END)
			return 0;
		if (tcp[at] == OPTION_NOP) {
			at++;
			continue;
		}
		if (at + 2 > length || tcp[at + 1] < 2 || at + tcp[at + 1] > length)
			return 0;
		if (tcp[at] == kind)
			return tcp[at + 1] >= least ? at : 0;
		at += tcp[at + 1];
	}
	return 0;
}

struct segment_times segment_times(const struct rte_mbuf *m, const struct pkt *pkt)
{
	uint8_t room[TCP_HEADER_MAX];
	const uint8_t *tcp = header_of(m, pkt, room);

	if (!tcp)
		return (struct segment_times){0};
	uint32_t at = option_at(tcp, (uint32_t)(pkt->payload_off - pkt->l4_off), OPTION_TIME, 10);

	if (!at)
		return (struct segment_times){0};
	return (struct segment_times){
		.present = true,
		.value = get32(tcp + at + 2),
		.echo = get32(tcp + at + 6),
	};
}

uint8_t segment_scale(const struct rte_mbuf *m, const struct pkt *pkt)
{
	uint8_t room[TCP_HEADER_MAX];
	const uint8_t *tcp = header_of(m, pkt, room);

	if (!tcp)
		return WINDOW_SCALE_MAX;
	uint32_t at = option_at(tcp, (uint32_t)(pkt->payload_off - pkt->l4_off), OPTION_SCALE, 3);

	if (!at)
		return WINDOW_SCALE_NONE;
	return (uint8_t)RTE_MIN(tcp[at + 2], WINDOW_SCALE_MAX);
}

void segment_rewritten(struct rte_mbuf *m)
{
	checksum_fill_tcp(m);
}

void segment_refresh(struct rte_mbuf *m, const struct segment_newest *newest)
{
	struct pkt *pkt = pkt_of(m);
	uint8_t tcp[TCP_HEADER_MAX];
	const uint8_t *there = header_of(m, pkt, tcp);

	if (!there || !(pkt->tcp_flags & TH_ACK))
		return;
	uint32_t length = (uint32_t)(pkt->payload_off - pkt->l4_off);
	bool changed = pkt->tcp_ack != newest->ack || pkt->tcp_win != newest->window;

	if (there != tcp)
		memcpy(tcp, there, length);
	if (pkt->tcp_ack != newest->ack) {
		uint32_t sack = option_at(tcp, length, OPTION_SACK, 2);

		if (sack)
			memset(tcp + sack, OPTION_NOP, tcp[sack + 1]);
	}
	put32(tcp + 8, newest->ack);
	put16(tcp + 14, newest->window);
	pkt->tcp_ack = newest->ack;
	pkt->tcp_win = newest->window;
	uint32_t at = option_at(tcp, length, OPTION_TIME, 10);
	const uint8_t *times = tcp + at;

	if (at && newest->stamped &&
		(get32(times + 2) != newest->value || get32(times + 6) != newest->echo)) {
		put32(tcp + at + 2, newest->value);
		put32(tcp + at + 6, newest->echo);
		changed = true;
	}
	if (!changed)
		return;
	write_back(m, pkt->l4_off, tcp, length);
	checksum_fill_tcp(m);
}

int segment_ack(struct rte_mbuf *out, const struct rte_mbuf *m, uint32_t seq)
{
	const struct pkt *pkt = pkt_of((struct rte_mbuf *)(uintptr_t)m);
	uint32_t length = pkt->payload_off;

	if (length < pkt->l4_off + 20u || pkt->flags & PKT_TUNNEL)
		return -EINVAL;
	uint32_t padding =
		pkt->link == LINK_ETHERNET && length < FRAME_LEAST ? FRAME_LEAST - length : 0;

	if (length + padding > rte_pktmbuf_tailroom(out))
		return -EMSGSIZE;
	uint8_t *frame = (uint8_t *)rte_pktmbuf_append(out, (uint16_t)(length + padding));

	if (!frame)
		return -EMSGSIZE;
	const void *headers = rte_pktmbuf_read(m, 0, length, frame);

	if (!headers)
		return -EMSGSIZE;
	if (headers != frame)
		memcpy(frame, headers, length);
	memset(frame + length, 0, padding);
	uint8_t *l3 = frame + pkt->l3_off, *tcp = frame + pkt->l4_off;
	bool v6 = pkt->flags & PKT_V6;
	uint16_t tcp_length = (uint16_t)(pkt->payload_off - pkt->l4_off);

	if (v6)
		put16(l3 + 4, length - pkt->l3_off - 40u);
	else
		put16(l3 + 2, length - pkt->l3_off);
	if (pkt->flags & PKT_PPPOE)
		put16(l3 - 4, 2u + length - pkt->l3_off);
	put32(tcp + 4, seq);
	tcp[13] = TH_ACK;
	memset(tcp + 18, 0, 2); // no urgent pointer
	checksum_fill(l3, tcp, tcp_length, IPPROTO_TCP, v6);
	return 0;
}
