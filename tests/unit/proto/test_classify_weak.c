// SPDX-License-Identifier: BSD-3-Clause
// What a packet alone does not prove, because chance makes so much of it once in a few million
// flows: it is a hint, or nothing, until a second one agrees.
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "lib/classify/classify_rig.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct rig *rig;

struct said {
	unsigned half;
	const char *bytes;
	size_t length;
};
#define CLIENT(text)                             \
	{                                        \
		HALF_C2S, text, sizeof(text) - 1 \
	}
#define SERVER(text)                             \
	{                                        \
		HALF_S2C, text, sizeof(text) - 1 \
	}

struct row {
	const char *what;
	uint16_t port;
	struct said said[3];
	const char *app; // "": unknown, or by its port
	uint8_t confidence;
};

static void holds(uint8_t l4, const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct row *row = &rows[i];
		struct rig_flow flow = rig_flow(rig, l4, 40000, row->port);

		for (unsigned j = 0; j < COUNT(row->said) && row->said[j].bytes; j++)
			rig_feed(&flow, row->said[j].half, row->said[j].bytes, row->said[j].length);
		if (strcmp(rig_app(&flow), row->app))
			fail_msg("%s: '%s'", row->what, rig_app(&flow));
		if (*row->app && flow.verdict.confidence != row->confidence)
			fail_msg("%s: %s", row->what,
				confidence_word((enum confidence)flow.verdict.confidence));
		rig_end(&flow);
	}
}

static void test_socks(void **state)
{
	static const struct row rows[] = {
		{"chosen", 1080, {CLIENT("\5\1\0"), SERVER("\5\0")}, "socks", CONFIDENCE_PARTIAL},
		{"and asked", 1080,
			{CLIENT("\5\1\0"), SERVER("\5\0"), CLIENT("\5\1\0\1\xc0\0\2\1\0\x50")},
			"socks", CONFIDENCE_VERIFIED},
		{"and asked for nothing", 1080,
			{CLIENT("\5\1\0"), SERVER("\5\0"), CLIENT("\5\4\0\1\xc0\0\2\1\0\x50")},
			"socks", CONFIDENCE_PARTIAL},
		{"to no kind of address", 1080,
			{CLIENT("\5\1\0"), SERVER("\5\0"), CLIENT("\5\1\0\2\xc0\0\2\1\0\x50")},
			"socks", CONFIDENCE_PARTIAL},
		{"who says more than its choice", 1080, {CLIENT("\5\1\0"), SERVER("\5\0\7")}, "",
			0},
		{"a password is to come", 1080, {CLIENT("\5\1\2"), SERVER("\5\2")}, "socks",
			CONFIDENCE_PARTIAL},
		{"a password", 1080, {CLIENT("\5\1\2"), SERVER("\5\2"), CLIENT("\1\1a\1b")},
			"socks", CONFIDENCE_VERIFIED},
		{"none", 1080, {CLIENT("\5\1\2"), SERVER("\5\2"), CLIENT("\2\1a\1b")}, "socks",
			CONFIDENCE_PARTIAL},
		{"a method that nobody has", 1080,
			{CLIENT("\5\1\x40"), SERVER("\5\x40"), CLIENT("\1\1")}, "socks",
			CONFIDENCE_PARTIAL},
		{"a private one", 1080, {CLIENT("\5\1\x80"), SERVER("\5\x80"), CLIENT("\1\1")},
			"socks", CONFIDENCE_PARTIAL},
		{"no method will do", 1080, {CLIENT("\5\1\2"), SERVER("\5\xff")}, "socks",
			CONFIDENCE_DPI},
		{"and more", 1080, {CLIENT("\5\1\2"), SERVER("\5\xff\0")}, "", 0},
	};

	(void)state;
	holds(IPPROTO_TCP, rows, COUNT(rows));
}

// Mail and FTP inside TLS are known by their port, once it is TLS.
static void test_inside_tls(void **state)
{
#define HELLO "\1\0\x01\xfc\3\3abcdefghijkl"
	static const struct row rows[] = {
		{"a hello", 995, {CLIENT("\x16\3\1\2\0" HELLO)}, "pop3", CONFIDENCE_DPI},
		{"its first octet", 995, {CLIENT("\x16\3\1\2\0\1")}, "pop3", CONFIDENCE_PARTIAL},
		{"a record's head", 995, {CLIENT("\x16\3\1\2\0")}, "tls", CONFIDENCE_PARTIAL},
		{"of another kind", 995, {CLIENT("\x16\3\1\2\0\3\0\1\xfc\3\3abc")}, "tls",
			CONFIDENCE_PARTIAL},
		{"no hello is so long", 993, {CLIENT("\x16\3\1\2\0\1\2\1\xfc\3\3abc")}, "tls",
			CONFIDENCE_PARTIAL},
		{"of another version and length", 990, {CLIENT("\x16\3\1\2\0\1\0\1\xff\x10\3abc")},
			"ftp", CONFIDENCE_PARTIAL},
		{"of another version", 990, {CLIENT("\x16\3\1\0\x10\1\0\0\xc\x10\3abcdefghij")},
			"ftp", CONFIDENCE_DPI},
		{"in pieces", 990, {CLIENT("\x16\3\1\0\3\1\0\1\x16\3\1\0\6\xfc\3\3abc")}, "ftp",
			CONFIDENCE_DPI},
		{"an alert", 990, {CLIENT("\x15\3\1\0\2\2\x28")}, "ftp", CONFIDENCE_DPI},
		{"none", 990, {CLIENT("\x15\3\1\0\2\3\x28")}, "tls", CONFIDENCE_PARTIAL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, rows[i].port);
		bool is_mail = strcmp(rows[i].app, "tls") != 0;

		rig_feed(&flow, HALF_C2S, rows[i].said[0].bytes, rows[i].said[0].length);
		// what TLS makes of the others is tested elsewhere
		if (is_mail !=
			(!strcmp(rig_app(&flow), "pop3") || !strcmp(rig_app(&flow), "imap") ||
				!strcmp(rig_app(&flow), "ftp")))
			fail_msg("%s: '%s'", rows[i].what, rig_app(&flow));
		if (is_mail && flow.verdict.confidence != rows[i].confidence)
			fail_msg("%s: %u", rows[i].what, flow.verdict.confidence);
		rig_end(&flow);
	}
}

