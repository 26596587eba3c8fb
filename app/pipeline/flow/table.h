// SPDX-License-Identifier: BSD-3-Clause
// The flow table's operations; see flow.h for its structures. The owning lcore only.
#ifndef SLUICE_FLOW_TABLE_H
#define SLUICE_FLOW_TABLE_H

#include "pipeline/vocab/chains.h"
#include "pipeline/flow/flow.h"
#include "pipeline/flow/share.h"
#include "pipeline/flow/states.h"

// What a lookup gives: an index into the flow pool, or into the stub pool with FLOW_REF_STUB.
#define FLOW_REF_NONE UINT32_MAX
#define FLOW_REF_STUB (1u << 31)

struct lru {
	uint32_t oldest;
	uint32_t youngest;
	uint32_t n;
};

struct pool {
	uint32_t *free; // stack of free indices
	uint32_t n_free;
	uint32_t size;
	uint32_t n_heard; // entries of FLOW_RANK_UNDECIDED and above
	bool emergency;
	struct flow_shares shares;
};

// A key and what it refers to. Its position in the table stays for its life (key_pos).
struct flow_key_slot4 {
	struct flow_key4 key;
	uint32_t next; // of its chain, or of those that are free; CHAIN_END
	uint32_t ref;
};
struct flow_key_slot6 {
	struct flow_key6 key;
	uint32_t next;
	uint32_t ref;
	uint8_t pad[8];
};
static_assert(sizeof(struct flow_key_slot6) == 64, "one cache line");

struct flow_keys { // of one family
	struct chains chains;
	union {
		void *slots;
		struct flow_key_slot4 *slots4;
		struct flow_key_slot6 *slots6;
	};
	uint32_t size;
	uint32_t fresh;      // the first that never was used: its memory is untouched
	uint32_t first_free; // of those that were, chained; CHAIN_END
};

// What the layers above do when an entry ends. Set before there are entries.
struct flow_hooks {
	// An entry has timed out or is evicted: its record is written. It is there still.
	void (*ends)(struct lcore *lcore, uint32_t ref, enum flow_end reason);
	// A flow's slot is given back: what other modules keep for it is given back, too.
	void (*release)(struct lcore *lcore, uint32_t ref);
};

// Known to the functions below alone.
struct flow_table {
	struct hash_seed seed;
	struct flow *flows;
	struct flow_cold *cold;
	struct flow_stub *stubs;
	struct flow_keys keys[2]; // [0] IPv4, [1] IPv6
	uint32_t version;
	uint32_t next_gen;
	struct pool flow_pool;
	struct pool stub_pool;
	struct lru lru[FLOW_CLASS_MAX];
	struct flow_timeouts times;
	struct elephant_limits elephant;
	const struct flow_hooks *hooks;
};

// `flows`, `stubs`: pool sizes; at most 2^30 each. A source's share of each is source_pct %.
struct flow_table_limits {
	struct hash_seed seed;
	uint32_t flows, stubs;
	uint32_t source_pct;
	struct flow_timeouts times;
	struct elephant_limits elephant;
	const struct flow_hooks *hooks;
};
struct flow_table *flow_table_new(const struct flow_table_limits *limits, int socket);
void flow_table_free(struct flow_table *table);

#define FLOW_LOOKUP_MAX 64 // keys at once
// `ref` is FLOW_REF_NONE for a miss.
struct flow_lookup {
	const union flow_key *key;
	bool v6;
	uint32_t hash; // out
	uint32_t ref;  // out
};
// Returns how many there are.
unsigned flow_lookup_bulk(struct flow_table *table, struct flow_lookup *lookups, unsigned n);
uint32_t flow_lookup(
	const struct flow_table *table, const union flow_key *key, uint32_t hash, bool v6);
uint32_t flow_find(const struct flow_table *table, const union flow_key *key, bool v6);
// Changes with every add, removal or conversion: a bulk lookup older than it is looked up again.
static inline uint32_t flow_table_version(const struct flow_table *table)
{
	return table->version;
}

static inline struct flow *flow_at(const struct flow_table *table, uint32_t ref)
{
	return &table->flows[ref];
}

static inline struct flow_cold *flow_cold_at(const struct flow_table *table, uint32_t ref)
{
	return &table->cold[ref];
}

