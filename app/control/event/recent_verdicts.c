// SPDX-License-Identifier: BSD-3-Clause
// Keeps the latest verdicts and connection cache entries for the live page.
#include "control/event/recent_verdicts.h"

#include <string.h>

static bool is_same_entry(const struct event *a, const struct event *b)
{
	return a->l4_proto == b->l4_proto && a->conncache.cache_mode == b->conncache.cache_mode &&
	       a->ends.port[HALF_S2C] == b->ends.port[HALF_S2C] &&
	       memcmp(a->ends.address, b->ends.address, sizeof a->ends.address) == 0;
}

// What became of an entry that is still shown.
static void see_again(struct recent_verdicts *recent_verdicts, const struct event *event)
{
	for (unsigned i = 0; i < RECENT_ENTRIES && i < recent_verdicts->entries_seen; i++) {
		struct recent_cache_entry *entry = &recent_verdicts->entries[i];

		if (entry->state != RECENT_LIVE || !is_same_entry(&entry->event, event))
			continue;
		// Each lcore tells of its own replica.
		if (event->conncache.hits > entry->hits)
			entry->hits = event->conncache.hits;
		if (event->reason == CONNCACHE_HIT) {
			if (!entry->hits)
				entry->hits = 1;
			entry->event.conncache.expires_ns = event->conncache.expires_ns;
		} else if (event->reason == CONNCACHE_EXPIRE) {
			entry->state = RECENT_EXPIRED;
		} else if (event->reason == CONNCACHE_REMOVE) {
			entry->state = RECENT_REMOVED;
		} else if (event->reason == CONNCACHE_HEAL) {
			entry->state = RECENT_REVOKED;
		} else if (event->reason == CONNCACHE_EVICT) {
			entry->state = RECENT_EVICTED;
		}
	}
}

void recent_verdicts_add(void *ctx, const struct event *event)
{
	struct recent_verdicts *recent_verdicts = ctx;

	if (event->type == EVENT_ALERT)
		recent_verdicts->verdicts[recent_verdicts->verdicts_seen++ % RECENT_VERDICTS] =
			*event;
	else if (event->type == EVENT_CONNCACHE && event->reason == CONNCACHE_ADD)
		recent_verdicts->entries[recent_verdicts->entries_seen++ % RECENT_ENTRIES] =
			(struct recent_cache_entry){.event = *event};
	else if (event->type == EVENT_CONNCACHE)
		see_again(recent_verdicts, event);
}

const struct event *recent_verdicts_at(const struct recent_verdicts *recent_verdicts, unsigned i)
{
	if (i >= RECENT_VERDICTS || i >= recent_verdicts->verdicts_seen)
		return NULL;
	return &recent_verdicts
			->verdicts[(recent_verdicts->verdicts_seen - 1 - i) % RECENT_VERDICTS];
}

const struct recent_cache_entry *recent_cache_entry(
	const struct recent_verdicts *recent_verdicts, unsigned i)
{
	if (i >= RECENT_ENTRIES || i >= recent_verdicts->entries_seen)
		return NULL;
	return &recent_verdicts->entries[(recent_verdicts->entries_seen - 1 - i) % RECENT_ENTRIES];
}
