// SPDX-License-Identifier: BSD-3-Clause
// MD5 (RFC 1321) of one block and RC4, as eMule's obfuscation has them. Their own few lines:
// libcrypto has both only behind contexts from the heap, and RC4 only with a provider that hosts
// may lack. Not for secrets. Any core; no state but the caller's.
#ifndef SLUICE_RC4_MD5_H
#define SLUICE_RC4_MD5_H

#include <stdint.h>
#include <string.h>
#include "pipeline/vocab/octets.h"

#define MD5_BLOCK_MAX 55 // octets that fit one block with its padding

// length <= MD5_BLOCK_MAX
static inline void md5_block(const uint8_t *bytes, uint32_t length, uint8_t digest[16])
{
	// RFC 1321 3.4: the integer part of 2^32 |sin(i)|.
	static const uint32_t sines[64] = {0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee,
		0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501, 0x698098d8, 0x8b44f7af, 0xffff5bb1,
		0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821, 0xf61e2562, 0xc040b340,
		0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8, 0x21e1cde6,
		0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
		0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60,
		0xbebfbc70, 0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5,
		0x1fa27cf8, 0xc4ac5665, 0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3,
		0x8f0ccc92, 0xffeff47d, 0x85845dd1, 0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1,
		0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};
	static const uint8_t shifts[4][4] = {
		{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
	static const uint32_t start[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
	uint8_t block[64] = {0};
	uint32_t a = start[0], b = start[1], c = start[2], d = start[3];

	memcpy(block, bytes, length);
	block[length] = 0x80;
	block[56] = (uint8_t)(length << 3);
	block[57] = (uint8_t)(length >> 5);
	for (unsigned i = 0; i < 64; i++) {
		unsigned round = i >> 4, word, shift = shifts[round][i & 3];
		uint32_t mixed;

		switch (round) {
		case 0:
			mixed = (b & c) | (~b & d);
			word = i;
			break;
		case 1:
			mixed = (d & b) | (~d & c);
			word = (5 * i + 1) & 15;
			break;
		case 2:
			mixed = b ^ c ^ d;
			word = (3 * i + 5) & 15;
			break;
		default:
			mixed = c ^ (b | ~d);
			word = (7 * i) & 15;
			break;
		}
		mixed += a + sines[i] + octets_le32(block + 4 * word);
		a = d;
		d = c;
		c = b;
		b += mixed << shift | mixed >> (32 - shift);
	}
	const uint32_t sums[4] = {start[0] + a, start[1] + b, start[2] + c, start[3] + d};

	for (unsigned i = 0; i < 16; i++)
		digest[i] = (uint8_t)(sums[i / 4] >> 8 * (i % 4));
}

struct rc4 {
	uint8_t state[256];
	uint8_t i, j;
};

static inline void rc4_key(struct rc4 *rc4, const uint8_t *key, uint32_t length)
{
	uint8_t j = 0;

	for (unsigned i = 0; i < 256; i++)
		rc4->state[i] = (uint8_t)i;
	for (unsigned i = 0; i < 256; i++) {
		uint8_t here = rc4->state[i];

		j = (uint8_t)(j + here + key[i % length]);
		rc4->state[i] = rc4->state[j];
		rc4->state[j] = here;
	}
	rc4->i = rc4->j = 0;
}

// In place, or from one place to another; `in` NULL: that much of the stream is thrown away.
static inline void rc4_stream(struct rc4 *rc4, const uint8_t *in, uint8_t *out, uint32_t length)
{
	uint8_t *state = rc4->state;

	for (uint32_t n = 0; n < length; n++) {
		uint8_t here = state[++rc4->i], there;

		rc4->j = (uint8_t)(rc4->j + here);
		there = state[rc4->j];
		state[rc4->i] = there;
		state[rc4->j] = here;
		if (in)
			out[n] = in[n] ^ state[(uint8_t)(here + there)];
	}
}

#endif
