// SPDX-License-Identifier: BSD-3-Clause
// Quoted-printable (RFC 2045 section 6.7). An escape that is none stands for itself, as most
// readers have it, and is noted. Blanks at the end of a line were put there by transport.
#include "content/mime/work.h"
#include "pipeline/vocab/octets.h"

enum {
	ESCAPE_NONE,
	ESCAPE_SIGN,   // '='
	ESCAPE_DIGIT,  // and one digit
	ESCAPE_BLANKS, // '=', and blanks: a soft line break, if the line ends
};

static void put(const struct mime_call *to, const uint8_t *bytes, uint32_t length, uint64_t from64,
	uint64_t to64)
{
	const struct mime_run run = {.from64 = from64,
		.to64 = to64,
		.as_is = !to->about->coded && to64 - from64 == length};

	mime_decoded(to, bytes, length, &run);
}

static void put_blanks(const struct mime_call *to)
{
	struct mime_quoted *quoted = &to->mime->quoted;
	uint8_t n = quoted->n_blanks;

	quoted->n_blanks = 0;
	put(to, quoted->blanks, n, quoted->blanks64, mime_place(to, quoted->blanks64, n));
}

static void add_blank(const struct mime_call *to, uint8_t byte, uint64_t at64)
{
	struct mime_quoted *quoted = &to->mime->quoted;

	if (quoted->n_blanks == MIME_BLANKS) // no line has so many
		put_blanks(to);
	if (!quoted->n_blanks)
		quoted->blanks64 = at64;
	quoted->blanks[quoted->n_blanks++] = byte;
}

// What was taken for the beginning of an escape stands for itself.
static void put_bad(const struct mime_call *to)
{
	static const uint8_t sign = '=';
	struct mime_quoted *quoted = &to->mime->quoted;
	uint64_t at64 = quoted->escape64;

	mime_note(to, CONTENT_NOTE_BAD_ENCODING, at64);
	put(to, &sign, 1, at64, mime_place(to, at64, 1));
	at64 = mime_place(to, at64, 1);
	if (quoted->escape == ESCAPE_DIGIT)
		put(to, &quoted->first, 1, at64, mime_place(to, at64, 1));
	if (quoted->escape == ESCAPE_BLANKS)
		put_blanks(to);
	quoted->escape = ESCAPE_NONE;
}

static void put_plain(const struct mime_call *to, uint8_t byte, uint64_t at64)
{
	struct mime_quoted *quoted = &to->mime->quoted;

	if (byte == ' ' || byte == '\t') {
		add_blank(to, byte, at64);
		return;
	}
	if (quoted->n_blanks)
		put_blanks(to);
	if (byte == '=') {
		quoted->escape = ESCAPE_SIGN;
		quoted->escape64 = at64;
		return;
	}
	put(to, &byte, 1, at64, mime_place(to, at64, 1));
}

static void put_byte(const struct mime_call *to, uint8_t byte, uint64_t at64)
{
	struct mime_quoted *quoted = &to->mime->quoted;
	bool blank = byte == ' ' || byte == '\t';

	if (quoted->escape == ESCAPE_SIGN && octets_hex(byte) >= 0) {
		quoted->first = byte;
		quoted->escape = ESCAPE_DIGIT;
	} else if (quoted->escape == ESCAPE_DIGIT && octets_hex(byte) >= 0) {
		uint8_t octet = (uint8_t)(octets_hex(quoted->first) << 4 | octets_hex(byte));
		const struct mime_run run = {
			.from64 = quoted->escape64, .to64 = mime_place(to, at64, 1)};

		mime_decoded(to, &octet, 1, &run);
		quoted->escape = ESCAPE_NONE;
	} else if (quoted->escape == ESCAPE_SIGN && blank) {
		quoted->escape = ESCAPE_BLANKS;
		add_blank(to, byte, at64);
	} else if (quoted->escape == ESCAPE_BLANKS && blank && quoted->n_blanks < MIME_BLANKS) {
		add_blank(to, byte, at64);
	} else {
		if (quoted->escape != ESCAPE_NONE)
			put_bad(to);
		put_plain(to, byte, at64);
	}
}

void mime_quoted_put(
	const struct mime_call *to, const uint8_t *bytes, uint32_t length, uint64_t at64)
{
	for (uint32_t i = 0; i < length; i++)
		put_byte(to, bytes[i], mime_place(to, at64, i));
}

void mime_quoted_eol(const struct mime_call *to, enum mime_eol eol, uint64_t at64)
{
	static const uint8_t crlf[] = {'\r', '\n'};
	struct mime_quoted *quoted = &to->mime->quoted;
	uint32_t length = eol == MIME_EOL_CRLF ? 2 : 1;

	if (quoted->escape == ESCAPE_DIGIT)
		put_bad(to);
	quoted->n_blanks = 0;
	if (quoted->escape == ESCAPE_NONE)
		put(to, crlf + 2 - length, length, at64, mime_place(to, at64, length));
	quoted->escape = ESCAPE_NONE;
}

void mime_quoted_finish(const struct mime_call *to)
{
	struct mime_quoted *quoted = &to->mime->quoted;

	if (quoted->escape == ESCAPE_DIGIT)
		put_bad(to);
	quoted->escape = ESCAPE_NONE;
	quoted->n_blanks = 0;
}
