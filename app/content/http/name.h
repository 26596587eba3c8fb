// SPDX-License-Identifier: BSD-3-Clause
// The name of a file: cut to its end, and the one that a request's path gives. Pure.
#ifndef SLUICE_CONTENT_HTTP_NAME_H
#define SLUICE_CONTENT_HTTP_NAME_H

#include "content/http/text.h"

struct http_name {
	struct content_text text; // at most CONTENT_NAME_BYTES, its end
	uint8_t source;           // enum content_name_source
	bool cut;
};

struct http_name http_name_of(struct content_text text, enum content_name_source source);
// What programs call the file that a path asks for, percent signs kept; each is empty, and without
// a source, where there is none.
struct http_path_names {
	struct http_name segment; // the last one: curl, Firefox
	struct http_name bare;    // ... before its first ';', which it has: Chromium
	struct http_name query;   // ... with the query, which there is: wget
};
struct http_path_names http_names_path(struct content_text path);

#endif
