// SPDX-License-Identifier: BSD-3-Clause
// One file that is being told: its number, how far it is, and whether its bytes are wanted.
#ifndef SLUICE_CONTENT_HTTP_FILE_H
#define SLUICE_CONTENT_HTTP_FILE_H

#include "content/http/turn.h"

struct http_file {
	uint64_t at; // bytes of it that were told, or lost
	uint32_t id; // 0: none is open
	bool wanted;
	bool damaged; // bytes of it are lost
};

// Tells it; its id and half are set here.
void http_file_open(
	struct http_file *file, const struct http_turn *turn, struct content_file *what);
// HTTP_ON, or HTTP_MORE at *taken. Where no file is open, or its bytes are not wanted, all is
// taken.
enum http_step http_file_put(struct http_file *file, const struct http_turn *turn,
	const uint8_t *bytes, uint32_t length, uint32_t *taken);
void http_file_lose(struct http_file *file, uint64_t length);
// If one is open. A file that lost bytes ends TRUNCATED at best.
void http_file_end(struct http_file *file, const struct http_turn *turn, enum content_end end,
	uint64_t ends64);

#endif
