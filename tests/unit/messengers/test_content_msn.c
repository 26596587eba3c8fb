// SPDX-License-Identifier: BSD-3-Clause
// MSN Messenger: what people write in switchboards, invitations of the older way, and MSNFTP.
#include "content/decoders.h"
#include "lib/content/conversation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

// 10.0.0.1 is the client, 10.0.0.2 the server (conversation.h); 10.0.0.9 is anybody.
#define LOGIN   "USR 1 anna@a.example 1.2.3\r\n"                                       // 28
#define HEAD    "MIME-Version: 1.0\r\nContent-Type: text/plain; charset=UTF-8\r\n\r\n" // 62
#define CONTROL "MIME-Version: 1.0\r\nContent-Type: text/x-msmsgscontrol\r\n"
#define INVITE  "Content-Type: text/x-msmsgsinvite; charset=UTF-8\r\n\r\n" // 52
#define CHUNK   "Message-ID: {1-2}\r\n"                                    // 19
#define TYPE    "Content-Type: text/plain\r\n"                             // 26
#define FROM_B  "MSG bob@b.example Bob "

static const struct conversation talks[] = {
	{"who writes to whom",
		{SAID_C(LOGIN "CAL 2 bob@b.example\r\n"),
			SAID_S("USR 1 OK anna@a.example Anna\r\nCAL 2 RINGING 7\r\n"
			       "JOI bob@b.example Bob 1073741824\r\nJOI carl@c.example;{1-2} C "
			       "0\r\n"),
			SAID_C("MSG 3 N 70\r\n" HEAD "hi there"),
			SAID_S("ACK 3\r\n" FROM_B "65\r\n" HEAD "you"),
			SAID_S("BYE bob@b.example\r\n"), SAID_C("MSG 4 U 63\r\n" HEAD "x"),
			SAID_S("BYE carl@c.example\r\n"), SAID_C("MSG 5 U 63\r\n" HEAD "y")},
		"message c2s from=anna@a.example to*=bob@b.example,carl@c.example 123+8 of 123+8 "
		"text=hi there\n"
		"message s2c from=bob@b.example to=anna@a.example 206+3 of 206+3 text=you\n"
		"message c2s from=anna@a.example to=carl@c.example 205+1 of 205+1 text=x\n"
		"message c2s from=anna@a.example 280+1 of 280+1 text=y\n"},
	{"typing, profiles and what has no text are not told",
		{SAID_C(LOGIN "MSG 3 U 78\r\n" CONTROL "TypingUser: a@b.c\r\n\r\n\r\n"),
			SAID_S("MSG Hotmail Hotmail 12\r\nA: b\r\n\r\nword"),
			SAID_C("MSG 4 U 62\r\n" HEAD)},
		""},
	{"payloads that are no messages",
		{SAID_C("UUX 8 56\r\n<Data><PSM>MSG 1 N 5</PSM><CurrentMedia></CurrentMedia\r\nUUX "
			"9 0\r\nADL 5 3\r\nabc"
			"QRY 6 PROD0038W!61ZTF9 5\r\n12345PNG\r\n"),
			SAID_S("GCF 0 4\r\n<a/>UBX bob@b.example;{2} 2\r\nxyNOT 3\r\nabcUBN "
			       "bob@b.example 3 4\r\nabcd"
			       "ADL 5 OK\r\nQRY 6\r\n241 5 3\r\nabcUUX 8 0\r\n911 7\r\n" FROM_B
			       "63\r\n" HEAD "z")},
		"message s2c from=bob@b.example 210+1 of 210+1 text=z\n"},
	{"messages of the notification server, and of MSNP21",
		{SAID_C("USR 4 SSO I anna@a.example\r\nUUM 7 bob@y.example 32 1 64\r\n" HEAD "hi"),
			SAID_S("UBM bob@y.example 32 1 65\r\n" HEAD "you"),
			SAID_C("SDG 8 172\r\nRouting: 1.0\r\nTo: 1:bob@b.example\r\nFrom: "
			       "1:anna@a.example;epid={1}\r\n\r\nReliability: 1.0\r\n\r\n"
			       "Messaging: 2.0\r\nContent-Type: Text/plain; charset=UTF-8\r\n"
			       "Content-Length: 4\r\n\r\nwell")},
		"message c2s from=anna@a.example to=bob@y.example 119+2 of 119+2 text=hi\n"
		"message s2c from=bob@y.example to=anna@a.example 89+3 of 89+3 text=you\n"
		"message c2s from=anna@a.example to=bob@b.example 300+4 of 300+4 text=well\n"},
	{"in chunks: each is told behind the end of those before",
		{SAID_S(FROM_B "60\r\n" TYPE CHUNK "Chunks: 2\r\n\r\nbl" FROM_B "43\r\n" CHUNK
			       "Chunk: 1\r\n\r\nuebird is it")},
		"message s2c from=bob@b.example 84+2 of 84+2 text=bl\n"
		"message s2c from=bob@b.example 143+12 of 143+12 text=bluebird is it\n"},
	{"chunks of two who write at a time",
		{SAID_S(FROM_B "60\r\n" TYPE CHUNK "Chunks: 2\r\n\r\ngr"
			       "MSG carl@c.example C 60\r\n" TYPE CHUNK "Chunks: 2\r\n\r\nre" FROM_B
			       "35\r\n" CHUNK
			       "Chunk: 1\r\n\r\neen MSG carl@c.example C 34\r\n" CHUNK
			       "Chunk: 1\r\n\r\nd! ")},
		"message s2c from=bob@b.example 84+2 of 84+2 text=gr\n"
		"message s2c from=carl@c.example 169+2 of 169+2 text=re\n"
		"message s2c from=bob@b.example 228+4 of 228+4 text=green \n"
		"message s2c from=carl@c.example 288+3 of 288+3 text=red! \n"},
	{"a length that is too small: what follows is no command",
		{SAID_C("MSG 1 N 64\r\n" HEAD "hi there\r\nMSG 2 N 63\r\n" HEAD "x")},
		"message c2s 74+2 of 74+2 text=hi\nnote c2s bad_line @76\n"
		"message c2s 158+1 of 158+1 text=x\n"},
	{"a length that is too large, and none",
		{SAID_C("MSG 1 N 9999999\r\n" HEAD "hi\r\nMSG 2 N 63\r\n" HEAD "x"),
			SAID_S("MSG a@b.example B 1x\r\nMSG a@b.example B 63\r\n" HEAD "y")},
		"note c2s bad_length @0\nmessage c2s 157+1 of 157+1 text=x\n"
		"note s2c bad_length @0\nmessage s2c from=a@b.example 106+1 of 106+1 text=y\n"},
	{"a head without an end",
		{SAID_C("MSG 1 N 45\r\nMIME-Version: 1.0\r\n" TYPE "MSG 2 N 63\r\n" HEAD "x")},
		"note c2s bad_line @0\n"
		"message c2s 131+1 of 131+1 text=x\n"},
	{"ends of lines, two types, and folded fields",
		{SAID_C("MSG 1 N 66\n" HEAD "text"),
			SAID_S("MSG a@b.example B 55\r\nContent-Type: image/png\r\n" TYPE "\r\nhi"
			       "MSG a@b.example B 33\r\nContent-Type:\r\n text/plain\r\n\r\nhi!")},
		"note c2s bare_lf @0\nmessage c2s 73+4 of 73+4 text=text\n"
		"note s2c bad_line @0\nmessage s2c from=a@b.example 75+2 of 75+2 text=hi\n"
		"note s2c folded_header @77\n"},
	{"joined in the middle: what is no command is passed over",
		{SAID_MIDSTREAM(HALF_S2C, "of words\r\nmore\r\nMSG a@b.example B 63\r\n" HEAD "y")},
		"message s2c from=a@b.example 1100+1 of 1100+1 text=y\n"},
	{"a gap in a text, and in commands",
		{SAID_C("MSG 1 N 72\r\n" HEAD "ab"), SAID_GAP(HALF_C2S, 5), SAID_C("def"),
			SAID_C("MSG 2 N "), SAID_GAP(HALF_C2S, 9),
			SAID_C("x\r\nword\r\nMSG 3 N 63\r\n" HEAD "y")},
		"message c2s 74+2 of 74+2 text=ab\nmessage c2s 81+3 of 81+3 text=def\n"
		"message c2s 184+1 of 184+1 text=y\n"},
};

