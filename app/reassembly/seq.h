// SPDX-License-Identifier: BSD-3-Clause
// Sequence number arithmetic modulo 2^32 (RFC 9293 section 3.4).
#ifndef SLUICE_SEQ_H
#define SLUICE_SEQ_H

#include <stdbool.h>
#include <stdint.h>

static inline bool seq_lt(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

static inline bool seq_le(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) <= 0;
}

#endif
