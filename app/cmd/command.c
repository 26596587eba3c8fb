// SPDX-License-Identifier: BSD-3-Clause
// Prints configuration errors and resolves default paths for all commands.
#include "cmd/command.h"

#include <stdio.h>
#include "base/options.h"
#include "config/signatures_path.h"

int config_errors_print(struct config_errors *errors)
{
	for (size_t i = 0; i < errors->n; i++)
		fprintf(stderr, "%s\n", errors->lines[i]);
	if (errors->dropped)
		fprintf(stderr, "... and %zu more\n", errors->dropped);
	config_errors_free(errors);
	return EXIT_CODE_CONFIG;
}

void policy_path_default(const char *gateway_path, char *out, size_t out_len)
{
	path_beside(gateway_path, "policy.json", out, out_len);
}
