// SPDX-License-Identifier: BSD-3-Clause
// The pools of flows and stubs, and the time-out lists that their entries are in.
#include <rte_malloc.h>
#include "pipeline/flow/pool.h"

int pool_init(struct pool *pool, uint32_t size, int socket)
{
	pool->free = rte_malloc_socket("flow_free", sizeof(uint32_t) * size, 64, socket);
	if (!pool->free)
		return -1;
	pool->size = pool->n_free = size;
	for (uint32_t i = 0; i < size; i++)
		pool->free[i] = size - 1 - i;
	return 0;
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

static struct pool *pool_of(struct flow_table *table, enum flow_class class)
{
	return class_is_stub(class) ? &table->stub_pool : &table->flow_pool;
}

static bool is_counted(enum flow_class class)
{
	return flow_class_rank[class] <= FLOW_RANK_UNHEARD && class != FLOW_CLASS_TCP_CLOSING;
}

// The key of an entry in a list is in the table.
static struct flow_source source_at(
	const struct flow_table *table, enum flow_class class, uint32_t index)
{
	bool stub = class_is_stub(class);
	uint16_t flags = stub ? table->stubs[index].flags : table->flows[index].flags;
	int32_t pos = stub ? table->stubs[index].key_pos : table->flows[index].key_pos;

	return flow_source_of(flow_key_of(table, pos, flags & FLOW_V6), flags);
}

static void lru_unlink(struct flow_table *table, enum flow_class class, uint32_t index)
{
	struct lru *lru = &table->lru[class];
	uint32_t prev = *lru_prev(table, class, index), next = *lru_next(table, class, index);

	if (prev == POOL_NONE)
		lru->oldest = next;
	else
		*lru_next(table, class, prev) = next;
	if (next == POOL_NONE)
		lru->youngest = prev;
	else
		*lru_prev(table, class, next) = prev;
	lru->n--;
}

static void lru_append(struct flow_table *table, enum flow_class class, uint32_t index)
{
	struct lru *lru = &table->lru[class];

	*lru_prev(table, class, index) = lru->youngest;
	*lru_next(table, class, index) = POOL_NONE;
	if (lru->youngest == POOL_NONE)
		lru->oldest = index;
	else
		*lru_next(table, class, lru->youngest) = index;
	lru->youngest = index;
	lru->n++;
}

void pool_join(struct flow_table *table, enum flow_class class, uint32_t index)
{
	struct pool *pool = pool_of(table, class);

	if (is_counted(class)) {
		struct flow_source source = source_at(table, class, index);

		flow_share_add(&pool->shares, flow_share_of(&pool->shares, &source));
	}
	pool->n_heard += flow_class_rank[class] > FLOW_RANK_UNHEARD;
	lru_append(table, class, index);
}

void pool_leave(struct flow_table *table, enum flow_class class, uint32_t index)
{
	struct pool *pool = pool_of(table, class);

	if (is_counted(class)) {
		struct flow_source source = source_at(table, class, index);

		flow_share_sub(&pool->shares, flow_share_of(&pool->shares, &source));
	}
	pool->n_heard -= flow_class_rank[class] > FLOW_RANK_UNHEARD;
	lru_unlink(table, class, index);
}

void flow_move(struct flow_table *table, uint32_t ref, enum flow_class class)
{
	uint32_t index = ref & ~FLOW_REF_STUB;
	uint8_t *current = ref & FLOW_REF_STUB ? &table->stubs[index].lru_class
					       : &table->flows[index].lru_class;

	if (*current == class && table->lru[class].youngest == index)
		return;
	if (*current == class) {
		lru_unlink(table, class, index);
		lru_append(table, class, index);
		return;
	}
	pool_leave(table, *current, index);
	*current = (uint8_t) class;
	if (class == FLOW_CLASS_BLOCKED) // FLOW_LATE has its place
		table->stubs[index].flags &= (uint16_t)~FLOW_FROM_RESPONDER;
	pool_join(table, class, index);
}

void flow_stub_touch(struct flow_table *table, uint32_t ref, enum flow_class class, uint64_t now_ns)
{
	struct flow_stub *stub = flow_stub_at(table, ref);
	uint32_t tick = (uint32_t)(now_ns >> STUB_TICK_SHIFT);
	bool moves = stub->last_tick != tick || stub->lru_class != class;

	stub->last_tick = tick;
	if (moves)
		flow_move(table, ref, class);
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

static uint64_t last_ns(const struct flow_table *table, enum flow_class class, uint32_t index)
{
	return class_is_stub(class) ? (uint64_t)table->stubs[index].last_tick << STUB_TICK_SHIFT
				    : table->flows[index].last_ns;
}

// The oldest entry of a rank in the pool of stubs or of flows; its class, or FLOW_CLASS_MAX.
static enum flow_class oldest_of_rank(const struct flow_table *table, bool stub, unsigned rank)
{
	enum flow_class found = FLOW_CLASS_MAX;
	uint64_t oldest_ns = UINT64_MAX;

	for (unsigned class = 0; class < FLOW_CLASS_MAX; class ++) {
		uint32_t oldest = table->lru[class].oldest;

		if (class_is_stub(class) != stub || flow_class_rank[class] != rank ||
			oldest == POOL_NONE || last_ns(table, class, oldest) >= oldest_ns)
			continue;
		oldest_ns = last_ns(table, class, oldest);
		found = class;
	}
	return found;
}

uint32_t pool_oldest(const struct flow_table *table, bool stub, unsigned low, unsigned high)
{
	for (unsigned rank = low; rank <= high; rank++) {
		enum flow_class class = oldest_of_rank(table, stub, rank);

		if (class != FLOW_CLASS_MAX)
			return table->lru[class].oldest | (stub ? FLOW_REF_STUB : 0);
	}
	return FLOW_REF_NONE;
}

enum flow_class pool_class(
	struct lcore *lcore, enum flow_class class, const union flow_key *key, uint16_t flags)
{
	const struct pool *pool = pool_of(lcore->flows, class);
	struct flow_source source = flow_source_of(key, flags);

	if (likely(!pool->emergency) || !is_counted(class) ||
		!flow_share_full(&pool->shares, flow_share_of(&pool->shares, &source)))
		return class;
	lcore->stats.flows_over_share++;
	return class_is_stub(class) ? FLOW_CLASS_STUB_CROWD : FLOW_CLASS_FLOW_CROWD;
}

// Entries that are heard leave this part of a pool to newcomers, none of which is heard at first.
#define HEARD_MOST(size) ((size) - (size) / 8)

bool pool_is_heard_out(const struct flow_table *table, enum flow_class class)
{
	const struct pool *pool = class_is_stub(class) ? &table->stub_pool : &table->flow_pool;

	return pool->n_heard > HEARD_MOST(pool->size);
}

uint32_t pool_take(struct lcore *lcore, enum flow_class class)
{
	struct pool *pool = pool_of(lcore->flows, class);

	if (!pool->n_free)
		return POOL_NONE;
	uint32_t index = pool->free[--pool->n_free];

	pool_watch(lcore, pool);
	return index;
}

void pool_put(struct lcore *lcore, struct pool *pool, uint32_t index)
{
	pool->free[pool->n_free++] = index;
	pool_watch(lcore, pool);
}
