// SPDX-License-Identifier: BSD-3-Clause
// Puts a handshake message together from parts that come in any order.
#include <assert.h>
#include <string.h>
#include "classify/handshake/hello_parts.h"

static_assert(HELLO_PARTS_BYTES % 64 == 0, "whole words of marks");

void hello_parts_clear(struct hello_parts *parts)
{
	memset(parts->here, 0, sizeof(parts->here)); // the bytes mean nothing without their marks
}

static bool has(const struct hello_parts *parts, uint32_t at)
{
	return parts->here[at / 64] >> (at % 64) & 1;
}

bool hello_parts_add(
	struct hello_parts *parts, uint64_t offset, const uint8_t *bytes, uint32_t length)
{
	bool grown = false;

	if (offset >= HELLO_PARTS_BYTES)
		return false;
	uint32_t at = (uint32_t)offset;

	if (length > HELLO_PARTS_BYTES - at)
		length = HELLO_PARTS_BYTES - at;
	for (uint32_t i = 0; i < length; i++, at++) {
		if (has(parts, at))
			continue;
		parts->here[at / 64] |= (uint64_t)1 << (at % 64);
		parts->bytes[at] = bytes[i];
		grown = true;
	}
	return grown;
}

bool hello_parts_agree(
	const struct hello_parts *parts, uint64_t offset, const uint8_t *bytes, uint32_t length)
{
	for (uint32_t i = 0; i < length && offset + i < HELLO_PARTS_BYTES; i++) {
		uint32_t at = (uint32_t)(offset + i);

		if (has(parts, at) && parts->bytes[at] != bytes[i])
			return false;
	}
	return true;
}

uint32_t hello_parts_length(const struct hello_parts *parts)
{
	for (uint32_t i = 0; i < HELLO_PARTS_BYTES / 64; i++)
		if (~parts->here[i])
			return i * 64 + (uint32_t)__builtin_ctzll(~parts->here[i]);
	return HELLO_PARTS_BYTES;
}
