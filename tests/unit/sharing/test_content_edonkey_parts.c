// SPDX-License-Identifier: BSD-3-Clause
// What eDonkey brings of files: parts in any order, compressed blocks over several frames, digests
// that prove them; where a file ends, and what cannot be a part of one.
#include "content/decoders.h"
#include "lib/content/at_once.h"
#include "lib/content/ed2k_frames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#define NAME_A            E("\x1b", "\x59") A "\x08\0film.avi"
#define SIZE_A(low, high) M("\x19", "\xa4") A low high
#define PART(hash, length, start, end, bytes) \
	E(length, "\x46") hash start "\0\0\0" end "\0\0\0" bytes
#define DONE_A E("\x11", "\x49") A
#define SENT   E("\x01", "\x57")

#define TOLD_A(n) "file " n " s2c none whole=" OF_A

static const struct conversation parts[] = {
	{"out of order, and one of them twice",
		{SAID_S(NAME_A),
			SAID_S(PART(A, "\x1c", "\6", "\x09", "ghi")
					PART(A, "\x1c", "\0", "\3", "abc")),
			SAID_S(PART(A, "\x1c", "\3", "\6", "def")
					PART(A, "\x1c", "\0", "\3", "abc")),
			SAID_S(SENT)},
		"id s2c " OF_A "file 1 s2c offer elsewhere name=film.avi whole=" OF_A
		"file 2 s2c offer name=film.avi whole=" OF_A "end 2 CLOSED 62+102 abcdefghi\n"},
	{"two files in turn",
		{SAID_S(PART(A, "\x1c", "\0", "\3", "abc") PART(B, "\x1b", "\1", "\3", "xy")
				PART(A, "\x1a", "\3", "\4", "d") SENT)},
		"id s2c " OF_A TOLD_A("1") "id s2c " OF_B "end 1 CLOSED 30+3 abc\n"
					   "file 2 s2c none whole=" OF_B
					   "end 2 CLOSED 63+2 lost=1 _xy\n" TOLD_A(
						   "3") "end 3 CLOSED 95+1 lost=3 ___d\n"},
	{"both ends bring some of it",
		{SAID_S(PART(A, "\x1a", "\0", "\1", "a")), SAID_C(PART(A, "\x1a", "\1", "\2", "b")),
			SAID_S(SENT), SAID_C(SENT)},
		"id s2c " OF_A TOLD_A("1") "id c2s " OF_A "file 2 c2s none whole=" OF_A
					   "end 1 CLOSED 30+1 a\nend 2 CLOSED 30+1 lost=1 _b\n"},
	{"its receiver is through, and asks for more",
		{SAID_S(PART(A, "\x1a", "\0", "\1", "a")), SAID_C(DONE_A),
			SAID_S(PART(A, "\x1a", "\1", "\2", "b")), SAID_C(E("\x01", "\x56"))},
		"id s2c " OF_A TOLD_A("1") "end 1 CLOSED 30+1 a\n" TOLD_A(
			"2") "end 2 CLOSED 61+1 lost=1 _b\n"},
	{"its receiver is through amid a frame",
		{SAID_S(PART(A, "\x1c", "\0", "\3", "ab")), SAID_C(DONE_A), SAID_S("c" SENT)},
		"id s2c " OF_A TOLD_A("1") "end 1 CLOSED 30+3 abc\n"},
	{"a FIN where all has come",
		{SAID_C(SIZE_A("\4\0\0\0", "\0\0\0\0")),
			SAID_S(PART(A, "\x1b", "\2", "\4", "cd") PART(A, "\x1b", "\0", "\2", "ab")),
			SAID_FIN(HALF_S2C)},
		"id c2s " OF_A "id s2c " OF_A "file 1 s2c none size=4 whole=" PROVED_A
		"end 1 CLOSED 30+34 abcd\n"},
	{"a FIN where something is missing",
		{SAID_C(SIZE_A("\4\0\0\0", "\0\0\0\0")), SAID_S(PART(A, "\x1b", "\2", "\4", "cd")),
			SAID_FIN(HALF_S2C)},
		"id c2s " OF_A "id s2c " OF_A "file 1 s2c none size=4 whole=" PROVED_A
		"end 1 TRUNCATED 30+2 lost=2 __cd\n"},
	{"a FIN amid a part", {SAID_S(PART(A, "\x1c", "\0", "\3", "ab")), SAID_FIN(HALF_S2C)},
		"id s2c " OF_A TOLD_A("1") "end 1 TRUNCATED 30+2 ab\n"},
	{"a gap in a part",
		{SAID_S(PART(A, "\x1e", "\0", "\5", "ab")), SAID_GAP(HALF_S2C, 2),
			SAID_S("e" PART(A, "\x1a", "\5", "\6", "f") SENT)},
		"id s2c " OF_A TOLD_A("1") "end 1 TRUNCATED 30+36 lost=2 ab__ef\n"},
	{"a gap up to the end of a part",
		{SAID_S(PART(A, "\x1e", "\0", "\5", "ab")), SAID_GAP(HALF_S2C, 3),
			SAID_S(PART(A, "\x1a", "\5", "\6", "f") SENT)},
		"id s2c " OF_A TOLD_A("1") "end 1 TRUNCATED 30+36 lost=3 ab___f\n"},
	{"sizes and places of 64 bits",
		{SAID_C(SIZE_A("\0\0\0\0", "\x10\0\0\0")),
			SAID_S(M("\x24", "\xa2") A "\xff\xff\xff\xff\x01\0\0\0\2\0\0\0\2\0\0\0"
						   "abc" SENT)},
		"id c2s " OF_A "id s2c " OF_A "file 1 s2c none size=68719476736 whole=" OF_A
		"end 1 CLOSED 38+3 lost=8589934591 (8589934594) cbf7b93a84241f36\n"},
	{"behind the largest file",
		{SAID_S(M("\x22", "\xa2") A "\0\0\0\0\x40\0\0\0\1\0\0\0\x40\0\0\0"
					    "a" M("\x22", "\xa2") A
			"\xff\xff\xff\xff\x3f\0\0\0\0\0\0\0\x40\0\0\0"
			"z" SENT)},
		"id s2c " OF_A
		"note s2c bad_length @0\n" TOLD_A("1") "end 1 CLOSED 77+1 lost=274877906943 "
						       "(274877906944) cc26dd2484222325\n"},
	{"behind the size that was said",
		{SAID_C(SIZE_A("\4\0\0\0", "\0\0\0\0")),
			SAID_S(PART(A, "\x1c", "\0", "\3", "abc") PART(A, "\x1c", "\3", "\6", "def")
					SENT)},
		"id c2s " OF_A "id s2c " OF_A "file 1 s2c none size=4 whole=" PROVED_A
		"note s2c bad_length @33\nend 1 CLOSED 30+3 abc\n"},
	{"more, and fewer, bytes than the range has",
		{SAID_S(PART(A, "\x1c", "\0", "\2", "abc")),
			SAID_C(PART(A, "\x1c", "\0", "\4", "abc"))},
		"id s2c " OF_A "note s2c bad_length @0\nid c2s " OF_A "note c2s bad_length @0\n"},
	{"a range that is none",
		{SAID_S(PART(A, "\x1a", "\3", "\3", "a")),
			SAID_C(PART(A, "\x1a", "\3", "\2", "a"))},
		"id s2c " OF_A "note s2c bad_length @0\nid c2s " OF_A "note c2s bad_length @0\n"},
	{"a part in a compressed frame",
		{SAID_S(P("\x23", "\xa2") "x\x9c"
					  "30426153\xb7\xb0LLJNIMca\x80\0\x0e(\xed\xe2\x18\xe2\x08"
					  "\0z\x93\5\x89" SENT)},
		"id s2c " OF_A TOLD_A("1") "end 1 CLOSED 0+0 lost=4 ____DATA\n"},
	{"... of the other protocol: clients read no part there",
		{SAID_S(P("\x23", "\x46") "x\x9c"
					  "30426153\xb7\xb0LLJNIMca\x80\0\x0e(\xed\xe2\x18\xe2\x08"
					  "\0z\x93\5\x89" SENT)},
		""},
	{"names of a list of files, and a size in two halves",
		{SAID_S(E(
			"\x47", "\x4b") "\1\0\0\0" A "\1\2\3\4\x36\x12\3\0\0\0\x82\1\x08\0film.avi"
					"\x83\2\0\0\0\0\x83\x3a\2\0\0\0"
					"zzzzzzzzzzzzzzzz" PART(A, "\x1a", "\0", "\1", "a") SENT)},
		"id s2c " OF_A "id s2c " OF_A
		"file 1 s2c offer name=film.avi size=8589934592 whole=" OF_A
		"end 1 CLOSED 106+1 a\n"},
	{"... of a folder",
		{SAID_S(E("\x32", "\x60") "\3\0top"
					  "\1\0\0\0" A
					  "\1\2\3\4\x36\x12\1\0\0\0\2\1\0\1\x08\0film.avi" PART(
						  A, "\x1a", "\0", "\1", "a") SENT)},
		"id s2c " OF_A "id s2c " OF_A "file 1 s2c offer name=film.avi whole=" OF_A
		"end 1 CLOSED 85+1 a\n"},
};

