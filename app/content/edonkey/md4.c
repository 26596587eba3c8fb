// SPDX-License-Identifier: BSD-3-Clause
// MD4, as RFC 1320 section 3 has it: blocks of 64 bytes in three rounds of 16 steps.
#include "content/edonkey/md4.h"

#include <string.h>
#include "pipeline/vocab/octets.h"

#define BLOCK sizeof(((struct md4 *)0)->block)

static uint32_t rotate(uint32_t word, unsigned by)
{
	return word << by | word >> (32 - by);
}

static void take_block(uint32_t sums[4], const uint8_t *block)
{
	static const uint8_t shifts[3][4] = {{3, 7, 11, 19}, {3, 5, 9, 13}, {3, 9, 11, 15}};
	// which word each step takes; in round 1 they stand in their order
	static const uint8_t order2[16] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
	static const uint8_t order3[16] = {0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15};
	uint32_t a = sums[0], b = sums[1], c = sums[2], d = sums[3], words[16];

	for (unsigned i = 0; i < 16; i++)
		words[i] = octets_le32(block + 4 * i);
	for (unsigned i = 0; i < 48; i++) {
		unsigned round = i / 16, at = i % 16;
		uint32_t mixed = a;

		if (round == 0)
			mixed += ((b & c) | (~b & d)) + words[at];
		else if (round == 1)
			mixed += ((b & c) | (b & d) | (c & d)) + words[order2[at]] + 0x5a827999;
		else
			mixed += (b ^ c ^ d) + words[order3[at]] + 0x6ed9eba1;
		a = d;
		d = c;
		c = b;
		b = rotate(mixed, shifts[round][at % 4]);
	}
	sums[0] += a;
	sums[1] += b;
	sums[2] += c;
	sums[3] += d;
}

void md4_begin(struct md4 *md4)
{
	*md4 = (struct md4){.sums = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476}};
}

void md4_add(struct md4 *md4, const uint8_t *bytes, uint64_t length)
{
	uint64_t kept = md4->length % BLOCK;

	md4->length += length;
	if (kept && length >= BLOCK - kept) {
		memcpy(md4->block + kept, bytes, BLOCK - kept);
		take_block(md4->sums, md4->block);
		bytes += BLOCK - kept;
		length -= BLOCK - kept;
		kept = 0;
	}
	for (; !kept && length >= BLOCK; bytes += BLOCK, length -= BLOCK)
		take_block(md4->sums, bytes);
	if (length)
		memcpy(md4->block + kept, bytes, length);
}

void md4_end(struct md4 *md4, uint8_t digest[MD4_BYTES])
{
	static const uint8_t padding[BLOCK] = {0x80};
	uint64_t bits = 8 * md4->length, kept = md4->length % BLOCK;
	uint8_t length[8];

	for (unsigned i = 0; i < 8; i++)
		length[i] = (uint8_t)(bits >> 8 * i);
	md4_add(md4, padding, (kept < 56 ? 56 : 120) - kept);
	md4_add(md4, length, sizeof(length));
	for (unsigned i = 0; i < MD4_BYTES; i++)
		digest[i] = (uint8_t)(md4->sums[i / 4] >> 8 * (i % 4));
}
