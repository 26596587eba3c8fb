// SPDX-License-Identifier: BSD-3-Clause
// Gnutella: handshakes, descriptors plain and packed, hits with ids in each form, transfers over
// HTTP in both directions; FastTrack's transfers.
#include "content/decoders.h"
#include "lib/content/at_once.h"
#include "lib/content/conversation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <zlib.h>

#define SHA1  "PLSTHIPQGSSZTS5FJUPAKUZWUGYQYPFB"
#define SHA1B "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"
#define ROOT  "LWPNACQDBZRYXW3VHJVCJ64QBZNGHOHHHZWCLNQ"

#define CONNECT "GNUTELLA CONNECT/0.6\r\nUser-Agent: x\r\nAccept-Encoding: deflate\r\n\r\n"
#define AGREED  "GNUTELLA/0.6 200 OK\r\nX-Ultrapeer: True\r\n\r\n"
#define PACKED  "GNUTELLA/0.6 200 OK\r\nContent-Encoding: deflate\r\n\r\n"

// ---- descriptors ----

static uint8_t bytes[65536];
static uint32_t n_bytes, query; // where the query begins

static void add(const void *more, uint32_t length)
{
	assert_true(length <= sizeof(bytes) - n_bytes);
	memcpy(bytes + n_bytes, more, length);
	n_bytes += length;
}

#define ADD(text) add(text, sizeof(text) - 1)

static void add_number(uint32_t number)
{
	const uint8_t le[] = {(uint8_t)number, (uint8_t)(number >> 8), (uint8_t)(number >> 16),
		(uint8_t)(number >> 24)};

	add(le, 4);
}

static uint32_t begin_descriptor(uint8_t type)
{
	const uint8_t how[] = {type, 1, 0};

	ADD("0123456789abcdef");
	add(how, 3);
	add_number(0);
	return n_bytes;
}

static void end_descriptor(uint32_t begins)
{
	uint32_t ends = n_bytes;

	n_bytes = begins - 4;
	add_number(ends - begins);
	n_bytes = ends;
}

static uint32_t begin_hit(uint8_t records)
{
	uint32_t begins = begin_descriptor(0x81);

	add(&records, 1);
	ADD("\xca\x18\x0a\0\0\2\0\1\0\0");
	return begins;
}

static void end_hit(uint32_t begins)
{
	ADD("LIME\4\x3c\x1c\1\0"
	    "fedcba9876543210");
	end_descriptor(begins);
}

static void add_record(uint32_t size, const char *name, const void *extension, uint32_t length)
{
	add_number(7);
	add_number(size);
	add(name, (uint32_t)strlen(name) + 1);
	add(extension, length);
	add("", 1);
}
#define ADD_RECORD(size, name, extension) add_record(size, name, extension, sizeof(extension) - 1)

static void add_query(const void *extension, uint32_t length)
{
	uint32_t begins = begin_descriptor(0x80);

	ADD("\0\0some words\0");
	add(extension, length);
	add("", 1);
	end_descriptor(begins);
}

static void add_ping(void)
{
	end_descriptor(begin_descriptor(0));
}

static void add_push(uint16_t port)
{
	uint32_t begins = begin_descriptor(0x40);
	const uint8_t le[] = {(uint8_t)port, (uint8_t)(port >> 8)};

	ADD("0123456789abcdef\1\0\0\0\x0a\0\0\2");
	add(le, 2);
	end_descriptor(begins);
}

static void add_all(void)
{
	static const char ggep[] = "\xc3\x01"
				   "A\x41"
				   "x"
				   "\x01"
				   "H\x55"
				   "\x01"
				   "abcdefghijklmnopqrst"
				   "\x82"
				   "LF\x45"
				   "\1\2\3\4\5";
	static const char cobs[] = "\xc3\xc1"
				   "H\x56"
				   "\x05\1"
				   "abc"
				   "\x11"
				   "efghijklmnopqrst";
	uint32_t begins;

	n_bytes = 0;
	add_ping();
	begins = begin_hit(2);
	ADD_RECORD(1337, "dir/a song.mp3",
		"urn:sha1:" SHA1 "\x1c"
		"192 kbps");
	ADD_RECORD(9, "b.exe", "URN:BITPRINT:" SHA1B "." ROOT);
	end_hit(begins);
	begins = begin_descriptor(0x30);
	ADD("passed over");
	end_descriptor(begins);
	begins = begin_hit(4);
	ADD_RECORD(0xffffffff, "big.iso", ggep);
	ADD_RECORD(5, "c",
		"urn:ttroot:" ROOT "\x1c\xc3\x81u\x65"
		"sha1:" SHA1);
	add_record(6, "d", cobs, sizeof(cobs) - 1);
	ADD_RECORD(7, "", "no urn");
	end_hit(begins);
	query = n_bytes;
	add_query("urn:sha1:" SHA1 "\x1c"
		  "urn:sha1:",
		51);
	add_push(6346);
}

