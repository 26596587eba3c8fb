// SPDX-License-Identifier: BSD-3-Clause
// Soulseek: chat by the server, messages between clients, answers to searches, files.
#include "content/decoders.h"
#include "lib/content/at_once.h"
#include "lib/content/conversation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <zlib.h>

#define LOGIN                                                         \
	"\x3d\0\0\0\1\0\0\0\3\0\0\0bob\2\0\0\0pw\xa0\0\0\0\x20\0\0\0" \
	"9e8d841b85194ee7f744743a8f23d4a8\1\0\0\0"
#define WELCOME "\x0c\0\0\0\1\0\0\0\1\3\0\0\0hey"
#define INIT_P  "\x11\0\0\0\1\3\0\0\0bob\1\0\0\0P\0\0\0\0"
#define INIT_F  "\x11\0\0\0\1\3\0\0\0bob\1\0\0\0F\0\0\0\0"
#define INIT_D  "\x11\0\0\0\1\3\0\0\0bob\1\0\0\0D\0\0\0\0"
#define PIERCE  "\5\0\0\0\0\x11\x22\x33\x44"
#define PATH    "\x0e\0\0\0@@x\\dir\\a.flac"
#define OFFER   "\x26\0\0\0\x28\0\0\0\1\0\0\0\x07\0\0\0" PATH "\5\0\0\0\0\0\0\0"
#define QUEUE   "\x16\0\0\0\x2b\0\0\0" PATH
#define REPLY   "\x09\0\0\0\x29\0\0\0\x07\0\0\0\1"

static const struct conversation talks[] = {
	{"a room, a user, several of them, a ticker",
		{SAID_C(LOGIN), SAID_S(WELCOME),
			SAID_C("\x18\0\0\0\x0d\0\0\0\4\0\0\0lake\x08\0\0\0hi there"),
			SAID_S("\x1b\0\0\0\x0d\0\0\0\4\0\0\0lake\3\0\0\0ann\4\0\0\0yo\xc3\xa9"),
			SAID_C("\x16\0\0\0\x16\0\0\0\3\0\0\0ann\7\0\0\0private"),
			SAID_S("\x1b\0\0\0\x16\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0ann\3\0\0\0yes\1"),
			SAID_C("\x1c\0\0\0\x95\0\0\0\2\0\0\0\3\0\0\0ann\2\0\0\0jo\3\0\0\0all"),
			SAID_C("\x13\0\0\0\x74\0\0\0\4\0\0\0lake\3\0\0\0sea"),
			SAID_S("\x0a\0\0\0\x42\0\0\0\2\0\0\0up"),
			SAID_S("\x0c\0\0\0\x07\0\0\0\3\0\0\0ann\1")},
		"message c2s from=bob to=lake 85+8 of 85+8 text=hi there\n"
		"message s2c from=ann to=lake 43+4 of 43+4 text=yo\\c3\\a9\n"
		"message c2s from=bob to=ann 112+7 of 112+7 text=private\n"
		"message s2c from=ann to=bob 74+3 of 74+3 text=yes\n"
		"message c2s from=bob to=jo 148+3 of 148+3 text=all\n"
		"message c2s from=bob to=lake 171+3 of 171+3 text=sea\n"
		"message s2c to=bob 90+2 of 90+2 text=up\n"},
	{"numbers that lie",
		{SAID_C(LOGIN), SAID_C("\x0c\0\0\0\x0d\0\0\0\4\0\0\0lake"),
			SAID_C("\x10\0\0\0\x0d\0\0\0\4\0\0\0lake\xff\xff\xff\xff"),
			SAID_C("\0\0\0\0\2\0\0\0\x0d\0"
			       "\x0c\0\0\0\x95\0\0\0\xff\xff\xff\xff\1\0\0\0"),
			SAID_C("\x13\0\0\0\x0d\0\0\0\4\0\0\0lake\3\0\0\0sea"),
			SAID_S("\xff\xff\xff\xff\x0d\0\0\0x")},
		"message c2s from=bob to=lake 147+3 of 147+3 text=sea\n"
		"note s2c bad_length @0\n"},
	{"a gap in a message, and beyond one",
		{SAID_C(LOGIN), SAID_C("\x13\0\0\0\x0d\0\0\0\4\0\0"), SAID_GAP(HALF_C2S, 12),
			SAID_C("\x13\0\0\0\x0d\0\0\0\4\0\0\0lake\3\0\0\0sea"),
			SAID_GAP(HALF_C2S, 1),
			SAID_C("\x13\0\0\0\x0d\0\0\0\4\0\0\0lake\3\0\0\0sea"),
			SAID_S("\x0a\0\0\0\x42\0\0\0\2\0\0\0up")},
		"message c2s from=bob to=lake 108+3 of 108+3 text=sea\n"
		"note c2s lost @111\n"
		"message s2c to=bob 12+2 of 12+2 text=up\n"},
	{"what is none", {SAID_C("GET / HTTP/1.1\r\n"), SAID_S("\x0a\0\0\0\x42\0\0\0\2\0\0\0up")},
		""},
	{"who is not heard", {SAID_S(WELCOME), SAID_C(LOGIN)}, ""},
	{"joined", {SAID_MIDSTREAM(HALF_S2C, "\x0a\0\0\0\x42\0\0\0\2\0\0\0up")}, ""},
};

