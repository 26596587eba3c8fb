// SPDX-License-Identifier: BSD-3-Clause
// The name of a file: from Content-Disposition (RFC 6266), and from the path of a request. Pure.
#ifndef SLUICE_CONTENT_HTTP_NAME_H
#define SLUICE_CONTENT_HTTP_NAME_H

#include "content/http/parameter.h"

struct http_name {
	struct content_text text; // at most CONTENT_NAME_BYTES, its end
	uint8_t source;           // enum content_name_source
	bool cut;
	bool two; // hosts may take another name, with another extension
};

// Writes into the value; the name lies in it. filename* is taken before filename (RFC 6266 section
// 4.3); of several the first. That the two differ is what they are for: `two` is said where their
// extensions differ, or where a parameter comes twice with other values.
struct http_name http_name_disposition(struct http_value value);
// The last segment of the path, percent signs kept. Empty, and without a source, behind a '/'.
struct http_name http_name_path(struct content_text path);

// Not quoted, and not letters of either case: ASCII alone is folded.
bool http_name_same_extension(struct content_text a, struct content_text b);

#endif
