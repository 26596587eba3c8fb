// SPDX-License-Identifier: BSD-3-Clause
#include <limits.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <netinet/in.h>
#include <rte_malloc.h>
#include "flow_table.h"
#include "flow_event.h"
#include "lcore.h"

#define NONE UINT32_MAX

// Seconds as an operator would choose them: RFC 5382 (TCP), RFC 4787 (UDP) set the lower bounds of
// a NAT; a table that only watches may be a little shorter on what has never carried payload.
const struct flow_timeouts flow_timeouts_default = {
	.normal_ns =
		{
			[FLOW_CLASS_EMBRYONIC] = 30 * NS_PER_S,
			[FLOW_CLASS_STATELESS] = 30 * NS_PER_S,
			[FLOW_CLASS_CONDEMNED] = 120 * NS_PER_S,
			[FLOW_CLASS_TCP] = 7440 * NS_PER_S,
			[FLOW_CLASS_TCP_CLOSING] = 15 * NS_PER_S,
			[FLOW_CLASS_UDP_ONE_WAY] = 30 * NS_PER_S,
			[FLOW_CLASS_UDP] = 300 * NS_PER_S,
		},
	.emergency_ns =
		{
			[FLOW_CLASS_EMBRYONIC] = 3 * NS_PER_S,
			[FLOW_CLASS_STATELESS] = 3 * NS_PER_S,
			[FLOW_CLASS_CONDEMNED] = 10 * NS_PER_S,
			[FLOW_CLASS_TCP] = 300 * NS_PER_S,
			[FLOW_CLASS_TCP_CLOSING] = 2 * NS_PER_S,
			[FLOW_CLASS_UDP_ONE_WAY] = 3 * NS_PER_S,
			[FLOW_CLASS_UDP] = 30 * NS_PER_S,
		},
};

struct lru {
	uint32_t oldest;
	uint32_t youngest;
	uint32_t n;
};

struct pool {
	uint32_t *free; // stack of free indices
	uint32_t n_free;
	uint32_t size;
	bool emergency;
};

struct flow_table {
	struct rte_hash *hash[2]; // [0] IPv4, [1] IPv6; an entry's value is its reference
	struct flow *flows;
	struct flow_cold *cold;
	struct flow_stub *stubs;
	struct pool flow_pool;
	struct pool stub_pool;
	struct lru lru[FLOW_CLASS_MAX];
	struct flow_timeouts times;
	uint32_t version;
	uint32_t next_gen;
};

static bool class_is_stub(enum flow_class class)
{
	return class <= FLOW_CLASS_CONDEMNED;
}

static int pool_init(struct pool *pool, uint32_t size, int socket)
{
	pool->free = rte_malloc_socket("flow_free", sizeof(uint32_t) * size, 64, socket);
	if (!pool->free)
		return -1;
	pool->size = pool->n_free = size;
	for (uint32_t i = 0; i < size; i++)
		pool->free[i] = size - 1 - i;
	return 0;
}

// rte_hash finds a key by its position only if it can hash it as we do.
static uint32_t hash_key(const void *key, uint32_t key_len, uint32_t init)
{
	(void)init;
	return parse_hash(key, key_len == sizeof(struct flow_key6));
}

static struct rte_hash *hash_new(
	const char *family, uint32_t entries, uint32_t key_len, unsigned lcore, int socket)
{
	char name[RTE_HASH_NAMESIZE];

	snprintf(name, sizeof(name), "sl_%s_%u", family, lcore);
	struct rte_hash_parameters params = {
		.name = name,
		.entries = entries < 64 ? 64 : entries,
		.key_len = key_len,
		.hash_func = hash_key,
		.socket_id = socket,
		.extra_flag = RTE_HASH_EXTRA_FLAGS_EXT_TABLE,
	};
	return rte_hash_create(&params);
}

