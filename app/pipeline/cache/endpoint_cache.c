// SPDX-License-Identifier: BSD-3-Clause
// The hash tables of endpoints and names that flows in clear have reported.
#include "pipeline/cache/endpoint_cache.h"
#include <string.h>
#include <rte_malloc.h>
#include "pipeline/vocab/address.h"
#include "pipeline/vocab/chains.h"
#include "pipeline/lcore/lcore.h"

#define NONE    CHAIN_END
#define TELLERS 1024 // counters; two tellers that share one share their part

struct endpoint_slot {
	struct endpoint_entry entry;
	uint32_t hash;
	uint32_t chain; // next of this bucket
	uint32_t prev, next;
	bool used;
};

struct endpoint_cache {
	struct hash_seed seed;
	struct chains chains;
	struct endpoint_slot *slots;
	uint32_t size;
	uint32_t n;
	uint32_t first_free;       // of those that were used, chained; NONE
	uint32_t fresh;            // the first that never was: its memory is untouched
	uint32_t oldest, youngest; // in the order in which they were reported
	uint32_t share;            // of one teller
	uint32_t tellers[TELLERS]; // entries that live
};

struct endpoint_cache *endpoint_cache_new(
	unsigned capacity, const struct hash_seed *seed, int socket)
{
	struct endpoint_cache *cache = rte_zmalloc_socket("endpoints", sizeof(*cache), 64, socket);
	uint32_t n_heads = rte_align32pow2(RTE_MAX(capacity, 1u));

	if (!cache)
		return NULL;
	cache->seed = *seed;
	cache->oldest = cache->youngest = cache->first_free = NONE;
	if (!capacity)
		return cache;
	uint32_t *heads =
		rte_malloc_socket("endpoint_heads", sizeof(uint32_t) * n_heads, 64, socket);

	if (heads)
		chains_init(&cache->chains, heads, n_heads);
	cache->slots =
		rte_zmalloc_socket("endpoint_slots", sizeof(*cache->slots) * capacity, 64, socket);
	if (!heads || !cache->slots) {
		endpoint_cache_free(cache);
		return NULL;
	}
	cache->size = capacity;
	cache->share = RTE_MAX(capacity / ENDPOINT_TELLER_SHARE, 1u);
	return cache;
}

void endpoint_cache_free(struct endpoint_cache *cache)
{
	if (!cache)
		return;
	rte_free(cache->chains.heads);
	rte_free(cache->slots);
	rte_free(cache);
}

unsigned endpoint_cache_count(const struct endpoint_cache *cache)
{
	return cache->n;
}

unsigned endpoint_cache_longest(const struct endpoint_cache *cache)
{
	return cache->size ? chains_longest(&cache->chains) : 0;
}

static uint32_t hash_of(const struct endpoint_cache *cache, const struct endpoint_key *key)
{
	uint64_t words[6] = {0};

	memcpy(words, key, sizeof(*key));
	return hash_words(&cache->seed, words, 6);
}

static uint32_t find(
	const struct endpoint_cache *cache, const struct endpoint_key *key, uint32_t hash)
{
	uint32_t i = cache->size ? *chains_head(&cache->chains, hash) : NONE;

	while (i != NONE && (cache->slots[i].hash != hash ||
				    memcmp(&cache->slots[i].entry.key, key, sizeof(*key)) != 0))
		i = cache->slots[i].chain;
	return i;
}

static void unlink_slot(struct endpoint_cache *cache, uint32_t i)
{
	struct endpoint_slot *slot = &cache->slots[i];

	if (slot->prev == NONE)
		cache->oldest = slot->next;
	else
		cache->slots[slot->prev].next = slot->next;
	if (slot->next == NONE)
		cache->youngest = slot->prev;
	else
		cache->slots[slot->next].prev = slot->prev;
}

static void append_slot(struct endpoint_cache *cache, uint32_t i)
{
	struct endpoint_slot *slot = &cache->slots[i];

	slot->prev = cache->youngest;
	slot->next = NONE;
	if (cache->youngest == NONE)
		cache->oldest = i;
	else
		cache->slots[cache->youngest].next = i;
	cache->youngest = i;
}

// *oldest: of the chain; NONE: it is empty.
static unsigned chain_length(const struct endpoint_cache *cache, uint32_t hash, uint32_t *oldest)
{
	unsigned length = 0;

	*oldest = *chains_head(&cache->chains, hash);
	for (uint32_t i = *oldest; i != NONE; i = cache->slots[i].chain) {
		if (cache->slots[i].entry.expires_ns <= cache->slots[*oldest].entry.expires_ns)
			*oldest = i;
		length++;
	}
	return length;
}

static void remove_slot(struct endpoint_cache *cache, uint32_t i)
{
	struct endpoint_slot *slot = &cache->slots[i];
	uint32_t *link = chains_head(&cache->chains, slot->hash), oldest;

	chains_shrink(&cache->chains, chain_length(cache, slot->hash, &oldest));
	while (*link != i)
		link = &cache->slots[*link].chain;
	*link = slot->chain;
	unlink_slot(cache, i);
	cache->tellers[slot->entry.teller % TELLERS]--;
	slot->used = false;
	slot->chain = cache->first_free;
	cache->first_free = i;
	cache->n--;
}

// Of an IPv4 address: not of this network, nor of loopback, groups, or what is reserved.
static bool unicast_v4(uint32_t address)
{
	uint32_t first = address >> 24;

	return first != 0 && first != 127 && first < 224;
}

