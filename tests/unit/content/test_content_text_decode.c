// SPDX-License-Identifier: BSD-3-Clause
// What transport puts around text is undone once, within the room that there is; what is none of
// it stays as it is.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "content/charset.h"
#include "content/text_decode.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define BAD         "\xef\xbf\xbd"

struct row {
	const char *text;
	uint32_t length;
	const char *expected;
};

// clang-format off
#define ROW(text, expected) {text, sizeof(text) - 1, expected}

static const struct row percents[] = {
	ROW("", ""),
	ROW("a%20b%2Fc%c3%A9", "a b/c\xc3\xa9"),
	ROW("%2541 100% %4 %g0 %", "%41 100% %4 %g0 %"),
};

static const struct row entities[] = {
	ROW("&lt;a&gt; &amp;amp; &quot;&apos;&nbsp;", "<a> &amp; \"'\xc2\xa0"),
	ROW("&#65;&#x42;&#x1F600;&#0000000000000067;", "AB\xf0\x9f\x98\x80" "C"),
	ROW("&#0;&#xD800;&#x110000;&#99999999999999999999;", BAD BAD BAD BAD),
	ROW("& && &; &#; &#x; &#X41; &#6 &#xg; &AMP; &copy; &amp", "& && &; &#; &#x; &#X41; &#6 &#xg; &AMP; &copy; &amp"),
	ROW("&#1;&#9;&#x7f;", "\1\t\x7f"),
};

static const struct row words[] = {
	ROW("plain text", "plain text"),
	ROW("=?utf-8?Q?a_b=C3=A9=2e?=", "a b\xc3\xa9."),
	ROW("=?UTF-8?b?w6k=?= =?utf8?B?YWI?=", "\xc3\xa9" "ab"),
	ROW("a =?iso-8859-1?q?=E9?= \r\n\t=?ISO-8859-1?q?t=E9?= b", "a \xc3\xa9t\xc3\xa9 b"),
	ROW("=?utf-8?q?a?= =?iso-8859-1?q?=E9?=", "a\xc3\xa9"),
	ROW("x=?us-ascii?q?a?=.=?us-ascii?q?b?=y", "xa.by"),
	// one character in two words; not of two charsets
	ROW("=?utf-8?q?=C3?= =?utf-8?q?=A9?=", "\xc3\xa9"),
	ROW("=?utf-8?b?8J8=?=\n =?utf-8?q?=98=80?=", "\xf0\x9f\x98\x80"),
	ROW("=?utf-8?q?=C3?= =?iso-8859-1?q?=A9?=", BAD "\xc2\xa9"),
	ROW("=?utf-8?q?=C3?= a", BAD " a"),
	ROW("=?utf-16?b?//5hAGI=?= =?utf-16?b?AGMA?=", "abc"),
	ROW("=?utf-16?b?AGEAYg==?=", "ab"),
	ROW("=?utf-16le?b?PdgA3g==?==?utf-16be?b?2D3eAA==?=", "\xf0\x9f\x98\x80\xf0\x9f\x98\x80"),
	ROW("=?windows-1252?q?=93=80?= =?iso-8859-15?q?=A4?=", "\xe2\x80\x9c\xe2\x82\xac\xe2\x82\xac"),
	ROW("=?utf-8*en?q?a?=", "a"),
	ROW("=?utf-8?b?Y_W I!=?=", "ab"), // what is not of base64
	ROW("=?utf-8?q?==4=zz?=", "==4=zz"),
	ROW("=?utf-8?q?\?=", ""),
	ROW("=?utf-7?q?=C1?= =?utf-8?q?a?= =?utf-7?q?=C1?=", "=?utf-7?q?=C1?= a =?utf-7?q?=C1?="),
	// other letters, the same ASCII
	ROW("=?koi8-r?q?=C1?= =?GB2312?B?zsS1tS5kb2M=?=", "\xc3\x81\xc3\x8e\xc3\x84\xc2\xb5\xc2\xb5.doc"),
	ROW("=?utf-8?x?a?= =?utf-8?q?a =?utf-8?q =? =", "=?utf-8?x?a?= =?utf-8?q?a =?utf-8?q =? ="),
	ROW("=?utf-8?q?a?b?=", "=?utf-8?q?a?b?="),
	// bytes outside of words
	ROW("\xc3\xa9 =?utf-8?q?a?=", "\xc3\xa9 a"),
	ROW("\xe9 =?utf-8?q?=C3=A9?=", "\xc3\xa9 \xc3\xa9"),
	ROW("\xff\xfe" "a", "\xc3\xbf\xc3\xbe" "a"),
};

