// SPDX-License-Identifier: BSD-3-Clause
// Addresses on the wire, as text and as the system has them: one form each, and what is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "transportapi/base/inet_address.h"

static const struct {
	const char *text;
	bool has_port;
	uint8_t length, wire[TAPI_INET_WIRE_BYTES_MAX];
} good[] = {
	{"udp://192.0.2.1:2086", true, 6, {192, 0, 2, 1, 0x08, 0x26}},
	{"udp://255.255.255.255:65535", true, 6, {255, 255, 255, 255, 0xff, 0xff}},
	{"udp://[2001:db8::1]:1", true, 18, {0x20, 0x01, 0x0d, 0xb8, [15] = 1, [16] = 0, [17] = 1}},
	{"udp://192.0.2.1", false, 4, {192, 0, 2, 1}},
	{"udp://[2001:db8::1]", false, 16, {0x20, 0x01, 0x0d, 0xb8, [15] = 1}},
};

static void test_forms(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct tapi_source parsed, decoded, back;
		struct sockaddr_storage system;
		uint8_t wire[TAPI_INET_WIRE_BYTES_MAX];
		char text[TAPI_TEXT_BYTES];
		socklen_t length;

		assert_int_equal(
			tapi_inet_parse(&parsed, good[i].text, "udp", good[i].has_port), TAPI_OK);
		assert_int_equal(tapi_inet_encode(wire, &parsed, good[i].has_port), good[i].length);
		assert_memory_equal(wire, good[i].wire, good[i].length);
		assert_int_equal(tapi_inet_decode(&decoded, wire, good[i].length, good[i].has_port),
			TAPI_OK);
		assert_true(tapi_inet_equal(&parsed, &decoded));
		assert_int_equal(
			tapi_inet_print(text, sizeof(text), "udp", &decoded, good[i].has_port),
			TAPI_OK);
		assert_string_equal(text, good[i].text);
		length = tapi_inet_to_sockaddr(&system, &decoded);
		assert_true(
			tapi_inet_from_sockaddr(&back, (const struct sockaddr *)&system, length));
		assert_true(tapi_inet_equal(&back, &decoded));
		assert_false(tapi_inet_from_sockaddr(
			&back, (const struct sockaddr *)&system, length - 1));
		// one octet of room too few
		assert_int_equal(tapi_inet_print(text, strlen(good[i].text), "udp", &decoded,
					 good[i].has_port),
			TAPI_EADDR);
	}
}

static void test_other_spellings(void **state)
{
	struct tapi_source address;
	char text[TAPI_TEXT_BYTES];

	(void)state;
	assert_int_equal(
		tapi_inet_parse(&address, "tcp://[2001:DB8:0:0::0:1]:2086", "tcp", true), TAPI_OK);
	assert_int_equal(tapi_inet_print(text, sizeof(text), "tcp", &address, true), TAPI_OK);
	assert_string_equal(text, "tcp://[2001:db8::1]:2086");
}

static void test_refused_text(void **state)
{
	static const char *const bad[] = {"", "udp", "udp:", "udp://", "udp://:2086",
		"tcp://192.0.2.1:2086", "UDP://192.0.2.1:2086", " udp://192.0.2.1:2086",
		"udp://192.0.2.1", "udp://192.0.2.1:", "udp://192.0.2.1:0", "udp://192.0.2.1:00",
		"udp://192.0.2.1:02086", "udp://192.0.2.1:65536", "udp://192.0.2.1:100000",
		"udp://192.0.2.1:4294967297", "udp://192.0.2.1:-1", "udp://192.0.2.1:+1",
		"udp://192.0.2.1: 1", "udp://192.0.2.1:1 ", "udp://192.0.2.1:1/",
		"udp://192.0.2.1:1:1", "udp://192.0.2:1", "udp://192.0.2.256:1",
		"udp://192.0.2.01:1", "udp://0xc0.0.2.1:1", "udp://host:1", "udp://[192.0.2.1]:1",
		"udp://2001:db8::1:1", "udp://[2001:db8::1]", "udp://[2001:db8::1]1",
		"udp://[2001:db8::1:1", "udp://[2001:db8::g]:1", "udp://[]:1", "udp://[fe80::1]:1",
		"udp://[fe80::1%eth0]:1", "udp://[2001:db8::1%1]:1", "udp://[::ffff:192.0.2.1]:1",
		"udp://[2001:0db8:0000:0000:0000:0000:0000:0000:0000:0001]:1"};
	struct tapi_source address;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (tapi_inet_parse(&address, bad[i], "udp", true) != TAPI_EADDR)
			fail_msg("taken: %s", bad[i]);
	assert_int_equal(tapi_inet_parse(&address, "ip://192.0.2.1:1", "ip", false), TAPI_EADDR);
	assert_int_equal(tapi_inet_parse(&address, "ip://2001:db8::1", "ip", false), TAPI_EADDR);
}

