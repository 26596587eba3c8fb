// SPDX-License-Identifier: BSD-3-Clause
// FTP, SMTP, POP3, IMAP, NNTP: greetings that look alike, verbs that they share; and FTP's
// expectations of data connections.
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "lib/classify/classify_rig.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct rig *rig;

// A dialogue: each turn begins with '<' (the server's) or '>' (the client's). The turns are fed one
// by one; `app` must be known after turn `at` (from 1) and not before; 0: never.
struct talk {
	const char *app;
	unsigned at;
	const char *turns[4];
};

static void check(const struct talk *talk, bool midstream, bool swapped)
{
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 50000);

	flow.midstream = midstream;
	for (unsigned i = 0; i < COUNT(talk->turns) && talk->turns[i]; i++) {
		const char *turn = talk->turns[i];
		bool known = talk->at && i + 1 >= talk->at;

		rig_feed(&flow, (turn[0] == '<') != swapped, turn + 1, strlen(turn + 1));
		if (strcmp(rig_app(&flow), known ? talk->app : ""))
			fail_msg("after \"%s\" it is \"%s\"", turn, rig_app(&flow));
	}
	rig_end(&flow);
}

static void test_handshake_store(void **state)
{
	static const struct talk talks[] = {
		{"ftp", 1, {"<220 ftp.example.com FTP server ready.\r\n"}},
		{"ftp", 1, {"<220-FileZilla Server 1.0\r\n220 hello\r\n"}},
		{"ftp", 1, {"<220-Welcome\r\n220 (vsFTPd 3.0.3)\r\n"}},
		{"smtp", 1, {"<220 mx.example.com ESMTP\r\n"}},
		{"smtp", 1, {"<220-mx.example.com Sendmail\r\n220 no spam\r\n"}},
		{"smtp", 1, {"<554 no SMTP service here\r\n"}},
		{"pop3", 1, {"<+OK POP3 server ready\r\n"}},
		{"pop3", 1, {"<+OK <1896.697170952@mail.example.com>\r\n"}},
		{"imap", 1, {"<* OK [CAPABILITY IMAP4rev1] ready\r\n"}},
		{"imap", 1, {"<* PREAUTH IMAP4rev1 server ready\r\n"}},
		{"nntp", 1, {"<200 news.example.com InterNetNews ready\r\n"}},
		{"", 0, {"<220 welcome\r\n"}},
		{"", 0, {"<200 welcome\r\n"}},
		{"", 0, {"<+OK\r\n"}},
		{"", 0, {"<* OK\r\n"}},
		{"", 0, {"<2200 FTP\r\n"}},
		{"", 0, {"<300 NNTP\r\n"}},
		{"", 0, {"<* ACAP (IMPLEMENTATION \"x\")\r\n"}},
	};

	(void)state;
	for (unsigned i = 0; i < COUNT(talks); i++)
		check(&talks[i], false, false);
}

static void test_verbs_decide(void **state)
{
	static const struct talk talks[] = {
		{"ftp", 2, {"<220 welcome\r\n", ">USER anonymous\r\n", "<331 password\r\n"}},
		{"ftp", 2, {"<220 welcome\r\n", ">AUTH TLS\r\n"}},
		{"ftp", 2, {"<220 welcome\r\n", ">FEAT\r\n"}},
		{"ftp", 2, {"<220 smtp.example.com FTP\r\n", ">USER a\r\n"}},
		{"smtp", 2, {"<220 welcome\r\n", ">EHLO a.example\r\n"}},
		{"smtp", 2, {"<220 welcome\r\n", ">HELO a\r\n"}},
		{"smtp", 2, {"<220 ftp.example.com SMTP\r\n", ">EHLO a\r\n"}},
		{"pop3", 2, {"<+OK hello\r\n", ">CAPA\r\n"}},
		{"pop3", 2, {"<+OK hello\r\n", ">USER a\r\n"}},
		{"imap", 2, {"<* OK hello\r\n", ">a1 CAPABILITY\r\n"}},
		{"imap", 2, {"<* OK hello\r\n", ">. LOGIN a b\r\n"}},
		{"nntp", 2, {"<200 welcome\r\n", ">MODE READER\r\n"}},
		{"nntp", 2, {"<201 welcome\r\n", ">GROUP misc.test\r\n"}},
		{"", 0, {"<220 welcome\r\n", ">QUIT\r\n", "<221 bye\r\n"}},
		{"", 0, {"<220 welcome\r\n", ">AUTH LOGIN\r\n"}},
		{"", 0, {"<220 welcome\r\n", ">XYZZY\r\n"}},
		{"", 0, {"<+OK hello\r\n", ">SET a b\r\n"}},
		{"", 0, {"<* OK hello\r\n", ">hello there\r\n"}},
		{"", 0, {"<200 ok\r\n", ">POST / HTTP/9\r\n"}},
		{"", 0, {">*x\r\n$4\r\nPING\r\n", "<+OK\r\n"}},
	};

	(void)state;
	for (unsigned i = 0; i < COUNT(talks); i++)
		check(&talks[i], false, false);
}

