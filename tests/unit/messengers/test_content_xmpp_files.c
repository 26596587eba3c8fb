// SPDX-License-Identifier: BSD-3-Clause
// Files in XMPP's streams (XEP-0047, XEP-0261): which they are, their bytes, their ends, and blocks
// that receivers read in several ways; SOCKS5 bytestreams (XEP-0065).
#include "content/decoders.h"
#include "lib/content/conversation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define IBB  " xmlns='http://jabber.org/protocol/ibb'"
#define MINE "<iq type='set' to='al@b.example/y' id='1'>"
#define HIS  "<iq type='set' from='al@b.example/y' to='me@a.example/x' id='2'>"
#define OPEN(sid, size)                                                                          \
	"<iq type='set' to='al@b.example/y' id='o'><open" IBB " sid='" sid "' block-size='" size \
	"' stanza='iq'/></iq>"
#define DATA(sid, seq, text)     MINE "<data" IBB " seq='" seq "' sid='" sid "'>" text "</data></iq>"
#define HIS_DATA(sid, seq, text) HIS "<data" IBB " seq='" seq "' sid='" sid "'>" text "</data></iq>"
#define CLOSE(sid)               MINE "<close" IBB " sid='" sid "'/></iq>"
#define HIS_CLOSE(sid)           HIS "<close" IBB " sid='" sid "'/></iq>"
#define SI(id, name, size)                                                     \
	MINE "<si id='" id "' profile='http://jabber.org/protocol/si/profile/" \
	     "file-transfer'><file name='" name "' size='" size "'/></si></iq>"
#define SENT "<iq to='me@a.example/x' type='result' id='bind'/>"

