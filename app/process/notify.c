// SPDX-License-Identifier: BSD-3-Clause
// Sends messages to the service manager's socket.
#include "process/notify.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define MESSAGE_BYTES 1024
#define PATIENCE_US   100000

// A number and nothing else; 0 for what is none.
static uint64_t number(const char *text)
{
	char *end;

	if (!text || *text < '0' || *text > '9')
		return 0;
	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	return errno || *end ? 0 : value;
}

static int fill_address(
	struct sockaddr_un *out, socklen_t *length, const char *address, char *err, size_t err_len)
{
	size_t n = strlen(address);

	*out = (struct sockaddr_un){.sun_family = AF_UNIX};
	if ((*address != '/' && *address != '@') || n < 2 || n >= sizeof(out->sun_path)) {
		snprintf(err, err_len,
			"NOTIFY_SOCKET is \"%.128s\": neither the path of a socket nor an abstract "
			"name (@...) of at most %zu bytes",
			address, sizeof(out->sun_path) - 1);
		return -EINVAL;
	}
	memcpy(out->sun_path, address, n);
	if (*address == '@')
		out->sun_path[0] = '\0';
	else
		n++; // a path ends with its zero, an abstract name has none
	*length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
	return 0;
}

int notify_open(struct notify *notify, const char *address, const char *watchdog_us,
	const char *watchdog_pid, char *err, size_t err_len)
{
	struct timeval patience = {.tv_usec = PATIENCE_US};
	struct sockaddr_un to;
	socklen_t length;

	*notify = (struct notify){0};
	if (!address || !*address)
		return 0;
	int rc = fill_address(&to, &length, address, err, err_len);
	if (rc < 0)
		return rc;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	// Connected now, while we may: later we have no rights to anybody's socket.
	if (fd < 0 || connect(fd, (const struct sockaddr *)&to, length) < 0) {
		rc = -errno;
		snprintf(err, err_len,
			"NOTIFY_SOCKET %.128s: %s; the service manager will not learn when we are "
			"ready",
			address, strerror(-rc));
		if (fd >= 0)
			close(fd);
		return rc;
	}
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	notify->fd_plus_1 = fd + 1;
	if (!watchdog_pid || number(watchdog_pid) == (uint64_t)getpid()) {
		uint64_t us = number(watchdog_us);
		notify->watchdog_ns = us < UINT64_MAX / 1000 ? us * 1000 / 2 : 0;
	}
	return 0;
}

void notify_close(struct notify *notify)
{
	if (notify->fd_plus_1)
		close(notify->fd_plus_1 - 1);
	*notify = (struct notify){0};
}

int notify_send(const struct notify *notify, const char *format, ...)
{
	char text[MESSAGE_BYTES];
	va_list args;

	if (!notify->fd_plus_1)
		return 0;
	va_start(args, format);
	int n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (n < 0)
		return -EINVAL;
	size_t length = (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1;
	ssize_t sent;
	do {
		sent = send(notify->fd_plus_1 - 1, text, length, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

uint64_t notify_monotonic_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}
