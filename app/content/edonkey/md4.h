// SPDX-License-Identifier: BSD-3-Clause
// MD4 (RFC 1320), by which eDonkey names files and proves their parts. Its own few lines: libcrypto
// has it in a provider that hosts may lack. Not for secrets. Any core; no state but the caller's.
#ifndef SLUICE_CONTENT_MD4_H
#define SLUICE_CONTENT_MD4_H

#include <stdint.h>

#define MD4_BYTES 16

struct md4 {
	uint64_t length; // bytes so far
	uint32_t sums[4];
	uint8_t block[64]; // what is not a whole block yet
};

void md4_begin(struct md4 *md4);
void md4_add(struct md4 *md4, const uint8_t *bytes, uint64_t length);
// Nothing can be added behind it.
void md4_end(struct md4 *md4, uint8_t digest[MD4_BYTES]);

#endif