static const struct conversation bands[] = {
	{"offered, opened, sent, closed",
		{SAID_S(SENT), SAID_C(SI("s", "a.txt", "11") OPEN("s", "6")),
			SAID_C(DATA("s", "0", "SGVsbG8g") DATA("s", "1", "d29ybGQ=") CLOSE("s"))},
		"file 1 c2s offer elsewhere name=a.txt user=me@a.example/x size=11\n"
		"file 2 c2s offer name=a.txt user=me@a.example/x size=11\n"
		"end 2 CLOSED 386+131 Hello world\n"},
	{"to the client, in messages",
		{SAID_S(HIS "<si id='s'><file name='b.bin' size='4'/></si></iq>"
			    "<message from='al@b.example/y'><data" IBB
			    " sid='s' seq='0'>QUJD</data><amp/></message>"
			    "<message from='al@b.example/y'><data" IBB
			    " sid='s' seq='1'>RA==</data></message>" HIS_CLOSE("s"))},
		"file 1 s2c offer elsewhere name=b.bin user=al@b.example/y size=4\n"
		"file 2 s2c offer name=b.bin user=al@b.example/y size=4\n"
		"end 2 CLOSED 206+123 ABCD\n"},
	{"that nobody has offered", {SAID_C(OPEN("s", "6") DATA("s", "0", "QUJD") CLOSE("s"))},
		"file 1 c2s none\n"
		"end 1 CLOSED 231+4 ABC\n"},
	{"that nobody has opened", {SAID_C(DATA("s", "0", "QUJD") CLOSE("s"))},
		"file 1 c2s none\n"
		"end 1 CLOSED 103+4 ABC\n"},
	{"several at once, each from its own end",
		{SAID_C(SI("s", "a.txt", "6") SI("t", "b.txt", "3")),
			SAID_S(HIS "<si id='u'><file name='c.txt' size='3'/></si></iq>"),
			SAID_C(OPEN("s", "9") OPEN("t", "9") DATA("s", "0", "QUJD")),
			SAID_S(HIS_DATA("u", "0", "dXV1")), SAID_C(DATA("t", "0", "dHR0")),
			SAID_C(CLOSE("t") DATA("s", "1", "REVG") CLOSE("s")),
			SAID_S(HIS_CLOSE("u"))},
		"file 1 c2s offer elsewhere name=a.txt size=6\n"
		"file 2 c2s offer elsewhere name=b.txt size=3\n"
		"file 3 s2c offer elsewhere name=c.txt user=al@b.example/y size=3\n"
		"file 4 c2s offer name=a.txt user=me@a.example/x size=6\n"
		"file 5 s2c offer name=c.txt user=al@b.example/y size=3\n"
		"file 6 c2s offer name=b.txt user=me@a.example/x size=3\n"
		"end 6 CLOSED 786+4 ttt\n"
		"end 4 CLOSED 667+344 ABCDEF\n"
		"end 5 CLOSED 239+4 uuu\n"},
	{"the receiver answers in the same stream",
		{SAID_C(SI("s", "a.txt", "3") DATA("s", "0", "QUJD")),
			SAID_S(HIS_DATA("s", "0", "ZZZZ")), SAID_C(CLOSE("s"))},
		"file 1 c2s offer elsewhere name=a.txt size=3\n"
		"file 2 c2s offer name=a.txt size=3\n"
		"file 3 s2c none user=al@b.example/y\n"
		"end 2 CLOSED 257+4 ABC\n"
		"end 3 CLOSED 125+4 e\\96Y\n"},
	{"the receiver closes, before its end and behind it",
		{SAID_C(SI("s", "a.txt", "6") DATA("s", "0", "QUJD")), SAID_S(HIS_CLOSE("s")),
			SAID_C(SI("t", "b.txt", "3") DATA("t", "0", "QUJD")),
			SAID_S(HIS_CLOSE("t")), SAID_C(DATA("u", "0", "QUJD")),
			SAID_S(HIS_CLOSE("u"))},
		"file 1 c2s offer elsewhere name=a.txt size=6\n"
		"file 2 c2s offer name=a.txt size=6\n"
		"end 2 TRUNCATED 257+4 ABC\n"
		"file 3 c2s offer elsewhere name=b.txt user=me@a.example/x size=3\n"
		"file 4 c2s offer name=b.txt user=me@a.example/x size=3\n"
		"end 4 CLOSED 530+4 ABC\n"
		"file 5 c2s none user=me@a.example/x\n"
		"end 5 CLOSED 649+4 ABC\n"},
	{"nobody closes, of as many bytes as were said and of fewer",
		{SAID_C(SI("s", "a.txt", "6") SI("t", "b.txt", "3") DATA("s", "0", "QUJD")
				DATA("t", "0", "QUJD"))},
		"file 1 c2s offer elsewhere name=a.txt size=6\n"
		"file 2 c2s offer elsewhere name=b.txt size=3\n"
		"file 3 c2s offer name=a.txt size=6\n"
		"file 4 c2s offer name=b.txt size=3\n"
		"end 3 TRUNCATED 411+4 ABC\n"
		"end 4 CLOSED 530+4 ABC\n"},
	{"Jingle, whose transport is in band",
		{SAID_C(MINE "<jingle action='session-initiate' sid='j'><content name='c'>"
			     "<description><file><name>a.txt</name><size>3</size></file>"
			     "</description><transport sid='s' "
			     "block-size='9'/></content></jingle></iq>" OPEN("s", "9")
				     DATA("s", "0", "QUJD") CLOSE("s"))},
		"file 1 c2s offer elsewhere name=a.txt size=3\n"
		"file 2 c2s offer name=a.txt size=3\n"
		"end 2 CLOSED 464+4 ABC\n"},
	{"Jingle, which goes over to it; two files of a session, and its end",
		{SAID_S(HIS "<jingle action='session-initiate' sid='j'><content name='c'>"
			    "<transport sid='5'/><description><file><name>a.txt</name>"
			    "<size>3</size></file></description></content><content name='d'>"
			    "<description><file><name>b.txt</name><size>9</size></file>"
			    "</description><transport sid='6'/></content></jingle></iq>" HIS
			    "<jingle action='transport-replace' sid='j'><content name='d'>"
			    "<transport sid='t' block-size='9'/></content><content name='c'>"
			    "<transport sid='s' block-size='9'/></content></jingle></iq>" HIS_DATA(
				    "s", "0", "QUJD") HIS_DATA("t", "0", "REVG") HIS
			"<jingle action='session-terminate' sid='j'/></iq>")},
		"file 1 s2c offer elsewhere name=a.txt user=al@b.example/y size=3\n"
		"file 2 s2c offer elsewhere name=b.txt user=al@b.example/y size=9\n"
		"file 3 s2c offer name=a.txt user=al@b.example/y size=3\n"
		"file 4 s2c offer name=b.txt user=al@b.example/y size=9\n"
		"end 4 TRUNCATED 873+4 DEF\n"
		"end 3 CLOSED 732+4 ABC\n"},
	{"who answers sends, by Jingle",
		{SAID_C(MINE "<jingle action='session-initiate' sid='j'><content name='c' "
			     "senders='responder'><description><file><name>a.txt</name></file>"
			     "</description><transport sid='s'/></content></jingle></iq>" MINE
			     "<jingle action='session-initiate' sid='k'><content name='c'>"
			     "<description><request><file><name>b.txt</name></file></request>"
			     "</description><transport sid='t'/></content></jingle></iq>"),
			SAID_S(HIS_DATA("s", "0", "QUJD") HIS_CLOSE("s") HIS_DATA("t", "0", "REVG")
					HIS_CLOSE("t"))},
		"file 1 s2c offer elsewhere name=a.txt\n"
		"file 2 s2c offer elsewhere name=b.txt\n"
		"file 3 s2c offer name=a.txt user=al@b.example/y\n"
		"end 3 CLOSED 125+4 ABC\n"
		"file 4 s2c offer name=b.txt user=al@b.example/y\n"
		"end 4 CLOSED 390+4 DEF\n"},
	{"a part of it is asked for",
		{SAID_C(SI("s", "a.txt", "6")),
			SAID_S("<iq type='result' id='1'><si><file><range offset='3'/></file></si>"
			       "</iq>"),
			SAID_C(DATA("s", "0", "REVG") CLOSE("s") SI("t", "b.txt", "6")),
			SAID_S("<iq type='result' id='1'><si><file><range offset='0' length='2'/>"
			       "</file></si></iq>"),
			SAID_C(DATA("t", "0", "QUI=") CLOSE("t"))},
		"file 1 c2s offer elsewhere name=a.txt size=6\n"
		"file 2 c2s offer name=a.txt size=6 from=3\n"
		"end 2 CLOSED 257+4 DEF\n"
		"file 3 c2s offer elsewhere name=b.txt size=6\n"
		"file 4 c2s offer name=b.txt size=6 from=0\n"
		"end 4 CLOSED 632+4 AB\n"},
	{"what is refused, or answered, sends nothing",
		{SAID_C(SI("s", "a.txt", "3") OPEN("s", "9")),
			SAID_S("<iq type='error' id='1'><si id='s'><file name='a.txt'/></si></iq>"
			       "<iq type='error' id='o'><open sid='s' block-size='9'/></iq>"
			       "<iq type='error' id='1'><data sid='s' seq='0'>QUJD</data></iq>"),
			SAID_C("<data sid='s' seq='0'>QUJD</data><iq><data>QUJD</data></iq>"
			       "<iq><data cid='x'>QUJD</data></iq>")},
		"file 1 c2s offer elsewhere name=a.txt size=3\n"},
	{"nothing of it but its end, and an offer that is made again",
		{SAID_C(SI("s", "a.txt", "0") OPEN("s", "9") CLOSE("s") SI("t", "b.txt", "9") DATA(
			"t", "0", "QUJD") SI("t", "c.txt", "3") DATA("t", "0", "REVG") CLOSE("t"))},
		"file 1 c2s offer elsewhere name=a.txt size=0\n"
		"file 2 c2s offer elsewhere name=b.txt size=9\n"
		"file 3 c2s offer name=b.txt size=9\n"
		"end 3 TRUNCATED 641+4 ABC\n"
		"file 4 c2s offer elsewhere name=c.txt size=3\n"
		"file 5 c2s offer name=c.txt size=3\n"
		"end 5 CLOSED 914+4 DEF\n"},
	{"names with entities, letters of several bytes, and a folder",
		{SAID_C(SI("s", "d&#233;j&#xE0;/&amp;&#x1F600;\xe2\x82\xac.exe", "3")
				DATA("s", "0", "QUJD") CLOSE("s"))},
		"file 1 c2s offer elsewhere name=&\\f0\\9f\\98\\80\\e2\\82\\ac.exe "
		"path=d\\c3\\a9j\\c3\\a0/ size=3\n"
		"file 2 c2s offer name=&\\f0\\9f\\98\\80\\e2\\82\\ac.exe path=d\\c3\\a9j\\c3\\a0/ "
		"size=3\n"
		"end 2 CLOSED 288+4 ABC\n"},
	{"half of a character's surrogates is no reference",
		{SAID_C(SI("s", "&#xD83D;&#xDE00;.exe", "3") DATA("s", "0", "QUJD"))},
		"note c2s bad_xml @134\n"
		"file 1 c2s none\n"
		"end 1 TRUNCATED 272+4 ABC\n"},
};

