// SPDX-License-Identifier: BSD-3-Clause
// MD5 (RFC 1321) of one block and RC4, as eMule's obfuscation has them. Their own few lines:
// libcrypto has both only behind contexts from the heap, and RC4 only with a provider that hosts
// may lack. Not for secrets. Any core; no state but the caller's.
#ifndef SLUICE_CIPHER_OLD_H
#define SLUICE_CIPHER_OLD_H

#include <stdint.h>

#define MD5_BLOCK_MAX 55 // octets that fit one block with its padding

void md5_block(
	const uint8_t *bytes, uint32_t length, uint8_t digest[16]); // length <= MD5_BLOCK_MAX

struct rc4 {
	uint8_t state[256];
	uint8_t i, j;
};

void rc4_key(struct rc4 *rc4, const uint8_t *key, uint32_t length);
// In place, or from one place to another; `in` NULL: that much of the stream is thrown away.
void rc4_stream(struct rc4 *rc4, const uint8_t *in, uint8_t *out, uint32_t length);

#endif
