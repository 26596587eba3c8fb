// SPDX-License-Identifier: BSD-3-Clause
// Messages of eDonkey and eMule: who speaks, which files they name, what people write; frames that
// are none.
#include "content/decoders.h"
#include "lib/content/ed2k_frames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define USER_A         \
	"ABCDE\x0e"    \
	"GHIJKLMN\x6f" \
	"P"
#define USER_B         \
	"abcde\x0e"    \
	"ghijklmn\x6f" \
	"p"
// client's id, port, one tag: the name
#define WREN                 \
	"\1\2\3\4\x36\x12"   \
	"\1\0\0\0\x02\1\0\1" \
	"\4\0wren"
#define CRANE              \
	"\1\2\3\4\x36\x12" \
	"\2\0\0\0\x83\xf9" \
	"abcd"             \
	"\x95\1crane"
#define HELLOS                                                       \
	SAID_C(E("\x2c", "\x01") "\x10" USER_A WREN "\0\0\0\0\0\0"), \
		SAID_S(E("\x2e", "\x4c") USER_B CRANE "\0\0\0\0\0\0")

static const struct conversation names[] = {
	{"asked and answered",
		{HELLOS, SAID_C(E("\x11", "\x58") A), SAID_S(E("\x1b", "\x59") A "\x08\0film.avi")},
		"id c2s " OF_A "id s2c " OF_A
		"file 1 s2c offer elsewhere name=film.avi user=crane whole=" OF_A},
	{"answered before it was asked",
		{SAID_S(E("\x1b", "\x59") A "\x08\0film.avi"), SAID_C(E("\x11", "\x58") A)},
		"id s2c " OF_A "file 1 s2c offer elsewhere name=film.avi whole=" OF_A
		"id c2s " OF_A},
	{"again, another name, and the first again",
		{SAID_S(E("\x14", "\x59") A "\x01\0x" E("\x14", "\x59") A
			"\x01\0x" E("\x14", "\x59") A "\x01\0y" E("\x14", "\x59") A "\x01\0x")},
		"id s2c " OF_A "file 1 s2c offer elsewhere name=x whole=" OF_A
		"file 2 s2c offer elsewhere name=y whole=" OF_A
		"file 3 s2c offer elsewhere name=x whole=" OF_A},
	{"both ends have it",
		{SAID_S(E("\x14", "\x59") A "\x01\0x"), SAID_C(E("\x14", "\x59") A "\x01\0y")},
		"id s2c " OF_A "file 1 s2c offer elsewhere name=x whole=" OF_A "id c2s " OF_A
		"file 2 c2s offer elsewhere name=y whole=" OF_A},
	{"a name in Latin-1, one in broken UTF-8, one with zeros",
		{SAID_S(E("\x17", "\x59") A "\x04\0caf\xe9" E("\x16", "\x59") B
			"\x03\0\xc3\xc3"
			"a" E("\x16", "\x59") A "\x03\0a\0b")},
		"id s2c " OF_A "file 1 s2c offer elsewhere name=caf\\e9 whole=" OF_A "id s2c " OF_B
		"file 2 s2c offer elsewhere name=\\c3\\c3a whole=" OF_B
		"file 3 s2c offer elsewhere name=a\\00b whole=" OF_A},
	{"the length is more than there is",
		{SAID_S(E("\x15", "\x59") A "\x08\0ab" E("\x14", "\x59") B "\x01\0x")},
		"id s2c " OF_A "note s2c bad_length @0\n"
		"file 1 s2c offer elsewhere name=ab whole=" OF_A "id s2c " OF_B
		"file 2 s2c offer elsewhere name=x whole=" OF_B},
	{"the length is less than there is",
		{SAID_S(E("\x19", "\x59") A "\x02\0a.exet" E("\x14", "\x59") B "\x01\0x")},
		"id s2c " OF_A "note s2c bad_length @0\n"
		"file 1 s2c offer elsewhere name=a. whole=" OF_A "id s2c " OF_B
		"file 2 s2c offer elsewhere name=x whole=" OF_B},
	{"no name, and a frame that is too short for one",
		{SAID_S(E("\x13", "\x59") A "\0\0" E("\x12", "\x59") B "\1" E("\x01", "\x59")
				E("\x14", "\x59") B "\x01\0x")},
		"id s2c " OF_A "id s2c " OF_B "file 1 s2c offer elsewhere name=x whole=" OF_B},
	{"several answers in one",
		{SAID_S(M("\x36", "\x93") A "\x50\x09\0\3\1"
					    "\x9d"
					    "aichaichaichaichaich"
					    "\x59\x08\0film.avi\x77zzz")},
		"id s2c " OF_A "file 1 s2c offer elsewhere name=film.avi whole=" OF_A},
	{"... one of which is longer than all of them",
		{SAID_S(M("\x17", "\x93") A "\x59\x08\0fil" E("\x11", "\x58") B)},
		"id s2c " OF_A "note s2c bad_length @0\n"
		"file 1 s2c offer elsewhere name=fil whole=" OF_A "id s2c " OF_B},
	{"several requests, with the size",
		{SAID_C(M("\x1b", "\xa4") A "\x39\x30\0\0\0\0\0\0\x58\x4f"),
			SAID_S(M("\x1c", "\x93") A "\x59\x08\0film.avi")},
		"id c2s " OF_A "id s2c " OF_A
		"file 1 s2c offer elsewhere name=film.avi size=12345 whole=" PROVED_A},
	{"identifiers of eMule 0.50",
		{SAID_C(M("\x1c", "\xa9") "\x03" A "\x39\x30\0\0\0\0\0\0\x58\x4f"),
			SAID_S(M("\x31", "\xb0") "\x05" A "aichaichaichaichaich"
						 "\x59\x08\0film.avi")},
		"id c2s " OF_A "id s2c " OF_A
		"file 1 s2c offer elsewhere name=film.avi size=12345 whole=" PROVED_A},
	{"the answer has the size, and no hash is one",
		{SAID_S(M("\x25", "\xb0") "\x03" A "\x39\x30\0\0\0\0\0\0\x59\x08\0film.avi" M(
			"\x03", "\xb0") "\x02\0")},
		"id s2c " OF_A
		"file 1 s2c offer elsewhere name=film.avi size=12345 whole=" PROVED_A},
	{"a compressed frame",
		{SAID_S(P("\x28", "\x93") "x\x9c"
					  "30426153\xb7\xb0LLJNIM\x8b\xe4`H\xcb\xcc\xc9\xd5K,"
					  "\xcb\x0c`b`\x06\0\x82h\x08/" E("\x11", "\x58") B)},
		"id s2c " OF_A "file 1 s2c offer elsewhere name=film.avi whole=" OF_A
		"id s2c " OF_B},
	{"... that is none", {SAID_S(P("\x0b", "\x93") "0123456789" E("\x11", "\x58") B)},
		"note s2c coding_lies @0\nid s2c " OF_B},
	{"... that ends too early, and one of no interest",
		{SAID_S(P("\x07", "\x93") "x\x9c"
					  "3042" P("\x05", "\x34") "abcd" E("\x11", "\x58") B)},
		"note s2c coding_lies @0\nid s2c " OF_B},
};

