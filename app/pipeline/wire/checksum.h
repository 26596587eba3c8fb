// SPDX-License-Identifier: BSD-3-Clause
// L4 checksums in software (RFC 1071; RFC 768 zero rule; RFC 8200 section 8.1), over mbufs of any
// number of segments. Ours because rte_*_cksum_verify is experimental in DPDK 22.11.
#ifndef SLUICE_CHECKSUM_H
#define SLUICE_CHECKSUM_H

#include "pipeline/vocab/pkt.h"

// Of a packet of class PKT_IP: sets PKT_CSUM_GOOD or PKT_CSUM_BAD, from the driver's word where it
// speaks of the inspected header (no tunnel) and says good, else by computing. Bad is also an IPv4
// header with a wrong checksum, the inspected one or the outermost of a tunnel. Protocols without
// a checksum that we know, and fragments, are good by their headers. UDP over IPv4 with checksum 0
// is good; over IPv6 it is bad. What a snap length cut is bad: it cannot be summed. Returns true
// when it was computed here; false also when it was known before.
bool checksum_verify(struct rte_mbuf *m);

// RFC 1071 sum of 16-bit words as they lie in memory, added to `sum` (an earlier result, of an even
// number of bytes); the last of an odd number is padded with 0. checksum_fold() makes 16 bits of
// it: 0xffff over bytes that hold a good checksum; its complement is what a packet carries.
uint16_t checksum_fold(uint32_t sum);
uint32_t checksum_bytes(const void *bytes, uint32_t length, uint32_t sum);
// Fills the IPv4 header checksum and the TCP, UDP, ICMP or ICMPv6 checksum of a packet that lies
// in one segment: `l3` points at the IP header, `l4` at the L4 header, `l4_length` bytes of it.
// Other protocols: the IPv4 header only.
void checksum_fill(uint8_t *l3, uint8_t *l4, uint16_t l4_length, uint8_t l4_proto, bool v6);
// The TCP checksum of a parsed packet.
void checksum_fill_tcp(struct rte_mbuf *m);

#endif
