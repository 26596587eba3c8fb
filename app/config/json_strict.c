// SPDX-License-Identifier: BSD-3-Clause
// Reads values of JSON documents as a given type, and reports each error with its path.
#include "config/json_strict.h"
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "config/json_hint.h"

struct json_at json_at_root(const struct json_doc *doc)
{
	return (struct json_at){.doc = doc, .value = doc->root};
}

struct json_at json_at_key(const struct json_at *up, const char *key, json_t *value)
{
	return (struct json_at){.doc = up->doc, .up = up, .key = key, .value = value};
}

struct json_at json_at_index(const struct json_at *up, size_t index)
{
	return (struct json_at){.doc = up->doc,
		.up = up,
		.index = index,
		.value = json_array_get(up->value, index)};
}

bool json_at_next(const struct json_at *array, struct json_at *item)
{
	*item = json_at_index(array, item->up ? item->index + 1 : 0);
	return item->value;
}

static bool is_plain(const char *key)
{
	if (!*key)
		return false;
	for (; *key; key++)
		if (!isalnum((unsigned char)*key) && *key != '_' && *key != '$')
			return false;
	return true;
}

static size_t path_write(const struct json_at *at, char *out, size_t out_len)
{
	size_t n = at->up ? path_write(at->up, out, out_len) : 0;
	int more;

	if (n >= out_len)
		return n;
	if (!at->up)
		more = snprintf(out, out_len, "$");
	else if (!at->key)
		more = snprintf(out + n, out_len - n, "[%zu]", at->index);
	else if (is_plain(at->key))
		more = snprintf(out + n, out_len - n, ".%s", at->key);
	else
		more = snprintf(out + n, out_len - n, "[\"%s\"]", at->key);
	return n + (more > 0 ? (size_t)more : 0);
}

const char *json_at_path(const struct json_at *at, char *out, size_t out_len)
{
	if (path_write(at, out, out_len) >= out_len && out_len > 4)
		memcpy(out + out_len - 4, "...", 4);
	return out;
}

void json_at_error(const struct json_at *at, const char *format, ...)
{
	char path[JSON_PATH_MAX], *message = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&message, format, args) < 0)
		message = NULL;
	va_end(args);
	config_error_add(at->doc->errors, at->doc->file, json_at_path(at, path, sizeof path), "%s",
		message ? message : "no memory");
	free(message);
}

const char *json_describe(const json_t *value, char *out, size_t out_len)
{
	switch (value ? json_typeof(value) : JSON_NULL) {
	case JSON_OBJECT: snprintf(out, out_len, "an object"); break;
	case JSON_ARRAY: snprintf(out, out_len, "an array"); break;
	case JSON_STRING:
		snprintf(out, out_len, "a string (\"%.40s%s\")", json_string_value(value),
			json_string_length(value) > 40 ? "..." : "");
		break;
	case JSON_INTEGER:
		snprintf(out, out_len, "an integer (%" JSON_INTEGER_FORMAT ")",
			json_integer_value(value));
		break;
	case JSON_REAL: snprintf(out, out_len, "a number (%g)", json_real_value(value)); break;
	case JSON_TRUE: snprintf(out, out_len, "true"); break;
	case JSON_FALSE: snprintf(out, out_len, "false"); break;
	case JSON_NULL: snprintf(out, out_len, "null"); break;
	}
	return out;
}

static bool wrong_type_hint(const struct json_at *at, const char *expected, const char *hint)
{
	char got[80];

	json_at_error(at, "expected %s, got %s%s", expected,
		json_describe(at->value, got, sizeof got), hint);
	return false;
}

static bool wrong_type(const struct json_at *at, const char *expected)
{
	return wrong_type_hint(at, expected, "");
}

bool json_want_object(const struct json_at *at)
{
	return json_is_object(at->value) || wrong_type(at, "an object");
}

bool json_want_array(const struct json_at *at, size_t min, size_t max)
{
	char hint[256];
	size_t n;

	if (!json_is_array(at->value))
		return wrong_type_hint(
			at, "an array", json_hint_array(at->value, hint, sizeof hint));
	n = json_array_size(at->value);
	if (n < min) {
		json_at_error(at, "%zu or more entries expected, got %zu", min, n);
		return false;
	}
	if (n > max) {
		json_at_error(at, "at most %zu entries are possible, got %zu", max, n);
		return false;
	}
	return true;
}

