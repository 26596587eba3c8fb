// SPDX-License-Identifier: BSD-3-Clause
// One or two content codings in a row, with what lies between them: a block of content_memory.
#ifndef SLUICE_CONTENT_HTTP_CODINGS_H
#define SLUICE_CONTENT_HTTP_CODINGS_H

#include "content/coding.h"
#include "content/http/text.h"

struct http_codings;

// In the order in which they are undone; 1 or 2. NULL: no memory.
struct http_codings *http_codings_open(
	struct content_memory *memory, const uint8_t *kinds, uint32_t n);
void http_codings_close(
	struct http_codings *codings, struct content_memory *memory); // NULL is allowed

// What was decoded, and not yet taken.
struct content_text http_codings_out(const struct http_codings *codings);
void http_codings_take(struct http_codings *codings, uint32_t length);

// Decodes more, up to `most` bytes, where nothing is left to be taken. CODING_GOES_ON with nothing
// to be taken: it needs more input; all of it was taken.
enum coding_state http_codings_fill(struct http_codings *codings, const uint8_t *in,
	uint32_t *in_length, uint64_t most, bool last);

#endif
