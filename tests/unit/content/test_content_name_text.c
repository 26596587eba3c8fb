// SPDX-License-Identifier: BSD-3-Clause
// What a person reads as the same has one form, whatever charset and encoding it came in; the form
// of a form is itself, and a form that is cut is a beginning of it. The whole of Unicode is held
// against Python's tables by tests/cli/content_text.test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "content/name_text.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define SIZE        1024

struct text {
	uint8_t bytes[SIZE];
	uint32_t length;
	bool cut;
};

typedef uint32_t normalize(enum text_charset charset, const uint8_t *bytes, uint32_t length,
	uint8_t *out, uint32_t size, bool *cut);

// From and into heap blocks of exactly these sizes.
static struct text form_of(normalize *function, enum text_charset charset, const void *bytes,
	uint32_t length, uint32_t size)
{
	uint8_t *in = malloc(length ? length : 1), *out = malloc(size ? size : 1);
	struct text text;

	assert_non_null(in);
	assert_non_null(out);
	memcpy(in, bytes, length);
	text.length = function(charset, in, length, out, size, &text.cut);
	assert_true(text.length <= size);
	memcpy(text.bytes, out, text.length);
	free(in);
	free(out);
	return text;
}

static void expect_bytes(const char *what, const uint8_t *bytes, uint32_t length, const char *form)
{
	if (length == strlen(form) && !memcmp(bytes, form, length))
		return;
	fprintf(stderr, "%s: \"%.*s\", expected \"%s\"\n", what, (int)length, (const char *)bytes,
		form);
	fail();
}

struct row {
	const char *what;
	enum text_charset charset;
	const char *bytes;
	uint32_t length;
	const char *form;
};

// clang-format off
#define UTF8(what, bytes, form) {what, CHARSET_UTF8, bytes, sizeof(bytes) - 1, form}
#define OF(charset, what, bytes, form) {what, CHARSET_##charset, bytes, sizeof(bytes) - 1, form}
#define BAD "\xef\xbf\xbd"

