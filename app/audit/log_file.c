// SPDX-License-Identifier: BSD-3-Clause
// Opens the files of an audit log, and finds the last whole line in one, from its end backwards.
#include "audit/log_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/directory.h"

#define BLOCK_BYTES (64 * 1024)

int audit_place_open(struct audit_place *place, const char *path)
{
	char folder[PATH_MAX];
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	// room for ".torn." and a number
	if (!*name || strlen(name) + 32 > sizeof(place->name) || strlen(path) >= sizeof(folder))
		return *name ? -ENAMETOOLONG : -EISDIR;
	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) + 1 : 1,
		slash ? path : ".");
	snprintf(place->name, sizeof(place->name), "%s", name);
	place->follow = directory_follow_flag(path);
	place->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return place->folder < 0 ? -errno : 0;
}

int audit_file_open(const struct audit_place *place, int flags)
{
	// O_NONBLOCK: a named pipe of that name must not stop us.
	int fd = openat(place->folder, place->name,
		O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | place->follow | flags, 0640);
	struct stat st;
	int rc = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) != 0)
		rc = -errno;
	else if (!S_ISREG(st.st_mode))
		rc = -EINVAL;
	else if (flock(fd, LOCK_EX | LOCK_NB) != 0)
		rc = errno == EWOULDBLOCK ? -EBUSY : -errno;
	if (rc < 0) {
		close(fd);
		return rc;
	}
	return fd;
}

// All of them, or -errno; a file that ends before is -EIO.
static int read_at(int fd, char *out, size_t length, off_t from)
{
	while (length) {
		ssize_t n = pread(fd, out, length, from);

		if (n <= 0) {
			if (n < 0 && errno == EINTR)
				continue;
			return n ? -errno : -EIO;
		}
		out += n;
		length -= (size_t)n;
		from += n;
	}
	return 0;
}

// Where the last newline before `end` is; -1: there is none, below that: -errno - 1.
static off_t newline_before(int fd, off_t end)
{
	char block[BLOCK_BYTES];

	while (end > 0) {
		off_t from = end > BLOCK_BYTES ? end - BLOCK_BYTES : 0;
		int rc = read_at(fd, block, (size_t)(end - from), from);

		if (rc < 0)
			return rc - 1;
		const char *found = memrchr(block, '\n', (size_t)(end - from));
		if (found)
			return from + (found - block);
		end = from;
	}
	return -1;
}

// The line [from, to), if it is a record: then `tail` ends with it.
static int try_line(int fd, off_t from, off_t to, char *line, struct audit_tail *tail)
{
	struct audit_frame frame;
	size_t length = (size_t)(to - from);

	if (to - from > (off_t)AUDIT_LINE_MAX)
		return 0;
	int rc = read_at(fd, line, length, from);
	if (rc < 0 || audit_frame_read(line, length, &frame))
		return rc;
	tail->seq = frame.seq;
	tail->end = to + 1;
	audit_hash(line, length, tail->head);
	return 0;
}

// Is what a file without a whole line begins with the beginning of one?
static bool may_be_ours(const char *start, size_t n)
{
	static const char first[] = "{\"seq\":1";

	return memcmp(start, first, n < 7 ? n : 7) == 0;
}

// The name of the log: in the line that opens the file, at its fixed place.
static void read_id(int fd, struct audit_tail *tail)
{
	char line[AUDIT_FRAME_MAX + 128] = "";
	static const char member[] = "\",\"log_id\":\"";
	const char *id;

	if (pread(fd, line, sizeof(line) - 1, 0) < 0)
		return;
	char *mark = strstr(line, AUDIT_OWN_MEMBERS);
	id = mark ? strstr(mark, member) : NULL;
	if (id && strlen(id) >= sizeof(member) - 1 + 32 &&
		audit_is_hex(id + sizeof(member) - 1, 32))
		snprintf(tail->id, sizeof(tail->id), "%.32s", id + sizeof(member) - 1);
}

