// SPDX-License-Identifier: BSD-3-Clause
// Where tcp listens and what it advertises; whom it lets in; limits, and what happens when
// descriptors run out.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <cmocka.h>
#include "lib/tapi/tapi_node.h"

#define S 1000000u

tapi_init_fn inittransport_tcp;
tapi_done_fn donetransport_tcp;

static struct node a, b;

#define LOCAL "\"port\": 0, \"bind\": [\"127.0.0.1\"]"

static unsigned advertised(struct node *node, char texts[][TAPI_TEXT_BYTES], unsigned room)
{
	struct tapi_helo helo;
	unsigned n = 0;

	while (n < room && !node->api->create_helo(node->api, n, &helo)) {
		assert_int_equal(helo.protocol, 6);
		assert_int_equal(helo.mtu, 32768);
		assert_int_equal(node->api->verify_helo(node->api, &helo), TAPI_OK);
		assert_int_equal(
			node->api->address_to_string(node->api, &helo, texts[n++], TAPI_TEXT_BYTES),
			TAPI_OK);
	}
	return n;
}

// TA5: one HELO for each address.
static void test_advertise(void **state)
{
	char texts[8][TAPI_TEXT_BYTES], expected[64];

	(void)state;
	tcp_begin(&a, LOCAL);
	assert_int_equal(advertised(&a, texts, 8), 1);
	snprintf(expected, sizeof(expected), "tcp://127.0.0.1:%u", node_port(&a, 4));
	assert_string_equal(texts[0], expected);
	node_end(&a, donetransport_tcp);

	tcp_begin(&a, "\"port\": 0, \"bind\": [\"127.0.0.1\", \"[::1]\"], \"advertise\": "
		      "[\"198.51.100.7\", \"198.51.100.8:99\", \"2001:db9::1\"]");
	assert_int_equal(advertised(&a, texts, 8), 3);
	snprintf(expected, sizeof(expected), "tcp://198.51.100.7:%u", node_port(&a, 4));
	assert_string_equal(texts[0], expected);
	assert_string_equal(texts[1], "tcp://198.51.100.8:99");
	snprintf(expected, sizeof(expected), "tcp://[2001:db9::1]:%u", node_port(&a, 6));
	assert_string_equal(texts[2], expected);
	node_end(&a, donetransport_tcp);

	// all addresses: those of the interfaces that the acl lets through
	tcp_begin(&a, "\"port\": 0");
	const unsigned n = advertised(&a, texts, 8);

	assert_in_range(n, 1, 8); // the loopback at least
	for (unsigned i = 0; i < n; i++)
		assert_null(strstr(texts[i], "//0.0.0.0:"));
	assert_int_equal(tcp_reload(&a, "\"port\": 0", "{\"local\": false}"), TAPI_OK);
	for (unsigned i = advertised(&a, texts, 8); i-- > 0;)
		assert_null(strstr(texts[i], "//127."));
	node_end(&a, donetransport_tcp);
}

