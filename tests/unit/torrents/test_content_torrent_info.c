// SPDX-License-Identifier: BSD-3-Clause
// Info dictionaries of torrents: the files that they list, those that clients read differently, and
// those that none reads.
#include "content/bittorrent/info.h"
#include "content/memory.h"
#include "lib/content/bittorrent_talk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define P1           "12:piece lengthi16e"
#define TEN          "6:pieces20:aaaaaaaaaaaaaaaaaaaae" // of up to 16 bytes
#define NAME         "4:name5:alpha" P1 TEN
#define FILE10(path) "d6:lengthi10e4:pathl" path "ee"
#define LIST(files)  "d5:filesl" files "e" NAME
#define LEAF(n)      "d0:d6:lengthi" n "eee"
#define V2(tree)     "d9:file treed" tree "e12:meta versioni2e4:name5:alpha12:piece lengthi16384ee"

struct row {
	const char *name, *info;
	uint32_t length;
	const char *expected;
};
#define ROW(name, info, expected)                      \
	{                                              \
		name, info, sizeof(info) - 1, expected \
	}

static const struct row good[] = {
	ROW("one file", ONE, "40 in 16: 0+40 setup.exe; 3 digests\n"),
	ROW("several", TWO, "30 in 16 alpha: 0+10 a.txt; 10+0 empty; 10+20 dir/b.exe; 2 digests\n"),
	ROW("version 2", SECOND, "16404 in 16384 beta: 0+10 a.txt; 16384+20 b.exe; 0 digests\n"),
	ROW("both", HYBRID,
		"16404 in 16384 beta: 0+10 a.txt; 10+16374 padding; 16384+20 b.exe; 2 digests\n"),
	ROW("a folder within folders",
		V2("1:ad1:bd5:c.exe" LEAF("1") "e1:d" LEAF("2") "e1:e" LEAF("0")),
		"16386 in 16384 alpha: 0+1 a/b/c.exe; 16384+2 a/d; 16386+0 e; 0 digests\n"),
	ROW("a name in UTF-8 beside another",
		"d6:lengthi10e4:name5:a.txt10:name.utf-85:a.exe" P1 TEN,
		"10 in 16: 0+10 a.exe or a.txt; 1 digests\n"),
	ROW("the same name twice", "d6:lengthi10e4:name5:a.txt10:name.utf-85:a.txt" P1 TEN,
		"10 in 16: 0+10 a.txt; 1 digests\n"),
	ROW("a path in UTF-8 beside another",
		LIST("d6:lengthi10e4:pathl1:b5:c.txte10:path.utf-8l1:a5:c.exeee"),
		"10 in 16 alpha: 0+10 a/c.exe or c.txt; 1 digests\n"),
	ROW("a path in UTF-8 alone", LIST("d6:lengthi10e10:path.utf-8l5:c.exeee"),
		"10 in 16 alpha: 0+10 c.exe; 1 digests\n"),
	ROW("names that are no UTF-8, and surrogates",
		LIST("d6:lengthi10e4:pathl4:\xff\xfe.a6:\xed\xa0\xbd\xed\xb8\x80"
		     "ee"),
		"10 in 16 alpha: 0+10 \xff\xfe.a/\xed\xa0\xbd\xed\xb8\x80; 1 digests\n"),
	ROW("a link without bytes",
		LIST(FILE10("1:a") "d4:attr1:l4:pathl1:b"
				   "e12:symlink pathl1:aee"),
		"10 in 16 alpha: 0+10 a; 10+0 b; 1 digests\n"),
	ROW("no name", "d6:lengthi10e" P1 TEN, "10 in 16: 0+10 ; 1 digests\n"),
	ROW("keys that nobody knows, and lists in lists",
		"d1:alllli1eeeee6:lengthi10e4:name1:b" P1
		"6:pieces20:aaaaaaaaaaaaaaaaaaaa7:privatei1e"
		"1:zd1:yd1:xi-99999999999999999999999eeee",
		"10 in 16: 0+10 b; 1 digests\n"),
	ROW("no bytes at all", "d6:lengthi0e4:name1:b" P1 "6:pieces0:e",
		"0 in 16: 0+0 b; 0 digests\n"),
};

