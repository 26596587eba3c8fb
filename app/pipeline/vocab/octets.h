// SPDX-License-Identifier: BSD-3-Clause
// Numbers and characters of ASCII in bytes from the wire. Callers have checked the length.
#ifndef SLUICE_OCTETS_H
#define SLUICE_OCTETS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t octets_be16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static inline uint32_t octets_be32(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static inline uint16_t octets_le16(const uint8_t *at)
{
	return (uint16_t)(at[1] << 8 | at[0]);
}

static inline uint32_t octets_le32(const uint8_t *at)
{
	return (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0];
}

static inline bool octets_upper(uint8_t octet)
{
	return octet >= 'A' && octet <= 'Z';
}

static inline uint8_t octets_lower(uint8_t octet)
{
	return octets_upper(octet) ? (uint8_t)(octet + ('a' - 'A')) : octet;
}

static inline bool octets_digit(uint8_t octet)
{
	return octet >= '0' && octet <= '9';
}

static inline int octets_hex(uint8_t octet) // value, or -1
{
	if (octets_digit(octet))
		return octet - '0';
	octet |= 0x20;
	return octet >= 'a' && octet <= 'f' ? octet - 'a' + 10 : -1;
}

static inline bool octets_begin(const uint8_t *at, uint32_t length, const char *text)
{
	size_t n = strlen(text);

	return length >= n && !memcmp(at, text, n);
}

static inline bool octets_have(const uint8_t *at, uint32_t length, const char *text)
{
	return at && memmem(at, length, text, strlen(text)) != NULL;
}

#endif
