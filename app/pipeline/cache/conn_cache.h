// SPDX-License-Identifier: BSD-3-Clause
// The connection cache (kP2PADM 3.1.6): peers of blocked connections. Looked up
// only where no flow exists, before anything is made for the packet. One private replica per data
// lcore; the lcore that learns applies at once and broadcasts a hint, so that a reconnection that
// lands on another lcore is stopped too. Keys are before NAT; no source port.
// Entries live ttl_s after their last refresh (only a checksum-valid SYN or first datagram
// refreshes) and max_lifetime_s at most. Bounded; the oldest is evicted, of a chain that is full
// the oldest of that.
#ifndef SLUICE_CONN_CACHE_H
#define SLUICE_CONN_CACHE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "pipeline/wire/parse.h"
#include "pipeline/policy/policy.h"

struct lcore;
struct conn_cache;

struct conn_key {              // 48 bytes; cache mode peer: port 0, l4_proto 0
	uint8_t initiator[16]; // v4-mapped for IPv4
	uint8_t responder[16];
	uint16_t port; // responder's, host order
	uint8_t l4_proto;
	uint8_t from_inside; // zone of the initiator
	uint32_t realm;      // realm.h
	uint8_t mode;        // enum cache_mode
	uint8_t pad[7];
};
static_assert(sizeof(struct conn_key) == 48, "three 16-byte words");

union conn_words { // the same, as it is hashed and compared
	struct conn_key key;
	uint64_t words[6];
};
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && offsetof(struct conn_key, port) == 32 &&
		      offsetof(struct conn_key, l4_proto) == 34 &&
		      offsetof(struct conn_key, from_inside) == 35 &&
		      offsetof(struct conn_key, realm) == 36 &&
		      offsetof(struct conn_key, mode) == 40,
	"what stage_admit makes words of");

struct conn_entry { // as the control core sees it (query) and as hints carry it
	struct conn_key key;
	uint64_t created_ns;
	uint64_t expires_ns;
	uint64_t hits;
	uint64_t saved_bytes;
	uint64_t flow_id;  // of the flow that taught it; 0: the operator
	uint32_t rule_uid; // 0: the operator's
	uint16_t app;
	uint8_t confidence;
	uint8_t flags; // CONN_ENTRY_*
};

enum {
	CONN_ENTRY_OPERATOR = 1 << 0, // made by hand
	CONN_ENTRY_FIXED = 1 << 1,    // ends when it says, whatever hits it
	CONN_ENTRY_ALLOWED = 1 << 2,  // lets pass, whatever the policy says; always fixed
	CONN_ENTRY_UNHEARD = 1 << 3,  // made by a packet that anybody may have sent (refuse.h)
};

// Addresses for which no entry is made, by the operator. Inclusive; v4-mapped for IPv4.
#define EXEMPTIONS_MAX 256
struct exemption {
	uint8_t first[16];
	uint8_t last[16];
	uint64_t expires_ns; // UINT64_MAX: never
};
static inline bool exemption_has(const struct exemption *exemption, const uint8_t address[16])
{
	return memcmp(address, exemption->first, 16) >= 0 &&
	       memcmp(address, exemption->last, 16) <= 0;
}

// What the operator wants removed: entries of this pair of addresses, in those parts of the key
// that `given` says; or all of ends that are exempt by hand.
enum {
	CONN_MATCH_PORT = 1 << 0,
	CONN_MATCH_PROTO = 1 << 1,
	CONN_MATCH_MODE = 1 << 2,
	CONN_MATCH_ZONE = 1 << 3,
	CONN_MATCH_VLAN = 1 << 4,   // outermost tag
	CONN_MATCH_EXEMPT = 1 << 7, // instead of all others
};
struct conn_match {
	struct conn_key key;
	uint8_t given; // CONN_MATCH_*
};

// Of a realm with this outermost tag.
static inline bool conn_key_has_tag(const struct conn_key *key, const struct conn_key *wanted)
{
	uint16_t tags[2], wanted_tags[2];

	realm_tags(key->realm, tags);
	realm_tags(wanted->realm, wanted_tags);
	return tags[0] == wanted_tags[0];
}

enum conn_verdict {
	CONN_UNKNOWN,
	CONN_DROPS,
	CONN_ALLOWED,
};

struct conn_cache *conn_cache_new(unsigned capacity, const struct hash_seed *seed, int socket);
void conn_cache_free(struct conn_cache *cache);
unsigned conn_cache_count(const struct conn_cache *cache);
unsigned conn_cache_longest(const struct conn_cache *cache); // chain, in entries

// All below: the owning lcore only. `broadcast`: learned here (hint and event), not from a hint.
void conn_cache_learn(struct lcore *lcore, const struct conn_entry *entry, bool broadcast);
// What a run before this one had learned, with its startup, end and hits; to be called in the order
// of their ends. Control core, before the lcore starts. False: it is there already, or no room.
bool conn_cache_restore(struct lcore *lcore, const struct conn_entry *entry);
// Whether a packet of this initiator and responder is to be dropped; counts and refreshes.
// `refresh`: it is a SYN or first datagram whose checksum is good.
enum conn_verdict conn_cache_hit(
	struct lcore *lcore, const struct conn_key *tuple, uint32_t frame_bytes, bool refresh);
// For bursts: the hash of a tuple, and what brings its entry closer (first its place, then, when
// that is there, the entry).
static inline uint32_t conn_words_hash(const struct hash_seed *seed, const union conn_words *tuple)
{
	return hash_words(seed, tuple->words, 6);
}
void conn_cache_prefetch(const struct conn_cache *cache, uint32_t hash);
void conn_cache_prefetch_entry(const struct conn_cache *cache, uint32_t hash);
// conn_cache_hit for what it mostly is: an entry of this tuple under the policy in force, with
// nothing to tell. False: nothing was done, conn_cache_hit has to be asked.
bool conn_cache_drops(struct lcore *lcore, const union conn_words *tuple, uint32_t hash,
	uint32_t frame_bytes, bool refresh);
// Removes at most `budget` entries, the oldest first; returns how many.
unsigned conn_cache_flush(struct lcore *lcore, unsigned budget);
void conn_cache_age(struct lcore *lcore, unsigned budget);
// Copies up to `max` entries from position `*cursor` on; returns the number, 0 at the end.
unsigned conn_cache_read(
	const struct conn_cache *cache, uint32_t *cursor, struct conn_entry *out, unsigned max);

// By the operator's hand (conn_cache_operator.c), on each lcore.
// Makes the entry, or puts it in the place of the one that has its key; its end is set unless it
// is fixed. False: an end is exempt.
bool conn_cache_put(struct lcore *lcore, const struct conn_entry *entry);
// Looks at `budget` slots from `*cursor` on; returns how many entries went. At the end `*cursor` is
// UINT32_MAX.
unsigned conn_cache_take_out(
	struct lcore *lcore, const struct conn_match *match, uint32_t *cursor, unsigned budget);
// These and no others, from now on; entries that are there stay (CONN_MATCH_EXEMPT takes them out).
void conn_cache_exempt(struct lcore *lcore, const struct exemption *exemptions, unsigned n);

#endif
