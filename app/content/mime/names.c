// SPDX-License-Identifier: BSD-3-Clause
// The names that mail readers take from a parameter: as it stands, with its backslashes and encoded
// words undone, by RFC 2231 in a charset and in pieces. Where they differ all are told.
#include "content/http/name.h"
#include "content/mime/work.h"
#include "content/text_decode.h"

#define PIECES      32
#define TEXT_BYTES  (2 * CONTENT_NAME_BYTES)
#define PIECE_OTHER UINT32_MAX

struct piece {
	struct content_text value;
	uint32_t number;
	bool extended, quoted;
};

struct pieces {
	struct piece pieces[PIECES];
	unsigned n;
};

static void add(struct mime_names *names, struct content_text text, enum content_name_source source)
{
	struct http_name name = http_name_of(http_trim(text), source);

	if (!name.text.length)
		return;
	for (unsigned i = 0; i < names->n; i++)
		if (http_same((struct content_text){names->text + names->names[i].at,
				      names->names[i].length},
			    name.text))
			return;
	if (names->n == MIME_NAMES || name.text.length > sizeof(names->text) - names->used) {
		names->more = true;
		return;
	}
	names->names[names->n++] = (struct mime_name){.at = names->used,
		.length = (uint16_t)name.text.length,
		.source = (uint8_t)source,
		.cut = name.cut};
	memcpy(names->text + names->used, name.text.bytes, name.text.length);
	names->used += (uint16_t)name.text.length;
}

// Also with its encoded words undone, which comes first. One that stays is in a charset that nobody
// knows here.
static void add_words(struct mime_names *names, struct content_text text)
{
	uint8_t decoded[TEXT_BYTES];
	struct content_text words = {decoded, 0};

	if (text.length && memmem(text.bytes, text.length, "=?", 2)) {
		words.length = text_decode_words(text.bytes, text.length, decoded, TEXT_BYTES);
		names->more |= words.length + 4 > TEXT_BYTES ||
			       (words.length && memmem(decoded, words.length, "=?", 2));
		add(names, words, CONTENT_NAME_HEADER);
	}
	add(names, text, CONTENT_NAME_HEADER);
}

static uint32_t until_any(struct content_text text, const char *ends)
{
	uint32_t i = 0;

	while (i < text.length && !(text.bytes[i] && strchr(ends, text.bytes[i])))
		i++;
	return i;
}

static struct content_text end_of(struct content_text text, uint32_t most)
{
	return text.length > most ? http_text_from(text, text.length - most) : text;
}

static void add_plain(struct mime_names *names, const struct mime_parameter *parameter)
{
	uint8_t plain[TEXT_BYTES];
	struct content_text value = end_of(parameter->value, TEXT_BYTES);
	struct content_text text = {plain, 0};

	names->more |= value.length < parameter->value.length;
	if (parameter->quoted) {
		text.length = mime_unquote(value, plain);
		add_words(names, text);
		add_words(names, value);
		return;
	}
	add_words(names, value);
	value.length = until_any(value, " \t("); // a comment is no part of it
	add_words(names, value);
}

static void add_extended(struct mime_names *names, struct content_text value)
{
	uint8_t decoded[TEXT_BYTES];
	struct content_text text = {decoded, 0};

	text.length = text_decode_extended(value.bytes, value.length, decoded, TEXT_BYTES);
	names->more |= text.length + 4 > TEXT_BYTES;
	if (text.length) {
		add(names, text, CONTENT_NAME_HEADER_EXTENDED);
		return;
	}
	// in no charset that is known: its percent signs are undone where names are compared
	for (uint32_t i = value.length; i; i--)
		if (value.bytes[i - 1] == '\'') {
			value = http_text_from(value, i);
			break;
		}
	add(names, value, CONTENT_NAME_HEADER_EXTENDED);
}

// KEY*N or KEY*N*, behind the first '*'; PIECE_OTHER: it is none.
static uint32_t piece_number(struct content_text form, bool *extended)
{
	uint64_t number;

	*extended = form.length && form.bytes[form.length - 1] == '*';
	form.length -= *extended;
	return http_number(form, &number) && number < PIECE_OTHER ? (uint32_t)number : PIECE_OTHER;
}

static void sort(struct pieces *pieces)
{
	for (unsigned i = 1; i < pieces->n; i++)
		for (unsigned at = i;
			at && pieces->pieces[at - 1].number > pieces->pieces[at].number; at--) {
			struct piece piece = pieces->pieces[at];

			pieces->pieces[at] = pieces->pieces[at - 1];
			pieces->pieces[at - 1] = piece;
		}
}

struct joined {
	uint8_t bytes[TEXT_BYTES];
	uint32_t length;
	bool cut;
};

static void join_byte(struct joined *joined, uint8_t byte)
{
	if (joined->length < sizeof(joined->bytes))
		joined->bytes[joined->length++] = byte;
	else
		joined->cut = true;
}

// Where the whole is percent-encoded, so is a piece that was not.
static void join(struct joined *joined, const struct piece *piece, bool encoded)
{
	const struct content_text value = piece->value;

	for (uint32_t i = 0; i < value.length; i++) {
		if (piece->quoted && value.bytes[i] == '\\' && i + 1 < value.length)
			i++;
		join_byte(joined, value.bytes[i]);
		if (encoded && !piece->extended && value.bytes[i] == '%') {
			join_byte(joined, '2');
			join_byte(joined, '5');
		}
	}
}

// RFC 2231 section 3 and 4.1. A piece that is missing, or there twice, is read in several ways.
static void add_pieces(struct mime_names *names, struct pieces *pieces)
{
	struct joined joined = {.length = 0};
	bool encoded = false;

	if (!pieces->n)
		return;
	sort(pieces);
	for (unsigned i = 0; i < pieces->n; i++)
		encoded |= pieces->pieces[i].extended;
	if (encoded && !pieces->pieces[0].extended) {
		join_byte(&joined, '\'');
		join_byte(&joined, '\'');
	}
	for (unsigned i = 0; i < pieces->n; i++) {
		names->more |= pieces->pieces[i].number != i;
		join(&joined, &pieces->pieces[i], encoded);
	}
	names->more |= joined.cut;
	const struct content_text text = {joined.bytes, joined.length};

	if (encoded)
		add_extended(names, text);
	else
		add_words(names, text);
}

void mime_names_find(struct mime_names *names, struct content_text value, const char *key)
{
	uint32_t length = (uint32_t)strlen(key);
	struct pieces pieces = {.n = 0};
	struct mime_parameter parameter;
	struct content_text rest = value;
	bool extended;

	// RFC 2231 goes before the plain form, as in RFC 6266 section 4.3
	while (mime_parameter_next(&rest, &parameter)) {
		struct content_text form = http_text_from(parameter.name, length);

		if (!http_begins(parameter.name, key) || !form.length || form.bytes[0] != '*')
			continue;
		form = http_text_from(form, 1);
		uint32_t number = piece_number(form, &extended);

		if (!form.length)
			add_extended(names, parameter.value);
		else if (number != PIECE_OTHER && pieces.n < PIECES)
			pieces.pieces[pieces.n++] =
				(struct piece){parameter.value, number, extended, parameter.quoted};
		else
			names->more = true;
	}
	add_pieces(names, &pieces);
	for (rest = value; mime_parameter_next(&rest, &parameter);)
		if (http_is(parameter.name, key))
			add_plain(names, &parameter);
}
