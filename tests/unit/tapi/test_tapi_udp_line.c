// SPDX-License-Identifier: BSD-3-Clause
// Lines of udp (datagram_connected.h): that they carry what they are for, and that nobody notices.
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "lib/tapi/tapi_udp_end.h"

#define S    1000000u
#define LINE 64u // messages before there is a line: LINE_AFTER of datagram_connected.c

static struct event_base *base;

// Linked with --wrap=sendto and recvmmsg: what goes by a line has no address.
ssize_t __real_sendto(int fd, const void *octets, size_t length, int flags,
	const struct sockaddr *to, socklen_t to_length);
ssize_t __wrap_sendto(int fd, const void *octets, size_t length, int flags,
	const struct sockaddr *to, socklen_t to_length);

static unsigned by_line;
static int refuse_on_line; // once
static bool refuse_again;  // and again

ssize_t __wrap_sendto(int fd, const void *octets, size_t length, int flags,
	const struct sockaddr *to, socklen_t to_length)
{
	by_line += !to;
	if (!to && refuse_on_line) {
		errno = refuse_on_line;
		refuse_on_line = refuse_again ? refuse_on_line : 0;
		return -1;
	}
	return __real_sendto(fd, octets, length, flags, to, to_length);
}

// A socket that is closed is not read: its number may be somebody else's.
int __real_recvmmsg(
	int fd, struct mmsghdr *headers, unsigned n, int flags, struct timespec *timeout);
int __wrap_recvmmsg(
	int fd, struct mmsghdr *headers, unsigned n, int flags, struct timespec *timeout);

int __wrap_recvmmsg(
	int fd, struct mmsghdr *headers, unsigned n, int flags, struct timespec *timeout)
{
	int result = __real_recvmmsg(fd, headers, n, flags, timeout);

	assert_true(result >= 0 || errno == EAGAIN);
	return result;
}

static void connect_stranger(
	struct end *end, const struct tapi_source *to, struct tapi_session **session)
{
	struct tapi_helo helo;
	char text[64];

	udp_stranger_text(to, text);
	end_helo_text(end, text, &helo);
	*session = end_connect(end, &helo);
}

static void send_many(struct end *end, struct tapi_session *session, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(end_send(end, session, "x"), TAPI_OK);
}

// Takes `n` from the stranger's socket, and asserts that all come from `port`.
static void hear(int fd, unsigned n, uint16_t port)
{
	struct sockaddr_in from;
	socklen_t length = sizeof(from);
	uint8_t octets[100];

	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(recvfrom(fd, octets, sizeof(octets), MSG_DONTWAIT,
					 (struct sockaddr *)&from, &length),
			41);
		assert_int_equal(ntohs(from.sin_port), port);
	}
	assert_int_equal(recv(fd, octets, sizeof(octets), MSG_DONTWAIT), -1);
}

static void a_line_carries_what_most_is_sent_to(void **state)
{
	struct end *a = udp_end(base, 'a', ON_V4);
	struct tapi_source source[2];
	struct tapi_session *much, *little;
	struct tapi_helo own;
	uint16_t port;
	int fd[2] = {udp_stranger(&source[0]), udp_stranger(&source[1])};

	(void)state;
	end_helo(a, 0, &own);
	port = udp_port_of(&own);
	connect_stranger(a, &source[0], &much);
	connect_stranger(a, &source[1], &little);
	by_line = 0;
	send_many(a, much, LINE);
	assert_int_equal(by_line, 0);
	send_many(a, much, 30);
	assert_int_equal(by_line, 30);
	hear(fd[0], LINE + 30, port);
	assert_true(a->api->send_estimate(a->api, much) > 1432);

	// Another is not in its way, nor it in the other's; both are heard.
	send_many(a, little, 1);
	send_many(a, much, 1);
	assert_int_equal(by_line, 31);
	hear(fd[1], 1, port);
	hear(fd[0], 1, port);
	udp_throw(fd[0], &own, 'm', "much");
	assert_true(end_wait(base, a, 1));
	assert_ptr_equal(end_last(a)->session, much);
	udp_throw(fd[1], &own, 'l', "little");
	assert_true(end_wait(base, a, 2));
	assert_ptr_equal(end_last(a)->session, little);

	// Whom both are sent to by turns has none.
	by_line = 0;
	for (unsigned i = 0; i < 2 * LINE; i++) {
		send_many(a, much, 1);
		send_many(a, little, 1);
	}
	assert_int_equal(by_line, 2 * LINE); // but for the one that is there
	hear(fd[0], 2 * LINE, port);
	hear(fd[1], 2 * LINE, port);

	// The line goes over to who is sent more to now.
	by_line = 0;
	send_many(a, little, 3 * LINE);
	assert_true(by_line >= LINE);
	hear(fd[1], 3 * LINE, port);
	send_many(a, much, 1);
	hear(fd[0], 1, port);

	// Gone with its session: who comes to its place in memory is somebody else.
	assert_int_equal(a->api->disconnect(a->api, little), TAPI_OK);
	connect_stranger(a, &source[0], &little);
	by_line = 0;
	send_many(a, little, 1);
	assert_int_equal(by_line, 0);
	hear(fd[0], 1, port);
	hear(fd[1], 0, port);
	a->api->disconnect(a->api, little);
	a->api->disconnect(a->api, much);
	close(fd[0]);
	close(fd[1]);
	end_free(a);
}