static inline const union flow_key *flow_key_of(
	const struct flow_table *table, int32_t key_pos, bool v6)
{
	const struct flow_keys *keys = &table->keys[v6];

	return v6 ? (const void *)&keys->slots6[key_pos] : (const void *)&keys->slots4[key_pos];
}

// Whose entry it is: the end that sent its first packet.
static inline struct flow_source flow_source_of(const union flow_key *key, uint16_t flags)
{
	bool from_initiator = !(flags & FLOW_FROM_RESPONDER);

	return (struct flow_source){
		.key = key,
		.v6 = flags & FLOW_V6,
		.is_a = !!(flags & FLOW_INITIATOR_IS_A) == from_initiator,
		.inside = !!(flags & FLOW_C2S_INSIDE) == from_initiator,
	};
}

static inline struct flow_stub *flow_stub_at(const struct flow_table *table, uint32_t ref)
{
	return &table->stubs[ref & ~FLOW_REF_STUB];
}

// Makes an entry, zeroed but for gen, key_pos, flags and class; FLOW_REF_NONE when there is no room
// for its key, (counted: chain_full) in its chain, or in a pool full of higher classes. When the
// pool is full the oldest entry of the lowest class is ended first (its end is told by `lcore`).
uint32_t flow_stub_add(struct lcore *lcore, const union flow_key *key, bool v6,
	enum flow_class class, uint16_t flags);
// A stub becomes a flow of that class: the stub is freed, the key stays. The new reference, or
// FLOW_REF_NONE: there is no room, and the stub stays.
uint32_t flow_promote(struct lcore *lcore, const union flow_key *key, bool v6, uint32_t stub_ref,
	enum flow_class class);
// A flow becomes a blocked stub; its classifier state and slot are freed, the key stays.
// The new reference, or FLOW_REF_NONE (then the entry is gone).
uint32_t flow_block(struct lcore *lcore, uint32_t ref);
// The same of a stub, which stays where it is.
void flow_block_stub(struct lcore *lcore, uint32_t ref);
// Removes an entry and its key, silently.
void flow_remove(struct lcore *lcore, uint32_t ref, enum flow_step step);

// The class that an entry belongs to now; of a flow, while it is not settled (below
// FLOW_CLASS_TCP).
enum flow_class flow_class_of_stub(const struct flow_stub *stub);
enum flow_class flow_class_of(const struct flow *flow);
// Puts an entry at the young end of its class's list, perhaps of a new class. An entry moves once
// in a while of its list, not with each packet: that would write to the lines of three other
// entries. A list is sorted by whiles, so ageing is late by as much at the most.
#define FLOW_WHILE_SHIFT 30 // 1.07 s, the window of pipeline/flow/rate.h; time-outs are seconds
void flow_move(struct flow_table *table, uint32_t ref, enum flow_class class);
void flow_stub_touch(
	struct flow_table *table, uint32_t ref, enum flow_class class, uint64_t now_ns);
static inline void flow_touch(
	struct flow_table *table, uint32_t ref, enum flow_class class, uint64_t now_ns)
{
	if (ref & FLOW_REF_STUB) {
		flow_stub_touch(table, ref, class, now_ns);
		return;
	}
	struct flow *flow = flow_at(table, ref);
	bool moves = (flow->last_ns ^ now_ns) >> FLOW_WHILE_SHIFT || flow->lru_class != class;

	flow->last_ns = now_ns;
	if (__builtin_expect(moves, 0))
		flow_move(table, ref, class);
}
// Ends what has timed out, at most `budget` entries. Sets or clears emergency mode.
void flow_age(struct lcore *lcore, unsigned budget);
// Ends everything, by that step.
void flow_end_all(struct lcore *lcore, enum flow_step step);
// The same for at most `budget` entries, so that the event ring can be drained in between; returns
// how many there were to end.
unsigned flow_end_some(struct lcore *lcore, enum flow_step step, unsigned budget);
// Writes the record of an entry's end, removes it.
void flow_end_entry(struct lcore *lcore, uint32_t ref, enum flow_step step);

struct flow_usage {
	uint32_t flows, flows_max, stubs, stubs_max;
	uint32_t longest_chain; // keys, of either family
	bool emergency;
};
struct flow_usage flow_table_usage(const struct flow_table *table);

#endif