struct flow_table *flow_table_new(uint32_t flows, uint32_t stubs, const struct flow_timeouts *times,
	unsigned lcore, int socket)
{
	struct flow_table *table = rte_zmalloc_socket("flow_table", sizeof(*table), 64, socket);

	if (!table)
		return NULL;
	table->times = *times;
	table->next_gen = 1;
	for (unsigned i = 0; i < FLOW_CLASS_MAX; i++)
		table->lru[i] = (struct lru){NONE, NONE, 0};
	table->flows = rte_zmalloc_socket("flows", sizeof(struct flow) * flows, 64, socket);
	table->cold =
		rte_zmalloc_socket("flows_cold", sizeof(struct flow_cold) * flows, 64, socket);
	table->stubs = rte_zmalloc_socket("stubs", sizeof(struct flow_stub) * stubs, 64, socket);
	// Either family may fill both pools; IPv6 gets half the key slots (48-byte keys).
	table->hash[0] = hash_new("flow4", flows + stubs, sizeof(struct flow_key4), lcore, socket);
	table->hash[1] =
		hash_new("flow6", (flows + stubs) / 2, sizeof(struct flow_key6), lcore, socket);
	if (!table->flows || !table->cold || !table->stubs || !table->hash[0] || !table->hash[1] ||
		pool_init(&table->flow_pool, flows, socket) ||
		pool_init(&table->stub_pool, stubs, socket)) {
		flow_table_free(table);
		return NULL;
	}
	return table;
}

void flow_table_free(struct flow_table *table)
{
	if (!table)
		return;
	rte_hash_free(table->hash[0]);
	rte_hash_free(table->hash[1]);
	rte_free(table->flows);
	rte_free(table->cold);
	rte_free(table->stubs);
	rte_free(table->flow_pool.free);
	rte_free(table->stub_pool.free);
	rte_free(table);
}

// References are stored + 1: a NULL value is never a reference.
static uint32_t ref_of_value(void *value)
{
	return (uint32_t)((uintptr_t)value - 1);
}

static void *value_of_ref(uint32_t ref)
{
	return (void *)((uintptr_t)ref + 1);
}

static void lookup_family(
	struct flow_table *table, struct flow_lookup **wanted, unsigned n, bool v6)
{
	const void *keys[RTE_HASH_LOOKUP_BULK_MAX];
	hash_sig_t sigs[RTE_HASH_LOOKUP_BULK_MAX];
	void *values[RTE_HASH_LOOKUP_BULK_MAX];
	uint64_t hits = 0;

	for (unsigned i = 0; i < n; i++) {
		keys[i] = wanted[i]->key;
		sigs[i] = wanted[i]->hash;
	}
	rte_hash_lookup_with_hash_bulk_data(table->hash[v6], keys, sigs, n, &hits, values);
	for (unsigned i = 0; i < n; i++)
		wanted[i]->ref = hits & (1ull << i) ? ref_of_value(values[i]) : FLOW_REF_NONE;
}

void flow_lookup_bulk(struct flow_table *table, struct flow_lookup *lookups, unsigned n)
{
	struct flow_lookup *wanted[2][RTE_HASH_LOOKUP_BULK_MAX];
	unsigned count[2] = {0, 0};

	for (unsigned i = 0; i < n; i++) {
		unsigned v6 = lookups[i].v6;

		wanted[v6][count[v6]++] = &lookups[i];
	}
	for (unsigned v6 = 0; v6 < 2; v6++)
		if (count[v6])
			lookup_family(table, wanted[v6], count[v6], v6);
}

uint32_t flow_lookup(struct flow_table *table, const union flow_key *key, uint32_t hash, bool v6)
{
	void *value;

	if (rte_hash_lookup_with_hash_data(table->hash[v6], key, hash, &value) < 0)
		return FLOW_REF_NONE;
	return ref_of_value(value);
}

uint32_t flow_table_version(const struct flow_table *table)
{
	return table->version;
}

struct flow *flow_at(const struct flow_table *table, uint32_t ref)
{
	return &table->flows[ref];
}

struct flow_cold *flow_cold_at(const struct flow_table *table, uint32_t ref)
{
	return &table->cold[ref];
}

struct flow_stub *flow_stub_at(const struct flow_table *table, uint32_t ref)
{
	return &table->stubs[ref & ~FLOW_REF_STUB];
}

const union flow_key *flow_key_of(const struct flow_table *table, int32_t key_pos, bool v6)
{
	void *key = NULL;

	if (rte_hash_get_key_with_position(table->hash[v6], key_pos, &key) < 0)
		return NULL;
	return key;
}

