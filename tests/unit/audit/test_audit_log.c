// SPDX-License-Identifier: BSD-3-Clause
// The audit log while it is written: its lines, files that get long, disks that are full.
#include "unit/audit/rig.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void lines_have_numbers_and_hashes(void **state)
{
	struct audit_log *log = rig_open(*state, 0);
	struct audit_log_counters counters;
	char head[AUDIT_HEX_BYTES], hash[AUDIT_HEX_BYTES];
	size_t length;

	assert_int_equal(audit_log_append(log, "{}", 2, NOW_US), 0);
	assert_int_equal(audit_log_append(log, "{\"a\":\"b\"}", 9, NOW_US), 0);
	assert_int_equal(audit_log_head(log, head), 3);
	audit_log_look(log, &counters);
	assert_int_equal(counters.records, 2);
	assert_int_equal(counters.own_lines, 1);
	audit_log_close(log, NOW_US);

	char *text = rig_read(rig_path(*state, "audit.log"), &length);
	char *second = strchr(text, '\n') + 1, *third = strchr(second, '\n') + 1;
	static const char first[] =
		"{\"seq\":1,\"prev\":\"0000000000000000000000000000000000000000000000000000000000"
		"000000\",\"event_type\":\"audit\",\"audit\":{\"action\":\"begin\",\"log_id\":"
		"\"abababababababababababababababab\",\"software\":\"sluice 0.1.0\"},"
		"\"timestamp\":\"2023-11-14T22:13:20.000000+0000\"}\n";
	assert_int_equal(counters.bytes, length);
	assert_int_equal(second - text, sizeof(first) - 1);
	assert_memory_equal(text, first, sizeof(first) - 1);
	audit_hash(text, (size_t)(second - text) - 1, hash);
	assert_memory_equal(second, "{\"seq\":2,\"prev\":\"", 17);
	assert_memory_equal(second + 17, hash, 64);
	assert_memory_equal(second + 81, "\"}\n", 3);
	audit_hash(second, (size_t)(third - second) - 1, hash);
	assert_memory_equal(third + 17, hash, 64);
	assert_string_equal(third + 81, "\",\"a\":\"b\"}\n");
	audit_hash(third, length - (size_t)(third - text) - 1, hash);
	assert_string_equal(hash, head);
	free(text);
	struct stat st;
	assert_int_equal(stat(rig_path(*state, "audit.log"), &st), 0);
	assert_int_equal(st.st_mode & 0137, 0); // 0640, less what the umask takes
}

static void what_is_no_record_is_lost_and_counted(void **state)
{
	struct audit_log *log = rig_open(*state, 0);
	struct audit_log_counters counters;
	char *large = malloc(AUDIT_LINE_MAX);

	assert_int_equal(audit_log_append(log, "{\"a\":\n1}", 8, NOW_US), -EINVAL);
	assert_int_equal(audit_log_append(log, "[1]", 3, NOW_US), -EINVAL);
	assert_int_equal(audit_log_append(log, "{", 1, NOW_US), -EINVAL);
	memset(large, 'a', AUDIT_LINE_MAX);
	large[0] = '{';
	large[AUDIT_LINE_MAX - 1] = '}';
	assert_int_equal(audit_log_append(log, large, AUDIT_LINE_MAX, NOW_US), -EMSGSIZE);
	audit_log_lose(log, 3); // by the queue before it
	assert_int_equal(rig_append(log, 1), 0);
	audit_log_look(log, &counters);
	assert_int_equal(counters.records, 1);
	assert_int_equal(counters.lost, 7);
	audit_log_close(log, NOW_US);
	free(large);
	const char *path = rig_path(*state, "audit.log");
	assert_int_equal(rig_count(path, "\"audit\":{\"action\":\"lost\",\"lost\":3}"), 1);
	assert_int_equal(rig_count(path, "\"audit\":{\"action\":\"lost\",\"lost\":4}"), 1);
	assert_int_equal(rig_is_good(*state), 4);
}

static void the_longest_line_verifies(void **state)
{
	struct audit_log *log = rig_open(*state, 0);
	char *large = malloc(AUDIT_LINE_MAX);
	size_t n =
		AUDIT_LINE_MAX - 82; // beside {"seq":2,"prev":"...", as ',' takes the place of '{'

	memset(large, 'a', AUDIT_LINE_MAX);
	large[0] = '{';
	large[n] = '}';
	assert_int_equal(audit_log_append(log, large, n + 1, NOW_US), -EMSGSIZE);
	large[n - 1] = '}';
	assert_int_equal(audit_log_append(log, large, n, NOW_US), 0);
	audit_log_close(log, NOW_US);
	log = rig_open(*state, 0); // which finds the last line, over several blocks
	audit_log_close(log, NOW_US);
	free(large);
	assert_int_equal(rig_is_good(*state), 4); // with the one that says what is lost
}

