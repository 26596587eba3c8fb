// SPDX-License-Identifier: BSD-3-Clause
// Pattern files of l7-filter: the file's lines, the old regular expressions in Hyperscan's words,
// and every thing that cannot be taken over, with its reason. What is translated is matched.
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "classify/classify.h"
#include "control/policy/l7_pattern.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *translated(const char *pattern, bool posix)
{
	static char out[CLASSIFY_PATTERN_MAX];
	static char err[256];
	char *copy = strdup(pattern);
	const struct l7_file file = {.pattern = copy, .posix = posix, .caseless = true};
	int rc = l7_translate(&file, out, sizeof(out), err, sizeof(err));

	free(copy);
	return rc < 0 ? err : out;
}

static void test_translated(void **state)
{
	static const struct {
		const char *from, *to;
		bool posix;
	} good[] = {
		{"^get /[a-z]* http/1\\.[01]", "^get \\/[a-z]* http\\/1\\.[01]", false},
		{"(a|b)+c?", "(?:a|b)+c?", false},
		{"a{2}\\d", "a\\{2\\}d", false},               // braces and \d are letters to V8
		{"a{2,3}b", "a{2,3}b", true},                  // and are not to POSIX
		{"[]a]", "[\\]a]", false},                     // a first ] is itself
		{"[a-]", "[\\-a]", false},                     // and so is a last -
		{"[\\n]", "[\\\\n]", false},                   // a backslash in a set, too
		{"^\\x13bit", "^\\x00*\\x13\\x00*bit", false}, // NULs only beside what is no text
		{"\\x2a", "\\*", false},                       // a byte, not an operator
		{"\\x41", "A", false},
		{"a.?.?b$", "a.?.?\\x00*b$", false},
		{"a[\\x01-\\x03]+$", "a(?:\\x00*[\\x01-\\x03])+\\x00*$", false},
		{"[\\x09-\\x0d -~]*x", "[\\x09-\\x0d -~]*x", false},
		{"a\\x01|bc", "a\\x00*\\x01|bc", false},
		{"\"#/", "\"\\#\\/", false},
	};

	(void)state;
	for (unsigned i = 0; i < COUNT(good); i++)
		assert_string_equal(translated(good[i].from, good[i].posix), good[i].to);
}

static void test_refused(void **state)
{
	static const struct {
		const char *from, *why;
		bool posix;
	} bad[] = {
		{"a)b", "a ) without its (", false},
		{"(a", "a ( without its )", false},
		{"[a", "a [ without its ]", false},
		{"[z-a]", "a range that ends", false},
		{"*a", "a repetition of nothing", false},
		{"a**", "a repetition of nothing", false},
		{"(|*)", "a repetition of nothing", false},
		{"a\\", "a backslash at the end", false},
		{"a\\x00", "never sees NUL", false},
		{"[^\\x01-\\xff]", "a set of nothing", false},
		{"[[:alpha:]]", "a named set", true},
		{"a{,2}", "a { that is no repetition", true},
		{"{2}", "a { that is no repetition", true},
		{"", "nothing", false},
	};
	char *many = calloc(1, 5000);

	(void)state;
	for (unsigned i = 0; i < COUNT(bad); i++)
		if (!strstr(translated(bad[i].from, bad[i].posix), bad[i].why))
			fail_msg("%s: %s", bad[i].from, translated(bad[i].from, bad[i].posix));
	memset(many, 'a', 4999);
	assert_non_null(strstr(translated(many, false), "too long"));
	free(many);
}

// Every byte string is read to its end and not beyond, and what comes out is printable.
static void test_random(void **state)
{
	static const char signs[] = "ab\\x013[]()|*+?.^$-{},\x01\xff";
	uint32_t seed = 1;

	(void)state;
	for (unsigned round = 0; round < 20000; round++) {
		char pattern[24];
		unsigned n;

		for (n = 0; n < sizeof(pattern) - 1; n++) {
			seed = seed * 1664525u + 1013904223u;
			if (!(seed >> 27))
				break;
			pattern[n] = signs[(seed >> 8) % (sizeof(signs) - 1)];
		}
		pattern[n] = '\0';
		for (const char *c = translated(pattern, round & 1); *c; c++)
			assert_in_range(*c, ' ', '~');
	}
}

