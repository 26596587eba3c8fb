// SPDX-License-Identifier: BSD-3-Clause
// Looks at the first line of each half.
#include "pipeline/content/speaks_http.h"
#include <string.h>
#include "content/content.h"

// Behind empty lines, which servers pass over.
static struct content_text first_line(const struct content_prefix *prefix, unsigned half)
{
	struct content_text line = {prefix->bytes[half], prefix->length[half]};

	while (line.length && (line.bytes[0] == '\r' || line.bytes[0] == '\n')) {
		line.bytes++;
		line.length--;
	}
	return line;
}

static bool begins(struct content_text line, const char *word)
{
	size_t length = strlen(word);

	return line.length >= length && !memcmp(line.bytes, word, length);
}

static bool has_method(struct content_text line)
{
	static const char *const methods[] = {"GET ", "POST ", "HEAD ", "PUT ", "OPTIONS ",
		"CONNECT ", "DELETE ", "PROPFIND ", "PATCH ", "TRACE "};

	for (unsigned i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (begins(line, methods[i]))
			return true;
	return false;
}

bool content_speaks_http(const struct content_prefix *prefix)
{
	return has_method(first_line(prefix, HALF_C2S)) ||
	       begins(first_line(prefix, HALF_S2C), "HTTP/1.");
}

static bool is_blank(uint8_t byte)
{
	return byte == ' ' || byte == '\t' || byte == '\r';
}

// What stands behind its target; NULL: it does not begin as a request does.
static const uint8_t *behind_target(struct content_text line, const uint8_t *end)
{
	if (!has_method(line))
		return NULL;
	const uint8_t *target = memchr(line.bytes, ' ', line.length);

	while (target < end && *target == ' ')
		target++;
	const uint8_t *behind = target;

	while (behind < end && !is_blank(*behind))
		behind++;
	bool is_target = behind > target &&
			 (*target == '/' || memmem(target, (size_t)(behind - target), "://", 3));

	return is_target ? behind : NULL;
}

bool content_asks_simply(const struct content_prefix *prefix)
{
	struct content_text line = first_line(prefix, HALF_C2S);
	const uint8_t *end = line.length ? memchr(line.bytes, '\n', line.length) : NULL;
	const uint8_t *behind = end ? behind_target(line, end) : NULL;

	while (behind && behind < end && is_blank(*behind))
		behind++;
	return behind && behind == end;
}

bool content_begins_request(const struct content_prefix *prefix)
{
	struct content_text line = first_line(prefix, HALF_C2S);

	return line.length && behind_target(line, line.bytes + line.length);
}
