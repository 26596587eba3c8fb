// SPDX-License-Identifier: BSD-3-Clause
// Parses a frame into `struct pkt`, layer by layer.
#include <netinet/in.h>
#include <string.h>
#include "pipeline/wire/owner.h"
#include "pipeline/wire/parse_layers.h"

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
			.flags = fragment ? KEY_FRAGMENT : 0,
			.realm = pkt->realm,
		};
		memcpy(key->v6.addr_a, a, 16);
		memcpy(key->v6.addr_b, b, 16);
	} else {
		key->v4 = (struct flow_key4){
			.port_a = port_a,
			.port_b = port_b,
			.l4_proto = ends.proto,
			.flags = fragment ? KEY_FRAGMENT : 0,
			.realm = pkt->realm,
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
		.egress = pkt->egress,
		.link = pkt->link,
	};
}

static void parse_end(struct pkt *pkt, const struct cursor *c, enum pkt_class class)
{
	const uint8_t *frame = c->bytes;

	pkt->class = (uint8_t) class;
	if (class != PKT_IP) {
		pkt->flags &= (uint16_t) ~(PKT_L4_OK | PKT_ICMP_ERROR);
		pkt->sport = class == PKT_UNSUPPORTED ? c->cause : 0;
		pkt->dport = c->has_ip;
		return;
	}
	union flow_key key;

	if (key_fill(pkt, frame, &key))
		pkt->flags |= PKT_A_TO_B;
	pkt->owner_slot = owner_slot(&key, pkt->flags & PKT_V6);
}

void parse_packet(struct pkt *pkt, const uint8_t *frame, uint32_t length, uint32_t frame_length)
{
	parse_packet_with(pkt, frame, length, frame_length, &PARSE_SETTINGS_FIXED);
}

void parse_packet_with(struct pkt *pkt, const uint8_t *frame, uint32_t length,
	uint32_t frame_length, const struct parse_settings *settings)
{
	struct cursor c = {
		.bytes = frame,
		.window = length < PARSE_WINDOW ? length : PARSE_WINDOW,
		.frame_end = frame_length,
		.end = frame_length,
		.captured = pkt->flags & PKT_CAPTURED,
		.settings = settings,
	};

	pkt_reset(pkt);
	enum pkt_class class = parse_link(pkt, &c);

	if (class == PKT_IP)
		class = parse_network(pkt, &c);
	parse_end(pkt, &c, class);
}

// What is enough for nearly all; more of a packet in several segments is copied when it is needed.
#define PARSE_NEAR 512

// The first bytes of a packet, at least `want` of them or all: where they lie in one segment,
// nothing is copied. The buffer has `want` bytes.
static const uint8_t *mbuf_window(
	const struct rte_mbuf *m, uint8_t *buffer, uint32_t want, uint32_t *length)
{
	*length = m->data_len;
	if (m->data_len >= want || m->data_len == m->pkt_len)
		return rte_pktmbuf_mtod(m, const uint8_t *);
	want = m->pkt_len < want ? m->pkt_len : want;
	const uint8_t *frame = rte_pktmbuf_read(m, 0, want, buffer);

	// pkt_len may promise more than the segments hold; the first one is there
	if (frame)
		*length = want;
	return frame ? frame : rte_pktmbuf_mtod(m, const uint8_t *);
}

// Has all been seen that parse looks for? A packet in an ICMP error is looked for without need.
static bool has_seen_all(const struct pkt *pkt)
{
	if (pkt->class == PKT_UNSUPPORTED)
		return pkt->sport != UNSUPPORTED_HEADERS;
	return pkt->class != PKT_IP || pkt->flags & PKT_ICMP_ERROR ||
	       (pkt->l4_proto != IPPROTO_ICMP && pkt->l4_proto != IPPROTO_ICMPV6);
}

// False: not all headers are in that much of the packet.
static bool parse_within(struct rte_mbuf *m, const struct parse_settings *settings, uint8_t *buffer,
	uint32_t want, union flow_key *key)
{
	uint32_t length;
	const uint8_t *frame = mbuf_window(m, buffer, want, &length);
	struct pkt *pkt = pkt_of(m);

	parse_packet_with(pkt, frame, length, m->pkt_len, settings);
	if (pkt->class == PKT_IP)
		key_fill(pkt, frame, key);
	return has_seen_all(pkt) || length >= RTE_MIN(m->pkt_len, (uint32_t)PARSE_WINDOW);
}

// Apart, as their buffers are large and they are hardly ever called.
__attribute__((noinline)) static void parse_far(
	struct rte_mbuf *m, const struct parse_settings *settings, union flow_key *key)
{
	uint8_t buffer[PARSE_WINDOW];

	parse_within(m, settings, buffer, sizeof(buffer), key);
}

__attribute__((noinline)) static bool parse_any(
	struct rte_mbuf *m, const struct parse_settings *settings, union flow_key *key)
{
	uint8_t buffer[PARSE_NEAR];

	if (unlikely(!parse_within(m, settings, buffer, sizeof(buffer), key)))
		parse_far(m, settings, key);
	return pkt_of(m)->class == PKT_IP;
}

bool parse_mbuf(struct rte_mbuf *m, const struct parse_settings *settings, union flow_key *key)
{
	return parse_plain(m, settings, key) || parse_any(m, settings, key);
}

bool parse_datagram(struct rte_mbuf *m, const struct pkt *first, uint32_t l3_off,
	const struct parse_settings *settings, union flow_key *key)
{
	uint8_t buffer[PARSE_WINDOW];
	uint32_t length;
	const uint8_t *frame = mbuf_window(m, buffer, sizeof(buffer), &length);
	struct pkt *pkt = pkt_of(m);
	struct cursor c = {
		.bytes = frame,
		.window = RTE_MIN(length, (uint32_t)PARSE_WINDOW),
		.frame_end = m->pkt_len,
		.end = m->pkt_len,
		.at = l3_off,
		.captured = pkt->flags & PKT_CAPTURED,
		.settings = settings,
	};

	pkt_reset(pkt);
	pkt->flags |= first->flags & (PKT_PPPOE | PKT_MULTICAST | PKT_TUNNEL);
	pkt->ethertype = first->ethertype;
	pkt->realm = first->realm;
	pkt->n_vlan = first->n_vlan;
	memcpy(pkt->vlan, first->vlan, sizeof(pkt->vlan));
	parse_end(pkt, &c, parse_network(pkt, &c));
	if (pkt->class != PKT_IP)
		return false;
	key_fill(pkt, frame, key);
	return true;
}

// The header whose addresses are in the key, and that of a fragment.
static uint32_t key_end(const struct pkt *pkt)
{
	return (uint32_t)RTE_MAX(pkt->l3_off, pkt->emb_off) + 40;
}

__attribute__((noinline)) static void key_far(struct rte_mbuf *m, union flow_key *key)
{
	uint8_t buffer[PARSE_WINDOW + 40]; // parse has found it in the window
	uint32_t length;

	key_fill(pkt_of(m), mbuf_window(m, buffer, key_end(pkt_of(m)), &length), key);
}

void parse_mbuf_key(struct rte_mbuf *m, union flow_key *key)
{
	uint8_t buffer[PARSE_NEAR];
	uint32_t length;

	if (unlikely(key_end(pkt_of(m)) > sizeof(buffer)))
		key_far(m, key);
	else
		key_fill(pkt_of(m), mbuf_window(m, buffer, sizeof(buffer), &length), key);
}
