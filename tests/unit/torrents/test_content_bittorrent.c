// SPDX-License-Identifier: BSD-3-Clause
// BitTorrent's peer wire: handshakes and the torrent that each end names, messages and their
// framing, what is encrypted or in uTP.
#include "content/decoders.h"
#include "lib/content/bittorrent_talk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define HASH  "0123456789abcdefghij"
#define OTHER "klmnopqrstuvwxyz0123"
#define NAMED "btih:303132333435363738396162636465666768696a\n"
#define THEN  "btih:6b6c6d6e6f707172737475767778797a30313233\n"
#define FIFTY "01234567890123456789012345678901234567890123456789"

static const struct conversation handshakes[] = {
	{"both ends name the torrent",
		{SAID_C(LEAD HASH PEER KEEP_ALIVE), SAID_S(LEAD HASH PEER KEEP_ALIVE)},
		"id c2s " NAMED "id s2c " NAMED},
	{"each end names its own", {SAID_C(LEAD HASH PEER), SAID_S(LEAD OTHER PEER)},
		"id c2s " NAMED "id s2c " THEN},
	{"the responder alone", {SAID_C("x"), SAID_S(LEAD HASH PEER)},
		"note c2s encrypted @0\nid s2c " NAMED},
	{"a second handshake is none", {SAID_C(LEAD HASH PEER LEAD OTHER PEER)},
		"id c2s " NAMED "note c2s bad_length @68\n"},
	{"nothing behind the hash", {SAID_C(LEAD HASH), SAID_FIN(HALF_C2S)}, "id c2s " NAMED},
	{"an end within the hash", {SAID(HALF_C2S, SPAN_FIN, LEAD "0123456789abcdefghi")}, ""},
	{"an end within its first bytes",
		{SAID(HALF_C2S, SPAN_FIN,
			"\x13"
			"BitTorr")},
		""},
	{"another protocol",
		{SAID_C("\x13"
			"BitTorrent protocoL\0\0\0\0\0\0\0\0" HASH)},
		"note c2s encrypted @0\n"},
	{"another length",
		{SAID_C("\x14"
			"BitTorrent protocol\0\0\0\0\0\0\0\0" HASH)},
		"note c2s encrypted @0\n"},
	{"a gap within the hash",
		{SAID_C(LEAD "01234"), SAID_GAP(HALF_C2S, 5), SAID_C("abcdefghij" PEER)},
		"note c2s lost @33\n"},
	{"a gap in front", {SAID_GAP(HALF_S2C, 1), SAID_S(LEAD HASH PEER)}, "note s2c lost @0\n"},
	{"met midway", {SAID_MIDSTREAM(HALF_C2S, LEAD HASH PEER), SAID_S(LEAD HASH PEER)},
		"note c2s lost @1000\nid s2c " NAMED},
	{"nobody can be followed any more",
		{SAID_GAP(HALF_S2C, 1), SAID_C(LEAD HASH PEER), SAID_GAP(HALF_C2S, 9),
			SAID_C("more"), SAID_S("more")},
		"note s2c lost @0\nid c2s " NAMED "note c2s lost @68\n"},
};

#define OPEN SAID_C(LEAD ONE_HASH PEER), SAID_S(LEAD ONE_HASH PEER)
#define IDS  "id c2s btih:" ONE_HEX "\nid s2c btih:" ONE_HEX "\n"
#define HEAD "file 1 s2c offer name=setup.exe size=40 whole=btih:" ONE_HEX " pieces=3\n"
#define ALL                                           \
	PIECE("\x19", "\0", "\0", "abcdefghijklmnop") \
	PIECE("\x19", "\1", "\0", "ABCDEFGHIJKLMNOP") PIECE("\x11", "\2", "\0", "01234567")

