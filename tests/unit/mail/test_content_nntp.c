// SPDX-License-Identifier: BSD-3-Clause
// Network news as readers and servers speak it: which answers bring articles, what is handed in.
#include "content/decoders.h"
#include "lib/content/conversation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define HELLO SAID_S("200 news ready\r\n")
#define HEAD  "From: Anna <a@x>\r\nNewsgroups: a.b, c.d\r\nSubject: s\r\n"
#define YENC                                                                            \
	"=ybegin part=1 total=2 line=128 size=9 name=a.bin\r\n=ypart begin=1 end=5\r\n" \
	"\x92\x8f\x96\x96\x99\r\n=yend size=5 part=1\r\n"

#define PART(name, begin, end, bytes)                                                     \
	"=ybegin part=9 line=128 size=9 name=" name "\r\n=ypart begin=" begin " end=" end \
	"\r\n" bytes "\r\n=yend size=9\r\n.\r\n"

static const struct conversation readers[] = {
	{"articles, heads and bodies",
		{HELLO,
			SAID_C("GROUP a.b\r\nARTICLE 1\r\nHEAD 2\r\nBODY 3\r\nSTAT 4\r\nARTICLE "
			       "5\r\n"),
			SAID_S("211 3 1 3 a.b\r\n220 1 <x>\r\n" HEAD "\r\nhello\r\n..\r\n.\r\n"),
			SAID_S("221 2 <y>\r\n" HEAD ".\r\n222 3 <z>\r\n" YENC ".\r\n"),
			SAID_S("223 4\r\n430 no\r\n"), SAID_C("QUIT\r\n"), SAID_S("205 bye\r\n")},
		"message s2c from=a@x to*=a.b,c.d 91+1 of 91+1 text=s\n"
		"message s2c from=a@x to*=a.b,c.d 96+9 of 96+9 text=hello\\0d\\0a.\n"
		"message s2c from=a@x to*=a.b,c.d 170+1 of 170+1 text=s\n"
		"message s2c 187+51 of 187+51 text==ybegin part=1 total=2 line=128 size=9 "
		"name=a.bin\\0d\\0a\n"
		"file 1 s2c header name=a.bin size=9\n"
		"end 1 TRUNCATED 260+28 hello\n"},
	{"what is no article",
		{HELLO,
			SAID_C("CAPABILITIES\r\nLIST\r\nLISTGROUP a.b\r\nXHDR Subject 1-\r\nOVER "
			       "1-\r\n"),
			SAID_S("101 caps\r\nVERSION 2\r\n.\r\n215 list\r\n220 x\r\n.\r\n211 1 1 1 "
			       "a.b\r\n1\r\n"
			       ".\r\n221 Subject\r\n1 220 y\r\n.\r\n224 over\r\n1\ts\r\n.\r\n"),
			SAID_C("GROUP a.b\r\nBODY\r\n"),
			SAID_S("211 1 1 1 a.b\r\n222 1\r\nhello\r\n.\r\n")},
		"message s2c 146+5 of 146+5 text=hello\n"},
	{"a part that is not the first",
		{HELLO, SAID_C("BODY <x>\r\n"),
			SAID_S("222 0 <x>\r\n=ybegin part=2 total=2 line=128 size=9 "
			       "name=a.bin\r\n=ypart "
			       "begin=6 end=9\r\n\x92..\x92\r\n.\r\n")},
		"message s2c 27+51 of 27+51 text==ybegin part=2 total=2 line=128 size=9 "
		"name=a.bin\\0d\\0a\n"
		"file 1 s2c header name=a.bin size=9 from=5\n"
		"end 1 TRUNCATED 100+6 h\\04\\04h\n"},
	{"parts of one file, one behind the other",
		{HELLO, SAID_C("BODY 1\r\nBODY 2\r\nBODY 3\r\n"), SAID_S("222 1\r\n" YENC ".\r\n"),
			SAID_S("222 2\r\n=ybegin part=2 total=2 line=128 size=9 "
			       "name=a.bin\r\n=ypart "
			       "begin=6 end=9\r\n\x92\x8f\xa3\x4b\r\n=yend size=4\r\n.\r\n222 "
			       "3\r\n" YENC ".\r\n")},
		"message s2c 23+51 of 23+51 text==ybegin part=1 total=2 line=128 size=9 "
		"name=a.bin\\0d\\0a\n"
		"file 1 s2c header name=a.bin size=9\n"
		"message s2c 134+51 of 134+51 text==ybegin part=2 total=2 line=128 size=9 "
		"name=a.bin\\0d\\0a\n"
		"end 1 CLOSED 96+131 hellohey!\n"
		"message s2c 237+51 of 237+51 text==ybegin part=1 total=2 line=128 size=9 "
		"name=a.bin\\0d\\0a\n"
		"file 2 s2c header name=a.bin size=9\n"
		"end 2 TRUNCATED 310+28 hello\n"},
	{"parts out of order, too long, too short, of another file, lost",
		{HELLO, SAID_C("BODY 1\r\nBODY 2\r\nBODY 3\r\nBODY 4\r\nBODY 5\r\nBODY 6\r\n"),
			SAID_S("222 1\r\n" PART("a", "4", "6", "\x92\x92\x92") "222 2\r\n" PART(
				"a", "7", "9", "\x8f\x8f\x8f") "222 3\r\n" PART("a", "1", "3",
				"\x92\x92\x92\x92")),
			SAID_S("222 4\r\n" PART("b", "1", "3", "\x92") "222 5\r\n" PART("c", "7",
				"9", "\x92\x92\x92") "222 6\r\n=ybegin part=1 line=128 size=9 "
						     "name=c\r\n=ypart begin=1 end=3\r\n\x92"),
			SAID_GAP(HALF_S2C, 1), SAID_S("\x92\r\n=yend size=3\r\n.\r\n")},
		"message s2c 23+39 of 23+39 text==ybegin part=9 line=128 size=9 name=a\\0d\\0a\n"
		"file 1 s2c header name=a size=9 from=3\n"
		"message s2c 113+39 of 113+39 text==ybegin part=9 line=128 size=9 name=a\\0d\\0a\n"
		"end 1 CLOSED 84+109 hhheee\n"
		"message s2c 203+39 of 203+39 text==ybegin part=9 line=128 size=9 name=a\\0d\\0a\n"
		"file 2 s2c header name=a size=9\n"
		"end 2 ERROR 264+20 hhh\n"
		"message s2c 294+39 of 294+39 text==ybegin part=9 line=128 size=9 name=b\\0d\\0a\n"
		"file 3 s2c header name=b size=9\n"
		"end 3 ERROR 355+17 h\n"
		"message s2c 382+39 of 382+39 text==ybegin part=9 line=128 size=9 name=c\\0d\\0a\n"
		"file 4 s2c header name=c size=9 from=6\n"
		"end 4 CLOSED 443+19 hhh\n"
		"message s2c 472+39 of 472+39 text==ybegin part=1 line=128 size=9 name=c\\0d\\0a\n"
		"file 5 s2c header name=c size=9\n"
		"end 5 TRUNCATED 533+1 h\n"
		"note s2c lost @534\n"},
	{"parts of no bytes",
		{HELLO, SAID_C("BODY 1\r\nBODY 2\r\nBODY 3\r\n"),
			SAID_S("222 1\r\n" PART("a", "4", "3", "") "222 2\r\n" PART("a", "4", "3",
				"") "222 3\r\n" PART("a", "4", "9", "\x92\x92\x92\x8f\x8f\x8f"))},
		"message s2c 23+39 of 23+39 text==ybegin part=9 line=128 size=9 name=a\\0d\\0a\n"
		"file 1 s2c header name=a size=9 from=3\n"
		"message s2c 110+39 of 110+39 text==ybegin part=9 line=128 size=9 name=a\\0d\\0a\n"
		"end 1 TRUNCATED 84+16\n"
		"file 2 s2c header name=a size=9 from=3\n"
		"message s2c 197+39 of 197+39 text==ybegin part=9 line=128 size=9 name=a\\0d\\0a\n"
		"end 2 CLOSED 171+109 hhheee\n"},
	{"gaps, and the middle of a connection",
		{SAID_MIDSTREAM(HALF_S2C, "lo\r\n220 1 <x>\r\n" HEAD "\r\nhey"),
			SAID_GAP(HALF_S2C, 9),
			SAID_S("lo\r\n.\r\n211 3 1 3 a.b\r\n222 1\r\nthere\r\n.\r\n"),
			SAID_GAP(HALF_S2C, 9), SAID_S("222 1\r\nnot\r\n222 1\r\nthis\r\n.\r\n")},
		"message s2c from=a@x to*=a.b,c.d 1064+1 of 1064+1 text=s\n"
		"message s2c from=a@x to*=a.b,c.d 1069+3 of 1069+3 text=hey\n"
		"note s2c lost @1072\n"
		"message s2c 1110+5 of 1110+5 text=there\n"
		"message s2c 1148+4 of 1148+4 text=this\n"},
	{"one direction alone", {SAID_S("200 news\r\n220 1 <x>\r\n" HEAD "\r\nhello\r\n.\r\n")},
		"message s2c from=a@x to*=a.b,c.d 70+1 of 70+1 text=s\n"
		"message s2c from=a@x to*=a.b,c.d 75+5 of 75+5 text=hello\n"},
	{"STARTTLS",
		{HELLO, SAID_C("STARTTLS\r\n"), SAID_S("580 no\r\n"), SAID_C("STARTTLS\r\n"),
			SAID_S("382 go\r\n"), SAID_C("BODY 1\r\n"), SAID_S("222 1\r\nx\r\n.\r\n")},
		"note s2c tls @24\n"},
	{"TLS from the first byte", {SAID_C("\x16\x03\x01\x02\0")}, "note c2s tls @0\n"},
	{"COMPRESS",
		{HELLO, SAID_C("COMPRESS DEFLATE\r\n"), SAID_S("403 no\r\n"),
			SAID_C("COMPRESS DEFLATE\r\n"), SAID_S("206 go\r\n222 1\r\nx\r\n.\r\n")},
		"note s2c compressed @24\n"},
	{"another end of a block",
		{HELLO, SAID_C("BODY 1\r\nLIST\r\n"),
			SAID_S("222 1\r\nx\n.\ny\r\n.\r\n"
			       "215 list\r\nx\n.\ny\r\n.\r\n")},
		"note s2c end_of_mail @26\n"
		"message s2c 23+5 of 23+5 text=x\\0a.\\0ay\n"},
	{"an article without an end",
		{HELLO, SAID_C("ARTICLE 1\r\n"), SAID_S("220 1\r\n" HEAD "\r\n" YENC),
			SAID_FIN(HALF_S2C)},
		"message s2c from=a@x to*=a.b,c.d 72+1 of 72+1 text=s\n"
		"message s2c from=a@x to*=a.b,c.d 77+51 of 77+51 text==ybegin part=1 total=2 "
		"line=128 size=9 name=a.bin\\0d\\0a\n"
		"file 1 s2c header name=a.bin user=a@x size=9\n"
		"end 1 TRUNCATED 150+28 hello\n"},
};