static void long_files_are_renamed_and_the_chain_goes_on(void **state)
{
	struct audit_log *log = rig_open(*state, 2000);
	struct audit_log_counters counters;
	struct audit_summary summary;

	rig_append_many(log, 100);
	audit_log_look(log, &counters);
	assert_in_range(counters.rotations, 3, 10);
	audit_log_close(log, NOW_US);
	assert_int_equal(rig_is_good(*state), 101 + counters.rotations);
	assert_int_equal(rig_verify(*state, NULL, NULL, &summary), 0);
	assert_int_equal(summary.files, 1 + counters.rotations);
	assert_int_equal(rig_count(rig_path(*state, "audit.log"),
				 "{\"action\":\"rotate\",\"log_id\":\"abab"),
		1);
	assert_int_equal(rig_count(rig_path(*state, "audit.log"), "\"continues\":\""), 1);
}

// After the newest file was renamed, a start goes on with the chain of that one.
static void a_start_behind_a_rename_continues(void **state)
{
	struct audit_log *log = rig_open(*state, 0);

	rig_append_many(log, 5);
	audit_log_close(log, NOW_US);
	assert_int_equal(rename(rig_path(*state, "audit.log"), rig_path(*state, "audit.log.6")), 0);
	log = rig_open(*state, 0);
	assert_int_equal(audit_log_head(log, (char[AUDIT_HEX_BYTES]){0}), 7);
	audit_log_close(log, NOW_US);
	assert_int_equal(rig_is_good(*state), 7);
}

static void a_file_that_others_rename_is_begun_anew(void **state)
{
	struct audit_log *log = rig_open(*state, 0);
	const char *path = rig_path(*state, "audit.log");

	rig_append_many(log, 2);
	assert_int_equal(audit_log_reopen(log, NOW_US), 0); // it is still there
	assert_int_equal(audit_log_head(log, (char[AUDIT_HEX_BYTES]){0}), 3);
	assert_int_equal(rename(path, rig_path(*state, "audit.log.1")), 0);
	rig_write(path, "x\n", 2);
	assert_int_equal(audit_log_reopen(log, NOW_US), -EEXIST);
	rig_write(path, "", 0); // as logrotate's "create" leaves it
	assert_int_equal(audit_log_reopen(log, NOW_US), 0);
	rig_append_many(log, 2);
	audit_log_close(log, NOW_US);
	assert_int_equal(rig_is_good(*state), 6);
	assert_int_equal(rig_count(path, "\"n\":"), 2);
}

static void a_rename_that_fails_costs_nothing(void **state)
{
	struct audit_log *log = rig_open(*state, 1000);
	struct audit_log_counters counters;
	const char *path = rig_path(*state, "audit.log");

	assert_int_equal(unlink(path), 0); // then it cannot be renamed
	rig_append_many(log, 100);
	audit_log_look(log, &counters);
	assert_int_equal(counters.records, 100);
	assert_in_range(counters.rotate_errors, 2, 80);
	audit_log_close(log, NOW_US);
}

static void lines_are_synced_by_number_and_time(void **state)
{
	struct audit_log_options options = {.sync_records = 10, .sync_us = 1000};
	struct audit_log_counters counters;
	struct audit_log *log;
	char err[256];

	assert_int_equal(rig_try_open(*state, &options, &log, err, sizeof(err)), 0);
	rig_append_many(log, 9);
	audit_log_look(log, &counters);
	assert_int_equal(counters.syncs, 1); // of the line that opens it
	rig_append_many(log, 1);
	audit_log_look(log, &counters);
	assert_int_equal(counters.syncs, 2);
	rig_append_many(log, 1);
	audit_log_tick(log, NOW_US + 999);
	audit_log_look(log, &counters);
	assert_int_equal(counters.syncs, 2);
	audit_log_tick(log, NOW_US - 5); // set back: the time begins again
	audit_log_tick(log, NOW_US + 994);
	audit_log_look(log, &counters);
	assert_int_equal(counters.syncs, 2);
	audit_log_tick(log, NOW_US + 995);
	audit_log_tick(log, NOW_US + 5000);
	audit_log_look(log, &counters);
	assert_int_equal(counters.syncs, 3);
	audit_log_close(log, NOW_US);
}

