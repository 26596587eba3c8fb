// SPDX-License-Identifier: BSD-3-Clause
// Counts values, runs and zeros to tell random bytes from bytes with a structure.
#include "classify/randomness.h"
#include "pipeline/vocab/octets.h"

// Chi-square of 16 classes, 15 degrees of freedom: 1 in 10,000 random samples is above.
#define CHI_SQUARE_MAX 44

static bool spreads(const uint16_t count[16], uint32_t length)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < 16; i++)
		sum += (uint32_t)count[i] * count[i];
	// sum (o - e)^2 / e with e = n / 16 is 16 / n * sum o^2 - n
	return 16 * sum <= (CHI_SQUARE_MAX + length) * length;
}

static const uint8_t nibble_ones[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};

bool randomness_looks_random(const uint8_t *bytes, uint32_t length)
{
	uint16_t high[16] = {0}, low[16] = {0}, steps[16] = {0};
	uint32_t ones = 0, zeros = 0, text = 0, repeats = 0;

	if (length > CHANCE_MAX_BYTES)
		length = CHANCE_MAX_BYTES;
	if (length < CHANCE_MIN_BYTES)
		return false;
	for (uint32_t i = 0; i < length; i++) {
		uint8_t byte = bytes[i];

		high[byte >> 4]++;
		low[byte & 15]++;
		zeros += !byte;
		text += (uint8_t)(byte - ' ') < 0x7f - ' ';
	}
	for (uint32_t i = 1; i < length; i++) {
		uint8_t step = (uint8_t)(bytes[i] - bytes[i - 1]);

		repeats += !step;
		steps[step >> 4]++; // counters, tables
	}
	for (unsigned i = 0; i < 16; i++)
		ones += nibble_ones[i] * (uint32_t)(high[i] + low[i]);
	int32_t excess = (int32_t)ones - (int32_t)(4 * length);

	// four standard deviations of n * 8 fair coins; of the rest a random byte in 256 is one
	return excess * excess <= (int32_t)(32 * length) && zeros <= 5 + length / 64 &&
	       repeats <= 5 + length / 64 && text * 8 <= length * 5 && spreads(high, length) &&
	       spreads(low, length) && spreads(steps, length - 1);
}

static bool is_length(uint32_t number, uint32_t length)
{
	return number <= length && length - number <= 8;
}

bool randomness_is_framed(const uint8_t *bytes, uint32_t length)
{
	if (length < 4)
		return true;
	// behind up to four octets of magic, type or version
	for (uint32_t at = 0; at <= 4 && length - at >= 4; at++)
		if (is_length(octets_be16(bytes + at), length) ||
			is_length(octets_le16(bytes + at), length))
			return true;
	return is_length(octets_be32(bytes), length) || is_length(octets_le32(bytes), length);
}
