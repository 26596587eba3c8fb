// SPDX-License-Identifier: BSD-3-Clause
// A message that is longer than the mtu, in parts (TA16). Wire, network order:
//
//   u16 size, u16 type=5 | u32 msg_id, u32 total, u32 offset | octets of the message
//
// The message begins with its own head; a size field of 0 there means that it is longer than
// UINT16_MAX, and `total` is its size (queue.h). Every part is a pack of its own, and bears
// is_encrypted and crc of the message where that is encrypted. A sender counts msg_id up.
//
// Parts come in any order; the same octets may come again; other octets for the same place, another
// total or another crc discard the message. Per peer at most 16 messages and 256 KiB (of `total`)
// wait, each 10 s (1 h: high latency). Where that is full, a message with a newer msg_id takes the
// place of older ones: a lost part costs its own message only. Memory of all peers is bounded by
// the pool; it is taken as parts come in, not as totals promise, and where it is full, the peer
// that holds most loses its oldest message (fair drop, TA29).
#ifndef TRANSPORTAPI_FRAGMENT_H
#define TRANSPORTAPI_FRAGMENT_H

#include "transportapi/base/budget.h"
#include "transportapi/base/memory_accounting.h"
#include "transportapi/base/transport.h"

#define TAPI_FRAGMENT_HEAD_BYTES 16            // with the head of every message
#define TAPI_MESSAGE_BYTES_MAX   (256u * 1024) // a message of the application, its head included
#define TAPI_ASSEMBLIES_MAX      16            // messages of one peer
#define TAPI_ASSEMBLY_BYTES_MAX  TAPI_MESSAGE_BYTES_MAX // of one peer, by `total`

// started == whole + conflict + expired + dropped_* + what waits.
#define TAPI_FRAGMENT_COUNTERS(X)                                                      \
	X(parts, "fragments that came in")                                             \
	X(duplicate, "fragments that brought nothing new")                             \
	X(malformed, "fragments with wrong lengths")                                   \
	X(refused, "fragments of messages for which there was no room")                \
	X(started, "messages of which a fragment came in and was kept")                \
	X(whole, "of these, given on whole")                                           \
	X(conflict, "of these, discarded: fragments contradicted one another")         \
	X(expired, "of these, not whole in time")                                      \
	X(dropped_full, "of these, discarded because the peer or the memory was full") \
	X(dropped_memory, "of these, discarded because the system had no memory")      \
	X(dropped_forgotten, "of these, discarded because their peer was forgotten")

struct tapi_fragment_counters {
#define X(name, help) uint64_t name;
	TAPI_FRAGMENT_COUNTERS(X)
#undef X
};

struct tapi_fragment_pool {        // of one core
	uint64_t bytes, bytes_max; // of memory
	struct tapi_fragment_counters counters;
	struct tapi_budget *budget; // of the core; NULL: none
	struct tapi_budget_share share;
};

struct tapi_assembly;    // one message that is not whole yet
struct tapi_assemblies { // of one peer
	struct tapi_fragment_pool *pool;
	struct tapi_assembly *first; // oldest first
	unsigned count;
	uint64_t bytes; // their totals
	struct tapi_memory_user holder;
};

struct tapi_whole {
	uint8_t *message; // heap, the caller's; NULL: not whole yet
	uint32_t size;    // its head included
	bool is_encrypted;
	uint32_t crc; // where is_encrypted: of the plain text
};

void tapi_fragment_pool_init(struct tapi_fragment_pool *pool, uint64_t bytes_max);
// Its memory is part of the budget, too.
void tapi_fragment_pool_join(struct tapi_fragment_pool *pool, struct tapi_budget *budget);
// Another bound (a reload): what is beyond it is dropped_full at once, of those that hold most.
void tapi_fragment_pool_limit(struct tapi_fragment_pool *pool, uint64_t bytes_max);
void tapi_assemblies_init(struct tapi_assemblies *all, struct tapi_fragment_pool *pool);
void tapi_assemblies_clear(struct tapi_assemblies *all);
// Is `part` of a message that waits here?
bool tapi_assemblies_wait_for(
	const struct tapi_assemblies *all, const uint8_t *part, uint32_t length);
// The part that begins at `offset` of `message` into `out` (room: mtu octets). Octets written; 0:
// the mtu has no room for a head and an octet, or there is nothing at `offset`.
uint32_t tapi_fragment_make(uint8_t *out, uint32_t mtu, uint32_t msg_id, const uint8_t *message,
	uint32_t total, uint32_t offset, uint32_t *next_offset);
// `part` with its head, is_encrypted and crc as its pack has them. A message that begins with it is
// kept for `for_us`. *whole is always set: the
// message when this was the last part missing. TAPI_EFORMAT: malformed, or a contradiction;
// TAPI_DROPPED: no room; TAPI_ENOMEM.
enum tapi_result tapi_fragment_take(struct tapi_assemblies *all, const uint8_t *part,
	uint32_t length, bool is_encrypted, uint32_t crc, uint64_t now_us, uint64_t for_us,
	struct tapi_whole *whole);
// Drops what expired; when it wants to be called next, UINT64_MAX: never.
uint64_t tapi_fragment_turn(struct tapi_assemblies *all, uint64_t now_us);

#endif
