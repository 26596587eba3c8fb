// SPDX-License-Identifier: BSD-3-Clause
// DCC as clients speak it: files by their names, where they will come, who may be named there; and
// the connections themselves.
#include "content/decoders.h"
#include "lib/content/conversation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

// 10.0.0.1 is the client, 10.0.0.2 the server (conversation.h); 10.0.0.9 is anybody.
#define SELF   "167772161"
#define SERVER "167772162"
#define OTHER  "167772169"
#define MINE   "10.0.0.1:5000 from any as dcc l4=6 app=8"
#define THEIRS "10.0.0.9:5000 from 10.0.0.1 as dcc l4=6 app=8"
#define LOGIN  "NICK anna\r\n"
#define FROM_B ":bob!b@h PRIVMSG anna :"

static const struct conversation offers[] = {
	{"irssi sends, and is sent to",
		{SAID_C(LOGIN "PRIVMSG bob :\1DCC SEND tool.exe " SELF " 5000 69120\1\r\n"),
			SAID_S(FROM_B "\1DCC SEND a.txt " OTHER " 5000 7\1\r\n")},
		"file 1 c2s command elsewhere name=tool.exe user=anna size=69120\n"
		"expect " MINE " file s2c name=tool.exe user=anna size=69120\n"
		"file 2 s2c command elsewhere name=a.txt user=bob size=7\n"
		"expect " THEIRS " file s2c name=a.txt user=bob size=7\n"},
	{"names with blanks, quotes and folders",
		{SAID_S(FROM_B "\1DCC SEND \"two words.exe\" " OTHER " 5000 7\1\r\n" FROM_B
			       "\1DCC SEND two  words.exe " OTHER " 5000 7\r\n" FROM_B
			       "\1dcc send \"a \"b\" c\" " OTHER " 5000 7\1\r\n" FROM_B
			       "\1DCC SEND C:\\x\\y.exe " OTHER " 5000 7\1\r\n" FROM_B
			       "\1DCC SEND \"1 2 3.txt " OTHER " 5000 7\1\r\n" FROM_B
			       "\1DCC SEND a\x10nb\x10\x10.exe " OTHER " 5000 7\1\r\n" FROM_B
			       "\1DCC SEND \"\" " OTHER " 5000 7\1\r\n")},
		"file 1 s2c command elsewhere name=two words.exe user=bob size=7\n"
		"expect " THEIRS " file s2c name=two words.exe user=bob size=7\n"
		"file 2 s2c command elsewhere name=two  words.exe user=bob size=7\n"
		"expect " THEIRS " file s2c name=two  words.exe user=bob size=7\n"
		"file 3 s2c command elsewhere name=a \"b\" c user=bob size=7\n"
		"expect " THEIRS " file s2c name=a \"b\" c user=bob size=7\n"
		"file 4 s2c command elsewhere name=y.exe path=C:\\5cx\\5c user=bob size=7\n"
		"expect " THEIRS " file s2c name=C:\\5cx\\5cy.exe user=bob size=7\n"
		"file 5 s2c command elsewhere name=\"1 2 3.txt user=bob size=7\n"
		"expect " THEIRS " file s2c name=\"1 2 3.txt user=bob size=7\n"
		"file 6 s2c command elsewhere name=a\\0ab\\10.exe user=bob size=7\n"
		"expect " THEIRS " file s2c name=a\\0ab\\10.exe user=bob size=7\n"
		"file 7 s2c none elsewhere user=bob size=7\n"
		"expect " THEIRS " file s2c user=bob size=7\n"},
	{"the first name that a place follows",
		{SAID_S(FROM_B "\1DCC SEND evil.exe " OTHER " 5000 7 good.txt " OTHER
			       " 5001 8\1\r\n")},
		"file 1 s2c command elsewhere name=evil.exe user=bob size=7\n"
		"expect " THEIRS " file s2c name=evil.exe user=bob size=7\n"},
	{"addresses in other forms, and a size that is not said",
		{SAID_C(LOGIN "PRIVMSG bob :\1DCC SEND f 10.0.0.1 5000\1\r\n"),
			SAID_S(FROM_B "\1DCC SEND g 2001:db8::9 5000 1\1\r\n")},
		"file 1 c2s command elsewhere name=f user=anna\n"
		"expect " MINE " file s2c name=f user=anna\n"
		"file 2 s2c command elsewhere name=g user=bob size=1\n"
		"expect 2001:db8:0:0:0:0:0:9:5000 from 10.0.0.1 as dcc l4=6 app=8 file s2c name=g "
		"user=bob size=1\n"},
	{"what is no place: the name is told, and nothing expected",
		{SAID_C(LOGIN "PRIVMSG b :\1DCC SEND f.exe host 5000 7\1\r\n"
			      "PRIVMSG b :\1DCC SEND two words.exe host 5000 7\1\r\n"
			      "PRIVMSG b :\1DCC SEND f.exe " SELF " 70000 7\1\r\n"
			      "PRIVMSG b :\1DCC SEND f.exe 99999999999 5000 7\1\r\n"
			      "PRIVMSG b :\1DCC SEND f.exe\1\r\nPRIVMSG b :\1DCC SEND\1\r\n"
			      "PRIVMSG b :\1DCC SEND f.exe " SELF " 80 7\1\r\n")},
		"file 1 c2s command elsewhere name=f.exe user=anna\n"
		"file 2 c2s command elsewhere name=two words.exe user=anna\n"
		"file 3 c2s command elsewhere name=f.exe user=anna\n"
		"file 4 c2s command elsewhere name=f.exe user=anna\n"
		"file 5 c2s command elsewhere name=f.exe user=anna\n"
		"file 6 c2s none elsewhere user=anna\n"
		"file 7 c2s command elsewhere name=f.exe user=anna size=7\n"},
	{"a third party, by the client; by the server it is this client who connects",
		{SAID_C(LOGIN "PRIVMSG b :\1DCC SEND f " OTHER
			      " 5000 7\1\r\nPRIVMSG b :\1DCC CHAT chat "
			      "" SERVER " 5000\1\r\n"),
			SAID_S(FROM_B "\1DCC CHAT chat " OTHER " 5000\1\r\n")},
		"file 1 c2s command elsewhere name=f user=anna size=7\n"
		"expect " THEIRS " chat s2c user=bob\n"},
	{"no requests",
		{SAID_C("PRIVMSG b :DCC SEND f " SELF
			" 5000 7\r\nTOPIC #c :\1DCC SEND f 1 5000 7\1\r\n"
			"PRIVMSG b :\1DCC FSERV x\1\r\nPRIVMSG b :\1DCCSEND x\1\r\n"
			"PRIVMSG b :\1DCC XSEND f " SELF " 5000 7\1\r\nPRIVMSG b :\1DCC\1\r\n")},
		"message c2s to*=b 11+27 of 0+38 text=DCC SEND f 167772161 5000 7\n"
		"message c2s to=#c 51+19 of 40+31 text=DCC SEND f 1 5000 7\n"
		"message c2s to*=b 85+11 of 73+24 text=DCC FSERV x\n"
		"message c2s to*=b 111+9 of 99+22 text=DCCSEND x\n"
		"message c2s to*=b 135+28 of 123+41 text=DCC XSEND f 167772161 5000 7\n"},
	{"several in one line",
		{SAID_C("NOTICE b :x\1DCC SEND a " SELF " 5000 7\1DCC SEND b " SELF
			" 5001 8\1\r\n")},
		"message c2s to*=b 10+57 of 0+68 text=xDCC SEND b 167772161 5001 8\n"
		"file 1 c2s command elsewhere name=a size=7\n"
		"expect " MINE " file s2c name=a size=7\n"
		"file 2 c2s command elsewhere name=b size=8\n"
		"expect 10.0.0.1:5001 from any as dcc l4=6 app=8 file s2c name=b size=8\n"},
	{"too many in one line",
		{SAID_C("NOTICE b :\1DCC SEND\1DCC SEND\1DCC SEND\1DCC SEND\1DCC SEND\1DCC SEND"
			"\1DCC SEND\1DCC SEND\1DCC SEND evil.exe\1\r\n")},
		"message c2s to*=b 20+62 of 0+101 text=DCC SENDDCC SENDDCC SENDDCC SEND\n"
		"file 1 c2s none elsewhere\nfile 2 c2s none elsewhere\nfile 3 c2s none elsewhere\n"
		"file 4 c2s none elsewhere\nfile 5 c2s none elsewhere\nfile 6 c2s none elsewhere\n"
		"file 7 c2s none elsewhere\nfile 8 c2s none elsewhere\nnote c2s bad_line @0\n"},
	{"CHAT, TSEND, and inside TLS",
		{SAID_C(LOGIN "PRIVMSG b :\1DCC CHAT CHAT " SELF " 5000\1\r\n"
			      "PRIVMSG b :\1DCC SCHAT chat " SELF " 5000\1\r\n"
			      "PRIVMSG b :\1DCC TSEND f " SELF " 5000 7\1\r\n"
			      "PRIVMSG b :\1DCC STSEND f " SELF " 5000 7\1\r\n"
			      "PRIVMSG b :\1DCC CHAT chat " SELF " 0 77\1\r\n"
			      "PRIVMSG b :\1DCC CHAT chat here 5000\1\r\n")},
		"expect " MINE " chat s2c user=anna\n"
		"expect " MINE " chat s2c user=anna coded\n"
		"file 1 c2s command elsewhere name=f user=anna size=7\n"
		"expect " MINE " file s2c name=f user=anna size=7\n"
		"file 2 c2s command elsewhere name=f user=anna size=7\n"
		"expect " MINE " file s2c name=f user=anna size=7 coded\n"},
};

