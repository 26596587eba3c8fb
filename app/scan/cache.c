// SPDX-License-Identifier: BSD-3-Clause
// Remembers verdicts, and who scans what: a hash of chains over a fixed pool, and a list by last
// use of what may go.
#include "scan/cache.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>
#include "pipeline/vocab/hash_seed.h"

#define NONE 0 // entries are numbered from 1

enum state {
	ENTRY_FREE,
	ENTRY_FLIGHT, // its owner has it scanned
	ENTRY_OPEN,   // that brought no verdict: whoever asks next is the owner
	ENTRY_KNOWN,
};

struct entry {
	struct scan_key key;
	struct scan_known known;
	uint64_t expires_ns;   // of one that is known
	uint64_t waiters;      // askers
	uint32_t next;         // of its chain, or free
	uint32_t older, newer; // of those that may go
	uint8_t state;
	uint8_t tries;
};

struct asker {
	int fd; // -1: the place is free
	_Atomic bool news;
};

struct scan_cache {
	pthread_mutex_t mutex;
	struct hash_seed seed;
	uint64_t age_ns;
	uint64_t evicted;
	uint32_t limit, n_known;
	uint32_t mask;
	uint32_t free;
	uint32_t oldest, newest; // by last use; what is in flight is not among them
	struct asker askers[SCAN_CACHE_ASKERS];
	uint32_t *bucket;
	struct entry *entry; // from 1 on
};

struct scan_cache *scan_cache_new(uint32_t entries, uint64_t age_ns)
{
	struct scan_cache *cache = calloc(1, sizeof(*cache));
	uint32_t buckets = 1;

	if (!cache)
		return NULL;
	while (buckets < entries)
		buckets *= 2;
	cache->bucket = calloc(buckets, sizeof(cache->bucket[0]));
	cache->entry = calloc(entries + 1ul, sizeof(cache->entry[0]));
	cache->mask = buckets - 1;
	cache->limit = entries;
	cache->age_ns = age_ns;
	cache->seed = HASH_SEED_FIXED;
	for (unsigned i = 0; i < SCAN_CACHE_ASKERS; i++)
		cache->askers[i].fd = -1;
	pthread_mutex_init(&cache->mutex, NULL);
	if (!cache->bucket || !cache->entry ||
		getrandom(&cache->seed, sizeof(cache->seed), 0) != sizeof(cache->seed)) {
		scan_cache_free(cache);
		return NULL;
	}
	for (uint32_t i = 1; i <= entries; i++)
		cache->entry[i].next = i < entries ? i + 1 : NONE;
	cache->free = 1;
	return cache;
}

void scan_cache_free(struct scan_cache *cache)
{
	if (!cache)
		return;
	for (unsigned i = 0; i < SCAN_CACHE_ASKERS; i++)
		scan_cache_leave(cache, (int)i);
	pthread_mutex_destroy(&cache->mutex);
	free(cache->bucket);
	free(cache->entry);
	free(cache);
}

// ---- askers ----

int scan_cache_join(struct scan_cache *cache)
{
	int asker = 0, rc;

	pthread_mutex_lock(&cache->mutex);
	while (asker < SCAN_CACHE_ASKERS && cache->askers[asker].fd >= 0)
		asker++;
	rc = asker < SCAN_CACHE_ASKERS ? eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC) : -1;
	if (rc >= 0)
		cache->askers[asker].fd = rc;
	else
		asker = asker < SCAN_CACHE_ASKERS ? -errno : -ENOSPC;
	pthread_mutex_unlock(&cache->mutex);
	return asker;
}

void scan_cache_leave(struct scan_cache *cache, int asker)
{
	pthread_mutex_lock(&cache->mutex);
	if (cache->askers[asker].fd >= 0)
		close(cache->askers[asker].fd);
	cache->askers[asker].fd = -1;
	pthread_mutex_unlock(&cache->mutex);
}

int scan_cache_descriptor(const struct scan_cache *cache, int asker)
{
	return cache->askers[asker].fd;
}

bool scan_cache_news(struct scan_cache *cache, int asker)
{
	struct asker *to = &cache->askers[asker];
	uint64_t count;

	if (!atomic_load_explicit(&to->news, memory_order_relaxed))
		return false; // who writes it wakes, so that it is not slept over
	pthread_mutex_lock(&cache->mutex);
	atomic_store_explicit(&to->news, false, memory_order_relaxed);
	bool was_told = read(to->fd, &count, sizeof(count)) > 0;

	pthread_mutex_unlock(&cache->mutex);
	return was_told;
}

