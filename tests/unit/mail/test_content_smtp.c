// SPDX-License-Identifier: BSD-3-Clause
// SMTP as clients and servers speak it: envelopes, mails by DATA and BDAT, where they begin and
// end, what servers refuse, and what becomes unreadable.
#include "content/decoders.h"
#include "lib/content/conversation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define HELLO \
	SAID_S("220 mx ESMTP\r\n"), SAID_C("EHLO h\r\n"), SAID_S("250-mx\r\n250 PIPELINING\r\n")
#define FROM SAID_C("MAIL FROM:<a@x> SIZE=9\r\n"), SAID_S("250 ok\r\n")
#define RCPT SAID_C("RCPT TO:<b@y>\r\n"), SAID_S("250 ok\r\n")
#define DATA SAID_C("DATA\r\n"), SAID_S("354 go\r\n")
#define BODY "Subject: s\r\n\r\nhello\r\n"

static const struct conversation sessions[] = {
	{"one mail",
		{HELLO, FROM, RCPT, DATA, SAID_C(BODY ".\r\n"), SAID_S("250 queued\r\n"),
			SAID_C("QUIT\r\n"), SAID_S("221 bye\r\n")},
		"message c2s from=a@x to=b@y 62+1 of 62+1 text=s\n"
		"message c2s from=a@x to=b@y 67+5 of 67+5 text=hello\n"},
	{"pipelined, and the next mail in the segment of the final dot",
		{HELLO, SAID_C("MAIL FROM:<a@x>\r\nRCPT TO:<b@y>\r\nRCPT TO:<c@y>\r\nDATA\r\n"),
			SAID_S("250 ok\r\n250 ok\r\n550 no\r\n354 go\r\n"),
			SAID_C(BODY ".\r\nMAIL FROM:<d@x>\r\nRCPT TO:<e@y>\r\nDATA\r\n"),
			SAID_S("250 queued\r\n250 ok\r\n250 ok\r\n354 go\r\n"),
			SAID_C("Subject: t\r\n\r\nworld\r\n.\r\nQUIT\r\n"),
			SAID_S("250 queued\r\n221 bye\r\n")},
		"message c2s from=a@x to*=b@y,c@y 70+1 of 70+1 text=s\n"
		"message c2s from=a@x to*=b@y,c@y 75+5 of 75+5 text=hello\n"
		"message c2s from=d@x to=e@y 132+1 of 132+1 text=t\n"
		"message c2s from=d@x to=e@y 137+5 of 137+5 text=world\n"},
	{"dots",
		{HELLO, FROM, RCPT, DATA,
			SAID_C("Subject: s\r\n\r\n..\r\n...a\r\n.b\r\nc.\r\n..\r\n.\r\n"),
			SAID_S("250 queued\r\n")},
		"message c2s from=a@x to=b@y 62+1 of 62+1 text=s\n"
		"message c2s from=a@x to=b@y 68+19 of 68+19 "
		"text=.\\0d\\0a..a\\0d\\0ab\\0d\\0ac.\\0d\\0a.\n"},
	{"no body, and nothing at all",
		{HELLO, FROM, RCPT, DATA, SAID_C(".\r\n"), SAID_S("250 queued\r\n"), FROM, RCPT,
			DATA, SAID_C("Subject: s\r\n.\r\n"), SAID_S("250 queued\r\n")},
		"message c2s from=a@x to=b@y 110+1 of 110+1 text=s\n"},
	{"chunks",
		{HELLO, FROM, RCPT, SAID_C("BDAT 14\r\nSubject: s\r\n\r\nBDAT 9\r\nhello\r\n.\r"),
			SAID_S("250 ok\r\n250 ok\r\n"), SAID_C("BDAT 3 LAST\r\n\n.\r"),
			SAID_S("250 queued\r\n"), SAID_C("QUIT\r\n")},
		"message c2s from=a@x to=b@y 65+1 of 65+1 text=s\n"
		"message c2s from=a@x to=b@y 78+25 of 78+25 blank=00 "
		"text=hello\\0d\\0a.\\0d\\0a.\\0d\n"},
	{"a subject in two chunks",
		{HELLO, FROM, RCPT, SAID_C("BDAT 10\r\nSubject: s"), SAID_S("250 ok\r\n"),
			SAID_C("BDAT 7 LAST\r\nt\r\n\r\nhi"), SAID_S("250 queued\r\n")},
		"message c2s from=a@x to=b@y 65+15 of 65+15 blank=00 text=st\n"
		"message c2s from=a@x to=b@y 84+2 of 84+2 text=hi\n"},
	{"a last chunk of nothing, and RSET between chunks",
		{HELLO, FROM, RCPT, SAID_C("BDAT 21\r\n" BODY "BDAT 0 LAST\r\n"),
			SAID_S("250 ok\r\n250 queued\r\n"), FROM, RCPT, SAID_C("bdat 21\r\n" BODY),
			SAID_S("250 ok\r\n"), SAID_C("RSET\r\nBDAT 21 LAST\r\n" BODY),
			SAID_S("250 ok\r\n503 no\r\n")},
		"message c2s from=a@x to=b@y 65+1 of 65+1 text=s\n"
		"message c2s from=a@x to=b@y 70+5 of 70+5 text=hello\n"
		"message c2s from=a@x to=b@y 147+1 of 147+1 text=s\n"
		"message c2s from=a@x to=b@y 152+5 of 152+5 text=hello\n"
		"message c2s 188+1 of 188+1 text=s\n"
		"message c2s 193+5 of 193+5 text=hello\n"},
	{"DATA that is refused",
		{HELLO, FROM, RCPT, SAID_C("DATA\r\n"), SAID_S("451 later\r\n"),
			SAID_C("MAIL FROM:<d@x>\r\n"), SAID_S("250 ok\r\n"), RCPT, DATA,
			SAID_C(BODY ".\r\n"), SAID_S("250 queued\r\n")},
		"message c2s from=d@x to=b@y 100+1 of 100+1 text=s\n"
		"message c2s from=d@x to=b@y 105+5 of 105+5 text=hello\n"},
	{"AUTH is not read",
		{HELLO, SAID_C("AUTH LOGIN\r\n"), SAID_S("334 VXNlcg==\r\n"), SAID_C("DATA\r\n"),
			SAID_S("334 UGFzcw==\r\n"), SAID_C("c2VjcmV0\r\n"), SAID_S("235 ok\r\n"),
			FROM, RCPT, DATA, SAID_C(BODY ".\r\n"), SAID_S("250 queued\r\n")},
		"message c2s from=a@x to=b@y 90+1 of 90+1 text=s\n"
		"message c2s from=a@x to=b@y 95+5 of 95+5 text=hello\n"},
	{"DATA behind an AUTH that is not taken",
		{HELLO, FROM, RCPT, SAID_C("AUTH PLAIN AGIAYg==\r\nDATA\r\n"),
			SAID_S("503 no\r\n354 go\r\n"), SAID_C(BODY ".\r\n"),
			SAID_S("250 queued\r\n"), FROM, RCPT,
			SAID_C("AUTH PLAIN AGIAYg==\r\nDATA\r\n" BODY ".\r\n"),
			SAID_S("503 no\r\n354 go\r\n250 queued\r\n")},
		"message c2s from=a@x to=b@y 83+1 of 83+1 text=s\n"
		"message c2s from=a@x to=b@y 88+5 of 88+5 text=hello\n"
		"message c2s from=a@x to=b@y 173+1 of 173+1 text=s\n"
		"message c2s from=a@x to=b@y 178+5 of 178+5 text=hello\n"},
	{"a mail that was asked for as something else",
		{HELLO, FROM, RCPT, SAID_C("NOOP\r\n"), SAID_S("354 go\r\n"), SAID_C(BODY ".\r\n"),
			SAID_S("250 queued\r\n")},
		"note c2s end_of_mail @53\n"
		"message c2s from=a@x to=b@y 62+1 of 62+1 text=s\n"
		"message c2s from=a@x to=b@y 67+5 of 67+5 text=hello\n"},
	{"LMTP has a reply for each receiver",
		{SAID_S("220 mx LMTP\r\n"), SAID_C("LHLO h\r\n"), SAID_S("250 mx\r\n"), FROM,
			SAID_C("RCPT TO:<b@y>\r\nRCPT TO:<c@y>\r\nRCPT TO:<d@y>\r\nDATA\r\n"),
			SAID_S("250 ok\r\n550 no\r\n250 ok\r\n354 go\r\n"), SAID_C(BODY ".\r\n"),
			SAID_S("250 b\r\n450 d\r\n"), SAID_C("RSET\r\nDATA\r\n"),
			SAID_S("250 ok\r\n503 no\r\n"), SAID_C("QUIT\r\n")},
		"message c2s from=a@x to*=b@y,c@y,d@y 92+1 of 92+1 text=s\n"
		"message c2s from=a@x to*=b@y,c@y,d@y 97+5 of 97+5 text=hello\n"},
	{"STARTTLS",
		{HELLO, SAID_C("STARTTLS\r\n"), SAID_S("454 later\r\n"), FROM, RCPT, DATA,
			SAID_C(BODY ".\r\n"), SAID_S("250 ok\r\n"), SAID_C("STARTTLS\r\n"),
			SAID_S("220 go\r\n"), SAID_C("DATA\r\n" BODY)},
		"message c2s from=a@x to=b@y 72+1 of 72+1 text=s\n"
		"message c2s from=a@x to=b@y 77+5 of 77+5 text=hello\n"
		"note s2c tls @81\n"},
	{"TLS whose STARTTLS was lost",
		{SAID_MIDSTREAM(HALF_C2S, "\x16\x03\x01\x02\0DATA\r\n" BODY)},
		"note c2s tls @1000\n"},
	{"one direction alone",
		{SAID_C("EHLO h\r\nMAIL FROM:<a@x>\r\nRCPT TO:<b@y>\r\nDATA\r\n" BODY ".\r\n"
			"MAIL FROM:<c@x>\r\nDATA\r\n" BODY ".\r\nQUIT\r\n")},
		"message c2s from=a@x to=b@y 55+1 of 55+1 text=s\n"
		"message c2s from=a@x to=b@y 60+5 of 60+5 text=hello\n"
		"message c2s from=c@x 102+1 of 102+1 text=s\n"
		"message c2s from=c@x 107+5 of 107+5 text=hello\n"},
	{"in the middle, and what 354 says",
		{SAID_MIDSTREAM(HALF_C2S, "y>\r\nDATA\r\n"), SAID_MIDSTREAM(HALF_S2C, "354 go\r\n"),
			SAID_C(BODY ".\r\n"), SAID_S("250 ok\r\n"), SAID_GAP(HALF_C2S, 6),
			SAID_S("354 go\r\n"), SAID_C(BODY ".\r\n"), SAID_S("250 ok\r\n")},
		"message c2s 1019+1 of 1019+1 text=s\n"
		"message c2s 1024+5 of 1024+5 text=hello\n"
		"message c2s 1049+1 of 1049+1 text=s\n"
		"message c2s 1054+5 of 1054+5 text=hello\n"},
	{"gaps in mails",
		{HELLO, FROM, RCPT, DATA, SAID_C("Subject: s\r\n\r\nhello"), SAID_GAP(HALF_C2S, 9),
			SAID_C("world\r\n.\r\n"), SAID_S("250 ok\r\n"), FROM, RCPT,
			SAID_C("BDAT 30 LAST\r\nSubject: t\r\n\r\nwww"), SAID_GAP(HALF_C2S, 13),
			SAID_C("QUIT\r\n"), SAID_S("250 ok\r\n"), FROM,
			SAID_C("DATA\r\nSubject: u")},
		"message c2s from=a@x to=b@y 62+1 of 62+1 text=s\n"
		"message c2s from=a@x to=b@y 67+5 of 67+5 text=hello\n"
		"note c2s lost @72\n"
		"message c2s from=a@x to=b@y 153+1 of 153+1 text=t\n"
		"message c2s from=a@x to=b@y 158+3 of 158+3 text=www\n"
		"note c2s lost @161\n"},
	{"a mail without an end",
		{HELLO, FROM, RCPT, DATA, SAID_C("Subject: s\r\n\r\nhello\r\n."),
			SAID_FIN(HALF_C2S)},
		"message c2s from=a@x to=b@y 62+1 of 62+1 text=s\n"
		"message c2s from=a@x to=b@y 67+5 of 67+5 text=hello\n"},
};