static const struct conversation blocks[] = {
	{"white space, CDATA and references inside",
		{SAID_C(DATA("s", "0", " QUJD\r\n\tR\nEVG ") DATA("s", "1", "QU<![CDATA[JDR]]>EVG")
				DATA("s", "2", "QU&#x4a;D&#82;EVG") CLOSE("s"))},
		"file 1 c2s none\n"
		"end 1 CLOSED 103+281 ABCDEFABCDEFABCDEF\n"},
	{"what is no digit, in text and in CDATA", {SAID_C(DATA("s", "0", "QU&amp;JD") CLOSE("s"))},
		"file 1 c2s none\n"
		"note c2s coding_lies @119\n"
		"end 1 CLOSED 103+9 ABC\n"},
	{"... a bracket", {SAID_C(DATA("s", "0", "QU<![CDATA[]]]>JD") CLOSE("s"))},
		"file 1 c2s none\n"
		"note c2s coding_lies @127\n"
		"end 1 CLOSED 103+17 ABC\n"},
	{"digits behind padding", {SAID_C(DATA("s", "0", "QQ==QUJD") CLOSE("s"))},
		"file 1 c2s none\n"
		"note c2s coding_lies @118\n"
		"end 1 CLOSED 103+8 AABC\n"},
	{"no padding", {SAID_C(DATA("s", "0", "QUI") DATA("s", "1", "QUJD") CLOSE("s"))},
		"file 1 c2s none\n"
		"note c2s coding_lies @113\n"
		"end 1 CLOSED 103+122 ABABC\n"},
	{"one digit", {SAID_C(DATA("s", "0", "Q") CLOSE("s"))},
		"file 1 c2s none\n"
		"note c2s coding_lies @111\n"
		"end 1 CLOSED 103+1\n"},
	{"a block that is empty", {SAID_C(DATA("s", "0", "") DATA("s", "1", "QUJD") CLOSE("s"))},
		"file 1 c2s none\n"
		"end 1 CLOSED 218+4 ABC\n"},
	{"an element inside", {SAID_C(DATA("s", "0", "QU<b>xxxx</b>JD") CLOSE("s"))},
		"file 1 c2s none\n"
		"end 1 CLOSED 103+15 ABC\n"},
	{"longer than was agreed on", {SAID_C(OPEN("s", "4") DATA("s", "0", "QUJDREVG"))},
		"file 1 c2s none\n"
		"note c2s bad_chunk @246\n"
		"end 1 TRUNCATED 231+8 ABCDEF\n"},
	{"as long as was agreed on", {SAID_C(OPEN("s", "6") DATA("s", "0", "QUJDREVG"))},
		"file 1 c2s none\n"
		"end 1 TRUNCATED 231+8 ABCDEF\n"},
	{"a number that is left out",
		{SAID_C(DATA("s", "0", "QUJD") DATA("s", "2", "REVG") DATA("s", "3", "R0hJ"))},
		"file 1 c2s none\n"
		"note c2s bad_chunk @222\n"
		"end 1 TRUNCATED 103+242 ABCDEFGHI\n"},
	{"a number that comes again",
		{SAID_C(DATA("s", "0", "QUJD") DATA("s", "0", "REVG") DATA("s", "1", "R0hJ"))},
		"file 1 c2s none\n"
		"note c2s bad_chunk @222\n"
		"end 1 TRUNCATED 103+242 ABCDEFGHI\n"},
	{"no number, and one that is none",
		{SAID_C(MINE "<data sid='s'>QUJD</data></iq>"), SAID_S(HIS_DATA("t", "x", "REVG"))},
		"note c2s bad_chunk @56\n"
		"file 1 c2s none\n"
		"note s2c bad_chunk @125\n"
		"file 2 s2c none user=al@b.example/y\n"
		"end 1 TRUNCATED 56+4 ABC\n"
		"end 2 TRUNCATED 125+4 DEF\n"},
	{"numbers that begin at one", {SAID_C(DATA("s", "1", "QUJD"))},
		"note c2s bad_chunk @103\n"
		"file 1 c2s none\n"
		"end 1 TRUNCATED 103+4 ABC\n"},
	{"a stream that is opened twice",
		{SAID_C(OPEN("s", "9") OPEN("s", "6") DATA("s", "0", "QUJD") OPEN("s", "6"))},
		"file 1 c2s none\n"
		"note c2s bad_chunk @498\n"
		"end 1 TRUNCATED 359+4 ABC\n"},
	{"a gap between blocks, and one inside of a block",
		{SAID_C(SI("s", "a.txt", "18") DATA("s", "0", "QUJD")), SAID_GAP(HALF_C2S, 100),
			SAID_C(DATA("s", "2", "R0hJ")), SAID_C(DATA("s", "3", "SktM")),
			SAID_C(MINE "<data sid='s' seq='4'>TU"), SAID_GAP(HALF_C2S, 10),
			SAID_C(DATA("s", "5", "UFFS") CLOSE("s"))},
		"file 1 c2s offer elsewhere name=a.txt size=18\n"
		"file 2 c2s offer name=a.txt size=18\n"
		"end 2 TRUNCATED 258+537 lost=6 ABC___GHIJKL___PQR\n"},
	{"a gap that took nothing of it",
		{SAID_C(SI("s", "a.txt", "6") DATA("s", "0", "QUJD")), SAID_GAP(HALF_C2S, 100),
			SAID_C(DATA("s", "1", "REVG") CLOSE("s"))},
		"file 1 c2s offer elsewhere name=a.txt size=6\n"
		"file 2 c2s offer name=a.txt size=6\n"
		"end 2 CLOSED 257+223 ABCDEF\n"},
	{"from the middle", {SAID_MIDSTREAM(HALF_C2S, DATA("s", "7", "QUJD") CLOSE("s"))},
		"file 1 c2s none\n"
		"end 1 TRUNCATED 1103+4 ABC\n"},
	{"bytes that break off",
		{SAID_C(DATA("s", "0", "QUJD") MINE "<data sid='s' seq='1'>REVGR")},
		"file 1 c2s none\n"
		"end 1 TRUNCATED 103+85 ABCDEF\n"},
	{"a comment inside", {SAID_C(DATA("s", "0", "QUJD<!-- -->REVG") DATA("s", "1", "R0hJ"))},
		"file 1 c2s none\n"
		"note c2s bad_xml @109\n"
		"end 1 TRUNCATED 103+135 ABCGHI\n"},
};

