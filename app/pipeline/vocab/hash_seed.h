// SPDX-License-Identifier: BSD-3-Clause
// The hash of every table whose keys come from packets. It is keyed: one seed per process, drawn
// before the lcores start and constant from then on, so that nobody outside can make keys that
// share a chain. Replay, tests and benches use HASH_SEED_FIXED: what they do repeats exactly.
//
// Pairs of words are multiplied, 64 x 64 bits, and folded; each operand is a word of the key
// exclusive-or a secret word of its own. So nobody can choose an operand: neither 0, which would
// hide the other operand, nor two operands that change places. The last fold mixes what the pairs
// gave. Two keys share all 32 bits for about one seed in 2^32.
#ifndef SLUICE_HASH_SEED_H
#define SLUICE_HASH_SEED_H

#include <stdint.h>

#define HASH_WORDS_MAX 6

struct hash_seed {
	uint64_t words[HASH_WORDS_MAX];
};

#define HASH_SEED_FIXED                                                                           \
	((struct hash_seed){{0xa0761d6478bd642full, 0xe7037ed1a0b428dbull, 0x8ebc6af09c88c6e3ull, \
		0x589965cc75374cc3ull, 0x1d8e4e27c47d124full, 0xeb44accab455d165ull}})

static inline uint64_t hash_fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

// `n` words of a key: 2, 4 or 6; what is left over of them is 0.
static inline uint32_t hash_words(const struct hash_seed *seed, const uint64_t *words, unsigned n)
{
	const uint64_t *secret = seed->words;
	uint64_t mix = 0;

	for (unsigned i = 0; i + 2 < n; i += 2)
		mix ^= hash_fold(words[i] ^ secret[i], words[i + 1] ^ secret[i + 1]);
	mix = hash_fold(mix ^ words[n - 2] ^ secret[n - 2], words[n - 1] ^ secret[n - 1]);
	return (uint32_t)(mix ^ mix >> 32);
}

#endif
