// SPDX-License-Identifier: BSD-3-Clause
// The command `sluice version`, with the facts of the build.
#include <stdio.h>
#include <rte_version.h>
#include "cmd/build_info.h"
#include "cmd/command.h"
#include "base/options.h"

int version_main(int argc, char **argv)
{
	bool build_info = false;
	char **operands, **rest;
	int n_operands, n_rest;
	const struct option_row rows[] = {
		{0, "build-info", NULL, OPTION_FLAG, &build_info,
			"compiler, libraries and options of this build"},
		{0},
	};
	const struct option_command command = {.name = "version",
		.usage = "sluice version [--build-info]",
		.summary = "Prints the version.",
		.rows = rows};
	int code = options_parse(&command, argc, argv, &operands, &n_operands, &rest, &n_rest);

	if (code >= 0)
		return code;
	printf("sluice %s\n", BUILD_VERSION);
	if (!build_info)
		return EXIT_CODE_OK;
	printf("compiler: %s\n", BUILD_COMPILER);
	printf("build type: %s\n", BUILD_TYPE);
	printf("CPU baseline: %s\n", BUILD_MACHINE);
	printf("sanitizers: %s\n", BUILD_SANITIZE);
	printf("dpdk: %s (built with %s)\n", rte_version(), BUILD_DPDK);
	printf("hyperscan: %s\n", BUILD_HYPERSCAN);
	printf("libevent: %s\n", BUILD_LIBEVENT);
	printf("jansson: %s\n", BUILD_JANSSON);
	return EXIT_CODE_OK;
}
