// SPDX-License-Identifier: BSD-3-Clause
// Inside app/classify: do bytes look like chance, as ciphertext, keys and padding do? Short samples
// cannot prove it: the tests refuse what has a structure that anybody sees (text, lengths in front,
// runs, many zeros, few values), and let about one in a thousand of really random samples go, too.
// Pure.
#ifndef SLUICE_RANDOMNESS_H
#define SLUICE_RANDOMNESS_H

#include <stdbool.h>
#include <stdint.h>

#define CHANCE_MIN_BYTES 32   // fewer say nothing
#define CHANCE_MAX_BYTES 1024 // more are not looked at

bool randomness_looks_random(const uint8_t *bytes, uint32_t length);
// A number at the front, of 16 or 32 bits in either order, that is the length of all, or of what
// follows it give or take a few fields: the bytes are framed.
bool randomness_is_framed(const uint8_t *bytes, uint32_t length);

#endif
