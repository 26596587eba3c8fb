// SPDX-License-Identifier: BSD-3-Clause
// A strict reader of JSON documents over jansson, for every file that an operator writes. Control
// core only. It collects all problems, each with its JSON path, what was expected, what was found
// and a way out: syntax with line and column, duplicate and unknown keys, types, ranges, words.
#ifndef SLUICE_JSON_STRICT_H
#define SLUICE_JSON_STRICT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "config/error.h"

#define JSON_FILE_MAX (16u << 20) // bytes; a longer file is refused
#define JSON_PATH_MAX 256         // a longer path is cut in messages

struct json_doc {
	const char *file; // borrowed; as messages call it
	struct config_errors *errors;
	json_t *root; // owned
};

// Reads and parses a regular file. 0; -EINVAL for a text that is not JSON; -errno of the file
// (-EISDIR, -EFBIG, -ENODEV for what is no file). Every failure is in `errors`. A duplicate key is
// reported and reading goes on: 0, and the caller sees that `errors` grew.
int json_doc_read(struct json_doc *doc, const char *file, struct config_errors *errors);
// The same for a text in memory; -EINVAL.
int json_doc_parse(struct json_doc *doc, const char *text, size_t len, const char *file,
	struct config_errors *errors);
void json_doc_free(struct json_doc *doc);

// A value and where it stands; lives on the stack of the reader and points up.
struct json_at {
	const struct json_doc *doc;
	const struct json_at *up; // NULL: the document itself
	const char *key;          // in an object; NULL in an array
	size_t index;             // in an array
	json_t *value;            // borrowed
};

struct json_at json_at_root(const struct json_doc *doc);
struct json_at json_at_key(const struct json_at *up, const char *key, json_t *value);
struct json_at json_at_index(const struct json_at *up, size_t index);
// The next item of an array; the first if `item` is zeros. False: there are no more.
bool json_at_next(const struct json_at *array, struct json_at *item);
// "$.rules[3].action"; returns `out`.
const char *json_at_path(const struct json_at *at, char *out, size_t out_len);
void json_at_error(const struct json_at *at, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
// "a string (\"x\")", "an integer (7)", "an object" ...; returns `out`.
const char *json_describe(const json_t *value, char *out, size_t out_len);

// Each of these tells what is wrong and returns false, or fills the out-parameter.
bool json_want_object(const struct json_at *at);
bool json_want_array(const struct json_at *at, size_t min, size_t max);
bool json_want_text(const struct json_at *at, size_t min, size_t max, const char **out);
bool json_want_integer(const struct json_at *at, uint64_t min, uint64_t max, uint64_t *out);
// Any number, with or without a point.
bool json_want_number(const struct json_at *at, double min, double max, double *out);
bool json_want_flag(const struct json_at *at, bool *out);
// `words` ends with NULL; `*out` is the index.
bool json_want_word(const struct json_at *at, const char *const *words, unsigned *out);
// Letters, digits and _ - . where `punctuation` lists those allowed; the first is alphanumeric.
bool json_want_name(const struct json_at *at, size_t max, const char *punctuation, bool upper,
	const char **out);

// An object's keys as rows; the reader, the dump and the comparison of documents share them.
enum json_kind {
	JSON_KIND_U8,
	JSON_KIND_U16,
	JSON_KIND_U32,
	JSON_KIND_NUMBER, // double; min, max and fallback are whole
	JSON_KIND_FLAG,   // bool
	JSON_KIND_WORD,   // uint8_t, index into `words`
	JSON_KIND_STRING, // char *, owned; null is allowed and NULL if `nullable`
	JSON_KIND_OBJECT, // an object: `fields`, with the same target
	JSON_KIND_READ,   // whatever `read` takes
	JSON_KIND_IGNORE, // allowed, not read ("$schema")
};

struct json_field {
	const char *name; // dotted from the document's root; the key is what follows the last dot
	enum json_kind kind;
	size_t offset; // into `target`
	uint32_t min;  // of numbers; length of strings
	uint32_t max;
	const char *const *words;
	void (*read)(const struct json_at *at, void *ctx);
	const struct json_field *fields;
	uint32_t fallback;         // value of an absent number, flag or word
	const char *fallback_text; // of an absent string
	bool zero;                 // 0 is also allowed
	bool nullable;
	bool required;
	bool live; // a reload may change it
};
#define JSON_FIELD_END       \
	{                    \
		.name = NULL \
	}

// Keys that a later version will know: refused with words that say so.
struct json_later {
	const char *key;
	const char *what; // "traffic shaping"
};

const char *json_field_key(const struct json_field *field);
// Puts the fallbacks into `target`. -ENOMEM.
int json_fields_default(const struct json_field *fields, void *target);
// Reads an object: every key is known, none required is missing. `ctx` goes to `read`.
void json_fields_read(const struct json_at *at, const struct json_field *fields,
	const struct json_later *later, void *target, void *ctx);
// The fields that are not JSON_KIND_READ or JSON_KIND_IGNORE, as an object. NULL: no memory.
json_t *json_fields_dump(const struct json_field *fields, const void *target);
// The first field that is not live and differs, or NULL.
const struct json_field *json_fields_difference(
	const struct json_field *fields, const void *a, const void *b);
void json_fields_free(const struct json_field *fields, void *target); // owned strings

// "schema_version": 1, the first key of every document of ours.
void json_read_schema_version(const struct json_at *at, void *ctx);

#endif
