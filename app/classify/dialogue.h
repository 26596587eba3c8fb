// SPDX-License-Identifier: BSD-3-Clause
// A dialogue of a text protocol: lines of commands one way, lines of replies the other. Which half
// commands is known from the SYN, but not in a flow that was picked up midstream: there the half
// that replies is the server's. Any core; no state.
#ifndef SLUICE_DIALOGUE_H
#define SLUICE_DIALOGUE_H

#include "classify/text.h"

struct dialogue {
	struct text client;
	struct text server;
};

static inline struct dialogue dialogue_of(const struct probe *probe, bool (*is_reply)(struct text))
{
	struct dialogue dialogue = {text_of(probe, HALF_C2S), text_of(probe, HALF_S2C)};
	struct text swap = dialogue.client;
	bool client_replies = is_reply(dialogue.client) && !is_reply(dialogue.server);
	bool server_asks =
		!dialogue.client.length && dialogue.server.length && !is_reply(dialogue.server);

	if (!probe->midstream || !(client_replies || server_asks))
		return dialogue;
	dialogue.client = dialogue.server;
	dialogue.server = swap;
	return dialogue;
}

// FTP, SMTP and NNTP reply alike: "ddd text", "ddd-text".
static inline bool is_coded_reply(struct text half)
{
	unsigned code = half.length > 3 ? text_reply_code(half) : 0;

	return code >= 100 && code < 600;
}

// The greeting's lines, all of them that are here: "220-a CR LF 220 b CR LF".
static inline struct text dialogue_greeting(struct text server)
{
	struct text rest = server, line;

	while (text_take_line(&rest, &line))
		if (line.length < 4 || line.at[3] != '-')
			return (struct text){server.at, server.length - rest.length};
	return server;
}

static inline bool contains_any(struct text text, const char *const words[])
{
	for (unsigned i = 0; words[i]; i++)
		if (text_contains(text, words[i]))
			return true;
	return false;
}

// The verb of the client's first whole line; its arguments are in `rest`. Empty: no line yet.
static inline struct text dialogue_verb(struct text client, struct text *rest)
{
	struct text none = {client.at, 0};

	*rest = none;
	if (!text_take_line(&client, rest))
		return none;
	return text_take_word(rest);
}

// What a client that is heard alone has said in whole lines: how many begin with a verb of either
// list, and how many of these with one of `own`, which no other protocol has. Nothing, if one of
// them begins with none, or has bytes that are no text.
struct dialogue_lines {
	unsigned known, own;
};

static inline struct dialogue_lines dialogue_lines(
	struct text client, const char *const shared[], const char *const own[])
{
	struct dialogue_lines lines = {0, 0};
	struct text line;

	while (text_take_line(&client, &line)) {
		struct text rest = line, verb = text_take_word(&rest);
		bool is_own = text_is_among(verb, own);

		if (!text_is_printable(line) || !(is_own || text_is_among(verb, shared)))
			return (struct dialogue_lines){0, 0};
		lines.known++;
		lines.own += is_own;
	}
	return lines;
}

// Two lines, one of which no other protocol has: 64 bits.
static inline enum verify dialogue_alone(struct dialogue_lines lines)
{
	return lines.known >= 2 && lines.own ? VERIFY_ALONE : VERIFY_MORE;
}

#endif
