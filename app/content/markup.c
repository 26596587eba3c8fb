// SPDX-License-Identifier: BSD-3-Clause
// Takes tags out of texts: a keyword that has one inside reads as without.
#include "content/markup.h"

#include "content/http/text.h"
#include "content/text_decode.h"

#define ESC        0x1b
#define NAME_BYTES 12
#define CODE_BYTES 32 // of ESC [ ... m that are looked at

// Sorted by kind; a tag is one of these names, with '/' before it or without.
static const char *const html[] = {"a", "b", "big", "binary", "body", "center", "code", "em",
	"font", "h1", "h2", "h3", "head", "html", "i", "img", "li", "ol", "pre", "s", "small",
	"span", "strike", "strong", "sub", "sup", "title", "tt", "u", "ul", NULL};
static const char *const breaks[] = {"br", "div", "hr", "p", NULL};
static const char *const yahoo[] = {"alt", "b", "black", "blue", "cyan", "fade", "font", "gray",
	"green", "i", "magenta", "orange", "pink", "purple", "red", "s", "snd", "u", "white",
	"yellow", NULL};

static bool is_among(struct content_text name, const char *const *names)
{
	for (; *names; names++)
		if (http_is(name, *names))
			return true;
	return false;
}

static bool is_letter(uint8_t byte)
{
	return octets_digit(byte) || (octets_lower(byte) >= 'a' && octets_lower(byte) <= 'z');
}

static struct content_text name_of(struct content_text tag)
{
	uint32_t n = 0;

	tag = http_text_from(tag, 1);
	if (tag.length && tag.bytes[0] == '/')
		tag = http_text_from(tag, 1);
	while (n < tag.length && n <= NAME_BYTES && is_letter(tag.bytes[n]))
		n++;
	return (struct content_text){tag.bytes, n};
}

// Up to and with its '>'; 0: it has none. `quotes`: one in an attribute does not end it.
static uint32_t tag_length(struct content_text tag, bool quotes)
{
	uint8_t quote = 0;

	for (uint32_t i = 1; i < tag.length; i++) {
		uint8_t byte = tag.bytes[i];

		if (quote)
			quote = byte == quote ? 0 : quote;
		else if (byte == '>')
			return i + 1;
		else if (quotes && (byte == '"' || byte == '\''))
			quote = byte;
	}
	return 0;
}

// What is known of the rest of a text, so that it is not read again for each '<' in it.
struct ahead {
	uint32_t end;    // where its last '>' is
	bool no_comment; // none ends
	bool no_quote;   // a quote does not end
};

static uint32_t comment_length(struct content_text text, struct ahead *ahead)
{
	const uint8_t *end;

	if (ahead->no_comment || !octets_begin(text.bytes, text.length, "<!--"))
		return 0;
	end = memmem(text.bytes + 4, text.length - 4, "-->", 3);
	ahead->no_comment = !end;
	return end ? (uint32_t)(end - text.bytes) + 3 : 0;
}

static uint32_t length_of(struct content_text text, struct ahead *ahead)
{
	uint32_t length = ahead->no_quote ? 0 : tag_length(text, true);

	ahead->no_quote |= !length;
	return length ? length : tag_length(text, false);
}

// What begins at the text's '<' and is no text; *breaks_word: it is seen as a blank.
static uint32_t markup_length(
	enum markup_kind kind, struct content_text text, struct ahead *ahead, bool *breaks_word)
{
	struct content_text name = name_of(text);
	bool colour = kind == MARKUP_YAHOO && text.length > 1 && text.bytes[1] == '#';
	uint32_t comment = kind == MARKUP_HTML ? comment_length(text, ahead) : 0;

	*breaks_word = !comment && kind == MARKUP_HTML && is_among(name, breaks);
	if (comment)
		return comment;
	if (!*breaks_word && !colour && !is_among(name, kind == MARKUP_HTML ? html : yahoo))
		return 0;
	return length_of(text, ahead);
}

static uint32_t code_length(struct content_text text)
{
	for (uint32_t i = 2; i < text.length && i < CODE_BYTES; i++)
		if (text.bytes[i] == 'm')
			return text.bytes[1] == '[' ? i + 1 : 0;
	return 0;
}

static struct ahead ahead_of(struct content_text text)
{
	const uint8_t *at = text.length ? memrchr(text.bytes, '>', text.length) : NULL;

	return (struct ahead){.end = at ? (uint32_t)(at - text.bytes) : 0};
}

uint32_t markup_plain(enum markup_kind kind, const uint8_t *bytes, uint32_t length, uint8_t *out)
{
	struct content_text text = {bytes, length};
	struct ahead ahead = ahead_of(text);
	uint32_t n = 0, at = 0;

	while (at < length) {
		struct content_text rest = http_text_from(text, at);
		uint32_t skips = 0;
		bool breaks_word = false;

		if (bytes[at] == '<' && at < ahead.end)
			skips = markup_length(kind, rest, &ahead, &breaks_word);
		else if (bytes[at] == ESC && kind == MARKUP_YAHOO)
			skips = code_length(rest);
		if (!skips)
			out[n++] = bytes[at];
		else if (breaks_word)
			out[n++] = ' ';
		at += skips ? skips : 1;
	}
	return kind == MARKUP_HTML ? text_decode_entities(out, n, out) : n;
}
