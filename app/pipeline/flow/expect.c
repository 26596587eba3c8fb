// SPDX-License-Identifier: BSD-3-Clause
// The table of expected flows, and what is known of those that arrived.
#include "pipeline/flow/expect.h"
#include "pipeline/flow/flow.h"
#include <string.h>
#include <rte_malloc.h>
#include "pipeline/vocab/chains.h"
#include "pipeline/lcore/lcore.h"
#include "pipeline/lcore/hints.h"

#define NONE    CHAIN_END
#define TELLERS 256 // counters; two tellers that share one share their part

enum slot_use {
	SLOT_FREE,
	SLOT_WAITS, // in a chain and in the list
	SLOT_TAKEN, // a flow's
};

struct expect_slot {
	struct expected expected;
	struct expect_key key;
	uint64_t expires_ns;
	uint32_t prev, next; // list of those that wait; next of those that are free
	uint32_t chain;      // next of those that wait
	uint8_t use;         // enum slot_use
};

struct expect_table {
	struct hash_seed seed;
	struct chains chains;
	struct expect_slot *slots;
	uint32_t size;
	uint32_t waiting, taken;
	uint32_t first_free;
	uint32_t oldest, youngest; // in the order in which they were reported
	uint32_t share;
	uint32_t tellers[TELLERS]; // entries that wait
};

struct expect_table *expect_table_new(unsigned capacity, const struct hash_seed *seed, int socket)
{
	struct expect_table *table = rte_zmalloc_socket("expect", sizeof(*table), 64, socket);
	uint32_t n_heads = rte_align32pow2(2 * RTE_MAX(capacity, 32u));

	if (!table)
		return NULL;
	uint32_t *heads = rte_malloc_socket("expect_heads", sizeof(uint32_t) * n_heads, 64, socket);

	if (heads)
		chains_init(&table->chains, heads, n_heads);
	table->seed = *seed;
	table->slots = rte_zmalloc_socket(
		"expect_slots", sizeof(struct expect_slot) * capacity, 64, socket);
	table->size = capacity;
	table->share = capacity / EXPECT_TELLER_SHARE;
	table->oldest = table->youngest = table->first_free = NONE;
	if (!heads || !table->slots) {
		expect_table_free(table);
		return NULL;
	}
	for (uint32_t i = capacity; i > 0; i--) {
		table->slots[i - 1].next = table->first_free;
		table->first_free = i - 1;
	}
	return table;
}

void expect_table_free(struct expect_table *table)
{
	if (!table)
		return;
	rte_free(table->chains.heads);
	rte_free(table->slots);
	rte_free(table);
}

static void list_unlink(struct expect_table *table, uint32_t i)
{
	const struct expect_slot *slot = &table->slots[i];

	if (slot->prev == NONE)
		table->oldest = slot->next;
	else
		table->slots[slot->prev].next = slot->next;
	if (slot->next == NONE)
		table->youngest = slot->prev;
	else
		table->slots[slot->next].prev = slot->prev;
}

static void list_append(struct expect_table *table, uint32_t i)
{
	table->slots[i].prev = table->youngest;
	table->slots[i].next = NONE;
	if (table->youngest == NONE)
		table->oldest = i;
	else
		table->slots[table->youngest].next = i;
	table->youngest = i;
}

static void release(struct expect_table *table, uint32_t i)
{
	table->slots[i].use = SLOT_FREE;
	table->slots[i].next = table->first_free;
	table->first_free = i;
}

unsigned expect_longest(const struct expect_table *table)
{
	return chains_longest(&table->chains);
}

static uint32_t *head_of(const struct expect_table *table, const struct expect_key *key)
{
	uint64_t words[sizeof(*key) / 8];

	memcpy(words, key, sizeof(words));
	return chains_head(&table->chains, hash_words(&table->seed, words, RTE_DIM(words)));
}

// *oldest: of the chain; NONE: it is empty.
static unsigned chain_length(const struct expect_table *table, uint32_t head, uint32_t *oldest)
{
	unsigned length = 0;

	*oldest = head;
	for (uint32_t i = head; i != NONE; i = table->slots[i].chain) {
		if (table->slots[i].expires_ns <= table->slots[*oldest].expires_ns)
			*oldest = i;
		length++;
	}
	return length;
}

// It waits no longer; the slot is the caller's.
static void stop_waiting(struct expect_table *table, uint32_t i)
{
	struct expect_slot *slot = &table->slots[i];
	uint32_t *link = head_of(table, &slot->key), oldest;

	chains_shrink(&table->chains, chain_length(table, *link, &oldest));
	while (*link != i)
		link = &table->slots[*link].chain;
	*link = slot->chain;
	list_unlink(table, i);
	table->tellers[slot->expected.teller % TELLERS]--;
	table->waiting--;
}

static uint32_t find(const struct expect_table *table, const struct expect_key *key)
{
	uint32_t i = *head_of(table, key);

	while (i != NONE && memcmp(&table->slots[i].key, key, sizeof(*key)) != 0)
		i = table->slots[i].chain;
	return i;
}

static struct expect_key key_of(const struct expected *expected)
{
	const struct expectation *what = &expected->what;
	struct expect_key key = {
		.port = what->port, .l4_proto = what->l4_proto, .realm = expected->realm};

	memcpy(key.address, what->address, 16);
	memcpy(key.peer, what->peer, 16);
	return key;
}

// A slot for one more of this teller; NONE.
static uint32_t make_room(struct lcore *lcore, uint32_t teller)
{
	struct expect_table *table = lcore->expect;

	if (table->tellers[teller % TELLERS] >= table->share)
		return NONE;
	if (table->first_free == NONE) {
		if (table->oldest == NONE)
			return NONE;
		uint32_t oldest = table->oldest;

		stop_waiting(table, oldest);
		release(table, oldest);
		lcore->stats.expectations_evicted++;
	}
	uint32_t i = table->first_free;

	table->first_free = table->slots[i].next;
	return i;
}

