// SPDX-License-Identifier: BSD-3-Clause
// Request and status lines (RFC 9112 sections 3 and 4). Pure.
#ifndef SLUICE_CONTENT_HTTP_START_LINE_H
#define SLUICE_CONTENT_HTTP_START_LINE_H

#include "content/http/head.h"

enum http_line_form {
	HTTP_LINE_BAD,     // none
	HTTP_LINE_LENIENT, // some hosts take it
	HTTP_LINE_STRICT,  // as the grammar says
};

// The line in progress, without its end; what is kept of it becomes pieces of the head.
enum http_line_form http_read_request_line(struct http_head *head);
enum http_line_form http_read_status_line(struct http_head *head);

// Whether a line that has `line` as its beginning may go on with `byte`, so that it is one.
bool http_request_line_goes_on(struct content_text line, uint8_t byte);
// `answers`: a request waits for it, which servers of SHOUTcast (ICY) and NTRIP (SOURCETABLE)
// answer with a version of their own.
bool http_status_line_goes_on(struct content_text line, uint8_t byte, bool answers);

#endif
