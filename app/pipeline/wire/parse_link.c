// SPDX-License-Identifier: BSD-3-Clause
// Link layers: from the first byte of a frame to its network layer.
#include <string.h>
#include "pipeline/wire/parse_layers.h"

// Tags, labels and headers are followed as far as the window goes: hosts take any number of VLAN 0.

#define TYPE_LEAST 0x0600 // IEEE 802.3: what is less is a length (1501 to 1535 are neither)
#define TYPE_PPPOE 0x8864

uint8_t parse_link_of(uint16_t linktype)
{
	switch (linktype) {
	case 1: return LINK_ETHERNET;
	case 12:
	case 14:
	case 101:
	case 228:
	case 229: return LINK_RAW;
	case 0:
	case 108: return LINK_NULL;
	case 113: return LINK_SLL;
	case 276: return LINK_SLL2;
	case 9:
	case 50: return LINK_PPP;
	case 104: return LINK_C_HDLC;
	default: return LINK_UNKNOWN;
	}
}

// Where no field tells the protocol, an IP header's first four bits do. 0: neither.
static uint16_t type_of_version(const struct cursor *c)
{
	if (!cursor_has(c, 1))
		return 0;
	switch (*cursor_here(c) >> 4) {
	case 4: return TYPE_IPV4;
	case 6: return TYPE_IPV6;
	default: return 0;
	}
}

static uint16_t type_of_ppp(uint16_t protocol)
{
	return protocol == 0x0021 ? TYPE_IPV4 : protocol == 0x0057 ? TYPE_IPV6 : 0;
}

static enum pkt_class first_header(struct pkt *pkt, struct cursor *c, uint16_t *type)
{
	static const uint8_t lengths[] = {
		[LINK_ETHERNET] = 14,
		[LINK_RAW] = 0,
		[LINK_NULL] = 4,
		[LINK_SLL] = 16,
		[LINK_SLL2] = 20,
		[LINK_PPP] = 2,
		[LINK_C_HDLC] = 4,
	};
	const uint8_t *p = cursor_here(c);
	bool group = false;

	if (pkt->link >= sizeof(lengths))
		return PKT_LINKTYPE;
	uint32_t length = lengths[pkt->link];

	if (pkt->link == LINK_PPP && cursor_has(c, 1) && p[0] == 0xff)
		length += 2; // address and control (RFC 1662) are optional
	enum pkt_class class = cursor_need(c, length);

	if (class != PKT_IP)
		return class;
	c->at += length;
	switch (pkt->link) {
	case LINK_ETHERNET:
		*type = be16(p + 12);
		group = p[0] & 1;
		break;
	case LINK_RAW:
		*type = type_of_version(c);
		if (!*type)
			return cursor_has(c, 1) ? PKT_MALFORMED : cursor_need(c, 1);
		break;
	case LINK_NULL:
		*type = type_of_version(c);
		class = cursor_need(c, 1);
		return class == PKT_IP && !*type ? PKT_LINK : class;
	case LINK_SLL:
		*type = be16(p + 14);
		group = p[1] == 1 || p[1] == 2; // broadcast, multicast
		break;
	case LINK_SLL2:
		*type = be16(p);
		group = p[10] == 1 || p[10] == 2;
		break;
	case LINK_PPP: *type = type_of_ppp(be16(p + length - 2)); return *type ? PKT_IP : PKT_LINK;
	case LINK_C_HDLC: *type = be16(p + 2); break;
	}
	if (group)
		pkt->flags |= PKT_MULTICAST;
	return PKT_IP;
}

static enum pkt_class skip_vlan(struct pkt *pkt, struct cursor *c, uint16_t *type)
{
	enum pkt_class class = cursor_need(c, 4);

	if (class != PKT_IP)
		return class;
	const uint8_t *p = cursor_here(c);

	uint16_t id = be16(p) & 0xfff;

	if (id) // 0 is a priority only
		pkt->realm = realm_add_tag(c->settings, pkt->realm, id);
	if (id && pkt->n_vlan < PKT_VLANS_MAX)
		pkt->vlan[pkt->n_vlan++] = id;
	*type = be16(p + 2);
	c->at += 4;
	return PKT_IP;
}

// Label stack entries to the bottom one (RFC 3032); what is below tells its version itself.
static enum pkt_class skip_mpls(struct cursor *c, uint16_t *type)
{
	bool bottom = false;

	while (!bottom) {
		enum pkt_class class = cursor_need(c, 4);

		if (class != PKT_IP)
			return class;
		bottom = cursor_here(c)[2] & 1;
		c->at += 4;
	}
	enum pkt_class class = cursor_need(c, 1);

	if (class != PKT_IP)
		return class;
	*type = type_of_version(c);
	return *type ? PKT_IP : PKT_LINK; // a pseudowire
}

// A PPP protocol field of one octet has its lowest bit set (RFC 1661 section 6.5).
static uint16_t take_ppp_protocol(struct cursor *c)
{
	const uint8_t *p = cursor_here(c);

	if (p[0] & 1) {
		c->at += 1;
		return p[0];
	}
	c->at += 2;
	return be16(p);
}

