// SPDX-License-Identifier: BSD-3-Clause
// TFTP as clients and servers speak it: requests, and the blocks of the flow that answers; blocks
// that come again, too early, not at all, or beyond what a number can count.
#include "content/decoders.h"
#include "lib/content/conversation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define C(text) SAID_DATAGRAM_C(text)
#define S(text) SAID_DATAGRAM_S(text)

// 10.0.0.1:40000 is the client (conversation.h).
#define EXPECT "expect 10.0.0.1:40000 from 10.0.0.2 as tftp l4=17 app=8 file "

static const struct conversation requests[] = {
	{"tftpd-hpa and tftp(1)", {C("\0\1rfc1350.txt\0netascii\0")},
		"file 1 s2c command elsewhere name=rfc1350.txt\n" EXPECT "c2s name=rfc1350.txt\n"},
	{"atftp asks for options",
		{C("\0\1/boot/pxe.0\0octet\0tsize\0"
		   "0\0blksize\0"
		   "1428\0timeout\0"
		   "6\0")},
		"file 1 s2c command elsewhere name=pxe.0 path=/boot/\n" EXPECT
		"c2s name=/boot/pxe.0\n"},
	{"curl writes",
		{C("\0\2up.bin\0octet\0tsize\0"
		   "77\0blksize\0"
		   "512\0timeout\0"
		   "6\0")},
		"file 1 c2s command elsewhere name=up.bin size=77\n" EXPECT
		"s2c name=up.bin size=77\n"},
	{"Windows' loader", {C("\0\1\\Boot\\x64\\wdsnbp.com\0octet\0")},
		"file 1 s2c command elsewhere name=wdsnbp.com path=\\5cBoot\\5cx64\\5c\n" EXPECT
		"c2s name=\\5cBoot\\5cx64\\5cwdsnbp.com\n"},
	{"again, another, and the first again",
		{C("\0\1a\0octet\0"), C("\0\1a\0octet\0"), C("\0\1b\0octet\0"),
			C("\0\1a\0octet\0")},
		"file 1 s2c command elsewhere name=a\n" EXPECT "c2s name=a\n" EXPECT "c2s name=a\n"
		"file 2 s2c command elsewhere name=b\n" EXPECT "c2s name=b\n"
		"file 3 s2c command elsewhere name=a\n" EXPECT "c2s name=a\n"},
	{"what some servers take all the same is named, and not expected",
		{C("\0\1a\0octet"), C("\0\1bb"), C("\0\1c\0octet\0tsize\0"),
			C("\0\1d\x01\0octet\0"), C("\0\1e\0binary\0"),
			C("\0\2f\0octet\0tsize\0x\0tsize\0"
			  "99999999999999999999\0")},
		"note c2s bad_line @0\n"
		"file 1 s2c command elsewhere name=a\n"
		"file 2 s2c command elsewhere name=bb\n"
		"file 3 s2c command elsewhere name=c\n"
		"file 4 s2c command elsewhere name=d\\01\n"
		"file 5 s2c command elsewhere name=e\n"
		"file 6 c2s command elsewhere name=f\n" EXPECT "s2c name=f\n"},
	{"none", {C("\0\1\0octet\0"), C("\0\1"), C("x"), C("\0\7abc"), S("\0\1a\0octet\0")},
		"note c2s bad_line @0\n"},
	{"no datagram", {SAID_C("\0\1a\0octet\0")}, ""},
};

#define LABEL(...) static const struct transfer_label __VA_ARGS__
LABEL(rrq) = {.what = TRANSFER_FILE, .half = HALF_C2S, .file = "dir/a.exe"};
LABEL(wrq) = {.what = TRANSFER_FILE, .half = HALF_S2C, .file = "up", .size = 13};
LABEL(older) = {.file = "b"};

#define OACK8           \
	"\0\6blksize\0" \
	"8\0"