static const struct row texts[] = {
	UTF8("nothing", "", ""),
	UTF8("ASCII", "Hello, World! ~", "hello, world! ~"),
	UTF8("full-width letters", "\xef\xbc\xa5\xef\xbc\xb8\xef\xbc\xa5\xef\xbc\x8e", "exe."),
	UTF8("mathematical alphanumerics", "\xf0\x9d\x90\x9e\xf0\x9d\x94\xb5\xf0\x9d\x95\x96", "exe"),
	UTF8("ligature", "\xef\xac\x81le", "file"),
	UTF8("circled, superscript", "\xe2\x93\x90\xc2\xb2", "a2"),
	UTF8("sharp s", "STRASSE stra\xc3\x9f" "e STRA\xe1\xba\x9e" "E", "strasse strasse strasse"),
	UTF8("dotted I", "\xc4\xb0", "i\xcc\x87"),
	UTF8("dotless i stays", "\xc4\xb1", "\xc4\xb1"),
	UTF8("final sigma", "\xce\xa3\xcf\x83\xcf\x82", "\xcf\x83\xcf\x83\xcf\x83"),
	UTF8("Cherokee folds to capitals", "\xea\xad\xb0", "\xe1\x8e\xa0"),
	UTF8("zero-width space, joiner, non-joiner", "e\xe2\x80\x8bx\xe2\x80\x8d" "e\xe2\x80\x8c", "exe"),
	UTF8("soft hyphen, word joiner", "e\xc2\xadx\xe2\x81\xa0" "e", "exe"),
	UTF8("byte order mark, also within", "\xef\xbb\xbf" "e\xef\xbb\xbfxe", "exe"),
	UTF8("variation selectors", "a\xef\xb8\x8f" "b\xf3\xa0\x84\x80" "c\xe1\xa0\x8b", "abc"),
	UTF8("bidirectional controls", "\xe2\x80\xaa\xe2\x80\xab\xe2\x80\xac\xe2\x80\xad"
		"cod\xe2\x80\xaetxt.exe\xe2\x81\xa6\xe2\x81\xa7\xe2\x81\xa8\xe2\x81\xa9", "codtxt.exe"),
	UTF8("tags, and what may be ignored once it is assigned", "a\xf3\xa0\x81\xa1" "b\xe2\x81\xa5" "c\xf3\xa0\x88\x80", "abc"),
	UTF8("Hangul filler", "a\xe3\x85\xa4" "b", "ab"),
	UTF8("controls", "a\1b\x7f" "c\xc2\x80" "d\0e", "abcde"),
	UTF8("white space", "a\xc2\xa0 \t\r\n\xe3\x80\x80\xe2\x80\x83\xe2\x80\xa8" "b \xc2\x85", "a b "),
	UTF8("white space beside what is left out", " \xe2\x80\x8b a", " a"),
	UTF8("white space that a letter begins with", "a \xc2\xa8", "a \xcc\x88"),
	UTF8("composed", "e\xcc\x81\xcc\xa7", "\xc8\xa9\xcc\x81"),
	UTF8("decomposed alike", "\xc3\xa9\xcc\xa7", "\xc8\xa9\xcc\x81"),
	UTF8("iota subscript, behind and before an accent", "\xce\xb1\xcd\x85\xcc\x81 \xce\xb1\xcc\x81\xcd\x85 \xe1\xbe\xb4",
		"\xce\xac\xce\xb9 \xce\xac\xce\xb9 \xce\xac\xce\xb9"),
	UTF8("Hangul", "\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8 \xea\xb0\x80\xe1\x86\xa8", "\xea\xb0\x81 \xea\xb0\x81"),
	UTF8("half-width kana with its voice", "\xef\xbd\xb6\xef\xbe\x9e", "\xe3\x82\xac"),
	UTF8("excluded from composition", "\xe0\xa5\x98", "\xe0\xa4\x95\xe0\xa4\xbc"),
	UTF8("two vowels that compose", "\xe0\xaf\x86\xe0\xae\xbe", "\xe0\xaf\x8a"),
	UTF8("a mark alone", "\xcc\x81" "a", "\xcc\x81" "a"),
	UTF8("another script's letters stay", "\xd1\x80\xd0\xb0y", "\xd1\x80\xd0\xb0y"),
	UTF8("overlong", "\xc0\xaf\xe0\x80\xaf\xf0\x80\x80\xaf", BAD BAD BAD BAD BAD BAD BAD BAD BAD),
	UTF8("surrogate", "\xed\xa0\x80" "a", BAD BAD BAD "a"),
	UTF8("beyond U+10FFFF", "\xf4\x90\x80\x80\xf8", BAD BAD BAD BAD BAD),
	UTF8("truncated (Unicode, table 3-11)", "\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", BAD BAD BAD BAD "a"),
	UTF8("truncated at the end", "a\xf0\x9f\x98", "a" BAD),
	UTF8("continued by nothing", "\x80\xbf" "a", BAD BAD "a"),
	OF(GUESS, "guess UTF-8", "\xc3\xa9", "\xc3\xa9"),
	OF(GUESS, "guess ISO 8859-1", "\xe9t\xe9", "\xc3\xa9t\xc3\xa9"),
	OF(GUESS, "guess little endian", "\xff\xfe" "A\0\xe9\0", "a\xc3\xa9"),
	OF(GUESS, "guess big endian", "\xfe\xff\0A\0\xe9", "a\xc3\xa9"),
	OF(GUESS, "a mark of UTF-8 and what is none", "\xef\xbb\xbf" "a\xe9", "a" BAD),
	OF(LATIN1, "ISO 8859-1", "\xc9\xdf", "\xc3\xa9ss"),
	OF(LATIN1, "windows-1252", "\x80\x93\x81", "\xe2\x82\xac\xe2\x80\x9c"),
	OF(LATIN9, "ISO 8859-15", "\xa4\xe9", "\xe2\x82\xac\xc3\xa9"),
	OF(UTF16LE, "surrogates", "\x3d\xd8\0\xde" "A\0", "\xf0\x9f\x98\x80" "a"),
	OF(UTF16BE, "surrogates, big endian", "\xd8\x3d\xde\0\0A", "\xf0\x9f\x98\x80" "a"),
	OF(UTF16LE, "surrogates alone", "\x3d\xd8" "A\0\0\xde\x3d\xd8", BAD "a" BAD BAD),
	OF(UTF16BE, "two high ones", "\xd8\x3d\xd8\x3d\xde\0", BAD "\xf0\x9f\x98\x80"),
	OF(UTF16LE, "odd length", "A\0B", "a" BAD),
	OF(UTF16, "as its mark says", "\xff\xfe" "A\0", "a"),
	OF(UTF16, "without a mark", "\0A", "a"),
};