static void test_refused_wire(void **state)
{
	static const uint8_t mapped[18] = {[10] = 0xff, [11] = 0xff, 192, 0, 2, 1, 0, 1};
	static const uint8_t scoped[18] = {0xfe, 0xbf, [15] = 1, [17] = 1};
	static const uint8_t no_port[6] = {192, 0, 2, 1, 0, 0};
	struct tapi_source address;

	(void)state;
	for (size_t n = 0; n <= TAPI_ADDRESS_BYTES; n++) {
		uint8_t *exact = malloc(n ? n : 1); // to see a read beyond it

		assert_non_null(exact);
		memset(exact, 7, n);
		assert_int_equal(tapi_inet_decode(&address, exact, n, true),
			n == 6 || n == 18 ? TAPI_OK : TAPI_EADDR);
		assert_int_equal(tapi_inet_decode(&address, exact, n, false),
			n == 4 || n == 16 ? TAPI_OK : TAPI_EADDR);
		free(exact);
	}
	assert_int_equal(tapi_inet_decode(&address, mapped, 18, true), TAPI_EADDR);
	assert_int_equal(tapi_inet_decode(&address, mapped, 16, false), TAPI_EADDR);
	assert_int_equal(tapi_inet_decode(&address, scoped, 18, true), TAPI_EADDR);
	assert_int_equal(tapi_inet_decode(&address, scoped, 16, false), TAPI_EADDR);
	assert_int_equal(tapi_inet_decode(&address, no_port, 6, true), TAPI_EADDR);
}

static void test_no_family(void **state)
{
	const struct tapi_source none = {.port = 1};
	struct sockaddr_storage system = {.ss_family = AF_UNIX};
	uint8_t wire[TAPI_INET_WIRE_BYTES_MAX];
	struct tapi_source address;
	char text[TAPI_TEXT_BYTES];

	(void)state;
	assert_int_equal(tapi_inet_encode(wire, &none, true), 0);
	assert_int_equal(tapi_inet_print(text, sizeof(text), "udp", &none, true), TAPI_EADDR);
	assert_false(tapi_inet_from_sockaddr(
		&address, (const struct sockaddr *)&system, sizeof(system)));
	assert_int_equal(tapi_inet_to_sockaddr(&system, &none), 0);
}

// What accept() says of an IPv4 peer on a socket of both is the IPv4 address: one peer, one source.
static void test_mapped_peer(void **state)
{
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(9)};
	struct sockaddr_storage system;
	struct tapi_source address, same;

	(void)state;
	inet_pton(AF_INET6, "::ffff:192.0.2.1", &in6.sin6_addr);
	memcpy(&system, &in6, sizeof(in6));
	assert_true(
		tapi_inet_from_sockaddr(&address, (const struct sockaddr *)&system, sizeof(in6)));
	assert_int_equal(tapi_inet_parse(&same, "tcp://192.0.2.1:9", "tcp", true), TAPI_OK);
	assert_memory_equal(&address, &same, sizeof(same));
}

static void test_endpoints(void **state)
{
	static const struct {
		const char *text;
		uint8_t family; // 0: refused
		uint16_t port;
	} rows[] = {
		{"192.0.2.1", 4, 7},
		{"192.0.2.1:4000", 4, 4000},
		{"2001:db8::1", 6, 7},
		{"::", 6, 7},
		{"[::]", 6, 7},
		{"[2001:db8::1]:4000", 6, 4000},
		{"", 0, 0},
		{":4000", 0, 0},
		{"192.0.2.1:", 0, 0},
		{"192.0.2.1:70000", 0, 0},
		{"[2001:db8::1", 0, 0},
		{"[2001:db8::1]x", 0, 0},
		{"::ffff:192.0.2.1", 0, 0},
		{"fe80::1", 0, 0},
		{"name", 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tapi_source address;

		assert_int_equal(tapi_inet_parse_endpoint(&address, rows[i].text, 7),
			rows[i].family ? TAPI_OK : TAPI_EADDR);
		if (!rows[i].family)
			continue;
		assert_int_equal(address.family, rows[i].family);
		assert_int_equal(address.port, rows[i].port);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_other_spellings),
		cmocka_unit_test(test_refused_text),
		cmocka_unit_test(test_refused_wire),
		cmocka_unit_test(test_no_family),
		cmocka_unit_test(test_mapped_peer),
		cmocka_unit_test(test_endpoints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
