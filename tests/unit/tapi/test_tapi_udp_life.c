// SPDX-License-Identifier: BSD-3-Clause
// The life of the UDP transport and of its sessions: start, stop, limits, reload. Rows TA4, TA13,
// TA17.
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
#include "transportapi/transport/udp.h"

#define S       1000000u
#define STRANGE 300 // sockets of a flood

static struct event_base *base;

static void stops_and_starts(void **state) // TA4
{
	struct end *a = udp_end(base, 'a', ON_V4), *b;
	struct sockaddr_in name = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct tapi_source source;
	struct tapi_helo helo;
	struct tapi_session *session;
	int fd = udp_stranger(&source), again;
	char keys[64];

	(void)state;
	end_helo(a, 0, &helo);
	name.sin_port = htons(udp_port_of(&helo));
	udp_throw(fd, &helo, 'x', "before");
	assert_true(end_wait(base, a, 1));
	udp_throw(fd, &helo, 'x', "pending");
	session = end_connect(a, &helo);
	assert_int_equal(a->api->stop_server(a->api), TAPI_OK);
	assert_int_equal(a->n_downs, 2); // the stranger's and ours
	// Nothing of it keeps the loop.
	assert_int_equal(event_base_get_num_events(base, EVENT_BASE_COUNT_ADDED), 0);
	(void)session;
	end_pump(base);
	assert_int_equal(a->n_heard, 1);
	// The port is free, to the octet.
	again = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(again, (struct sockaddr *)&name, sizeof(name)), 0);

	// It is taken: a message that says where and what to do.
	snprintf(keys, sizeof(keys), "\"bind\": [\"127.0.0.1:%u\"]", ntohs(name.sin_port));
	assert_int_equal(udp_reload(a, keys), TAPI_OK); // not started: taken on trust
	assert_int_equal(a->api->start_server(a->api), TAPI_ESYS);
	snprintf(keys, sizeof(keys), "udp://127.0.0.1:%u", ntohs(name.sin_port));
	assert_non_null(strstr(a->log, keys));
	assert_non_null(strstr(a->log, "ss -anp"));
	assert_int_equal(a->api->connect(a->api, &helo, &session), TAPI_EDOWN);
	close(again);
	assert_int_equal(a->api->start_server(a->api), TAPI_OK);
	assert_int_equal(a->api->start_server(a->api), TAPI_OK); // is
	udp_throw(fd, &helo, 'x', "after");
	assert_true(end_wait(base, a, 2));
	assert_memory_equal(end_last(a)->octets, "after", 5);
	b = a;
	end_free(b);
	close(fd);
}

