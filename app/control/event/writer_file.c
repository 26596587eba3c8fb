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
#include "control/event/writer.h"

#define TAIL_BYTES (64u << 10)

int event_file_open(const struct event_writer *writer)
{
	// O_NONBLOCK: a named pipe without a reader must not stop the gateway's start.
	int flags = O_WRONLY | O_CREAT | O_CLOEXEC |
		    (writer->live ? O_APPEND | O_NONBLOCK | directory_follow_flag(writer->path)
				  : O_TRUNC | O_APPEND);
	int fd = open(writer->path, flags, 0640);

	return fd < 0 ? -errno : fd;
}

static bool is_regular(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

// A gateway that was killed may have left half a line: it would spoil the next one, too. Only the
// last TAIL_BYTES are looked at: no line is longer.
static void cut_torn_line(const struct event_writer *writer)
{
	char tail[TAIL_BYTES];
	char self[32];
	struct stat st;

	// the very file that is open, whatever its name leads to by now
	snprintf(self, sizeof self, "/proc/self/fd/%d", writer->fd);
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
	if (ftruncate(writer->fd, end - (off_t)torn) == 0)
		log_warning("events: %s ended in half a record, of a gateway that was killed; its "
			    "%zu bytes were removed",
			writer->path, torn);
}

void event_file_begin(struct event_writer *writer)
{
	struct stat st;

	writer->regular = is_regular(writer->fd);
	if (writer->regular && writer->live && !writer->standard_output)
		cut_torn_line(writer);
	writer->file_bytes = fstat(writer->fd, &st) == 0 ? (uint64_t)st.st_size : 0;
}

// PATH.over1 is the newest of those that were long enough; the oldest is overwritten.
static int shift(const struct event_writer *writer)
{
	char from[4200], to[4200];

	for (unsigned n = writer->files; n > 0; n--) {
		snprintf(to, sizeof to, "%s.over%u", writer->path, n);
		if (n > 1)
			snprintf(from, sizeof from, "%s.over%u", writer->path, n - 1);
		else
			snprintf(from, sizeof from, "%s", writer->path);
		if (rename(from, to) != 0 && (errno != ENOENT || n == 1))
			return -errno;
	}
	return 0;
}

void event_file_wrote(struct event_writer *writer, size_t bytes)
{
	int fd, rc;

	writer->file_bytes += bytes;
	if (!writer->rotate_bytes || writer->file_bytes < writer->rotate_bytes ||
		!writer->regular || !writer->live || writer->standard_output || writer->torn)
		return;
	rc = shift(writer);
	fd = rc < 0 ? rc : event_file_open(writer);
	writer->file_bytes = 0; // a failure is tried again when as much was written once more
	if (fd < 0) {
		if (!writer->rotate_failed)
			log_error("events: %s is longer than events.file_mb and cannot be renamed: "
				  "%s; going on with it. Make its folder writable",
				writer->path, strerror(-fd));
		writer->rotate_failed = true;
		return;
	}
	close(writer->fd);
	writer->fd = fd;
	writer->rotate_failed = false;
	event_file_begin(writer);
}

void event_file_reopen(struct event_writer *writer)
{
	int fd = event_file_open(writer);

	if (fd < 0) {
		log_error("events: cannot reopen %s: %s; going on with the old file", writer->path,
			strerror(-fd));
		return;
	}
	close(writer->fd);
	writer->fd = fd;
	event_file_begin(writer);
	if (writer->torn) { // the rest of that line is of no use in another file
		const char *newline = memchr(writer->buffer, '\n', writer->used);
		size_t rest = newline ? (size_t)(newline + 1 - writer->buffer) : writer->used;

		memmove(writer->buffer, writer->buffer + rest, writer->used - rest);
		writer->used -= rest;
		writer->torn = false;
		writer->cut++;
	}
}
