// SPDX-License-Identifier: BSD-3-Clause
// Names and messages as they are compared with a policy: one form for what a person reads as the
// same. Evidence keeps what was sent.
//
// The form: UTF-8; case folded and compatibility forms replaced (Unicode's NFKC_Casefold of the
// canonical decomposition), so that full-width letters are letters and precomposed ones equal those
// with combining marks; default ignorable code points (zero-width ones, soft hyphens, variation
// selectors, bidirectional controls) and control characters left out; runs of white space one
// blank. A name that is shown in another order by bidirectional controls is in the order in which
// it was stored, as the receiver's system reads it. Behind a base character 30 combining marks
// count (UAX 15, "Stream-Safe Text Format"), further ones are left out. Letters of different
// scripts that look alike stay different. The form of the form is itself.
//
// For data lcores: no heap, no lock, linear in the input, nothing behind `length` is read. Input
// and output do not overlap.
#ifndef SLUICE_CONTENT_NAME_TEXT_H
#define SLUICE_CONTENT_NAME_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "content/charset.h"
#include "content/text_decode.h"

// Bytes of `out` that were written: at most `size`, never a part of a character; always a beginning
// of what would be written if there was room. What is invalid becomes U+FFFD. *cut: there was more.
// `charset` is not CHARSET_UNKNOWN.
uint32_t text_normalize(enum text_charset charset, const uint8_t *bytes, uint32_t length,
	uint8_t *out, uint32_t size, bool *cut);

// Where ranges of a text's form stand in the text: bytes of `raw` for those of `form`, which are by
// order and apart from each other. A character counts whole, with its marks, and so does all that
// is left out between two of a range.
struct content_range {
	uint32_t from, to;
};
void text_origin(enum text_charset charset, const uint8_t *bytes, uint32_t length,
	const struct content_range *form, struct content_range *raw, unsigned n);

// A file's name, or path: the form above, and
// - percent escapes are undone (RFC 3986), once, and before the charset is guessed; not in UTF-16,
//   which no URI is written in. A name with "%2541" has another form the second time;
// - '\' is '/';
// - blanks, dots and "::$DATA" (NTFS: the file itself) at the end of each component are left out,
//   as Windows does; "." and ".." so become empty. Other streams ("a.txt:b.exe") stay.
// Encoded words (RFC 2047) and RFC 2231 are the caller's, by text_decode_*.
uint32_t name_normalize(enum text_charset charset, const uint8_t *bytes, uint32_t length,
	uint8_t *out, uint32_t size, bool *cut);

// The last component of a normalised name, and its extension (behind the last dot; none: empty).
struct name_parts {
	uint32_t base, base_length;
	uint32_t extension, extension_length;
};
struct name_parts name_split(const uint8_t *name, uint32_t length);

#endif
