// SPDX-License-Identifier: BSD-3-Clause
// Reading bytes from the wire for the verifiers and decoders in proto/: lines and words of text
// protocols, big-endian numbers of binary ones. Nothing is copied, nothing is trusted: a text is
// a place and a length, and no function here reads beyond it. Any core; no state.
#ifndef SLUICE_TEXT_H
#define SLUICE_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "classify/app_proto.h"
#include "pipeline/vocab/octets.h"

struct text {
	const uint8_t *at;
	uint32_t length;
};

// What can be read of a span: nothing of a gap.
static inline struct text span_text(const struct span *span)
{
	uint32_t length = span_length(span);

	return (struct text){length ? span_bytes(span) : span_nothing(), length};
}

// The half of a probe that grew.
static inline struct text probe_text(const struct probe *probe)
{
	return (struct text){probe->bytes, probe->length};
}

// The halves of a probe by their direction, whichever of them grew.
static inline struct text text_of(const struct probe *probe, enum half half)
{
	if (probe->half == half)
		return probe_text(probe);
	return (struct text){probe->peer, probe->peer_length};
}

static inline bool text_is_letter(uint8_t byte)
{
	byte = octets_lower(byte);
	return byte >= 'a' && byte <= 'z';
}

static inline struct text text_from(struct text text, uint32_t offset)
{
	if (offset > text.length)
		offset = text.length;
	if (!offset) // nothing is added to a NULL
		return text;
	return (struct text){text.at + offset, text.length - offset};
}

// Without regard to case (ASCII), as the text protocols of the RFCs compare.
static inline bool text_begins(struct text text, const char *word)
{
	uint32_t i = 0;

	for (; word[i]; i++)
		if (i >= text.length || octets_lower(text.at[i]) != octets_lower((uint8_t)word[i]))
			return false;
	return true;
}

static inline bool text_is(struct text text, const char *word)
{
	return text.length == strlen(word) && text_begins(text, word);
}

// One of a NULL-terminated list.
static inline bool text_is_among(struct text text, const char *const words[])
{
	for (unsigned i = 0; words[i]; i++)
		if (text_is(text, words[i]))
			return true;
	return false;
}

static inline bool text_contains(struct text text, const char *word)
{
	for (; text.length; text = text_from(text, 1))
		if (text_begins(text, word))
			return true;
	return false;
}

static inline bool text_contains_byte(struct text text, uint8_t byte)
{
	return text.length && memchr(text.at, byte, text.length);
}

// Takes a whole line off `rest`, without its LF or CR LF. False: there is none yet.
static inline bool text_take_line(struct text *rest, struct text *line)
{
	const uint8_t *end = rest->length ? memchr(rest->at, '\n', rest->length) : NULL;

	if (!end)
		return false;
	uint32_t length = (uint32_t)(end - rest->at);

	*line = (struct text){rest->at, length && end[-1] == '\r' ? length - 1 : length};
	*rest = text_from(*rest, length + 1);
	return true;
}

// Takes the bytes up to `separator` (all of them if it is not there) and the separator off `rest`.
static inline struct text text_take(struct text *rest, uint8_t separator)
{
	const uint8_t *end = rest->length ? memchr(rest->at, separator, rest->length) : NULL;
	uint32_t length = end ? (uint32_t)(end - rest->at) : rest->length;
	struct text taken = {rest->at, length};

	*rest = text_from(*rest, end ? length + 1 : length);
	return taken;
}

// Takes a word that ends at white space, and the white space around it.
static inline struct text text_take_word(struct text *rest)
{
	uint32_t i = 0, begin;

	while (i < rest->length && (rest->at[i] == ' ' || rest->at[i] == '\t'))
		i++;
	begin = i;
	while (i < rest->length && rest->at[i] != ' ' && rest->at[i] != '\t')
		i++;
	struct text word = {rest->at + begin, i - begin};

	while (i < rest->length && (rest->at[i] == ' ' || rest->at[i] == '\t'))
		i++;
	*rest = text_from(*rest, i);
	return word;
}

// A decimal number without sign; false if it is none, or greater than `max`.
static inline bool text_number(struct text text, uint64_t max, uint64_t *number)
{
	uint64_t value = 0;

	if (!text.length || text.length > 19)
		return false;
	for (uint32_t i = 0; i < text.length; i++) {
		if (!octets_digit(text.at[i]))
			return false;
		value = 10 * value + (text.at[i] - (uint64_t)'0');
	}
	*number = value;
	return value <= max;
}

static inline bool text_is_number(struct text text)
{
	uint64_t number;

	return text_number(text, UINT64_MAX, &number);
}

// No control characters but the tab: what a line of a text protocol may hold.
static inline bool text_is_printable(struct text text)
{
	for (uint32_t i = 0; i < text.length; i++)
		if ((text.at[i] < ' ' && text.at[i] != '\t') || text.at[i] == 0x7f)
			return false;
	return true;
}

// A reply line of FTP, SMTP, NNTP: three digits, then a blank, '-' (more lines follow) or nothing
// (RFC 959 4.2, RFC 5321 4.2.1). 0: it is none.
static inline unsigned text_reply_code(struct text line)
{
	if (line.length < 3 || !octets_digit(line.at[0]) || !octets_digit(line.at[1]) ||
		!octets_digit(line.at[2]))
		return 0;
	if (line.length > 3 && line.at[3] != ' ' && line.at[3] != '-')
		return 0;
	return 100u * (line.at[0] - '0') + 10u * (line.at[1] - '0') + (line.at[2] - '0');
}

// octets.h has the lengths that more protocols use.
static inline uint32_t text_be24(const uint8_t *at)
{
	return (uint32_t)at[0] << 16 | (uint32_t)at[1] << 8 | at[2];
}

#endif
