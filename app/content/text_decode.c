// SPDX-License-Identifier: BSD-3-Clause
// Undoes what transport puts around text. Each look ahead ends at a character that a second one
// cannot pass, so that no byte is looked at more than a few times.
#include "content/text_decode.h"
#include "content/charset.h"
#include "pipeline/vocab/octets.h"

#include <stdbool.h>
#include <string.h>

uint32_t text_decode_percent(const uint8_t *bytes, uint32_t length, uint8_t *out)
{
	struct text_source source = {.bytes = bytes, .length = length, .percent = true};
	uint32_t n = 0;
	int byte;

	while ((byte = text_source_next(&source)) >= 0)
		out[n++] = (uint8_t)byte;
	return n;
}

struct writer {
	struct charset_decoder decoder;
	struct text_out out;
};

static void write_byte(struct writer *writer, uint8_t byte)
{
	int32_t points[2];
	unsigned n = charset_push(&writer->decoder, byte, points);

	for (unsigned i = 0; i < n; i++)
		text_out_put(&writer->out, points[i]);
}

static void write_end(struct writer *writer)
{
	int32_t points[2];
	unsigned n = charset_end(&writer->decoder, points);

	for (unsigned i = 0; i < n; i++)
		text_out_put(&writer->out, points[i]);
}

struct encoded_word {
	enum text_charset charset;
	bool base64;
	struct text_source text;
	uint32_t end; // the byte behind it
};

// =?CHARSET*LANGUAGE?B?TEXT?=
static bool find_word(const uint8_t *bytes, uint32_t length, uint32_t at, struct encoded_word *word)
{
	const uint8_t *end = bytes + length, *from = bytes + at, *name, *question, *star;

	if (length - at < 2 || from[0] != '=' || from[1] != '?')
		return false;
	name = from + 2;
	question = memchr(name, '?', (size_t)(end - name));
	if (!question || end - question < 3 || question[2] != '?')
		return false;
	star = memchr(name, '*', (size_t)(question - name));
	uint32_t named = (uint32_t)((star ? star : question) - name);

	word->charset = charset_by_name(name, named);
	if (word->charset == CHARSET_UNKNOWN && charset_has_ascii(name, named))
		word->charset = CHARSET_LATIN1;
	word->base64 = (question[1] | 0x20) == 'b';
	if (word->charset == CHARSET_UNKNOWN || (!word->base64 && (question[1] | 0x20) != 'q'))
		return false;
	from = question + 3;
	question = memchr(from, '?', (size_t)(end - from));
	if (!question || end - question < 2 || question[1] != '=')
		return false;
	word->text = (struct text_source){.bytes = from, .length = (uint32_t)(question - from)};
	word->end = (uint32_t)(question + 2 - bytes);
	return true;
}

static int base64_value(uint8_t byte)
{
	if (byte >= 'A' && byte <= 'Z')
		return byte - 'A';
	if (byte >= 'a' && byte <= 'z')
		return byte - 'a' + 26;
	if (byte >= '0' && byte <= '9')
		return byte - '0' + 52;
	if (byte == '+')
		return 62;
	return byte == '/' ? 63 : -1;
}

// What is not of the alphabet is passed over (RFC 2045, section 6.8).
static void write_base64(struct writer *writer, const struct text_source *text)
{
	uint32_t bits = 0, n_bits = 0;

	for (uint32_t i = 0; i < text->length && text->bytes[i] != '='; i++) {
		int value = base64_value(text->bytes[i]);

		if (value < 0)
			continue;
		bits = (bits << 6 | (uint32_t)value) & 0xffff;
		n_bits += 6;
		if (n_bits >= 8) {
			n_bits -= 8;
			write_byte(writer, (uint8_t)(bits >> n_bits));
		}
	}
}

// '=' with two digits is a byte, '_' a blank.
static void write_quoted(struct writer *writer, const struct text_source *text)
{
	for (uint32_t i = 0; i < text->length; i++) {
		uint8_t byte = text->bytes[i] == '_' ? ' ' : text->bytes[i];
		int escaped = -1;

		if (byte == '=' && text->length - i >= 3)
			escaped = text_hex_pair(text->bytes + i + 1);
		if (escaped >= 0)
			i += 2;
		write_byte(writer, escaped >= 0 ? (uint8_t)escaped : byte);
	}
}

static uint32_t behind_blanks(const uint8_t *bytes, uint32_t length, uint32_t at)
{
	while (at < length && bytes[at] && strchr(" \t\r\n", bytes[at]))
		at++;
	return at;
}

