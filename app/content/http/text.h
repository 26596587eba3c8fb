// SPDX-License-Identifier: BSD-3-Clause
// Small operations on texts of the HTTP decoder: bytes and a length, never terminated. Any core.
#ifndef SLUICE_CONTENT_HTTP_TEXT_H
#define SLUICE_CONTENT_HTTP_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "content/content.h"
#include "pipeline/vocab/octets.h"

static inline bool http_is_blank(uint8_t byte) // OWS, RFC 9110 section 5.6.3
{
	return byte == ' ' || byte == '\t';
}

static inline bool http_is_token(uint8_t byte) // tchar, RFC 9110 section 5.6.2
{
	uint8_t lower = octets_lower(byte);

	return (lower >= 'a' && lower <= 'z') || octets_digit(byte) ||
	       (byte && strchr("!#$%&'*+-.^_`|~", byte));
}

static inline struct content_text http_text_from(struct content_text text, uint32_t offset)
{
	if (offset > text.length)
		offset = text.length;
	if (!offset) // nothing is added to a NULL
		return text;
	return (struct content_text){text.bytes + offset, text.length - offset};
}

static inline struct content_text http_trim(struct content_text text)
{
	while (text.length && http_is_blank(text.bytes[0]))
		text = http_text_from(text, 1);
	while (text.length && http_is_blank(text.bytes[text.length - 1]))
		text.length--;
	return text;
}

// How far it goes without `byte`.
static inline uint32_t http_until(struct content_text text, uint8_t byte)
{
	const uint8_t *at = text.length ? memchr(text.bytes, byte, text.length) : NULL;

	return at ? (uint32_t)(at - text.bytes) : text.length;
}

// `lower` is in lower case; letters of the text are either.
static inline bool http_is(struct content_text text, const char *lower)
{
	uint32_t i = 0;

	while (i < text.length && lower[i] && octets_lower(text.bytes[i]) == (uint8_t)lower[i])
		i++;
	return i == text.length && !lower[i];
}

static inline bool http_begins(struct content_text text, const char *lower)
{
	uint32_t length = (uint32_t)strlen(lower);

	if (text.length < length)
		return false;
	text.length = length;
	return http_is(text, lower);
}

static inline bool http_same(struct content_text a, struct content_text b)
{
	return a.length == b.length && (!a.length || !memcmp(a.bytes, b.bytes, a.length));
}

// A decimal number of digits alone, up to 2^63 - 1.
static inline bool http_number(struct content_text text, uint64_t *out)
{
	uint64_t value = 0;

	for (uint32_t i = 0; i < text.length; i++) {
		if (!octets_digit(text.bytes[i]))
			return false;
		uint64_t digit = text.bytes[i] - '0';

		if (value > (INT64_MAX - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*out = value;
	return text.length;
}

// The next member of a list (RFC 9110 section 5.6.1), trimmed; it may be empty. False: no more.
static inline bool http_list_next(struct content_text *rest, struct content_text *member)
{
	if (!rest->bytes)
		return false;
	uint32_t length = http_until(*rest, ',');

	*member = http_trim((struct content_text){rest->bytes, length});
	*rest = length < rest->length ? http_text_from(*rest, length + 1)
				      : (struct content_text){NULL, 0};
	return true;
}

#endif
