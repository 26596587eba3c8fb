// SPDX-License-Identifier: BSD-3-Clause
// Makes and empties folders that a child, of which nothing is believed, could write to.
#include "scan/program/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX 64 // folders in folders; libclamav makes one for each layer

// Takes `fd`. Without links, so that it never leaves what it was given.
static int empty(int fd, unsigned depth)
{
	DIR *dir = depth < DEPTH_MAX ? fdopendir(fd) : NULL;
	int rc = 0;

	if (!dir) {
		rc = depth < DEPTH_MAX ? -errno : -ELOOP;
		close(fd);
		return rc;
	}
	for (const struct dirent *entry; (entry = readdir(dir));) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (!unlinkat(dirfd(dir), entry->d_name, 0))
			continue;
		int inner = openat(
			dirfd(dir), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (inner >= 0)
			empty(inner, depth + 1);
		if (unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR))
			rc = -errno;
	}
	closedir(dir);
	return rc;
}

int scan_folder_empty(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : empty(fd, 0);
}

// Whoever may write to it could put something else in the place of a child's folder.
int scan_folder_check(const char *path, char *err, size_t len)
{
	struct stat st;

	if (stat(path, &st)) {
		int rc = -errno;

		snprintf(err, len, "--tmp %s: %s", path, strerror(-rc));
		return rc;
	}
	if (!S_ISDIR(st.st_mode)) {
		snprintf(err, len, "--tmp %s is no folder", path);
		return -ENOTDIR;
	}
	if ((st.st_uid && st.st_uid != geteuid()) || st.st_mode & (S_IWGRP | S_IWOTH)) {
		snprintf(err, len,
			"--tmp %s: others can write to it: name a folder of its own, or chown %u "
			"%s && chmod go-w %s",
			path, (unsigned)geteuid(), path, path);
		return -EPERM;
	}
	return 0;
}

int scan_folder_make(const char *path, const struct scan_jail *jail, char *err, size_t len)
{
	int rc = mkdir(path, 0700) && errno != EEXIST ? -errno : 0;
	int fd = rc ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (!rc)
		rc = fd < 0 ? -errno : scan_folder_empty(path);
	if (!rc && (fchmod(fd, 0700) || (jail->change_user && fchown(fd, jail->uid, jail->gid))))
		rc = -errno;
	if (fd >= 0)
		close(fd);
	if (rc)
		snprintf(err, len, "%s: %s", path, strerror(-rc));
	return rc;
}