static const struct conversation messages[] = {
	{"a block among all others",
		{SAID_TORRENT(ONE), OPEN,
			SAID_C("\0\0\0\1\2" KEEP_ALIVE "\0\0\0\x0d\6\0\0\0\0\0\0\0\0\0\0\0\x10"),
			SAID_S("\0\0\0\2\5\xe0\0\0\0\1\x0e\0\0\0\1\x0f\0\0\0\5\4\0\0\0\1\0\0\0\3"
			       "\x09"
			       "\x1a\xe1\0\0\0\5\x0d\0\0\0\0\0\0\0\5\x11\0\0\0\0\0\0\0\x0d\x10\0\0"
			       "\0"
			       "\0\0\0\0\0\0\0\0\x10\0\0\0\x0d\x08\0\0\0\0\0\0\0\0\0\0\0"
			       "\x10" KEEP_ALIVE),
			SAID_S("\0\0\0\x33\x15" FIFTY "\0\0\0\x33\x17" FIFTY), SAID_S(ALL)},
		IDS "file 1 s2c offer name=setup.exe size=40 whole=btih:" ONE_HEX " pieces=3\n"
		    "end 1 CLOSED 279+66 abcdefghijklmnopABCDEFGHIJKLMNOP01234567\n"},
	{"kinds that nobody knows",
		{SAID_TORRENT(ONE), OPEN, SAID_S("\0\0\0\x33\xff" FIFTY "\0\0\0\1\x63" ALL)},
		IDS HEAD "end 1 CLOSED 141+66 abcdefghijklmnopABCDEFGHIJKLMNOP01234567\n"},
	{"blocks without bytes, and without a head",
		{SAID_TORRENT(ONE), OPEN,
			SAID_S("\0\0\0\x09\7\0\0\0\0\0\0\0\0"
			       "\0\0\0\5\7\0\0\0\0\0\0\0\1\7" ALL)},
		IDS HEAD "end 1 CLOSED 108+66 abcdefghijklmnopABCDEFGHIJKLMNOP01234567\n"},
	{"the longest message", {OPEN, SAID_S("\0\x10\0\0\5"), SAID_FIN(HALF_S2C)}, IDS},
	{"a longer one", {OPEN, SAID_S("\0\x10\0\1\5" ALL)}, IDS "note s2c bad_length @68\n"},
	{"a gap in what is skipped",
		{SAID_TORRENT(ONE), OPEN, SAID_S("\0\0\0\x0b\5"), SAID_GAP(HALF_S2C, 10),
			SAID_S(ALL)},
		IDS HEAD "end 1 CLOSED 96+66 abcdefghijklmnopABCDEFGHIJKLMNOP01234567\n"},
	{"a gap over the end of a message",
		{SAID_TORRENT(ONE), OPEN, SAID_S("\0\0\0\x0b\5"), SAID_GAP(HALF_S2C, 11),
			SAID_S(ALL)},
		IDS "note s2c lost @83\n"},
};

static const struct conversation hidden[] = {
	{"encrypted from the first byte", {SAID_C(FIFTY FIFTY), SAID_S(FIFTY FIFTY)},
		"note c2s encrypted @0\n"},
	{"encrypted, and agreed on plaintext: who answers is read",
		{SAID_TORRENT(ONE), SAID_C(FIFTY FIFTY),
			SAID_S(FIFTY "\x13"
				     "Bit" FIFTY),
			SAID_S("\x13" LEAD ONE_HASH PEER ALL)},
		"note c2s encrypted @0\nid s2c btih:" ONE_HEX "\n"
		"file 1 s2c offer name=setup.exe size=40 whole=btih:" ONE_HEX " pieces=3\n"
		"end 1 CLOSED 186+66 abcdefghijklmnopABCDEFGHIJKLMNOP01234567\n"},
	{"uTP is said when it is sure",
		{SAID_DATAGRAM_C("\x41\0" UTP_HEADER), SAID_DATAGRAM_S("\x21\0" UTP_HEADER),
			SAID_DATAGRAM_C("\1\0" UTP_HEADER LEAD HASH PEER)},
		"note c2s utp @20\n"},
	{"the DHT and trackers are none",
		{SAID_DATAGRAM_C("d1:ad2:id20:0123456789abcdefghij"),
			SAID_DATAGRAM_C("\1\0" UTP_HEADER), SAID_DATAGRAM_C("\x51\0" UTP_HEADER),
			SAID_DATAGRAM_C("\x42\0" UTP_HEADER), SAID_DATAGRAM_C("\x41\4" UTP_HEADER),
			SAID_DATAGRAM_C("\x41"),
			SAID_DATAGRAM_S("\0\0\4\x17\x27\x10\x19\x80" UTP_HEADER)},
		""},
};

static void a_handshake_names_its_torrent(void **state)
{
	(void)state;
	conversations_check(
		&content_bittorrent, handshakes, sizeof(handshakes) / sizeof(*handshakes));
}

static void messages_are_framed(void **state)
{
	(void)state;
	conversations_check(&content_bittorrent, messages, sizeof(messages) / sizeof(*messages));
}

static void what_is_hidden_is_said(void **state)
{
	(void)state;
	conversations_check(&content_bittorrent, hidden, sizeof(hidden) / sizeof(*hidden));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_handshake_names_its_torrent),
		cmocka_unit_test(messages_are_framed),
		cmocka_unit_test(what_is_hidden_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
