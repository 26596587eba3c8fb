// SPDX-License-Identifier: BSD-3-Clause
// Handshakes of BitTorrent's peer wire: the torrent that each end names, and what is none.
#include "content/decoders.h"
#include "lib/content/conversation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define LEAD                        \
	"\x13"                      \
	"BitTorrent protocol\0\0\0" \
	"\0\0\x10\0\5"
#define HASH  "0123456789abcdefghij"
#define OTHER "klmnopqrstuvwxyz0123"
#define PEER  "-XX0001-abcdefghijkl"
#define KEEP  "\0\0\0\0"
#define NAMED "btih:303132333435363738396162636465666768696a\n"
#define THEN  "btih:6b6c6d6e6f707172737475767778797a30313233\n"

static const struct conversation handshakes[] = {
	{"both ends name the torrent", {SAID_C(LEAD HASH PEER KEEP), SAID_S(LEAD HASH PEER KEEP)},
		"id c2s " NAMED "id s2c " NAMED},
	{"each end names its own", {SAID_C(LEAD HASH PEER), SAID_S(LEAD OTHER PEER)},
		"id c2s " NAMED "id s2c " THEN},
	{"the responder alone", {SAID_C("x"), SAID_S(LEAD HASH PEER)}, "id s2c " NAMED},
	{"a second handshake is none", {SAID_C(LEAD HASH PEER LEAD OTHER PEER)}, "id c2s " NAMED},
	{"nothing behind the hash", {SAID_C(LEAD HASH), SAID_FIN(HALF_C2S)}, "id c2s " NAMED},
	{"an end within the hash", {SAID(HALF_C2S, SPAN_FIN, LEAD "0123456789abcdefghi")}, ""},
	{"another protocol",
		{SAID_C("\x13"
			"BitTorrent protocoL\0\0\0\0\0\0\0\0" HASH)},
		""},
	{"another length",
		{SAID_C("\x14"
			"BitTorrent protocol\0\0\0\0\0\0\0\0" HASH)},
		""},
	{"a gap within the hash",
		{SAID_C(LEAD "01234"), SAID_GAP(HALF_C2S, 5), SAID_C("abcdefghij" PEER)}, ""},
	{"a gap in front", {SAID_GAP(HALF_S2C, 1), SAID_S(LEAD HASH PEER)}, ""},
	{"met midway", {SAID_MIDSTREAM(HALF_C2S, LEAD HASH PEER), SAID_S(LEAD HASH PEER)},
		"id s2c " NAMED},
};

static void a_handshake_names_its_torrent(void **state)
{
	(void)state;
	conversations_check(
		&content_bittorrent, handshakes, sizeof(handshakes) / sizeof(*handshakes));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_handshake_names_its_torrent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