static void parts_come_in_any_order(void **state)
{
	(void)state;
	conversations_check(&content_edonkey, parts, sizeof(parts) / sizeof(parts[0]));
}

// ---- what is made here: conversations of frames with computed bytes ----

static uint8_t room[1 << 20];
static uint32_t used;

static void put(const void *bytes, uint32_t length)
{
	assert_true(used + length <= sizeof(room));
	memcpy(room + used, bytes, length);
	used += length;
}

static void put_le(uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++, value >>= 8)
		put(&(uint8_t){(uint8_t)value}, 1);
}

static void put_head(uint8_t proto, uint8_t opcode, uint32_t length)
{
	put(&proto, 1);
	put_le(length + 1, 4);
	put(&opcode, 1);
}

// A block of that text, times so often.
struct block {
	uint8_t packed[4096];
	uint32_t length;
};

static void pack_bytes(struct block *block, const uint8_t *bytes, size_t n)
{
	uLongf length = sizeof(block->packed);

	assert_int_equal(compress(block->packed, &length, bytes, n), Z_OK);
	block->length = (uint32_t)length;
}

static void pack(struct block *block, const char *text, uint32_t times)
{
	size_t n = strlen(text);
	uint8_t *bytes = malloc(n * times);

	assert_non_null(bytes);
	for (uint32_t i = 0; i < times; i++)
		memcpy(bytes + i * n, text, n);
	pack_bytes(block, bytes, n * times);
	free(bytes);
}

