// SPDX-License-Identifier: BSD-3-Clause
#include "tapi_unix_end.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <cmocka.h>

struct node a, b;
char folder[32], path_a[64], path_b[64];
static unsigned n_open;

static unsigned open_count(void)
{
	DIR *all = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(all);
	while (readdir(all))
		n++;
	closedir(all);
	return n;
}

int unix_setup(void **state)
{
	(void)state;
	n_open = open_count();
	snprintf(folder, sizeof(folder), "/tmp/tapi-unix.XXXXXX");
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chmod(folder, 0755), 0);
	snprintf(path_a, sizeof(path_a), "%s/a", folder);
	snprintf(path_b, sizeof(path_b), "%s/b", folder);
	return 0;
}

int unix_teardown(void **state)
{
	(void)state;
	assert_int_equal(rmdir(folder), 0);
	assert_int_equal(open_count(), n_open);
	return 0;
}

const char *unix_section(const char *path, const char *more)
{
	static char text[1024];

	snprintf(text, sizeof(text), "\"unix\": {\"path\": \"%s\"%s%s}", path, *more ? ", " : "",
		more);
	return text;
}

void unix_make(struct node *node, const char *path, const char *more)
{
	static uint8_t first = 0xa0;

	node_init(node, inittransport_unix, ++first, unix_section(path, more));
}

void unix_begin(struct node *node, const char *path, const char *more)
{
	unix_make(node, path, more);
	node_start(node);
}

const char *unix_url(const char *path)
{
	static char text[256];

	snprintf(text, sizeof(text), "unix:%s", path);
	return text;
}

struct sockaddr_un unix_address(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	assert_in_range(strlen(path), 1, sizeof(address.sun_path) - 1);
	memcpy(address.sun_path, path, strlen(path));
	return address;
}

int unix_socket(void)
{
	static const struct timeval most = {.tv_sec = 5};
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
	return fd;
}

int unix_listen(const char *path, int backlog)
{
	const struct sockaddr_un address = unix_address(path);
	const int fd = unix_socket();

	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, backlog), 0);
	return fd;
}

int unix_try(const char *path, int *fd)
{
	const struct sockaddr_un address = unix_address(path);

	*fd = unix_socket();
	if (connect(*fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		return 0;
	close(*fd);
	return errno;
}

int unix_connect(const char *path)
{
	int fd;

	assert_int_equal(unix_try(path, &fd), 0);
	return fd;
}

int unix_peer(struct node *to, const char *path)
{
	const unsigned before = to->n_messages;
	const int fd = unix_connect(path);
	uint8_t octets[128];
	size_t n = peer_welcome(octets, 0xbb);

	n += peer_frame(octets + n, 'h', 5);
	raw_write(fd, octets, n);
	node_until(to, &to->n_messages, before + 1);
	return fd;
}
