// SPDX-License-Identifier: BSD-3-Clause
// HTTP/1.x that well-meaning hosts speak: which bodies are files, where they end, what they are
// called; and what is told where HTTP ends.
#include "content/decoders.h"
#include "lib/content/conversation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define B64       "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define B512      B64 B64 B64 B64 B64 B64 B64 B64
#define GET(path) "GET " path " HTTP/1.1\r\nHost: h.example\r\n\r\n"

static const struct conversation downloads[] = {
	{"keep-alive with a second file",
		{SAID_C(GET("/a/one.exe")),
			SAID_S("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nETag: \"x\"\r\n"
			       "Content-Type: application/octet-stream; q=1\r\n\r\nabc"),
			SAID_C(GET("/two.txt?v=1/2")),
			SAID_S("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
			       "Last-Modified: today\r\n\r\nde")},
		"file 1 s2c path name=one.exe path=/a/one.exe host=h.example "
		"type=application/octet-stream validator=\"x\" size=3\n"
		"end 1 CLOSED 94+3 abc\n"
		"file 2 s2c path name=two.txt or=two.txt?v=1/2 path=/two.txt?v=1/2 host=h.example "
		"validator=today "
		"size=2\n"
		"end 2 CLOSED 157+2 de\n"},
	{"two files that end in one segment",
		{SAID_C(GET("/1") GET("/2")),
			SAID_S("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1"
			       "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n2")},
		"file 1 s2c path name=1 path=/1 host=h.example size=1\n"
		"end 1 CLOSED 38+1 1\n"
		"file 2 s2c path name=2 path=/2 host=h.example size=1\n"
		"end 2 CLOSED 77+1 2\n"},
	{"HEAD has no body",
		{SAID_C("HEAD /h HTTP/1.1\r\n\r\n" GET("/g")),
			SAID_S("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
			       "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\ng")},
		"file 1 s2c path name=g path=/g host=h.example size=1\n"
		"end 1 CLOSED 76+1 g\n"},
	{"204 and 304 have none",
		{SAID_C(GET("/1") GET("/2") GET("/3")),
			SAID_S("HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\n"
			       "HTTP/1.1 304 No\r\nTransfer-Encoding: chunked\r\n\r\n"
			       "HTTP/1.1 200\r\nContent-Length: 1\r\n\r\n3")},
		"file 1 s2c path name=3 path=/3 host=h.example size=1\n"
		"end 1 CLOSED 120+1 3\n"},
	{"chunked, with extensions and a trailer",
		{SAID_C(GET("/c")), SAID_S("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
					   "3;a=b;c=\"d\"\r\nabc\r\n00A \r\n0123456789\r\n0\r\n"
					   "Content-Length: 9\r\nX: y\r\n\r\n"
					   "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n-")},
		"file 1 s2c path name=c path=/c host=h.example\n"
		"end 1 CLOSED 47+66 abc0123456789\n"
		"note s2c bad_line @113\n"
		"file 2 s2c none size=1\n"
		"end 2 CLOSED 151+1 -\n"},
	{"until the end of the connection",
		{SAID_C(GET("/c")), SAID_S("HTTP/1.0 200 OK\r\n\r\nall that "), SAID_S("follows"),
			SAID_FIN(HALF_S2C)},
		"file 1 s2c path name=c path=/c host=h.example\n"
		"end 1 CLOSED 19+16 all that follows\n"},
	{"cut off",
		{SAID_C(GET("/c")), SAID_S("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"),
			SAID_FIN(HALF_S2C)},
		"file 1 s2c path name=c path=/c host=h.example size=10\n"
		"end 1 TRUNCATED 39+3 abc\n"},
	{"cut off in a chunk, without an end",
		{SAID_C(GET("/c")),
			SAID_S("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc")},
		"file 1 s2c path name=c path=/c host=h.example\n"
		"end 1 TRUNCATED 47+6 abc\n"},
	{"no request was seen",
		{SAID_S("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n"
			"Content-Disposition: attachment; filename=f.zip\r\n\r\nx")},
		"file 1 s2c header name=f.zip size=1\n"
		"end 1 CLOSED 87+1 x\n"},
	{"errors have no name but their own",
		{SAID_C(GET("/1") GET("/2") GET("/3")),
			SAID_S("HTTP/1.1 404 No\r\nContent-Length: 5\r\n\r\nerror"
			       "HTTP/1.1 500 No\r\nContent-Length: 1\r\n"
			       "Content-Disposition: attachment; filename=e.exe\r\n\r\n2"
			       "HTTP/1.1 201 OK\r\nContent-Length: 1\r\n\r\n3")},
		"file 1 s2c none path=/1 host=h.example size=5\n"
		"end 1 CLOSED 38+5 error\n"
		"file 2 s2c header name=e.exe path=/2 host=h.example size=1\n"
		"end 2 CLOSED 130+1 2\n"
		"file 3 s2c path name=3 path=/3 host=h.example size=1\n"
		"end 3 CLOSED 169+1 3\n"},
	{"what comes with a status is named by the path, but for a server's own words",
		{SAID_C(GET("/1") GET("/2") GET("/3") GET("/4?v") GET("/5") GET("/6")),
			SAID_S("HTTP/1.1 404 No\r\nContent-Length: 512\r\n\r\n" B512
			       "HTTP/1.1 401 Who\r\nContent-Length: 513\r\n\r\n1" B512
			       "HTTP/1.1 302 There\r\nTransfer-Encoding: chunked\r\n\r\n"
			       "1\r\na\r\n0\r\n\r\n"
			       "HTTP/1.1 416 No\r\nContent-Length: 1\r\n"
			       "Content-Encoding: other\r\n\r\nb"
			       "HTTP/1.1 304 No\r\nContent-Length: 999\r\n\r\n"
			       "HTTP/1.1 503 No\r\n\r\nc"),
			SAID_FIN(HALF_S2C)},
		"file 1 s2c none path=/1 host=h.example size=512\n"
		"end 1 CLOSED 40+512 (512) 088a6f529f665a25\n"
		"file 2 s2c path name=2 path=/2 host=h.example size=513\n"
		"end 2 CLOSED 593+513 (513) f96556612c93f9fc\n"
		"file 3 s2c path name=3 path=/3 host=h.example\n"
		"end 3 CLOSED 1156+11 a\n"
		"file 4 s2c path name=4 or=4?v path=/4?v host=h.example\n"
		"note s2c coding_unknown @1230\n"
		"end 4 CLOSED 1230+1 b\n"
		"file 5 s2c path name=6 path=/6 host=h.example\n"
		"end 5 CLOSED 1290+1 c\n"},
	{"empty lines before messages",
		{SAID_C("\r\n\r\n" GET("/1")),
			SAID_S("\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1\r\n")},
		"file 1 s2c path name=1 path=/1 host=h.example size=1\n"
		"end 1 CLOSED 40+1 1\n"},
};