static void names_are_told(void **state)
{
	(void)state;
	conversations_check(&content_edonkey, names, sizeof(names) / sizeof(names[0]));
}

#define TAGGED(name) "\1\2\3\4\x36\x12\2\0\0\0\x82\1\4\0" name "\x83\2\x39\x30\0\0"

static const struct conversation ids[] = {
	{"each message between clients that names a file",
		{SAID_C(E("\x11", "\x4f") A E("\x11", "\x51") B),
			SAID_S(E("\x13", "\x50") C "\0\0" E("\x11", "\x54") A),
			SAID_C(E("\x29", "\x47") C "\0\0\0\0\0\0\0\0\0\0\0\0"
						   "\1\0\0\0\0\0\0\0\0\0\0\0"),
			SAID_S(M("\x11", "\x81") B), SAID_S(M("\x13", "\x82") D "\0\0"),
			SAID_C(M("\x14", "\x83") "\4\0\0" D M("\x14", "\x84") "\4" X "\0\0"),
			SAID_S(M("\x12", "\x92") X "\x58")},
		"id c2s " OF_A "id c2s " OF_B "id s2c " OF_C "id s2c " OF_A "id c2s " OF_C
		"id s2c " OF_B "id s2c " OF_D "id c2s " OF_D "id c2s " OF_X "id s2c " OF_X},
	{"once, and again when eight others were named",
		{SAID_C(E("\x11", "\x58") A E("\x11", "\x4f") A), SAID_S(E("\x11", "\x58") A),
			SAID_C(E("\x11", "\x58") "1" H15 E("\x11", "\x58") "2" H15 E(
				"\x11", "\x58") "3" H15),
			SAID_C(E("\x11", "\x58") "4" H15 E("\x11", "\x58") "5" H15 E(
				"\x11", "\x58") "6" H15),
			SAID_C(E("\x11", "\x58") "7" H15 E("\x11", "\x58")
					A E("\x11", "\x58") "8" H15),
			SAID_C(E("\x11", "\x58") A)},
		"id c2s " OF_A "id s2c " OF_A
		"id c2s " OF_H("31") "id c2s " OF_H("32") "id c2s " OF_H("33") "id c2s " OF_H("34") "id c2s " OF_H(
			"35") "id c2s " OF_H("36") "id c2s " OF_H("37") "id c2s " OF_H("38") "id "
											     "c2s"
											     " " OF_A},
	{"a server: sources wanted, and found",
		{SAID_C(E("\x25", "\x01") USER_A WREN), SAID_C(E("\x15", "\x19") A "\0\0\0\0"),
			SAID_S(E("\x18", "\x42") A "\1\1\2\3\4\x36\x12"),
			SAID_C(E("\x15", "\x23") B "\0\0\0\0"),
			SAID_S(E("\x19", "\x44") B "\1\1\2\3\4\x36\x12\0")},
		"id c2s " OF_A "id s2c " OF_A "id c2s " OF_B "id s2c " OF_B},
	{"what a client offers, and what a search has found",
		{SAID_C(E("\x59", "\x15") "\2\0\0\0" A TAGGED("a.mp") B TAGGED("b.mp")),
			SAID_S(E("\x31", "\x33") "\1\0\0\0" A TAGGED("c.mp") "\1")},
		"id c2s " OF_A "id c2s " OF_B "id s2c " OF_A},
	{"every type of tag",
		{SAID_C(E("\xb1", "\x15") "\2\0\0\0" A "\1\2\3\4\x36\x12\x0b\0\0\0"
					  "\1\2\0xy0123456789abcdef"
					  "\2\1\0\1\3\0abc"
					  "\3\1\0\x02\1\2\3\4"
					  "\4\1\0\x03"
					  "abcd"
					  "\5\1\0\4\1"
					  "\7\3\0abc\2\0\0\0hi"
					  "\x88\x02\1\2"
					  "\x89\x03\7"
					  "\x0a\1\0\1\3abc"
					  "\x8b\4"
					  "12345678"
					  "\xa0\5"
					  "0123456789abcdef" B "\1\2\3\4\x36\x12\1\0\0\0\x91\1z")},
		"id c2s " OF_A "id c2s " OF_B},
	{"a tag of no type ends the list",
		{SAID_C(E("\x36", "\x15") "\2\0\0\0" A "\1\2\3\4\x36\x12\1\0\0\0\xee\1" B
					  "\1\2\3\4\x36" E("\x11", "\x58") C)},
		"id c2s " OF_A "id c2s " OF_C},
	{"a list that says to be longer than it is",
		{SAID_C(E("\x1f", "\x15") "\xff\xff\xff\xff" A
					  "\1\2\3\4\x36\x12\0\0\0\0" E("\x11", "\x58") C)},
		"id c2s " OF_A "id c2s " OF_C},
	{"opcodes that nobody knows, and empty frames",
		{SAID_C(E("\x05", "\xfe") "abcd" M("\x01", "\x99") E("\x01", "\x55")
				E("\x11", "\x58") A)},
		"id c2s " OF_A},
};

