// SPDX-License-Identifier: BSD-3-Clause
// Reads a head byte by byte: lines that are needed are kept in a block (head.h), others cost
// nothing but time. Takes what RFC 9112 section 2.2 allows to take, and notes it.
#ifndef SLUICE_CONTENT_HTTP_HEAD_READER_H
#define SLUICE_CONTENT_HTTP_HEAD_READER_H

#include "content/http/field.h"
#include "content/http/words.h"

enum http_head_kind {
	HTTP_HEAD_REQUEST,
	HTTP_HEAD_RESPONSE,
	HTTP_HEAD_PART,    // of a multipart body: fields alone
	HTTP_HEAD_TRAILER, // of a chunked one: nothing of it is needed
	HTTP_HEAD_BEHIND,  // lines behind a request of one line: there should be none but an empty
			   // one
};

enum http_line_state {
	HTTP_LINE_BLANK, // empty lines before a message, RFC 9112 section 2.2
	HTTP_LINE_START,
	HTTP_LINE_BEGINS, // of a field, the end of a head, or what continues the line before
	HTTP_LINE_NAME,
	HTTP_LINE_VALUE,
	HTTP_LINE_SKIP, // when searching: to the end of a line that begins no message
};

struct http_head_reader {
	struct http_head *head; // a block of content_memory, or NULL
	uint64_t begins64;      // the head's first byte
	uint64_t line64;        // of the field in progress
	uint32_t bytes;         // of this head so far
	uint64_t notes;         // that were told of this message
	uint8_t kind, state, field;
	bool searching; // for a message: lines that are none are passed over in silence
	bool answers;   // a response for which a request waits
	bool cr;        // the last byte was CR
	bool blank;     // behind the field's name
	bool bad_name;
	bool crlf, lf; // a line of this head ended with it
	bool reported; // the name, as one that asks for a part
	bool changed;  // ... and its receiver does not know it
	bool unsure;   // a message was looked for, and this may be none: it may be a part of a body
	uint8_t name_length;
	char name[HTTP_FIELD_NAME_BYTES];
	struct http_word word; // of the value, where it is a list of codings
};

enum http_head_read {
	HTTP_READ_MORE, // all was taken
	HTTP_READ_DONE, // the head ends at *taken
	HTTP_READ_BAD,  // a first line that begins no message
	HTTP_READ_TOO_LONG,
	HTTP_READ_NO_MEMORY, // at *taken
};

// For a new head; what was told of the message before is forgotten, unless it is a trailer's.
void http_head_reader_begin(struct http_head_reader *reader, enum http_head_kind kind);
// ... and what begins no message is passed over: the rest of a line that is HTTP_READ_BAD, else
// from the next byte on.
void http_head_reader_search(struct http_head_reader *reader, enum http_head_kind kind);

enum http_head_read http_head_reader_read(struct http_head_reader *reader,
	const struct http_turn *turn, const struct http_input *input, uint32_t *taken);

#endif