static const struct conversation ranges[] = {
	{"a range",
		{SAID_C("GET /big HTTP/1.1\r\nRange: bytes=5-\r\n\r\n"),
			SAID_S("HTTP/1.1 206 Partial\r\nContent-Length: 3\r\n"
			       "Content-Range: bytes 5-7/8\r\n\r\nxyz")},
		"file 1 s2c path name=big path=/big size=8 from=5\n"
		"end 1 CLOSED 71+3 xyz\n"},
	{"a range that only the request tells",
		{SAID_C("GET /big HTTP/1.1\r\nRange: bytes=5-\r\n\r\n"),
			SAID_S("HTTP/1.1 206 Partial\r\nContent-Length: 3\r\n\r\nxyz")},
		"file 1 s2c path name=big path=/big from=0\n"
		"end 1 CLOSED 43+3 xyz\n"},
	{"a range that nobody asked for",
		{SAID_C("GET /big HTTP/1.1\r\n\r\n"),
			SAID_S("HTTP/1.1 206 Partial\r\nContent-Length: 3\r\n"
			       "Content-Range: bytes 1-3/4\r\n\r\nxyz")},
		"note s2c bad_length @0\n"
		"file 1 s2c path name=big path=/big size=3\n"
		"end 1 CLOSED 71+3 xyz\n"},
	{"another range than was asked for",
		{SAID_C("GET /big HTTP/1.1\r\nRange: bytes=5-\r\n\r\n"),
			SAID_S("HTTP/1.1 206 Partial\r\nContent-Length: 3\r\n"
			       "Content-Range: bytes 1-3/4\r\n\r\nxyz")},
		"file 1 s2c path name=big path=/big size=4 from=0\n"
		"end 1 CLOSED 71+3 xyz\n"},
	{"parts of a file that was asked for as a whole",
		{SAID_C("GET /big HTTP/1.1\r\n\r\n"),
			SAID_S("HTTP/1.1 206 Partial\r\nContent-Length: 9\r\n"
			       "Content-Type: multipart/byteranges; "
			       "boundary=x\r\n\r\nMZ\r\n--x--")},
		"note s2c bad_length @0\n"
		"file 1 s2c path name=big path=/big type=multipart/byteranges size=9\n"
		"end 1 CLOSED 91+9 MZ\\0d\\0a--x--\n"},
	{"a range that is refused",
		{SAID_C("GET /big HTTP/1.1\r\nRange: bytes=5-\r\n\r\n"),
			SAID_S("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nxyz")},
		"file 1 s2c path name=big path=/big size=3\n"
		"end 1 CLOSED 38+3 xyz\n"},
	{"a range that is not the one that was asked for",
		{SAID_C("GET /big HTTP/1.1\r\nRange: bytes=5-\r\n\r\n"),
			SAID_S("HTTP/1.1 206 Partial\r\nContent-Length: 3\r\n"
			       "Content-Range: bytes 7-9/10\r\n\r\nxyz")},
		"file 1 s2c path name=big path=/big size=10 from=0\n"
		"end 1 CLOSED 72+3 xyz\n"},
	{"a range that was not asked for",
		{SAID_C("GET /big HTTP/1.1\r\n\r\n"),
			SAID_S("HTTP/1.1 206 Partial\r\nContent-Length: 3\r\n"
			       "Content-Range: bytes 1-3/4\r\n\r\nxyz")},
		"note s2c bad_length @0\n"
		"file 1 s2c path name=big path=/big size=3\n"
		"end 1 CLOSED 71+3 xyz\n"},
	{"several ranges that were not asked for",
		{SAID_C("GET /big HTTP/1.1\r\n\r\n"),
			SAID_S("HTTP/1.1 206 Partial\r\nContent-Length: 9\r\n"
			       "Content-Type: multipart/byteranges; boundary=x\r\n\r\n"
			       "MZ\r\n--x--")},
		"note s2c bad_length @0\n"
		"file 1 s2c path name=big path=/big type=multipart/byteranges size=9\n"
		"end 1 CLOSED 91+9 MZ\\0d\\0a--x--\n"},
	{"bytes before the first range",
		{SAID_C("GET /big HTTP/1.1\r\nRange: bytes=0-1,7-8\r\n\r\n"),
			SAID_S("HTTP/1.1 206 Partial\r\nContent-Length: 9\r\n"
			       "Content-Type: multipart/byteranges; boundary=x\r\n\r\n"
			       "MZ\r\n--x--")},
		"note s2c bad_multipart @91\n"},
	{"bytes behind the last range",
		{SAID_C("GET /big HTTP/1.1\r\nRange: bytes=0-1,7-8\r\n\r\n"),
			SAID_S("HTTP/1.1 206 Partial\r\nContent-Length: 12\r\n"
			       "Content-Type: multipart/byteranges; boundary=x\r\n\r\n"
			       "--x--\r\n \tMZ!")},
		"note s2c bad_multipart @101\n"},
	{"blanks around ranges",
		{SAID_C("GET /big HTTP/1.1\r\nRange: bytes=0-1,7-8\r\n\r\n"),
			SAID_S("HTTP/1.1 206 Partial\r\nContent-Length: 12\r\n"
			       "Content-Type: multipart/byteranges; boundary=x\r\n\r\n"
			       "\r\n--x--\r\n \t\n")},
		""},
	{"several ranges",
		{SAID_C("GET /big.bin HTTP/1.1\r\nHost: h.example\r\n"
			"Range: bytes=0-1,7-8\r\n\r\n"),
			SAID_S("HTTP/1.1 206 Partial\r\nContent-Length: 127\r\nETag: \"e\"\r\n"
			       "Content-Type: multipart/byteranges; boundary=XX\r\n\r\n"
			       "--XX\r\nContent-Type: a/b\r\nContent-Range: bytes 0-1/9\r\n\r\nab"
			       "\r\n--XX\r\ncontent-range: bytes 7-8/*\r\n\r\nhi\r\n--XX--\r\n")},
		"file 1 s2c path name=big.bin path=/big.bin host=h.example type=a/b "
		"validator=\"e\" size=9 from=0\n"
		"end 1 CLOSED 160+2 ab\n"
		"file 2 s2c path name=big.bin path=/big.bin host=h.example validator=\"e\" from=7\n"
		"end 2 CLOSED 200+2 hi\n"},
	{"a range that is put",
		{SAID_C("PUT /up HTTP/1.1\r\nContent-Length: 2\r\n"
			"Content-Range: bytes 4-5/6\r\n\r\nef")},
		"file 1 c2s path name=up path=/up size=6 from=4\n"
		"end 1 CLOSED 67+2 ef\n"},
	{"a range that is posted",
		{SAID_C("POST /up HTTP/1.1\r\nContent-Length: 2\r\n"
			"Content-Range: bytes 4-5/6\r\n\r\nef")},
		"file 1 c2s path name=up path=/up size=2\n"
		"end 1 CLOSED 68+2 ef\n"},
};

