// SPDX-License-Identifier: BSD-3-Clause
// Builds segments of TCP, and ICMP errors from the packet that they answer.
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include "pipeline/wire/checksum.h"
#include "pipeline/wire/craft.h"

#define OUR_TTL          64
#define TIMESTAMP_OPTION 0x0101080au // two NOPs, kind 8, length 10 (RFC 7323 appendix A)
#define FRAME_LEAST      60          // without the frame check sequence

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

// Behind the type or length field at `at` of an Ethernet header: where the next one is; 0: none
// follows. Sets *is_length.
static uint32_t next_type(const uint8_t *l2, uint32_t length, uint32_t at, bool *is_length)
{
	uint16_t type = (uint16_t)(l2[at] << 8 | l2[at + 1]);
	uint32_t next = 0;

	*is_length = type < 0x0600;
	if (type == 0x8100 || type == 0x88a8 || type == 0x9100)
		next = at + 4;
	else if (*is_length) // SNAP
		next = at + 8;
	return next + 2 <= length ? next : 0;
}

// An IEEE 802.3 length counts what follows it, that of PPPoE the PPP protocol field and what
// follows (RFC 2516).
static void set_lengths(uint8_t *l2, uint32_t length, uint32_t l3_length)
{
	bool is_length;

	for (uint32_t at = 12, next; at && at + 2 <= length; at = next) {
		next = next_type(l2, length, at, &is_length);
		if (is_length)
			put16(l2 + at, length + l3_length - at - 2);
		else if (l2[at] == 0x88 && l2[at + 1] == 0x64 && at + 8 <= length)
			put16(l2 + at + 6, length + l3_length - at - 8);
	}
}

struct l2 {
	const uint8_t *bytes;
	uint16_t length;
	uint8_t link; // enum pkt_link
	bool pppoe;
};

// The L2 header, its lengths set, and room for l3_length bytes. Not every driver pads a short
// frame.
static uint8_t *put_l2(struct rte_mbuf *out, const struct l2 *l2, uint32_t l3_length)
{
	uint32_t length = l2->length + l3_length, padding = 0;

	if (l2->link == LINK_ETHERNET && length < FRAME_LEAST)
		padding = FRAME_LEAST - length;
	if (length + padding > rte_pktmbuf_tailroom(out))
		return NULL;
	uint8_t *frame = (uint8_t *)rte_pktmbuf_append(out, (uint16_t)(length + padding));

	if (!frame)
		return NULL;
	if (l2->length)
		memcpy(frame, l2->bytes, l2->length);
	memset(frame + length, 0, padding);
	if (l2->link == LINK_ETHERNET)
		set_lengths(frame, l2->length, l3_length);
	else if (l2->pppoe && l2->length >= 8)
		put16(frame + l2->length - 4, 2u + l3_length);
	return frame + l2->length;
}

// `source`, `destination`: v4-mapped for IPv4. Returns the header's length.
static uint32_t put_ip(uint8_t *ip, bool v6, const uint8_t *source, const uint8_t *destination,
	uint8_t proto, uint32_t l4_length, uint8_t ttl)
{
	if (v6) {
		memset(ip, 0, 8);
		ip[0] = 0x60;
		put16(ip + 4, l4_length);
		ip[6] = proto;
		ip[7] = ttl;
		memcpy(ip + 8, source, 16);
		memcpy(ip + 24, destination, 16);
		return 40;
	}
	memset(ip, 0, 12);
	ip[0] = 0x45;
	put16(ip + 2, 20 + l4_length);
	ip[6] = 0x40; // DF; with it the identification may be 0 (RFC 6864 section 4.1)
	ip[8] = ttl;
	ip[9] = proto;
	memcpy(ip + 12, source + 12, 4);
	memcpy(ip + 16, destination + 12, 4);
	return 20;
}

