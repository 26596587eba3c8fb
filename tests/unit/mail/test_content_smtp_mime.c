// SPDX-License-Identifier: BSD-3-Clause
// What mails carry (RFC 5322, 2045 to 2047, 2231): parts and their delimiters, names, encodings,
// texts; uuencode and yEnc; what mail readers read in several ways.
#include "content/decoders.h"
#include "lib/content/conversation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MAIL(text)                                                                           \
	{                                                                                    \
		SAID_S("220 x\r\n"), SAID_C("DATA\r\n"), SAID_S("354 go\r\n"), SAID_C(text), \
			SAID_C("\r\n.\r\n"), SAID_S("250 ok\r\n")                            \
	}
#define HEAD               "Content-Type: "
#define ATTACHED           "Content-Disposition: attachment; "
#define BASE64             "Content-Transfer-Encoding: base64\r\n"
#define QUOTED             "Content-Transfer-Encoding: quoted-printable\r\n"
#define MIXED(b)           HEAD "multipart/mixed; boundary=" b "\r\n\r\n"
#define NAMED(names, body) "--b\r\n" ATTACHED names "\r\n\r\n" body "\r\n"
#define FILE_OF(n)         ATTACHED "filename=" n "\r\n\r\n"

static const struct conversation parts[] = {
	{"a text and a file",
		MAIL("From: \"A, B\" <a@x> (c)\r\nTo: b@y,\r\n <c@y>\r\nSubject: "
		     "=?utf-8?q?h=C3=A9?=\r\n"
		     " =?utf-8?q?llo?=\r\n" MIXED(
			     "\"b 1\"") "This is MIME.\r\n--b 1\r\n" HEAD
					"text/plain\r\n\r\nhello\r\n\r\n--b 1 \t\r\n" HEAD
					"application/zip\r\n" BASE64 FILE_OF(
						"\"a.zip\"") "aGVs\r\nbG8h\r\n"
							     "--b 1--\r\nepilogue\r\n"),
		"message c2s from=a@x to*=b@y,c@y 57+37 of 57+37 text=h\\c3\\a9llo\n"
		"message c2s from=a@x to*=b@y,c@y 195+7 of 195+7 text=hello\\0d\\0a\n"
		"file 1 c2s header name=a.zip type=application/zip user=a@x\n"
		"end 1 CLOSED 332+10 hello!\n"},
	{"the mail is the file",
		MAIL(HEAD "application/octet-stream; name=a.bin\r\n" BASE64 "\r\naGVsbG8=\r\n"),
		"file 1 c2s header name=a.bin type=application/octet-stream\n"
		"end 1 CLOSED 95+12 hello\n"},
	{"lines end in LF",
		MAIL("Content-Type: multipart/mixed;\n boundary=b\n\n--b\n\nhello\n--b\nContent-"
		     "Disposition: attachment; filename=a\n\nworld\n--b--\n"),
		"message c2s 55+5 of 55+5 text=hello\n"
		"file 1 c2s header name=a\n"
		"end 1 CLOSED 110+5 world\n"},
	{"inside of each other, of which one begins the other",
		MAIL(MIXED("b") "--b\r\n" MIXED("bb") "--bb\r\n" FILE_OF(
			"a") "1\r\n--bb--\r\n--b\r\n" FILE_OF("b") "2\r\n--b--\r\n"),
		"note c2s bad_multipart @102\n"
		"file 1 c2s header name=a\n"
		"end 1 CLOSED 155+1 1\n"
		"file 2 c2s header name=b\n"
		"end 2 CLOSED 218+1 2\n"},
	{"an outer delimiter ends what is inside",
		MAIL(MIXED("b") "--b\r\n" MIXED("c") "--c\r\n" FILE_OF("a") "1\r\n--b\r\n" FILE_OF(
			"b") "2\r\n--c\r\n3\r\n--b--\r\n--b--x\r\n4"),
		"file 1 c2s header name=a\n"
		"end 1 CLOSED 153+1 1\n"
		"file 2 c2s header name=b\n"
		"end 2 CLOSED 208+9 2\\0d\\0a--c\\0d\\0a3\n"
		"note c2s bad_multipart @226\n"},
	{"no last delimiter, no part, nothing in a part",
		MAIL(MIXED("b") "--b\r\n\r\n\r\n--b\r\n" FILE_OF("a") "--b\r\n\r\n--b\r\n" FILE_OF(
			"b") "1\r\n"),
		"file 1 c2s header name=a\n"
		"end 1 CLOSED 112+0\n"
		"file 2 c2s header name=b\n"
		"end 2 CLOSED 171+5 1\\0d\\0a\\0d\\0a\n"},
	{"what is no delimiter",
		MAIL(MIXED("bound") "--b\r\n--bound\r\n" FILE_OF(
			"a") "-\r\n--\r\n--boun\r\n--boune\r\n"
			     "- -bound\r\n --bound\r\nx--bound\r\n-\r-bound\r\n--bound--"),
		"file 1 c2s header name=a\n"
		"note c2s bare_cr @171\n"
		"end 1 CLOSED 116+62 -\\0d\\0a--\\0d\\0a--boun\\0d\\0a--boune\\0d\\0a- "
		"-bound\\0d\\0a --bound\\0d\\0ax--bound\\0d\\0a-\\0d-bound\n"},
	{"a subject ahead of who sends it, and two of them",
		{SAID_S("220 x\r\n"), SAID_C("DATA\r\n"), SAID_S("354 go\r\n"),
			SAID_C("Subject: a\r\nFrom: b@x\r\nSubject: c\r\nTo: d@x\r\n\r\ne"),
			SAID_C("\r\n.\r\n")},
		"message c2s from=b@x 15+1 of 15+1 text=a\n"
		"message c2s from=b@x to=d@x 38+1 of 38+1 text=c\n"
		"message c2s from=b@x to=d@x 52+1 of 52+1 text=e\n"},
	{"a mail within",
		MAIL("From: a@x\r\nSubject: outer\r\n" MIXED(
			"b") "--b\r\n" HEAD
			     "message/rfc822; name=\"m.eml\"\r\n\r\nFrom: c@x\r\nSubject: "
			     "inner\r\n" MIXED("c") "--c\r\n\r\ntext\r\n--c\r\n" FILE_OF(
				     "a") "1\r\n--c--\r\n--b--\r\n"),
		"message c2s from=a@x 26+5 of 26+5 text=outer\n"
		"file 1 c2s header elsewhere name=m.eml type=message/rfc822 user=a@x\n"
		"message c2s from=a@x 149+5 of 149+5 text=inner\n"
		"message c2s from=a@x 208+4 of 208+4 text=text\n"
		"file 2 c2s header name=a user=a@x\n"
		"end 2 CLOSED 266+1 1\n"},
	{"a digest",
		MAIL(HEAD "multipart/digest; boundary=b\r\n\r\n--b\r\n\r\nSubject: "
			  "1\r\n\r\none\r\n--b\r\n"
			  "\r\nSubject: 2\r\n\r\ntwo\r\n--b--"),
		"message c2s 68+1 of 68+1 text=1\n"
		"message c2s 73+3 of 73+3 text=one\n"
		"message c2s 94+1 of 94+1 text=2\n"
		"message c2s 99+3 of 99+3 text=two\n"},
	{"a mailbox's line, and a text that is shown and stored",
		MAIL("From a@x Mon\r\nSubject : s\r\n" HEAD
		     "text/plain; charset=iso-8859-1; name=n.txt\r\n\r\nh\xe9llo\r\n"),
		"message c2s 30+1 of 30+1 text=s\n"
		"file 1 c2s header name=n.txt type=text/plain\n"
		"end 1 CLOSED 93+9 h\\e9llo\\0d\\0a\\0d\\0a\n"
		"message c2s 93+9 of 93+9 text=h\\c3\\a9llo\\0d\\0a\\0d\\0a\n"},
	{"a head that is none", MAIL("hello, you\r\nthere"),
		"note c2s bad_line @13\n"
		"message c2s 6+17 of 6+17 text=hello, you\\0d\\0athere\n"},
	{"a head without an end", MAIL("Subject: s\r\nX: y"), "message c2s 15+1 of 15+1 text=s\n"},
	{"a field goes on, and lines that are blank",
		MAIL("Subject: a\r\n b\r\n\tc\r\nX-Y: z\r\n \r\n" HEAD "text/plain\r\n\r\nd"),
		"message c2s 15+9 of 15+9 text=a b\\09c\n"
		"message c2s 65+1 of 65+1 text=d\n"},
};

