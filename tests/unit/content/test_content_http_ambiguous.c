// SPDX-License-Identifier: BSD-3-Clause
// Heads and bodies that hosts read in different ways: each is noted, and what goes on is the
// reading of RFC 9112.
#include "content/decoders.h"
#include "lib/content/conversation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define GET(path)        "GET " path " HTTP/1.1\r\n\r\n"
#define ANSWER(byte)     "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n" byte
#define CHUNKED          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
#define POST(fields)     "POST /p HTTP/1.1\r\n" fields "\r\n"
#define RESPONSE(fields) "HTTP/1.1 200 OK\r\n" fields "\r\n"

static const struct conversation lengths[] = {
	{"a length, and chunked, which counts",
		{SAID_C(POST("Content-Length: 30\r\nTransfer-Encoding: chunked\r\n") "0\r\n\r"
										     "\n" GET(
											     "/s")),
			SAID_S(ANSWER("1") ANSWER("2"))},
		"note c2s length_and_chunked @0\n"
		"file 1 c2s path name=p path=/p\n"
		"end 1 CLOSED 68+5\n"
		"file 2 s2c path name=p path=/p size=1\n"
		"end 2 CLOSED 38+1 1\n"
		"file 3 s2c path name=s path=/s size=1\n"
		"end 3 CLOSED 77+1 2\n"},
	{"chunked, which counts, and a length",
		{SAID_C(POST("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n") "3\r\nabc\r\n0"
										    "\r\n\r\n"),
			SAID_S(ANSWER("1"))},
		"note c2s length_and_chunked @0\n"
		"file 1 c2s path name=p path=/p\n"
		"end 1 CLOSED 67+13 abc\n"
		"file 2 s2c path name=p path=/p size=1\n"
		"end 2 CLOSED 38+1 1\n"},
	{"chunked behind a tab",
		{SAID_C(POST("Transfer-Encoding:\tchunked\r\n") "1\r\na\r\n0\r\n\r\n" GET("/s")),
			SAID_S(ANSWER("1") ANSWER("2"))},
		"file 1 c2s path name=p path=/p\n"
		"end 1 CLOSED 48+11 a\n"
		"file 2 s2c path name=p path=/p size=1\n"
		"end 2 CLOSED 38+1 1\n"
		"file 3 s2c path name=s path=/s size=1\n"
		"end 3 CLOSED 77+1 2\n"},
	{"xchunked, and a length",
		{SAID_C(POST("Transfer-Encoding: xchunked\r\nContent-Length: 3\r\n") "abc" GET(
			"/s"))},
		"note c2s coding_unknown @18\n"
		"note c2s length_and_chunked @0\n"
		"note c2s bad_length @0\n"
		"file 1 c2s path name=p path=/p\n"
		"end 1 TRUNCATED 68+22 abcGET /s HTTP/1.1\\0d\\0a\\0d\\0a\n"},
	{"chunked behind a vertical tab",
		{SAID_S(RESPONSE("Transfer-Encoding: \vchunked\r\n") "1\r\na\r\n0\r\n\r\n"),
			SAID_FIN(HALF_S2C)},
		"note s2c coding_unknown @17\n"
		"file 1 s2c none\n"
		"end 1 CLOSED 48+11 1\\0d\\0aa\\0d\\0a0\\0d\\0a\\0d\\0a\n"},
	{"chunked is not last", {SAID_C(POST("Transfer-Encoding: chunked, gzip\r\n") "1\r\na")},
		"note c2s coding_unknown @18\n"
		"note c2s bad_length @0\n"
		"file 1 c2s path name=p path=/p\n"
		"end 1 TRUNCATED 54+4 1\\0d\\0aa\n"},
	{"chunked twice",
		{SAID_C(POST(
			"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n") "1\r\na\r\n"
											"0\r\n\r"
											"\n")},
		"note c2s coding_unknown @46\n"
		"file 1 c2s path name=p path=/p\n"
		"end 1 CLOSED 76+11 a\n"},
	{"chunked with a parameter",
		{SAID_S(RESPONSE("Transfer-Encoding: chunked;q=1\r\n") "1\r\na")},
		"note s2c coding_unknown @17\n"
		"file 1 s2c none\n"
		"end 1 TRUNCATED 51+4 1\\0d\\0aa\n"},
	{"identity in a request",
		{SAID_C(POST("Transfer-Encoding: identity\r\nContent-Length: 1\r\n") "a" GET(
			"/s"))},
		"note c2s length_and_chunked @0\n"
		"note c2s bad_length @0\n"
		"note c2s coding_unknown @0\n"
		"file 1 c2s path name=p path=/p\n"
		"end 1 TRUNCATED 68+20 aGET /s HTTP/1.1\\0d\\0a\\0d\\0a\n"},
	{"identity, and a length",
		{SAID_S(RESPONSE("Transfer-Encoding: identity\r\nContent-Length: 2\r\n") "ab"),
			SAID_FIN(HALF_S2C)},
		"file 1 s2c none size=2\n"
		"end 1 CLOSED 67+2 ab\n"},
	{"identity, a length, and more behind it",
		{SAID_S(RESPONSE("Transfer-Encoding: identity\r\nContent-Length: 1\r\n") "a" ANSWER(
			"b"))},
		"file 1 s2c none size=1\n"
		"end 1 CLOSED 67+1 a\n"
		"note s2c length_and_chunked @68\n"
		"file 2 s2c none size=1\n"
		"end 2 CLOSED 106+1 b\n"},
	{"identity, no byte, and more behind it",
		{SAID_S(RESPONSE("Transfer-Encoding: identity\r\nContent-Length: 0\r\n")
				ANSWER("b"))},
		"note s2c length_and_chunked @67\n"
		"file 1 s2c none size=1\n"
		"end 1 CLOSED 105+1 b\n"},
	{"identity where there is no body",
		{SAID_C("HEAD /h HTTP/1.1\r\n\r\n" GET("/g")),
			SAID_S(RESPONSE("Transfer-Encoding: identity\r\nContent-Length: 9\r\n")
					ANSWER("b"))},
		"file 1 s2c path name=g path=/g size=1\n"
		"end 1 CLOSED 105+1 b\n"},
	{"identity alone",
		{SAID_S("HTTP/1.0 200 OK\r\nTransfer-Encoding: Identity\r\n\r\nab"),
			SAID_FIN(HALF_S2C)},
		"file 1 s2c none\n"
		"end 1 CLOSED 48+2 ab\n"},
	{"identity and chunked",
		{SAID_S(RESPONSE(
			"Transfer-Encoding: identity, chunked\r\n") "1\r\na\r\n0\r\n\r\n")},
		"note s2c coding_unknown @17\n"
		"file 1 s2c none\n"
		"end 1 CLOSED 57+11 a\n"},
	{"identity in a field of its own",
		{SAID_S(RESPONSE("Transfer-Encoding: chunked\r\n"
				 "Transfer-Encoding: identity\r\n") "1\r\na\r\n0\r\n\r\n"),
			SAID_FIN(HALF_S2C)},
		"note s2c coding_unknown @45\n"
		"file 1 s2c none\n"
		"end 1 CLOSED 76+11 1\\0d\\0aa\\0d\\0a0\\0d\\0a\\0d\\0a\n"},
	{"chunked in HTTP/1.0",
		{SAID_S("HTTP/1.0 200 OK\r\nTransfer-Encoding: "
			"chunked\r\n\r\n1\r\na\r\n0\r\n\r\n")},
		"note s2c bad_length @0\n"
		"file 1 s2c none\n"
		"end 1 CLOSED 47+11 a\n"},
	{"empty members of a list",
		{SAID_S(RESPONSE("Transfer-Encoding: , chunked ,\r\n") "1\r\na\r\n0\r\n\r\n")},
		"file 1 s2c none\n"
		"end 1 CLOSED 51+11 a\n"},
	{"two lengths", {SAID_C(POST("Content-Length: 1\r\nContent-Length: 2\r\n") "ab" GET("/s"))},
		"note c2s two_lengths @37\n"
		"file 1 c2s path name=p path=/p\n"
		"end 1 TRUNCATED 58+21 abGET /s HTTP/1.1\\0d\\0a\\0d\\0a\n"},
	{"two lengths in a list", {SAID_S(RESPONSE("Content-Length: 1, 2\r\n") "ab" ANSWER("2"))},
		"note s2c two_lengths @17\n"
		"file 1 s2c none\n"
		"end 1 TRUNCATED 41+41 abHTTP/1.1 200 OK\\0d\\0aContent-Length: "
		"1\\0d\\0a\\0d\\0a2\n"},
	{"equal lengths", {SAID_S(RESPONSE("Content-Length: 1, 1\r\nContent-Length: 1\r\n") "a")},
		"file 1 s2c none size=1\n"
		"end 1 CLOSED 60+1 a\n"},
	{"a sign", {SAID_S(RESPONSE("Content-Length: +1\r\n") "ab")},
		"note s2c bad_length @17\n"
		"file 1 s2c none\n"
		"end 1 TRUNCATED 39+2 ab\n"},
	{"a negative length", {SAID_C(POST("Content-Length: -1\r\n") GET("/s"))},
		"note c2s bad_length @18\n"
		"file 1 c2s path name=p path=/p\n"
		"end 1 TRUNCATED 40+19 GET /s HTTP/1.1\\0d\\0a\\0d\\0a\n"},
	{"a blank inside", {SAID_S(RESPONSE("Content-Length: 1 1\r\n") "ab")},
		"note s2c bad_length @17\n"
		"file 1 s2c none\n"
		"end 1 TRUNCATED 40+2 ab\n"},
	{"2^63", {SAID_S(RESPONSE("Content-Length: 9223372036854775808\r\n") "ab")},
		"note s2c bad_length @17\n"
		"file 1 s2c none\n"
		"end 1 TRUNCATED 56+2 ab\n"},
	{"2^63 - 1", {SAID_S(RESPONSE("Content-Length: 9223372036854775807\r\n") "ab")},
		"file 1 s2c none size=9223372036854775807\n"
		"end 1 TRUNCATED 56+2 ab\n"},
	{"no digit", {SAID_S(RESPONSE("Content-Length: \r\n") "ab")},
		"note s2c bad_length @17\n"
		"file 1 s2c none\n"
		"end 1 TRUNCATED 37+2 ab\n"},
};

