// SPDX-License-Identifier: BSD-3-Clause
// User-defined applications in the classifier: names in ClientHellos and requests, however they are
// cut; patterns; ports; and who wins where several are found.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <cmocka.h>
#include "lib/classify/classify_rig.h"
#include "classify/names/host_name.h"
#include "classify/user_apps.h"

static uint16_t own(unsigned n)
{
	return (uint16_t)(app_count() + n);
}

#define WIKI own(1)
#define CRM  own(2)

// wiki: wiki.example. crm: a pattern (CRM/1), crm.example, a port.
static struct rig *shared; // compiled once

static void rig_leave(struct rig *rig)
{
	assert_int_equal(
		classifier_states_free(rig->classifier), classifier_states_max(rig->classifier));
}

static struct rig *rig_with_users(void)
{
	if (shared) {
		shared->work = (struct classify_work){0};
		return shared;
	}
	struct rig *rig = shared = rig_new();
	struct user_apps *user = user_apps_new();
	const struct signature signatures[] = {
		{.id = "crm/1",
			.app = CRM,
			.l4 = IPPROTO_TCP,
			.halves = 1 << HALF_C2S,
			.confidence = CONFIDENCE_DPI,
			.pattern = "^CRM/[0-9]",
			.min_length = 6},
		{.id = "crm/2",
			.app = CRM,
			.l4 = IPPROTO_UDP,
			.halves = 3,
			.confidence = CONFIDENCE_DPI,
			.pattern = "^crm!",
			.caseless = true,
			.rank = 1},
		{.id = "crm/3",
			.app = CRM,
			.l4 = IPPROTO_TCP,
			.halves = 1 << HALF_C2S,
			.confidence = CONFIDENCE_DPI,
			.pattern = "X-Crm: 1",
			.rank = 2},
	};

	user_apps_add(user, WIKI);
	user_apps_add(user, CRM);
	assert_int_equal(user_apps_add_host(user, WIKI, "wiki.example"), 0);
	assert_int_equal(user_apps_add_host(user, CRM, "crm.example"), 0);
	assert_int_equal(user_apps_add_ports(user, CRM, IPPROTO_TCP, 6000, 6063), 0);
	assert_int_equal(user_apps_add_ports(user, WIKI, IPPROTO_TCP, 443, 443), 0);
	rig_user_take(rig, user, signatures, 3);
	return rig;
}

struct hello {
	uint8_t bytes[1024];
	size_t length;
};

static void put(struct hello *hello, const void *bytes, size_t length)
{
	assert_true(hello->length + length <= sizeof(hello->bytes));
	memcpy(hello->bytes + hello->length, bytes, length);
	hello->length += length;
}

static void put16(struct hello *hello, size_t value)
{
	put(hello, (uint8_t[]){(uint8_t)(value >> 8), (uint8_t)value}, 2);
}

// A ClientHello with a few extensions; `name` NULL: without a server name.
static struct hello hello_of(const char *name)
{
	struct hello body = {0}, hello = {0};
	struct hello extensions = {0};
	size_t n = name ? strlen(name) : 0;

	put16(&extensions, 0x0a0a); // GREASE
	put16(&extensions, 0);
	put16(&extensions, 43); // supported versions
	put16(&extensions, 3);
	put(&extensions, "\2\3\4", 3);
	if (name) {
		put16(&extensions, 0);
		put16(&extensions, n + 5);
		put16(&extensions, n + 3);
		put(&extensions, "", 1);
		put16(&extensions, n);
		put(&extensions, name, n);
	}
	put16(&extensions, 16); // ALPN
	put16(&extensions, 5);
	put(&extensions, "\0\3\2h2", 5);

	put16(&body, 0x0303);
	put(&body, "0123456789abcdef0123456789abcdef", 32);
	put(&body,
		"\x20"
		"0123456789abcdef0123456789abcdef",
		33);
	put(&body, "\0\4\x13\1\x13\2\1\0", 8);
	put16(&body, extensions.length);
	put(&body, extensions.bytes, extensions.length);