#define NAMED "file 1 c2s command name=a.exe path=dir/"
#define FULL  "01234567"
#define TEN   "0123456789"
#define SIX_HUNDRED                                                                             \
	TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN \
		TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN \
			TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

static const struct conversation transfers[] = {
	{"one block", {SAID_ANNOUNCED(rrq), C("\0\3\0\1abc"), S("\0\4\0\1")},
		NAMED "\nend 1 CLOSED 4+3 abc\n"},
	{"an empty file", {SAID_ANNOUNCED(rrq), C("\0\3\0\1"), S("\0\4\0\1")},
		NAMED "\nend 1 CLOSED 4+0\n"},
	{"options, a block that comes again, and the last one, too",
		{SAID_ANNOUNCED(rrq), C(OACK8), S("\0\4\0\0"), C("\0\3\0\1" FULL), S("\0\4\0\1"),
			C("\0\3\0\1" FULL), S("\0\4\0\1"), C("\0\3\0\2abcde"), S("\0\4\0\2"),
			C("\0\3\0\2abcde")},
		NAMED "\nend 1 CLOSED 16+29 01234567abcde\n"},
	{"a last block without bytes",
		{SAID_ANNOUNCED(rrq), C(OACK8), S("\0\4\0\0"), C("\0\3\0\1" FULL), S("\0\4\0\1"),
			C("\0\3\0\2"), S("\0\4\0\2")},
		NAMED "\nend 1 CLOSED 16+12 01234567\n"},
	{"the size, as the server says it",
		{SAID_ANNOUNCED(rrq),
			C("\0\6tsize\0"
			  "3\0"),
			C("\0\3\0\1abc")},
		NAMED " size=3\nend 1 CLOSED 14+3 abc\n"},
	{"an upload",
		{SAID_ANNOUNCED(wrq), C(OACK8), S("\0\3\0\1" FULL), C("\0\4\0\1"),
			S("\0\3\0\2abcde"), C("\0\4\0\2")},
		"file 1 s2c command name=up size=13\n"
		"end 1 CLOSED 4+17 01234567abcde\n"},
	{"windows: what comes too early comes again",
		{SAID_ANNOUNCED(rrq), C(OACK8), C("\0\3\0\1" FULL), C("\0\3\0\2" FULL),
			C("\0\3\0\4abcde"), S("\0\4\0\2"), C("\0\3\0\3" FULL), C("\0\3\0\4abcde"),
			S("\0\4\0\4")},
		NAMED "\nend 1 CLOSED 16+50 " FULL FULL FULL "abcde\n"},
	{"blocks that were lost before they came here",
		{SAID_ANNOUNCED(rrq), C(OACK8), C("\0\3\0\1" FULL), S("\0\4\0\1"), S("\0\4\0\2"),
			C("\0\3\0\3" FULL), S("\0\4\0\3"), C("\0\3\0\4abc"), S("\0\4\0\4")},
		NAMED "\nend 1 TRUNCATED 16+27 lost=16 01234567________________abc\n"},
	{"the first one was lost",
		{SAID_ANNOUNCED(rrq), C(OACK8), C("\0\3\0\2" FULL), S("\0\4\0\2"),
			C("\0\3\0\3abc")},
		NAMED "\nend 1 TRUNCATED 28+3 lost=16 ________________abc\n"},
	{"a block that nobody acknowledges hides nothing",
		{SAID_ANNOUNCED(rrq), C(OACK8), C("\0\3\x10\0ahead..."), C("\0\3\0\1" FULL),
			S("\0\4\0\1"), C("\0\3\0\2abc"), S("\0\4\0\2")},
		NAMED "\nend 1 CLOSED 28+15 01234567abc\n"},
	{"nor does an acknowledgment of what was not sent",
		{SAID_ANNOUNCED(rrq), C(OACK8), S("\0\4\x10\0"), C("\0\3\0\1" FULL),
			S("\0\4\x10\0"), C("\0\3\0\2abc"), S("\0\4\0\2")},
		NAMED "\nend 1 CLOSED 16+15 01234567abc\n"},
	{"it breaks off", {SAID_ANNOUNCED(rrq), C(OACK8), C("\0\3\0\1" FULL), S("\0\4\0\1")},
		NAMED "\nend 1 TRUNCATED 16+8 01234567\n"},
	{"an error", {SAID_ANNOUNCED(rrq), C(OACK8), C("\0\3\0\1" FULL), S("\0\5\0\3full\0")},
		NAMED "\nend 1 TRUNCATED 16+8 01234567\n"},
	{"an error of another transfer",
		{SAID_ANNOUNCED(rrq), C(OACK8), C("\0\3\0\1" FULL), S("\0\5\0\5who\0"),
			C("\0\3\0\2abc")},
		NAMED "\nend 1 CLOSED 16+15 01234567abc\n"},
	{"an error, and it goes on",
		{SAID_ANNOUNCED(rrq), C(OACK8), C("\0\3\0\1" FULL), S("\0\5\0\3full\0"),
			C("\0\3\0\2abc")},
		NAMED "\nend 1 TRUNCATED 16+8 01234567\n"
		      "file 2 c2s command name=a.exe path=dir/ from=8\n"
		      "end 2 CLOSED 28+3 abc\n"},
	{"behind the last block", {SAID_ANNOUNCED(rrq), C("\0\3\0\1abc"), C("\0\3\0\2d")},
		NAMED "\nend 1 CLOSED 4+3 abc\n"
		      "file 2 c2s command name=a.exe path=dir/ from=3\n"
		      "end 2 CLOSED 11+1 d\n"},
	{"options of who does not serve, of none, and behind a block",
		{SAID_ANNOUNCED(rrq), S(OACK8), C("\0\6blksize\0"),
			C("\0\6blksize\0"
			  "7\0"),
			C("\0\3\0\1" FULL), C(OACK8), C("\0\3\0\2abc")},
		NAMED "\nend 1 CLOSED 26+8 01234567\n"
		      "file 2 c2s command name=a.exe path=dir/ from=8\n"
		      "end 2 CLOSED 50+3 abc\n"},
	{"options that were not seen",
		{SAID_ANNOUNCED(rrq), C("\0\3\0\1" SIX_HUNDRED), C("\0\3\0\2" SIX_HUNDRED),
			C("\0\3\0\3abc")},
		NAMED "\nend 1 CLOSED 4+1211 (1203) 220292b753f05dab\n"},
	{"bytes the other way are a file of their own",
		{SAID_ANNOUNCED(rrq), S("\0\3\0\1hidden"), C("\0\3\0\1abc")},
		"file 1 s2c none\n"
		"end 1 CLOSED 4+6 hidden\n"
		"file 2 c2s command name=a.exe path=dir/\n"
		"end 2 CLOSED 4+3 abc\n"},
	{"a label that does not say which way is that of the first",
		{SAID_ANNOUNCED(older), S("\0\3\0\1abc"), C("\0\3\0\1x")},
		"file 1 s2c command name=b\n"
		"end 1 CLOSED 4+3 abc\n"
		"file 2 c2s none\n"
		"end 2 CLOSED 4+1 x\n"},
	{"nothing was announced", {S("\0\3\0\1abc")}, "file 1 s2c none\nend 1 CLOSED 4+3 abc\n"},
	{"what is not here, or no block",
		{SAID_ANNOUNCED(rrq), SAID_GAP(HALF_C2S, 9), C("\0\3\0"), C("\0\3\0\1abc")},
		NAMED "\nend 1 CLOSED 16+3 abc\n"},
};

