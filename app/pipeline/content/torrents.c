// SPDX-License-Identifier: BSD-3-Clause
// Torrents by the 20 bytes that the wire has of their ids; a hybrid has two.
// The plain functions of libcrypto: 3.0 takes heap for each digest by EVP.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "pipeline/content/torrents.h"

#include <openssl/sha.h>
#include <rte_spinlock.h>
#include <string.h>
#include "content/bittorrent/info.h"
#include "content/memory.h"
#include "pipeline/lcore/dataplane.h"
#include "pipeline/lcore/lcore.h"
#include "pipeline/vocab/bencode.h"
#include "pipeline/vocab/pages.h"

#define BUCKETS       (2 * TORRENTS_MAX)
#define KEYS          2
#define NONE          UINT32_MAX
#define EVICT_AT_ONCE 64 // for one that is new
#define FILE_INFOS    4 // info dictionaries of one .torrent that are read: clients take one of them

struct entry {
	struct torrent *torrent; // NULL: free
	uint32_t held;
	uint32_t older, newer; // of those that nobody holds; `older`: the next one that is free
	uint32_t next[KEYS];   // of its chains: 2 * entry + key
};

// In front of each torrent.
struct block {
	_Alignas(16) uint32_t entry;
};

struct torrents {
	rte_spinlock_t lock;
	unsigned lcores;
	struct content_memory *memory;
	struct hash_seed seed;
	uint32_t free, oldest, newest;
	uint32_t heads[BUCKETS];
	struct entry entries[TORRENTS_MAX];
};

// ---- the table; the lock is held ----

static struct content_id key_of(const struct torrent *torrent, unsigned key)
{
	return content_id_key(key ? &torrent->also : &torrent->id);
}

static uint32_t *head_of(struct torrents *torrents, const struct content_id *key)
{
	uint64_t words[4] = {0};

	memcpy(words, key->bytes, CONTENT_ID_BT_WIRE);
	return &torrents->heads[hash_words(&torrents->seed, words, 4) % BUCKETS];
}

static struct entry *find(struct torrents *torrents, const struct content_id *id)
{
	const struct content_id wanted = content_id_key(id);
	uint32_t at = *head_of(torrents, &wanted);

	while (at != NONE) {
		struct entry *entry = &torrents->entries[at / KEYS];
		const struct content_id key = key_of(entry->torrent, at % KEYS);

		if (content_id_same(&key, &wanted))
			return entry;
		at = entry->next[at % KEYS];
	}
	return NULL;
}

static uint32_t number_of(const struct torrents *torrents, const struct entry *entry)
{
	return (uint32_t)(entry - torrents->entries);
}

static void chain(struct torrents *torrents, struct entry *entry, unsigned key)
{
	const struct content_id id = key_of(entry->torrent, key);
	uint32_t *head = head_of(torrents, &id);

	entry->next[key] = *head;
	*head = number_of(torrents, entry) * KEYS + key;
}

static void unchain(struct torrents *torrents, struct entry *entry, unsigned key)
{
	const struct content_id id = key_of(entry->torrent, key);
	uint32_t *at = head_of(torrents, &id), wanted = number_of(torrents, entry) * KEYS + key;

	while (*at != wanted)
		at = &torrents->entries[*at / KEYS].next[*at % KEYS];
	*at = entry->next[key];
}

// The youngest of those that nobody holds.
static void rest(struct torrents *torrents, struct entry *entry)
{
	uint32_t number = number_of(torrents, entry);

	entry->older = torrents->newest;
	entry->newer = NONE;
	if (torrents->newest == NONE)
		torrents->oldest = number;
	else
		torrents->entries[torrents->newest].newer = number;
	torrents->newest = number;
}

static void unrest(struct torrents *torrents, struct entry *entry)
{
	if (entry->older == NONE)
		torrents->oldest = entry->newer;
	else
		torrents->entries[entry->older].newer = entry->newer;
	if (entry->newer == NONE)
		torrents->newest = entry->older;
	else
		torrents->entries[entry->newer].older = entry->older;
}

static struct block *block_of(const struct torrent *torrent)
{
	return (struct block *)((uintptr_t)torrent - sizeof(struct block));
}