static const struct conversation chunks[] = {
	{"a size that overflows",
		{SAID_S(CHUNKED "1\r\na\r\n10000000000000001\r\nb\r\n" ANSWER("2"))},
		"file 1 s2c none\n"
		"note s2c bad_chunk @69\n"
		"end 1 ERROR 47+22 a\n"
		"file 2 s2c none size=1\n"
		"end 2 CLOSED 113+1 2\n"},
	{"a negative size", {SAID_S(CHUNKED "-1\r\na\r\n" ANSWER("2"))},
		"file 1 s2c none\n"
		"note s2c bad_chunk @47\n"
		"end 1 ERROR 47+0\n"
		"file 2 s2c none size=1\n"
		"end 2 CLOSED 92+1 2\n"},
	{"0x", {SAID_S(CHUNKED "0x1\r\na\r\n0\r\n\r\n" ANSWER("2"))},
		"file 1 s2c none\n"
		"note s2c bad_chunk @48\n"
		"end 1 ERROR 47+1\n"
		"file 2 s2c none size=1\n"
		"end 2 CLOSED 98+1 2\n"},
	{"no size", {SAID_S(CHUNKED "\r\na\r\n" ANSWER("2"))},
		"file 1 s2c none\n"
		"note s2c bad_chunk @47\n"
		"end 1 ERROR 47+0\n"
		"file 2 s2c none size=1\n"
		"end 2 CLOSED 90+1 2\n"},
	{"LF behind the size", {SAID_S(CHUNKED "1\na\r\n0\r\n\r\n" ANSWER("2"))},
		"file 1 s2c none\n"
		"note s2c bad_chunk @48\n"
		"end 1 CLOSED 47+10 a\n"
		"file 2 s2c none size=1\n"
		"end 2 CLOSED 95+1 2\n"},
	{"LF in an extension", {SAID_S(CHUNKED "1;x\na\r\n0\r\n\r\n" ANSWER("2"))},
		"file 1 s2c none\n"
		"note s2c bad_chunk @50\n"
		"end 1 CLOSED 47+12 a\n"
		"file 2 s2c none size=1\n"
		"end 2 CLOSED 97+1 2\n"},
	{"CR in an extension", {SAID_S(CHUNKED "1;\rx\r\na\r\n0\r\n\r\n" ANSWER("2"))},
		"file 1 s2c none\n"
		"note s2c bad_chunk @50\n"
		"end 1 CLOSED 47+14 a\n"
		"file 2 s2c none size=1\n"
		"end 2 CLOSED 99+1 2\n"},
	{"a word behind the size", {SAID_S(CHUNKED "1 x\r\na\r\n0\r\n\r\n" ANSWER("2"))},
		"file 1 s2c none\n"
		"note s2c bad_chunk @49\n"
		"end 1 ERROR 47+2\n"
		"file 2 s2c none size=1\n"
		"end 2 CLOSED 98+1 2\n"},
	{"LF behind the bytes", {SAID_S(CHUNKED "1\r\na\n0\r\n\r\n" ANSWER("2"))},
		"file 1 s2c none\n"
		"note s2c bad_chunk @51\n"
		"end 1 CLOSED 47+10 a\n"
		"file 2 s2c none size=1\n"
		"end 2 CLOSED 95+1 2\n"},
	{"more bytes than the size says", {SAID_S(CHUNKED "1\r\nab\r\n0\r\n\r\n" ANSWER("2"))},
		"file 1 s2c none\n"
		"note s2c bad_chunk @51\n"
		"end 1 ERROR 47+4 a\n"
		"file 2 s2c none size=1\n"
		"end 2 CLOSED 97+1 2\n"},
	{"a trailer that is none",
		{SAID_S(CHUNKED "0\r\nbad\r\nX : y\r\n\tfold\n\r\n" ANSWER("2"))},
		"file 1 s2c none\n"
		"note s2c bad_line @50\n"
		"note s2c folded_header @62\n"
		"note s2c bare_lf @67\n"
		"end 1 CLOSED 47+23\n"
		"file 2 s2c none size=1\n"
		"end 2 CLOSED 108+1 2\n"},
};