#define HITS(half)                                                                             \
	"id " half " sha1:" SHA1 "\n"                                                          \
	"file 1 " half " offer elsewhere name=a song.mp3 path=dir/ size=1337 whole=sha1:" SHA1 \
	"\n"                                                                                   \
	"id " half " sha1:" SHA1B "\n"                                                         \
	"id " half " tth:" ROOT "\n"                                                           \
	"file 2 " half " offer elsewhere name=b.exe size=9 whole=sha1:" SHA1B "\n"             \
	"id " half " sha1:MFRGGZDFMZTWQ2LKNNWG23TPOBYXE43U\n"                                  \
	"file 3 " half " offer elsewhere name=big.iso size=21542142465 "                       \
	"whole=sha1:MFRGGZDFMZTWQ2LKNNWG23TPOBYXE43U\n"                                        \
	"id " half " sha1:" SHA1 "\n"                                                          \
	"id " half " tth:" ROOT "\n"                                                           \
	"file 4 " half " offer elsewhere name=c size=5 whole=sha1:" SHA1 "\n"                  \
	"id " half " sha1:MFRGGADFMZTWQ2LKNNWG23TPOBYXE43U\n"                                  \
	"file 5 " half " offer elsewhere name=d size=6 "                                       \
	"whole=sha1:MFRGGADFMZTWQ2LKNNWG23TPOBYXE43U\n"                                        \
	"id " half " sha1:" SHA1 "\n"

static void check(const struct conversation *conversation)
{
	conversations_check(&content_gnutella, conversation, 1);
}

static void test_plain(void **state)
{
	(void)state;
	add_all();
	check(&(struct conversation){"a plain connection",
		{SAID_C(CONNECT), SAID_S(AGREED), SAID_C("GNUTELLA/0.6 200 OK\r\n\r\n"),
			SAID_BYTES(HALF_S2C, 0, n_bytes, bytes), SAID_BYTES(HALF_C2S, 0, 23, bytes),
			SAID_BYTES(HALF_C2S, 0, n_bytes - query, bytes + query)},
		HITS("s2c") "id c2s sha1:" SHA1 "\n"});
}

static uint8_t packed[65536];

static uint32_t pack(void)
{
	uLongf n = sizeof(packed);

	assert_int_equal(compress2(packed, &n, bytes, n_bytes, 9), Z_OK);
	return (uint32_t)n;
}

#define PUSHED "expect 10.0.0.2:6346 from any as gnutella-push l4=6 app=8\n"

static void test_packed(void **state)
{
	(void)state;
	add_all();
	uint32_t n = pack();

	check(&(struct conversation){"packed by who was called",
		{SAID_C(CONNECT), SAID_S(PACKED), SAID_C("GNUTELLA/0.6 200 OK\r\n\r\n"),
			SAID_BYTES(HALF_S2C, 0, n, packed), SAID_FIN(HALF_S2C)},
		HITS("s2c") PUSHED "note s2c coding_lies @50\n"});
	check(&(struct conversation){"it ends in the middle",
		{SAID_C(CONNECT), SAID_S(PACKED), SAID_C("GNUTELLA/0.6 200 OK\r\n\r\n"),
			SAID_BYTES(HALF_S2C, 0, n / 2, packed), SAID_FIN(HALF_S2C)},
		"id s2c sha1:" SHA1 "\n"
		"file 1 s2c offer elsewhere name=a song.mp3 path=dir/ size=1337 whole=sha1:" SHA1
		"\n"});
}

