// SPDX-License-Identifier: BSD-3-Clause
// IP, its extension headers, and the tunnels inside (RFC 791, 8200, 2784, 2890, 2003, 4213, 2473).
#include <netinet/in.h>
#include "pipeline/wire/parse_layers.h"

#define TUNNELS_MAX  8
#define DATAGRAM_MAX 65535u

// The datagram ends at `end` by its own length. A receiver discards what is cut short (RFC 1122
// section 3.2.1.1 ff.), so on a port it is malformed; a capture holds such packets because of its
// snap length, and their headers are worth reading.
static enum pkt_class believe_end(struct cursor *c, uint32_t end)
{
	if (end <= c->end) {
		c->end = end; // behind it lies padding
		return PKT_IP;
	}
	if (!c->captured || c->end != c->frame_end)
		return PKT_MALFORMED; // or: longer than the packet around it
	c->cut = true;
	return PKT_IP;
}

// Length 0 is what segmentation offload leaves to the driver, seen in captures only; and that of a
// jumbogram (RFC 2675), which hosts take for as long as its frame.
static enum pkt_class believe_all(struct cursor *c)
{
	if (c->end - c->at > DATAGRAM_MAX)
		c->end = c->at + DATAGRAM_MAX;
	return PKT_IP;
}

static enum pkt_class unsupported(struct cursor *c, enum unsupported_cause cause)
{
	c->cause = (uint8_t)cause;
	return PKT_UNSUPPORTED;
}

static enum pkt_class parse_ipv4(struct pkt *pkt, struct cursor *c)
{
	enum pkt_class class = cursor_need(c, 20);

	if (class != PKT_IP)
		return class;
	const uint8_t *ip = cursor_here(c);
	uint32_t header = (uint32_t)(ip[0] & 15) * 4, total = be16(ip + 2);
	uint16_t fragment = be16(ip + 6);

	if (ip[0] >> 4 != 4 || header < 20)
		return PKT_MALFORMED;
	if (total == 0 && c->captured)
		class = believe_all(c);
	else
		class = total < header ? PKT_MALFORMED : believe_end(c, c->at + total);
	if (class != PKT_IP)
		return class;
	if (c->at + header > c->end)
		return PKT_MALFORMED;
	c->has_ip = true;
	pkt->l4_proto = ip[9];
	pkt->ttl = ip[8];
	if (ip[16] >= 224)
		pkt->flags |= PKT_MULTICAST; // and 240/4, with the limited broadcast address
	c->at += header;
	if (!(fragment & 0x3fff))
		return PKT_IP;
	pkt->flags |= PKT_FRAGMENT;
	if (!(fragment & 0x1fff))
		pkt->flags |= PKT_FRAG_FIRST;
	// no datagram is that long
	return (fragment & 0x1fff) * 8u + (c->end - c->at) > DATAGRAM_MAX ? PKT_MALFORMED : PKT_IP;
}

// RFC 8200 section 4.5; RFC 6946: offset 0 and nothing more to come is a whole packet.
static enum pkt_class parse_fragment(struct pkt *pkt, struct cursor *c)
{
	uint16_t word = be16(cursor_here(c) + 2);
	uint32_t rest = c->end - c->at - 8;

	if (c->fragment_header) // Linux refuses a second one, others do not
		return unsupported(c, UNSUPPORTED_FRAGMENTS);
	c->fragment_header = true;
	if (!(word & 0xfff9))
		return PKT_IP;
	pkt->flags |= PKT_FRAGMENT;
	pkt->emb_off = (uint16_t)c->at;
	if (!(word & 0xfff8))
		pkt->flags |= PKT_FRAG_FIRST;
	if ((word & 0xfff8u) + rest > DATAGRAM_MAX)
		return PKT_MALFORMED;
	return word & 1 && rest % 8 && !c->cut ? PKT_MALFORMED : PKT_IP;
}

static enum pkt_class parse_extension(struct pkt *pkt, struct cursor *c, bool first)
{
	enum pkt_class class = cursor_need(c, 8);

	if (class != PKT_IP)
		return class;
	const uint8_t *p = cursor_here(c);
	uint32_t length = parse_extension_length(pkt->l4_proto, p);

	switch (pkt->l4_proto) {
	case IPPROTO_HOPOPTS:
		if (!first) // RFC 8200 section 4.1: elsewhere it is an unknown header
			return PKT_MALFORMED;
		break;
	case IPPROTO_ROUTING:
		// It is not at its destination yet, so its addresses and checksum are those of
		// another packet; and hosts refuse type 0 (RFC 5095).
		if (p[3])
			return unsupported(c, UNSUPPORTED_ROUTING);
		break;
	case IPPROTO_FRAGMENT: class = parse_fragment(pkt, c); break;
	}
	if (class == PKT_IP && c->at + length > c->end)
		class = PKT_MALFORMED;
	if (class != PKT_IP)
		return class;
	pkt->l4_proto = p[0];
	c->at += length;
	return PKT_IP;
}

static enum pkt_class parse_ipv6(struct pkt *pkt, struct cursor *c)
{
	enum pkt_class class = cursor_need(c, 40);

	if (class != PKT_IP)
		return class;
	const uint8_t *ip = cursor_here(c);
	uint32_t payload = be16(ip + 4);

