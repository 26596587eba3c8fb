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

bool content_asks_simply(const struct content_prefix *prefix)
{
	struct content_text line = first_line(prefix, HALF_C2S);
	const uint8_t *end = line.length ? memchr(line.bytes, '\n', line.length) : NULL;

	if (!end || !has_method(line))
		return false;
	const uint8_t *target = memchr(line.bytes, ' ', line.length);

	while (target < end && *target == ' ')
		target++;
	const uint8_t *behind = target;

	while (behind < end && *behind != ' ' && *behind != '\t' && *behind != '\r')
		behind++;
	if (*target != '/' && !memmem(target, (size_t)(behind - target), "://", 3))
		return false;
	while (behind < end && (*behind == ' ' || *behind == '\t' || *behind == '\r'))
		behind++;
	return behind == end;
}
