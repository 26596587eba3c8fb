// SPDX-License-Identifier: BSD-3-Clause
// The packet that nearly all are: Ethernet, at most one tag, IPv4 without options, TCP or UDP, not
// a fragment, headers in the first segment. One pass over it, no cursor. Whatever is not exactly
// that (or is wrong in any way) is left to the parser, so that this knows no rule of its own: what
// it takes, the parser would have taken with the same result (test_parse and fuzz_parse hold that).
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <rte_byteorder.h>
#include "pipeline/wire/owner.h"
#include "pipeline/wire/parse_layers.h"

// The key is made as two words.
static_assert(RTE_BYTE_ORDER == RTE_LITTLE_ENDIAN && offsetof(struct flow_key4, addr_b) == 4 &&
		      offsetof(struct flow_key4, port_b) == 10 &&
		      offsetof(struct flow_key4, l4_proto) == 12 &&
		      offsetof(struct flow_key4, flags) == 14 &&
		      offsetof(struct flow_key4, realm) == 16,
	"the first member is the low end of its word");

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

// What L4 says: where its payload lies in the datagram of `total` bytes, and how long it is.
static bool find_payload(const uint8_t *ip, uint32_t total, uint32_t *offset, uint32_t *length)
{
	if (ip[9] == IPPROTO_TCP) {
		if (total < 40)
			return false;
		*offset = 20 + (uint32_t)(ip[32] >> 4) * 4;
		*length = total - *offset;
		return *offset >= 40 && *offset <= total;
	}
	if (ip[9] != IPPROTO_UDP || total < 28)
		return false;
	uint32_t datagram = host16(ip + 24);

	*offset = 28;
	*length = datagram - 8;
	return datagram >= 8 && 20 + datagram <= total;
}

// The IPv4 header begins at `l3`, a constant in each of the two calls: what it makes constant below
// is stored at one go. `end` readable bytes are the whole frame, and l3 + 28 at least.
static inline __attribute__((always_inline)) bool parse_at(struct rte_mbuf *m, const uint8_t *frame,
	uint32_t end, const uint32_t l3, const struct parse_settings *settings, union flow_key *key)
{
	const uint8_t *ip = frame + l3, *l4 = ip + 20;
	uint32_t first = host32(ip); // version, header length, TOS, total length
	uint32_t total = first & 0xffff, offset, length;
	struct pkt *pkt = pkt_of(m);

	if (first >> 24 != 0x45 || l3 + total > end || host16(ip + 6) & 0x3fff ||
		!find_payload(ip, total, &offset, &length))
		return false;
	bool tcp = ip[9] == IPPROTO_TCP, tagged = l3 == 18;
	uint32_t source = load32(ip + 12), destination = load32(ip + 16), ports = host32(l4);
	uint16_t sport = (uint16_t)(ports >> 16), dport = (uint16_t)ports;
	uint64_t one = (uint64_t)rte_be_to_cpu_32(source) << 16 | sport;
	uint64_t other = (uint64_t)rte_be_to_cpu_32(destination) << 16 | dport;
	bool forward = one <= other, group = (frame[0] & 1) | (ip[16] >= 224);
	// the ends change places without a branch: nothing foretells their order
	uint32_t swap = forward ? 0 : UINT32_MAX, both = source ^ destination;
	uint32_t address = both & swap;
	uint16_t port = (sport ^ dport) & (uint16_t)swap;
	uint16_t tag = tagged ? host16(frame + 14) & 0xfff : 0;
	uint32_t realm = tagged && !settings->vlan_shared ? tag : 0;
	// In two words, as they are read again: wider loads than stores would have to wait for
	// them.
	uint64_t words[3] = {
		(source ^ address) | (uint64_t)(destination ^ address) << 32,
		(uint16_t)(sport ^ port) | (uint64_t)(uint16_t)(dport ^ port) << 16 |
			(uint64_t)ip[9] << 32,
		realm,
	};

	memcpy(key, words, sizeof(words));
	// member by member, in place; what receive has set stays
	pkt->flags = (uint16_t)((pkt->flags & PARSE_KEPT_FLAGS) | PKT_L4_OK |
				(forward ? PKT_A_TO_B : 0) | (group ? PKT_MULTICAST : 0));
	pkt->ethertype = TYPE_IPV4;
	pkt->outer_l3_off = (uint16_t)l3;
	pkt->l3_off = (uint16_t)l3;
	pkt->l4_off = (uint16_t)(l3 + 20);
	pkt->payload_off = (uint16_t)(l3 + offset);
	pkt->payload_len = (uint16_t)length;
	pkt->emb_off = 0;
	pkt->vlan[0] = tag;
	pkt->vlan[1] = 0;
	pkt->sport = sport;
	pkt->dport = dport;
	pkt->n_vlan = tag != 0;
	pkt->l4_proto = ip[9];
	pkt->class = PKT_IP;
	pkt->realm = realm;
	pkt->ttl = ip[8];
	if (tcp) {
		pkt->tcp_seq = host32(l4 + 4);
		pkt->tcp_ack = host32(l4 + 8);
		pkt->tcp_win = host16(l4 + 14);
		pkt->tcp_flags = l4[13];
	} else {
		pkt->tcp_seq = 0;
		pkt->tcp_ack = 0;
		pkt->tcp_win = 0;
		pkt->tcp_flags = 0;
	}
	both = rte_be_to_cpu_16((uint16_t)(both ^ both >> 16));
	pkt->owner_slot = owner_slot_of((uint16_t)(both ^ sport ^ dport));
	return true;
}

bool parse_plain(struct rte_mbuf *m, const struct parse_settings *settings, union flow_key *key)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	uint32_t end = m->data_len;

	if (m->nb_segs != 1 || end != m->pkt_len || pkt_of(m)->link != LINK_ETHERNET ||
		end < 14 + 28)
		return false;
	uint16_t type = host16(frame + 12);

	if (type == TYPE_IPV4)
		return parse_at(m, frame, end, 14, settings, key);
	if (type == 0x8100 && end >= 18 + 28 && host16(frame + 16) == TYPE_IPV4)
		return parse_at(m, frame, end, 18, settings, key);
	return false;
}
