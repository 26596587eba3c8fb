// SPDX-License-Identifier: BSD-3-Clause
// Who came in while the core wished for no turn gets stale, or is given up, all the same: the loop
// alone runs here.
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "lib/tapi/tapi_udp_end.h"

TAPI_EXPORT tapi_init_fn inittransport_tcp;
TAPI_EXPORT tapi_done_fn donetransport_tcp;

static struct event_base *base;

static void run_until(bool (*done)(const void *context), const void *context)
{
	const struct timeval patience = {.tv_sec = 4};

	event_base_loopexit(base, &patience);
	while (!done(context) && !event_base_got_exit(base))
		event_base_loop(base, EVLOOP_ONCE);
	assert_true(done(context));
}

static bool is_told(const void *context)
{
	return ((const struct end *)context)->n_downs > 0;
}

static bool is_closed(const void *context)
{
	struct pollfd wait = {.fd = *(const int *)context, .events = POLLIN};

	return poll(&wait, 1, 0) == 1;
}

static void udp_gets_stale(void **state)
{
	struct end *a = udp_end(base, 'a', ON_V4 ", \"stale_s\": 1");
	struct tapi_session *session;
	struct tapi_source source;
	struct tapi_helo helo;
	int fd = udp_stranger(&source), later = udp_stranger(&source);

	(void)state;
	assert_int_equal(end_turn(a), UINT64_MAX);
	end_helo(a, 0, &helo);
	udp_throw(fd, &helo, 'x', "x");
	assert_true(end_wait(base, a, 1));
	usleep(200000);
	udp_throw(later, &helo, 'y', "y");
	assert_true(end_wait(base, a, 2));
	for (unsigned i = 0; i < 2; i++) { // one after the other
		a->n_downs = 0;
		run_until(is_told, a);
		assert_int_equal(a->n_downs, 1);
		assert_int_equal(a->downs[0].why, TAPI_DOWN_STALE);
		assert_ptr_equal(a->downs[0].session, a->heard[i].session);
	}

	// A connect takes the place of one that nobody holds: told by the loop, not inside.
	assert_int_equal(udp_reload(a, ON_V4 ", \"max_sessions\": 1"), TAPI_OK);
	udp_throw(fd, &helo, 'x', "x");
	assert_true(end_wait(base, a, 3));
	a->n_downs = 0;
	session = end_connect(a, &helo);
	assert_int_equal(a->n_downs, 0);
	end_pump(base);
	assert_int_equal(a->n_downs, 1);
	assert_int_equal(a->downs[0].why, TAPI_DOWN_LIMIT);
	a->api->disconnect(a->api, session);
	close(fd);
	close(later);
	end_free(a);
}

static void tcp_without_a_welcome_is_given_up(void **state)
{
	struct end *a = end_new(base, 'a', inittransport_tcp, donetransport_tcp,
		"{\"acl\": {\"local\": true}, \"tcp\": {\"port\": 0, \"bind\": [\"127.0.0.1\"], "
		"\"connect_timeout_s\": 1}}");
	struct sockaddr_in name = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct tapi_helo helo;
	char octet;

	(void)state;
	assert_non_null(a->api);
	assert_int_equal(a->api->start_server(a->api), TAPI_OK);
	assert_int_equal(end_turn(a), UINT64_MAX);
	end_helo(a, 0, &helo);
	name.sin_port = htons(udp_port_of(&helo));
	assert_int_equal(connect(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	run_until(is_closed, &fd);
	assert_true(recv(fd, &octet, 1, 0) <= 0);
	assert_int_equal(a->api->stats(a->api)->sessions_closed, 1);
	close(fd);
	end_free(a);
}

static int group_begin(void **state)
{
	(void)state;
	base = event_base_new();
	return base ? 0 : -1;
}

static int group_end(void **state)
{
	(void)state;
	event_base_free(base);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(udp_gets_stale),
		cmocka_unit_test(tcp_without_a_welcome_is_given_up),
	};

	return cmocka_run_group_tests(tests, group_begin, group_end);
}
