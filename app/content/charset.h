// SPDX-License-Identifier: BSD-3-Clause
// Bytes of a charset as code points, and code points as UTF-8: pushed one byte at a time, so that
// a character may be split over pieces.
//
// What is invalid becomes U+FFFD: in UTF-8 one for each maximal part of a character that could have
// gone on (Unicode, section 3.9, "U+FFFD Substitution of Maximal Subparts"), in UTF-16 one for each
// surrogate that is alone and for a byte that is left over.
#ifndef SLUICE_CONTENT_CHARSET_H
#define SLUICE_CONTENT_CHARSET_H

#include <stdbool.h>
#include <stdint.h>

// What bytes are written in.
enum text_charset {
	CHARSET_GUESS, // a byte order mark, else UTF-8 if it is valid, else CHARSET_LATIN1
	CHARSET_UTF8,
	CHARSET_LATIN1, // ISO 8859-1, with windows-1252 in 0x80 to 0x9F, as mail and browsers read
			// it
	CHARSET_UTF16LE,
	CHARSET_UTF16BE,
	CHARSET_LATIN9, // ISO 8859-15
	CHARSET_UTF16,  // big endian, or as a byte order mark says (RFC 2781)
	CHARSET_UNKNOWN,
};

// By its name in MIME, in any case of letters.
enum text_charset charset_by_name(const uint8_t *name, uint32_t length);

// Known by its name to have ASCII in it, each character as one byte that is in no other, or only
// behind a byte above it: what is taken for CHARSET_LATIN1 has other letters then, and the same
// dots and extensions. No name is one of it.
bool charset_has_ascii(const uint8_t *name, uint32_t length);

// Bytes, with percent escapes undone (RFC 3986) where that is asked for.
struct text_source {
	const uint8_t *bytes;
	uint32_t length, at;
	bool percent;
};

// The value of two hexadecimal digits; -1: they are none.
int text_hex_pair(const uint8_t *digits);
// The next byte; -1: there is none.
int text_source_next(struct text_source *source);

// What CHARSET_GUESS stands for: never itself. A byte order mark that is escaped is none.
enum text_charset charset_guess(const struct text_source *source);

struct charset_decoder {
	enum text_charset charset; // not CHARSET_GUESS, not CHARSET_UNKNOWN
	int32_t point;             // UTF-8: of a character that goes on; UTF-16: a high surrogate
	uint8_t need, low, high;   // UTF-8: bytes that are missing, and bounds of the next
	uint8_t first;             // UTF-16: the first byte of a unit
	bool odd, big;
	bool invalid; // there was something
};

void charset_begin(struct charset_decoder *decoder, enum text_charset charset);
// The number of code points that are now known: at most 2.
unsigned charset_push(struct charset_decoder *decoder, uint8_t byte, int32_t points[2]);
// The same, for what was left incomplete.
unsigned charset_end(struct charset_decoder *decoder, int32_t points[2]);

// UTF-8 as it is written: `length` as if there was room for all, `written` what there was room
// for, whole characters only.
struct text_out {
	uint8_t *bytes;
	uint32_t size, written;
	uint64_t length;
};

void text_out_put(struct text_out *out, int32_t point);
static inline bool text_is_cut(const struct text_out *out)
{
	return out->length > out->size;
}

// A whole text of a charset that is known, appended in UTF-8.
void charset_text(
	struct text_out *out, enum text_charset charset, const uint8_t *bytes, uint32_t length);
// Bytes of UTF-16 before its first unit of 0, or all that are there.
uint32_t charset_utf16_until_nul(const uint8_t *bytes, uint32_t length);

// Bytes at the end of a text that begin a character of UTF-8 whose rest is not here: 0 to 3.
static inline uint32_t charset_unfinished(const uint8_t *bytes, uint32_t length)
{
	for (uint32_t n = 1; n <= 3 && n <= length; n++) {
		uint8_t byte = bytes[length - n];

		if ((byte & 0xc0) == 0x80)
			continue;
		return (byte >= 0xc0 && n < 2) || (byte >= 0xe0 && n < 3) || (byte >= 0xf0 && n < 4)
			       ? n
			       : 0;
	}
	return 0;
}

#endif
