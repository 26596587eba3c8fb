// SPDX-License-Identifier: BSD-3-Clause
// POP3 as clients and servers speak it: which answers have lines, mails with dots, pipelining,
// credentials that look like commands, and what becomes unreadable.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "content/decoders.h"
#include "lib/content/conversation.h"

#include <cmocka.h>

#define HELLO SAID_S("+OK Dovecot ready.\r\n")
#define LOGIN                                                                 \
	SAID_C("USER bob\r\n"), SAID_S("+OK\r\n"), SAID_C("PASS secret\r\n"), \
		SAID_S("+OK "                                                 \
		       "in\r\n")
#define MAIL "From: a@x\r\nTo: b@y\r\nSubject: s\r\n\r\nhello\r\n"
#define FILE_MAIL                                                                         \
	"From: a@x\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n"                  \
	"--b\r\n\r\nhello\r\n--b\r\nContent-Type: application/pdf; name=\"plan.pdf\"\r\n" \
	"Content-Transfer-Encoding: base64\r\n\r\nJVBERi0xLjQK\r\n--b--\r\n"

static const struct conversation sessions[] = {
	{"curl reads a mail",
		{HELLO, SAID_C("CAPA\r\n"), SAID_S("+OK\r\nSASL PLAIN\r\nUSER\r\n.\r\n"), LOGIN,
			SAID_C("RETR 1\r\n"), SAID_S("+OK 44 octets\r\n" MAIL ".\r\n"),
			SAID_C("QUIT\r\n"), SAID_S("+OK bye\r\n")},
		"message s2c from=a@x to=bob 103+1 of 103+1 text=s\n"
		"message s2c from=a@x to=bob 108+5 of 108+5 text=hello\n"},
	{"a file", {HELLO, LOGIN, SAID_C("RETR 1\r\n"), SAID_S("+OK\r\n" FILE_MAIL ".\r\n")},
		"message s2c from=a@x to=bob 101+5 of 101+5 text=hello\n"
		"file 1 s2c header name=plan.pdf type=application/pdf user=a@x\n"
		"end 1 CLOSED 198+12 %PDF-1.4\\0a\n"},
	{"answers of one line and of several, pipelined, in any case",
		{HELLO, LOGIN,
			SAID_C("stat\r\nList\r\nLIST 1\r\nUIDL\r\nuidl 1\r\nTOP 1 0\r\nRETR "
			       "1\r\nDELE 1\r\nNOOP\r\nRETR 2\r\n"),
			SAID_S("+OK 1 44\r\n+OK\r\n1 44\r\n.\r\n+OK 1 44\r\n+OK\r\n1 "
			       "x\r\n.\r\n+OK 1 x\r\n"),
			SAID_S("+OK\r\nSubject: top\r\n\r\n.\r\n+OK\r\n" MAIL
			       ".\r\n+OK\r\n-ERR what\r\n-ERR none\r\n")},
		"message s2c to=bob 103+3 of 103+3 text=top\n"
		"message s2c from=a@x to=bob 147+1 of 147+1 text=s\n"
		"message s2c from=a@x to=bob 152+5 of 152+5 text=hello\n"},
	{"LIST that fails has no lines",
		{HELLO, LOGIN, SAID_C("LIST\r\nRETR 1\r\n"),
			SAID_S("-ERR no\r\n+OK\r\n" MAIL ".\r\n")},
		"message s2c from=a@x to=bob 76+1 of 76+1 text=s\n"
		"message s2c from=a@x to=bob 81+5 of 81+5 text=hello\n"},
	{"dots that stand for themselves",
		{HELLO, LOGIN, SAID_C("RETR 1\r\nRETR 2\r\n"),
			SAID_S("+OK\r\nSubject: "
			       "s\r\n\r\n..\r\n...a\r\n.b\r\n.\rc\r\nd.\r\n..\r\n.\r\n"
			       "+OK\r\n.\r\n")},
		"message s2c to=bob 47+1 of 47+1 text=s\n"
		"message s2c to=bob 53+24 of 53+24 "
		"text=.\\0d\\0a..a\\0d\\0ab\\0d\\0a\\0dc\\0d\\0ad.\\0d\\0a.\n"},
};

static const struct conversation logins[] = {
	{"credentials are nobody's commands",
		{HELLO, SAID_C("AUTH\r\n"), SAID_S("+OK\r\nPLAIN\r\n.\r\n"),
			SAID_C("AUTH PLAIN\r\n"), SAID_S("+ \r\n"), SAID_C("AGJvYgBzZWNyZXQ=\r\n"),
			SAID_S("-ERR no\r\n"), SAID_C("AUTH CRAM-MD5\r\n"),
			SAID_S("+ PDE4OTY+\r\n"), SAID_C("Ym9i\r\n"), SAID_S("+ x\r\n"),
			SAID_C("*\r\n"), SAID_S("-ERR aborted\r\n"),
			SAID_C("APOP bob c4c9334bac560ecc979e58001b3e22fb\r\n"), SAID_S("+OK\r\n"),
			SAID_C("TOP 1 9\r\n"), SAID_S("+OK\r\n" MAIL ".\r\n")},
		"message s2c from=a@x to=b@y 118+1 of 118+1 text=s\n"
		"message s2c from=a@x to=b@y 123+5 of 123+5 text=hello\n"},
	{"a command behind AUTH",
		{HELLO, SAID_C("AUTH PLAIN AGJvYgBzZWNyZXQ=\r\nRETR 1\r\n"),
			SAID_S("+OK\r\n+OK\r\n" MAIL ".\r\n")},
		"message s2c from=a@x to=b@y 59+1 of 59+1 text=s\n"
		"message s2c from=a@x to=b@y 64+5 of 64+5 text=hello\n"},
};

