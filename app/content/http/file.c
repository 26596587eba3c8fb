// SPDX-License-Identifier: BSD-3-Clause
// Tells a file to the sink: its beginning, its bytes as the budget allows, its end.
#include "content/http/file.h"

void http_file_open(struct http_file *file, const struct http_turn *turn, struct content_file *what)
{
	const struct content_sink *sink = turn->turn->sink;

	what->id = ++*turn->files;
	what->half = turn->half;
	*file = (struct http_file){.id = what->id};
	file->wanted = sink->file(sink->ctx, what) == CONTENT_WANT_DATA;
}

enum http_step http_file_put(struct http_file *file, const struct http_turn *turn,
	const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	const struct content_sink *sink = turn->turn->sink;
	uint32_t n = length;

	*taken = length;
	if (!file->id)
		return HTTP_ON;
	if (file->wanted && n > turn->turn->output)
		n = turn->turn->output;
	if (file->wanted && n) {
		sink->bytes(sink->ctx, file->id, file->at, bytes, n);
		turn->turn->output -= n;
	}
	file->at += n;
	*taken = n;
	return n < length ? HTTP_MORE : HTTP_ON;
}

void http_file_lose(struct http_file *file, uint64_t length)
{
	file->at += length;
	file->damaged = true;
}

void http_file_end(
	struct http_file *file, const struct http_turn *turn, enum content_end end, uint64_t ends64)
{
	const struct content_sink *sink = turn->turn->sink;

	if (file->id)
		sink->end(sink->ctx, file->id,
			file->damaged && end == CONTENT_END_CLOSED ? CONTENT_END_TRUNCATED : end,
			ends64);
	*file = (struct http_file){0};
}
