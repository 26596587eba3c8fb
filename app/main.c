// SPDX-License-Identifier: BSD-3-Clause
// The table of the program's commands. Each command reads its own options; see run.h, replay.h and
// command.h.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "cmd/command.h"
#include "base/options.h"
#include "replay/replay.h"
#include "cmd/run.h"

static const struct {
	const char *name;
	int (*main)(int argc, char **argv);
	const char *summary;
} commands[] = {
	{"run", run_main, "forward packets under a policy, until SIGTERM"},
	{"check", check_main, "say everything that is wrong with a configuration, or nothing"},
	{"replay", replay_main, "send captures through the same packet path, without a device"},
	{"apps", apps_main, "list the applications that rules can name"},
	{"import", import_main, "take over the pattern files of l7-filter as signatures"},
	{"verify", verify_main, "say whether an audit log is as it was written"},
	{"version", version_main, "print the version"},
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void help(void)
{
	printf("Usage: sluice COMMAND [options]\n\n"
	       "Sluice is a gateway for Ethernet networks: it forwards packets between pairs of\n"
	       "ports in user space, tells which application a flow belongs to, and passes, drops\n"
	       "or resets it as a policy says.\n\n"
	       "Commands:\n");
	for (size_t i = 0; i < COMMANDS; i++)
		printf("  %-9s %s\n", commands[i].name, commands[i].summary);
	printf("\n'sluice COMMAND --help' tells more about one of them. A running gateway is "
	       "asked\n"
	       "and told by sluicectl.\n\n"
	       "Exit codes: 0 fine, 1 failure, 2 usage, 69 no device or hugepages, 77 no "
	       "permission,\n"
	       "78 configuration.\n");
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : NULL;
	const char *names[COMMANDS + 1];

	if (!word) {
		fprintf(stderr, "sluice: no command; try 'sluice --help'\n");
		return EXIT_CODE_USAGE;
	}
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
		help();
		return EXIT_CODE_OK;
	}
	if (strcmp(word, "--version") == 0)
		word = "version";
	for (size_t i = 0; i < COMMANDS; i++) {
		if (strcmp(word, commands[i].name) != 0)
			continue;
		int code = commands[i].main(argc - 1, argv + 1);
		// A full disk or a closed pipe must not look like success.
		if (fflush(stdout) && !code) {
			fprintf(stderr, "sluice: standard output: %s\n", strerror(errno));
			return EXIT_CODE_FAILURE;
		}
		return code;
	}
	for (size_t i = 0; i < COMMANDS; i++)
		names[i] = commands[i].name;
	names[COMMANDS] = NULL;
	const char *near = nearest_word(word, names);
	fprintf(stderr, "sluice: unknown command \"%s\"", word);
	if (near) {
		fprintf(stderr, "; did you mean %s?", near);
	} else {
		fprintf(stderr, "; commands:");
		for (size_t i = 0; i < COMMANDS; i++)
			fprintf(stderr, " %s", names[i]);
	}
	fprintf(stderr, "\nTry 'sluice --help'.\n");
	return EXIT_CODE_USAGE;
}
