// SPDX-License-Identifier: BSD-3-Clause
// What somebody may have meant who wrote something else: words and keys of other firewalls, one
// thing where a list belongs. For error messages; control core.
#ifndef SLUICE_JSON_HINT_H
#define SLUICE_JSON_HINT_H

#include <jansson.h>
#include <stddef.h>

struct json_field;

// All of them: text to go behind a message, as "; did you mean \"drop\"?", or "".

// Of a word that is none of `words` (NULL ends them).
const char *json_hint_word(const char *text, const char *const *words, char *out, size_t out_len);
// Of a key that is none of `fields`.
const char *json_hint_key(
	const char *key, const struct json_field *fields, char *out, size_t out_len);
// Of a value where an array belongs: "1,2" of a command line, a text, a number.
const char *json_hint_array(const json_t *value, char *out, size_t out_len);
// Of a value where an integer belongs: "5", "1M".
const char *json_hint_integer(const json_t *value, char *out, size_t out_len);

#endif
