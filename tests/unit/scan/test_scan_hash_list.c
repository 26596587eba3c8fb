// SPDX-License-Identifier: BSD-3-Clause
// Lists of hashes as sha256sum writes them: what is read, what is refused and how it is said, and
// that a list with an error changes nothing.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "scan/hash_list.h"

// SHA-256 of "abc", and of nothing.
#define ABC   "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static char folder[] = "/tmp/test_scan_hash_list.XXXXXX";
static char allow[64], deny[64], err[300];
static struct scan_lists *lists;

static int begin(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(allow, sizeof(allow), "%s/allow", folder);
	snprintf(deny, sizeof(deny), "%s/deny", folder);
	return 0;
}

static int end(void **state)
{
	(void)state;
	unlink(allow);
	unlink(deny);
	return rmdir(folder);
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static bool finds(const char *hex, struct scan_known *out)
{
	uint8_t sha256[SCAN_SHA256];

	for (unsigned i = 0; i < SCAN_SHA256; i++)
		assert_int_equal(sscanf(hex + 2 * i, "%2hhx", &sha256[i]), 1);
	return scan_lists_find(lists, sha256, out);
}

static void lines_of_sha256sum_are_read(void **state)
{
	struct scan_known known;
	uint32_t n_allow, n_deny;

	(void)state;
	write_file(allow, "# ours\n\n" EMPTY "\n");
	write_file(deny, ABC "  /srv/drop/a b.exe\n\\" EMPTY " *two\\nlines\r\n   # end");
	assert_int_equal(scan_lists_new(allow, deny, &lists, err, sizeof(err)), 0);
	assert_false(scan_lists_are_empty(lists));
	scan_lists_count(lists, &n_allow, &n_deny);
	assert_int_equal(n_allow, 1);
	assert_int_equal(n_deny, 2);
	assert_true(finds(ABC, &known));
	assert_int_equal(known.value, SCAN_INFECTED);
	assert_string_equal(known.name, "/srv/drop/a b.exe");
	assert_true(finds(EMPTY, &known)); // in both: it is refused
	assert_int_equal(known.value, SCAN_INFECTED);
	assert_string_equal(known.name, "two\\nlines");
	write_file(deny, "BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD");
	assert_int_equal(scan_lists_check(lists, err, sizeof(err)), 0);
	assert_true(finds(EMPTY, &known)); // nothing is taken by that
	assert_int_equal(known.value, SCAN_INFECTED);
	assert_int_equal(scan_lists_read(lists, err, sizeof(err)), 0);
	assert_true(finds(EMPTY, &known));
	assert_int_equal(known.value, SCAN_CLEAN);
	assert_string_equal(known.name, "");
	assert_true(finds(ABC, &known));
	assert_string_equal(known.name, "listed");
	assert_false(finds(&(EMPTY "00")[2], &known));
	scan_lists_free(lists);
}

// Each says file and line, and leaves what was read before in force.
static void what_is_wrong_is_named_and_changes_nothing(void **state)
{
	static const char long_name[SCAN_LIST_LINE] = {[0 ... SCAN_LIST_LINE - 2] = 'x'};
	static const struct {
		const char *text, *said;
	} cases[] = {
		{ABC "  a\nba7816\n", ":2: is no line of sha256sum: write 64 hex digits"},
		{"SHA256 (a) = " ABC "\n", ":1: is no line of sha256sum"},
		{ABC "a  name\n", ":1: is no line of sha256sum"},
		{"z" ABC "\n", ":1: is no line of sha256sum"},
	};
	struct scan_known known;
	char text[2 * SCAN_LIST_LINE];

	(void)state;
	write_file(allow, EMPTY "\n");
	write_file(deny, ABC "  bad\n");
	assert_int_equal(scan_lists_new(allow, deny, &lists, err, sizeof(err)), 0);
	write_file(allow, ABC "\n"); // good by itself: not taken with a bad one
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		write_file(deny, cases[i].text);
		assert_int_equal(scan_lists_read(lists, err, sizeof(err)), -EINVAL);
		assert_non_null(strstr(err, deny));
		assert_non_null(strstr(err, cases[i].said));
	}
	snprintf(text, sizeof(text), "%s  a\n%s  %s\n", ABC, EMPTY, long_name);
	write_file(deny, text);
	assert_int_equal(scan_lists_read(lists, err, sizeof(err)), -EINVAL);
	assert_non_null(strstr(err, ":2: is longer than a hash and a path"));
	unlink(deny);
	assert_int_equal(scan_lists_read(lists, err, sizeof(err)), -ENOENT);
	assert_non_null(strstr(err, "make the file"));
	assert_true(finds(EMPTY, &known));
	assert_true(finds(ABC, &known));
	assert_string_equal(known.name, "bad");
	scan_lists_free(lists);
	assert_int_equal(scan_lists_new(allow, deny, &lists, err, sizeof(err)), -ENOENT);
}

static void without_files_nothing_is_found(void **state)
{
	struct scan_known known;

	(void)state;
	assert_int_equal(scan_lists_new(NULL, "", &lists, err, sizeof(err)), 0);
	assert_true(scan_lists_are_empty(lists));
	assert_false(finds(ABC, &known));
	assert_int_equal(scan_lists_read(lists, err, sizeof(err)), 0);
	scan_lists_free(lists);
	scan_lists_free(NULL);
}

// Each of many is found, whatever their order in the file; one more than fits is refused.
static void many_are_found_and_too_many_refused(void **state)
{
	struct scan_known known;
	FILE *file = fopen(deny, "we");
	char hex[2 * SCAN_SHA256 + 1];

	(void)state;
	assert_non_null(file);
	for (uint32_t i = 0; i < SCAN_LIST_MAX; i++)
		fprintf(file, "%08x%056x  n%u\n", i * 2654435761u, i, i);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(scan_lists_new(NULL, deny, &lists, err, sizeof(err)), 0);
	for (uint32_t i = 0; i < SCAN_LIST_MAX; i += 997) {
		char name[16];

		snprintf(hex, sizeof(hex), "%08x%056x", i * 2654435761u, i);
		snprintf(name, sizeof(name), "n%u", i);
		assert_true(finds(hex, &known));
		assert_string_equal(known.name, name);
	}
	file = fopen(deny, "ae");
	assert_non_null(file);
	fputs(ABC "\n", file);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(scan_lists_read(lists, err, sizeof(err)), -E2BIG);
	assert_non_null(strstr(err, ":1000001: is one hash too many"));
	assert_false(finds(ABC, &known));
	scan_lists_free(lists);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_sha256sum_are_read),
		cmocka_unit_test(what_is_wrong_is_named_and_changes_nothing),
		cmocka_unit_test(without_files_nothing_is_found),
		cmocka_unit_test(many_are_found_and_too_many_refused),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