static const struct conversation names[] = {
	{"as they are written",
		MAIL(MIXED("b") NAMED("filename=a b.txt", "1") NAMED("filename=\"a;\\\"b\\\".txt\"",
			"2") NAMED("filename=\"C:\\dir\\a.exe\"", "3")
				NAMED("filename=report(1).pdf", "4")
					NAMED("x FileName = \"a\"", "5") "--b--"),
		"file 1 c2s header name=a b.txt or=a\n"
		"end 1 CLOSED 109+1 1\n"
		"file 2 c2s header name=a;\"b\".txt or=a;\\5c\"b\\5c\".txt\n"
		"end 2 CLOSED 176+1 2\n"
		"file 3 c2s header name=C:dira.exe or=C:\\5cdir\\5ca.exe\n"
		"end 3 CLOSED 244+1 3\n"
		"file 4 c2s header name=report(1).pdf or=report\n"
		"end 4 CLOSED 311+1 4\n"
		"file 5 c2s header name=a\n"
		"end 5 CLOSED 372+1 5\n"},
	{"of both fields",
		MAIL(MIXED("b") "--b\r\n" HEAD "application/pdf; name=a.pdf\r\n" FILE_OF(
			"b.exe") "1\r\n--b\r\n" HEAD
				 "application/pdf; name=a.pdf\r\n" FILE_OF("a.pdf") "2\r\n--b--"),
		"file 1 c2s header name=a.pdf or=b.exe type=application/pdf\n"
		"end 1 CLOSED 150+1 1\n"
		"file 2 c2s header name=a.pdf type=application/pdf\n"
		"end 2 CLOSED 252+1 2\n"},
	{"encoded words",
		MAIL(MIXED("b") NAMED("filename=\"=?utf-8?B?ZXZpbC5leGU=?=\"", "1")
				NAMED("filename==?iso-8859-1?q?=E9.txt?=", "2")
					NAMED("filename=\"=?x?q?a?=.exe\"", "3") "--b--"),
		"file 1 c2s header name=evil.exe or==?utf-8?B?ZXZpbC5leGU=?=\n"
		"end 1 CLOSED 128+1 1\n"
		"file 2 c2s header name=\\c3\\a9.txt or==?iso-8859-1?q?=E9.txt?=\n"
		"end 2 CLOSED 206+1 2\n"
		"note c2s two_names @275\n"
		"file 3 c2s header name==?x?q?a?=.exe\n"
		"end 3 CLOSED 275+1 3\n"},
	{"RFC 2231",
		MAIL(MIXED("b") NAMED("filename=a; filename*=utf-8''%e2%82%ac.exe", "1") NAMED(
			"filename*1=b; filename*0=a;\r\n filename*2=\".exe\"",
			"2") NAMED("filename*0*=utf-8'en'%61; filename*1=%62;\r\n "
				   "filename*2*=%2eexe",
			"3") "--b\r\n" HEAD "a/b; name*0=x; name*1=y\r\n\r\n4\r\n--b--"),
		"file 1 c2s header* name=\\e2\\82\\ac.exe or=a\n"
		"end 1 CLOSED 135+1 1\n"
		"file 2 c2s header name=ab.exe\n"
		"end 2 CLOSED 227+1 2\n"
		"file 3 c2s header* name=a%62.exe\n"
		"end 3 CLOSED 334+1 3\n"
		"file 4 c2s header name=xy type=a/b\n"
		"end 4 CLOSED 383+1 4\n"},
	{"RFC 2231 that is read in several ways",
		MAIL(MIXED("b") NAMED("filename*0=a; filename*2=b", "1") "--b--"),
		"note c2s two_names @119\n"
		"file 1 c2s header name=ab\n"
		"end 1 CLOSED 119+1 1\n"},
	{"too many",
		MAIL(MIXED("b") NAMED("filename=1; filename=2; filename=3; filename=4; filename=5; "
				      "filename=6; filename=7; filename=8; filename=9; filename=10",
			"1") "--b--"),
		"note c2s two_names @212\n"
		"file 1 c2s header name=1 or=2 or=3 or=4 or=5 or=6 or=7 or=8 or=9\n"
		"end 1 CLOSED 212+1 1\n"},
};