// A flood of strangers: bounded, the held session is never touched, each eviction is reported.
static void strangers_take_no_more_than_their_share(void **state)
{
	struct end *a = udp_end(
		base, 'a', ON_V4 ", \"max_sessions\": 20, \"max_per_source\": 10, \"stale_s\": 60");
	const struct tapi_transport_stats *stats = a->api->stats(a->api);
	struct tapi_source source;
	struct tapi_helo helo, friend_helo;
	struct tapi_session *held, *friends;
	int fd[STRANGE], friend_fd;
	char text[64];

	(void)state;
	end_helo(a, 0, &helo);
	friend_fd = udp_stranger(&source);
	udp_stranger_text(&source, text);
	end_helo_text(a, text, &friend_helo);
	friends = end_connect(a, &friend_helo);
	for (unsigned i = 0; i < STRANGE; i++)
		fd[i] = udp_stranger(&source);
	udp_throw(fd[0], &helo, 'h', "hold me");
	assert_true(end_wait(base, a, 1));
	held = end_last(a)->session;
	assert_int_equal(a->api->associate(a->api, held), TAPI_OK);
	for (unsigned i = 1; i < STRANGE; i++)
		udp_throw(fd[i], &helo, (uint8_t)i, "flood");
	assert_true(end_wait(base, a, STRANGE));
	end_turn(a);
	assert_int_equal(stats->sessions_accepted, STRANGE);
	assert_int_equal(stats->sessions_evicted, STRANGE - 10);
	assert_int_equal(a->n_downs, STRANGE - 10);
	for (unsigned i = 0; i < a->n_downs; i++) {
		assert_int_equal(a->downs[i].why, TAPI_DOWN_LIMIT);
		assert_ptr_not_equal(a->downs[i].session, held);
		assert_ptr_not_equal(a->downs[i].session, friends);
	}
	udp_throw(fd[0], &helo, 'h', "still here");
	udp_throw(friend_fd, &helo, 'f', "I, too");
	assert_true(end_wait(base, a, STRANGE + 2));
	assert_ptr_equal(end_last(a)->session, friends);
	assert_ptr_equal(a->heard[STRANGE].session, held);
	assert_int_equal(stats->sessions_accepted, STRANGE); // both were known

	// Silence ends those that nobody holds.
	assert_true(end_turn(a) < UINT64_MAX);
	a->skew_us += 61 * S;
	assert_int_equal(end_turn(a), UINT64_MAX);
	assert_int_equal(stats->sessions_stale, 9);
	assert_int_equal(a->n_downs, STRANGE - 1);
	assert_int_equal(a->downs[a->n_downs - 1].why, TAPI_DOWN_STALE);
	a->api->disconnect(a->api, held);
	a->api->disconnect(a->api, friends);
	for (unsigned i = 0; i < STRANGE; i++)
		close(fd[i]);
	close(friend_fd);
	end_free(a);
}

static void a_table_of_held_ones_refuses(void **state)
{
	struct end *a = udp_end(base, 'a', ON_V4 ", \"max_sessions\": 2");
	const struct tapi_transport_stats *stats = a->api->stats(a->api);
	struct tapi_helo helo;
	struct tapi_session *one, *two, *three;
	struct tapi_source source;
	int fd = udp_stranger(&source);

	(void)state;
	end_helo(a, 0, &helo);
	one = end_connect(a, &helo);
	two = end_connect(a, &helo); // the same address: another session
	assert_ptr_not_equal(one, two);
	assert_int_equal(a->api->connect(a->api, &helo, &three), TAPI_ELIMIT);
	udp_throw(fd, &helo, 'x', "x");
	end_pump(base);
	assert_int_equal(a->n_heard, 0);
	assert_int_equal(stats->bad_source, 1);
	assert_int_equal(stats->sessions_refused, 2);
	// What comes from an address with several belongs to one of them, whichever is left.
	assert_int_equal(end_send(a, one, "self"), TAPI_OK);
	assert_true(end_wait(base, a, 1));
	assert_true(end_last(a)->session == one || end_last(a)->session == two);
	one = end_last(a)->session == one ? two : one;
	a->api->disconnect(a->api, end_last(a)->session);
	assert_int_equal(end_send(a, one, "self"), TAPI_OK);
	assert_true(end_wait(base, a, 2));
	assert_ptr_equal(end_last(a)->session, one);
	a->api->disconnect(a->api, one);
	close(fd);
	end_free(a);
}

static void stop_at_once(struct end *end, const struct tapi_message_pack *pack)
{
	(void)pack;
	if (end->n_heard == 5) // amid what one call brought
		assert_int_equal(end->api->stop_server(end->api), TAPI_OK);
}

static void hang_up(struct end *end, const struct tapi_message_pack *pack)
{
	struct tapi_session *session = end->user;

	(void)pack;
	if (session)
		assert_int_equal(end->api->disconnect(end->api, session), TAPI_OK);
	end->user = NULL;
}

static void receive_may_end_anything(void **state)
{
	struct end *a = udp_end(base, 'a', ON_V4);
	struct tapi_source source;
	struct tapi_helo helo;
	int fd = udp_stranger(&source);

	(void)state;
	end_helo(a, 0, &helo);
	a->user = end_connect(a, &helo);
	assert_int_equal(end_send(a, a->user, "to myself"), TAPI_OK);
	assert_int_equal(end_send(a, a->user, "to myself"), TAPI_OK);
	a->on_receive = hang_up; // the session that this message came on
	assert_true(end_wait(base, a, 2));
	a->on_receive = stop_at_once;
	for (unsigned i = 0; i < 10; i++)
		udp_throw(fd, &helo, 'x', "x");
	end_pump(base);
	assert_int_equal(a->n_heard, 5); // none after the stop
	close(fd);
	end_free(a);
}

