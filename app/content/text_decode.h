// SPDX-License-Identifier: BSD-3-Clause
// What transport puts around text: percent escapes, encoded words, extended parameters, entities.
// Each is undone once. Pure, no heap, linear in the input, nothing behind `length` is read.
#ifndef SLUICE_CONTENT_TEXT_DECODE_H
#define SLUICE_CONTENT_TEXT_DECODE_H

#include <stdint.h>

// Percent escapes of RFC 3986; those that are none stay as they are. In place or apart; the number
// of bytes written, never more than `length`. The charset stays what it was.
uint32_t text_decode_percent(const uint8_t *bytes, uint32_t length, uint8_t *out);

// RFC 2047 encoded words, with RFC 2231's language, in the charsets of charset_by_name(): utf-8,
// us-ascii, iso-8859-1 and -15, windows-1252, utf-16, utf-16le and -be. Those of others that have
// ASCII in them (charset_has_ascii) are read as windows-1252, so that what is ASCII in them is
// right; of the rest they stay as they are. White space between two that are decoded is left out,
// and a character may be split over two of one charset. Not asked for, as receivers do not either:
// white space around a word, at most 75 characters, none that RFC 2047 forbids but '?'. What stands
// outside of words is UTF-8, or CHARSET_LATIN1 where it is not valid. Apart only. Output is valid
// UTF-8, at most `size` bytes, whole characters.
uint32_t text_decode_words(const uint8_t *bytes, uint32_t length, uint8_t *out, uint32_t size);

// RFC 8187 (and RFC 2231) ext-value: charset'language'percent-encoded, with the same charsets; an
// empty one is CHARSET_GUESS. 0: it is none, its charset is not known, or the value is empty. The
// pieces of a parameter that is continued (RFC 2231, section 3) are put together by the caller.
// Output as above.
uint32_t text_decode_extended(const uint8_t *bytes, uint32_t length, uint8_t *out, uint32_t size);

// The five entities of XML (RFC 6120 allows no others), character references and HTML's nbsp, each
// with its semicolon. References to no character (0, surrogates, above U+10FFFF) become U+FFFD.
// UTF-8, in place or apart; never more than `length` bytes.
uint32_t text_decode_entities(const uint8_t *bytes, uint32_t length, uint8_t *out);

#endif
