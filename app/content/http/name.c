// SPDX-License-Identifier: BSD-3-Clause
// Cuts names, and finds those of a path.
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

static struct http_name name_between(struct content_text text, uint32_t from, uint32_t to)
{
	text.length = to;
	text = http_text_from(text, from);
	return text.length ? http_name_of(text, CONTENT_NAME_PATH) : (struct http_name){0};
}

struct http_path_names http_names_path(struct content_text path)
{
	struct http_path_names names = {0};
	uint32_t all = http_until(path, '#'), from, end, bare;

	path.length = all;
	end = http_until(path, '?');
	for (from = end; from && path.bytes[from - 1] != '/'; from--)
		;
	for (bare = from; bare < end && path.bytes[bare] != ';'; bare++)
		;
	names.segment = name_between(path, from, end);
	if (bare < end)
		names.bare = name_between(path, from, bare);
	if (all > end + 1)
		names.query = name_between(path, from, all);
	return names;
}
