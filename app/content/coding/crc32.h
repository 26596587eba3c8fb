// SPDX-License-Identifier: BSD-3-Clause
// The checksum of gzip (RFC 1952 section 8), as zlib's crc32(), at a fraction of its cost on CPUs
// that multiply without carries (PCLMULQDQ). Any core; no state.
#ifndef SLUICE_CONTENT_CODING_CRC32_H
#define SLUICE_CONTENT_CODING_CRC32_H

#include <stddef.h>
#include <stdint.h>

// `crc`: of what comes before, 0 where nothing does.
uint32_t coding_crc32(uint32_t crc, const uint8_t *bytes, size_t length);

#endif
