// SPDX-License-Identifier: BSD-3-Clause
// The text of a message of IRC as its reader sees it: without the codes of colours and styles, and
// without what CTCP puts around it. Any core.
#ifndef SLUICE_CONTENT_IRC_TEXT_H
#define SLUICE_CONTENT_IRC_TEXT_H

#include "content/content.h"

// Codes that are taken out: \2 \x06 \x0f \x11 \x16 \x1d \x1e \x1f, \3 with up to two numbers of two
// digits, ESC [ numbers m (ANSI), \4; and \1 (ctcp.h). Clients differ in \4, and in \3 with a
// comma: most read six hexadecimal digits, or twice as many with a comma, behind \4, irssi its own
// codes of one, two or five bytes.
enum irc_reading {
	IRC_READ_MOST,
	IRC_READ_IRSSI,
};

// Where in a text a piece of it begins.
enum irc_part {
	IRC_OUTSIDE, // of CTCP
	IRC_INSIDE,
	IRC_UNTOLD, // inside of what is no text for people
};

struct irc_piece {
	struct content_text bytes;
	bool ctcp;       // \1 has a meaning
	bool last;       // of the text
	uint8_t part;    // enum irc_part; then that behind `taken`
	uint8_t reading; // enum irc_reading
	// Of `bytes`, which are accounted for; fewer than all where it is not the last piece and
	// ends in something that may go on.
	uint32_t taken;
	// Where in `bytes` what was put out comes from; it is there without a break, if that is its
	// length. 0 and 0: nothing was put out.
	uint32_t from, to;
};

// `out` has room for all of the piece. Returns how many bytes it holds.
uint32_t irc_text_plain(struct irc_piece *piece, uint8_t *out);
// Whether there is anything to take out of such bytes, outside of CTCP and inside: without it they
// are the text.
bool irc_text_has_codes(struct content_text bytes);
// Whether the two readings may differ.
bool irc_text_is_read_twice(struct content_text bytes);

#endif