static bool insert(struct lcore *lcore, const struct expect_key *key, uint32_t teller)
{
	struct expect_table *table = lcore->expect;
	uint32_t i = make_room(lcore, teller), *head = head_of(table, key), oldest;

	if (i == NONE)
		return false;
	if (chain_length(table, *head, &oldest) == CHAIN_MAX) {
		stop_waiting(table, oldest);
		release(table, oldest);
		lcore->stats.chain_full++;
	}
	chains_grow(&table->chains, chain_length(table, *head, &oldest));
	table->slots[i].chain = *head;
	*head = i;
	table->slots[i].key = *key;
	table->slots[i].use = SLOT_WAITS;
	table->slots[i].expected.teller = teller;
	table->tellers[teller % TELLERS]++;
	table->waiting++;
	list_append(table, i);
	return true;
}

void expect_add(struct lcore *lcore, const struct expected *expected, bool broadcast)
{
	struct expect_table *table = lcore->expect;
	struct expect_key key = key_of(expected);
	uint32_t i = find(table, &key);
	bool known = i != NONE;

	if (expected->what.claimed && (known ? !table->slots[i].expected.what.claimed
					     : table->waiting >= table->size / 2)) {
		// what one end alone claims takes no room from what two have said
		lcore->stats.expectations_refused += broadcast;
		return;
	}
	if (!known && !expected->what.amends) {
		if (insert(lcore, &key, expected->teller))
			i = find(table, &key);
		else if (broadcast)
			lcore->stats.expectations_refused++;
	}
	if (i != NONE) {
		struct expect_slot *slot = &table->slots[i];
		uint32_t teller = slot->expected.teller; // that it is counted for

		slot->expected = *expected;
		slot->expected.teller = teller;
		slot->expires_ns = lcore->now_ns + expected->what.ttl_s * NS_PER_S;
		if (known) {
			list_unlink(table, i);
			list_append(table, i);
		}
	}
	if (!broadcast || (i == NONE && !expected->what.amends))
		return;

	lcore->stats.expectations_told += !expected->what.amends;
	hints_broadcast(lcore, HINT_EXPECT, expected, sizeof(*expected), false);
}

static void expire(struct lcore *lcore, uint32_t i)
{
	stop_waiting(lcore->expect, i);
	release(lcore->expect, i);
	lcore->stats.expectations_expired++;
}

static uint32_t find_living(struct lcore *lcore, const struct expect_key *key)
{
	struct expect_table *table = lcore->expect;
	uint32_t i = find(table, key);

	if (i == NONE || lcore->now_ns < table->slots[i].expires_ns)
		return i;
	expire(lcore, i);
	return NONE;
}

uint32_t expect_take(
	struct lcore *lcore, const struct flow_cold *cold, uint8_t l4_proto, uint16_t *app)
{
	const struct flow_ends *ends = &cold->ends;
	struct expect_table *table = lcore->expect;
	struct expect_key key = {
		.port = ends->port[HALF_S2C], .l4_proto = l4_proto, .realm = cold->realm};
	uint32_t i;

	if (!table->waiting)
		return EXPECT_NONE;
	memcpy(key.address, ends->address[HALF_S2C], 16);
	memcpy(key.peer, ends->address[HALF_C2S], 16);
	i = find_living(lcore, &key);
	if (i == NONE) {
		memset(key.peer, 0, 16);
		i = find_living(lcore, &key);
	}
	if (i == NONE)
		return EXPECT_NONE;

	stop_waiting(table, i);
	hints_broadcast(lcore, HINT_EXPECT_TAKEN, &key, sizeof(key), false);
	bool claimed = table->slots[i].expected.what.claimed;

	if (!claimed)
		*app = table->slots[i].expected.what.app;
	if (table->taken >= table->size / 2) {
		release(table, i);
		return claimed ? EXPECT_NONE : EXPECT_UNTOLD;
	}
	table->slots[i].use = SLOT_TAKEN;
	table->taken++;
	return i + 1;
}

void expect_forget(struct lcore *lcore, const struct expect_key *key)
{
	struct expect_table *table = lcore->expect;
	uint32_t i = find(table, key);

	if (i == NONE)
		return;
	stop_waiting(table, i);
	release(table, i);
}

const struct expected *expect_at(const struct expect_table *table, uint32_t ref)
{
	return ref == EXPECT_NONE || ref == EXPECT_UNTOLD ? NULL : &table->slots[ref - 1].expected;
}

void expect_label(struct expect_table *table, uint32_t ref, const struct transfer_label *label)
{
	if (ref == EXPECT_NONE || ref == EXPECT_UNTOLD)
		return;
	struct transfer_label *known = &table->slots[ref - 1].expected.what.label;

	if (label->user[0])
		memcpy(known->user, label->user, sizeof(known->user));
	if (label->file[0])
		memcpy(known->file, label->file, sizeof(known->file));
	if (label->size)
		known->size = label->size;
}

void expect_give(struct expect_table *table, uint32_t ref)
{
	if (ref == EXPECT_NONE || ref == EXPECT_UNTOLD)
		return;
	release(table, ref - 1);
	table->taken--;
}

void expect_age(struct lcore *lcore, unsigned budget)
{
	struct expect_table *table = lcore->expect;

	for (; budget && table->oldest != NONE &&
		lcore->now_ns >= table->slots[table->oldest].expires_ns;
		budget--)
		expire(lcore, table->oldest);
	lcore->stats.expectations_active = table->waiting;
}
