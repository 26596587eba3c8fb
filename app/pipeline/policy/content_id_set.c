// SPDX-License-Identifier: BSD-3-Clause
// A table with open addressing, at most half full.
#include "pipeline/policy/content_id_set.h"

#include <stdlib.h>

static uint32_t hash_of(const struct hash_seed *seed, const struct content_id *key)
{
	uint64_t words[4];

	memcpy(words, key->bytes, sizeof(words));
	words[0] ^= (uint64_t)key->kind << 56;
	return hash_words(seed, words, 4);
}

// Where it is, or where it belongs.
static uint32_t place_of(const struct content_id_set *set, const struct content_id *key)
{
	uint32_t at = hash_of(&set->seed, key) & set->mask;

	while (set->slots[at]) {
		const struct content_id there = content_id_key(&set->ids[set->slots[at] - 1]);

		if (content_id_same(&there, key))
			break;
		at = (at + 1) & set->mask;
	}
	return at;
}

static void add(struct content_id_set *set, const struct content_id *id)
{
	const struct content_id key = content_id_key(id);
	uint32_t at = place_of(set, &key);

	if (set->slots[at])
		return;
	set->ids[set->n++] = *id;
	set->slots[at] = set->n;
}

struct content_id_set *content_id_set_new(
	const struct content_id *ids, uint32_t n, const struct hash_seed *seed)
{
	struct content_id_set *set = calloc(1, sizeof(*set));
	uint32_t room = 8;

	if (!set)
		return NULL;
	while (room < 2 * n)
		room *= 2;
	set->seed = *seed;
	set->mask = room - 1;
	set->ids = calloc(n + 1, sizeof(*set->ids));
	set->slots = calloc(room, sizeof(*set->slots));
	if (!set->ids || !set->slots) {
		content_id_set_free(set);
		return NULL;
	}
	for (uint32_t i = 0; i < n; i++)
		add(set, &ids[i]);
	return set;
}

void content_id_set_free(struct content_id_set *set)
{
	if (!set)
		return;
	free(set->ids);
	free(set->slots);
	free(set);
}

const struct content_id *content_id_set_find(
	const struct content_id_set *set, const struct content_id *id)
{
	const struct content_id key = content_id_key(id);
	uint32_t at = place_of(set, &key);

	return set->slots[at] ? &set->ids[set->slots[at] - 1] : NULL;
}
