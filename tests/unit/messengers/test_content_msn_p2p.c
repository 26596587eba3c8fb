// SPDX-License-Identifier: BSD-3-Clause
// MSN Messenger's frames: MSNSLP in them, files over a switchboard and over a connection between
// two clients. What is said is built here, as frames are binary and have lengths.
#include "content/decoders.h"
#include "lib/content/made.h"

#include <stdio.h>

#define FILE_FLAGS 0x01000030u
#define FILE_GUID  "{5D3E02AB-6190-11D3-BBBB-00C04F795683}"
#define OBJECT     "{A4268EEC-FEC5-49E5-95C3-F126696BDBF6}"
// Length 574, version 2, size 21, type 1, and the name.
#define CONTEXT "PgIAAAIAAAAVAAAAAAAAAAEAAABuAGUAdwAuAHQAeAB0AAAA" // "new.txt"
#define SURROGATES \
	"PgIAAAIAAAAVAAAAAAAAAAEAAAA92IDeAdhhAC4AZQB4AGUAAAA=" // U+1F680, a lone one, "a.exe"
#define TURN "USR 1 anna@a.example 1.2.3\r\n"

static void begin(const char *name)
{
	made_begin(name);
}

static void say_text(unsigned half, const char *text)
{
	uint32_t from = made.length;

	made_put(text, strlen(text));
	made_say(half, from);
}

struct frame {
	uint32_t session, id, length, flags;
	uint64_t at, total;
};

static void put_frame(const struct frame *frame, const char *bytes, uint32_t length)
{
	made_put_le(frame->session, 4);
	made_put_le(frame->id, 4);
	made_put_le(frame->at, 8);
	made_put_le(frame->total, 8);
	made_put_le(frame->length, 4);
	made_put_le(frame->flags, 4);
	made_put_le(7, 4);
	made_put_le(0, 4);
	made_put_le(0, 8);
	made_put(bytes, length);
}

// In a switchboard.
static void say_frame(unsigned half, struct frame frame, const char *bytes, uint32_t length)
{
	static const char head[] = "MIME-Version: 1.0\r\nContent-Type: application/x-msnmsgrp2p\r\n"
				   "P2P-Dest: anna@a.example\r\n\r\n";
	char line[80];
	uint32_t from = made.length;
	uint32_t n = (uint32_t)sizeof(head) - 1 + 48 + length + 4;
	int have = snprintf(
		line, sizeof(line), half ? "MSG bob@b.example Bob %u\r\n" : "MSG 7 D %u\r\n", n);

	made_put(line, (size_t)have);
	made_put(head, sizeof(head) - 1);
	if (!frame.length)
		frame.length = length;
	put_frame(&frame, bytes, length);
	made_put_le(2 << 24, 4);
	made_say(half, from);
}

// Between two clients.
static void say_direct(unsigned half, struct frame frame, const char *bytes, uint32_t length)
{
	uint32_t from = made.length;

	made_put_le(48 + length, 4);
	if (!frame.length)
		frame.length = length;
	put_frame(&frame, bytes, length);
	made_say(half, from);
}

// Of version 2: a head of `own` octets, and that of the message, with what is still to come of it.
static void put_v2(uint8_t kind, uint16_t package, uint32_t session, uint64_t rest,
	const char *bytes, uint32_t length)
{
	uint32_t head = rest ? 20 : 8;

	made_put("\x0c\2", 2);
	made_put_be(head + length, 2);
	made_put_be(4711, 4);
	made_put("\2\2\1\1", 4); // a field
	made_put_be(head, 1);
	made_put_be(kind, 1);
	made_put_be(package, 2);
	made_put_be(session, 4);
	if (rest) {
		made_put("\1\x08", 2);
		made_put_be(rest, 8);
		made_put_be(0, 2);
	}
	made_put(bytes, length);
}

static void say_v2(unsigned half, uint8_t kind, uint16_t package, uint32_t session, uint64_t rest,
	const char *bytes, uint32_t length)
{
	static const char head[] = "Content-Type: application/x-msnmsgrp2p\r\n"
				   "P2P-Dest: anna@a.example;{1-2}\r\n\r\n";
	char line[80];
	uint32_t from = made.length;
	uint32_t n = (uint32_t)sizeof(head) - 1 + 12 + (rest ? 20 : 8) + length + 4;
	int have = snprintf(line, sizeof(line), "MSG bob@b.example;{3} Bob %u\r\n", n);

	made_put(line, (size_t)have);
	made_put(head, sizeof(head) - 1);
	put_v2(kind, package, session, rest, bytes, length);
	made_put_be(2, 4);
	made_say(half, from);
}