static void give_entry(struct torrents *torrents, struct entry *entry)
{
	entry->torrent = NULL;
	entry->older = torrents->free;
	torrents->free = number_of(torrents, entry);
}

// False: all that there are are held.
static bool evict(struct torrents *torrents)
{
	struct entry *entry =
		torrents->oldest == NONE ? NULL : &torrents->entries[torrents->oldest];

	if (!entry)
		return false;
	unrest(torrents, entry);
	unchain(torrents, entry, 0);
	if (entry->torrent->has_also)
		unchain(torrents, entry, 1);
	content_give(torrents->memory, block_of(entry->torrent));
	give_entry(torrents, entry);
	return true;
}

// A place and its block; NULL: there is no room.
static struct block *take(struct torrents *torrents, size_t bytes, uint32_t *evicted)
{
	for (*evicted = 0;; ++*evicted) {
		struct block *block = torrents->free == NONE ? NULL
							     : content_take(torrents->memory,
								       sizeof(*block) + bytes);

		if (block) {
			block->entry = torrents->free;
			torrents->free = torrents->entries[block->entry].older;
			return block;
		}
		if (*evicted == EVICT_AT_ONCE || !evict(torrents))
			return NULL;
	}
}

static void put(struct torrents *torrents, struct block *block, struct torrent *torrent)
{
	struct entry *entry = &torrents->entries[block->entry];

	entry->torrent = torrent;
	entry->held = 0;
	chain(torrents, entry, 0);
	if (torrent->has_also)
		chain(torrents, entry, 1);
	rest(torrents, entry);
}

// ---- for decoders ----

static const struct torrent *hold(void *ctx, const struct content_id *id)
{
	const struct lcore *lcore = ctx;
	struct torrents *torrents = lcore->dp->torrents;
	const struct torrent *torrent = NULL;

	rte_spinlock_lock(&torrents->lock);
	struct entry *entry = find(torrents, id);

	if (entry) {
		if (!entry->held++)
			unrest(torrents, entry);
		torrent = entry->torrent;
	}
	rte_spinlock_unlock(&torrents->lock);
	return torrent;
}

static void release(void *ctx, const struct torrent *torrent)
{
	const struct lcore *lcore = ctx;
	struct torrents *torrents = lcore->dp->torrents;
	struct entry *entry = &torrents->entries[block_of(torrent)->entry];

	rte_spinlock_lock(&torrents->lock);
	if (!--entry->held)
		rest(torrents, entry);
	rte_spinlock_unlock(&torrents->lock);
}

struct proofs {
	struct content_id v1, v2;
};

static struct content_id sha1_of(const uint8_t *info, uint32_t length)
{
	uint8_t digest[SHA_DIGEST_LENGTH];
	SHA_CTX ctx;

	SHA1_Init(&ctx);
	SHA1_Update(&ctx, info, length);
	SHA1_Final(digest, &ctx);
	return content_id_of(CONTENT_ID_BTIH, digest);
}

static struct content_id sha256_of(const uint8_t *info, uint32_t length)
{
	uint8_t digest[SHA256_DIGEST_LENGTH];
	SHA256_CTX ctx;

	SHA256_Init(&ctx);
	SHA256_Update(&ctx, info, length);
	SHA256_Final(digest, &ctx);
	return content_id_of(CONTENT_ID_BTMH, digest);
}

// `of` NULL: of any. The second digest is made where the first one is not enough.
static bool prove(
	struct proofs *proofs, const struct content_id *of, const uint8_t *info, uint32_t length)
{
	const struct content_id wanted = of ? content_id_key(of) : proofs->v1;

	if (content_id_same(&wanted, &proofs->v1))
		return true;
	proofs->v2 = sha256_of(info, length);
	const struct content_id second = content_id_key(&proofs->v2);

	return content_id_same(&wanted, &second);
}

// What is learned meanwhile by another lcore stays, and this is given back.
static void publish(struct torrents *torrents, struct block *block, struct torrent *torrent)
{
	rte_spinlock_lock(&torrents->lock);
	if (!find(torrents, &torrent->id) &&
		!(torrent->has_also && find(torrents, &torrent->also))) {
		put(torrents, block, torrent);
	} else {
		give_entry(torrents, &torrents->entries[block->entry]);
		content_give(torrents->memory, block);
	}
	rte_spinlock_unlock(&torrents->lock);
}