static const struct row ambiguous[] = {
	ROW("a key twice", "d6:lengthi10e6:lengthi9e4:name1:b" P1 TEN,
		"10 in 16: 0+10 b; 1 digests, ambiguous\n"),
	ROW("a name twice", "d6:lengthi10e4:name1:b4:name1:c" P1 TEN,
		"10 in 16: 0+10 b; 1 digests, ambiguous\n"),
	ROW("a file's key twice", LIST("d6:lengthi10e4:pathl1:ae4:pathl1:bee"),
		"10 in 16 alpha: 0+10 a; 1 digests, ambiguous\n"),
	ROW("one file and several", "d5:filesl" FILE10("1:a") "e6:lengthi10e" NAME,
		"10 in 16 alpha: 0+10 a; 1 digests, ambiguous\n"),
	ROW("a path that climbs", LIST(FILE10("2:..1:a")),
		"10 in 16 alpha: 0+10 ../a; 1 digests, ambiguous\n"),
	ROW("a component that is none", LIST(FILE10("1:.0:1:a")),
		"10 in 16 alpha: 0+10 .//a; 1 digests, ambiguous\n"),
	ROW("a separator in a component", LIST(FILE10("5:a/b\\c")),
		"10 in 16 alpha: 0+10 a_b_c; 1 digests, ambiguous\n"),
	ROW("a NUL in a component", LIST(FILE10("9:a.txt\0.ex")),
		"10 in 16 alpha: 0+10 a.txt_.ex; 1 digests, ambiguous\n"),
	ROW("a separator in the name", "d6:lengthi10e4:name6:../etc" P1 TEN,
		"10 in 16: 0+10 .._etc; 1 digests, ambiguous\n"),
	ROW("a folder that climbs", "d5:filesl" FILE10("1:a") "e4:name2:.." P1 TEN,
		"10 in 16 ..: 0+10 a; 1 digests, ambiguous\n"),
	ROW("a path without components", LIST(FILE10("")),
		"10 in 16 alpha: 0+10 ; 1 digests, ambiguous\n"),
	ROW("a link with bytes", LIST("d4:attr1:l6:lengthi10e4:pathl1:aee"),
		"10 in 16 alpha: 0+10 a; 1 digests, ambiguous\n"),
	ROW("bytes behind it", "d6:lengthi10e4:name1:b" P1 TEN "x",
		"10 in 16: 0+10 b; 1 digests, ambiguous\n"),
	ROW("a later version", "d6:lengthi10e12:meta versioni3e4:name1:b" P1 TEN,
		"10 in 16: 0+10 b; 1 digests, ambiguous\n"),
	ROW("a tree that is not in order", V2("1:b" LEAF("1") "1:a" LEAF("1")),
		"16385 in 16384 alpha: 0+1 b; 16384+1 a; 0 digests, ambiguous\n"),
	ROW("a file twice", V2("1:a" LEAF("1") "1:a" LEAF("2")),
		"16386 in 16384 alpha: 0+1 a; 16384+2 a; 0 digests, ambiguous\n"),
	ROW("a file that is a folder", V2("1:ad0:d6:lengthi1ee1:b" LEAF("1") "e"),
		"16385 in 16384 alpha: 0+1 a; 16384+1 a/b; 0 digests, ambiguous\n"),
};

#define BOTH(tree, list)                                                                  \
	"d9:file treed" tree "e5:filesl" list "e12:meta versioni2e4:name5:alpha12:piece " \
	"lengthi16384e" TEN
static const struct row hybrids[] = {
	ROW("another name", BOTH("1:a" LEAF("10"), FILE10("1:b")),
		"10 in 16384 alpha: 0+10 b; 1 digests, ambiguous\n"),
	ROW("another size", BOTH("1:b" LEAF("9"), FILE10("1:b")),
		"10 in 16384 alpha: 0+10 b; 1 digests, ambiguous\n"),
	ROW("one file less", BOTH("", FILE10("1:b")),
		"10 in 16384 alpha: 0+10 b; 1 digests, ambiguous\n"),
	ROW("one file more", BOTH("1:b" LEAF("10") "1:c" LEAF("1"), FILE10("1:b")),
		"10 in 16384 alpha: 0+10 b; 1 digests, ambiguous\n"),
	ROW("without padding", BOTH("1:b" LEAF("10") "1:c" LEAF("10"), FILE10("1:b") FILE10("1:c")),
		"20 in 16384 alpha: 0+10 b; 10+10 c; 1 digests, ambiguous\n"),
	ROW("the same", BOTH("1:b" LEAF("10"), FILE10("1:b")),
		"10 in 16384 alpha: 0+10 b; 1 digests\n"),
};