int audit_file_tail(int fd, struct audit_tail *tail)
{
	struct stat st;
	char start[8] = "";
	char *line;
	int rc = 0;

	*tail = (struct audit_tail){0};
	if (fstat(fd, &st) != 0)
		return -errno;
	tail->size = st.st_size;
	if (!st.st_size)
		return 0;
	line = malloc(AUDIT_LINE_MAX);
	if (!line)
		return -ENOMEM;
	off_t to = newline_before(fd, st.st_size);
	while (rc == 0 && to >= 0 && !tail->seq) {
		off_t before = newline_before(fd, to);
		if (before < -1)
			rc = (int)before + 1;
		else
			rc = try_line(fd, before + 1, to, line, tail);
		to = before;
	}
	free(line);
	if (to < -1 && rc == 0)
		rc = (int)to + 1;
	if (rc < 0)
		return rc;
	if (tail->seq) {
		read_id(fd, tail);
		return 0;
	}
	size_t n = st.st_size < 8 ? (size_t)st.st_size : 8;
	rc = read_at(fd, start, n, 0);
	if (rc == 0 && (st.st_size > (off_t)AUDIT_LINE_MAX || !may_be_ours(start, n)))
		rc = -EINVAL;
	return rc;
}

// The number in NAME.<number>; 0: it is another name.
static uint64_t number_of(const struct audit_place *place, const char *name)
{
	size_t n = strlen(place->name);
	char *end;

	if (strncmp(name, place->name, n) != 0 || name[n] != '.' || name[n + 1] < '1' ||
		name[n + 1] > '9')
		return 0;
	errno = 0;
	uint64_t number = strtoull(name + n + 1, &end, 10);
	return *end || errno ? 0 : number;
}

int audit_file_before(const struct audit_place *place, struct audit_tail *tail)
{
	char name[NAME_MAX + 1];
	uint64_t newest = 0;
	struct dirent *entry;

	*tail = (struct audit_tail){0};
	int again = openat(place->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = again < 0 ? NULL : fdopendir(again);
	if (!folder) {
		int rc = -errno;
		if (again >= 0)
			close(again);
		return rc;
	}
	while ((entry = readdir(folder))) {
		uint64_t number = number_of(place, entry->d_name);
		if (number > newest)
			newest = number;
	}
	closedir(folder);
	if (!newest)
		return 0;
	snprintf(name, sizeof(name), "%.200s.%" PRIu64, place->name, newest);
	int fd = openat(place->folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | place->follow);
	if (fd < 0)
		return -errno;
	int rc = audit_file_tail(fd, tail);
	close(fd);
	return rc;
}

void audit_side_name(const struct audit_place *place, uint64_t seq, char *out, size_t out_len)
{
	snprintf(out, out_len, "%.200s.torn.%" PRIu64, place->name, seq);
}

uint64_t audit_side_bytes(const struct audit_place *place, uint64_t seq)
{
	char name[NAME_MAX + 1];
	struct stat st;

	audit_side_name(place, seq, name, sizeof(name));
	return fstatat(place->folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode)
		       ? (uint64_t)st.st_size
		       : 0;
}

static int write_whole(int fd, const char *bytes, size_t length)
{
	while (length) {
		ssize_t n = write(fd, bytes, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		bytes += n;
		length -= (size_t)n;
	}
	return 0;
}

// Copies the file from `from` on to the end of `to`.
static int copy(int fd, off_t from, off_t end, int to)
{
	char block[BLOCK_BYTES];

	while (from < end) {
		size_t n = end - from > BLOCK_BYTES ? BLOCK_BYTES : (size_t)(end - from);
		int rc = read_at(fd, block, n, from);

		if (rc == 0)
			rc = write_whole(to, block, n);
		if (rc < 0)
			return rc;
		from += (off_t)n;
	}
	return 0;
}

// Whoever is killed between the copy and the cut finds both again, and copies again behind it:
// bytes may be there twice, but none is lost.
int audit_side_save(
	const struct audit_place *place, int fd, const struct audit_tail *tail, uint64_t seq)
{
	char name[NAME_MAX + 1];
	int rc;

	audit_side_name(place, seq, name, sizeof(name));
	int side = openat(
		place->folder, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (side < 0)
		return -errno;
	rc = copy(fd, tail->end, tail->size, side);
	if (rc == 0 && fsync(side) != 0)
		rc = -errno;
	close(side);
	if (rc == 0 && fsync(place->folder) != 0 && errno != EINVAL)
		rc = -errno;
	if (rc == 0 && ftruncate(fd, tail->end) != 0)
		rc = -errno;
	return rc;
}