static const struct conversation uploads[] = {
	{"PUT, 100-continue, then 401, then again",
		{SAID_C("PUT /dir/f.bin HTTP/1.1\r\nHost: h:8080\r\nExpect: 100-continue\r\n"
			"Content-Length: 4\r\n\r\n"),
			SAID_S("HTTP/1.1 100 Continue\r\n\r\n"), SAID_C("body"),
			SAID_S("HTTP/1.1 401 Who\r\nContent-Length: 2\r\n\r\nno"),
			SAID_C("GET /x HTTP/1.1\r\nHost: [::1]:80\r\n\r\n"),
			SAID_S("HTTP/1.1 103 Early\r\nLink: x\r\n\r\n"
			       "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\ny")},
		"file 1 c2s path name=f.bin path=/dir/f.bin host=h size=4\n"
		"end 1 CLOSED 82+4 body\n"
		"file 2 s2c none path=/dir/f.bin host=h size=2\n"
		"end 2 CLOSED 64+2 no\n"
		"file 3 s2c path name=x path=/x host=[::1] size=1\n"
		"end 3 CLOSED 135+1 y\n"},
	{"POST by its type",
		{SAID_C("POST /f HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\n"
			"Content-Length: 3\r\n\r\na=b"
			"POST /api/up?x HTTP/1.1\r\nContent-Type: Application/JSON\r\n"
			"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
			"POST /f HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\n"
			"Content-Disposition: attachment; filename=\"a.b\"\r\n"
			"Content-Length: 1\r\n\r\nz")},
		"file 1 c2s none fields path=/f type=application/x-www-form-urlencoded size=3\n"
		"end 1 CLOSED 88+3 a=b\n"
		"file 2 c2s path name=up path=/api/up?x type=Application/JSON\n"
		"end 2 CLOSED 178+12 {}\n"
		"file 3 c2s header name=a.b or=f path=/f type=application/x-www-form-urlencoded "
		"size=1\n"
		"end 3 CLOSED 327+1 z\n"},
	{"absolute form: its host, not that of Host",
		{SAID_C("PUT http://user@real.example:80/p/q HTTP/1.1\r\nHost: other\r\n"
			"Content-Length: 1\r\n\r\nz")},
		"file 1 c2s path name=q path=/p/q host=real.example size=1\n"
		"end 1 CLOSED 80+1 z\n"},
};