static void reload_moves_the_port(void **state) // TA17
{
	struct end *a = udp_end(base, 'a', ON_V4), *b = udp_end(base, 'b', ON_V4);
	struct tapi_source source;
	struct tapi_helo old, fresh, helo;
	struct tapi_session *out;
	int fd = udp_stranger(&source), again;
	struct sockaddr_in name = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	char keys[128];

	(void)state;
	end_helo(b, 0, &old);
	out = end_connect(a, &old);
	assert_int_equal(end_send(a, out, "one"), TAPI_OK);
	assert_true(end_wait(base, b, 1));
	assert_int_equal(b->api->associate(b->api, end_last(b)->session), TAPI_OK);

	// A port that somebody has: all stays.
	snprintf(keys, sizeof(keys), "\"bind\": [\"127.0.0.1:%u\"]", source.port);
	assert_int_equal(udp_reload(b, keys), TAPI_ESYS);
	assert_int_equal(udp_reload(b, ON_V4 ", \"mtu\": 1200"), TAPI_ECONF);
	assert_int_equal(udp_reload(b, "\"bind\": [\"localhost\"]"), TAPI_ECONF);
	assert_int_equal(udp_reload(b, "\"cost\": \"much\""), TAPI_ECONF);
	assert_int_equal(udp_reload(b, ON_V4 ", \"advertise\": [\"0.0.0.0\"]"), TAPI_ECONF);
	assert_int_equal(udp_reload(b, ON_V4 ", \"cost\": 117"), TAPI_OK); // nothing to rebind
	assert_int_equal(b->api->cost, 117);
	assert_int_equal(end_send(a, out, "two"), TAPI_OK);
	assert_true(end_wait(base, b, 2));

	close(fd);
	assert_int_equal(udp_reload(b, keys), TAPI_OK);
	end_helo(b, 0, &fresh);
	assert_int_equal(udp_port_of(&fresh), source.port);
	name.sin_port = htons(udp_port_of(&old));
	again = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(again, (struct sockaddr *)&name, sizeof(name)), 0);
	close(again);
	// The session of before sends by the new one.
	assert_int_equal(end_send(b, b->heard[0].session, "moved"), TAPI_OK);
	assert_true(end_wait(base, a, 1));
	assert_int_equal(end_last(a)->source.port, source.port);
	end_turn(b);
	assert_int_equal(b->n_downs, 0);

	// From one address to all of them, with the same port, and back.
	snprintf(keys, sizeof(keys), "\"bind\": [\"0.0.0.0:%u\"]", source.port);
	assert_int_equal(udp_reload(b, keys), TAPI_OK);
	end_helo(b, 0, &helo);
	assert_int_equal(udp_port_of(&helo), source.port);
	assert_int_equal(end_send(b, b->heard[0].session, "wide"), TAPI_OK);
	assert_true(end_wait(base, a, 2));
	snprintf(keys, sizeof(keys), "\"bind\": [\"127.0.0.1:%u\"]", source.port);
	assert_int_equal(udp_reload(b, keys), TAPI_OK);
	assert_int_equal(end_send(b, b->heard[0].session, "narrow"), TAPI_OK);
	assert_true(end_wait(base, a, 3));
	// And nobody may sit down beside it.
	{
		int on = 1;

		name.sin_port = htons(source.port);
		again = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		setsockopt(again, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		assert_int_equal(bind(again, (struct sockaddr *)&name, sizeof(name)), -1);
		assert_int_equal(errno, EADDRINUSE);
		close(again);
	}
	a->api->disconnect(a->api, out);
	end_free(a);
	end_free(b);
}

