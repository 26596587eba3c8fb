// SPDX-License-Identifier: BSD-3-Clause
// FTP as clients and servers speak it: files by their commands, where their data will be, who may
// be named there; and the data connections themselves.
#include "content/decoders.h"
#include "lib/content/conversation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

// 10.0.0.1 is the client, 10.0.0.2 the server (conversation.h).
#define PASV      SAID_C("PASV\r\n"), SAID_S("227 Entering Passive Mode (10,0,0,2,7,232).\r\n")
#define AT_SERVER "10.0.0.2:2024 from 10.0.0.1 as ftp-data l4=6 app=8"
#define AT_CLIENT "10.0.0.1:5001 from 10.0.0.2 as ftp-data l4=6 app=8"

static const struct conversation sessions[] = {
	{"vsftpd and curl",
		{SAID_S("220 (vsFTPd 3.0.5)\r\n"), SAID_C("USER anna\r\n"),
			SAID_S("331 Please specify the password.\r\n"), SAID_C("PASS x\r\n"),
			SAID_S("230 Login successful.\r\n"), SAID_C("PWD\r\n"),
			SAID_S("257 \"/\" is the current directory\r\n"), SAID_C("CWD pub\r\n"),
			SAID_S("250 Directory successfully changed.\r\n"), SAID_C("EPSV\r\n"),
			SAID_S("229 Entering Extended Passive Mode (|||2024|)\r\n"),
			SAID_C("TYPE I\r\n"), SAID_S("200 Switching to Binary mode.\r\n"),
			SAID_C("SIZE tool.exe\r\n"), SAID_S("213 69120\r\n"),
			SAID_C("RETR tool.exe\r\n"),
			SAID_S("150 Opening BINARY mode data connection for tool.exe (69120 bytes)."
			       "\r\n226 Transfer complete.\r\n"),
			SAID_C("QUIT\r\n"), SAID_S("221 Goodbye.\r\n")},
		"expect " AT_SERVER " user=anna\n"
		"file 1 s2c command elsewhere name=tool.exe user=anna size=69120\n"
		"amend " AT_SERVER " file s2c name=tool.exe user=anna size=69120\n"
		"amend " AT_SERVER " file s2c name=tool.exe user=anna size=69120\n"},
	{"proftpd and ftp(1), actively",
		{SAID_S("220 ProFTPD Server (Debian) [10.0.0.2]\r\n"),
			SAID_C("USER bob\r\nPORT 10,0,0,1,19,137\r\n"),
			SAID_S("331 Password required for bob\r\n200 PORT command successful\r\n"),
			SAID_C("RETR /pub/dir/a.txt\r\n"),
			SAID_S("150 Opening ASCII mode data connection for /pub/dir/a.txt (77 "
			       "bytes)\r\n"),
			SAID_S("226 Transfer complete\r\n"), SAID_C("PORT 10,0,0,1,19,137\r\n"),
			SAID_S("200 PORT command successful\r\n"), SAID_C("STOR up.bin\r\n"),
			SAID_S("150 Opening BINARY mode data connection for up.bin\r\n")},
		"expect " AT_CLIENT " user=bob\n"
		"file 1 s2c command elsewhere name=a.txt path=/pub/dir/ user=bob\n"
		"amend " AT_CLIENT " file c2s name=/pub/dir/a.txt user=bob\n"
		"amend " AT_CLIENT " file c2s name=/pub/dir/a.txt user=bob size=77\n"
		"expect " AT_CLIENT " user=bob\n"
		"file 2 c2s command elsewhere name=up.bin user=bob\n"
		"amend " AT_CLIENT " file s2c name=up.bin user=bob\n"},
	{"a listing, then a file",
		{PASV, SAID_C("LIST -a\r\n"),
			SAID_S("150 Opening ASCII mode data connection for file list (10 "
			       "bytes)\r\n"),
			SAID_S("226 Done\r\n"), PASV, SAID_C("STOR f\r\n")},
		"expect " AT_SERVER "\n"
		"amend " AT_SERVER " listing s2c\n"
		"amend " AT_SERVER " listing s2c\n"
		"expect " AT_SERVER "\n"
		"file 1 c2s command elsewhere name=f\n"
		"amend " AT_SERVER " file c2s name=f\n"},
	{"NLST and MLSD are listings, too, and actively",
		{SAID_C("EPRT |1|10.0.0.1|5001|\r\nNLST\r\n"), SAID_S("200 OK\r\n450 No\r\n"),
			SAID_C("mlsd /x\r\n")},
		"expect " AT_CLIENT "\n"
		"amend " AT_CLIENT " listing c2s\n"
		"amend " AT_CLIENT " listing c2s\n"},
	{"a download that goes on",
		{SAID_C("REST 100\r\n"), SAID_S("350 Restarting at 100.\r\n"), PASV,
			SAID_C("SIZE big\r\n"), SAID_S("213 1000\r\n"), SAID_C("RETR big\r\n"),
			SAID_S("426 Broken\r\n"), SAID_C("RETR big\r\n")},
		"expect " AT_SERVER "\n"
		"file 1 s2c command elsewhere name=big size=1000 from=100\n"
		"amend " AT_SERVER " file s2c name=big size=1000 from=100\n"
		"file 2 s2c command elsewhere name=big size=1000\n"
		"amend " AT_SERVER " file s2c name=big size=1000\n"},
	{"REST that was refused",
		{SAID_C("REST 100\r\n"), SAID_S("502 No.\r\n"), SAID_C("RETR big\r\n")},
		"file 1 s2c command elsewhere name=big\n"},
	{"REST that is no number, and 0",
		{SAID_C("REST 5x\r\nRETR a\r\nREST 0\r\n"),
			SAID_S("501 What\r\n550 No\r\n350 Yes\r\n"), SAID_C("RETR b\r\n")},
		"file 1 s2c command elsewhere name=a\n"
		"file 2 s2c command elsewhere name=b\n"},
	{"an upload that goes on, as curl and FileZilla do it",
		{SAID_C("SIZE up\r\n"), SAID_S("213 500\r\n"), SAID_C("APPE up\r\n"),
			SAID_C("REST 600\r\n"), SAID_S("350 Yes\r\n"), SAID_C("STOR up\r\n")},
		"file 1 c2s command elsewhere name=up from=500\n"
		"file 2 c2s command elsewhere name=up from=600\n"},
	{"the size of another file, and of none",
		{SAID_C("SIZE a\r\n"), SAID_S("213 1\r\n"), SAID_C("RETR b\r\nSIZE b\r\n"),
			SAID_S("550 No\r\n550 No\r\n"), SAID_C("MDTM b\r\n"),
			SAID_S("213 20200101000000\r\n"), SAID_C("RETR b\r\n"), SAID_S("550\r\n"),
			SAID_C("SIZE b\r\n"), SAID_S("213 99999999999999999999\r\n"),
			SAID_C("RETR b\r\n")},
		"file 1 s2c command elsewhere name=b\n"
		"file 2 s2c command elsewhere name=b\n"
		"file 3 s2c command elsewhere name=b\n"},
	{"STOU, with the name in the reply",
		{PASV, SAID_C("STOU\r\n"), SAID_S("150 FILE: unique.1\r\n"),
			SAID_S("150 FILE: other\r\n426 Broken\r\n"), SAID_C("STOU x\r\n"),
			SAID_S("150 FILE: other\r\n")},
		"expect " AT_SERVER "\n"
		"file 1 c2s none elsewhere\n"
		"amend " AT_SERVER " file c2s\n"
		"amend " AT_SERVER " file c2s name=unique.1\n"
		"file 2 c2s command elsewhere name=x\n"
		"amend " AT_SERVER " file c2s name=x\n"},
	{"MODE Z, granted and refused",
		{SAID_C("MODE Z\r\n"), SAID_S("504 No\r\n"), SAID_C("RETR a\r\n"),
			SAID_S("550 No\r\n"), SAID_C("MODE Z\r\n"), SAID_S("200 Mode set to Z\r\n"),
			PASV, SAID_C("RETR b\r\n"), SAID_S("550 No\r\n"), SAID_C("MODE S\r\n"),
			SAID_S("200 OK\r\n"), SAID_C("RETR c\r\n")},
		"file 1 s2c command elsewhere name=a\n"
		"expect " AT_SERVER " coded\n"
		"file 2 s2c command elsewhere name=b\n"
		"note c2s coding_unknown @38\n"
		"amend " AT_SERVER " file s2c name=b coded\n"
		"file 3 s2c command elsewhere name=c\n"
		"amend " AT_SERVER " file s2c name=c\n"},
	{"REIN",
		{SAID_C("USER a\r\nMODE B\r\n"), SAID_S("200 OK\r\n"),
			SAID_C("REST 4\r\nREIN\r\nRETR f\r\n")},
		"file 1 s2c command elsewhere name=f\n"},
	{"folders of Windows, blanks and verbs in any case",
		{SAID_C("  retr   C:\\dir\\a b.exe\r\n"), SAID_S("550 No\r\n"),
			SAID_C("STOR dir/\r\n"), SAID_S("550 No\r\n"),
			SAID_C("RETR\r\nRETRY x\r\n")},
		"file 1 s2c command elsewhere name=a b.exe path=C:\\5cdir\\5c\n"
		"file 2 c2s none elsewhere path=dir/\n"
		"file 3 s2c none elsewhere\n"},
	{"what ABOR is sent with",
		{SAID_C("\xff\xf4\xff\xf2"
			"ABOR\r\n\xff\xfb\x01RETR f\r\n")},
		"file 1 s2c command elsewhere name=f\n"},
};

