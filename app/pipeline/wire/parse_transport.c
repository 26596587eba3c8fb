// SPDX-License-Identifier: BSD-3-Clause
// L4 headers (RFC 9293, 768, 792, 4443, 9260) and the packet inside an ICMP error.
#include <netinet/in.h>
#include "pipeline/wire/parse_layers.h"

static enum pkt_class parse_tcp(struct pkt *pkt, const struct cursor *c)
{
	const uint8_t *p = cursor_here(c);
	uint32_t room = c->end - c->at, header = (uint32_t)(p[12] >> 4) * 4;

	if (header < 20 || header > room)
		return PKT_MALFORMED;
	pkt->tcp_seq = be32(p + 4);
	pkt->tcp_ack = be32(p + 8);
	pkt->tcp_flags = p[13];
	pkt->tcp_win = be16(p + 14);
	pkt->payload_off = (uint16_t)(c->at + header);
	pkt->payload_len = (uint16_t)(room - header);
	return PKT_IP;
}

static enum pkt_class parse_udp(struct pkt *pkt, const struct cursor *c)
{
	uint32_t room = c->end - c->at, length = be16(cursor_here(c) + 4);
	bool rest_elsewhere = c->cut || pkt->flags & PKT_FRAGMENT;

	if (!length && pkt->flags & PKT_V6)
		length = room; // hosts take it for that of a jumbogram (RFC 2675 section 4)
	if (length < 8 || (length > room && !rest_elsewhere))
		return PKT_MALFORMED;
	pkt->payload_off = (uint16_t)(c->at + 8);
	pkt->payload_len = (uint16_t)((length < room ? length : room) - 8);
	return PKT_IP;
}

// Types that come in pairs share a flow; their "ports" are each other's type (Community ID v1).
// -1: none.
static int icmp_counterpart(uint8_t proto, uint8_t type)
{
	if (proto == IPPROTO_ICMP) {
		switch (type) {
		case 0: return 8; // echo
		case 8: return 0;
		case 9: return 10; // router advertisement, solicitation
		case 10: return 9;
		case 13: // time stamp, information, address mask
		case 15:
		case 17: return type + 1;
		case 14:
		case 16:
		case 18: return type - 1;
		}
		return -1;
	}
	switch (type) {
	case 128: // echo
	case 130: // multicast listener
	case 133: // router
	case 135: // neighbour
	case 139: // node information
	case 144: // home agent
		return type + 1;
	case 129:
	case 131:
	case 134:
	case 136:
	case 140:
	case 145: return type - 1;
	}
	return -1;
}

static bool icmp_is_error(uint8_t proto, uint8_t type)
{
	if (proto == IPPROTO_ICMPV6)
		return type >= 1 && type <= 4;
	return type == 3 || type == 4 || type == 5 || type == 11 || type == 12;
}

static uint16_t icmp_dport(uint8_t proto, const uint8_t *icmp)
{
	int other = icmp_counterpart(proto, icmp[0]);

	return other < 0 ? icmp[1] : (uint16_t)other;
}

// Ports of the embedded packet, and the sequence number of a TCP segment. RFC 792 promises 8 bytes
// of the L4 header; hosts do not look at an error that quotes less.
static bool embedded_ports(struct pkt *pkt, const struct cursor *c, uint8_t proto)
{
	const uint8_t *p = cursor_here(c);

	switch (proto) {
	case IPPROTO_TCP:
	case IPPROTO_UDP:
	case IPPROTO_SCTP:
		if (!cursor_has(c, 8))
			return false;
		pkt->tcp_seq = be32(p);
		pkt->tcp_ack = be32(p + 4);
		return true;
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		// an error about an error is never sent (RFC 1122 section 3.2.2)
		if (!cursor_has(c, 8) || icmp_is_error(proto, p[0]))
			return false;
		pkt->tcp_seq = (uint32_t)p[0] << 16 | icmp_dport(proto, p);
		return true;
	default: pkt->tcp_seq = 0; return true;
	}
}

// Moves from an embedded IPv6 header to the L4 header behind its extension headers. False: there
// is none (a later fragment, or cut off).
static bool embedded_extensions(struct cursor *c, uint8_t *proto)
{
	while (parse_is_extension(*proto)) {
		if (!cursor_has(c, 8))
			return false;
		const uint8_t *p = cursor_here(c);

		if (*proto == IPPROTO_FRAGMENT && be16(p + 2) & 0xfff8)
			return false;
		c->at += parse_extension_length(*proto, p);
		*proto = p[0];
	}
	return true;
}

