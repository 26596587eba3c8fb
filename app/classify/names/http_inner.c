// SPDX-License-Identifier: BSD-3-Clause
// Scans lines of HTTP that are not kept, octet by octet, for where a request may begin.
#include "classify/names/http_inner.h"
#include "classify/names/http_line.h"

// One octet of a line's beginning.
static enum http_begins begins_step(enum http_begins state, uint8_t byte, bool host)
{
	static const char word[] = "host";
	unsigned letters = 0;
	bool method = state <= HTTP_BEGINS_METHOD_HOST + 2 && state != HTTP_BEGINS_CONTROLS;

	if (state <= HTTP_BEGINS_CONTROLS) {
		if (byte == '\r' || (state == HTTP_BEGINS_BLANK && http_line_is_blank(byte)))
			return HTTP_BEGINS_BLANK;
		if (host && http_line_is_around(byte))
			return HTTP_BEGINS_CONTROLS;
	} else if (state >= HTTP_BEGINS_HOST) {
		letters = state - HTTP_BEGINS_HOST + 1;
	} else if (state >= HTTP_BEGINS_METHOD_HOST) {
		letters = state - HTTP_BEGINS_METHOD_HOST + 1;
	}
	bool of_host =
		host && state != HTTP_BEGINS_METHOD && octets_lower(byte) == (uint8_t)word[letters];

	if (of_host && letters == 3)
		return HTTP_BEGINS_WANTED;
	if (of_host)
		return (method ? HTTP_BEGINS_METHOD_HOST : HTTP_BEGINS_HOST) + letters;
	if (!method)
		return HTTP_BEGINS_OTHER;
	if (state != HTTP_BEGINS_BLANK && http_line_is_blank(byte))
		return HTTP_BEGINS_WANTED;
	return http_line_is_token(byte) ? HTTP_BEGINS_METHOD : HTTP_BEGINS_OTHER;
}

enum http_begins http_begins(enum http_begins state, struct text more, bool host, uint32_t *n)
{
	uint32_t i = 0;

	while (i < more.length && state < HTTP_BEGINS_WANTED)
		state = begins_step(state, more.at[i++], host);
	*n = i;
	return state;
}

enum word {
	WORD_NONE, // ends in what is in no method
	WORD_TOKEN,
	WORD_BEHIND, // blanks behind a token
	WORD_SCHEME,
	WORD_COLON,
	WORD_SLASH,
};

static const char method_words[] = "GETCONNECT";

enum method { // letters of these words at the end of what has gone by, plus one
	METHOD_NONE,
	METHOD_GET = 3,
	METHOD_CONNECT = 10,
};

static bool is_of_scheme(uint8_t byte) // RFC 3986 3.1
{
	return text_is_letter(byte) || octets_digit(byte) || byte == '+' || byte == '-' ||
	       byte == '.';
}

static unsigned word_step(unsigned word, uint8_t byte)
{
	if (http_line_is_blank(byte))
		return word >= WORD_TOKEN && word <= WORD_SCHEME ? WORD_BEHIND : WORD_NONE;
	if (word == WORD_BEHIND && text_is_letter(byte))
		return WORD_SCHEME;
	if (word == WORD_SCHEME && is_of_scheme(byte))
		return WORD_SCHEME;
	if (word == WORD_SCHEME && byte == ':')
		return WORD_COLON;
	if (word == WORD_COLON && byte == '/')
		return WORD_SLASH;
	return http_line_is_token(byte) ? WORD_TOKEN : WORD_NONE;
}

static unsigned method_step(unsigned method, uint8_t byte)
{
	if (method != METHOD_GET && method != METHOD_CONNECT && byte == method_words[method])
		return method + 1;
	if (method == METHOD_CONNECT - 1 && byte == 'O') // of CONNECONNECT
		return METHOD_GET + 2;
	return byte == 'G' ? 1 : byte == 'C' ? METHOD_GET + 1 : METHOD_NONE;
}