// Bytes [from, to) of it in a frame.
static void put_block(const char *hash, uint64_t start, bool wide, const struct block *block,
	uint32_t from, uint32_t to)
{
	put_head(0xc5, wide ? 0xa1 : 0x40, 16u + (wide ? 8u : 4u) + 4u + (to - from));
	put(hash, 16);
	put_le(start, wide ? 8 : 4);
	put_le(block->length, 4);
	put(block->packed + from, to - from);
}

static void check(const char *name, const char *expected)
{
	const struct conversation conversation = {
		name, {SAID_BYTES(HALF_S2C, 0, used, room)}, expected};

	conversations_check(&content_edonkey, &conversation, 1);
}

#define ALPHABET "abcdefghijklmnopqrstuvwxyz"

// Cut into two frames at each byte; conversations_check() cuts the stream at each byte, too.
static void a_block_spans_frames(void **state)
{
	struct block block;

	(void)state;
	pack(&block, ALPHABET, 3);
	for (uint32_t cut = 1; cut < block.length; cut++) {
		used = 0;
		put_block(A, 0, false, &block, 0, cut);
		put_block(A, 0, false, &block, cut, block.length);
		put(SENT, sizeof(SENT) - 1);
		char expected[512];

		snprintf(expected, sizeof(expected),
			"id s2c " OF_A TOLD_A("1") "end 1 CLOSED 30+%u " ALPHABET ALPHABET ALPHABET
						   "\n",
			used - 36);
		check("a block over two frames", expected);
	}
}

// Three at a time, the second of them first, each in two frames; one of them again, when it is
// over.
static void blocks_take_turns(void **state)
{
	struct block first, second, third;

	(void)state;
	pack(&first, "abcd", 1);
	pack(&second, "efgh", 1);
	pack(&third, "ijkl", 1);
	used = 0;
	put_block(A, 4, false, &second, 0, 5);
	put_block(A, 0, true, &first, 0, 5);
	put_block(A, 8, false, &third, 0, 5);
	put_block(A, 0, false, &first, 5, first.length);
	put_block(A, 8, true, &third, 5, third.length);
	put_block(A, 4, false, &second, 5, second.length);
	put_block(A, 0, false, &first, 0, first.length);
	put(SENT, sizeof(SENT) - 1);
	check("three blocks at a time",
		"id s2c " OF_A TOLD_A("1") "end 1 CLOSED 30+236 abcdefghijkl\n");
	used = 0;
	for (uint32_t i = 0; i < 4; i++)
		put_block(A, 4 * i, false, &first, 0, 5);
	for (uint32_t i = 0; i < 4; i++)
		put_block(A, 4 * i, false, &first, 5, first.length);
	put(SENT, sizeof(SENT) - 1);
	check("four at a time",
		"id s2c " OF_A TOLD_A("1") "note s2c too_many_requests @105\n"
					   "note s2c coding_lies @140\nend 1 "
					   "TRUNCATED 30+258 lost=6 ab__ab__ab__ab\n");
}