static const struct conversation one_flow[] = {
	{"a server that keeps to its port",
		{C("\0\1d/a\0octet\0"), S(OACK8), S("\0\3\0\1" FULL), C("\0\1d/a\0octet\0"),
			C("\0\4\0\1"), S("\0\3\0\2abc")},
		"file 1 s2c command elsewhere name=a path=d/\n" EXPECT "c2s name=d/a\n"
		"file 2 s2c command name=a path=d/\n" EXPECT "c2s name=d/a\n"
		"end 2 CLOSED 16+15 01234567abc\n"},
	{"one file after another",
		{C("\0\1a\0octet\0"), S("\0\3\0\1abc"), C("\0\4\0\1"), C("\0\1a\0octet\0"),
			S("\0\3\0\1ab"), C("\0\2u\0octet\0"), S("\0\4\0\0"), C("\0\3\0\1up")},
		"file 1 s2c command elsewhere name=a\n" EXPECT "c2s name=a\n"
		"file 2 s2c command name=a\n"
		"end 2 CLOSED 4+3 abc\n"
		"file 3 s2c command elsewhere name=a\n" EXPECT "c2s name=a\n"
		"file 4 s2c command name=a\n"
		"end 4 CLOSED 11+2 ab\n"
		"file 5 c2s command elsewhere name=u\n" EXPECT "s2c name=u\n"
		"file 6 c2s command name=u\n"
		"end 6 CLOSED 38+2 up\n"},
	{"another one before the end",
		{C("\0\1a\0octet\0"), S(OACK8), S("\0\3\0\1" FULL), C("\0\1b\0octet\0"),
			S("\0\3\0\1ab")},
		"file 1 s2c command elsewhere name=a\n" EXPECT "c2s name=a\n"
		"file 2 s2c command name=a\n"
		"end 2 TRUNCATED 16+8 01234567\n"
		"file 3 s2c command elsewhere name=b\n" EXPECT "c2s name=b\n"
		"file 4 s2c command name=b\n"
		"end 4 CLOSED 28+2 ab\n"},
};