static void reload_ends_who_is_denied(void **state) // TA17
{
	struct end *a = udp_end(base, 'a', "\"nat\": false"), *b = udp_end(base, 'b', ON_V4),
		   *c = udp_end(base, 'c', ON_V6);
	struct tapi_helo helo;
	struct tapi_session *to_b, *to_c;

	(void)state;
	end_helo(b, 0, &helo);
	to_b = end_connect(a, &helo);
	end_helo(c, 0, &helo);
	to_c = end_connect(a, &helo);
	assert_int_equal(end_reload(a, "{\"acl\": {\"local\": true, \"deny\": [\"::1/128\"]}, "
				       "\"udp\": {\"port\": 0}}"),
		TAPI_OK);
	assert_int_equal(a->n_downs, 0); // not inside a method
	assert_int_equal(end_send(a, to_c, "x"), TAPI_EDOWN);
	assert_int_equal(a->api->stats(a->api)->dropped_down, 1);
	end_pump(base);
	assert_int_equal(a->n_downs, 1);
	assert_ptr_equal(a->downs[0].session, to_c);
	assert_int_equal(a->downs[0].why, TAPI_DOWN_DENIED);
	assert_int_equal(end_send(a, to_b, "x"), TAPI_OK);
	assert_true(end_wait(base, b, 1));
	assert_int_equal(a->api->connect(a->api, &helo, &to_c), TAPI_EACL);

	// What comes from there is not heard, and counted.
	end_helo(a, 0, &helo);
	end_helo_text(c, "udp://[::1]:9", &helo);
	{
		struct tapi_helo mine;
		struct tapi_session *to_a;
		char text[64];

		end_helo(a, 0, &mine);
		snprintf(text, sizeof(text), "udp://[::1]:%u", udp_port_of(&mine));
		end_helo_text(c, text, &helo);
		to_a = end_connect(c, &helo);
		assert_int_equal(end_send(c, to_a, "x"), TAPI_OK);
		end_pump(base);
		assert_int_equal(a->n_heard, 0);
		assert_int_equal(a->api->stats(a->api)->bad_source, 1);
		c->api->disconnect(c->api, to_a);
	}
	// IPv6 is given up: its sessions end.
	assert_int_equal(udp_reload(a, "\"ipv6\": true"), TAPI_OK);
	end_helo(c, 0, &helo);
	to_c = end_connect(a, &helo);
	assert_int_equal(end_send(a, to_c, "x"), TAPI_OK);
	assert_int_equal(udp_reload(a, "\"ipv6\": false"), TAPI_OK);
	assert_int_equal(end_send(a, to_c, "x"), TAPI_EDOWN);
	assert_int_equal(a->api->send_estimate(a->api, to_c), 0);
	end_pump(base);
	assert_int_equal(a->n_downs, 2);
	assert_ptr_equal(a->downs[1].session, to_c);
	assert_int_equal(a->api->connect(a->api, &helo, &to_c), TAPI_EADDR);
	a->api->disconnect(a->api, to_b);
	end_free(a);
	end_free(b);
	end_free(c);
}

static int sit_beside(const char *address, uint16_t port)
{
	struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), on = 1, result;

	inet_pton(AF_INET, address, &name.sin_addr);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	result = bind(fd, (struct sockaddr *)&name, sizeof(name));
	close(fd);
	return result;
}

// What was opened beside is let go: the ones that stay let nobody else in.
static void reload_leaves_no_seat_beside(void **state)
{
	struct end *a = udp_end(base, 'a', ON_V4);
	struct tapi_helo helo;
	uint16_t port;
	char keys[128];

	(void)state;
	end_helo(a, 0, &helo);
	port = udp_port_of(&helo);
	snprintf(keys, sizeof(keys), ON_V4 ", \"max_sessions\": 1");
	assert_int_equal(udp_reload(a, keys), TAPI_OK);
	snprintf(keys, sizeof(keys), "\"bind\": [\"127.0.0.1\", \"0.0.0.0:%u\"]", port);
	assert_int_equal(udp_reload(a, keys), TAPI_OK);
	assert_int_equal(sit_beside("127.0.0.1", port), -1);
	assert_int_equal(sit_beside("127.0.0.3", port), -1);
	assert_int_equal(udp_reload(a, ON_V4), TAPI_OK);
	assert_int_equal(sit_beside("127.0.0.1", port), -1);
	assert_int_equal(sit_beside("127.0.0.3", port), 0); // given up, that one
	end_free(a);
}

