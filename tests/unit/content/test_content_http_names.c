// SPDX-License-Identifier: BSD-3-Clause
// What files are called: Content-Disposition in all its forms, paths, parts of multipart bodies.
#include "content/decoders.h"
#include "lib/content/conversation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define X10(text)  text text text text text text text text text text
#define X100(text) X10(X10(text))
#define NAMED(disposition)                                                    \
	{                                                                     \
		SAID_S("HTTP/1.1 200 OK\r\nContent-Disposition: " disposition \
		       "\r\nContent-Length: 1\r\n\r\n1")                      \
	}
#define FIELD(name) "Content-Disposition: x; filename=" name "\r\n"
#define FIELDS \
	FIELD("1") FIELD("2") FIELD("3") FIELD("4") FIELD("5") FIELD("6") FIELD("7") FIELD("8")
#define ASKED(target)                                                           \
	{                                                                       \
		SAID_C("GET " target " HTTP/1.1\r\n\r\n"),                      \
			SAID_S("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1") \
	}

static const struct conversation dispositions[] = {
	{"token", NAMED("attachment; filename=a.exe"),
		"file 1 s2c header name=a.exe size=1\n"
		"end 1 CLOSED 87+1 1\n"},
	{"quoted", NAMED("inline;FileName = \"a b; c.exe\" ; size=1"),
		"file 1 s2c header name=a b; c.exe or=\"a b size=1\n"
		"end 1 CLOSED 100+1 1\n"},
	{"escapes", NAMED("attachment; filename=\"a\\\"b\\\\c.exe\""),
		"file 1 s2c header name=a\"b\\5cc.exe or=a\\5c size=1\n"
		"end 1 CLOSED 95+1 1\n"},
	{"without an end", NAMED("attachment; filename=\"a.exe"),
		"file 1 s2c header name=a.exe size=1\n"
		"end 1 CLOSED 88+1 1\n"},
	{"percent signs stay, encoded words also",
		NAMED("attachment; filename=\"a%20=?utf-8?q?b?=.exe\""),
		"file 1 s2c header name=a%20=?utf-8?q?b?=.exe or=a%20b.exe size=1\n"
		"end 1 CLOSED 105+1 1\n"},
	{"an encoded word that cannot be read",
		NAMED("attachment; filename=\"=?utf-7?q?a+AC4-exe?=\""),
		"note s2c two_names @17\n"
		"file 1 s2c header name==?utf-7?q?a+AC4-exe?= size=1\n"
		"end 1 CLOSED 105+1 1\n"},
	{"extended", NAMED("attachment; filename=\"x.exe\"; filename*=UTF-8'en'%e2%82%ac%20r.exe"),
		"file 1 s2c header* name=\\e2\\82\\ac r.exe or=x.exe size=1\n"
		"end 1 CLOSED 127+1 1\n"},
	{"extended, the same", NAMED("attachment; filename=x; filename*=UTF-8''x"),
		"file 1 s2c header* name=x size=1\n"
		"end 1 CLOSED 103+1 1\n"},
	{"extended, ISO 8859-1", NAMED("attachment; filename*=iso-8859-1''%A3%20rates"),
		"file 1 s2c header* name=\\c2\\a3 rates size=1\n"
		"end 1 CLOSED 106+1 1\n"},
	{"extended, another charset", NAMED("attachment; filename=a.b; filename*=koi8-r''%C1.b"),
		"file 1 s2c header* name=\\c3\\81.b or=a.b size=1\n"
		"end 1 CLOSED 110+1 1\n"},
	{"extended, UTF-16", NAMED("attachment; filename*=utf-16be''%00a%00%2e%00b"),
		"file 1 s2c header* name=a.b size=1\n"
		"end 1 CLOSED 107+1 1\n"},
	{"extended, a charset that hides ASCII", NAMED("x; filename*=utf-7''a+AC4-exe"),
		"note s2c two_names @17\n"
		"file 1 s2c header* name=a+AC4-exe size=1\n"
		"end 1 CLOSED 90+1 1\n"},
	{"extended, no value", NAMED("attachment; filename=a; filename*=UTF-8''%e2%8"),
		"file 1 s2c header name=a or=%e2%8 size=1\n"
		"end 1 CLOSED 107+1 1\n"},
	{"extended, no charset", NAMED("attachment; filename=a.b; filename*=x.b"),
		"file 1 s2c header name=a.b or=x.b size=1\n"
		"end 1 CLOSED 100+1 1\n"},
	{"extended, quoted", NAMED("attachment; filename*=\"UTF-8''a%2eexe\""),
		"file 1 s2c header* name=a.exe size=1\n"
		"end 1 CLOSED 99+1 1\n"},
	{"extended, a quote too many", NAMED("attachment; filename*=UTF-8''a'b.exe"),
		"file 1 s2c header* name=a'b.exe or=b.exe size=1\n"
		"end 1 CLOSED 97+1 1\n"},
	{"extended, a blank in it", NAMED("attachment; filename*=UTF-8''a.exe b"),
		"file 1 s2c header* name=a.exe b or=a.exe size=1\n"
		"end 1 CLOSED 97+1 1\n"},
	{"extensions that differ", NAMED("attachment; filename=a.txt; filename*=UTF-8''a.exe"),
		"file 1 s2c header* name=a.exe or=a.txt size=1\n"
		"end 1 CLOSED 111+1 1\n"},
	{"twice, which wget joins", NAMED("attachment; filename=a.; filename=exe"),
		"file 1 s2c header name=a. or=exe or=a.exe size=1\n"
		"end 1 CLOSED 98+1 1\n"},
	{"pieces of paths", NAMED("x; filename=a/b.; filename=\"c\\\\exe\""),
		"file 1 s2c header name=a/b. or=c\\5cexe or=c\\5c\\5cexe or=b.exe size=1\n"
		"end 1 CLOSED 96+1 1\n"},
	{"a blank, behind which a name may go on", NAMED("attachment; filename=a.exe b.txt"),
		"file 1 s2c header name=a.exe b.txt or=a.exe size=1\n"
		"end 1 CLOSED 93+1 1\n"},
	{"something behind the quotes", NAMED("attachment; filename=\"a\" b.exe"),
		"file 1 s2c header name=a or=a\" b.exe size=1\n"
		"end 1 CLOSED 91+1 1\n"},
	{"single quotes", NAMED("attachment; filename='a;b.exe'"),
		"file 1 s2c header name=a;b.exe or='a size=1\n"
		"end 1 CLOSED 91+1 1\n"},
	{"no word in front", NAMED("filename=a.exe"),
		"file 1 s2c header name=a.exe size=1\n"
		"end 1 CLOSED 75+1 1\n"},
	{"no word in front, and more", NAMED("FileName\t= a.exe;x"),
		"file 1 s2c header name=a.exe size=1\n"
		"end 1 CLOSED 79+1 1\n"},
	{"a comma, and no semicolon", NAMED("attachment, filename=a.exe"),
		"file 1 s2c header name=a.exe size=1\n"
		"end 1 CLOSED 87+1 1\n"},
	{"a quote and a digit in front", NAMED("attachment; \"1filename=a.exe"),
		"file 1 s2c header name=a.exe size=1\n"
		"end 1 CLOSED 89+1 1\n"},
	{"within another value", NAMED("attachment; x=\"; filename=a.exe; \""),
		"file 1 s2c header name=a.exe size=1\n"
		"end 1 CLOSED 95+1 1\n"},
	{"another parameter", NAMED("attachment; xfilename=a; filenames=b; filename; filename =c"),
		"file 1 s2c header name=c size=1\n"
		"end 1 CLOSED 120+1 1\n"},
	{"parts of RFC 2231", NAMED("attachment; filename*0=\"a\"; filename*1*=.e%78e"),
		"file 1 s2c header name=a.e%78e or=a size=1\n"
		"end 1 CLOSED 107+1 1\n"},
	{"parts in another order", NAMED("attachment; filename*1=\"a\"; filename*0=\".exe\""),
		"note s2c two_names @17\n"
		"file 1 s2c header name=a.exe or=a size=1\n"
		"end 1 CLOSED 106+1 1\n"},
	{"pieces of which some are none to others",
		NAMED("1filename=a; filename=b.; filename=exe, filename=c"),
		"file 1 s2c header name=a or=b. or=exe, filename=c or=exe, or=c or=b.exe, "
		"filename=c "
		"size=1\n"
		"end 1 CLOSED 111+1 1\n"},
	{"a star and a word", NAMED("attachment; filename*x=a.exe"),
		"file 1 s2c header* name=a.exe size=1\n"
		"end 1 CLOSED 89+1 1\n"},
	{"two fields", NAMED("attachment; filename=a\r\ncontent-disposition: x; filename=b"),
		"file 1 s2c header name=a or=b size=1\n"
		"end 1 CLOSED 119+1 1\n"},
	{"two fields, and none twice",
		NAMED("x; filename=a b\r\nContent-Disposition: x; filename=b; filename*=''a"),
		"file 1 s2c header name=a b or=a or=b size=1\n"
		"end 1 CLOSED 127+1 1\n"},
	{"more names than are compared",
		NAMED("x; filename=1; filename=2; filename=3; filename=4; filename=5; filename=6; "
		      "filename=7; filename=8; filename=9"),
		"note s2c two_names @17\n"
		"file 1 s2c header name=1 or=2 or=3 or=4 or=5 or=6 or=7 or=8 size=1\n"
		"end 1 CLOSED 170+1 1\n"},
	{"as many names of fields, and the path's",
		{SAID_C("GET /a.exe HTTP/1.1\r\n\r\n"),
			SAID_S("HTTP/1.1 200 OK\r\n"
			       "Content-Disposition: x; filename=1\r\nContent-Disposition: x; "
			       "filename=2\r\n"
			       "Content-Disposition: x; filename=3\r\nContent-Disposition: x; "
			       "filename=4\r\n"
			       "Content-Disposition: x; filename=5\r\nContent-Disposition: x; "
			       "filename=6\r\n"
			       "Content-Disposition: x; filename=7\r\nContent-Disposition: x; "
			       "filename=8\r\n"
			       "Content-Length: 1\r\n\r\n1")},
		"file 1 s2c header name=1 or=2 or=3 or=4 or=5 or=6 or=7 or=8 or=a.exe path=/a.exe "
		"size=1\n"
		"end 1 CLOSED 326+1 1\n"},
	{"a field's ninth name, and the path's",
		{SAID_C("GET /a.exe HTTP/1.1\r\n\r\n"),
			SAID_S("HTTP/1.1 200 OK\r\n"
			       "Content-Disposition: x; filename=1\r\nContent-Disposition: x; "
			       "filename=2\r\n"
			       "Content-Disposition: x; filename=3\r\nContent-Disposition: x; "
			       "filename=4\r\n"
			       "Content-Disposition: x; filename=5\r\nContent-Disposition: x; "
			       "filename=6\r\n"
			       "Content-Disposition: x; filename=7\r\nContent-Disposition: x; "
			       "filename=8\r\n"
			       "Content-Disposition: x; filename=9\r\nContent-Length: 1\r\n\r\n1")},
		"note s2c two_names @305\n"
		"file 1 s2c header name=1 or=2 or=3 or=4 or=5 or=6 or=7 or=8 or=a.exe path=/a.exe "
		"size=1\n"
		"end 1 CLOSED 362+1 1\n"},
	{"an empty name", NAMED("attachment; filename=\"\""),
		"file 1 s2c none size=1\n"
		"end 1 CLOSED 84+1 1\n"},
	{"paths stay", NAMED("attachment; filename=\"../C:\\\\x/y.exe\""),
		"file 1 s2c header name=../C:\\5cx/y.exe or=../C:\\5c\\5cx/y.exe size=1\n"
		"end 1 CLOSED 98+1 1\n"},
	{"the path's",
		{SAID_C("GET /x/a.exe?b HTTP/1.1\r\n\r\n"),
			SAID_S("HTTP/1.1 200 OK\r\nContent-Disposition: x; filename=b.txt\r\n"
			       "Content-Length: 1\r\n\r\n1")},
		"file 1 s2c header name=b.txt or=a.exe or=a.exe?b path=/x/a.exe?b size=1\n"
		"end 1 CLOSED 78+1 1\n"},
	{"six of the head, three of the path: all",
		{SAID_C("GET /x;y?z HTTP/1.1\r\n\r\n"),
			SAID_S("HTTP/1.1 200 OK\r\n" FIELD("1") FIELD("2") FIELD("3") FIELD("4")
					FIELD("5") FIELD("6") "Content-Length: 1\r\n\r\n1")},
		"file 1 s2c header name=1 or=2 or=3 or=4 or=5 or=6 or=x;y or=x or=x;y?z "
		"path=/x;y?z size=1\n"
		"end 1 CLOSED 254+1 1\n"},
	{"eight of the head, three of the path: too many",
		{SAID_C("GET /x;y?z HTTP/1.1\r\n\r\n"),
			SAID_S("HTTP/1.1 200 OK\r\n" FIELDS "Content-Length: 1\r\n\r\n1")},
		"note s2c two_names @326\n"
		"file 1 s2c header name=1 or=2 or=3 or=4 or=5 or=6 or=7 or=8 or=x;y path=/x;y?z "
		"size=1\n"
		"end 1 CLOSED 326+1 1\n"},
	{"too long: its end", NAMED("x; filename=" X100("0123456789") X10("abc") ".exe"),
		"file 1 s2c header name=(1024)..cabc.exe cut size=1\n"
		"end 1 CLOSED 1107+1 1\n"},
};