static const struct row none[] = {
	ROW("nothing", "", ""),
	ROW("no dictionary", "i1e", ""),
	ROW("it ends too soon", "d6:lengthi10e4:name1:b" P1 "6:pieces20:aaaaaaaaaaaaaaaaaaaa", ""),
	ROW("a string that is longer than all", "d4:name4294967295:be", ""),
	ROW("a string of a length that does not fit", "d4:name99999999999999999999:be", ""),
	ROW("no length of pieces", "d6:lengthi10e4:name1:b" TEN, ""),
	ROW("a length of pieces of 0", "d6:lengthi10e4:name1:b12:piece lengthi0e" TEN, ""),
	ROW("a negative one", "d6:lengthi10e4:name1:b12:piece lengthi-16e" TEN, ""),
	ROW("a huge one", "d6:lengthi10e4:name1:b12:piece lengthi9223372036854775807e" TEN, ""),
	ROW("a negative size", "d6:lengthi-10e4:name1:b" P1 TEN, ""),
	ROW("a size that does not fit", "d6:lengthi9223372036854775808e4:name1:b" P1 TEN, ""),
	ROW("sizes that do not fit together",
		LIST("d6:lengthi4611686018427387904e4:pathl1:aeed6:lengthi4611686018427387904e4:"
		     "pathl1:bee"),
		""),
	ROW("too few digests", "d6:lengthi17e4:name1:b" P1 TEN, ""),
	ROW("too many",
		"d6:lengthi10e4:name1:b12:piece lengthi16e6:pieces40:"
		"aaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbe",
		""),
	ROW("half a digest", "d6:lengthi10e4:name1:b" P1 "6:pieces19:aaaaaaaaaaaaaaaaaaae", ""),
	ROW("no digests and no tree", "d6:lengthi10e4:name1:b" P1 "e", ""),
	ROW("no files", LIST(""), ""),
	ROW("files that are none", "d5:filesi1e" NAME, ""),
	ROW("a path that is none", LIST("d6:lengthi10e4:path1:aee"), ""),
	ROW("no path", LIST("d6:lengthi10ee"), ""),
	ROW("no size", LIST("d4:pathl1:aee"), ""),
	ROW("pieces of version 2 that are too short",
		"d9:file treed1:a" LEAF("1") "e12:meta versioni2e4:name1:a" P1 "e", ""),
	ROW("... or no power of two",
		"d9:file treed1:a" LEAF("1") "e12:meta versioni2e4:name1:a12:piece lengthi16385ee",
		""),
	ROW("a tree of numbers", V2("1:ai1e"), ""),
	ROW("a file without a name", V2("0:d6:lengthi1ee"), ""),
};

static void *block_of(const struct info_measure *measure)
{
	size_t bytes = info_bytes(measure);
	void *block = aligned_alloc(16, (bytes + 15) & ~(size_t)15);

	assert_non_null(block);
	return block;
}

static void put_files(FILE *out, const struct torrent *torrent)
{
	fprintf(out, "%llu in %llu", (unsigned long long)torrent->size,
		(unsigned long long)torrent->piece_bytes);
	if (torrent->folder_length)
		fprintf(out, " %.*s", (int)torrent->folder_length,
			torrent->texts + torrent->folder);
	for (uint32_t i = 0; i < torrent->n_files; i++) {
		const struct torrent_file *file = &torrent->files[i];

		fprintf(out, "%s %llu+%llu %.*s", i ? ";" : ":", (unsigned long long)file->from,
			(unsigned long long)file->size, (int)file->name_length,
			torrent->texts + file->name);
		if (file->padding)
			fprintf(out, "padding");
		if (file->alias_length)
			fprintf(out, " or %.*s", (int)file->alias_length,
				torrent->texts + file->alias);
	}
	fprintf(out, "; %u digests%s\n", torrent->n_pieces,
		torrent->ambiguous ? ", ambiguous" : "");
}

// In a heap block of its size: nothing behind it is read.
static void check(const struct row *row)
{
	uint8_t *exact = malloc(row->length ? row->length : 1);
	struct info_measure measure;
	char text[1024] = "";

	assert_non_null(exact);
	memcpy(exact, row->info, row->length);
	if (info_measure(exact, row->length, &measure) == TORRENT_LEARNED) {
		void *block = block_of(&measure);
		struct torrent *torrent = info_build(exact, row->length, &measure, block);
		FILE *out = fmemopen(text, sizeof(text), "w");

		memset(exact, 'X', row->length); // it does not refer to it
		put_files(out, torrent);
		fclose(out);
		free(block);
	}
	if (strcmp(text, row->expected) != 0)
		fail_msg("%s: got\n%sinstead of\n%s", row->name, text, row->expected);
	for (uint32_t cut = 0; cut < row->length; cut++) {
		memcpy(exact, row->info, row->length);
		uint8_t *part = malloc(cut ? cut : 1);

		assert_non_null(part);
		memcpy(part, exact, cut);
		if (row->expected[0] && !strstr(row->expected, "ambig"))
			assert_int_equal(info_measure(part, cut, &measure), TORRENT_BROKEN);
		else
			info_measure(part, cut, &measure);
		free(part);
	}
	free(exact);
}

