// SPDX-License-Identifier: BSD-3-Clause
// Protocols that begin as another one does: each is held against the one that it could be taken
// for, whole and in every two pieces.
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "lib/classify/classify_rig.h"

static struct rig *rig;

// NATS (docs.nats.io, client protocol): CONNECT, and JSON where HTTP has a host and a port.
static void test_nats(void **state)
{
	static const char info[] =
		"INFO {\"server_id\":\"A\",\"version\":\"2.10.1\",\"proto\":1,\"host\":\"::\"}\r\n";
	static const char session[] =
		"CONNECT "
		"{\"verbose\":false,\"pedantic\":false,\"tls_required\":false,\"name\":\"\","
		"\"lang\":\"go\",\"version\":\"1.2.2\",\"protocol\":1,\"h\":\"a.example:443\"}\r\n"
		"PING\r\nPUB a.b 5\r\nhello\r\n";
	static const char blank[] = "CONNECT { \"verbose\": false, \"echo\": true }\r\nPING\r\n";
	const size_t n = sizeof(session) - 1;

	(void)state;
	for (size_t cut = 1; cut < n; cut++) {
		struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 4222);

		if (cut & 1)
			rig_feed(&flow, HALF_S2C, LITERAL(info));
		rig_feed(&flow, HALF_C2S, session, cut);
		assert_string_equal(rig_app(&flow), "");
		rig_feed(&flow, HALF_C2S, session + cut, n - cut);
		assert_string_equal(rig_app(&flow), "");
		rig_end(&flow);
	}
	for (size_t cut = 1; cut < sizeof(blank); cut++)
		assert_string_equal(rig_first(rig, IPPROTO_TCP, HALF_C2S, blank, cut), "");
}

// A tunnel through a proxy stays HTTP, of whatever form its host is, also while its line grows.
static void test_tunnel(void **state)
{
	static const char *const hosts[] = {"a-very-long-name-of-a-host.under.a-domain.example:443",
		"[2001:db8:1234:5678:9abc:def0:1234:5678%25eth0-of-a-router]:8443",
		"user:pass@192.0.2.7:65535-and-what-some-clients-append-to-it"};
	char request[128] = "CONNECT ";

	(void)state;
	for (unsigned i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		size_t n = strlen(hosts[i]), whole;

		memcpy(request + 8, hosts[i], n);
		memcpy(request + 8 + n, LITERAL(" HTTP/1.1\r\nHost: a\r\n\r\n"));
		whole = 8 + n + sizeof(" HTTP/1.1\r\nHost: a\r\n\r\n") - 1;
		assert_string_equal(rig_first(rig, IPPROTO_TCP, HALF_C2S, request, 68), "http");
		rig_cuts(rig, IPPROTO_TCP, HALF_C2S, request, whole, "http");
	}
}

// Skype's login (Baset and Schulzrinne, 2006): two heads of records, which TLS has, too.
#define EMPTY(type) type "\x03\x01\0\0"
#define ASKS        EMPTY("\x16")
#define ANSWERS     EMPTY("\x17")
static const char *login_after(const char *client, size_t n_client, size_t cut, const char *server,
	size_t n_server, int *confidence)
{
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 443);

	rig_feed(&flow, HALF_C2S, client, cut);
	if (cut < n_client)
		rig_feed(&flow, HALF_C2S, client + cut, n_client - cut);
	assert_string_not_equal(rig_app(&flow), "skype");
	for (size_t i = 0; i < n_server; i++)
		rig_feed(&flow, HALF_S2C, server + i, 1);
	rig_end(&flow);
	*confidence = flow.verdict.confidence;
	return rig_app(&flow);
}

static void test_skype_login(void **state)
{
	static const struct {
		const char *client, *server;
		uint8_t n_client, n_server;
		const char *app;
	} cases[] = {
#define LOGIN(client, server, app) {client, server, sizeof(client) - 1, sizeof(server) - 1, app}
		LOGIN(ASKS, ANSWERS, "skype"),
		LOGIN(ASKS, ANSWERS ANSWERS, "skype"),
		LOGIN(ASKS "\x16\x03\x01\0\xcd\x41", ANSWERS, "skype"),
		LOGIN(ASKS "\x16\x03\x01\0\xcd", ANSWERS, "skype"),
		LOGIN(ASKS, "\x17\x03\x01\0", ""),
		LOGIN("\x16\x03\x01\0", ANSWERS, ""),
		LOGIN(ASKS, ASKS, "tls"),
		LOGIN(ASKS, EMPTY("\x15"), "tls"),
		LOGIN(ASKS, "\x17\x03\x01\0\x01", "tls"),
		LOGIN(ANSWERS, ANSWERS, "tls"),
		LOGIN(ANSWERS, ASKS, "tls"),
		LOGIN("\x16\x03\x00\0\0", "\x17\x03\x00\0\0", "tls"),
		LOGIN(ASKS "\x16\x03\x01\0\x31\x01\0\0\x2d\x03\x01", ANSWERS, "tls"),
		LOGIN(ASKS ASKS, ANSWERS, "tls"),
		LOGIN("\x16\x03\x01\x01\0", ANSWERS, "tls"),
	};
	int confidence;

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (size_t cut = 1; cut <= cases[i].n_client; cut++) {
			assert_string_equal(
				login_after(cases[i].client, cases[i].n_client, cut,
					cases[i].server, cases[i].n_server, &confidence),
				cases[i].app);
			if (!strcmp(cases[i].app, "skype"))
				assert_int_equal(confidence, CONFIDENCE_VERIFIED);
		}
	// nobody answers, or nobody asks
	assert_string_equal(rig_first(rig, IPPROTO_TCP, HALF_C2S, LITERAL(ASKS)), "");
	assert_string_equal(rig_first(rig, IPPROTO_TCP, HALF_S2C, LITERAL(ANSWERS)), "");
}

static int setup(void **state)
{
	(void)state;
	rig = rig_new();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rig_free(rig);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nats),
		cmocka_unit_test(test_tunnel),
		cmocka_unit_test(test_skype_login),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
