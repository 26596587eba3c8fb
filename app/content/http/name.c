// SPDX-License-Identifier: BSD-3-Clause
// Cuts names, and finds that of a path.
#include "content/http/name.h"

// The end of a name that is too long, and no part of a character of UTF-8 at its beginning.
struct http_name http_name_of(struct content_text text, enum content_name_source source)
{
	struct http_name name = {text, (uint8_t)source, text.length > CONTENT_NAME_BYTES};

	if (!name.cut)
		return name;
	name.text = http_text_from(text, text.length - CONTENT_NAME_BYTES);
	for (unsigned i = 0; i < 3 && (name.text.bytes[0] & 0xc0) == 0x80; i++)
		name.text = http_text_from(name.text, 1);
	return name;
}

struct http_name http_name_path(struct content_text path)
{
	struct content_text segment;
	uint32_t i;

	path.length = http_until(path, '?');
	path.length = http_until(path, '#');
	for (i = path.length; i && path.bytes[i - 1] != '/'; i--)
		;
	segment = http_text_from(path, i);
	return segment.length ? http_name_of(segment, CONTENT_NAME_PATH) : (struct http_name){0};
}
