// SPDX-License-Identifier: BSD-3-Clause
// What libclamav reports while it scans, and what of the file it has therefore not looked at.
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "scan/program/seen.h"

static struct scan_seen seen;
static struct scan_facts facts;

static int begin(void **state)
{
	(void)state;
	scan_seen_begin(&seen, false);
	facts = (struct scan_facts){0};
	return 0;
}

static void layer(const char *type, uint32_t level, const char *bytes, size_t n)
{
	scan_seen_layer(&seen, &facts, type, level, (const uint8_t *)bytes, n);
}

static void text(uint32_t level)
{
	layer("CL_TYPE_TEXT_ASCII", level, "a text of some length", 21);
}

static void member(const char *container, uint64_t size, uint32_t position)
{
	scan_seen_member(&seen, &facts, container, size, false, position);
}

static void expect(uint32_t reasons)
{
	scan_seen_end(&seen, &facts);
	assert_int_equal(facts.reasons, reasons);
}

#define FORMAT    (1u << SCAN_REASON_FORMAT)
#define ENCRYPTED (1u << SCAN_REASON_ENCRYPTED)

static void a_zip_whose_members_are_layers(void **state)
{
	(void)state;
	layer("CL_TYPE_ZIP", 0, "PK\3\4......", 10);
	for (uint32_t i = 1; i <= 2; i++) { // catalogue and header
		member("CL_TYPE_ZIP", 20, i);
		member("CL_TYPE_ZIP", 20, i);
	}
	member("CL_TYPE_ZIP", 0, 3); // a folder
	member("CL_TYPE_ZIP", 5, 4); // too short for any signature
	text(1);
	text(1);
	expect(0);
}

static void a_zip_with_a_method_that_the_engine_lacks(void **state)
{
	(void)state;
	layer("CL_TYPE_ZIP", 0, "PK\3\4......", 10);
	for (uint32_t i = 1; i <= 3; i++) {
		member("CL_TYPE_ZIP", 20, i);
		member("CL_TYPE_ZIP", 20, i);
	}
	text(1);
	text(1);
	expect(FORMAT);
}

// A ZIP as it is seen from its end: so many bytes of members, a catalogue, and a record that says
// where that is and how long.
static void ends_at(
	size_t members, size_t catalogue, uint32_t from, uint32_t size, uint32_t reasons)
{
	char bytes[400] = "PK\3\4";
	char *end = bytes + members + catalogue;

	memcpy(end, "PK\5\6", 4);
	memcpy(end + 12, &size, 4);
	memcpy(end + 16, &from, 4);
	begin(NULL);
	layer("CL_TYPE_ZIP", 0, bytes, members + catalogue + 22);
	expect(reasons);
	begin(NULL);
	layer("CL_TYPE_ZIP", 0, bytes, members + catalogue + 22 + 30); // what stands behind it
	expect(reasons);
	begin(NULL);
	layer("CL_TYPE_ZIP", 0, bytes, members + catalogue + 21); // it is not all there yet
	expect(0);
	begin(NULL);
	layer("CL_TYPE_BINARY_DATA", 0, bytes, members + catalogue + 22);
	expect(0);
}

static void a_zip_with_two_catalogues(void **state)
{
	(void)state;
	ends_at(100, 60, 100, 60, 0);
	ends_at(100, 60, 40, 60, FORMAT); // 60 bytes ahead, which programs skip
	ends_at(100, 60, 100, 59, FORMAT);
	ends_at(100, 60, UINT32_MAX, 60, FORMAT); // no large record is there
	ends_at(0, 0, 0, 0, 0);
}

// A header and its entry: each has a method, flags, and how many bytes are packed.
static void member_is(uint8_t method, uint8_t flags, uint8_t packed, uint8_t entry_method,
	uint8_t entry_flags, uint8_t entry_packed, uint32_t reasons)
{
	uint8_t bytes[40 + 46 + 22] = "PK\3\4", *entry = bytes + 40, *end = entry + 46;

	bytes[6] = flags;
	bytes[8] = method;
	bytes[18] = packed;
	memcpy(entry, "PK\1\2", 4);
	entry[8] = entry_flags;
	entry[10] = entry_method;
	entry[20] = entry_packed;
	memcpy(end, "PK\5\6", 4);
	end[12] = 46;
	end[16] = 40;
	begin(NULL);
	layer("CL_TYPE_ZIP", 0, (const char *)bytes, sizeof(bytes));
	expect(reasons);
}