// Joined midway, also with the wrong idea of who began.
static void test_midstream(void **state)
{
	static const struct talk talks[] = {
		{"pop3", 2, {">RETR 20\r\n", "<+OK 100220 octets\r\nReceived: from a\r\n"}},
		{"imap", 2, {">a7 UID FETCH 1:* FLAGS\r\n", "<* 1 FETCH (UID 1)\r\n"}},
		{"imap", 2, {">a8 NOOP\r\n", "<a8 OK done\r\n"}},
		{"ftp", 2, {">PASV\r\n", "<227 Entering Passive Mode (10,0,0,1,4,1)\r\n"}},
		{"ftp", 2, {">RETR file\r\n", "<150 Opening\r\n"}},
		{"smtp", 1, {">MAIL FROM:<a@example.com>\r\n", "<250 ok\r\n"}},
		{"", 0, {">a8 NOOP\r\n", "<a9 OK done\r\n"}},
		{"", 0, {">RETR 20\r\n", "<no\r\n"}},
	};

	(void)state;
	for (unsigned i = 0; i < COUNT(talks); i++) {
		check(&talks[i], true, false);
		check(&talks[i], true, true);
	}
}

// News of one side alone, or joined midway: by commands and replies that nothing else has.
static void test_news_midway(void **state)
{
	static const struct talk talks[] = {
		{"nntp", 1, {">MODE READER\r\n"}},
		{"nntp", 1, {">authinfo user someone\r\n"}},
		{"nntp", 1, {">GROUP comp.lang.c\r\n"}},
		{"nntp", 1, {">XOVER 1000-1200\r\n"}},
		{"nntp", 1, {">BODY <part1.x$y@news.example>\r\n"}},
		{"nntp", 1, {"<211 1234 3000234 3002322 misc.test\r\n"}},
		{"nntp", 1, {"<222 3000235 <45223423@example.com>\r\n"}},
		{"", 0, {">GROUP news\r\n"}},
		{"", 0, {">XOVER everything\r\n"}},
		{"", 0, {">group www.example\nowner root\n"}}, // RFC 3977 3.1: lines end with CRLF
		{"", 0, {">BODY <b>\r\n"}},
		{"", 0, {"<211 System status\r\n"}},
		{"", 0, {"<222 something <else>\r\n"}},
	};

	(void)state;
	for (unsigned i = 0; i < COUNT(talks); i++) {
		check(&talks[i], true, false);
		check(&talks[i], true, true);
		check(&talks[i], false, false);
	}
}

// RFC 8314: the port says what runs inside TLS; elsewhere TLS is TLS.
static void test_inside_tls(void **state)
{
	static const char hello[] = "\x16\3\1\0\x31\1\0\0\x2d\3\3"
				    "abcdefghijklmnopqrstuvwxyz012345\0\0\4\x13\1\x13\2\1\0\0\0";
	static const struct {
		uint16_t port;
		const char *app;
	} ports[] = {{993, "imap"}, {995, "pop3"}, {465, "smtp"}, {990, "ftp"}, {443, "tls"},
		{143, "tls"}};

	(void)state;
	for (unsigned i = 0; i < COUNT(ports); i++) {
		struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, ports[i].port);

		rig_feed(&flow, HALF_C2S, LITERAL(hello));
		assert_string_equal(rig_app(&flow), ports[i].app);
		rig_end(&flow);
	}
}

