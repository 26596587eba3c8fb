// SPDX-License-Identifier: BSD-3-Clause
// Writes buffers of lines to the event file, and the thread that does it for a gateway.
#include "control/event/writer.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum event_writer_state {
	WRITER_IDLE,
	WRITER_BUSY,
	WRITER_ENDS,
};

int event_writer_open(struct event_writer *writer)
{
	if (writer->standard_output)
		writer->fd = STDOUT_FILENO;
	else
		writer->fd = event_file_open(writer);
	if (writer->fd < 0)
		return writer->fd;
	event_file_begin(writer);
	return 0;
}

// How much of the first `length` bytes stands behind their last newline.
static size_t tail_of_line(const char *text, size_t length)
{
	const char *newline = length ? memrchr(text, '\n', length) : NULL;

	return newline ? length - (size_t)(newline + 1 - text) : length;
}

// `at` bytes have gone out. A file is cut back to its last whole line, and that line is written
// again later: a reader, or a full disk for ever, must not find half a record.
static size_t settle_tail(struct event_writer *writer, size_t at)
{
	size_t tail = tail_of_line(writer->buffer, at);
	off_t end;

	if (!at)
		return 0;
	if (!tail) {
		writer->torn = false;
		return at;
	}
	if (writer->regular && !(writer->torn && tail == at)) {
		end = lseek(writer->fd, 0, SEEK_END);
		if (end >= (off_t)tail && ftruncate(writer->fd, end - (off_t)tail) == 0)
			return at - tail;
	}
	writer->torn = true;
	return at;
}

static bool can_write(const struct event_writer *writer, int timeout_ms)
{
	struct pollfd pollfd = {.fd = writer->fd, .events = POLLOUT};

	return poll(&pollfd, 1, timeout_ms) > 0;
}

static void write_out(struct event_writer *writer)
{
	size_t at = 0, wrote = 0;
	int error = 0;

	while (at < writer->used && !error) {
		size_t chunk = writer->used - at;
		ssize_t n;

		// A ready pipe takes PIPE_BUF bytes without blocking, even if standard output was
		// given to us in blocking mode.
		if (writer->live && !writer->regular) {
			if (!can_write(writer, 0)) {
				error = EAGAIN;
				break;
			}
			chunk = chunk < PIPE_BUF ? chunk : PIPE_BUF;
		}
		n = write(writer->fd, writer->buffer + at, chunk);
		if (n >= 0) {
			at += (size_t)n;
			wrote += (size_t)n;
			if (n == 0)
				error = EIO;
		} else if (errno == EAGAIN && !writer->live) {
			can_write(writer, -1);
		} else if (errno != EINTR) {
			error = errno;
		}
	}
	if (at < writer->used)
		at = settle_tail(writer, at);
	else
		writer->torn = false;
	writer->error = error;
	memmove(writer->buffer, writer->buffer + at, writer->used - at);
	writer->used -= at;
	event_file_wrote(writer, wrote);
}

static void turn(struct event_writer *writer)
{
	writer->error = 0;
	if (writer->used)
		write_out(writer);
	if (!writer->reopen)
		return;
	writer->reopen = false;
	event_file_reopen(writer);
	if (writer->used)
		write_out(writer);
}

static int state_of(const struct event_writer *writer)
{
	return __atomic_load_n(&writer->state, __ATOMIC_ACQUIRE);
}

static void *run(void *arg)
{
	struct event_writer *writer = arg;

	for (;;) {
		while (sem_wait(&writer->work) && errno == EINTR)
			;
		if (state_of(writer) == WRITER_ENDS)
			return NULL;
		turn(writer);
		__atomic_store_n(&writer->state, WRITER_IDLE, __ATOMIC_RELEASE);
		sem_post(&writer->done);
	}
}

int event_writer_start(struct event_writer *writer)
{
	sigset_t all, before;
	int rc;

	if (!writer->path || writer->threaded)
		return 0;
	sem_init(&writer->work, 0, 0);
	sem_init(&writer->done, 0, 0);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&writer->thread, NULL, run, writer);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc)
		return -rc;
	pthread_setname_np(writer->thread, "sl-events");
	writer->threaded = true;
	return 0;
}

bool event_writer_is_idle(const struct event_writer *writer)
{
	return state_of(writer) == WRITER_IDLE;
}

void event_writer_hand(struct event_writer *writer)
{
	if (!writer->threaded) {
		turn(writer);
		return;
	}
	while (!sem_trywait(&writer->done)) // of turns that nobody waited for
		;
	__atomic_store_n(&writer->state, WRITER_BUSY, __ATOMIC_RELEASE);
	sem_post(&writer->work);
}

bool event_writer_wait(struct event_writer *writer, unsigned timeout_ms)
{
	struct timespec until;

	if (event_writer_is_idle(writer))
		return true;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
	until.tv_sec += timeout_ms / 1000 + until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	while (sem_clockwait(&writer->done, CLOCK_MONOTONIC, &until) && errno == EINTR)
		;
	return event_writer_is_idle(writer);
}

bool event_writer_close(struct event_writer *writer, unsigned timeout_ms)
{
	if (writer->threaded) {
		if (!event_writer_wait(writer, timeout_ms)) {
			pthread_detach(writer->thread);
			return false;
		}
		__atomic_store_n(&writer->state, WRITER_ENDS, __ATOMIC_RELEASE);
		sem_post(&writer->work);
		pthread_join(writer->thread, NULL);
		sem_destroy(&writer->work);
		sem_destroy(&writer->done);
		writer->threaded = false;
	}
	if (writer->fd >= 0 && !writer->standard_output)
		close(writer->fd);
	writer->fd = -1;
	return true;
}
