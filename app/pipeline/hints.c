// SPDX-License-Identifier: BSD-3-Clause
#include <stdio.h>
#include <string.h>
#include <rte_hash.h>
#include <rte_jhash.h>
#include <rte_malloc.h>
#include "hints.h"
#include "inspect_learned.h"
#include "lcore.h"

static void send_hint(struct lcore *lcore, const struct hint *hint, unsigned spare)
{
	struct hint message = *hint;

	message.from = (uint8_t)lcore->index;
	for (unsigned i = 0; i < lcore->dp->n_lcores; i++) {
		if (i == lcore->index)
			continue;
		struct rte_ring *ring = lcore->dp->lcores[i]->hints_in[lcore->index];

		if (rte_ring_free_count(ring) > spare &&
			rte_ring_sp_enqueue_elem(ring, &message, sizeof(message)) == 0)
			lcore->stats.hints_sent++;
		else
			lcore->stats.hints_lost++;
	}
}

void hints_broadcast(struct lcore *lcore, const struct hint *hint)
{
	send_hint(lcore, hint, 0);
}

void hints_broadcast_spare(struct lcore *lcore, const struct hint *hint)
{
	send_hint(lcore, hint, HINT_RING_SIZE / 2);
}

void hints_receive(struct lcore *lcore)
{
	struct hint hint;

	for (unsigned i = 0; i < lcore->dp->n_lcores; i++) {
		struct rte_ring *ring = lcore->hints_in[i];

		for (unsigned n = 0; ring && n < HINT_RING_SIZE; n++) {
			if (rte_ring_sc_dequeue_elem(ring, &hint, sizeof(hint)))
				break;
			lcore->stats.hints_received++;
			switch (hint.type) {
			case HINT_CONN_BLOCK: conn_cache_learn(lcore, &hint.conn, false); break;
			case HINT_EXPECT: expect_add(lcore, &hint.expect, false); break;
			case HINT_ENDPOINT: learned_hint(lcore, &hint.endpoint, false); break;
			case HINT_NAME: learned_hint(lcore, &hint.endpoint, true); break;
			}
		}
	}
}

// Expectations are few and short-lived: a fixed table, replaced in a circle when it is full.
struct expect_key { // 32 bytes
	uint8_t address[16];
	uint16_t port;
	uint8_t l4_proto;
	uint8_t pad[13];
};
static_assert(sizeof(struct expect_key) == 32, "two 16-byte words");

struct expect_slot {
	struct expect_key key;
	uint64_t expires_ns; // 0: free
	uint16_t app;
};

struct expect_table {
	struct rte_hash *hash;
	struct expect_slot *slots;
	uint32_t size;
	uint32_t next;
	uint32_t n;
};

struct expect_table *expect_table_new(unsigned capacity, unsigned lcore, int socket)
{
	struct expect_table *table = rte_zmalloc_socket("expect", sizeof(*table), 64, socket);
	char name[RTE_HASH_NAMESIZE];

	if (!table)
		return NULL;
	snprintf(name, sizeof(name), "sl_expect_%u", lcore);
	struct rte_hash_parameters params = {
		.name = name,
		.entries = capacity < 64 ? 64 : capacity,
		.key_len = sizeof(struct expect_key),
		.hash_func = rte_jhash,
		.socket_id = socket,
		.extra_flag = RTE_HASH_EXTRA_FLAGS_EXT_TABLE,
	};
	table->hash = rte_hash_create(&params);
	table->slots = rte_zmalloc_socket(
		"expect_slots", sizeof(struct expect_slot) * capacity, 64, socket);
	table->size = capacity;
	if (!table->hash || !table->slots) {
		expect_table_free(table);
		return NULL;
	}
	return table;
}

void expect_table_free(struct expect_table *table)
{
	if (!table)
		return;
	rte_hash_free(table->hash);
	rte_free(table->slots);
	rte_free(table);
}

static void expect_remove(struct expect_table *table, struct expect_slot *slot)
{
	rte_hash_del_key(table->hash, &slot->key);
	slot->expires_ns = 0;
	table->n--;
}

static struct expect_key expect_key_of(const uint8_t address[16], uint16_t port, uint8_t l4_proto)
{
	struct expect_key key = {.port = port, .l4_proto = l4_proto};

	memcpy(key.address, address, 16);
	return key;
}

void expect_add(struct lcore *lcore, const struct expectation *expectation, bool broadcast)
{
	struct expect_table *table = lcore->expect;
	struct expect_key key =
		expect_key_of(expectation->address, expectation->port, expectation->l4_proto);
	void *value;
	uint32_t i;

	if (rte_hash_lookup_data(table->hash, &key, &value) >= 0) {
		i = (uint32_t)(uintptr_t)value;
	} else {
		i = table->next;
		table->next = (table->next + 1) % table->size;
		if (table->slots[i].expires_ns)
			expect_remove(table, &table->slots[i]);
		if (rte_hash_add_key_data(table->hash, &key, (void *)(uintptr_t)i) < 0)
			return;
		table->n++;
	}
	table->slots[i] = (struct expect_slot){
		.key = key,
		.expires_ns = lcore->now_ns + expectation->ttl_s * NS_PER_S + 1,
		.app = expectation->app,
	};
	if (broadcast) {
		struct hint hint = {.type = HINT_EXPECT, .expect = *expectation};

		hints_broadcast(lcore, &hint);
	}
}

uint16_t expect_take(
	struct lcore *lcore, const uint8_t responder[16], uint16_t port, uint8_t l4_proto)
{
	struct expect_table *table = lcore->expect;
	void *value;

	if (!table->n)
		return APP_NONE;
	struct expect_key key = expect_key_of(responder, port, l4_proto);

	if (rte_hash_lookup_data(table->hash, &key, &value) < 0)
		return APP_NONE;
	struct expect_slot *slot = &table->slots[(uintptr_t)value];
	uint16_t app = lcore->now_ns < slot->expires_ns ? slot->app : APP_NONE;

	expect_remove(table, slot);
	return app;
}