int craft_segment(struct rte_mbuf *out, const struct craft_segment *spec)
{
	const struct l2 l2 = {
		.bytes = spec->l2,
		.length = spec->l2_length,
		.link = spec->link,
		.pppoe = spec->pppoe,
	};
	uint32_t header = spec->stamped ? 32 : 20, length = header + spec->length;
	uint8_t *ip = put_l2(out, &l2, (spec->v6 ? 40 : 20) + length);

	if (!ip)
		return -EMSGSIZE;
	uint8_t *tcp = ip + put_ip(ip, spec->v6, spec->source, spec->destination, IPPROTO_TCP,
				    length, spec->ttl ? spec->ttl : OUR_TTL);

	put16(tcp, spec->sport);
	put16(tcp + 2, spec->dport);
	put32(tcp + 4, spec->seq);
	put32(tcp + 8, spec->tcp_flags & TH_ACK ? spec->ack : 0);
	tcp[12] = (uint8_t)(header / 4 << 4);
	tcp[13] = spec->tcp_flags;
	put16(tcp + 14, spec->window);
	memset(tcp + 16, 0, 4);
	if (spec->stamped) {
		put32(tcp + 20, TIMESTAMP_OPTION);
		put32(tcp + 24, spec->ts_value);
		put32(tcp + 28, spec->ts_echo);
	}
	if (spec->length)
		memcpy(tcp + header, spec->payload, spec->length);
	checksum_fill(ip, tcp, (uint16_t)length, IPPROTO_TCP, spec->v6);
	return 0;
}

#define L2_MAX 64

// What an answer to a packet needs: its L2 header turned round, and its addresses.
struct turned {
	uint8_t l2[L2_MAX];
	uint16_t l2_length;
	bool v6;
	uint8_t source[16]; // of the answer: the packet's destination
	uint8_t destination[16];
};

static void map_address(uint8_t out[16], const uint8_t *address, bool v6)
{
	if (v6) {
		memcpy(out, address, 16);
		return;
	}
	memset(out, 0, 10);
	out[10] = out[11] = 0xff;
	memcpy(out + 12, address, 4);
}

// One host elsewhere (RFC 1122 section 3.2.2, RFC 4443 section 2.4 e): not a group, not "this
// host", not loopback, not reserved.
static bool is_host(const uint8_t address[16], bool v6)
{
	static const uint8_t zero[15];

	if (v6)
		return address[0] != 0xff && (memcmp(address, zero, 15) || address[15] > 1);
	return address[12] && address[12] != 127 && address[12] < 224;
}

// Labels mean something to the router that they are sent to only (RFC 3031 section 3.1).
static bool has_labels(const uint8_t *l2, uint16_t length)
{
	bool is_length;

	for (uint32_t at = 12; at && at + 2u <= length;
		at = next_type(l2, length, at, &is_length)) {
		uint16_t type = (uint16_t)(l2[at] << 8 | l2[at + 1]);

		if (type == 0x8847 || type == 0x8848)
			return true;
	}
	return false;
}

static int turn(struct rte_mbuf *m, struct turned *turned)
{
	const struct pkt *pkt = pkt_of(m);
	uint8_t buffer[40];

	turned->v6 = pkt->flags & PKT_V6;
	turned->l2_length = pkt->l3_off;
	if (pkt->class != PKT_IP || !(pkt->flags & PKT_L4_OK) || pkt->l3_off > L2_MAX ||
		pkt->flags & (PKT_TUNNEL | PKT_FRAGMENT | PKT_MULTICAST | PKT_ICMP_ERROR))
		return -EINVAL;
	const uint8_t *l2 = rte_pktmbuf_read(m, 0, pkt->l3_off, turned->l2);
	const uint8_t *ip = rte_pktmbuf_read(m, pkt->l3_off, turned->v6 ? 40 : 20, buffer);

	if (!l2 || !ip)
		return -EINVAL;
	if (l2 != turned->l2)
		memcpy(turned->l2, l2, pkt->l3_off);
	if (pkt->link == LINK_ETHERNET) {
		uint8_t mac[6];

		memcpy(mac, turned->l2, 6);
		memcpy(turned->l2, turned->l2 + 6, 6);
		memcpy(turned->l2 + 6, mac, 6);
		if (has_labels(turned->l2, turned->l2_length))
			return -EINVAL;
	}
	map_address(turned->destination, ip + (turned->v6 ? 8 : 12), turned->v6);
	map_address(turned->source, ip + (turned->v6 ? 24 : 16), turned->v6);
	if (!is_host(turned->source, turned->v6) || !is_host(turned->destination, turned->v6))
		return -EINVAL;
	return 0;
}

