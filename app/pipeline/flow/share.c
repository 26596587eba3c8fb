// SPDX-License-Identifier: BSD-3-Clause
// Counts entries by source in a count-min sketch.
#include <string.h>
#include "pipeline/flow/share.h"

struct flow_share flow_share_of(const struct flow_shares *shares, const struct flow_source *source)
{
	const union flow_key *key = source->key;
	uint64_t words[2] = {0, 1u + 2u * source->inside + source->v6};

	if (source->v6)
		memcpy(words, source->is_a ? key->v6.addr_a : key->v6.addr_b, sizeof(words[0]));
	else
		words[0] = source->is_a ? key->v4.addr_a : key->v4.addr_b;
	uint32_t hash = hash_words(shares->seed, words, 2);

	return (struct flow_share){{hash % FLOW_SHARE_SLOTS, (hash >> 16) % FLOW_SHARE_SLOTS}};
}

bool flow_share_full(const struct flow_shares *shares, struct flow_share share)
{
	return shares->count[0][share.at[0]] >= shares->most &&
	       shares->count[1][share.at[1]] >= shares->most;
}

void flow_share_add(struct flow_shares *shares, struct flow_share share)
{
	for (unsigned row = 0; row < 2; row++)
		shares->count[row][share.at[row]]++;
}

void flow_share_sub(struct flow_shares *shares, struct flow_share share)
{
	for (unsigned row = 0; row < 2; row++)
		shares->count[row][share.at[row]]--;
}
