// SPDX-License-Identifier: BSD-3-Clause
// Parses the head of an HTTP/1 request, and rejects what two readers could understand
// differently.
#include "control/http/parse.h"

#include <string.h>
#include <strings.h>

// A part of the head; never NUL-terminated.
struct piece {
	const char *at;
	size_t length;
};

long http_head_find(const char *bytes, size_t length, size_t *seen)
{
	for (; *seen < length; (*seen)++) {
		unsigned char c = (unsigned char)bytes[*seen];

		if (c == '\n') {
			if (!*seen || bytes[*seen - 1] != '\r')
				return -400;
			if (*seen == 1)
				return -400; // an empty line is no request line
			if (*seen >= 3 && bytes[*seen - 2] == '\n')
				return (long)++*seen;
		} else if (*seen && bytes[*seen - 1] == '\r') {
			return -400; // CR alone
		} else if ((c < ' ' && c != '\r' && c != '\t') || c == 0x7f) {
			return -400; // among them the first byte of TLS, and NUL
		}
	}
	return 0;
}

static bool is_token_char(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_token(struct piece piece)
{
	for (size_t i = 0; i < piece.length; i++) {
		if (!is_token_char((unsigned char)piece.at[i]))
			return false;
	}
	return piece.length;
}

static bool piece_is(struct piece piece, const char *word) // letters of either case
{
	return piece.length == strlen(word) && strncasecmp(piece.at, word, piece.length) == 0;
}

static struct piece trimmed(struct piece piece)
{
	while (piece.length && (*piece.at == ' ' || *piece.at == '\t')) {
		piece.at++;
		piece.length--;
	}
	while (piece.length &&
		(piece.at[piece.length - 1] == ' ' || piece.at[piece.length - 1] == '\t'))
		piece.length--;
	return piece;
}

// The part before `separator`, which is taken off `rest` with it.
static struct piece next(struct piece *rest, char separator)
{
	const char *end = memchr(rest->at, separator, rest->length);
	struct piece piece = {rest->at, end ? (size_t)(end - rest->at) : rest->length};
	size_t step = piece.length + (end ? 1 : 0);

	rest->at += step;
	rest->length -= step;
	return piece;
}

static bool list_has(struct piece list, const char *word)
{
	while (list.length) {
		if (piece_is(trimmed(next(&list, ',')), word))
			return true;
	}
	return false;
}

static void take_lower(struct piece piece, char *out)
{
	for (size_t i = 0; i < piece.length; i++) {
		char c = piece.at[i];

		out[i] = (char)(c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c);
	}
	out[piece.length] = '\0';
}

// "example.net:80", "[::1]:9111", "localhost": the name in lower case.
static int take_host(struct piece piece, struct http_request *out)
{
	const char *colon = memrchr(piece.at, ':', piece.length);
	size_t length = piece.length;

	if (out->has_host)
		return 400;
	if (length && piece.at[0] == '[') {
		const char *bracket = memchr(piece.at, ']', length);

		if (!bracket)
			return 400;
		length = (size_t)(bracket + 1 - piece.at);
		if (length < piece.length && piece.at[length] != ':')
			return 400;
	} else if (colon) {
		length = (size_t)(colon - piece.at);
	}
	for (size_t i = length + 1; i < piece.length; i++) {
		if (piece.at[i] < '0' || piece.at[i] > '9')
			return 400;
	}
	if (length > HTTP_HOST_MAX || piece.length >= sizeof out->authority)
		return 400;
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)piece.at[i];

		if (c <= ' ' || c > '~' || strchr("/?#@\\,", c))
			return 400;
		out->host[i] = (char)(c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c);
	}
	out->host[length] = '\0';
	take_lower(piece, out->authority);
	out->has_host = true;
	return 0;
}

// "/metrics?x=y", or in absolute form "http://host/metrics" (RFC 9112 section 3.2.2).
static int take_target(struct piece target, struct http_request *out)
{
	struct piece path;

	for (size_t i = 0; i < target.length; i++) {
		unsigned char c = (unsigned char)target.at[i];

		if (c <= ' ' || c > '~')
			return 400;
	}
	if (target.length > 7 && strncasecmp(target.at, "http://", 7) == 0) {
		struct piece host = {target.at + 7, target.length - 7};
		const char *slash = memchr(host.at, '/', host.length);
		int status;

		if (!slash)
			return 400;
		host.length = (size_t)(slash - host.at);
		status = take_host(host, out);
		if (status)
			return status;
		out->absolute = true;
		target.length -= (size_t)(slash - target.at);
		target.at = slash;
	}
	if (!target.length || target.at[0] != '/')
		return 400;
	path = next(&target, '?');
	if (path.length > HTTP_PATH_MAX)
		return 414;
	memcpy(out->path, path.at, path.length);
	out->path[path.length] = '\0';
	return 0;
}

static int take_version(struct piece version, struct http_request *out)
{
	static const char prefix[] = "HTTP/";

	if (version.length != 8 || memcmp(version.at, prefix, 5) != 0 || version.at[6] != '.')
		return 400;
	if (version.at[5] != '1')
		return version.at[5] >= '0' && version.at[5] <= '9' ? 505 : 400;
	if (version.at[7] < '0' || version.at[7] > '9')
		return 400;
	out->version_1_0 = version.at[7] == '0';
	out->keep_alive = !out->version_1_0;
	return 0;
}

