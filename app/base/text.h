// SPDX-License-Identifier: BSD-3-Clause
// A text that grows, for documents of the HTTP server. Control core only. Without memory nothing
// more is put and `failed` stays true: the caller then throws the whole text away.
#ifndef SLUICE_TEXT_H
#define SLUICE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {        // {0} is an empty one
	char *bytes; // not NUL-terminated
	size_t length;
	size_t room;
	bool failed;
};

void text_free(struct text *text);
void text_put(struct text *text, const char *bytes, size_t length);
void text_string(struct text *text, const char *string);
void text_u64(struct text *text, uint64_t value);
void text_i64(struct text *text, int64_t value);
// value / 1e9 with up to nine decimals, none of them a trailing zero: nanoseconds as seconds.
void text_seconds(struct text *text, uint64_t ns);

#endif
