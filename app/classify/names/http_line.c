// SPDX-License-Identifier: BSD-3-Clause
// Reads one line of a request's head in each way that servers read it.
#include "classify/names/http_line.h"

// clang-format off
const uint8_t http_line_kinds[256] = {
	4, 4, 4, 4, 4, 4, 4, 4, 4, 6, 4, 6, 6, 6, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 6, 6, 6, 6,
	6, 1, 0, 1, 1, 1, 1, 1, 0, 0, 1, 1, 0, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0,
	0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 1, 1,
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 0, 1, 0,
	0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
};
// clang-format on

static struct text past_blanks(struct text text)
{
	uint32_t i = 0;

	while (i < text.length && http_line_is_blank(text.at[i]))
		i++;
	return text_from(text, i);
}

static struct text take_word(struct text *rest)
{
	uint32_t i = 0;
	struct text word = *rest;

	while (i < rest->length && !http_line_is_blank(rest->at[i]))
		i++;
	word.length = i;
	*rest = past_blanks(text_from(*rest, i));
	return word;
}

static uint32_t token_length(struct text text)
{
	uint32_t i = 0;

	while (i < text.length && http_line_is_token(text.at[i]))
		i++;
	return i;
}

// scheme "://" authority, up to the path, query or fragment.
static struct text authority_of(struct text target)
{
	static const struct text none = {NULL, 0};
	uint32_t i = 0;

	if (!target.length || !text_is_letter(target.at[0]))
		return none;
	while (i < target.length && target.at[i] != ':')
		i++;
	struct text rest = text_from(target, i);

	if (!text_begins(rest, "://"))
		return none;
	rest = text_from(rest, 3);
	for (i = 0; i < rest.length; i++)
		if (rest.at[i] == '/' || rest.at[i] == '?' || rest.at[i] == '#')
			break;
	return (struct text){rest.at, i};
}

static bool is_clear(struct text line, const struct http_line *of)
{
	return line.length == of->method.length + 1 + of->target.length + 1 + 8 &&
	       of->method.at == line.at && of->target.at == line.at + of->method.length + 1 &&
	       (text_is(of->protocol, "HTTP/1.1") || text_is(of->protocol, "HTTP/1.0")) &&
	       text_is_printable(line) && !text_contains_byte(line, '\t');
}

// HTTP/0.9 has no protocol in its line: that of RTSP, ICAP and others is not taken for one.
static bool is_old(const struct http_line *of, bool more)
{
	if (of->authority.length)
		return !more || text_begins(of->target, "http:") ||
		       text_begins(of->target, "https:");
	return !more && of->method.length == 3 && !memcmp(of->method.at, "GET", 3) &&
	       (of->target.at[0] == '/' || text_begins(of->target, "HTTP/"));
}

bool http_line_request(struct text line, struct http_line *out)
{
	struct text rest = past_blanks(line);
	uint32_t method = token_length(rest);

	*out = (struct http_line){0};
	if (!method || method == rest.length || !http_line_is_blank(rest.at[method]))
		return false;
	out->method = take_word(&rest);
	out->target = take_word(&rest);
	if (!out->target.length)
		return false;
	out->authority = text_is(out->method, "CONNECT") ? out->target : authority_of(out->target);
	bool more = rest.length;

	while (rest.length) {
		struct text word = take_word(&rest);

		if (text_begins(word, "HTTP/"))
			out->protocol = word;
	}
	out->clear = is_clear(line, out);
	return out->protocol.length || is_old(out, more);
}

bool http_line_may_be_request(struct text begin)
{
	struct text rest = past_blanks(begin);
	uint32_t method = token_length(rest);

	return method == rest.length || (method && http_line_is_blank(rest.at[method]));
}

struct text http_line_bare(struct text text)
{
	while (text.length && http_line_is_around(text.at[0]))
		text = text_from(text, 1);
	while (text.length && http_line_is_around(text.at[text.length - 1]))
		text.length--;
	return text;
}

// RFC 9112 5.1: by the blanks and tabs around it alone.
static bool is_clear_value(struct text value, struct text found)
{
	while (value.length && (value.at[0] == ' ' || value.at[0] == '\t'))
		value = text_from(value, 1);
	while (value.length &&
		(value.at[value.length - 1] == ' ' || value.at[value.length - 1] == '\t'))
		value.length--;
	return value.length == found.length && text_is_printable(value);
}

void http_line_field(struct text line, struct http_field *out)
{
	struct text value = line, name = text_take(&value, ':');

	out->name = http_line_bare(name);
	out->value = http_line_bare(value);
	out->clear = name.length && name.length < line.length &&
		     token_length(name) == name.length && is_clear_value(value, out->value);
}

// What a name cannot have, and servers end it at.
static bool ends_name(uint8_t byte)
{
	return byte <= ' ' || byte == 0x7f || strchr(":/?#\\,;@[]", byte);
}

static void take_host(struct text authority, struct host_name *name)
{
	uint32_t i = 0;

	while (i < authority.length && !ends_name(authority.at[i]))
		i++;
	name->length = 0;
	if (!i || i > HOST_NAME_BYTES)
		return;
	memcpy(name->bytes, authority.at, i);
	name->length = (uint8_t)i;
}

void http_line_hosts(struct text authority, struct host_name names[HTTP_HOSTS])
{
	struct text host = authority;

	while (text_contains_byte(host, '@'))
		text_take(&host, '@');
	take_host(host, &names[0]);
	names[1].length = 0;
	if (host.length != authority.length)
		take_host(authority, &names[1]);
}
