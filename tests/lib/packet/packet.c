// SPDX-License-Identifier: BSD-3-Clause
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "packet.h"

// Kinds below 256 are IP protocol numbers; IPv4 and IPv6 are those of their tunnels.
enum {
	KIND_IPV4 = IPPROTO_IPIP,
	KIND_IPV6 = IPPROTO_IPV6,
	KIND_ETHERNET = 200,
	KIND_VLAN,
	KIND_MPLS,
	KIND_PPPOE,
	KIND_LINK,
};

static void give_up(const char *why)
{
	fprintf(stderr, "packet: %s\n", why);
	abort();
}

static void put16(uint8_t *at, uint32_t v)
{
	at[0] = (uint8_t)(v >> 8);
	at[1] = (uint8_t)v;
}

static void put32(uint8_t *at, uint32_t v)
{
	put16(at, v >> 16);
	put16(at + 2, v);
}

void packet_begin(struct packet *p)
{
	memset(p, 0, sizeof(*p));
}

static uint8_t *grow(struct packet *p, uint32_t n)
{
	uint8_t *at = p->bytes + p->length;

	if (n > PACKET_MAX - p->length)
		give_up("too long");
	p->length += n;
	memset(at, 0, n);
	return at;
}

static uint32_t ether_type(uint8_t kind, uint16_t vlan_type)
{
	switch (kind) {
	case KIND_IPV4: return 0x0800;
	case KIND_IPV6: return 0x86dd;
	case KIND_VLAN: return vlan_type;
	case KIND_MPLS: return 0x8847;
	case KIND_PPPOE: return 0x8864;
	default: give_up("no EtherType"); return 0;
	}
}

static void announce_in_link(const struct packet *p, uint8_t *at, uint32_t type)
{
	switch (p->link) {
	case LINK_SLL: put16(at + 14, type); break;
	case LINK_SLL2: put16(at, type); break;
	case LINK_C_HDLC: put16(at + 2, type); break;
	case LINK_PPP: put16(at + 2, type == 0x0800 ? 0x0021 : 0x0057); break;
	}
}

// Tells the last layer what follows it.
static void announce(struct packet *p, uint8_t kind, uint16_t vlan_type)
{
	if (!p->n_layers)
		return;
	const struct packet_layer *last = &p->layers[p->n_layers - 1];
	uint8_t *at = p->bytes + last->at;

	switch (last->kind) {
	case KIND_ETHERNET: put16(at + 12, ether_type(kind, vlan_type)); break;
	case KIND_VLAN: put16(at + 2, ether_type(kind, vlan_type)); break;
	case KIND_PPPOE: put16(at + 6, kind == KIND_IPV4 ? 0x0021 : 0x0057); break;
	case KIND_LINK: announce_in_link(p, at, ether_type(kind, vlan_type)); break;
	case KIND_IPV4: at[9] = kind; break;
	case KIND_IPV6: at[6] = kind; break;
	case IPPROTO_GRE:
		if (!at[2] && !at[3])
			put16(at + 2, ether_type(kind, vlan_type));
		break;
	case IPPROTO_HOPOPTS:
	case IPPROTO_ROUTING:
	case IPPROTO_DSTOPTS:
	case IPPROTO_FRAGMENT:
	case IPPROTO_AH: at[0] = kind; break;
	}
}

static uint8_t *layer(struct packet *p, uint8_t kind, uint32_t length)
{
	if (p->n_layers == PACKET_LAYERS_MAX)
		give_up("too many layers");
	p->layers[p->n_layers++] = (struct packet_layer){.kind = kind, .at = p->length};
	return grow(p, length);
}

void packet_ethernet(struct packet *p)
{
	static const uint8_t macs[12] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1};

	p->link = LINK_ETHERNET;
	memcpy(layer(p, KIND_ETHERNET, 14), macs, sizeof(macs));
}

void packet_link(struct packet *p, enum pkt_link link)
{
	static const uint8_t lengths[] = {[LINK_NULL] = 4,
		[LINK_SLL] = 16,
		[LINK_SLL2] = 20,
		[LINK_PPP] = 4,
		[LINK_C_HDLC] = 4};

	p->link = (uint8_t)link;
	if (link == LINK_RAW)
		return;
	uint8_t *at = layer(p, KIND_LINK, lengths[link]);

	if (link == LINK_NULL)
		at[0] = 2;
	else if (link == LINK_PPP)
		put16(at, 0xff03);
	else if (link == LINK_C_HDLC)
		put16(at, 0x0f00);
}

