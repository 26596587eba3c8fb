// SPDX-License-Identifier: BSD-3-Clause
// What a reload of tcp changes, and what it leaves.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <cmocka.h>
#include "lib/tapi/tapi_node.h"

tapi_done_fn donetransport_tcp;

static struct node a, b;

#define LOCAL "\"port\": 0, \"bind\": [\"127.0.0.1\"]"

// TA17: who is denied now ends, the others live on.
static void test_reload_denies(void **state)
{
	struct tapi_session *allowed, *denied;
	uint16_t port = 0;
	const int listening = raw_listen(&port, 4);
	char text[64];
	int fd;

	(void)state;
	tcp_begin(&a, "\"port\": 0, \"bind\": [\"127.0.0.2\"]");
	tcp_begin(&b, LOCAL);
	snprintf(text, sizeof(text), "tcp://127.0.0.2:%u", node_port(&a, 4));
	allowed = node_connect(&b, text);
	denied = node_connect(&b, tcp_url(port));
	fd = raw_accept(listening);
	node_run(&b, 3);
	node_run(&a, 3);
	assert_int_equal(
		tcp_reload(&b, LOCAL, "{\"local\": true, \"deny\": [\"127.0.0.1/32\"]}"), TAPI_OK);
	assert_int_equal(b.n_downs, 0); // not inside
	assert_int_equal(node_send(&b, denied, 'd', 1), TAPI_EDOWN);
	node_until(&b, &b.n_downs, 1);
	assert_ptr_equal(b.downs[0].session, denied);
	assert_int_equal(b.downs[0].why, TAPI_DOWN_DENIED);
	assert_int_equal(node_send(&b, allowed, 'a', 1), TAPI_OK);
	node_until(&a, &a.n_messages, 1);
	close(fd);
	close(listening);
	node_end(&b, donetransport_tcp);
	node_end(&a, donetransport_tcp);
}

// A denied port is one that nobody is called at; who calls has any.
static void test_reload_ports(void **state)
{
	struct sockaddr_in address;
	socklen_t length = sizeof(address);
	char acl[64];
	int fd;

	(void)state;
	tcp_begin(&a, LOCAL);
	fd = peer_connect(&a);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
	snprintf(acl, sizeof(acl), "{\"local\": true, \"deny_ports\": [%u]}",
		ntohs(address.sin_port));
	assert_int_equal(tcp_reload(&a, LOCAL, acl), TAPI_OK);
	node_run(&a, 3);
	assert_int_equal(a.n_downs, 0);
	close(fd);
	node_end(&a, donetransport_tcp);
}

// TA17: another port, the same sessions; a port that is taken leaves all as it was.
static void test_reload_port(void **state)
{
	uint16_t taken = 0, first, second;
	const int other = raw_listen(&taken, 1);
	char keys[128];
	int fd;

	(void)state;
	tcp_begin(&a, LOCAL);
	first = node_port(&a, 4);
	fd = peer_connect(&a);
	assert_int_equal(a.api->associate(a.api, a.messages[0].session), TAPI_OK);

	snprintf(keys, sizeof(keys), "\"bind\": [\"127.0.0.1:%u\"], \"cost\": 7", taken);
	assert_int_equal(tcp_reload(&a, keys, NULL), TAPI_ECONF);
	assert_non_null(strstr(a.logged, tcp_url(taken)));
	assert_int_equal(node_port(&a, 4), first);
	assert_int_equal(a.api->cost, 200);
	close(peer_connect(&a));

	close(other);
	assert_int_equal(tcp_reload(&a, keys, NULL), TAPI_OK);
	second = node_port(&a, 4);
	assert_int_equal(second, taken);
	assert_int_equal(a.api->cost, 7);
	assert_true(tcp_refused(first));
	close(peer_connect(&a));
	assert_int_equal(node_send(&a, a.messages[0].session, 's', 3), TAPI_OK);

	// from one address to all, on the same port: the old one has to make place
	snprintf(keys, sizeof(keys), "\"port\": %u, \"ipv6\": false", second);
	assert_int_equal(tcp_reload(&a, keys, NULL), TAPI_OK);
	assert_int_equal(node_port(&a, 4), second);
	close(peer_connect(&a));
	// and back, together with one that is taken: refused, and it still listens
	taken = 0;
	const int third = raw_listen(&taken, 1);

	snprintf(keys, sizeof(keys), "\"bind\": [\"127.0.0.1:%u\", \"127.0.0.1:%u\"]", second,
		taken);
	assert_int_equal(tcp_reload(&a, keys, NULL), TAPI_ECONF);
	assert_int_equal(node_port(&a, 4), second);
	close(peer_connect(&a));
	assert_int_equal(node_send(&a, a.messages[0].session, 's', 3), TAPI_OK);
	for (unsigned i = 0; i < a.n_downs; i++)
		assert_ptr_not_equal(a.downs[i].session, a.messages[0].session);
	close(third);
	close(fd);
	node_end(&a, donetransport_tcp);
}

static void test_reload_wrong(void **state)
{
	static const struct {
		const char *keys, *said;
	} rows[] = {
		{"\"prot\": 1", "prot"},
		{"\"port\": 65536", "port"},
		{"\"cost\": 0", "cost"},
		{"\"bind\": [\"name\"]", "tcp.bind"},
		{"\"bind\": [\"127.0.0.1:0\"]", "tcp.bind"},
		{"\"advertise\": [\"name\"]", "tcp.advertise"},
		{"\"advertise\": [\"0.0.0.0:1\"]", "tcp.advertise"},
		{"\"bind\": [\"127.0.0.1\"], \"advertise\": [\"2001:db8::1\"]", "tcp.advertise"},
		{"\"max_sessions\": 0", "max_sessions"},
	};

	(void)state;
	tcp_begin(&a, LOCAL);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		a.logged[0] = '\0';
		if (tcp_reload(&a, rows[i].keys, NULL) != TAPI_ECONF)
			fail_msg("taken: %s", rows[i].keys);
		if (!strstr(a.logged, rows[i].said))
			fail_msg("%s: %s", rows[i].keys, a.logged);
	}
	close(peer_connect(&a));
	node_end(&a, donetransport_tcp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reload_denies),
		cmocka_unit_test(test_reload_ports),
		cmocka_unit_test(test_reload_port),
		cmocka_unit_test(test_reload_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
