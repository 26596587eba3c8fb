// SPDX-License-Identifier: BSD-3-Clause
// Reads signature files and reports their errors.
#include "control/policy/signature_load.h"
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "control/policy/app_tables.h"
#include "config/json_strict.h"

#define SIGNATURES_MAX 16384
#define WHY_MAX        512

static const char *const l4_words[] = {"tcp", "udp", NULL};
static const char *const direction_words[] = {"any", "c2s", "s2c", NULL};
static const char *const confidence_words[] = {"partial", "dpi", NULL};

struct signature_reader {
	struct config_errors *errors;
	struct signature *list;
	unsigned n;
	unsigned room;
	struct app_tables *tables;
};

static void read_id(const struct json_at *at, void *ctx)
{
	struct signature *signature = ctx;
	const char *text;

	if (json_want_name(at, sizeof signature->id - 1, "-_.", false, &text))
		snprintf(signature->id, sizeof signature->id, "%s", text);
}

static void read_app(const struct json_at *at, void *ctx)
{
	struct signature *signature = ctx;

	signature->app = app_want_builtin(at);
}

static void read_l4(const struct json_at *at, void *ctx)
{
	struct signature *signature = ctx;
	unsigned word;

	if (json_want_word(at, l4_words, &word))
		signature->l4 = word ? IPPROTO_UDP : IPPROTO_TCP;
}

static void read_direction(const struct json_at *at, void *ctx)
{
	static const uint8_t halves[] = {
		1 << HALF_C2S | 1 << HALF_S2C, 1 << HALF_C2S, 1 << HALF_S2C};
	struct signature *signature = ctx;
	unsigned word;

	if (json_want_word(at, direction_words, &word))
		signature->halves = halves[word];
}

bool signature_want_pattern(const struct json_at *at, const char **out)
{
	if (!json_want_text(at, 1, CLASSIFY_PATTERN_MAX - 1, out))
		return false;
	for (const char *c = *out; *c; c++) {
		if (*c < ' ' || *c > '~') {
			json_at_error(at,
				"a pattern is printable ASCII, other bytes are written as \\xNN: "
				"byte 0x%02x at offset %zu",
				(unsigned char)*c, (size_t)(c - *out));
			return false;
		}
	}
	return true;
}

static void read_pattern(const struct json_at *at, void *ctx)
{
	struct signature *signature = ctx;
	const char *text;

	if (signature_want_pattern(at, &text))
		snprintf(signature->pattern, sizeof signature->pattern, "%s", text);
}

static void read_flags(const struct json_at *at, void *ctx)
{
	struct signature *signature = ctx;
	const char *text;

	if (!json_want_text(at, 0, 2, &text))
		return;
	for (; *text; text++) {
		bool *flag = *text == 'i'   ? &signature->caseless
			     : *text == 's' ? &signature->dotall
					    : NULL;

		if (!flag || *flag) {
			json_at_error(at,
				"flag '%c' is %s: i (caseless) and s (dot matches newline), each "
				"once",
				*text >= ' ' && *text <= '~' ? *text : '?',
				flag ? "given twice" : "unknown");
			return;
		}
		*flag = true;
	}
}

static void read_confidence(const struct json_at *at, void *ctx)
{
	struct signature *signature = ctx;
	unsigned word;

	if (json_want_word(at, confidence_words, &word))
		signature->confidence = word ? CONFIDENCE_DPI : CONFIDENCE_PARTIAL;
}

// Where the fact is from: for whoever doubts the pattern, not for the machine.
static void read_why(const struct json_at *at, void *ctx)
{
	const char *text;

	(void)ctx;
	json_want_text(at, 1, WHY_MAX, &text);
}

static const struct json_field signature_fields[] = {
	{.name = "signatures[].id", .kind = JSON_KIND_READ, .read = read_id, .required = true},
	{.name = "signatures[].app", .kind = JSON_KIND_READ, .read = read_app, .required = true},
	{.name = "signatures[].l4", .kind = JSON_KIND_READ, .read = read_l4, .required = true},
	{.name = "signatures[].direction", .kind = JSON_KIND_READ, .read = read_direction},
	{.name = "signatures[].pattern",
		.kind = JSON_KIND_READ,
		.read = read_pattern,
		.required = true},
	{.name = "signatures[].flags", .kind = JSON_KIND_READ, .read = read_flags},
	{.name = "signatures[].min_length",
		.kind = JSON_KIND_U16,
		.offset = offsetof(struct signature, min_length),
		.max = CLASSIFY_PREFIX_BYTES},
	{.name = "signatures[].confidence", .kind = JSON_KIND_READ, .read = read_confidence},
	{.name = "signatures[].verify",
		.kind = JSON_KIND_FLAG,
		.offset = offsetof(struct signature, verify)},
	{.name = "signatures[].midstream",
		.kind = JSON_KIND_FLAG,
		.offset = offsetof(struct signature, midstream)},
	{.name = "signatures[].bits",
		.kind = JSON_KIND_U8,
		.offset = offsetof(struct signature, bits),
		.max = UINT8_MAX},
	{.name = "signatures[].why", .kind = JSON_KIND_READ, .read = read_why, .required = true},
	JSON_FIELD_END,
};

