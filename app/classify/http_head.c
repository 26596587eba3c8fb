// SPDX-License-Identifier: BSD-3-Clause
#include "http_head.h"

#define METHOD_MAX 32

// RFC 9112 5.1: a field's value is without the white space around it.
static struct text trimmed(struct text value)
{
	while (value.length && (value.at[0] == ' ' || value.at[0] == '\t'))
		value = text_from(value, 1);
	while (value.length &&
		(value.at[value.length - 1] == ' ' || value.at[value.length - 1] == '\t'))
		value.length--;
	return value;
}

// Without user and port (RFC 3986 3.2); the brackets of an address stay.
static struct text host_of(struct text authority)
{
	struct text host = authority;

	while (text_contains_byte(host, '@'))
		text_take(&host, '@');
	if (host.length && host.at[0] == '[') {
		const uint8_t *end = memchr(host.at, ']', host.length);

		return end ? (struct text){host.at, (uint32_t)(end - host.at) + 1} : host;
	}
	return text_take(&host, ':');
}

// Of the absolute form: scheme "://" authority.
static struct text authority_of(struct text target)
{
	uint32_t begin = 0;

	while (begin < target.length && text_is_letter(target.at[begin]))
		begin++;
	if (!begin || !text_begins(text_from(target, begin), "://"))
		return (struct text){NULL, 0};
	target = text_from(target, begin + 3);
	for (uint32_t i = 0; i < target.length; i++)
		if (target.at[i] == '/' || target.at[i] == '?' || target.at[i] == '#')
			target.length = i;
	return target;
}

// A line that is not here to its end: may it become a request's?
static bool may_be_request(struct text line)
{
	uint32_t i = 0;

	while (i < line.length && octets_upper(line.at[i]))
		i++;
	if (!i || i > METHOD_MAX)
		return false;
	return i == line.length || (line.at[i] == ' ' && text_is_printable(line));
}

// The first of each name counts. False: the header is not here to its end.
static bool read_fields(struct text rest, const char *const names[], struct text *values[])
{
	struct text line;

	while (text_take_line(&rest, &line)) {
		if (!line.length)
			return true;
		struct text name = text_take(&line, ':');

		for (unsigned i = 0; names[i]; i++)
			if (text_is(name, names[i]) && !values[i]->length)
				*values[i] = trimmed(line);
	}
	return false;
}

enum http_seen http_request_read(struct text half, struct http_request *out)
{
	static const char *const names[] = {"host", "user-agent", NULL};
	struct text line, host = {NULL, 0};

	memset(out, 0, sizeof(*out));
	// RFC 9112 2.2: a server takes empty lines before the request line.
	while (half.length && (half.at[0] == '\r' || half.at[0] == '\n'))
		half = text_from(half, 1);
	if (!half.length)
		return HTTP_MORE;
	if (!text_take_line(&half, &line)) {
		if (half.at[half.length - 1] == '\r')
			half.length--;
		return may_be_request(half) ? HTTP_MORE : HTTP_NONE;
	}
	struct text method = text_take_word(&line), target = text_take_word(&line);

	if (!method.length || method.length > METHOD_MAX || !target.length ||
		!text_begins(line, "HTTP/1.") || line.length != 8 || !octets_digit(line.at[7]))
		return HTTP_NONE;
	for (uint32_t i = 0; i < method.length; i++)
		if (!text_is_letter(method.at[i]) && method.at[i] != '-')
			return HTTP_NONE;
	out->method = method;
	out->target = target;
	out->protocol = line;
	struct text *values[] = {&host, &out->user_agent};
	bool whole = read_fields(half, names, values);
	struct text authority = text_is(method, "CONNECT") ? target : authority_of(target);

	out->host = host_of(authority.length ? authority : host);
	return whole ? HTTP_WHOLE : HTTP_MORE;
}

enum http_seen http_response_read(struct text half, struct http_response *out)
{
	static const char *const names[] = {"content-type", NULL};
	struct text *values[] = {&out->content_type};
	struct text line;

	memset(out, 0, sizeof(*out));
	if (!text_take_line(&half, &line)) {
		static const char word[] = "HTTP/1.";
		uint32_t n = half.length < sizeof(word) - 1 ? half.length : sizeof(word) - 1;

		return memcmp(half.at, word, n) ? HTTP_NONE : HTTP_MORE;
	}
	struct text protocol = text_take_word(&line);
	struct text code = text_take_word(&line);
	uint64_t status;

	if (!text_begins(protocol, "HTTP/1.") || code.length != 3 ||
		!text_number(code, 999, &status))
		return HTTP_NONE;
	out->status = (uint16_t)status;
	return read_fields(half, names, values) ? HTTP_WHOLE : HTTP_MORE;
}
