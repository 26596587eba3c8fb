// SPDX-License-Identifier: BSD-3-Clause
// What the HTTP server shows: a table of places, each a file of the page (in the program) or made
// from the counters when it is asked for, and then shown to everybody until it is stale. So a flood
// of requests costs no more than its answers' headers, and a slow reader holds a reference, not a
// copy. Control core only.
#ifndef SLUICE_HTTP_DOCUMENT_H
#define SLUICE_HTTP_DOCUMENT_H

#include "control/http/parse.h"
#include "control/http/site.h"

struct http_document {
	unsigned refs;
	size_t length;
	const char *bytes;
	void *owned; // to free(); NULL: the bytes live as long as the program
};

struct http_place {
	const char *path;
	const char *type;
	// A file of the page
	const unsigned char *bytes;
	size_t length;
	// or made: JSON or text, at most every `fresh_ms`.
	int (*make)(const struct http_site *site, struct text *out);
	uint32_t fresh_ms;
};

#define HTTP_PLACES_MAX 24

struct http_documents {
	const struct http_site *site;
	struct http_document *made[HTTP_PLACES_MAX]; // the last of each place
	uint64_t made_ns[HTTP_PLACES_MAX];
};

// The place that a request names, or NULL.
const struct http_place *http_place_find(const struct http_request *request);
// Its document, with a reference for the caller; NULL: no memory.
struct http_document *http_document_get(
	struct http_documents *documents, const struct http_place *place);
void http_document_put(struct http_document *document);
void http_documents_free(struct http_documents *documents);

#endif