// Of what lies about its number of records, and of others, what is there is told, and the next
// descriptor is read. Each of them cut anywhere is a part of the conversation (conversation.c).
static void test_hits_that_lie(void **state)
{
	uint32_t begins;

	(void)state;
	n_bytes = 0;
	begins = begin_hit(255);
	ADD_RECORD(1, "a", "");
	end_hit(begins);
	begins = begin_hit(0);
	ADD_RECORD(1, "nobody's", "");
	end_hit(begins);
	end_descriptor(begin_descriptor(0x81));
	begins = begin_hit(3);
	ADD_RECORD(1, "b", "\xc3");
	ADD_RECORD(1, "c", "\xc3\x8f");
	ADD_RECORD(1, "d", "\xc3\x81H\x7f\x01");
	end_descriptor(begins);
	begins = begin_hit(2);
	ADD_RECORD(1, "e", "\xc3\xc1H\x43\x05\x01");
	ADD("cut");
	end_descriptor(begins);
	end_descriptor(begin_descriptor(0x80));
	add_query("urn:sha1:" SHA1, 41);
	check(&(struct conversation){"hits that lie",
		{SAID_C("GNUTELLA CONNECT/0.4\n\n"), SAID_S("GNUTELLA OK\n\n"),
			SAID_BYTES(HALF_S2C, 0, n_bytes, bytes)},
		"file 1 s2c offer elsewhere name=a size=1\n"
		"file 2 s2c offer elsewhere name=b size=1\n"
		"file 3 s2c offer elsewhere name=c size=1\n"
		"file 4 s2c offer elsewhere name=d size=1\n"
		"file 5 s2c offer elsewhere name=e size=1\n"
		"id s2c sha1:" SHA1 "\n"});
}

// A few bytes may unpack to thousands of files: one call tells no more than its budget allows.
static void test_many_files(void **state)
{
	enum { HITS = 20, RECORDS = 250 };
	uLongf room = sizeof(packed);

	(void)state;
	n_bytes = 0;
	for (unsigned i = 0; i < HITS; i++) {
		uint32_t begins = begin_hit(RECORDS);

		for (unsigned k = 0; k < RECORDS; k++)
			ADD_RECORD(1, "a", "");
		end_hit(begins);
	}
	assert_int_equal(compress2(packed, &room, bytes, n_bytes, 9), Z_OK);
	assert_true(room < 1000);
	const struct said said[] = {
		SAID_C(CONNECT), SAID_S(PACKED), SAID_BYTES(HALF_S2C, 0, (uint32_t)room, packed)};
	struct at_once told = at_once(&content_gnutella, said, 3, 10 * CONTENT_TOLD_BYTES);

	assert_int_equal(told.all, HITS * RECORDS);
	assert_int_equal(told.most, 10);
}

static void test_limits(void **state)
{
	static char name[5000];
	uint32_t begins, n;

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	n_bytes = 0;
	begins = begin_hit(2);
	ADD_RECORD(1, name, "");
	ADD_RECORD(1, "a", "");
	end_hit(begins);
	begins = begin_hit(1);
	ADD_RECORD(1, "b", "");
	end_hit(begins);
	check(&(struct conversation){"a name that is too long",
		{SAID_C(CONNECT), SAID_S(AGREED), SAID_BYTES(HALF_S2C, 0, n_bytes, bytes)},
		"note s2c head_too_long @42\n"
		"file 1 s2c offer elsewhere name=b size=1\n"});
	n_bytes = 0;
	begin_descriptor(0x31);
	n_bytes -= 4;
	add_number(65537);
	ADD("what follows is nobody's");
	check(&(struct conversation){"a descriptor that is too long",
		{SAID_C(CONNECT), SAID_S(AGREED), SAID_BYTES(HALF_S2C, 0, n_bytes, bytes)},
		"note s2c bad_length @42\n"});
	check(&(struct conversation){"what is said to be packed, and is not",
		{SAID_C(CONNECT), SAID_S(PACKED), SAID_S("\xff\xff\xff\xff")},
		"note s2c coding_lies @50\n"});
	static uint8_t zeros[4 << 20];
	uLongf room = sizeof(packed);

	assert_int_equal(compress2(packed, &room, zeros, sizeof(zeros), 9), Z_OK);
	n = (uint32_t)room;
	check(&(struct conversation){"a bomb",
		{SAID_C(CONNECT), SAID_S(PACKED), SAID_BYTES(HALF_S2C, 0, n, packed)},
		"note s2c bomb @50\n"});
}