static const struct row extended[] = {
	ROW("UTF-8''%e2%82%ac%20rates", "\xe2\x82\xac rates"),
	ROW("utf-8'en'a.exe", "a.exe"),
	ROW("iso-8859-1'en'%A3%20rates", "\xc2\xa3 rates"),
	ROW("us-ascii'en-us'This%20is%20%2A%2A%2Afun%2A%2A%2A", "This is ***fun***"),
	ROW("''%E9", "\xc3\xa9"),
	ROW("''%C3%A9", "\xc3\xa9"),
	ROW("utf-8''a'b%", "a'b%"),
	ROW("utf-8''%c3", BAD),
	ROW("utf-8'a", ""),
	ROW("a.exe", ""),
	ROW("koi8-r''%C1", ""),
	ROW("", ""),
};
// clang-format on

typedef uint32_t decode_into(const uint8_t *bytes, uint32_t length, uint8_t *out, uint32_t size);
typedef uint32_t decode_same(const uint8_t *bytes, uint32_t length, uint8_t *out);

static uint8_t *exact(const void *bytes, uint32_t length)
{
	uint8_t *copy = malloc(length ? length : 1);

	assert_non_null(copy);
	memcpy(copy, bytes, length);
	return copy;
}

static void expect(const struct row *row, const uint8_t *bytes, uint32_t length)
{
	if (length == strlen(row->expected) && !memcmp(bytes, row->expected, length))
		return;
	fprintf(stderr, "%s: \"%.*s\", expected \"%s\"\n", row->text, (int)length,
		(const char *)bytes, row->expected);
	fail();
}

// In place and apart.
static void expect_same(decode_same *function, const struct row *rows, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		uint8_t *in = exact(rows[i].text, rows[i].length);
		uint8_t *out = exact(rows[i].text, rows[i].length);

		expect(&rows[i], out, function(in, rows[i].length, out));
		expect(&rows[i], in, function(in, rows[i].length, in));
		free(in);
		free(out);
	}
}

// Whole, and within less: whole characters of the beginning.
static void expect_into(decode_into *function, const struct row *rows, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const struct row *row = &rows[i];
		uint32_t whole = (uint32_t)strlen(row->expected);
		uint8_t *in = exact(row->text, row->length);

		for (uint32_t size = 0; size <= whole + 1; size++) {
			uint8_t *out = malloc(size ? size : 1);

			assert_non_null(out);
			uint32_t length = function(in, row->length, out, size);
			const struct text_source written = {.bytes = out, .length = length};

			assert_true(length <= size && (length == whole || size - length < 4));
			assert_memory_equal(out, row->expected, length);
			assert_int_equal(charset_guess(&written), CHARSET_UTF8);
			if (size >= whole)
				expect(row, out, length);
			free(out);
		}
		free(in);
	}
}

static void percent_escapes_are_undone_once(void **state)
{
	(void)state;
	expect_same(text_decode_percent, percents, COUNT(percents));
}

static void entities_are_undone_once(void **state)
{
	(void)state;
	expect_same(text_decode_entities, entities, COUNT(entities));
}

static void encoded_words_are_decoded(void **state)
{
	(void)state;
	expect_into(text_decode_words, words, COUNT(words));
}

static void extended_values_are_decoded(void **state)
{
	(void)state;
	expect_into(text_decode_extended, extended, COUNT(extended));
}

// Twice the input takes about twice the time, whatever it begins again and again.
static void work_is_linear(void **state)
{
	static const char *const parts[] = {"=?utf-8?q?", "=?",
		"=?utf-8?q?a?= ", "=?utf-8?q?a?=\n\n", "&#1", "&", "&#x", "%", "'", "?"};
	const uint32_t length = 1 << 20;
	uint8_t *in = malloc(length), *out = malloc(4 * length);

	(void)state;
	assert_non_null(in);
	assert_non_null(out);
	for (unsigned i = 0; i < COUNT(parts); i++) {
		for (uint32_t k = 0; k < length; k++)
			in[k] = (uint8_t)parts[i][k % strlen(parts[i])];
		// a square of this length takes longer than a test may
		text_decode_words(in, length, out, 4 * length);
		text_decode_extended(in, length, out, 4 * length);
		text_decode_entities(in, length, out);
		text_decode_percent(in, length, out);
	}
	free(in);
	free(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(percent_escapes_are_undone_once),
		cmocka_unit_test(entities_are_undone_once),
		cmocka_unit_test(encoded_words_are_decoded),
		cmocka_unit_test(extended_values_are_decoded),
		cmocka_unit_test(work_is_linear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
