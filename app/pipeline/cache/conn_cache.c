// SPDX-License-Identifier: BSD-3-Clause
// The hash table of blocked peers and tuples, with look-up, learning and eviction.
#include <netinet/in.h>
#include <string.h>
#include <rte_malloc.h>
#include <rte_prefetch.h>
#include "pipeline/cache/conn_slots.h"
#include "pipeline/policy/decide.h"
#include "pipeline/event/flow_event.h"
#include "pipeline/lcore/hints.h"
#include "pipeline/lcore/lcore.h"
#include "pipeline/event/evidence.h"
#include "pipeline/flow/ends.h"
#include "pipeline/cache/conn_cache.h"
#include "pipeline/policy/policy.h"

struct conn_cache *conn_cache_new(unsigned capacity, const struct hash_seed *seed, int socket)
{
	struct conn_cache *cache = rte_zmalloc_socket("conn_cache", sizeof(*cache), 64, socket);
	uint32_t n_heads = rte_align32pow2(2 * RTE_MAX(capacity, 64u));

	if (!cache)
		return NULL;
	uint32_t *heads = rte_malloc_socket("conn_heads", sizeof(uint32_t) * n_heads, 64, socket);

	if (heads)
		chains_init(&cache->chains, heads, n_heads);
	cache->seed = *seed;
	cache->slots = rte_zmalloc_socket("conn_slots", sizeof(struct slot) * capacity, 64, socket);
	cache->free = rte_malloc_socket("conn_free", sizeof(uint32_t) * capacity, 64, socket);
	cache->size = cache->n_free = capacity;
	cache->learned = cache->fixed = (struct conn_list_ends){NONE, NONE};
	if (!heads || !cache->slots || !cache->free) {
		conn_cache_free(cache);
		return NULL;
	}
	for (uint32_t i = 0; i < capacity; i++)
		cache->free[i] = capacity - 1 - i;
	return cache;
}

void conn_cache_free(struct conn_cache *cache)
{
	if (!cache)
		return;
	rte_free(cache->chains.heads);
	rte_free(cache->slots);
	rte_free(cache->free);
	rte_free(cache);
}

unsigned conn_cache_count(const struct conn_cache *cache)
{
	return cache->size - cache->n_free;
}

unsigned conn_cache_longest(const struct conn_cache *cache)
{
	return chains_longest(&cache->chains);
}

static uint32_t hash_of(const struct conn_cache *cache, const struct conn_key *key)
{
	union conn_words tuple = {.key = *key};

	return conn_words_hash(&cache->seed, &tuple);
}

static bool same(const struct conn_key *key, const union conn_words *tuple)
{
	uint64_t words[6], differ = 0;

	memcpy(words, key, sizeof(words));
	for (unsigned i = 0; i < 6; i++)
		differ |= words[i] ^ tuple->words[i];
	return !differ;
}

static uint32_t find_words(
	const struct conn_cache *cache, const union conn_words *tuple, uint32_t hash)
{
	uint32_t i = *chains_head(&cache->chains, hash);

	while (i != NONE &&
		(cache->slots[i].hash != hash || !same(&cache->slots[i].entry.key, tuple)))
		i = cache->slots[i].chain;
	return i;
}

static uint32_t find(const struct conn_cache *cache, const struct conn_key *key, uint32_t hash)
{
	union conn_words tuple = {.key = *key};

	return find_words(cache, &tuple, hash);
}

void conn_cache_prefetch(const struct conn_cache *cache, uint32_t hash)
{
	rte_prefetch0(chains_head(&cache->chains, hash));
}

void conn_cache_prefetch_entry(const struct conn_cache *cache, uint32_t hash)
{
	uint32_t i = *chains_head(&cache->chains, hash);

	if (i == NONE)
		return;
	rte_prefetch0(&cache->slots[i]);
	rte_prefetch0(&cache->slots[i].hash);
}

static unsigned chain_length(const struct conn_cache *cache, uint32_t hash)
{
	unsigned length = 0;

	for (uint32_t i = *chains_head(&cache->chains, hash); i != NONE; i = cache->slots[i].chain)
		length++;
	return length;
}

// The entry of a chain that ends first; one of the operator's only where there is no other.
static uint32_t chain_oldest(const struct conn_cache *cache, uint32_t hash)
{
	uint32_t oldest = *chains_head(&cache->chains, hash);

	for (uint32_t i = oldest; i != NONE; i = cache->slots[i].chain) {
		const struct conn_entry *a = &cache->slots[i].entry;
		const struct conn_entry *b = &cache->slots[oldest].entry;
		bool fixed = a->flags & CONN_ENTRY_FIXED, other = b->flags & CONN_ENTRY_FIXED;

		if (fixed == other ? a->expires_ns < b->expires_ns : other)
			oldest = i;
	}
	return oldest;
}

