// SPDX-License-Identifier: BSD-3-Clause
// Reads sections of the configuration, and reports each error with its place.
#include "transportapi/base/conf.h"

#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transportapi/base/conf_place.h"

#define DOCUMENT_BYTES_MAX (16u << 20)
#define NAME_BYTES_MAX     64 // of a key, where another is proposed for it

struct tapi_conf {
	json_t *root;
	json_t *words; // defaults of CHOICE, cut out of "a|b|c": members of an object
	char *text;    // for the lines of errors
	char *name;    // of the file
};

void tapi_conf_free(struct tapi_conf *conf)
{
	if (!conf)
		return;
	json_decref(conf->root);
	json_decref(conf->words);
	free(conf->text);
	free(conf->name);
	free(conf);
}

enum tapi_result tapi_conf_wrong(const struct tapi_conf *conf, const char *section,
	const char *name, int index, struct tapi_error *error, const char *format, ...)
{
	unsigned line = tapi_conf_line(conf->text, section, name, index);
	char where[16] = "", element[16] = "", what[sizeof(error->text)];
	va_list arguments;

	if (line)
		snprintf(where, sizeof(where), "%u:", line);
	if (index >= 0)
		snprintf(element, sizeof(element), "[%d]", index);
	va_start(arguments, format);
	vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	tapi_error_format(error, "%s:%s %s%s%s%s: %s", conf->name, where, section ? section : "",
		section && name ? "." : "", name ? name : "", element, what);
	return TAPI_ECONF;
}

static enum tapi_result check_texts(const struct tapi_conf *conf, const char *section,
	const char *name, const json_t *list, uint64_t most, struct tapi_error *error)
{
	if (!json_is_array(list))
		return tapi_conf_wrong(
			conf, section, name, -1, error, "has to be a list of texts, [\"...\"]");
	if (json_array_size(list) > most)
		return tapi_conf_wrong(conf, section, name, -1, error,
			"%zu texts, %llu is the most", json_array_size(list),
			(unsigned long long)most);
	for (size_t i = 0; i < json_array_size(list); i++)
		if (!json_is_string(json_array_get(list, i)))
			return tapi_conf_wrong(
				conf, section, name, (int)i, error, "has to be a text");
	return TAPI_OK;
}

// The document is an object of sections, but for "transports".
static enum tapi_result check_shape(const struct tapi_conf *conf, struct tapi_error *error)
{
	const char *name;
	json_t *value;

	if (!json_is_object(conf->root)) {
		tapi_error_format(
			error, "%s:1: has to be an object, {\"transports\": ...}", conf->name);
		return TAPI_ECONF;
	}
	json_object_foreach (conf->root, name, value) {
		enum tapi_result result = TAPI_OK;

		if (strcmp(name, "transports") == 0)
			result = check_texts(conf, NULL, name, value, 64, error);
		else if (!json_is_object(value))
			result = tapi_conf_wrong(conf, name, NULL, -1, error,
				"has to be an object, {...}: a section of keys (the one list "
				"outside of a section is \"transports\")");
		if (result)
			return result;
	}
	return TAPI_OK;
}

static struct tapi_conf *parse(
	const char *text, size_t length, const char *name, struct tapi_error *error)
{
	struct tapi_conf *conf = calloc(1, sizeof(*conf));
	json_error_t fault;

	if (conf) {
		conf->text = strndup(text, length);
		conf->name = strdup(name);
		conf->words = json_object();
	}
	if (!conf || !conf->text || !conf->name || !conf->words) {
		tapi_error_format(error, "%s: out of memory", name);
		tapi_conf_free(conf);
		return NULL;
	}
	conf->root = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &fault);
	if (!conf->root && !fault.text[0]) // jansson's way to say so, mostly
		tapi_error_format(error, "%s: out of memory", name);
	else if (!conf->root)
		tapi_error_format(error, "%s:%d: %s", name, fault.line, fault.text);
	if (!conf->root || check_shape(conf, error) != TAPI_OK) {
		tapi_conf_free(conf);
		return NULL;
	}
	return conf;
}