static void check_signature(const struct json_at *at, const struct signature_reader *reader,
	const struct signature *signature)
{
	const struct app_proto *proto = app_get(signature->app);
	char err[256] = "";

	for (unsigned i = 0; i < reader->n && signature->id[0]; i++) {
		if (strcmp(reader->list[i].id, signature->id) == 0) {
			json_at_error(
				at, "signature id \"%s\" is taken: choose another", signature->id);
			break;
		}
	}
	if (signature->verify && proto && !proto->verify)
		json_at_error(at, "\"%s\" has no verifier: remove \"verify\"", proto->name);
	// Each by itself, so that every bad pattern is reported and not just the first.
	if (signature->pattern[0] && sigdb_check_pattern(signature, err, sizeof err) < 0)
		json_at_error(at, "pattern of \"%s\": %s", signature->id, err);
}

static void read_signatures(const struct json_at *at, void *ctx)
{
	struct json_at item = {0};
	struct signature_reader *reader = ctx;

	if (!json_want_array(at, 1, SIGNATURES_MAX))
		return;
	while (json_at_next(at, &item)) {
		struct signature signature = {
			.halves = 1 << HALF_C2S | 1 << HALF_S2C,
			.confidence = CONFIDENCE_DPI,
		};

		json_fields_read(&item, signature_fields, NULL, &signature, &signature);
		check_signature(&item, reader, &signature);
		if (reader->n == SIGNATURES_MAX) {
			json_at_error(&item, "more than %u signatures in all", SIGNATURES_MAX);
			return;
		}
		if (reader->n == reader->room) {
			unsigned room = reader->room ? reader->room * 2 : 64;
			struct signature *grown =
				reallocarray(reader->list, room, sizeof *reader->list);

			if (!grown) {
				json_at_error(&item, "no memory");
				return;
			}
			reader->list = grown;
			reader->room = room;
		}
		reader->list[reader->n++] = signature;
	}
}

static void read_applications(const struct json_at *at, void *ctx)
{
	struct signature_reader *reader = ctx;

	app_tables_read(at, reader->tables);
}

static const struct json_field file_fields[] = {
	{.name = "$schema", .kind = JSON_KIND_IGNORE},
	{.name = "schema_version",
		.kind = JSON_KIND_READ,
		.read = json_read_schema_version,
		.required = true},
	{.name = "signatures", .kind = JSON_KIND_READ, .read = read_signatures},
	{.name = "applications", .kind = JSON_KIND_READ, .read = read_applications},
	JSON_FIELD_END,
};

static int read_file(struct signature_reader *reader, const char *dir, const char *name)
{
	char *path = NULL;
	struct json_doc doc;
	struct json_at root;
	int rc;

	if (asprintf(&path, "%s/%s", dir, name) < 0) {
		config_error_add(reader->errors, dir, "", "no memory");
		return -ENOMEM;
	}
	rc = json_doc_read(&doc, path, reader->errors);
	if (!rc) {
		root = json_at_root(&doc);
		json_fields_read(&root, file_fields, NULL, NULL, reader);
		if (json_is_object(root.value) && !json_object_get(root.value, "signatures") &&
			!json_object_get(root.value, "applications"))
			json_at_error(&root, "it tells nothing: add \"signatures\" or "
					     "\"applications\"");
		json_doc_free(&doc);
	}
	free(path);
	return rc;
}

static int is_signature_file(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return entry->d_name[0] != '.' && len > 5 && strcmp(entry->d_name + len - 5, ".json") == 0;
}

// By bytes: the order of signatures must not depend on the locale.
static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int read_folder(
	struct signature_reader *reader, const char *dir, struct config_errors *errors)
{
	struct dirent **names = NULL;
	int count = scandir(dir, &names, is_signature_file, by_name), rc = 0;

	if (count < 0) {
		rc = -errno;
		config_error_add(errors, dir, "",
			"cannot read the signatures' folder: %s; -g DIR (check, replay), or "
			"\"paths.signatures\" in gateway.json, names it",
			strerror(-rc));
		return rc;
	}
	if (!count)
		config_error_add(errors, dir, "",
			"no signature file (*.json) here: nothing could be classified; -g DIR "
			"(check, replay), or \"paths.signatures\" in gateway.json, names the "
			"folder");
	for (int i = 0; i < count; i++) {
		int one = read_file(reader, dir, names[i]->d_name);

		if (one < 0 && !rc)
			rc = one;
		free(names[i]);
	}
	free(names);
	return rc;
}

int signature_load_dir(const char *dir, struct signature **out, unsigned *n,
	struct app_tables **tables, struct config_errors *errors)
{
	struct signature_reader reader = {.errors = errors, .tables = app_tables_new()};
	size_t before = errors->n + errors->dropped;
	int rc;

	*out = NULL;
	*n = 0;
	if (tables)
		*tables = NULL;
	if (!reader.tables) {
		config_error_add(errors, dir, "", "no memory");
		return -ENOMEM;
	}
	rc = read_folder(&reader, dir, errors);
	if (!rc && errors->n + errors->dropped != before)
		rc = -EINVAL;
	if (rc < 0) {
		app_tables_free(reader.tables);
		free(reader.list);
		return rc;
	}
	*out = reader.list;
	*n = reader.n;
	if (tables)
		*tables = reader.tables;
	else
		app_tables_free(reader.tables);
	return 0;
}