	put(&hello, "\1\0", 2);
	put16(&hello, body.length);
	put(&hello, body.bytes, body.length);
	return hello;
}

// As records of at most `most` bytes.
static struct hello records_of(const struct hello *message, size_t most)
{
	struct hello records = {0};

	for (size_t at = 0; at < message->length; at += most) {
		size_t n = message->length - at < most ? message->length - at : most;

		put(&records, "\x16\3\1", 3);
		put16(&records, n);
		put(&records, message->bytes + at, n);
	}
	return records;
}

static struct hello client_hello(const char *name)
{
	const struct hello message = hello_of(name);

	return records_of(&message, 16384);
}

static uint16_t app_of_first(struct rig *rig, const void *bytes, size_t length)
{
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 443);

	rig_feed(&flow, HALF_C2S, bytes, length);
	rig_end(&flow);
	assert_int_equal(flow.verdict.confidence == CONFIDENCE_NONE, flow.verdict.app == APP_NONE);
	return flow.verdict.app;
}

static void a_name_in_tls(void **state)
{
	struct rig *rig = rig_with_users();
	static const struct {
		const char *name;
		bool wiki;
	} cases[] = {
		{"wiki.example", true},
		{"a.wiki.example", true},
		{"a.b.wiki.example", true},
		{"WIKI.Example", true},
		{"wiki.example.", true},
		{"badwiki.example", false},
		{"wiki.example.org", false},
		{"example", false},
		{"wiki.exampl", false},
		{".wiki.example", true}, // nobody's name, but it ends so
		{"", false},
		{NULL, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hello hello = client_hello(cases[i].name);
		struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 443);

		rig_feed(&flow, HALF_C2S, hello.bytes, hello.length);
		if (!cases[i].name || !*cases[i].name) { // the server may tell, but it is TLS 1.3
			assert_false(flow.verdict.final);
			rig_feed(
				&flow, HALF_S2C, LITERAL("\x16\3\3\0\6\2\0\0\2\3\3\x14\3\3\0\1\1"));
		}
		assert_true(flow.verdict.final); // nothing is awaited that will not come
		assert_int_equal(flow.verdict.n_data_pkts, 1);
		assert_int_equal(flow.verdict.app, cases[i].wiki ? WIKI : app_find("tls"));
		if (cases[i].wiki)
			assert_int_equal(flow.verdict.confidence, CONFIDENCE_DPI);
	}
	rig_leave(rig);
}

// Where the client asks for none, for an address, or by a hello of SSL 2, the server's certificate
// tells; where it asks for a name, that counts.
static void a_name_in_the_certificate(void **state)
{
	static const uint8_t answer[] = {0x16, 3, 3, 0, 92, 2, 0, 0, 38, 3, 3, [47] = 11, 0, 0, 46,
		0, 0, 43, 0, 0, 40, 0x30, 38, 0x30, 36, 2, 1, 1, 0x30, 0, 0x30, 0, 0x30, 0, 0x30,
		25, 0x31, 23, 0x30, 21, 6, 3, 0x55, 4, 3, 12, 14, '*', '.', 'w', 'i', 'k', 'i', '.',
		'e', 'x', 'a', 'm', 'p', 'l', 'e'};
	static const uint8_t ssl2[] = {0x80, 28, 1, 3, 1, 0, 3, 0, 0, 0, 16, 0, 0, 0x35, [29] = 1};
	struct rig *rig = rig_with_users();
	static const char *const names[] = {
		NULL, "192.0.2.1", "2001:db8::1", "other.example", "ssl2"};

	(void)state;
	assert_int_equal(sizeof(answer), 97);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct hello hello = client_hello(names[i]);

		for (size_t cut = 1; cut <= sizeof(answer); cut++) {
			struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 443);

			if (i == 4)
				rig_feed(&flow, HALF_C2S, ssl2, sizeof(ssl2));
			else
				rig_feed(&flow, HALF_C2S, hello.bytes, hello.length);
			assert_int_equal(flow.verdict.app, app_find("tls"));
			assert_int_equal(flow.verdict.final, i == 3);
			rig_feed(&flow, HALF_S2C, answer, cut);
			if (cut < sizeof(answer))
				rig_feed(&flow, HALF_S2C, answer + cut, sizeof(answer) - cut);
			assert_true(flow.verdict.final);
			assert_int_equal(flow.verdict.app, i == 3 ? app_find("tls") : WIKI);
			rig_end(&flow);
		}
	}
	// Of a flow that is seen from its server's side alone it tells, too; a client that is heard
	// late after all tells better.
	struct hello late = client_hello("crm.example");

	for (size_t cut = 1; cut < sizeof(answer); cut++) {
		struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 443), heard = flow;

		rig_feed(&flow, HALF_S2C, answer, cut);
		rig_feed(&flow, HALF_S2C, answer + cut, sizeof(answer) - cut);
		assert_int_equal(flow.verdict.app, WIKI);
		rig_end(&flow);
		rig_feed(&heard, HALF_S2C, answer, cut);
		rig_feed(&heard, HALF_C2S, late.bytes, late.length);
		assert_int_equal(heard.verdict.app, CRM);
		rig_end(&heard);
	}
	rig_leave(rig);
}

