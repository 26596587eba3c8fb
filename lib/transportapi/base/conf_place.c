// SPDX-License-Identifier: BSD-3-Clause
// Finds the line of a value in a JSON text.
#include "transportapi/base/conf_place.h"

#include <stdbool.h>
#include <string.h>

struct packet_ctx {
	const char *at;
	unsigned line, depth;
	const char *word; // of the string that was read last, without its quotes
	size_t length;
};

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// Reads the string at `at`. true: a ':' follows, it is the name of a member.
static bool take_string(struct packet_ctx *walk)
{
	const char *at = walk->at + 1, *next;

	walk->word = at;
	while (*at && *at != '"')
		at += at[0] == '\\' && at[1] ? 2 : 1;
	walk->length = (size_t)(at - walk->word);
	walk->at = *at ? at + 1 : at;
	for (next = walk->at; is_space(*next); next++)
		;
	return *next == ':';
}

static bool is_word(const struct packet_ctx *walk, const char *name)
{
	return strlen(name) == walk->length && memcmp(name, walk->word, walk->length) == 0;
}

// From behind the name of a list to its index-th element.
static unsigned element_line(struct packet_ctx *walk, int index)
{
	unsigned depth = walk->depth + 1;
	int element = 0;
	bool inside = false;

	for (; *walk->at; walk->at++) {
		char c = *walk->at;

		if (c == '\n')
			walk->line++;
		if (is_space(c) || (!inside && c == ':'))
			continue;
		if (!inside && c != '[')
			return 0;
		if (inside && walk->depth == depth && element == index && c != ',' && c != ']')
			return walk->line;
		if (c == '[' || c == '{')
			walk->depth++;
		else if ((c == ']' || c == '}') && walk->depth-- == depth)
			return 0;
		else if (c == ',' && walk->depth == depth)
			element++;
		inside = true;
		if (c == '"') {
			take_string(walk);
			walk->at--;
		}
	}
	return 0;
}

unsigned tapi_conf_line(const char *text, const char *section, const char *name, int index)
{
	struct packet_ctx walk = {.at = text, .line = 1};
	bool in_section = false;

	while (*walk.at) {
		char c = *walk.at;

		if (c == '"') {
			bool is_name = take_string(&walk);

			if (is_name && walk.depth == 1)
				in_section = section && is_word(&walk, section);
			if (!is_name)
				continue;
			if (!name && walk.depth == 1 && in_section)
				return walk.line;
			if (!name || walk.depth != (section ? 2u : 1u) || (section && !in_section))
				continue;
			if (is_word(&walk, name))
				return index < 0 ? walk.line : element_line(&walk, index);
			continue;
		}
		if (c == '\n')
			walk.line++;
		else if (c == '{' || c == '[')
			walk.depth++;
		else if (c == '}' || c == ']')
			walk.depth--;
		walk.at++;
	}
	return 0;
}