// TA5: behind a NAT there is nothing to advertise, nobody is listened to, and we can call.
static void test_nat(void **state)
{
	struct tapi_session *session;
	struct tapi_helo helo;
	char keys[128];
	uint16_t port;

	(void)state;
	tcp_begin(&b, LOCAL);
	port = node_port(&b, 4);
	node_stop(&b);
	snprintf(keys, sizeof(keys),
		"\"nat\": true, \"bind\": [\"127.0.0.1:%u\"], \"advertise\": [\"127.0.0.1:7\"]",
		port);
	tcp_begin(&a, keys);
	assert_int_equal(a.api->create_helo(a.api, 0, &helo), TAPI_ENOADDR);
	assert_true(tcp_refused(port));
	node_start(&b);
	port = node_port(&b, 4);
	session = node_connect(&a, tcp_url(port));
	assert_int_equal(node_send(&a, session, 'n', 9), TAPI_OK);
	node_run(&a, 3);
	node_until(&b, &b.n_messages, 1);
	assert_memory_equal(&b.messages[0].sender, &a.id, sizeof(a.id));
	// and is answered on that session
	assert_int_equal(b.api->associate(b.api, b.messages[0].session), TAPI_OK);
	assert_int_equal(node_send(&b, b.messages[0].session, 'm', 9), TAPI_OK);
	node_until(&a, &a.n_messages, 1);
	assert_ptr_equal(a.messages[0].session, session);
	// no longer behind it: a reload
	assert_int_equal(tcp_reload(&a, LOCAL, NULL), TAPI_OK);
	assert_int_equal(a.api->create_helo(a.api, 0, &helo), TAPI_OK);
	assert_false(tcp_refused(node_port(&a, 4)));
	port = node_port(&a, 4);
	assert_int_equal(tcp_reload(&a, LOCAL ", \"nat\": true", NULL), TAPI_OK);
	assert_int_equal(a.api->create_helo(a.api, 0, &helo), TAPI_ENOADDR);
	assert_true(tcp_refused(port));
	assert_int_equal(node_send(&a, session, 'n', 9), TAPI_OK); // it lives on
	assert_int_equal(a.n_downs, 0);
	node_end(&a, donetransport_tcp);
	node_end(&b, donetransport_tcp);
}

// TA4: after stop the port is free, sessions are reported, and start works again.
static void test_stop_start(void **state)
{
	struct tapi_session *session;
	struct tapi_helo helo;
	char keys[64];
	uint16_t port;
	int fd, again;

	(void)state;
	tcp_begin(&a, LOCAL);
	port = node_port(&a, 4);
	fd = peer_connect(&a);
	session = a.messages[0].session;
	node_stop(&a);
	assert_int_equal(a.n_downs, 1);
	assert_ptr_equal(a.downs[0].session, session);
	assert_int_equal(a.downs[0].why, TAPI_DOWN_STOPPED);
	assert_int_equal(a.api->create_helo(a.api, 0, &helo), TAPI_ENOADDR);
	helo = node_helo(&a, tcp_url(port));
	assert_int_equal(a.api->connect(a.api, &helo, &session), TAPI_EDOWN);
	again = raw_listen(&port, 1);
	// taken: it says where, and starts when it is free
	snprintf(keys, sizeof(keys), "\"bind\": [\"127.0.0.1:%u\"]", port);
	assert_int_equal(tcp_reload(&a, keys, NULL), TAPI_OK);
	assert_int_equal(a.api->start_server(a.api), TAPI_ESYS);
	assert_non_null(strstr(a.logged, tcp_url(port)));
	assert_non_null(strstr(a.logged, "ss -anp"));
	close(again);
	node_start(&a);
	assert_int_equal(node_port(&a, 4), port);
	close(fd);
	fd = peer_connect(&a);
	close(fd);
	node_end(&a, donetransport_tcp);
}

// TA27: both families, one port.
static void test_ipv6(void **state)
{
	struct tapi_session_info info;
	struct tapi_session *session;
	struct tapi_helo helo;
	char text[64];

	(void)state;
	tcp_begin(&a, "\"port\": 0, \"bind\": [\"127.0.0.1\", \"::1\"]");
	tcp_begin(&b, LOCAL);
	assert_int_equal(node_port(&a, 4), node_port(&a, 6));
	snprintf(text, sizeof(text), "tcp://[::1]:%u", node_port(&a, 6));
	session = node_connect(&b, text);
	assert_int_equal(node_send(&b, session, '6', 66), TAPI_OK);
	node_run(&b, 3);
	node_until(&a, &a.n_messages, 1);
	a.api->session_info(a.api, a.messages[0].session, &info);
	assert_int_equal(info.source.family, 6);
	assert_int_equal(info.source.address[15], 1);
	assert_true(info.inbound);
	b.api->session_info(b.api, session, &info);
	assert_string_equal(info.remote, text);
	// "ipv6": false: not an address of this transport any more, and what there is ends
	assert_int_equal(tcp_reload(&b, LOCAL ", \"ipv6\": false", NULL), TAPI_OK);
	node_until(&b, &b.n_downs, 1);
	assert_int_equal(b.downs[0].why, TAPI_DOWN_DENIED);
	helo = node_helo(&b, text);
	assert_int_equal(b.api->verify_helo(b.api, &helo), TAPI_EADDR);
	assert_int_equal(b.api->connect(b.api, &helo, &session), TAPI_EADDR);
	assert_int_equal(tcp_reload(&b, "\"bind\": [\"::1\"], \"ipv6\": false", NULL), TAPI_ECONF);
	assert_non_null(strstr(b.logged, "tcp.bind"));
	node_end(&b, donetransport_tcp);
	node_end(&a, donetransport_tcp);
}