// What servers pass over before a ClientHello has no more than twelve bits: it has to come.
static void test_inside_lenient_tls(void **state)
{
	static const char warning[] = "\x15\x0a\x07\0\2\1\0", empty[] = "\x16\x0f\x0c\0\0";
	static const char hello[] = "\x16\x0a\x09\0\x31\1\0\0\x2d\3\3"
				    "abcdefghijklmnopqrstuvwxyz012345\0\0\4\x13\1\x13\2\1\0\0\0";
	static const char other[] = "\x16\x0a\x09\0\x31\7\0\0\x2d",
			  sealed[] = "\x17\x0a\x09\0\3abcdefgh";
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 465);

	(void)state;
	rig_feed(&flow, HALF_C2S, LITERAL(warning));
	assert_string_equal(rig_app(&flow), "");
	rig_feed(&flow, HALF_C2S, LITERAL(empty));
	assert_string_equal(rig_app(&flow), "");
	rig_feed(&flow, HALF_C2S, hello, 5);
	assert_string_equal(rig_app(&flow), "");
	rig_feed(&flow, HALF_C2S, hello + 5, sizeof(hello) - 6);
	assert_string_equal(rig_app(&flow), "smtp");
	rig_end(&flow);
	flow = rig_flow(rig, IPPROTO_TCP, 40000, 465);
	rig_feed(&flow, HALF_C2S, LITERAL(other));
	assert_string_equal(rig_app(&flow), "");
	rig_end(&flow);
	flow = rig_flow(rig, IPPROTO_TCP, 40000, 993);
	rig_feed(&flow, HALF_C2S, LITERAL(sealed)); // and octets that are no record
	assert_string_equal(rig_app(&flow), "");
	rig_end(&flow);
}

static void test_cuts(void **state)
{
	static const struct {
		const char *app;
		const char *bytes;
	} greetings[] = {
		{"ftp", "220-Welcome\r\n220 ProFTPD Server\r\n"},
		{"smtp", "220-a\r\n220 b ESMTP Postfix\r\n"},
		{"pop3", "+OK Dovecot ready.\r\n"},
		{"imap", "* OK IMAP4rev1 ready\r\n"},
		{"nntp", "200 NNTP Service\r\n"},
	};

	(void)state;
	for (unsigned i = 0; i < COUNT(greetings); i++) {
		rig_cuts(rig, IPPROTO_TCP, HALF_S2C, greetings[i].bytes, strlen(greetings[i].bytes),
			greetings[i].app);
		rig_random(rig, IPPROTO_TCP, greetings[i].bytes, 4, greetings[i].app);
	}
}

// Mail through a proxy: before the tunnel is granted it is a request to the proxy.
static void test_smtp_tunnel(void **state)
{
	static const char ask[] = "CONNECT mail.example:25 HTTP/1.0\r\nHost: a\r\n\r\n";
	static const char grant[] = "HTTP/1.0 200 Connection established\r\n\r\n";
	static const char meta[] = "220 mail.example ESMTP\r\n";
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 3128);

	(void)state;
	rig_feed(&flow, HALF_C2S, LITERAL(ask));
	assert_string_equal(rig_app(&flow), "http");
	rig_feed(&flow, HALF_S2C, LITERAL(grant));
	rig_feed(&flow, HALF_S2C, LITERAL(meta));
	assert_string_equal(rig_app(&flow), "smtp");
	assert_int_equal(flow.verdict.n_data_pkts, 3);
	rig_end(&flow);
	flow = rig_flow(rig, IPPROTO_TCP, 40000, 3128);
	rig_feed(&flow, HALF_C2S, LITERAL(ask));
	rig_feed(&flow, HALF_S2C, LITERAL("HTTP/1.0 403 No\r\n\r\n"));
	rig_feed(&flow, HALF_S2C, LITERAL(meta));
	assert_string_equal(rig_app(&flow), "http");
	rig_end(&flow);
}

