// SPDX-License-Identifier: BSD-3-Clause
// The packet that nearly all are: Ethernet, at most one tag, IPv4 without options, TCP or UDP, not
// a fragment, headers in the first segment. One pass over it, no cursor. Whatever is not exactly
// that (or is wrong in any way) is left to the parser, so that this knows no rule of its own: what
// it takes, the parser would have taken with the same result (test_parse and fuzz_parse hold that).
#include <netinet/in.h>
#include <string.h>
#include <rte_byteorder.h>
#include "owner.h"
#include "parse_layers.h"

#define L4_SHORTEST 8

struct plain {
	uint32_t l3;
	uint32_t payload; // offset
	uint32_t length;  // of it
	uint16_t tag;
	bool tagged;
};

static uint32_t load32(const uint8_t *p)
{
	uint32_t word;

	memcpy(&word, p, sizeof(word));
	return word;
}

// Big-endian reads in one instruction each.
static uint16_t host16(const uint8_t *p)
{
	uint16_t word;

	memcpy(&word, p, sizeof(word));
	return rte_be_to_cpu_16(word);
}

static uint32_t host32(const uint8_t *p)
{
	return rte_be_to_cpu_32(load32(p));
}

// Is it one of these, and where are its parts? `end` readable bytes, which are the whole frame.
static bool find(const uint8_t *frame, uint32_t end, struct plain *out)
{
	uint16_t type;

	if (end < 14 + 20 + L4_SHORTEST)
		return false;
	type = host16(frame + 12);
	out->l3 = 14;
	out->tagged = type == 0x8100 && end >= 18 + 20 + L4_SHORTEST;
	if (out->tagged) {
		out->tag = host16(frame + 14) & 0xfff;
		type = host16(frame + 16);
		out->l3 = 18;
	}
	const uint8_t *ip = frame + out->l3;

	if (type != TYPE_IPV4 || ip[0] != 0x45 || host16(ip + 6) & 0x3fff)
		return false;
	uint32_t total = host16(ip + 2), header;

	if (out->l3 + total > end)
		return false;
	if (ip[9] == IPPROTO_TCP && total >= 40) {
		header = (uint32_t)(ip[32] >> 4) * 4;
		if (header < 20 || 20 + header > total)
			return false;
		out->length = total - 20 - header;
	} else if (ip[9] == IPPROTO_UDP && total >= 28) {
		uint32_t length = host16(ip + 24);

		header = L4_SHORTEST;
		if (length < header || 20 + length > total)
			return false;
		out->length = length - header;
	} else {
		return false;
	}
	out->payload = out->l3 + 20 + header;
	return true;
}

bool parse_plain(struct rte_mbuf *m, union flow_key *key)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	struct pkt *pkt = pkt_of(m);
	struct plain at = {0};

	if (m->nb_segs != 1 || m->data_len != m->pkt_len || pkt->link != LINK_ETHERNET ||
		!find(frame, m->data_len, &at))
		return false;
	const uint8_t *ip = frame + at.l3, *l4 = ip + 20;
	bool tcp = ip[9] == IPPROTO_TCP;
	uint32_t source = load32(ip + 12), destination = load32(ip + 16);
	uint16_t sport = host16(l4), dport = host16(l4 + 2);
	uint64_t one = (uint64_t)rte_be_to_cpu_32(source) << 16 | sport;
	uint64_t other = (uint64_t)rte_be_to_cpu_32(destination) << 16 | dport;
	bool forward = one <= other;
	uint16_t flags = pkt->flags & PARSE_KEPT_FLAGS;

	flags |= PKT_L4_OK;
	if (forward)
		flags |= PKT_A_TO_B;
	if (frame[0] & 1 || ip[16] >= 224)
		flags |= PKT_MULTICAST;
	key->v4 = (struct flow_key4){
		.addr_a = forward ? source : destination,
		.addr_b = forward ? destination : source,
		.port_a = forward ? sport : dport,
		.port_b = forward ? dport : sport,
		.l4_proto = ip[9],
		.vlan = at.tag ? (uint16_t)(at.tag | KEY_VLAN) : 0,
	};
	// member by member, in place; what receive has set stays
	pkt->hash = parse_hash(key, false);
	pkt->tcp_seq = tcp ? host32(l4 + 4) : 0;
	pkt->tcp_ack = tcp ? host32(l4 + 8) : 0;
	pkt->flags = flags;
	pkt->ethertype = TYPE_IPV4;
	pkt->outer_l3_off = pkt->l3_off = (uint16_t)at.l3;
	pkt->l4_off = (uint16_t)(at.l3 + 20);
	pkt->payload_off = (uint16_t)at.payload;
	pkt->payload_len = (uint16_t)at.length;
	pkt->emb_off = 0;
	pkt->vlan[0] = at.tag;
	pkt->vlan[1] = 0;
	pkt->sport = sport;
	pkt->dport = dport;
	pkt->tcp_win = tcp ? host16(l4 + 14) : 0;
	pkt->n_vlan = at.tagged;
	pkt->l4_proto = ip[9];
	pkt->tcp_flags = tcp ? l4[13] : 0;
	pkt->class = PKT_IP;
	pkt->tunnel_tag = 0;
	pkt->ttl = ip[8];
	uint32_t words = source ^ destination;

	words = rte_be_to_cpu_16((uint16_t)(words ^ words >> 16));
	pkt->owner_slot = owner_slot_of((uint16_t)(words ^ sport ^ dport));
	return true;
}
