// SPDX-License-Identifier: BSD-3-Clause
// Between the files of the connection cache: its slots and lists. The owning lcore only.
#ifndef SLUICE_CONN_SLOTS_H
#define SLUICE_CONN_SLOTS_H

#include "pipeline/vocab/chains.h"
#include "pipeline/cache/conn_cache.h"
#include "pipeline/event/event.h"

#define NONE CHAIN_END

// Two cache lines. Entries of one hash value's chain hang together by `chain`; the heads are twice
// as many as the slots, so that most chains are one entry long and a hit costs a head and a slot.
struct slot {
	struct conn_entry entry;
	uint32_t hash;
	uint32_t chain; // the next slot, or NONE
	uint32_t prev;
	uint32_t next;
	uint32_t policy_epoch; // under which it is known to be blocked; 0: none
	bool used;
	bool hit_reported;
	uint64_t noted_ns; // when a hit was last written to the evidence
};

static_assert(sizeof(struct slot) == 128, "a slot is two cache lines");

struct conn_list_ends {
	uint32_t oldest;
	uint32_t youngest;
};

struct conn_cache {
	struct hash_seed seed;
	struct chains chains;
	struct slot *slots;
	uint32_t *free;
	uint32_t n_free;
	uint32_t size;
	// Learned entries by refresh: ttl_s is the same for all, so the list is sorted by expiry.
	// Those of the operator with an end of their own are in another, in no order.
	struct conn_list_ends learned, fixed;
	uint32_t n_peer; // entries of mode peer: without any, that lookup is spared
	unsigned n_exempt;
	struct exemption exempt[EXEMPTIONS_MAX];
};

// NONE: there is no such entry.
uint32_t conn_slot_find(const struct conn_cache *cache, const struct conn_key *key);
// A slot for a new entry, which is in no list yet; the oldest entry may have to go for it.
uint32_t conn_slot_new(struct lcore *lcore, const struct conn_entry *entry);
// Into the list that its flags say, at the young end; and out of it.
void conn_slot_append(struct conn_cache *cache, uint32_t i);
void conn_slot_unlink(struct conn_cache *cache, uint32_t i);
void conn_slot_remove(struct lcore *lcore, uint32_t i, enum event_conncache why);
// The life of an entry that is used now.
uint64_t conn_entry_end(const struct lcore *lcore, const struct conn_entry *entry);
// An end is exempt by the operator.
bool conn_key_exempt(const struct conn_cache *cache, const struct conn_key *key, uint64_t now_ns);

#endif
