// SPDX-License-Identifier: BSD-3-Clause
// The body of a message, its framing taken off: codings are undone, and what they give is one file,
// or several parts, or of no use.
#ifndef SLUICE_CONTENT_HTTP_BODY_H
#define SLUICE_CONTENT_HTTP_BODY_H

#include "content/http/codings.h"
#include "content/http/file.h"
#include "content/http/framing.h"
#include "content/http/multipart.h"
#include "content/http/requests.h"

// What is decoded of one body, codings alone: an end, since bytes are cheap to repeat.
#define HTTP_BODY_BYTES_MAX  (1ull << 30)
#define HTTP_BODY_RATIO_MAX  2000u       // of what came in ...
#define HTTP_BODY_RATIO_FROM (16u << 20) // ... once so much came out
// Of a body with status 300 and above that is not coded, and has no name by its path: the pages
// that servers bring with them (nginx, Apache httpd, Python) are shorter.
#define HTTP_REFUSAL_BYTES 512u

enum http_body_shape {
	HTTP_BODY_SKIPPED, // no file
	HTTP_BODY_FILE,
	HTTP_BODY_FIELDS, // application/x-www-form-urlencoded: a file without a name
	HTTP_BODY_FORM,   // multipart/form-data
	HTTP_BODY_RANGES, // multipart/byteranges
};

struct http_body {
	struct http_head *head; // of its message, as long as it is needed
	struct http_request
		*request; // that it answers, likewise; NULL: not known, or it is a request
	struct http_codings *codings; // NULL: none
	struct http_multipart *multipart;
	struct http_file file;
	uint64_t begins64;
	uint64_t in, out;                     // of the codings
	uint64_t notes;                       // that were told of the message
	uint8_t shape;                        // enum http_body_shape
	uint8_t framing;                      // enum http_framing
	uint8_t kinds[HTTP_CODINGS], n_kinds; // to be undone, in this order
	bool answers;                         // it is a response's
	bool refusal;                         // ... a short one that brings a server's own words
	bool partial;                         // a range of the file
	bool stays_coded;                     // a content coding that cannot be undone
	bool named;                           // its file was told
	bool skip;                            // nothing more of it is wanted
	bool waits;                           // the codings hold more than they could give
	bool broken, over;                    // what the codings gave last is all
};

// The head and the request are there, and what follows of them is set: shape, framing, notes.
// Takes what memory it needs and tells the file: HTTP_ON or HTTP_NO_MEMORY, then again.
enum http_step http_body_open(struct http_body *body, const struct http_turn *turn);
// HTTP_ON, HTTP_MORE, HTTP_NO_MEMORY, HTTP_OVER at *taken. Also without input, where it waits.
enum http_step http_body_put(struct http_body *body, const struct http_turn *turn,
	const uint8_t *bytes, uint64_t at64, uint32_t length, uint32_t *taken);
// It ends at `at64`, whole as far as its framing says. HTTP_ON: ends are told.
enum http_step http_body_finish(
	struct http_body *body, const struct http_turn *turn, uint64_t at64);
// A gap of `length` bytes within it, from `at64` on.
void http_body_lose(
	struct http_body *body, const struct http_turn *turn, uint64_t at64, uint64_t length);
// It ends at `at64` before its end, if it is there at all. All is given back.
void http_body_abort(
	struct http_body *body, const struct http_turn *turn, enum content_end end, uint64_t at64);

#endif