#define CLAIMED       "claim expect 10.0.0.9:2024 from 10.0.0.1 as ftp-data l4=6 app=8"
#define CLAIMED_AGAIN "claim amend 10.0.0.9:2024 from 10.0.0.1 as ftp-data l4=6 app=8"
#define TO_CLIENT_9   "10.0.0.9:5001 from 10.0.0.2 as ftp-data l4=6 app=8"

static const struct conversation named[] = {
	{"a third party by 227: most clients connect to the server",
		{SAID_C("PASV\r\n"), SAID_S("227 =10,0,0,9,7,232\r\n"), SAID_C("RETR f\r\n")},
		"expect " AT_SERVER "\n" CLAIMED "\n"
		"file 1 s2c command elsewhere name=f\n"
		"amend " AT_SERVER " file s2c name=f\n" CLAIMED_AGAIN " file s2c name=f\n"},
	{"a third party by PORT and EPRT, also of the other family",
		{SAID_C("PORT 10,0,0,9,19,137\r\nEPRT |1|10.0.0.9|5001|\r\n"
			"EPRT |2|2001:db8::9|5001|\r\n")},
		"expect " AT_CLIENT "\nclaim expect " TO_CLIENT_9 "\n"
		"expect " AT_CLIENT "\nclaim expect " TO_CLIENT_9 "\n"
		"expect " AT_CLIENT "\n"},
	{"the other end, and no host",
		{SAID_C("PASV\r\nPASV\r\nPORT 10,0,0,2,19,137\r\n"),
			SAID_S("227 (10,0,0,1,7,232)\r\n227 (0,0,0,0,7,232)\r\n")},
		"expect " AT_CLIENT "\nexpect " AT_SERVER "\nexpect " AT_SERVER "\n"},
	{"227 and 229 that nobody asked for",
		{SAID_S("227 (10,0,0,2,7,232)\r\n229 (|||2024|)\r\n"), SAID_C("PASV\r\n"),
			SAID_S("227 (10,0,0,2,7,232)\r\n227 (10,0,0,2,7,233)\r\n"),
			SAID_C("EPSV\r\n"), SAID_S("500 No\r\n229 (|||2025|)\r\n")},
		"expect " AT_SERVER "\n"},
	{"the client's own reply",
		{SAID_C("PASV\r\n227 (10,0,0,2,7,232)\r\n"), SAID_S("PORT 10,0,0,1,19,137\r\n")},
		""},
	{"numbers that are none",
		{SAID_C("PORT 10,0,0,1,,1\r\nPORT 19\r\n"
			"EPRT |1|10.0.0.1|70000|\r\nEPRT |1|10.0.0.1|5001\r\nEPRT 1110.0.0.1|\r\n"
			"EPRT |3|10.0.0.1|5001|\r\nEPRT |1|10.0.0.1111111111111111111111111111111"
			"1111111111111111|1|\r\nPORT 10,0,0,1,0,0\r\nPORT 10,0,0,1,19,137 "
			"\r\nEPRT !1!10.0.0.1!5001!\r\n")},
		"expect 10.0.0.1:1 from 10.0.0.2 as ftp-data l4=6 app=8\n"
		"expect " AT_CLIENT "\n"
		"expect " AT_CLIENT "\n"},
	{"a later address takes the place of an earlier one",
		{SAID_C("PORT 10,0,0,1,19,137\r\nPORT 10,0,0,9,7,232\r\nRETR f\r\n")},
		"expect " AT_CLIENT "\n"
		"expect 10.0.0.1:2024 from 10.0.0.2 as ftp-data l4=6 app=8\n"
		"claim expect 10.0.0.9:2024 from 10.0.0.2 as ftp-data l4=6 app=8\n"
		"file 1 s2c command elsewhere name=f\n"
		"amend 10.0.0.1:2024 from 10.0.0.2 as ftp-data l4=6 app=8 file c2s name=f\n"
		"claim amend 10.0.0.9:2024 from 10.0.0.2 as ftp-data l4=6 app=8 file c2s name=f\n"},
};

