// SPDX-License-Identifier: BSD-3-Clause
// A line of IRC, or as much as is here of one: who sends it, its command, and where in it the text
// begins that people read. RFC 1459, RFC 2812, IRCv3 message tags (which are taken off before).
#ifndef SLUICE_CONTENT_IRC_LINE_H
#define SLUICE_CONTENT_IRC_LINE_H

#include "content/content.h"

#define IRC_LINE_BYTES 4096 // behind tags; RFC 2812 allows 512, servers of today some more
#define IRC_TAGS_BYTES 8191 // IRCv3: of tags, with '@' and the blank
#define IRC_PARAMS     4    // that are kept of a line; no text comes behind more than 2

#define IRC_NO_PARAM     (-1)
#define IRC_FROM_SENDER  (-1) // of the line
#define IRC_FROM_UNKNOWN (-2)

// A command whose last parameter is text for people.
struct irc_verb {
	const char *lower;
	uint8_t text;    // parameters before it
	int8_t to;       // parameter, or IRC_NO_PARAM
	int8_t from;     // parameter, or IRC_FROM_*
	bool has_ctcp;   // \1 at the beginning of the text has a meaning
	bool to_is_list; // of parties, separated by commas
};

struct irc_line {
	struct content_text prefix; // without ':'; may be empty
	struct content_text verb;
	struct content_text params[IRC_PARAMS]; // those before the text
	unsigned n_params;
	const struct irc_verb *what; // NULL: it has no text for people
	bool has_text;               // ... and it has begun
	uint32_t text_at;
};

// Without tags and line end. Of a line that goes on the last word may not be whole, but what has
// begun as text stays text.
void irc_line_read(struct content_text bytes, struct irc_line *line);
// A line of DCC CHAT: all of it is text.
void irc_line_read_chat(struct irc_line *line);

static inline struct content_text irc_param(const struct irc_line *line, int at)
{
	return at >= 0 && (unsigned)at < line->n_params ? line->params[at]
							: (struct content_text){NULL, 0};
}

// More bytes may make `text` the word; they are in any case, the word in lower case.
bool irc_begins_word(struct content_text text, const char *lower);
// "nick!user@host", as far as the nick goes.
struct content_text irc_nick_of(struct content_text prefix);

#endif
