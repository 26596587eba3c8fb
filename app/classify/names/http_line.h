// SPDX-License-Identifier: BSD-3-Clause
// Inside app/classify: one line of a request's head as servers read it, which differ: what one of
// them takes is reported, and whether all of them read it alike (RFC 9112 3, 5). Pure.
#ifndef SLUICE_HTTP_LINE_H
#define SLUICE_HTTP_LINE_H

#include "classify/names/host_name.h"
#include "classify/text.h"

struct http_line {
	struct text method, target;
	struct text protocol;  // "HTTP/1.1"; empty: HTTP/0.9
	struct text authority; // of the target in absolute form, or of CONNECT; empty: none
	bool clear;            // all servers that take it read it so
};

// A line without its end. False: no server takes it for the first one of a request.
bool http_line_request(struct text line, struct http_line *out);
// A line of which the end is not here.
bool http_line_may_be_request(struct text begin);

struct http_field {
	struct text name, value; // without what stands around them
	bool clear;
};

// What is a token's (RFC 9110 5.6.2); a blank to some server (RFC 9112 3: HT, VT, FF and CR, too;
// some take what their language calls white space); what may stand around a field's name or value.
enum http_line_kind {
	HTTP_LINE_TOKEN = 1,
	HTTP_LINE_BLANK = 2,
	HTTP_LINE_AROUND = 4,
};
extern const uint8_t http_line_kinds[256];

static inline bool http_line_is_token(uint8_t byte)
{
	return http_line_kinds[byte] & HTTP_LINE_TOKEN;
}
static inline bool http_line_is_blank(uint8_t byte)
{
	return http_line_kinds[byte] & HTTP_LINE_BLANK;
}
static inline bool http_line_is_around(uint8_t byte)
{
	return http_line_kinds[byte] & HTTP_LINE_AROUND;
}

// Without the blanks, and what some servers take for such, around it.
struct text http_line_bare(struct text text);
void http_line_field(struct text line, struct http_field *out);

// The names that servers may see in an authority; the first is what the RFCs see (RFC 3986 3.2).
// `name` has no length where there is none.
#define HTTP_HOSTS 2
void http_line_hosts(struct text authority, struct host_name names[HTTP_HOSTS]);

#endif
