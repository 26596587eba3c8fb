// SPDX-License-Identifier: BSD-3-Clause
// A pid file that is locked while its process lives: a second start is refused, a file left behind
// by a crash is not in the way.
#ifndef SLUICE_PIDFILE_H
#define SLUICE_PIDFILE_H

#include <stddef.h>

struct pidfile {
	int fd_plus_1; // 0: none
	const char *path;
};

// `path` is borrowed; NULL: nothing is done. -EADDRINUSE when another process holds it, -errno.
int pidfile_take(struct pidfile *pidfile, const char *path, char *err, size_t err_len);
void pidfile_drop(struct pidfile *pidfile); // removes it

#endif
