// SPDX-License-Identifier: BSD-3-Clause
// Takes a line apart. Servers differ in how strict they are; what any of them takes is taken here:
// blanks before and between words, commands in any case, a text without its ':', which then goes up
// to the end of the line, as the servers read it that join the parameters that are too many.
#include "content/irc/line.h"

#include "content/http/text.h"

// Which commands bring a person's words to others. Not among them are a user's real name and what a
// server says of itself (MOTD, errors).
static const struct irc_verb verbs[] = {
	{"privmsg", 1, 0, IRC_FROM_SENDER, true, true},
	{"notice", 1, 0, IRC_FROM_SENDER, true, true},
	{"squery", 1, 0, IRC_FROM_SENDER, false, false},
	{"cprivmsg", 2, 0, IRC_FROM_SENDER, true, true}, // ircu: nick, channel, text
	{"cnotice", 2, 0, IRC_FROM_SENDER, true, true},
	{"topic", 1, 0, IRC_FROM_SENDER, false, false},
	{"part", 1, 0, IRC_FROM_SENDER, false, true}, {"kick", 2, 0, IRC_FROM_SENDER, false, true},
	{"quit", 0, IRC_NO_PARAM, IRC_FROM_SENDER, false, false},
	{"away", 0, IRC_NO_PARAM, IRC_FROM_SENDER, false, false},
	{"wallops", 0, IRC_NO_PARAM, IRC_FROM_SENDER, false, false},
	{"332", 2, 1, IRC_FROM_UNKNOWN, false, false}, // RPL_TOPIC: nick, channel, text
	{"301", 2, 0, 1, false, false},                // RPL_AWAY: nick, who is away, text
};
static const struct irc_verb chat = {"", 0, IRC_NO_PARAM, IRC_FROM_SENDER, true, false};

static void skip_blanks(struct content_text bytes, uint32_t *at)
{
	while (*at < bytes.length && http_is_blank(bytes.bytes[*at]))
		(*at)++;
}

// Words end at a blank; a tab is part of one.
static struct content_text take_word(struct content_text bytes, uint32_t *at)
{
	struct content_text rest = http_text_from(bytes, *at);

	rest.length = http_until(rest, ' ');
	*at += rest.length;
	skip_blanks(bytes, at);
	return rest;
}

static const struct irc_verb *verb_of(struct content_text word)
{
	for (unsigned i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (http_is(word, verbs[i].lower))
			return &verbs[i];
	return NULL;
}

void irc_line_read(struct content_text bytes, struct irc_line *line)
{
	uint32_t at = 0;

	*line = (struct irc_line){0};
	skip_blanks(bytes, &at);
	if (at < bytes.length && bytes.bytes[at] == ':')
		line->prefix = http_text_from(take_word(bytes, &at), 1);
	line->verb = take_word(bytes, &at);
	line->what = verb_of(line->verb);
	while (at < bytes.length && line->n_params < IRC_PARAMS) {
		bool last = bytes.bytes[at] == ':';

		at += last;
		if (line->what && line->n_params == line->what->text) {
			line->has_text = true;
			line->text_at = at;
			return;
		}
		if (last) {
			line->params[line->n_params++] = http_text_from(bytes, at);
			return;
		}
		line->params[line->n_params++] = take_word(bytes, &at);
	}
}

void irc_line_read_chat(struct irc_line *line)
{
	*line = (struct irc_line){.what = &chat, .has_text = true};
}

bool irc_begins_word(struct content_text text, const char *lower)
{
	uint32_t i = 0;

	while (i < text.length && lower[i] && octets_lower(text.bytes[i]) == (uint8_t)lower[i])
		i++;
	return i == text.length && lower[i];
}

struct content_text irc_nick_of(struct content_text prefix)
{
	for (uint32_t i = 0; i < prefix.length; i++)
		if (prefix.bytes[i] == '!' || prefix.bytes[i] == '@')
			prefix.length = i;
	return prefix;
}
