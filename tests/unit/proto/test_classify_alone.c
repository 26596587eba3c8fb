// SPDX-License-Identifier: BSD-3-Clause
// One end that is seen alone, of protocols in text and SOCKS: what proves the application, and what
// revokes it.
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "lib/classify/classify_rig.h"

static struct rig *rig;

struct said {
	const char *bytes;
	size_t length;
	const char *app; // "": not enough, or wrong
	uint16_t port;
	unsigned half; // that is seen alone
};

static struct rig_flow after(const struct said *said, size_t length, bool one_sided)
{
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, said->port);

	flow.one_sided = one_sided;
	rig_feed(&flow, said->half, said->bytes, length);
	return flow;
}

static void hint(const struct rig_flow *flow, const char *app)
{
	assert_string_equal(rig_app(flow), app);
	if (*app)
		assert_int_equal(flow->verdict.confidence, CONFIDENCE_PARTIAL);
}

static void check(const struct said *said, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct rig_flow flow = after(&said[i], said[i].length, true);

		hint(&flow, said[i].app);
		rig_end(&flow);
		if (!*said[i].app)
			continue;
		for (size_t cut = 1; cut < said[i].length; cut++) {
			flow = after(&said[i], cut, true);
			hint(&flow, "");
			rig_feed(&flow, said[i].half, said[i].bytes + cut, said[i].length - cut);
			hint(&flow, said[i].app);
			rig_end(&flow);
		}
		flow = after(&said[i], said[i].length, false); // the answer may come yet
		hint(&flow, "");
		rig_end(&flow);
		flow = after(&said[i], said[i].length, true);
		rig_feed(&flow, !said[i].half, LITERAL("\xff\xfe\xfd is none of it"));
		hint(&flow, "");
		assert_false(flow.verdict.final && !flow.verdict.gaveup);
		rig_end(&flow);
	}
}

static void test_ftp(void **state)
{
	static const struct said said[] = {
		{LITERAL("USER anonymous\r\nSYST\r\n"), "ftp", 2121, HALF_C2S},
		{LITERAL("USER anonymous\r\nPASS a@b\r\nPASV\r\n"), "ftp", 21, HALF_C2S},
		{LITERAL("USER a\r\nPASS b\r\n"), "", 21, HALF_C2S}, // or POP3
		{LITERAL("USER a\r\n"), "", 21, HALF_C2S},
		{LITERAL("USER a\r\nSY\1ST\r\n"), "", 21, HALF_C2S},
		{LITERAL("USER a\r\nSYST \1\r\n"), "", 21, HALF_C2S},
		{LITERAL("USER a\r\nSYST\r\nVOTE\r\n"), "", 21, HALF_C2S},
		{LITERAL("AUTH TLS\r\n\x16\3\1\0\5\1"), "ftp", 21, HALF_C2S},
		{LITERAL("AUTH TLS\r\n"), "", 21, HALF_C2S},
		{LITERAL("AUTH TLS\r\n\x17\3\1\0\5\1"), "", 21, HALF_C2S},
		{LITERAL("AUTH TLS\r\n\x16\2\1\0\5\1"), "", 21, HALF_C2S},
	};

	(void)state;
	check(said, 11);
}

static void test_ftp_server(void **state)
{
	static const struct said said[] = {
		{LITERAL("220 ready\r\n331 Please\r\n"), "ftp", 2121, HALF_S2C},
		{LITERAL("220-a\r\n220 b\r\n331 Please\r\n"), "ftp", 21, HALF_S2C},
		{LITERAL("220 ready\r\n"), "", 21, HALF_S2C},
		{LITERAL("220 ready\r\n250 hello\r\n"), "", 25, HALF_S2C}, // or mail
		{LITERAL("530 ready\r\n331 Please\r\n"), "", 21, HALF_S2C},
		{LITERAL("220 ready\r\n331Please\r\n"), "", 21, HALF_S2C},
	};

	(void)state;
	check(said, 6);
}