// The free slot on top of the stack gets this entry. There is one, and its chain is not full.
static uint32_t take_slot(struct conn_cache *cache, const struct conn_entry *entry, uint32_t hash)
{
	uint32_t i = cache->free[--cache->n_free], *head = chains_head(&cache->chains, hash);

	chains_grow(&cache->chains, chain_length(cache, hash));

	cache->slots[i] =
		(struct slot){.entry = *entry, .hash = hash, .chain = *head, .used = true};
	*head = i;
	if (entry->key.mode == CACHE_PEER)
		cache->n_peer++;
	return i;
}

static void chain_remove(struct conn_cache *cache, uint32_t i)
{
	uint32_t hash = cache->slots[i].hash, *link = chains_head(&cache->chains, hash);

	chains_shrink(&cache->chains, chain_length(cache, hash));
	while (*link != i)
		link = &cache->slots[*link].chain;
	*link = cache->slots[i].chain;
}

static struct conn_list_ends *list_of(struct conn_cache *cache, uint32_t i)
{
	return cache->slots[i].entry.flags & CONN_ENTRY_FIXED ? &cache->fixed : &cache->learned;
}

void conn_slot_unlink(struct conn_cache *cache, uint32_t i)
{
	struct conn_list_ends *list = list_of(cache, i);
	struct slot *slot = &cache->slots[i];

	if (slot->prev == NONE)
		list->oldest = slot->next;
	else
		cache->slots[slot->prev].next = slot->next;
	if (slot->next == NONE)
		list->youngest = slot->prev;
	else
		cache->slots[slot->next].prev = slot->prev;
}

void conn_slot_append(struct conn_cache *cache, uint32_t i)
{
	struct conn_list_ends *list = list_of(cache, i);
	struct slot *slot = &cache->slots[i];

	slot->prev = list->youngest;
	slot->next = NONE;
	if (list->youngest == NONE)
		list->oldest = i;
	else
		cache->slots[list->youngest].next = i;
	list->youngest = i;
}

static void entry_ends(const struct conn_key *key, struct flow_ends *ends)
{
	*ends = (struct flow_ends){.port = {0, key->port}};
	memcpy(ends->address[HALF_C2S], key->initiator, 16);
	memcpy(ends->address[HALF_S2C], key->responder, 16);
}

static void report(struct lcore *lcore, const struct conn_entry *entry, enum event_conncache what)
{
	struct event event = {.type = EVENT_CONNCACHE, .reason = (uint8_t)what};

	entry_ends(&entry->key, &event.ends);
	event.l4_proto = entry->key.l4_proto;
	event.in_port = PORT_NONE;
	event.user_uid = flow_user_uid(lcore, &event.ends, entry->key.from_inside);
	event.n_vlan = (uint8_t)realm_tags(entry->key.realm, event.vlan);
	event.conncache.realm = entry->key.realm;
	event.app = entry->app;
	event.confidence = entry->confidence;
	event.signature = UINT16_MAX;
	event.rule_uid = entry->rule_uid;
	event.conncache.created_ns = entry->created_ns;
	event.conncache.expires_ns = entry->expires_ns;
	event.conncache.hits = entry->hits;
	event.conncache.saved_bytes = entry->saved_bytes;
	event.conncache.cache_mode = entry->key.mode;
	event.conncache.from_inside = entry->key.from_inside;
	event.conncache.by_hand = entry->flags & CONN_ENTRY_OPERATOR;
	event.conncache.fixed = !!(entry->flags & CONN_ENTRY_FIXED);
	if (entry->flags & CONN_ENTRY_UNHEARD)
		event.heard = EVENT_UNHEARD;
	else if (entry->key.l4_proto == IPPROTO_UDP)
		event.heard = EVENT_ANSWERED;
	event_send(lcore, &event,
		entry->flags & CONN_ENTRY_UNHEARD ? EVENT_ROOM_UNHEARD : EVENT_ROOM_ANY);
}

#define NOTE_EVERY_NS NS_PER_S // a peer that reconnects for ever shall not fill the evidence

static struct evidence *note(
	struct lcore *lcore, enum evidence_kind kind, const struct conn_entry *entry)
{
	struct evidence *evidence = evidence_add(lcore, kind, entry->flow_id);