static void wake(struct scan_cache *cache, uint64_t waiters)
{
	const uint64_t one = 1;

	for (unsigned i = 0; waiters; i++, waiters >>= 1) {
		if (!(waiters & 1) || cache->askers[i].fd < 0)
			continue;
		atomic_store_explicit(&cache->askers[i].news, true, memory_order_relaxed);
		if (write(cache->askers[i].fd, &one, sizeof(one)) < 0)
			continue; // full: it is awake long since
	}
}

// ---- entries ----

static uint32_t *bucket_of(struct scan_cache *cache, const struct scan_key *key)
{
	uint64_t words[2];

	memcpy(words, key->sha256, sizeof(words));
	return &cache->bucket[hash_words(&cache->seed, words, 2) & cache->mask];
}

static uint32_t find(struct scan_cache *cache, const struct scan_key *key)
{
	uint32_t at = *bucket_of(cache, key);

	while (at && memcmp(&cache->entry[at].key, key, sizeof(*key)))
		at = cache->entry[at].next;
	return at;
}

static void use(struct scan_cache *cache, uint32_t at)
{
	struct entry *entry = &cache->entry[at];

	entry->older = cache->newest;
	entry->newer = NONE;
	if (cache->newest)
		cache->entry[cache->newest].newer = at;
	else
		cache->oldest = at;
	cache->newest = at;
}

static void unuse(struct scan_cache *cache, uint32_t at)
{
	struct entry *entry = &cache->entry[at];

	if (entry->older)
		cache->entry[entry->older].newer = entry->newer;
	else
		cache->oldest = entry->newer;
	if (entry->newer)
		cache->entry[entry->newer].older = entry->older;
	else
		cache->newest = entry->older;
}

static void set_state(struct scan_cache *cache, uint32_t at, enum state state)
{
	struct entry *entry = &cache->entry[at];

	if (entry->state == ENTRY_KNOWN)
		cache->n_known--;
	if (entry->state == ENTRY_KNOWN || entry->state == ENTRY_OPEN)
		unuse(cache, at);
	entry->state = (uint8_t)state;
	if (state == ENTRY_KNOWN)
		cache->n_known++;
	if (state == ENTRY_KNOWN || state == ENTRY_OPEN)
		use(cache, at);
}

static void give(struct scan_cache *cache, uint32_t at)
{
	uint32_t *from = bucket_of(cache, &cache->entry[at].key);

	while (*from != at)
		from = &cache->entry[*from].next;
	*from = cache->entry[at].next;
	set_state(cache, at, ENTRY_FREE);
	cache->entry[at].next = cache->free;
	cache->free = at;
}

// NONE: all are in flight.
static uint32_t take(struct scan_cache *cache, const struct scan_key *key, uint64_t now_ns)
{
	if (!cache->free && cache->oldest) {
		const struct entry *oldest = &cache->entry[cache->oldest];

		cache->evicted += oldest->state == ENTRY_KNOWN && now_ns < oldest->expires_ns;
		give(cache, cache->oldest);
	}
	uint32_t at = cache->free, *bucket = bucket_of(cache, key);

	if (!at)
		return NONE;
	cache->free = cache->entry[at].next;
	cache->entry[at] = (struct entry){.key = *key, .next = *bucket};
	*bucket = at;
	return at;
}

// 0: it may be another one the next time.
static uint64_t kept_ns(const struct scan_cache *cache, const struct scan_known *known)
{
	if (known->value == SCAN_CLEAN || known->value == SCAN_INFECTED)
		return cache->age_ns;
	if (known->value != SCAN_UNSCANNED)
		return 0;
	switch (known->reason) {
	case SCAN_REASON_TOO_BIG:
	case SCAN_REASON_TOO_DEEP:
	case SCAN_REASON_ENCRYPTED:
	case SCAN_REASON_FORMAT: return cache->age_ns;
	case SCAN_REASON_LIMIT:
		return cache->age_ns < SCAN_CACHE_LIMIT_NS ? cache->age_ns : SCAN_CACHE_LIMIT_NS;
	default: return 0;
	}
}