static const struct transfer_label file_c2s = {
	.user = "al@b/y", .what = TRANSFER_FILE, .half = HALF_C2S, .file = "dir/a.exe", .size = 6};
static const struct transfer_label file_s2c = {
	.what = TRANSFER_FILE, .half = HALF_S2C, .file = "a.exe", .size = 6, .range_from = 2};
static const struct transfer_label not_said = {.user = "al@b/y"};

#define HASH  "0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d"
#define GREET "\5\1\0"
#define ASK   "\5\1\0\3\x28" HASH "\0\0"
#define TAKEN "\5\0"
#define REPLY "\5\0\0\3\x28" HASH "\0\0"

static const struct conversation streams[] = {
	{"who connects sends",
		{SAID_ANNOUNCED(file_c2s), SAID_C(GREET), SAID_S(TAKEN), SAID_C(ASK), SAID_S(REPLY),
			SAID_C("abc"), SAID_C("def"), SAID_FIN(HALF_C2S), SAID_FIN(HALF_S2C)},
		"file 1 c2s offer name=a.exe path=dir/ user=al@b/y size=6\n"
		"end 1 CLOSED 50+6 abcdef\n"},
	{"who is connected to sends, at once behind its reply, a part",
		{SAID_ANNOUNCED(file_s2c), SAID_C(GREET), SAID_S(TAKEN), SAID_C(ASK),
			SAID_S(REPLY "cdef"), SAID_FIN(HALF_C2S)},
		"file 1 s2c offer name=a.exe size=6 from=2\n"
		"end 1 CLOSED 49+4 cdef\n"},
	{"what classification has read comes first of each half",
		{SAID_ANNOUNCED(file_s2c), SAID_C(GREET ASK), SAID_S(TAKEN REPLY "cdef")},
		"file 1 s2c offer name=a.exe size=6 from=2\n"
		"end 1 CLOSED 49+4 cdef\n"},
	{"nobody has announced it",
		{SAID_C(GREET), SAID_S(TAKEN), SAID_C(ASK), SAID_S(REPLY), SAID_C("abc"),
			SAID_FIN(HALF_C2S)},
		"file 1 c2s none\n"
		"end 1 CLOSED 50+3 abc\n"},
	{"it was not said which end has the file",
		{SAID_ANNOUNCED(not_said), SAID_C(GREET), SAID_S(TAKEN), SAID_C(ASK),
			SAID_S(REPLY "abc"), SAID_C("x"), SAID_FIN(HALF_S2C)},
		"file 1 s2c none user=al@b/y\n"
		"file 2 c2s none\n"
		"end 1 CLOSED 49+3 abc\n"
		"end 2 TRUNCATED 50+1 x\n"},
	{"the other end sends, too",
		{SAID_ANNOUNCED(file_c2s), SAID_C(GREET), SAID_S(TAKEN), SAID_C(ASK),
			SAID_S(REPLY "x"), SAID_C("abcdef"), SAID_FIN(HALF_C2S)},
		"file 1 s2c none\n"
		"file 2 c2s offer name=a.exe path=dir/ user=al@b/y size=6\n"
		"end 2 CLOSED 50+6 abcdef\n"
		"end 1 TRUNCATED 49+1 x\n"},
	{"addresses of other kinds",
		{SAID_ANNOUNCED(file_c2s), SAID_C(GREET), SAID_S(TAKEN),
			SAID_C("\5\1\0\1\x0a\0\0\1\0\0"
			       "abcdef"),
			SAID_S("\5\0\0\4"
			       "0123456789abcdef\0\0"),
			SAID_FIN(HALF_C2S)},
		"file 1 c2s offer name=a.exe path=dir/ user=al@b/y size=6\n"
		"end 1 CLOSED 13+6 abcdef\n"},
	{"a login", /* RFC 1929 */
		{SAID_ANNOUNCED(file_c2s), SAID_C("\5\2\0\2"), SAID_S("\5\2"),
			SAID_C("\1\2ab\3xyz"), SAID_S("\1\0"), SAID_C(ASK), SAID_S(REPLY),
			SAID_C("abcdef"), SAID_FIN(HALF_C2S)},
		"file 1 c2s offer name=a.exe path=dir/ user=al@b/y size=6\n"
		"end 1 CLOSED 59+6 abcdef\n"},
	{"no methods, an empty name, another command, a reply that refuses",
		{SAID_C("\5\0\5\3\0\3\0\0\0abc"), SAID_S("\5\0\5\1\0\3\0\0\0"), SAID_FIN(HALF_C2S)},
		"file 1 c2s none\n"
		"end 1 CLOSED 9+3 abc\n"},
	{"no file",
		{SAID_ANNOUNCED(file_c2s), SAID_C(GREET ASK), SAID_S(TAKEN REPLY),
			SAID_FIN(HALF_C2S), SAID_FIN(HALF_S2C)},
		""},
	{"one end has nothing to say, and says so first",
		{SAID_FIN(HALF_S2C), SAID_C(GREET ASK "abc"), SAID_FIN(HALF_C2S)},
		"file 1 c2s none\n"
		"end 1 CLOSED 50+3 abc\n"},
	{"an address of no kind", {SAID_C("\5\1\0\5\1\0\2abc"), SAID_S("\5\0")},
		"note c2s bad_line @6\n"},
	{"what is no SOCKS5 behind a greeting", {SAID_C("\5\1\0GET"), SAID_S("\5\0")},
		"note c2s bad_line @3\n"},
	{"a server that speaks something else", {SAID_C(GREET), SAID_S("220 hi\r\n")}, ""},
	{"a part of it is lost",
		{SAID_ANNOUNCED(file_c2s), SAID_C(GREET ASK "ab"), SAID_GAP(HALF_C2S, 2),
			SAID_C("ef"), SAID_FIN(HALF_C2S)},
		"file 1 c2s offer name=a.exe path=dir/ user=al@b/y size=6\n"
		"end 1 TRUNCATED 50+6 lost=2 ab__ef\n"},
	{"a part of the handshake is lost",
		{SAID_ANNOUNCED(file_c2s), SAID_C(GREET), SAID_GAP(HALF_C2S, 40), SAID_C("abcdef"),
			SAID_FIN(HALF_C2S)},
		"file 1 c2s offer name=a.exe path=dir/ user=al@b/y size=6\n"
		"end 1 TRUNCATED 43+6 abcdef\n"},
	{"its beginning was not seen",
		{SAID_ANNOUNCED(file_c2s), SAID_MIDSTREAM(HALF_C2S, "abcdef"), SAID_FIN(HALF_C2S)},
		"file 1 c2s offer name=a.exe path=dir/ user=al@b/y size=6\n"
		"end 1 TRUNCATED 1000+6 abcdef\n"},
	{"a receiver that resets, with all of it, and before",
		{SAID_ANNOUNCED(file_c2s), SAID_C(GREET ASK "abcdef")},
		"file 1 c2s offer name=a.exe path=dir/ user=al@b/y size=6\n"
		"end 1 CLOSED 50+6 abcdef\n"},
	{"... before", {SAID_ANNOUNCED(file_c2s), SAID_C(GREET ASK "abcde")},
		"file 1 c2s offer name=a.exe path=dir/ user=al@b/y size=6\n"
		"end 1 TRUNCATED 50+5 abcde\n"},
};