	memcpy(evidence->ends.address[HALF_C2S], entry->key.initiator, 16);
	memcpy(evidence->ends.address[HALF_S2C], entry->key.responder, 16);
	evidence->ends.port[HALF_S2C] = entry->key.port;
	evidence->flags = EVIDENCE_HAS_ENDS;
	evidence->l4_proto = entry->key.l4_proto;
	uint16_t tags[2];

	evidence->vlan = realm_tags(entry->key.realm, tags) ? (uint16_t)(tags[0] | 1u << 15) : 0;
	evidence->detail = entry->key.mode;
	evidence->rule_uid = entry->rule_uid;
	evidence->app = entry->app;
	evidence->confidence = entry->confidence;
	return evidence;
}

void conn_slot_remove(struct lcore *lcore, uint32_t i, enum event_conncache why)
{
	struct conn_cache *cache = lcore->conn_cache;
	struct slot *slot = &cache->slots[i];

	// only the replica that has something to tell speaks: the others would repeat it; what is
	// taken out by hand is told by the control core
	if (why != CONNCACHE_REMOVE && !(slot->entry.flags & CONN_ENTRY_ALLOWED) &&
		(slot->entry.hits || why != CONNCACHE_EXPIRE))
		report(lcore, &slot->entry, why);
	chain_remove(cache, i);
	conn_slot_unlink(cache, i);
	if (slot->entry.key.mode == CACHE_PEER)
		cache->n_peer--;
	slot->used = false;
	cache->free[cache->n_free++] = i;
}

uint64_t conn_entry_end(const struct lcore *lcore, const struct conn_entry *entry)
{
	const struct conn_cache_policy *policy = &lcore->policy->conn_cache;
	uint64_t ttl = lcore->now_ns + policy->ttl_s * NS_PER_S;
	uint64_t end = entry->created_ns + policy->max_lifetime_s * NS_PER_S;

	return ttl < end ? ttl : end;
}

static void refresh(struct lcore *lcore, uint32_t i)
{
	struct conn_cache *cache = lcore->conn_cache;
	struct conn_entry *entry = &cache->slots[i].entry;

	if (entry->flags & CONN_ENTRY_FIXED)
		return;
	uint64_t expires_ns = conn_entry_end(lcore, entry);
	bool moves = (entry->expires_ns ^ expires_ns) >> FLOW_WHILE_SHIFT;

	entry->expires_ns = expires_ns;
	if (!moves)
		return; // as in flow_touch
	conn_slot_unlink(cache, i);
	conn_slot_append(cache, i);
}

uint32_t conn_slot_find(const struct conn_cache *cache, const struct conn_key *key)
{
	return find(cache, key, hash_of(cache, key));
}

uint32_t conn_slot_new(struct lcore *lcore, const struct conn_entry *entry)
{
	struct conn_cache *cache = lcore->conn_cache;
	uint32_t hash = hash_of(cache, &entry->key);

	if (chain_length(cache, hash) == CHAIN_MAX) {
		lcore->stats.chain_full++;
		conn_slot_remove(lcore, chain_oldest(cache, hash), CONNCACHE_EVICT);
	}
	if (!cache->n_free) {
		lcore->stats.cache_evicted++;
		conn_slot_remove(lcore,
			cache->learned.oldest != NONE ? cache->learned.oldest : cache->fixed.oldest,
			CONNCACHE_EVICT);
	}
	return take_slot(cache, entry, hash);
}

bool conn_key_exempt(const struct conn_cache *cache, const struct conn_key *key, uint64_t now_ns)
{
	for (unsigned i = 0; i < cache->n_exempt; i++) {
		const struct exemption *exemption = &cache->exempt[i];

		if (now_ns < exemption->expires_ns &&
			(exemption_has(exemption, key->initiator) ||
				exemption_has(exemption, key->responder)))
			return true;
	}
	return false;
}