// A limit of the size of files cuts a line as a full disk does.
static void a_line_in_part_waits_for_its_rest(void **state)
{
	struct audit_log *log = rig_open(*state, 0);
	struct audit_log_counters counters;
	struct rlimit before, small;
	const char *path = rig_path(*state, "audit.log");
	struct stat st;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = before;
	assert_int_equal(stat(path, &st), 0);
	small.rlim_cur = (rlim_t)st.st_size + 30;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(rig_append(log, 1), 0);
	assert_int_equal(rig_append(log, 2), -EFBIG);
	audit_log_tick(log, NOW_US);
	audit_log_look(log, &counters);
	assert_int_equal(counters.waiting, 1);
	assert_int_equal(counters.records, 0);
	assert_int_equal(counters.lost, 1);
	assert_int_equal(counters.error, EFBIG);
	assert_int_equal(audit_log_head(log, (char[AUDIT_HEX_BYTES]){0}), 1);
	small.rlim_cur += 100; // the rest, and a part of the line that says what is lost
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	audit_log_tick(log, NOW_US);
	audit_log_look(log, &counters);
	assert_int_equal(counters.waiting, 0);
	assert_int_equal(counters.records, 1);
	assert_int_equal(rig_append(log, 3), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(rig_append(log, 4), 0);
	audit_log_look(log, &counters);
	assert_int_equal(counters.records, 2);
	assert_int_equal(counters.lost, 2);
	assert_int_equal(counters.error, 0);
	audit_log_close(log, NOW_US);
	assert_int_equal(rig_count(path, "\"lost\":1}"), 2);
	assert_int_equal(rig_count(path, "\"n\":"), 2);
	assert_int_equal(rig_is_good(*state), 5);
}

static void a_full_disk_costs_records_that_are_counted(void **state)
{
	const char *folder = rig_path(*state, "small");
	struct audit_log_counters counters;
	unsigned offered = 0;

	if (geteuid() != 0)
		skip();
	assert_int_equal(mkdir(folder, 0700), 0);
	assert_int_equal(mount("none", folder, "tmpfs", 0, "size=1m"), 0);
	struct audit_log *log = rig_open(folder, 300000);
	int rc = 0;
	while (rc == 0)
		rc = rig_append(log, offered++);
	assert_int_equal(rc, -ENOSPC);
	for (unsigned i = 0; i < 10; i++, offered++)
		assert_int_equal(rig_append(log, offered), -ENOSPC);
	// An operator takes the oldest file away.
	char oldest[512];
	struct audit_summary summary;
	audit_log_look(log, &counters);
	assert_in_range(counters.rotations, 2, 4);
	assert_int_equal(counters.lost, 11);
	snprintf(oldest, sizeof(oldest),
		"cd %s && rm $(ls audit.log.* | sort -t. -k3n | head -n 1)", folder);
	assert_int_equal(system(oldest), 0);
	for (unsigned i = 0; i < 10; i++, offered++)
		assert_int_equal(rig_append(log, offered), 0);
	audit_log_look(log, &counters);
	assert_int_equal(counters.records + counters.lost, offered);
	audit_log_close(log, NOW_US);
	struct rig_faults faults;
	assert_int_equal(rig_verify(folder, NULL, &faults, &summary), 0);
	assert_int_equal(faults.n, 0);
	assert_true(summary.first_seq > 1);
	assert_int_equal(
		rig_count(rig_path(folder, "audit.log"), "{\"action\":\"lost\",\"lost\":11}"), 1);
	assert_int_equal(umount2(folder, MNT_DETACH), 0);
}

static void one_process_at_a_time_writes_it(void **state)
{
	struct audit_log *log = rig_open(*state, 0), *other;
	char err[256];

	assert_int_equal(
		rig_try_open(*state, &(struct audit_log_options){0}, &other, err, sizeof(err)),
		-EBUSY);
	assert_null(other);
	assert_string_equal(err, "another process writes it");
	assert_int_equal(audit_log_rotate(log, NOW_US), 0); // the new file is locked, too
	assert_int_equal(
		rig_try_open(*state, &(struct audit_log_options){0}, &other, err, sizeof(err)),
		-EBUSY);
	audit_log_close(log, NOW_US);
	assert_int_equal(rig_is_good(*state), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			lines_have_numbers_and_hashes, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			what_is_no_record_is_lost_and_counted, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(the_longest_line_verifies, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			long_files_are_renamed_and_the_chain_goes_on, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			a_start_behind_a_rename_continues, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			a_file_that_others_rename_is_begun_anew, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			a_rename_that_fails_costs_nothing, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			lines_are_synced_by_number_and_time, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			a_line_in_part_waits_for_its_rest, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			a_full_disk_costs_records_that_are_counted, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			one_process_at_a_time_writes_it, rig_setup, rig_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
