// SPDX-License-Identifier: BSD-3-Clause
// Lines, words and fields of texts of MSN. Pure; any core.
#ifndef SLUICE_CONTENT_MSN_FIELDS_H
#define SLUICE_CONTENT_MSN_FIELDS_H

#include "content/http/text.h"

static inline struct content_text msn_take(struct content_text *rest, uint8_t separator)
{
	struct content_text taken = {rest->bytes, http_until(*rest, separator)};

	*rest = http_text_from(
		*rest, taken.length < rest->length ? taken.length + 1 : taken.length);
	return taken;
}

// The next word between blanks; empty: there is none.
static inline struct content_text msn_word(struct content_text *rest)
{
	while (rest->length && rest->bytes[0] == ' ')
		*rest = http_text_from(*rest, 1);
	return msn_take(rest, ' ');
}

// The next line without its end.
static inline struct content_text msn_line(struct content_text *rest)
{
	struct content_text line = msn_take(rest, '\n');

	while (line.length && line.bytes[line.length - 1] == '\r')
		line.length--;
	return line;
}

// "Name: value"; false: it is none.
static inline bool msn_field(
	struct content_text line, struct content_text *name, struct content_text *value)
{
	uint32_t colon = http_until(line, ':');

	if (colon == line.length)
		return false;
	*name = http_trim((struct content_text){line.bytes, colon});
	*value = http_trim(http_text_from(line, colon + 1));
	return true;
}

// An account without what names one of its places ("a@b.example;{GUID}").
static inline struct content_text msn_account(struct content_text word)
{
	word.length = http_until(word, ';');
	return word;
}

static inline bool msn_is_account(struct content_text word)
{
	return http_until(word, '@') < word.length;
}

#endif