static const struct conversation answers[] = {
	{"mIRC resumes",
		{SAID_S(FROM_B "\1DCC SEND big.iso " OTHER " 5000 900\1\r\n"),
			SAID_C(LOGIN "PRIVMSG bob :\1DCC RESUME file.ext 5000 100\1\r\n"),
			SAID_S(FROM_B "\1DCC ACCEPT file.ext 5000 100\1\r\n")},
		"file 1 s2c command elsewhere name=big.iso user=bob size=900\n"
		"expect " THEIRS " file s2c name=big.iso user=bob size=900\n"
		"amend " THEIRS " file s2c name=big.iso user=bob size=900 from=100\n"},
	{"nobody has asked for it, or for another offset, port, or side",
		{SAID_S(FROM_B "\1DCC SEND f " OTHER " 5000 900\1\r\n" FROM_B
			       "\1DCC ACCEPT f 5000 1\1\r\n" FROM_B
			       "\1DCC RESUME f 5000 2\1\r\n" FROM_B "\1DCC ACCEPT f 5000 2\1\r\n"),
			SAID_C("PRIVMSG b :\1DCC RESUME f 5001 3\1\r\nPRIVMSG b :\1DCC RESUME f "
			       "5000 "
			       "4\1\r\nPRIVMSG b :\1DCC ACCEPT f 5000 4\1\r\n"),
			SAID_S(FROM_B "\1DCC ACCEPT f 5001 3\1\r\n" FROM_B
				      "\1DCC ACCEPT f 5000 5\1\r\n")},
		"file 1 s2c command elsewhere name=f user=bob size=900\n"
		"expect " THEIRS " file s2c name=f user=bob size=900\n"},
	{"reverse: the receiver listens, and the sender connects",
		{SAID_S(FROM_B "\1DCC SEND \"my f\" 199 0 900 77\1\r\n"),
			SAID_C(LOGIN "PRIVMSG bob :\1DCC SEND \"my f\" " SELF " 5000 900 77\1\r\n"),
			SAID_C("PRIVMSG bob :\1DCC SEND \"my f\" " SELF " 5000 900 77\1\r\n")},
		"file 1 s2c command elsewhere name=my f user=bob size=900\n"
		"expect " MINE " file c2s name=my f user=bob size=900\n"
		"file 2 c2s command elsewhere name=my f user=anna size=900\n"
		"expect " MINE " file s2c name=my f user=anna size=900\n"},
	{"reverse, from the client, and resumed",
		{SAID_C(LOGIN "PRIVMSG bob :\1DCC SEND f " SELF " 0 900 t1\1\r\n"),
			SAID_S(FROM_B "\1DCC RESUME f 0 50 t1\1\r\n"),
			SAID_C("PRIVMSG bob :\1DCC ACCEPT f 0 50 t1\1\r\n"),
			SAID_S(FROM_B "\1DCC SEND f " OTHER " 5000 900 t1\1\r\n")},
		"file 1 c2s command elsewhere name=f user=anna size=900\n"
		"expect " THEIRS " file c2s name=f user=anna size=900 from=50\n"},
	{"another token or name is another offer",
		{SAID_S(FROM_B "\1DCC SEND f 199 0 900 77\1\r\n"),
			SAID_C("PRIVMSG bob :\1DCC SEND f " SELF " 5000 900 78\1\r\n"
			       "PRIVMSG bob :\1DCC SEND g " SELF " 5000 900 77\1\r\n")},
		"file 1 s2c command elsewhere name=f user=bob size=900\n"
		"file 2 c2s command elsewhere name=f size=900\n"
		"expect " MINE " file s2c name=f size=900\n"
		"file 3 c2s command elsewhere name=g size=900\n"
		"expect " MINE " file s2c name=g size=900\n"},
	{"KVIrc's RSEND and RECV",
		{SAID_S(FROM_B "\1DCC RSEND f.exe 900\1\r\n"),
			SAID_C("PRIVMSG bob :\1DCC RECV f.exe " SELF " 5000 0\1\r\n"
			       "PRIVMSG bob :\1DCC RECV g.exe " SELF " 5000 9\1\r\n"
			       "PRIVMSG bob :\1DCC RECV h.exe\1\r\n")},
		"file 1 s2c command elsewhere name=f.exe user=bob size=900\n"
		"expect " MINE " file c2s name=f.exe user=bob size=900\n"
		"file 2 s2c command elsewhere name=g.exe from=9\n"
		"expect " MINE " file c2s name=g.exe from=9\n"
		"file 3 s2c command elsewhere name=h.exe\n"},
	{"the oldest of five offers is forgotten",
		{SAID_S(FROM_B
			 "\1DCC SEND a 199 0 1 1\1\r\n" FROM_B "\1DCC SEND b 199 0 1 2\1\r\n" FROM_B
			 "\1DCC SEND c 199 0 1 3\1\r\n" FROM_B "\1DCC SEND d 199 0 1 4\1\r\n" FROM_B
			 "\1DCC SEND e 199 0 1 5\1\r\n"),
			SAID_C("PRIVMSG bob :\1DCC SEND b " SELF " 5000 1 2\1\r\n"
			       "PRIVMSG bob :\1DCC SEND a " SELF " 5000 1 1\1\r\n")},
		"file 1 s2c command elsewhere name=a user=bob size=1\n"
		"file 2 s2c command elsewhere name=b user=bob size=1\n"
		"file 3 s2c command elsewhere name=c user=bob size=1\n"
		"file 4 s2c command elsewhere name=d user=bob size=1\n"
		"file 5 s2c command elsewhere name=e user=bob size=1\n"
		"expect " MINE " file c2s name=b user=bob size=1\n"
		"note c2s too_many_requests @46\n"
		"file 6 c2s command elsewhere name=a size=1\n"
		"expect " MINE " file s2c name=a size=1\n"},
	{"what may answer or grant what was forgotten is noted",
		{SAID_S(FROM_B
			 "\1DCC SEND a " OTHER " 5000 9\1\r\n" FROM_B
			 "\1DCC SEND b 199 0 2 2\1\r\n" FROM_B "\1DCC SEND c 199 0 3 3\1\r\n" FROM_B
			 "\1DCC SEND d 199 0 4 4\1\r\n" FROM_B "\1DCC SEND e 199 0 5 5\1\r\n"),
			SAID_C("PRIVMSG bob :\1DCC SEND f " SELF " 5000 1 6\1\r\n"
			       "PRIVMSG bob :\1DCC RESUME a 5000 4\1\r\n"),
			SAID_S(FROM_B "\1DCC ACCEPT a 5000 4\1\r\n")},
		"file 1 s2c command elsewhere name=a user=bob size=9\n"
		"expect " THEIRS " file s2c name=a user=bob size=9\n"
		"file 2 s2c command elsewhere name=b user=bob size=2\n"
		"file 3 s2c command elsewhere name=c user=bob size=3\n"
		"file 4 s2c command elsewhere name=d user=bob size=4\n"
		"file 5 s2c command elsewhere name=e user=bob size=5\n"
		"note c2s too_many_requests @0\n"
		"file 6 c2s command elsewhere name=f size=1\n"
		"expect " MINE " file s2c name=f size=1\n"
		"note s2c too_many_requests @242\n"},
	{"an offer of one's own that was forgotten is not what the other one answers with",
		{SAID_C("PRIVMSG bob :\1DCC SEND a 199 0 1 1\1\r\nPRIVMSG bob :\1DCC SEND b 199 0 "
			"2 "
			"2\1\r\nPRIVMSG bob :\1DCC SEND c 199 0 3 3\1\r\nPRIVMSG bob :\1DCC SEND d "
			"199 0 "
			"4 4\1\r\nPRIVMSG bob :\1DCC SEND e 199 0 5 5\1\r\n"
			"PRIVMSG bob :\1DCC SEND f " SELF " 5000 1 6\1\r\n")},
		"file 1 c2s command elsewhere name=a size=1\n"
		"file 2 c2s command elsewhere name=b size=2\n"
		"file 3 c2s command elsewhere name=c size=3\n"
		"file 4 c2s command elsewhere name=d size=4\n"
		"file 5 c2s command elsewhere name=e size=5\n"
		"file 6 c2s command elsewhere name=f size=1\n"
		"expect " MINE " file s2c name=f size=1\n"},
};