static void a_zip_whose_headers_contradict(void **state)
{
	(void)state;
	member_is(8, 0, 9, 8, 0, 9, 0);
	member_is(8, 8, 0, 8, 8, 9, 0); // the size stands behind it
	member_is(0, 0, 9, 8, 0, 9, FORMAT);
	member_is(8, 0, 5, 8, 0, 9, FORMAT);
	member_is(8, 1, 9, 8, 0, 9, FORMAT);
}

#define BZ_BLOCK "BZh91AY&SY"
#define BZ_EMPTY "BZh1\x17rE8P\x90\0\0\0\0"

static void bzip2_is(const char *bytes, size_t n, uint32_t reasons)
{
	begin(NULL);
	layer("CL_TYPE_BZ", 0, bytes, n);
	expect(reasons);
}
#define BZIP2_IS(bytes, reasons) bzip2_is(bytes, sizeof(bytes) - 1, reasons)

static void bzip2_of_several_streams(void **state)
{
	(void)state;
	BZIP2_IS(BZ_BLOCK, 0);
	BZIP2_IS(BZ_BLOCK "some bytes, BZh and B", 0);
	BZIP2_IS(BZ_BLOCK "some bytes" BZ_BLOCK, FORMAT);
	BZIP2_IS(BZ_BLOCK "B" BZ_BLOCK "more", FORMAT);
	BZIP2_IS(BZ_EMPTY BZ_BLOCK, FORMAT);
	BZIP2_IS(BZ_BLOCK "some bytes" BZ_EMPTY, FORMAT);
	BZIP2_IS(BZ_BLOCK "some bytes BZh01AY&SY BZh91AY&S", 0);
	BZIP2_IS("a text about " BZ_BLOCK BZ_BLOCK, 0);
	BZIP2_IS("B", 0);
}

// In the large form: `large` is where the record says that the large one is, of 90.
static void ends_large_at(
	uint64_t large, uint64_t from, uint64_t size, uint32_t small, uint32_t reasons)
{
	const uint64_t rest = 44;
	char bytes[90 + 56 + 20 + 22] = "PK\3\4", *at = bytes + 90;

	memcpy(at, "PK\6\6", 4);
	memcpy(at + 4, &rest, 8);
	memcpy(at + 40, &size, 8);
	memcpy(at + 48, &from, 8);
	memcpy(at + 56, "PK\6\7", 4);
	memcpy(at + 64, &large, 8);
	memcpy(at + 76, "PK\5\6", 4);
	memcpy(at + 88, &small, 4);
	memcpy(at + 92, &small, 4);
	begin(NULL);
	layer("CL_TYPE_ZIP", 0, bytes, sizeof(bytes));
	expect(reasons);
}

static void a_large_zip_with_two_catalogues(void **state)
{
	(void)state;
	ends_large_at(90, 60, 30, UINT32_MAX, 0);
	ends_large_at(90, 60, 30, 45, 0);
	ends_large_at(90, 60, 30, 20, FORMAT);
	ends_large_at(90, 50, 30, UINT32_MAX, FORMAT);
	ends_large_at(90, UINT64_MAX, 91, UINT32_MAX, FORMAT); // 90 modulo 2^64
	ends_large_at(80, 60, 30, UINT32_MAX, FORMAT);
	ends_large_at(91, 60, 30, UINT32_MAX, FORMAT);
	ends_large_at(UINT64_MAX, 60, 30, UINT32_MAX, FORMAT);
}

static void layers_of_a_member_do_not_stand_for_others(void **state)
{
	(void)state;
	layer("CL_TYPE_ZIP", 0, "PK\3\4......", 10);
	member("CL_TYPE_ZIP", 20, 1);
	member("CL_TYPE_ZIP", 20, 2);
	layer("CL_TYPE_HTML", 1, "<html></html>", 13);
	text(2); // its normalised forms
	text(2);
	expect(FORMAT);
}

static void archives_in_archives(void **state)
{
	(void)state;
	layer("CL_TYPE_ZIP", 0, "PK\3\4......", 10);
	member("CL_TYPE_ZIP", 200, 1);
	member("CL_TYPE_ZIP", 200, 2);
	layer("CL_TYPE_ZIP", 1, "PK\3\4......", 10);
	member("CL_TYPE_ZIP", 20, 1);
	text(2);
	layer("CL_TYPE_7Z", 1, "7z\xbc\xaf\x27\x1c....", 10);
	member("CL_TYPE_7Z", 20, 0);
	text(2);
	member("CL_TYPE_7Z", 20, 0);
	text(2);
	expect(0);
}

// Its layer is not reported, and its members have no position.
static void an_archive_in_a_program(void **state)
{
	(void)state;
	layer("CL_TYPE_MSEXE", 0, "MZ..........", 12);
	member("CL_TYPE_ZIP", 20, 0);
	text(2);
	member("CL_TYPE_ZIP", 20, 0);
	text(2);
	expect(0);
	member("CL_TYPE_ZIP", 20, 0);
	expect(FORMAT);
}