// RFC 2516; the length counts the PPP protocol field. A session's packets have version and type 1
// and code 0, which Linux does not look at; nor does it ask whether compression of the protocol
// field was agreed on.
static enum pkt_class skip_pppoe(struct pkt *pkt, struct cursor *c, uint16_t *type)
{
	enum pkt_class class = cursor_need(c, 7);

	if (class != PKT_IP)
		return class;
	const uint8_t *p = cursor_here(c);
	uint32_t length = be16(p + 4);

	if (!length)
		return PKT_MALFORMED;
	if (c->at + 6 + length <= c->end)
		c->end = c->at + 6 + length; // behind it lies padding
	else if (!c->captured)
		return PKT_MALFORMED;
	c->at += 6;
	class = cursor_need(c, p[6] & 1 ? 1 : 2);
	if (class != PKT_IP)
		return class;
	pkt->flags |= PKT_PPPOE;
	pkt->realm = realm_add_session(c->settings, pkt->realm, be16(p + 2));
	*type = type_of_ppp(take_ppp_protocol(c));
	return *type ? PKT_IP : PKT_LINK; // LCP and the like; compressed headers
}

// IEEE 802.2 behind a length. SNAP with an EtherType (RFC 1042; IEEE 802.1H) is how it is on
// 802.11, so that bridges to Wi-Fi hand it on as it is, and some hosts take it on Ethernet, too; 6
// is IP (RFC 948). All of them whatever the length says (CVE-2021-27853, 27854, 27861, 27862): the
// IP header has one. What else there is passes as a frame that is no IP: spanning tree (42 42 03),
// IS-IS, NetBIOS, IPX, SNAP of other organizations (CDP, PVST+).
static enum pkt_class skip_llc(struct cursor *c, uint16_t *type)
{
	static const uint8_t ethernet[3], tunnel[3] = {0, 0, 0xf8};
	enum pkt_class class = cursor_need(c, 8);

	if (class != PKT_IP)
		return class == PKT_UNSUPPORTED ? class : PKT_LINK;
	const uint8_t *p = cursor_here(c);

	// the lowest bits tell groups and answers, and poll or final
	if ((p[2] & 0xef) != 0x03)
		return PKT_LINK;
	if ((p[0] & 0xfe) == 0x06 && (p[1] & 0xfe) == 0x06) {
		*type = TYPE_IPV4;
		c->at += 3;
		return PKT_IP;
	}
	if ((p[0] & 0xfe) != 0xaa || (p[1] & 0xfe) != 0xaa ||
		(memcmp(p + 3, ethernet, 3) && memcmp(p + 3, tunnel, 3)))
		return PKT_LINK;
	*type = be16(p + 6);
	c->at += 8;
	return PKT_IP;
}

enum pkt_class parse_link(struct pkt *pkt, struct cursor *c)
{
	uint16_t type = 0;
	enum pkt_class class = first_header(pkt, c, &type);

	while (class == PKT_IP) {
		pkt->ethertype = type;
		switch (type) {
		case TYPE_IPV4:
		case TYPE_IPV6: return PKT_IP;
		case 0x8100:
		case 0x88a8:
		case 0x9100: class = skip_vlan(pkt, c, &type); break;
		case 0x8847:
		case 0x8848: class = skip_mpls(c, &type); break;
		case TYPE_PPPOE: class = skip_pppoe(pkt, c, &type); break;
		default: class = type < TYPE_LEAST ? skip_llc(c, &type) : PKT_LINK; break;
		}
	}
	return class;
}

// IEEE 802.1D group addresses 01:80:c2:00:00:0x, which no bridge forwards by itself.
static unsigned reserved_group(uint8_t last)
{
	switch (last) {
	case 0x00:
	case 0x08: return LINK_PROTO_STP; // customer and provider bridges
	case 0x01: return LINK_PROTO_PAUSE;
	case 0x02: return LINK_PROTO_LACP;
	case 0x03: return LINK_PROTO_EAPOL;
	case 0x0e: return LINK_PROTO_LLDP;
	default: return LINK_PROTO_OTHER;
	}
}

unsigned parse_link_protocol(const uint8_t *frame, uint32_t length, const struct pkt *pkt)
{
	static const uint8_t group[5] = {0x01, 0x80, 0xc2, 0x00, 0x00};

	switch (pkt->ethertype) {
	case 0x0806: return LINK_PROTO_ARP;
	case 0x8808: return LINK_PROTO_PAUSE;
	case 0x8809: return LINK_PROTO_LACP;
	case 0x888e: return LINK_PROTO_EAPOL;
	case 0x88cc: return LINK_PROTO_LLDP;
	}
	if (pkt->link != LINK_ETHERNET || length < 6 || memcmp(frame, group, sizeof(group)))
		return LINK_PROTO_OTHER;
	// STP is an 802.2 LLC frame: its type field is a length
	unsigned protocol = reserved_group(frame[5]);

	if (protocol == LINK_PROTO_STP && pkt->ethertype >= TYPE_LEAST)
		return LINK_PROTO_OTHER;
	return protocol;
}