static const struct conversation peers[] = {
	{"an offer by who has connected, and what is wanted",
		{SAID_C(INIT_P OFFER), SAID_S(REPLY QUEUE)},
		"file 1 c2s offer elsewhere name=a.flac path=@@x\\5cdir\\5c size=5\n"
		"expect 10.0.0.2:2121 from 10.0.0.1 as soulseek-file l4=6 app=8 file c2s "
		"name=@@x\\5cdir\\5ca.flac size=5\n"},
	{"an offer by who was called", {SAID_C(INIT_P QUEUE), SAID_S(OFFER), SAID_C(REPLY)},
		"file 1 s2c offer elsewhere name=a.flac path=@@x\\5cdir\\5c size=5\n"},
	{"behind a firewall: who had asked speaks first",
		{SAID_C(PIERCE), SAID_S(OFFER QUEUE), SAID_C(REPLY OFFER)},
		"file 1 s2c offer elsewhere name=a.flac path=@@x\\5cdir\\5c size=5\n"
		"file 2 c2s offer elsewhere name=a.flac path=@@x\\5cdir\\5c size=5\n"
		"expect 10.0.0.2:2121 from 10.0.0.1 as soulseek-file l4=6 app=8 file c2s "
		"name=@@x\\5cdir\\5ca.flac size=5\n"},
	{"behind a firewall: who has come speaks first",
		{SAID_C(PIERCE OFFER), SAID_S(REPLY OFFER)},
		"file 1 c2s offer elsewhere name=a.flac path=@@x\\5cdir\\5c size=5\n"
		"expect 10.0.0.2:2121 from 10.0.0.1 as soulseek-file l4=6 app=8 file c2s "
		"name=@@x\\5cdir\\5ca.flac size=5\n"
		"file 2 s2c offer elsewhere name=a.flac path=@@x\\5cdir\\5c size=5\n"},
	{"behind a firewall: both at once",
		{SAID_C(PIERCE "\x26\0\0\0\x28"), SAID_S("\x26\0\0\0\x28\0\0"),
			SAID_C("\0\0\0\1\0\0\0\x07\0\0\0" PATH "\5\0\0\0\0\0\0\0"),
			SAID_S("\0\1\0\0\0\x07\0\0\0" PATH "\6\0\0\0\0\0\0\0")},
		"file 1 c2s offer elsewhere name=a.flac path=@@x\\5cdir\\5c size=5\n"
		"expect 10.0.0.2:2121 from 10.0.0.1 as soulseek-file l4=6 app=8 file c2s "
		"name=@@x\\5cdir\\5ca.flac size=5\n"
		"file 2 s2c offer elsewhere name=a.flac path=@@x\\5cdir\\5c size=6\n"},
	{"the distributed network", {SAID_C(INIT_D OFFER)}, ""},
	{"behind a firewall: nothing that is known",
		{SAID_C(PIERCE), SAID_S("\x09\0\0\0\3\x31\0\0\0")}, ""},
};