static const struct row names[] = {
	UTF8("percent escapes", "%73etup%2eEXE", "setup.exe"),
	UTF8("once", "a%2541", "a%41"),
	UTF8("no escapes", "100%, %4, %zz%", "100%, %4, %zz%"),
	UTF8("a character in escapes", "%c3%89", "\xc3\xa9"),
	OF(GUESS, "guessed behind the escapes", "%E9t%e9", "\xc3\xa9t\xc3\xa9"),
	OF(UTF16LE, "no escapes in UTF-16", "%\0" "4\0" "1\0", "%41"),
	OF(GUESS, "nor behind its mark", "\xff\xfe%\x34\x31\0", "\xe3\x90\xa5" "1"),
	UTF8("separators", "C:\\Dir/\xef\xbc\xbc" "a%5Cb%2fc", "c:/dir//a/b/c"),
	UTF8("blanks and dots at ends", "a. ./b . /c...", "a/b/c"),
	UTF8("blanks and dots elsewhere", " .a .b", " .a .b"),
	UTF8("dots alone", "../a/./b", "/a//b"),
	UTF8("full-width dots, no-break spaces", "a.exe\xef\xbc\x8e\xc2\xa0\xe2\x80\xa6", "a.exe"),
	UTF8("controls", "a.e%00x%0a\x1f" "e", "a.ex e"),
	UTF8("the file's own stream", "A.EXE::$DATA", "a.exe"),
	UTF8("twice, with dots", "a.exe. ::$DATA .::$data.", "a.exe"),
	UTF8("in a folder", "d::$data/a", "d/a"),
	UTF8("another stream", "a.txt:b.exe:$DATA", "a.txt:b.exe:$data"),
	UTF8("nearly", "a::$dat::$datab", "a::$dat::$datab"),
	UTF8("three colons", "a:::$data", "a:"),
	UTF8("a colon, dots", "a:.", "a:"),
	UTF8("restarted", "a::::$data:", "a::::$data:"),
	UTF8("behind a part of it", "a::$::$data", "a::$"),
	UTF8("reversed by a control", "invoice\xe2\x80\xae" "fdp.exe", "invoicefdp.exe"),
};
// clang-format on

static void expect_form(normalize *function, const struct row *row)
{
	struct text form = form_of(function, row->charset, row->bytes, row->length, SIZE);

	expect_bytes(row->what, form.bytes, form.length, row->form);
	assert_false(form.cut);
}

static void texts_have_their_form(void **state)
{
	(void)state;
	for (unsigned i = 0; i < COUNT(texts); i++)
		expect_form(text_normalize, &texts[i]);
}

static void names_have_their_form(void **state)
{
	(void)state;
	for (unsigned i = 0; i < COUNT(names); i++)
		expect_form(name_normalize, &names[i]);
}

static uint32_t random_below(uint64_t *seed, uint32_t n)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % n;
}

// Pieces of the rows, and bytes that are none.
static uint32_t draw(uint64_t *seed, uint8_t *bytes, bool percent)
{
	uint32_t length = 0, n = 1 + random_below(seed, 8);

	for (uint32_t i = 0; i < n; i++) {
		uint32_t which = random_below(seed, COUNT(texts) + COUNT(names));
		const struct row *row =
			which < COUNT(texts) ? &texts[which] : &names[which - COUNT(texts)];

		for (uint32_t k = 0; k < row->length; k++)
			bytes[length++] = (uint8_t)row->bytes[k];
		for (uint32_t k = random_below(seed, 4); k > 0; k--)
			bytes[length++] = (uint8_t)random_below(seed, 256);
		// marks of combining characters
		for (uint32_t k = random_below(seed, 5) ? 0 : random_below(seed, 40); k > 0; k--) {
			bytes[length++] = 0xcc;
			bytes[length++] = (uint8_t)(0x80 + random_below(seed, 64));
		}
	}
	for (uint32_t i = 0; !percent && i < length; i++)
		bytes[i] = bytes[i] == '%' ? '-' : bytes[i];
	return length;
}

