// SPDX-License-Identifier: BSD-3-Clause
// Bytes -> struct pkt. The only place that reads header bytes before they are length-checked.
// Pure: no state, no counters; any lcore. Link layers as corpora and captures have them; VLAN
// 802.1Q/802.1ad/0x9100 (two tags are kept, VLAN 0 is none), LLC/SNAP, MPLS and PPPoE as part of
// the L2 header; IPv4 (RFC 791), IPv6 with at most 8 extension headers (RFC 8200); inside GRE (RFC
// 2784, 2890), IPIP, 6in4, 4in6, 6in6 to depth 2. Later fragments of a datagram have no L4.
#ifndef SLUICE_PARSE_H
#define SLUICE_PARSE_H

#include <stdbool.h>
#include <string.h>
#include "pipeline/vocab/link_protocol.h"
#include "pipeline/vocab/pkt.h"
#include "pipeline/wire/realm.h"

// Headers are looked for in at most this many bytes of a frame: what needs more is UNSUPPORTED.
// That is all of a jumbo frame: hosts bound the number of options, not that of headers.
#define PARSE_WINDOW 9216

// `frame` has `length` readable bytes, the frame itself is `frame_length` long (greater when only
// its start is in one segment). Fills everything of `pkt` but rx_ns, flow, flow_gen, in_port,
// egress, PKT_FROM_INSIDE, PKT_TRACE, PKT_INJECTED, PKT_CSUM_*: those bits are kept. `pkt->link` is
// read.
//
// Lengths: the IP packet ends where its header says; what lies behind is padding. A packet that is
// longer than what it lies in (frame, PPPoE length, outer packet), or whose headers do not fit it,
// is MALFORMED, as receivers discard it. With PKT_CAPTURED the snap length or segmentation offload
// of a capture may have done that: such a packet is taken with the payload that is there, and
// without PKT_L4_OK where its L4 header is not. The first fragment of an IPv4 datagram may also end
// inside its L4 header; in IPv6 that is MALFORMED (RFC 7112).
// PKT_L4_OK is for TCP, UDP, SCTP, ICMP and ICMPv6; other protocols have flows by addresses alone,
// among them tunnels that are not decoded (GRE version 1 or with routing, other payloads than IP),
// ESP, IPv4 AH and no-next-header. UNSUPPORTED: what enum unsupported_cause says.
// Of a packet that is MALFORMED or UNSUPPORTED only link, vlan[], ethertype, PKT_PPPOE and
// PKT_MULTICAST mean something; and sport and dport as struct pkt says.
void parse_packet_with(struct pkt *pkt, const uint8_t *frame, uint32_t length,
	uint32_t frame_length, const struct parse_settings *settings);
// With PARSE_SETTINGS_FIXED.
void parse_packet(struct pkt *pkt, const uint8_t *frame, uint32_t length, uint32_t frame_length);

// Pcap link type -> enum pkt_link; LINK_UNKNOWN for those that pass uninspected.
uint8_t parse_link_of(uint16_t linktype);

// EtherType and destination -> enum link_protocol.
unsigned parse_link_protocol(const uint8_t *frame, uint32_t length, const struct pkt *pkt);

// The canonical flow key, from the inspected header. Side A is the lower (address, port).
// ICMP error: the embedded packet's key. Fragments (first or not): the datagram's identification
// instead of ports (v4: port_a; v6: upper half in port_a, lower in port_b, and the protocol is
// IPPROTO_FRAGMENT), KEY_FRAGMENT in `flags`, so that all of a datagram's fragments share one key.
#define KEY_FRAGMENT (1u << 14)
// Side A is on the inside. Set by parse_key_zones: packets that come in on the wrong side for their
// addresses are another flow, and say nothing of the one they imitate.
#define KEY_A_INSIDE (1u << 13)
struct flow_key4 {       // 24 bytes
	uint32_t addr_a; // network order
	uint32_t addr_b;
	uint16_t port_a; // host order
	uint16_t port_b;
	uint8_t l4_proto;
	uint8_t unused;
	uint16_t flags; // KEY_*
	uint32_t realm; // realm.h
	uint32_t pad;
};
struct flow_key6 { // 48 bytes
	uint8_t addr_a[16];
	uint8_t addr_b[16];
	uint16_t port_a;
	uint16_t port_b;
	uint8_t l4_proto;
	uint8_t unused;
	uint16_t flags;
	uint32_t realm;
	uint32_t pad;
};
static_assert(sizeof(struct flow_key4) == 24, "IPv4 key");
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
// parse_packet for an mbuf, however many segments, and its flow key. False: it has none
// (class other than PKT_IP), and `key` is as it was.
bool parse_mbuf(struct rte_mbuf *m, const struct parse_settings *settings, union flow_key *key);
// The same for a datagram that was put together: its frame is the link header of `first`, whose
// innermost packet was in fragments, and then that packet, whole, at l3_off.
bool parse_datagram(struct rte_mbuf *m, const struct pkt *first, uint32_t l3_off,
	const struct parse_settings *settings, union flow_key *key);

// The zones of a flow's two ends, from the port that the packet came in on, into its key. An ICMP
// error comes from where the packet that it quotes went.
static inline void parse_key_zones(const struct pkt *pkt, union flow_key *key)
{
	// A's packet from inside, B's from outside; of an error the other way round
	bool other = __builtin_parity(pkt->flags & (PKT_FROM_INSIDE | PKT_ICMP_ERROR | PKT_A_TO_B));
	uint16_t *flags = pkt->flags & PKT_V6 ? &key->v6.flags : &key->v4.flags;

	*flags |= other ? 0 : KEY_A_INSIDE;
}

static inline uint32_t parse_key_realm(const union flow_key *key, bool v6)
{
	return v6 ? key->v6.realm : key->v4.realm;
}

// Of a table of flows. Symmetric by construction: from the canonical key.
static inline uint32_t parse_hash(const struct hash_seed *seed, const union flow_key *key, bool v6)
{
	uint64_t words[sizeof(union flow_key) / 8];

	if (!v6) {
		memcpy(words, key, sizeof(struct flow_key4));
		words[3] = 0;
		return hash_words(seed, words, 4);
	}
	memcpy(words, key, sizeof(struct flow_key6));
	return hash_words(seed, words, 6);
}

#endif