// All addresses of both families: one port.
static void test_both_families(void **state)
{
	struct tapi_session *session;
	char text[64];

	(void)state;
	tcp_begin(&a, "\"port\": 0");
	assert_int_equal(node_port(&a, 4), node_port(&a, 6));
	tcp_begin(&b, LOCAL);
	snprintf(text, sizeof(text), "tcp://[::1]:%u", node_port(&a, 6));
	session = node_connect(&b, text);
	assert_int_equal(node_send(&b, session, '6', 66), TAPI_OK);
	node_run(&b, 3);
	node_until(&a, &a.n_messages, 1);
	close(peer_connect(&a)); // IPv4
	node_end(&b, donetransport_tcp);
	node_end(&a, donetransport_tcp);
}

static bool without_ipv6;

int __real_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol);

int __wrap_socket(int domain, int type, int protocol)
{
	if (!without_ipv6 || domain != AF_INET6)
		return __real_socket(domain, type, protocol);
	errno = EAFNOSUPPORT;
	return -1;
}

// A machine without IPv6 listens on what it has; an address that was asked for by name is missed.
static void test_without_ipv6(void **state)
{
	(void)state;
	without_ipv6 = true;
	tcp_begin(&a, "\"port\": 0");
	close(peer_connect(&a));
	assert_int_equal(tcp_reload(&a, "\"port\": 0, \"bind\": [\"::\"]", NULL), TAPI_ECONF);
	assert_non_null(strstr(a.logged, "[::]"));
	close(peer_connect(&a));
	without_ipv6 = false;
	node_end(&a, donetransport_tcp);
}

static void test_address_room(void **state)
{
	uint8_t octets[TAPI_ADDRESS_BYTES];
	size_t size = 5;

	(void)state;
	tcp_begin(&a, LOCAL);
	assert_int_equal(
		a.api->string_to_address(a.api, "tcp://192.0.2.1:1", octets, &size), TAPI_EADDR);
	size = 6;
	assert_int_equal(
		a.api->string_to_address(a.api, "tcp://192.0.2.1:1", octets, &size), TAPI_OK);
	assert_int_equal(size, 6);
	assert_int_equal(
		a.api->string_to_address(a.api, "udp://192.0.2.1:1", octets, &size), TAPI_EADDR);
	node_end(&a, donetransport_tcp);
}

