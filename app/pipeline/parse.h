// SPDX-License-Identifier: BSD-3-Clause
// Bytes -> struct pkt. The only place that reads header bytes before they are length-checked.
// Pure: no state, no counters; any lcore. Link layers as corpora and captures have them; VLAN
// 802.1Q/802.1ad/0x9100 (two tags are kept, up to six skipped), MPLS and PPPoE as part of the L2
// header; IPv4 (RFC 791), IPv6 with at most 8 extension headers (RFC 8200); inside GRE (RFC 2784,
// 2890), IPIP, 6in4, 4in6, 6in6 to depth 2. Later fragments of a datagram have no L4.
#ifndef SLUICE_PARSE_H
#define SLUICE_PARSE_H

#include <stdbool.h>
#include <string.h>
#include "pkt.h"

// Headers are looked for in at most this many bytes of a frame: what needs more is UNSUPPORTED.
#define PARSE_WINDOW 512

// `frame` has `length` readable bytes, the frame itself is `frame_length` long (greater when only
// its start is in one segment). Fills everything of `pkt` but rx_ns, flow, flow_gen, in_port,
// PKT_FROM_INSIDE, PKT_TRACE, PKT_INJECTED, PKT_CSUM_*: those bits are kept. `pkt->link`
// is read. `pkt->hash` is set with parse_hash; 0 where there is no key (class other than PKT_IP).
//
// Lengths: the IP packet ends where its header says; what lies behind is padding. A packet that is
// longer than what it lies in (frame, PPPoE length, outer packet), or whose headers do not fit it,
// is MALFORMED, as receivers discard it. With PKT_CAPTURED the snap length or segmentation offload
// of a capture may have done that: such a packet is taken with the payload that is there, and
// without PKT_L4_OK where its L4 header is not. The first fragment of an IPv4 datagram may also end
// inside its L4 header; in IPv6 that is MALFORMED (RFC 7112).
// PKT_L4_OK is for TCP, UDP, SCTP, ICMP and ICMPv6; other protocols have flows by addresses alone,
// among them tunnels that are not decoded (GRE version 1 or with routing, other payloads than IP),
// ESP, IPv4 AH and no-next-header. UNSUPPORTED: more than 8 extension headers, 6 link tags or 2
// tunnels, jumbograms, routing headers with segments left, headers beyond PARSE_WINDOW.
// Of a packet that is MALFORMED or UNSUPPORTED only link, vlan[], ethertype, PKT_PPPOE and
// PKT_MULTICAST mean something.
void parse_packet(struct pkt *pkt, const uint8_t *frame, uint32_t length, uint32_t frame_length);

// Pcap link type -> enum pkt_link; LINK_UNKNOWN for those that pass uninspected.
uint8_t parse_link_of(uint16_t linktype);

// EtherType and destination -> what `policy.link` speaks of (enum link_protocol).
unsigned parse_link_protocol(const uint8_t *frame, uint32_t length, const struct pkt *pkt);

// The canonical flow key, from the inspected header. Side A is the lower (address, port).
// ICMP error: the embedded packet's key. Fragments (first or not): the datagram's identification
// instead of ports (v4: port_a; v6: upper half in port_a, lower in port_b, and the protocol is
// IPPROTO_FRAGMENT), KEY_FRAGMENT in `vlan`, so that all of a datagram's fragments share one key.
#define KEY_VLAN     (1u << 15) // there is a tag (other than VLAN 0, which is a priority only)
#define KEY_FRAGMENT (1u << 14)
struct flow_key4 {       // 16 bytes
	uint32_t addr_a; // network order
	uint32_t addr_b;
	uint16_t port_a; // host order
	uint16_t port_b;
	uint8_t l4_proto;
	uint8_t tunnel_tag;
	uint16_t vlan; // outermost tag and KEY_VLAN, or 0
};
struct flow_key6 { // 48 bytes: rte_hash compares multiples of 16 fast
	uint8_t addr_a[16];
	uint8_t addr_b[16];
	uint16_t port_a;
	uint16_t port_b;
	uint8_t l4_proto;
	uint8_t tunnel_tag;
	uint16_t vlan;
	uint8_t pad[8];
};
static_assert(sizeof(struct flow_key4) == 16, "IPv4 key");
static_assert(sizeof(struct flow_key6) == 48, "IPv6 key");
union flow_key {
	struct flow_key4 v4;
	struct flow_key6 v6;
};
// Reads the addresses from the frame (`frame` as given to parse_packet). With PKT_ICMP_ERROR the
// key is the embedded packet's and PKT_A_TO_B speaks of the embedded packet's direction. Class
// PKT_IP only, and the headers as parse saw them.
void parse_flow_key(const struct pkt *pkt, const uint8_t *frame, union flow_key *key);
// The same for an mbuf that was parsed, however many segments.
void parse_mbuf_key(struct rte_mbuf *m, union flow_key *key);
// parse_packet for an mbuf, however many segments (A10), and its flow key. False: it has none
// (class other than PKT_IP), and `key` is as it was.
bool parse_mbuf(struct rte_mbuf *m, union flow_key *key);
// The same for a datagram that was put together: its frame is the link header of `first`, whose
// innermost packet was in fragments, and then that packet, whole, at l3_off.
bool parse_datagram(
	struct rte_mbuf *m, const struct pkt *first, uint32_t l3_off, union flow_key *key);

static inline uint64_t parse_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint32_t parse_mix_end(uint64_t mix)
{
	mix = parse_mix(mix ^ 0x1d8e4e27c47d124full, 0xeb44accab455d165ull);
	return (uint32_t)(mix ^ mix >> 32);
}

// parse_hash of an IPv4 key in two words.
static inline uint32_t parse_hash4(uint64_t first, uint64_t second)
{
	uint64_t mix = first ^ (second << 32 | second >> 32);

	return parse_mix_end(
		parse_mix(mix ^ 0xa0761d6478bd642full, second ^ 0xe7037ed1a0b428dbull));
}

// Symmetric by construction: from the canonical key. Seeded by nothing: replay is deterministic
// and lcores agree; collisions cost a compare, tables are bounded. 64 x 64 bits multiplied and
// folded: every bit of the key reaches every bit of the hash, in a dozen cycles.
static inline uint32_t parse_hash(const union flow_key *key, bool v6)
{
	uint64_t words[sizeof(union flow_key) / 8];

	if (!v6) {
		memcpy(words, key, sizeof(struct flow_key4));
		return parse_hash4(words[0], words[1]);
	}
	memcpy(words, key, sizeof(struct flow_key6)); // the last word is padding: 0
	uint64_t mix =
		parse_mix(words[0] ^ 0xa0761d6478bd642full, words[1] ^ 0xe7037ed1a0b428dbull);

	mix ^= parse_mix(words[2] ^ 0x8ebc6af09c88c6e3ull, words[3] ^ 0x589965cc75374cc3ull);
	return parse_mix_end(mix ^ words[4]);
}

#endif
