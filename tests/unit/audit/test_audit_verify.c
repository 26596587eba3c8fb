// SPDX-License-Identifier: BSD-3-Clause
// The verifier finds what was done to a log, and names the place.
#include "unit/audit/rig.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINES 10 // of the log: a line that opens it, and records

struct lines {
	char *text[LINES + 2];
	unsigned n;
	char *all;
};

// A log with 10 lines in FOLDER, and these.
static struct lines a_log(const char *folder)
{
	struct audit_log *log = rig_open(folder, 0);
	struct lines lines = {0};
	size_t length;

	rig_append_many(log, LINES - 1);
	audit_log_close(log, NOW_US);
	lines.all = rig_read(rig_path(folder, "audit.log"), &length);
	for (char *rest = lines.all, *line; (line = strsep(&rest, "\n")) && *line;)
		lines.text[lines.n++] = line;
	assert_int_equal(lines.n, LINES);
	return lines;
}

static void put_back(const char *folder, const struct lines *lines)
{
	FILE *file = fopen(rig_path(folder, "audit.log"), "w");

	for (unsigned i = 0; i < lines->n; i++)
		if (lines->text[i])
			fprintf(file, "%s\n", lines->text[i]);
	assert_int_equal(fclose(file), 0);
}

// The only fault, or the first one of `n`, is in that line.
static void expect_faults(const char *folder, const char *anchor, unsigned n, uint64_t line,
	uint64_t seq, const char *what)
{
	struct rig_faults faults;
	struct audit_summary summary;

	assert_int_equal(rig_verify(folder, anchor, &faults, &summary), 0);
	assert_int_equal(faults.n, n);
	assert_int_equal(summary.faults, n);
	assert_int_equal(faults.at[0].line, line);
	assert_int_equal(faults.at[0].seq, seq);
	if (line)
		assert_string_equal(faults.at[0].file, rig_path(folder, "audit.log"));
	if (!strstr(faults.at[0].what, what))
		fail_msg("%s: not in: %s", what, faults.at[0].what);
}

static void one_changed_record(void **state)
{
	struct lines lines = a_log(*state);

	*strstr(lines.text[4], "\"n\":4}") = ' '; // still a line of that form
	put_back(*state, &lines);
	expect_faults(*state, NULL, 1, 6, 6, "does not continue 5: 5 was changed");
	free(lines.all);
}

static void each_changed_byte(void **state)
{
	struct lines lines = a_log(*state);
	struct rig_faults faults;
	struct audit_summary summary;

	for (size_t i = 0; lines.text[5][i]; i++) {
		lines.text[5][i] ^= 1;
		put_back(*state, &lines);
		rig_verify(*state, NULL, &faults, &summary);
		if (!faults.n)
			fail_msg("byte %zu was changed", i);
		lines.text[5][i] ^= 1;
	}
	put_back(*state, &lines);
	assert_int_equal(rig_is_good(*state), LINES);
	free(lines.all);
}

static void one_removed_record(void **state)
{
	struct lines lines = a_log(*state);

	lines.text[4] = NULL;
	put_back(*state, &lines);
	expect_faults(*state, NULL, 1, 5, 6, "6 follows 4: 1 record is missing");
	lines.text[5] = NULL;
	put_back(*state, &lines);
	expect_faults(*state, NULL, 1, 5, 7, "7 follows 4: 2 records are missing");
	free(lines.all);
}

static void two_swapped_records(void **state)
{
	struct lines lines = a_log(*state);
	char *line = lines.text[4];

	lines.text[4] = lines.text[5];
	lines.text[5] = line;
	put_back(*state, &lines);
	expect_faults(*state, NULL, 3, 5, 6, "6 follows 4");
	free(lines.all);
}