struct tapi_conf *tapi_conf_parse(const char *text, struct tapi_error *error)
{
	return parse(text, strlen(text), "configuration", error);
}

struct tapi_conf *tapi_conf_load(const char *path, struct tapi_error *error)
{
	FILE *in = fopen(path, "re");
	char *text = NULL;
	size_t length = 0, room = 0;
	struct tapi_conf *conf = NULL;

	if (!in) {
		tapi_error_format(error, "%s: cannot be read: %s", path, strerror(errno));
		return NULL;
	}
	while (!feof(in) && !ferror(in) && length <= DOCUMENT_BYTES_MAX) {
		if (length == room) {
			char *more = realloc(text, room = room ? 2 * room : 4096);

			if (!more)
				break;
			text = more;
		}
		length += fread(text + length, 1, room - length, in);
	}
	if (ferror(in))
		tapi_error_format(error, "%s: cannot be read: %s", path, strerror(errno));
	else if (length > DOCUMENT_BYTES_MAX)
		tapi_error_format(error, "%s: more than %u octets is no configuration", path,
			DOCUMENT_BYTES_MAX);
	else if (!feof(in))
		tapi_error_format(error, "%s: out of memory", path);
	else
		conf = parse(text, length, path, error);
	fclose(in);
	free(text);
	return conf;
}

static json_t *value_of(const struct tapi_conf *conf, const char *section, const char *name)
{
	return json_object_get(section ? json_object_get(conf->root, section) : conf->root, name);
}