static void broken_blocks_are_noted(void **state)
{
	struct block block;

	(void)state;
	pack(&block, ALPHABET, 2);
	used = 0;
	block.packed[20] ^= 0x40;
	put_block(A, 0, false, &block, 0, block.length);
	put_block(A, 0, false, &block, 0, block.length);
	put(SENT, sizeof(SENT) - 1);
	check("damaged",
		"id s2c " OF_A TOLD_A(
			"1") "note s2c coding_lies @0\n"
			     "end 1 TRUNCATED 30+104 "
			     "abcdefghijklmnopqr\\83tuvwxyzabcdefghijklmnopqr\\83tuvwxyz\n");
}

// What decodes to more than a block may have.
static void bombs_are_noted(void **state)
{
	struct block block;

	(void)state;
	pack(&block, "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz", 10000);
	used = 0;
	put_block(A, 0, false, &block, 0, block.length);
	put_block(A, 0, false, &block, 0, block.length);
	put(SENT, sizeof(SENT) - 1);
	check("a block of 400,000 bytes",
		"id s2c " OF_A TOLD_A("1") "note s2c bomb @0\n"
					   "end 1 TRUNCATED 30+850 (184320) f8edd7861e8b8b25\n");
}

// ---- digests ----

// MD4 of 16 times A and 16 times B, by another implementation.
#define SET                                                \
	"\xc3\x32\x05\x49\x07\x90\x53\x1f\x19\x78\xe7\x3c" \
	"\x4a\xb3\x9d\xd6"
#define OF_SET    "ed2k:c33205490790531f1978e73c4ab39dd6"
#define DIGESTS   "AAAAAAAAAAAAAAAABBBBBBBBBBBBBBBB"
#define BYTE_SET  PART(SET, "\x1a", "\0", "\1", "a") SENT
#define SIZED_SET M("\x19", "\xa4") SET

static const struct conversation digests[] = {
	{"the id proves them", {SAID_S(E("\x33", "\x52") SET "\2\0" DIGESTS BYTE_SET)},
		"id s2c " OF_SET "\nfile 1 s2c none whole=" OF_SET " pieces=2\n"
		"end 1 CLOSED 86+1 a\n"},
	{"in eMule's later form",
		{SAID_S(M("\x54", "\xb2") "\1" SET "\1" SET "\2\0" DIGESTS
					  "AICHAICHAICHAIC" BYTE_SET)},
		"id s2c " OF_SET "\nfile 1 s2c none whole=" OF_SET " pieces=2\n"
		"end 1 CLOSED 119+1 a\n"},
	{"it does not",
		{SAID_S(E("\x33", "\x52") SET "\2\0"
					      "AAAAAAAAAAAAAAAABBBBBBBBBBBBBBBC" BYTE_SET)},
		"id s2c " OF_SET "\nfile 1 s2c none whole=" OF_SET "\nend 1 CLOSED 86+1 a\n"},
	{"fewer than the message says", {SAID_S(E("\x33", "\x52") SET "\3\0" DIGESTS BYTE_SET)},
		"id s2c " OF_SET "\nfile 1 s2c none whole=" OF_SET "\nend 1 CLOSED 86+1 a\n"},
	{"as many as the size has parts",
		{SAID_C(SIZED_SET "\1\x70\x94\0\0\0\0\0"),
			SAID_S(E("\x33", "\x52") SET "\2\0" DIGESTS BYTE_SET)},
		"id c2s " OF_SET "\nid s2c " OF_SET "\nfile 1 s2c none size=9728001 whole=" OF_SET
		" pieces=2\nend 1 CLOSED 86+1 a\n"},
	{"the last part is empty",
		{SAID_C(SIZED_SET "\0\x70\x94\0\0\0\0\0"),
			SAID_S(E("\x33", "\x52") SET "\2\0" DIGESTS BYTE_SET)},
		"id c2s " OF_SET "\nid s2c " OF_SET "\nfile 1 s2c none size=9728000 whole=" OF_SET
		" pieces=1\nend 1 CLOSED 86+1 a\n"},
	{"more than the size has parts",
		{SAID_C(SIZED_SET "\0\x70\x94\1\0\0\0\0"),
			SAID_S(E("\x33", "\x52") SET "\2\0" DIGESTS BYTE_SET)},
		"id c2s " OF_SET "\nid s2c " OF_SET "\nfile 1 s2c none size=26505216 whole=" OF_SET
		"\nend 1 CLOSED 86+1 a\n"},
	{"of another file",
		{SAID_S(E("\x33", "\x52") SET "\2\0" DIGESTS PART(A, "\x1a", "\0", "\1", "a")
				BYTE_SET)},
		"id s2c " OF_SET "\nid s2c " OF_A TOLD_A("1") "end 1 CLOSED 86+1 a\n"
							      "file 2 s2c none whole=" OF_SET
							      " pieces=2\nend 2 CLOSED 117+1 a\n"},
};

