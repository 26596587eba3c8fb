// SPDX-License-Identifier: BSD-3-Clause
// A text buffer that grows as text is put into it.
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_MIN 4096

void text_free(struct text *text)
{
	free(text->bytes);
	*text = (struct text){0};
}

static bool grow(struct text *text, size_t more)
{
	size_t room = text->room ? text->room : ROOM_MIN;
	char *bytes;

	while (room - text->length < more)
		room *= 2;
	bytes = realloc(text->bytes, room);
	if (!bytes) {
		text->failed = true;
		return false;
	}
	text->bytes = bytes;
	text->room = room;
	return true;
}

void text_put(struct text *text, const char *bytes, size_t length)
{
	if (text->failed || (text->room - text->length < length && !grow(text, length)))
		return;
	memcpy(text->bytes + text->length, bytes, length);
	text->length += length;
}

void text_string(struct text *text, const char *string)
{
	text_put(text, string, strlen(string));
}

void text_u64(struct text *text, uint64_t value)
{
	char digits[20], *at = digits + sizeof digits;

	do {
		*--at = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	text_put(text, at, (size_t)(digits + sizeof digits - at));
}

void text_i64(struct text *text, int64_t value)
{
	if (value < 0)
		text_put(text, "-", 1);
	text_u64(text, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void text_seconds(struct text *text, uint64_t ns)
{
	char decimals[10] = ".";
	uint64_t rest = ns % 1000000000;
	size_t length = 10;

	text_u64(text, ns / 1000000000);
	if (!rest)
		return;
	for (size_t i = 9; i >= 1; i--) {
		decimals[i] = (char)('0' + rest % 10);
		rest /= 10;
	}
	while (decimals[length - 1] == '0')
		length--;
	text_put(text, decimals, length);
}
