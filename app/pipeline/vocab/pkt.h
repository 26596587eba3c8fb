// SPDX-License-Identifier: BSD-3-Clause
// The typed view of an mbuf's private area. Every pool of the gateway has the same priv_size
// (sizeof(struct pkt)); after parse it is the only truth about a packet's layers.
// Written by the lcore that holds the mbuf; travels with it through the handoff rings.
#ifndef SLUICE_PKT_H
#define SLUICE_PKT_H

#include <assert.h>
#include <stdint.h>
#include <rte_mbuf.h>

// struct pkt.flags
enum {
	PKT_V6 = 1 << 0,          // the innermost IP header that we follow is IPv6
	PKT_FRAGMENT = 1 << 1,    // innermost IP: any fragment, first or not (atomic ones are not)
	PKT_FRAG_FIRST = 1 << 2,  // offset 0: carries the L4 header
	PKT_TUNNEL = 1 << 3,      // l3_off is an inner header of GRE, IPIP, 6in4
	PKT_ICMP_ERROR = 1 << 4,  // emb_off points at an embedded IP header whose ports were read
	PKT_L4_OK = 1 << 5,       // l4_off, payload_off, payload_len and ports are valid
	PKT_FROM_INSIDE = 1 << 6, // came in on the inside port of its pair (replay: by --inside)
	PKT_CSUM_GOOD = 1 << 7,   // L4 checksum known good (hardware, or verified by us)
	PKT_CSUM_BAD = 1 << 8,
	PKT_TRACE = 1 << 9,        // log this packet's stages (sluicectl trace)
	PKT_INJECTED = 1 << 10,    // made by us
	PKT_CSUM_IGNORE = 1 << 11, // replay --checksum ignore: take the checksum as good
	PKT_A_TO_B = 1 << 12,      // the packet's source is side A of the canonical key
	PKT_PPPOE = 1 << 13,       // a PPPoE session header is part of the L2 header
	PKT_MULTICAST = 1 << 14,   // group destination (L2 or L3)
	PKT_CAPTURED = 1 << 15,    // from a capture: a snap length may have cut it (see parse.h)
};

// What parse could make of a packet.
enum pkt_class {
	PKT_IP,          // an IP packet with a flow key
	PKT_LINK,        // not IP: goes by the per-ethertype policy
	PKT_MALFORMED,   // no host accepts it
	PKT_UNSUPPORTED, // we gave up: too many headers or tunnels
	PKT_LINKTYPE,    // replay only: a link type that we do not know; passes uninspected
};

// Why a packet is PKT_UNSUPPORTED. X(symbol, word, what).
#define UNSUPPORTED_CAUSES(X)                                                          \
	X(HEADERS, "headers", "packets with headers beyond what is read of a frame")   \
	X(TUNNELS, "tunnels", "packets in more tunnels than are followed")             \
	X(ROUTING, "routing", "IPv6 packets on their way to a segment of their route") \
	X(FRAGMENTS, "fragments", "fragments within fragments")

enum unsupported_cause {
#define X(symbol, word, what) UNSUPPORTED_##symbol,
	UNSUPPORTED_CAUSES(X)
#undef X
		UNSUPPORTED_MAX
};

static inline const char *unsupported_word(unsigned cause)
{
	static const char *const words[] = {
#define X(symbol, word, what) word,
		UNSUPPORTED_CAUSES(X)
#undef X
	};
	return cause < UNSUPPORTED_MAX ? words[cause] : "?";
}

#define PKT_FLOW_NONE UINT32_MAX
// In owner_slot of fragments that another lcore has put together: their flow is ours.
#define PKT_SETTLED 0x8000
// Or: the datagram held a fragment again, and the others of its datagram come to us.
#define PKT_MOVED     0x4000
#define PKT_BUNDLE    0x2000 // it stands for the packets that a fragment came in
#define PKT_VLANS_MAX 2

// 64 bytes, one cache line. Offsets are from the start of the frame, in bytes.
struct pkt {
	uint64_t rx_ns;    // when it was received: now_ns of that turn; 0: made by us
	uint32_t realm;    // the network that it belongs to: part of the key (realm.h)
	uint32_t flow;     // index in the owner lcore's flow pool, or PKT_FLOW_NONE
	uint32_t flow_gen; // generation of that entry: a mismatch means that the flow has gone
	// host order; valid with l4_proto TCP and PKT_L4_OK. PKT_ICMP_ERROR: the ports of the
	// embedded packet, its source's in the upper half
	uint32_t tcp_seq;
	uint32_t tcp_ack; // PKT_ICMP_ERROR of a TCP segment: its sequence number
	uint16_t flags;
	uint16_t ethertype;    // innermost, host order (0x0800, 0x86dd, or the L2 protocol)
	uint16_t outer_l3_off; // first IP header; == l3_off without a tunnel
	uint16_t l3_off;       // the IP header whose flow is inspected
	uint16_t l4_off;
	uint16_t payload_off;
	uint16_t payload_len; // by the IP header's length, never beyond the frame
	uint16_t emb_off;     // PKT_ICMP_ERROR: embedded IP header; IPv6 fragment: its header
	uint16_t vlan[PKT_VLANS_MAX]; // TCI without priority (12 bits), outermost first
	// host order; ICMP: type, code mapped as Community ID does. PKT_UNSUPPORTED: the cause
	// (enum unsupported_cause), and (of PKT_MALFORMED, too) whether there is an outermost IP
	// header, which l3_off, PKT_V6, ttl and l4_proto then speak of
	uint16_t sport;
	uint16_t dport;
	uint16_t tcp_win; // as on the wire, unscaled
	uint8_t n_vlan;
	uint8_t l4_proto;    // IPPROTO_* of the inspected header, after extension headers
	uint8_t tcp_flags;   // PKT_ICMP_ERROR: L4 protocol of the embedded packet
	uint8_t class;       // enum pkt_class
	uint8_t in_port;     // index of struct port, not the ethdev id
	uint8_t egress;      // enum egress_kind; 0 from its receipt on
	uint8_t ttl;         // of the inspected header
	uint8_t link;        // enum pkt_link
	uint16_t owner_slot; // 0..511: which lcore owns the flow (owner.h); PKT_SETTLED ...
};
static_assert(sizeof(struct pkt) == 64, "struct pkt is one cache line");

// Link layers (replay reads several; ports are always Ethernet).
enum pkt_link {
	LINK_ETHERNET,
	LINK_RAW,  // starts with the IP header
	LINK_NULL, // BSD loopback: 4 bytes of family
	LINK_SLL,  // Linux cooked v1
	LINK_SLL2,
	LINK_PPP,    // DLT 9, 50
	LINK_C_HDLC, // DLT 104
	LINK_UNKNOWN,
};

#define PKT_PRIV_SIZE RTE_ALIGN(sizeof(struct pkt), RTE_MBUF_PRIV_ALIGN)

static inline struct pkt *pkt_of(struct rte_mbuf *m)
{
	return (struct pkt *)rte_mbuf_to_priv(m);
}

#endif
