// SPDX-License-Identifier: BSD-3-Clause
// BitTorrent's pieces: which files of the torrent they bring, and where in them; and what becomes
// of them where the files are not known, or become known while they come.
#include "content/decoders.h"
#include "lib/content/bittorrent_talk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define OPEN(name) SAID_C(LEAD name##_HASH PEER), SAID_S(LEAD name##_HASH PEER)
#define IDS(name)  "id c2s btih:" name##_HEX "\nid s2c btih:" name##_HEX "\n"
#define LETTERS    "abcdefghijklmnop"
#define CAPITALS   "ABCDEFGHIJKLMNOP"
#define FIRST      PIECE("\x19", "\0", "\0", LETTERS)
#define MIDDLE     PIECE("\x19", "\1", "\0", CAPITALS)
#define LAST       PIECE("\x11", "\2", "\0", "01234567")
#define SETUP(n, half) \
	"file " n " " half " offer name=setup.exe size=40 whole=btih:" ONE_HEX " pieces=3\n"
#define WHOLE LETTERS CAPITALS "01234567\n"
#define ALPHA(n, name, more, from)                                                        \
	"file " n " s2c offer name=" name " path=alpha/" more " whole=btih:" TWO_HEX from \
	"/30 pieces=2\n"

#define SECOND_REST "113d4f478f5901fa0e2fc26c"

static const struct conversation one_file[] = {
	{"in order", {SAID_TORRENT(ONE), OPEN(ONE), SAID_S(FIRST MIDDLE LAST)},
		IDS(ONE) SETUP("1", "s2c") "end 1 CLOSED 81+66 " WHOLE},
	{"in any order", {SAID_TORRENT(ONE), OPEN(ONE), SAID_S(LAST FIRST MIDDLE)},
		IDS(ONE) SETUP("1", "s2c") "end 1 CLOSED 81+66 " WHOLE},
	{"some of it", {SAID_TORRENT(ONE), OPEN(ONE), SAID_S(FIRST LAST)},
		IDS(ONE) SETUP("1", "s2c") "end 1 TRUNCATED 81+37 lost=16 " LETTERS
					   "________________01234567\n"},
	{"twice", {SAID_TORRENT(ONE), OPEN(ONE), SAID_S(FIRST LAST LAST FIRST MIDDLE)},
		IDS(ONE) SETUP("1", "s2c") "end 1 CLOSED 81+116 " WHOLE},
	{"again when it was whole",
		{SAID_TORRENT(ONE), OPEN(ONE), SAID_S(FIRST MIDDLE LAST MIDDLE)},
		IDS(ONE) SETUP("1", "s2c") "end 1 CLOSED 81+66 " WHOLE SETUP("2",
			"s2c") "end 2 TRUNCATED 160+16 lost=16 ________________" CAPITALS "\n"},
	{"by either end",
		{SAID_TORRENT(ONE), OPEN(ONE), SAID_S(FIRST), SAID_C(LAST), SAID_S(MIDDLE),
			SAID_C(FIRST)},
		IDS(ONE) SETUP("1", "s2c")
			SETUP("2", "c2s") "end 1 TRUNCATED 81+45 " LETTERS CAPITALS
					  "\nend 2 TRUNCATED 81+37 lost=16 " LETTERS
					  "________________01234567\n"},
	{"blocks that begin within a piece",
		{SAID_TORRENT(ONE), OPEN(ONE),
			SAID_S(PIECE("\x0d", "\1", "\x0c", "MNOP")
					PIECE("\x0d", "\0", "\4", "efgh"))},
		IDS(ONE) SETUP("1", "s2c") "end 1 TRUNCATED 81+21 lost=24 ____efgh_____________"
					   "_______MNOP\n"},
	{"beyond its end",
		{SAID_TORRENT(ONE), OPEN(ONE),
			SAID_S(PIECE("\x19", "\2", "\0", "01234567........")
					PIECE("\x19", "\3", "\0", LETTERS))},
		IDS(ONE) SETUP(
			"1", "s2c") "end 1 TRUNCATED 81+8 lost=32 ______________________________"
				    "__01234567\n"},
	{"bytes that are lost are not there",
		{SAID_TORRENT(ONE), OPEN(ONE), SAID_S("\0\0\0\x19\7\0\0\0\0\0\0\0\0abcd"),
			SAID_GAP(HALF_S2C, 4), SAID_S("ijklmnop" MIDDLE LAST)},
		IDS(ONE) SETUP("1", "s2c") "end 1 TRUNCATED 81+66 lost=4 abcd____ijklmnop" CAPITALS
					   "01234567\n"},
	{"but when they come again",
		{SAID_TORRENT(ONE), OPEN(ONE), SAID_S("\0\0\0\x19\7\0\0\0\0\0\0\0\0abcd"),
			SAID_GAP(HALF_S2C, 4), SAID_S("ijklmnop" MIDDLE LAST FIRST)},
		IDS(ONE) SETUP("1", "s2c") "end 1 CLOSED 81+95 " WHOLE},
	{"an end within a block",
		{SAID_TORRENT(ONE), OPEN(ONE), SAID_S("\0\0\0\x19\7\0\0\0\0\0\0\0\0abcd"),
			SAID_FIN(HALF_S2C), SAID_FIN(HALF_C2S)},
		IDS(ONE) SETUP("1", "s2c") "end 1 TRUNCATED 81+4 abcd\n"},
	{"a gap over the end of a block",
		{SAID_TORRENT(ONE), OPEN(ONE), SAID_S("\0\0\0\x19\7\0\0\0\0\0\0\0\0abcd"),
			SAID_GAP(HALF_S2C, 13), SAID_S(FIRST)},
		IDS(ONE) SETUP("1", "s2c") "note s2c lost @97\nend 1 TRUNCATED 81+4 abcd\n"},
};

