// SPDX-License-Identifier: BSD-3-Clause
// Objects whose keys are rows of a table.
#include "config/json_strict.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "config/json_hint.h"

const char *json_field_key(const struct json_field *field)
{
	const char *dot = strrchr(field->name, '.');

	return dot ? dot + 1 : field->name;
}

static uint32_t integer_get(const struct json_field *field, const void *target)
{
	const uint8_t *at = (const uint8_t *)target + field->offset;

	switch (field->kind) {
	case JSON_KIND_U8:
	case JSON_KIND_WORD: return *at;
	case JSON_KIND_U16: return *(const uint16_t *)(const void *)at;
	case JSON_KIND_U32: return *(const uint32_t *)(const void *)at;
	case JSON_KIND_FLAG: return *(const bool *)(const void *)at;
	default: return 0;
	}
}

static void integer_set(const struct json_field *field, void *target, uint32_t value)
{
	uint8_t *at = (uint8_t *)target + field->offset;

	switch (field->kind) {
	case JSON_KIND_U8:
	case JSON_KIND_WORD: *at = (uint8_t)value; break;
	case JSON_KIND_U16: *(uint16_t *)(void *)at = (uint16_t)value; break;
	case JSON_KIND_U32: *(uint32_t *)(void *)at = value; break;
	case JSON_KIND_FLAG: *(bool *)(void *)at = value; break;
	default: break;
	}
}

static double *number_place(const struct json_field *field, const void *target)
{
	return (double *)(void *)((uintptr_t)target + field->offset);
}

static char **string_place(const struct json_field *field, void *target)
{
	return (char **)(void *)((uint8_t *)target + field->offset);
}

static const char *string_get(const struct json_field *field, const void *target)
{
	return *(char *const *)(const void *)((const uint8_t *)target + field->offset);
}

static bool is_read_elsewhere(const struct json_field *field)
{
	return field->kind == JSON_KIND_READ || field->kind == JSON_KIND_IGNORE;
}

int json_fields_default(const struct json_field *fields, void *target)
{
	for (; fields->name; fields++) {
		if (fields->kind == JSON_KIND_STRING) {
			char *copy = fields->fallback_text ? strdup(fields->fallback_text) : NULL;

			if (fields->fallback_text && !copy)
				return -ENOMEM;
			*string_place(fields, target) = copy;
		} else if (fields->kind == JSON_KIND_OBJECT) {
			if (json_fields_default(fields->fields, target) < 0)
				return -ENOMEM;
		} else if (fields->kind == JSON_KIND_NUMBER) {
			*number_place(fields, target) = fields->fallback;
		} else if (!is_read_elsewhere(fields)) {
			integer_set(fields, target, fields->fallback);
		}
	}
	return 0;
}

static void read_string(const struct json_at *at, const struct json_field *field, void *target)
{
	char **place = string_place(field, target), *copy = NULL;
	const char *text;

	if (!field->nullable || !json_is_null(at->value)) {
		if (!json_want_text(at, field->min, field->max, &text))
			return;
		copy = strdup(text);
		if (!copy) {
			json_at_error(at, "no memory");
			return;
		}
	}
	free(*place);
	*place = copy;
}

static void read_one(
	const struct json_at *at, const struct json_field *field, void *target, void *ctx)
{
	uint64_t number;
	unsigned word;
	bool flag;

	switch (field->kind) {
	case JSON_KIND_U8:
	case JSON_KIND_U16:
	case JSON_KIND_U32:
		if (field->zero && (json_is_integer(at->value) || json_is_real(at->value)) &&
			json_number_value(at->value) == 0.0)
			integer_set(field, target, 0);
		else if (json_want_integer(at, field->min, field->max, &number))
			integer_set(field, target, (uint32_t)number);
		break;
	case JSON_KIND_NUMBER:
		json_want_number(at, field->min, field->max, number_place(field, target));
		break;
	case JSON_KIND_FLAG:
		if (json_want_flag(at, &flag))
			integer_set(field, target, flag);
		break;
	case JSON_KIND_WORD:
		if (json_want_word(at, field->words, &word))
			integer_set(field, target, word);
		break;
	case JSON_KIND_STRING: read_string(at, field, target); break;
	case JSON_KIND_OBJECT: json_fields_read(at, field->fields, NULL, target, ctx); break;
	case JSON_KIND_READ: field->read(at, ctx); break;
	case JSON_KIND_IGNORE: break;
	}
}