// The embedded packet of an ICMP error, if its addresses and ports can be read. Else the message
// is one like any other. The embedded length fields say what was sent, not what is quoted.
static void find_embedded(struct pkt *pkt, const struct cursor *icmp)
{
	struct cursor c = *icmp;
	bool v6 = pkt->l4_proto == IPPROTO_ICMPV6;
	uint8_t proto;

	c.at += 8;
	uint32_t start = c.at, header = 40;

	if (!cursor_has(&c, v6 ? 40 : 20))
		return;
	const uint8_t *ip = cursor_here(&c);

	if (v6) {
		proto = ip[6];
	} else {
		header = (uint32_t)(ip[0] & 15) * 4;
		proto = ip[9];
		if (be16(ip + 6) & 0x1fff)
			return; // a later fragment
	}
	if (ip[0] >> 4 != (v6 ? 6 : 4) || header < 20)
		return;
	c.at += header;
	if (v6 && !embedded_extensions(&c, &proto))
		return;
	if (!embedded_ports(pkt, &c, proto))
		return;
	pkt->tcp_flags = proto;
	pkt->emb_off = (uint16_t)start;
	pkt->flags |= PKT_ICMP_ERROR;
}

static enum pkt_class parse_icmp(struct pkt *pkt, const struct cursor *c)
{
	const uint8_t *p = cursor_here(c);

	pkt->sport = p[0];
	pkt->dport = icmp_dport(pkt->l4_proto, p);
	pkt->payload_off = (uint16_t)(c->at + 8);
	pkt->payload_len = (uint16_t)(c->end - c->at - 8);
	// ICMP of the other family is a protocol number like any other
	if (!(pkt->flags & PKT_FRAGMENT) && icmp_is_error(pkt->l4_proto, p[0]) &&
		!(pkt->flags & PKT_V6) == (pkt->l4_proto == IPPROTO_ICMP))
		find_embedded(pkt, c);
	return PKT_IP;
}

static uint32_t header_least(uint8_t proto)
{
	switch (proto) {
	case IPPROTO_TCP: return 20;
	case IPPROTO_SCTP: return 12;
	case IPPROTO_UDP:
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6: return 8;
	default: return 0;
	}
}

static enum pkt_class parse_known(struct pkt *pkt, const struct cursor *c, uint32_t least)
{
	enum pkt_class class = cursor_need(c, least);

	if (class != PKT_IP)
		return class;
	const uint8_t *p = cursor_here(c);

	pkt->sport = be16(p);
	pkt->dport = be16(p + 2);
	switch (pkt->l4_proto) {
	case IPPROTO_TCP: return parse_tcp(pkt, c);
	case IPPROTO_UDP: return parse_udp(pkt, c);
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6: return parse_icmp(pkt, c);
	default:
		pkt->payload_off = (uint16_t)(c->at + least);
		pkt->payload_len = (uint16_t)(c->end - c->at - least);
		return PKT_IP;
	}
}

enum pkt_class parse_transport(struct pkt *pkt, const struct cursor *c)
{
	bool later = pkt->flags & PKT_FRAGMENT && !(pkt->flags & PKT_FRAG_FIRST);
	uint32_t least = header_least(pkt->l4_proto);

	pkt->l4_off = pkt->payload_off = (uint16_t)c->at;
	pkt->payload_len = (uint16_t)(c->end - c->at);
	if (later || !least)
		return PKT_IP;
	struct pkt before = *pkt;
	enum pkt_class class = parse_known(pkt, c, least);

	if (class == PKT_IP) {
		pkt->flags |= PKT_L4_OK;
		return PKT_IP;
	}
	// The header goes on in what a snap length took, or in the next fragment: legal in IPv4,
	// not in IPv6 (RFC 7112).
	bool goes_on = pkt->flags & PKT_FRAGMENT && !(pkt->flags & PKT_V6);

	if (class == PKT_MALFORMED && (c->cut || goes_on)) {
		*pkt = before;
		return PKT_IP;
	}
	return class;
}