static const struct conversation encodings[] = {
	{"base64",
		MAIL(MIXED("b") "--b\r\n" BASE64 FILE_OF(
			"a") "aGVs bG8s\r\n\r\nIHdv\tcmxk\r\n--b\r\n" BASE64 HEAD
			     "text/plain\r\n\r\naGVsbG8sIHdvcmxk\r\n--b\r\n" BASE64 FILE_OF(
				     "c") "\r\n--b--"),
		"file 1 c2s header name=a\n"
		"end 1 CLOSED 138+22 hello, world\n"
		"message c2s 230+16 of 230+16 text=hello, world\n"
		"file 2 c2s header name=c\n"
		"end 2 CLOSED 335+0\n"},
	{"base64 with data behind its padding", MAIL(BASE64 FILE_OF("a") "aGVsbA==\r\naGVsbG8="),
		"file 1 c2s header name=a\n"
		"note c2s bad_encoding @88\n"
		"end 1 CLOSED 88+20 hellhello\n"},
	{"base64 with other bytes in it", MAIL(BASE64 FILE_OF("a") "aGV*sbG8h"),
		"file 1 c2s header name=a\n"
		"note c2s bad_encoding @88\n"
		"end 1 CLOSED 88+11 hello!\n"},
	{"base64 without its padding", MAIL(BASE64 FILE_OF("a") "aGVsbG8"),
		"file 1 c2s header name=a\n"
		"note c2s bad_encoding @88\n"
		"end 1 CLOSED 88+9 hello\n"},
	{"quoted-printable",
		MAIL(QUOTED FILE_OF(
			"a") "a=3Db=\r\nc =\t \r\nd \t\r\n=e9=E9\r\n\r\n\t=20 \r\n  e=0D=0A"),
		"file 1 c2s header name=a\n"
		"end 1 CLOSED 98+48 a=bc d\\0d\\0a\\e9\\e9\\0d\\0a\\0d\\0a\\09 \\0d\\0a  "
		"e\\0d\\0a\\0d\\0a\n"},
	{"quoted-printable as a text",
		MAIL(QUOTED "\r\nthe blue=\r\nbird =\r\nlan=64s\r\n..=2E \r\n=41"),
		"message c2s 53+39 of 53+39 text=the bluebird lands\\0d\\0a..\\0d\\0aA\n"},
	{"escapes that are none", MAIL(QUOTED FILE_OF("a") "a=b=3=x=\r\n= y==3D=3"),
		"file 1 c2s header name=a\n"
		"note c2s bad_encoding @99\n"
		"end 1 CLOSED 98+21 a=b=3=x= y===3\\0d\\0a\n"},
	{"uuencode",
		MAIL(HEAD "text/plain\r\n\r\nlook:\r\nbegin 644 a b.txt\r\n%:&5L;&\\\r\n\"(2$ "
			  "\r\n`\r\nend\r\n"
			  "that was it\r\nbegin 755 c\r\n#8F%R\r\n \r\nend"),
		"message c2s 34+26 of 34+26 text=look:\\0d\\0abegin 644 a b.txt\\0d\\0a\n"
		"file 1 c2s header name=a b.txt\n"
		"end 1 CLOSED 60+25 hello!!\n"
		"message c2s 85+26 of 85+26 text=that was it\\0d\\0abegin 755 c\\0d\\0a\n"
		"file 2 c2s header name=c\n"
		"end 2 CLOSED 111+15 bar\n"},
	{"uuencode as an encoding",
		MAIL("Content-Transfer-Encoding: x-uuencode\r\n" FILE_OF(
			"n.txt") "begin 644 a.txt\r\n"
				 "%:&5L;&\\\r\n`\r\nend\r\n"),
		"message c2s 96+17 of 96+17 text=begin 644 a.txt\\0d\\0a\n"
		"file 1 c2s header name=a.txt or=n.txt\n"
		"end 1 CLOSED 113+18 hello\n"},
	{"uuencode that is broken, and has no end",
		MAIL("\r\nbegin 644 a\r\n%:&5L;&\\\r\nnonsense\r\n#8F%R\r\n`\r\n#8F%R"),
		"message c2s 8+13 of 8+13 text=begin 644 a\\0d\\0a\n"
		"file 1 c2s header name=a\n"
		"note c2s bad_encoding @41\n"
		"end 1 TRUNCATED 21+37 hellobarbar\n"},
	{"what does not begin uuencode",
		MAIL("\r\nbegin 64 a\r\nbegin 644\r\nbegin 689 a\r\nBegin 644 a\r\n begin 644 "
		     "a\r\n"),
		"message c2s 8+63 of 8+63 text=begin 64 a\\0d\\0abegin 644\\0d\\0abegin 689 "
		"a\\0d\\0aBegin 644 a\\0d\\0a begin 644 a\\0d\\0a\n"},
	{"yEnc",
		MAIL("\r\n=ybegin line=128 size=5 name= a b.bin \r\n\x92\x8f\x96\x96\x99\r\n=yend "
		     "size=5\r\nx\r\n"
		     "=ybegin line=128 size=5 name=c\r\n\x92=}\xcf\x96\r\n..\r\n=yend size=5"),
		"message c2s 8+40 of 8+40 text==ybegin line=128 size=5 name= a b.bin \\0d\\0a\n"
		"file 1 c2s header name=a b.bin size=5\n"
		"end 1 CLOSED 48+21 hello\n"
		"message c2s 69+35 of 69+35 text=x\\0d\\0a=ybegin line=128 size=5 name=c\\0d\\0a\n"
		"file 2 c2s header name=c size=5\n"
		"end 2 CLOSED 104+25 h\\13\\a5l\\04\n"},
	{"yEnc in parts",
		MAIL("\r\n=ybegin part=2 total=3 line=128 size=9 name=a.bin\r\n=ypart begin=4 "
		     "end=6\r\n"
		     "\x92\x8f\xa3\r\n=yend size=3 part=2\r\n=ybegin part=1 line=128 size=2 "
		     "name=b\r\n"
		     "=ypart begin=1 end=2\r\n\x92\x8f\r\n=yend size=2\r\n"),
		"message c2s 8+51 of 8+51 text==ybegin part=2 total=3 line=128 size=9 "
		"name=a.bin\\0d\\0a\n"
		"file 1 c2s header name=a.bin size=9 from=3\n"
		"end 1 CLOSED 81+26 hey\n"
		"message c2s 107+39 of 107+39 text==ybegin part=1 line=128 size=2 name=b\\0d\\0a\n"
		"file 2 c2s header name=b size=2\n"
		"end 2 CLOSED 168+18 he\n"},
	{"yEnc without an end, and one that has another size",
		MAIL("\r\n=ybegin line=128 size=5 name=a\r\n\x92\x8f\r\n=ybegin line=1 size=5 "
		     "name=b\r\n\x92"
		     "\r\n=yend size=1\r\n=ybegin line=1 size=1 name=c\r\n\x92"),
		"message c2s 8+32 of 8+32 text==ybegin line=128 size=5 name=a\\0d\\0a\n"
		"file 1 c2s header name=a size=5\n"
		"end 1 TRUNCATED 40+34 he\n"
		"file 2 c2s header name=b size=5\n"
		"end 2 ERROR 74+17 h\n"
		"message c2s 91+30 of 91+30 text==ybegin line=1 size=1 name=c\\0d\\0a\n"
		"file 3 c2s header name=c size=1\n"
		"end 3 TRUNCATED 121+3 h\n"},
	{"yEnc whose part is not said",
		MAIL("\r\n=ybegin part=1 line=1 size=5 name=a\r\n\x92\r\n\x92\r\n=yend size=1\r\n"
		     "=ybegin part=1 line=1 size=5 name=b\r\n=yend size=1\r\n=ybegin part=1 "
		     "name=c"),
		"message c2s 8+37 of 8+37 text==ybegin part=1 line=1 size=5 name=a\\0d\\0a\n"
		"note c2s bad_encoding @48\n"
		"file 1 c2s header name=a size=5 from=0\n"
		"end 1 CLOSED 48+17 h\n"
		"message c2s 65+37 of 65+37 text==ybegin part=1 line=1 size=5 name=b\\0d\\0a\n"
		"file 2 c2s header name=b size=5 from=0\n"
		"end 2 CLOSED 116+0\n"
		"message c2s 116+21 of 116+21 text==ybegin part=1 name=c\n"},
	{"an encoding that nobody knows",
		MAIL("Content-Transfer-Encoding: x-yenc2\r\n" FILE_OF("a") "x"),
		"note c2s coding_unknown @33\n"
		"file 1 c2s header name=a\n"
		"end 1 CLOSED 89+3 x\\0d\\0a\n"},
};

