// SPDX-License-Identifier: BSD-3-Clause
// The command line of `sluice run`.
#ifndef SLUICE_RUN_OPTIONS_H
#define SLUICE_RUN_OPTIONS_H

#include <stdbool.h>
#include "base/options.h"
#include "config/gateway.h"

struct run_arguments { // borrowed from argv
	const char *gateway;
	const char *policy;
	const char *pidfile;
	const char *user;
	const char *group;
	struct option_list sets;
	int verbose;
	bool dump_config;
	char **eal;
	int n_eal;
};

// -1 to go on, or an exit code: after --help and after a usage error, which is reported.
int run_options_parse(struct run_arguments *arguments, int argc, char **argv);

// The command line's words for keys.
void run_options_override(struct gateway *gateway, const struct run_arguments *arguments);

#endif