static void one_inserted_record(void **state)
{
	struct lines lines = a_log(*state);
	char forged[256], hash[AUDIT_HEX_BYTES];

	// With the right number and hash: then the next one is one too many.
	audit_hash(lines.text[4], strlen(lines.text[4]), hash);
	snprintf(forged, sizeof(forged), "{\"seq\":6,\"prev\":\"%s\",\"n\":5}", hash);
	memmove(&lines.text[6], &lines.text[5], 5 * sizeof(char *));
	lines.text[5] = forged;
	lines.n++;
	put_back(*state, &lines);
	expect_faults(*state, NULL, 1, 7, 6, "6 follows 6: a record was inserted");
	lines.text[5] = lines.text[3]; // an old one again
	put_back(*state, &lines);
	expect_faults(*state, NULL, 2, 6, 4, "4 follows 5");
	lines.text[5] = (char *)(uintptr_t) "{\"n\":5}";
	put_back(*state, &lines);
	expect_faults(*state, NULL, 1, 6, 0, "no record: the line does not begin with {\"seq\":");
	free(lines.all);
}

static void one_replaced_record(void **state)
{
	struct lines lines = a_log(*state);
	char forged[256], hash[AUDIT_HEX_BYTES];

	audit_hash(lines.text[4], strlen(lines.text[4]), hash);
	snprintf(forged, sizeof(forged), "{\"seq\":6,\"prev\":\"%s\",\"n\":9}", hash);
	lines.text[5] = forged;
	put_back(*state, &lines);
	expect_faults(*state, NULL, 1, 7, 7, "6 was changed");
	free(lines.all);
}

static void a_cut_record(void **state)
{
	struct lines lines = a_log(*state);
	const char *path = rig_path(*state, "audit.log");
	struct stat st;

	put_back(*state, &lines);
	assert_int_equal(stat(path, &st), 0);
	for (off_t cut = 1; cut < (off_t)strlen(lines.text[LINES - 1]) + 1; cut++) {
		assert_int_equal(truncate(path, st.st_size - cut), 0);
		expect_faults(*state, NULL, 1, LINES, 0, "the line has no end");
	}
	// In the middle of the log, with its newline.
	lines.text[4][strlen(lines.text[4]) - 5] = '\0';
	put_back(*state, &lines);
	expect_faults(*state, NULL, 2, 5, 0, "is not one JSON object");
	// At the beginning.
	lines.text[0] = NULL;
	put_back(*state, &lines);
	expect_faults(*state, NULL, 3, 1, 2, "its beginning was cut off");
	free(lines.all);
}

// What the chain alone cannot tell.
static void an_end_that_is_cut_off_is_told_by_the_anchor(void **state)
{
	struct lines lines = a_log(*state);
	char anchor[AUDIT_HEX_BYTES];
	struct rig_faults faults;
	struct audit_summary summary;

	audit_hash(lines.text[7], strlen(lines.text[7]), anchor);
	assert_int_equal(rig_verify(*state, anchor, &faults, &summary), 0);
	assert_int_equal(faults.n, 0);
	assert_int_equal(summary.anchor_seq, 8);
	lines.n = 8;
	put_back(*state, &lines);
	assert_int_equal(rig_verify(*state, anchor, &faults, &summary), 0);
	assert_int_equal(faults.n, 0);
	assert_string_equal(summary.head, anchor);
	lines.n = 7;
	put_back(*state, &lines);
	assert_int_equal(rig_is_good(*state), 7);
	expect_faults(*state, anchor, 1, 0, 0, "no record has the hash");
	lines.n = 0;
	put_back(*state, &lines);
	expect_faults(*state, NULL, 1, 0, 0, "there is no record");
	free(lines.all);
}

static void a_line_that_is_too_long(void **state)
{
	struct lines lines = a_log(*state);
	char *large = malloc(AUDIT_LINE_MAX + 2);

	memset(large, 'a', AUDIT_LINE_MAX + 1);
	large[AUDIT_LINE_MAX + 1] = '\0';
	lines.text[4] = large;
	put_back(*state, &lines);
	expect_faults(*state, NULL, 2, 5, 0, "is longer than 262144 bytes");
	free(large);
	free(lines.all);
}