static void test_datagrams(void **state)
{
	uint32_t begins, cut;

	(void)state;
	n_bytes = 0;
	begins = begin_hit(1);
	ADD_RECORD(1, "a.exe", "urn:sha1:" SHA1);
	cut = n_bytes;
	end_hit(begins);
	check(&(struct conversation){"hits over UDP, a whole one and one that is cut",
		{SAID_BYTES(HALF_C2S, SPAN_DATAGRAM, n_bytes, bytes),
			SAID_BYTES(HALF_S2C, SPAN_DATAGRAM, cut, bytes),
			SAID_DATAGRAM_S("GND\x02\x01\x02\x01\x01"),
			SAID_BYTES(HALF_S2C, SPAN_DATAGRAM, n_bytes, bytes)},
		"id c2s sha1:" SHA1 "\n"
		"file 1 c2s offer elsewhere name=a.exe size=1 whole=sha1:" SHA1 "\n"
		"id s2c sha1:" SHA1 "\n"
		"file 2 s2c offer elsewhere name=a.exe size=1 whole=sha1:" SHA1 "\n"});
}

static void test_gaps(void **state)
{
	uint32_t begins, first;

	(void)state;
	n_bytes = 0;
	begins = begin_descriptor(0x31);
	ADD("0123456789");
	end_descriptor(begins);
	first = n_bytes - 8;
	begins = begin_hit(1);
	ADD_RECORD(1, "a.exe", "");
	end_hit(begins);
	check(&(struct conversation){"a gap inside of one",
		{SAID_C(CONNECT), SAID_S(AGREED), SAID_BYTES(HALF_S2C, 0, first, bytes),
			SAID_GAP(HALF_S2C, 8),
			SAID_BYTES(HALF_S2C, 0, n_bytes - first - 8, bytes + first + 8)},
		"file 1 s2c offer elsewhere name=a.exe size=1\n"});
	check(&(struct conversation){"a gap beyond one",
		{SAID_C(CONNECT), SAID_S(AGREED), SAID_BYTES(HALF_S2C, 0, first, bytes),
			SAID_GAP(HALF_S2C, 9), SAID_BYTES(HALF_S2C, 0, n_bytes, bytes)},
		"note s2c lost @75\n"});
	check(&(struct conversation){"a gap in the handshake",
		{SAID_C(CONNECT), SAID_S("GNUTELLA/0.6 200 OK\r\nContent-"), SAID_GAP(HALF_S2C, 9),
			SAID_BYTES(HALF_S2C, 0, n_bytes, bytes)},
		"note s2c lost @29\n"});
	check(&(struct conversation){"joined where one begins",
		{SAID_BYTES(HALF_S2C, SPAN_MIDSTREAM, n_bytes, bytes)},
		"file 1 s2c offer elsewhere name=a.exe size=1\n"});
}

static const struct conversation refused[] = {
	{"refused, by either",
		{SAID_C(CONNECT), SAID_S("GNUTELLA/0.6 503 Full\r\n\r\n"),
			SAID_C("GNUTELLA/0.6 200 OK\r\n\r\n")},
		""},
	{"Gnutella2",
		{SAID_C(CONNECT), SAID_S("GNUTELLA/0.6 200 OK\r\nContent-Type: "
					 "application/x-gnutella2\r\n\r\n\x4a\1\2\3")},
		""},
	{"what is none", {SAID_C("GNUTEL"), SAID_C("LO all\r\n"), SAID_S("x\r\n")}, ""},
};

// ---- transfers behind GIV: who has called is the server ----

#define GET "GET /uri-res/N2R?urn:sha1:" SHA1 " HTTP/1.1\r\nHost: h\r\nUser-Agent: x\r\n\r\n"
#define OK  "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"

