// SPDX-License-Identifier: BSD-3-Clause
// The checksum of gzip by carry-less multiplication, after V. Gopal et al., "Fast CRC Computation
// for Generic Polynomials Using PCLMULQDQ Instruction", Intel 2009. Bits are reflected, so a
// remainder is folded from low addresses to high ones. What is left over, and other CPUs, are
// zlib's.
#include "content/coding/crc32.h"

#include <zlib.h>

#if defined(__x86_64__)
#include <immintrin.h>

#define FOLD_BYTES 64u // folded at once; shorter ones are not worth the end

// Powers of x modulo the polynomial, reflected, and shifted by one.
#define X_512_UP   0x154442bd4 // x^(512 + 32)
#define X_512_DOWN 0x1c6e41596 // x^(512 - 32)
#define X_128_UP   0x1751997d0 // x^(128 + 32)
#define X_128_DOWN 0x0ccaa009e // x^(128 - 32)
#define X_64       0x163cd6124 // x^64
#define POLYNOMIAL 0x1db710641
#define RECIPROCAL 0x1f7011641 // floor(x^64 / polynomial)

#define WITH_PCLMUL __attribute__((target("pclmul,sse4.1")))

WITH_PCLMUL static inline __m128i load(const uint8_t *bytes)
{
	return _mm_loadu_si128((const __m128i *)(const void *)bytes);
}

// What stands for `from` further on by as many bits as the powers say, added to what is there.
WITH_PCLMUL static inline __m128i fold(__m128i from, __m128i powers, __m128i to)
{
	__m128i low = _mm_clmulepi64_si128(from, powers, 0x00);
	__m128i high = _mm_clmulepi64_si128(from, powers, 0x11);

	return _mm_xor_si128(_mm_xor_si128(low, high), to);
}

// 128 bits to 32: to 96, to 64, and the remainder by Barrett.
WITH_PCLMUL static uint32_t reduce(__m128i rest, __m128i by_128)
{
	const __m128i words = _mm_setr_epi32(-1, 0, -1, 0);
	const __m128i barrett = _mm_set_epi64x(RECIPROCAL, POLYNOMIAL);

	rest = _mm_xor_si128(_mm_srli_si128(rest, 8), _mm_clmulepi64_si128(rest, by_128, 0x10));
	rest = _mm_xor_si128(_mm_srli_si128(rest, 4),
		_mm_clmulepi64_si128(_mm_and_si128(rest, words), _mm_set_epi64x(0, X_64), 0x00));
	__m128i quotient = _mm_and_si128(
		_mm_clmulepi64_si128(_mm_and_si128(rest, words), barrett, 0x10), words);

	rest = _mm_xor_si128(rest, _mm_clmulepi64_si128(quotient, barrett, 0x00));
	return (uint32_t)_mm_extract_epi32(rest, 1);
}

// Whole blocks of 16 bytes, FOLD_BYTES at least.
WITH_PCLMUL static uint32_t fold_all(uint32_t crc, const uint8_t *bytes, size_t length)
{
	const __m128i by_512 = _mm_set_epi64x(X_512_DOWN, X_512_UP);
	const __m128i by_128 = _mm_set_epi64x(X_128_DOWN, X_128_UP);
	const uint8_t *end = bytes + length;
	__m128i lanes[4];

	for (unsigned i = 0; i < 4; i++)
		lanes[i] = load(bytes + 16 * i);
	lanes[0] = _mm_xor_si128(lanes[0], _mm_cvtsi32_si128((int)~crc));
	bytes += FOLD_BYTES;
	for (; (size_t)(end - bytes) >= FOLD_BYTES; bytes += FOLD_BYTES)
		for (unsigned i = 0; i < 4; i++)
			lanes[i] = fold(lanes[i], by_512, load(bytes + 16 * i));
	for (unsigned i = 1; i < 4; i++)
		lanes[i] = fold(lanes[i - 1], by_128, lanes[i]);
	for (; bytes < end; bytes += 16)
		lanes[3] = fold(lanes[3], by_128, load(bytes));
	return ~reduce(lanes[3], by_128);
}

uint32_t coding_crc32(uint32_t crc, const uint8_t *bytes, size_t length)
{
	size_t blocks = length & ~(size_t)15;

	if (blocks < FOLD_BYTES || !__builtin_cpu_supports("pclmul"))
		return (uint32_t)crc32_z(crc, bytes, length);
	crc = fold_all(crc, bytes, blocks);
	return (uint32_t)crc32_z(crc, bytes + blocks, length - blocks);
}
#else
uint32_t coding_crc32(uint32_t crc, const uint8_t *bytes, size_t length)
{
	return (uint32_t)crc32_z(crc, bytes, length);
}
#endif
