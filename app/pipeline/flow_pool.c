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

// An entry moves once in a while of its list, not with each packet: that would write to the lines
// of three other entries. A list is sorted by whiles, so ageing is as much late at the most.
#define FLOW_WHILE_SHIFT 30 // 1.07 s, the window of flow_rate.h; time-outs are seconds

void flow_touch(struct flow_table *table, uint32_t ref, enum flow_class class, uint64_t now_ns)
{
	uint32_t index = ref & ~FLOW_REF_STUB;
	uint8_t *current;
	bool moved;

	if (ref & FLOW_REF_STUB) {
		struct flow_stub *stub = &table->stubs[index];
		uint32_t tick = (uint32_t)(now_ns >> STUB_TICK_SHIFT);

		moved = stub->last_tick != tick;
		stub->last_tick = tick;
		current = &stub->lru_class;
	} else {
		struct flow *flow = &table->flows[index];

		moved = (flow->last_ns ^ now_ns) >> FLOW_WHILE_SHIFT;
		flow->last_ns = now_ns;
		current = &flow->lru_class;
	}
	if (*current == class && (!moved || table->lru[class].youngest == index))
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
