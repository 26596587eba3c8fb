// SPDX-License-Identifier: BSD-3-Clause
// The audit log after a restart: what a gateway that was killed left, and files that are none of
// it.
#include "unit/audit/rig.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t head_of(struct audit_log *log)
{
	char head[AUDIT_HEX_BYTES];

	return audit_log_head(log, head);
}

static void a_restart_continues_the_chain(void **state)
{
	struct audit_log *log = rig_open(*state, 0);
	const char *path = rig_path(*state, "audit.log");
	char head[AUDIT_HEX_BYTES], continues[128];

	rig_append_many(log, 3);
	audit_log_head(log, head);
	audit_log_close(log, NOW_US);
	log = rig_open(*state, 0);
	assert_int_equal(head_of(log), 5);
	audit_log_close(log, NOW_US);
	snprintf(continues, sizeof(continues), "\"action\":\"resume\",\"log_id\":\"abab");
	assert_int_equal(rig_count(path, continues), 1);
	snprintf(continues, sizeof(continues), "\"continues\":\"%s\"}", head);
	assert_int_equal(rig_count(path, continues), 1);
	assert_int_equal(rig_is_good(*state), 5);
}

// A log that is cut at each of its last bytes: the whole lines stay, the rest moves to a side file.
static void a_torn_line_moves_to_a_side_file(void **state)
{
	struct audit_log *log = rig_open(*state, 0);
	char *path = strdup(rig_path(*state, "audit.log"));
	struct audit_log_counters counters;
	size_t length, n;

	rig_append_many(log, 2);
	audit_log_close(log, NOW_US);
	char *whole = rig_read(path, &length);
	char *last = memrchr(whole, '\n', length - 1);
	size_t keep = (size_t)(last + 1 - whole);
	for (size_t cut = keep + 1; cut < length; cut++) {
		rig_write(path, whole, cut);
		log = rig_open(*state, 0);
		assert_int_equal(head_of(log), 3); // the line that was torn has its number again
		audit_log_look(log, &counters);
		assert_int_equal(counters.torn_bytes, cut - keep);
		audit_log_close(log, NOW_US);
		const char *side = rig_path(*state, "audit.log.torn.3");
		char *torn = rig_read(side, &n), says[64];
		assert_int_equal(n, cut - keep);
		assert_memory_equal(torn, whole + keep, n);
		free(torn);
		snprintf(says, sizeof(says), "\"torn_bytes\":%zu}", n);
		assert_int_equal(rig_count(path, says), 1);
		assert_int_equal(rig_is_good(*state), 3);
		assert_int_equal(unlink(side), 0);
	}
	free(whole);
	free(path);
}

// Killed once more: behind the side file, and before the line that tells of it.
static void a_side_file_that_no_line_tells_of_is_told(void **state)
{
	struct audit_log *log = rig_open(*state, 0);
	const char *path = rig_path(*state, "audit.log");
	size_t length;

	rig_append_many(log, 1);
	audit_log_close(log, NOW_US);
	rig_write(rig_path(*state, "audit.log.torn.3"), "{\"seq\":3,", 9);
	FILE *file = fopen(path, "a");
	fputs("{\"se", file);
	fclose(file);
	log = rig_open(*state, 0);
	audit_log_close(log, NOW_US);
	char *side = rig_read(rig_path(*state, "audit.log.torn.3"), &length);
	assert_string_equal(side, "{\"seq\":3,{\"se");
	free(side);
	assert_int_equal(rig_count(path, "\"torn_bytes\":13}"), 1);
	assert_int_equal(rig_is_good(*state), 3);
}

// Blocks that a power cut left behind the last line are no record either.
static void garbage_behind_the_last_line_is_torn(void **state)
{
	struct audit_log *log = rig_open(*state, 0);
	struct audit_log_counters counters;
	static char zeros[300000];

	rig_append_many(log, 1);
	audit_log_close(log, NOW_US);
	FILE *file = fopen(rig_path(*state, "audit.log"), "a");
	fputs("\n{\"seq\":9}\n", file);
	fwrite(zeros, 1, sizeof(zeros), file);
	fputs("\nabc\n", file);
	fclose(file);
	log = rig_open(*state, 0);
	audit_log_look(log, &counters);
	assert_int_equal(counters.torn_bytes, 11 + sizeof(zeros) + 5);
	audit_log_close(log, NOW_US);
	assert_int_equal(rig_is_good(*state), 3);
}

