// SPDX-License-Identifier: BSD-3-Clause
// Writes JSON text into a buffer of the caller's, for records that are too many to be built as
// objects. Control core only. Commas are put by themselves; keys are trusted literals; values are
// escaped, and bytes that are not UTF-8 become U+FFFD. When the buffer is full nothing more is
// written and `full` stays true: the caller then throws the whole record away.
#ifndef SLUICE_JSON_OUT_H
#define SLUICE_JSON_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_out {
	char *start;
	char *at;
	char *end;
	bool full;
};

void json_out_init(struct json_out *out, char *buffer, size_t size);
size_t json_out_length(const struct json_out *out);

// `key` is NULL inside an array and for the outermost value.
void json_out_open(struct json_out *out, const char *key, char bracket); // '{' or '['
void json_out_close(struct json_out *out, char bracket);                 // '}' or ']'
void json_out_string(struct json_out *out, const char *key, const char *value);
void json_out_text(struct json_out *out, const char *key, const char *value, size_t length);
void json_out_address(struct json_out *out, const char *key, const uint8_t address[16]);
void json_out_u64(struct json_out *out, const char *key, uint64_t value);
void json_out_bool(struct json_out *out, const char *key, bool value);
// JSON text as it is; `length` bytes.
void json_out_raw(struct json_out *out, const char *key, const char *json, size_t length);
// Ends the line.
void json_out_newline(struct json_out *out);

#endif
