// SPDX-License-Identifier: BSD-3-Clause
// IRC as clients and servers speak it: messages, who writes them, where they lie; lines that are
// cut anywhere, that end otherwise, or do not end.
#include "content/decoders.h"
#include "lib/content/conversation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct conversation sessions[] = {
	{"irssi and ngircd",
		{SAID_C("CAP LS 302\r\nJOIN :\r\nNICK anna\r\nUSER a a h :A. Name\r\n"),
			SAID_S(":irc.example 001 anna :Welcome anna!~a@h\r\n"
			       ":irc.example 375 anna :- message of the day\r\n"),
			SAID_C("JOIN #c\r\nPRIVMSG #c :hello there\r\n"),
			SAID_S(":bob!~b@h PRIVMSG #c :hi anna\r\n:bob!~b@h PRIVMSG anna :psst\r\n"),
			SAID_C("QUIT :leaving\r\n")},
		"message c2s from=anna to*=#c 73+11 of 61+23 text=hello there\n"
		"message s2c from=bob to*=#c 109+7 of 87+29 text=hi anna\n"
		"message s2c from=bob to*=anna 142+4 of 118+28 text=psst\n"
		"message c2s from=anna 92+7 of 86+13 text=leaving\n"},
	{"tags, and other blanks and letters",
		{SAID_S("@time=2025-07-28T20:49:40Z;msgid=x :bob!b@h privmsg #c :tagged\r\n"),
			SAID_C("@+typing=active PRIVMSG  #c   :a  b \r\n  NOTICE bob word\r\n")},
		"message s2c from=bob to*=#c 56+6 of 0+62 text=tagged\n"
		"message c2s to*=#c 31+5 of 0+36 text=a  b \n"
		"message c2s to*=bob 51+4 of 38+17 text=word\n"},
	{"who the client is",
		{SAID_C("NICK a\r\nNICK b\r\nPRIVMSG x :1\r\n"), SAID_S(":s 433 * b :in use\r\n"),
			SAID_C("NICK c\r\n"), SAID_S(":s 001 c :hi\r\n:c!u@h NICK :d\r\n"),
			SAID_C("NICK e\r\nPRIVMSG x :2\r\n"), SAID_S(":o!u@h NICK f\r\n"),
			SAID_C("PRIVMSG x :3\r\n")},
		"message c2s from=b to*=x 27+1 of 16+12 text=1\n"
		"message c2s from=d to*=x 57+1 of 46+12 text=2\n"
		"message c2s from=d to*=x 71+1 of 60+12 text=3\n"},
	{"who the client is, in the middle",
		{SAID_MIDSTREAM(HALF_S2C, "xt\r\n:s 366 anna #c :End\r\n"),
			SAID_MIDSTREAM(HALF_C2S, "PRIVMSG x :1\r\n")},
		"message c2s from=anna to*=x 1011+1 of 1000+12 text=1\n"},
	{"other words for people",
		{SAID_C("NICK a\r\nTOPIC #c :new topic\r\nTOPIC #c\r\nPART #c,#d :bye\r\nPART "
			"#e\r\n"
			"KICK #c bob :out\r\nAWAY :at lunch\r\nAWAY\r\nWALLOPS :all\r\n"
			"SQUERY s :help\r\nCPRIVMSG bob #c :near\r\nQUIT\r\n"),
			SAID_S(":s 332 a #c :the topic\r\n:s 301 a bob :gone\r\n"
			       ":bob!b@h QUIT :Ping timeout\r\n:bob!b@h KICK #c a :why\r\n")},
		"message c2s from=a to=#c 18+9 of 8+19 text=new topic\n"
		"message c2s from=a to*=#c,#d 51+3 of 39+15 text=bye\n"
		"message c2s from=a to*=#c 78+3 of 65+16 text=out\n"
		"message c2s from=a 89+8 of 83+14 text=at lunch\n"
		"message c2s from=a 114+3 of 105+12 text=all\n"
		"message c2s from=a to=s 129+4 of 119+14 text=help\n"
		"message c2s from=a to*=bob 152+4 of 135+21 text=near\n"
		"message s2c to=#c 13+9 of 0+22 text=the topic\n"
		"message s2c from=bob to=a 38+4 of 24+18 text=gone\n"
		"message s2c from=bob 59+12 of 44+27 text=Ping timeout\n"
		"message s2c from=bob to*=#c 93+3 of 73+23 text=why\n"},
	{"no words for people",
		{SAID_C("USER a a h :PRIVMSG x :y\r\nPING :PRIVMSG\r\nPRIVMSG\r\nPRIVMSG x\r\n"
			"PRIVMSG x :\r\nPRIVMSG :x\r\nPRIVMSGS x :y\r\n\r\n \r\nTAGMSG #c\r\n"),
			SAID_S(":s 372 a :- motd\r\n:s\r\n:\r\n@a\r\n@a=b \r\n")},
		""},
	{"a server's word", {SAID_S("NOTICE AUTH :*** Found\r\n:s.net NOTICE * :Hi\r\n")},
		"message s2c to*=AUTH 13+9 of 0+22 text=*** Found\n"
		"message s2c from=s.net to*=* 41+2 of 24+19 text=Hi\n"},
	{"words without a colon go up to the end of the line",
		{SAID_C("PRIVMSG x two words\r\nPRIVMSG x a :b\r\n")},
		"message c2s to*=x 10+9 of 0+19 text=two words\n"
		"message c2s to*=x 31+4 of 21+14 text=a :b\n"},
	{"CTCP",
		{SAID_C("PRIVMSG #c :\1ACTION waves\1\r\nPRIVMSG #c :\1action waves\r\n"
			"PRIVMSG x :a\1b\1\r\nPRIVMSG x :\1FOO bar\1\r\nNOTICE x :\1VERSION y\1\r\n"
			"PRIVMSG x :a \1ACTION b\1c\1D\r\nPRIVMSG x :\1ACTION\tb\1\r\n"
			"PRIVMSG x :\1PINGS 5\1\r\nPRIVMSG x :\1PING 5 a\1\r\n"
			"PRIVMSG x :\1DCC WORD a\1\r\nTOPIC #c :\1x\r\n")},
		"message c2s to*=#c 20+5 of 0+26 text=waves\n"
		"message c2s to*=#c 48+5 of 28+25 text=waves\n"
		"message c2s to*=x 66+3 of 55+15 text=ab\n"
		"message c2s to*=x 84+7 of 72+20 text=FOO bar\n"
		"message c2s to*=x 105+9 of 94+21 text=VERSION y\n"
		"message c2s to*=x 128+15 of 117+26 text=a bcD\n"
		"message c2s to*=x 157+8 of 145+21 text=ACTION\\09b\n"
		"message c2s to*=x 180+7 of 168+20 text=PINGS 5\n"
		"message c2s to*=x 202+8 of 190+21 text=PING 5 a\n"
		"message c2s to*=x 225+10 of 213+23 text=DCC WORD a\n"
		"message c2s to=#c 249+1 of 238+12 text=x\n"},
	{"what programs say by CTCP",
		{SAID_C("PRIVMSG x :\1VERSION\1\r\nPRIVMSG x :\1time\r\nNOTICE x :\1PING 5.0 "
			"7\1\r\n"
			"PRIVMSG x :\1\r\nPRIVMSG x :\1ACTION\1\r\nPRIVMSG x :\1ACTION \1\r\n"
			"PRIVMSG x :\1DCC\1\r\nPRIVMSG x :\1CLIENTINFO\1\1PING\1\r\n"
			"PRIVMSG x :a\1VERSION\1b\r\n")},
		"message c2s to*=x 181+11 of 170+22 text=ab\n"},
	{"colours and styles",
		{SAID_C("PRIVMSG x :k\x02"
			"e\x0fy\x03"
			"4w\x03"
			"12,05o\x03r\x03"
			"7,d\x1f\x06\r\nPRIVMSG x :\x02\x02\r\n"
			"PRIVMSG x :\x03"
			"123\x03"
			"1,x\x03"
			"1\r\nPRIVMSG x :\x02\1\r\nPRIVMSG x :\x02whole\x0f\r\n")},
		"message c2s to*=x 11+21 of 0+34 text=keywor,d\n"
		"message c2s to*=x 65+5 of 51+21 text=3,x\n"
		"message c2s to*=x 101+5 of 89+18 text=whole\n"},
	{"codes of ANSI",
		{SAID_C("PRIVMSG x :a\x1b[mb\x1b[01;31mc\x1b[2Jd\x1b"
			"e\x1b[3\r\n")},
		"message c2s to*=x 11+24 of 0+35 text=abc[2Jde[3\n"},
	{"what clients read differently: most, then irssi",
		{SAID_C("PRIVMSG x :\x04"
			"ff00AA,000000a\x04"
			"gb\r\nPRIVMSG x :\x04"
			"8/a\x04#abcdb\x04-1c\x04\r\nPRIVMSG x :a\x03,5b\x03,c\r\n"
			"PRIVMSG x :a\x04\r\n")},
		"message c2s to*=x 25+4 of 0+29 text=agb\n"
		"message c2s to*=x 13+16 of 0+29 text=f00AA,000000ab\n"
		"message c2s to*=x 43+14 of 31+27 text=8/a#abcdb-1c\n"
		"message c2s to*=x 45+12 of 31+27 text=abc\n"
		"message c2s to*=x 71+8 of 60+19 text=a,5b,c\n"
		"message c2s to*=x 71+8 of 60+19 text=ab,c\n"
		"message c2s to*=x 92+1 of 81+13 text=a\n"},
};