static const struct conversation pushed[] = {
	{"its name is GIV's",
		{SAID_C("GIV 5:0123456789ABCDEF0123456789ABCDEF/a.exe\n\n"), SAID_S(GET),
			SAID_C(OK "abc"), SAID_S("GET /get/6/b%20c.exe HTTP/1.1\r\n\r\n"),
			SAID_C("HTTP/1.1 404 No\r\nContent-Length: 3\r\n\r\nno.")},
		"id s2c sha1:" SHA1 "\n"
		"file 1 c2s path name=N2R or=N2R?urn:sha1:" SHA1
		" or=a.exe path=/uri-res/N2R?urn:sha1:" SHA1
		" host=h agent=x GET 200 size=3 whole=sha1:" SHA1 "\n"
		"end 1 CLOSED 84+3 abc\n"
		"file 2 c2s none path=/get/6/b%20c.exe size=3\n"
		"end 2 CLOSED 125+3 no.\n"},
	{"without a name, with CR, and HTTP in one piece with it",
		{SAID_C("GIV 0:0123456789ABCDEF0123456789ABCDEF/\r\n\r\n" OK "abc"),
			SAID_S("GET /get/1/x HTTP/1.1\r\n\r\n"), SAID_C(OK "def"),
			SAID_FIN(HALF_C2S), SAID_FIN(HALF_S2C)},
		"file 1 c2s none size=3\n"
		"end 1 CLOSED 81+3 abc\n"
		"note s2c bad_line @0\n"
		"file 2 c2s path name=x path=/get/1/x size=3\n"
		"end 2 CLOSED 122+3 def\n"},
	{"silence",
		{SAID_C("GIV 0:0123456789ABCDEF0123456789ABCDEF/a.exe\n\n"), SAID_FIN(HALF_C2S)},
		""},
	{"half a line", {SAID_C("GIV 0:0123456789ABC"), SAID_FIN(HALF_C2S)}, ""},
	{"a gap behind it",
		{SAID_C("GIV 0:0123456789ABCDEF0123456789ABCDEF/a.exe\n\n"), SAID_S(GET),
			SAID_C("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab"),
			SAID_GAP(HALF_C2S, 3), SAID_C("fghi" OK "xyz")},
		"id s2c sha1:" SHA1 "\n"
		"file 1 c2s path name=N2R or=N2R?urn:sha1:" SHA1
		" or=a.exe path=/uri-res/N2R?urn:sha1:" SHA1
		" host=h agent=x GET 200 size=9 whole=sha1:" SHA1 "\n"
		"end 1 TRUNCATED 84+9 lost=3 ab___fghi\n"
		"note c2s bad_line @93\n"
		"file 2 c2s offer name=a.exe size=3\n"
		"end 2 CLOSED 131+3 xyz\n"},
	{"a gap before its empty line",
		{SAID_C("GIV 0:A/b\r\n"), SAID_GAP(HALF_C2S, 3), SAID_C(OK "abc")},
		"note c2s lost @11\n"},
	{"lines of a handshake behind it",
		{SAID_C("GIV 0:A/b\r\n"), SAID_S("GET /x HTTP/1.1\r\n"),
			SAID_C("Content-Type: application/x-gnutella2\r\n\r\n"), SAID_S("\r\n"),
			SAID_C(OK "abc")},
		"file 1 c2s path name=x or=b path=/x size=3\n"
		"end 1 CLOSED 90+3 abc\n"},
};

static const struct conversation kazaa[] = {
	{"GIVE",
		{SAID_C("GIVE 710878939\r\n\r\n"),
			SAID_S("GET /20408/Some%20Song.mp3 HTTP/1.1\r\nHost: x\r\nRange: "
			       "bytes=0-2\r\n\r\n"),
			SAID_C("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes "
			       "0-2/9\r\nContent-Length: 3\r\n\r\nabc")},
		"file 1 c2s path name=Some%20Song.mp3 path=/20408/Some%20Song.mp3 host=x size=9 "
		"from=0\n"
		"end 1 CLOSED 97+3 abc\n"},
	{"a supernode", {SAID_C("\1\2\3\4\5\6\7\x08\x29\0\0\0"), SAID_S("abcdefgh")}, ""},
};

// ---- what HTTP says of ids, where the client has called ----

#define HASH "11ebbd69ec5fd57fab6dfd6fdd1e6df36f551763"