#define LABEL(...) static const struct transfer_label __VA_ARGS__
LABEL(send) = {.what = TRANSFER_FILE, .half = HALF_S2C, .file = "a.exe", .user = "bob", .size = 9};
LABEL(reverse) = {.what = TRANSFER_FILE, .half = HALF_C2S, .file = "a.exe"};
LABEL(resumed) = {.what = TRANSFER_FILE, .half = HALF_S2C, .file = "a", .size = 9, .range_from = 5};
LABEL(older) = {.file = "b.zip", .user = "bob"};
LABEL(older_chat) = {.user = "bob"};
LABEL(chat) = {.what = TRANSFER_CHAT, .half = HALF_S2C, .user = "bob"};
LABEL(chat_tls) = {.what = TRANSFER_CHAT, .half = HALF_S2C, .user = "bob", .coded = true};

static const struct conversation connections[] = {
	{"a file, and its acknowledgements",
		{SAID_ANNOUNCED(send), SAID_S("all "), SAID_C("\0\0\0\4"), SAID_S("of it"),
			SAID_C("\0\0\0\x09"), SAID_FIN(HALF_S2C), SAID_FIN(HALF_C2S)},
		"file 1 s2c command name=a.exe user=bob size=9\n"
		"end 1 CLOSED 0+9 all of it\n"},
	{"acknowledgements of eight octets",
		{SAID_ANNOUNCED(send), SAID_S("all of it"), SAID_C("\0\0\0\0\0\0\0\x09"),
			SAID_FIN(HALF_C2S), SAID_FIN(HALF_S2C)},
		"file 1 s2c command name=a.exe user=bob size=9\n"
		"end 1 CLOSED 0+9 all of it\n"},
	{"a file of who connects",
		{SAID_ANNOUNCED(reverse), SAID_C("x"), SAID_S("\0\0\0\1"), SAID_FIN(HALF_C2S),
			SAID_FIN(HALF_S2C)},
		"file 1 c2s command name=a.exe\n"
		"end 1 CLOSED 0+1 x\n"},
	{"what is resumed",
		{SAID_ANNOUNCED(send), SAID_ANNOUNCED(resumed), SAID_S("f it"),
			SAID_C("\0\0\0\x09"), SAID_FIN(HALF_S2C)},
		"file 1 s2c command name=a size=9 from=5\n"
		"end 1 CLOSED 0+4 f it\n"},
	{"what is no acknowledgement is a file",
		{SAID_ANNOUNCED(send), SAID_S("x"), SAID_C("\0\0\0\1MZ\x90hidden"),
			SAID_FIN(HALF_C2S), SAID_FIN(HALF_S2C)},
		"file 1 s2c command name=a.exe user=bob size=9\n"
		"file 2 c2s none\n"
		"end 2 CLOSED 4+9 MZ\\90hidden\n"
		"end 1 CLOSED 0+1 x\n"},
	{"one word that is no acknowledgement",
		{SAID_ANNOUNCED(send), SAID_S("x"), SAID_C("MZ\x90\1"), SAID_FIN(HALF_C2S)},
		"file 1 s2c command name=a.exe user=bob size=9\n"
		"file 2 c2s none\n"
		"end 2 CLOSED 0+4 MZ\\90\\01\n"
		"end 1 TRUNCATED 0+1 x\n"},
	{"bytes behind an end",
		{SAID_ANNOUNCED(send), SAID_S("x"), SAID_FIN(HALF_C2S), SAID_C("MZ\x90\1more"),
			SAID_FIN(HALF_S2C), SAID_S("more")},
		"file 1 s2c command name=a.exe user=bob size=9\n"
		"end 1 CLOSED 0+1 x\n"},
	{"a label that does not say which way is that of the first",
		{SAID_ANNOUNCED(older), SAID_C("abc"), SAID_S("\0\0\0\3"), SAID_FIN(HALF_C2S)},
		"file 1 c2s command name=b.zip user=bob\n"
		"end 1 CLOSED 0+3 abc\n"},
	{"all of it came, and the receiver resets", {SAID_ANNOUNCED(send), SAID_S("all of it")},
		"file 1 s2c command name=a.exe user=bob size=9\n"
		"end 1 CLOSED 0+9 all of it\n"},
	{"a reset before its end", {SAID_ANNOUNCED(send), SAID_S("all of")},
		"file 1 s2c command name=a.exe user=bob size=9\n"
		"end 1 TRUNCATED 0+6 all of\n"},
	{"an empty file", {SAID_ANNOUNCED(reverse), SAID_FIN(HALF_C2S), SAID_FIN(HALF_S2C)},
		"file 1 c2s command name=a.exe\n"
		"end 1 CLOSED 0+0\n"},
	{"gaps",
		{SAID_ANNOUNCED(send), SAID_S("ab"), SAID_GAP(HALF_C2S, 3), SAID_C("what comes"),
			SAID_GAP(HALF_S2C, 3), SAID_S("f"), SAID_FIN(HALF_S2C)},
		"file 1 s2c command name=a.exe user=bob size=9\n"
		"end 1 TRUNCATED 0+6 lost=3 ab___f\n"},
	{"a gap at its beginning, and nothing else",
		{SAID_ANNOUNCED(reverse), SAID_GAP(HALF_C2S, 3), SAID_FIN(HALF_C2S)},
		"file 1 c2s command name=a.exe\n"
		"end 1 TRUNCATED 0+3\n"},
	{"joined in the middle",
		{SAID_ANNOUNCED(send), SAID_MIDSTREAM(HALF_C2S, "\1\2\3\4\5"),
			SAID_MIDSTREAM(HALF_S2C, "rest"), SAID_FIN(HALF_S2C)},
		"file 1 s2c command name=a.exe user=bob size=9\n"
		"end 1 TRUNCATED 1000+4 rest\n"},
};