// The list of a class threads through the pool that the class lives in.
static uint32_t *lru_next(struct flow_table *table, enum flow_class class, uint32_t index)
{
	return class_is_stub(class) ? &table->stubs[index].lru_next : &table->flows[index].lru_next;
}

static uint32_t *lru_prev(struct flow_table *table, enum flow_class class, uint32_t index)
{
	return class_is_stub(class) ? &table->stubs[index].lru_prev : &table->flows[index].lru_prev;
}

static void lru_unlink(struct flow_table *table, enum flow_class class, uint32_t index)
{
	struct lru *lru = &table->lru[class];
	uint32_t prev = *lru_prev(table, class, index), next = *lru_next(table, class, index);

	if (prev == NONE)
		lru->oldest = next;
	else
		*lru_next(table, class, prev) = next;
	if (next == NONE)
		lru->youngest = prev;
	else
		*lru_prev(table, class, next) = prev;
	lru->n--;
}

static void lru_append(struct flow_table *table, enum flow_class class, uint32_t index)
{
	struct lru *lru = &table->lru[class];

	*lru_prev(table, class, index) = lru->youngest;
	*lru_next(table, class, index) = NONE;
	if (lru->youngest == NONE)
		lru->oldest = index;
	else
		*lru_next(table, class, lru->youngest) = index;
	lru->youngest = index;
	lru->n++;
}

void flow_touch(struct flow_table *table, uint32_t ref, enum flow_class class, uint64_t now_ns)
{
	uint32_t index = ref & ~FLOW_REF_STUB;
	uint8_t *current;

	if (ref & FLOW_REF_STUB) {
		table->stubs[index].last_tick = (uint32_t)(now_ns >> STUB_TICK_SHIFT);
		current = &table->stubs[index].lru_class;
	} else {
		table->flows[index].last_ns = now_ns;
		current = &table->flows[index].lru_class;
	}
	if (*current == class && table->lru[class].youngest == index)
		return;
	lru_unlink(table, *current, index);
	*current = (uint8_t) class;
	lru_append(table, class, index);
}

// Past 90 % until below 80 %: an attack is met by shorter time-outs before it is met by eviction.
static void pool_watch(struct lcore *lcore, struct pool *pool)
{
	uint64_t used = pool->size - pool->n_free;

	if (!pool->emergency && used * 10 > (uint64_t)pool->size * 9) {
		pool->emergency = true;
		lcore->stats.emergency_entered++;
	} else if (pool->emergency && used * 10 < (uint64_t)pool->size * 8) {
		pool->emergency = false;
	}
}

// Which entries go first when a pool is full: those that cost their owner least.
static const uint8_t evict_order_stub[] = {
	FLOW_CLASS_EMBRYONIC, FLOW_CLASS_STATELESS, FLOW_CLASS_CONDEMNED};
static const uint8_t evict_order_flow[] = {
	FLOW_CLASS_TCP_CLOSING, FLOW_CLASS_UDP_ONE_WAY, FLOW_CLASS_UDP, FLOW_CLASS_TCP};

static uint32_t pool_take(struct lcore *lcore, bool stub)
{
	struct flow_table *table = lcore->flows;
	struct pool *pool = stub ? &table->stub_pool : &table->flow_pool;
	const uint8_t *order = stub ? evict_order_stub : evict_order_flow;
	unsigned n_order = stub ? sizeof(evict_order_stub) : sizeof(evict_order_flow);

	for (unsigned i = 0; !pool->n_free && i < n_order; i++) {
		uint32_t oldest = table->lru[order[i]].oldest;

		if (oldest == NONE)
			continue;
		lcore->stats.flows_evicted++;
		flow_end_entry(lcore, stub ? oldest | FLOW_REF_STUB : oldest, FLOW_END_FORCED);
	}
	if (!pool->n_free)
		return NONE;
	uint32_t index = pool->free[--pool->n_free];

	pool_watch(lcore, pool);
	return index;
}

static void pool_put(struct lcore *lcore, struct pool *pool, uint32_t index)
{
	pool->free[pool->n_free++] = index;
	pool_watch(lcore, pool);
}