// In two segments, cut anywhere, and in records of any size: the same answer, and no other before.
static void a_hello_cut_anywhere(void **state)
{
	struct rig *rig = rig_with_users();
	const struct hello message = hello_of("www.crm.example");

	(void)state;
	for (size_t most = 1; most <= message.length; most++) {
		struct hello hello = {0};

		if (message.length / most * 5 + message.length + 5 > sizeof(hello.bytes))
			continue;
		hello = records_of(&message, most);
		assert_int_equal(app_of_first(rig, hello.bytes, hello.length), CRM);
	}
	struct hello hello = client_hello("www.crm.example");

	for (size_t cut = 1; cut < hello.length; cut++) {
		struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 443);

		rig_feed(&flow, HALF_C2S, hello.bytes, cut);
		if (flow.verdict.final)
			assert_int_equal(flow.verdict.app, CRM);
		rig_feed(&flow, HALF_C2S, hello.bytes + cut, hello.length - cut);
		assert_true(flow.verdict.final);
		assert_int_equal(flow.verdict.app, CRM);
		assert_int_equal(flow.state, CLASSIFY_NO_STATE);
	}
	rig_leave(rig);
}

// More segments than the budget has packets: the name is waited for, but not for ever.
static void a_hello_that_trickles_is_waited_for(void **state)
{
	struct rig *rig = rig_with_users();
	struct hello hello = client_hello("wiki.example");
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 4433);
	size_t at = 0;

	(void)state;
	assert_true(hello.length > 6 * (CLASSIFY_BUDGET_PKTS + 1));
	for (; at + 6 <= hello.length && !flow.verdict.final; at += 6)
		rig_feed(&flow, HALF_C2S, hello.bytes + at, 6);
	assert_true(flow.verdict.final);
	assert_true(flow.n_data_pkts > CLASSIFY_BUDGET_PKTS);
	assert_int_equal(flow.verdict.app, WIKI);
	flow = rig_flow(rig, IPPROTO_TCP, 40000, 4433);
	rig_feed(&flow, HALF_C2S, hello.bytes, 20);
	flow.n_data_pkts = UINT8_MAX - 1;
	rig_feed(&flow, HALF_C2S, hello.bytes + 20, 6);
	assert_true(flow.verdict.final);
	assert_int_equal(flow.verdict.app, app_find("tls"));
	rig_leave(rig);
}

// A hello that fills the prefix without its name coming: TLS, not a wait for the server.
static void a_name_beyond_the_prefix_is_not_awaited(void **state)
{
	struct rig *rig = rig_with_users();
	uint8_t bytes[CLASSIFY_PREFIX_BYTES] = {0x16, 3, 1, 0x40, 0, 1, 0, 0x3f, 0xfc, 3, 3};
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 443);

	(void)state;
	bytes[43] = 0;    // session id
	bytes[45] = 2;    // one suite
	bytes[48] = 1;    // one compression
	bytes[50] = 0x3f; // extensions
	bytes[51] = 0xd1;
	bytes[52] = 0xfa; // one of them, without end
	bytes[54] = 0x3f;
	rig_feed(&flow, HALF_C2S, bytes, 1000);
	assert_false(flow.verdict.final);
	assert_int_equal(flow.verdict.app, app_find("tls"));
	rig_feed(&flow, HALF_C2S, bytes + 1000, sizeof(bytes) - 1000);
	assert_true(flow.verdict.final);
	assert_int_equal(flow.verdict.app, app_find("tls"));
	rig_leave(rig);
}

