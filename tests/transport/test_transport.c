// SPDX-License-Identifier: BSD-3-Clause
// The conformance suite: test_transport ROW runs all cases over one row of rows.c, in a network
// namespace of its own where it may have one.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "rows.h"

#define SKIPPED 77

struct address6_request { // of SIOCSIFADDR on AF_INET6 (linux/ipv6.h, which does not go with
			  // net/if.h)
	struct in6_addr address;
	uint32_t prefix_length;
	int interface;
};

static bool file_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return written;
}

// Loopback up, with fd00::1 to fd00::9. false: as the host has it, IPv4 only.
static bool loopback_raise(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int fd6 = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING};
	struct address6_request address = {.prefix_length = 128};
	bool raised = fd >= 0 && fd6 >= 0 && ioctl(fd, SIOCSIFFLAGS, &request) == 0;

	address.interface = (int)if_nametoindex("lo");
	for (char last = '1'; raised && last <= '9'; last++) {
		char text[] = "fd00::?";

		text[sizeof(text) - 2] = last;
		raised = inet_pton(AF_INET6, text, &address.address) == 1 &&
			 ioctl(fd6, SIOCSIFADDR, &address) == 0;
	}
	// An address is tentative until the system has looked for others that have it.
	for (unsigned tries = 0; raised && tries < 1000; tries++) {
		struct sockaddr_in6 last = {.sin6_family = AF_INET6, .sin6_addr = address.address};

		if (bind(fd6, (struct sockaddr *)&last, sizeof(last)) == 0)
			break;
		usleep(1000);
	}
	if (fd >= 0)
		close(fd);
	if (fd6 >= 0)
		close(fd6);
	return raised;
}

// Who is not root is root in a user namespace of its own, if the system lets him.
static bool namespace_enter(void)
{
	char map[64];
	uid_t user = getuid();

	if (user == 0)
		return unshare(CLONE_NEWNET) == 0 && loopback_raise();
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
		return false;
	snprintf(map, sizeof(map), "0 %u 1", user);
	return file_write("/proc/self/uid_map", map) && loopback_raise();
}

static bool own_namespace;
static char scratch[64];

// A case that failed leaves sockets behind: the next one has a network and a folder of its own.
int case_begin(void **state)
{
	(void)state;
	if (own_namespace && (unshare(CLONE_NEWNET) != 0 || !loopback_raise()))
		return -1;
	snprintf(scratch, sizeof(scratch), "/tmp/tapi-suite.XXXXXX");
	return mkdtemp(scratch) && setenv("ROW_SCRATCH", scratch, 1) == 0 ? 0 : -1;
}

// Nothing is left there: a transport cleans up behind itself.
int case_end(void **state)
{
	(void)state;
	if (rmdir(scratch) == 0)
		return 0;
	fprintf(stderr, "%s: %s\n", scratch, strerror(errno));
	return -1;
}

static const struct row *row_find(const char *name)
{
	for (const struct row *r = rows; r->name; r++)
		if (strcmp(r->name, name) == 0)
			return r;
	return NULL;
}

// What this machine lacks for the row; NULL: nothing.
static const char *lacks(void)
{
	int fd;

	if (row->family && strchr(row->family, ':') && !own_namespace)
		return "needs a network namespace for its IPv6 addresses";
	if (!row_has(ROW_RAW_SOCKET))
		return NULL;
	fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, 253);
	if (fd < 0)
		return "needs CAP_NET_RAW";
	close(fd);
	return own_namespace ? NULL : "needs a network namespace: it hears what others send";
}

int main(int argc, char **argv)
{
	static int (*const groups[])(void) = {cases_table, cases_address, cases_life,
		cases_messages, cases_limits, cases_reload, cases_weather, cases_random};
	const char *lack;
	int failed = 0;

	if (argc != 2 || !(row = row_find(argv[1]))) {
		fprintf(stderr, "usage: test_transport ROW; the rows:");
		for (const struct row *r = rows; r->name; r++)
			fprintf(stderr, " %s", r->name);
		fprintf(stderr, "\n");
		return 2;
	}
	own_namespace = namespace_enter();
	lack = lacks();
	if (lack) {
		printf("%s: %s\n", row->name, lack);
		return SKIPPED;
	}
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		failed += groups[i]();
	return failed != 0;
}
