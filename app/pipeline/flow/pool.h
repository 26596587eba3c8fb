// SPDX-License-Identifier: BSD-3-Clause
// Between the files of the flow table: its pools, time-out lists and hash. The owning lcore only.
#ifndef SLUICE_FLOW_POOL_H
#define SLUICE_FLOW_POOL_H

#include "pipeline/flow/table.h"
#include "pipeline/lcore/lcore.h"

#define POOL_NONE UINT32_MAX

// Stubs and flows live in different pools; a time-out class belongs to one of them.
static inline bool class_is_stub(enum flow_class class)
{
	return class <= FLOW_CLASS_BLOCKED;
}

int pool_init(struct pool *pool, uint32_t size, int socket);
// A free index for an entry of that class; POOL_NONE: there is none.
uint32_t pool_take(struct lcore *lcore, enum flow_class class);
// Entries that are heard have more of the class's pool than is theirs: newcomers need the rest.
bool pool_is_heard_out(const struct flow_table *table, enum flow_class class);
// The oldest entry of the lowest rank from `low` to `high` in the pool of stubs or of flows;
// FLOW_REF_NONE: there is none.
uint32_t pool_oldest(const struct flow_table *table, bool stub, unsigned low, unsigned high);
void pool_put(struct lcore *lcore, struct pool *pool, uint32_t index);

// The class that a new entry of a source gets: the pool's crowd, if the pool is nearly full and the
// source has its share.
enum flow_class pool_class(
	struct lcore *lcore, enum flow_class class, const union flow_key *key, uint16_t flags);

// An entry joins the young end of its class's list, or leaves its list. Its key and flags are set:
// entries that are not heard count against their source's share.
void pool_join(struct flow_table *table, enum flow_class class, uint32_t index);
void pool_leave(struct flow_table *table, enum flow_class class, uint32_t index);

// Binds `key` to `ref`, whether or not it is in the table; its position, or negative: it is not,
// and there is no room.
int32_t key_bind(struct lcore *lcore, const union flow_key *key, bool v6, uint32_t ref);
// A key that is in the table.
void key_remove(struct flow_table *table, int32_t key_pos, bool v6);

#endif
