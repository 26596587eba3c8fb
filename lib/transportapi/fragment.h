// SPDX-License-Identifier: BSD-3-Clause
// A message that is longer than the mtu, in parts (TA16). Wire, network order:
//
//   u16 size, u16 type=5 | u32 msg_id, u32 total, u32 offset | octets of the message
//
// Parts come in any order; the same octets may come again, other octets for the same place discard
// the message. Per peer at most 16 messages and 256 KiB wait, each 10 s (1 h: high latency); memory
// of all peers is bounded by the pool.
#ifndef TRANSPORTAPI_FRAGMENT_H
#define TRANSPORTAPI_FRAGMENT_H

#include "transportapi/transport.h"

#define TAPI_FRAGMENT_HEAD_BYTES 16            // with the head of every message
#define TAPI_MESSAGE_BYTES_MAX   (256u * 1024) // a message of the application, its head included

struct tapi_fragment_counters {
	uint64_t parts, whole, duplicate, conflict, malformed, expired, dropped_full;
};

struct tapi_fragment_pool { // of one core
	uint64_t bytes, bytes_max;
	struct tapi_fragment_counters counters;
};

struct tapi_assembly;    // one message that is not whole yet
struct tapi_assemblies { // of one peer
	struct tapi_fragment_pool *pool;
	struct tapi_assembly *first;
	unsigned count;
	uint64_t bytes;
};

void tapi_assemblies_init(struct tapi_assemblies *all, struct tapi_fragment_pool *pool);
void tapi_assemblies_clear(struct tapi_assemblies *all);
// The part that begins at `offset` of `message` into `out` (room: mtu octets). Octets written.
uint32_t tapi_fragment_make(uint8_t *out, uint32_t mtu, uint32_t msg_id, const uint8_t *message,
	uint32_t total, uint32_t offset, uint32_t *next_offset);
// `part` with its head. *whole: the message, heap, the caller's, when this was the last one
// missing; else NULL.
enum tapi_result tapi_fragment_take(struct tapi_assemblies *all, const uint8_t *part,
	uint32_t length, uint64_t now_us, uint64_t expiry_us, uint8_t **whole,
	uint32_t *whole_size);
uint64_t tapi_fragment_turn(struct tapi_assemblies *all, uint64_t now_us); // next wish

#endif
