// SPDX-License-Identifier: BSD-3-Clause
// Takes codes for colours and styles out of a text: a keyword that has one inside reads as without.
#include "content/irc/text.h"

#include "content/http/text.h"
#include "content/irc/ctcp.h"

#define COLOUR           3
#define COLOUR_HEX       4
#define ESC              0x1b
#define ANSI_BYTES       32 // of one code that are looked at
#define IRSSI_24         '#'
#define IRSSI_STYLES     'a' // to IRSSI_STYLES_END: one byte; others are two colours
#define IRSSI_STYLES_END 'i'

static bool is_style(uint8_t byte)
{
	static const uint8_t styles[] = {0x02, 0x06, 0x0f, 0x11, 0x16, 0x1d, 0x1e, 0x1f};

	return byte < ' ' && memchr(styles, byte, sizeof(styles));
}

static bool is_code(uint8_t byte)
{
	return byte == COLOUR || byte == COLOUR_HEX || byte == ESC || byte == CTCP ||
	       is_style(byte);
}

bool irc_text_has_codes(struct content_text bytes)
{
	for (uint32_t i = 0; i < bytes.length; i++)
		if (is_code(bytes.bytes[i]))
			return true;
	return false;
}

bool irc_text_is_read_twice(struct content_text bytes)
{
	for (uint32_t i = 0; i < bytes.length; i++)
		if (bytes.bytes[i] == COLOUR_HEX ||
			(bytes.bytes[i] == COLOUR && i + 1 < bytes.length &&
				bytes.bytes[i + 1] == ','))
			return true;
	return false;
}

// How many digits stand there, at most `most`.
static uint32_t digits(struct content_text bytes, uint32_t at, uint32_t most, bool hex)
{
	uint32_t n = 0;

	while (n < most && at + n < bytes.length &&
		(hex ? octets_hex(bytes.bytes[at + n]) >= 0 : octets_digit(bytes.bytes[at + n])))
		n++;
	return n;
}

// \3 and \4 of most clients, and \3 of irssi, which takes a comma without a number before it.
// Bytes; *open: with more of them it may be longer.
static uint32_t colour_length(struct content_text bytes, bool hex, bool comma_first, bool *open)
{
	uint32_t most = hex ? 6 : 2, end = 1;

	for (unsigned part = 0; part < 2; part++) {
		uint32_t from = end + part, n; // the second begins behind a comma

		if (part && (end >= bytes.length || bytes.bytes[end] != ',')) {
			*open = end >= bytes.length;
			break;
		}
		n = digits(bytes, from, most, hex);
		*open = n < most && from + n >= bytes.length;
		if (!part && !n && comma_first)
			continue;
		if (!n || (hex && n < most))
			break;
		end = from + n;
	}
	return end;
}

// \4 of irssi.
static uint32_t irssi_length(struct content_text bytes, bool *open)
{
	uint32_t length = 3;

	if (bytes.length > 1 && bytes.bytes[1] >= IRSSI_STYLES &&
		bytes.bytes[1] <= IRSSI_STYLES_END)
		length = 2;
	else if (bytes.length > 1 && bytes.bytes[1] == IRSSI_24)
		length = 6;
	*open = bytes.length < length;
	return *open ? bytes.length : length;
}

// ESC [ 1 ; 31 m; ESC alone where it is none.
static uint32_t ansi_length(struct content_text bytes, bool *open)
{
	uint32_t at = 2;

	*open = bytes.length < 2;
	if (*open || bytes.bytes[1] != '[')
		return 1;
	while (at < bytes.length && at < ANSI_BYTES &&
		(octets_digit(bytes.bytes[at]) || bytes.bytes[at] == ';'))
		at++;
	*open = at == bytes.length;
	return at < bytes.length && bytes.bytes[at] == 'm' ? at + 1 : 1;
}

// Of the code that begins there.
static uint32_t code_length(struct irc_piece *piece, struct content_text bytes, bool *open)
{
	bool irssi = piece->reading == IRC_READ_IRSSI;

	*open = false;
	switch (bytes.bytes[0]) {
	case CTCP: return piece->ctcp ? ctcp_length(bytes, piece->last, &piece->part, open) : 1;
	case COLOUR: return colour_length(bytes, false, irssi, open);
	case COLOUR_HEX:
		return irssi ? irssi_length(bytes, open) : colour_length(bytes, true, false, open);
	case ESC: return ansi_length(bytes, open);
	default: return 1;
	}
}

uint32_t irc_text_plain(struct irc_piece *piece, uint8_t *out)
{
	uint32_t n = 0, at = 0;
	bool open;

	piece->from = piece->to = 0;
	while (at < piece->bytes.length) {
		uint8_t byte = piece->bytes.bytes[at];
		bool untold = piece->part == IRC_UNTOLD && byte != CTCP;

		if (!untold && is_code(byte)) {
			uint8_t part = piece->part;
			uint32_t length =
				code_length(piece, http_text_from(piece->bytes, at), &open);

			if (open && !piece->last) {
				piece->part = part;
				break;
			}
			at += length;
			continue;
		}
		at++;
		if (untold)
			continue;
		if (!n)
			piece->from = at - 1;
		piece->to = at;
		out[n++] = byte;
	}
	piece->taken = at;
	return n;
}
