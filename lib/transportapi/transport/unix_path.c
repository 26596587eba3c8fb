// SPDX-License-Identifier: BSD-3-Clause
// Checks, binds and removes paths of unix sockets.
#include "transportapi/transport/unix_path.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "transportapi/transport/accept.h"

// The lock of a folder is held for some microseconds: who finds it taken asks again, this often.
#define LOCK_TRIES   20
#define LOCK_WAIT_NS 1000000

static const char *parse(struct tapi_unix_path *out, const void *octets, size_t length, bool folder)
{
	const char *text = octets;

	if (length == 0 || text[0] != '/')
		return "does not begin with '/'";
	if (length > TAPI_UNIX_PATH_MAX)
		return "is longer than the 107 octets that the path of a socket may have";
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return "has a control character";
	// Each part: from behind a '/' to the next, or the end.
	for (size_t at = 1; at <= length && !(folder && length == 1);) {
		const char *end = memchr(&text[at], '/', length - at);
		size_t part = (end ? (size_t)(end - text) : length) - at;

		if (part == 0)
			return "has an empty part (\"//\", or '/' at its end)";
		if ((part == 1 && text[at] == '.') ||
			(part == 2 && text[at] == '.' && text[at + 1] == '.'))
			return "has \".\" or \"..\" in it";
		at += part + 1;
	}
	*out = (struct tapi_unix_path){.length = (uint32_t)length};
	memcpy(out->text, text, length);
	return NULL;
}

const char *tapi_unix_path_parse(struct tapi_unix_path *out, const void *octets, size_t length)
{
	return parse(out, octets, length, false);
}

const char *tapi_unix_folder_parse(struct tapi_unix_path *out, const void *octets, size_t length)
{
	return parse(out, octets, length, true);
}

void tapi_unix_path_folder(struct tapi_unix_path *out, const struct tapi_unix_path *path)
{
	size_t length = (size_t)(strrchr(path->text, '/') - path->text);

	*out = (struct tapi_unix_path){.length = length ? (uint32_t)length : 1};
	memcpy(out->text, path->text, out->length);
}

void tapi_unix_path_sockaddr(struct sockaddr_un *out, const struct tapi_unix_path *path)
{
	*out = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(out->sun_path, path->text, path->length);
}

static int refuse(struct tapi_error *error, int fd, const struct tapi_unix_path *path,
	const char *what, int number)
{
	tapi_error_format(error, "%s: %s%s%s", path->text, what, number ? ": " : "",
		number ? strerror(number) : "");
	if (fd >= 0)
		close(fd);
	return -1;
}

// Between bind() and listen() a socket that lives looks like one that is dead; and of two that
// replace a dead one, the second would remove what the first has just made. So only one at a time
// does either in a folder. The lock is the folder's own: nothing is left of it.
static int folder_lock(const struct tapi_unix_path *path, struct tapi_error *error)
{
	static const struct timespec wait = {.tv_nsec = LOCK_WAIT_NS};
	struct tapi_unix_path folder;
	int fd;

	tapi_unix_path_folder(&folder, path);
	fd = open(folder.text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return refuse(error, -1, path, "cannot open its folder", errno);
	for (int i = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; i++) {
		if (i == LOCK_TRIES)
			return refuse(error, fd, path,
				"its folder is locked by another process that starts there (see "
				"lslocks)",
				0);
		nanosleep(&wait, NULL);
	}
	return fd;
}

// The path is taken. NULL: by what a dead process left, and that is removed.
static const char *replace(const struct tapi_unix_path *path, int *number)
{
	struct sockaddr_un address;
	struct stat there;
	int fd, result;

	*number = 0;
	if (lstat(path->text, &there) != 0)
		return errno == ENOENT ? NULL : (*number = errno, "cannot look at it");
	if (!S_ISSOCK(there.st_mode))
		return "is there, and is no socket: move it away, or give another unix.path";
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		*number = errno;
		return "cannot make a socket";
	}
	tapi_unix_path_sockaddr(&address, path);
	result = connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 ? 0 : errno;
	close(fd);
	if (result == EACCES || result == EPERM)
		return "another user's socket is there: remove it, or give another unix.path";
	if (result != ECONNREFUSED) // EAGAIN: its queue is full; EPROTOTYPE: of another kind
		return "another process listens there: stop it, or give another unix.path";
	if (unlink(path->text) != 0) {
		*number = errno;
		return "cannot remove what a dead process left";
	}
	return NULL;
}

int tapi_unix_listen(
	const struct tapi_unix_path *path, mode_t mode, struct stat *made, struct tapi_error *error)
{
	int lock = folder_lock(path, error), fd, result, number;
	struct sockaddr_un address;
	const char *why = NULL;

	if (lock < 0)
		return -1;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		number = errno;
		close(lock);
		return refuse(error, -1, path, "cannot make a socket", number);
	}
	tapi_unix_path_sockaddr(&address, path);
	for (int i = 0; i < 2; i++) {
		// The file is made with the mode of the socket, less the umask: at no time with
		// more than it shall have.
		result = fchmod(fd, mode) == 0
				 ? bind(fd, (const struct sockaddr *)&address, sizeof(address))
				 : -1;
		number = result == 0 ? 0 : errno;
		if (number != EADDRINUSE || i == 1 || (why = replace(path, &number)) != NULL)
			break;
	}
	if (result != 0) {
		close(lock);
		return refuse(error, fd, path, why ? why : "cannot make the socket there", number);
	}
	if (chmod(path->text, mode) != 0 || lstat(path->text, made) != 0 ||
		listen(fd, TAPI_ACCEPT_BACKLOG) != 0) {
		number = errno;
		unlink(path->text);
		close(lock);
		return refuse(error, fd, path, "cannot listen there", number);
	}
	close(lock);
	return fd;
}

void tapi_unix_unlink(const struct tapi_unix_path *path, const struct stat *made)
{
	struct stat there;

	if (lstat(path->text, &there) == 0 && there.st_dev == made->st_dev &&
		there.st_ino == made->st_ino)
		unlink(path->text);
}