struct heard {
	struct expectation last;
	unsigned n;
};

static void hear(void *ctx, const struct expectation *expectation)
{
	struct heard *heard = ctx;

	heard->last = *expectation;
	heard->n++;
}

static const uint8_t v4_ends[2][16] = {
	{[10] = 0xff, 0xff, 10, 0, 0, 7},
	{[10] = 0xff, 0xff, 10, 0, 0, 22},
};
static const uint8_t v6_ends[2][16] = {
	{0x20, 1, 0xd, 0xb8, [15] = 7},
	{0x20, 1, 0xd, 0xb8, [15] = 22},
};

// Feeds a line to FTP's decoder, cut in two, in heap blocks of exact size.
static struct heard decode(
	const uint8_t ends_of[2][16], unsigned half, const char *line, size_t length, size_t cut)
{
	struct flow_ends ends = {.port = {40000, 21}};
	struct heard heard = {0};
	const struct decoder_sink sink = {.expect = hear, .ctx = &heard};
	uint32_t state = CLASSIFY_NO_STATE;

	static const char passive[] = "PASV\r\n";
	const struct span request = {0, (const uint8_t *)passive, 6, HALF_C2S, 0};

	memcpy(ends.address, ends_of, sizeof(ends.address));
	if (half == HALF_S2C)
		decoder_feed(rig->classifier, app_find("ftp"), &ends, &request, &state, &sink);
	for (unsigned part = 0; part < 2; part++) {
		size_t begin = part ? cut : 0, size = part ? length - cut : cut;
		uint8_t *exact = malloc(size ? size : 1);
		const struct span span = {begin, exact, (uint32_t)size, (uint8_t)half, 0};

		memcpy(exact, line + begin, size);
		decoder_feed(rig->classifier, app_find("ftp"), &ends, &span, &state, &sink);
		free(exact);
	}
	classify_end(rig->classifier, &state);
	return heard;
}

static void test_expected(void **state)
{
	static const struct {
		const char *line;
		unsigned half; // who sends it, and will accept the connection
		uint16_t port;
		bool v6;
	} good[] = {
		{"PORT 10,0,0,7,4,1\r\n", HALF_C2S, 1025, false},
		{"port 10,0,0,7,255,255\r\n", HALF_C2S, 65535, false},
		{"EPRT |1|10.0.0.7|6275|\r\n", HALF_C2S, 6275, false},
		{"EPRT !2!2001:DB8:0::7!6275!\r\n", HALF_C2S, 6275, true},
		{"227 Entering Passive Mode (10,0,0,22,4,1).\r\n", HALF_S2C, 1025, false},
		{"227 =10,0,0,22,4,1\r\n", HALF_S2C, 1025, false},
		{"229 Entering Extended Passive Mode (|||6446|)\r\n", HALF_S2C, 6446, false},
		{"229 Extended (|||6446|)\r\n", HALF_S2C, 6446, true},
	};

	(void)state;
	for (unsigned i = 0; i < COUNT(good); i++) {
		size_t length = strlen(good[i].line);

		for (size_t cut = 0; cut <= length; cut++) {
			const uint8_t(*ends)[16] = good[i].v6 ? v6_ends : v4_ends;
			struct heard heard = decode(ends, good[i].half, good[i].line, length, cut);

			assert_int_equal(heard.n, 1);
			assert_int_equal(heard.last.port, good[i].port);
			assert_int_equal(heard.last.app, app_find("ftp-data"));
			assert_int_equal(heard.last.l4_proto, IPPROTO_TCP);
			assert_memory_equal(heard.last.address, ends[good[i].half], 16);
			assert_true(heard.last.ttl_s > 0);
		}
	}
}