static bool is_utf8(const uint8_t *bytes, uint32_t length)
{
	const struct text_source source = {.bytes = bytes, .length = length};

	return charset_guess(&source) == CHARSET_UTF8;
}

static void holds(normalize *function, uint64_t *seed)
{
	static uint8_t bytes[8 * SIZE], out[8 * SIZE * 4];
	enum text_charset charset = (enum text_charset)random_below(seed, CHARSET_UNKNOWN);
	uint32_t length = draw(seed, bytes, function == text_normalize);
	bool cut;
	uint32_t whole = function(charset, bytes, length, out, sizeof(out), &cut);

	assert_false(cut);
	assert_true(is_utf8(out, whole));
	if (whole > SIZE)
		return;
	struct text again = form_of(function, CHARSET_GUESS, out, whole, SIZE);

	if (again.length != whole || memcmp(again.bytes, out, whole))
		fail_msg("another form of \"%.*s\"", (int)whole, (const char *)out);
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t size = i ? random_below(seed, whole + 2) : whole;
		struct text part = form_of(function, charset, bytes, length, size);

		assert_int_equal(part.cut, size < whole);
		assert_true(part.length <= whole && (size < whole || part.length == whole));
		assert_memory_equal(part.bytes, out, part.length);
		assert_true(is_utf8(part.bytes, part.length));
		// what did not fit is one character
		assert_true(!part.cut || size - part.length < 4 || function == name_normalize);
	}
}

static void a_form_is_its_own_and_begins_as_it_is_cut(void **state)
{
	const char *rounds = getenv("SLUICE_LONG") ? "1000000" : "20000";
	uint64_t seed = getenv("SLUICE_SEED") ? strtoull(getenv("SLUICE_SEED"), NULL, 0) : 1;

	(void)state;
	for (unsigned long i = strtoul(rounds, NULL, 10); i > 0; i--) {
		holds(text_normalize, &seed);
		holds(name_normalize, &seed);
	}
}

static void no_more_marks_than_a_person_reads(void **state)
{
	uint8_t bytes[3000] = {'e'};
	uint32_t n = 1;

	(void)state;
	for (; n + 2 <= sizeof(bytes); n += 2)
		memcpy(bytes + n, n % 4 == 1 ? "\xcc\x81" : "\xcc\xa7", 2); // acute, cedilla
	bytes[n - 2] = 'x';
	struct text form = form_of(text_normalize, CHARSET_UTF8, bytes, n - 1, SIZE);

	// 30 of them, of which one cedilla is part of the letter
	assert_int_equal(form.length, 2 + 29 * 2 + 1);
	assert_memory_equal(form.bytes, "\xc8\xa9\xcc\xa7", 4);
	assert_int_equal(form.bytes[form.length - 1], 'x');
}

static void a_name_is_cut_where_something_is_missing(void **state)
{
	// what goes from the end anyway is not missing
	struct text name = form_of(name_normalize, CHARSET_UTF8, "ab.....::$DATA", 14, 2);

	(void)state;
	assert_false(name.cut);
	expect_bytes("end", name.bytes, name.length, "ab");
	name = form_of(name_normalize, CHARSET_UTF8, "ab...../c", 9, 4);
	assert_false(name.cut);
	expect_bytes("component", name.bytes, name.length, "ab/c");
	name = form_of(name_normalize, CHARSET_UTF8, "ab.....c", 8, 4);
	assert_true(name.cut);
	expect_bytes("dots within", name.bytes, name.length, "ab..");
	name = form_of(name_normalize, CHARSET_UTF8, "ab::$dat", 8, 4);
	assert_true(name.cut);
	expect_bytes("nearly a stream", name.bytes, name.length, "ab::");
}

