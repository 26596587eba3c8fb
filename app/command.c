// SPDX-License-Identifier: BSD-3-Clause
#include "command.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "options.h"

#define SIGNATURES_SYSTEM "/usr/share/sluice/signatures"

int config_errors_print(struct config_errors *errors)
{
	for (size_t i = 0; i < errors->n; i++)
		fprintf(stderr, "%s\n", errors->lines[i]);
	if (errors->dropped)
		fprintf(stderr, "... and %zu more\n", errors->dropped);
	config_errors_free(errors);
	return EXIT_CODE_CONFIG;
}

// `name` in the folder of the file `path`.
static void beside(const char *path, const char *name, char *out, size_t out_len)
{
	const char *slash = strrchr(path, '/');
	int length = slash ? (int)(slash - path) + 1 : 0;

	snprintf(out, out_len, "%.*s%s", length, path, name);
}

void policy_path_default(const char *gateway_path, char *out, size_t out_len)
{
	beside(gateway_path, "policy.json", out, out_len);
}

void signatures_path_default(const char *policy_path, char *out, size_t out_len)
{
	beside(policy_path, "signatures", out, out_len);
	if (access(out, R_OK) < 0)
		snprintf(out, out_len, "%s", SIGNATURES_SYSTEM);
}