// The translation means what the pattern did: matched by the classifier itself.
static void test_meaning(void **state)
{
	static const struct {
		const char *pattern, *bytes;
		size_t length;
		bool matches;
	} cases[] = {
		{"^get .*http/1", "GET / HTTP/1.1", 14, true},
		{"^get .*http/1", "xGET / HTTP/1.1", 15, false},
		{"^\\xe3.?.?.?.?\\x01", "\xe3\x12\0\0\0\x01", 6, true},
		{"^\\xe3\\x05\\x01", "\xe3\0\0\x05\0\x01", 6, true}, // NULs in between
		{"^\\xe3\\x05\\x01", "\xe3\x07\x05\x01", 4, false},
		{"^ab", "a\0b", 3, false}, // text has none
		{"\\x0d\\x0a", "x\r\ny", 4, true},
		{"^a\\x2ab", "a*b", 3, true},
		{"^a\\x2ab", "aab", 3, false},
	};

	(void)state;
	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct signature signature = {.app = 1,
			.l4 = IPPROTO_TCP,
			.halves = 3,
			.confidence = CONFIDENCE_DPI,
			.caseless = true,
			.dotall = true};
		struct sigdb *db;
		struct edition *edition;
		struct classifier *classifier = classifier_new(2, 0, -1);
		struct flow_ends ends = {.port = {40000, 50000}};
		const struct classify_flow flow = {
			.ends = &ends, .l4_proto = IPPROTO_TCP, .n_data_pkts = 1};
		const struct span span = {.unchecked = (const uint8_t *)cases[i].bytes,
			.extent = (uint32_t)cases[i].length,
			.half = HALF_C2S};
		struct classify_verdict verdict = {0};
		struct classify_work work = {0};
		uint32_t ref = CLASSIFY_NO_STATE;
		char err[256];

		memcpy(signature.id, "x", 2);
		snprintf(signature.pattern, sizeof(signature.pattern), "%s",
			translated(cases[i].pattern, false));
		assert_int_equal(sigdb_new(&signature, 1, NULL, &db, NULL, err, sizeof(err)), 0);
		assert_int_equal(edition_new(db, 1, &edition), 0);
		classify_feed(classifier, edition, NULL, &flow, &span, &ref, &verdict, &work);
		if ((verdict.app == 1) != cases[i].matches)
			fail_msg("%s: %u", cases[i].pattern, verdict.app);
		classify_end(classifier, &ref);
		classifier_free(classifier);
		edition_free(edition);
		sigdb_free(db);
	}
}

static char path[] = "/tmp/test_l7_XXXXXX";

// Reads a file of this text; "" or why it was refused, with its line in front.
static const char *read_file(const char *text, size_t length, struct l7_file *file)
{
	static char told[300];
	char err[256];
	unsigned line;
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	assert_int_equal(fwrite(text, 1, length, out), length);
	fclose(out);
	int rc = l7_file_read(path, file, &line, err, sizeof(err));

	snprintf(told, sizeof(told), "%u: %s", line, err);
	return rc < 0 ? told : "";
}

static void test_files(void **state)
{
	static const char whole[] = "# a comment\r\n\n  \nedonkey\r\n# more\n^\\xe3 x\n"
				    "userspace pattern=^[\\xe3]\nuserspace flags=REG_NOSUB\n";
	static const char userspace[] = "smtp\nuserspace pattern=^220 (E?SMTP|mail)\n"
					"userspace flags=REG_NOSUB REG_EXTENDED\n";
	static const char plain[] = "smtp\nuserspace pattern=^220";
	static const struct {
		const char *text, *why;
	} bad[] = {
		{"", "0: no name"},
		{"# nothing\n", "0: no name"},
		{"ftp\n", "1: a name without a pattern"},
		{"\nftp server\n^220\n", "2: this should be a name"},
		{"ftp\n^220\n^230\n", "3: one line too many"},
		{"ftp\nuserspace pattern=^a\nuserspace flags=REG_NOSUB\n", "1: only a userspace"},
		{"ftp\nuserspace pattern=^a\nuserspace flags=REG_EXTENDED REG_NEWLINE\n",
			"1: only a userspace"},
		{"a-name-that-is-much-longer-than-anyone-would-choose\n^a\n", "1: a name that is"},
	};
	struct l7_file file;

	(void)state;
	assert_string_equal(read_file(whole, sizeof(whole) - 1, &file), "");
	assert_string_equal(file.name, "edonkey");
	assert_string_equal(file.pattern, "^\\xe3 x");
	assert_int_equal(file.name_line, 4);
	assert_int_equal(file.pattern_line, 6);
	assert_true(file.caseless && !file.posix);
	l7_file_free(&file);
	assert_string_equal(read_file(userspace, sizeof(userspace) - 1, &file), "");
	assert_true(file.posix && !file.caseless);
	assert_int_equal(file.pattern_line, 2);
	l7_file_free(&file);
	assert_string_equal(read_file(plain, sizeof(plain) - 1, &file), "");
	assert_true(file.posix && file.caseless); // l7-filter's flags if none are given
	l7_file_free(&file);
	for (unsigned i = 0; i < COUNT(bad); i++)
		if (!strstr(read_file(bad[i].text, strlen(bad[i].text), &file), bad[i].why))
			fail_msg("%s: %s", bad[i].text,
				read_file(bad[i].text, strlen(bad[i].text), &file));
	assert_non_null(strstr(read_file("f\0p\n^a\n", 7, &file), "1: a NUL byte"));
	unlink(path);
	char err[64];
	unsigned line;

	assert_int_equal(l7_file_read(path, &file, &line, err, sizeof(err)), -ENOENT);
}

static void test_aliases(void **state)
{
	(void)state;
	for (const char *const *alias = l7_aliases(); *alias; alias += 2) {
		assert_int_equal(app_find(alias[0]), APP_NONE);
		if (app_find(alias[1]) == APP_NONE)
			fail_msg("%s stands for %s, which is none", alias[0], alias[1]);
	}
	assert_string_equal(l7_alias("jabber"), "xmpp");
	assert_null(l7_alias("quake1"));
}

static int setup(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_translated),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_meaning),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_aliases),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