static const struct transfer_label label = {
	.what = TRANSFER_FILE, .half = HALF_C2S, .file = "@@x\\dir\\a.flac", .size = 5};

static const struct conversation files[] = {
	{"announced",
		{SAID_ANNOUNCED(label), SAID_C(INIT_F "\x07\0\0\0"), SAID_S("\0\0\0\0\0\0\0\0"),
			SAID_C("abc"), SAID_C("defg")},
		"file 1 c2s command name=a.flac path=@@x\\5cdir\\5c size=5\n"
		"end 1 CLOSED 25+5 abcde\n"},
	{"announced, from its middle on",
		{SAID_ANNOUNCED(label), SAID_C(INIT_F "\x07\0\0\0"), SAID_S("\2\0\0\0\0\0\0\0"),
			SAID_C("cde"), SAID_FIN(HALF_S2C)},
		"file 1 c2s command name=a.flac path=@@x\\5cdir\\5c size=5 from=2\n"
		"end 1 CLOSED 25+3 cde\n"},
	{"not announced",
		{SAID_C(INIT_F "\x07\0\0\0"), SAID_S("\0\0\0\0\0\0\0\0"), SAID_C("abc"),
			SAID_FIN(HALF_C2S)},
		"file 1 c2s none\n"
		"end 1 CLOSED 25+3 abc\n"},
	{"behind a firewall",
		{SAID_C(PIERCE), SAID_S("\x07\0\0\0"), SAID_C("\0\0\0\0\0\0\0\0"), SAID_S("abc"),
			SAID_GAP(HALF_S2C, 2), SAID_S("f"), SAID_FIN(HALF_S2C)},
		"file 1 s2c none\n"
		"end 1 TRUNCATED 4+6 lost=2 abc__f\n"},
	{"cut", {SAID_C(INIT_F "\x07\0"), SAID_C("\0\0"), SAID_S("\0\0\0\0"), SAID_C("ab")},
		"file 1 c2s none\n"
		"end 1 TRUNCATED 25+2 ab\n"},
};

// ---- answers to searches ----

#define RECORD(text) "\1" text
static const char results[] = "\3\0\0\0ann\x01\x02\x03\x04\3\0\0\0" RECORD(
	PATH "\x39\x05\0\0\0\0\0\0\4\0\0\0flac\2\0\0\0\0\0\0\0\xc0\0\0\0\1\0\0\0\x10\0\0\0")
	RECORD("\5\0\0\0b.exe\1\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0")
		RECORD("\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0") "\1\1\0\0\0\2\0"
										   "\0\0\0\0\0\0\0";

static uint8_t packed[8192];

static void check_results(
	const char *name, const void *bytes, uint32_t length, uint32_t cut, const char *expected)
{
	uLongf n = sizeof(packed) - 8;

	assert_int_equal(compress2(packed + 8, &n, bytes, length, 9), Z_OK);
	n -= cut;
	const uint8_t head[] = {(uint8_t)(n + 4), (uint8_t)((n + 4) >> 8), 0, 0, 9, 0, 0, 0};

	memcpy(packed, head, sizeof(head));
	conversations_check(&content_soulseek,
		&(struct conversation){name,
			{SAID_C(INIT_P), SAID_BYTES(HALF_C2S, 0, (uint32_t)n + 8, packed),
				SAID_C(OFFER)},
			expected},
		1);
}

