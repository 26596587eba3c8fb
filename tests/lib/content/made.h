// SPDX-License-Identifier: BSD-3-Clause
// Conversations that a test makes: of protocols whose messages are binary, and have lengths.
#ifndef MADE_H
#define MADE_H

#include "lib/content/conversation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct {
	struct conversation conversation;
	unsigned said;
	uint32_t length;
	uint8_t bytes[65536];
} made;

static inline void made_begin(const char *name)
{
	made.conversation = (struct conversation){.name = name};
	made.said = 0;
	made.length = 0;
}

static inline void made_put(const void *bytes, size_t length)
{
	assert_true(made.length + length <= sizeof(made.bytes));
	memcpy(made.bytes + made.length, bytes, length);
	made.length += (uint32_t)length;
}

static inline void made_put_text(const char *text)
{
	made_put(text, strlen(text));
}

// A number of so many octets.
static inline void made_put_le(uint64_t value, unsigned octets)
{
	for (unsigned i = 0; i < octets; i++) {
		uint8_t octet = (uint8_t)(value >> 8 * i);

		made_put(&octet, 1);
	}
}

static inline void made_put_be(uint64_t value, unsigned octets)
{
	while (octets--) {
		uint8_t octet = (uint8_t)(value >> 8 * octets);

		made_put(&octet, 1);
	}
}

static inline void made_add(struct said said)
{
	assert_true(made.said < CONVERSATION_SAID);
	made.conversation.said[made.said++] = said;
}

// What was put since `from` is said by a half.
static inline void made_say(unsigned half, uint32_t from)
{
	made_add((struct said)SAID_BYTES(half, 0, made.length - from, made.bytes + from));
}

static inline void made_check(const struct content_decoder *decoder, const char *expected)
{
	made.conversation.expected = expected;
	conversations_check(decoder, &made.conversation, 1);
}

#endif
