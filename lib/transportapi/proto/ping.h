// SPDX-License-Identifier: BSD-3-Clause
// PING and PONG: is this peer at this address (the paper, II.C; TA8, TA9). Wire, network order:
//
//   PING  u16 size, u16 type=2 | challenge[32] | target id[32] | u16 protocol, u16 n
//         | address hash[16] | n HELOs of the sender, one after another
//         | zeros up to TAPI_PONG_BYTES: an answer is never longer than the question
//   PONG  u16 size, u16 type=3 | challenge[32] | public_key[32]
//         | observed: u8 family, u8 0, u16 port, address[16] (zeros where there is none)
//         | u64 valid_until_us | signature[64]
//
// signature = Ed25519("sluice-pong-v1\0" || challenge || id of the pinger || address hash ||
// observed || valid_until). The key is in the PONG, so that it can be held against the id alone.
// Both are exact: what is decoded encodes to the same octets.
#ifndef TRANSPORTAPI_PING_H
#define TRANSPORTAPI_PING_H

#include "transportapi/proto/helo.h"

#define TAPI_CHALLENGE_BYTES 32
#define TAPI_PONG_BYTES      (4 + 32 + 32 + 20 + 8 + 64)
#define TAPI_PING_HELOS_MAX  4
#define TAPI_PING_BYTES_MAX  (4 + 32 + 32 + 4 + 16 + TAPI_PING_HELOS_MAX * TAPI_HELO_BYTES_MAX)

struct tapi_ping {
	uint8_t challenge[TAPI_CHALLENGE_BYTES];
	struct tapi_peer_id target;
	uint16_t protocol;                             // 0: the session it comes by
	uint8_t address_hash[TAPI_ADDRESS_HASH_BYTES]; // zeros there
	unsigned n_helos;
	struct tapi_helo helos[TAPI_PING_HELOS_MAX]; // decoded, not checked
};

struct tapi_pong {
	uint8_t challenge[TAPI_CHALLENGE_BYTES];
	uint8_t public_key[TAPI_PUBLIC_KEY_BYTES];
	struct tapi_source observed; // where the PING came from, as its receiver saw
	uint64_t valid_until_us;     // wall clock
	uint8_t signature[TAPI_SIGNATURE_BYTES];
};

// HELOs that do not fit into `room` are left out; 0: not even the rest fits, or it would be
// malformed.
size_t tapi_ping_encode(const struct tapi_ping *ping, uint8_t *out, size_t room);
enum tapi_result tapi_ping_decode(struct tapi_ping *out, const uint8_t *octets, size_t length);
size_t tapi_pong_encode(const struct tapi_pong *pong, uint8_t *out, size_t room);
enum tapi_result tapi_pong_decode(struct tapi_pong *out, const uint8_t *octets, size_t length);
// Answers `ping` of `pinger`.
void tapi_pong_sign(struct tapi_pong *out, const struct tapi_ping *ping,
	const struct tapi_peer_id *pinger, const struct tapi_source *observed,
	uint64_t valid_until_us, const struct tapi_identity *identity);
// Is it the answer of ping->target to our `ping`: TAPI_ESIG, TAPI_EEXPIRED. TAPI_OK: valid_until_us
// is later than wall_us; no skew is allowed for, who answers grants hours.
enum tapi_result tapi_pong_check(const struct tapi_pong *pong, const struct tapi_ping *ping,
	const struct tapi_peer_id *pinger, uint64_t wall_us);

#endif