enum http_inner http_inner_step(uint8_t *state, uint8_t byte)
{
	unsigned word = *state >> 4, method = *state & 15;
	bool blank = http_line_is_blank(byte);

	*state = 0;
	if (byte == '\n')
		return HTTP_INNER_NONE;
	if (blank && (method == METHOD_GET || method == METHOD_CONNECT)) {
		*state = WORD_BEHIND << 4;
		return method == METHOD_GET ? HTTP_INNER_GET : HTTP_INNER_CONNECT;
	}
	if (word == WORD_SLASH && byte == '/')
		return HTTP_INNER_NAME;
	*state = (uint8_t)(word_step(word, byte) << 4 | method_step(method, byte));
	return HTTP_INNER_NONE;
}

const char *http_inner_text(enum http_inner inner)
{
	switch (inner) {
	case HTTP_INNER_NAME: return "x://";
	case HTTP_INNER_CONNECT: return "CONNECT ";
	case HTTP_INNER_GET: return "GET ";
	case HTTP_INNER_NONE: break;
	}
	return "";
}

bool http_inner_awaits(uint8_t state)
{
	return state >> 4 == WORD_BEHIND;
}

// The word at `at`, or behind blanks there. False: there is none.
static bool word_at(const struct http_inner_line *of, uint32_t *at, struct text *word)
{
	uint32_t end = *at;

	while (end < of->line.length && http_line_is_blank(of->line.at[end]))
		end++;
	*word = text_from(of->line, end);
	while (end < of->line.length && !http_line_is_blank(of->line.at[end]))
		end++;
	word->length = (uint32_t)(of->line.at + end - word->at);
	*at = end;
	return word->length;
}

void http_inner_begin(struct http_inner_line *of, struct text line, bool behind, bool cut)
{
	struct text word;
	uint32_t at = 0;

	*of = (struct http_inner_line){.line = line, .cut = cut, .token = behind};
	while (line.length && word_at(of, &at, &word))
		if (text_begins(word, "HTTP/"))
			of->protocol = at - word.length;
}

static bool ends_in(struct text word, const char *method)
{
	uint32_t length = (uint32_t)strlen(method);

	return word.length >= length && !memcmp(word.at + word.length - length, method, length);
}

// scheme "://" authority
static struct text authority_in(struct text word)
{
	uint32_t i = 0;

	if (!text_is_letter(word.at[0]))
		return (struct text){NULL, 0};
	while (i < word.length && is_of_scheme(word.at[i]))
		i++;
	if (!text_begins(text_from(word, i), "://"))
		return (struct text){NULL, 0};
	word = text_from(word, i + 3);
	for (i = 0; i < word.length; i++)
		if (word.at[i] == '/' || word.at[i] == '?' || word.at[i] == '#')
			break;
	word.length = i;
	return word;
}

static enum http_inner method_at_end(struct text word)
{
	return ends_in(word, "GET")       ? HTTP_INNER_GET
	       : ends_in(word, "CONNECT") ? HTTP_INNER_CONNECT
					  : HTTP_INNER_NONE;
}

bool http_inner_next(struct http_inner_line *of, struct text *authority)
{
	struct text word;

	while (of->at < of->line.length && word_at(of, &of->at, &word)) {
		uint32_t at = of->at - word.length;
		bool token = of->token, last = of->at == of->line.length;

		of->method = of->next;
		of->next = method_at_end(word);
		of->token = http_line_is_token(word.at[word.length - 1]);
		*authority = of->method == HTTP_INNER_CONNECT ? word
			     : token                          ? authority_in(word)
							      : (struct text){NULL, 0};
		if (!authority->length || at < of->from)
			continue;
		of->open = of->cut && of->protocol <= at;
		if (of->open || of->protocol > at || (of->method == HTTP_INNER_GET && last))
			return true;
	}
	return false;
}
