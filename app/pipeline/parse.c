// SPDX-License-Identifier: BSD-3-Clause
#include <netinet/in.h>
#include <string.h>
#include "parse_layers.h"

#define KEPT_FLAGS                                                                   \
	(PKT_FROM_INSIDE | PKT_TRACE | PKT_INJECTED | PKT_CSUM_GOOD | PKT_CSUM_BAD | \
		PKT_CSUM_IGNORE)

void parse_packet(struct pkt *pkt, const uint8_t *frame, uint32_t length, uint32_t frame_length)
{
	struct cursor c = {.bytes = frame, .length = length, .frame_length = frame_length};

	// from `hash` on everything but what the receiver has set
	pkt->hash = 0;
	pkt->tcp_seq = pkt->tcp_ack = 0;
	pkt->flags &= KEPT_FLAGS;
	pkt->ethertype = 0;
	pkt->outer_l3_off = pkt->l3_off = pkt->l4_off = 0;
	pkt->payload_off = pkt->payload_len = pkt->emb_off = 0;
	pkt->vlan[0] = pkt->vlan[1] = 0;
	pkt->sport = pkt->dport = pkt->tcp_win = 0;
	pkt->n_vlan = pkt->l4_proto = pkt->tcp_flags = 0;
	pkt->tunnel_tag = pkt->tunnel_depth = pkt->ttl = 0;

	enum pkt_class class = parse_link(pkt, &c);

	if (class == PKT_IP)
		class = parse_network(pkt, &c);
	pkt->class = (uint8_t) class;
	if (class != PKT_IP)
		return;
	union flow_key key;

	parse_flow_key(pkt, frame, &key);
	pkt->hash = parse_hash(&key, pkt->flags & PKT_V6);
	// which side sent it, by the key's order
	bool v6 = pkt->flags & PKT_V6;
	uint32_t ip = pkt->flags & PKT_ICMP_ERROR ? pkt->emb_off : pkt->l3_off;
	const uint8_t *source = frame + ip + (v6 ? 8 : 12);
	const void *a = v6 ? (const void *)key.v6.addr_a : (const void *)&key.v4.addr_a;
	const void *b = v6 ? (const void *)key.v6.addr_b : (const void *)&key.v4.addr_b;
	size_t size = v6 ? 16 : 4;
	uint16_t sport = pkt->flags & PKT_ICMP_ERROR ? 0 : pkt->sport;
	uint16_t port_a = v6 ? key.v6.port_a : key.v4.port_a;

	if (memcmp(a, b, size) ? !memcmp(source, a, size) : sport == port_a)
		pkt->flags |= PKT_A_TO_B;
}

void parse_mbuf(struct rte_mbuf *m)
{
	uint8_t window[PARSE_WINDOW];
	uint32_t length = m->pkt_len < PARSE_WINDOW ? m->pkt_len : PARSE_WINDOW;

	// one segment holds the headers: all of it may be read
	if (m->data_len >= length)
		parse_packet(
			pkt_of(m), rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, m->pkt_len);
	else
		parse_packet(pkt_of(m), rte_pktmbuf_read(m, 0, length, window), length, m->pkt_len);
}

struct key_source {
	const uint8_t *source;
	const uint8_t *destination;
	uint16_t sport;
	uint16_t dport;
	uint8_t proto;
};

static uint16_t be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static struct key_source embedded_source(const struct pkt *pkt, const uint8_t *frame)
{
	const uint8_t *ip = frame + pkt->emb_off;
	bool v6 = pkt->flags & PKT_V6;
	const uint8_t *l4 = ip + (v6 ? 40 : (ip[0] & 15) * 4);

	return (struct key_source){
		.source = ip + (v6 ? 8 : 12),
		.destination = ip + (v6 ? 24 : 16),
		.sport = be16(l4),
		.dport = be16(l4 + 2),
		.proto = v6 ? ip[6] : ip[9],
	};
}

