// SPDX-License-Identifier: BSD-3-Clause
// Inside app/classify: what the datagrams of eDonkey and Kad need to be believed: the request that
// an answer repeats something of, and hashes that look like one. Pure but for the probe's memo.
#ifndef SLUICE_EDONKEY_EXCHANGE_H
#define SLUICE_EDONKEY_EXCHANGE_H

#include "classify/app_proto.h"
#include "pipeline/vocab/edonkey_wire.h"

#define EDONKEY_HASH_OCTETS_MIN 10 // different ones of the 16

// Numbers, padding and text are no hash: fewer of their octets differ.
static inline bool edonkey_is_hash(const uint8_t *at)
{
	uint64_t seen[4] = {0};
	unsigned n = 0;

	for (unsigned i = 0; i < EDONKEY_HASH; i++)
		seen[at[i] >> 6] |= 1ULL << (at[i] & 63);
	for (unsigned i = 0; i < 4; i++)
		n += (unsigned)__builtin_popcountll(seen[i]);
	return n >= EDONKEY_HASH_OCTETS_MIN;
}

// The last request of each half: opcode and what its answer has to repeat.
static inline void edonkey_remember(const struct probe *probe, uint8_t opcode, uint32_t token)
{
	unsigned half = probe->half & 1;

	probe->memo->word[2 * half] = 0x100u | opcode;
	probe->memo->word[2 * half + 1] = token;
}

static inline bool edonkey_asked(const struct probe *probe, uint8_t opcode, uint32_t *token)
{
	unsigned other = !(probe->half & 1);

	*token = probe->memo->word[2 * other + 1];
	return probe->memo->word[2 * other] == (0x100u | opcode);
}

// A datagram whose opcode and length alone fit: 16 bits and a length are nothing, twice they are a
// hint.
static inline enum verify edonkey_twice(const struct probe *probe)
{
	return probe->memo->word[4]++ ? VERIFY_PARTIAL : VERIFY_MORE;
}

#endif