static const struct conversation texts[] = {
	{"HTML",
		MAIL(HEAD "text/html\r\n\r\n<html><P class=\"a>b\">the blue<b>b</b><!-- > "
			  "-->i&#114;d &lt;b>"
			  "<br>a < b &amp c&eacute;&ZeroWidthSpace;&AnEntityThatIsLong;<!DOCTYPE "
			  "x><!-->y<p title='>'>z</html>\r\n"),
		"message c2s 54+142 of 54+142 text=the bluebird <b>\\0aa < b &amp "
		"c\\c3\\a9\\e2\\80\\8b&AnEntityThatIsLong;y\\0az\\0d\\0a\n"},
	{"charsets",
		MAIL(MIXED(
			"b") "--b\r\n" HEAD
			     "text/plain; charset=\"ISO-8859-1\"\r\n\r\ncaf\xe9\r\n--b\r\n" HEAD
			     "text/plain; charset=utf-8\r\n\r\ncaf\xc3\xa9\r\n--b\r\n" BASE64 HEAD
			     "text/plain; charset=utf-16le\r\n\r\naABpAKwg\r\n--b\r\n" HEAD
			     "text/plain; charset=koi8-r\r\n\r\n\xc2\xc3\r\n--b--"),
		"message c2s 106+4 of 106+4 text=caf\\c3\\a9\n"
		"message c2s 160+5 of 160+5 text=caf\\c3\\a9\n"
		"message c2s 253+8 of 253+8 text=hi\\e2\\82\\ac\n"
		"message c2s 312+2 of 312+2 text=\\c2\\c3\n"},
	{"blanks alone", MAIL("\r\n \r\n\t\r\n"), ""},
	{"of parts",
		MAIL("Subject: s\r\n" MIXED("b") "--b\r\nSubject: t\r\n\r\na\r\n--b\r\n" HEAD
						 "text/html\r\n\r\nb\r\n--b\r\n" HEAD
						 "text/calendar\r\n\r\nc\r\n--b--"),
		"message c2s 15+1 of 15+1 text=s\n"
		"message c2s 82+1 of 82+1 text=a\n"
		"message c2s 117+1 of 117+1 text=b\n"
		"file 1 c2s none type=text/calendar\n"
		"end 1 CLOSED 156+1 c\n"},
};