static char slp[4096];

static const char *invite(const char *guid, const char *session, const char *context)
{
	snprintf(slp, sizeof(slp),
		"INVITE MSNMSGR:anna@a.example MSNSLP/1.0\r\nTo: <msnmsgr:anna@a.example>\r\n"
		"From: <msnmsgr:bob@b.example>\r\nCall-ID: {9}\r\nContent-Type: "
		"application/x-msnmsgr-sessionreqbody\r\nContent-Length: 300\r\n\r\n"
		"EUF-GUID: %s\r\nSessionID: %s\r\nAppID: 2\r\nContext: %s\r\n\r\n",
		guid, session, context);
	return slp;
}

static void say_slp(unsigned half, uint32_t id, const char *text)
{
	uint32_t length = (uint32_t)strlen(text);

	say_frame(half, (struct frame){.id = id, .total = length}, text, length);
}

static void say_part(unsigned half, uint32_t id, const char *text, uint32_t from, uint32_t to)
{
	say_frame(half, (struct frame){.id = id, .at = from, .total = strlen(text)}, text + from,
		to - from);
}

static void say_file(
	unsigned half, uint32_t session, uint64_t at, uint64_t total, const char *bytes)
{
	say_frame(half,
		(struct frame){
			.session = session, .id = 5, .at = at, .total = total, .flags = FILE_FLAGS},
		bytes, (uint32_t)strlen(bytes));
}

static void check(const char *expected)
{
	made_check(&content_msn, expected);
}

#define OFFERED "file 1 s2c offer elsewhere name=new.txt user=bob@b.example size=21\n"

static void test_switchboard(void **unused)
{
	(void)unused;
	begin("a file over a switchboard, between acknowledgements");
	say_text(HALF_C2S, TURN);
	say_slp(HALF_S2C, 1, invite(FILE_GUID, "77", CONTEXT));
	say_slp(HALF_C2S, 2, "MSNSLP/1.0 200 OK\r\nCall-ID: {9}\r\n\r\nSessionID: 77\r\n\r\n");
	say_file(HALF_S2C, 77, 0, 21, "all of it, ");
	say_frame(HALF_C2S, (struct frame){.flags = 2, .total = 21}, "", 0);
	say_file(HALF_S2C, 77, 11, 21, "as it was.");
	say_slp(HALF_S2C, 6, "BYE MSNMSGR:a MSNSLP/1.0\r\nCall-ID: {9}\r\n\r\n");
	check("file 1 s2c offer elsewhere name=new.txt user=bob@b.example size=21\n"
	      "file 2 s2c offer name=new.txt user=bob@b.example size=21\n"
	      "end 2 CLOSED 656+187 all of it, as it was.\n");
}

static void test_invite_in_frames(void **unused)
{
	const char *text = invite(FILE_GUID, "77", CONTEXT);
	uint32_t length = (uint32_t)strlen(text);

	(void)unused;
	begin("its frames backwards, one of them twice");
	say_part(HALF_S2C, 1, text, 200, length);
	say_part(HALF_S2C, 1, text, 100, 200);
	say_part(HALF_S2C, 1, text, 100, 200);
	say_part(HALF_S2C, 1, text, 0, 100);
	say_part(HALF_S2C, 1, text, 0, 100);
	check(OFFERED);
	begin("two of them, each between the other's, of either end");
	say_part(HALF_S2C, 1, text, 0, 150);
	say_part(HALF_C2S, 1, text, 150, length);
	say_part(HALF_S2C, 1, text, 150, length);
	say_part(HALF_C2S, 1, text, 0, 150);
	check(OFFERED "file 2 c2s offer elsewhere name=new.txt size=21\n");
	begin("a part that comes again as something else, and a total that differs");
	say_part(HALF_S2C, 1, text, 0, 200);
	say_frame(HALF_S2C, (struct frame){.id = 1, .at = 100, .total = length + 1}, "evil", 4);
	check("note s2c two_lengths @366\n"
	      "note s2c resent_differs @366\n");
}

