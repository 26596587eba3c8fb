// SPDX-License-Identifier: BSD-3-Clause
// unix and the file of its socket: whose it is, who may connect, what is left of it. What all
// transports owe is in tests/transport.
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <cmocka.h>
#include "lib/tapi/tapi_unix_end.h"

#define STRANGER 65534 // a user who is not us

// start_server refuses, and says `what` of `path`.
static void refuses_to_start(struct node *node, const char *path, const char *what)
{
	char helo[sizeof(struct tapi_helo)];

	assert_int_equal(node->api->start_server(node->api), TAPI_ESYS);
	assert_non_null(strstr(node->logged, path));
	if (!strstr(node->logged, what))
		fail_msg("%s: not about \"%s\"", node->logged, what);
	assert_int_equal(node->api->create_helo(node->api, 0, (struct tapi_helo *)(void *)helo),
		TAPI_ENOADDR);
}

// inittransport_unix refuses these sections, and says `what`.
static void refuses_to_be(const char *sections, const char *what)
{
	struct tapi_core_api core = a.core; // its log
	struct tapi_error error;
	char text[1024];
	struct tapi_conf *conf;
	const struct tapi_conf *in_force;

	snprintf(text, sizeof(text), "{%s}", sections);
	conf = tapi_conf_parse(text, &error);
	assert_non_null(conf);
	in_force = conf;
	core.conf = &in_force;
	a.logged[0] = 0;
	assert_null(inittransport_unix(&core));
	if (!strstr(a.logged, what))
		fail_msg("\"%s\": not about \"%s\"", a.logged, what);
	tapi_conf_free(conf);
}

static ino_t inode(const char *path)
{
	struct stat there;

	assert_int_equal(lstat(path, &there), 0);
	return there.st_ino;
}

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

// What a process that is dead left behind does not keep us from starting.
static void test_stale_file(void **state)
{
	(void)state;
	close(unix_listen(path_a, 8));
	assert_true(exists(path_a));
	unix_begin(&a, path_a, "");
	close(unix_peer(&a, path_a));
	node_end(&a, donetransport_unix);
	assert_false(exists(path_a));
}

// A process that lives keeps its socket, also one that has no room for another connection.
static void test_live_file(void **state)
{
	int fd, waits[4];
	ino_t its;

	(void)state;
	fd = unix_listen(path_a, 0);
	its = inode(path_a);
	unix_make(&a, path_a, "");
	refuses_to_start(&a, path_a, "another process listens there");
	close(raw_accept(fd)); // the question whether it lives
	for (unsigned i = 0; i < 4; i++) {
		const struct sockaddr_un address = unix_address(path_a);

		waits[i] = unix_socket();
		fcntl(waits[i], F_SETFL, O_NONBLOCK);
		if (connect(waits[i], (const struct sockaddr *)&address, sizeof(address)) == 0)
			continue;
		assert_int_equal(errno, EAGAIN); // its queue is full
	}
	refuses_to_start(&a, path_a, "another process listens there");
	assert_int_equal(inode(path_a), its);
	for (unsigned i = 0; i < 4; i++)
		close(waits[i]);
	close(fd); // it dies: now
	node_start(&a);
	close(unix_peer(&a, path_a));
	// another instance of ours is no other
	unix_make(&b, path_a, "");
	refuses_to_start(&b, path_a, "another process listens there");
	node_end(&b, donetransport_unix);
	close(unix_peer(&a, path_a));
	node_end(&a, donetransport_unix);
}

// What is no socket is somebody's.
static void test_no_socket(void **state)
{
	int fd = open(path_a, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	(void)state;
	assert_int_equal(write(fd, "x", 1), 1);
	close(fd);
	unix_make(&a, path_a, "");
	refuses_to_start(&a, path_a, "is no socket");
	assert_true(exists(path_a));
	unlink(path_a);
	assert_int_equal(symlink(path_b, path_a), 0);
	refuses_to_start(&a, path_a, "is no socket");
	unlink(path_a);
	node_start(&a);
	node_end(&a, donetransport_unix);
}

static void test_long_path(void **state)
{
	char most[128], more[512], sections[1024];
	struct tapi_session *session;

	(void)state;
	// 107 octets are a path, 108 none
	memset(most, 'x', sizeof(most));
	memcpy(most, folder, strlen(folder));
	most[strlen(folder)] = '/';
	most[107] = 0;
	unix_begin(&a, most, "");
	unix_begin(&b, path_b, "");
	session = node_connect(&b, unix_url(most));
	assert_int_equal(node_send(&b, session, 'l', 1), TAPI_OK);
	node_run(&b, 3);
	node_until(&a, &a.n_messages, 1);
	most[107] = 'x';
	most[108] = 0;
	refuses_to_be(unix_section(most, ""), "unix.path");
	refuses_to_be(unix_section(most, ""), "107 octets");
	refuses_to_be(unix_section(most, ""), folder);
	memset(more, 'y', sizeof(more));
	more[400] = 0;
	snprintf(sections, sizeof(sections), "\"unix\": {\"folders\": [\"/ok\", \"/%s\"]}", more);
	refuses_to_be(sections, "unix.folders[1]");
	refuses_to_be(sections, "107 octets");
	refuses_to_be(unix_section("run/socket", ""), "does not begin with '/'");
	refuses_to_be(unix_section("/run/../socket", ""), "\"..\"");
	refuses_to_be(unix_section("/run/", ""), "empty part");
	refuses_to_be("\"unix\": {\"advertise\": [\"/run/a\"]}", "unix.path");
	node_end(&b, donetransport_unix);
	node_end(&a, donetransport_unix);
}

// Runs as a user who is not us; what it returns.
static int as_stranger(int (*what)(void))
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0)
		_exit(setgid(STRANGER) || setuid(STRANGER) ? 255 : what());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int stranger_connects(void)
{
	int fd;

	return unix_try(path_a, &fd);
}