static void learn(
	struct scan_cache *cache, uint32_t at, const struct scan_known *known, uint64_t expires_ns)
{
	cache->entry[at].known = *known;
	cache->entry[at].expires_ns = expires_ns;
	set_state(cache, at, ENTRY_KNOWN);
}

static enum scan_cache_answer own(struct scan_cache *cache, uint32_t at)
{
	set_state(cache, at, ENTRY_FLIGHT);
	return SCAN_CACHE_OWN;
}

static enum scan_cache_answer ask(struct scan_cache *cache, int asker, const struct scan_key *key,
	uint64_t now_ns, struct scan_known *out)
{
	uint32_t at = find(cache, key);

	if (at && cache->entry[at].state == ENTRY_KNOWN && now_ns >= cache->entry[at].expires_ns) {
		give(cache, at);
		at = NONE;
	}
	if (!at)
		return (at = take(cache, key, now_ns)) ? own(cache, at) : SCAN_CACHE_FULL;
	struct entry *entry = &cache->entry[at];

	if (entry->state == ENTRY_OPEN)
		return own(cache, at);
	if (entry->state == ENTRY_FLIGHT) {
		entry->waiters |= UINT64_C(1) << asker;
		return SCAN_CACHE_WAIT;
	}
	set_state(cache, at, ENTRY_KNOWN); // used just now
	*out = entry->known;
	return SCAN_CACHE_KNOWN;
}

enum scan_cache_answer scan_cache_ask(struct scan_cache *cache, int asker,
	const struct scan_key *key, uint64_t now_ns, struct scan_known *out)
{
	pthread_mutex_lock(&cache->mutex);
	enum scan_cache_answer answer = ask(cache, asker, key, now_ns, out);

	pthread_mutex_unlock(&cache->mutex);
	return answer;
}

// Under the digest of the new database, if nobody scans it under that.
static void learn_under(struct scan_cache *cache, const struct scan_key *key,
	const struct scan_known *known, uint64_t now_ns)
{
	uint64_t kept = kept_ns(cache, known);
	uint32_t at = kept ? find(cache, key) : NONE;

	if (kept && !at)
		at = take(cache, key, now_ns);
	if (at && cache->entry[at].state != ENTRY_FLIGHT)
		learn(cache, at, known, now_ns + kept);
}

static void over(struct scan_cache *cache, uint32_t at, const struct scan_known *known, bool tried,
	const uint8_t *under, uint64_t now_ns)
{
	struct entry *entry = &cache->entry[at];
	bool same = under && !memcmp(under, entry->key.digest, SCAN_WIRE_DIGEST);
	uint64_t kept = same ? kept_ns(cache, known) : 0;
	bool failed = known->value == SCAN_ERROR || known->value == SCAN_TIMEOUT;

	entry->tries = (uint8_t)(entry->tries + (tried && failed));
	if (failed && entry->tries >= SCAN_CACHE_TRIES)
		learn(cache, at, known, now_ns + SCAN_CACHE_FAILED_NS);
	else if (kept)
		learn(cache, at, known, now_ns + kept);
	else if (entry->waiters)
		set_state(cache, at, ENTRY_OPEN);
	else
		give(cache, at);
}

void scan_cache_over(struct scan_cache *cache, const struct scan_key *key,
	const struct scan_known *known, bool tried, const uint8_t *under, uint64_t now_ns)
{
	struct scan_key other = *key;

	pthread_mutex_lock(&cache->mutex);
	uint32_t at = find(cache, key);

	if (at && cache->entry[at].state == ENTRY_FLIGHT) {
		uint64_t waiters = cache->entry[at].waiters;

		over(cache, at, known, tried, under, now_ns);
		cache->entry[at].waiters = 0;
		if (under && memcmp(under, key->digest, SCAN_WIRE_DIGEST)) {
			memcpy(other.digest, under, sizeof(other.digest));
			learn_under(cache, &other, known, now_ns);
		}
		wake(cache, waiters);
	}
	pthread_mutex_unlock(&cache->mutex);
}

void scan_cache_look(struct scan_cache *cache, struct scan_cache_use *use)
{
	pthread_mutex_lock(&cache->mutex);
	*use = (struct scan_cache_use){
		.evicted = cache->evicted, .entries = cache->n_known, .limit = cache->limit};
	pthread_mutex_unlock(&cache->mutex);
}
