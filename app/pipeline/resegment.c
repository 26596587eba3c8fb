// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include "checksum.h"
#include "resegment.h"

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

// The TCP header, if all of it lies in the first segment.
static uint8_t *header_of(const struct rte_mbuf *m, const struct pkt *pkt)
{
	if (pkt->payload_off > m->data_len || pkt->payload_off < pkt->l4_off + 20)
		return NULL;
	return rte_pktmbuf_mtod_offset(m, uint8_t *, pkt->l4_off);
}

// The option of a kind, of at least `least` bytes with its head; NULL: it has none, or what comes
// before cannot be read.
static uint8_t *option_of(uint8_t *tcp, uint32_t length, uint8_t kind, uint8_t least)
{
	for (uint32_t at = 20; at < length;) {
		if (tcp[at] == OPTION_END)
			return NULL;
		if (tcp[at] == OPTION_NOP) {
			at++;
			continue;
		}
		if (at + 2 > length || tcp[at + 1] < 2 || at + tcp[at + 1] > length)
			return NULL;
		if (tcp[at] == kind)
			return tcp[at + 1] >= least ? tcp + at : NULL;
		at += tcp[at + 1];
	}
	return NULL;
}

struct segment_times segment_times(const struct rte_mbuf *m, const struct pkt *pkt)
{
	uint8_t *tcp = header_of(m, pkt);

	if (!tcp)
		return (struct segment_times){0};
	uint8_t *option =
		option_of(tcp, (uint32_t)(pkt->payload_off - pkt->l4_off), OPTION_TIME, 10);

	if (!option)
		return (struct segment_times){0};
	return (struct segment_times){
		.present = true,
		.value = get32(option + 2),
		.echo = get32(option + 6),
	};
}

uint8_t segment_scale(const struct rte_mbuf *m, const struct pkt *pkt)
{
	uint8_t *tcp = header_of(m, pkt);

	if (!tcp)
		return WINDOW_SCALE_MAX;
	const uint8_t *option =
		option_of(tcp, (uint32_t)(pkt->payload_off - pkt->l4_off), OPTION_SCALE, 3);

	if (!option)
		return WINDOW_SCALE_NONE;
	return (uint8_t)RTE_MIN(option[2], WINDOW_SCALE_MAX);
}

static bool is_whole(const struct rte_mbuf *m, const struct pkt *pkt)
{
	return m->nb_segs == 1 && pkt->payload_off + pkt->payload_len <= m->data_len;
}

void segment_rewritten(struct rte_mbuf *m)
{
	const struct pkt *pkt = pkt_of(m);

	if (header_of(m, pkt))
		checksum_fill_tcp(m);
}

void segment_refresh(struct rte_mbuf *m, const struct segment_newest *newest)
{
	struct pkt *pkt = pkt_of(m);
	uint8_t *tcp = header_of(m, pkt);

	if (!tcp || !(pkt->tcp_flags & TH_ACK))
		return;
	uint32_t length = (uint32_t)(pkt->payload_off - pkt->l4_off);
	bool changed = pkt->tcp_ack != newest->ack || pkt->tcp_win != newest->window;

	if (pkt->tcp_ack != newest->ack) {
		uint8_t *sack = option_of(tcp, length, OPTION_SACK, 2);

		if (sack)
			memset(sack, OPTION_NOP, sack[1]);
	}
	put32(tcp + 8, newest->ack);
	put16(tcp + 14, newest->window);
	pkt->tcp_ack = newest->ack;
	pkt->tcp_win = newest->window;
	uint8_t *times = option_of(tcp, length, OPTION_TIME, 10);

	if (times && (get32(times + 2) != newest->value || get32(times + 6) != newest->echo)) {
		put32(times + 2, newest->value);
		put32(times + 6, newest->echo);
		changed = true;
	}
	if (changed)
		checksum_fill_tcp(m);
}

int segment_ack(struct rte_mbuf *out, const struct rte_mbuf *m, uint32_t seq)
{
	const struct pkt *pkt = pkt_of((struct rte_mbuf *)(uintptr_t)m);
	uint32_t length = pkt->payload_off;

	if (!header_of(m, pkt) || pkt->flags & PKT_TUNNEL || !is_whole(m, pkt))
		return -EINVAL;
	uint32_t padding =
		pkt->link == LINK_ETHERNET && length < FRAME_LEAST ? FRAME_LEAST - length : 0;

	if (length + padding > rte_pktmbuf_tailroom(out))
		return -EMSGSIZE;
	uint8_t *frame = (uint8_t *)rte_pktmbuf_append(out, (uint16_t)(length + padding));

	if (!frame)
		return -EMSGSIZE;
	memcpy(frame, rte_pktmbuf_mtod(m, const uint8_t *), length);
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
