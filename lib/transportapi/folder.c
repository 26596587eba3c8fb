// SPDX-License-Identifier: BSD-3-Clause
#include "transportapi/folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void tapi_folder_sync(const char *path)
{
	char *folder = strdup(path), *slash = folder ? strrchr(folder, '/') : NULL;
	int fd = -1;

	if (slash)
		slash[slash == folder] = '\0'; // "/name" is in "/"
	if (folder)
		fd = open(slash ? folder : ".", O_RDONLY | O_CLOEXEC | O_DIRECTORY);
	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
	free(folder);
}
