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
// The last segment of the path, percent signs kept. Empty, and without a source, behind a '/'.
struct http_name http_name_path(struct content_text path);

#endif