static const struct conversation ambiguous[] = {
	{"LF.LF",
		{HELLO, FROM, RCPT, DATA,
			SAID_C("Subject: s\r\n\r\na\n.\nMAIL FROM:<e@x>\r\nDATA\r\nSubject: "
			       "t\r\n\r\nb\r\n.\r\n"),
			SAID_S("250 ok\r\n")},
		"message c2s from=a@x to=b@y 62+1 of 62+1 text=s\n"
		"note c2s end_of_mail @70\n"
		"message c2s from=a@x to=b@y 67+42 of 67+42 text=a\\0a.\\0aMAIL "
		"FROM:<e@x>\\0d\\0aDATA\\0d\\0aSubject: t\\0d\\0a\\0d\\0ab\n"},
	{"LF.CRLF", {HELLO, FROM, RCPT, DATA, SAID_C("Subject: s\r\n\r\na\n.\r\nQUIT\r\n.\r\n")},
		"message c2s from=a@x to=b@y 62+1 of 62+1 text=s\n"
		"note c2s end_of_mail @70\n"
		"message c2s from=a@x to=b@y 67+9 of 67+9 text=a\\0a.\\0d\\0aQUIT\n"},
	{"CRLF.LF", {HELLO, FROM, RCPT, DATA, SAID_C("Subject: s\r\n\r\na\r\n.\nb\r\n.\r\n")},
		"message c2s from=a@x to=b@y 62+1 of 62+1 text=s\n"
		"note c2s end_of_mail @71\n"
		"message c2s from=a@x to=b@y 67+6 of 67+6 text=a\\0d\\0a\\0ab\n"},
	{"CR.CR", {HELLO, FROM, RCPT, DATA, SAID_C("Subject: s\r\n\r\na\r.\rb\r\n.\r\n")},
		"message c2s from=a@x to=b@y 62+1 of 62+1 text=s\n"
		"note c2s end_of_mail @70\n"
		"message c2s from=a@x to=b@y 67+5 of 67+5 text=a\\0d.\\0db\n"},
	{"CRLF.CR", {HELLO, FROM, RCPT, DATA, SAID_C("Subject: s\r\n\r\na\r\n.\rb\r\n.\r\n")},
		"message c2s from=a@x to=b@y 62+1 of 62+1 text=s\n"
		"note c2s end_of_mail @70\n"
		"message c2s from=a@x to=b@y 67+6 of 67+6 text=a\\0d\\0a\\0db\n"},
	{"what is noted of the mail around it keeps its place",
		{HELLO, FROM, RCPT, DATA, SAID_C("X: a\r.\r\nno field\r\n.\r\n")},
		"note c2s bare_cr @57\n"
		"note c2s end_of_mail @59\n"
		"note c2s bad_line @64\n"
		"message c2s from=a@x to=b@y 61+8 of 61+8 text=no field\n"},
	{"a dot behind LF that ends nothing",
		{HELLO, FROM, RCPT, DATA, SAID_C("Subject: s\r\n\r\na\n.b\n..\nc\r\n.\r\n")},
		"message c2s from=a@x to=b@y 62+1 of 62+1 text=s\n"
		"message c2s from=a@x to=b@y 67+9 of 67+9 text=a\\0a.b\\0a..\\0ac\n"},
	{"a mail before DATA is refused",
		{HELLO, SAID_C("DATA\r\nSubject: s\r\n\r\nQUIT\r\n"), SAID_S("503 no\r\n")},
		"message c2s 23+1 of 23+1 text=s\n"
		"note c2s end_of_mail @34\n"
		"message c2s 28+4 of 28+4 text=QUIT\n"},
	{"BDAT that the server does not know",
		{HELLO, FROM, RCPT, SAID_C("BDAT 21 LAST\r\n" BODY), SAID_S("500 what\r\n")},
		"message c2s from=a@x to=b@y 70+1 of 70+1 text=s\n"
		"message c2s from=a@x to=b@y 75+5 of 75+5 text=hello\n"
		"note c2s end_of_mail @82\n"},
	{"BDAT without a length", {HELLO, FROM, RCPT, SAID_C("BDAT -1 LAST\r\nQUIT\r\n")},
		"note c2s bad_length @47\n"},
	{"bare CR and NUL in commands",
		{HELLO, SAID_C("MAIL FROM:<a@x>\rDATA\r\nNOOP \0\r\n"), SAID_S("500 no\r\n")},
		"note c2s bare_cr @23\n"
		"note c2s nul_in_head @35\n"},
};

