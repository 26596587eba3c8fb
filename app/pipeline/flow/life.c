// SPDX-License-Identifier: BSD-3-Clause
// The life of an entry: made, turned from stub to flow and from flow to blocked stub, aged,
// ended.
#include <limits.h>
#include <string.h>
#include "pipeline/flow/app_usage.h"
#include "pipeline/flow/pool.h"

// Seconds as an operator would choose them: RFC 5382 (TCP), RFC 4787 (UDP) set the lower bounds of
// a NAT; a table that only watches may be a little shorter on what has never carried payload. In an
// emergency only what was not heard goes sooner: established connections may rest as long as ever.
const struct flow_timeouts flow_timeouts_default = {
	.normal_ns =
		{
			[FLOW_CLASS_STUB_CROWD] = 30 * NS_PER_S,
			[FLOW_CLASS_EMBRYONIC] = 30 * NS_PER_S,
			[FLOW_CLASS_OPEN] = 7440 * NS_PER_S,
			[FLOW_CLASS_STATELESS] = 30 * NS_PER_S,
			[FLOW_CLASS_BLOCKED] = 120 * NS_PER_S,
			[FLOW_CLASS_FLOW_CROWD] = 30 * NS_PER_S,
			[FLOW_CLASS_TCP_UNHEARD] = 30 * NS_PER_S,
			[FLOW_CLASS_UDP_ONE_WAY] = 30 * NS_PER_S,
			[FLOW_CLASS_TCP_CLOSING] = 15 * NS_PER_S,
			[FLOW_CLASS_TCP_UNDECIDED] = 7440 * NS_PER_S,
			[FLOW_CLASS_UDP_UNDECIDED] = 300 * NS_PER_S,
			[FLOW_CLASS_TCP] = 7440 * NS_PER_S,
			[FLOW_CLASS_UDP] = 300 * NS_PER_S,
		},
	.emergency_ns =
		{
			[FLOW_CLASS_STUB_CROWD] = 3 * NS_PER_S,
			[FLOW_CLASS_EMBRYONIC] = 3 * NS_PER_S,
			[FLOW_CLASS_OPEN] = 7440 * NS_PER_S,
			[FLOW_CLASS_STATELESS] = 3 * NS_PER_S,
			[FLOW_CLASS_BLOCKED] = 10 * NS_PER_S,
			[FLOW_CLASS_FLOW_CROWD] = 3 * NS_PER_S,
			[FLOW_CLASS_TCP_UNHEARD] = 3 * NS_PER_S,
			[FLOW_CLASS_UDP_ONE_WAY] = 3 * NS_PER_S,
			[FLOW_CLASS_TCP_CLOSING] = 2 * NS_PER_S,
			[FLOW_CLASS_TCP_UNDECIDED] = 7440 * NS_PER_S,
			[FLOW_CLASS_UDP_UNDECIDED] = 300 * NS_PER_S,
			[FLOW_CLASS_TCP] = 7440 * NS_PER_S,
			[FLOW_CLASS_UDP] = 300 * NS_PER_S,
		},
};

// Ends the oldest entry of the lowest rank from `low` to `high`. False: there is none.
static bool evict(struct lcore *lcore, bool stub, unsigned low, unsigned high)
{
	uint32_t ref = pool_oldest(lcore->flows, stub, low, high);

	if (ref == FLOW_REF_NONE)
		return false;
	lcore->stats.flows_evicted++;
	flow_end_entry(lcore, ref, FLOW_STEP_EVICT);
	return true;
}

// When there is no room, the oldest entry of the lowest class is ended first, if that is not above
// the new entry's own; else POOL_NONE.
static uint32_t take(struct lcore *lcore, enum flow_class class)
{
	bool stub = class_is_stub(class);
	unsigned rank = RTE_MAX((unsigned)flow_class_rank[class], FLOW_RANK_UNHEARD + 0u);
	uint32_t index;

	if (unlikely(pool_is_heard_out(lcore->flows, class)))
		evict(lcore, stub, FLOW_RANK_UNDECIDED, FLOW_RANK_DECIDED);
	index = pool_take(lcore, class);
	if (unlikely(index == POOL_NONE) && evict(lcore, stub, FLOW_RANK_CROWD, rank))
		index = pool_take(lcore, class);
	return index;
}

// Of each new entry; 0 is a slot that has none.
static uint32_t next_gen(struct flow_table *table)
{
	if (unlikely(!table->next_gen))
		table->next_gen = 1;
	return table->next_gen++;
}