static void errors_of_a_line_lose_nothing(void **state)
{
	struct end *a = udp_end(base, 'a', ON_V4);
	struct tapi_source source[2];
	struct tapi_session *dead, *live;
	struct tapi_helo own;
	int fd[2] = {udp_stranger(&source[0]), udp_stranger(&source[1])};

	(void)state;
	end_helo(a, 0, &own);
	connect_stranger(a, &source[0], &dead);
	connect_stranger(a, &source[1], &live);
	close(fd[0]); // each answer is an ICMP error now, on the line
	send_many(a, dead, 4 * LINE);
	end_pump(base);
	send_many(a, live, 1);
	udp_throw(fd[1], &own, 'l', "live");
	assert_true(end_wait(base, a, 1));
	end_turn(a);
	assert_int_equal(a->n_downs, 0);
	assert_int_equal(a->api->stats(a->api)->sent_msgs, 4 * LINE + 1);
	assert_int_equal(a->api->stats(a->api)->dropped_error, 0);
	hear(fd[1], 1, udp_port_of(&own));

	// An address that was ours is not any more: the line ends, the message goes without.
	send_many(a, live, 2 * LINE);
	by_line = 0;
	refuse_on_line = EINVAL;
	send_many(a, live, 2);
	assert_int_equal(by_line, 1);
	assert_int_equal(refuse_on_line, 0);
	hear(fd[1], 2 * LINE + 2, udp_port_of(&own));
	// But what is too big is too big, and where the medium is full, it is full.
	send_many(a, live, 3 * LINE);
	refuse_on_line = EMSGSIZE;
	refuse_again = true;
	assert_int_equal(end_send(a, live, "x"), TAPI_ETOOBIG);
	refuse_on_line = 0;
	refuse_again = false;
	// An earlier message was: this one is not (a router's ICMP, reported with the next call).
	refuse_on_line = EMSGSIZE;
	assert_int_equal(end_send(a, live, "x"), TAPI_OK);
	assert_int_equal(a->api->stats(a->api)->dropped_too_big, 1);
	by_line = 0;
	send_many(a, live, 1);
	assert_int_equal(by_line, 1);
	refuse_on_line = EAGAIN;
	assert_int_equal(end_send(a, live, "x"), TAPI_DROPPED);
	a->api->disconnect(a->api, dead);
	a->api->disconnect(a->api, live);
	close(fd[1]);
	end_free(a);
}

static void a_line_has_the_buffers_of_its_socket(void **state)
{
	struct end *a = udp_end(
		base, 'a', ON_V4 ", \"send_buffer_bytes\": 8192, \"receive_buffer_bytes\": 4096");
	struct tapi_source source;
	struct tapi_session *session;
	struct tapi_helo own;
	int fd = udp_stranger(&source);

	(void)state;
	end_helo(a, 0, &own);
	connect_stranger(a, &source, &session);
	assert_int_equal(a->api->send_estimate(a->api, session), 8192);
	by_line = 0;
	send_many(a, session, LINE + 1);
	assert_int_equal(by_line, 1);
	assert_int_equal(a->api->send_estimate(a->api, session), 8192);
	for (unsigned i = 0; i < 100; i++)
		udp_throw(fd, &own, 'x', "x");
	end_pump(base);
	assert_in_range(a->n_heard, 1, 50); // of an ordinary one: all
	a->api->disconnect(a->api, session);
	close(fd);
	end_free(a);
}