#define OFFERED                                                                    \
	"offer elsewhere name=a.flac path=@@x\\5cdir\\5c size=5\n"                 \
	"expect 10.0.0.2:2121 from 10.0.0.1 as soulseek-file l4=6 app=8 file c2s " \
	"name=@@x\\5cdir\\5ca.flac size=5\n"

// A few bytes may unpack to thousands of files: one call tells no more than its budget allows.
static void test_many_results(void **state)
{
	enum { FILES = 3000 };
	static const char record[] = RECORD("\1\0\0\0a\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
	static uint8_t many[15 + FILES * (sizeof(record) - 1)];
	uLongf n = sizeof(packed) - 8;

	(void)state;
	memcpy(many, "\3\0\0\0ann\1\2\3\4\xb8\x0b\0\0", 15);
	for (unsigned i = 0; i < FILES; i++)
		memcpy(many + 15 + i * (sizeof(record) - 1), record, sizeof(record) - 1);
	assert_int_equal(compress2(packed + 8, &n, many, sizeof(many), 9), Z_OK);
	assert_true(n < 1000);
	const uint8_t head[] = {(uint8_t)(n + 4), (uint8_t)((n + 4) >> 8), 0, 0, 9, 0, 0, 0};

	memcpy(packed, head, sizeof(head));
	const struct said said[] = {
		SAID_C(INIT_P), SAID_BYTES(HALF_C2S, 0, (uint32_t)n + 8, packed)};
	struct at_once told = at_once(&content_soulseek, said, 2, 10 * CONTENT_TOLD_BYTES);

	assert_int_equal(told.all, FILES);
	assert_int_equal(told.most, 10);
}

static void test_results(void **state)
{
	static uint8_t zeros[4 << 20], name[6000];

	(void)state;
	check_results("an answer", results, sizeof(results) - 1, 0,
		"file 1 c2s offer elsewhere name=a.flac path=@@x\\5cdir\\5c user=ann size=1337\n"
		"file 2 c2s offer elsewhere name=b.exe user=ann size=4294967297\n"
		"file 3 c2s " OFFERED);
	check_results("it is cut", results, sizeof(results) - 1, 40,
		"file 1 c2s offer elsewhere name=a.flac path=@@x\\5cdir\\5c user=ann size=1337\n"
		"file 2 c2s " OFFERED);
	check_results("a bomb", zeros, sizeof(zeros), 0, "note c2s bomb @21\nfile 1 c2s " OFFERED);
	memcpy(name, "\3\0\0\0ann\1\2\3\4\1\0\0\0\1\x60\x17\0\0", 20);
	check_results("a name that is too long", name, sizeof(name), 0,
		"note c2s head_too_long @21\nfile 1 c2s " OFFERED);
	conversations_check(&content_soulseek,
		&(struct conversation){"an answer that is not packed",
			{SAID_C(INIT_P
				"\x0c\0\0\0\x09\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff" OFFER)},
			"note c2s coding_lies @21\nfile 1 c2s " OFFERED},
		1);
}

static void test_long_message(void **state)
{
	static uint8_t message[6000 + 8] = "\x74\x17\0\0\x0d\0\0\0";
	struct conversation conversation = {"a message that is too long",
		{SAID_C(LOGIN), SAID_BYTES(HALF_C2S, 0, sizeof(message), message),
			SAID_C("\x13\0\0\0\x0d\0\0\0\4\0\0\0lake\3\0\0\0sea")},
		"note c2s head_too_long @65\n"
		"message c2s from=bob to=lake 6093+3 of 6093+3 text=sea\n"};

	(void)state;
	conversations_check(&content_soulseek, &conversation, 1);
}

#define TEST(table)                                                                            \
	static void test_##table(void **state)                                                 \
	{                                                                                      \
		(void)state;                                                                   \
		conversations_check(&content_soulseek, table, sizeof(table) / sizeof(*table)); \
	}
TEST(talks)
TEST(peers)
TEST(files)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_talks),
		cmocka_unit_test(test_peers),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_results),
		cmocka_unit_test(test_many_results),
		cmocka_unit_test(test_long_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
