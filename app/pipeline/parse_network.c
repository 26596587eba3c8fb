// SPDX-License-Identifier: BSD-3-Clause
// IP, its extension headers, and the tunnels inside (RFC 791, 8200, 2784, 2890, 2003, 4213, 2473).
#include <netinet/in.h>
#include <string.h>
#include "parse_layers.h"

#define EXTENSIONS_MAX 8
#define TUNNELS_MAX    2

static uint16_t be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)be16(p) << 16 | be16(p + 2);
}

static bool have(const struct cursor *c, uint32_t n)
{
	return c->length - c->offset >= n;
}

// One IP header, up to and with its extension headers.
struct network {
	uint32_t end; // of the datagram in the frame, by its own length; never beyond the frame
	uint8_t proto;
	bool later; // a fragment without the L4 header
};

static enum pkt_class parse_ipv4(struct pkt *pkt, struct cursor *c, struct network *net)
{
	if (!have(c, 20))
		return PKT_MALFORMED;
	const uint8_t *ip = c->bytes + c->offset;
	uint32_t header = (uint32_t)(ip[0] & 15) * 4, total = be16(ip + 2);
	uint16_t fragment = be16(ip + 6);

	if (ip[0] >> 4 != 4 || header < 20 || (total && total < header))
		return PKT_MALFORMED;
	if (!have(c, header))
		return c->frame_length - c->offset < header ? PKT_MALFORMED : PKT_UNSUPPORTED;
	// 0: segmentation offload left it to the driver (seen in captures only)
	net->end = total ? c->offset + total : c->frame_length;
	net->proto = ip[9];
	pkt->ttl = ip[8];
	if (fragment & 0x3fff)
		pkt->flags |= PKT_FRAGMENT;
	if (!(fragment & 0x1fff))
		pkt->flags |= fragment & 0x2000 ? PKT_FRAG_FIRST : 0;
	else
		net->later = true;
	c->offset += header;
	return PKT_IP;
}

static enum pkt_class parse_extension(struct pkt *pkt, struct cursor *c, struct network *net)
{
	const uint8_t *p = c->bytes + c->offset;
	uint32_t length;

	if (!have(c, 8))
		return c->frame_length - c->offset < 8 ? PKT_MALFORMED : PKT_UNSUPPORTED;
	if (net->proto == IPPROTO_FRAGMENT) {
		uint16_t word = be16(p + 2);

		length = 8;
		if (word & 0xfff9) { // else atomic: not a fragment (RFC 6946)
			pkt->flags |= PKT_FRAGMENT;
			if (word & 0xfff8)
				net->later = true;
			else
				pkt->flags |= PKT_FRAG_FIRST;
		}
	} else if (net->proto == IPPROTO_AH) {
		length = (uint32_t)(p[1] + 2) * 4;
	} else {
		length = (uint32_t)(p[1] + 1) * 8;
	}
	if (c->frame_length - c->offset < length)
		return PKT_MALFORMED;
	if (!have(c, length))
		return PKT_UNSUPPORTED;
	net->proto = p[0];
	c->offset += length;
	return PKT_IP;
}

static bool is_extension(uint8_t proto)
{
	return proto == IPPROTO_HOPOPTS || proto == IPPROTO_ROUTING || proto == IPPROTO_DSTOPTS ||
	       proto == IPPROTO_FRAGMENT || proto == IPPROTO_AH;
}

static enum pkt_class parse_ipv6(struct pkt *pkt, struct cursor *c, struct network *net)
{
	if (!have(c, 40))
		return PKT_MALFORMED;
	const uint8_t *ip = c->bytes + c->offset;
	uint32_t payload = be16(ip + 4);

	if (ip[0] >> 4 != 6)
		return PKT_MALFORMED;
	net->proto = ip[6];
	pkt->ttl = ip[7];
	c->offset += 40;
	// 0 is a jumbogram (RFC 2675), or offload as above
	net->end = payload ? c->offset + payload : c->frame_length;
	for (unsigned n = 0; is_extension(net->proto) && !net->later; n++) {
		if (n == EXTENSIONS_MAX)
			return PKT_UNSUPPORTED;
		enum pkt_class class = parse_extension(pkt, c, net);

		if (class != PKT_IP)
			return class;
		if (c->offset > net->end)
			return PKT_MALFORMED;
	}
	return PKT_IP;
}

