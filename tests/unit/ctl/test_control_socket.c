// SPDX-License-Identifier: BSD-3-Clause
// The control socket: its place, and what slow, hostile and many clients cost.
#include "lib/control/control_world.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "control/ctl/client.h"
#include "control/cache/inquiry.h"
#include "pipeline/vocab/tick.h"

static void a_silent_lcore_is_told_and_keeps_its_memory(void **state)
{
	struct world w;
	struct query *kept;
	json_t *reply;
	int fd;

	(void)state;
	world_new(&w);
	w.lcores.stalled[1] = true;
	fd = client(&w);
	assert_true(put(&w, fd, "{\"command\":\"flow-list\"}\n", 24));
	for (unsigned i = 0; i < 20; i++)
		turn(&w);
	clock_offset_ns = (INQUIRY_SILENCE_MS + 100) * NS_PER_MS;
	reply = get(&w, fd);
	assert_false(is_ok(reply));
	assert_non_null(strstr(json_string_value(message(reply)), "data lcore 1"));
	json_decref(reply);
	close(fd);
	// It wakes up, and writes where it was told to.
	kept = w.lcores.held[1];
	assert_non_null(kept);
	((struct flow_record *)kept->out)[kept->max - 1].flow_id = 1;
	w.lcores.stalled[1] = false;
	for (unsigned i = 0; i < 700; i++) {
		turn(&w);
		usleep(1000);
	}
	asks_ok(&w, "{\"command\":\"flow-list\"}");
	world_free(&w);
}

static void a_client_that_leaves_early_costs_nothing(void **state)
{
	struct world w;
	int fd;

	(void)state;
	world_new(&w);
	w.lcores.stalled[0] = w.lcores.stalled[1] = true;
	for (unsigned i = 0; i < 40; i++) {
		fd = client(&w);
		assert_true(put(&w, fd, "{\"command\":\"flow-list\"}\n", 24));
		close(fd);
		turn(&w);
	}
	w.lcores.stalled[0] = w.lcores.stalled[1] = false;
	for (unsigned i = 0; i < 200; i++) {
		turn(&w);
		usleep(1000);
	}
	asks_ok(&w, "{\"command\":\"flow-list\"}");
	world_free(&w);
}

static void lines_in_pieces_and_in_a_bundle(void **state)
{
	static const char text[] = "{\"command\":\"version\"}\r\n\n{\"command\":\"flow-list\"}\n"
				   "{\"command\":\"help\"}\n";
	struct world w;
	json_t *reply;
	int fd;

	(void)state;
	world_new(&w);
	fd = client(&w);
	for (size_t i = 0; i + 1 < sizeof text; i++)
		assert_true(put(&w, fd, text + i, 1));
	for (unsigned i = 0; i < 3; i++) {
		reply = get(&w, fd);
		assert_true(is_ok(reply));
		json_decref(reply);
	}
	// All at once, and the client's side is closed behind the last: all are answered.
	assert_true(put(&w, fd, text, sizeof text - 1));
	shutdown(fd, SHUT_WR);
	for (unsigned i = 0; i < 3; i++) {
		reply = get(&w, fd);
		assert_non_null(reply);
		assert_true(is_ok(reply));
		json_decref(reply);
	}
	assert_null(get(&w, fd)); // and then the gateway closes
	close(fd);
	world_free(&w);
}

static void a_line_of_a_megabyte_is_refused(void **state)
{
	struct world w;
	char *text = malloc(1 << 20);
	json_t *reply;
	int fd;

	(void)state;
	world_new(&w);
	memset(text, 'a', 1 << 20);
	fd = client(&w);
	assert_false(put(&w, fd, text, 1 << 20));
	reply = get(&w, fd);
	assert_non_null(reply);
	assert_non_null(strstr(json_string_value(message(reply)), "too long"));
	json_decref(reply);
	assert_null(get(&w, fd));
	close(fd);
	asks_ok(&w, "{\"command\":\"version\"}");
	free(text);
	world_free(&w);
}

