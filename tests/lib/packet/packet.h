// SPDX-License-Identifier: BSD-3-Clause
// Packets for tests, built layer by layer from the outside in:
//
//   struct packet p;
//   packet_begin(&p);
//   packet_ethernet(&p); packet_vlan(&p, 0x8100, 7); packet_ipv4(&p, "192.0.2.1", "192.0.2.2");
//   packet_tcp(&p, 40000, 80, seq, ack, TH_ACK); packet_text(&p, "GET /");
//   packet_finish(&p);
//
// Each layer sets the "next" field of the one before it; packet_finish() sets lengths and
// checksums, innermost first, by code of its own (not app/pipeline/wire/checksum.c). Tests then
// damage p.bytes as they like. Also mbufs whose segments are heap blocks of exact size, so that
// AddressSanitizer sees one byte too far. Aborts on misuse.
#ifndef SLUICE_TEST_PACKET_H
#define SLUICE_TEST_PACKET_H

#include <stdbool.h>
#include "pipeline/vocab/pkt.h"

#define PACKET_MAX        4096
#define PACKET_LAYERS_MAX 32

struct packet {
	uint8_t bytes[PACKET_MAX];
	uint32_t length;
	uint8_t link; // enum pkt_link
	unsigned n_layers;
	struct packet_layer {
		uint8_t kind;
		uint32_t at;
	} layers[PACKET_LAYERS_MAX];
};

void packet_begin(struct packet *p);

// Link layers. Ethernet is 02:00:00:00:00:01 -> 02:00:00:00:00:02.
void packet_ethernet(struct packet *p);
void packet_link(struct packet *p, enum pkt_link link); // the others; RAW adds nothing
void packet_vlan(struct packet *p, uint16_t type, uint16_t tci);
void packet_mpls(struct packet *p, uint32_t label, bool bottom);
void packet_pppoe(struct packet *p, uint16_t session);

// Network layers. Addresses as inet_pton reads them.
void packet_ipv4(struct packet *p, const char *source, const char *destination);
void packet_ipv4_options(struct packet *p, unsigned n_words);
void packet_ipv4_fragment(struct packet *p, uint16_t id, unsigned offset_bytes, bool more);
void packet_ipv6(struct packet *p, const char *source, const char *destination);
// Hop-by-hop, routing, destination options, AH: `length` bytes in all, zeroed.
void packet_extension(struct packet *p, uint8_t proto, unsigned length);
void packet_ipv6_fragment(struct packet *p, uint32_t id, unsigned offset_bytes, bool more);
// flags: C 0x8000, K 0x2000, S 0x1000, version; `type` 0: set by the layer that follows.
void packet_gre(struct packet *p, uint16_t flags, uint16_t type);

// Transport.
void packet_tcp(struct packet *p, uint16_t sport, uint16_t dport, uint32_t seq, uint32_t ack,
	uint8_t flags);
void packet_tcp_options(struct packet *p, unsigned n_words);
void packet_udp(struct packet *p, uint16_t sport, uint16_t dport);
void packet_icmp(struct packet *p, uint8_t type, uint8_t code); // 8 bytes; v6 after packet_ipv6
void packet_protocol(struct packet *p, uint8_t proto); // another protocol follows: no header
void packet_payload(struct packet *p, const void *bytes, uint32_t length);
void packet_fill(struct packet *p, uint32_t length); // payload 0, 1, 2 ...
void packet_text(struct packet *p, const char *text);

void packet_finish(struct packet *p);
void packet_padding(struct packet *p, uint32_t length); // behind everything, after finish

// Offset of the n-th (from 0) header of this protocol; IPPROTO_IPIP is IPv4, IPPROTO_IPV6 is IPv6.
uint32_t packet_at(const struct packet *p, uint8_t proto, unsigned n);
// Reference verification, byte by byte: the IPv4 header at l3, and the L4 checksum up to `end`.
bool packet_sums_good(const uint8_t *frame, uint32_t l3, uint32_t l4, uint32_t end, uint8_t proto);

// EAL without hugepages, once per program, and a pool of small mbufs with struct pkt.
struct rte_mempool *packet_pool(void);
// `segments` as equal as may be, each in a heap block of its exact size. struct pkt is zeroed but
// for link and flow.
struct rte_mbuf *packet_mbuf(struct rte_mempool *pool, const uint8_t *bytes, uint32_t length,
	uint8_t link, unsigned segments);

// One packet of every kind that the parser tells apart. `i` from 0; false: no more.
struct packet_sample {
	const char *name;
	uint8_t class;  // enum pkt_class that it is
	uint16_t flags; // struct pkt.flags that parse sets (without PKT_A_TO_B)
	uint8_t proto;  // l4_proto
	uint16_t sport;
	uint16_t dport;
	uint16_t payload_length;
	struct packet packet;
};
bool packet_sample(unsigned i, struct packet_sample *sample);

#endif