static int parse_request_line(struct piece line, struct http_request *out)
{
	struct piece method = next(&line, ' ');
	struct piece target = next(&line, ' ');
	bool get = method.length == 3 && memcmp(method.at, "GET", 3) == 0;
	int status = take_version(line, out);

	if (!is_token(method) || status == 400)
		return 400;
	if (status)
		return status;
	out->head = method.length == 4 && memcmp(method.at, "HEAD", 4) == 0;
	out->post = method.length == 4 && memcmp(method.at, "POST", 4) == 0;
	if (!get && !out->head && !out->post)
		return 405;
	status = take_target(target, out);
	return !status && out->post && strcmp(out->path, HTTP_COMMAND_PATH) != 0 ? 405 : status;
}

static void take_accept(struct piece value, struct http_request *out)
{
	size_t used = strlen(out->accept), room = HTTP_ACCEPT_MAX - used;

	if (used && room) {
		out->accept[used++] = ',';
		room--;
	}
	if (value.length > room)
		value.length = room;
	memcpy(out->accept + used, value.at, value.length);
	out->accept[used + value.length] = '\0';
}

static int take_length(struct piece value, struct http_request *out)
{
	size_t length = 0, most = out->post ? HTTP_BODY_MAX : 0;

	for (size_t i = 0; i < value.length; i++) {
		if (value.at[i] < '0' || value.at[i] > '9')
			return 400;
		if (length <= most)
			length = length * 10 + (size_t)(value.at[i] - '0');
	}
	if (!value.length || (out->post && out->has_length))
		return 400;
	out->has_length = true;
	out->length = length;
	return length <= most ? 0 : 413;
}

// "http://127.0.0.1:9111", or "null", which is nobody's.
static int take_origin(struct piece value, struct http_request *out)
{
	const char *scheme = memmem(value.at, value.length, "://", 3);

	if (out->has_origin)
		return 400;
	out->has_origin = true;
	if (!scheme)
		return 0;
	value.length -= (size_t)(scheme + 3 - value.at);
	value.at = scheme + 3;
	if (value.length >= sizeof out->origin)
		return 400;
	take_lower(value, out->origin);
	return 0;
}

static int take_bearer(struct piece value, struct http_request *out)
{
	struct piece scheme = next(&value, ' ');

	if (out->has_token)
		return 400;
	if (!piece_is(scheme, "bearer"))
		return 0;
	value = trimmed(value);
	if (value.length > HTTP_BEARER_MAX)
		return 431;
	memcpy(out->token, value.at, value.length);
	out->token[value.length] = '\0';
	out->has_token = true;
	return 0;
}

// What only a POST needs.
static int parse_post_header(struct piece name, struct piece value, struct http_request *out)
{
	if (piece_is(name, "authorization"))
		return take_bearer(value, out);
	if (piece_is(name, "origin"))
		return take_origin(value, out);
	if (piece_is(name, "content-type")) {
		out->json = piece_is(trimmed(next(&value, ';')), "application/json");
	} else if (piece_is(name, "sec-fetch-site")) {
		// of two, none may be another
		out->same_site =
			piece_is(value, "same-origin") && (!out->has_site || out->same_site);
		out->has_site = true;
	}
	return 0;
}

static int parse_header(struct piece line, struct http_request *out)
{
	const char *colon = memchr(line.at, ':', line.length);
	struct piece name, value;

	if (!colon)
		return 400;
	name = next(&line, ':');
	value = trimmed(line);
	if (!is_token(name)) // a blank before the colon, or a folded line
		return 400;
	if (piece_is(name, "host"))
		return out->absolute ? 0 : take_host(value, out);
	if (piece_is(name, "content-length"))
		return take_length(value, out);
	if (piece_is(name, "transfer-encoding"))
		return 501;
	if (piece_is(name, "accept"))
		take_accept(value, out);
	else if (piece_is(name, "connection") && list_has(value, "close"))
		out->keep_alive = false;
	else if (out->post)
		return parse_post_header(name, value, out);
	return 0;
}

static struct piece next_line(struct piece *rest)
{
	struct piece line = next(rest, '\n');

	if (line.length)
		line.length--; // the CR
	return line;
}

int http_head_parse(const char *bytes, size_t length, struct http_request *out)
{
	struct piece rest = {bytes, length}, line;
	int status;

	memset(out, 0, sizeof *out);
	status = parse_request_line(next_line(&rest), out);
	if (status)
		return status;
	for (unsigned n = 0; (line = next_line(&rest)).length; n++) {
		if (n == HTTP_HEADERS_MAX)
			return 431;
		status = parse_header(line, out);
		if (status)
			return status;
	}
	if (!out->has_host && !out->version_1_0)
		return 400;
	return out->post && !out->has_length ? 411 : 0;
}

bool http_accepts_openmetrics(const char *accept)
{
	struct piece list = {accept, strlen(accept)};

	while (list.length) {
		struct piece item = next(&list, ',');
		struct piece type = trimmed(next(&item, ';'));
		bool wanted = piece_is(type, "application/openmetrics-text");

		while (wanted && item.length) {
			struct piece parameter = trimmed(next(&item, ';'));

			if (piece_is(parameter, "q=0") || piece_is(parameter, "q=0.0"))
				wanted = false;
		}
		if (wanted)
			return true;
	}
	return false;
}
