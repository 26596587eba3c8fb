// SPDX-License-Identifier: BSD-3-Clause
// A hash table with chains, and a list through its entries; numbers, as the array moves when it
// grows.
#include "audit/store_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void store_index_init(struct store_index *index)
{
	*index = (struct store_index){
		.free = STORE_NONE, .oldest = STORE_NONE, .newest = STORE_NONE};
}

void store_index_free(struct store_index *index)
{
	free(index->entries);
	free(index->chains);
	store_index_init(index);
}

static uint32_t *chain_of(const struct store_index *index, const uint8_t sha256[32])
{
	uint32_t hash;

	memcpy(&hash, sha256 + 8, sizeof(hash)); // of a hash any part will do
	return &index->chains[hash & (index->n_chains - 1)];
}

uint32_t store_index_find(const struct store_index *index, const uint8_t sha256[32])
{
	if (!index->n_chains)
		return STORE_NONE;
	uint32_t at = *chain_of(index, sha256);
	while (at != STORE_NONE && memcmp(index->entries[at].sha256, sha256, 32) != 0)
		at = index->entries[at].next;
	return at;
}

static void link_newest(struct store_index *index, uint32_t number)
{
	struct store_entry *entry = &index->entries[number];

	entry->older = index->newest;
	entry->newer = STORE_NONE;
	if (index->newest != STORE_NONE)
		index->entries[index->newest].newer = number;
	else
		index->oldest = number;
	index->newest = number;
}

static void unlink_order(struct store_index *index, uint32_t number)
{
	const struct store_entry *entry = &index->entries[number];

	if (entry->older != STORE_NONE)
		index->entries[entry->older].newer = entry->newer;
	else
		index->oldest = entry->newer;
	if (entry->newer != STORE_NONE)
		index->entries[entry->newer].older = entry->older;
	else
		index->newest = entry->older;
}

// Twice as many chains, and room for as many entries.
static int grow(struct store_index *index)
{
	uint32_t room = index->room ? 2 * index->room : 64;
	struct store_entry *entries;
	uint32_t *chains;

	if (room > 1u << 30)
		return -ENOMEM;
	chains = malloc(room * sizeof(*chains));
	entries = chains ? realloc(index->entries, room * sizeof(*entries)) : NULL;
	if (!entries) {
		free(chains);
		return -ENOMEM;
	}
	index->entries = entries;
	memset(chains, 0xff, room * sizeof(*chains)); // STORE_NONE
	free(index->chains);
	index->chains = chains;
	index->n_chains = room;
	for (uint32_t at = index->oldest; at != STORE_NONE; at = entries[at].newer) {
		uint32_t *chain = chain_of(index, entries[at].sha256);
		entries[at].next = *chain;
		*chain = at;
	}
	for (uint32_t i = index->room; i < room; i++) {
		entries[i].next = index->free;
		index->free = i;
	}
	index->room = room;
	return 0;
}

uint32_t store_index_add(struct store_index *index, const uint8_t sha256[32], int64_t time_s)
{
	if (index->free == STORE_NONE && grow(index) < 0)
		return STORE_NONE;
	uint32_t number = index->free, *chain = chain_of(index, sha256);
	struct store_entry *entry = &index->entries[number];

	index->free = entry->next;
	*entry = (struct store_entry){.time_s = time_s, .next = *chain};
	memcpy(entry->sha256, sha256, sizeof(entry->sha256));
	*chain = number;
	link_newest(index, number);
	index->n++;
	return number;
}

void store_index_remove(struct store_index *index, uint32_t number)
{
	struct store_entry *entry = &index->entries[number];
	uint32_t *at = chain_of(index, entry->sha256);

	while (*at != number)
		at = &index->entries[*at].next;
	*at = entry->next;
	unlink_order(index, number);
	entry->next = index->free;
	index->free = number;
	index->n--;
}

void store_index_touch(struct store_index *index, uint32_t number, int64_t time_s)
{
	unlink_order(index, number);
	link_newest(index, number);
	index->entries[number].time_s = time_s;
}

struct by_time {
	int64_t time_s;
	uint32_t number;
};

static int compare(const void *a, const void *b)
{
	const struct by_time *one = a, *other = b;

	if (one->time_s != other->time_s)
		return one->time_s < other->time_s ? -1 : 1;
	return one->number < other->number ? -1 : one->number > other->number;
}

int store_index_sort(struct store_index *index)
{
	struct by_time *all = malloc((index->n + 1u) * sizeof(*all));
	uint32_t n = 0;

	if (!all)
		return -ENOMEM;
	for (uint32_t at = index->oldest; at != STORE_NONE; at = index->entries[at].newer)
		all[n++] = (struct by_time){index->entries[at].time_s, at};
	qsort(all, n, sizeof(*all), compare);
	index->oldest = index->newest = STORE_NONE;
	for (uint32_t i = 0; i < n; i++)
		link_newest(index, all[i].number);
	free(all);
	return 0;
}