static enum pkt_class parse_tcp(struct pkt *pkt, const uint8_t *p, uint32_t room)
{
	uint32_t header;

	if (room < 20)
		return PKT_MALFORMED;
	header = (uint32_t)(p[12] >> 4) * 4;
	if (header < 20 || header > room)
		return PKT_MALFORMED;
	pkt->sport = be16(p);
	pkt->dport = be16(p + 2);
	pkt->tcp_seq = be32(p + 4);
	pkt->tcp_ack = be32(p + 8);
	pkt->tcp_flags = p[13];
	pkt->tcp_win = be16(p + 14);
	pkt->payload_off = (uint16_t)(pkt->l4_off + header);
	pkt->payload_len = (uint16_t)(room - header);
	pkt->flags |= PKT_L4_OK;
	return PKT_IP;
}

static enum pkt_class parse_udp(struct pkt *pkt, const uint8_t *p, uint32_t room, bool whole)
{
	if (room < 8)
		return PKT_MALFORMED;
	uint32_t length = be16(p + 4);

	// in a first fragment, and in a frame that was cut, the datagram is longer than what is
	// here
	if (length < 8 || (length > room && whole))
		return PKT_MALFORMED;
	pkt->sport = be16(p);
	pkt->dport = be16(p + 2);
	pkt->payload_off = (uint16_t)(pkt->l4_off + 8);
	pkt->payload_len = (uint16_t)((length < room ? length : room) - 8);
	pkt->flags |= PKT_L4_OK;
	return PKT_IP;
}

// Types that come in pairs share a flow; their "ports" are each other's type (Community ID v1).
static uint8_t icmp_counterpart(uint8_t proto, uint8_t type, bool *paired)
{
	*paired = true;
	if (proto == IPPROTO_ICMP) {
		switch (type) {
		case 0: return 8;
		case 8: return 0;
		case 9: return 10;
		case 10: return 9;
		case 13:
		case 15:
		case 17: return (uint8_t)(type + 1);
		case 14:
		case 16:
		case 18: return (uint8_t)(type - 1);
		}
	} else {
		switch (type) {
		case 128:
		case 130:
		case 133:
		case 135:
		case 139:
		case 144: return (uint8_t)(type + 1);
		case 129:
		case 131:
		case 134:
		case 136:
		case 140:
		case 145: return (uint8_t)(type - 1);
		}
	}
	*paired = false;
	return 0;
}

static bool icmp_is_error(uint8_t proto, uint8_t type)
{
	if (proto == IPPROTO_ICMPV6)
		return type >= 1 && type <= 4;
	return type == 3 || type == 4 || type == 5 || type == 11 || type == 12;
}

// The embedded packet of an ICMP error, if its addresses and ports can be read.
static void find_embedded(struct pkt *pkt, const uint8_t *p, uint32_t room)
{
	bool v6 = pkt->l4_proto == IPPROTO_ICMPV6;
	uint32_t header;
	uint8_t proto;

	if (room < 8 + (v6 ? 40u : 20u))
		return;
	p += 8;
	room -= 8;
	if (v6) {
		header = 40;
		proto = p[6];
	} else {
		header = (uint32_t)(p[0] & 15) * 4;
		proto = p[9];
		if (be16(p + 6) & 0x1fff)
			return;
	}
	if (p[0] >> 4 != (v6 ? 6 : 4) || header < 20 || room < header + 4)
		return;
	if (proto != IPPROTO_TCP && proto != IPPROTO_UDP && proto != IPPROTO_SCTP)
		return;
	pkt->emb_off = (uint16_t)(pkt->l4_off + 8);
	pkt->flags |= PKT_ICMP_ERROR;
}

static enum pkt_class parse_icmp(struct pkt *pkt, const uint8_t *p, uint32_t room)
{
	bool paired;

	if (room < 4)
		return PKT_MALFORMED;
	uint8_t other = icmp_counterpart(pkt->l4_proto, p[0], &paired);

	pkt->sport = p[0];
	pkt->dport = paired ? other : p[1];
	pkt->payload_off = (uint16_t)(pkt->l4_off + 4);
	pkt->payload_len = (uint16_t)(room - 4);
	pkt->flags |= PKT_L4_OK;
	if (icmp_is_error(pkt->l4_proto, p[0]))
		find_embedded(pkt, p, room);
	return PKT_IP;
}