// What some client or other reads in a reply. Each is one to PASV or EPSV.
#define ASKED(reply)                                     \
	{                                                \
		SAID_C("PASV\r\n"), SAID_S(reply "\r\n") \
	}
#define ODD "note s2c bad_line @"
static const struct conversation forms[] = {
	{"words with digits before", ASKED("227 Mode2 v1.0 (10,0,0,2,7,232)"),
		"expect " AT_SERVER "\n"},
	{"no parentheses, blanks and signs", ASKED("227 10, 0, 0, +2,7, 232"),
		"expect " AT_SERVER "\n"},
	{"two places", ASKED("227 (10,0,0,2,7,232) (10,0,0,2,7,233)"),
		"expect " AT_SERVER "\n" ODD "39\n"},
	{"more numbers than six", ASKED("227 (10,0,0,2,7,232,9)"),
		"expect " AT_SERVER "\n" ODD "24\n"},
	{"an octet that is too large", ASKED("227 (10,0,0,2,263,232)"),
		"expect " AT_SERVER "\n" ODD "24\n"},
	{"a number below 0", ASKED("227 (10,0,0,2,-7,232)"), "expect " AT_SERVER "\n" ODD "23\n"},
	{"fewer numbers: busybox takes the last two", ASKED("227 7,232"), "expect " AT_SERVER "\n"},
	{"another yes", ASKED("200 (10,0,0,2,7,232)"), "expect " AT_SERVER "\n"},
	{"no place", ASKED("227 Passive"), ""},
	{"229 with a protocol and an address, which nobody obeys",
		ASKED("229 ok (|1|10.0.0.9|2024|)"), "expect " AT_SERVER "\n"},
	{"229 with an address of IPv6", ASKED("229 ok (||::1|2024|)"), "expect " AT_SERVER "\n"},
	{"229 with another delimiter", ASKED("229 go (!!!2024!)"), "expect " AT_SERVER "\n"},
	{"229 without parentheses", ASKED("229 |||2024|"), "expect " AT_SERVER "\n"},
	{"229 with other ones before", ASKED("229 ok (a) (|||2024|)"), "expect " AT_SERVER "\n"},
	{"229 without an end", ASKED("229 ok (|||2024"), "expect " AT_SERVER "\n"},
	{"229 with two places", ASKED("229 ok (|||2024|) (|||2025|)"),
		"expect " AT_SERVER "\n" ODD "30\n"},
	{"229 with a port that is too large", ASKED("229 ok (|||67560|)"),
		"expect " AT_SERVER "\n" ODD "20\n"},
	{"229 as a reply to PASV", ASKED("229 ok 10,0,0,2,7,232"), "expect " AT_SERVER "\n"},
	{"227 as a reply to EPSV", ASKED("227 ok (|||2024|)"), "expect " AT_SERVER "\n"},
	{"LPSV and LPRT",
		{SAID_C("LPSV\r\n"), SAID_S("228 Entering (4,4,10,0,0,2,2,7,232)\r\n"),
			SAID_C("LPRT 4,4,10,0,0,1,2,19,137\r\n")},
		"expect " AT_SERVER "\nexpect " AT_CLIENT "\n"},
	{"several lines, of which the last one says it",
		ASKED("227-Now\r\n more\r\n227 (10,0,0,2,7,232)"), "expect " AT_SERVER "\n"},
	{"several lines, of which an earlier one says it", ASKED("227-(10,0,0,2,7,232)\r\n227 ok"),
		"expect " AT_SERVER "\n"},
	{"a line within", ASKED("227-Now\r\n (10,0,0,2,7,232)\r\n227 ok"),
		"expect " AT_SERVER "\n"},
	{"lines that differ", ASKED("227-(10,0,0,2,7,231)\r\n227 (10,0,0,2,7,232)"),
		"expect " AT_SERVER "\n" ODD "44\n"},
	{"lines of another reply",
		{SAID_C("PASV\r\n"), SAID_S("150-(10,0,0,2,7,231)\r\n150 ok\r\n x\r\n"
					    "227 (10,0,0,2,7,232)\r\n")},
		"expect " AT_SERVER "\n"},
};

