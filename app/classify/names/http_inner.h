// SPDX-License-Identifier: BSD-3-Clause
// Inside app/classify: lines of HTTP octet by octet, for a reader that does not have them to their
// end: whether a line may still be of use, and where in a line of no use a request may begin.
// Each octet is looked at once, however a stream is cut. Pure.
#ifndef SLUICE_HTTP_INNER_H
#define SLUICE_HTTP_INNER_H

#include "classify/text.h"

// How a line begins. A CR in front of it may be the end of another line.
enum http_begins {
	HTTP_BEGINS_BLANK,    // nothing but blanks
	HTTP_BEGINS_CONTROLS, // and what stands around a field's name, not before a method
	HTTP_BEGINS_METHOD,
	HTTP_BEGINS_METHOD_HOST, // this and the next two: with 1 to 3 letters of "host"
	HTTP_BEGINS_HOST = HTTP_BEGINS_METHOD_HOST + 3, // the same, but no method
	HTTP_BEGINS_WANTED = HTTP_BEGINS_HOST + 3,      // as a request or a Host
	HTTP_BEGINS_OTHER,
	HTTP_BEGINS_UNKNOWN, // nobody has looked
};

// The state behind `more`, which has no LF. `host`: a Host is of use, too. `n`: octets up to the
// one that decided.
enum http_begins http_begins(enum http_begins state, struct text more, bool host, uint32_t *n);

// What a server may read as a request behind octets that it takes for the end of a body: a method,
// a blank, and a target that names a host (RFC 9112 3.2.2, 3.2.3), or GET of HTTP/0.9.
enum http_inner {
	HTTP_INNER_NONE,
	HTTP_INNER_NAME, // a token, blanks, scheme "://" have gone by
	HTTP_INNER_CONNECT,
	HTTP_INNER_GET, // the word, and a blank
};

// `state` is 0 where a line begins.
enum http_inner http_inner_step(uint8_t *state, uint8_t byte);
// The end of what has gone by, in short.
const char *http_inner_text(enum http_inner inner);
// A word that a method may stand before, and a blank.
bool http_inner_awaits(uint8_t state);

struct http_inner_line {
	struct text line;
	bool cut;                     // the line goes on
	bool open;                    // the name, or what makes it one, may stand behind the cut
	uint32_t from, at;            // what is before `from` is no name; behind the last word
	uint32_t protocol;            // place of the last word that begins with HTTP/; 0: none
	bool token;                   // a method may end where the last word does
	enum http_inner method, next; // what ends before the name; what ends in the last word
};

// `behind`: what stands before the line may be a method.
void http_inner_begin(struct http_inner_line *of, struct text line, bool behind, bool cut);
// The next name that such a request may ask for.
bool http_inner_next(struct http_inner_line *of, struct text *authority);

#endif
