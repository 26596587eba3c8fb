// SPDX-License-Identifier: BSD-3-Clause
// A hash table of sums by key, with a bound on its keys.
#include "control/stats/group_by.h"

#include <stdlib.h>
#include <string.h>
#include "pipeline/query.h"

#define FIRST_ROWS 256

// The slot of `key`, or the empty one where it belongs.
static uint32_t *slot_of(const struct group_by *group_by, const struct group_by_key *key)
{
	uint64_t words[2];

	memcpy(words, key->bytes, sizeof words);
	uint32_t at = hash_words(&group_by->seed, words, 2) & (group_by->n_slots - 1);

	while (group_by->slots[at] &&
		memcmp(&group_by->rows[group_by->slots[at] - 1].key, key, sizeof *key) != 0)
		at = (at + 1) & (group_by->n_slots - 1);
	return &group_by->slots[at];
}

static bool grow(struct group_by *group_by)
{
	uint32_t capacity = group_by->capacity ? group_by->capacity * 2 : FIRST_ROWS;
	struct group_by_row *rows = reallocarray(group_by->rows, capacity, sizeof *rows);

	if (rows)
		group_by->rows = rows;
	uint32_t *slots = rows ? calloc((size_t)capacity * 2, sizeof *slots) : NULL;

	if (!slots) {
		group_by->no_memory = true;
		return false;
	}
	free(group_by->slots);
	group_by->slots = slots;
	group_by->n_slots = capacity * 2;
	group_by->capacity = capacity;
	for (uint32_t i = 0; i < group_by->n; i++)
		*slot_of(group_by, &group_by->rows[i].key) = i + 1;
	return true;
}

static struct group_by_row *row_of(struct group_by *group_by, const struct group_by_key *key)
{
	if (group_by->n_slots) {
		uint32_t at = *slot_of(group_by, key);

		if (at)
			return &group_by->rows[at - 1];
	}
	if (group_by->n == GROUP_BY_KEYS_MAX)
		return &group_by->other;
	if (group_by->n == group_by->capacity && !grow(group_by))
		return &group_by->other;
	uint32_t *slot = slot_of(group_by, key);

	group_by->rows[group_by->n] = (struct group_by_row){.key = *key};
	*slot = ++group_by->n;
	return &group_by->rows[group_by->n - 1];
}

void group_by_add(
	struct group_by *group_by, const struct group_by_key *key, const struct flow_record *record)
{
	struct group_by_row *row = row_of(group_by, key);

	row->flows++;
	row->rate_bytes_s += record->rate_bytes_s;
	row->bytes[HALF_C2S] += record->bytes[HALF_C2S];
	row->bytes[HALF_S2C] += record->bytes[HALF_S2C];
	row->pkts += record->pkts[HALF_C2S] + record->pkts[HALF_S2C];
}

void group_by_free(struct group_by *group_by)
{
	free(group_by->rows);
	free(group_by->slots);
	*group_by = (struct group_by){0};
}
