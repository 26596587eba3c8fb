// SPDX-License-Identifier: BSD-3-Clause
// Reads base32, as clients of file sharing do.
#include "content/base32.h"

#include "pipeline/vocab/octets.h"

static int value_of(uint8_t digit)
{
	uint8_t lower = octets_lower(digit);

	if (lower >= 'a' && lower <= 'z')
		return lower - 'a';
	return digit >= '2' && digit <= '7' ? digit - '2' + 26 : -1;
}

bool base32_read(const uint8_t *digits, uint8_t *bytes, uint32_t n)
{
	uint32_t bits = 0, kept = 0, at = 0;

	for (uint32_t i = 0; i < base32_digits(n); i++) {
		int value = value_of(digits[i]);

		if (value < 0)
			return false;
		bits = bits << 5 | (uint32_t)value;
		kept += 5;
		if (kept >= 8 && at < n) {
			kept -= 8;
			bytes[at++] = (uint8_t)(bits >> kept);
			bits &= (1u << kept) - 1;
		}
	}
	return true;
}
