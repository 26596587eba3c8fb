// SPDX-License-Identifier: BSD-3-Clause
#include <netinet/in.h>
#include <string.h>
#include "owner.h"
#include "parse_layers.h"

// Both ends as the packet has them; the key is these in canonical order.
struct ends {
	const uint8_t *source;
	const uint8_t *destination;
	uint16_t sport;
	uint16_t dport;
	uint8_t proto;
};

static struct ends ends_of(const struct pkt *pkt, const uint8_t *frame)
{
	bool v6 = pkt->flags & PKT_V6, error = pkt->flags & PKT_ICMP_ERROR;
	const uint8_t *ip = frame + (error ? pkt->emb_off : pkt->l3_off);

	return (struct ends){
		.source = ip + (v6 ? 8 : 12),
		.destination = ip + (v6 ? 24 : 16),
		.sport = error ? (uint16_t)(pkt->tcp_seq >> 16) : pkt->sport,
		.dport = error ? (uint16_t)pkt->tcp_seq : pkt->dport,
		.proto = error ? pkt->tcp_flags : pkt->l4_proto,
	};
}

// The datagram's identification takes the place of the ports, and of the protocol in IPv6: there
// each fragment names a next header of its own, and only the first one's is believed.
static void fragment_ends(const struct pkt *pkt, const uint8_t *frame, struct ends *ends)
{
	if (pkt->flags & PKT_V6) {
		const uint8_t *p = frame + pkt->emb_off;

		ends->sport = be16(p + 4);
		ends->dport = be16(p + 6);
		ends->proto = IPPROTO_FRAGMENT;
	} else {
		ends->sport = be16(frame + pkt->l3_off + 4);
		ends->dport = 0;
	}
}

static uint16_t key_vlan(const struct pkt *pkt)
{
	uint16_t vlan = 0;

	// VLAN 0 is a priority on an untagged frame (IEEE 802.1Q), and one side may not set it
	if (pkt->n_vlan && pkt->vlan[0])
		vlan = (uint16_t)(pkt->vlan[0] | KEY_VLAN);
	if (pkt->flags & PKT_FRAGMENT)
		vlan |= KEY_FRAGMENT;
	return vlan;
}

// Returns whether the source is side A.
static bool key_fill(const struct pkt *pkt, const uint8_t *frame, union flow_key *key)
{
	bool v6 = pkt->flags & PKT_V6, fragment = pkt->flags & PKT_FRAGMENT;
	struct ends ends = ends_of(pkt, frame);
	int order = memcmp(ends.source, ends.destination, v6 ? 16 : 4);

	if (fragment)
		fragment_ends(pkt, frame, &ends);
	bool forward = order < 0 || (order == 0 && (fragment || ends.sport <= ends.dport));
	bool swap = !forward && !fragment; // an identification has no sides
	const uint8_t *a = forward ? ends.source : ends.destination;
	const uint8_t *b = forward ? ends.destination : ends.source;
	uint16_t port_a = swap ? ends.dport : ends.sport;
	uint16_t port_b = swap ? ends.sport : ends.dport;

	if (v6) {
		key->v6 = (struct flow_key6){
			.port_a = port_a,
			.port_b = port_b,
			.l4_proto = ends.proto,
			.tunnel_tag = pkt->tunnel_tag,
			.vlan = key_vlan(pkt),
		};
		memcpy(key->v6.addr_a, a, 16);
		memcpy(key->v6.addr_b, b, 16);
	} else {
		key->v4 = (struct flow_key4){
			.port_a = port_a,
			.port_b = port_b,
			.l4_proto = ends.proto,
			.tunnel_tag = pkt->tunnel_tag,
			.vlan = key_vlan(pkt),
		};
		memcpy(&key->v4.addr_a, a, 4);
		memcpy(&key->v4.addr_b, b, 4);
	}
	return forward;
}

void parse_flow_key(const struct pkt *pkt, const uint8_t *frame, union flow_key *key)
{
	key_fill(pkt, frame, key);
}

