// SPDX-License-Identifier: BSD-3-Clause
// Which characters of a text from elsewhere may be written as they are: to a log, a terminal, an
// event. What moves a cursor or the order of reading is not among them, in any encoding. Pure; any
// core.
#ifndef SLUICE_UTF8_H
#define SLUICE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The sequence at `at`, of `left` octets: its length and its character. 0: it is none (RFC 3629:
// no overlong form, no surrogate, nothing beyond U+10FFFF).
static inline size_t utf8_take(const uint8_t *at, size_t left, uint32_t *character)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = !left                            ? 0
		   : at[0] < 0x80                   ? 1
		   : at[0] >= 0xc2 && at[0] <= 0xdf ? 2
		   : (at[0] & 0xf0) == 0xe0         ? 3
		   : at[0] >= 0xf0 && at[0] <= 0xf4 ? 4
						    : 0;

	if (!n || n > left)
		return 0;
	uint32_t c = n == 1 ? at[0] : at[0] & (0x7fu >> n);

	for (size_t i = 1; i < n; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (at[i] & 0x3fu);
	}
	if (c < least[n] || (c >= 0xd800 && c <= 0xdfff) || c > 0x10ffff)
		return 0;
	*character = c;
	return n;
}

// Controls (C0, DEL, C1), the marks and overrides of bidirectional text (UAX 9), the separators of
// lines and paragraphs. All of them are below U+10000.
static inline bool utf8_is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x61c || c == 0x200e || c == 0x200f ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

#endif
