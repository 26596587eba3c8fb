// SPDX-License-Identifier: BSD-3-Clause
// Between the files of the flow table: its pools, time-out lists and hash. The owning lcore only.
#ifndef SLUICE_FLOW_POOL_H
#define SLUICE_FLOW_POOL_H

#include "flow_table.h"
#include "lcore.h"

#define POOL_NONE UINT32_MAX

// Stubs and flows live in different pools; a time-out class belongs to one of them.
static inline bool class_is_stub(enum flow_class class)
{
	return class <= FLOW_CLASS_CONDEMNED;
}

int pool_init(struct pool *pool, uint32_t size, int socket);
// A free index. When there is none, the entry that costs its owner least is ended first.
uint32_t pool_take(struct lcore *lcore, bool stub);
void pool_put(struct lcore *lcore, struct pool *pool, uint32_t index);

void lru_unlink(struct flow_table *table, enum flow_class class, uint32_t index);
void lru_append(struct flow_table *table, enum flow_class class, uint32_t index);

// Binds `key` to `ref`, whether or not it is in the table; its position, or negative.
int32_t key_bind(
	struct flow_table *table, const union flow_key *key, uint32_t hash, bool v6, uint32_t ref);

#endif
