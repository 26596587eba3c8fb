// SPDX-License-Identifier: BSD-3-Clause
// IRC: what decides, what does not; and DCC's expectations.
#include <arpa/inet.h>
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

static const char *first(enum half half, const char *bytes)
{
	return rig_first(rig, IPPROTO_TCP, half, bytes, strlen(bytes));
}

static void test_decided(void **state)
{
	static const char *const good[] = {
		"NICK alice\r\nUSER alice 0 * :Alice\r\n",
		"USER alice 0 * :Alice\r\n",
		"PASS secret\r\nNICK [bot]x\r\nUSER x 8 * :x\r\n",
		"CAP LS 302\r\n",
		":irc.example.net NOTICE * :*** Looking up your hostname...\r\n",
		":irc.example.net 001 alice :Welcome to the network\r\n",
		":alice!a@host.example PRIVMSG #room :hello\r\n",
		"@time=2020-01-01T00:00:00Z;id=x :alice!a@host PRIVMSG #room :hello\r\n",
		"NOTICE AUTH :*** Checking Ident\r\n",
		"PRIVMSG #room :\1VERSION\1\r\n",
		"JOIN #room\r\n",
		"ERROR :Closing Link: 192.0.2.1 (Connection timed out)\r\n",
		"PING :1234\r\nPONG :1234\r\n",
		":irc.example.net 001 alice :bare line feeds\n",
		":irc.example.net 670 alice :STARTTLS successful, proceed with TLS handshake\r\n",
		":irc.example.net 670 :STARTTLS successful\r\n",
		":irc.example.net 691 :STARTTLS failed (Wrong moment)\r\n",
		"670 * :STARTTLS successful, go ahead with TLS handshake\r\n",
		"691 :starttls failure\r\n",
	};

	(void)state;
	for (unsigned i = 0; i < COUNT(good); i++)
		for (unsigned half = 0; half < 2; half++)
			rig_cuts(rig, IPPROTO_TCP, half, good[i], strlen(good[i]), "irc");
}

static void test_refused(void **state)
{
	static const char *const bad[] = {
		"USER alice\r\n", // FTP, POP3
		"PASS secret\r\n",
		"QUIT\r\n",
		"NICK\r\n",
		"NICK 9lives\r\n",
		"NICK two words :x\x02\x04\r\n:bad\r\n\x80\r\n",
		"CAP OFF\r\n",
		"PING\r\n",
		"JOIN us now\r\n",
		"NOTICE the difference\r\n",
		"ERROR something else\r\n",
		"MODE READER\r\n",
		":x\r\n",
		": 001 a b\r\n",
		":irc.example.net HELLO there\r\n",
		"@tag only\r\n",
		"220 irc.example.net ESMTP\r\n",
		"GET /irc HTTP/1.0\r\nUser: NICK\r\n\r\n",
		"STARTTLS\r\n", // SMTP, NNTP, ManageSieve
		"STARTTLS",
		"670 items\r\n",
		"671 * :STARTTLS\r\n",
		"690 * :STARTTLS\r\n",
		"6700 * :STARTTLS\r\n",
		"670\r\nSTARTTLS\r\n",
		"220 STARTTLS 670\r\n",
	};

	(void)state;
	for (unsigned i = 0; i < COUNT(bad); i++)
		for (unsigned half = 0; half < 2; half++) {
			struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 50000);

			rig_feed(&flow, half, bad[i], strlen(bad[i]));
			if (!strcmp(rig_app(&flow), "irc") && flow.verdict.final)
				fail_msg("taken for IRC: %s", bad[i]);
			rig_end(&flow);
		}
}

// A short word is a guess until the other side speaks the same language.
static void test_open(void **state)
{
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 7777);

	(void)state;
	rig_feed(&flow, HALF_C2S, LITERAL("NICK alice\r\n"));
	assert_string_equal(rig_app(&flow), "irc");
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_PARTIAL);
	rig_feed(&flow, HALF_S2C, LITERAL(":irc.example.net 433 * alice :Nickname in use\r\n"));
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_VERIFIED);
	assert_int_equal(flow.verdict.n_data_pkts, 1);
	rig_end(&flow);

	flow = rig_flow(rig, IPPROTO_TCP, 40000, 7777);
	rig_feed(&flow, HALF_C2S, LITERAL("PING :a\r\n"));
	rig_feed(&flow, HALF_S2C, LITERAL("PONG :a\r\n"));
	assert_string_equal(rig_app(&flow), "irc");
	assert_true(flow.verdict.final);
	rig_end(&flow);
}

// The way to TLS: the command alone is others', too; the answer decides, whatever follows.
static void test_starttls(void **state)
{
	static const char hello[] = "STARTTLS\r\n\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03\n\x80\n";
	static const char *const answers[] = {
		"670 :STARTTLS successful\r\n", ":a.b 691 * :STARTTLS failed\r\n"};
	static const char *const others[] = {"220 2.0.0 Ready to start TLS\r\n",
		"382 Continue with TLS negotiation\r\n", "OK \"Begin TLS negotiation now.\"\r\n"};

	(void)state;
	for (unsigned i = 0; i < COUNT(answers) + COUNT(others); i++)
		for (size_t cut = 1; cut < sizeof(hello); cut++) {
			const bool good = i < COUNT(answers);
			const char *answer = good ? answers[i] : others[i - COUNT(answers)];
			struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 7777);

			rig_feed(&flow, HALF_C2S, hello, cut);
			assert_string_equal(rig_app(&flow), "");
			rig_feed(&flow, HALF_S2C, answer, strlen(answer));
			assert_int_equal(!strcmp(rig_app(&flow), "irc"), good);
			rig_end(&flow);
		}
}

