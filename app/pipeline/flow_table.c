// SPDX-License-Identifier: BSD-3-Clause
#include <stdio.h>
#include <rte_malloc.h>
#include <rte_prefetch.h>
#include "flow_pool.h"

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
		table->lru[i] = (struct lru){POOL_NONE, POOL_NONE, 0};
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

static unsigned lookup_family(
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
	for (unsigned i = 0; i < n; i++) {
		if (!(hits & (1ull << i))) {
			wanted[i]->ref = FLOW_REF_NONE;
			continue;
		}
		uint32_t ref = wanted[i]->ref = ref_of_value(values[i]);

		// where the walk goes next
		if (ref & FLOW_REF_STUB) {
			rte_prefetch0(&table->stubs[ref & ~FLOW_REF_STUB]);
		} else {
			rte_prefetch0(&table->flows[ref]);
			rte_prefetch0(&table->flows[ref].start_ns);
		}
	}
	return (unsigned)__builtin_popcountll(hits);
}

unsigned flow_lookup_bulk(struct flow_table *table, struct flow_lookup *lookups, unsigned n)
{
	struct flow_lookup *wanted[2][RTE_HASH_LOOKUP_BULK_MAX];
	unsigned count[2] = {0, 0}, found = 0;

	for (unsigned i = 0; i < n; i++) {
		unsigned v6 = lookups[i].v6;

		wanted[v6][count[v6]++] = &lookups[i];
	}
	for (unsigned v6 = 0; v6 < 2; v6++)
		if (count[v6])
			found += lookup_family(table, wanted[v6], count[v6], v6);
	return found;
}

uint32_t flow_lookup(struct flow_table *table, const union flow_key *key, uint32_t hash, bool v6)
{
	void *value;

	if (rte_hash_lookup_with_hash_data(table->hash[v6], key, hash, &value) < 0)
		return FLOW_REF_NONE;
	return ref_of_value(value);
}

const union flow_key *flow_key_of(const struct flow_table *table, int32_t key_pos, bool v6)
{
	void *key = NULL;

	if (rte_hash_get_key_with_position(table->hash[v6], key_pos, &key) < 0)
		return NULL;
	return key;
}

int32_t key_bind(
	struct flow_table *table, const union flow_key *key, uint32_t hash, bool v6, uint32_t ref)
{
	if (rte_hash_add_key_with_hash_data(table->hash[v6], key, hash, value_of_ref(ref)) < 0)
		return -1;
	table->version++;
	return rte_hash_lookup_with_hash(table->hash[v6], key, hash);
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
