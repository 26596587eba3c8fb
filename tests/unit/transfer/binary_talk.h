// SPDX-License-Identifier: BSD-3-Clause
// A conversation of a binary protocol that a test writes as it goes.
#ifndef BINARY_TALK_H
#define BINARY_TALK_H

#include "lib/content/conversation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static uint8_t arena[1u << 20];
static uint32_t used;
static struct conversation talk;
static unsigned n_said;

static inline void put(const void *bytes, uint32_t n)
{
	assert_true(used + n <= sizeof(arena));
	if (n)
		memcpy(arena + used, bytes, n);
	used += n;
}

static inline void put_n(uint64_t number, unsigned n) // little endian
{
	for (unsigned i = 0; i < n; i++, number >>= 8)
		put(&(uint8_t){(uint8_t)number}, 1);
}

static inline void zeros(uint32_t n)
{
	static const uint8_t none[256];

	put(none, n);
}

static inline void set_n(uint32_t at, uint64_t number, unsigned n)
{
	for (unsigned i = 0; i < n; i++, number >>= 8)
		arena[at + i] = (uint8_t)number;
}

static inline void say_bytes(unsigned half, unsigned flags, uint32_t at, uint32_t n)
{
	assert_true(n_said < CONVERSATION_SAID);
	talk.said[n_said++] = (struct said){.half = (uint8_t)half,
		.flags = (uint8_t)flags,
		.length = n,
		.bytes = n ? arena + at : NULL};
}

static inline void begin(const char *name)
{
	used = n_said = 0;
	talk = (struct conversation){.name = name};
}

// A gap, of which no bytes are here.
static inline void say_gap(unsigned half, uint32_t n)
{
	say_bytes(half, SPAN_GAP, 0, 0);
	talk.said[n_said - 1].length = n;
}

static inline void hold_as(const struct content_decoder *decoder, const char *expected)
{
	talk.expected = expected;
	conversations_check(decoder, &talk, 1);
}

#endif