// Sessions come and go on the same few places in memory: none speaks by another's line.
static void a_line_is_one_sessions_only(void **state)
{
	struct end *a = udp_end(base, 'a', ON_V4);
	struct tapi_session *session[16];
	struct tapi_source source[2];
	struct tapi_helo own;
	int fd[2] = {udp_stranger(&source[0]), udp_stranger(&source[1])};

	(void)state;
	end_helo(a, 0, &own);
	for (unsigned i = 0; i < 16; i++)
		connect_stranger(a, &source[0], &session[i]);
	send_many(a, session[15], LINE + 1);
	hear(fd[0], LINE + 1, udp_port_of(&own));
	for (unsigned i = 0; i < 16; i++)
		a->api->disconnect(a->api, session[i]);
	by_line = 0;
	for (unsigned i = 0; i < 16; i++) {
		connect_stranger(a, &source[1], &session[i]);
		send_many(a, session[i], 1);
	}
	assert_int_equal(by_line, 0);
	hear(fd[1], 16, udp_port_of(&own));
	for (unsigned i = 0; i < 16; i++)
		a->api->disconnect(a->api, session[i]);
	close(fd[0]);
	close(fd[1]);
	end_free(a);
}

static void a_line_lives_for_a_while(void **state)
{
	struct end *a = udp_end(base, 'a', "\"ipv6\": false"); // 0.0.0.0
	struct tapi_source source;
	struct tapi_session *session;
	struct tapi_helo own;
	int fd = udp_stranger(&source);

	(void)state;
	end_helo(a, 0, &own);
	connect_stranger(a, &source, &session);
	send_many(a, session, LINE);
	a->skew_us += 6 * S;
	udp_throw(fd, &own, 'x', "waits in it");
	by_line = 0;
	send_many(a, session, 2);
	assert_int_equal(by_line, 2); // not before that was read
	assert_true(end_wait(base, a, 1));
	send_many(a, session, 1);
	assert_int_equal(by_line, 3); // its last
	send_many(a, session, LINE - 1);
	assert_int_equal(by_line, 3);
	send_many(a, session, 2);
	assert_true(by_line > 3);
	hear(fd, 2 * LINE + 4, udp_port_of(&own));
	a->api->disconnect(a->api, session);
	close(fd);
	end_free(a);
}

static void hang_up_third(struct end *end, const struct tapi_message_pack *pack)
{
	struct tapi_session *session = end->user;

	(void)pack;
	if (end->n_heard != 3)
		return;
	end->user = NULL;
	assert_int_equal(end->api->disconnect(end->api, session), TAPI_OK);
}

static void the_end_of_its_session_loses_nothing(void **state)
{
	struct end *a = udp_end(base, 'a', ON_V4);
	struct tapi_source source;
	struct tapi_session *session;
	struct tapi_helo own;
	int fd = udp_stranger(&source);

	(void)state;
	end_helo(a, 0, &own);
	connect_stranger(a, &source, &session);
	a->user = session;
	a->on_receive = hang_up_third;
	send_many(a, session, LINE);
	for (unsigned i = 0; i < 12; i++)
		udp_throw(fd, &own, 'x', "x");
	assert_true(end_wait(base, a, 12));
	assert_int_equal(a->api->stats(a->api)->sessions_accepted, 1); // since
	close(fd);
	end_free(a);
}

static void send_elsewhere(struct end *end, const struct tapi_message_pack *pack)
{
	(void)pack;
	if (end->n_heard % 20 == 0) // the last: nothing waits in the line any more
		send_many(end, end->user, LINE + 1);
}