static void limits_follow_a_reload(void **state)
{
	struct end *a = udp_end(base, 'a', ON_V4);
	struct tapi_session *one, *two;
	struct tapi_helo helo;

	(void)state;
	end_helo(a, 0, &helo);
	one = end_connect(a, &helo);
	assert_int_equal(udp_reload(a, ON_V4 ", \"max_sessions\": 1"), TAPI_OK);
	assert_int_equal(a->api->connect(a->api, &helo, &two), TAPI_ELIMIT);
	assert_int_equal(udp_reload(a, ON_V4 ", \"max_sessions\": 2"), TAPI_OK);
	two = end_connect(a, &helo);
	a->api->disconnect(a->api, one);
	a->api->disconnect(a->api, two);
	end_free(a);
}

// What came in at one of several addresses is answered from there, also after a reload.
static void answers_come_from_where_they_were_asked(void **state)
{
	struct end *a = udp_end(base, 'a', "\"bind\": [\"127.0.0.1\", \"127.0.0.2\"]");
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000002)}, from;
	socklen_t length = sizeof(from);
	struct tapi_source source;
	struct tapi_helo helo;
	int fd = udp_stranger(&source);
	uint8_t octets[200];

	(void)state;
	end_helo(a, 1, &helo);
	to.sin_port = htons(udp_port_of(&helo));
	sendto(fd, octets, udp_enveloped(octets, 'x', "x"), 0, (struct sockaddr *)&to, sizeof(to));
	assert_true(end_wait(base, a, 1));
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(end_send(a, end_last(a)->session, "y"), TAPI_OK);
		assert_true(recvfrom(fd, octets, sizeof(octets), MSG_DONTWAIT,
				    (struct sockaddr *)&from, &length) > 0);
		assert_int_equal(ntohl(from.sin_addr.s_addr), 0x7f000002);
		assert_int_equal(udp_reload(a, "\"bind\": [\"127.0.0.3\", \"127.0.0.1\", "
					       "\"127.0.0.2\"]"),
			TAPI_OK);
	}
	close(fd);
	end_free(a);
}

// What we begin goes from the address that the system has on the way there, whichever is named
// first: from another one it may not get there, or its answers not back. Also after a reload that
// took the old one away.
static void connects_from_the_address_on_the_way(void **state)
{
	struct end *a = udp_end(base, 'a', "\"bind\": [\"127.0.0.2\", \"127.0.0.1\"]");
	struct tapi_session *session;
	struct tapi_source source;
	struct tapi_helo helo;
	struct sockaddr_in from;
	socklen_t length = sizeof(from);
	int fd = udp_stranger(&source);
	uint8_t octets[200];
	char text[64];

	(void)state;
	udp_stranger_text(&source, text);
	end_helo_text(a, text, &helo);
	session = end_connect(a, &helo);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(end_send(a, session, "y"), TAPI_OK);
		assert_true(recvfrom(fd, octets, sizeof(octets), MSG_DONTWAIT,
				    (struct sockaddr *)&from, &length) > 0);
		assert_int_equal(ntohl(from.sin_addr.s_addr), i == 1 ? 0x7f000003 : 0x7f000001);
		assert_int_equal(udp_reload(a, i == 0 ? "\"bind\": [\"127.0.0.3\"]"
						      : "\"bind\": [\"127.0.0.2\", \"127.0.0.1\"]"),
			TAPI_OK);
	}
	a->api->disconnect(a->api, session);
	close(fd);
	end_free(a);
}

static unsigned refused_binds;
static int refusal;