// Not in a list yet: pool_join, once its key is bound.
static uint32_t stub_take(struct lcore *lcore, enum flow_class class, uint16_t flags)
{
	struct flow_table *table = lcore->flows;
	uint32_t index = take(lcore, class);

	if (index == POOL_NONE)
		return POOL_NONE;
	struct flow_stub *stub = &table->stubs[index];

	*stub = (struct flow_stub){
		.start_ns = lcore->now_ns,
		.last_tick = (uint32_t)(lcore->now_ns >> STUB_TICK_SHIFT),
		.gen = next_gen(table),
		.lru_class = (uint8_t) class,
		.flags = flags,
		.scales = WINDOW_SCALE_MAX | WINDOW_SCALE_MAX << 4,
	};
	return index;
}

static void stub_give(struct lcore *lcore, uint32_t index)
{
	struct flow_table *table = lcore->flows;

	pool_leave(table, table->stubs[index].lru_class, index);
	table->stubs[index].gen = 0;
	pool_put(lcore, &table->stub_pool, index);
}

static void flow_give(struct lcore *lcore, uint32_t index)
{
	struct flow_table *table = lcore->flows;
	struct flow *flow = &table->flows[index];

	table->hooks->release(lcore, index);
	app_usage_end(lcore->apps, flow);
	lcore->stats.elephants_active -= !!(flow->flags & FLOW_ELEPHANT);
	pool_leave(table, flow->lru_class, index);
	flow->gen = 0;
	pool_put(lcore, &table->flow_pool, index);
}

uint32_t flow_stub_add(struct lcore *lcore, const union flow_key *key, bool v6,
	enum flow_class class, uint16_t flags)
{
	flags |= v6 ? FLOW_V6 : 0;
	class = pool_class(lcore, class, key, flags);
	uint32_t index = stub_take(lcore, class, flags);

	if (index == POOL_NONE)
		return FLOW_REF_NONE;
	int32_t pos = key_bind(lcore, key, v6, index | FLOW_REF_STUB);

	if (pos < 0) {
		lcore->flows->stubs[index].gen = 0;
		pool_put(lcore, &lcore->flows->stub_pool, index);
		return FLOW_REF_NONE;
	}
	struct flow_stub *stub = &lcore->flows->stubs[index];

	flow_life_move(FLOW_LIFE_FREE, FLOW_STEP_ADMIT, &stub->flags);
	stub->key_pos = pos;
	pool_join(lcore->flows, class, index);
	lcore->stats.flows_embryonic++;
	return index | FLOW_REF_STUB;
}

uint32_t flow_promote(struct lcore *lcore, const union flow_key *key, bool v6, uint32_t stub_ref,
	enum flow_class class)
{
	struct flow_table *table = lcore->flows;
	struct flow_stub *stub = flow_stub_at(table, stub_ref);
	uint16_t flags = (v6 ? FLOW_V6 : 0) | (stub->flags & FLOW_WHOSE);

	class = pool_class(lcore, class, key, flags);
	uint32_t index = take(lcore, class);

	if (index == POOL_NONE)
		return FLOW_REF_NONE;
	int32_t pos = key_bind(lcore, key, v6, index); // it keeps its slot
	struct flow *flow = &table->flows[index];

	flow_life_step_stub(stub, FLOW_STEP_PROMOTE);
	*flow = (struct flow){
		.start_ns = stub->start_ns,
		.last_ns = lcore->now_ns,
		.gen = next_gen(table),
		.key_pos = pos,
		.lru_class = (uint8_t) class,
		.flags = flags,
		.signature = UINT16_MAX,
	};
	memset(&table->cold[index], 0, sizeof(table->cold[index]));
	table->cold[index].alerted = flags & FLOW_MONITORED; // when it was a stub
	app_usage_begin(lcore->apps, flow);
	stub_give(lcore, stub_ref & ~FLOW_REF_STUB);
	pool_join(table, class, index);
	lcore->stats.flows_created++;
	return index;
}