static void a_gap_ends_the_wait(void **state)
{
	struct rig *rig = rig_with_users();
	struct hello hello = client_hello("wiki.example");
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 443);
	const struct span gap = {.offset64 = 80, .extent = 20, .half = HALF_C2S, .flags = SPAN_GAP};

	(void)state;
	rig_feed(&flow, HALF_C2S, hello.bytes, 80);
	assert_false(flow.verdict.final);
	rig_feed_span(&flow, gap);
	assert_true(flow.verdict.final);
	assert_int_equal(flow.verdict.app, app_find("tls"));
	rig_leave(rig);
}

static void a_name_in_http(void **state)
{
	struct rig *rig = rig_with_users();
	static const struct {
		const char *text;
		bool wiki;
	} cases[] = {
		{"GET / HTTP/1.1\r\nHost: wiki.example\r\n\r\n", true},
		{"GET / HTTP/1.1\r\nAccept: *\r\nhOST:wiki.example:8080\r\n\r\n", true},
		{"GET / HTTP/1.0\nHost: \t a.wiki.example. \t\n\n", true},
		{"PROPFIND /x HTTP/1.1\r\nHost: wiki.example\r\nDepth: 1\r\n\r\n", true},
		{"CONNECT wiki.example:443 HTTP/1.1\r\nHost: proxy\r\n\r\n", true},
		{"CONNECT proxy:443 HTTP/1.1\r\nHost: wiki.example\r\n\r\n", false},
		{"GET http://a.wiki.example/x HTTP/1.1\r\nHost: other\r\n\r\n", true},
		{"GET HTTP://user@wiki.example:80?q HTTP/1.1\r\nHost: other\r\n\r\n", true},
		{"GET http://other/wiki.example HTTP/1.1\r\nHost: wiki.example\r\n\r\n", false},
		{"GET /http://wiki.example/ HTTP/1.1\r\nHost: other\r\n\r\n", false},
		{"GET / HTTP/1.1\r\nHost: badwiki.example\r\n\r\n", false},
		{"GET / HTTP/1.1\r\nHost: [2001:db8::1]:80\r\n\r\n", false},
		{"GET / HTTP/1.1\r\nX-Host: wiki.example\r\n\r\n", false},
		{"GET / HTTP/1.1\r\nHost:\r\n\r\n", false},
		{"GET / HTTP/1.1\r\nAccept: *\r\n\r\nHost: wiki.example\r\n\r\n", false},
		{"\r\nGET / HTTP/1.1\r\nHost: wiki.example\r\n\r\n", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint16_t app = app_of_first(rig, cases[i].text, strlen(cases[i].text));

		if (cases[i].wiki)
			assert_int_equal(app, WIKI);
		else
			assert_int_not_equal(app, WIKI);
	}
	rig_leave(rig);
}

static void a_request_cut_anywhere(void **state)
{
	struct rig *rig = rig_with_users();
	static const char text[] = "GET / HTTP/1.1\r\nAccept: */*\r\nHost: wiki.example\r\n\r\n";

	(void)state;
	for (size_t cut = 1; cut < sizeof(text) - 1; cut++) {
		struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 80);

		rig_feed(&flow, HALF_C2S, text, cut);
		if (flow.verdict.final)
			assert_int_equal(flow.verdict.app, WIKI);
		rig_feed(&flow, HALF_C2S, text + cut, sizeof(text) - 1 - cut);
		assert_true(flow.verdict.final);
		assert_int_equal(flow.verdict.app, WIKI);
	}
	rig_leave(rig);
}

