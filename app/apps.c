// SPDX-License-Identifier: BSD-3-Clause
// `sluice apps`: what a rule can name, and how sure a claim of each can be.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "classify.h"
#include "command.h"
#include "config_error.h"
#include "json_out.h"
#include "options.h"
#include "signature_load.h"

#define JSON_BYTES (1u << 20)

// By what an application can be recognised, as the confidences that its claims can carry.
struct sources {
	bool has[CONFIDENCE_VERIFIED + 1];
	unsigned signatures;
};

static struct sources sources_of(uint16_t app, const struct signature *signatures, unsigned n)
{
	const struct app_proto *proto = app_get(app);
	struct sources sources = {0};

	sources.has[CONFIDENCE_PORT] = proto->tcp_ports[0] || proto->udp_ports[0];
	if (proto->shape_tcp || proto->shape_udp)
		sources.has[CONFIDENCE_PARTIAL] = sources.has[CONFIDENCE_VERIFIED] = true;
	for (unsigned i = 0; i < n; i++) {
		if (signatures[i].app != app)
			continue;
		sources.signatures++;
		if (signatures[i].verify)
			sources.has[CONFIDENCE_VERIFIED] = true;
		else if (signatures[i].confidence <= CONFIDENCE_VERIFIED)
			sources.has[signatures[i].confidence] = true;
	}
	return sources;
}

static void print_table(const struct signature *signatures, unsigned n)
{
	printf("%-16s %-28s %-9s %-14s %s\n", "ID", "TITLE", "CATEGORY", "GROUP", "CONFIDENCE");
	for (uint16_t app = 1; app <= app_count(); app++) {
		const struct app_proto *proto = app_get(app);
		struct sources sources = sources_of(app, signatures, n);
		char words[64] = "";
		size_t used = 0;
		for (unsigned i = CONFIDENCE_PORT; i <= CONFIDENCE_VERIFIED; i++) {
			if (sources.has[i] && used < sizeof(words))
				used += (size_t)snprintf(words + used, sizeof(words) - used, "%s%s",
					used ? ", " : "", confidence_word(i));
		}
		printf("%-16s %-28s %-9s %-14s %s\n", proto->name, proto->title,
			app_category_word(proto->category), proto->group ? proto->group : "-",
			words);
	}
}

static int print_json(const struct signature *signatures, unsigned n)
{
	char *buffer = malloc(JSON_BYTES);
	struct json_out out;

	if (!buffer)
		return EXIT_CODE_FAILURE;
	json_out_init(&out, buffer, JSON_BYTES);
	json_out_open(&out, NULL, '[');
	for (uint16_t app = 1; app <= app_count(); app++) {
		const struct app_proto *proto = app_get(app);
		struct sources sources = sources_of(app, signatures, n);
		json_out_open(&out, NULL, '{');
		json_out_string(&out, "id", proto->name);
		json_out_string(&out, "title", proto->title);
		json_out_string(&out, "category", app_category_word(proto->category));
		if (proto->group)
			json_out_string(&out, "group", proto->group);
		json_out_open(&out, "confidence", '[');
		for (unsigned i = CONFIDENCE_PORT; i <= CONFIDENCE_VERIFIED; i++) {
			if (sources.has[i])
				json_out_string(&out, NULL, confidence_word(i));
		}
		json_out_close(&out, ']');
		json_out_u64(&out, "signatures", sources.signatures);
		json_out_close(&out, '}');
	}
	json_out_close(&out, ']');
	json_out_newline(&out);
	size_t length = json_out_length(&out);
	bool ok = !out.full && fwrite(buffer, 1, length, stdout) == length;
	free(buffer);
	return ok ? EXIT_CODE_OK : EXIT_CODE_FAILURE;
}

int apps_main(int argc, char **argv)
{
	const char *dir = NULL;
	char found[COMMAND_PATH_MAX];
	bool json = false;
	char **operands, **rest;
	int n_operands, n_rest;
	struct config_errors errors = {0};
	struct signature *signatures = NULL;
	unsigned n = 0;
	const struct option_row rows[] = {
		{0, "json", NULL, OPTION_FLAG, &json, "as a JSON array"},
		{'g', "signatures", "DIR", OPTION_TEXT, &dir,
			"signature files; default: config/signatures, else the system's"},
		{0},
	};
	const struct option_command command = {.name = "apps",
		.usage = "sluice apps [--json] [-g DIR]",
		.summary = "Lists the applications that rules can name (\"app\", \"category\", "
			   "\"group\"), and the\nconfidences that a claim of each can have.",
		.rows = rows,
		.notes = "Confidences, rising: port (by number alone), ip, cache (announced by "
			 "another flow),\npartial (by shape), dpi (a signature), verified (and the "
			 "protocol's structure)."};
	int code = options_parse(&command, argc, argv, &operands, &n_operands, &rest, &n_rest);

	if (code >= 0)
		return code;
	if (!dir) {
		signatures_path_default("config/policy.json", found, sizeof(found));
		dir = access(found, R_OK) == 0 ? found : NULL;
	}
	if (dir && signature_load_dir(dir, &signatures, &n, &errors) < 0) {
		if (!errors.n)
			config_error_add(&errors, dir, "", "cannot be read");
		free(signatures);
		return config_errors_print(&errors);
	}
	config_errors_free(&errors);
	if (!dir)
		fprintf(stderr, "sluice apps: no signature files found (-g DIR): confidences are "
				"incomplete\n");
	if (json)
		code = print_json(signatures, n);
	else
		print_table(signatures, n);
	free(signatures);
	return json ? code : EXIT_CODE_OK;
}
