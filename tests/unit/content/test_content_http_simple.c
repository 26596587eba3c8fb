// SPDX-License-Identifier: BSD-3-Clause
// HTTP/0.9 (RFC 1945 section 4.1): a request is one line without a version, and what answers is a
// file without a head, or a response of HTTP/1.x.
#include "content/decoders.h"
#include "lib/content/conversation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define ANSWER(byte) "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n" byte

static const struct conversation answers[] = {
	{"a file", {SAID_C("GET /a/b.exe?c\r\n"), SAID_S("MZ "), SAID_S("all"), SAID_FIN(HALF_S2C)},
		"file 1 s2c path name=b.exe or=b.exe?c path=/a/b.exe?c\n"
		"end 1 CLOSED 0+6 MZ all\n"},
	{"a file that is cut off", {SAID_C("GET /a\n"), SAID_S("MZ")},
		"file 1 s2c path name=a path=/a\n"
		"end 1 TRUNCATED 0+2 MZ\n"},
	{"a host in the target",
		{SAID_C("GET http://h.example/a\r\n\r\n"), SAID_S("MZ"), SAID_FIN(HALF_S2C)},
		"file 1 s2c path name=a path=/a host=h.example\n"
		"end 1 CLOSED 0+2 MZ\n"},
	{"nothing", {SAID_C("GET /a\r\n\r\n"), SAID_FIN(HALF_C2S), SAID_FIN(HALF_S2C)}, ""},
	{"empty lines are bytes of it",
		{SAID_C("\r\nGET /a\r\n"), SAID_S("\r\nHTTP/1.1 200 OK\r\n\r\n"),
			SAID_FIN(HALF_S2C)},
		"file 1 s2c path name=a path=/a\n"
		"end 1 CLOSED 0+21 \\0d\\0aHTTP/1.1 200 OK\\0d\\0a\\0d\\0a\n"},
	{"a response", {SAID_C("GET /a\r\n"), SAID_S(ANSWER("1")), SAID_FIN(HALF_S2C)},
		"file 1 s2c path name=a path=/a size=1\n"
		"end 1 CLOSED 38+1 1\n"},
	{"a response that refuses, or a file",
		{SAID_C("GET /a\r\n"), SAID_S("HTTP/1.0 404 No\r\n\r\n1"), SAID_FIN(HALF_S2C)},
		"file 1 s2c path name=a path=/a\n"
		"end 1 CLOSED 19+1 1\n"},
	{"a response to wait for, and a file",
		{SAID_C("GET /a\r\n"), SAID_S("HTTP/1.1 100 On\r\n\r\nMZ"), SAID_FIN(HALF_S2C)},
		"file 1 s2c path name=a path=/a\n"
		"end 1 CLOSED 19+2 MZ\n"},
	{"a response that is none", {SAID_C("GET /a\r\n"), SAID_S("HTTP/1.x 200 OK\r\n\r\n1")},
		"note s2c bad_line @0\n"},
	{"the beginning of a status line, and no more",
		{SAID_C("GET /a\r\n"), SAID_S("HTTP/1"), SAID_FIN(HALF_S2C)},
		"file 1 s2c path name=a path=/a\n"
		"end 1 CLOSED 0+6 HTTP/1\n"},
	{"a file that begins like a status line",
		{SAID_C("GET /a\r\n"), SAID_S("HTTP\r\n"), SAID_FIN(HALF_S2C)},
		"file 1 s2c path name=a path=/a\n"
		"end 1 CLOSED 0+6 HTTP\\0d\\0a\n"},
	{"a gap in what may be one",
		{SAID_C("GET /a\r\n"), SAID_S("HTT"), SAID_GAP(HALF_S2C, 4), SAID_S(ANSWER("1"))},
		"file 1 s2c none size=1\n"
		"end 1 CLOSED 45+1 1\n"},
	{"a gap in the file",
		{SAID_C("GET /a\r\n"), SAID_S("MZ"), SAID_GAP(HALF_S2C, 4), SAID_S("x"),
			SAID_FIN(HALF_S2C)},
		"file 1 s2c path name=a path=/a\n"
		"end 1 TRUNCATED 0+7 lost=4 MZ____x\n"},
	{"behind a request with a version",
		{SAID_C("GET /a HTTP/1.1\r\n\r\nGET /b\r\n"), SAID_S(ANSWER("1")), SAID_S("MZ"),
			SAID_FIN(HALF_S2C)},
		"file 1 s2c path name=a path=/a size=1\n"
		"end 1 CLOSED 38+1 1\n"
		"file 2 s2c path name=b path=/b\n"
		"end 2 CLOSED 39+2 MZ\n"},
};

static const struct conversation requests[] = {
	{"fields behind it",
		{SAID_C("GET /a\r\nHost: h\r\n\r\n"), SAID_S("MZ"), SAID_FIN(HALF_S2C)},
		"note c2s bad_line @8\n"
		"file 1 s2c path name=a path=/a\n"
		"end 1 CLOSED 0+2 MZ\n"},
	{"another one behind it", {SAID_C("GET /a\r\n\r\nGET /b\r\nGET /c\r\n"), SAID_S("MZ")},
		"note c2s bad_line @18\n"
		"file 1 s2c path name=a path=/a\n"
		"end 1 TRUNCATED 0+2 MZ\n"},
	{"blanks around the target", {SAID_C("GET  /a \r\n"), SAID_S("MZ"), SAID_FIN(HALF_S2C)},
		"note c2s bad_line @0\n"
		"file 1 s2c path name=a path=/a\n"
		"end 1 CLOSED 0+2 MZ\n"},
	{"its version, and fields",
		{SAID_C("GET /a HTTP/0.9\r\nHost: h\r\n\r\n"), SAID_S("MZ"), SAID_FIN(HALF_S2C)},
		"note c2s bad_line @0\n"
		"file 1 s2c path name=a path=/a host=h\n"
		"end 1 CLOSED 0+2 MZ\n"},
	{"another method", {SAID_C("POST /a\r\n\r\n"), SAID_S("MZ"), SAID_FIN(HALF_S2C)},
		"note c2s bad_line @0\n"
		"file 1 s2c path name=a path=/a\n"
		"end 1 CLOSED 0+2 MZ\n"},
	{"HEAD, which nothing can answer so", {SAID_C("HEAD /a\r\n\r\n"), SAID_S("MZ")},
		"note c2s bad_line @0\n"
		"note s2c bad_line @0\n"},
	{"a line of a connection that is met midway",
		{SAID_MIDSTREAM(HALF_C2S, "GET /a\r\n\r\n"), SAID_S("MZ")},
		"note s2c bad_line @0\n"},
};

#define TEST(table)                                                                        \
	static void test_##table(void **state)                                             \
	{                                                                                  \
		(void)state;                                                               \
		conversations_check(&content_http, table, sizeof(table) / sizeof(*table)); \
	}
TEST(answers)
TEST(requests)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