static bool private_v4(uint32_t address)
{
	return address >> 24 == 10 || address >> 20 == 0xac1 || address >> 16 == 0xc0a8 ||
	       address >> 22 == 0x191 || address >> 16 == 0xa9fe;
}

static uint32_t v4_of(const uint8_t address[16])
{
	return (uint32_t)address[12] << 24 | (uint32_t)address[13] << 16 |
	       (uint32_t)address[14] << 8 | address[15];
}

// RFC 1918, 6598, 3927; RFC 4193, 4291 2.5.6.
static bool is_private(const uint8_t address[16])
{
	if (address_is_mapped(address))
		return private_v4(v4_of(address));
	return (address[0] & 0xfe) == 0xfc || (address[0] == 0xfe && (address[1] & 0xc0) == 0x80);
}

bool endpoint_is_plausible(const uint8_t address[16], const uint8_t teller[16])
{
	if (address_is_mapped(address)) {
		if (!unicast_v4(v4_of(address)))
			return false;
	} else if ((address[0] >> 5) != 1 && !is_private(address)) {
		return false; // global unicast is 2000::/3 (RFC 4291 4)
	}
	return !is_private(address) || is_private(teller);
}

static void add_secret(struct endpoint_secret *known, const struct endpoint_secret *reported)
{
	if (reported->has_node)
		memcpy(known->node, reported->node, sizeof(known->node));
	if (reported->has_user)
		memcpy(known->user, reported->user, sizeof(known->user));
	known->has_node |= reported->has_node;
	known->has_user |= reported->has_user;
}

// Better word of the same endpoint: it lasts from now on.
static void renew(struct endpoint_cache *cache, uint32_t i, const struct endpoint_entry *entry)
{
	struct endpoint_entry *known = &cache->slots[i].entry;

	known->app = entry->app;
	known->from = entry->from;
	known->flow_id = entry->flow_id;
	add_secret(&known->secret, &entry->secret);
	if (entry->expires_ns > known->expires_ns)
		known->expires_ns = entry->expires_ns;
	unlink_slot(cache, i);
	append_slot(cache, i);
}

bool endpoint_cache_learn(
	struct lcore *lcore, struct endpoint_cache *cache, const struct endpoint_entry *entry)
{
	uint32_t hash = hash_of(cache, &entry->key), i = find(cache, &entry->key, hash), oldest;

	if (i != NONE) {
		renew(cache, i, entry);
		return true;
	}
	if (!cache->size || cache->tellers[entry->teller % TELLERS] >= cache->share)
		return false;
	if (chain_length(cache, hash, &oldest) == CHAIN_MAX) {
		lcore->stats.chain_full++;
		remove_slot(cache, oldest);
	}
	if (cache->first_free == NONE && cache->fresh == cache->size) {
		lcore->stats.endpoints_evicted++;
		remove_slot(cache, cache->oldest);
	}
	i = cache->first_free != NONE ? cache->first_free : cache->fresh++;
	struct endpoint_slot *slot = &cache->slots[i];

	if (i == cache->first_free)
		cache->first_free = slot->chain;
	uint32_t *head = chains_head(&cache->chains, hash);

	chains_grow(&cache->chains, chain_length(cache, hash, &oldest));
	*slot = (struct endpoint_slot){.entry = *entry, .hash = hash, .chain = *head, .used = true};
	slot->entry.hits = 0;
	*head = i;
	cache->tellers[entry->teller % TELLERS]++;
	cache->n++;
	append_slot(cache, i);
	return true;
}

const struct endpoint_entry *endpoint_cache_find(
	struct lcore *lcore, struct endpoint_cache *cache, const struct endpoint_key *key)
{
	uint32_t i = cache->n ? find(cache, key, hash_of(cache, key)) : NONE;

	if (i == NONE)
		return NULL;
	if (lcore->now_ns < cache->slots[i].entry.expires_ns)
		return &cache->slots[i].entry;
	lcore->stats.endpoints_expired++;
	remove_slot(cache, i);
	return NULL;
}

void endpoint_cache_hit(struct endpoint_cache *cache, const struct endpoint_key *key)
{
	uint32_t i = cache->n ? find(cache, key, hash_of(cache, key)) : NONE;

	if (i != NONE)
		cache->slots[i].entry.hits++;
}

bool endpoint_cache_forget(struct endpoint_cache *cache, const struct endpoint_key *key)
{
	uint32_t i = cache->n ? find(cache, key, hash_of(cache, key)) : NONE;

	if (i == NONE)
		return false;
	remove_slot(cache, i);
	return true;
}

unsigned endpoint_cache_age(struct endpoint_cache *cache, uint64_t now_ns, unsigned budget)
{
	unsigned n = 0;

	while (n < budget && cache->oldest != NONE &&
		now_ns >= cache->slots[cache->oldest].entry.expires_ns) {
		remove_slot(cache, cache->oldest);
		n++;
	}
	return n;
}

unsigned endpoint_cache_read(const struct endpoint_cache *cache, uint32_t *cursor,
	struct endpoint_entry *out, unsigned max)
{
	unsigned n = 0;

	for (; *cursor < cache->size && n < max; (*cursor)++)
		if (cache->slots[*cursor].used)
			out[n++] = cache->slots[*cursor].entry;
	return n;
}