// Who sends commands ahead of their answers makes no file a listing, nor gives it another name.
static const struct conversation ahead[] = {
	{"LIST and STOR behind RETR",
		{PASV, SAID_C("RETR evil.exe\r\nLIST\r\nSTOR good.txt\r\n"),
			SAID_S("150 evil.exe (7 bytes)\r\n"), SAID_C("NLST\r\n"),
			SAID_S("226 Done\r\n425 No\r\n"), SAID_C("LIST\r\n")},
		"expect " AT_SERVER "\n"
		"file 1 s2c command elsewhere name=evil.exe\n"
		"amend " AT_SERVER " file s2c name=evil.exe\n"
		"file 2 c2s command elsewhere name=good.txt\n"
		"note c2s two_names @42\n"
		"amend " AT_SERVER " file s2c name=evil.exe size=7\n"},
	{"RETR behind a listing that is refused",
		{PASV, SAID_C("LIST nowhere\r\nRETR evil.exe\r\n"), SAID_S("550 No\r\n"),
			SAID_C("LIST\r\n")},
		"expect " AT_SERVER "\n"
		"amend " AT_SERVER " listing s2c\n"
		"file 1 s2c command elsewhere name=evil.exe\n"
		"amend " AT_SERVER " file s2c name=evil.exe\n"},
	{"the same port again, for a listing",
		{SAID_C("PORT 10,0,0,1,19,137\r\nRETR evil.exe\r\n"
			"PORT 10,0,0,1,19,137\r\nLIST\r\n")},
		"expect " AT_CLIENT "\n"
		"file 1 s2c command elsewhere name=evil.exe\n"
		"amend " AT_CLIENT " file c2s name=evil.exe\n"
		"expect " AT_CLIENT " file c2s name=evil.exe\n"},
	{"answers to what came before",
		{SAID_C("X\r\n\r\nPORT 10,0,0,1,19,137\r\nRETR evil.exe\r\n"),
			SAID_S("220 Hello\r\n500 X\r\n500 What\r\n200 PORT\r\n"),
			SAID_C("LIST\r\n"), SAID_S("550 No\r\n"), SAID_C("NLST\r\n")},
		"expect " AT_CLIENT "\n"
		"file 1 s2c command elsewhere name=evil.exe\n"
		"amend " AT_CLIENT " file c2s name=evil.exe\n"
		"amend " AT_CLIENT " listing c2s\n"},
	{"PASV and RETR at once",
		{SAID_C("PASV\r\nRETR f\r\n"), SAID_S("227 (10,0,0,2,7,232)\r\n150 f\r\n"),
			SAID_S("226 Done\r\n"), PASV, SAID_C("STOR g\r\n")},
		"file 1 s2c command elsewhere name=f\n"
		"expect " AT_SERVER " file s2c name=f\n"
		"expect " AT_SERVER "\n"
		"file 2 c2s command elsewhere name=g\n"
		"amend " AT_SERVER " file c2s name=g\n"},
	{"answers that never come",
		{SAID_C("\r\n\r\nPORT 10,0,0,1,19,137\r\nRETR f\r\n"),
			SAID_S("200 PORT\r\n150 f\r\n226 Done\r\n"),
			SAID_C("PORT 10,0,0,1,19,137\r\nRETR g\r\n")},
		"expect " AT_CLIENT "\n"
		"file 1 s2c command elsewhere name=f\n"
		"amend " AT_CLIENT " file c2s name=f\n"
		"expect " AT_CLIENT "\n"
		"file 2 s2c command elsewhere name=g\n"
		"amend " AT_CLIENT " file c2s name=g\n"},
	{"answers that were lost",
		{PASV, SAID_C("RETR f\r\n"), SAID_GAP(HALF_S2C, 20), SAID_S("\r\n"), PASV,
			SAID_C("RETR g\r\n")},
		"expect " AT_SERVER "\n"
		"file 1 s2c command elsewhere name=f\n"
		"amend " AT_SERVER " file s2c name=f\n"
		"expect " AT_SERVER "\n"
		"file 2 s2c command elsewhere name=g\n"
		"amend " AT_SERVER " file s2c name=g\n"},
	{"many parentheses",
		{PASV, SAID_C("RETR f\r\n"), SAID_S("150 ((5bytes) (1 2 bytes) (6  bytes)\r\n")},
		"expect " AT_SERVER "\n"
		"file 1 s2c command elsewhere name=f\n"
		"amend " AT_SERVER " file s2c name=f\n"
		"amend " AT_SERVER " file s2c name=f size=6\n"},
};