static void a_frame_in_another_form(void **state)
{
	static const char *const lines[] = {
		"{\"seq\":01,\"prev\":\"%s\"}",
		"{\"seq\":0,\"prev\":\"%s\"}",
		"{\"seq\":-1,\"prev\":\"%s\"}",
		"{\"seq\":18446744073709551616,\"prev\":\"%s\"}",
		"{\"seq\": 1,\"prev\":\"%s\"}",
		"{\"seq\":1,\"prev\":\"%s0\"}",
		"{\"seq\":1,\"prev\":\"%.63s\"}",
		"{\"seq\":1,\"prev\":\"%.63sA\"}",
		"{\"seq\":1,\"prev\":\"%s\"",
		"{\"seq\":1,\"prev\":\"%s\"}}",
		"{\"seq\":1,\"prev\":\"%s\"x}",
		"{\"seq\":1,\"prev\":\"%s\",\"a\":\"\t\"}",
		"{\"seq\":1,\"prev\":\"%s\",\"a\":1} ",
		"",
		"{",
		"{\"seq\":",
		"{\"seq\":1,\"prev\":",
	};
	struct audit_frame frame;
	char line[200];

	(void)state;
	for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		snprintf(line, sizeof(line), lines[i], audit_prev_none);
		char *exact = malloc(strlen(line) + 1);
		memcpy(exact, line, strlen(line));
		if (!audit_frame_read(exact, strlen(line), &frame))
			fail_msg("%s", line);
		free(exact);
	}
	snprintf(line, sizeof(line), "{\"seq\":18446744073709551615,\"prev\":\"%s\"}",
		audit_prev_none);
	assert_null(audit_frame_read(line, strlen(line), &frame));
	assert_true(frame.seq == UINT64_MAX);
}

static void files_are_read_in_the_order_of_their_numbers(void **state)
{
	struct audit_log *log = rig_open(*state, 1000);
	struct rig_faults faults;
	struct audit_summary summary;

	rig_append_many(log, 100);
	audit_log_close(log, NOW_US);
	rig_write(rig_path(*state, "audit.log.torn.7"), "x", 1); // no file of the log
	rig_write(rig_path(*state, "audit.log.7.gz"), "x", 1);
	uint64_t last = rig_is_good(*state);
	// A whole file is gone from the middle.
	assert_int_equal(rig_verify(*state, NULL, &faults, &summary), 0);
	assert_true(summary.files > 5);
	char command[512];
	snprintf(command, sizeof(command),
		"cd %s && rm $(ls audit.log.* | grep -v torn | grep -v gz | sort -t. -k3n | sed -n "
		"3p)",
		(char *)*state);
	assert_int_equal(system(command), 0);
	assert_int_equal(rig_verify(*state, NULL, &faults, &summary), 0);
	assert_int_equal(faults.n, 1);
	assert_int_equal(faults.at[0].line, 1);
	assert_non_null(strstr(faults.at[0].what, "records are missing"));
	assert_int_equal(summary.last_seq, last);
	// Those before it went to an archive: no fault, and said.
	snprintf(command, sizeof(command),
		"cd %s && rm $(ls audit.log.* | grep -v torn | grep -v gz | sort -t. -k3n | head "
		"-n 2)",
		(char *)*state);
	assert_int_equal(system(command), 0);
	assert_int_equal(rig_verify(*state, NULL, &faults, &summary), 0);
	assert_int_equal(faults.n, 0);
	assert_true(summary.first_seq > 1);
}

static void what_cannot_be_read_is_no_good_log(void **state)
{
	struct audit_summary summary;

	assert_int_equal(rig_verify(*state, NULL, NULL, &summary), -ENOENT); // no log in it
	assert_int_equal(rig_verify(rig_path(*state, "audit.log"), NULL, NULL, &summary), -ENOENT);
	assert_int_equal(mkfifo(rig_path(*state, "audit.log"), 0600), 0);
	assert_int_equal(rig_verify(*state, NULL, NULL, &summary), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_changed_record, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(each_changed_byte, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(one_removed_record, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(two_swapped_records, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(one_inserted_record, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(one_replaced_record, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(a_cut_record, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			an_end_that_is_cut_off_is_told_by_the_anchor, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(a_line_that_is_too_long, rig_setup, rig_teardown),
		cmocka_unit_test(a_frame_in_another_form),
		cmocka_unit_test_setup_teardown(
			files_are_read_in_the_order_of_their_numbers, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			what_cannot_be_read_is_no_good_log, rig_setup, rig_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
