// SPDX-License-Identifier: BSD-3-Clause
// Makes the folders that gateway.json names and that do not exist.
#include "base/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

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

int directory_follow_flag(const char *path)
{
	char directory[PATH_MAX];
	const char *slash = strrchr(path, '/');
	struct stat st;

	if (geteuid() != 0)
		return 0;
	if (slash && (size_t)(slash - path) >= sizeof directory)
		return O_NOFOLLOW;
	snprintf(directory, sizeof directory, "%.*s", slash ? (int)(slash - path) + 1 : 1,
		slash ? path : ".");
	if (stat(directory, &st) == 0 && st.st_uid == 0 && !(st.st_mode & (S_IWGRP | S_IWOTH)))
		return 0;
	return O_NOFOLLOW;
}