#define TEN      "0123456789"
#define HUNDRED  TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
#define THOUSAND HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED
#define LIST     "a,b,c,d,e,f,g,h,"

static const struct conversation lines[] = {
	{"lines that end otherwise",
		{SAID_C("PRIVMSG x :1\nPRIVMSG x :2\r\r\nPRIVMSG x :3\n\r\nPRIVMSG x :4\r"),
			SAID_C("\n"), SAID_C("PRIVMSG x :5\r"),
			SAID_S("NOTICE x :6\rNOTICE x :7\n"),
			SAID_C("PRIVMSG x :8\rPRIVMSG x :9\r\n")},
		"message c2s to*=x 11+1 of 0+12 text=1\n"
		"message c2s to*=x 24+1 of 13+12 text=2\n"
		"message c2s to*=x 39+1 of 28+12 text=3\n"
		"message c2s to*=x 54+1 of 43+12 text=4\n"
		"message c2s to*=x 68+1 of 57+12 text=5\n"
		"message s2c to*=x 10+1 of 0+11 text=6\n"
		"note s2c bare_cr @12\n"
		"message s2c to*=x 22+1 of 12+11 text=7\n"
		"note c2s bare_cr @70\n"
		"message c2s to*=x 81+1 of 70+12 text=8\n"
		"message c2s to*=x 94+1 of 83+12 text=9\n"},
	{"NUL", {SAID_C("PRIVMSG x :a\0b\r\nPRIVMSG x :c\0\r\n"), SAID_S("\0\r\n")},
		"note c2s nul_in_head @0\n"
		"message c2s to*=x 11+3 of 0+14 text=a\\00b\n"
		"message c2s to*=x 27+2 of 16+13 text=c\\00\n"
		"note s2c nul_in_head @0\n"},
	{"a gap takes its line, and what was told of it ends",
		{SAID_C("PRIVMSG x :abc"), SAID_GAP(HALF_C2S, 10), SAID_C("d\r\nPRIVMSG x :e\r\n"),
			SAID_C("PRIVMSG "), SAID_GAP(HALF_C2S, 3), SAID_C(":f\r\nPRIVMSG x :g\r"),
			SAID_GAP(HALF_C2S, 1), SAID_C("h\nPRIVMSG x :i\n")},
		"message c2s to*=x 11+3 of 0+14 text=abc\n"
		"message c2s to*=x 38+1 of 27+12 text=e\n"
		"message c2s to*=x 67+1 of 56+12 text=g\n"
		"message c2s to*=x 83+1 of 72+12 text=i\n"},
	{"in the middle",
		{SAID_MIDSTREAM(HALF_S2C, "G #c :lost\r\n:b!b@h PRIVMSG #c :kept\r\n"),
			SAID_MIDSTREAM(HALF_C2S, "IVMSG #c :lost\r\nNOTICE #c :kept\r\n")},
		"message s2c from=b to*=#c 1031+4 of 1012+23 text=kept\n"
		"message c2s to*=#c 1027+4 of 1016+15 text=kept\n"},
	{"a line that does not end is shown at the end of the stream",
		{SAID_C("PRIVMSG x :last"), SAID_FIN(HALF_C2S), SAID_S(":s 00"),
			SAID_FIN(HALF_S2C)},
		"message c2s to*=x 11+4 of 0+15 text=last\n"},
	{"a line that is too long",
		{SAID_C("PRIVMSG x :" THOUSAND THOUSAND THOUSAND THOUSAND HUNDRED
			"\r\nPRIVMSG x :y\r\n")},
		"message c2s to*=x 11+4085 of 0+4096 text=(4085)..78901234\n"
		"note c2s head_too_long @0\n"
		"message c2s to*=x 4124+1 of 4113+12 text=y\n"},
	{"a head that is too long",
		{SAID_C("PRIVMSG " THOUSAND THOUSAND THOUSAND THOUSAND HUNDRED
			" :z\r\nPRIVMSG x :y\r\n")},
		"note c2s head_too_long @0\n"
		"message c2s to*=x 4124+1 of 4113+12 text=y\n"},
	{"many tags",
		{SAID_S("@" THOUSAND THOUSAND THOUSAND THOUSAND THOUSAND THOUSAND THOUSAND THOUSAND
			" :b!b@h NOTICE x :y\r\n@" THOUSAND THOUSAND THOUSAND THOUSAND THOUSAND
				THOUSAND THOUSAND THOUSAND HUNDRED HUNDRED
			" :b!b@h NOTICE x :y\r\nNOTICE x :z\r\n")},
		"message s2c from=b to*=x 8019+1 of 0+8020 text=y\n"
		"note s2c head_too_long @8022\n"
		"message s2c to*=x 16254+1 of 16244+11 text=z\n"},
	{"many receivers",
		{SAID_C("PRIVMSG " LIST LIST LIST "a,b,c,d,e,f,g,h :y\r\n"
			"PRIVMSG " LIST LIST LIST LIST "i :y\r\n")},
		"message c2s to*=a,b,c,d,e,f,g,h,a,b,c,d,e,f,g,h,a,b,c,d,e,f,g,h,a,b,c,d,e,f,g,h "
		"73+1 of 0+74 text=y\n"
		"note c2s head_too_long @76\n"
		"message c2s "
		"to*=a,b,c,d,e,f,g,h,a,b,c,d,e,f,g,h,a,b,c,d,e,f,g,h,a,b,c,d,e,f,g,h,i "
		"151+1 of 76+76 text=y\n"},
	{"STARTTLS",
		{SAID_C("STARTTLS\r\n"), SAID_S(":s 670 * :STARTTLS successful, go ahead\r\n"),
			SAID_C("PRIVMSG x :y\r\n")},
		"note s2c tls @39\n"},
	{"STARTTLS that is refused, and 670 that nobody asked for",
		{SAID_S(":s 670 * :go\r\n"), SAID_C("STARTTLS\r\n"), SAID_S(":s 691 * :no\r\n"),
			SAID_S(":s 670 * :go\r\n"), SAID_C("PRIVMSG x :y\r\n")},
		"message c2s to*=x 21+1 of 10+12 text=y\n"},
	{"TLS from the first byte",
		{SAID_C("\x16\x03\x01\x02\0\x01\nx\0\n"),
			SAID_S("\x16\x03\x03\n:b PRIVMSG x :y\n")},
		"note c2s tls @0\n"},
	{"TLS whose STARTTLS was lost",
		{SAID_C("PING x\r\n\x16x\r\nx\x16\x03\r\n\x16\x03\x03\n"),
			SAID_S("\x16\x03\x03\n:b PRIVMSG x :y\n")},
		"note c2s tls @17\n"},
	{"what looks like TLS, and is not answered so",
		{SAID_C("\x16\x03\x01\x02\0\r\nPRIVMSG x :y\r\n"),
			SAID_S(":s 421 a \x16 :what\r\n"), SAID_C("PRIVMSG x :z\0\r\n"),
			SAID_S("\x16\x03:s NOTICE x :a\r\n"), SAID_C("PRIVMSG x :b\r\n")},
		"note c2s tls @0\n"
		"message c2s to*=x 18+1 of 7+12 text=y\n"
		"note c2s nul_in_head @21\n"
		"message c2s from=a to*=x 32+2 of 21+13 text=z\\00\n"
		"note s2c tls @18\n"
		"message c2s from=a to*=x 47+1 of 36+12 text=b\n"},
};

#define TEST(table)                                                                       \
	static void test_##table(void **state)                                            \
	{                                                                                 \
		(void)state;                                                              \
		conversations_check(&content_irc, table, sizeof(table) / sizeof(*table)); \
	}
TEST(sessions)
TEST(lines)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sessions),
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