static const struct conversation many_files[] = {
	{"a piece of several", {SAID_TORRENT(TWO), OPEN(TWO), SAID_S(FIRST MIDDLE)},
		IDS(TWO) ALPHA("1", "a.txt", " size=10",
			"") "end 1 CLOSED 81+10 abcdefghij\n" ALPHA("2", "b.exe", "dir/ size=20",
			"+10") "end 2 CLOSED 91+33 klmnopABCDEFGHIJKLMN\n"},
	{"the last one first",
		{SAID_TORRENT(TWO), OPEN(TWO),
			SAID_S(PIECE("\x17", "\1", "\0", "ABCDEFGHIJKLMN") FIRST)},
		IDS(TWO) ALPHA("1", "b.exe", "dir/ size=20", "+10")
			ALPHA("2", "a.txt", " size=10", "") "end 2 CLOSED 108+10 abcdefghij\nend 1 "
							    "CLOSED 81+43 klmnopABCDEFGHIJKLMN\n"},
	{"files of version 2 begin pieces",
		{SAID_TORRENT(SECOND), OPEN(SECOND),
			SAID_S(PIECE("\x19", "\0", "\0", LETTERS)
					PIECE("\x1d", "\1", "\0", LETTERS "qrst"))},
		IDS(SECOND) "file 1 s2c offer name=a.txt path=beta/ size=10 "
			    "whole=btmh:1220" SECOND_HEX SECOND_REST
			    "/16404\nend 1 CLOSED 81+10 abcdefghij\nfile 2 s2c offer name=b.exe "
			    "path=beta/ size=20 whole=btmh:1220" SECOND_HEX SECOND_REST
			    "+16384/16404\nend 2 CLOSED 110+20 " LETTERS "qrst\n"},
#define HYBRID_SAID(first)                                                         \
	{                                                                          \
		SAID_TORRENT(HYBRID), SAID_C(LEAD HYBRID_HASH2 PEER),              \
			SAID_S(LEAD HYBRID_HASH2 PEER),                            \
			SAID_S(PIECE("\x19", "\0", "\0", first)                    \
					PIECE("\x1d", "\1", "\0", LETTERS "qrst")) \
	}
#define HYBRID_TOLD(between)                                                                \
	"id c2s btih:" HYBRID_HEX2 "\nid s2c btih:" HYBRID_HEX2 "\nid s2c btih:" HYBRID_HEX \
	"\nfile 1 s2c offer name=a.txt path=beta/ size=10 whole=btih:" HYBRID_HEX           \
	"/16404 pieces=2 padding=16374\nend 1 CLOSED 81+10 abcdefghij\n" between            \
	"file 2 s2c offer name=b.exe path=beta/ size=20 whole=btih:" HYBRID_HEX             \
	"+16384/16404 pieces=2\nend 2 CLOSED 110+20 " LETTERS "qrst\n"
	{"a hybrid by the hash of version 2: its other id is told, padding is no file",
		HYBRID_SAID("abcdefghij\0\0\0\0\0\0"), HYBRID_TOLD("")},
	{"padding that is a file to clients that know none", HYBRID_SAID("abcdefghij\0\0MZ\0p"),
		HYBRID_TOLD("note s2c two_names @93\n")},
};

#define DATA_HEAD  "\0\0\0\xa6\x14\3d8:msg_typei1e5:piecei0e10:total_sizei121ee"
#define DATA       DATA_HEAD ONE
#define LIES       "\0\0\0\xa6\x14\3d8:msg_typei1e5:piecei0e10:total_sizei100ee" ONE
#define HANDSHAKE  "\0\0\0\x38\x14\0d1:md11:ut_metadatai3ee13:metadata_sizei121e1:v4:teste"
#define UNNAMED(n) "file " n " s2c offer name=" ONE_HEX " whole=btih:" ONE_HEX " from=0\n"

