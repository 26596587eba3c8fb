// SPDX-License-Identifier: BSD-3-Clause
// Bodies of several parts (RFC 2046 section 5.1): multipart/form-data (RFC 7578), of which each
// part with a file's name is a file, and multipart/byteranges (RFC 9110 section 14.6), of which
// each part is a range of one file. What is in a part is never taken apart again.
#ifndef SLUICE_CONTENT_HTTP_MULTIPART_H
#define SLUICE_CONTENT_HTTP_MULTIPART_H

#include "content/http/file.h"
#include "content/http/head_reader.h"

struct http_multipart;

// What the parts have in common, and where what they are goes.
struct http_parts {
	const struct content_file *shared; // name, path, host, validator
	struct http_file *file;            // of the part in progress
	uint64_t *notes;                   // that were told of the message
	bool ranges;
};

// NULL: no memory.
struct http_multipart *http_multipart_open(
	struct content_memory *memory, struct content_text boundary);
void http_multipart_close(struct http_multipart *multipart, struct content_memory *memory);

// HTTP_ON, HTTP_MORE, HTTP_NO_MEMORY or HTTP_OVER (a part's head is too long), at *taken.
enum http_step http_multipart_put(struct http_multipart *multipart, const struct http_turn *turn,
	const struct http_parts *parts, const struct http_input *input, uint32_t *taken);
// The body ends at `at64`: HTTP_ON or HTTP_MORE.
enum http_step http_multipart_finish(struct http_multipart *multipart, const struct http_turn *turn,
	const struct http_parts *parts, uint64_t at64);
// Bytes are lost, and with them it may be a delimiter: the next one is looked for.
void http_multipart_lose(struct http_multipart *multipart, struct content_memory *memory);

#endif
