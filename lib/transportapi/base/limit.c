// SPDX-License-Identifier: BSD-3-Clause
// Token buckets, and a table of recent events by key.
#include "transportapi/base/limit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "transportapi/base/table.h"

#define PARTS_PER_TOKEN UINT64_C(1000000) // a rate per second is parts per microsecond: no rounding

static uint64_t times(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static uint64_t capacity(const struct tapi_bucket *bucket)
{
	return times(bucket->burst, PARTS_PER_TOKEN);
}

static uint64_t level_at(const struct tapi_bucket *bucket, uint64_t now_us)
{
	uint64_t elapsed = now_us > bucket->filled_us ? now_us - bucket->filled_us : 0;
	uint64_t level = plus(bucket->level, times(elapsed, bucket->rate_per_s));

	return level < capacity(bucket) ? level : capacity(bucket);
}

void tapi_bucket_init(
	struct tapi_bucket *bucket, uint64_t rate_per_s, uint64_t burst, uint64_t now_us)
{
	*bucket =
		(struct tapi_bucket){.rate_per_s = rate_per_s, .burst = burst, .filled_us = now_us};
	bucket->level = capacity(bucket);
}

bool tapi_bucket_take(struct tapi_bucket *bucket, uint64_t tokens, uint64_t now_us)
{
	uint64_t level, wanted;

	if (!bucket->rate_per_s)
		return true;
	level = level_at(bucket, now_us);
	// more than can be counted in parts is more than any bucket holds
	if (__builtin_mul_overflow(tokens, PARTS_PER_TOKEN, &wanted) || level < wanted)
		return false;
	bucket->level = level - wanted;
	if (now_us > bucket->filled_us)
		bucket->filled_us = now_us;
	return true;
}

uint64_t tapi_bucket_when(const struct tapi_bucket *bucket, uint64_t tokens, uint64_t now_us)
{
	uint64_t level, wanted;

	if (!bucket->rate_per_s)
		return now_us;
	if (__builtin_mul_overflow(tokens, PARTS_PER_TOKEN, &wanted) || wanted > capacity(bucket))
		return UINT64_MAX;
	level = level_at(bucket, now_us);
	if (level >= wanted)
		return now_us;
	// a clock that went back fills nothing before it is where it was
	if (now_us < bucket->filled_us)
		now_us = bucket->filled_us;
	wanted -= level;
	return plus(now_us, wanted / bucket->rate_per_s + (wanted % bucket->rate_per_s != 0));
}

void tapi_bucket_change(
	struct tapi_bucket *bucket, uint64_t rate_per_s, uint64_t burst, uint64_t now_us)
{
	bool limited = bucket->rate_per_s != 0;
	uint64_t level = level_at(bucket, now_us);

	bucket->rate_per_s = rate_per_s;
	bucket->burst = burst;
	if (now_us > bucket->filled_us)
		bucket->filled_us = now_us;
	// who had no limit begins with a whole burst; who had one gains nothing by the change
	bucket->level = limited && level < capacity(bucket) ? level : capacity(bucket);
}

#define RATE_ROOM_FIRST 4u

struct rate_key {
	TAILQ_ENTRY(rate_key) next;
	UT_hash_handle hh;
	uint32_t count, oldest, room; // of `taken`, a ring that grows up to `most`
	uint64_t *taken;              // when, within the window of the last one
	uint8_t octets[];
};
TAILQ_HEAD(rate_keys, rate_key);

struct tapi_rate_map {
	struct rate_key *by_key;
	struct rate_keys by_use; // last used at the end
	uint64_t window_us;
	uint32_t most, keys_max;
};

struct tapi_rate_map *tapi_rate_map_new(uint32_t most, uint64_t window_us, uint32_t keys_max)
{
	struct tapi_rate_map *map = calloc(1, sizeof(*map));

	if (!map)
		return NULL;
	map->most = most;
	map->window_us = window_us;
	map->keys_max = keys_max;
	TAILQ_INIT(&map->by_use);
	return map;
}

static void forget(struct tapi_rate_map *map, struct rate_key *key)
{
	HASH_DEL(map->by_key, key);
	TAILQ_REMOVE(&map->by_use, key, next);
	free(key->taken);
	free(key);
}

void tapi_rate_map_free(struct tapi_rate_map *map)
{
	struct rate_key *key;

	if (!map)
		return;
	while ((key = TAILQ_FIRST(&map->by_use)))
		forget(map, key);
	free(map);
}

uint32_t tapi_rate_map_count(const struct tapi_rate_map *map)
{
	return HASH_COUNT(map->by_key);
}

static uint64_t newest(const struct rate_key *key)
{
	return key->taken[(key->oldest + key->count - 1) % key->room];
}

static struct rate_key *find(struct tapi_rate_map *map, const void *octets, size_t length)
{
	struct rate_key *key;

	HASH_FIND(hh, map->by_key, octets, length, key);
	return key;
}

uint64_t tapi_rate_map_when(
	struct tapi_rate_map *map, const void *octets, size_t length, uint64_t now_us)
{
	const struct rate_key *key = find(map, octets, length), *first;
	uint64_t when = now_us;

	if (!map->most || !map->keys_max)
		return UINT64_MAX;
	first = TAILQ_FIRST(&map->by_use);
	if (key && key->count == map->most)
		when = plus(key->taken[key->oldest], map->window_us);
	else if (!key && tapi_rate_map_count(map) >= map->keys_max)
		when = plus(newest(first), map->window_us);
	return when > now_us ? when : now_us;
}

static struct rate_key *add(struct tapi_rate_map *map, const void *octets, size_t length)
{
	struct rate_key *key = calloc(1, sizeof(*key) + length);

	if (!key)
		return NULL;
	key->room = map->most < RATE_ROOM_FIRST ? map->most : RATE_ROOM_FIRST;
	key->taken = calloc(key->room, sizeof(uint64_t));
	if (!key->taken)
		goto no_memory;
	memcpy(key->octets, octets, length);
	HASH_ADD_KEYPTR(hh, map->by_key, key->octets, length, key);
	if (!key->hh.tbl)
		goto no_memory;
	TAILQ_INSERT_TAIL(&map->by_use, key, next);
	return key;

no_memory:
	free(key->taken);
	free(key);
	return NULL;
}

// Twice the room, at most `most`.
static bool grow(const struct tapi_rate_map *map, struct rate_key *key)
{
	uint32_t room = key->room < map->most / 2 ? 2 * key->room : map->most;
	uint64_t *taken = calloc(room, sizeof(uint64_t));

	if (!taken)
		return false;
	for (uint32_t i = 0; i < key->count; i++)
		taken[i] = key->taken[(key->oldest + i) % key->room];
	free(key->taken);
	key->taken = taken;
	key->room = room;
	key->oldest = 0;
	return true;
}

bool tapi_rate_map_take(
	struct tapi_rate_map *map, const void *octets, size_t length, uint64_t now_us)
{
	struct rate_key *key, *first;

	if (tapi_rate_map_when(map, octets, length, now_us) > now_us)
		return false;
	key = find(map, octets, length);
	// two go where one comes: what nobody asks for any more does not stay
	for (unsigned i = 0; i < 2 && (first = TAILQ_FIRST(&map->by_use)) && first != key; i++) {
		if (plus(newest(first), map->window_us) > now_us)
			break;
		forget(map, first);
	}
	if (!key)
		key = add(map, octets, length);
	if (!key)
		return false;
	while (key->count && plus(key->taken[key->oldest], map->window_us) <= now_us) {
		key->oldest = (key->oldest + 1) % key->room;
		key->count--;
	}
	if (key->count == key->room && !grow(map, key))
		return false;
	key->taken[(key->oldest + key->count++) % key->room] = now_us;
	TAILQ_REMOVE(&map->by_use, key, next);
	TAILQ_INSERT_TAIL(&map->by_use, key, next);
	return true;
}
