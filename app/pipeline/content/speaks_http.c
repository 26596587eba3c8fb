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

// Its last word is the version of another protocol (SIP/2.0, RTSP/1.0), if the line is whole.
static bool has_other_version(struct content_text line)
{
	const uint8_t *end = memchr(line.bytes, '\n', line.length), *word;

	if (!end)
		return false;
	while (end > line.bytes && (end[-1] == '\r' || end[-1] == ' '))
		end--;
	for (word = end; word > line.bytes && word[-1] != ' ';)
		word--;
	const uint8_t *slash = memchr(word, '/', (size_t)(end - word));

	if (!slash || slash == word || slash + 1 == end || slash[1] < '0' || slash[1] > '9' ||
		!memcmp(word, "HTTP", RTE_MIN((size_t)(slash - word), (size_t)4)))
		return false;
	for (const uint8_t *at = word; at < slash; at++)
		if (*at < 'A' || *at > 'Z')
			return false;
	return true;
}

static bool has_method(struct content_text line)
{
	static const char *const methods[] = {"GET ", "POST ", "HEAD ", "PUT ", "OPTIONS ",
		"CONNECT ", "DELETE ", "PROPFIND ", "PATCH ", "TRACE "};

	for (unsigned i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (begins(line, methods[i]))
			return !has_other_version(line);
	return false;
}

// Empty lines, and too little behind them to tell, as far as anything is kept: servers of HTTP pass
// over any number of them.
static bool is_empty_lines(const struct content_prefix *prefix)
{
	return prefix->length[HALF_C2S] >= CLASSIFY_PREFIX_BYTES &&
	       first_line(prefix, HALF_C2S).length < sizeof("GET / ");
}

bool content_speaks_http(const struct content_prefix *prefix)
{
	return has_method(first_line(prefix, HALF_C2S)) || is_empty_lines(prefix) ||
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

	return is_empty_lines(prefix) ||
	       (line.length && behind_target(line, line.bytes + line.length));
}
