// SPDX-License-Identifier: BSD-3-Clause
// `sluice import l7 DIR`: l7-filter's pattern files as a signature file, and a report of what could
// not be taken over, one line each with its file and line.
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "classify/classify.h"
#include "cmd/command.h"
#include "base/json_out.h"
#include "control/policy/l7_pattern.h"
#include "base/options.h"

#define FILES_MAX      4096
#define ENTRY_BYTES    4096 // of JSON: one signature, every character of its pattern escaped
#define SIGNATURE_NAME "l7-%s-%s"

struct import {
	const char *out_path;            // NULL: standard output
	const struct option_list *names; // NAME=APP of the command line
	FILE *text;                      // what is written, in memory
	char *buffer;
	size_t length;
	char **taken; // names, to refuse a second one
	unsigned n_taken, n_files, n_written;
	unsigned n_unknown, n_wrong;
};

static bool has_suffix(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = strlen(suffix);

	return n > m && !strcmp(name + n - m, suffix);
}

static int visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

// The application that `name` stands for: as the command line says, one of ours, or one that
// l7-protocols calls otherwise.
static uint16_t app_named(const struct import *import, const char *name)
{
	size_t n = strlen(name);
	const char *alias = l7_alias(name);

	for (unsigned i = 0; i < import->names->n; i++)
		if (!strncmp(import->names->items[i], name, n) && import->names->items[i][n] == '=')
			return app_find(import->names->items[i] + n + 1);
	uint16_t app = app_find(name);

	return app == APP_NONE && alias ? app_find(alias) : app;
}

static bool taken_before(struct import *import, const char *name)
{
	for (unsigned i = 0; i < import->n_taken; i++)
		if (!strcmp(import->taken[i], name))
			return true;
	import->taken[import->n_taken] = strdup(name);
	import->n_taken += import->taken[import->n_taken] != NULL;
	return false;
}

// As a reload would try it; `err` has Hyperscan's objection.
static bool compiles(const struct signature *signature, char *err, size_t err_len)
{
	struct signature any = *signature;

	any.app = 1; // whose it is does not matter here
	return sigdb_check_pattern(&any, err, err_len) == 0;
}

// One line each, for who edits the file.
static void write_signature(
	struct import *import, const struct signature *signature, const char *base)
{
	char why[128], entry[ENTRY_BYTES];
	struct json_out out;

	snprintf(why, sizeof(why), "imported from %.80s, a pattern file of l7-filter", base);
	json_out_init(&out, entry, sizeof(entry));
	json_out_open(&out, NULL, '{');
	json_out_string(&out, "id", signature->id);
	json_out_string(&out, "app", app_get(signature->app)->name);
	json_out_string(&out, "l4", signature->l4 == IPPROTO_TCP ? "tcp" : "udp");
	json_out_string(&out, "pattern", signature->pattern);
	json_out_string(&out, "flags", signature->caseless ? "si" : "s");
	json_out_string(&out, "confidence", "partial");
	json_out_string(&out, "why", why);
	json_out_close(&out, '}');
	fprintf(import->text, "%s\n\t\t%.*s", import->n_written++ ? "," : "",
		(int)json_out_length(&out), entry);
}

static void name_signature(struct signature *signature, const char *name, bool udp)
{
	signature->l4 = udp ? IPPROTO_UDP : IPPROTO_TCP;
	snprintf(signature->id, sizeof(signature->id), SIGNATURE_NAME, name, udp ? "udp" : "tcp");
	for (char *c = signature->id; *c; c++) {
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c | 0x20);
		else if (!(*c >= 'a' && *c <= 'z') && !(*c >= '0' && *c <= '9') && *c != '.' &&
			 *c != '_')
			*c = '-';
	}
}

static void import_pattern(struct import *import, const char *path, const struct l7_file *file)
{
	struct signature signature = {
		.halves = 1 << HALF_C2S | 1 << HALF_S2C,
		.confidence = CONFIDENCE_PARTIAL,
		.caseless = file->caseless,
		.dotall = true,
		.app = app_named(import, file->name),
	};
	const char *base = strrchr(path, '/');
	char err[512];

	name_signature(&signature, file->name, false);
	if (l7_translate(file, signature.pattern, sizeof(signature.pattern), err, sizeof(err)) <
			0 ||
		!compiles(&signature, err, sizeof(err))) {
		fprintf(stderr, "%s:%u: not translated: %s\n", path, file->pattern_line, err);
		import->n_wrong++;
		return;
	}
	if (signature.app == APP_NONE) {
		fprintf(stderr,
			"%s:%u: \"%s\" is no application here: --as %s=APP names one of `sluice "
			"apps`; or define it in policy.json, regex: {\"pattern\": %s}\n",
			path, file->name_line, file->name, file->name, signature.pattern);
		import->n_unknown++;
		return;
	}
	if (taken_before(import, file->name)) {
		fprintf(stderr, "%s:%u: \"%s\" was named by a file before: not taken\n", path,
			file->name_line, file->name);
		import->n_wrong++;
		return;
	}
	base = base ? base + 1 : path;
	write_signature(import, &signature, base);
	name_signature(&signature, file->name, true);
	write_signature(import, &signature, base);
}

static void import_file(struct import *import, const char *path)
{
	struct l7_file file;
	unsigned line;
	char err[256];

	if (import->n_files == FILES_MAX) {
		fprintf(stderr, "%s: more than %u files: not read\n", path, FILES_MAX);
		import->n_wrong++;
		return;
	}
	import->n_files++;
	if (l7_file_read(path, &file, &line, err, sizeof(err)) < 0) {
		fprintf(stderr, line ? "%s:%u: not read: %s\n" : "%s:%.0u not read: %s\n", path,
			line, err);
		import->n_wrong++;
		return;
	}
	import_pattern(import, path, &file);
	l7_file_free(&file);
}

