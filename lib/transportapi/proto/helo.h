// SPDX-License-Identifier: BSD-3-Clause
// HELO: "I am this key, and this is one address of mine" (the paper, II.B; TA7). Wire, network
// order:
//
//   u16 size, u16 type=1 | u8 ver=1, u8 flags, u16 protocol | u32 mtu | u64 expires_us | u64 seq
//   | public_key[32] | signature[64] | u16 address_size, u16 0 | address          = 128 + n
//
// signature = Ed25519("sluice-helo-v1\0" || all octets but the signature). Times are of the wall
// clock, microseconds since 1970. Exact: another version, a size that does not fit, protocol 0, a
// NAT with an address, or a zero that is none is malformed. Flags that nobody knows yet are carried
// (they are signed) and not looked at.
#ifndef TRANSPORTAPI_HELO_H
#define TRANSPORTAPI_HELO_H

#include "transportapi/base/identity.h"

#define TAPI_HELO_FIXED_BYTES 128
#define TAPI_HELO_BYTES_MAX   (TAPI_HELO_FIXED_BYTES + TAPI_ADDRESS_BYTES)
#define TAPI_SKEW_US          (600 * UINT64_C(1000000)) // by which clocks may differ
#define TAPI_PROTOCOL_NAT     1 // no address: the peer can only be answered on sessions it opens

enum tapi_helo_flags {
	TAPI_HELO_NATED = 1 << 0,
	TAPI_HELO_OUTBOUND_ONLY = 1 << 1,
	TAPI_HELO_RELAY = 1 << 2,
	TAPI_HELO_ENCRYPTS = 1 << 3, // takes part in handshakes (secure.h)
};

struct tapi_helo {
	uint16_t protocol;
	uint8_t flags;
	uint32_t mtu;
	uint64_t expires_us; // wall clock
	uint64_t seq;        // newer replaces
	uint8_t public_key[TAPI_PUBLIC_KEY_BYTES];
	uint8_t signature[TAPI_SIGNATURE_BYTES];
	uint16_t address_size;
	uint8_t address[TAPI_ADDRESS_BYTES];
};

// Fills in key and signature; what the transport filled in (protocol, mtu, address) and expiry,
// seq and flags stand.
TAPI_EXPORT void tapi_helo_sign(struct tapi_helo *helo, const struct tapi_identity *identity);
// Octets written, at most TAPI_HELO_BYTES_MAX; 0: no room, or it would be malformed.
TAPI_EXPORT size_t tapi_helo_encode(const struct tapi_helo *helo, uint8_t *out, size_t room);
// Shape only: TAPI_EFORMAT, or TAPI_OK with *used. What is decoded encodes to the same octets.
TAPI_EXPORT enum tapi_result tapi_helo_decode(
	struct tapi_helo *out, const uint8_t *octets, size_t length, size_t *used);
// Signature (TAPI_ESIG) and expiry: past, or later than 24 h (7 days: TAPI_HIGH_LATENCY) from now,
// TAPI_SKEW_US allowed (TAPI_EEXPIRED, reported first).
TAPI_EXPORT enum tapi_result tapi_helo_check(
	const struct tapi_helo *helo, uint64_t wall_us, bool high_latency);
TAPI_EXPORT void tapi_helo_peer(const struct tapi_helo *helo, struct tapi_peer_id *out);
// BLAKE2b-128 of protocol and address: what PING names.
#define TAPI_ADDRESS_HASH_BYTES 16
TAPI_EXPORT void tapi_helo_address_hash(
	const struct tapi_helo *helo, uint8_t out[TAPI_ADDRESS_HASH_BYTES]);

#endif
