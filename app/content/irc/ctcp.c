// SPDX-License-Identifier: BSD-3-Clause
// Tells text for people in CTCP from what programs tell each other. What it cannot tell yet is no
// more than the beginning of one of its words: a keyword is never held back whole.
#include "content/irc/ctcp.h"

#include "content/http/text.h"
#include "content/irc/dcc.h"
#include "content/irc/line.h"
#include "content/irc/text.h"

#define PING_BYTES 64 // of numbers

enum answer {
	TEXT,
	NO_TEXT,
	NOT_YET,
};

// Up to the end of the request; whether that is here.
static bool take_request(struct content_text *rest, bool last)
{
	uint32_t length = http_until(*rest, CTCP);
	bool ended = last || length < rest->length;

	rest->length = length;
	return ended;
}

// `rest` begins behind the word.
static enum answer look_at_none(struct content_text rest, bool ended)
{
	return rest.length ? TEXT : ended ? NO_TEXT : NOT_YET;
}

static enum answer look_at_ping(struct content_text rest, bool ended)
{
	for (uint32_t i = 0; i < rest.length; i++)
		if (i == PING_BYTES || !(octets_digit(rest.bytes[i]) || rest.bytes[i] == ' ' ||
					       rest.bytes[i] == '.'))
			return TEXT;
	return ended ? NO_TEXT : NOT_YET;
}

static enum answer look_at_dcc(struct content_text rest, bool ended)
{
	while (rest.length && rest.bytes[0] == ' ')
		rest = http_text_from(rest, 1);
	uint32_t length = http_until(rest, ' ');

	ended |= length < rest.length;
	rest.length = length;
	switch (dcc_verb(rest)) {
	case DCC_VERB: return ended ? NO_TEXT : NOT_YET;
	case DCC_VERB_BEGINS: return !ended ? NOT_YET : rest.length ? TEXT : NO_TEXT;
	default: return TEXT;
	}
}

static const struct word {
	const char *lower;
	enum answer (*look)(struct content_text rest, bool ended);
} words[] = {
	{"action", look_at_none},
	{"clientinfo", look_at_none},
	{"dcc", look_at_dcc},
	{"finger", look_at_none},
	{"ping", look_at_ping},
	{"source", look_at_none},
	{"time", look_at_none},
	{"userinfo", look_at_none},
	{"version", look_at_none},
};

static enum answer look(struct content_text request, bool ended)
{
	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		uint32_t length = (uint32_t)strlen(words[i].lower);
		struct content_text rest = http_text_from(request, length);

		if (irc_begins_word(request, words[i].lower))
			return ended ? TEXT : NOT_YET;
		if (http_begins(request, words[i].lower) && (!rest.length || rest.bytes[0] == ' '))
			return words[i].look(rest, ended);
	}
	return TEXT;
}

uint32_t ctcp_length(struct content_text bytes, bool last, uint8_t *part, bool *open)
{
	struct content_text request = http_text_from(bytes, 1);

	if (*part != IRC_OUTSIDE) {
		*part = IRC_OUTSIDE;
		return 1;
	}
	bool ended = take_request(&request, last);

	*part = IRC_INSIDE;
	if (http_begins(request, "action "))
		return 1 + sizeof("action ") - 1;
	switch (look(request, ended)) {
	case NO_TEXT: *part = IRC_UNTOLD; break;
	case NOT_YET: *open = true; break;
	case TEXT: break;
	}
	return 1;
}