static const struct conversation paths[] = {
	{"no segment", ASKED("/dir/"),
		"file 1 s2c none path=/dir/ size=1\n"
		"end 1 CLOSED 38+1 1\n"},
	{"percent signs stay", ASKED("/a%2Fb%20c"),
		"file 1 s2c path name=a%2Fb%20c path=/a%2Fb%20c size=1\n"
		"end 1 CLOSED 38+1 1\n"},
	{"a slash in the query", ASKED("/a?b=/c.exe"),
		"file 1 s2c path name=a or=a?b=/c.exe path=/a?b=/c.exe size=1\n"
		"end 1 CLOSED 38+1 1\n"},
	{"a path's parameters and its query", ASKED("/d;x/a.exe;v=1;w?b;c=/d.exe"),
		"file 1 s2c path name=a.exe;v=1;w or=a.exe or=a.exe;v=1;w?b;c=/d.exe "
		"path=/d;x/a.exe;v=1;w?b;c=/d.exe size=1\n"
		"end 1 CLOSED 38+1 1\n"},
	{"parameters and a query of nothing, and nothing before them", ASKED("/;a?"),
		"file 1 s2c path name=;a path=/;a? size=1\n"
		"end 1 CLOSED 38+1 1\n"},
	{"a query, and no segment", ASKED("/d/?a.exe#b"),
		"file 1 s2c none or=?a.exe path=/d/?a.exe#b size=1\n"
		"end 1 CLOSED 38+1 1\n"},
	{"behind a query that is too long", ASKED("/get?" X100("0123456789") X10("abc") ".exe"),
		"file 1 s2c path name=get or=(1024)..cabc.exe path=(1024)..cabcabca size=1\n"
		"end 1 CLOSED 38+1 1\n"},
	{"before parameters that are too long", ASKED("/d/a.exe;" X100("0123456789") X10("abc")),
		"file 1 s2c path name=(1024)..bcabcabc cut or=a.exe path=/d/a.exe;012345 size=1\n"
		"end 1 CLOSED 38+1 1\n"},
	{"all of them are too long, and the path",
		ASKED("/" X100("0123456789/") X100("abcdefghij") X10("abc") ".exe;" X100(
			"0123456789") X10("abc") "?" X100("0123456789") X10("xyz") ".txt"),
		"file 1 s2c path name=(1024)..bcabcabc cut or=(1024)..cabc.exe or=(1024)..zxyz.txt "
		"path=(1024)..3456789/ size=1\n"
		"end 1 CLOSED 38+1 1\n"},
	{"asterisk", ASKED("*"),
		"file 1 s2c path name=* path=* size=1\n"
		"end 1 CLOSED 38+1 1\n"},
	{"absolute without a path", ASKED("http://h.example"),
		"file 1 s2c none host=h.example size=1\n"
		"end 1 CLOSED 38+1 1\n"},
	{"a path that is too long", ASKED("/" X10(X10("0123456789/")) "/n.exe"),
		"file 1 s2c path name=n.exe path=(1024)..3456789/ size=1\n"
		"end 1 CLOSED 38+1 1\n"},
	{"a path that names torrents keeps more of them",
		ASKED("/announce?" X10("info_hash=%41bcdefghij%4bmnopqrst&")
				X10(X10("info_hash&"))),
		"file 1 s2c path name=announce or=(1024)..fo_hash& path=(1350)..fo_hash& size=1\n"
		"end 1 CLOSED 38+1 1\n"},
	{"... all of them, and what is so called with percent signs",
		ASKED("/announce?" X100("info_hash=%41bcdefghij%4bmnopqrst&")
				X100("%69nfo_has%68=%41bcdefghij%4bmnopqrst&")),
		"file 1 s2c path name=announce or=(1024)..nopqrst& path=(7210)..nopqrst& size=1\n"
		"end 1 CLOSED 38+1 1\n"},
	{"... and no other path", ASKED("/announce?" X100("%69nfohash=%41bcdefghij%4bmnopqrst&")),
		"file 1 s2c path name=announce or=(1024)..nopqrst& path=(1024)..mnopqrst size=1\n"
		"end 1 CLOSED 38+1 1\n"},
	{"a name that is too long", ASKED("/d/" X100("0123456789") X10("abc") ".exe"),
		"file 1 s2c path name=(1024)..cabc.exe cut path=/d/0123456789 size=1\n"
		"end 1 CLOSED 38+1 1\n"},
	{"both", ASKED("/" X100("0123456789/") X100("0123456789") X10("abc") ".exe"),
		"file 1 s2c path name=(1024)..cabc.exe cut path=(1024)..3456789/ size=1\n"
		"end 1 CLOSED 38+1 1\n"},
	{"a character that would be cut",
		ASKED("/\xe2\x82\xac\xe2\x82\xac" X100("0123456789") X10("ab")),
		"file 1 s2c path name=(1023)..abababab cut path=/\\e2\\82\\ac size=1\n"
		"end 1 CLOSED 38+1 1\n"},
};

