// SPDX-License-Identifier: BSD-3-Clause
// The heads of a hash table whose entries hang in chains, and how many chains have which length: a
// table knows its longest one at any time. Entries, and the links between them, are the table's.
// One writer, the owner of the table.
//
// No chain is longer than CHAIN_MAX. With a keyed hash (hash_seed.h) and no more entries than heads
// one chain in 10^14 would be: whoever finds a chain full has met an attacker who knows the seed,
// or a defect. A cache gives up the oldest entry of the chain, other tables refuse the new one.
#ifndef SLUICE_CHAINS_H
#define SLUICE_CHAINS_H

#include <stdint.h>
#include <string.h>

#define CHAIN_MAX 16
#define CHAIN_END UINT32_MAX

struct chains {
	uint32_t *heads; // first entry of each chain, or CHAIN_END
	uint32_t mask;
	uint32_t lengths;                  // bit n: some chain has n entries
	uint32_t of_length[CHAIN_MAX + 1]; // chains that have so many entries
};

// `heads` is room for `n_heads`, a power of two.
static inline void chains_init(struct chains *chains, uint32_t *heads, uint32_t n_heads)
{
	*chains = (struct chains){.heads = heads, .mask = n_heads - 1, .lengths = 1};
	chains->of_length[0] = n_heads;
	memset(heads, 0xff, sizeof(*heads) * n_heads);
}

static inline uint32_t *chains_head(const struct chains *chains, uint32_t hash)
{
	return &chains->heads[hash & chains->mask];
}

static inline void chains_change(struct chains *chains, unsigned from, unsigned to)
{
	if (!--chains->of_length[from])
		chains->lengths &= ~(1u << from);
	chains->of_length[to]++;
	chains->lengths |= 1u << to;
}

// A chain of `length` entries gets one more; it is not full.
static inline void chains_grow(struct chains *chains, unsigned length)
{
	chains_change(chains, length, length + 1);
}

// A chain of `length` entries, 1 or more, loses one.
static inline void chains_shrink(struct chains *chains, unsigned length)
{
	chains_change(chains, length, length - 1);
}

// Entries of the longest chain: each turn of a lcore tells it.
static inline unsigned chains_longest(const struct chains *chains)
{
	return 31 - (unsigned)__builtin_clz(chains->lengths);
}

#endif
