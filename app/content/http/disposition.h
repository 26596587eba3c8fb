// SPDX-License-Identifier: BSD-3-Clause
// Content-Disposition: the names under which programs store a file. They disagree: RFC 6266 knows
// one form, and what stands in fields is taken apart by curl, wget, Firefox and Chromium each in
// its own way. All their names are found; none of them is a guess of what was meant. Pure.
#ifndef SLUICE_CONTENT_HTTP_DISPOSITION_H
#define SLUICE_CONTENT_HTTP_DISPOSITION_H

#include "content/http/name.h"

#define HTTP_NAMES       8    // of one field, and of a head: the file's, and its aliases
#define HTTP_NAMES_BYTES 4096 // that they take together

struct http_names {
	struct http_name names[HTTP_NAMES]; // none twice; the first is RFC 6266's, if it has one
	uint8_t n;
	uint8_t right; // that of filename* ...
	bool has_right;
	bool more;     // there are others, or some that cannot be read
	uint32_t room; // of `text` that may be used: the caller says
	uint32_t used;
	uint8_t text[HTTP_NAMES_BYTES];
};

// How many bytes the names of a value of `length` bytes may take: what its forms that are known
// need. A value that would need more is one that hides something.
static inline uint32_t http_names_room(uint32_t length)
{
	return length < HTTP_NAMES_BYTES / 3 ? 3 * length : HTTP_NAMES_BYTES;
}

void http_names_find(struct http_names *names, struct content_text value);

#endif