#define CHECK_ALL(rows)                                             \
	for (size_t i = 0; i < sizeof(rows) / sizeof(*(rows)); i++) \
	check(&(rows)[i])

static void files_are_listed(void **state)
{
	(void)state;
	CHECK_ALL(good);
}

static void what_clients_read_differently_is_said(void **state)
{
	(void)state;
	CHECK_ALL(ambiguous);
	CHECK_ALL(hybrids);
}

static void what_no_client_reads_is_none(void **state)
{
	(void)state;
	CHECK_ALL(none);
}

// A text that is written as it goes.
struct built {
	char *bytes;
	size_t length;
	FILE *out;
};

static void built_begin(struct built *built)
{
	built->out = open_memstream(&built->bytes, &built->length);
	assert_non_null(built->out);
}

static enum torrent_learned built_measure(struct built *built, struct info_measure *measure)
{
	fclose(built->out);
	enum torrent_learned learned =
		info_measure((const uint8_t *)built->bytes, (uint32_t)built->length, measure);

	free(built->bytes);
	return learned;
}

static enum torrent_learned many_files(uint32_t n, struct info_measure *measure)
{
	struct built built;

	built_begin(&built);
	fprintf(built.out, "d5:filesl");
	for (uint32_t i = 0; i < n; i++)
		fprintf(built.out, "d6:lengthi0e4:pathl1:aee");
	fprintf(built.out, "e4:name1:n12:piece lengthi16e6:pieces0:e");
	return built_measure(&built, measure);
}

static void a_torrent_of_a_million_files_is_too_big(void **state)
{
	struct info_measure measure;

	(void)state;
	assert_int_equal(many_files(100000, &measure), TORRENT_LEARNED);
	assert_int_equal(measure.n_files, 100000);
	assert_true(info_bytes(&measure) <= CONTENT_BLOCK_MAX);
	assert_int_equal(many_files(300000, &measure), TORRENT_TOO_BIG);
	assert_int_equal(many_files(1000000, &measure), TORRENT_TOO_BIG);
}

static enum torrent_learned nested(uint32_t depth, struct info_measure *measure)
{
	struct built built;

	built_begin(&built);
	fprintf(built.out, "d9:file treed");
	for (uint32_t i = 0; i < depth; i++)
		fprintf(built.out, "1:ad");
	fprintf(built.out, "0:d6:lengthi1ee");
	for (uint32_t i = 0; i < depth; i++)
		fputc('e', built.out);
	fprintf(built.out, "e12:meta versioni2e4:name1:n12:piece lengthi16384ee");
	return built_measure(&built, measure);
}

static void folders_within_folders_have_a_bound(void **state)
{
	struct info_measure measure;

	(void)state;
	assert_int_equal(nested(INFO_DEPTH_MAX, &measure), TORRENT_LEARNED);
	assert_int_equal(measure.text_bytes, 1 + 2 * INFO_DEPTH_MAX - 1);
	assert_int_equal(nested(INFO_DEPTH_MAX + 1, &measure), TORRENT_TOO_BIG);
	assert_int_equal(nested(1000000, &measure), TORRENT_TOO_BIG);
}

// A folder's name is written for each of its files: what that comes to is bounded before it is
// read on.
static void long_names_of_many_files_have_a_bound(void **state)
{
	struct info_measure measure;
	struct built built;

	(void)state;
	built_begin(&built);
	fprintf(built.out, "d9:file treed3000:%03000dd", 7);
	for (uint32_t i = 0; i < 100000; i++)
		fprintf(built.out, "5:%05ud0:d6:lengthi0eee", i);
	fprintf(built.out, "ee12:meta versioni2e4:name1:n12:piece lengthi16384ee");
	assert_int_equal(built_measure(&built, &measure), TORRENT_TOO_BIG);
	assert_true(measure.n_files < 3000);

	// beyond what is kept of a path the last component alone is
	built_begin(&built);
	fprintf(built.out, "d9:file treed5000:%05000dd", 7);
	for (uint32_t i = 0; i < 50000; i++)
		fprintf(built.out, "5:%05ud0:d6:lengthi0eee", i);
	fprintf(built.out, "ee12:meta versioni2e4:name1:n12:piece lengthi16384ee");
	assert_int_equal(built_measure(&built, &measure), TORRENT_LEARNED);
	assert_int_equal(measure.text_bytes, 1 + 50000 * 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_listed),
		cmocka_unit_test(what_clients_read_differently_is_said),
		cmocka_unit_test(what_no_client_reads_is_none),
		cmocka_unit_test(a_torrent_of_a_million_files_is_too_big),
		cmocka_unit_test(folders_within_folders_have_a_bound),
		cmocka_unit_test(long_names_of_many_files_have_a_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