void conn_cache_learn(struct lcore *lcore, const struct conn_entry *entry, bool broadcast)
{
	struct conn_cache *cache = lcore->conn_cache;
	const struct conn_cache_policy *policy = &lcore->policy->conn_cache;

	if (address_set_has(&policy->exempt, entry->key.initiator) ||
		address_set_has(&policy->exempt, entry->key.responder) ||
		conn_key_exempt(cache, &entry->key, lcore->now_ns)) {
		if (broadcast) {
			lcore->stats.cache_exempt++;
			note(lcore, EVIDENCE_CACHE_EXEMPT, entry);
		}
		return;
	}
	uint32_t i = conn_slot_find(cache, &entry->key);

	if (i != NONE && lcore->now_ns >= cache->slots[i].entry.expires_ns) {
		lcore->stats.cache_expired++;
		conn_slot_remove(lcore, i, CONNCACHE_EXPIRE);
		i = NONE;
	}
	if (i != NONE && cache->slots[i].entry.flags & CONN_ENTRY_FIXED)
		return; // the operator's word stands
	if (i == NONE) {
		i = conn_slot_new(lcore, entry);
		cache->slots[i].entry.hits = 0;
		cache->slots[i].entry.saved_bytes = 0;
		conn_slot_append(cache, i);
	} else {
		cache->slots[i].entry.rule_uid = entry->rule_uid;
		cache->slots[i].entry.app = entry->app;
		cache->slots[i].entry.confidence = entry->confidence;
		cache->slots[i].entry.flow_id = entry->flow_id;
	}
	// another lcore may have learned it under another generation
	cache->slots[i].policy_epoch = broadcast ? lcore->epoch : 0;
	refresh(lcore, i);
	if (!broadcast) {
		lcore->stats.cache_replicated++;
		return;
	}
	lcore->stats.cache_learned++;
	note(lcore, EVIDENCE_CACHE_LEARNED, entry);
	report(lcore, &cache->slots[i].entry, CONNCACHE_ADD);

	hints_broadcast(lcore, HINT_CONN_BLOCK, &cache->slots[i].entry,
		sizeof(cache->slots[i].entry), false);
}

bool conn_cache_restore(struct lcore *lcore, const struct conn_entry *entry)
{
	struct conn_cache *cache = lcore->conn_cache;
	uint32_t hash = hash_of(cache, &entry->key);

	if (!cache->n_free || chain_length(cache, hash) == CHAIN_MAX ||
		find(cache, &entry->key, hash) != NONE)
		return false;
	// epoch 0: the policy of today is asked at its first hit
	conn_slot_append(cache, take_slot(cache, entry, hash));
	return true;
}

static bool rule_has_ends(
	const struct policy *policy, const struct rule *rule, const struct conn_key *key)
{
	struct flow_ends ends;

	entry_ends(key, &ends);
	if (rule->direction != DIRECTION_ANY &&
		(rule->direction == DIRECTION_OUTBOUND) != key->from_inside)
		return false;
	if (rule->has_user && !rule_has_user(rule, policy_user(policy, &ends, key->from_inside)))
		return false;
	if (rule->has_source && !address_set_has(&rule->source, key->initiator))
		return false;
	if (rule->has_host && !rule_has_host(rule, &ends))
		return false;
	return !rule->has_destination || address_set_has(&rule->destination, key->responder);
}

// A connection like those that made the entry, decided by the policy of today.
static bool decide_blocks(
	const struct policy *policy, uint64_t windows, const struct conn_entry *entry)
{
	struct flow_ends ends;
	uint16_t tags[2];
	unsigned n_tags = realm_tags(entry->key.realm, tags);
	const struct decide_input input = {
		.ends = &ends,
		.app = entry->app,
		.confidence = entry->confidence,
		.l4_proto = entry->key.l4_proto,
		.n_vlan = (uint8_t)n_tags,
		.app_final = true,
		.ports_known = true,
		.c2s_from_inside = entry->key.from_inside,
		.vlan = {tags[0], tags[1]},
		.windows = windows,
	};

	entry_ends(&entry->key, &ends);
	return action_blocks(decide(policy, &input).action);
}

// A policy that no longer blocks must let its victims go: the rule is looked up by its uid, which
// outlives reloads, and has to be there, enforced, blocking and caching still, for these ends; and
// no rule before it may let them pass. (The key of mode peer has no port, and a realm does not
// always tell its tags: then the rule alone is asked.)
static bool policy_blocks(
	const struct policy *policy, uint64_t windows, const struct conn_entry *entry)
{
	if (address_set_has(&policy->conn_cache.exempt, entry->key.initiator) ||
		address_set_has(&policy->conn_cache.exempt, entry->key.responder))
		return false;
	if (!entry->rule_uid)
		return true; // put there by the operator
	const struct rule *rule = policy_rule_by_uid(policy, entry->rule_uid);

	if (!rule || !action_blocks(rule->action) || rule->mode != MODE_ENFORCE ||
		rule->cache == CACHE_NONE)
		return false;
	if (rule->has_app && !app_set_has(&rule->apps, entry->app))
		return false;
	if (entry->key.mode == CACHE_PEER || rule->n_vlans || entry->key.realm & REALM_HASHED)
		return rule_is_open(rule, windows) && rule_has_ends(policy, rule, &entry->key);
	return decide_blocks(policy, windows, entry);
}

