// SPDX-License-Identifier: BSD-3-Clause
// Inside app/classify: bencoding (BEP 3) read in place. A cursor never passes its end; a false
// answer leaves it anywhere, and the value is not to be used. Pure.
#ifndef SLUICE_BENCODE_H
#define SLUICE_BENCODE_H

#include <stdbool.h>
#include <stdint.h>

struct bencode {
	const uint8_t *at;
	const uint8_t *end;
};

// A byte string; false if it is none or reaches beyond the end.
bool bencode_string(struct bencode *in, const uint8_t **text, uint32_t *length);
// A number that fits; others are refused.
bool bencode_number(struct bencode *in, int64_t *number);
// One value of any type and depth: one pass over its bytes, no recursion.
bool bencode_skip(struct bencode *in);
// Inside a dictionary (behind its 'd'): the next key, with the cursor at its value. False at the
// dictionary's end, or where it is broken.
bool bencode_key(struct bencode *in, const uint8_t **key, uint32_t *length);
// The value of `key` in the dictionary that begins at the cursor (which is copied). False: there is
// none before what is here ends.
bool bencode_find(struct bencode dictionary, const char *key, struct bencode *value);

#endif