static const struct conversation ambiguous[] = {
	{"two boundaries",
		MAIL(HEAD "multipart/mixed; boundary=b; boundary=c\r\n\r\n--c\r\n" FILE_OF(
			"c") "1\r\n--b\r\n" FILE_OF("b") "2\r\n--b--"),
		"note c2s two_boundaries @20\n"
		"file 1 c2s header name=b\n"
		"end 1 CLOSED 170+1 2\n"},
	{"a boundary that few know", MAIL(HEAD "multipart/mixed; boundary*0=b\r\n\r\n--b\r\n"),
		"note c2s two_boundaries @20\n"
		"note c2s bad_multipart @53\n"
		"message c2s 53+5 of 53+5 text=--b\\0d\\0a\n"},
	{"two types that differ",
		MAIL(HEAD "text/plain\r\n" HEAD
			  "multipart/mixed; boundary=b\r\n\r\n--b\r\n" FILE_OF("a") "1\r\n--b--"),
		"note c2s two_types @46\n"
		"message c2s 77+60 of 77+60 text=--b\\0d\\0aContent-Disposition: attachment; "
		"filename=a\\0d\\0a\\0d\\0a1\\0d\\0a--b--\n"},
	{"two types that do not", MAIL(HEAD "text/plain\r\n" HEAD "Text/plain\r\n\r\na"),
		"message c2s 60+1 of 60+1 text=a\n"},
	{"two encodings", MAIL(BASE64 QUOTED FILE_OF("a") "aGVsbG8h"),
		"note c2s two_encodings @68\n"
		"file 1 c2s header name=a\n"
		"end 1 CLOSED 133+10 hello!\n"},
	{"an encoding with a comment",
		MAIL("Content-Transfer-Encoding: (x) base64\r\n" FILE_OF("a") "aGVsbG8h"),
		"note c2s two_encodings @33\n"
		"file 1 c2s header name=a\n"
		"end 1 CLOSED 92+10 hello!\n"},
	{"a multipart that is encoded, or has no boundary",
		MAIL(BASE64 MIXED("b") "--b\r\n" HEAD "multipart/mixed\r\n\r\n--c\r\nx\r\n--b--"),
		"note c2s bad_multipart @86\n"
		"message c2s 124+6 of 124+6 text=--c\\0d\\0ax\n"},
	{"a delimiter with something behind it",
		MAIL(MIXED("b") "--b\r\n" FILE_OF("a") "1\r\n--bc\r\n" FILE_OF(
			"b") "2\r\n--b-\r\n\r\n3"),
		"file 1 c2s header name=a\n"
		"end 1 CLOSED 103+1 1\n"
		"note c2s bad_multipart @106\n"
		"file 2 c2s header name=b\n"
		"end 2 CLOSED 159+1 2\n"
		"message c2s 170+1 of 170+1 text=3\n"},
	{"the same boundary inside",
		MAIL(MIXED("b") "--b\r\n" MIXED("b") "--b\r\n" FILE_OF("a") "1\r\n--b--"),
		"note c2s bad_multipart @101\n"
		"file 1 c2s header name=a\n"
		"end 1 CLOSED 153+1 1\n"},
	{"a delimiter behind the last one",
		MAIL(MIXED("b") "--b--\r\n--b\r\n" FILE_OF("a") "1\r\n--b--"),
		"note c2s bad_multipart @58\n"
		"file 1 c2s header name=a\n"
		"end 1 CLOSED 110+1 1\n"},
	{"a delimiter in a head",
		MAIL(MIXED("b") "--b\r\nX: y\r\n--b\r\n" FILE_OF("a") "1\r\n--b--"),
		"note c2s bad_line @62\n"
		"file 1 c2s header name=a\n"
		"end 1 CLOSED 114+1 1\n"},
	{"bare CR", MAIL(MIXED("b") "--b\r\n" FILE_OF("a") "1\r--b\r\n--b--"),
		"file 1 c2s header name=a\n"
		"note c2s bare_cr @104\n"
		"end 1 CLOSED 103+5 1\\0d--b\n"},
	{"bare CR and NUL in a head", MAIL("Subject: a\rb\0c\r\n\r\nd"),
		"note c2s bare_cr @16\n"
		"note c2s nul_in_head @18\n"
		"message c2s 15+5 of 15+5 text=a\\0db\\00c\n"
		"message c2s 24+1 of 24+1 text=d\n"},
	{"a blank before a colon", MAIL("Content-Type : text/plain\r\n\r\na"),
		"note c2s space_before_colon @21\n"
		"message c2s 35+1 of 35+1 text=a\n"},
	{"a part of a mail", MAIL(HEAD "message/partial; id=x; number=1\r\n\r\na"),
		"note c2s mail_in_parts @55\n"
		"file 1 c2s none type=message/partial\n"
		"end 1 CLOSED 55+3 a\\0d\\0a\n"},
};

#define TEST(table)                                                                        \
	static void test_##table(void **state)                                             \
	{                                                                                  \
		(void)state;                                                               \
		conversations_check(&content_smtp, table, sizeof(table) / sizeof(*table)); \
	}
TEST(parts)
TEST(names)
TEST(encodings)
TEST(texts)
TEST(ambiguous)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_encodings),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_ambiguous),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