	if (ip[0] >> 4 != 6)
		return PKT_MALFORMED;
	pkt->l4_proto = ip[6];
	pkt->ttl = ip[7];
	if (ip[24] == 0xff)
		pkt->flags |= PKT_MULTICAST;
	c->at += 40;
	if (payload == 0 && (ip[6] == IPPROTO_HOPOPTS || (c->captured && ip[6] != IPPROTO_NONE)))
		class = believe_all(c);
	else
		class = believe_end(c, c->at + payload);
	c->has_ip |= class == PKT_IP;
	c->fragment_header = false;
	for (unsigned n = 0; class == PKT_IP && parse_is_extension(pkt->l4_proto); n++) {
		if (pkt->flags & PKT_FRAGMENT && !(pkt->flags & PKT_FRAG_FIRST))
			break; // what follows lies somewhere in the datagram
		class = parse_extension(pkt, c, n == 0);
		if (class == PKT_MALFORMED && c->cut) {
			c->at = c->end; // no L4 header here, but the addresses hold
			return PKT_IP;
		}
	}
	return class;
}

// RFC 2784 and 2890: version 0, optional checksum, key and sequence number. Returns the header's
// length; 0: RFC 1701 routing or recursion control, PPTP (version 1), or another payload than IP.
static uint32_t gre_length(const uint8_t *gre)
{
	uint16_t flags = be16(gre), type = be16(gre + 2);

	if (flags & 0x4c07 || (type != TYPE_IPV4 && type != TYPE_IPV6))
		return 0;
	return 4u + (flags & 0x8000 ? 4 : 0) + (flags & 0x2000 ? 4 : 0) + (flags & 0x1000 ? 4 : 0);
}

// RFC 2890: the key lies behind the checksum.
static void read_gre_key(const uint8_t *gre, struct realm_tunnel *tunnel)
{
	uint16_t flags = be16(gre);

	tunnel->has_key = flags & 0x2000;
	if (tunnel->has_key)
		tunnel->key = be32(gre + 4 + (flags & 0x8000 ? 4 : 0));
}

// Does the header at hand hold a packet that we follow? Then moves to it and sets the family, and
// the key of *tunnel; else *type is 0.
static enum pkt_class enter_tunnel(
	const struct pkt *pkt, struct cursor *c, struct realm_tunnel *tunnel, uint16_t *type)
{
	uint32_t skip = 0;

	*type = 0;
	switch (pkt->l4_proto) {
	case IPPROTO_IPIP: *type = TYPE_IPV4; break;
	case IPPROTO_IPV6: *type = TYPE_IPV6; break;
	case IPPROTO_GRE:
		if (!cursor_has(c, 4))
			return c->at + 4 > c->end ? PKT_IP : PKT_UNSUPPORTED;
		skip = gre_length(cursor_here(c));
		if (!skip || c->at + skip > c->end)
			return PKT_IP;
		if (!cursor_has(c, skip))
			return PKT_UNSUPPORTED;
		read_gre_key(cursor_here(c), tunnel);
		*type = be16(cursor_here(c) + 2);
		break;
	default: return PKT_IP;
	}
	// a snap length took the inner header: the outer flow is all there is
	if (c->cut && c->at + skip + (*type == TYPE_IPV6 ? 40 : 20) > c->end)
		*type = 0;
	else
		c->at += skip;
	return PKT_IP;
}

static enum pkt_class parse_ip(struct pkt *pkt, struct cursor *c)
{
	pkt->l3_off = (uint16_t)c->at;
	if (pkt->ethertype == TYPE_IPV6) {
		pkt->flags |= PKT_V6;
		return parse_ipv6(pkt, c);
	}
	pkt->flags &= (uint16_t)~PKT_V6;
	return parse_ipv4(pkt, c);
}

static enum pkt_class follow_tunnels(struct pkt *pkt, struct cursor *c, struct pkt *outer)
{
	for (unsigned depth = 0;; depth++) {
		struct realm_tunnel tunnel = {.ip = cursor_here(c)};
		enum pkt_class class = parse_ip(pkt, c);
		uint16_t inner = 0;

		if (class == PKT_IP && !(pkt->flags & PKT_FRAGMENT))
			class = enter_tunnel(pkt, c, &tunnel, &inner);
		if (class != PKT_IP)
			return class;
		if (!inner)
			return parse_transport(pkt, c);
		if (depth == TUNNELS_MAX)
			return unsupported(c, UNSUPPORTED_TUNNELS);
		if (!depth)
			*outer = *pkt;
		tunnel.v6 = pkt->ethertype == TYPE_IPV6;
		tunnel.proto = pkt->l4_proto;
		pkt->realm = realm_add_tunnel(c->settings, pkt->realm, &tunnel);
		pkt->flags |= PKT_TUNNEL;
		pkt->ethertype = inner;
	}
}

// Of what is not followed, or malformed behind it, the outermost header is known: rules on
// addresses hold.
enum pkt_class parse_network(struct pkt *pkt, struct cursor *c)
{
	struct pkt outer;

	pkt->outer_l3_off = (uint16_t)c->at;
	enum pkt_class class = follow_tunnels(pkt, c, &outer);

	if (class != PKT_IP && pkt->flags & PKT_TUNNEL)
		*pkt = outer;
	return class;
}
