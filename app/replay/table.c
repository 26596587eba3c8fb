// SPDX-License-Identifier: BSD-3-Clause
// A hash table with open addressing that grows and never deletes.
#include "replay/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES_START 1024u

static uint64_t fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

// As parse_hash: words, multiplied and folded.
static uint32_t key_hash(const uint8_t key[REPLAY_KEY_BYTES])
{
	uint64_t word[REPLAY_KEY_BYTES / 8], mix;

	memcpy(word, key, sizeof word);
	mix = fold(word[0] ^ 0xa0761d6478bd642full, word[1] ^ 0xe7037ed1a0b428dbull);
	mix ^= fold(word[2] ^ 0x8ebc6af09c88c6e3ull, word[3] ^ 0x589965cc75374cc3ull);
	mix = fold(mix ^ word[4] ^ 0x1d8e4e27c47d124full, word[5] ^ 0xeb44accab455d165ull);
	return (uint32_t)(mix ^ mix >> 32);
}

// The entry with this key, or the free place where it belongs. There is always a free one.
static struct replay_entry *probe(
	struct replay_entry *entries, uint32_t mask, const uint8_t key[REPLAY_KEY_BYTES])
{
	uint32_t at = key_hash(key) & mask;

	while (entries[at].used && memcmp(entries[at].key, key, REPLAY_KEY_BYTES) != 0)
		at = (at + 1) & mask;
	return &entries[at];
}

int replay_table_init(struct replay_table *table)
{
	table->entries = calloc(ENTRIES_START, sizeof *table->entries);
	table->mask = ENTRIES_START - 1;
	table->n = 0;
	return table->entries ? 0 : -ENOMEM;
}

void replay_table_fini(struct replay_table *table)
{
	free(table->entries);
	table->entries = NULL;
}

void replay_table_clear(struct replay_table *table)
{
	memset(table->entries, 0, ((size_t)table->mask + 1) * sizeof *table->entries);
	table->n = 0;
}

struct replay_entry *replay_table_find(
	const struct replay_table *table, const uint8_t key[REPLAY_KEY_BYTES])
{
	struct replay_entry *entry = probe(table->entries, table->mask, key);

	return entry->used ? entry : NULL;
}

static int grow(struct replay_table *table)
{
	uint32_t mask = table->mask * 2 + 1;
	struct replay_entry *entries;

	if (mask > UINT32_MAX / 2)
		return -ENOMEM;
	entries = calloc((size_t)mask + 1, sizeof *entries);
	if (!entries)
		return -ENOMEM;
	for (uint32_t i = 0; i <= table->mask; i++) {
		if (table->entries[i].used)
			*probe(entries, mask, table->entries[i].key) = table->entries[i];
	}
	free(table->entries);
	table->entries = entries;
	table->mask = mask;
	return 0;
}

struct replay_entry *replay_table_get(
	struct replay_table *table, const uint8_t key[REPLAY_KEY_BYTES], bool *made)
{
	struct replay_entry *entry = replay_table_find(table, key);

	*made = !entry;
	if (entry)
		return entry;
	if (table->n >= table->mask / 2 && grow(table) < 0)
		return NULL;
	entry = probe(table->entries, table->mask, key);
	memcpy(entry->key, key, REPLAY_KEY_BYTES);
	entry->used = 1;
	table->n++;
	return entry;
}
