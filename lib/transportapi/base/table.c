// SPDX-License-Identifier: BSD-3-Clause
// The key is drawn once per process and never changes after: the one thing here that is global,
// since uthash's macros have no argument for it.
#include "transportapi/base/table.h"

#include <sodium.h>
#include <string.h>

uint32_t tapi_table_hash(const void *key, size_t length)
{
	static uint8_t secret[crypto_shorthash_KEYBYTES];
	static bool drawn;
	uint8_t out[crypto_shorthash_BYTES];
	uint32_t hash;

	if (!drawn) {
		randombytes_buf(secret, sizeof(secret));
		drawn = true;
	}
	crypto_shorthash(out, key, length, secret);
	memcpy(&hash, out, sizeof(hash));
	return hash;
}
