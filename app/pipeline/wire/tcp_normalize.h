// SPDX-License-Identifier: BSD-3-Clause
// What is taken out of a TCP header so that a receiver reads the bytes that were inspected, in
// their order, and no others. Pure, any lcore.
//
// Multipath TCP (RFC 8684): bytes of one connection over several subflows have an order that no
// subflow shows. Without its options in the SYNs both ends fall back to TCP (section 3.7); one that
// lived before falls back, or its subflow is reset by its end, when they are gone from its
// segments. URG (RFC 6093): a receiver takes the byte at the pointer out of the stream, or does
// not.
#ifndef SLUICE_TCP_NORMALIZE_H
#define SLUICE_TCP_NORMALIZE_H

#include <stdbool.h>
#include <stdint.h>

#define TCP_HEADER_MAX 60

struct tcp_normal {
	bool mptcp; // has options of MPTCP
	bool urg;   // has the flag
};

// What a header of `length` bytes (20 to 60, a multiple of 4) has. Options behind one that no host
// reads on from (a length below 2, or beyond the header) are not there, as behind an EOL.
struct tcp_normal tcp_normal_find(const uint8_t *header, unsigned length);

// Takes out what `what` names: options become NOPs, the flag and its pointer 0. The checksum is
// moved by the difference (RFC 1624): a good one stays good, and so does that of a tunnel around
// it.
void tcp_normal_apply(uint8_t *header, unsigned length, struct tcp_normal what);

#endif