static const struct conversation lines[] = {
	{"obs-fold",
		{SAID_S(RESPONSE(
			"Content-Type: a/b;\r\n boundary=x\r\nContent-Length:\r\n\t1\r\n") "a")},
		"note s2c folded_header @37\n"
		"file 1 s2c none type=a/b size=1\n"
		"end 1 CLOSED 73+1 a\n"},
	{"a blank line's beginning before the fields",
		{SAID_S(RESPONSE(" Content-Length: 5\r\nContent-Length: 1\r\n") "a")},
		"note s2c folded_header @17\n"
		"file 1 s2c none size=1\n"
		"end 1 CLOSED 58+1 a\n"},
	{"blank before the colon",
		{SAID_C(POST("Content-Length : 1\r\n") "a"),
			SAID_S(RESPONSE("Content-Length\t: 1\r\n") "a")},
		"note c2s space_before_colon @18\n"
		"file 1 c2s path name=p path=/p size=1\n"
		"end 1 CLOSED 40+1 a\n"
		"note s2c space_before_colon @17\n"
		"file 2 s2c path name=p path=/p size=1\n"
		"end 2 CLOSED 39+1 a\n"},
	{"bare CR in a value",
		{SAID_S(RESPONSE("X: a\rContent-Length: 5\r\nContent-Length: 1\r\n") "a")},
		"note s2c bare_cr @22\n"
		"file 1 s2c none size=1\n"
		"end 1 CLOSED 62+1 a\n"},
	{"bare CR before a field", {SAID_S(RESPONSE("X: a\r\n\rContent-Length: 1\r\n"))},
		"note s2c folded_header @24\n"
		"note s2c bare_cr @24\n"
		"file 1 s2c none\n"
		"end 1 TRUNCATED 45+0\n"},
	{"CR CR LF", {SAID_S(RESPONSE("Content-Length: 1\r\r\n") "a")},
		"note s2c bare_cr @35\n"
		"file 1 s2c none size=1\n"
		"end 1 CLOSED 39+1 a\n"},
	{"blank before the colon of a field that nobody needs",
		{SAID_C(POST("X-Y : 1\r\nX Foo: bar\r\n\x80 (a): b\r\nContent-Length: 1\r\n") "a")},
		"file 1 c2s path name=p path=/p size=1\n"
		"end 1 CLOSED 70+1 a\n"},
	{"a field that is needed within a name that is none",
		{SAID_C(POST("X Content-Length: 5\r\n") GET("/a")),
			SAID_S(ANSWER("1") ANSWER("2"))},
		"note c2s bad_line @18\n"
		"file 1 s2c path name=p path=/p size=1\n"
		"end 1 CLOSED 38+1 1\n"
		"file 2 s2c path name=a path=/a size=1\n"
		"end 2 CLOSED 77+1 2\n"},
	{"a name that is none, and too long to be known",
		{SAID_S(RESPONSE("X 0123456789012345678901: 5\r\nContent-Length: 1\r\n") "a")},
		"note s2c bad_line @17\n"
		"file 1 s2c none size=1\n"
		"end 1 CLOSED 67+1 a\n"},
	{"LF in all lines of heads",
		{SAID_C("GET /a HTTP/1.0\nX: y\n\nGET /b HTTP/1.0\r\n\r\n"),
			SAID_S("HTTP/1.1 200 OK\nContent-Length: 1\n\na" ANSWER("b"))},
		"file 1 s2c path name=a path=/a size=1\n"
		"end 1 CLOSED 35+1 a\n"
		"file 2 s2c path name=b path=/b size=1\n"
		"end 2 CLOSED 74+1 b\n"},
	{"LF behind CRLF", {SAID_S("HTTP/1.1 200 OK\r\nX: y\nContent-Length: 1\r\n\r\na")},
		"note s2c bare_lf @21\n"
		"file 1 s2c none size=1\n"
		"end 1 CLOSED 43+1 a\n"},
	{"CRLF behind LF", {SAID_S("HTTP/1.1 200 OK\nContent-Length: 1\n\r\na")},
		"note s2c bare_lf @35\n"
		"file 1 s2c none size=1\n"
		"end 1 CLOSED 36+1 a\n"},
	{"LF in a trailer",
		{SAID_S("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n1\r\na\r\n0\r\n\n")},
		"file 1 s2c none\n"
		"note s2c bare_lf @53\n"
		"end 1 CLOSED 44+10 a\n"},
	{"NUL", {SAID_S(RESPONSE("X\0: y\r\nContent-Length: \0001\r\n") "a")},
		"note s2c nul_in_head @18\n"
		"file 1 s2c none size=1\n"
		"end 1 CLOSED 46+1 a\n"},
	{"a line without a colon",
		{SAID_S(RESPONSE("Content-Length\r\nContent-Length: 1\r\n") "a")},
		"note s2c bad_line @17\n"
		"file 1 s2c none size=1\n"
		"end 1 CLOSED 54+1 a\n"},
	{"a name that is no token",
		{SAID_S(RESPONSE("Content-Len gth: 5\r\nContent-Length: 1\r\n: x\r\n") "a")},
		"note s2c bad_line @17\n"
		"file 1 s2c none size=1\n"
		"end 1 CLOSED 63+1 a\n"},
	{"tabs in a request line", {SAID_C("PUT\t/a HTTP/1.1\r\nContent-Length: 1\r\n\r\na")},
		"note c2s bad_line @0\n"
		"file 1 c2s path name=a path=/a size=1\n"
		"end 1 CLOSED 38+1 a\n"},
	{"blanks in a target", {SAID_C("PUT /a b.exe HTTP/1.1\r\nContent-Length: 1\r\n\r\na")},
		"note c2s bad_line @0\n"
		"file 1 c2s path name=a path=/a size=1\n"
		"end 1 CLOSED 44+1 a\n"},
	{"no version", {SAID_C("PUT /a\r\nContent-Length: 1\r\n\r\na")},
		"note c2s bad_line @0\n"
		"file 1 c2s path name=a path=/a size=1\n"
		"end 1 CLOSED 29+1 a\n"},
	{"another version", {SAID_C("PUT /a HTTP/2.0\r\nContent-Length: 1\r\n\r\na")},
		"note c2s bad_line @0\n"
		"file 1 c2s path name=a path=/a size=1\n"
		"end 1 CLOSED 38+1 a\n"},
	{"an answer to a request that is not whole",
		{SAID_C("GET /a HTTP/1.0\r\nX: y\r\n"), SAID_FIN(HALF_C2S), SAID_S(ANSWER("1"))},
		"note s2c bad_line @0\n"
		"file 1 s2c none size=1\n"
		"end 1 CLOSED 38+1 1\n"},
	{"an error as an answer to it",
		{SAID_C("GET /a HTTP/1.0\r\nX: y"),
			SAID_S("HTTP/1.1 408 Late\r\nContent-Length: 1\r\n\r\n1")},
		"file 1 s2c none size=1\n"
		"end 1 CLOSED 40+1 1\n"},
	{"no request", {SAID_C("\x16\x03\x01 bytes\r\nmore\r\n" GET("/a")), SAID_S(ANSWER("1"))},
		"note c2s bad_line @0\n"
		"file 1 s2c path name=a path=/a size=1\n"
		"end 1 CLOSED 38+1 1\n"},
	{"a blank before a request",
		{SAID_C(" GET /x HTTP/1.1\r\n\r\n" GET("/a")), SAID_S(ANSWER("1"))},
		"note c2s bad_line @0\n"
		"file 1 s2c path name=a path=/a size=1\n"
		"end 1 CLOSED 38+1 1\n"},
	{"no status", {SAID_C(GET("/a")), SAID_S("HTTP/1.1 2x0 OK\r\n\r\n" ANSWER("1"))},
		"note s2c bad_line @0\n"
		"file 1 s2c none size=1\n"
		"end 1 CLOSED 57+1 1\n"},
	{"no status line", {SAID_C(GET("/a")), SAID_S("ICI 200 OK\r\n\r\n" ANSWER("1"))},
		"note s2c bad_line @0\n"
		"file 1 s2c none size=1\n"
		"end 1 CLOSED 52+1 1\n"},
	{"blanks in a status line",
		{SAID_C(GET("/a")), SAID_S("HTTP/1.1  200 OK\r\nContent-Length: 1\r\n\r\n1")},
		"note s2c bad_line @0\n"
		"file 1 s2c path name=a path=/a size=1\n"
		"end 1 CLOSED 39+1 1\n"},
};

#define TEST(table)                                                                        \
	static void test_##table(void **state)                                             \
	{                                                                                  \
		(void)state;                                                               \
		conversations_check(&content_http, table, sizeof(table) / sizeof(*table)); \
	}
TEST(lengths)
TEST(chunks)
TEST(lines)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_chunks),
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
