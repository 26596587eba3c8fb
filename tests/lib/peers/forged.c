// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "pipeline/wire/checksum.h"
#include "forged.h"

const char *const forged_words[FORGED_KINDS_MAX] = {
#define X(symbol, words) words,
	FORGED_KINDS(X)
#undef X
};

const char *const forged_sources[FORGED_SOURCES_MAX] = {
	"random sources", "one /64", "the victim's address"};

static uint64_t random_state = 0x9e3779b97f4a7c15;

uint32_t forged_random(void)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return (uint32_t)(random_state * 0x2545f4914f6cdd1d >> 32);
}

static uint16_t payload_of(enum forged_kind kind, uint8_t *out)
{
	static const char dht[] = "d1:ad2:id20:abcdefghij01234567896:target20:mnopqrstuvwxyz123456"
				  "e1:q9:find_node1:t2:aa1:y1:qe";

	switch (kind) {
	case FORGED_SYN_DATA: memcpy(out, "GET / HTTP/1.1\r\n", 16); return 16;
	case FORGED_UDP_DHT: memcpy(out, dht, sizeof(dht) - 1); return sizeof(dht) - 1;
	case FORGED_UDP_QUIC:
		memset(out, 0x5a, 1200);
		out[0] = 0xc3; // a long header, Initial, version 1
		memcpy(out + 1, "\0\0\0\1\x08", 5);
		memset(out + 6, (int)forged_random(), 8);
		memcpy(out + 14, "\0\0\x44\x9e", 4); // no SCID, no token, the length
		return 1200;
	case FORGED_FRAGMENT: memset(out, 'f', 32); return 32;
	case FORGED_ONE_BYTE:
	case FORGED_UDP_ONE: out[0] = 'x'; return 1;
	default: return 0;
	}
}

static uint8_t proto_of(enum forged_kind kind)
{
	if (kind == FORGED_ICMP)
		return IPPROTO_ICMP;
	return kind >= FORGED_UDP_ONE && kind <= FORGED_FRAGMENT ? IPPROTO_UDP : IPPROTO_TCP;
}

static uint8_t flags_of(enum forged_kind kind)
{
	if (kind == FORGED_SYN || kind == FORGED_SYN_DATA)
		return TH_SYN;
	return kind == FORGED_SYN_ACK ? TH_SYN | TH_ACK : TH_ACK;
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

static unsigned put_l4(uint8_t *l4, enum forged_kind kind)
{
	uint8_t proto = proto_of(kind);
	unsigned header = proto == IPPROTO_TCP ? 20 : 8;
	uint16_t length = payload_of(kind, l4 + header);

	memset(l4, 0, header);
	if (proto == IPPROTO_ICMP) {
		l4[0] = 8;
		put32(l4 + 4, forged_random());
		return header;
	}
	put16(l4, 1024 + forged_random() % 60000);
	put16(l4 + 2, kind == FORGED_UDP_QUIC ? 443 : 1024 + forged_random() % 60000);
	if (proto == IPPROTO_UDP) {
		put16(l4 + 4, header + length);
	} else {
		put32(l4 + 4, forged_random());
		put32(l4 + 8, forged_random());
		l4[12] = 5 << 4;
		l4[13] = flags_of(kind);
		put16(l4 + 14, 65000);
	}
	return header + length;
}

// The other end: any address of the side that the packet goes to.
static unsigned put_ip4(uint8_t *ip, enum forged_kind kind, uint32_t source, bool from_outside)
{
	uint32_t towards = from_outside ? 0x0a000000 : 0xc6000000;
	unsigned length = put_l4(ip + 20, kind);

	memset(ip, 0, 20);
	ip[0] = 0x45;
	put16(ip + 2, 20 + length);
	put16(ip + 4, forged_random());
	if (kind == FORGED_FRAGMENT)
		put16(ip + 6, 0x2000 | (1 + forged_random() % 1000));
	ip[8] = 60;
	ip[9] = proto_of(kind);
	put32(ip + 12, source);
	put32(ip + 16, towards + (forged_random() & 0xffffff));
	checksum_fill(ip, ip + 20, (uint16_t)length,
		kind == FORGED_FRAGMENT ? IPPROTO_NONE : proto_of(kind), false);
	return 20 + length;
}

static unsigned put_ip6(uint8_t *ip, enum forged_kind kind)
{
	uint8_t proto = kind == FORGED_ICMP ? IPPROTO_ICMPV6 : proto_of(kind);
	unsigned extra = kind == FORGED_FRAGMENT ? 8 : 0, length = put_l4(ip + 40 + extra, kind);
	uint8_t *l4 = ip + 40 + extra;

	memset(ip, 0, 40 + extra);
	ip[0] = 0x60;
	put16(ip + 4, extra + length);
	ip[6] = extra ? IPPROTO_FRAGMENT : proto;
	ip[7] = 60;
	memcpy(ip + 8, "\x20\x01\x0d\xb8\0\1\0\1", 8);
	put32(ip + 16, forged_random());
	put32(ip + 20, forged_random());
	memcpy(ip + 24, "\x20\x01\x0d\xb8\0\2", 6);
	put32(ip + 36, forged_random());
	if (kind == FORGED_ICMP)
		l4[0] = 128;
	if (extra) {
		ip[40] = proto;
		put16(ip + 42, (1 + forged_random() % 1000) << 3 | 1);
		put32(ip + 44, forged_random());
		memset(l4, 'f', length); // of the middle of a datagram
	} else {
		checksum_fill(ip, l4, (uint16_t)length, proto, true);
	}
	return 40 + extra + length;
}

void forged_run(
	struct pipe *pipe, enum forged_kind kind, enum forged_source source, bool from_outside)
{
	static const uint8_t ether[12] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1};
	struct lcore *lcore = pipe->dp.lcores[0];
	struct rte_mbuf *m = rte_pktmbuf_alloc(pipe->pool);
	bool v6 = source == FORGED_ONE_64;

	assert_non_null(m);
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);

	memcpy(frame, ether, sizeof(ether));
	put16(frame + 12, v6 ? 0x86dd : 0x0800);
	uint32_t address = source == FORGED_VICTIM ? 0x0a000000 + FORGED_VICTIM_CLIENT
						   : 0x10000000 + (forged_random() & 0x1fffffff);
	unsigned length =
		v6 ? put_ip6(frame + 14, kind)
		   : put_ip4(frame + 14, kind, address, from_outside && source != FORGED_VICTIM);

	m->data_len = (uint16_t)(14 + length);
	m->pkt_len = 14 + length;
	pipeline_receive(lcore, m, from_outside ? PIPE_OUTSIDE : PIPE_INSIDE, LINK_ETHERNET,
		pipe->now_ns, 0);
	pipeline_run(lcore, &m, 1, pipe->now_ns);
}