static enum pkt_class parse_transport(
	struct pkt *pkt, const struct cursor *c, const struct network *net)
{
	uint32_t end = net->end < c->frame_length ? net->end : c->frame_length;
	bool whole = net->end <= c->frame_length && !(pkt->flags & PKT_FRAGMENT);
	uint32_t room = end > c->offset ? end - c->offset : 0;
	uint32_t readable = c->length - c->offset < room ? c->length - c->offset : room;
	const uint8_t *p = c->bytes + c->offset;

	pkt->l4_off = (uint16_t)c->offset;
	if (net->later)
		return PKT_IP;
	// the longest header that is read below is TCP's, 60 bytes, and an embedded packet's
	if (readable < room && readable < 128)
		return PKT_UNSUPPORTED;
	switch (net->proto) {
	case IPPROTO_TCP: return parse_tcp(pkt, p, room);
	case IPPROTO_UDP: return parse_udp(pkt, p, room, whole);
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6: return parse_icmp(pkt, p, room);
	case IPPROTO_SCTP:
		if (room < 12)
			return PKT_MALFORMED;
		pkt->sport = be16(p);
		pkt->dport = be16(p + 2);
		pkt->payload_off = (uint16_t)(c->offset + 12);
		pkt->payload_len = (uint16_t)(room - 12);
		pkt->flags |= PKT_L4_OK;
		return PKT_IP;
	default:
		pkt->payload_off = (uint16_t)c->offset;
		pkt->payload_len = (uint16_t)room;
		return PKT_IP;
	}
}

// Both directions of a tunnel have one tag: it is made from the sum of the addresses.
static uint8_t tunnel_tag(const uint8_t *ip, bool v6)
{
	uint32_t sum = 0;
	unsigned first = v6 ? 8 : 12, last = v6 ? 40 : 20;

	for (unsigned i = first; i < last; i += 4)
		sum += be32(ip + i);
	sum ^= sum >> 16;
	return (uint8_t)(1 + (sum ^ sum >> 8) % 255);
}

// Does a header of this protocol hold a packet that we follow? Moves to it and sets the family.
static bool enter_tunnel(struct cursor *c, const struct network *net, bool *v6)
{
	if (net->proto == IPPROTO_IPIP || net->proto == IPPROTO_IPV6) {
		*v6 = net->proto == IPPROTO_IPV6;
		return have(c, 1);
	}
	if (net->proto != IPPROTO_GRE || !have(c, 4))
		return false;
	uint16_t flags = be16(c->bytes + c->offset), type = be16(c->bytes + c->offset + 2);
	uint32_t header = 4;

	for (uint16_t option = 0x8000; option >= 0x1000; option >>= 1) // C, (R), K, S
		header += flags & option ? 4u : 0u;

	// version 0 without source routing (RFC 2784); PPTP is version 1
	if (flags & 0x4007 || (type != TYPE_IPV4 && type != TYPE_IPV6) || !have(c, header + 1))
		return false;
	c->offset += header;
	*v6 = type == TYPE_IPV6;
	return true;
}

enum pkt_class parse_network(struct pkt *pkt, struct cursor *c)
{
	bool v6 = pkt->ethertype == TYPE_IPV6;

	pkt->outer_l3_off = (uint16_t)c->offset;
	for (;;) {
		struct network net = {0};
		const uint8_t *ip = c->bytes + c->offset;

		pkt->l3_off = (uint16_t)c->offset;
		pkt->flags &= (uint16_t)~PKT_V6;
		pkt->flags |= v6 ? PKT_V6 : 0;
		enum pkt_class class = v6 ? parse_ipv6(pkt, c, &net) : parse_ipv4(pkt, c, &net);

		if (class != PKT_IP)
			return class;
		pkt->l4_proto = net.proto;
		bool inner_v6 = false;

		if (pkt->flags & PKT_FRAGMENT || !enter_tunnel(c, &net, &inner_v6))
			return parse_transport(pkt, c, &net);
		if (pkt->tunnel_depth == TUNNELS_MAX)
			return PKT_UNSUPPORTED;
		pkt->tunnel_depth++;
		pkt->tunnel_tag = tunnel_tag(ip, v6);
		pkt->flags |= PKT_TUNNEL;
		pkt->ethertype = inner_v6 ? TYPE_IPV6 : TYPE_IPV4;
		v6 = inner_v6;
	}
}
