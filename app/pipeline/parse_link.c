// SPDX-License-Identifier: BSD-3-Clause
// Link layers: from the first byte of a frame to its network layer.
#include <string.h>
#include "parse_layers.h"
#include "policy.h"

#define TAGS_MAX 6 // VLAN, MPLS and PPPoE headers that are followed

static uint16_t be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

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

// The nibble of an IP header tells its version where no type field does.
static uint16_t type_of_version(const struct cursor *c)
{
	return c->length > c->offset && c->bytes[c->offset] >> 4 == 4 ? TYPE_IPV4 : TYPE_IPV6;
}

static uint16_t type_of_ppp(uint16_t protocol)
{
	return protocol == 0x0021 ? TYPE_IPV4 : protocol == 0x0057 ? TYPE_IPV6 : 0;
}

static bool have(const struct cursor *c, uint32_t n)
{
	return c->length - c->offset >= n;
}

static enum pkt_class first_header(struct cursor *c, uint8_t link, uint16_t *type)
{
	const uint8_t *p = c->bytes;

	switch (link) {
	case LINK_ETHERNET:
		if (!have(c, 14))
			return PKT_MALFORMED;
		*type = be16(p + 12);
		c->offset = 14;
		return PKT_IP;
	case LINK_RAW:
		if (!have(c, 1))
			return PKT_MALFORMED;
		*type = type_of_version(c);
		return PKT_IP;
	case LINK_NULL:
		if (!have(c, 5))
			return PKT_MALFORMED;
		c->offset = 4;
		*type = type_of_version(c);
		return PKT_IP;
	case LINK_SLL:
		if (!have(c, 16))
			return PKT_MALFORMED;
		*type = be16(p + 14);
		c->offset = 16;
		return PKT_IP;
	case LINK_SLL2:
		if (!have(c, 20))
			return PKT_MALFORMED;
		*type = be16(p);
		c->offset = 20;
		return PKT_IP;
	case LINK_PPP: {
		uint32_t start = c->length && p[0] == 0xff ? 2 : 0;

		if (!have(c, start + 2))
			return PKT_MALFORMED;
		*type = type_of_ppp(be16(p + start));
		c->offset = start + 2;
		return PKT_IP;
	}
	case LINK_C_HDLC:
		if (!have(c, 4))
			return PKT_MALFORMED;
		*type = be16(p + 2);
		c->offset = 4;
		return PKT_IP;
	default: return PKT_LINKTYPE;
	}
}

static void keep_vlan(struct pkt *pkt, uint16_t tci)
{
	if (pkt->n_vlan < PKT_VLANS_MAX)
		pkt->vlan[pkt->n_vlan++] = tci & 0xfff;
}

// Label stack entries to the bottom one (RFC 3032); what is below tells its version itself.
static bool skip_mpls(struct cursor *c)
{
	for (unsigned i = 0; i < 8; i++) {
		if (!have(c, 4))
			return false;
		bool bottom = c->bytes[c->offset + 2] & 1;

		c->offset += 4;
		if (bottom)
			return have(c, 1);
	}
	return false;
}

enum pkt_class parse_link(struct pkt *pkt, struct cursor *c)
{
	uint16_t type = 0;
	enum pkt_class class = first_header(c, pkt->link, &type);

	if (class != PKT_IP)
		return class;
	if (pkt->link == LINK_ETHERNET && c->bytes[0] & 1)
		pkt->flags |= PKT_MULTICAST;
	for (unsigned tags = 0; type != TYPE_IPV4 && type != TYPE_IPV6; tags++) {
		const uint8_t *p = c->bytes + c->offset;

		if (type == 0x8100 || type == 0x88a8 || type == 0x9100) {
			if (!have(c, 4))
				return PKT_MALFORMED;
			if (tags == TAGS_MAX)
				return PKT_UNSUPPORTED;
			keep_vlan(pkt, be16(p));
			type = be16(p + 2);
			c->offset += 4;
		} else if (type == 0x8847 || type == 0x8848) {
			if (!skip_mpls(c))
				return PKT_UNSUPPORTED;
			uint8_t version = c->bytes[c->offset] >> 4;

			if (version != 4 && version != 6)
				return PKT_UNSUPPORTED; // a pseudowire
			type = type_of_version(c);
		} else if (type == 0x8864) {
			if (!have(c, 8))
				return PKT_MALFORMED;
			pkt->ethertype = type;
			type = type_of_ppp(be16(p + 6));
			if (!type)
				return PKT_LINK; // LCP and the like
			pkt->flags |= PKT_PPPOE;
			c->offset += 8;
		} else {
			pkt->ethertype = type;
			return PKT_LINK;
		}
	}
	pkt->ethertype = type;
	return PKT_IP;
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
	// IEEE 802.1D reserved group addresses; STP is 802.2 LLC, so its type field is a length
	if (pkt->link == LINK_ETHERNET && length >= 14 && !memcmp(frame, group, sizeof(group)) &&
		frame[5] == 0 && pkt->ethertype < 1536)
		return LINK_PROTO_STP;
	return LINK_PROTO_OTHER;
}