uint32_t flow_block(struct lcore *lcore, uint32_t ref)
{
	struct flow_table *table = lcore->flows;
	struct flow *flow = &table->flows[ref];
	bool v6 = flow->flags & FLOW_V6;
	uint32_t index = stub_take(lcore, FLOW_CLASS_BLOCKED,
		flow->flags & (uint16_t) ~(FLOW_ELEPHANT | FLOW_DECODED | FLOW_FROM_RESPONDER));

	if (index == POOL_NONE) {
		lcore->stats.flows_ended++;
		flow_remove(lcore, ref, FLOW_STEP_EVICT);
		return FLOW_REF_NONE;
	}
	struct flow_stub *stub = &table->stubs[index];

	flow_life_step(flow, FLOW_STEP_BLOCK);
	stub->start_ns = flow->start_ns;
	stub->key_pos = flow->key_pos;
	stub->policy_epoch = flow->policy_epoch;
	stub->rule_uid = flow->rule_uid;
	stub->app = flow->app;
	stub->confidence = flow->confidence;
	stub->l4_proto = flow->l4_proto;
	stub->in_port = flow->in_port;
	stub->action = flow->action & 0xfu;
	stub->dscp = table->cold[ref].dscp & 0x3fu;
	for (unsigned half = 0; half < 2; half++) {
		stub->tcp_flags[half] = flow->tcp_flags[half];
		stub->pkts[half] = (uint16_t)RTE_MIN(flow->pkts[half], (uint32_t)UINT16_MAX);
		stub->bytes[half] = (uint32_t)RTE_MIN(flow->bytes[half], UINT32_MAX);
	}
	const union flow_key *key = flow_key_of(table, flow->key_pos, v6);

	key_bind(lcore, key, v6, index | FLOW_REF_STUB);
	pool_join(table, FLOW_CLASS_BLOCKED, index);
	flow_give(lcore, ref);
	return index | FLOW_REF_STUB;
}

void flow_block_stub(struct lcore *lcore, uint32_t ref)
{
	flow_life_step_stub(flow_stub_at(lcore->flows, ref), FLOW_STEP_BLOCK);
	flow_touch(lcore->flows, ref, FLOW_CLASS_BLOCKED, lcore->now_ns);
}

void flow_remove(struct lcore *lcore, uint32_t ref, enum flow_step step)
{
	struct flow_table *table = lcore->flows;
	bool is_stub = ref & FLOW_REF_STUB;
	uint32_t index = ref & ~FLOW_REF_STUB;
	int32_t pos = is_stub ? table->stubs[index].key_pos : table->flows[index].key_pos;
	bool v6 = (is_stub ? table->stubs[index].flags : table->flows[index].flags) & FLOW_V6;

	if (is_stub) {
		flow_life_step_stub(&table->stubs[index], step);
		stub_give(lcore, index);
	} else {
		flow_life_step(&table->flows[index], step);
		flow_give(lcore, index);
	}
	key_remove(table, pos, v6); // last: its source's share is counted by it
}

void flow_end_entry(struct lcore *lcore, uint32_t ref, enum flow_step step)
{
	lcore->stats.flows_ended++;
	if (ref & FLOW_REF_STUB)
		app_usage_end_stub(lcore->apps, flow_stub_at(lcore->flows, ref));
	lcore->flows->hooks->ends(lcore, ref, flow_end_of(step));
	flow_remove(lcore, ref, step);
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

// In this order entries end that end together.
static const uint8_t end_order[] = {FLOW_CLASS_STUB_CROWD, FLOW_CLASS_EMBRYONIC, FLOW_CLASS_OPEN,
	FLOW_CLASS_STATELESS, FLOW_CLASS_BLOCKED, FLOW_CLASS_FLOW_CROWD, FLOW_CLASS_TCP_UNHEARD,
	FLOW_CLASS_TCP_UNDECIDED, FLOW_CLASS_TCP, FLOW_CLASS_TCP_CLOSING, FLOW_CLASS_UDP_ONE_WAY,
	FLOW_CLASS_UDP_UNDECIDED, FLOW_CLASS_UDP};
static_assert(sizeof(end_order) == FLOW_CLASS_MAX, "every class ends");

void flow_age(struct lcore *lcore, unsigned budget)
{
	struct flow_table *table = lcore->flows;

	for (unsigned i = 0; i < FLOW_CLASS_MAX; i++) {
		enum flow_class class = end_order[i];
		uint32_t oldest;

		while (budget && (oldest = table->lru[class].oldest) != POOL_NONE &&
			timed_out(table, class, oldest, lcore->now_ns)) {
			budget--;
			flow_end_entry(lcore,
				class_is_stub(class) ? oldest | FLOW_REF_STUB : oldest,
				class == FLOW_CLASS_TCP_CLOSING ? FLOW_STEP_CLOSE
								: FLOW_STEP_TIMEOUT);
		}
	}
}

unsigned flow_end_some(struct lcore *lcore, enum flow_step step, unsigned budget)
{
	struct flow_table *table = lcore->flows;
	unsigned n = 0;

	for (unsigned i = 0; i < FLOW_CLASS_MAX; i++) {
		enum flow_class class = end_order[i];

		for (; n < budget && table->lru[class].oldest != POOL_NONE; n++)
			flow_end_entry(lcore,
				class_is_stub(class) ? table->lru[class].oldest | FLOW_REF_STUB
						     : table->lru[class].oldest,
				step);
	}
	return n;
}

void flow_end_all(struct lcore *lcore, enum flow_step step)
{
	flow_end_some(lcore, step, UINT_MAX);
}