uint32_t text_decode_words(const uint8_t *bytes, uint32_t length, uint8_t *out, uint32_t size)
{
	const struct text_source all = {.bytes = bytes, .length = length};
	struct writer words = {.out = {.bytes = out, .size = size}};
	enum text_charset plain = charset_guess(&all);
	struct encoded_word word;
	bool in_words = false;

	// there are no words in UTF-16
	plain = plain == CHARSET_UTF8 ? CHARSET_UTF8 : CHARSET_LATIN1;
	charset_begin(&words.decoder, plain);
	for (uint32_t at = 0; at < length && !text_is_cut(&words.out);) {
		uint32_t next = in_words ? behind_blanks(bytes, length, at) : at;

		if (find_word(bytes, length, next, &word)) {
			if (!in_words || word.charset != words.decoder.charset) {
				write_end(&words);
				charset_begin(&words.decoder, word.charset);
			}
			in_words = true;
			if (word.base64)
				write_base64(&words, &word.text);
			else
				write_quoted(&words, &word.text);
			at = word.end;
			continue;
		}
		if (in_words) {
			write_end(&words);
			charset_begin(&words.decoder, plain);
			in_words = false;
		}
		write_byte(&words, bytes[at++]);
	}
	write_end(&words);
	return words.out.written;
}

uint32_t text_decode_extended(const uint8_t *bytes, uint32_t length, uint8_t *out, uint32_t size)
{
	struct writer value = {.out = {.bytes = out, .size = size}};
	const uint8_t *end = bytes + length, *name_end, *language_end;
	enum text_charset charset = CHARSET_GUESS;
	int byte;

	name_end = length ? memchr(bytes, '\'', length) : NULL;
	if (!name_end)
		return 0;
	language_end = memchr(name_end + 1, '\'', (size_t)(end - name_end - 1));
	if (!language_end)
		return 0;
	struct text_source source = {.bytes = language_end + 1,
		.length = (uint32_t)(end - language_end - 1),
		.percent = true};

	if (name_end > bytes)
		charset = charset_by_name(bytes, (uint32_t)(name_end - bytes));
	if (charset == CHARSET_UNKNOWN)
		return 0;
	charset_begin(&value.decoder, charset == CHARSET_GUESS ? charset_guess(&source) : charset);
	while (!text_is_cut(&value.out) && (byte = text_source_next(&source)) >= 0)
		write_byte(&value, (uint8_t)byte);
	write_end(&value);
	return value.out.written;
}

static const struct {
	const char *text; // behind '&'
	int32_t point;
} entities[] = {
	{"amp;", '&'},
	{"lt;", '<'},
	{"gt;", '>'},
	{"quot;", '"'},
	{"apos;", '\''},
	{"nbsp;", 0xa0},
};

// -1: no digit of this base.
static int digit_value(uint8_t byte, uint32_t base)
{
	return base == 16 || octets_digit(byte) ? octets_hex(byte) : -1;
}

static bool is_character(uint32_t value)
{
	return value && value <= 0x10ffff && (value & 0x1ff800) != 0xd800;
}

// #123; or #x1F; into *point: the bytes that it takes; 0: it is none.
static uint32_t parse_reference(const uint8_t *bytes, uint32_t length, int32_t *point)
{
	bool hex = length >= 2 && bytes[1] == 'x';
	uint32_t first = hex ? 2 : 1, base = hex ? 16 : 10, value = 0, at;

	if (!length || bytes[0] != '#')
		return 0;
	for (at = first; at < length && bytes[at] != ';'; at++) {
		int digit = digit_value(bytes[at], base);

		if (digit < 0)
			return 0;
		value = value * base + (uint32_t)digit;
		if (value > 0x10ffff) // and stays above, without an overflow
			value = 0x110000;
	}
	if (at >= length || at == first)
		return 0;
	*point = is_character(value) ? (int32_t)value : 0xfffd;
	return at + 1;
}

static uint32_t parse_entity(const uint8_t *bytes, uint32_t length, int32_t *point)
{
	for (unsigned i = 0; i < sizeof(entities) / sizeof(entities[0]); i++) {
		uint32_t n = (uint32_t)strlen(entities[i].text);

		if (n <= length && !memcmp(bytes, entities[i].text, n)) {
			*point = entities[i].point;
			return n;
		}
	}
	return parse_reference(bytes, length, point);
}

uint32_t text_decode_entities(const uint8_t *bytes, uint32_t length, uint8_t *out)
{
	// no entity is shorter than the UTF-8 of what it stands for: writing stays behind reading
	struct text_out text = {.bytes = out, .size = length};
	int32_t point;

	for (uint32_t at = 0; at < length;) {
		uint8_t byte = bytes[at++];
		uint32_t n = byte == '&' ? parse_entity(bytes + at, length - at, &point) : 0;

		if (n) {
			text_out_put(&text, point);
			at += n;
		} else {
			out[text.length++] = byte;
			text.written = (uint32_t)text.length;
		}
	}
	return text.written;
}