static void test_names(void **unused)
{
	(void)unused;
	begin("a pair of surrogates is a character, one alone is none");
	say_slp(HALF_S2C, 1, invite(FILE_GUID, "77", SURROGATES));
	check("file 1 s2c offer elsewhere name=\\f0\\9f\\9a\\80\\ef\\bf\\bda.exe "
	      "user=bob@b.example size=21\n");
	begin("a picture: the one who is asked sends it");
	say_text(HALF_C2S, TURN);
	say_slp(HALF_S2C, 1,
		invite(OBJECT, "78",
			"PG1zbm9iaiBDcmVhdG9yPSJiQGMiIFNpemU9IjQiIFR5cGU9IjMiIExvY2F0aW9uPSJUMS5kYX"
			"Qi"
			"IEZyaWVuZGx5PSJhZ0JwQUFBQSIgU0hBMUQ9IngiLz4="));
	say_frame(HALF_C2S, (struct frame){.session = 78, .total = 4}, "\0\0\0", 4);
	say_frame(HALF_C2S, (struct frame){.session = 78, .total = 4, .flags = 0x20}, "GIF8", 4);
	check("file 1 c2s offer elsewhere name=T1.dat or=ji user=anna@a.example size=4\n"
	      "file 2 c2s offer name=T1.dat user=anna@a.example size=4\n"
	      "end 2 CLOSED 332+4 GIF8\n");
	begin("what is no file, or has no name, and other sessions");
	say_slp(HALF_S2C, 1, invite("{00000000-0000-0000-0000-000000000000}", "77", CONTEXT));
	say_slp(HALF_S2C, 2, invite(FILE_GUID, "77", "AAAA"));
	say_slp(HALF_S2C, 3, invite(FILE_GUID, "x", CONTEXT));
	say_slp(HALF_S2C, 4, "INVITE nobody\r\n");
	check("");
}

static void test_lies(void **unused)
{
	(void)unused;
	begin("a number that is used again, of another name, and for another file");
	say_slp(HALF_S2C, 1, invite(FILE_GUID, "77", CONTEXT));
	say_slp(HALF_S2C, 2, invite(FILE_GUID, "77", SURROGATES));
	say_file(HALF_S2C, 77, 0, 21, "all of it, as it was.");
	say_slp(HALF_S2C, 3, invite(FILE_GUID, "77", CONTEXT));
	say_file(HALF_S2C, 77, 0, 21, "ALL OF IT, AS IT WAS.");
	check("file 1 s2c offer elsewhere name=new.txt user=bob@b.example size=21\n"
	      "note s2c two_names @494\n"
	      "file 2 s2c offer elsewhere name=\\f0\\9f\\9a\\80\\ef\\bf\\bda.exe "
	      "user=bob@b.example size=21\n"
	      "file 3 s2c offer name=\\f0\\9f\\9a\\80\\ef\\bf\\bda.exe user=bob@b.example size=21\n"
	      "end 3 CLOSED 1154+21 all of it, as it was.\n"
	      "file 4 s2c offer elsewhere name=new.txt user=bob@b.example size=21\n"
	      "file 5 s2c offer name=new.txt user=bob@b.example size=21\n"
	      "end 5 CLOSED 1835+21 ALL OF IT, AS IT WAS.\n");
	begin("beyond the total, and totals that differ from what was offered");
	say_slp(HALF_S2C, 1, invite(FILE_GUID, "77", CONTEXT));
	say_file(HALF_S2C, 77, 0, 4, "all of it");
	check("file 1 s2c offer elsewhere name=new.txt user=bob@b.example size=21\n"
	      "note s2c bad_length @494\n"
	      "file 2 s2c offer name=new.txt user=bob@b.example size=21\n"
	      "note s2c two_lengths @494\n"
	      "end 2 CLOSED 656+9 all of it\n");
	begin("offered again while its bytes come, under another name");
	say_slp(HALF_S2C, 1, invite(FILE_GUID, "77", CONTEXT));
	say_file(HALF_S2C, 77, 0, 21, "all of it, ");
	say_slp(HALF_S2C, 1, invite(FILE_GUID, "77", SURROGATES));
	say_file(HALF_S2C, 77, 11, 21, "as it was.");
	check("file 1 s2c offer elsewhere name=new.txt user=bob@b.example size=21\n"
	      "file 2 s2c offer name=new.txt user=bob@b.example size=21\n"
	      "note s2c two_names @671\n"
	      "file 3 s2c offer elsewhere name=\\f0\\9f\\9a\\80\\ef\\bf\\bda.exe "
	      "user=bob@b.example size=21\n"
	      "end 2 CLOSED 656+685 all of it, as it was.\n");
	begin("a hole, and what was there before");
	say_file(HALF_S2C, 5, 0, 12, "all ");
	say_file(HALF_S2C, 5, 8, 12, "it!!");
	say_file(HALF_S2C, 5, 4, 12, "of  ");
	check("file 1 s2c none\n"
	      "note s2c bad_chunk @170\n"
	      "end 1 TRUNCATED 162+174 lost=4 all ____it!!\n"
	      "file 2 s2c none from=4\n"
	      "end 2 TRUNCATED 502+0 of  \n");
	begin("again what has come");
	say_file(HALF_S2C, 5, 0, 12, "all of ");
	say_file(HALF_S2C, 5, 4, 12, "OF it!!!");
	check("file 1 s2c none\n"
	      "note s2c resent_differs @173\n"
	      "end 1 CLOSED 162+181 all of it!!!\n");
	begin("a length that lies");
	say_frame(HALF_S2C,
		(struct frame){.session = 5, .total = 8, .length = 8, .flags = FILE_FLAGS}, "all",
		3);
	say_frame(HALF_S2C, (struct frame){.session = 6, .total = UINT64_MAX, .flags = FILE_FLAGS},
		"all", 3);
	check("note s2c bad_length @0\n"
	      "file 1 s2c none\n"
	      "end 1 TRUNCATED 162+0 all\\00\\00\\00\\02\n");
}