// Where the beginning was not seen: a record that ends with what is here, or another behind it.
static void test_amid_tls(void **state)
{
	static const struct {
		const char *bytes;
		size_t length;
		bool sure;
	} rows[] = {
		{LITERAL("\x17\3\3\0\4abcd"), true},
		{LITERAL("\x17\3\3\0\4abcd\x17\3\3\0\6ab"), true},
		{LITERAL("\x17\3\3\0\4abcd\x19\3\3\0\6ab"), false},
		{LITERAL("\x17\3\3\0\4abcde"), false},
		{LITERAL("\x17\3\3\0\x40"
			 "abcde"),
			false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 993);

		flow.midstream = true;
		rig_feed(&flow, HALF_C2S, rows[i].bytes, rows[i].length);
		assert_int_equal(!strcmp(rig_app(&flow), "imap") &&
					 flow.verdict.confidence == CONFIDENCE_DPI,
			rows[i].sure);
		rig_end(&flow);
	}
}

static void test_datagrams(void **state)
{
#define HASH "abcdefghij0123Z5"
#define QQ(n)                               \
	"\2\x37\1\0\x17\0" n "\0\1\x86\xa0" \
	"12345678\3"
#define ROUTE "\xe4\x21\x02" HASH HASH
	static const struct row rows[] = {
		{"QQ", 8000, {CLIENT(QQ("\1"))}, "qq", CONFIDENCE_PARTIAL},
		{"QQ, of one user", 8000, {CLIENT(QQ("\1")), CLIENT(QQ("\2"))}, "qq",
			CONFIDENCE_VERIFIED},
		{"Kad", 4672, {CLIENT(ROUTE)}, "edonkey", CONFIDENCE_PARTIAL},
		{"Kad, again", 4672, {CLIENT(ROUTE), CLIENT(ROUTE)}, "edonkey", CONFIDENCE_DPI},
		{"eMule, a rank", 4672, {CLIENT("\xc5\x90" HASH), SERVER("\xc5\x91\1\0")},
			"edonkey", CONFIDENCE_VERIFIED},
		{"with the parts", 4672,
			{CLIENT("\xc5\x90" HASH), SERVER("\xc5\x91\x09\0\xff\1\1\0")}, "edonkey",
			CONFIDENCE_VERIFIED},
		{"with too many", 4672,
			{CLIENT("\xc5\x90" HASH), SERVER("\xc5\x91\x19\0\xff\1\1\0")}, "", 0},
		{"of no file", 4672, {CLIENT("\xc5\x90" HASH "\1"), SERVER("\xc5\x91\1\0")}, "", 0},
		{"of a file that is no hash", 4672,
			{CLIENT("\xc5\x90"
				"aaaaaaaaaaaaaaaa"),
				SERVER("\xc5\x91\1\0")},
			"", 0},
	};

	(void)state;
	holds(IPPROTO_UDP, rows, COUNT(rows));
}

static void test_line(void **state)
{
	uint8_t hello[104] = {0xd8, 100, 0, 7, 6, 2};
	struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 40001);

	(void)state;
	rig_feed(&flow, HALF_C2S, hello, sizeof(hello));
	assert_string_equal(rig_app(&flow), "line");
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_PARTIAL);
	hello[3] = 8;
	rig_feed(&flow, HALF_C2S, hello, sizeof(hello));
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_DPI);
	rig_end(&flow);
}

// A version that forces a negotiation is reserved, not assigned; Google's hello is in clear.
static void test_quic(void **state)
{
	uint8_t reserved[1200] = {
		0xc0, 0x1a, 0x2a, 0x3a, 0x4a, 8, [14] = 0, [15] = 0, [16] = 0x44, [17] = 0x96};
	uint8_t google[300] = {0x0d, 1, 2, 3, 4, 5, 6, 7, 8, 'Q', '0', '3', '9', 1};
	struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 443);

	(void)state;
	rig_feed(&flow, HALF_C2S, reserved, sizeof(reserved));
	assert_string_equal(rig_app(&flow), "quic");
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_PARTIAL);
	rig_feed(&flow, HALF_S2C,
		LITERAL("\xc0\0\0\0\0\0\x08"
			"01234567"
			"\0\0\0\1"));
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_DPI);
	rig_end(&flow);

	flow = rig_flow(rig, IPPROTO_UDP, 40000, 443);
	rig_feed(&flow, HALF_C2S, google, sizeof(google));
	assert_string_equal(rig_app(&flow), "quic");
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_PARTIAL);
	memcpy(google + 40, "CHLO", 4);
	rig_feed(&flow, HALF_C2S, google, sizeof(google));
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_DPI);
	rig_end(&flow);
}

static int make(void **state)
{
	(void)state;
	rig = rig_new();
	return 0;
}

static int unmake(void **state)
{
	(void)state;
	rig_free(rig);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_socks),
		cmocka_unit_test(test_inside_tls),
		cmocka_unit_test(test_amid_tls),
		cmocka_unit_test(test_datagrams),
		cmocka_unit_test(test_line),
		cmocka_unit_test(test_quic),
	};

	return cmocka_run_group_tests(tests, make, unmake);
}