static void a_first_line_that_is_torn_begins_again(void **state)
{
	struct audit_log *log;

	rig_write(rig_path(*state, "audit.log"), "{\"seq\":1,\"prev\":\"00", 19);
	log = rig_open(*state, 0);
	audit_log_close(log, NOW_US);
	assert_int_equal(rig_count(rig_path(*state, "audit.log"), "\"torn_bytes\":19}"), 1);
	assert_int_equal(rig_is_good(*state), 1);
}

static void what_is_no_audit_log_is_left_as_it_is(void **state)
{
	static const char *const texts[] = {"hello\n", "{\"a\":1}\n", "x"};
	const char *path = rig_path(*state, "audit.log");
	struct audit_log *log;
	size_t length;
	char err[256];

	for (unsigned i = 0; i < 3; i++) {
		rig_write(path, texts[i], strlen(texts[i]));
		assert_int_equal(rig_try_open(*state, &(struct audit_log_options){0}, &log, err,
					 sizeof(err)),
			-EINVAL);
		assert_non_null(strstr(err, "no audit log"));
		char *text = rig_read(path, &length);
		assert_string_equal(text, texts[i]);
		free(text);
	}
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(
		rig_try_open(*state, &(struct audit_log_options){0}, &log, err, sizeof(err)),
		-EINVAL);
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(
		rig_try_open(*state, &(struct audit_log_options){0}, &log, err, sizeof(err)),
		-EISDIR);
	rmdir(path);
	assert_int_equal(symlink("/tmp/sluice-audit-elsewhere", path), 0);
	if (geteuid() == 0) // in a folder that others could write in
		assert_int_equal(chmod(*state, 0777), 0);
	if (geteuid() == 0)
		assert_int_equal(rig_try_open(*state, &(struct audit_log_options){0}, &log, err,
					 sizeof(err)),
			-ELOOP);
	struct audit_log_options nowhere = {.path = "/nonexistent/audit.log", .software = "s"};
	assert_int_equal(audit_log_open(&nowhere, NOW_US, &log, err, sizeof(err)), -ENOENT);
}

// A process that writes as fast as it can, until it is killed.
static void write_until_killed(const char *folder, int ready)
{
	struct audit_log *log = rig_open(folder, 100000);
	static char json[20000] = "{\"text\":\"";

	memset(json + 9, 'x', sizeof(json) - 9);
	(void)!write(ready, "", 1);
	for (unsigned i = 0;; i++) {
		size_t n = 20 + i * 7919 % (sizeof(json) - 20);
		memcpy(json + n - 2, "\"}", 2);
		audit_log_append(log, json, n, NOW_US);
		json[n - 2] = json[n - 1] = 'x';
	}
}

static void kill_9_leaves_a_log_that_goes_on(void **state)
{
	uint64_t last = 0;

	for (unsigned turn = 0; turn < 50; turn++) {
		int pipes[2], status;
		char byte;

		assert_int_equal(pipe(pipes), 0);
		pid_t child = fork();
		if (child == 0) {
			write_until_killed(*state, pipes[1]);
			_exit(0);
		}
		assert_int_equal(read(pipes[0], &byte, 1), 1);
		usleep(1000 + turn * 137);
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, &status, 0), child);
		close(pipes[0]);
		close(pipes[1]);
		// All of its whole lines are there, and no more than one torn one behind them.
		struct audit_summary summary;
		struct rig_faults faults;
		rig_verify(*state, NULL, &faults, &summary);
		assert_true(faults.n == 0 ||
			    (faults.n == 1 && strstr(faults.at[0].what, "has no end")));
		assert_true(summary.last_seq > last);
		last = summary.last_seq;
		struct audit_log *log = rig_open(*state, 100000);
		assert_int_equal(head_of(log), last + 1);
		audit_log_close(log, NOW_US);
		assert_int_equal(rig_is_good(*state), last + 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_restart_continues_the_chain, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			a_torn_line_moves_to_a_side_file, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			a_side_file_that_no_line_tells_of_is_told, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			garbage_behind_the_last_line_is_torn, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			a_first_line_that_is_torn_begins_again, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			what_is_no_audit_log_is_left_as_it_is, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			kill_9_leaves_a_log_that_goes_on, rig_setup, rig_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
