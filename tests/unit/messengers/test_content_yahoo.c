// SPDX-License-Identifier: BSD-3-Clause
// Yahoo! Messenger: who writes to whom, in which packets; files that are offered; packets that are
// none.
#include "content/decoders.h"
#include "lib/content/made.h"

#include <stdio.h>

// A key and its value.
#define KEY(key, value)          key "\xc0\x80" value "\xc0\x80"
#define SAY(half, service, body) say_packet(half, service, body, sizeof(body) - 1)

static void put_packet(unsigned service, const void *body, size_t length)
{
	made_put("YMSG\0\x10\0\0", 8);
	made_put_be(length, 2);
	made_put_be(service, 2);
	made_put_be(1, 4);
	made_put_be(7, 4);
	made_put(body, length);
}

static void say_packet(unsigned half, unsigned service, const void *body, size_t length)
{
	uint32_t from = made.length;

	put_packet(service, body, length);
	made_say(half, from);
}

static void check(const char *expected)
{
	made_check(&content_yahoo, expected);
}

static void test_messages(void **unused)
{
	(void)unused;
	made_begin("both ways, with markup, and the names behind the text");
	SAY(HALF_C2S, 6, KEY("1", "anna") KEY("5", "bob") KEY("14", "hi there") KEY("97", "1"));
	SAY(HALF_S2C, 6,
		KEY("5", "anna") KEY("4", "bob")
			KEY("14", "\033[1m<font size=\"9\">blue\033[#ff0000mbird</font> & <3"));
	SAY(HALF_S2C, 6, KEY("14", "late") KEY("97", "1") KEY("5", "anna") KEY("4", "carl"));
	check("message c2s from=anna to=bob 41+8 of 41+8 text=hi there\n"
	      "message s2c from=bob to=anna 41+49 of 41+49 text=bluebird & <3\n"
	      "message s2c from=carl to=anna 116+4 of 116+4 text=late\n");
	made_begin("several in one packet, those that waited");
	SAY(HALF_S2C, 6,
		KEY("31", "6") KEY("4", "bob") KEY("5", "anna") KEY("14", "one") KEY("15", "123")
			KEY("31", "6") KEY("4", "carl") KEY("5", "anna") KEY("14", "two")
				KEY("14", "three"));
	check("message s2c from=bob to=anna 48+3 of 48+3 text=one\n"
	      "message s2c from=carl to=anna 91+3 of 91+3 text=two\n"
	      "message s2c from=carl to=anna 100+5 of 100+5 text=three\n");
	made_begin("conferences, rooms, contacts, and what is said of being away");
	SAY(HALF_S2C, 0x18,
		KEY("1", "anna") KEY("57", "bob-1") KEY("50", "bob") KEY("58", "join us"));
	SAY(HALF_C2S, 0x1d,
		KEY("1", "anna") KEY("53", "bob") KEY("57", "bob-1") KEY("14", "hello all"));
	SAY(HALF_S2C, 0x1d, KEY("57", "bob-1") KEY("3", "bob") KEY("14", "hi"));
	SAY(HALF_S2C, 0x1a, KEY("57", "bob-1") KEY("54", "carl") KEY("14", "not now"));
	SAY(HALF_C2S, 0xa8,
		KEY("1", "anna") KEY("104", "Lake:1") KEY("117", "out") KEY("124", "1"));
	SAY(HALF_S2C, 0xa8, KEY("104", "Lake:1") KEY("109", "bob") KEY("117", "in"));
	SAY(HALF_C2S, 0x83, KEY("1", "anna") KEY("7", "dora") KEY("14", "add me"));
	SAY(HALF_C2S, 0xc6, KEY("10", "99") KEY("19", "at lunch"));
	check("message s2c from=bob to=bob-1 53+7 of 53+7 text=join us\n"
	      "message c2s from=anna to=bob-1 53+9 of 53+9 text=hello all\n"
	      "message s2c from=bob to=bob-1 105+2 of 105+2 text=hi\n"
	      "message s2c from=carl to=bob-1 154+7 of 154+7 text=not now\n"
	      "message c2s from=anna to=Lake:1 111+3 of 111+3 text=out\n"
	      "message s2c from=bob to=Lake:1 211+2 of 211+2 text=in\n"
	      "message c2s from=anna to=dora 166+6 of 166+6 text=add me\n"
	      "message c2s 206+8 of 206+8 text=at lunch\n");
	made_begin("typing, lists, and texts of no message");
	SAY(HALF_C2S, 0x4b, KEY("1", "anna") KEY("5", "bob") KEY("14", " ") KEY("49", "TYPING"));
	SAY(HALF_S2C, 0x55, KEY("87", "words"));
	SAY(HALF_S2C, 0x06, KEY("5", "anna") KEY("4", "bob") KEY("14", ""));
	check("");
}