static const struct conversation lies[] = {
	{"lines that end in LF alone",
		{HELLO, LOGIN, SAID_C("RETR 1\r\n"),
			SAID_S("+OK\r\nSubject: s\r\n\r\nhello\n.\r\nworld\r\n.\r\n")},
		"message s2c to=bob 47+1 of 47+1 text=s\n"
		"note s2c bare_lf @60\n"
		"message s2c to=bob 52+5 of 52+5 text=hello\n"},
	{"a dot before LF alone",
		{HELLO, LOGIN, SAID_C("RETR 1\r\nNOOP\r\n"),
			SAID_S("+OK\r\nSubject: s\r\n\r\nhello\r\n.\n+OK\r\n")},
		"message s2c to=bob 47+1 of 47+1 text=s\n"
		"note s2c bare_lf @60\n"
		"message s2c to=bob 52+5 of 52+5 text=hello\n"},
	{"answers that nobody waits for",
		{HELLO, SAID_S("+OK\r\n" MAIL ".\r\n"), LOGIN, SAID_C("RETR 1\r\n"),
			SAID_S("+OK\r\n" MAIL ".\r\n")},
		"message s2c from=a@x to=bob 116+1 of 116+1 text=s\n"
		"message s2c from=a@x to=bob 121+5 of 121+5 text=hello\n"},
	{"a mail that breaks off",
		{HELLO, LOGIN, SAID_C("RETR 1\r\n"),
			SAID_S("+OK\r\nContent-Type: image/png; "
			       "name=a.png\r\nContent-Transfer-Encoding: base64\r\n\r\niVBORw0K")},
		"file 1 s2c header name=a.png type=image/png\n"
		"end 1 TRUNCATED 112+8 \\89PNG\\0d\\0a\n"},
};

static const struct conversation unreadable[] = {
	{"STLS",
		{HELLO, SAID_C("STLS\r\n"), SAID_S("+OK go\r\n"), SAID_C("\x16\x03\x01"),
			SAID_S("\x16\x03\x03")},
		"note s2c tls @28\n"},
	{"STLS that is refused",
		{HELLO, SAID_C("STLS\r\n"), SAID_S("-ERR no\r\n"), LOGIN, SAID_C("RETR 1\r\n"),
			SAID_S("+OK\r\n" MAIL ".\r\n")},
		"message s2c from=a@x to=bob 76+1 of 76+1 text=s\n"
		"message s2c from=a@x to=bob 81+5 of 81+5 text=hello\n"},
	{"TLS from the first byte", {SAID_C("\x16\x03\x01\x02"), SAID_S("\x16\x03\x03\x02")}, ""},
	{"a gap in a mail",
		{HELLO, LOGIN, SAID_C("RETR 1\r\nRETR 2\r\n"),
			SAID_S("+OK\r\nSubject: s\r\n\r\nhello "), SAID_GAP(HALF_S2C, 9),
			SAID_S(" world\r\n.\r\n+OK\r\n" FILE_MAIL ".\r\n")},
		"message s2c to=bob 47+1 of 47+1 text=s\n"
		"message s2c to=bob 52+6 of 52+6 text=hello \n"
		"note s2c lost @58\n"
		"message s2c from=a@x to=bob 146+5 of 146+5 text=hello\n"
		"file 1 s2c header name=plan.pdf type=application/pdf user=a@x\n"
		"end 1 CLOSED 243+12 %PDF-1.4\\0a\n"},
	{"a gap in an answer", {HELLO, LOGIN, SAID_GAP(HALF_S2C, 9)}, "note s2c lost @33\n"},
	{"a gap in commands",
		{HELLO, LOGIN, SAID_GAP(HALF_C2S, 9), SAID_S("+OK\r\n" FILE_MAIL ".\r\n")},
		"note c2s lost @23\n"},
};

#define TEST(table)                                                                        \
	static void test_##table(void **state)                                             \
	{                                                                                  \
		(void)state;                                                               \
		conversations_check(&content_pop3, table, sizeof(table) / sizeof(*table)); \
	}
TEST(sessions)
TEST(logins)
TEST(lies)
TEST(unreadable)

// More commands than wait for answers.
static void test_many(void **state)
{
	static char commands[257 * 6 + 1];
	struct conversation conversation = {.name = "too many commands", .said = {HELLO}};

	(void)state;
	for (unsigned i = 0; i < 257; i++)
		memcpy(commands + 6 * i, "NOOP\r\n", 6);
	conversation.said[1] = (struct said)SAID_BYTES(HALF_C2S, 0, 257 * 6, commands);
	conversation.expected = "note c2s too_many_requests @1541\n";
	conversations_check(&content_pop3, &conversation, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sessions),
		cmocka_unit_test(test_logins),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
