// SPDX-License-Identifier: BSD-3-Clause
// HELOs: our own, which are signed and sent, and those of others, which are kept as addresses.
#ifndef TRANSPORTAPI_CORE_HELO_H
#define TRANSPORTAPI_CORE_HELO_H

#include "transportapi/core/carrier.h"
#include "transportapi/proto/ping.h"

#define TAPI_OWN_HELOS_MAX 32

struct tapi_core;
struct tapi_path;
struct tapi_peer;

struct tapi_address { // one HELO of a peer
	struct tapi_address *next;
	struct tapi_carrier *carrier;
	struct tapi_path *path; // open to it, or NULL
	uint8_t hash[TAPI_ADDRESS_HASH_BYTES];
	uint8_t family; // of IP: 4, 6; 0: neither
	uint64_t seq;
	uint64_t expires_us;        // monotonic
	uint64_t valid_until_us;    // monotonic; 0: not validated
	uint64_t revalidate_us;     // when half of that is over
	uint64_t validated_wall_us; // last; for the file of known peers
	uint64_t next_ping_us;      // not before: back-off
	uint16_t failures;
	bool proven;  // a PONG came from here once
	bool vouched; // the program, or the file of known peers, gave it: nobody out there did
	bool trigger; // a HELO came: one PING is due (TA8)
	bool suspect;
	uint32_t mtu; // as the HELO says
	uint32_t rtt_us, pings;
	float loss;
	uint16_t helo_size;
	uint8_t helo[]; // as signed
};

// Of a HELO. PEER: who brought it is validated.
enum tapi_origin { TAPI_FROM_STRANGER, TAPI_FROM_PEER, TAPI_FROM_PROGRAM, TAPI_FROM_FILE };

struct tapi_own_helo {
	uint16_t protocol, size;
	uint8_t octets[TAPI_HELO_BYTES_MAX];
};

// announce: peers are reported in the course of a minute.
void tapi_core_make_helos(struct tapi_core *core, uint64_t now_us, bool announce);
enum tapi_result tapi_core_take_helo(struct tapi_core *core, const struct tapi_helo *helo,
	const uint8_t *octets, size_t length, enum tapi_origin origin);
bool tapi_address_helo(const struct tapi_address *address, struct tapi_helo *out);
void tapi_address_end(struct tapi_peer *peer, struct tapi_address *address);
void tapi_addresses_limit(struct tapi_peer *peer); // helos_per_peer, after a reload
void tapi_peer_queue_helo(
	struct tapi_peer *peer, const uint8_t *octets, uint32_t size, uint64_t now_us);
void tapi_peer_send_helos(struct tapi_peer *peer, bool gossip, uint64_t now_us);
static inline bool tapi_address_valid(const struct tapi_address *address, uint64_t now_us)
{
	return address->valid_until_us > now_us && address->carrier->running;
}

#endif