static void test_pop3_server(void **state)
{
	static const struct said said[] = {
		{LITERAL("+OK 120 octets\r\n"), "pop3", 110, HALF_S2C},
		{LITERAL("+OK octets\r\n"), "", 110, HALF_S2C},
		{LITERAL("+OK 12x octets\r\n"), "", 110, HALF_S2C},
		{LITERAL("+OK 120 bytes\r\n"), "", 110, HALF_S2C},
		{LITERAL("-ERR 120 octets\r\n"), "", 110, HALF_S2C},
	};

	(void)state;
	check(said, 5);
}

static void test_pop3(void **state)
{
	static const struct said said[] = {
		{LITERAL("USER a\r\nPASS b\r\nSTAT\r\nUIDL\r\n"), "pop3", 110, HALF_C2S},
		{LITERAL("CAPA\r\nUSER a\r\n"), "pop3", 1110, HALF_C2S},
		{LITERAL("USER a\r\nPASS b\r\nSTAT\r\nLIST\r\n"), "", 110,
			HALF_C2S}, // FTP has all of them
		{LITERAL("CAPA\r\n"), "", 110, HALF_C2S},
		{LITERAL("CAPA\r\nVOTE\r\n"), "", 110, HALF_C2S},
	};

	(void)state;
	check(said, 5);
}

static void test_imap(void **state)
{
	static const struct said said[] = {
		{LITERAL("a1 CAPABILITY\r\na2 LOGIN x y\r\n"), "imap", 143, HALF_C2S},
		{LITERAL("a1 CAPABILITY\r\n"), "", 143, HALF_C2S},
		{LITERAL("a1 CAPABILITY\r\na1 LOGIN x y\r\n"), "", 143, HALF_C2S},
		{LITERAL("a1 CAPABILITY\r\na2 VOTE x y\r\n"), "", 143, HALF_C2S},
		{LITERAL("a1 CAPABILITY\r\na! LOGIN x y\r\n"), "", 143, HALF_C2S},
	};

	(void)state;
	check(said, 5);
}

static void test_socks(void **state)
{
	static const struct said said[] = {
		{LITERAL("\5\1\0\5\1\0\1\xc0\0\2\1\0\x50"), "socks", 1080, HALF_C2S},
		{LITERAL("\5\2\0\2\5\1\0\3\x9"
			 "a.example\1\xbb"),
			"socks", 9050, HALF_C2S},
		{LITERAL("\5\1\0\5\1\0\4"
			 "0123456789abcdef\0\x50"),
			"socks", 1080, HALF_C2S},
		{LITERAL("\4\1\0\x50\0\0\0\1me\0a.example\0"), "socks", 1080, HALF_C2S},
		{LITERAL("\4\1\0\x50\xc0\0\2\1me\0"), "", 1080, HALF_C2S}, // 24 bits
		{LITERAL("\5\1\0\5\4\0\1\xc0\0\2\1\0\x50"), "", 1080, HALF_C2S},
		{LITERAL("\5\1\0\5\1\1\1\xc0\0\2\1\0\x50"), "", 1080, HALF_C2S},
		{LITERAL("\5\1\0\5\1\0\2\xc0\0\2\1\0\x50"), "", 1080, HALF_C2S},
		{LITERAL("\5\1\0\4\1\0\1\xc0\0\2\1\0\x50"), "", 1080, HALF_C2S},
		{LITERAL("\5\1\0\5\1\0\3\x9"
			 "a.ex\1mple\1\xbb"),
			"", 1080, HALF_C2S},
	};

	(void)state;
	check(said, 10);
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
		cmocka_unit_test(test_ftp),
		cmocka_unit_test(test_ftp_server),
		cmocka_unit_test(test_pop3),
		cmocka_unit_test(test_pop3_server),
		cmocka_unit_test(test_imap),
		cmocka_unit_test(test_socks),
	};

	return cmocka_run_group_tests(tests, make, unmake);
}