// Linked with --wrap=bind: what another host, or another moment, would say of IPv6.
int __real_bind(int fd, const struct sockaddr *name, socklen_t length);
int __wrap_bind(int fd, const struct sockaddr *name, socklen_t length);

int __wrap_bind(int fd, const struct sockaddr *name, socklen_t length)
{
	if (name->sa_family != AF_INET6 || refused_binds == 0)
		return __real_bind(fd, name, length);
	refused_binds--;
	errno = refusal;
	return -1;
}

static void one_port_is_found_for_both_families(void **state)
{
	struct tapi_helo helo;
	struct end *a;
	uint16_t port;
	bool v6 = false;

	(void)state;
	refusal = EADDRINUSE;
	refused_binds = 5; // of as many ports that IPv4 could have had
	a = udp_end(base, 'a', "\"nat\": false");
	assert_int_equal(refused_binds, 0);
	assert_string_equal(a->log, ""); // nobody is bothered
	end_helo(a, 0, &helo);
	port = udp_port_of(&helo);
	for (unsigned i = 0; a->api->create_helo(a->api, i, &helo) == TAPI_OK; i++) {
		assert_int_equal(udp_port_of(&helo), port);
		v6 = v6 || helo.address_size == 18;
	}
	assert_true(v6);
	a->api->stop_server(a->api);
	refused_binds = 1000; // for ever
	assert_int_equal(a->api->start_server(a->api), TAPI_ESYS);
	assert_non_null(strstr(a->log, "cannot listen on udp://[::]"));
	refused_binds = 0;
	end_free(a);
}

static void a_host_without_ipv6_has_the_other(void **state)
{
	struct tapi_helo helo;
	struct end *a;

	(void)state;
	refusal = EADDRNOTAVAIL;
	refused_binds = 1000;
	a = udp_end(base, 'a', "\"nat\": false"); // starts
	assert_non_null(strstr(a->log, "no IPv6"));
	for (unsigned i = 0; a->api->create_helo(a->api, i, &helo) == TAPI_OK; i++)
		assert_int_equal(helo.address_size, 6);
	// But who asks for it by name is reported.
	assert_int_equal(udp_reload(a, ON_V6), TAPI_ESYS);
	assert_non_null(strstr(a->log, "cannot listen on udp://[::1]:0"));
	refused_binds = 0;
	end_free(a);
}

static void a_wrong_section_is_refused(void **state)
{
	static const char *const wrong[] = {
		"{\"udp\": {\"prot\": 1}}",
		"{\"udp\": {\"port\": 65536}}",
		"{\"udp\": {\"bind\": [\"192.0.2.1:0\"]}}",
		"{\"udp\": {\"mtu\": 100}}",
		"{\"udp\": {\"ipv6\": false, \"bind\": [\"::1\"]}}",
		"{\"udp\": {\"advertise\": [\"localhost\"]}}",
		"{\"udp\": {\"port\": 0, \"bind\": [\"127.0.0.1\"], \"advertise\": [\"::2\"]}}",
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct end *a = end_new(base, 'a', inittransport_udp, donetransport_udp, wrong[i]);

		assert_null(a->api);
		assert_non_null(strstr(a->log, "udp."));
		end_free(a);
	}
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
		cmocka_unit_test(stops_and_starts),
		cmocka_unit_test(strangers_take_no_more_than_their_share),
		cmocka_unit_test(a_table_of_held_ones_refuses),
		cmocka_unit_test(receive_may_end_anything),
		cmocka_unit_test(reload_moves_the_port),
		cmocka_unit_test(reload_ends_who_is_denied),
		cmocka_unit_test(reload_leaves_no_seat_beside),
		cmocka_unit_test(limits_follow_a_reload),
		cmocka_unit_test(answers_come_from_where_they_were_asked),
		cmocka_unit_test(connects_from_the_address_on_the_way),
		cmocka_unit_test(one_port_is_found_for_both_families),
		cmocka_unit_test(a_host_without_ipv6_has_the_other),
		cmocka_unit_test(a_wrong_section_is_refused),
	};

	return cmocka_run_group_tests(tests, group_begin, group_end);
}