void packet_vlan(struct packet *p, uint16_t type, uint16_t tci)
{
	announce(p, KIND_VLAN, type);
	put16(layer(p, KIND_VLAN, 4), tci);
}

void packet_mpls(struct packet *p, uint32_t label, bool bottom)
{
	announce(p, KIND_MPLS, 0);
	put32(layer(p, KIND_MPLS, 4), label << 12 | (bottom ? 1u << 8 : 0) | 64);
}

void packet_pppoe(struct packet *p, uint16_t session)
{
	announce(p, KIND_PPPOE, 0);
	uint8_t *at = layer(p, KIND_PPPOE, 8);

	at[0] = 0x11;
	put16(at + 2, session);
}

void packet_ipv4(struct packet *p, const char *source, const char *destination)
{
	announce(p, KIND_IPV4, 0);
	uint8_t *at = layer(p, KIND_IPV4, 20);

	at[0] = 0x45;
	at[8] = 64;
	if (inet_pton(AF_INET, source, at + 12) != 1 ||
		inet_pton(AF_INET, destination, at + 16) != 1)
		give_up("address");
}

static uint8_t *last_of(struct packet *p, uint8_t kind)
{
	if (!p->n_layers || p->layers[p->n_layers - 1].kind != kind)
		give_up("not after its header");
	return p->bytes + p->layers[p->n_layers - 1].at;
}

void packet_ipv4_options(struct packet *p, unsigned n_words)
{
	uint8_t *ip = last_of(p, KIND_IPV4);

	ip[0] = (uint8_t)(ip[0] + n_words);
	memset(grow(p, n_words * 4), 1, n_words * 4); // no operation
}

void packet_ipv4_fragment(struct packet *p, uint16_t id, unsigned offset_bytes, bool more)
{
	uint8_t *ip = last_of(p, KIND_IPV4);

	put16(ip + 4, id);
	put16(ip + 6, offset_bytes / 8 | (more ? 0x2000u : 0));
}

void packet_ipv6(struct packet *p, const char *source, const char *destination)
{
	announce(p, KIND_IPV6, 0);
	uint8_t *at = layer(p, KIND_IPV6, 40);

	at[0] = 0x60;
	at[7] = 64;
	if (inet_pton(AF_INET6, source, at + 8) != 1 ||
		inet_pton(AF_INET6, destination, at + 24) != 1)
		give_up("address");
}

void packet_extension(struct packet *p, uint8_t proto, unsigned length)
{
	announce(p, proto, 0);
	uint8_t *at = layer(p, proto, length);

	at[1] = (uint8_t)(proto == IPPROTO_AH ? length / 4 - 2 : length / 8 - 1);
}

void packet_ipv6_fragment(struct packet *p, uint32_t id, unsigned offset_bytes, bool more)
{
	announce(p, IPPROTO_FRAGMENT, 0);
	uint8_t *at = layer(p, IPPROTO_FRAGMENT, 8);

	put16(at + 2, (offset_bytes & ~7u) | more);
	put32(at + 4, id);
}

void packet_gre(struct packet *p, uint16_t flags, uint16_t type)
{
	unsigned options = 0;

	for (unsigned bit = 0x8000; bit >= 0x1000; bit >>= 1) // C, K, S
		options += flags & bit & 0xb000 ? 1 : 0;

	announce(p, IPPROTO_GRE, 0);
	uint8_t *at = layer(p, IPPROTO_GRE, 4 + 4 * options);

	put16(at, flags);
	put16(at + 2, type);
}

void packet_tcp(
	struct packet *p, uint16_t sport, uint16_t dport, uint32_t seq, uint32_t ack, uint8_t flags)
{
	announce(p, IPPROTO_TCP, 0);
	uint8_t *at = layer(p, IPPROTO_TCP, 20);

	put16(at, sport);
	put16(at + 2, dport);
	put32(at + 4, seq);
	put32(at + 8, ack);
	at[12] = 5 << 4;
	at[13] = flags;
	put16(at + 14, 65000);
}

void packet_tcp_options(struct packet *p, unsigned n_words)
{
	uint8_t *tcp = last_of(p, IPPROTO_TCP);

	tcp[12] = (uint8_t)(tcp[12] + (n_words << 4));
	memset(grow(p, n_words * 4), 1, n_words * 4);
}