int craft_l2_back(struct rte_mbuf *m, uint8_t *l2, uint16_t room, uint8_t *length)
{
	struct turned turned;
	int rc = turn(m, &turned);

	if (rc)
		return rc;
	if (turned.l2_length > room)
		return -EMSGSIZE;
	memcpy(l2, turned.l2, turned.l2_length);
	*length = (uint8_t)turned.l2_length;
	return 0;
}

int craft_reset_reply(struct rte_mbuf *out, struct rte_mbuf *m)
{
	const struct pkt *pkt = pkt_of(m);
	struct turned turned;

	if (pkt->l4_proto != IPPROTO_TCP || pkt->tcp_flags & TH_RST)
		return -EINVAL;
	int rc = turn(m, &turned);

	if (rc)
		return rc;
	bool has_ack = pkt->tcp_flags & TH_ACK;
	struct craft_segment spec = {
		.l2 = turned.l2,
		.l2_length = (uint8_t)turned.l2_length,
		.link = pkt->link,
		.pppoe = pkt->flags & PKT_PPPOE,
		.v6 = turned.v6,
		.sport = pkt->dport,
		.dport = pkt->sport,
		.seq = has_ack ? pkt->tcp_ack : 0,
		.ack = pkt->tcp_seq + pkt->payload_len + !!(pkt->tcp_flags & TH_SYN) +
		       !!(pkt->tcp_flags & TH_FIN),
		.tcp_flags = (uint8_t)(has_ack ? TH_RST : TH_RST | TH_ACK),
		.ttl = OUR_TTL,
	};

	memcpy(spec.source, turned.source, 16);
	memcpy(spec.destination, turned.destination, 16);
	return craft_segment(out, &spec);
}

int craft_unreachable(struct rte_mbuf *out, struct rte_mbuf *m)
{
	const struct pkt *pkt = pkt_of(m);
	struct turned turned;

	if (pkt->l4_proto == IPPROTO_ICMP || pkt->l4_proto == IPPROTO_ICMPV6)
		return -EINVAL;
	int rc = turn(m, &turned);

	if (rc)
		return rc;
	uint32_t headers = (turned.v6 ? 40 : 20) + 8, limit = turned.v6 ? 1280 : 576;
	uint32_t quote = (uint32_t)(pkt->payload_off - pkt->l3_off) + pkt->payload_len;
	uint32_t room = rte_pktmbuf_tailroom(out);

	// RFC 792: the header and 8 bytes are the least to be quoted
	if (room < turned.l2_length + headers + (uint32_t)(pkt->l4_off - pkt->l3_off) + 8)
		return -EMSGSIZE;
	room -= turned.l2_length;
	limit = limit < room ? limit : room;
	if (quote > limit - headers)
		quote = limit - headers;
	uint8_t buffer[1280];
	const uint8_t *quoted = rte_pktmbuf_read(m, pkt->l3_off, quote, buffer);

	if (!quoted)
		return -EINVAL;
	const struct l2 l2 = {
		.bytes = turned.l2,
		.length = turned.l2_length,
		.link = pkt->link,
		.pppoe = pkt->flags & PKT_PPPOE,
	};
	uint8_t *ip = put_l2(out, &l2, headers + quote);

	if (!ip)
		return -EMSGSIZE;
	uint8_t proto = turned.v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP;
	uint8_t *icmp = ip + put_ip(ip, turned.v6, turned.source, turned.destination, proto,
				     8 + quote, OUR_TTL);

	memset(icmp, 0, 8);
	icmp[0] = turned.v6 ? 1 : 3;
	icmp[1] = turned.v6 ? 4 : 3;
	memcpy(icmp + 8, quoted, quote);
	checksum_fill(ip, icmp, (uint16_t)(8 + quote), proto, turned.v6);
	return 0;
}