static void a_name_has_a_base_and_an_extension(void **state)
{
	static const struct {
		const char *name, *base, *extension;
	} rows[] = {
		{"a/b.c/setup.tar.gz", "setup.tar.gz", "gz"},
		{"setup", "setup", ""},
		{"a.b/setup", "setup", ""},
		{".profile", ".profile", "profile"},
		{"a/", "", ""},
		{"", "", ""},
	};

	(void)state;
	for (unsigned i = 0; i < COUNT(rows); i++) {
		const uint8_t *name = (const uint8_t *)rows[i].name;
		struct name_parts parts = name_split(name, (uint32_t)strlen(rows[i].name));

		expect_bytes(rows[i].name, name + parts.base, parts.base_length, rows[i].base);
		expect_bytes(rows[i].name, name + parts.extension, parts.extension_length,
			rows[i].extension);
	}
}

// For each range of a form: its bytes have the form, and no fewer do at either end.
static void a_range_of_the_form_stands_somewhere(void **state)
{
	static const struct {
		const char *text, *found, *raw;
	} rows[] = {
		{"the secret is", "secret", "secret"},
		{"the SE\xe2\x80\x8b"
		 "CRET is",
			"secret",
			"SE\xe2\x80\x8b"
			"CRET"}, // zero width
		{"\xe2\x80\x8bsecret\xe2\x80\x8b", "secret", "secret"}, {"a \t\n b", " ", " \t\n "},
		{"a \t\n b", "a b", "a \t\n b"},
		{"\xef\xbd\x81\xef\xbd\x82"
		 "c",
			"b", "\xef\xbd\x82"},             // full-width
		{"xe\xcc\x81y", "\xc3\xa9", "e\xcc\x81"}, // with its mark
		{"xe\xcc\xa7\xcc\x81y", "\xc8\xa9\xcc\x81", "e\xcc\xa7\xcc\x81"},
		{"x\xef\xac\x81y", "fi", "\xef\xac\x81"}, // a ligature
		{"x\xef\xac\x81y", "i", "\xef\xac\x81"},  // ... or half of it
		{"\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab"
		 "x",
			"\xed\x95\x9c", "\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab"}, // Hangul
		{"a\xff"
		 "b",
			"a", "a"}, // not UTF-8: Latin 1
	};

	(void)state;
	for (unsigned i = 0; i < COUNT(rows); i++) {
		const uint8_t *text = (const uint8_t *)rows[i].text;
		uint32_t length = (uint32_t)strlen(rows[i].text);
		struct text form =
			form_of(text_normalize, CHARSET_GUESS, rows[i].text, length, 100);
		const uint8_t *at =
			memmem(form.bytes, form.length, rows[i].found, strlen(rows[i].found));
		struct content_range of, raw;

		assert_non_null(at);
		of.from = (uint32_t)(at - form.bytes);
		of.to = of.from + (uint32_t)strlen(rows[i].found);
		text_origin(CHARSET_GUESS, text, length, &of, &raw, 1);
		expect_bytes(rows[i].text, text + raw.from, raw.to - raw.from, rows[i].raw);
	}
}

static void ranges_of_the_form_stand_in_their_order(void **state)
{
	static const char text[] = "One, TWO; three";
	struct content_range of[] = {{0, 3}, {5, 8}, {10, 15}, {90, 99}}, raw[4];

	(void)state;
	text_origin(CHARSET_UTF8, (const uint8_t *)text, sizeof(text) - 1, of, raw, 4);
	assert_memory_equal(raw, of, 3 * sizeof(of[0]));
	assert_int_equal(raw[3].from, sizeof(text) - 1); // beyond its end: nothing
	assert_int_equal(raw[3].to, sizeof(text) - 1);
	text_origin(CHARSET_UTF16LE, (const uint8_t *)"a\0b\0c\0", 6, &(struct content_range){1, 2},
		raw, 1);
	assert_int_equal(raw[0].from, 2);
	assert_int_equal(raw[0].to, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_have_their_form),
		cmocka_unit_test(names_have_their_form),
		cmocka_unit_test(a_form_is_its_own_and_begins_as_it_is_cut),
		cmocka_unit_test(no_more_marks_than_a_person_reads),
		cmocka_unit_test(a_name_is_cut_where_something_is_missing),
		cmocka_unit_test(a_name_has_a_base_and_an_extension),
		cmocka_unit_test(a_range_of_the_form_stands_somewhere),
		cmocka_unit_test(ranges_of_the_form_stand_in_their_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
