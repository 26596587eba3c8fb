// SPDX-License-Identifier: BSD-3-Clause
// What is at an address, as others said in clear: nodes of peer-to-peer networks that
// the DHT, trackers and peers list, each an address, a port and a protocol (the endpoint cache),
// and addresses that DNS gave a client for a name (the name cache). A flow to one of them that does
// not say itself what it is gets its application with CONFIDENCE_CACHE (inspect_learned.c).
//
// One private replica of both per data lcore; the lcore that learns broadcasts a hint. Bounded;
// the entry that was reported longest ago makes room, in a chain that is full (chains.h) that of
// the chain. Who tells may lie, so that
// - ports below ENDPOINT_PORT_FIRST and addresses that no peer has are refused, and private
//   addresses unless a private address tells;
// - of one teller (its address) no more than a share of the entries lives at once;
// - payload has the last word: a flow that proves to be something else takes its entry out.
#ifndef SLUICE_ENDPOINT_CACHE_H
#define SLUICE_ENDPOINT_CACHE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include "classify/app_proto.h"
#include "pipeline/vocab/hash_seed.h"

struct lcore;
struct endpoint_cache;

#define ENDPOINT_PORT_FIRST   1024
#define ENDPOINT_TTL_S        3600 // since it was last reported; twice what trackers' peers wait
#define ENDPOINT_TELLER_SHARE 16   // of one teller at most one in so many entries
#define NAME_TTL_MIN_S        60u  // clients keep an address longer than they were told to
#define NAME_TTL_MAX_S        3600u

struct endpoint_key {        // 40 bytes
	uint8_t address[16]; // v4-mapped for IPv4
	uint8_t client[16];  // name cache: who asked; all 0: anybody. Endpoint cache: 0
	uint16_t port;       // host order; name cache: 0
	uint8_t l4_proto;    // name cache: 0
	uint8_t pad;
	uint32_t realm; // realm.h
};
static_assert(sizeof(struct endpoint_key) == 40, "five words");

struct endpoint_entry { // as the control core sees it (query) and as hints carry it
	struct endpoint_key key;
	uint64_t created_ns;
	uint64_t expires_ns;
	uint64_t flow_id; // that told it last
	uint32_t hits;    // flows
	uint32_t teller;  // hash of who told it first
	uint16_t app;
	uint8_t from; // enum learned_from
	struct endpoint_secret secret;
	uint8_t pad[3];
};
static_assert(sizeof(struct endpoint_entry) == 112, "of a hint");

// `capacity` 0: nothing is kept, and nothing allocated. NULL: no memory.
struct endpoint_cache *endpoint_cache_new(
	unsigned capacity, const struct hash_seed *seed, int socket);
void endpoint_cache_free(struct endpoint_cache *cache);
unsigned endpoint_cache_count(const struct endpoint_cache *cache);
unsigned endpoint_cache_longest(const struct endpoint_cache *cache); // chain, in entries

// All below: the owning lcore only.

// An address that a peer of the internet, or of `teller`'s network, may have.
bool endpoint_is_plausible(const uint8_t address[16], const uint8_t teller[16]);
// Makes the entry, or makes the one that is there last for longer; `expires_ns` is the caller's.
// `teller`: NULL: it was a hint, and is counted already. False: the teller has reported enough.
bool endpoint_cache_learn(
	struct lcore *lcore, struct endpoint_cache *cache, const struct endpoint_entry *entry);
// The entry that lives; NULL. `hit`: count it as one.
const struct endpoint_entry *endpoint_cache_find(
	struct lcore *lcore, struct endpoint_cache *cache, const struct endpoint_key *key);
void endpoint_cache_hit(struct endpoint_cache *cache, const struct endpoint_key *key);
// It was wrong. False: there is none.
bool endpoint_cache_forget(struct endpoint_cache *cache, const struct endpoint_key *key);
// Takes out at most `budget` of those that were reported longest ago and are over; returns how
// many.
unsigned endpoint_cache_age(struct endpoint_cache *cache, uint64_t now_ns, unsigned budget);
// Copies up to `max` entries from position `*cursor` on; returns the number, 0 at the end.
unsigned endpoint_cache_read(const struct endpoint_cache *cache, uint32_t *cursor,
	struct endpoint_entry *out, unsigned max);

#endif
