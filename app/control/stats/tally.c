// SPDX-License-Identifier: BSD-3-Clause
// A hash table of sums by key, with a bound on its keys.
#include "control/stats/tally.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_ROWS 256

// The slot of `key`, or the empty one where it belongs.
static uint32_t *slot_of(const struct tally *tally, const struct tally_key *key)
{
	uint64_t words[2];

	memcpy(words, key->bytes, sizeof words);
	uint32_t at = hash_words(&tally->seed, words, 2) & (tally->n_slots - 1);

	while (tally->slots[at] &&
		memcmp(&tally->rows[tally->slots[at] - 1].key, key, sizeof *key) != 0)
		at = (at + 1) & (tally->n_slots - 1);
	return &tally->slots[at];
}

static bool grow(struct tally *tally)
{
	uint32_t capacity = tally->capacity ? tally->capacity * 2 : FIRST_ROWS;
	struct tally_row *rows = reallocarray(tally->rows, capacity, sizeof *rows);

	if (rows)
		tally->rows = rows;
	uint32_t *slots = rows ? calloc((size_t)capacity * 2, sizeof *slots) : NULL;

	if (!slots) {
		tally->no_memory = true;
		return false;
	}
	free(tally->slots);
	tally->slots = slots;
	tally->n_slots = capacity * 2;
	tally->capacity = capacity;
	for (uint32_t i = 0; i < tally->n; i++)
		*slot_of(tally, &tally->rows[i].key) = i + 1;
	return true;
}

static struct tally_row *row_of(struct tally *tally, const struct tally_key *key)
{
	if (tally->n_slots) {
		uint32_t at = *slot_of(tally, key);

		if (at)
			return &tally->rows[at - 1];
	}
	if (tally->n == TALLY_KEYS_MAX)
		return &tally->other;
	if (tally->n == tally->capacity && !grow(tally))
		return &tally->other;
	uint32_t *slot = slot_of(tally, key);

	tally->rows[tally->n] = (struct tally_row){.key = *key};
	*slot = ++tally->n;
	return &tally->rows[tally->n - 1];
}

void tally_add(struct tally *tally, const struct tally_key *key, const struct flow_record *record)
{
	struct tally_row *row = row_of(tally, key);

	row->flows++;
	row->rate_bytes_s += record->rate_bytes_s;
	row->bytes[HALF_C2S] += record->bytes[HALF_C2S];
	row->bytes[HALF_S2C] += record->bytes[HALF_S2C];
	row->pkts += record->pkts[HALF_C2S] + record->pkts[HALF_S2C];
}

void tally_free(struct tally *tally)
{
	free(tally->rows);
	free(tally->slots);
	*tally = (struct tally){0};
}
