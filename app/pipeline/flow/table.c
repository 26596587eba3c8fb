// SPDX-License-Identifier: BSD-3-Clause
// Creates the flow table, and looks up flows by their keys.
#include <string.h>
#include <rte_malloc.h>
#include <rte_prefetch.h>
#include "pipeline/flow/pool.h"

static int keys_init(struct flow_keys *keys, uint32_t size, size_t slot_bytes, int socket)
{
	uint32_t n_heads = rte_align32pow2(2 * RTE_MAX(size, 32u));
	uint32_t *heads = rte_malloc_socket("key_heads", sizeof(uint32_t) * n_heads, 64, socket);

	if (heads)
		chains_init(&keys->chains, heads, n_heads);
	keys->slots = rte_zmalloc_socket("key_slots", slot_bytes * size, 64, socket);
	keys->size = size;
	keys->first_free = CHAIN_END;
	return heads && keys->slots ? 0 : -1;
}

static void keys_fini(struct flow_keys *keys)
{
	rte_free(keys->chains.heads);
	rte_free(keys->slots);
}

static void pool_share(struct flow_table *table, struct pool *pool, uint32_t source_pct)
{
	uint64_t most = (uint64_t)pool->size * source_pct / 100;

	pool->shares.seed = &table->seed;
	pool->shares.most = most ? (uint32_t)most : 1;
}

struct flow_table *flow_table_new(const struct flow_table_limits *limits, int socket)
{
	uint32_t flows = limits->flows, stubs = limits->stubs;
	struct flow_table *table = rte_zmalloc_socket("flow_table", sizeof(*table), 64, socket);
	uint32_t n_keys = RTE_MAX(flows + stubs, 64u);

	if (!table)
		return NULL;
	table->seed = limits->seed;
	table->times = limits->times;
	table->elephant = limits->elephant;
	table->hooks = limits->hooks;
	table->next_gen = 1;
	for (unsigned i = 0; i < FLOW_CLASS_MAX; i++)
		table->lru[i] = (struct lru){POOL_NONE, POOL_NONE, 0};
	table->flows = rte_zmalloc_socket("flows", sizeof(struct flow) * flows, 64, socket);
	table->cold =
		rte_zmalloc_socket("flows_cold", sizeof(struct flow_cold) * flows, 64, socket);
	table->stubs = rte_zmalloc_socket("stubs", sizeof(struct flow_stub) * stubs, 64, socket);
	// Either family may fill both pools; IPv6 gets half the key slots (48-byte keys).
	int failed = keys_init(&table->keys[0], n_keys, sizeof(struct flow_key_slot4), socket) |
		     keys_init(&table->keys[1], RTE_MAX(n_keys / 2, 64u),
			     sizeof(struct flow_key_slot6), socket);

	if (failed || !table->flows || !table->cold || !table->stubs ||
		pool_init(&table->flow_pool, flows, socket) ||
		pool_init(&table->stub_pool, stubs, socket)) {
		flow_table_free(table);
		return NULL;
	}
	pool_share(table, &table->flow_pool, limits->source_pct);
	pool_share(table, &table->stub_pool, limits->source_pct);
	return table;
}

void flow_table_free(struct flow_table *table)
{
	if (!table)
		return;
	keys_fini(&table->keys[0]);
	keys_fini(&table->keys[1]);
	rte_free(table->flows);
	rte_free(table->cold);
	rte_free(table->stubs);
	rte_free(table->flow_pool.free);
	rte_free(table->stub_pool.free);
	rte_free(table);
}

static bool same4(const struct flow_key4 *a, const struct flow_key4 *b)
{
	uint64_t x[sizeof(*a) / 8], y[sizeof(*a) / 8], differ = 0;

	memcpy(x, a, sizeof(x));
	memcpy(y, b, sizeof(y));
	for (unsigned i = 0; i < RTE_DIM(x); i++)
		differ |= x[i] ^ y[i];
	return !differ;
}

static bool same6(const struct flow_key6 *a, const struct flow_key6 *b)
{
	uint64_t x[sizeof(*a) / 8], y[sizeof(*a) / 8], differ = 0;

	memcpy(x, a, sizeof(x));
	memcpy(y, b, sizeof(y));
	for (unsigned i = 0; i < RTE_DIM(x); i++)
		differ |= x[i] ^ y[i];
	return !differ;
}

static uint32_t *next_of(const struct flow_keys *keys, uint32_t at, bool v6)
{
	return v6 ? &keys->slots6[at].next : &keys->slots4[at].next;
}

static uint32_t *ref_of(const struct flow_keys *keys, uint32_t at, bool v6)
{
	return v6 ? &keys->slots6[at].ref : &keys->slots4[at].ref;
}

// The slot of a key from `at` on, or CHAIN_END.
static inline uint32_t find_from(
	const struct flow_keys *keys, uint32_t at, const union flow_key *key, bool v6)
{
	if (v6) {
		while (at != CHAIN_END && !same6(&keys->slots6[at].key, &key->v6))
			at = keys->slots6[at].next;
		return at;
	}
	while (at != CHAIN_END && !same4(&keys->slots4[at].key, &key->v4))
		at = keys->slots4[at].next;
	return at;
}

static void prefetch_entry(const struct flow_table *table, uint32_t ref)
{
	if (ref & FLOW_REF_STUB) {
		rte_prefetch0(&table->stubs[ref & ~FLOW_REF_STUB]);
	} else {
		rte_prefetch0(&table->flows[ref]);
		rte_prefetch0(&table->flows[ref].start_ns);
	}
}

