// SPDX-License-Identifier: BSD-3-Clause
// The head of an HTTP/1 request (RFC 9112), from bytes that nobody has looked at. Strict: what two
// readers could take for different things (bare CR or LF, NUL, folded lines, two Hosts, a space
// before the colon) is refused. Only a POST to HTTP_COMMAND_PATH has a body, and says how long it
// is. Pure; any thread.
#ifndef SLUICE_HTTP_PARSE_H
#define SLUICE_HTTP_PARSE_H

#include <stdbool.h>
#include <stddef.h>

#define HTTP_HEAD_MAX    8192 // bytes, with the empty line
#define HTTP_HEADERS_MAX 64
#define HTTP_PATH_MAX    255
#define HTTP_HOST_MAX    255
#define HTTP_ACCEPT_MAX  1023
#define HTTP_BODY_MAX    4096
#define HTTP_BEARER_MAX  256

#define HTTP_COMMAND_PATH "/api/command" // the only place that takes a POST

struct http_request {
	bool head; // HEAD; else GET, or
	bool post;
	bool keep_alive;
	bool version_1_0;
	bool has_host;
	bool absolute;                    // the target named the host; the field is ignored
	char path[HTTP_PATH_MAX + 1];     // without the query; not decoded
	char host[HTTP_HOST_MAX + 1];     // lower case, without the port
	char accept[HTTP_ACCEPT_MAX + 1]; // all of them, joined by commas; cut when longer
	// Of a POST
	bool has_length;
	size_t length;            // of the body
	bool json;                // Content-Type: application/json
	bool has_site, same_site; // Sec-Fetch-Site: same-origin
	bool has_origin;          // Origin, without its scheme
	char origin[HTTP_HOST_MAX + 8];
	char authority[HTTP_HOST_MAX + 8]; // the host with its port, lower case
	bool has_token;                    // Authorization: Bearer
	char token[HTTP_BEARER_MAX + 1];
};

// Looks for the end of the head in bytes[0..length); `*seen` (0 at first) says how far the last
// look at the same bytes came. The head's length; 0: not yet; -400: no head begins like this.
long http_head_find(const char *bytes, size_t length, size_t *seen);

// The head that http_head_find found. 0, or the status of the answer: 400 it is malformed,
// 405 another method, 411 a POST without a length, 413 it has a body, or one that is too long,
// 414, 431 too long, 501 a coding of the body, 505 another version. `out` is filled as far as it
// was read.
int http_head_parse(const char *bytes, size_t length, struct http_request *out);

// Does `accept` ask for OpenMetrics rather than for Prometheus' classic text?
bool http_accepts_openmetrics(const char *accept);

#endif