static void test_sessions(void **unused)
{
	(void)unused;
	begin("two sessions, each between the other's, and one against them of the same number");
	say_file(HALF_S2C, 5, 0, 8, "abcd");
	say_file(HALF_S2C, 6, 0, 8, "1234");
	say_file(HALF_C2S, 5, 0, 4, "what");
	say_file(HALF_S2C, 5, 4, 8, "efgh");
	say_file(HALF_S2C, 6, 4, 8, "5678");
	check("file 1 s2c none\n"
	      "file 2 s2c none\n"
	      "file 3 c2s none\n"
	      "end 3 CLOSED 148+4 what\n"
	      "end 1 CLOSED 162+344 abcdefgh\n"
	      "end 2 CLOSED 332+344 12345678\n");
	begin("more than are remembered");
	for (unsigned i = 0; i < 8; i++)
		say_file(HALF_S2C, 10 + i, 0, 8, "abcd");
	say_file(HALF_S2C, 17, 4, 8, "efgh");
	check("file 1 s2c none\n"
	      "file 2 s2c none\n"
	      "file 3 s2c none\n"
	      "file 4 s2c none\n"
	      "file 5 s2c none\n"
	      "file 6 s2c none\n"
	      "note s2c too_many_requests @1020\n"
	      "end 1 TRUNCATED 162+0 abcd\n"
	      "file 7 s2c none\n"
	      "end 2 TRUNCATED 332+0 abcd\n"
	      "file 8 s2c none\n"
	      "end 8 CLOSED 1352+174 abcdefgh\n"
	      "end 7 TRUNCATED 1182+0 abcd\n"
	      "end 3 TRUNCATED 502+0 abcd\n"
	      "end 4 TRUNCATED 672+0 abcd\n"
	      "end 5 TRUNCATED 842+0 abcd\n"
	      "end 6 TRUNCATED 1012+0 abcd\n");
}

static void test_places(void **unused)
{
	(void)unused;
	begin("where a connection will be: of the one who has the file, and of the other");
	say_text(HALF_C2S, TURN);
	say_slp(HALF_S2C, 1, invite(FILE_GUID, "77", CONTEXT));
	say_slp(HALF_C2S, 2,
		"MSNSLP/1.0 200 OK\r\nCall-ID: {9}\r\nContent-Type: "
		"application/x-msnmsgr-transrespbody\r\n"
		"\r\nBridge: TCPv1\r\nListening: true\r\nNonce: {8}\r\nIPv4Internal-Addrs: "
		"10.0.0.1 "
		"10.0.0.1\r\nIPv4Internal-Port: 4321\r\n\r\n");
	say_slp(HALF_S2C, 3,
		"INVITE MSNMSGR:a MSNSLP/1.0\r\nCall-ID: {9}\r\n\r\nListening: true\r\n"
		"srddA-lanretnI4vPI: 9.0.0.01\r\ntroP-lanretnI4vPI: 0006\r\n"
		"IPv4External-AddrsAndPorts: 10.0.0.9:5000 10.0.0.1:5000\r\n\r\n");
	check("file 1 s2c offer elsewhere name=new.txt user=bob@b.example size=21\n"
	      "expect 10.0.0.1:4321 from any as msn-direct l4=6 app=8 file c2s name=new.txt "
	      "user=bob@b.example size=21\n"
	      "expect 10.0.0.9:6000 from 10.0.0.1 as msn-direct l4=6 app=8 file s2c name=new.txt "
	      "user=bob@b.example size=21\n"
	      "expect 10.0.0.9:5000 from 10.0.0.1 as msn-direct l4=6 app=8 file s2c name=new.txt "
	      "user=bob@b.example size=21\n");
}