static void ids_are_told(void **state)
{
	(void)state;
	conversations_check(&content_edonkey, ids, sizeof(ids) / sizeof(ids[0]));
}

static const struct conversation chats[] = {
	{"between clients",
		{HELLOS, SAID_C(E("\x08", "\x4e") "\5\0hello"),
			SAID_S(E("\x06", "\x4e") "\3\0hi\xe9")},
		"message c2s from=wren to=crane 57+5 of 57+5 text=hello\n"
		"message s2c from=crane to=wren 59+3 of 59+3 text=hi\\e9\n"},
	{"a server's", {SAID_S(E("\x0a", "\x38") "\7\0welcome")},
		"message s2c 8+7 of 8+7 text=welcome\n"},
	{"the length is more, and less, than there is",
		{SAID_C(E("\x06", "\x4e") "\x20\0abc"), SAID_S(E("\x09", "\x4e") "\1\0abcdef")},
		"note c2s bad_length @0\nmessage c2s 8+3 of 8+3 text=abc\n"
		"note s2c bad_length @0\nmessage s2c 8+6 of 8+6 text=abcdef\n"},
	{"none", {SAID_C(E("\x03", "\x4e") "\0\0" E("\x02", "\x4e") "\0" E("\x11", "\x58") A)},
		"id c2s " OF_A},
	{"a comment on a file", {SAID_S(M("\x0a", "\x61") "\5\4\0\0\0fake")},
		"message s2c 11+4 of 11+4 text=fake\n"},
	{"compressed, it cannot be blanked",
		{SAID_S(P("\x10", "\x38") "x\x9c"
					  "ce\xc8H\xcd\xc9\xc9\7\0\6Q\2\x1a")},
		"message s2c 0+0 of 0+0 blank=00 text=hello\n"},
	{"a gap in it",
		{SAID_C(E("\x0d", "\x4e") "\x0a\0hello"), SAID_GAP(HALF_C2S, 3),
			SAID_C("yo" E("\x11", "\x58") A)},
		"message c2s 8+5 of 8+10 text=hello\nid c2s " OF_A},
	{"an end in it", {SAID_C(E("\x0d", "\x4e") "\x0a\0hello"), SAID_FIN(HALF_C2S)},
		"message c2s 8+5 of 8+10 text=hello\n"},
};

