// SPDX-License-Identifier: BSD-3-Clause
// A set of content ids that does not change after it was made: part of a snapshot. Made by the
// control core, asked by any core: one place of a table, and those behind it that are taken.
#ifndef SLUICE_CONTENT_ID_SET_H
#define SLUICE_CONTENT_ID_SET_H

#include "pipeline/vocab/content_id.h"
#include "pipeline/vocab/hash_seed.h"

#define CONTENT_IDS_MAX 1000000 // of a policy, all sets together

struct content_id_set {
	struct hash_seed seed;
	uint32_t n;             // ids, each once, in the order in which they came
	uint32_t mask;          // of `slots`
	struct content_id *ids; // owned, as is `slots`
	uint32_t *slots;        // index in `ids` and 1; 0: free. At most half of them are taken
};

// A copy; an id that comes twice is kept once. The seed is not known outside. NULL: no memory.
struct content_id_set *content_id_set_new(
	const struct content_id *ids, uint32_t n, const struct hash_seed *seed);
void content_id_set_free(struct content_id_set *set); // NULL is allowed
// NULL: it is not in the set. Of BitTorrent the first 20 bytes decide, whichever the version.
const struct content_id *content_id_set_find(
	const struct content_id_set *set, const struct content_id *id);

#endif