static void digests_prove_parts(void **state)
{
	(void)state;
	conversations_check(&content_edonkey, digests, sizeof(digests) / sizeof(digests[0]));
}

// ---- compressed frames ----

static void put_packed(uint8_t opcode, const struct block *block)
{
	put_head(0xd4, opcode, block->length);
	put(block->packed, block->length);
}

// A list of files that is longer than what is unpacked at a time.
static void a_list_is_unpacked(void **state)
{
	enum { ENTRIES = 100 };
	static const char entry[] = "..23456789abcdefIDIDPP\1\0\0\0\x83\2SIZE";
	static uint8_t list[4 + ENTRIES * (sizeof(entry) - 1)];
	static char expected[ENTRIES * 50 + 100];
	size_t length = 0;
	struct block block;

	(void)state;
	list[0] = ENTRIES;
	for (unsigned i = 0; i < ENTRIES; i++) {
		uint8_t *at = list + 4 + i * (sizeof(entry) - 1);

		memcpy(at, entry, sizeof(entry) - 1);
		at[0] = (uint8_t)('a' + i / 10);
		at[1] = (uint8_t)('0' + i % 10);
		length += (size_t)snprintf(expected + length, sizeof(expected) - length,
			"id s2c ed2k:%02x%02x3233343536373839616263646566\n", at[0], at[1]);
	}
	snprintf(expected + length, sizeof(expected) - length, "id s2c " OF_A);
	pack_bytes(&block, list, sizeof(list));
	used = 0;
	put_packed(0x15, &block);
	put(E("\x11", "\x58") A, 22);
	check("a list", expected);
}

// A few bytes may unpack to thousands of ids: one call tells no more than its budget allows.
static void a_long_list_is_told_in_turns(void **state)
{
	enum { ENTRIES = 3000, ENTRY_BYTES = 26 };
	static uint8_t list[4 + ENTRIES * ENTRY_BYTES] = {ENTRIES & 0xff, ENTRIES >> 8};
	struct block block;

	(void)state;
	pack_bytes(&block, list, sizeof(list));
	used = 0;
	put_packed(0x15, &block);
	assert_true(used < 1000);
	const struct said said[] = {SAID_BYTES(HALF_S2C, 0, used, room)};
	struct at_once told = at_once(&content_edonkey, said, 1, 10 * CONTENT_TOLD_BYTES);

	assert_int_equal(told.all, ENTRIES);
	assert_int_equal(told.most, 10);
}

#define ID_Z "ed2k:7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a"

static void compressed_frames_have_an_end(void **state)
{
	struct block block;

	(void)state;
	used = 0;
	pack(&block, "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz", 40000);
	put_packed(0x60, &block);
	put(E("\x11", "\x58") A, 22);
	check("a bomb", "id s2c " ID_Z "\nnote s2c bomb @0\nid s2c " OF_A);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_come_in_any_order),
		cmocka_unit_test(a_block_spans_frames),
		cmocka_unit_test(blocks_take_turns),
		cmocka_unit_test(broken_blocks_are_noted),
		cmocka_unit_test(bombs_are_noted),
		cmocka_unit_test(digests_prove_parts),
		cmocka_unit_test(a_list_is_unpacked),
		cmocka_unit_test(a_long_list_is_told_in_turns),
		cmocka_unit_test(compressed_frames_have_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