static void test_mail_is_not_irc(void **state)
{
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 110);

	(void)state;
	rig_feed(&flow, HALF_S2C, LITERAL("+OK ready\r\n"));
	rig_feed(&flow, HALF_C2S, LITERAL("USER alice\r\n"));
	assert_string_equal(rig_app(&flow), "pop3");
	rig_end(&flow);
	assert_string_equal(first(HALF_C2S, "USER alice\r\nPASS x\r\n"), "");
}

static void test_random(void **state)
{
	(void)state;
	rig_random(rig, IPPROTO_TCP, LITERAL(":"), "irc");
	rig_random(rig, IPPROTO_TCP, LITERAL("@"), "irc");
	rig_random(rig, IPPROTO_TCP, LITERAL("USER "), "irc");
	rig_random(rig, IPPROTO_TCP, LITERAL("NOTICE "), "irc");
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

// Feeds the bytes to IRC's decoder, cut in two at `cut`.
static struct heard decode(unsigned half, const char *line, size_t cut)
{
	struct flow_ends ends = {.port = {40000, 6667}};
	struct heard heard = {0};
	const struct decoder_sink sink = {.expect = hear, .ctx = &heard};
	size_t length = strlen(line);
	uint32_t state = CLASSIFY_NO_STATE;

	memcpy(ends.address[HALF_C2S], "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\7", 16);
	memcpy(ends.address[HALF_S2C], "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\x16", 16);
	for (unsigned part = 0; part < 2; part++) {
		size_t begin = part ? cut : 0, size = part ? length - cut : cut;
		uint8_t *exact = malloc(size ? size : 1);
		const struct span span = {begin, exact, (uint32_t)size, (uint8_t)half, 0};

		memcpy(exact, line + begin, size);
		assert_int_equal(
			decoder_feed(rig->classifier, app_find("irc"), &ends, &span, &state, &sink),
			0);
		free(exact);
	}
	classify_end(rig->classifier, &state);
	return heard;
}

static void test_dcc(void **state)
{
	static const char *const offers[] = {
		"PRIVMSG bob :\1DCC SEND file.txt 167772167 43614 1024\1\r\n",
		"PRIVMSG bob :\1DCC SEND \"two words.txt\" 167772167 43614 1024\1\r\n",
		"PRIVMSG bob :\1DCC CHAT chat 167772167 43614\1\r\n",
	};

	(void)state;
	for (unsigned i = 0; i < COUNT(offers); i++)
		for (size_t cut = 0; cut <= strlen(offers[i]); cut++) {
			struct heard heard = decode(HALF_C2S, offers[i], cut);

			assert_int_equal(heard.n, 1);
			assert_int_equal(heard.last.port, 43614);
			assert_int_equal(heard.last.app, app_find("irc"));
			assert_int_equal(heard.last.l4_proto, IPPROTO_TCP);
			assert_memory_equal(heard.last.address + 12, "\x0a\0\0\7", 4);
		}
	// from another user, through the server: an address of his
	struct heard heard =
		decode(HALF_S2C, ":al!a@h PRIVMSG bob :\1DCC SEND f 2001:db8::9 5000 1\1\r\n", 20);

	assert_int_equal(heard.n, 1);
	assert_int_equal(heard.last.port, 5000);
	assert_memory_equal(heard.last.address, "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x09", 16);
}

static void test_dcc_refused(void **state)
{
	static const char *const lies[] = {
		"PRIVMSG bob :\1DCC SEND f 167772168 43614 1\1\r\n", // another host's address
		"PRIVMSG bob :\1DCC SEND f 167772167 80 1\1\r\n",    // a service's port
		"PRIVMSG bob :\1DCC SEND f 167772167 0 1 77\1\r\n",  // passive: no port yet
		"PRIVMSG bob :\1DCC SEND f 167772167 70000 1\1\r\n",
		"PRIVMSG bob :\1DCC SEND f 99999999999 43614 1\1\r\n",
		"PRIVMSG bob :\1DCC SEND f\1\r\n",
		"PRIVMSG bob :\1DCC SEND \"f 167772167 43614 1\1\r\n",
		"PRIVMSG bob :\1DCC RESUME f 43614 0\1\r\n",
		"PRIVMSG bob :DCC SEND f 167772167 43614 1\r\n",
		"PRIVMSG bob :\1DCC\1\r\n",
		"\1\r\n",
		"\r\n",
	};

	(void)state;
	for (unsigned i = 0; i < COUNT(lies); i++)
		assert_int_equal(decode(HALF_C2S, lies[i], 1).n, 0);
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
		cmocka_unit_test(test_decided),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_open),
		cmocka_unit_test(test_starttls),
		cmocka_unit_test(test_mail_is_not_irc),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_dcc),
		cmocka_unit_test(test_dcc_refused),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