static void deep_nesting_is_refused(void **state)
{
	struct world w;
	char text[60001];

	(void)state;
	world_new(&w);
	memset(text, '[', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	asks_nok(&w, text, "JSON");
	world_free(&w);
}

static void beyond_the_cap_clients_are_turned_away(void **state)
{
	enum { MANY = 200 };
	unsigned turned_away = 0, waiting = 0;
	struct world w;
	int fds[MANY];

	(void)state;
	world_new(&w);
	for (unsigned i = 0; i < MANY; i++) {
		fds[i] = client(&w);
		turn(&w);
	}
	for (unsigned i = 0; i < 20; i++)
		turn(&w);
	for (unsigned i = 0; i < MANY; i++) {
		char byte;
		ssize_t n = recv(fds[i], &byte, 1, 0);

		turned_away += n == 1;
		waiting += n < 0 && errno == EAGAIN;
	}
	assert_int_equal(waiting, CONTROL_CLIENTS_MAX);
	assert_int_equal(turned_away, MANY - CONTROL_CLIENTS_MAX);
	for (unsigned i = 0; i < MANY; i++)
		close(fds[i]);
	for (unsigned i = 0; i < 20; i++)
		turn(&w);
	asks_ok(&w, "{\"command\":\"version\"}");
	world_free(&w);
}

static void a_slow_reader_blocks_nobody(void **state)
{
	static const char line[] = "{\"command\":\"flow-list\",\"arguments\":{\"limit\":1000}}\n";
	struct world w;
	unsigned asked = 0;
	uint64_t end;
	int fd;

	(void)state;
	world_new(&w);
	fd = client(&w);
	// Asks on and on, and never reads: soon nothing more is taken from it.
	end = now_ns() + NS_PER_S / 2;
	while (now_ns() < end) {
		ssize_t n = send(fd, line, sizeof line - 1, MSG_NOSIGNAL);

		asked += n > 0;
		turn(&w);
	}
	assert_true(asked > 100);
	assert_true(asked < 200000);
	asks_ok(&w, "{\"command\":\"version\"}");
	close(fd);
	world_free(&w);
}

static void half_a_line_is_not_waited_for_for_ever(void **state)
{
	struct world w;
	json_t *reply;
	int fd;

	(void)state;
	if (!getenv("SLUICE_TEST_SLOW"))
		skip();
	world_new(&w);
	fd = client(&w);
	assert_true(put(&w, fd, "{\"command\"", 10));
	reply = get(&w, fd); // after CONTROL_LINE_S
	assert_non_null(strstr(json_string_value(message(reply)), "in time"));
	json_decref(reply);
	assert_null(get(&w, fd));
	close(fd);
	world_free(&w);
}

static void the_place_of_the_socket(void **state)
{
	struct control_socket *second = NULL;
	char err[256] = "", long_path[300];
	struct world w;
	struct stat st;
	int fd;

	(void)state;
	world_new(&w);
	assert_int_equal(stat(w.path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0660);
	assert_int_equal(control_socket_new(&w.context, w.path, NULL, &second, err, sizeof err),
		-EADDRINUSE);
	assert_non_null(strstr(err, "another gateway"));
	asks_ok(&w, "{\"command\":\"version\"}"); // the first one's is still there
	control_socket_free(w.socket);

	// What a killed gateway leaves behind is replaced.
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path, sizeof address.sun_path, "%s", w.path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	close(fd);
	world_open(&w);
	asks_ok(&w, "{\"command\":\"version\"}");
	control_socket_free(w.socket);

	// A file is not.
	close(open(w.path, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(
		control_socket_new(&w.context, w.path, NULL, &second, err, sizeof err), -EEXIST);
	unlink(w.path);
	memset(long_path, 'x', sizeof long_path - 1);
	long_path[0] = '/';
	long_path[sizeof long_path - 1] = '\0';
	assert_int_equal(control_socket_new(&w.context, long_path, NULL, &second, err, sizeof err),
		-ENAMETOOLONG);
	assert_int_equal(
		control_socket_new(&w.context, w.path, "no-such-group", &second, err, sizeof err),
		-ENOENT);
	assert_non_null(strstr(err, "no-such-group"));
	assert_int_equal(access(w.path, F_OK), -1);
	world_open(&w);
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_silent_lcore_is_told_and_keeps_its_memory),
		cmocka_unit_test(a_client_that_leaves_early_costs_nothing),
		cmocka_unit_test(lines_in_pieces_and_in_a_bundle),
		cmocka_unit_test(a_line_of_a_megabyte_is_refused),
		cmocka_unit_test(deep_nesting_is_refused),
		cmocka_unit_test(beyond_the_cap_clients_are_turned_away),
		cmocka_unit_test(a_slow_reader_blocks_nobody),
		cmocka_unit_test(half_a_line_is_not_waited_for_for_ever),
		cmocka_unit_test(the_place_of_the_socket),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