// Lines that one program or another takes in spite of what they lack or name: the connection is
// expected at the end that listens. What is another's address is claimed of it, besides.
static void test_expected_at_the_listener(void **state)
{
	static const struct {
		const char *line;
		unsigned half, claims;
	} odd[] = {
		{"PORT 10,0,0,8,4,1\r\n", HALF_C2S, 1},  // a third party
		{"PORT 10,0,0,22,4,1\r\n", HALF_C2S, 0}, // the server itself
		{"PORT 10,0,0,7,256,1\r\n", HALF_C2S, 0},
		{"PORT 10,0,0,7,4\r\n", HALF_C2S, 0},
		{"PORT 10,0,,7,4,1\r\n", HALF_C2S, 0},
		{"PORT -1,0,0,7,4,1\r\n", HALF_C2S, 1},
		{"EPRT |1|10.0.0.8|6275|\r\n", HALF_C2S, 1},
		{"227 Entering Passive Mode (10,0,0,7,4,1)\r\n", HALF_S2C, 0},
		{"229 Entering (|1|10.0.0.22|6446|)\r\n", HALF_S2C, 0},
		{"229 Entering |||6446|\r\n", HALF_S2C, 0},
	};

	(void)state;
	for (unsigned i = 0; i < COUNT(odd); i++) {
		struct heard heard =
			decode(v4_ends, odd[i].half, odd[i].line, strlen(odd[i].line), 3);

		assert_int_equal(heard.n, 1 + odd[i].claims);
		assert_int_equal(heard.last.claimed, odd[i].claims);
		if (!odd[i].claims)
			assert_memory_equal(heard.last.address, v4_ends[odd[i].half], 16);
	}
}

static void test_unexpected(void **state)
{
	static const struct {
		const char *line;
		unsigned half;
	} bad[] = {
		{"PORT 10,0,0,7,0,0\r\n", HALF_C2S},
		{"PORT\r\n", HALF_C2S},
		{"EPRT |2|10.0.0.7|6275|\r\n", HALF_C2S},
		{"EPRT |1|10.0.0.7|70000|\r\n", HALF_C2S},
		{"EPRT |1|10.0.0.7|6275\r\n", HALF_C2S},
		{"EPRT 1110.0.0.7162751\r\n", HALF_C2S},
		{"EPRT |||\r\n", HALF_C2S},
		{"227 Entering Passive Mode\r\n", HALF_S2C},
		{"227-10,0,0,22,4,1\r\n", HALF_S2C},
		{"229 Entering (|||)\r\n", HALF_S2C},
		{"229 (\r\n", HALF_S2C},
		{"150 Opening (10,0,0,22,4,1)\r\n", HALF_S2C},
		{"\r\n", HALF_C2S},
	};

	(void)state;
	for (unsigned i = 0; i < COUNT(bad); i++)
		assert_int_equal(decode(v4_ends, bad[i].half, bad[i].line, strlen(bad[i].line),
					 3 > strlen(bad[i].line) ? 0 : 3)
					 .n,
			0);
}

// A line longer than the buffer is left out, whatever stands at its end; the next one counts.
static void test_long_line(void **state)
{
	static char line[3 * APP_LINE_BYTES];
	static const char tail[] = "PORT 10,0,0,7,4,1\r\nPORT 10,0,0,7,4,2\r\n";
	size_t length = sizeof(line) - 1;

	(void)state;
	memset(line, 'x', sizeof(line));
	memcpy(line + length - sizeof(tail), tail, sizeof(tail) - 1);
	length -= 1;
	struct heard heard = decode(v4_ends, HALF_C2S, line, length, APP_LINE_BYTES / 2);

	assert_int_equal(heard.n, 1);
	assert_int_equal(heard.last.port, 1026);
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
		cmocka_unit_test(test_handshake_store),
		cmocka_unit_test(test_verbs_decide),
		cmocka_unit_test(test_midstream),
		cmocka_unit_test(test_news_midway),
		cmocka_unit_test(test_inside_tls),
		cmocka_unit_test(test_inside_lenient_tls),
		cmocka_unit_test(test_cuts),
		cmocka_unit_test(test_smtp_tunnel),
		cmocka_unit_test(test_expected),
		cmocka_unit_test(test_expected_at_the_listener),
		cmocka_unit_test(test_unexpected),
		cmocka_unit_test(test_long_line),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
