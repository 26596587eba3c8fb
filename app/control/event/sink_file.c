// SPDX-License-Identifier: BSD-3-Clause
// The event file: opened, found torn, renamed when it is long, opened anew.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/directory.h"
#include "base/log.h"
#include "control/event/sink_line.h"

int sink_file_open(const struct sink *sink)
{
	// O_NONBLOCK: a named pipe without a reader must not stop the gateway's start.
	int flags = O_WRONLY | O_CREAT | O_CLOEXEC |
		    (sink->live ? O_APPEND | O_NONBLOCK | directory_follow_flag(sink->path)
				: O_TRUNC | O_APPEND);
	int fd = open(sink->path, flags, 0640);

	return fd < 0 ? -errno : fd;
}

static bool is_regular(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

// A gateway that was killed may have left half a line: it would spoil the next one, too. Only the
// last WRITE_BYTES are looked at: no line is longer.
static void cut_torn_line(const struct sink *sink)
{
	char tail[WRITE_BYTES];
	char self[32];
	struct stat st;

	// the very file that is open, whatever its name leads to by now
	snprintf(self, sizeof self, "/proc/self/fd/%d", sink->fd);
	int fd = open(self, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return; // written only: nothing can be said of it
	off_t end = fstat(fd, &st) == 0 ? st.st_size : 0;
	size_t want = end < (off_t)sizeof tail ? (size_t)end : sizeof tail;
	ssize_t n = pread(fd, tail, want, end - (off_t)want);

	close(fd);
	if (n <= 0 || tail[n - 1] == '\n')
		return;
	const char *newline = memrchr(tail, '\n', (size_t)n);
	size_t torn = newline ? (size_t)(tail + n - newline - 1) : (size_t)n;

	if (!newline && (off_t)n < end)
		return; // not a file of ours
	if (ftruncate(sink->fd, end - (off_t)torn) == 0)
		log_warning("events: %s ended in half a record, of a gateway that was killed; its "
			    "%zu bytes were removed",
			sink->path, torn);
}

void sink_file_begin(struct sink *sink)
{
	struct stat st;

	sink->regular = is_regular(sink->fd);
	if (sink->regular && sink->live && !sink->standard_output)
		cut_torn_line(sink);
	sink->file_bytes = fstat(sink->fd, &st) == 0 ? (uint64_t)st.st_size : 0;
}

// PATH.over1 is the newest of those that were long enough; the oldest is overwritten.
static int shift(const struct sink *sink)
{
	char from[4200], to[4200];

	for (unsigned n = sink->files; n > 0; n--) {
		snprintf(to, sizeof to, "%s.over%u", sink->path, n);
		if (n > 1)
			snprintf(from, sizeof from, "%s.over%u", sink->path, n - 1);
		else
			snprintf(from, sizeof from, "%s", sink->path);
		if (rename(from, to) != 0 && (errno != ENOENT || n == 1))
			return -errno;
	}
	return 0;
}

void sink_file_wrote(struct sink *sink, size_t bytes)
{
	int fd, rc;

	sink->file_bytes += bytes;
	if (!sink->rotate_bytes || sink->file_bytes < sink->rotate_bytes || !sink->regular ||
		!sink->live || sink->standard_output || sink->torn)
		return;
	rc = shift(sink);
	fd = rc < 0 ? rc : sink_file_open(sink);
	sink->file_bytes = 0; // a failure is tried again when as much was written once more
	if (fd < 0) {
		if (!sink->rotate_failed)
			log_error("events: %s is longer than events.file_mb and cannot be renamed: "
				  "%s; going on with it. Make its folder writable",
				sink->path, strerror(-fd));
		sink->rotate_failed = true;
		return;
	}
	close(sink->fd);
	sink->fd = fd;
	sink->rotate_failed = false;
	sink_file_begin(sink);
}

int sink_reopen(struct sink *sink)
{
	int fd;

	if (sink->fd < 0 || sink->standard_output)
		return 0;
	sink_flush(sink);
	fd = sink_file_open(sink);
	if (fd < 0) {
		log_error("events: cannot reopen %s: %s; going on with the old file", sink->path,
			strerror(-fd));
		return fd;
	}
	close(sink->fd);
	sink->fd = fd;
	sink_file_begin(sink);
	if (sink->torn) { // the rest of that line is of no use in another file
		const char *newline = memchr(sink->buffer, '\n', sink->used);
		size_t rest = newline ? (size_t)(newline + 1 - sink->buffer) : sink->used;

		memmove(sink->buffer, sink->buffer + rest, sink->used - rest);
		sink->used -= rest;
		sink->torn = false;
		sink->failed++;
		sink->written--;
	}
	sink_flush(sink);
	return 0;
}