void packet_udp(struct packet *p, uint16_t sport, uint16_t dport)
{
	announce(p, IPPROTO_UDP, 0);
	uint8_t *at = layer(p, IPPROTO_UDP, 8);

	put16(at, sport);
	put16(at + 2, dport);
}

static const struct packet_layer *ip_before(const struct packet *p, unsigned n)
{
	while (n-- > 0)
		if (p->layers[n].kind == KIND_IPV4 || p->layers[n].kind == KIND_IPV6)
			return &p->layers[n];
	give_up("no IP header");
	return NULL;
}

void packet_icmp(struct packet *p, uint8_t type, uint8_t code)
{
	bool v6 = ip_before(p, p->n_layers)->kind == KIND_IPV6;
	uint8_t proto = v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP;

	announce(p, proto, 0);
	uint8_t *at = layer(p, proto, 8);

	at[0] = type;
	at[1] = code;
}

void packet_protocol(struct packet *p, uint8_t proto)
{
	announce(p, proto, 0);
}

void packet_payload(struct packet *p, const void *bytes, uint32_t length)
{
	uint8_t *at = grow(p, length);

	if (length)
		memcpy(at, bytes, length);
}

void packet_fill(struct packet *p, uint32_t length)
{
	uint8_t *at = grow(p, length);

	for (uint32_t i = 0; i < length; i++)
		at[i] = (uint8_t)i;
}

void packet_text(struct packet *p, const char *text)
{
	packet_payload(p, text, (uint32_t)strlen(text));
}

void packet_padding(struct packet *p, uint32_t length)
{
	memset(grow(p, length), 0xee, length);
}

// RFC 1071 in its plainest form.
static uint32_t reference_sum(const uint8_t *bytes, uint32_t length, uint32_t sum)
{
	for (uint32_t i = 0; i < length; i++)
		sum += i % 2 ? bytes[i] : (uint32_t)bytes[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static uint32_t reference_l4(const uint8_t *ip, const uint8_t *l4, uint32_t length, uint8_t proto)
{
	uint32_t sum = length + proto;

	if (proto == IPPROTO_ICMP)
		sum = 0;
	else if (ip[0] >> 4 == 4)
		sum = reference_sum(ip + 12, 8, sum);
	else
		sum = reference_sum(ip + 8, 32, sum);
	return reference_sum(l4, length, sum);
}

bool packet_sums_good(const uint8_t *frame, uint32_t l3, uint32_t l4, uint32_t end, uint8_t proto)
{
	const uint8_t *ip = frame + l3;

	if (ip[0] >> 4 == 4 && reference_sum(ip, (uint32_t)(ip[0] & 15) * 4, 0) != 0xffff)
		return false;
	return reference_l4(ip, frame + l4, end - l4, proto) == 0xffff;
}

static void put_sum(uint8_t *field, uint32_t sum, bool zero_is_none)
{
	uint16_t value = (uint16_t)~sum;

	put16(field, zero_is_none && !value ? 0xffff : value);
}

static void finish_layer(struct packet *p, unsigned n)
{
	uint8_t kind = p->layers[n].kind, *at = p->bytes + p->layers[n].at;
	uint32_t length = p->length - p->layers[n].at, field = 0;

	switch (kind) {
	case KIND_PPPOE: put16(at + 4, length - 6); return;
	case KIND_IPV6: put16(at + 4, length - 40); return;
	case KIND_IPV4:
		put16(at + 2, length);
		put16(at + 10, 0);
		put_sum(at + 10, reference_sum(at, (uint32_t)(at[0] & 15) * 4, 0), false);
		return;
	case IPPROTO_GRE:
		if (!(at[0] & 0x80))
			return;
		put16(at + 4, 0);
		put_sum(at + 4, reference_sum(at, length, 0), false);
		return;
	case IPPROTO_UDP:
		put16(at + 4, length);
		field = 6;
		break;
	case IPPROTO_TCP: field = 16; break;
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6: field = 2; break;
	default: return;
	}
	put16(at + field, 0);
	put_sum(at + field, reference_l4(p->bytes + ip_before(p, n)->at, at, length, kind),
		kind == IPPROTO_UDP);
}

void packet_finish(struct packet *p)
{
	for (unsigned n = p->n_layers; n-- > 0;)
		finish_layer(p, n);
}

uint32_t packet_at(const struct packet *p, uint8_t proto, unsigned n)
{
	for (unsigned i = 0; i < p->n_layers; i++)
		if (p->layers[i].kind == proto && n-- == 0)
			return p->layers[i].at;
	give_up("no such layer");
	return 0;
}
