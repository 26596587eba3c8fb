// SPDX-License-Identifier: BSD-3-Clause
// Finds the default folder of signatures beside the program or where it is installed.
#include "config/signatures_path.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SIGNATURES_SYSTEM "/usr/share/sluice/signatures"

void path_beside(const char *path, const char *name, char *out, size_t out_len)
{
	const char *slash = strrchr(path, '/');
	int length = slash ? (int)(slash - path) + 1 : 0;

	snprintf(out, out_len, "%.*s%s", length, path, name);
}

// TREE/build/app/sluice
static void path_in_tree(char *out, size_t out_len)
{
	char program[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);

	program[n > 0 ? n : 0] = '\0';
	path_beside(program, "../../config/signatures", out, out_len);
}

void signatures_path_default(const char *policy_path, char *out, size_t out_len)
{
	path_beside(policy_path, "signatures", out, out_len);
	if (access(out, R_OK) < 0)
		path_in_tree(out, out_len);
	if (access(out, R_OK) < 0)
		snprintf(out, out_len, "%s", SIGNATURES_SYSTEM);
}
