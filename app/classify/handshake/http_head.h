// SPDX-License-Identifier: BSD-3-Clause
// Inside app/classify: the first lines of an HTTP/1 message (RFC 9112 3, 4, 5), as a record of the
// flow tells them. Pure.
#ifndef SLUICE_HTTP_HEAD_H
#define SLUICE_HTTP_HEAD_H

#include "classify/text.h"

enum http_seen {
	HTTP_NONE, // something else
	HTTP_MORE, // its header goes on behind the bytes at hand; what is reported is of them
	HTTP_WHOLE,
};

struct http_request {
	struct text method, target;
	struct text protocol; // "HTTP/1.1"
	struct text host;     // without its port; empty: none (yet)
	struct text user_agent;
};

struct http_response {
	uint16_t status; // 0: not here yet
	struct text content_type;
};

enum http_seen http_request_read(struct text half, struct http_request *out);
enum http_seen http_response_read(struct text half, struct http_response *out);

#endif
