// SPDX-License-Identifier: BSD-3-Clause
// Which lcore owns a flow. Every packet of a flow,
// its ICMP errors, and all fragments of a datagram have one owner, whatever port or queue they
// came in on: the owner is computed in software for each packet, so that a NIC that spreads
// differently costs a handoff, never a split flow.
//
// The hash is the one that NICs compute, Toeplitz with the symmetric key 6d5a repeated, so that
// with RSS the queue's lcore is the owner and nothing is handed off. That key has a period of 16
// bits: each 16-bit word of the input sees the same key bits and the hash is linear, so the hash
// of the tuple is the hash of the exclusive or of its words (two table look-ups).
#ifndef SLUICE_OWNER_H
#define SLUICE_OWNER_H

#include "pipeline/wire/parse.h"

#define OWNER_TABLE 512 // slots; the largest redirection table that common NICs have

// Slot of a key, 0 .. OWNER_TABLE - 1. TCP, UDP and SCTP by addresses and ports; fragments and
// other protocols by addresses, as NICs do.
uint16_t owner_slot(const union flow_key *key, bool v6);
// The slot of the exclusive or of all 16-bit words of the hash's input.
extern const uint16_t owner_upper[256], owner_lower[256];
static inline uint16_t owner_slot_of(uint16_t words)
{
	return owner_upper[words >> 8] ^ owner_lower[words & 0xff];
}

#endif
