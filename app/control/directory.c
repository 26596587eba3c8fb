// SPDX-License-Identifier: BSD-3-Clause
#include "directory.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "log.h"

int directory_make(const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0)
		return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
	if (mkdir(path, 0755) < 0)
		return errno == EEXIST ? 0 : -errno; // another gateway was first
	log_info("made the folder %s", path);
	return 0;
}

int directory_make_for(const char *path)
{
	char directory[PATH_MAX];
	const char *slash = strrchr(path, '/');

	if (!slash || slash == path)
		return 0;
	if ((size_t)(slash - path) >= sizeof directory)
		return -ENAMETOOLONG;
	snprintf(directory, sizeof directory, "%.*s", (int)(slash - path), path);
	return directory_make(directory);
}