#define OFFER                                                                                  \
	"Application-Name: File Transfer\r\nInvitation-Command: INVITE\r\nInvitation-Cookie: " \
	"77\r\n"                                                                               \
	"Application-File: a b.exe\r\nApplication-FileSize: 9068\r\nConnectivity: N\r\n\r\n"
#define ACCEPT(address, port)                                                         \
	"Invitation-Command: ACCEPT\r\nInvitation-Cookie: 77\r\nIP-Address: " address \
	"\r\nPort: " port "\r\nAuthCookie: 93301\r\nLaunch-Application: FALSE\r\n\r\n"

static const struct conversation invites[] = {
	{"the client offers, and listens",
		{SAID_C(LOGIN "MSG 4 U 210\r\n" INVITE OFFER),
			SAID_S(FROM_B "138\r\n" INVITE
				      "Invitation-Command: ACCEPT\r\nInvitation-Cookie: 77\r\n"
				      "Request-Data: IP-Address:\r\n\r\n      "),
			SAID_C("MSG 5 N 185\r\n" INVITE ACCEPT("10.0.0.1", "6891"))},
		"file 1 c2s offer elsewhere name=a b.exe user=anna@a.example size=9068\n"
		"expect 10.0.0.1:6891 from any as msnftp l4=6 app=8 file s2c name=a b.exe "
		"user=anna@a.example size=9068\n"},
	{"the other one offers, and listens; or has the client listen",
		{SAID_C(LOGIN), SAID_S(FROM_B "210\r\n" INVITE OFFER),
			SAID_S(FROM_B "185\r\n" INVITE ACCEPT("10.0.0.9", "6891")),
			SAID_C("MSG 5 N 185\r\n" INVITE ACCEPT("10.0.0.1", "6892"))},
		"file 1 s2c offer elsewhere name=a b.exe user=bob@b.example size=9068\n"
		"expect 10.0.0.9:6891 from 10.0.0.1 as msnftp l4=6 app=8 file s2c name=a b.exe "
		"user=bob@b.example size=9068\n"
		"expect 10.0.0.1:6892 from any as msnftp l4=6 app=8 file c2s name=a b.exe "
		"user=bob@b.example size=9068\n"},
	{"who may not be named, low ports, another cookie",
		{SAID_C(LOGIN "MSG 5 N 185\r\n" INVITE ACCEPT(
			 "10.0.0.9", "6891") "MSG 5 N 184\r\n" INVITE ACCEPT("10.0.0.1", "891")),
			SAID_S(FROM_B "185\r\n" INVITE ACCEPT("10.0.0.1", "6891") FROM_B
				"185\r\n" INVITE ACCEPT("10.0.0.9", "6891"))},
		"expect 10.0.0.9:6891 from 10.0.0.1 as msnftp l4=6 app=8\n"},
};