// The datagram's identification takes the place of the ports.
static uint32_t fragment_id(const struct pkt *pkt, const uint8_t *frame)
{
	if (!(pkt->flags & PKT_V6))
		return be16(frame + pkt->l3_off + 4);
	// the fragment header is the last extension header that was walked over for later
	// fragments; in a first fragment others may follow it, so it is looked for again
	const uint8_t *ip = frame + pkt->l3_off;
	uint8_t next = ip[6];
	uint32_t offset = pkt->l3_off + 40u;

	while (next != IPPROTO_FRAGMENT && offset < pkt->l4_off) {
		const uint8_t *p = frame + offset;

		offset += next == IPPROTO_AH ? (uint32_t)(p[1] + 2) * 4 : (uint32_t)(p[1] + 1) * 8;
		next = p[0];
	}
	const uint8_t *p = frame + offset;

	return (uint32_t)be16(p + 4) << 16 | be16(p + 6);
}

void parse_flow_key(const struct pkt *pkt, const uint8_t *frame, union flow_key *key)
{
	bool v6 = pkt->flags & PKT_V6;
	const uint8_t *ip = frame + pkt->l3_off;
	struct key_source from = {
		.source = ip + (v6 ? 8 : 12),
		.destination = ip + (v6 ? 24 : 16),
		.sport = pkt->sport,
		.dport = pkt->dport,
		.proto = pkt->l4_proto,
	};
	size_t size = v6 ? 16 : 4;
	uint16_t vlan = pkt->n_vlan ? (uint16_t)(pkt->vlan[0] | 1u << 15) : 0;

	if (pkt->flags & PKT_ICMP_ERROR)
		from = embedded_source(pkt, frame);
	if (pkt->flags & PKT_FRAGMENT) {
		uint32_t id = fragment_id(pkt, frame);

		from.sport = (uint16_t)(id >> 16);
		from.dport = (uint16_t)id;
	}
	int order = memcmp(from.source, from.destination, size);
	bool forward = order < 0 || (order == 0 && from.sport <= from.dport);

	// the identification is no port: it does not change places
	if (pkt->flags & PKT_FRAGMENT)
		forward = order <= 0;
	const uint8_t *a = forward ? from.source : from.destination;
	const uint8_t *b = forward ? from.destination : from.source;
	bool keep = forward || pkt->flags & PKT_FRAGMENT;
	uint16_t port_a = keep ? from.sport : from.dport;
	uint16_t port_b = keep ? from.dport : from.sport;

	if (v6) {
		memset(&key->v6, 0, sizeof(key->v6));
		memcpy(key->v6.addr_a, a, 16);
		memcpy(key->v6.addr_b, b, 16);
		key->v6.port_a = port_a;
		key->v6.port_b = port_b;
		key->v6.l4_proto = from.proto;
		key->v6.tunnel_tag = pkt->tunnel_tag;
		key->v6.vlan = vlan;
		return;
	}
	memcpy(&key->v4.addr_a, a, 4);
	memcpy(&key->v4.addr_b, b, 4);
	key->v4.port_a = port_a;
	key->v4.port_b = port_b;
	key->v4.l4_proto = from.proto;
	key->v4.tunnel_tag = pkt->tunnel_tag;
	key->v4.vlan = vlan;
}

// Multiply-and-rotate over 32-bit words, finished as MurmurHash3 does: every bit of the key
// reaches the low bits, which choose the owner.
uint32_t parse_hash(const union flow_key *key, bool v6)
{
	size_t size = v6 ? sizeof(struct flow_key6) : sizeof(struct flow_key4);
	const uint8_t *bytes = (const uint8_t *)key;
	uint32_t hash = 0x9747b28c;

	for (size_t i = 0; i < size; i += 4) {
		uint32_t word;

		memcpy(&word, bytes + i, 4);
		word *= 0xcc9e2d51;
		word = word << 15 | word >> 17;
		hash ^= word * 0x1b873593;
		hash = (hash << 13 | hash >> 19) * 5 + 0xe6546b64;
	}
	hash ^= (uint32_t)size;
	hash ^= hash >> 16;
	hash *= 0x85ebca6b;
	hash ^= hash >> 13;
	hash *= 0xc2b2ae35;
	return hash ^ hash >> 16;
}
