// SPDX-License-Identifier: BSD-3-Clause
// How long a message's body is (RFC 9112 section 6.3), and the chunked coding (section 7.1). Pure.
#ifndef SLUICE_CONTENT_HTTP_FRAMING_H
#define SLUICE_CONTENT_HTTP_FRAMING_H

#include "content/http/head.h"

enum http_framing {
	HTTP_FRAMING_NONE, // no body
	HTTP_FRAMING_LENGTH,
	HTTP_FRAMING_CHUNKED,
	HTTP_FRAMING_CLOSE, // until the connection ends
};

// Adds bits of enum content_note to *notes. `to`: what a response answers.
enum http_framing http_framing_request(const struct http_head *head, uint64_t *notes);
enum http_framing http_framing_response(
	const struct http_head *head, enum http_method to, uint64_t *notes);
// Some hosts take all that follows the response's head for its body. As long as nothing follows the
// body, all agree.
bool http_framing_is_disputed(const struct http_head *head, enum http_method to);

enum http_chunk_state {
	HTTP_CHUNK_SIZE,
	HTTP_CHUNK_BLANK,     // behind the size: blanks, or an extension
	HTTP_CHUNK_EXTENSION, // nothing of it is kept
	HTTP_CHUNK_BYTES,     // `remaining` of them
	HTTP_CHUNK_BEHIND,    // CRLF
	HTTP_CHUNK_TRAILER,   // behind the last chunk: a head_reader's
};

#define HTTP_CHUNK_LINE_MAX 16384u // behind a size: nobody who means well writes so much

struct http_chunks {
	uint64_t remaining; // of the chunk
	uint16_t line;      // bytes behind the size
	uint8_t state;      // enum http_chunk_state
	bool digits;        // the size has one
	bool cr;
};

enum http_chunk_read {
	HTTP_CHUNK_ON,
	HTTP_CHUNK_NOTED, // ... and it is not as it should be
	HTTP_CHUNK_BAD,   // no end can be known
};

// One byte of what stands around the chunks' bytes: not in HTTP_CHUNK_BYTES or HTTP_CHUNK_TRAILER.
enum http_chunk_read http_chunk_byte(struct http_chunks *chunks, uint8_t byte);

#endif
