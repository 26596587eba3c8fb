// SPDX-License-Identifier: BSD-3-Clause
// For tests of content codings: what the libraries' own encoders make of bytes, and a decoder that
// is fed in any pieces and held to the contract of coding_feed() in each.
#ifndef SLUICE_TEST_CODING_RIG_H
#define SLUICE_TEST_CODING_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "content/coding.h"

struct octets {
	uint8_t *at;
	size_t length;
};

enum form {
	FORM_GZIP,
	FORM_ZLIB,
	FORM_RAW,
	FORM_BR,
	FORM_ZSTD,
};
#define FORMS 5

struct encoding {
	enum form form;
	int level;
	int window_log; // br, zstd; 0: as the library likes
	bool checksum;  // zstd
};

enum coding_kind kind_of(enum form form);

// The heap's; octets_free() takes it.
struct octets encode(const struct encoding *encoding, struct octets plain);
struct octets octets_of(const void *at, size_t length);
struct octets octets_join(struct octets first, struct octets second); // new; both stay
void octets_free(struct octets octets);

enum texture {
	TEXTURE_TEXT,
	TEXTURE_NOISE,
	TEXTURE_ZEROS,
};
struct octets plain_of(enum texture texture, size_t length, uint64_t seed);

// How input and room are cut: in pieces of that size, or with a seed of any size up to it.
struct cuts {
	uint32_t in, out; // 0: all at once, or 64 KiB of room
	uint64_t seed;
	bool late; // `last` comes with no input, after all of it
};

struct outcome {
	enum coding_state state;
	struct octets told;
	size_t taken;
};

// Fails the test where a call does not go on, or says what is not so. Each piece and each room
// ends where its block of the heap ends.
struct outcome decode(struct coding *coding, struct octets coded, const struct cuts *cuts);
// The same by a decoder of its own, which is to give back all memory.
struct outcome decode_whole(enum coding_kind kind, struct octets coded, const struct cuts *cuts);
void expect_decoded(enum coding_kind kind, struct octets coded, const struct cuts *cuts,
	enum coding_state state, struct octets plain);

uint32_t random_below(uint64_t *seed, uint32_t n);
uint64_t memory_used(const struct content_memory *memory);

#endif