#define LABEL(...) static const struct transfer_label __VA_ARGS__
LABEL(sent) = {.what = TRANSFER_FILE, .half = HALF_S2C, .file = "a.exe", .user = "bob", .size = 9};
#define RECEIVER SAID_C("VER MSNFTP\r\nUSR bob@b.example 93301\r\n")

static const struct conversation files[] = {
	{"a file in two blocks",
		{SAID_ANNOUNCED(sent), RECEIVER, SAID_S("VER MSNFTP\r\nFIL 9\r\n"),
			SAID_C("TFR\r\n"), SAID_S("\0\4\0all \0\5\0of it\1\0\0"),
			SAID_C("BYE 16777989\r\n")},
		"file 1 s2c offer name=a.exe user=bob size=9\n"
		"end 1 CLOSED 17+17 all of it\n"},
	{"of who connects, not announced, and no end",
		{SAID_S("VER MSNFTP\r\n"), SAID_C("VER MSNFTP\r\nFIL 9\r\n\0\4\0all \0\5\0of it"),
			SAID_FIN(HALF_C2S)},
		"file 1 c2s none size=9\nend 1 CLOSED 17+17 all of it\n"},
	{"given up, by either end; and a connection that ends",
		{RECEIVER, SAID_S("VER MSNFTP\r\nFIL 9\r\n\0\4\0all CCL\r\n"), SAID_C("CCL\r\n")},
		"file 1 s2c none size=9\n"
		"end 1 TRUNCATED 17+12 all \n"},
	{"an end before its size, and an empty file",
		{RECEIVER, SAID_S("VER MSNFTP\r\nFIL 9\r\n\0\4\0all \1\0\0FIL 0\r\n")},
		"file 1 s2c none size=9\nend 1 TRUNCATED 17+9 all \n"
		"file 2 s2c none size=0\nend 2 CLOSED 34+0\n"},
	{"sizes that lie",
		{SAID_ANNOUNCED(sent), RECEIVER, SAID_S("VER MSNFTP\r\nFIL 4\r\n\0\x09\0all of it"),
			SAID_FIN(HALF_S2C)},
		"note s2c two_lengths @12\n"
		"file 1 s2c offer name=a.exe user=bob size=4\n"
		"end 1 CLOSED 17+9 all \n"
		"note s2c bad_length @19\n"
		"file 2 s2c offer name=a.exe user=bob\n"
		"end 2 TRUNCATED 26+0 of it\n"},
	{"a gap in a block, and one that takes a block's head",
		{RECEIVER, SAID_S("VER MSNFTP\r\nFIL 9\r\n\0\x04\0al"), SAID_GAP(HALF_S2C, 2),
			SAID_S("\0\5\0of"), SAID_GAP(HALF_S2C, 8)},
		"file 1 s2c none size=9\n"
		"end 1 TRUNCATED 17+17 lost=2 al__of\n"
		"note s2c lost @34\n"},
	{"commands go on where a client only begins as MSNFTP does",
		{SAID_C("VER MSNFTP\r\nMSG 1 N 63\r\n" HEAD "x"), SAID_S("911 1\r\n")},
		"message c2s 86+1 of 86+1 text=x\n"},
};

static void test_talks(void **unused)
{
	(void)unused;
	conversations_check(&content_msn, talks, sizeof(talks) / sizeof(talks[0]));
}

static void test_invites(void **unused)
{
	(void)unused;
	conversations_check(&content_msn, invites, sizeof(invites) / sizeof(invites[0]));
}

static void test_files(void **unused)
{
	(void)unused;
	conversations_check(&content_msn, files, sizeof(files) / sizeof(files[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_talks),
		cmocka_unit_test(test_invites),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
