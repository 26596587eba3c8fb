// SPDX-License-Identifier: BSD-3-Clause
// How many entries of a pool a source has (of flows: those that are not heard): counts by a seeded
// hash, two rows, of which the lower one holds (a count-min sketch, Cormode and Muthukrishnan
// 2005). Never too low, so no source gets beyond its share; too high by chance where sources are
// many, and then an entry is only evicted sooner. A source is an IPv4 address or an IPv6 /64, on
// one side of the gateway: who forges an address from the other side takes nothing of its owner's
// share. One user: the lcore.
#ifndef SLUICE_FLOW_SHARE_H
#define SLUICE_FLOW_SHARE_H

#include <string.h>
#include "pipeline/wire/parse.h"

#define FLOW_SHARE_SLOTS 4096 // a power of two

struct flow_shares {
	const struct hash_seed *seed;
	uint32_t most; // of one source
	uint32_t count[2][FLOW_SHARE_SLOTS];
};

// Whose entry it is: side A or B of the key.
struct flow_source {
	const union flow_key *key;
	bool v6, is_a, inside;
};

// Where a source is counted: who counts for long keeps it, as flows and their keys go before.
struct flow_share {
	uint16_t at[2];
};

// Inline: it is asked for twice with each SYN.
static inline struct flow_share flow_share_of(
	const struct flow_shares *shares, const struct flow_source *source)
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

// The source has its share already.
bool flow_share_full(const struct flow_shares *shares, struct flow_share share);
void flow_share_add(struct flow_shares *shares, struct flow_share share);
void flow_share_sub(struct flow_shares *shares, struct flow_share share);

#endif
