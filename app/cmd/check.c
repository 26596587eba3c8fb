// SPDX-License-Identifier: BSD-3-Clause
// `sluice check`: everything that `run` would find wrong before it touches a port, all at once.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cmd/command.h"
#include "base/log.h"
#include "machine/mbuf_pool.h"
#include "base/options.h"
#include "machine/preflight.h"
#include "control/policy/reload.h"
#include "cmd/run.h"
#include "control/policy/signature_load.h"
#include "config/signatures_path.h"

struct check_arguments {
	const char *gateway;
	const char *policy;
	const char *signatures;
	struct option_list sets;
	bool preflight;
	bool dump_config;
	int verbose;
};

static int parse(struct check_arguments *arguments, int argc, char **argv)
{
	const struct option_row rows[] = {
		{'c', "config", "FILE", OPTION_TEXT, &arguments->gateway,
			"check this gateway.json"},
		{'p', "policy", "FILE", OPTION_TEXT, &arguments->policy, "check this policy.json"},
		{'g', "signatures", "DIR", OPTION_TEXT, &arguments->signatures,
			"signature files; default: as gateway.json says, or signatures/ beside the "
			"policy"},
		{0, "set", "KEY=VALUE", OPTION_LIST, &arguments->sets,
			"override a key of gateway.json; repeatable"},
		{0, "dump-config", NULL, OPTION_FLAG, &arguments->dump_config,
			"print the effective gateway.json"},
		{0, "preflight", NULL, OPTION_FLAG, &arguments->preflight,
			"also ask this machine: CPUs, memory, permissions, devices"},
		{'v', "verbose", NULL, OPTION_COUNT, &arguments->verbose, "say more"},
		{0},
	};
	const struct option_command command = {.name = "check",
		.usage = "sluice check [-c FILE] [-p FILE] [options]",
		.summary = "Checks a configuration, a policy and the signatures, compiling every "
			   "pattern. Prints\nevery error with its file and JSON path; touches no "
			   "port. Exit code 0, or 78.",
		.rows = rows,
		.notes = "With --preflight also 69 (device, hugepages) or 77 (permission)."};
	char **operands, **rest;
	int n_operands, n_rest;
	int code = options_parse(&command, argc, argv, &operands, &n_operands, &rest, &n_rest);

	if (code >= 0)
		return code;
	if (!arguments->gateway && !arguments->policy && !arguments->signatures) {
		fprintf(stderr, "sluice check: nothing to check: -c FILE, -p FILE or -g DIR\n"
				"Try 'sluice check --help'.\n");
		return EXIT_CODE_USAGE;
	}
	if ((arguments->preflight || arguments->dump_config) && !arguments->gateway) {
		fprintf(stderr, "sluice check: --preflight and --dump-config need -c FILE\n");
		return EXIT_CODE_USAGE;
	}
	return -1;
}

// Policy and signatures as a reload would take them, without publishing.
static void check_policy(const struct check_arguments *arguments, const struct gateway *gateway,
	const char *policy, struct config_errors *errors)
{
	struct dataplane dp = {.n_lcores = gateway ? gateway->n_data : 1};
	const char *signatures = arguments->signatures;
	char beside[COMMAND_PATH_MAX];
	struct reload *reload = NULL;

	if (!signatures && gateway)
		signatures = gateway->paths.signatures;
	if (!signatures) {
		signatures_path_default(policy, beside, sizeof(beside));
		signatures = beside;
	}
	struct rule_names *names = rule_names_new();
	// No cache: every pattern is compiled.
	if (!names || reload_new(&dp, names, signatures, NULL, &reload) < 0)
		config_error_add(errors, policy, "", "no memory");
	if (reload && gateway) {
		reload_set_engine(reload, gateway);
		reload_set_kept(reload, gateway);
	}
	if (reload)
		reload_check(reload, policy, errors);
	reload_free(reload);
	rule_names_free(names);
}

// Without a policy: the signatures alone.
static void check_signatures(const char *dir, struct config_errors *errors)
{
	struct signature *signatures = NULL;
	struct sigdb *db = NULL;
	unsigned n = 0;
	char err[512];

	if (signature_load_dir(dir, &signatures, &n, NULL, errors) < 0) {
		if (!errors->n)
			config_error_add(errors, dir, "", "cannot be read");
	} else if (sigdb_new(signatures, n, NULL, &db, NULL, err, sizeof(err)) < 0) {
		config_error_add(errors, dir, "", "%s", err);
	}
	sigdb_free(db);
	free(signatures);
}

static void check_rules(const struct check_arguments *arguments, const struct gateway *gateway,
	struct config_errors *errors)
{
	char beside[COMMAND_PATH_MAX];

	if (arguments->policy) {
		check_policy(arguments, gateway, arguments->policy, errors);
		return;
	}
	if (gateway) { // what `run` would take
		policy_path_default(arguments->gateway, beside, sizeof(beside));
		if (access(beside, F_OK) == 0) {
			check_policy(arguments, gateway, beside, errors);
			return;
		}
	}
	if (arguments->signatures)
		check_signatures(arguments->signatures, errors);
	else if (gateway)
		check_signatures(gateway->paths.signatures, errors);
}

static int check_machine(const struct gateway *gateway)
{
	static struct preflight found;
	struct preflight_host host;

	preflight_host_init(&host);
	preflight_run(gateway, &host, memory_needed_mb(gateway), &found);
	for (unsigned i = 0; i < found.n; i++) {
		const struct preflight_item *item = &found.items[i];
		printf("%-7s %s: %s\n",
			item->code      ? "MISSING"
			: item->warning ? "WARNING"
					: "ok",
			item->what, item->text);
	}
	return preflight_code(&found);
}

int check_main(int argc, char **argv)
{
	struct check_arguments arguments = {0};
	struct config_errors errors = {0};
	struct gateway *gateway = NULL;
	int code = parse(&arguments, argc, argv);

	if (code >= 0)
		return code;
	log_start((unsigned)arguments.verbose);
	if (arguments.gateway) {
		int rc = gateway_load(arguments.gateway, arguments.sets.items, arguments.sets.n,
			&gateway, &errors);
		if (rc < 0 && !errors.n)
			config_error_add(&errors, arguments.gateway, "", "%s", strerror(-rc));
	}
	check_rules(&arguments, gateway, &errors);
	code = errors.n ? config_errors_print(&errors) : EXIT_CODE_OK;
	config_errors_free(&errors);
	if (gateway && arguments.dump_config) {
		char *text = gateway_dump(gateway);
		if (text)
			printf("%s\n", text);
		free(text);
	}
	if (gateway && arguments.preflight) {
		int missing = check_machine(gateway);
		code = code ? code : missing;
	}
	if (!code && !arguments.dump_config)
		printf("ok\n");
	gateway_free(gateway);
	return code;
}