// TA6: syntax and deny list, for who is called and for who calls.
static void test_denied(void **state)
{
	static const char *const deny = "{\"local\": true, \"deny\": [\"127.0.0.1/32\"]}";
	struct tapi_session *session;
	struct tapi_helo helo;
	uint8_t octet;
	int fd;

	(void)state;
	tcp_begin(&a, LOCAL);
	helo = node_helo(&a, "tcp://127.0.0.1:2086");
	assert_int_equal(a.api->verify_helo(a.api, &helo), TAPI_OK);
	assert_int_equal(tcp_reload(&a, LOCAL, deny), TAPI_OK);
	assert_int_equal(a.api->verify_helo(a.api, &helo), TAPI_EACL);
	assert_int_equal(a.api->connect(a.api, &helo, &session), TAPI_EACL);
	helo = node_helo(&a, "tcp://127.0.0.2:53");
	assert_int_equal(a.api->verify_helo(a.api, &helo), TAPI_EACL); // the port
	helo.address_size--;
	assert_int_equal(a.api->verify_helo(a.api, &helo), TAPI_EADDR);
	helo.address_size = 0;
	assert_int_equal(a.api->verify_helo(a.api, &helo), TAPI_EADDR);
	fd = raw_connect(node_port(&a, 4));
	node_run(&a, 3);
	errno = 0;
	assert_int_equal(recv(fd, &octet, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	assert_int_equal(a.api->stats(a.api)->bad_source, 1);
	assert_int_equal(a.api->stats(a.api)->sessions_accepted, 0);
	close(fd);
	node_end(&a, donetransport_tcp);
}

static void test_rate(void **state)
{
	struct tapi_session *session;
	int fd;

	(void)state;
	tcp_begin(&a, LOCAL ", \"rate_bytes_s\": 1000000");
	fd = peer_connect(&a);
	session = a.messages[0].session;
	for (unsigned i = 0; i < 200; i++)
		node_send(&a, session, 'r', 1000);
	assert_int_equal(a.api->stats(a.api)->sent_msgs, 100); // a tenth of a second's
	assert_int_equal(a.api->stats(a.api)->dropped_rate, 100);
	node_ahead(&a, S / 100);
	for (unsigned i = 0; i < 200; i++)
		node_send(&a, session, 'r', 1000);
	assert_int_equal(a.api->stats(a.api)->sent_msgs, 110);
	// a reload lifts it
	assert_int_equal(tcp_reload(&a, LOCAL, NULL), TAPI_OK);
	assert_int_equal(node_send(&a, session, 'r', 1000), TAPI_OK);
	close(fd);
	node_end(&a, donetransport_tcp);
}

static void test_limits(void **state)
{
	struct tapi_session *session;
	struct tapi_helo helo;
	uint8_t octet;
	int fd[3];

	(void)state;
	tcp_begin(&a, LOCAL ", \"max_sessions\": 2");
	fd[0] = peer_connect(&a);
	fd[1] = peer_connect(&a);
	assert_int_equal(a.api->associate(a.api, a.messages[0].session), TAPI_OK);
	// the one that nobody holds makes room, and is reported
	fd[2] = peer_connect(&a);
	node_until(&a, &a.n_downs, 1);
	assert_ptr_equal(a.downs[0].session, a.messages[1].session);
	assert_int_equal(a.downs[0].why, TAPI_DOWN_LIMIT);
	assert_int_equal(raw_read(fd[1], &octet, 1), 0);
	assert_int_equal(a.api->associate(a.api, a.messages[2].session), TAPI_OK);
	// none can: who comes is refused, who we would call, too
	close(fd[1]);
	fd[1] = raw_connect(node_port(&a, 4));
	node_run(&a, 3);
	assert_int_equal(raw_read(fd[1], &octet, 1), 0);
	helo = node_helo(&a, tcp_url(node_port(&a, 4)));
	assert_int_equal(a.api->connect(a.api, &helo, &session), TAPI_ELIMIT);
	assert_int_equal(a.api->stats(a.api)->sessions_refused, 2);
	assert_int_equal(tcp_reload(&a, LOCAL, NULL), TAPI_OK);
	close(peer_connect(&a));
	for (unsigned i = 0; i < 3; i++)
		close(fd[i]);
	node_end(&a, donetransport_tcp);

	tcp_begin(&a, LOCAL ", \"max_per_source\": 1");
	fd[0] = peer_connect(&a);
	fd[1] = peer_connect(&a);
	node_until(&a, &a.n_downs, 1);
	assert_ptr_equal(a.downs[0].session, a.messages[0].session);
	assert_int_equal(a.downs[0].why, TAPI_DOWN_LIMIT);
	close(fd[0]);
	close(fd[1]);
	node_end(&a, donetransport_tcp);
}

// No descriptor is left: who comes is refused, the loop does not spin, and it is reported once.
static void test_out_of_descriptors(void **state)
{
	struct rlimit before, none;
	unsigned logged;
	uint8_t octet;
	int fd[3];

	(void)state;
	tcp_begin(&a, LOCAL);
	for (unsigned i = 0; i < 3; i++)
		fd[i] = raw_connect(node_port(&a, 4));
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	const int next = dup(0); // the lowest one that is free

	close(next);
	none.rlim_cur = (rlim_t)next;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	logged = a.n_logged;
	node_run(&a, 20);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(a.n_logged, logged + 1);
	assert_non_null(strstr(a.logged, "LimitNOFILE"));
	assert_int_equal(a.api->stats(a.api)->sessions_refused, 3);
	assert_int_equal(a.api->stats(a.api)->sessions_accepted, 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(raw_read(fd[i], &octet, 1), 0); // not left in the backlog
		close(fd[i]);
	}
	close(peer_connect(&a)); // as ever
	node_end(&a, donetransport_tcp);
}

static void test_connect_out_of_descriptors(void **state)
{
	struct rlimit before, none;
	struct tapi_session *session = NULL;
	struct tapi_helo helo;

	(void)state;
	tcp_begin(&a, LOCAL);
	helo = node_helo(&a, tcp_url(node_port(&a, 4)));
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 3;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(a.api->connect(a.api, &helo, &session), TAPI_ESYS);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(a.n_logged, 1);
	assert_non_null(strstr(a.logged, "LimitNOFILE"));
	assert_null(session);
	assert_int_equal(a.api->connect(a.api, &helo, &session), TAPI_OK);
	node_end(&a, donetransport_tcp);
}

// Not even the reserve is left: it rests, and comes back.
static void test_out_of_descriptors_rest(void **state)
{
	struct rlimit before, none;
	unsigned rounds = 0;
	int fd;

	(void)state;
	tcp_begin(&a, LOCAL);
	fd = raw_connect(node_port(&a, 4));
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 3; // below all that is open: even a descriptor that was given up is none
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	node_run(&a, 3);
	// a connection waits, and nothing is ready for 50 ms
	const struct timeval wait = {.tv_usec = 50000};

	event_base_loopexit(a.base, &wait);
	while (!event_base_got_exit(a.base) && rounds < 1000) {
		event_base_loop(a.base, EVLOOP_ONCE);
		rounds++;
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_in_range(rounds, 1, 3);
	node_run(&a, 1);
	raw_write(fd, "x", 1);
	for (unsigned i = 0; i < 300 && !a.api->stats(a.api)->sessions_accepted; i++) {
		usleep(1000);
		node_run(&a, 1);
	}
	assert_int_equal(a.api->stats(a.api)->sessions_accepted, 1);
	close(fd);
	node_end(&a, donetransport_tcp);
}

// TA3: another version of the table is refused; so is a core without a loop.
static void test_refused_core(void **state)
{
	struct tapi_core_api core;

	(void)state;
	tcp_begin(&a, LOCAL);
	core = a.core;
	core.version++;
	assert_null(inittransport_tcp(&core));
	core = a.core;
	core.base = NULL;
	assert_null(inittransport_tcp(&core));
	assert_non_null(strstr(a.logged, "loop"));
	node_end(&a, donetransport_tcp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_advertise),
		cmocka_unit_test(test_nat),
		cmocka_unit_test(test_stop_start),
		cmocka_unit_test(test_ipv6),
		cmocka_unit_test(test_both_families),
		cmocka_unit_test(test_without_ipv6),
		cmocka_unit_test(test_address_room),
		cmocka_unit_test(test_denied),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_out_of_descriptors),
		cmocka_unit_test(test_out_of_descriptors_rest),
		cmocka_unit_test(test_connect_out_of_descriptors),
		cmocka_unit_test(test_refused_core),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
