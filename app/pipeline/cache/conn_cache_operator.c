// SPDX-License-Identifier: BSD-3-Clause
// The connection cache by the operator's hand: entries made and taken out, ends that are exempt.
#include <string.h>
#include "pipeline/cache/conn_slots.h"
#include "pipeline/lcore/lcore.h"

bool conn_cache_put(struct lcore *lcore, const struct conn_entry *entry)
{
	struct conn_cache *cache = lcore->conn_cache;
	const struct conn_cache_policy *policy = &lcore->policy->conn_cache;
	bool exempt = address_set_has(&policy->exempt, entry->key.initiator) ||
		      address_set_has(&policy->exempt, entry->key.responder) ||
		      conn_key_exempt(cache, &entry->key, lcore->now_ns);

	// what lets pass is for those who would not be exempt
	if (exempt && !(entry->flags & CONN_ENTRY_ALLOWED))
		return false;
	uint32_t i = conn_slot_find(cache, &entry->key);

	if (i == NONE) {
		i = conn_slot_new(lcore, entry);
	} else {
		conn_slot_unlink(cache, i);
		cache->slots[i].entry = *entry;
		cache->slots[i].hit_reported = false;
	}
	struct slot *slot = &cache->slots[i];

	slot->entry.hits = 0;
	slot->entry.saved_bytes = 0;
	if (!(slot->entry.flags & CONN_ENTRY_FIXED))
		slot->entry.expires_ns = conn_entry_end(lcore, &slot->entry);
	slot->policy_epoch = 0;
	conn_slot_append(cache, i);
	return true;
}

static bool matches(const struct conn_cache *cache, const struct conn_entry *entry,
	const struct conn_match *match, uint64_t now_ns)
{
	const struct conn_key *key = &entry->key, *wanted = &match->key;
	uint8_t given = match->given;

	if (given & CONN_MATCH_EXEMPT)
		return !(entry->flags & CONN_ENTRY_ALLOWED) && conn_key_exempt(cache, key, now_ns);
	return memcmp(key->initiator, wanted->initiator, 16) == 0 &&
	       memcmp(key->responder, wanted->responder, 16) == 0 &&
	       (!(given & CONN_MATCH_PORT) || key->port == wanted->port) &&
	       (!(given & CONN_MATCH_PROTO) || key->l4_proto == wanted->l4_proto) &&
	       (!(given & CONN_MATCH_MODE) || key->mode == wanted->mode) &&
	       (!(given & CONN_MATCH_ZONE) || key->from_inside == wanted->from_inside) &&
	       (!(given & CONN_MATCH_VLAN) || conn_key_has_tag(key, wanted));
}

unsigned conn_cache_take_out(
	struct lcore *lcore, const struct conn_match *match, uint32_t *cursor, unsigned budget)
{
	struct conn_cache *cache = lcore->conn_cache;
	unsigned n = 0;

	for (; budget && *cursor < cache->size; budget--, (*cursor)++) {
		const struct slot *slot = &cache->slots[*cursor];

		if (!slot->used || !matches(cache, &slot->entry, match, lcore->now_ns))
			continue;
		conn_slot_remove(lcore, *cursor, CONNCACHE_REMOVE);
		n++;
	}
	if (*cursor >= cache->size)
		*cursor = UINT32_MAX;
	return n;
}

void conn_cache_exempt(struct lcore *lcore, const struct exemption *exemptions, unsigned n)
{
	struct conn_cache *cache = lcore->conn_cache;

	cache->n_exempt = n < EXEMPTIONS_MAX ? n : EXEMPTIONS_MAX;
	if (cache->n_exempt)
		memcpy(cache->exempt, exemptions, cache->n_exempt * sizeof(exemptions[0]));
}