static const struct conversation ends[] = {
	{"CONNECT",
		{SAID_C("CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n\x16\x03\x01"),
			SAID_S("HTTP/1.1 200 OK\r\n\r\nwhatever")},
		"note s2c connect @19\n"},
	{"CONNECT that is refused",
		{SAID_C("CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n"),
			SAID_S("HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno"), SAID_C(GET("/n")),
			SAID_S("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\ny")},
		"file 1 s2c none host=h size=2\n"
		"end 1 CLOSED 38+2 no\n"
		"file 2 s2c path name=n path=/n host=h.example size=1\n"
		"end 2 CLOSED 78+1 y\n"},
	{"websocket",
		{SAID_C("GET /ws HTTP/1.1\r\nUpgrade: websocket\r\n\r\n"),
			SAID_S("HTTP/1.1 101 Sw\r\nUpgrade: websocket\r\n\r\n\x81\x01x")},
		"note s2c websocket @39\n"},
	{"h2c",
		{SAID_C("GET / HTTP/1.1\r\nUpgrade: h2c\r\n\r\n"),
			SAID_S("HTTP/1.1 101 Sw\r\n\r\n")},
		"note s2c h2c @19\n"},
	{"TLS",
		{SAID_C("GET / HTTP/1.1\r\nUpgrade: TLS/1.2, HTTP/1.1\r\n\r\n"),
			SAID_S("HTTP/1.1 101 Sw\r\nUpgrade: TLS/1.2, HTTP/1.1\r\n\r\n")},
		"note s2c tls @47\n"},
	{"another upgrade",
		{SAID_C("GET / HTTP/1.1\r\nUpgrade: foo\r\n\r\n"),
			SAID_S("HTTP/1.1 101 Sw\r\nUpgrade: foo\r\n\r\n")},
		"note s2c upgrade @33\n"},
	{"HTTP/2 from the beginning", {SAID_C("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0")},
		"note c2s h2c @0\n"},
	{"an upgrade in an upload ends it",
		{SAID_C("PUT /u HTTP/1.1\r\nUpgrade: foo\r\nContent-Length: 9\r\n\r\nab"),
			SAID_S("HTTP/1.1 101 Sw\r\nUpgrade: foo\r\n\r\n")},
		"file 1 c2s path name=u path=/u size=9\n"
		"note s2c upgrade @33\n"
		"end 1 TRUNCATED 52+2 ab\n"},
	{"an upgrade that nobody asked for",
		{SAID_C(GET("/a")), SAID_S("HTTP/1.1 101 Sw\r\nUpgrade: websocket\r\n\r\n"
					   "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\ny")},
		"note s2c bad_line @0\n"
		"file 1 s2c path name=a path=/a host=h.example size=1\n"
		"end 1 CLOSED 77+1 y\n"},
};