// Blocks that were lost, so that numbers rise fast.
#define SKIP(number) C("\0\3" number FULL), S("\0\4" number)
static const struct conversation rollover[] = {
	{"to 0",
		{SAID_ANNOUNCED(rrq), C(OACK8), SKIP("\x7f\xff"), SKIP("\xff\xfe"),
			C("\0\3\xff\xff" FULL), S("\0\4\xff\xff"), C("\0\3\0\0" FULL),
			S("\0\4\0\0"), C("\0\3\0\1abc"), S("\0\4\0\1")},
		NAMED "\nend 1 TRUNCATED 40+27 lost=524272 (524291) dedf69916ea5409b\n"},
	{"to 1, as agreed",
		{SAID_ANNOUNCED(rrq),
			C(OACK8 "rollover\0"
				"1\0"),
			SKIP("\x7f\xff"), SKIP("\xff\xfd"), C("\0\3\xff\xfe" FULL),
			C("\0\3\xff\xff" FULL), S("\0\4\xff\xff"), C("\0\3\0\1" FULL),
			S("\0\4\0\1"), C("\0\3\0\2abc"), S("\0\4\0\2")},
		NAMED "\nend 1 TRUNCATED 51+39 lost=524264 (524291) 878467166dbf0923\n"},
	{"to 1, where 0 was agreed: it is too early",
		{SAID_ANNOUNCED(rrq), C(OACK8), SKIP("\x7f\xff"), SKIP("\xff\xfe"),
			C("\0\3\xff\xff" FULL), S("\0\4\xff\xff"), C("\0\3\0\1abc")},
		NAMED "\nend 1 TRUNCATED 40+8 lost=524272 (524280) 593c2a4dd0080bfd\n"},
};

#define TEST(table)                                                                        \
	static void test_##table(void **state)                                             \
	{                                                                                  \
		(void)state;                                                               \
		conversations_check(&content_tftp, table, sizeof(table) / sizeof(*table)); \
	}
TEST(requests)
TEST(transfers)
TEST(one_flow)
TEST(rollover)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_transfers),
		cmocka_unit_test(test_one_flow),
		cmocka_unit_test(test_rollover),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