// Characters as a person and JSON Schema count them.
static size_t utf8_length(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

bool json_want_text(const struct json_at *at, size_t min, size_t max, const char **out)
{
	const char *text = json_string_value(at->value);
	size_t n;

	if (!text)
		return wrong_type(at, "a string");
	n = utf8_length(text);
	if (n < min) {
		if (n)
			json_at_error(
				at, "\"%.40s\" is too short: at least %zu characters", text, min);
		else
			json_at_error(at, "must not be empty");
		return false;
	}
	if (n > max || strlen(text) > max) {
		json_at_error(at, "\"%.40s...\" is too long: at most %zu characters", text, max);
		return false;
	}
	*out = text;
	return true;
}

bool json_want_integer(const struct json_at *at, uint64_t min, uint64_t max, uint64_t *out)
{
	json_int_t n = json_integer_value(at->value);

	if (json_is_real(at->value)) { // 1e3 and 5.0 are integers to JSON Schema, and to people
		double real = json_real_value(at->value);

		n = real < 0 ? -1 : real < 9e15 ? (json_int_t)real : INT64_MAX;
		if (real < 9e15 && real > -9e15 && real != (double)(json_int_t)real)
			return wrong_type(at, "an integer");
	} else if (!json_is_integer(at->value)) {
		char hint[64];

		return wrong_type_hint(
			at, "an integer", json_hint_integer(at->value, hint, sizeof hint));
	}
	if (n < 0 || (uint64_t)n < min || (uint64_t)n > max) {
		json_at_error(at,
			"%" JSON_INTEGER_FORMAT " is out of range: expected %" PRIu64
			" to %" PRIu64,
			n, min, max);
		return false;
	}
	*out = (uint64_t)n;
	return true;
}

bool json_want_number(const struct json_at *at, double min, double max, double *out)
{
	double number = json_number_value(at->value);

	if (!json_is_number(at->value))
		return wrong_type(at, "a number");
	if (number < min || number > max) {
		json_at_error(at, "%g is out of range: expected %g to %g", number, min, max);
		return false;
	}
	*out = number;
	return true;
}

bool json_want_flag(const struct json_at *at, bool *out)
{
	if (!json_is_boolean(at->value))
		return wrong_type(at, "true or false");
	*out = json_is_true(at->value);
	return true;
}

bool json_want_word(const struct json_at *at, const char *const *words, unsigned *out)
{
	const char *text = json_string_value(at->value);
	char list[256] = "";
	char hint[160];
	size_t used = 0;

	for (unsigned i = 0; words[i]; i++) {
		if (text && strcmp(text, words[i]) == 0) {
			*out = i;
			return true;
		}
		if (used < sizeof list)
			used += (size_t)snprintf(
				list + used, sizeof list - used, "%s%s", i ? ", " : "", words[i]);
	}
	if (!text) {
		char expected[300];

		snprintf(expected, sizeof expected, "one of the words %s", list);
		return wrong_type(at, expected);
	}
	json_at_error(at, "\"%.40s\" is not one of %s%s", text, list,
		json_hint_word(text, words, hint, sizeof hint));
	return false;
}

bool json_want_name(
	const struct json_at *at, size_t max, const char *punctuation, bool upper, const char **out)
{
	const char *text;

	if (!json_want_text(at, 1, max, &text))
		return false;
	for (size_t i = 0; text[i]; i++) {
		unsigned char c = (unsigned char)text[i];
		bool ok = islower(c) || isdigit(c) || (upper && isupper(c)) ||
			  (i && strchr(punctuation, c));

		if (ok)
			continue;
		json_at_error(at,
			"\"%.64s\" is not a name: only %s letters, digits and %s, "
			"the first a letter or digit",
			text, upper ? "ASCII" : "lower-case ASCII", punctuation);
		return false;
	}
	*out = text;
	return true;
}