static void pkt_reset(struct pkt *pkt)
{
	*pkt = (struct pkt){
		.rx_ns = pkt->rx_ns,
		.flow = pkt->flow,
		.flow_gen = pkt->flow_gen,
		.flags = pkt->flags & PARSE_KEPT_FLAGS,
		.in_port = pkt->in_port,
		.link = pkt->link,
	};
}

static void parse_end(struct pkt *pkt, const uint8_t *frame, enum pkt_class class)
{
	pkt->class = (uint8_t) class;
	if (class != PKT_IP) {
		pkt->flags &= (uint16_t) ~(PKT_L4_OK | PKT_ICMP_ERROR);
		return;
	}
	union flow_key key;

	if (key_fill(pkt, frame, &key))
		pkt->flags |= PKT_A_TO_B;
	pkt->hash = parse_hash(&key, pkt->flags & PKT_V6);
	pkt->owner_slot = owner_slot(&key, pkt->flags & PKT_V6);
}

void parse_packet(struct pkt *pkt, const uint8_t *frame, uint32_t length, uint32_t frame_length)
{
	struct cursor c = {
		.bytes = frame,
		.window = length < PARSE_WINDOW ? length : PARSE_WINDOW,
		.frame_end = frame_length,
		.end = frame_length,
		.captured = pkt->flags & PKT_CAPTURED,
	};

	pkt_reset(pkt);
	enum pkt_class class = parse_link(pkt, &c);

	if (class == PKT_IP)
		class = parse_network(pkt, &c);
	parse_end(pkt, frame, class);
}

// All the bytes that parse may want: where they lie in one segment, nothing is copied.
static const uint8_t *mbuf_window(
	const struct rte_mbuf *m, uint8_t buffer[PARSE_WINDOW], uint32_t *length)
{
	uint32_t want = m->pkt_len < PARSE_WINDOW ? m->pkt_len : PARSE_WINDOW;
	const uint8_t *frame = rte_pktmbuf_read(m, 0, want, buffer);

	*length = want;
	if (frame)
		return frame;
	// pkt_len promises more than the segments hold; the first one is there
	*length = m->data_len;
	return rte_pktmbuf_mtod(m, const uint8_t *);
}

// Apart, as its buffer is large and it is hardly ever called.
__attribute__((noinline)) static bool parse_any(struct rte_mbuf *m, union flow_key *key)
{
	uint8_t buffer[PARSE_WINDOW];
	uint32_t length;
	const uint8_t *frame = mbuf_window(m, buffer, &length);
	struct pkt *pkt = pkt_of(m);

	parse_packet(pkt, frame, length, m->pkt_len);
	if (pkt->class != PKT_IP)
		return false;
	key_fill(pkt, frame, key);
	return true;
}

bool parse_mbuf(struct rte_mbuf *m, union flow_key *key)
{
	return parse_plain(m, key) || parse_any(m, key);
}

bool parse_datagram(
	struct rte_mbuf *m, const struct pkt *first, uint32_t l3_off, union flow_key *key)
{
	uint8_t buffer[PARSE_WINDOW];
	uint32_t length;
	const uint8_t *frame = mbuf_window(m, buffer, &length);
	struct pkt *pkt = pkt_of(m);
	struct cursor c = {
		.bytes = frame,
		.window = length,
		.frame_end = m->pkt_len,
		.end = m->pkt_len,
		.at = l3_off,
		.captured = pkt->flags & PKT_CAPTURED,
	};

	pkt_reset(pkt);
	pkt->flags |= first->flags & (PKT_PPPOE | PKT_MULTICAST | PKT_TUNNEL);
	pkt->ethertype = first->ethertype;
	pkt->tunnel_tag = first->tunnel_tag;
	pkt->n_vlan = first->n_vlan;
	memcpy(pkt->vlan, first->vlan, sizeof(pkt->vlan));
	parse_end(pkt, frame, parse_network(pkt, &c));
	if (pkt->class != PKT_IP)
		return false;
	key_fill(pkt, frame, key);
	return true;
}

void parse_mbuf_key(struct rte_mbuf *m, union flow_key *key)
{
	uint8_t buffer[PARSE_WINDOW];
	uint32_t length;
	const uint8_t *frame = mbuf_window(m, buffer, &length);

	key_fill(pkt_of(m), frame, key);
}
