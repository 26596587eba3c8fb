// SPDX-License-Identifier: BSD-3-Clause
// Parses the command line of `sluice run`.
#include "cmd/run_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int run_options_parse(struct run_arguments *arguments, int argc, char **argv)
{
	const struct option_row rows[] = {
		{'c', "config", "FILE", OPTION_TEXT, &arguments->gateway,
			"gateway.json: ports, CPUs, memory, paths (required)"},
		{'p', "policy", "FILE", OPTION_TEXT, &arguments->policy,
			"policy.json; default: policy.json beside the configuration"},
		{0, "set", "KEY=VALUE", OPTION_LIST, &arguments->sets,
			"override a key of gateway.json, as limits.flows=1000; repeatable"},
		{0, "dump-config", NULL, OPTION_FLAG, &arguments->dump_config,
			"print the effective gateway.json, and end"},
		{0, "pidfile", "FILE", OPTION_TEXT, &arguments->pidfile,
			"write the process id there, and refuse to start twice"},
		{0, "user", "NAME", OPTION_TEXT, &arguments->user,
			"become this user when the ports are open"},
		{0, "group", "NAME", OPTION_TEXT, &arguments->group,
			"and this group; default: the user's"},
		{'v', "verbose", NULL, OPTION_COUNT, &arguments->verbose,
			"say more; -vv includes the messages of DPDK's start"},
		{0},
	};
	const struct option_command command = {.name = "run",
		.usage = "sluice run -c FILE [-p FILE] [options] [-- EAL options]",
		.summary = "Forwards packets between the pairs of ports of gateway.json under a "
			   "policy, in the\nforeground, until SIGTERM or SIGINT.",
		.rows = rows,
		.notes = "Signals: TERM and INT stop receiving, drain and end; USR2 reloads the "
			 "policy (as\n'sluicectl policy reload' does); HUP reopens the event file "
			 "after rotation.\n\n"
			 "EAL options can also stand in gateway.json (\"eal\"). CPUs, memory and "
			 "devices are said\nby its other keys."};
	char **operands;
	int n_operands;
	int code = options_parse(
		&command, argc, argv, &operands, &n_operands, &arguments->eal, &arguments->n_eal);

	if (code >= 0)
		return code;
	if (!arguments->gateway) {
		fprintf(stderr, "sluice run: no configuration: -c FILE\n"
				"Try 'sluice run --help'.\n");
		return EXIT_CODE_USAGE;
	}
	return -1;
}

static void override(char **value, const char *option)
{
	if (!option)
		return;
	free(*value);
	*value = strdup(option);
}

void run_options_override(struct gateway *gateway, const struct run_arguments *arguments)
{
	override(&gateway->paths.pidfile, arguments->pidfile);
	override(&gateway->user, arguments->user);
	override(&gateway->group, arguments->group);
}