#define FORM(type, body)                                                                        \
	{                                                                                       \
		SAID_C("POST /up HTTP/1.1\r\nHost: h\r\nContent-Type: multipart/form-data" type \
		       "\r\nTransfer-Encoding: chunked\r\n\r\n"),                               \
			SAID_C(body)                                                            \
	}
#define PART(fields) "\r\nContent-Disposition: form-data; " fields "\r\n\r\n"

// clang-format off
static const struct conversation parts[] = {
	{"two files and a value",
		FORM("; boundary=\"a b\"",
			"ae\r\npreamble\r\n--a b"
			PART("name=v") "value\r\n--a b"
			PART( "name=f; filename=\"f.exe\"\r\nContent-Type: x/y") "F\r\n\r\n-\r\n--a \r\n--a\r\n\r\n-\r\n41\r\n-a b"
			PART("name=g; filename=g") "\r\n--a\r\n46\r\n b--\r\nepilogue\r\n--a b"
			PART("filename=no") "\r\n0\r\n\r\n"),
		"note c2s bad_multipart @113\n"
		"file 1 c2s header name=f.exe path=/up host=h type=x/y\n"
		"end 1 CLOSED 265+19 F\\0d\\0a\\0d\\0a-\\0d\\0a--a \\0d\\0a--a\\0d\\0a\n"
		"file 2 c2s header name=g path=/up host=h\n"
		"end 2 CLOSED 353+0\n"},
	{"an empty part, and one without a head",
		FORM(";boundary=B",
			"48\r\n--B"
			PART("filename=e") "--B\r\n\r\nvalue\r\n--B--\r\n\r\n0\r\n\r\n"),
		"file 1 c2s header name=e path=/up host=h\n"
		"end 1 CLOSED 159+0\n"},
	{"blanks behind delimiters",
		FORM(";boundary=B",
			"3d\r\n--B 	"
			PART("filename=e") "x\r\n--B--\r\n0\r\n\r\n"),
		"file 1 c2s header name=e path=/up host=h\n"
		"end 1 CLOSED 161+1 x\n"},
	{"an empty name is none",
		FORM(";boundary=B",
			"42\r\n--B"
			PART("filename=\"\"") "xxxxx\r\n--B--\r\n\r\n0\r\n\r\n"),
		""},
	{"a part's name in its extended form",
		FORM(";boundary=B",
			"4b\r\n--B"
			PART("filename*=utf-8''%41.exe") "x\r\n--B--\r\n\r\n0\r\n\r\n"),
		"file 1 c2s header* name=A.exe path=/up host=h\n"
		"end 1 CLOSED 173+1 x\n"},
	{"two names of a part",
		FORM(";boundary=B",
			"49\r\n--B"
			PART("filename=a; filename=b") "x\r\n--B--\r\n\r\n0\r\n\r\n"),
		"file 1 c2s header name=a or=b or=ab path=/up host=h\n"
		"end 1 CLOSED 171+1 x\n"},
	{"no part",
		FORM(";boundary=B",
			"7\r\n--B--\r\n\r\n0\r\n\r\n"),
		""},
	{"not closed",
		FORM(";boundary=B",
			"3b\r\n--B"
			PART("filename=e")
			"1234\r\n--\r\n0\r\n\r\n"),
		"file 1 c2s header name=e path=/up host=h\n"
		"note c2s bad_multipart @174\n"
		"end 1 TRUNCATED 159+15 1234\\0d\\0a--\n"},
	{"not closed behind a delimiter",
		FORM(";boundary=B",
			"3e\r\n--B"
			PART("filename=e")
			"1234\r\n--B\r\n\r\n0\r\n\r\n"),
		"file 1 c2s header name=e path=/up host=h\n"
		"end 1 CLOSED 159+4 1234\n"
		"note c2s bad_multipart @177\n"},
	{"LF before a delimiter",
		FORM(";boundary=B",
			"44\r\n--B"
			PART("filename=e") "1234\n--B\r\n--B--\r\n\r\n0\r\n\r\n"),
		"file 1 c2s header name=e path=/up host=h\n"
		"note c2s bad_multipart @163\n"
		"end 1 CLOSED 159+8 1234\\0a--B\n"},
	{"LF behind a delimiter",
		FORM(";boundary=B",
			"3f\r\n--B\nContent-Disposition: form-data; filename=e\r\n\r\n1234\r\n--B--\r\n\r\n0\r\n\r\n"),
		"note c2s bad_multipart @111\n"
		"file 1 c2s header name=e path=/up host=h\n"
		"end 1 CLOSED 158+4 1234\n"},
	{"more behind a delimiter",
		FORM(";boundary=B",
			"50\r\n--Bxy"
			PART("filename=e")
			"1234\r\n--B-x\r\n\r\nvalue\r\n--B--\r\n0\r\n\r\n"),
		"note c2s bad_multipart @111\n"
		"file 1 c2s header name=e path=/up host=h\n"
		"end 1 CLOSED 161+4 1234\n"},
	{"CR that ends no line behind a delimiter",
		FORM(";boundary=B",
			"3f\r\n--B\r"
			PART("filename=e")
			"1234\r\n--B--\r\n0\r\n\r\n"),
		"note c2s bad_multipart @112\n"
		"file 1 c2s header name=e path=/up host=h\n"
		"end 1 CLOSED 160+4 1234\n"},
	{"a part's head in other forms",
		FORM(";boundary=B",
			"40\r\n--B\r\ncontent-disposition : form-data;\r\n filename=e\n\r\n1234\r\n--B--\r\n0\r\n\r\n"),
		"note c2s space_before_colon @113\n"
		"note c2s folded_header @147\n"
		"note c2s bare_lf @158\n"
		"file 1 c2s header name=e path=/up host=h\n"
		"end 1 CLOSED 161+4 1234\n"},
	{"no boundary",
		FORM("",
			"1\r\nx\r\n0\r\n\r\n"),
		"note c2s bad_multipart @28\n"
		"file 1 c2s path name=up path=/up host=h type=multipart/form-data\n"
		"end 1 CLOSED 93+11 x\n"},
	{"an empty boundary",
		FORM("; boundary=\"\"",
			"1\r\nx\r\n0\r\n\r\n"),
		"note c2s bad_multipart @28\n"
		"file 1 c2s path name=up path=/up host=h type=multipart/form-data\n"
		"end 1 CLOSED 106+11 x\n"},
	{"a boundary of 71 bytes",
		FORM("; boundary=" X10("1234567") "8",
			"c7\r\n--" X10("1234567") "8"
			PART("filename=e") "x\r\n--" X10( "1234567") "8--\r\n0\r\n\r\n"),
		"note c2s bad_multipart @28\n"
		"file 1 c2s header name=e path=/up host=h\n"
		"end 1 CLOSED 300+1 x\n"},
	{"a boundary of 201 bytes",
		FORM("; boundary=" X10("01234567890123456789") "0",
			"1\r\nx\r\n0\r\n\r\n"),
		"note c2s bad_multipart @28\n"
		"file 1 c2s path name=up path=/up host=h type=multipart/form-data\n"
		"end 1 CLOSED 305+11 x\n"},
	{"two boundaries",
		FORM(";boundary=A;boundary=B",
			"3d\r\n--A"
			PART("filename=e") "x\r\n--A--\r\n\r\n0\r\n\r\n"),
		"note c2s bad_multipart @28\n"
		"file 1 c2s header name=e path=/up host=h\n"
		"end 1 CLOSED 170+1 x\n"},
	{"two types",
		FORM(";boundary=A\r\ncontent-type: multipart/form-data; boundary=B",
			"3d\r\n--A"
			PART("filename=e") "x\r\n--A--\r\n\r\n0\r\n\r\n"),
		"note c2s bad_multipart @74\n"
		"file 1 c2s header name=e path=/up host=h\n"
		"end 1 CLOSED 206+1 x\n"},
};
// clang-format on

#define TEST(table)                                                                        \
	static void test_##table(void **state)                                             \
	{                                                                                  \
		(void)state;                                                               \
		conversations_check(&content_http, table, sizeof(table) / sizeof(*table)); \
	}
TEST(dispositions)
TEST(paths)
TEST(parts)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dispositions),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
