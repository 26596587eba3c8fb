// SPDX-License-Identifier: BSD-3-Clause
#include <rte_malloc.h>
#include "flow_pool.h"

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

void lru_unlink(struct flow_table *table, enum flow_class class, uint32_t index)
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

void lru_append(struct flow_table *table, enum flow_class class, uint32_t index)
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

void flow_move(struct flow_table *table, uint32_t ref, enum flow_class class)
{
	uint32_t index = ref & ~FLOW_REF_STUB;
	uint8_t *current = ref & FLOW_REF_STUB ? &table->stubs[index].lru_class
					       : &table->flows[index].lru_class;

	if (*current == class && table->lru[class].youngest == index)
		return;
	lru_unlink(table, *current, index);
	*current = (uint8_t) class;
	lru_append(table, class, index);
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

// Which entries go first when a pool is full: those that cost their owner least.
static const uint8_t evict_order_stub[] = {
	FLOW_CLASS_EMBRYONIC, FLOW_CLASS_STATELESS, FLOW_CLASS_CONDEMNED};
static const uint8_t evict_order_flow[] = {
	FLOW_CLASS_TCP_CLOSING, FLOW_CLASS_UDP_ONE_WAY, FLOW_CLASS_UDP, FLOW_CLASS_TCP};

uint32_t pool_take(struct lcore *lcore, bool stub)
{
	struct flow_table *table = lcore->flows;
	struct pool *pool = stub ? &table->stub_pool : &table->flow_pool;
	const uint8_t *order = stub ? evict_order_stub : evict_order_flow;
	unsigned n_order = stub ? sizeof(evict_order_stub) : sizeof(evict_order_flow);

	for (unsigned i = 0; !pool->n_free && i < n_order; i++) {
		uint32_t oldest = table->lru[order[i]].oldest;

		if (oldest == POOL_NONE)
			continue;
		lcore->stats.flows_evicted++;
		flow_end_entry(lcore, stub ? oldest | FLOW_REF_STUB : oldest, FLOW_END_FORCED);
	}
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
