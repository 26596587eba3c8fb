// SPDX-License-Identifier: BSD-3-Clause
// `sluice apps`: what a rule can name, and how sure a claim of each can be.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "control/policy/app_tables.h"
#include "classify/classify.h"
#include "cmd/command.h"
#include "cmd/explain.h"
#include "cmd/recognition.h"
#include "config/error.h"
#include "base/json_out.h"
#include "base/options.h"
#include "control/policy/load.h"
#include "control/policy/signature_load.h"
#include "config/signatures_path.h"

#define JSON_BYTES (1u << 20)

// By what an application can be recognised, as the confidences that its claims can carry.
struct sources {
	bool has[CONFIDENCE_VERIFIED + 1];
	unsigned signatures;
	unsigned hosts;
	unsigned shared_hosts;
	unsigned networks;
};

// With which confidences replays have shown it: a verifier may answer less than "verified".
static void add_shown(struct sources *sources, const char *app)
{
	for (const struct recognition_row *row = recognition_rows; row->app; row++)
		for (unsigned i = CONFIDENCE_PORT; i <= CONFIDENCE_VERIFIED; i++)
			if (!strcmp(row->app, app) && !strcmp(row->confidence, confidence_word(i)))
				sources->has[i] = true;
}

static struct sources sources_of(uint16_t app, const struct signature *signatures, unsigned n,
	const struct app_tables *tables)
{
	const struct app_proto *proto = app_get(app);
	struct sources sources = {0};

	add_shown(&sources, proto->name);
	sources.has[CONFIDENCE_PORT] |= proto->tcp_ports[0] || proto->udp_ports[0];
	if (proto->shape_tcp || proto->shape_udp)
		sources.has[CONFIDENCE_PARTIAL] = sources.has[CONFIDENCE_VERIFIED] = true;
	if (proto->media_between)
		sources.has[CONFIDENCE_PARTIAL] = true;
	if (proto->media) // looked for in each datagram flow that is unknown
		sources.has[CONFIDENCE_PARTIAL] = sources.has[CONFIDENCE_DPI] = true;
	for (unsigned i = 0; i < n; i++) {
		if (signatures[i].app != app)
			continue;
		sources.signatures++;
		if (signatures[i].verify)
			sources.has[CONFIDENCE_VERIFIED] = true;
		else if (signatures[i].confidence <= CONFIDENCE_VERIFIED)
			sources.has[signatures[i].confidence] = true;
	}
	for (uint32_t i = 0; tables && i < tables->n_tables; i++) {
		const struct app_table *table = &tables->tables[i];

		if (table->app != app)
			continue;
		sources.hosts += table->n_hosts;
		sources.shared_hosts += table->n_shared_hosts;
		sources.networks += table->networks.n_v4 + table->networks.n_v6;
	}
	sources.has[CONFIDENCE_DPI] |= sources.hosts > 0;
	sources.has[CONFIDENCE_PARTIAL] |= sources.shared_hosts > 0;
	sources.has[CONFIDENCE_IP] |= sources.networks > 0;
	return sources;
}

static struct sources sources_of_user(const struct user_app *user)
{
	struct sources sources = {
		.signatures = user->n_signatures,
		.hosts = user->n_hosts,
		.networks = user->networks.n_v4 + user->networks.n_v6,
	};

	sources.has[CONFIDENCE_PORT] = user->n_ports[0] || user->n_ports[1];
	sources.has[CONFIDENCE_IP] = user->has_networks;
	sources.has[CONFIDENCE_DPI] = user->n_signatures || user->n_hosts;
	return sources;
}

// One line of the list.
struct entry {
	const char *name;
	const char *title;
	const char *group; // or NULL
	enum app_category category;
	bool user;
	struct sources sources;
};

// What is listed: what is built in, then the policy's own.
struct listed {
	const struct signature *signatures;
	unsigned n_signatures;
	const struct app_tables *tables; // or NULL
	const struct policy *policy;     // or NULL
};

static bool entry_at(const struct listed *listed, unsigned index, struct entry *entry)
{
	const struct policy *policy = listed->policy;

	if (index < app_count()) {
		const struct app_proto *proto = app_get((uint16_t)(index + 1));

		*entry = (struct entry){.name = proto->name,
			.title = proto->title,
			.group = proto->group,
			.category = proto->category,
			.sources = sources_of((uint16_t)(index + 1), listed->signatures,
				listed->n_signatures, listed->tables)};
		return true;
	}
	if (!policy || index - app_count() >= policy->n_applications)
		return false;
	const struct user_app *user = &policy->applications[index - app_count()];

	*entry = (struct entry){.name = user->name,
		.title = user->title ? user->title : user->name,
		.group = user->group,
		.category = user->category,
		.user = true,
		.sources = sources_of_user(user)};
	return true;
}

static void print_table(const struct listed *listed)
{
	struct entry entry;

	printf("%-16s %-28s %-9s %-14s %s\n", "ID", "TITLE", "CATEGORY", "GROUP", "CONFIDENCE");
	for (unsigned at = 0; entry_at(listed, at, &entry); at++) {
		char words[64] = "";
		size_t used = 0;
		for (unsigned i = CONFIDENCE_PORT; i <= CONFIDENCE_VERIFIED; i++) {
			if (entry.sources.has[i] && used < sizeof(words))
				used += (size_t)snprintf(words + used, sizeof(words) - used, "%s%s",
					used ? ", " : "", confidence_word(i));
		}
		printf("%-16s %-28s %-9s %-14s %s\n", entry.name, entry.title,
			app_category_word(entry.category), entry.group ? entry.group : "-", words);
	}
}