// 0: refused, with the path and the reason.
static int stranger_starts(void)
{
	unix_make(&b, path_b, "");
	return b.api->start_server(b.api) == TAPI_ESYS && strstr(b.logged, path_b) &&
			       strstr(b.logged, strerror(EACCES))
		       ? 0
		       : 1;
}

// 0: refused, and a's socket is where it was.
static int stranger_replaces(void)
{
	unix_make(&b, path_a, "");
	return b.api->start_server(b.api) == TAPI_ESYS && strstr(b.logged, path_a) &&
			       strstr(b.logged, "another user's")
		       ? 0
		       : 1;
}

static mode_t at_chmod; // what the file had before

int __real_chmod(const char *path, mode_t mode);
int __wrap_chmod(const char *path, mode_t mode);

int __wrap_chmod(const char *path, mode_t mode)
{
	struct stat there;

	assert_int_equal(lstat(path, &there), 0);
	at_chmod = there.st_mode;
	return __real_chmod(path, mode);
}

static void test_permission(void **state)
{
	static const struct {
		const char *more;
		mode_t mode;
	} rows[] = {{"", 0600}, {"\"mode\": \"0600\"", 0600}, {"\"mode\": \"0660\"", 0660},
		{"\"mode\": \"0666\"", 0666}};
	const mode_t masks[] = {0, 022, 0777};
	struct stat there;

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (unsigned j = 0; j < sizeof(masks) / sizeof(masks[0]); j++) {
			const mode_t before = umask(masks[j]);

			unix_begin(&a, path_a, rows[i].more);
			umask(before);
			assert_int_equal(lstat(path_a, &there), 0);
			assert_int_equal(there.st_mode, S_IFSOCK | rows[i].mode);
			// not for a moment more
			assert_int_equal(at_chmod, S_IFSOCK | (rows[i].mode & ~masks[j]));
			if (geteuid() == 0)
				assert_int_equal(as_stranger(stranger_connects),
					rows[i].mode & 2 ? 0 : EACCES);
			if (geteuid() == 0 && rows[i].mode == 0600)
				assert_int_equal(as_stranger(stranger_replaces), 0);
			node_end(&a, donetransport_unix);
		}
	unix_make(&a, path_a, ""); // for its log
	refuses_to_be(unix_section(path_a, "\"mode\": \"0777\""), "unix.mode");
	if (geteuid() == 0)
		assert_int_equal(as_stranger(stranger_starts), 0);
	node_end(&a, donetransport_unix);
	// a folder that is not there
	snprintf(path_a, sizeof(path_a), "%s/none/a", folder);
	unix_make(&a, path_a, "");
	refuses_to_start(&a, path_a, strerror(ENOENT));
	node_end(&a, donetransport_unix);
}

// Two that start in one folder at once: one after the other, and nobody waits for ever.
static void test_folder_lock(void **state)
{
	const int lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_int_equal(flock(lock, LOCK_EX), 0);
	unix_make(&a, path_a, "");
	refuses_to_start(&a, path_a, "locked");
	assert_false(exists(path_a));
	close(lock);
	node_start(&a);
	node_end(&a, donetransport_unix);
}

// TA4: stop removes the file, but only its own; start works again.
static void test_stop_start(void **state)
{
	struct tapi_session *session;
	struct tapi_helo helo;
	uint8_t octet;
	int fd, other;

	(void)state;
	unix_begin(&a, path_a, "");
	fd = unix_peer(&a, path_a);
	session = a.messages[0].session;
	raw_write(fd, "unread", 6); // makes a close of AF_UNIX a reset, if it stays unread
	node_stop(&a);
	assert_false(exists(path_a));
	assert_int_equal(a.n_downs, 1);
	assert_ptr_equal(a.downs[0].session, session);
	assert_int_equal(a.downs[0].why, TAPI_DOWN_STOPPED);
	assert_int_equal(recv(fd, &octet, 1, 0), 0);
	close(fd);
	assert_int_equal(a.api->create_helo(a.api, 0, &helo), TAPI_ENOADDR);
	helo = node_helo(&a, unix_url(path_b));
	assert_int_equal(a.api->connect(a.api, &helo, &session), TAPI_EDOWN);
	node_stop(&a);
	node_start(&a);
	node_start(&a);
	close(unix_peer(&a, path_a));
	// somebody moved it away, and another stands there: that one stays
	unlink(path_a);
	other = unix_listen(path_a, 1);
	node_stop(&a);
	assert_true(exists(path_a));
	close(unix_connect(path_a));
	close(other);
	unlink(path_a);
	node_end(&a, donetransport_unix);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, unix_setup, unix_teardown)
	const struct CMUnitTest tests[] = {
		T(test_stale_file),
		T(test_live_file),
		T(test_no_socket),
		T(test_long_path),
		T(test_permission),
		T(test_folder_lock),
		T(test_stop_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
