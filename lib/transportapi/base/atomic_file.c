// SPDX-License-Identifier: BSD-3-Clause
// Makes a replaced file durable, and checks whether a folder can be written to.
#include "transportapi/base/atomic_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The folder that `path` is in, heap; NULL: out of memory.
static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return strdup(".");
	return strndup(path, slash == path ? 1 : (size_t)(slash - path)); // "/name" is in "/"
}

void tapi_atomic_file_sync(const char *path)
{
	char *folder = folder_of(path);
	int fd = -1;

	if (folder)
		fd = open(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
	free(folder);
}

bool tapi_atomic_file_writable(const char *path)
{
	char *folder = folder_of(path);
	bool can = folder && access(folder, W_OK | X_OK) == 0;

	free(folder);
	return can;
}
