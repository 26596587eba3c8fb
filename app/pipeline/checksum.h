// SPDX-License-Identifier: BSD-3-Clause
// L4 checksums in software (RFC 1071; RFC 768 zero rule; RFC 8200 section 8.1), over mbufs of any
// number of segments. Ours because rte_*_cksum_verify is experimental in DPDK 22.11.
#ifndef SLUICE_CHECKSUM_H
#define SLUICE_CHECKSUM_H

#include "pkt.h"

// Sets PKT_CSUM_GOOD or PKT_CSUM_BAD, from the driver's flags where they speak of the inspected
// header (no tunnel), else by computing. Protocols without a checksum that we know, and fragments,
// are good. UDP over IPv4 with checksum 0 is good; over IPv6 it is bad. Returns true when it was
// computed here.
bool checksum_verify(struct rte_mbuf *m);

// RFC 1071 sum over bytes of an mbuf, not folded beyond 32 bits; for building packets.
uint16_t checksum_fold(uint32_t sum);
uint32_t checksum_bytes(const void *bytes, uint32_t length, uint32_t sum);
// Fills the IPv4 header checksum and the TCP, UDP, ICMP or ICMPv6 checksum of a packet that lies
// in one segment: `l3` points at the IP header, `l4` at the L4 header, `l4_length` bytes of it.
void checksum_fill(uint8_t *l3, uint8_t *l4, uint16_t l4_length, uint8_t l4_proto, bool v6);

#endif