static void messages_are_told(void **state)
{
	(void)state;
	conversations_check(&content_edonkey, chats, sizeof(chats) / sizeof(chats[0]));
}

static const struct conversation frames[] = {
	{"longer than any client takes",
		{SAID_C(E("\x11", "\x58") A "\xe3\1\0\x20\0\x46" E("\x11", "\x58") B),
			SAID_S(E("\x11", "\x58") C)},
		"id c2s " OF_A "note c2s bad_length @22\nid s2c " OF_C},
	{"of no length", {SAID_C("\xe3\0\0\0\0\x58" E("\x11", "\x58") B)},
		"note c2s bad_length @0\n"},
	{"of another protocol, behind one",
		{SAID_C(E("\x11", "\x58") A "\x45\5\0\0\0\x58" E("\x11", "\x58") B)},
		"id c2s " OF_A "note c2s bad_length @22\n"},
	{"in disguise", {SAID_C("\x99gnusyzz"), SAID_S("zzzzzzz")}, "note c2s encrypted @0\n"},
	{"only the other end is",
		{SAID_C(E("\x11", "\x58") A), SAID_S("zzzz"), SAID_C(E("\x11", "\x58") B)},
		"id c2s " OF_A "note s2c encrypted @0\n"},
	{"met midway, at a frame", {SAID_MIDSTREAM(HALF_C2S, E("\x11", "\x58") A)}, "id c2s " OF_A},
	{"met midway, in a frame",
		{SAID_MIDSTREAM(HALF_C2S,
			"gar\xe3"
			"den" E("\x1b", "\x46") A "\0\0\0\0\2\0\0\0hi" E("\x11", "\x58") B)},
		"id c2s " OF_A "file 1 c2s none whole=" OF_A "id c2s " OF_B
		"end 1 TRUNCATED 1037+2 hi\n"},
	{"a gap over the end of a frame",
		{SAID_C(E("\x11", "\x58") A E("\x21", "\x99") "abcd"), SAID_GAP(HALF_C2S, 30),
			SAID_C("cdef" M("\x1b", "\x40") B "\0\0\0\0\3\0\0\0xx" E("\x11", "\x58")
					C)},
		"id c2s " OF_A "note c2s lost @22\nid c2s " OF_B "file 1 c2s none whole=" OF_B
		"id c2s " OF_C "end 1 TRUNCATED 96+2\n"},
};

static void what_is_no_frame_ends_a_half(void **state)
{
	(void)state;
	conversations_check(&content_edonkey, frames, sizeof(frames) / sizeof(frames[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_told),
		cmocka_unit_test(ids_are_told),
		cmocka_unit_test(messages_are_told),
		cmocka_unit_test(what_is_no_frame_ends_a_half),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
