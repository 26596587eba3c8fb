// SPDX-License-Identifier: BSD-3-Clause
// Addresses of 16 octets, IPv4 as IPv6 writes it: ::ffff:192.0.2.7.
#ifndef SLUICE_ADDRESS_H
#define SLUICE_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline bool address_is_mapped(const uint8_t address[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return !memcmp(address, mapped, sizeof(mapped));
}

// Who is counted for it, to be hashed: an IPv4 address, of IPv6 the /64.
static inline void address_source(const uint8_t address[16], uint64_t words[2])
{
	memcpy(words, address, 16);
	if (!address_is_mapped(address))
		words[1] = 0;
}

#endif