// Each step needs a line of memory, which the step before has asked for, for all packets at once:
// the chain's head, its first key, the entry.
unsigned flow_lookup_bulk(struct flow_table *table, struct flow_lookup *lookups, unsigned n)
{
	uint32_t first[FLOW_LOOKUP_MAX];
	unsigned found = 0;

	for (unsigned i = 0; i < n; i++) {
		struct flow_lookup *lookup = &lookups[i];

		lookup->hash = parse_hash(&table->seed, lookup->key, lookup->v6);
		rte_prefetch0(chains_head(&table->keys[lookup->v6].chains, lookup->hash));
	}
	for (unsigned i = 0; i < n; i++) {
		const struct flow_lookup *lookup = &lookups[i];
		const struct flow_keys *keys = &table->keys[lookup->v6];

		first[i] = *chains_head(&keys->chains, lookup->hash);
		if (first[i] == CHAIN_END)
			continue;
		if (lookup->v6)
			rte_prefetch0(&keys->slots6[first[i]]);
		else
			rte_prefetch0(&keys->slots4[first[i]]);
	}
	for (unsigned i = 0; i < n; i++) {
		struct flow_lookup *lookup = &lookups[i];
		const struct flow_keys *keys = &table->keys[lookup->v6];
		uint32_t at = find_from(keys, first[i], lookup->key, lookup->v6);

		lookup->ref = FLOW_REF_NONE;
		if (at == CHAIN_END)
			continue;
		lookup->ref = *ref_of(keys, at, lookup->v6);
		prefetch_entry(table, lookup->ref);
		found++;
	}
	return found;
}

uint32_t flow_lookup(
	const struct flow_table *table, const union flow_key *key, uint32_t hash, bool v6)
{
	const struct flow_keys *keys = &table->keys[v6];
	uint32_t at = find_from(keys, *chains_head(&keys->chains, hash), key, v6);

	return at == CHAIN_END ? FLOW_REF_NONE : *ref_of(keys, at, v6);
}

uint32_t flow_find(const struct flow_table *table, const union flow_key *key, bool v6)
{
	return flow_lookup(table, key, parse_hash(&table->seed, key, v6), v6);
}

static uint32_t slot_take(struct flow_keys *keys, bool v6)
{
	uint32_t at = keys->first_free;

	if (at != CHAIN_END)
		keys->first_free = *next_of(keys, at, v6);
	else if (keys->fresh < keys->size)
		at = keys->fresh++;
	return at;
}

// `key` may lie in a slot that was given back: it is copied before anything else is written.
static int32_t key_add(struct lcore *lcore, const union flow_key *key, bool v6, uint32_t *head,
	unsigned length, uint32_t ref)
{
	struct flow_keys *keys = &lcore->flows->keys[v6];

	if (length == CHAIN_MAX) {
		lcore->stats.chain_full++;
		return -1;
	}
	uint32_t at = slot_take(keys, v6);

	if (at == CHAIN_END)
		return -1;
	if (v6)
		memmove(&keys->slots6[at].key, &key->v6, sizeof(key->v6));
	else
		memmove(&keys->slots4[at].key, &key->v4, sizeof(key->v4));
	*next_of(keys, at, v6) = *head;
	*ref_of(keys, at, v6) = ref;
	*head = at;
	chains_grow(&keys->chains, length);
	return (int32_t)at;
}

int32_t key_bind(struct lcore *lcore, const union flow_key *key, bool v6, uint32_t ref)
{
	struct flow_table *table = lcore->flows;
	struct flow_keys *keys = &table->keys[v6];
	uint32_t *head = chains_head(&keys->chains, parse_hash(&table->seed, key, v6));
	unsigned length = 0;

	for (uint32_t at = *head; at != CHAIN_END; at = *next_of(keys, at, v6)) {
		if (find_from(keys, at, key, v6) == at) {
			*ref_of(keys, at, v6) = ref;
			table->version++;
			return (int32_t)at;
		}
		length++;
	}
	int32_t pos = key_add(lcore, key, v6, head, length, ref);

	table->version += pos >= 0;
	return pos;
}

void key_remove(struct flow_table *table, int32_t key_pos, bool v6)
{
	struct flow_keys *keys = &table->keys[v6];
	const union flow_key *key = flow_key_of(table, key_pos, v6);
	uint32_t *link = chains_head(&keys->chains, parse_hash(&table->seed, key, v6));
	uint32_t *of_key = NULL, pos = (uint32_t)key_pos;
	unsigned length = 0;

	for (; *link != CHAIN_END; link = next_of(keys, *link, v6)) {
		if (*link == pos)
			of_key = link;
		length++;
	}
	*of_key = *next_of(keys, pos, v6);
	*next_of(keys, pos, v6) = keys->first_free;
	keys->first_free = pos;
	chains_shrink(&keys->chains, length);
	table->version++;
}

struct flow_usage flow_table_usage(const struct flow_table *table)
{
	return (struct flow_usage){
		.flows = table->flow_pool.size - table->flow_pool.n_free,
		.flows_max = table->flow_pool.size,
		.stubs = table->stub_pool.size - table->stub_pool.n_free,
		.stubs_max = table->stub_pool.size,
		.longest_chain = RTE_MAX(chains_longest(&table->keys[0].chains),
			chains_longest(&table->keys[1].chains)),
		.emergency = table->flow_pool.emergency || table->stub_pool.emergency,
	};
}
