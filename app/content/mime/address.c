// SPDX-License-Identifier: BSD-3-Clause
// The addresses of a field: what stands in angle brackets, or the whole of a member without them.
#include "content/http/text.h"
#include "content/mime/work.h"

// Where in a field a byte stands.
struct place {
	uint32_t depth; // of comments
	bool quoted, in_brackets;
	bool escapes; // the byte before it is a backslash that does
};

// True: the byte is of a quoted text or a comment, and means nothing.
static bool is_hidden(struct place *place, uint8_t byte)
{
	if (place->escapes) {
		place->escapes = false;
		return true;
	}
	place->escapes = byte == '\\' && (place->quoted || place->depth);
	if (byte == '"' && !place->depth)
		place->quoted = !place->quoted;
	if (place->quoted)
		return true;
	if (byte == '(' && !place->in_brackets)
		place->depth++;
	else if (byte == ')' && place->depth)
		place->depth--;
	return place->depth;
}

// How far the member goes: to a comma, or the ';' of a group, outside of quotes, comments and
// brackets. *open, *close: of the brackets; close 0: there are none.
static uint32_t member_length(struct content_text text, uint32_t *open, uint32_t *close)
{
	struct place place = {.depth = 0};

	*open = *close = 0;
	for (uint32_t i = 0; i < text.length; i++) {
		uint8_t byte = text.bytes[i];

		if (is_hidden(&place, byte))
			continue;
		if (byte == '<') {
			place.in_brackets = true;
			*open = i + 1;
		} else if (byte == '>' && place.in_brackets) {
			place.in_brackets = false;
			*close = i;
		} else if ((byte == ',' || byte == ';') && !place.in_brackets) {
			return i;
		}
	}
	return text.length;
}

// Without a comment around it, and without the name of a group before it.
static struct content_text bare(struct content_text member)
{
	uint32_t colon = http_until(member, ':');

	if (colon < member.length)
		member = http_text_from(member, colon + 1);
	member = http_trim(member);
	if (member.length && member.bytes[0] != '(')
		member.length = http_until(member, '(');
	return http_trim(member);
}

uint32_t mime_addresses(
	struct content_text value, uint8_t *out, uint32_t length, uint32_t size, bool *full)
{
	uint32_t open, close;

	while (value.length) {
		uint32_t here = member_length(value, &open, &close);
		struct content_text member = {value.bytes, here};

		if (close > open)
			member = http_trim((struct content_text){value.bytes + open, close - open});
		else
			member = bare(member);
		value = http_text_from(value, here + 1);
		if (!member.length)
			continue;
		if (member.length + (length > 0) > size - length) {
			*full = true;
			return length;
		}
		if (length)
			out[length++] = ',';
		memcpy(out + length, member.bytes, member.length);
		length += member.length;
	}
	return length;
}