static const struct conversation http[] = {
	{"parts by SHA-1",
		{SAID_C("GET /uri-res/N2R?urn:sha1:" SHA1 " HTTP/1.1\r\nRange: bytes=2-4\r\n\r\n"),
			SAID_S("HTTP/1.1 206 OK\r\nContent-Range: bytes 2-4/9\r\nContent-Length: "
			       "3\r\n\r\nabc"),
			SAID_C("GET /uri-res/n2r?URN%3Abitprint:" SHA1B "." ROOT
			       " HTTP/1.1\r\n\r\n"),
			SAID_S(OK "def"),
			SAID_C("GET /uri-res/N2X?urn:sha1:" SHA1 ";" ROOT " HTTP/1.1\r\n\r\n"),
			SAID_S(OK "ghi")},
		"id c2s sha1:" SHA1 "\n"
		"file 1 s2c path name=N2R or=N2R?urn:sha1:" SHA1 " path=/uri-res/N2R?urn:sha1:" SHA1
		" size=9 whole=sha1:" SHA1 " from=2\n"
		"end 1 CLOSED 66+3 abc\n"
		"id c2s sha1:" SHA1B "\n"
		"id c2s tth:" ROOT "\n"
		"file 2 s2c path name=n2r or=n2r?URN%3Abitprint:" SHA1B "." ROOT
		" path=(100)..HHZWCLNQ size=3 whole=sha1:" SHA1B "\n"
		"end 2 CLOSED 107+3 def\n"
		"id c2s sha1:" SHA1 "\n"
		"file 3 s2c path name=N2X or=N2X?urn:sha1:" SHA1 ";" ROOT
		" path=/uri-res/N2X?urn:sha1:" SHA1 ";" ROOT " size=3\n"
		"end 3 CLOSED 148+3 ghi\n"},
	{"by a field",
		{SAID_C("GET /get/3/a.exe HTTP/1.1\r\nX-Gnutella-Content-URN: urn:sha1:" SHA1
			"\r\n\r\n"),
			SAID_S(OK "abc"), SAID_C("GET /get/3/b.exe HTTP/1.1\r\n\r\n"),
			SAID_S("HTTP/1.1 200 OK\r\nX-Content-URN: urn:x, urn:sha1:" SHA1B
			       "\r\nContent-Length: 3\r\n\r\ndef")},
		"id c2s sha1:" SHA1 "\n"
		"file 1 s2c path name=a.exe path=/get/3/a.exe size=3 whole=sha1:" SHA1 "\n"
		"end 1 CLOSED 38+3 abc\n"
		"file 2 s2c path name=b.exe path=/get/3/b.exe size=3 whole=sha1:" SHA1B "\n"
		"end 2 CLOSED 144+3 def\n"},
	{"in the older way",
		{SAID_C("GET /get/24/some song.mp3 HTTP/1.0\r\nRange: bytes=0-\r\n\r\n"),
			SAID_S("HTTP 200 OK\r\nServer: Gnutella\r\nContent-length: 3\r\n\r\nabc")},
		"note c2s bad_line @0\n"
		"note s2c bad_line @0\n"
		"file 1 s2c path name=some song.mp3 path=/get/24/some song.mp3 size=3\n"
		"end 1 CLOSED 52+3 abc\n"},
	{"Kazaa's hash",
		{SAID_C("GET /.hash=" HASH " HTTP/1.1\r\nX-Kazaa-Network: KaZaA\r\n\r\n"),
			SAID_S(OK "abc")},
		"id c2s kzhash:" HASH "\n"
		"file 1 s2c path name=.hash=" HASH " path=/.hash=" HASH " size=3 whole=kzhash:" HASH
		"\n"
		"end 1 CLOSED 38+3 abc\n"},
};

#define TEST(decoder, table)                                                                    \
	static void test_##table(void **state)                                                  \
	{                                                                                       \
		(void)state;                                                                    \
		conversations_check(&content_##decoder, table, sizeof(table) / sizeof(*table)); \
	}
TEST(gnutella, refused)
TEST(gnutella, pushed)
TEST(fasttrack, kazaa)
TEST(http, http)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_packed),
		cmocka_unit_test(test_hits_that_lie),
		cmocka_unit_test(test_many_files),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_datagrams),
		cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_pushed),
		cmocka_unit_test(test_kazaa),
		cmocka_unit_test(test_http),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
