// SPDX-License-Identifier: BSD-3-Clause
// Texts of TeamSpeak 2, by descriptions of the protocol.
#include "content/decoders.h"
#include "lib/content/conversation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define COMMAND(type, number, parts) "\xf0\xbe" type "SESSCLNT" number "\0\0\0\0\0" parts "\0CRC4"
#define OF_CLIENT                    "\xae\1"
#define OF_SERVER                    "\x82\0"
#define CHANNEL                      "\1\2\3\0\1\7\0\0\0" // colour, kind, for whom
#define BOB                          "\1\2\3\0\2\3bob12345678901234567890123456"
#define TEN                          "0123456789"
#define HUNDRED                      TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

static const struct conversation texts[] = {
	{"to a channel, and from somebody",
		{SAID_DATAGRAM_C(COMMAND(OF_CLIENT, "\5", "\0") CHANNEL "hello\0"),
			SAID_DATAGRAM_S(COMMAND(OF_SERVER, "\6", "\0") BOB "hi\0trailing")},
		"message c2s 33+5 of 0+39 blank=00 text=hello\n"
		"message s2c from=bob 59+2 of 0+70 blank=00 text=hi\n"},
	{"without its end, and with a name that is too long",
		{SAID_DATAGRAM_S(COMMAND(OF_SERVER, "\6", "\0") "\1\2\3\0\2\xff"
								"bob45678901234567890123456789"
								"hi")},
		"message s2c from=bob45678901234567890123456789 59+2 of 0+61 blank=00 text=hi\n"},
	{"nothing to read",
		{SAID_DATAGRAM_C(COMMAND(OF_CLIENT, "\5", "\0") CHANNEL "\0"),
			SAID_DATAGRAM_C(COMMAND(OF_CLIENT, "\5", "\0") CHANNEL),
			SAID_DATAGRAM_S(COMMAND(OF_SERVER, "\5", "\0") BOB),
			SAID_DATAGRAM_S(COMMAND("\x67\0", "\5", "\0") BOB "hi"),
			SAID_DATAGRAM_S("\xf1\xbe\x82\0SESSCLNT\5\0\0\0\0\0\0\0CRC4" BOB "hi"),
			SAID_DATAGRAM_S("\xf0"), SAID_GAP(HALF_S2C, 100)},
		""},
	{"in parts, which are put together",
		{SAID_DATAGRAM_C(COMMAND(OF_CLIENT, "\5", "\2") CHANNEL "the blue"),
			SAID_DATAGRAM_C(COMMAND(OF_CLIENT, "\6", "\1") "bird"),
			SAID_DATAGRAM_C(COMMAND(OF_CLIENT, "\7", "\0") " sings\0"),
			SAID_DATAGRAM_C(COMMAND(OF_CLIENT, "\x08", "\0") CHANNEL "next\0")},
		"message c2s 33+8 of 0+41 blank=00 text=the blue\n"
		"message c2s 65+4 of 41+28 blank=00 text=the bluebird\n"
		"message c2s 93+6 of 69+31 blank=00 text=the bluebird sings\n"
		"message c2s 133+4 of 100+38 blank=00 text=next\n"},
	{"a part that comes again, and one that is missing",
		{SAID_DATAGRAM_C(COMMAND(OF_CLIENT, "\5", "\2") CHANNEL "blue"),
			SAID_DATAGRAM_C(COMMAND(OF_CLIENT, "\5", "\2") CHANNEL "blue"),
			SAID_DATAGRAM_C(COMMAND(OF_CLIENT, "\7", "\0") "bird\0")},
		"message c2s 33+4 of 0+37 blank=00 text=blue\n"
		"message c2s 70+4 of 37+37 blank=00 text=blueblue\n"},
	{"the same command again",
		{SAID_DATAGRAM_C(COMMAND(OF_CLIENT, "\5", "\0") CHANNEL "hello\0"),
			SAID_DATAGRAM_C(COMMAND(OF_CLIENT, "\5", "\0") CHANNEL "hello\0")},
		"message c2s 33+5 of 0+39 blank=00 text=hello\n"
		"message c2s 72+5 of 39+39 blank=00 text=hello\n"},
	{"a text that is long",
		{SAID_DATAGRAM_C(COMMAND(OF_CLIENT, "\5", "\1") CHANNEL HUNDRED HUNDRED HUNDRED
				 HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED),
			SAID_DATAGRAM_C(COMMAND(OF_CLIENT, "\6", "\0") "end\0")},
		"message c2s 33+1024 of 0+1133 blank=00 text=(1024)..67890123\n"
		"message c2s 1057+76 of 0+1133 blank=00 text=(332)..23456789\n"
		"message c2s 1157+3 of 1133+28 blank=00 text=(259)..56789end\n"},
};

static void test_texts(void **state)
{
	(void)state;
	conversations_check(&content_teamspeak, texts, sizeof(texts) / sizeof(*texts));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