#define TEN      "0123456789"
#define HUNDRED  TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
#define THOUSAND HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED
#define S(n)     SI(n, n ".txt", "3")

static const struct conversation limits[] = {
	{"ids of a thousand bytes that differ in the last",
		{SAID_C(SI(THOUSAND "a", "a.txt", "3") SI(THOUSAND "b", "b.txt", "3")),
			SAID_C(DATA(THOUSAND "b", "0", "QkJC") DATA(THOUSAND "a", "0", "QUFB")
					CLOSE(THOUSAND "a") CLOSE(THOUSAND "b"))},
		"file 1 c2s offer elsewhere name=a.txt size=3\n"
		"file 2 c2s offer elsewhere name=b.txt size=3\n"
		"file 3 c2s offer name=b.txt size=3\n"
		"file 4 c2s offer name=a.txt size=3\n"
		"end 4 CLOSED 4530+4 AAA\n"
		"end 3 CLOSED 3411+4 BBB\n"},
	{"more offers than are remembered: what is of none may be of one",
		{SAID_C(S("1") S("2") S("3") S("4") S("5") S("6") S("7") S("8") S("9")),
			SAID_C(DATA("9", "0", "QUJD") CLOSE("9")),
			SAID_C(DATA("1", "0", "QUJD") CLOSE("1"))},
		"file 1 c2s offer elsewhere name=1.txt size=3\n"
		"file 2 c2s offer elsewhere name=2.txt size=3\n"
		"file 3 c2s offer elsewhere name=3.txt size=3\n"
		"file 4 c2s offer elsewhere name=4.txt size=3\n"
		"file 5 c2s offer elsewhere name=5.txt size=3\n"
		"file 6 c2s offer elsewhere name=6.txt size=3\n"
		"file 7 c2s offer elsewhere name=7.txt size=3\n"
		"file 8 c2s offer elsewhere name=8.txt size=3\n"
		"file 9 c2s offer elsewhere name=9.txt size=3\n"
		"file 10 c2s offer name=9.txt size=3\n"
		"end 10 CLOSED 1489+4 ABC\n"
		"note c2s too_many_requests @1710\n"
		"file 11 c2s none\n"
		"end 11 CLOSED 1710+4 ABC\n"},
	{"more streams than are remembered",
		{SAID_C(DATA("1", "0", "QUJD") DATA("2", "0", "QUJD") DATA("3", "0", "QUJD") DATA(
			 "4", "0", "QUJD") DATA("5", "0", "QUJD") DATA("6", "0", "QUJD")
				 DATA("7", "0", "QUJD") DATA("8", "0", "QUJD")),
			SAID_C(DATA("9", "0", "QUJD") DATA("8", "1", "REVG"))},
		"file 1 c2s none\n"
		"file 2 c2s none\n"
		"file 3 c2s none\n"
		"file 4 c2s none\n"
		"file 5 c2s none\n"
		"file 6 c2s none\n"
		"file 7 c2s none\n"
		"file 8 c2s none\n"
		"note c2s too_many_requests @1055\n"
		"end 1 TRUNCATED 103+4 ABC\n"
		"file 9 c2s none\n"
		"end 9 TRUNCATED 1055+4 ABC\n"
		"end 2 TRUNCATED 222+4 ABC\n"
		"end 3 TRUNCATED 341+4 ABC\n"
		"end 4 TRUNCATED 460+4 ABC\n"
		"end 5 TRUNCATED 579+4 ABC\n"
		"end 6 TRUNCATED 698+4 ABC\n"
		"end 7 TRUNCATED 817+4 ABC\n"
		"end 8 TRUNCATED 936+242 ABCDEF\n"},
};

