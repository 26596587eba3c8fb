// SPDX-License-Identifier: BSD-3-Clause
// The plain functions, for the reason that quic_keys.c gives: libcrypto 3.0 takes heap for each
// digest by EVP.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "classify/digest.h"
#include <openssl/md5.h>
#include <openssl/sha.h>

void digest_md5(const void *bytes, size_t length, uint8_t out[static DIGEST_MD5_BYTES])
{
	MD5_CTX ctx;

	MD5_Init(&ctx);
	MD5_Update(&ctx, bytes, length);
	MD5_Final(out, &ctx);
}

void digest_sha256(const void *bytes, size_t length, uint8_t out[static DIGEST_SHA256_BYTES])
{
	SHA256_CTX ctx;

	SHA256_Init(&ctx);
	SHA256_Update(&ctx, bytes, length);
	SHA256_Final(out, &ctx);
}

// Four bits at a time.
uint32_t digest_crc32(uint32_t crc, const void *bytes, size_t length)
{
	static const uint32_t table[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
		0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8,
		0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
	const uint8_t *at = bytes;

	for (size_t i = 0; i < length; i++) {
		crc ^= at[i];
		crc = crc >> 4 ^ table[crc & 15];
		crc = crc >> 4 ^ table[crc & 15];
	}
	return crc;
}