// The server's half does not tell what the client asks for.
static void only_the_client_is_asked(void **state)
{
	struct rig *rig = rig_with_users();
	struct hello hello = client_hello("wiki.example");
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 443);

	(void)state;
	rig_feed(&flow, HALF_S2C, hello.bytes, hello.length);
	assert_int_not_equal(flow.verdict.app, WIKI);
	rig_end(&flow);
	// midstream either half may be the client's
	flow = rig_flow(rig, IPPROTO_TCP, 443, 40000);
	flow.midstream = true;
	rig_feed(&flow, HALF_S2C, hello.bytes, hello.length);
	assert_int_equal(flow.verdict.app, WIKI);
	rig_end(&flow);
	rig_leave(rig);
}

static void patterns(void **state)
{
	struct rig *rig = rig_with_users();
	struct rig_flow udp = rig_flow(rig, IPPROTO_UDP, 40000, 9000);
	struct rig_flow back = rig_flow(rig, IPPROTO_TCP, 40000, 9000);

	(void)state;
	assert_int_equal(app_of_first(rig, LITERAL("CRM/1 hello")), CRM);
	assert_int_not_equal(app_of_first(rig, LITERAL("CRM/1")), CRM); // min_length
	assert_int_not_equal(app_of_first(rig, LITERAL("crm/1 hello")), CRM);
	rig_feed(&back, HALF_S2C, LITERAL("CRM/1 hello")); // to_server only
	assert_int_equal(back.verdict.app, APP_NONE);
	rig_end(&back);
	rig_feed(&udp, HALF_S2C, LITERAL("CRM!x"));
	assert_int_equal(udp.verdict.app, CRM);
	assert_int_equal(udp.verdict.signature, SIGNATURE_USER_FIRST + 1);
	assert_string_equal(sigdb_get(rig->db, udp.verdict.signature)->id, "crm/2");
	assert_null(sigdb_get(rig->db, SIGNATURE_USER_FIRST + 3));
	assert_null(sigdb_get(rig->db, sigdb_count(rig->db)));
	assert_int_equal(sigdb_user_count(rig->db), 3);
	rig_leave(rig);
}

// Both are found in one request: the one that stands first in the document.
static void ties_by_order(void **state)
{
	struct rig *rig = rig_with_users();

	(void)state;
	assert_int_equal(
		app_of_first(
			rig, LITERAL("GET / HTTP/1.1\r\nHost: wiki.example\r\nX-Crm: 1\r\n\r\n")),
		WIKI);
	assert_int_equal(
		app_of_first(rig, LITERAL("GET / HTTP/1.1\r\nHost: other\r\nX-Crm: 1\r\n\r\n")),
		CRM);
	rig_leave(rig);
}

static void ports_are_guesses(void **state)
{
	struct rig *rig = rig_with_users();
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 6063);
	struct rig_flow beats = rig_flow(rig, IPPROTO_TCP, 40000, 443);

	(void)state;
	for (unsigned i = 0; i < CLASSIFY_BUDGET_PKTS; i++) {
		assert_int_equal(flow.verdict.app, APP_NONE);
		rig_feed(&flow, HALF_C2S, LITERAL("\x01\x02\x03\x04 nothing known"));
		rig_feed(&beats, HALF_C2S, LITERAL("\x01\x02\x03\x04 nothing known"));
	}
	assert_int_equal(flow.verdict.app, CRM);
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_PORT);
	assert_int_equal(beats.verdict.app, WIKI); // not tls, whose port it is, too
	assert_int_equal(beats.verdict.confidence, CONFIDENCE_PORT);
	rig_leave(rig);
}

