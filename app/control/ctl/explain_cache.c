// SPDX-License-Identifier: BSD-3-Clause
// Selects the connection cache entries that belong to an explanation.
#include "control/ctl/explain_cache.h"

#include <stdlib.h>
#include <string.h>

void explain_cache_begin(struct explain_cache *cache, unsigned n_lcores)
{
	conn_top_init(&cache->known, EXPLAIN_KNOWN_MAX, n_lcores);
	conn_top_init(&cache->others, EXPLAIN_CACHE_MAX, n_lcores);
	cache->pairs = calloc(EXPLAIN_PAIRS_MAX, sizeof *cache->pairs);
	cache->no_memory = !cache->pairs;
}

void explain_cache_know(struct explain_cache *cache, const struct flow_ends *ends)
{
	if (!cache->pairs || cache->n_pairs == EXPLAIN_PAIRS_MAX)
		return;
	struct explain_pair *pair = &cache->pairs[cache->n_pairs++];

	memcpy(pair->initiator, ends->address[HALF_C2S], 16);
	memcpy(pair->responder, ends->address[HALF_S2C], 16);
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct explain_pair));
}

void explain_cache_known(struct explain_cache *cache)
{
	if (cache->n_pairs)
		qsort(cache->pairs, cache->n_pairs, sizeof *cache->pairs, compare);
}

void explain_cache_offer(
	struct explain_cache *cache, unsigned lcore, const struct conn_entry *entry)
{
	struct explain_pair pair;

	memcpy(pair.initiator, entry->key.initiator, 16);
	memcpy(pair.responder, entry->key.responder, 16);
	if (cache->n_pairs &&
		bsearch(&pair, cache->pairs, cache->n_pairs, sizeof *cache->pairs, compare))
		conn_top_offer(&cache->known, lcore, entry, entry->expires_ns);
	else
		conn_top_offer(&cache->others, lcore, entry, entry->created_ns);
}

void explain_cache_end(struct explain_cache *cache, struct explain_found *found)
{
	conn_top_list(&cache->known, &found->cache);
	conn_top_list(&cache->others, &found->cache);
	found->cache.no_memory |= cache->no_memory;
	conn_list_merge(&found->cache);
	found->cache_entries = found->cache.n;
	found->cache_left_out =
		conn_top_has_left_out(&cache->known) || conn_top_has_left_out(&cache->others);
	if (found->cache_left_out)
		found->cache_entries =
			conn_top_fullest(&cache->known) + conn_top_fullest(&cache->others);
}

void explain_cache_free(struct explain_cache *cache)
{
	conn_top_free(&cache->known);
	conn_top_free(&cache->others);
	free(cache->pairs);
}