static const struct conversation gaps[] = {
	{"in a body",
		{SAID_C(GET("/a")), SAID_S("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab"),
			SAID_GAP(HALF_S2C, 4), SAID_S("ghiHTTP/1.1 200 OK\r\n"),
			SAID_S("Content-Length: 1\r\n\r\ny")},
		"file 1 s2c path name=a path=/a host=h.example size=9\n"
		"end 1 TRUNCATED 38+9 lost=4 ab____ghi\n"
		"note s2c bad_line @47\n"
		"file 2 s2c none size=1\n"
		"end 2 CLOSED 85+1 y\n"},
	{"up to the end of a body",
		{SAID_C(GET("/a") GET("/b")),
			SAID_S("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab"),
			SAID_GAP(HALF_S2C, 7),
			SAID_S("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\ny")},
		"file 1 s2c path name=a path=/a host=h.example size=9\n"
		"end 1 TRUNCATED 38+9 ab\n"
		"file 2 s2c path name=b path=/b host=h.example size=1\n"
		"end 2 CLOSED 85+1 y\n"},
	{"beyond a body",
		{SAID_C(GET("/a") GET("/b")),
			SAID_S("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab"),
			SAID_GAP(HALF_S2C, 20),
			SAID_S("gth: 4\r\n\r\nbody\r\nHTTP/1.1 200 OK\r\nContent-Length: "
			       "1\r\n\r\ny"),
			SAID_C(GET("/c")), SAID_S("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nz")},
		"file 1 s2c path name=a path=/a host=h.example size=9\n"
		"end 1 TRUNCATED 38+9 ab\n"
		"file 2 s2c none size=1\n"
		"end 2 CLOSED 114+1 y\n"
		"file 3 s2c path name=c path=/c host=h.example size=1\n"
		"end 3 CLOSED 153+1 z\n"},
	{"in a chunk",
		{SAID_C(GET("/a")),
			SAID_S("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nab"),
			SAID_GAP(HALF_S2C, 4), SAID_S("gh\r\n1\r\n!\r\n0\r\n\r\n")},
		"file 1 s2c path name=a path=/a host=h.example\n"
		"end 1 TRUNCATED 47+24 lost=4 ab____gh!\n"},
	{"of a whole chunk's end",
		{SAID_C(GET("/a")),
			SAID_S("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nab"),
			SAID_GAP(HALF_S2C, 10), SAID_S("ab\r\n0\r\n\r\n"),
			SAID_S("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\ny")},
		"file 1 s2c path name=a path=/a host=h.example\n"
		"end 1 TRUNCATED 47+11 ab\n"
		"file 2 s2c none size=1\n"
		"end 2 CLOSED 109+1 y\n"},
	{"in a body that ends with the connection",
		{SAID_C(GET("/c")), SAID_S("HTTP/1.0 200 OK\r\n\r\nall "), SAID_GAP(HALF_S2C, 3),
			SAID_S("!"), SAID_FIN(HALF_S2C)},
		"file 1 s2c path name=c path=/c host=h.example\n"
		"end 1 TRUNCATED 19+8 lost=3 all ___!\n"},
	{"in a request's head",
		{SAID_C("GET /a HTTP/1.1\r\nHo"), SAID_GAP(HALF_C2S, 5),
			SAID_C("\r\n\r\nGET /b HTTP/1.1\r\nHost: b\r\n\r\n"),
			SAID_S("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\ny")},
		"file 1 s2c path name=b path=/b host=b size=1\n"
		"end 1 CLOSED 38+1 y\n"},
	{"in a part: the next one is found",
		{SAID_C("POST /f HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=B\r\n"
			"Content-Length: 132\r\n\r\n--B\r\nContent-Disposition: form-data; "
			"filename=\"a\"\r\n\r\nA"),
			SAID_GAP(HALF_C2S, 10),
			SAID_C("A\r\n--B\r\nContent-Disposition: form-data; "
			       "filename=\"b\"\r\n\r\nBBB\r\n--B--\r\n"),
			SAID_C(GET("/x"))},
		"file 1 c2s header name=a path=/f\n"
		"end 1 TRUNCATED 141+1 A\n"
		"file 2 c2s header name=b path=/f\n"
		"end 2 CLOSED 208+3 BBB\n"},
};

static const struct conversation midstream[] = {
	{"both halves begin in the middle",
		{SAID_MIDSTREAM(HALF_C2S, "tail of it\r\n" GET("/m")),
			SAID_MIDSTREAM(HALF_S2C,
				"rest of a body\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1"),
			SAID_C(GET("/n")), SAID_S("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n2")},
		"file 1 s2c none size=1\n"
		"end 1 CLOSED 1053+1 1\n"
		"file 2 s2c path name=n path=/n host=h.example size=1\n"
		"end 2 CLOSED 1092+1 2\n"},
	{"between messages",
		{SAID_MIDSTREAM(HALF_C2S, GET("/m")),
			SAID_MIDSTREAM(HALF_S2C, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1")},
		"file 1 s2c path name=m path=/m host=h.example size=1\n"
		"end 1 CLOSED 1038+1 1\n"},
};

#define TEST(table)                                                                        \
	static void test_##table(void **state)                                             \
	{                                                                                  \
		(void)state;                                                               \
		conversations_check(&content_http, table, sizeof(table) / sizeof(*table)); \
	}
TEST(downloads)
TEST(ranges)
TEST(uploads)
TEST(ends)
TEST(gaps)
TEST(midstream)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_downloads),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_uploads),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_midstream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