// The files of a folder, and, at its top, those of the folders in it, as l7-filter searches.
static int import_folder(struct import *import, const char *dir, bool top)
{
	struct dirent **names = NULL;
	int n = scandir(dir, &names, visible, by_bytes), rc = 0;

	if (n < 0)
		return -errno;
	for (int i = 0; i < n; i++) {
		char path[COMMAND_PATH_MAX];
		struct stat status;
		int length = snprintf(path, sizeof(path), "%s/%s", dir, names[i]->d_name);

		free(names[i]);
		if (length < 0 || (size_t)length >= sizeof(path) || stat(path, &status) < 0)
			continue;
		if (S_ISREG(status.st_mode) && has_suffix(path, ".pat"))
			import_file(import, path);
		else if (S_ISDIR(status.st_mode) && top) {
			int one = import_folder(import, path, false);

			if (one < 0)
				fprintf(stderr, "%s: %s\n", path, strerror(-one));
			rc = rc ? rc : one;
		}
	}
	free(names);
	return rc;
}

// Beside the file first, so that a reload never sees half of it.
static int write_out(const struct import *import)
{
	size_t length = import->length;
	const char *path = import->out_path;
	char beside[COMMAND_PATH_MAX];
	FILE *out = stdout;

	if (path) {
		if (snprintf(beside, sizeof(beside), "%s.new", path) >= (int)sizeof(beside))
			return -ENAMETOOLONG;
		out = fopen(beside, "w");
		if (!out)
			return -errno;
	}
	int rc = fwrite(import->buffer, 1, length, out) == length && !fflush(out) ? 0 : -errno;

	if (!path)
		return rc;
	if (fclose(out) && !rc)
		rc = -errno;
	if (!rc && rename(beside, path) < 0)
		rc = -errno;
	if (rc)
		unlink(beside);
	return rc;
}

static int finish(struct import *import)
{
	int rc;

	fprintf(import->text, "\n\t]\n}\n");
	fprintf(stderr,
		"sluice import: %u pattern files: %u taken over as %u signatures, %u of unknown "
		"applications, %u not translated\n",
		import->n_files, import->n_taken, 2 * import->n_taken, import->n_unknown,
		import->n_wrong);
	if (!import->n_taken) {
		fprintf(stderr, "sluice import: nothing to write\n");
		return EXIT_CODE_CONFIG;
	}
	rc = fflush(import->text) ? -ENOMEM : write_out(import);
	if (rc < 0)
		fprintf(stderr, "sluice import: %s: %s\n",
			import->out_path ? import->out_path : "standard output", strerror(-rc));
	return rc < 0 ? EXIT_CODE_FAILURE : EXIT_CODE_OK;
}

static bool names_are_known(const struct option_list *names)
{
	for (unsigned i = 0; i < names->n; i++) {
		const char *app = strchr(names->items[i], '=');

		if (app && app != names->items[i] && app_find(app + 1) != APP_NONE)
			continue;
		fprintf(stderr,
			"sluice import: --as %s: NAME=APP, where APP is one of `sluice apps`\n",
			names->items[i]);
		return false;
	}
	return true;
}

static int import_l7(struct import *import, const char *dir)
{
	int rc, code = EXIT_CODE_FAILURE;

	import->taken = calloc(FILES_MAX, sizeof(*import->taken));
	import->text = import->taken ? open_memstream(&import->buffer, &import->length) : NULL;
	if (!import->text) {
		fprintf(stderr, "sluice import: no memory\n");
		free(import->taken);
		return code;
	}
	fprintf(import->text, "{\n\t\"schema_version\": 1,\n\t\"signatures\": [");
	rc = import_folder(import, dir, true);
	if (rc < 0 && !import->n_files) {
		fprintf(stderr, "sluice import: %s: %s\n", dir, strerror(-rc));
		code = EXIT_CODE_CONFIG;
	} else {
		code = finish(import);
	}
	fclose(import->text);
	for (unsigned i = 0; i < import->n_taken; i++)
		free(import->taken[i]);
	free(import->taken);
	free(import->buffer);
	return code;
}

int import_main(int argc, char **argv)
{
	struct option_list names = {0};
	struct import import = {.names = &names};
	const struct option_row rows[] = {
		{'o', "output", "FILE", OPTION_TEXT, &import.out_path,
			"write the signatures there instead of to standard output"},
		{0, "as", "NAME=APP", OPTION_LIST, &names,
			"take patterns of NAME as the application APP; repeatable"},
		{0},
	};
	const struct option_command command = {.name = "import",
		.usage = "sluice import l7 DIR [-o FILE] [--as NAME=APP]...",
		.summary = "Reads the pattern files (*.pat) of l7-filter or kP2PADM in DIR and in "
			   "the folders in\nit, and writes a signature file. What cannot be taken "
			   "over is told on standard error,\nwith file, line and reason.",
		.rows = rows,
		.notes = "The signatures have confidence partial: no rule acts on them that does "
			 "not say\n\"min_confidence\": \"partial\". Put FILE into the folder of "
			 "the others.",
		.takes_operands = true};
	char **operands, **rest;
	int n_operands, n_rest;
	int code = options_parse(&command, argc, argv, &operands, &n_operands, &rest, &n_rest);

	if (code >= 0)
		return code;
	if (n_operands != 2 || strcmp(operands[0], "l7") != 0) {
		fprintf(stderr, "sluice import: what, and from where? sluice import l7 DIR\n"
				"Try 'sluice import --help'.\n");
		return EXIT_CODE_USAGE;
	}
	return names_are_known(&names) ? import_l7(&import, operands[1]) : EXIT_CODE_USAGE;
}