static void report_unknown(
	const struct json_at *at, const struct json_field *fields, const struct json_later *later)
{
	const struct json_field *known = fields;
	char list[512], hint[160];
	size_t used = 0;

	for (; later && later->key; later++) {
		if (strcmp(at->key, later->key) == 0) {
			json_at_error(
				at, "not supported by this version (%s): remove it", later->what);
			return;
		}
	}
	list[0] = 0;
	for (; fields->name; fields++) {
		const char *key = json_field_key(fields);

		if (key[0] != '$' && used < sizeof list)
			used += (size_t)snprintf(
				list + used, sizeof list - used, "%s%s", used ? ", " : "", key);
	}
	json_hint_key(at->key, known, hint, sizeof hint);
	if (hint[0])
		json_at_error(at, "unknown key%s", hint);
	else
		json_at_error(at, "unknown key; known here: %s", list);
}

void json_fields_read(const struct json_at *at, const struct json_field *fields,
	const struct json_later *later, void *target, void *ctx)
{
	const char *key;
	json_t *value;

	if (!json_want_object(at))
		return;
	json_object_foreach (at->value, key, value) {
		struct json_at child = json_at_key(at, key, value);
		const struct json_field *field = fields;

		while (field->name && strcmp(json_field_key(field), key) != 0)
			field++;
		if (field->name)
			read_one(&child, field, target, ctx);
		else
			report_unknown(&child, fields, later);
	}
	for (; fields->name; fields++)
		if (fields->required && !json_object_get(at->value, json_field_key(fields)))
			json_at_error(at, "key \"%s\" is missing", json_field_key(fields));
}

json_t *json_fields_dump(const struct json_field *fields, const void *target)
{
	json_t *object = json_object();

	for (; object && fields->name; fields++) {
		json_t *value = NULL;

		if (is_read_elsewhere(fields))
			continue;
		if (fields->kind == JSON_KIND_STRING && !string_get(fields, target))
			value = json_null();
		else if (fields->kind == JSON_KIND_STRING)
			value = json_string(string_get(fields, target));
		else if (fields->kind == JSON_KIND_OBJECT)
			value = json_fields_dump(fields->fields, target);
		else if (fields->kind == JSON_KIND_NUMBER)
			value = json_real(*number_place(fields, target));
		else if (fields->kind == JSON_KIND_FLAG)
			value = json_boolean(integer_get(fields, target));
		else if (fields->kind == JSON_KIND_WORD)
			value = json_string(fields->words[integer_get(fields, target)]);
		else
			value = json_integer(integer_get(fields, target));
		if (json_object_set_new(object, json_field_key(fields), value) < 0) {
			json_decref(object);
			return NULL;
		}
	}
	return object;
}

const struct json_field *json_fields_difference(
	const struct json_field *fields, const void *a, const void *b)
{
	for (; fields->name; fields++) {
		if (fields->live || is_read_elsewhere(fields))
			continue;
		if (fields->kind == JSON_KIND_OBJECT) {
			const struct json_field *inner =
				json_fields_difference(fields->fields, a, b);

			if (inner)
				return inner;
		} else if (fields->kind == JSON_KIND_STRING) {
			const char *x = string_get(fields, a), *y = string_get(fields, b);

			if (!x != !y || (x && strcmp(x, y) != 0))
				return fields;
		} else if (fields->kind == JSON_KIND_NUMBER) {
			if (*number_place(fields, a) != *number_place(fields, b))
				return fields;
		} else if (integer_get(fields, a) != integer_get(fields, b)) {
			return fields;
		}
	}
	return NULL;
}

void json_fields_free(const struct json_field *fields, void *target)
{
	for (; fields->name; fields++) {
		if (fields->kind == JSON_KIND_OBJECT) {
			json_fields_free(fields->fields, target);
		} else if (fields->kind == JSON_KIND_STRING) {
			free(*string_place(fields, target));
			*string_place(fields, target) = NULL;
		}
	}
}

void json_read_schema_version(const struct json_at *at, void *ctx)
{
	(void)ctx;
	if (!json_is_number(at->value) || json_number_value(at->value) != 1.0) {
		char got[80];

		json_at_error(at, "expected 1 (what this version reads), got %s",
			json_describe(at->value, got, sizeof got));
	}
}
