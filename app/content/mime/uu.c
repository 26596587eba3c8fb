// SPDX-License-Identifier: BSD-3-Clause
// Lines of uuencode (POSIX uuencode) and of yEnc (yEnc draft 1.3).
#include "content/http/text.h"
#include "content/mime/work.h"

#define UU_MOST 2 // characters behind a line that some programs put there (a checksum)

int mime_uu_line(const uint8_t *line, uint32_t length, uint8_t out[64])
{
	uint32_t n, need;

	if (!length)
		return -1;
	n = (line[0] - ' ') & 63u;
	need = (n + 2) / 3 * 4;
	if (length - 1 > need + UU_MOST)
		return -1;
	for (uint32_t i = 0; i < length; i++)
		if (line[i] < ' ' || line[i] > '`')
			return -1;
	// blanks at its end may have been taken off on the way
	for (uint32_t i = 0; i < n; i += 3) {
		uint32_t bits = 0;

		for (uint32_t at = i / 3 * 4 + 1, k = 0; k < 4; at++, k++)
			bits = bits << 6 | (at < length ? (line[at] - ' ') & 63u : 0);
		for (uint32_t k = 0; k < 3 && i + k < n; k++)
			out[i + k] = (uint8_t)(bits >> (16 - 8 * k));
	}
	return (int)n;
}

bool mime_uu_begins(struct content_text line, struct content_text *name)
{
	uint32_t digits = 0;

	if (!http_begins(line, "begin ") || line.bytes[0] != 'b')
		return false;
	line = http_trim(http_text_from(line, sizeof("begin ") - 1));
	while (digits < line.length && line.bytes[digits] >= '0' && line.bytes[digits] <= '7')
		digits++;
	if (digits < 3 || digits > 6 || digits == line.length || !http_is_blank(line.bytes[digits]))
		return false;
	*name = http_trim(http_text_from(line, digits));
	return name->length;
}

bool mime_yenc_is(struct content_text line, const char *word)
{
	uint32_t length = (uint32_t)strlen(word);

	return http_begins(line, word) && (line.length == length || line.bytes[length] == ' ');
}

// What stands behind " KEY"; a name is the last one, and may hold anything.
static struct content_text value_of(struct content_text line, const char *key)
{
	uint32_t length = (uint32_t)strlen(key);

	for (uint32_t i = http_until(line, ' '); i < line.length; i++) {
		struct content_text rest = http_text_from(line, i + 1);

		if (line.bytes[i] != ' ')
			continue;
		if (http_begins(rest, key))
			return http_text_from(rest, length);
		if (http_begins(rest, "name="))
			break;
	}
	return (struct content_text){NULL, 0};
}

bool mime_yenc_number(struct content_text line, const char *key, uint64_t *out)
{
	struct content_text value = value_of(line, key);

	value.length = http_until(value, ' ');
	return http_number(value, out);
}

struct content_text mime_yenc_name(struct content_text line)
{
	return http_trim(value_of(line, "name="));
}
