// SPDX-License-Identifier: BSD-3-Clause
// The service manager's socket: path and abstract name, what is sent, what is refused.
#include "process/notify.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

// A manager at `address` ('@' means abstract); its descriptor.
static int listener(const char *address)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	size_t length = strlen(address);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	memcpy(at.sun_path, address, length);
	if (address[0] == '@')
		at.sun_path[0] = '\0';
	assert_int_equal(bind(fd, (struct sockaddr *)&at,
				 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)),
		0);
	return fd;
}

static void hears(int fd, const char *text)
{
	char got[2048];
	ssize_t n = recv(fd, got, sizeof(got) - 1, 0);

	assert_true(n >= 0);
	got[n] = '\0';
	assert_string_equal(got, text);
}

static void without_a_manager_all_is_quiet(void **state)
{
	struct notify notify;
	char err[256] = "";

	(void)state;
	assert_int_equal(notify_open(&notify, NULL, "1000000", NULL, err, sizeof(err)), 0);
	assert_int_equal(notify.watchdog_ns, 0);
	assert_int_equal(notify_send(&notify, "READY=1"), 0);
	notify_close(&notify);
}

static void a_path_and_an_abstract_name_are_sockets(void **state)
{
	char path[64], name[64], err[256] = "";
	const char *const addresses[] = {path, name};

	(void)state;
	snprintf(path, sizeof(path), "/tmp/sluice-notify.%d", (int)getpid());
	snprintf(name, sizeof(name), "@sluice-notify.%d", (int)getpid());
	for (unsigned i = 0; i < 2; i++) {
		struct notify notify;
		int fd = listener(addresses[i]);

		assert_int_equal(
			notify_open(&notify, addresses[i], NULL, NULL, err, sizeof(err)), 0);
		assert_int_equal(notify_send(&notify, "READY=1\nSTATUS=%d of %s", 7, "x"), 0);
		hears(fd, "READY=1\nSTATUS=7 of x");
		notify_close(&notify);
		close(fd);
	}
	unlink(path);
}

static void the_watchdog_is_fed_at_half_its_time(void **state)
{
	struct notify notify;
	char name[64], pid[16], err[256];

	(void)state;
	snprintf(name, sizeof(name), "@sluice-notify.%d", (int)getpid());
	int fd = listener(name);

	notify_open(&notify, name, "3000000", NULL, err, sizeof(err));
	assert_int_equal(notify.watchdog_ns, 1500000000ull);
	notify_close(&notify);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	notify_open(&notify, name, "3000000", pid, err, sizeof(err));
	assert_int_equal(notify.watchdog_ns, 1500000000ull);
	notify_close(&notify);
	// Meant for another process, or no number: not for us.
	notify_open(&notify, name, "3000000", "1", err, sizeof(err));
	assert_int_equal(notify.watchdog_ns, 0);
	notify_close(&notify);
	for (unsigned i = 0; i < 3; i++) {
		static const char *const words[] = {"3s", "-5", "99999999999999999999999"};

		notify_open(&notify, name, words[i], NULL, err, sizeof(err));
		assert_int_equal(notify.watchdog_ns, 0);
		notify_close(&notify);
	}
	close(fd);
}

static void what_is_no_socket_is_told(void **state)
{
	static const char *const addresses[] = {"relative", "/", "@", "vsock:2:1234"};
	struct notify notify;
	char err[256], longest[200];

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(
			notify_open(&notify, addresses[i], NULL, NULL, err, sizeof(err)), -EINVAL);
		assert_non_null(strstr(err, "NOTIFY_SOCKET"));
		assert_int_equal(notify_send(&notify, "READY=1"), 0);
	}
	memset(longest, 'x', sizeof(longest) - 1);
	longest[0] = '/';
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(notify_open(&notify, longest, NULL, NULL, err, sizeof(err)), -EINVAL);
	assert_int_equal(
		notify_open(&notify, "/tmp/no/such/socket", NULL, NULL, err, sizeof(err)), -ENOENT);
	assert_non_null(strstr(err, "/tmp/no/such/socket"));
}

// A manager that does not read costs a tenth of a second at most, and a long text is cut.
static void a_manager_that_does_not_read_is_not_waited_for(void **state)
{
	struct notify notify;
	char name[64], err[256], text[3000];
	int rc = 0;

	(void)state;
	snprintf(name, sizeof(name), "@sluice-notify.%d", (int)getpid());
	int fd = listener(name);

	notify_open(&notify, name, NULL, NULL, err, sizeof(err));
	memset(text, 'y', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(notify_send(&notify, "%s", text), 0);
	assert_int_equal(recv(fd, err, sizeof(err), MSG_TRUNC), 1023);
	uint64_t began = notify_monotonic_us();
	for (unsigned i = 0; i < 100000 && rc == 0; i++)
		rc = notify_send(&notify, "WATCHDOG=1");
	assert_int_equal(rc, -EAGAIN);
	assert_true(notify_monotonic_us() - began < 5000000);
	notify_close(&notify);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_manager_all_is_quiet),
		cmocka_unit_test(a_path_and_an_abstract_name_are_sockets),
		cmocka_unit_test(the_watchdog_is_fed_at_half_its_time),
		cmocka_unit_test(what_is_no_socket_is_told),
		cmocka_unit_test(a_manager_that_does_not_read_is_not_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