static const struct flow_ends ends6 = {
	.address = {{0x20, 1, 0xd, 0xb8, [15] = 1}, {0x20, 1, 0xd, 0xb8, [15] = 2}},
	.port = {40000, 21},
};
static const struct conversation over_ipv6[] = {
	{"EPRT and EPSV",
		{SAID_BETWEEN(ends6), SAID_C("EPRT |2|2001:db8::1|5001|\r\nEPSV\r\n"),
			SAID_S("200 ok\r\n229 go (!!!9!)\r\n")},
		"expect 2001:db8:0:0:0:0:0:1:5001 from 2001:db8:0:0:0:0:0:2 as ftp-data l4=6 "
		"app=8\n"
		"expect 2001:db8:0:0:0:0:0:2:9 from 2001:db8:0:0:0:0:0:1 as ftp-data l4=6 app=8\n"},
};

#define TEN      "0123456789"
#define HUNDRED  TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
#define THOUSAND HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED
#define FOUR_K   THOUSAND THOUSAND THOUSAND THOUSAND HUNDRED

static const struct conversation lines[] = {
	{"opaque behind AUTH TLS",
		{SAID_C("AUTH TLS\r\n"), SAID_S("234 Proceed\r\n"), SAID_C("RETR f\r\n")},
		"note s2c tls @13\n"},
	{"AUTH that is refused, and 234 that nobody asked for",
		{SAID_C("AUTH SSL\r\n"), SAID_S("530 No\r\n234 What\r\n"), SAID_C("RETR f\r\n")},
		"file 1 s2c command elsewhere name=f\n"},
	{"AUTH GSSAPI",
		{SAID_C("AUTH GSSAPI\r\n"), SAID_S("334 Go on\r\n"), SAID_C("ADAT x\r\n"),
			SAID_S("235 ADAT=y\r\n"), SAID_C("RETR f\r\n")},
		"note s2c upgrade @23\n"},
	{"TLS from the first byte", {SAID_C("\x16\x03\x01\x02\0\x01\n"), SAID_S("\x16\x03\x03\n")},
		"note c2s tls @0\n"},
	{"TLS whose AUTH was lost",
		{SAID_C("NOOP\r\n"), SAID_S("\x16x\r\n234 x\r\n\x16\x03\x03\n"),
			SAID_C("RETR f\r\n")},
		"note s2c tls @11\n"},
	{"lines that end otherwise",
		{SAID_C("RETR a\n"), SAID_S("550 No\n"), SAID_C("RETR b\r\r\n"), SAID_S("550\n"),
			SAID_C("RETR c\rd\r\n"), SAID_S("550 \r\n"), SAID_C("RETR e\0f\r\n"),
			SAID_S("550 No\r\n"), SAID_C("RETR g\xff\xf1h\r\n")},
		"note c2s bare_lf @0\n"
		"file 1 s2c command elsewhere name=a\n"
		"file 2 s2c command elsewhere name=b\n"
		"note c2s bare_cr @16\n"
		"file 3 s2c command elsewhere name=c\\0dd\n"
		"note c2s nul_in_head @26\n"
		"file 4 s2c command elsewhere name=e\\00f\n"
		"note c2s bad_line @36\n"
		"file 5 s2c command elsewhere name=g\\ff\\f1h\n"},
	{"a gap takes its line, and what was said before stays",
		{PASV, SAID_C("RE"), SAID_GAP(HALF_C2S, 10), SAID_C("x\r\nRETR f\r\n"),
			SAID_GAP(HALF_S2C, 3), SAID_S("150 f (5 bytes)\r\n150 f (6 bytes)\r\n")},
		"expect " AT_SERVER "\n"
		"file 1 s2c command elsewhere name=f\n"
		"amend " AT_SERVER " file s2c name=f\n"
		"amend " AT_SERVER " file s2c name=f size=6\n"},
	{"in the middle",
		{SAID_MIDSTREAM(HALF_C2S, "RETR f\r\nMODE Z\r\n"), SAID_S("200 ok\r\n"),
			SAID_C("RETR g\r\n"), SAID_FIN(HALF_C2S), SAID_FIN(HALF_S2C)},
		"file 1 s2c command elsewhere name=f\n"
		"file 2 s2c command elsewhere name=g\n"
		"note c2s coding_unknown @1024\n"},
	{"a line that does not end", {SAID_C("RETR f"), SAID_FIN(HALF_C2S)}, ""},
	{"a line that is too long", {SAID_C("RETR " FOUR_K "\r\nRETR " FOUR_K "\r\nRETR f\r\n")},
		"note c2s head_too_long @0\n"
		"file 1 s2c command elsewhere name=f\n"},
	{"the end of a long name is kept", {PASV, SAID_C("RETR a/" THOUSAND HUNDRED "\r\n")},
		"expect " AT_SERVER "\n"
		"file 1 s2c command elsewhere name=(1024)..23456789 cut path=a/\n"
		"amend " AT_SERVER " file s2c ..name=(127)..23456789\n"},
	{"a user whose name is long",
		{SAID_C("USER " HUNDRED HUNDRED "\r\nRETR f\r\n"), SAID_S("331 x\r\n530 Who\r\n"),
			PASV},
		"file 1 s2c command elsewhere name=f user=(128)..01234567\n"
		"expect " AT_SERVER " user=" TEN TEN TEN TEN TEN "0\n"},
};

