// SPDX-License-Identifier: BSD-3-Clause
// Creates, locks and removes the pid file.
#include "process/pidfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

int pidfile_take(struct pidfile *pidfile, const char *path, char *err, size_t err_len)
{
	char text[32];

	if (!path)
		return 0;
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0) {
		int error = errno;
		snprintf(err, err_len, "pid file %s: %s", path, strerror(error));
		return -error;
	}
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		int error = errno == EWOULDBLOCK ? EADDRINUSE : errno;
		ssize_t n = read(fd, text, sizeof(text) - 1);
		text[n > 0 ? n : 0] = '\0';
		text[strcspn(text, "\n")] = '\0';
		snprintf(err, err_len,
			"pid file %s: another gateway runs with it (process %s): stop it, or give "
			"this one other paths",
			path, text[0] ? text : "?");
		close(fd);
		return -error;
	}
	int n = snprintf(text, sizeof(text), "%d\n", (int)getpid());
	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)n, 0) != n) {
		int error = errno;
		snprintf(err, err_len, "pid file %s: %s", path, strerror(error));
		close(fd);
		return -error;
	}
	pidfile->fd_plus_1 = fd + 1;
	pidfile->path = path;
	return 0;
}

void pidfile_drop(struct pidfile *pidfile)
{
	if (!pidfile->fd_plus_1)
		return;
	unlink(pidfile->path); // while locked: nobody else's file
	close(pidfile->fd_plus_1 - 1);
	pidfile->fd_plus_1 = 0;
}
