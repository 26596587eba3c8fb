// SPDX-License-Identifier: BSD-3-Clause
// Takes codes for colours and styles out of a text: a keyword that has one inside reads as without.
#include "content/irc/text.h"

#include "content/http/text.h"

#define COLOUR     3
#define COLOUR_HEX 4

static bool is_style(uint8_t byte)
{
	static const uint8_t styles[] = {0x02, 0x0f, 0x11, 0x16, 0x1d, 0x1e, 0x1f};

	return byte < ' ' && memchr(styles, byte, sizeof(styles));
}

static bool is_code(uint8_t byte)
{
	return byte == COLOUR || byte == COLOUR_HEX || is_style(byte);
}

bool irc_text_has_codes(struct content_text bytes)
{
	for (uint32_t i = 0; i < bytes.length; i++)
		if (is_code(bytes.bytes[i]))
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

// Length of the code that begins there. *open: with more bytes it may be longer.
static uint32_t code_length(struct content_text bytes, uint32_t at, bool *open)
{
	bool hex = bytes.bytes[at] == COLOUR_HEX;
	uint32_t most = hex ? 6 : 2, end = at + 1;

	*open = false;
	if (is_style(bytes.bytes[at]))
		return 1;
	for (unsigned part = 0; part < 2; part++) {
		uint32_t from = end + part, n; // the second begins behind a comma

		if (part && (end >= bytes.length || bytes.bytes[end] != ',')) {
			*open = end >= bytes.length;
			break;
		}
		n = digits(bytes, from, most, hex);
		*open = n < most && from + n >= bytes.length;
		if (!n || (hex && n < most))
			break;
		end = from + n;
	}
	return end - at;
}

uint32_t irc_text_plain(struct content_text bytes, bool last, uint8_t *out, uint32_t *taken)
{
	uint32_t n = 0, at = 0;
	bool open;

	while (at < bytes.length) {
		if (!is_code(bytes.bytes[at])) {
			out[n++] = bytes.bytes[at++];
			continue;
		}
		uint32_t length = code_length(bytes, at, &open);

		if (open && !last)
			break;
		at += length;
	}
	*taken = at;
	return n;
}