static const struct conversation metadata[] = {
	{"in front of the pieces", {OPEN(ONE), SAID_S(HANDSHAKE DATA FIRST MIDDLE LAST)},
		IDS(ONE) SETUP("1", "s2c") "end 1 CLOSED 311+66 " WHOLE},
	{"without a handshake", {OPEN(ONE), SAID_S(DATA FIRST MIDDLE LAST)},
		IDS(ONE) SETUP("1", "s2c") "end 1 CLOSED 251+66 " WHOLE},
	{"by who asks for the pieces", {OPEN(ONE), SAID_C(DATA), SAID_S(FIRST MIDDLE LAST)},
		IDS(ONE) SETUP("1", "s2c") "end 1 CLOSED 81+66 " WHOLE},
	{"never: the first piece has a place, and no other", {OPEN(ONE), SAID_S(MIDDLE FIRST LAST)},
		IDS(ONE) UNNAMED("1") "end 1 TRUNCATED 81+66 " LETTERS "\n"},
	{"never, and nothing of the first piece", {OPEN(ONE), SAID_S(MIDDLE LAST)},
		IDS(ONE) UNNAMED("1") "end 1 TRUNCATED 81+37\n"},
	{"behind the first piece", {OPEN(ONE), SAID_S(FIRST DATA MIDDLE), SAID_S(LAST)},
		IDS(ONE) UNNAMED("1") "end 1 TRUNCATED 81+16 " LETTERS "\n" SETUP(
			"2", "s2c") "end 2 TRUNCATED 280+37 lost=16 ________________" CAPITALS
				    "01234567\n"},
	{"within a block of the other end",
		{OPEN(ONE), SAID_S("\0\0\0\x19\7\0\0\0\0\0\0\0\0abcd"), SAID_C(DATA),
			SAID_S("efghijklmnop" MIDDLE)},
		IDS(ONE) UNNAMED("1") "end 1 TRUNCATED 81+16 " LETTERS "\n" SETUP("2",
			"s2c") "end 2 TRUNCATED 110+16 lost=16 ________________" CAPITALS "\n"},
	{"a size that lies, where the handshake does not",
		{OPEN(ONE), SAID_S(HANDSHAKE LIES MIDDLE)},
		IDS(ONE) SETUP("1",
			"s2c") "end 1 TRUNCATED 311+16 lost=16 ________________" CAPITALS "\n"},
	{"a size that lies alone: the last piece is shorter", {OPEN(ONE), SAID_S(LIES MIDDLE)},
		IDS(ONE) SETUP("1",
			"s2c") "end 1 TRUNCATED 251+16 lost=16 ________________" CAPITALS "\n"},
	{"of another torrent", {OPEN(TWO), SAID_S(DATA MIDDLE)},
		IDS(TWO) "file 1 s2c offer name=" TWO_HEX " whole=btih:" TWO_HEX
			 " from=0\nend 1 TRUNCATED 251+16\n"},
	{"of another torrent, then of this one",
		{OPEN(ONE), SAID_S("\0\0\0\xa6\x14\3d8:msg_typei1e5:piecei0e10:total_sizei121ee"
				   "d6:lengthi40e4:name9:never.exe12:piece "
				   "lengthi16e6:pieces60:aaaaaaaaaaaaaaaaaaaabb"
				   "bbbbbbbbbbbbbbbbbbcccccccccccccccccccce" DATA MIDDLE)},
		IDS(ONE) SETUP("1",
			"s2c") "end 1 TRUNCATED 421+16 lost=16 ________________" CAPITALS "\n"},
	{"of another torrent by the other end",
		{OPEN(ONE),
			SAID_C("\0\0\0\x2f\x14\3d8:msg_typei1e5:piecei0e10:total_sizei200eebad"),
			SAID_S(DATA MIDDLE)},
		IDS(ONE) SETUP("1",
			"s2c") "end 1 TRUNCATED 251+16 lost=16 ________________" CAPITALS "\n"},
	{"bytes of a piece are lost",
		{OPEN(ONE), SAID_S(DATA_HEAD "d6:lengthi40e"), SAID_GAP(HALF_S2C, 17),
			SAID_S("12:piece lengthi16e6:pieces60:aaaaaaaaaaaaaaaaaaaabb"
			       "bbbbbbbbbbbbbbbbbbcccccccccccccccccccce" MIDDLE)},
		IDS(ONE) UNNAMED("1") "end 1 TRUNCATED 251+16\n"},
	{"pieces that are none",
		{OPEN(ONE),
			SAID_S("\0\0\0\2\x14\3\0\0\0\1\x14\0\0\0\3\x14\3d\0\0\0\2\x14\0\0\0\0\x1b"
			       "\x14\3d8:msg_typei0e5:piecei0ee"
			       "\0\0\0\x1c\x14\3d8:msg_typei1e5:piecei0eex"
			       "\0\0\0\x1d\x14\3d8:msg_typei1e5:piecei-1eex" DATA MIDDLE)},
		IDS(ONE) SETUP("1",
			"s2c") "end 1 TRUNCATED 371+16 lost=16 ________________" CAPITALS "\n"},
};

static void one_file_comes(void **state)
{
	(void)state;
	conversations_check(&content_bittorrent, one_file, sizeof(one_file) / sizeof(*one_file));
}

static void files_share_pieces(void **state)
{
	(void)state;
	conversations_check(
		&content_bittorrent, many_files, sizeof(many_files) / sizeof(*many_files));
}

static void metadata_names_the_files(void **state)
{
	(void)state;
	conversations_check(&content_bittorrent, metadata, sizeof(metadata) / sizeof(*metadata));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_file_comes),
		cmocka_unit_test(files_share_pieces),
		cmocka_unit_test(metadata_names_the_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