// Binds `key` to `ref`, whether or not it is in the table; its position, or negative.
static int32_t key_bind(
	struct flow_table *table, const union flow_key *key, uint32_t hash, bool v6, uint32_t ref)
{
	if (rte_hash_add_key_with_hash_data(table->hash[v6], key, hash, value_of_ref(ref)) < 0)
		return -1;
	table->version++;
	return rte_hash_lookup_with_hash(table->hash[v6], key, hash);
}

static uint32_t stub_take(struct lcore *lcore, enum flow_class class, uint16_t v6)
{
	struct flow_table *table = lcore->flows;
	uint32_t index = pool_take(lcore, true);

	if (index == NONE)
		return NONE;
	struct flow_stub *stub = &table->stubs[index];

	*stub = (struct flow_stub){
		.start_ns = lcore->now_ns,
		.last_tick = (uint32_t)(lcore->now_ns >> STUB_TICK_SHIFT),
		.gen = table->next_gen++,
		.lru_class = (uint8_t) class,
		.flags = v6,
		.window_scale = {14, 14},
	};
	lru_append(table, class, index);
	return index;
}

static void stub_give(struct lcore *lcore, uint32_t index)
{
	struct flow_table *table = lcore->flows;

	lru_unlink(table, table->stubs[index].lru_class, index);
	table->stubs[index].gen = 0;
	pool_put(lcore, &table->stub_pool, index);
}

static void flow_give(struct lcore *lcore, uint32_t index)
{
	struct flow_table *table = lcore->flows;
	struct flow *flow = &table->flows[index];

	classify_end(lcore->classifier, &flow->classify_state);
	classify_end(lcore->classifier, &flow->decoder_state);
	lru_unlink(table, flow->lru_class, index);
	flow->gen = 0;
	pool_put(lcore, &table->flow_pool, index);
}

uint32_t flow_stub_add(struct lcore *lcore, const union flow_key *key, uint32_t hash, bool v6,
	enum flow_class class)
{
	uint32_t index = stub_take(lcore, class, v6 ? FLOW_V6 : 0);

	if (index == NONE)
		return FLOW_REF_NONE;
	int32_t pos = key_bind(lcore->flows, key, hash, v6, index | FLOW_REF_STUB);

	if (pos < 0) {
		stub_give(lcore, index);
		return FLOW_REF_NONE;
	}
	lcore->flows->stubs[index].key_pos = pos;
	lcore->stats.flows_embryonic++;
	return index | FLOW_REF_STUB;
}

uint32_t flow_add(struct lcore *lcore, const union flow_key *key, uint32_t hash, bool v6,
	uint32_t stub_ref, enum flow_class class)
{
	struct flow_table *table = lcore->flows;
	uint32_t index = pool_take(lcore, false);

	if (index == NONE)
		return FLOW_REF_NONE;
	int32_t pos = key_bind(table, key, hash, v6, index);

	if (pos < 0) { // only for a new key: a known one keeps its slot
		table->flow_pool.free[table->flow_pool.n_free++] = index;
		return FLOW_REF_NONE;
	}
	struct flow *flow = &table->flows[index];

	*flow = (struct flow){
		.start_ns = lcore->now_ns,
		.last_ns = lcore->now_ns,
		.gen = table->next_gen++,
		.key_pos = pos,
		.lru_class = (uint8_t) class,
		.flags = v6 ? FLOW_V6 : 0,
		.signature = UINT16_MAX,
	};
	memset(&table->cold[index], 0, sizeof(table->cold[index]));
	lru_append(table, class, index);
	if (stub_ref != FLOW_REF_NONE) {
		flow->start_ns = flow_stub_at(table, stub_ref)->start_ns;
		stub_give(lcore, stub_ref & ~FLOW_REF_STUB);
	}
	lcore->stats.flows_created++;
	return index;
}