static void test_direct(void **unused)
{
	static const struct transfer_label label = {.what = TRANSFER_FILE,
		.half = HALF_C2S,
		.file = "new.txt",
		.user = "bob",
		.size = 8};

	(void)unused;
	begin("between two clients");
	made_add((struct said)SAID_ANNOUNCED(label));
	{
		uint32_t from = made.length;

		made_put("\4\0\0\0foo", 8);
		made_say(HALF_C2S, from);
	}
	say_direct(HALF_C2S, (struct frame){.flags = 0x100}, "", 0);
	say_direct(HALF_S2C, (struct frame){.flags = 0x100}, "", 0);
	say_direct(HALF_C2S, (struct frame){.session = 5, .total = 8, .flags = FILE_FLAGS},
		"all of", 6);
	say_direct(HALF_C2S, (struct frame){.session = 5, .at = 6, .total = 8, .flags = FILE_FLAGS},
		"it", 2);
	say_direct(HALF_S2C, (struct frame){.flags = 2}, "", 0);
	check("file 1 c2s offer name=new.txt user=bob size=8\n"
	      "end 1 CLOSED 112+60 all ofit\n");
	begin("with the rest of a file, and a gap in it; then one that takes a frame's head");
	say_direct(HALF_C2S, (struct frame){.flags = 0x100}, "", 0);
	say_direct(HALF_C2S,
		(struct frame){
			.session = 5, .at = 6, .total = 12, .length = 6, .flags = FILE_FLAGS},
		"it", 2);
	made.bytes[made.conversation.said[0].length] = 48 + 6;
	made_add((struct said)SAID_GAP(HALF_C2S, 4));
	made_add((struct said)SAID_GAP(HALF_C2S, 4));
	check("file 1 c2s none from=6\n"
	      "note c2s lost @110\n"
	      "end 1 TRUNCATED 104+0 it\n");
	begin("frames that are too long");
	say_text(HALF_C2S, "\4");
	{
		uint32_t from = made.length;

		made_put("\0\0\0foo\0\xff\xff\xff\xff", 11);
		made_say(HALF_C2S, from);
	}
	check("note c2s bad_length @8\n");
}

static void test_version_2(void **unused)
{
	const char *text = invite(FILE_GUID, "77", CONTEXT);
	uint32_t length = (uint32_t)strlen(text);
	uint32_t from;

	(void)unused;
	begin("between places of two accounts");
	say_v2(HALF_S2C, 1, 1, 0, length - 200, text, 200);
	say_v2(HALF_S2C, 0, 1, 0, 0, text + 200, length - 200);
	say_v2(HALF_S2C, 7, 2, 77, 10, "all of it, ", 11);
	say_v2(HALF_S2C, 6, 2, 77, 0, "as it was.", 10);
	check("file 1 s2c offer elsewhere name=new.txt user=bob@b.example size=21\n"
	      "file 2 s2c offer name=new.txt user=bob@b.example size=21\n"
	      "end 2 CLOSED 735+150 all of it, as it was.\n");
	begin("a head that is too long, and a message that goes beyond its frame");
	from = made.length;
	made_put_text("MSG b@b.example B 78\r\nContent-Type: application/x-msnmsgrp2p\r\nP2P-Dest: "
		      "a;{1}\r\n"
		      "\r\n\xff"
		      "123456789012345678");
	made_say(HALF_S2C, from);
	from = made.length;
	made_put_text("MSG b@b.example B 98\r\nContent-Type: application/x-msnmsgrp2p\r\nP2P-Dest: "
		      "a;{1}\r\n\r\n");
	made_put("\x08\2\0\xff\0\0\0\0\x08\7\0\1\0\0\0\5", 16);
	made_put_text("all of it, and a footer");
	made_say(HALF_S2C, from);
	check("note s2c bad_length @0\n"
	      "file 1 s2c none\n"
	      "end 1 CLOSED 197+23 all of it, and a footer\n");
	begin("of version 2 between two clients");
	from = made.length;
	made_put("\4\0\0\0foo", 8);
	made_put_le(12 + 8 + 9, 4);
	put_v2(7, 1, 5, 0, "all of it", 9);
	made_say(HALF_C2S, from);
	check("file 1 c2s none\n"
	      "end 1 CLOSED 32+9 all of it\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_switchboard),
		cmocka_unit_test(test_invite_in_frames),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_sessions),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_direct),
		cmocka_unit_test(test_version_2),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