#define TEST(table)                                                                        \
	static void test_##table(void **state)                                             \
	{                                                                                  \
		(void)state;                                                               \
		conversations_check(&content_xmpp, table, sizeof(table) / sizeof(*table)); \
	}
TEST(bands)
TEST(blocks)
TEST(streams)
TEST(limits)

// Numbers go on at 0 behind 65,535.
static void test_numbers(void **state)
{
	enum { BLOCKS = 65537 + 3, ROOM = 64 };
	char *text = malloc((size_t)BLOCKS * ROOM + 1);
	size_t length = 0;
	struct conversation conversation = {.name = "numbers"};
	const struct feeding feeding = {.want = CONTENT_WANT_DATA, .budget = UINT32_MAX};
	static struct transcript transcript;

	(void)state;
	assert_non_null(text);
	for (unsigned i = 0; i < BLOCKS; i++)
		length += (size_t)snprintf(text + length, ROOM + 1,
			"<iq><data sid='s' seq='%u'>QUJD</data></iq>", i & 0xffff);
	length += (size_t)snprintf(text + length, ROOM, "<iq><close sid='s'/></iq>");
	conversation.said[0] = (struct said)SAID_BYTES(HALF_C2S, 0, (uint32_t)length, text);
	conversation_feed(&content_xmpp, &conversation, &feeding, &transcript);
	assert_int_equal(transcript.told, 3 * BLOCKS);
	assert_null(strstr(transcript.text, "note"));
	assert_non_null(strstr(transcript.text, "CLOSED"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bands),
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