#define LABEL(...) static const struct transfer_label __VA_ARGS__
LABEL(nothing) = {.user = "anna"};
LABEL(retr) = {
	.what = TRANSFER_FILE, .half = HALF_S2C, .file = "/pub/a.exe", .user = "anna", .size = 9};
LABEL(rest) = {.what = TRANSFER_FILE, .half = HALF_S2C, .file = "a", .range_from = 7};
LABEL(stor) = {.what = TRANSFER_FILE, .half = HALF_C2S, .file = "up"};
LABEL(listing) = {.what = TRANSFER_LISTING, .half = HALF_S2C};
LABEL(older) = {.file = "b.zip"};
LABEL(coded) = {.what = TRANSFER_FILE, .half = HALF_S2C, .file = "z", .coded = true};
LABEL(cut_name) = {.what = TRANSFER_FILE, .half = HALF_S2C, .file = "ng.exe", .begins_cut = true};
LABEL(cut_path) = {.what = TRANSFER_FILE, .half = HALF_S2C, .file = "r/ng.exe", .begins_cut = true};

static const struct conversation connections[] = {
	{"a download",
		{SAID_ANNOUNCED(retr), SAID_S("all "), SAID_S("of it"), SAID_FIN(HALF_S2C),
			SAID_FIN(HALF_C2S)},
		"file 1 s2c command name=a.exe path=/pub/ user=anna size=9\n"
		"end 1 CLOSED 0+9 all of it\n"},
	{"an upload", {SAID_ANNOUNCED(stor), SAID_C("up"), SAID_FIN(HALF_C2S), SAID_FIN(HALF_S2C)},
		"file 1 c2s command name=up\n"
		"end 1 CLOSED 0+2 up\n"},
	{"a range", {SAID_ANNOUNCED(rest), SAID_S("abc"), SAID_FIN(HALF_S2C)},
		"file 1 s2c command name=a from=7\n"
		"end 1 CLOSED 0+3 abc\n"},
	{"the name comes after the connection, and before its first byte",
		{SAID_ANNOUNCED(nothing), SAID_FIN(HALF_C2S), SAID_ANNOUNCED(retr), SAID_S("x"),
			SAID_ANNOUNCED(rest), SAID_S("y"), SAID_FIN(HALF_S2C)},
		"file 1 s2c command name=a.exe path=/pub/ user=anna size=9\n"
		"end 1 CLOSED 0+2 xy\n"},
	{"the name comes too late",
		{SAID_ANNOUNCED(nothing), SAID_S("x"), SAID_ANNOUNCED(retr), SAID_S("y"),
			SAID_FIN(HALF_S2C)},
		"file 1 s2c none user=anna\n"
		"end 1 CLOSED 0+2 xy\n"},
	{"nothing was announced", {SAID_C("x"), SAID_FIN(HALF_C2S)},
		"file 1 c2s none\n"
		"end 1 CLOSED 0+1 x\n"},
	{"a listing is no file, what comes against it is",
		{SAID_ANNOUNCED(listing), SAID_S("-rw-r--r-- a\r\n"), SAID_C("hidden"),
			SAID_FIN(HALF_S2C), SAID_FIN(HALF_C2S)},
		"file 1 c2s none\n"
		"end 1 CLOSED 0+6 hidden\n"},
	{"a gap in a listing",
		{SAID_ANNOUNCED(listing), SAID_GAP(HALF_S2C, 5), SAID_S("-rw"), SAID_FIN(HALF_S2C)},
		""},
	{"bytes the other way are a file of their own",
		{SAID_ANNOUNCED(retr), SAID_C("hidden"), SAID_S("x"), SAID_FIN(HALF_S2C)},
		"file 1 c2s none\n"
		"file 2 s2c command name=a.exe path=/pub/ user=anna size=9\n"
		"end 2 CLOSED 0+1 x\n"
		"end 1 TRUNCATED 0+6 hidden\n"},
	{"a label that does not say which way is that of the first",
		{SAID_ANNOUNCED(older), SAID_C("x"), SAID_S("y"), SAID_FIN(HALF_C2S),
			SAID_FIN(HALF_S2C)},
		"file 1 c2s command name=b.zip\n"
		"file 2 s2c none\n"
		"end 1 CLOSED 0+1 x\n"
		"end 2 CLOSED 0+1 y\n"},
	{"an empty file", {SAID_ANNOUNCED(stor), SAID_FIN(HALF_S2C), SAID_FIN(HALF_C2S)},
		"file 1 c2s command name=up\n"
		"end 1 CLOSED 0+0\n"},
	{"no bytes of what was not announced as a file",
		{SAID_ANNOUNCED(older), SAID_FIN(HALF_S2C), SAID_FIN(HALF_C2S)}, ""},
	{"a reset", {SAID_ANNOUNCED(retr), SAID_S("abc")},
		"file 1 s2c command name=a.exe path=/pub/ user=anna size=9\n"
		"end 1 TRUNCATED 0+3 abc\n"},
	{"a gap",
		{SAID_ANNOUNCED(stor), SAID_C("ab"), SAID_GAP(HALF_C2S, 3), SAID_C("f"),
			SAID_FIN(HALF_C2S)},
		"file 1 c2s command name=up\n"
		"end 1 TRUNCATED 0+6 lost=3 ab___f\n"},
	{"a gap at its beginning, and nothing else",
		{SAID_ANNOUNCED(stor), SAID_GAP(HALF_C2S, 3), SAID_FIN(HALF_C2S)},
		"file 1 c2s command name=up\n"
		"end 1 TRUNCATED 0+3\n"},
	{"joined in the middle",
		{SAID_ANNOUNCED(stor), SAID_MIDSTREAM(HALF_C2S, "rest"), SAID_FIN(HALF_C2S)},
		"file 1 c2s command name=up\n"
		"end 1 TRUNCATED 1000+4 rest\n"},
	{"MODE Z", {SAID_ANNOUNCED(coded), SAID_S("x"), SAID_FIN(HALF_S2C)},
		"file 1 s2c command name=z\n"
		"note s2c coding_unknown @0\n"
		"end 1 CLOSED 0+1 x\n"},
	{"a name that is cut", {SAID_ANNOUNCED(cut_name), SAID_S("x"), SAID_FIN(HALF_S2C)},
		"file 1 s2c command name=ng.exe cut\n"
		"end 1 CLOSED 0+1 x\n"},
	{"a folder that is cut", {SAID_ANNOUNCED(cut_path), SAID_S("x"), SAID_FIN(HALF_S2C)},
		"file 1 s2c command name=ng.exe path=r/\n"
		"end 1 CLOSED 0+1 x\n"},
};

#define TEST(decoder, table)                                                                    \
	static void test_##table(void **state)                                                  \
	{                                                                                       \
		(void)state;                                                                    \
		conversations_check(&content_##decoder, table, sizeof(table) / sizeof(*table)); \
	}
TEST(ftp, sessions)
TEST(ftp, named)
TEST(ftp, forms)
TEST(ftp, ahead)
TEST(ftp, over_ipv6)
TEST(ftp, lines)
TEST(ftp_data, connections)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sessions),
		cmocka_unit_test(test_named),
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_ahead),
		cmocka_unit_test(test_over_ipv6),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_connections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
