// SPDX-License-Identifier: BSD-3-Clause
// Paths of sockets of AF_UNIX, as addresses and as files.
#ifndef TRANSPORTAPI_UNIX_PATH_H
#define TRANSPORTAPI_UNIX_PATH_H

#include <sys/stat.h>
#include <sys/un.h>

#include "transportapi/base/identity.h"

#define TAPI_UNIX_PATH_MAX (sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1) // without its NUL

struct tapi_unix_path { // absolute, in one form: no "//", no "." or ".." in it, no '/' at its end
	uint32_t length;
	char text[TAPI_UNIX_PATH_MAX + 1];
};

// NULL, or what is wrong with it, for people.
const char *tapi_unix_path_parse(struct tapi_unix_path *out, const void *octets, size_t length);
// The same for a folder: "/" is one.
const char *tapi_unix_folder_parse(struct tapi_unix_path *out, const void *octets, size_t length);
// The folder that `path` is in.
void tapi_unix_path_folder(struct tapi_unix_path *out, const struct tapi_unix_path *path);
void tapi_unix_path_sockaddr(struct sockaddr_un *out, const struct tapi_unix_path *path);

// A listening socket, non-blocking, with a file of `mode` at `path`. What a process that is dead
// left there is replaced; what lives, or is no socket, is not. -1 with *error. *made: the file.
int tapi_unix_listen(const struct tapi_unix_path *path, mode_t mode, struct stat *made,
	struct tapi_error *error);
// Removes it, if it is still the one that was made.
void tapi_unix_unlink(const struct tapi_unix_path *path, const struct stat *made);

#endif
