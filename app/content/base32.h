// SPDX-License-Identifier: BSD-3-Clause
// Base32 of ids on the wire (RFC 4648 section 6, without padding). Pure; any core.
#ifndef SLUICE_CONTENT_BASE32_H
#define SLUICE_CONTENT_BASE32_H

#include <stdbool.h>
#include <stdint.h>

// How many digits `bytes` bytes have.
static inline uint32_t base32_digits(uint32_t bytes)
{
	return (bytes * 8 + 4) / 5;
}

// `n` bytes from as many digits as they have, in either case. Bits that are left over are not
// looked at, as programs do. False: a digit is none.
bool base32_read(const uint8_t *digits, uint8_t *bytes, uint32_t n);

#endif