static int print_json(const struct listed *listed)
{
	struct entry entry;
	char *buffer = malloc(JSON_BYTES);
	struct json_out out;

	if (!buffer)
		return EXIT_CODE_FAILURE;
	json_out_init(&out, buffer, JSON_BYTES);
	json_out_open(&out, NULL, '[');
	for (unsigned at = 0; entry_at(listed, at, &entry); at++) {
		json_out_open(&out, NULL, '{');
		json_out_string(&out, "id", entry.name);
		json_out_string(&out, "title", entry.title);
		json_out_string(&out, "category", app_category_word(entry.category));
		if (entry.group)
			json_out_string(&out, "group", entry.group);
		json_out_open(&out, "confidence", '[');
		for (unsigned i = CONFIDENCE_PORT; i <= CONFIDENCE_VERIFIED; i++) {
			if (entry.sources.has[i])
				json_out_string(&out, NULL, confidence_word(i));
		}
		json_out_close(&out, ']');
		json_out_u64(&out, "signatures", entry.sources.signatures);
		json_out_u64(&out, "hosts", entry.sources.hosts);
		json_out_u64(&out, "shared_hosts", entry.sources.shared_hosts);
		json_out_u64(&out, "networks", entry.sources.networks);
		if (entry.user)
			json_out_bool(&out, "user_defined", true);
		json_out_close(&out, '}');
	}
	json_out_close(&out, ']');
	json_out_newline(&out);
	size_t length = json_out_length(&out);
	bool ok = !out.full && fwrite(buffer, 1, length, stdout) == length;
	free(buffer);
	return ok ? EXIT_CODE_OK : EXIT_CODE_FAILURE;
}

struct apps_request {
	const char *dir;       // of signatures; NULL: where they are by default
	const char *policy;    // file; NULL: none
	const char *explained; // application; NULL: all are listed
	bool json;
};

// As options_parse().
static int parse(int argc, char **argv, struct apps_request *request)
{
	char **operands, **rest;
	int n_operands, n_rest;
	const struct option_row rows[] = {
		{0, "json", NULL, OPTION_FLAG, &request->json,
			"as a JSON array; of --explain an object"},
		{0, "explain", "NAME", OPTION_TEXT, &request->explained,
			"how this one is known, or why it cannot be; alone, or with --json"},
		{'p', "policy", "FILE", OPTION_TEXT, &request->policy,
			"also the applications that this policy defines"},
		{'g', "signatures", "DIR", OPTION_TEXT, &request->dir,
			"signature files; default: config/signatures, else the system's"},
		{0},
	};
	const struct option_command command = {.name = "apps",
		.usage = "sluice apps [--json] [-p POLICY] [-g DIR]\n"
			 "       sluice apps --explain NAME [--json]",
		.summary = "Lists the applications that rules can name (\"app\", \"category\", "
			   "\"group\"), and the\nconfidences that a claim of each can have.",
		.rows = rows,
		.notes =
			"Confidences, rising: port (by number alone), ip (a listed network), cache "
			"(told by another\nflow: DNS, a DHT, a control connection), partial (a "
			"hint: "
			"a shape, a shared name, one end\nalone), dpi (a pattern, a listed name, "
			"ALPN), verified (the message's structure was checked,\ntoo). Rules act "
			"from dpi on, unless their min_confidence says less."};

	return options_parse(&command, argc, argv, &operands, &n_operands, &rest, &n_rest);
}

static int print(const struct listed *listed, bool json)
{
	if (json)
		return print_json(listed);
	print_table(listed);
	return EXIT_CODE_OK;
}

static int list(const struct apps_request *request)
{
	struct config_errors errors = {0};
	struct signature *signatures = NULL;
	struct rule_names *names = NULL;
	struct policy *policy = NULL;
	struct app_tables *tables = NULL;
	unsigned n = 0;
	int code = 0;

	if (request->dir &&
		signature_load_dir(request->dir, &signatures, &n, &tables, &errors) < 0) {
		if (!errors.n)
			config_error_add(&errors, request->dir, "", "cannot be read");
		free(signatures);
		return config_errors_print(&errors);
	}
	if (request->policy) {
		names = rule_names_new();
		code = names ? policy_load(request->policy, names, &policy, &errors) : -ENOMEM;
	}
	if (code < 0) {
		code = config_errors_print(&errors);
	} else {
		config_errors_free(&errors);
		code = print(&(struct listed){signatures, n, tables, policy}, request->json);
	}
	free(signatures);
	app_tables_free(tables);
	policy_free(policy);
	rule_names_free(names);
	return code;
}

int apps_main(int argc, char **argv)
{
	struct apps_request request = {0};
	char found[COMMAND_PATH_MAX];
	int code = parse(argc, argv, &request);

	if (code >= 0)
		return code;
	if (request.explained && (request.dir || request.policy)) {
		fprintf(stderr,
			"sluice apps: --explain says what is built in: without -p and -g\n");
		return EXIT_CODE_USAGE;
	}
	if (request.explained)
		return explain_application(request.explained, request.json);
	if (!request.dir) {
		signatures_path_default("config/policy.json", found, sizeof(found));
		request.dir = access(found, R_OK) == 0 ? found : NULL;
	}
	if (!request.dir)
		fprintf(stderr, "sluice apps: no signature files found (-g DIR): confidences are "
				"incomplete\n");
	return list(&request);
}