uint32_t flow_condemn(struct lcore *lcore, uint32_t ref)
{
	struct flow_table *table = lcore->flows;
	const struct flow *flow = &table->flows[ref];
	bool v6 = flow->flags & FLOW_V6;
	uint32_t index = stub_take(lcore, FLOW_CLASS_CONDEMNED, flow->flags);

	if (index == NONE) {
		flow_remove(lcore, ref);
		return FLOW_REF_NONE;
	}
	struct flow_stub *stub = &table->stubs[index];

	stub->start_ns = flow->start_ns;
	stub->key_pos = flow->key_pos;
	stub->policy_gen = flow->policy_gen;
	stub->rule_uid = flow->rule_uid;
	stub->app = flow->app;
	stub->l4_proto = flow->l4_proto;
	stub->in_port = flow->in_port;
	stub->action = flow->action;
	for (unsigned half = 0; half < 2; half++)
		stub->tcp_flags[half] = flow->tcp_flags[half];
	const union flow_key *key = flow_key_of(table, flow->key_pos, v6);

	key_bind(table, key, parse_hash(key, v6), v6, index | FLOW_REF_STUB);
	flow_give(lcore, ref);
	return index | FLOW_REF_STUB;
}

void flow_remove(struct lcore *lcore, uint32_t ref)
{
	struct flow_table *table = lcore->flows;
	bool is_stub = ref & FLOW_REF_STUB;
	uint32_t index = ref & ~FLOW_REF_STUB;
	int32_t pos = is_stub ? table->stubs[index].key_pos : table->flows[index].key_pos;
	bool v6 = (is_stub ? table->stubs[index].flags : table->flows[index].flags) & FLOW_V6;
	const union flow_key *key = flow_key_of(table, pos, v6);

	if (key) {
		rte_hash_del_key_with_hash(table->hash[v6], key, parse_hash(key, v6));
		table->version++;
	}
	if (is_stub)
		stub_give(lcore, index);
	else
		flow_give(lcore, index);
}

void flow_end_entry(struct lcore *lcore, uint32_t ref, enum flow_end reason)
{
	lcore->stats.flows_ended++;
	flow_event_end(lcore, ref, reason);
	flow_remove(lcore, ref);
}

static bool timed_out(
	const struct flow_table *table, enum flow_class class, uint32_t index, uint64_t now_ns)
{
	if (class_is_stub(class)) {
		uint64_t limit = table->stub_pool.emergency ? table->times.emergency_ns[class]
							    : table->times.normal_ns[class];
		uint32_t ticks =
			(uint32_t)(now_ns >> STUB_TICK_SHIFT) - table->stubs[index].last_tick;

		return (uint64_t)ticks << STUB_TICK_SHIFT >= limit;
	}
	uint64_t limit = table->flow_pool.emergency ? table->times.emergency_ns[class]
						    : table->times.normal_ns[class];

	return now_ns >= table->flows[index].last_ns + limit;
}

void flow_age(struct lcore *lcore, unsigned budget)
{
	struct flow_table *table = lcore->flows;

	for (unsigned class = 0; class < FLOW_CLASS_MAX; class ++) {
		uint32_t oldest;

		while (budget && (oldest = table->lru[class].oldest) != NONE &&
			timed_out(table, class, oldest, lcore->now_ns)) {
			budget--;
			flow_end_entry(lcore,
				class_is_stub(class) ? oldest | FLOW_REF_STUB : oldest,
				class == FLOW_CLASS_TCP_CLOSING ? FLOW_END_CLOSED
								: FLOW_END_TIMEOUT);
		}
	}
}

unsigned flow_end_some(struct lcore *lcore, enum flow_end reason, unsigned budget)
{
	struct flow_table *table = lcore->flows;
	unsigned n = 0;

	for (unsigned class = 0; class < FLOW_CLASS_MAX; class ++)
		for (; n < budget && table->lru[class].oldest != NONE; n++)
			flow_end_entry(lcore,
				class_is_stub(class) ? table->lru[class].oldest | FLOW_REF_STUB
						     : table->lru[class].oldest,
				reason);
	return n;
}

void flow_end_all(struct lcore *lcore, enum flow_end reason)
{
	flow_end_some(lcore, reason, UINT_MAX);
}

struct flow_usage flow_table_usage(const struct flow_table *table)
{
	return (struct flow_usage){
		.flows = table->flow_pool.size - table->flow_pool.n_free,
		.flows_max = table->flow_pool.size,
		.stubs = table->stub_pool.size - table->stub_pool.n_free,
		.stubs_max = table->stub_pool.size,
		.emergency = table->flow_pool.emergency || table->stub_pool.emergency,
	};
}