static void an_encrypted_member(void **state)
{
	(void)state;
	layer("CL_TYPE_ZIP", 0, "PK\3\4......", 10);
	scan_seen_member(&seen, &facts, "CL_TYPE_ZIP", 20, true, 1);
	expect(ENCRYPTED);
}

// Mail announces parts that are no layers, and others.
static void what_mail_announces(void **state)
{
	(void)state;
	layer("CL_TYPE_MAIL", 0, "From: someone", 13);
	member("CL_TYPE_MAIL", 200, 1);
	expect(0);
}

static const char rar4[] = "Rar!\x1a\x07\0\xcf\x90\x73\0\0\r\0\0\0\0\0\0\0";
static const char rar5[] = "Rar!\x1a\x07\1\0\x33\x92\xb5\xe5\n\1\5\6\0\5\1\1";

static void rar_where_it_is_not_opened(void **state)
{
	char program[100] = "MZ";

	layer("CL_TYPE_RAR", 0, rar4, sizeof(rar4));
	expect(FORMAT);
	begin(state); // without the engine's word
	layer("CL_TYPE_BINARY_DATA", 0, rar5, sizeof(rar5));
	expect(FORMAT);
	begin(state); // in a program, which unpacks itself
	memcpy(program + 60, rar4, sizeof(rar4));
	layer("CL_TYPE_MSEXE", 0, program, sizeof(program));
	expect(FORMAT);
	begin(state);
	memcpy(program + 60, rar5, sizeof(rar5));
	layer("CL_TYPE_ELF", 3, program, sizeof(program));
	expect(FORMAT);
	begin(state); // a program that knows the mark
	memset(program + 66, 0xaa, sizeof(program) - 66);
	layer("CL_TYPE_MSEXE", 0, program, sizeof(program));
	expect(0);
	begin(state); // at the end of what can be read
	layer("CL_TYPE_MSEXE", 0, program, 66);
	expect(0);
}

static void rar_where_it_is_opened(void **state)
{
	(void)state;
	scan_seen_begin(&seen, true);
	layer("CL_TYPE_RAR", 0, rar4, sizeof(rar4));
	expect(0);
}

static void formats_that_the_engine_does_not_know(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		uint32_t reasons;
	} files[] = {
		{"\x28\xb5\x2f\xfd....", 8, FORMAT},
		{"\x04\x22\x4d\x18....", 8, FORMAT},
		{"LZIP\1...", 8, FORMAT},
		{"\x1f\x9d\x90.....", 8, FORMAT},
		{".......**ACE**", 14, FORMAT},
		{"LUKS\xba\xbe..", 8, ENCRYPTED},
		{"Salted__", 8, ENCRYPTED},
		{"\x28\xb5\x2f", 3, 0}, // shorter than its mark
		{"\x1f\x8b\x08.....", 8, 0},
		{"Salt, and pepper", 16, 0},
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		begin(state);
		layer("CL_TYPE_BINARY_DATA", 1, files[i].bytes, files[i].n);
		expect(files[i].reasons);
	}
}

static void deeper_than_anything_may_be(void **state)
{
	(void)state;
	text(SCAN_SEEN_LEVELS - 1);
	expect(0);
	text(SCAN_SEEN_LEVELS);
	text(UINT32_MAX);
	expect(1u << SCAN_REASON_TOO_DEEP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_zip_whose_members_are_layers, begin),
		cmocka_unit_test_setup(a_zip_with_a_method_that_the_engine_lacks, begin),
		cmocka_unit_test_setup(a_zip_with_two_catalogues, begin),
		cmocka_unit_test_setup(a_large_zip_with_two_catalogues, begin),
		cmocka_unit_test_setup(a_zip_whose_headers_contradict, begin),
		cmocka_unit_test_setup(bzip2_of_several_streams, begin),
		cmocka_unit_test_setup(layers_of_a_member_do_not_stand_for_others, begin),
		cmocka_unit_test_setup(archives_in_archives, begin),
		cmocka_unit_test_setup(an_archive_in_a_program, begin),
		cmocka_unit_test_setup(an_encrypted_member, begin),
		cmocka_unit_test_setup(what_mail_announces, begin),
		cmocka_unit_test_setup(rar_where_it_is_not_opened, begin),
		cmocka_unit_test_setup(rar_where_it_is_opened, begin),
		cmocka_unit_test_setup(formats_that_the_engine_does_not_know, begin),
		cmocka_unit_test_setup(deeper_than_anything_may_be, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
