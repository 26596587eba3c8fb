// SPDX-License-Identifier: BSD-3-Clause
// Parses the first lines of an HTTP/1 message for the flow's record.
#include "classify/handshake/http_head.h"
#include "classify/names/http_line.h"

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
	struct http_line request;

	memset(out, 0, sizeof(*out));
	// RFC 9112 2.2: a server takes empty lines before the request line.
	while (half.length && (half.at[0] == '\r' || half.at[0] == '\n'))
		half = text_from(half, 1);
	if (!half.length)
		return HTTP_MORE;
	if (!text_take_line(&half, &line)) {
		if (half.at[half.length - 1] == '\r')
			half.length--;
		return http_line_may_be_request(half) && text_is_printable(half) ? HTTP_MORE
										 : HTTP_NONE;
	}
	if (!http_line_request(line, &request) || !request.protocol.length)
		return HTTP_NONE;
	out->method = request.method;
	out->target = request.target;
	out->protocol = request.protocol;
	struct text *values[] = {&host, &out->user_agent};
	bool whole = read_fields(half, names, values);
	out->host = host_of(request.authority.length ? request.authority : host);
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