static const struct conversation chats[] = {
	{"lines both ways",
		{SAID_ANNOUNCED(chat), SAID_S("hi there\n"),
			SAID_C("@x hello\r\n:b PRIVMSG #c :y\n"),
			SAID_S("\1ACTION waves\1\n\n\x16\x03\x01z\n"), SAID_C("last"),
			SAID_FIN(HALF_C2S)},
		"message s2c from=bob 0+8 of 0+8 text=hi there\n"
		"message c2s to=bob 0+8 of 0+8 text=@x hello\n"
		"message c2s to=bob 10+16 of 10+16 text=:b PRIVMSG #c :y\n"
		"message s2c from=bob 17+5 of 9+14 text=waves\n"
		"message s2c from=bob 28+1 of 25+4 text=z\n"
		"message c2s to=bob 27+4 of 27+4 text=last\n"},
	{"files that are offered there, by who is there",
		{SAID_ANNOUNCED(older_chat), SAID_S("\1DCC SEND f.exe " SERVER " 5000 7\1\n"),
			SAID_C("\1DCC SEND g.exe " SELF " 5000 7\1\n\1DCC SEND h.exe " OTHER
			       " 5000 7\1\n")},
		"file 1 s2c command elsewhere name=f.exe user=bob size=7\n"
		"expect 10.0.0.2:5000 from any as dcc l4=6 app=8 file s2c name=f.exe user=bob "
		"size=7\n"
		"file 2 c2s command elsewhere name=g.exe size=7\n"
		"expect " MINE " file s2c name=g.exe size=7\n"
		"file 3 c2s command elsewhere name=h.exe size=7\n"},
	{"inside TLS", {SAID_ANNOUNCED(chat_tls), SAID_FIN(HALF_S2C), SAID_C("\x16\x03\x01\n")},
		"note c2s tls @0\n"},
};

#define TEST(table)                                                                       \
	static void test_##table(void **state)                                            \
	{                                                                                 \
		(void)state;                                                              \
		conversations_check(&content_irc, table, sizeof(table) / sizeof(*table)); \
	}
TEST(offers)
TEST(answers)
TEST(connections)
TEST(chats)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_offers),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_connections),
		cmocka_unit_test(test_chats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