static void test_files(void **unused)
{
	(void)unused;
	made_begin("several of the newer way, one of the older, and where one is");
	SAY(HALF_S2C, 0xdc,
		KEY("5", "anna") KEY("4", "bob") KEY("265", "token") KEY("222", "1") KEY("266", "2")
			KEY("27", "a.exe") KEY("28", "9") KEY("27", "C:\\b.txt") KEY("28", "x"));
	SAY(HALF_C2S, 0x46,
		KEY("1", "anna") KEY("5", "bob") KEY("14", "look") KEY("27", "c.zip")
			KEY("28", "77") KEY("20", "http://10.0.0.1/c"));
	SAY(HALF_S2C, 0xdd,
		KEY("4", "bob") KEY("27", "a.exe") KEY("249", "3") KEY("250", "10.0.0.9")
			KEY("251", "x"));
	check("file 1 s2c offer elsewhere name=a.exe user=bob size=9\n"
	      "file 2 s2c offer elsewhere name=b.txt path=C:\\5c user=bob\n"
	      "message c2s from=anna to=bob 41+4 of 41+4 text=look\n"
	      "file 3 c2s offer elsewhere name=c.zip user=anna size=77\n"
	      "file 4 s2c offer elsewhere name=a.exe user=bob\n");
}

static void test_packets(void **unused)
{
	uint32_t from;

	(void)unused;
	made_begin("values without an end, keys that are no numbers");
	SAY(HALF_C2S, 6,
		"1\xc0\x80"
		"anna\xc0\x80"
		"x\xc0\x80"
		"y\xc0\x80"
		"14\xc0\x80"
		"words");
	SAY(HALF_C2S, 6, "14");
	SAY(HALF_C2S, 6, "");
	check("note c2s bad_line @0\n"
	      "message c2s from=anna 39+5 of 39+5 text=words\n");
	made_begin("what is no packet, and gaps");
	SAY(HALF_C2S, 6, KEY("14", "one"));
	from = made.length;
	made_put("YMSYMS", 6);
	made_say(HALF_C2S, from);
	SAY(HALF_C2S, 6, KEY("14", "two"));
	from = made.length;
	made_put("YMSG\0\x10\0\0\0\x20\0\6\0\0\0\0\0\0\0\0"
		 "14",
		22);
	made_say(HALF_C2S, from);
	made_add((struct said)SAID_GAP(HALF_C2S, 0x20 - 2));
	SAY(HALF_C2S, 6, KEY("14", "three"));
	made_add((struct said)SAID_GAP(HALF_C2S, 9));
	from = made.length;
	made_put("rest of a packet", 16);
	made_say(HALF_C2S, from);
	SAY(HALF_C2S, 6, KEY("14", "four"));
	check("message c2s 24+3 of 24+3 text=one\n"
	      "note c2s bad_line @29\n"
	      "message c2s 59+3 of 59+3 text=two\n"
	      "message c2s 140+5 of 140+5 text=three\n"
	      "message c2s 196+4 of 196+4 text=four\n");
	made_begin("one that is too long");
	{
		static uint8_t body[16400];

		memset(body, 'x', sizeof(body));
		memcpy(body, "14\xc0\x80", 4);
		say_packet(HALF_C2S, 6, body, sizeof(body));
		SAY(HALF_C2S, 6, KEY("14", "short"));
	}
	check("note c2s head_too_long @0\n"
	      "message c2s 16444+5 of 16444+5 text=short\n");
	made_begin("joined in the middle");
	from = made.length;
	made_put_text("words");
	put_packet(6, KEY("14", "one"), sizeof(KEY("14", "one")) - 1);
	made_add((struct said)SAID_BYTES(
		HALF_S2C, SPAN_MIDSTREAM, made.length - from, made.bytes + from));
	check("message s2c 1029+3 of 1029+3 text=one\n");
}

static void test_long(void **unused)
{
	static char expected[200];
	static uint8_t body[9010];

	(void)unused;
	made_begin("a text that is longer than a message comes in two");
	memset(body, 'x', sizeof(body));
	memcpy(body, "14\xc0\x80", 4);
	memcpy(body + sizeof(body) - 2, "\xc0\x80", 2);
	say_packet(HALF_C2S, 6, body, sizeof(body));
	snprintf(expected, sizeof(expected),
		"message c2s 24+8192 of 24+8192 text=(8192)..xxxxxxxx\n"
		"message c2s 7716+1312 of 7716+1312 text=(1312)..xxxxxxxx\n");
	check(expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_packets),
		cmocka_unit_test(test_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
