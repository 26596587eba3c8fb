// SPDX-License-Identifier: BSD-3-Clause
// The connection cache's entries as a whole: what ends by time, or all at once, and what is shown.
#include "pipeline/cache/conn_slots.h"
#include "pipeline/lcore/lcore.h"

unsigned conn_cache_flush(struct lcore *lcore, unsigned budget)
{
	struct conn_cache *cache = lcore->conn_cache;
	unsigned n = 0;

	for (; n < budget && cache->learned.oldest != NONE; n++)
		conn_slot_remove(lcore, cache->learned.oldest, CONNCACHE_EXPIRE);
	for (; n < budget && cache->fixed.oldest != NONE; n++)
		conn_slot_remove(lcore, cache->fixed.oldest, CONNCACHE_EXPIRE);
	return n;
}

#define FIXED_PER_TURN 8

// Those with an end of their own are few, and in no order: some are looked at in each turn.
static void age_fixed(struct lcore *lcore)
{
	struct conn_cache *cache = lcore->conn_cache;

	for (unsigned n = FIXED_PER_TURN; n && cache->fixed.oldest != NONE; n--) {
		uint32_t i = cache->fixed.oldest;

		if (lcore->now_ns >= cache->slots[i].entry.expires_ns) {
			lcore->stats.cache_expired++;
			conn_slot_remove(lcore, i, CONNCACHE_EXPIRE);
			continue;
		}
		if (cache->fixed.youngest == i)
			return;
		conn_slot_unlink(cache, i);
		conn_slot_append(cache, i);
	}
}

void conn_cache_age(struct lcore *lcore, unsigned budget)
{
	struct conn_cache *cache = lcore->conn_cache;

	while (budget-- && cache->learned.oldest != NONE &&
		lcore->now_ns >= cache->slots[cache->learned.oldest].entry.expires_ns) {
		lcore->stats.cache_expired++;
		conn_slot_remove(lcore, cache->learned.oldest, CONNCACHE_EXPIRE);
	}
	age_fixed(lcore);
}

unsigned conn_cache_read(
	const struct conn_cache *cache, uint32_t *cursor, struct conn_entry *out, unsigned max)
{
	unsigned n = 0;

	for (; *cursor < cache->size && n < max; (*cursor)++)
		if (cache->slots[*cursor].used)
			out[n++] = cache->slots[*cursor].entry;
	return n;
}