// A line whose place another takes, while what it brought is being given.
static void the_end_of_a_line_loses_nothing(void **state)
{
	struct end *a = udp_end(base, 'a', ON_V4);
	struct tapi_source source[2];
	struct tapi_session *one, *other;
	struct tapi_helo own;
	int fd[2] = {udp_stranger(&source[0]), udp_stranger(&source[1])};

	(void)state;
	end_helo(a, 0, &own);
	connect_stranger(a, &source[0], &one);
	connect_stranger(a, &source[1], &other);
	a->user = other;
	for (unsigned round = 1; round <= 3; round++) {
		send_many(a, one, 2 * LINE);
		a->on_receive = round == 1 ? NULL : send_elsewhere; // the first finds it is busy
		for (unsigned i = 0; i < 20; i++)
			udp_throw(fd[0], &own, 'x', "x");
		assert_true(end_wait(base, a, 20 * round));
	}
	a->api->disconnect(a->api, one);
	a->api->disconnect(a->api, other);
	close(fd[0]);
	close(fd[1]);
	end_free(a);
}

// The number of the line's socket is that of another one now, which is not for us to read.
static int pair[2] = {-1, -1};

static void reload_in_vain(struct end *end, const struct tapi_message_pack *pack)
{
	(void)pack;
	if (pair[0] >= 0)
		return;
	assert_int_equal(udp_reload(end, "\"bind\": [\"192.0.2.77\"]"), TAPI_ESYS);
	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(send(pair[0], "theirs", 6, 0), 6);
	assert_int_equal(send(pair[1], "theirs", 6, 0), 6);
	send_many(end, end->user, 1); // so that the socket is looked at again
}

static void a_reload_that_is_refused_ends_the_event(void **state)
{
	struct end *a = udp_end(base, 'a', ON_V4);
	struct tapi_source source;
	struct tapi_session *session;
	struct tapi_helo own;
	uint8_t octets[16];
	int fd = udp_stranger(&source);

	(void)state;
	end_helo(a, 0, &own);
	connect_stranger(a, &source, &session);
	send_many(a, session, LINE + 1);
	a->user = session;
	a->on_receive = reload_in_vain;
	udp_throw(fd, &own, 'x', "by the line");
	assert_true(end_wait(base, a, 1));
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(recv(pair[i], octets, sizeof(octets), MSG_DONTWAIT), 6);
		close(pair[i]);
	}
	assert_int_equal(a->api->stats(a->api)->bad_frame, 0);
	a->api->disconnect(a->api, session);
	close(fd);
	end_free(a);
}

static void stop_and_reload_take_lines_with_them(void **state)
{
	struct end *a = udp_end(base, 'a', ON_V4);
	struct sockaddr_in name = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct tapi_source source;
	struct tapi_session *session;
	struct tapi_helo own;
	int fd = udp_stranger(&source), again = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0),
	    on = 1;
	uint16_t port;
	char keys[64];

	(void)state;
	end_helo(a, 0, &own);
	port = udp_port_of(&own);
	connect_stranger(a, &source, &session);
	send_many(a, session, 2 * LINE);
	name.sin_port = htons(port);
	setsockopt(again, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	assert_int_equal(bind(again, (struct sockaddr *)&name, sizeof(name)), -1);

	snprintf(keys, sizeof(keys), "\"bind\": [\"0.0.0.0:%u\"]", port);
	assert_int_equal(udp_reload(a, keys), TAPI_OK); // over the line, too
	by_line = 0;
	send_many(a, session, 2 * LINE);
	assert_int_equal(by_line, LINE);
	hear(fd, 4 * LINE, port);
	assert_int_equal(a->api->stop_server(a->api), TAPI_OK);
	setsockopt(again, SOL_SOCKET, SO_REUSEADDR, &(int){0}, sizeof(on));
	assert_int_equal(bind(again, (struct sockaddr *)&name, sizeof(name)), 0);
	close(again);
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
		cmocka_unit_test(a_line_carries_what_most_is_sent_to),
		cmocka_unit_test(errors_of_a_line_lose_nothing),
		cmocka_unit_test(a_line_has_the_buffers_of_its_socket),
		cmocka_unit_test(a_line_is_one_sessions_only),
		cmocka_unit_test(a_line_lives_for_a_while),
		cmocka_unit_test(the_end_of_its_session_loses_nothing),
		cmocka_unit_test(the_end_of_a_line_loses_nothing),
		cmocka_unit_test(a_reload_that_is_refused_ends_the_event),
		cmocka_unit_test(stop_and_reload_take_lines_with_them),
	};

	return cmocka_run_group_tests(tests, group_begin, group_end);
}