// Asked once for each generation, and each time that a time window has opened or closed.
static bool still_blocked(const struct lcore *lcore, struct slot *slot)
{
	if (slot->policy_epoch == lcore->epoch)
		return true;
	slot->policy_epoch = lcore->epoch;
	return policy_blocks(lcore->policy, lcore->windows, &slot->entry);
}

static void count_hit(struct lcore *lcore, uint32_t i, uint32_t frame_bytes, bool refreshes)
{
	struct conn_entry *entry = &lcore->conn_cache->slots[i].entry;

	entry->hits++;
	entry->saved_bytes += frame_bytes;
	if (refreshes)
		refresh(lcore, i);
}

bool conn_cache_drops(struct lcore *lcore, const union conn_words *tuple, uint32_t hash,
	uint32_t frame_bytes, bool refreshes)
{
	const struct conn_cache *cache = lcore->conn_cache;
	uint32_t i = find_words(cache, tuple, hash);

	if (i == NONE)
		return false;
	const struct slot *slot = &cache->slots[i];

	if (lcore->now_ns >= slot->entry.expires_ns || slot->policy_epoch != lcore->epoch ||
		!slot->hit_reported || lcore->now_ns - slot->noted_ns >= NOTE_EVERY_NS ||
		lcore->policy->conn_cache.learn_only)
		return false;
	count_hit(lcore, i, frame_bytes, refreshes);
	lcore->stats.cache_hits++;
	lcore->stats.cache_saved_bytes += frame_bytes;
	return true;
}

static enum conn_verdict hit_one(
	struct lcore *lcore, const struct conn_key *key, uint32_t frame_bytes, bool refreshes)
{
	struct conn_cache *cache = lcore->conn_cache;
	uint32_t i = find(cache, key, hash_of(cache, key));

	if (i == NONE)
		return CONN_UNKNOWN;
	struct slot *slot = &cache->slots[i];

	if (lcore->now_ns >= slot->entry.expires_ns) {
		lcore->stats.cache_expired++;
		conn_slot_remove(lcore, i, CONNCACHE_EXPIRE);
		return CONN_UNKNOWN;
	}
	if (slot->entry.flags & CONN_ENTRY_ALLOWED) {
		count_hit(lcore, i, 0, false);
		if (lcore->now_ns - slot->noted_ns >= NOTE_EVERY_NS) {
			slot->noted_ns = lcore->now_ns;
			note(lcore, EVIDENCE_CACHE_PASSED, &slot->entry);
		}
		return CONN_ALLOWED;
	}
	if (!still_blocked(lcore, slot)) {
		lcore->stats.cache_healed++;
		note(lcore, EVIDENCE_CACHE_REVOKED, &slot->entry);
		conn_slot_remove(lcore, i, CONNCACHE_HEAL);
		return CONN_UNKNOWN;
	}
	count_hit(lcore, i, frame_bytes, refreshes);
	if (!slot->hit_reported) {
		slot->hit_reported = true;
		report(lcore, &slot->entry, CONNCACHE_HIT);
	}
	if (lcore->now_ns - slot->noted_ns >= NOTE_EVERY_NS) {
		slot->noted_ns = lcore->now_ns;
		note(lcore, EVIDENCE_CACHE_HIT, &slot->entry)->flags |=
			lcore->policy->conn_cache.learn_only ? EVIDENCE_WAS_PASSED : 0;
	}
	if (lcore->policy->conn_cache.learn_only) {
		lcore->stats.cache_learn_only++;
		return CONN_UNKNOWN;
	}
	lcore->stats.cache_hits++;
	lcore->stats.cache_saved_bytes += frame_bytes;
	return CONN_DROPS;
}

enum conn_verdict conn_cache_hit(
	struct lcore *lcore, const struct conn_key *tuple, uint32_t frame_bytes, bool refreshes)
{
	struct conn_cache *cache = lcore->conn_cache;

	if (!conn_cache_count(cache))
		return CONN_UNKNOWN;
	enum conn_verdict verdict = hit_one(lcore, tuple, frame_bytes, refreshes);

	if (verdict != CONN_UNKNOWN)
		return verdict;
	if (!cache->n_peer)
		return CONN_UNKNOWN;
	struct conn_key peer = *tuple;

	peer.port = 0;
	peer.l4_proto = 0;
	peer.mode = CACHE_PEER;
	return hit_one(lcore, &peer, frame_bytes, refreshes);
}