#define TEN      "0123456789"
#define HUNDRED  TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
#define THOUSAND HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED
#define NOOPS    "NOOP\r\nNOOP\r\nNOOP\r\nNOOP\r\nNOOP\r\nNOOP\r\nNOOP\r\nNOOP\r\n"
#define RCPTS    "RCPT TO:<b@y>\r\nRCPT TO:<c@y>\r\nRCPT TO:<d@y>\r\nRCPT TO:<e@y>\r\n"

static const struct conversation limits[] = {
	{"a long line",
		{HELLO,
			SAID_C("NOOP " THOUSAND THOUSAND "\r\nMAIL FROM:<a@x> " THOUSAND THOUSAND
			       "\r\n"),
			SAID_S("500 no\r\n250 ok\r\n"), RCPT, DATA, SAID_C(BODY ".\r\n")},
		"note c2s head_too_long @2015\n"
		"message c2s from=a@x to=b@y 4063+1 of 4063+1 text=s\n"
		"message c2s from=a@x to=b@y 4068+5 of 4068+5 text=hello\n"},
	{"many receivers: 32 are compared",
		{HELLO, FROM,
			SAID_C(RCPTS RCPTS RCPTS RCPTS RCPTS RCPTS RCPTS RCPTS
				"RCPT TO:<f@y>\r\nDATA\r\n" BODY ".\r\n")},
		"message c2s from=a@x to*=(127)..,d@y,e@y 542+1 of 542+1 text=s\n"
		"message c2s from=a@x to*=(127)..,d@y,e@y 547+5 of 547+5 text=hello\n"},
	{"many commands ahead of their replies",
		{SAID_C(NOOPS NOOPS NOOPS NOOPS NOOPS NOOPS NOOPS NOOPS NOOPS NOOPS NOOPS NOOPS
				NOOPS NOOPS NOOPS NOOPS "DATA\r\n" BODY ".\r\n")},
		"note c2s too_many_requests @762\n"
		"message c2s 783+1 of 783+1 text=s\n"
		"message c2s 788+5 of 788+5 text=hello\n"},
};

#define TEST(table)                                                                        \
	static void test_##table(void **state)                                             \
	{                                                                                  \
		(void)state;                                                               \
		conversations_check(&content_smtp, table, sizeof(table) / sizeof(*table)); \
	}
TEST(sessions)
TEST(ambiguous)
TEST(limits)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sessions),
		cmocka_unit_test(test_ambiguous),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