static const struct tapi_conf_key *find_key(const struct tapi_conf_key *keys, const char *name)
{
	for (; keys->name; keys++)
		if (strcmp(keys->name, name) == 0)
			return keys;
	return NULL;
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

// Changes of one letter that make b out of a (Levenshtein), for names of a sensible length.
static unsigned distance(const char *a, const char *b)
{
	unsigned row[NAME_BYTES_MAX + 1], length = (unsigned)strlen(b);

	if (strlen(a) > NAME_BYTES_MAX || length > NAME_BYTES_MAX)
		return UINT32_MAX;
	for (unsigned j = 0; j <= length; j++)
		row[j] = j;
	for (unsigned i = 1; a[i - 1]; i++) {
		unsigned corner = row[0];

		row[0] = i;
		for (unsigned j = 1; j <= length; j++) {
			unsigned change = corner + (a[i - 1] != b[j - 1]);

			corner = row[j];
			row[j] = least(change, least(row[j - 1], row[j]) + 1);
		}
	}
	return row[length];
}

static enum tapi_result unknown_key(const struct tapi_conf *conf, const char *section,
	const struct tapi_conf_key *keys, const char *name, struct tapi_error *error)
{
	const char *suggestion = NULL;
	unsigned best = (unsigned)strlen(name) / 3 + 2;

	for (; keys->name; keys++) {
		unsigned changes = distance(name, keys->name);

		if (changes < best) {
			best = changes;
			suggestion = keys->name;
		}
	}
	if (suggestion)
		return tapi_conf_wrong(conf, section, name, -1, error,
			"no such key; the nearest is \"%s\"", suggestion);
	return tapi_conf_wrong(conf, section, name, -1, error, "no such key");
}

// Is it a word of "a|b|c"? word NULL: the first. Returns where it stands.
static const char *find_word(const char *words, const char *word, size_t *length)
{
	for (;; words += *length + 1) {
		*length = strcspn(words, "|");
		if (!word || (strlen(word) == *length && memcmp(words, word, *length) == 0))
			return words;
		if (!words[*length])
			return NULL;
	}
}

// The default of a CHOICE as a text of its own, kept as long as the configuration lives.
static const char *default_word(const struct tapi_conf *conf, const char *words)
{
	size_t length;
	char name[NAME_BYTES_MAX];

	find_word(words, NULL, &length);
	assert(length < sizeof(name));
	memcpy(name, words, length);
	name[length] = '\0';
	if (!json_object_get(conf->words, name) &&
		json_object_set_new(conf->words, name, json_true()) < 0)
		return NULL;
	return json_object_iter_key(json_object_iter_at(conf->words, name));
}

static enum tapi_result check_number(const struct tapi_conf *conf, const char *section,
	const struct tapi_conf_key *key, int index, const json_t *value, struct tapi_error *error)
{
	json_int_t number = json_integer_value(value);

	if (!json_is_integer(value))
		return tapi_conf_wrong(conf, section, key->name, index, error,
			"has to be a number from %llu to %llu, without quotes",
			(unsigned long long)key->min, (unsigned long long)key->max);
	if (number < 0 || (uint64_t)number < key->min || (uint64_t)number > key->max)
		return tapi_conf_wrong(conf, section, key->name, index, error,
			"%lld is not from %llu to %llu", (long long)number,
			(unsigned long long)key->min, (unsigned long long)key->max);
	return TAPI_OK;
}

static enum tapi_result check_numbers(const struct tapi_conf *conf, const char *section,
	const struct tapi_conf_key *key, const json_t *list, struct tapi_error *error)
{
	size_t count = json_array_size(list);

	if (!json_is_array(list))
		return tapi_conf_wrong(
			conf, section, key->name, -1, error, "has to be a list of numbers, [1, 2]");
	if (count > TAPI_CONF_UINTS_MAX)
		return tapi_conf_wrong(conf, section, key->name, -1, error,
			"%zu numbers, %u is the most", count, TAPI_CONF_UINTS_MAX);
	for (size_t i = 0; i < count; i++) {
		enum tapi_result result =
			check_number(conf, section, key, (int)i, json_array_get(list, i), error);

		if (result)
			return result;
	}
	return TAPI_OK;
}

static enum tapi_result check_text(const struct tapi_conf *conf, const char *section,
	const struct tapi_conf_key *key, const json_t *value, struct tapi_error *error)
{
	size_t length = json_string_length(value);

	if (!json_is_string(value))
		return tapi_conf_wrong(
			conf, section, key->name, -1, error, "has to be a text, in quotes");
	if (length < key->min || length > key->max)
		return tapi_conf_wrong(conf, section, key->name, -1, error,
			"%zu octets are not from %llu to %llu", length,
			(unsigned long long)key->min, (unsigned long long)key->max);
	return TAPI_OK;
}

static enum tapi_result check_choice(const struct tapi_conf *conf, const char *section,
	const struct tapi_conf_key *key, const json_t *value, struct tapi_error *error)
{
	size_t length;

	if (json_is_string(value) &&
		find_word(key->text_default, json_string_value(value), &length))
		return TAPI_OK;
	return tapi_conf_wrong(conf, section, key->name, -1, error, "%s%.64s%sis none of \"%s\"",
		json_is_string(value) ? "\"" : "",
		json_is_string(value) ? json_string_value(value) : "",
		json_is_string(value) ? "\" " : "what is no text ", key->text_default);
}

static enum tapi_result check_value(const struct tapi_conf *conf, const char *section,
	const struct tapi_conf_key *key, const json_t *value, struct tapi_error *error)
{
	switch (key->kind) {
	case TAPI_CONF_UINT: return check_number(conf, section, key, -1, value, error);
	case TAPI_CONF_UINTS: return check_numbers(conf, section, key, value, error);
	case TAPI_CONF_TEXT: return check_text(conf, section, key, value, error);
	case TAPI_CONF_CHOICE: return check_choice(conf, section, key, value, error);
	case TAPI_CONF_TEXTS: return check_texts(conf, section, key->name, value, key->max, error);
	case TAPI_CONF_BOOL:
		if (!json_is_boolean(value))
			return tapi_conf_wrong(conf, section, key->name, -1, error,
				"has to be true or false, without quotes");
		return TAPI_OK;
	}
	return TAPI_ECONF;
}

enum tapi_result tapi_conf_check(const struct tapi_conf *conf, const char *section,
	const struct tapi_conf_key *keys, struct tapi_error *error)
{
	const char *name;
	json_t *value;

	for (const struct tapi_conf_key *key = keys; key->name; key++)
		if (key->kind == TAPI_CONF_CHOICE && !default_word(conf, key->text_default)) {
			tapi_error_format(error, "%s: out of memory", conf->name);
			return TAPI_ENOMEM;
		}
	json_object_foreach (json_object_get(conf->root, section), name, value) {
		const struct tapi_conf_key *key = find_key(keys, name);
		enum tapi_result result = key ? check_value(conf, section, key, value, error)
					      : unknown_key(conf, section, keys, name, error);

		if (result)
			return result;
	}
	return TAPI_OK;
}

uint64_t tapi_conf_uint(const struct tapi_conf *conf, const char *section,
	const struct tapi_conf_key *keys, const char *name)
{
	const struct tapi_conf_key *key = find_key(keys, name);
	const json_t *value = value_of(conf, section, name);

	assert(key);
	return value ? (uint64_t)json_integer_value(value) : key->number_default;
}

bool tapi_conf_bool(const struct tapi_conf *conf, const char *section,
	const struct tapi_conf_key *keys, const char *name)
{
	const struct tapi_conf_key *key = find_key(keys, name);
	const json_t *value = value_of(conf, section, name);

	assert(key);
	return value ? json_is_true(value) : key->number_default != 0;
}

const char *tapi_conf_text(const struct tapi_conf *conf, const char *section,
	const struct tapi_conf_key *keys, const char *name)
{
	const struct tapi_conf_key *key = find_key(keys, name);
	const json_t *value = value_of(conf, section, name);

	assert(key);
	if (value)
		return json_string_value(value);
	if (key->kind == TAPI_CONF_CHOICE)
		return default_word(conf, key->text_default);
	return key->text_default;
}

const char *tapi_conf_item(
	const struct tapi_conf *conf, const char *section, const char *name, unsigned index)
{
	return json_string_value(json_array_get(value_of(conf, section, name), index));
}

bool tapi_conf_number(const struct tapi_conf *conf, const char *section, const char *name,
	unsigned index, uint64_t *out)
{
	const json_t *value = json_array_get(value_of(conf, section, name), index);

	if (!json_is_integer(value))
		return false;
	*out = (uint64_t)json_integer_value(value);
	return true;
}

const char *tapi_conf_section(const struct tapi_conf *conf, unsigned index)
{
	const char *name;
	json_t *value;

	json_object_foreach (conf->root, name, value)
		if (json_is_object(value) && index-- == 0)
			return name;
	return NULL;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_list(const json_t *a, const json_t *b)
{
	if (!json_array_size(a) && !json_array_size(b)) // absent: empty
		return true;
	return json_equal(a, b);
}

static bool same_value(const struct tapi_conf *a, const struct tapi_conf *b, const char *section,
	const struct tapi_conf_key *keys, const struct tapi_conf_key *key)
{
	const char *name = key->name;

	switch (key->kind) {
	case TAPI_CONF_UINT:
		return tapi_conf_uint(a, section, keys, name) ==
		       tapi_conf_uint(b, section, keys, name);
	case TAPI_CONF_BOOL:
		return tapi_conf_bool(a, section, keys, name) ==
		       tapi_conf_bool(b, section, keys, name);
	case TAPI_CONF_TEXT:
	case TAPI_CONF_CHOICE:
		return same_text(tapi_conf_text(a, section, keys, name),
			tapi_conf_text(b, section, keys, name));
	case TAPI_CONF_TEXTS:
	case TAPI_CONF_UINTS:
		return same_list(value_of(a, section, name), value_of(b, section, name));
	}
	return false;
}

enum tapi_result tapi_conf_compare(const struct tapi_conf *old, const struct tapi_conf *fresh,
	const char *section, const struct tapi_conf_key *keys, struct tapi_error *error)
{
	for (const struct tapi_conf_key *key = keys; key->name; key++)
		if (!key->live && !same_value(old, fresh, section, keys, key))
			return tapi_conf_wrong(fresh, section, key->name, -1, error,
				"cannot change while running, nothing was changed: restart, or put "
				"it back as it "
				"was");
	return TAPI_OK;
}