// Known by its network: that it is TLS says less, that it is BitTorrent says more.
static void networks_stand_above_carriers_only(void **state)
{
	struct rig *rig = rig_with_users();
	static const char torrent[] = "\x13"
				      "BitTorrent protocol\0\0\0\0\0\0\0\0"
				      "0123456789abcdefghij-TR3000-0123456789ab";
	struct hello hello = client_hello("other.example"), crm = client_hello("crm.example");
	struct rig_flow flow;

	(void)state;
	flow = rig_flow(rig, IPPROTO_TCP, 40000, 443);
	flow.verdict.app = WIKI;
	flow.verdict.confidence = CONFIDENCE_IP;
	flow.verdict.signature = UINT16_MAX;
	struct rig_flow p2p = flow, named = flow;

	rig_feed(&flow, HALF_C2S, hello.bytes, hello.length);
	assert_true(flow.verdict.final); // TLS: nothing better will come
	assert_int_equal(flow.verdict.app, WIKI);
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_IP);
	assert_int_equal(flow.verdict.carrier, app_find("tls"));
	assert_true(flow.verdict.carrier_confidence >= CONFIDENCE_DPI);
	assert_false(flow.verdict.gaveup);

	rig_feed(&p2p, HALF_C2S, torrent, sizeof(torrent) - 1);
	assert_int_equal(p2p.verdict.app, app_find("bittorrent"));
	assert_int_equal(p2p.verdict.carrier, APP_NONE);

	rig_feed(&named, HALF_C2S, crm.bytes, crm.length);
	assert_int_equal(named.verdict.app, CRM);
	assert_int_equal(named.verdict.confidence, CONFIDENCE_DPI);
	assert_int_equal(named.verdict.carrier, app_find("tls"));
	rig_leave(rig);
}

static void the_step_tells_the_name(void **state)
{
	struct rig *rig = rig_with_users();
	struct hello hello = client_hello("a-rather-long-name.wiki.example");
	bool told = false;

	(void)state;
	app_of_first(rig, hello.bytes, hello.length);
	for (unsigned i = 0; i < rig->work.n_steps; i++) {
		const struct classify_step *step = &rig->work.steps[i];

		if (step->kind != CLASSIFY_STEP_HOST)
			continue;
		told = true;
		assert_int_equal(step->app, WIKI);
		assert_int_equal(step->confidence, CONFIDENCE_DPI);
		assert_int_equal(step->looked_at, strlen("a-rather-long-name.wiki.example"));
		assert_int_equal(step->n_bytes, CLASSIFY_STEP_BYTES);
		assert_memory_equal(step->bytes, "ame.wiki.example", CLASSIFY_STEP_BYTES);
	}
	assert_true(told);
	rig_leave(rig);
}

// Whatever the bytes, no byte beyond them is read, and a name is within its bounds.
static void garbage_has_no_name(void **state)
{
	struct hello hello = client_hello("wiki.example");
	struct host_name name;

	(void)state;
	srandom(7);
	for (unsigned round = 0; round < 20000; round++) {
		size_t length = (size_t)random() % (hello.length + 1);
		uint8_t *exact = malloc(length ? length : 1);

		assert_non_null(exact);
		memcpy(exact, hello.bytes, length);
		for (unsigned i = 0; length && i < round % 8; i++)
			exact[(size_t)random() % length] = (uint8_t)random();
		name.length = 0;
		if (host_name_find(exact, (uint32_t)length, &name) == HOST_FOUND)
			assert_true(name.length > 0);
		free(exact);
	}
}

static int tear_down(void **state)
{
	(void)state;
	rig_free(shared);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_in_tls),
		cmocka_unit_test(a_hello_cut_anywhere),
		cmocka_unit_test(a_hello_that_trickles_is_waited_for),
		cmocka_unit_test(a_name_in_the_certificate),
		cmocka_unit_test(a_name_beyond_the_prefix_is_not_awaited),
		cmocka_unit_test(a_gap_ends_the_wait),
		cmocka_unit_test(a_name_in_http),
		cmocka_unit_test(a_request_cut_anywhere),
		cmocka_unit_test(only_the_client_is_asked),
		cmocka_unit_test(patterns),
		cmocka_unit_test(ties_by_order),
		cmocka_unit_test(ports_are_guesses),
		cmocka_unit_test(networks_stand_above_carriers_only),
		cmocka_unit_test(the_step_tells_the_name),
		cmocka_unit_test(garbage_has_no_name),
	};

	return cmocka_run_group_tests(tests, NULL, tear_down);
}