static enum torrent_learned keep(struct lcore *lcore, const uint8_t *info, uint32_t length,
	const struct info_measure *measure, const struct proofs *proofs)
{
	struct torrents *torrents = lcore->dp->torrents;
	const struct content_id *id = measure->v1 ? &proofs->v1 : &proofs->v2;
	struct block *block = NULL;
	uint32_t evicted = 0;

	rte_spinlock_lock(&torrents->lock);
	bool known = find(torrents, id);

	if (!known)
		block = take(torrents, info_bytes(measure), &evicted);
	rte_spinlock_unlock(&torrents->lock);
	lcore->stats.torrents_evicted += evicted;
	if (known)
		return TORRENT_LEARNED;
	if (!block)
		return TORRENT_FULL;
	struct torrent *torrent = info_build(info, length, measure, block + 1);

	torrent->id = *id;
	torrent->has_also = measure->v1 && measure->v2;
	torrent->also = proofs->v2;
	publish(torrents, block, torrent);
	lcore->stats.torrents_learned++;
	return TORRENT_LEARNED;
}

static enum torrent_learned learn(
	void *ctx, const struct content_id *of, const uint8_t *info, uint32_t length)
{
	struct lcore *lcore = ctx;
	struct info_measure measure;

	if (length > TORRENT_INFO_MAX)
		return TORRENT_TOO_BIG;
	struct proofs proofs = {.v1 = sha1_of(info, length)};

	if (!prove(&proofs, of, info, length))
		return TORRENT_OTHER;
	enum torrent_learned learned = info_measure(info, length, &measure);

	if (measure.v2 && !proofs.v2.kind)
		proofs.v2 = sha256_of(info, length);
	if (learned == TORRENT_LEARNED)
		learned = keep(lcore, info, length, &measure, &proofs);
	lcore->stats.torrents_unread += learned == TORRENT_BROKEN || learned == TORRENT_TOO_BIG;
	lcore->stats.torrents_full += learned == TORRENT_FULL;
	return learned;
}

struct content_torrents torrents_for(struct lcore *lcore)
{
	return (struct content_torrents){
		.hold = hold, .release = release, .learn = learn, .ctx = lcore};
}

void torrents_learn_file(struct lcore *lcore, const uint8_t *bytes, uint32_t length)
{
	static const char wanted[] = "info";
	struct bencode in = {bytes, bytes + length};
	const uint8_t *key;
	uint32_t n, infos = 0;

	if (in.at == in.end || *in.at++ != 'd')
		return;
	while (infos < FILE_INFOS && bencode_key(&in, &key, &n)) {
		const uint8_t *from = in.at;

		if (!bencode_skip(&in))
			return;
		if (n != sizeof(wanted) - 1 || memcmp(key, wanted, n) != 0)
			continue;
		learn(lcore, NULL, from, (uint32_t)(in.at - from));
		infos++;
	}
}

// ---- the store ----

bool torrents_join(
	struct torrents **shared, uint64_t bytes, const struct hash_seed *seed, int socket)
{
	if (!*shared && bytes) {
		struct torrents *torrents = pages_new(sizeof(*torrents), socket);

		if (!torrents)
			return false;
		*shared = torrents;
		rte_spinlock_init(&torrents->lock);
		torrents->seed = *seed;
		torrents->oldest = torrents->newest = torrents->free = NONE;
		memset(torrents->heads, 0xff, sizeof(torrents->heads));
		for (uint32_t i = TORRENTS_MAX; i--;)
			give_entry(torrents, &torrents->entries[i]);
		torrents->memory = content_memory_new(bytes, socket);
	}
	if (*shared)
		(*shared)->lcores++;
	return !*shared || (*shared)->memory;
}

void torrents_leave(struct torrents **shared)
{
	struct torrents *torrents = *shared;

	if (!torrents || --torrents->lcores)
		return;
	content_memory_free(torrents->memory);
	munmap(torrents, sizeof(*torrents));
	*shared = NULL;
}