static const struct conversation posters[] = {
	{"POST and IHAVE",
		{HELLO, SAID_C("POST\r\n"), SAID_S("340 go\r\n"), SAID_C(HEAD "\r\nhello\r\n.\r\n"),
			SAID_S("240 ok\r\n"), SAID_C("IHAVE <x>\r\n"), SAID_S("435 no\r\n"),
			SAID_C("IHAVE <y>\r\n"), SAID_S("335 go\r\n"),
			SAID_C(HEAD "\r\nbegin 644 a\r\n%:&5L;&\\\r\n`\r\nend\r\n.\r\nBODY 1\r\n"),
			SAID_S("235 ok\r\n222 1\r\nthere\r\n.\r\n"), SAID_C("POST\r\n"),
			SAID_S("440 no\r\n"), SAID_C("BODY 2\r\n"),
			SAID_S("222 2\r\nagain\r\n.\r\n")},
		"message c2s from=a@x to*=a.b,c.d 55+1 of 55+1 text=s\n"
		"message c2s from=a@x to*=a.b,c.d 60+5 of 60+5 text=hello\n"
		"message c2s from=a@x to*=a.b,c.d 141+1 of 141+1 text=s\n"
		"message c2s from=a@x to*=a.b,c.d 146+13 of 146+13 text=begin 644 a\\0d\\0a\n"
		"file 1 c2s header name=a user=a@x\n"
		"end 1 CLOSED 159+18 hello\n"
		"message s2c 63+5 of 63+5 text=there\n"
		"message s2c 88+5 of 88+5 text=again\n"},
	{"streaming",
		{HELLO,
			SAID_C("MODE STREAM\r\nCHECK <x>\r\nTAKETHIS <x>\r\n" HEAD
			       "\r\nhello\r\n.\r\n"
			       "TAKETHIS <y>\r\n" HEAD "\r\nthere\r\n.\r\nGROUP a.b\r\n"),
			SAID_S("203 ok\r\n238 <x>\r\n239 <x>\r\n439 <y>\r\n211 1 1 1 a.b\r\n")},
		"message c2s from=a@x to*=a.b,c.d 87+1 of 87+1 text=s\n"
		"message c2s from=a@x to*=a.b,c.d 92+5 of 92+5 text=hello\n"
		"message c2s from=a@x to*=a.b,c.d 165+1 of 165+1 text=s\n"
		"message c2s from=a@x to*=a.b,c.d 170+5 of 170+5 text=there\n"},
};

#define TEST(table)                                                                        \
	static void test_##table(void **state)                                             \
	{                                                                                  \
		(void)state;                                                               \
		conversations_check(&content_nntp, table, sizeof(table) / sizeof(*table)); \
	}
TEST(readers)
TEST(posters)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_readers),
		cmocka_unit_test(test_posters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
