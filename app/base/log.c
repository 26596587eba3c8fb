// SPDX-License-Identifier: BSD-3-Clause
// Formats log lines for a terminal, a file or journald.
#include "base/log.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/utf8.h"

#define LINE_BYTES 2048

enum log_target {
	LOG_TARGET_TERMINAL,
	LOG_TARGET_FILE,
	LOG_TARGET_JOURNAL,
};

static enum log_level level_now = LOG_LEVEL_NOTICE;
static enum log_target target = LOG_TARGET_TERMINAL;

static const char *const words[] = {"error", "warning", "notice", "info", "debug"};
static const char *const journal_prefix[] = {"<3>", "<4>", "<5>", "<6>", "<7>"};

// systemd sets JOURNAL_STREAM=device:inode of the stream it connected; ours may have been
// redirected since.
static bool is_journal(const struct stat *st)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;

	return stream && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 && dev == st->st_dev &&
	       ino == st->st_ino;
}

void log_start(unsigned verbose)
{
	struct stat st;

	level_now = verbose >= LOG_LEVEL_DEBUG - LOG_LEVEL_NOTICE
			    ? LOG_LEVEL_DEBUG
			    : (enum log_level)(LOG_LEVEL_NOTICE + verbose);
	if (fstat(STDERR_FILENO, &st) == 0 && is_journal(&st))
		target = LOG_TARGET_JOURNAL;
	else
		target = isatty(STDERR_FILENO) ? LOG_TARGET_TERMINAL : LOG_TARGET_FILE;
}

enum log_level log_level_get(void)
{
	return level_now;
}

void log_level_set(enum log_level level)
{
	if (level < LOG_LEVEL_MAX)
		level_now = level;
}

const char *log_level_word(enum log_level level)
{
	return level < LOG_LEVEL_MAX ? words[level] : "?";
}

int log_level_find(const char *word)
{
	for (int i = 0; i < LOG_LEVEL_MAX; i++) {
		if (!strcmp(word, words[i]))
			return i;
	}
	return -1;
}

static size_t put_prefix(char *line, size_t size, enum log_level level)
{
	char stamp[32] = "";
	struct timespec ts;
	struct tm tm;
	int n;

	switch (target) {
	case LOG_TARGET_JOURNAL: n = snprintf(line, size, "%s", journal_prefix[level]); break;
	case LOG_TARGET_FILE:
		clock_gettime(CLOCK_REALTIME, &ts);
		if (localtime_r(&ts.tv_sec, &tm))
			strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S%z ", &tm);
		n = snprintf(line, size, "%ssluice: %s: ", stamp, words[level]);
		break;
	default: n = snprintf(line, size, "sluice: %s: ", words[level]); break;
	}
	return n > 0 ? (size_t)n : 0;
}

// Octets of what is no character, or controls something, become one '?' each character.
static size_t make_printable(char *line, size_t length)
{
	size_t used = 0;

	for (size_t i = 0; i < length;) {
		uint32_t c = 0;
		size_t n = utf8_take((const uint8_t *)line + i, length - i, &c);

		if (n && !utf8_is_control(c)) {
			memmove(line + used, line + i, n);
			used += n;
		} else {
			line[used++] = '?';
		}
		i += n ? n : 1;
	}
	return used;
}

void log_messagev(enum log_level level, const char *format, va_list args)
{
	int saved = errno;
	char line[LINE_BYTES];
	size_t used, room;
	int n;

	if (level > level_now || level >= LOG_LEVEL_MAX)
		return;
	used = put_prefix(line, sizeof line, level);
	room = sizeof line - 1 - used; // for the newline
	n = vsnprintf(line + used, room, format, args);
	if (n > 0)
		used += (size_t)n < room ? (size_t)n : room - 1;
	// A name from a file or a client must not forge a second message or drive a terminal.
	used = make_printable(line, used);
	line[used++] = '\n';
	for (size_t at = 0; at < used;) { // one write, so that lines of programs do not mix
		ssize_t written = write(STDERR_FILENO, line + at, used - at);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			break;
		at += (size_t)written;
	}
	errno = saved;
}

void log_message(enum log_level level, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_messagev(level, format, args);
	va_end(args);
}
