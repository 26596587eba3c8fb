// SPDX-License-Identifier: BSD-3-Clause
// Inside app/classify: the digests that fingerprints are told by, and that messages bear. Any core;
// no heap.
#ifndef SLUICE_DIGEST_H
#define SLUICE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define DIGEST_MD5_BYTES    16
#define DIGEST_SHA256_BYTES 32

void digest_md5(const void *bytes, size_t length, uint8_t out[static DIGEST_MD5_BYTES]);
void digest_sha256(const void *bytes, size_t length, uint8_t out[static DIGEST_SHA256_BYTES]);
// CRC-32 of ISO 3309: begins with UINT32_MAX, goes on with what the call before gave; complement
// it.
uint32_t digest_crc32(uint32_t crc, const void *bytes, size_t length);

#endif
