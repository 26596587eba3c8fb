// SPDX-License-Identifier: BSD-3-Clause
// Takes dots off the lines of a block, and finds its end.
#include "content/dots.h"

#include <string.h>

void dots_begin(struct dots *dots)
{
	*dots = (struct dots){.begun = DOTS_AFTER_CRLF};
}

void dots_lose(struct dots *dots)
{
	*dots = (struct dots){.begun = DOTS_MIDDLE};
}

// How far it goes without a dot that begins a line.
static uint32_t run_length(const struct dots *dots, const uint8_t *bytes, uint32_t length)
{
	bool cr = dots->begun == DOTS_AFTER_CR;

	for (uint32_t from = 0; from < length;) {
		const uint8_t *lf = memchr(bytes + from, '\n', length - from);

		if (!lf)
			break;
		from = (uint32_t)(lf - bytes) + 1;
		bool crlf = from > 1 ? bytes[from - 2] == '\r' : cr;

		if (crlf && from < length && bytes[from] == '.')
			return from;
	}
	return length;
}

static bool ends_line(uint8_t byte)
{
	return byte == '\r' || byte == '\n';
}

// What has ended the line before bytes[i].
static enum dots_begun begun_at(const struct dots *dots, const uint8_t *bytes, uint32_t i)
{
	if (!i)
		return dots->begun;
	if (bytes[i - 1] != '\n')
		return bytes[i - 1] == '\r' ? DOTS_AFTER_CR : DOTS_MIDDLE;
	bool cr = i > 1 ? bytes[i - 2] == '\r' : dots->begun == DOTS_AFTER_CR;

	return cr ? DOTS_AFTER_CRLF : DOTS_AFTER_LF;
}

// Up to the first end that only some hosts take, with its last byte: it is told in its place.
static uint32_t until_odd(const struct dots *dots, const uint8_t *bytes, uint32_t length)
{
	if (dots->odd && ends_line(bytes[0]))
		return 1;
	for (uint32_t i = 0; i + 1 < length; i++) {
		const uint8_t *dot = memchr(bytes + i, '.', length - 1 - i);

		if (!dot)
			break;
		i = (uint32_t)(dot - bytes);
		enum dots_begun begun = begun_at(dots, bytes, i);

		if ((begun == DOTS_AFTER_LF || begun == DOTS_AFTER_CR) && ends_line(bytes[i + 1]))
			return i + 2;
	}
	return length;
}

// Behind a dot that begins a line.
static bool dot_stays(struct dots *dots, uint8_t byte, enum dots_what *what)
{
	if (dots->held == 1 && byte == '\r') {
		dots->held = 2;
		*what = DOTS_TAKE;
	} else if (dots->held == 2) {
		*what = byte == '\n' ? DOTS_END : DOTS_CR;
	} else {
		dots->held = 0;
		dots->odd = byte == '\n'; // CR LF "." LF
		dots->begun = DOTS_MIDDLE;
		return false;
	}
	return true;
}

enum dots_what dots_next(struct dots *dots, const uint8_t *bytes, uint32_t available, uint64_t at64,
	uint32_t *length)
{
	enum dots_what what;

	if (dots->held) {
		if (dot_stays(dots, bytes[0], &what))
			return what;
	} else if (dots->begun == DOTS_AFTER_CRLF && bytes[0] == '.') {
		dots->held = 1;
		dots->dot64 = at64;
		return DOTS_TAKE;
	}
	*length = until_odd(dots, bytes, run_length(dots, bytes, available));
	return DOTS_BYTES;
}

bool dots_cr_taken(struct dots *dots, uint64_t *odd64)
{
	*odd64 = dots->dot64;
	dots->held = 0;
	dots->begun = DOTS_AFTER_CR;
	return true;
}

bool dots_advance(
	struct dots *dots, const uint8_t *bytes, uint32_t length, uint64_t at64, uint64_t *odd64)
{
	bool odd = false;

	for (uint32_t i = 0; i < length; i++) {
		bool cr = dots->begun == DOTS_AFTER_CR;
		uint8_t byte = bytes[i];

		if (dots->odd && ends_line(byte) && !odd) {
			*odd64 = at64 + i;
			odd = true;
		}
		dots->odd = byte == '.' && (cr || dots->begun == DOTS_AFTER_LF);
		if (byte == '\r')
			dots->begun = DOTS_AFTER_CR;
		else if (byte == '\n')
			dots->begun = cr ? DOTS_AFTER_CRLF : DOTS_AFTER_LF;
		else
			dots->begun = DOTS_MIDDLE;
	}
	return odd;
}
