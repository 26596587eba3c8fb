// SPDX-License-Identifier: BSD-3-Clause
// Random octets of the models, from a seed; the state is of who includes this.
#ifndef SLUICE_TEST_RANDOM_OCTETS_H
#define SLUICE_TEST_RANDOM_OCTETS_H

#include <stdint.h>
#include <string.h>

static uint64_t random_state[2];

// xoroshiro128+ (Blackman and Vigna): fast, and without a pattern in any byte.
static inline uint64_t next_random(void)
{
	uint64_t a = random_state[0], b = random_state[1], sum = a + b;

	b ^= a;
	random_state[0] = (a << 24 | a >> 40) ^ b ^ b << 16;
	random_state[1] = b << 37 | b >> 27;
	return sum;
}

static inline uint32_t below(uint32_t n)
{
	return (uint32_t)((next_random() >> 32) * n >> 32);
}

static inline void fill(uint8_t *at, uint32_t length)
{
	for (uint32_t i = 0; i < length; i += 8) {
		uint64_t word = next_random();

		memcpy(at + i, &word, length - i < 8 ? length - i : 8);
	}
}

static inline void seed_random(uint64_t number)
{
	random_state[0] = number * 0x9e3779b97f4a7c15u + 1;
	random_state[1] = ~number;
	for (unsigned i = 0; i < 16; i++)
		next_random();
}

#endif
