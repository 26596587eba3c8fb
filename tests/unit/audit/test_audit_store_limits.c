// SPDX-License-Identifier: BSD-3-Clause
// What the store does when there is no room, and with what it finds in its folder.
#include "unit/audit/rig.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/store.h"

#define NOW_S 1700000000u

static struct store *open_with(const char *folder, const struct store_limits *limits)
{
	struct store *store;
	char err[256] = "";

	if (store_open(folder, limits, &store, err, sizeof(err)) < 0)
		fail_msg("%s", err);
	return store;
}

static struct store *open_and_walk(const char *folder, const struct store_limits *limits)
{
	struct store *store = open_with(folder, limits);

	while (store_step(store, NOW_S, 100))
		;
	return store;
}

// A file of that number, of `size` bytes.
static struct store_result store_number(
	struct store *store, unsigned number, size_t size, uint64_t now_s)
{
	static uint8_t bytes[100000];
	struct store_file *file = store_begin(store);
	struct store_result result;

	memset(bytes, 0, size);
	memcpy(bytes, &number, sizeof(number));
	for (size_t at = 0; at < size; at += 1000)
		store_write(file, at, bytes + at, size - at < 1000 ? size - at : 1000);
	store_end(file, STORE_CLOSED, now_s, &result);
	assert_true(result.digested);
	return result;
}

static struct store_counters look(const struct store *store)
{
	struct store_counters counters;

	store_look(store, &counters);
	return counters;
}

static bool is_there(const char *folder, const struct store_result *result)
{
	return result->path[0] && access(rig_path(folder, result->path), F_OK) == 0;
}

static void the_oldest_go_first(void **state)
{
	const char *folder = rig_path(*state, "files");
	struct store_limits limits = {.bytes = 10000};
	struct store *store = open_and_walk(folder, &limits);
	struct store_result results[30];

	for (unsigned i = 0; i < 10; i++) {
		results[i] = store_number(store, i, 1000, NOW_S + i);
		assert_true(results[i].stored);
	}
	store_number(store, 0, 1000, NOW_S + 10); // transferred again: the newest
	assert_int_equal(look(store).used_bytes, 10000);
	// While it came nobody knew that it was there: it took the place of the oldest, itself.
	assert_int_equal(look(store).evicted, 1);
	for (unsigned i = 0; i < 10; i++)
		assert_true(is_there(folder, &results[i]));
	for (unsigned i = 10; i < 30; i++) {
		results[i] = store_number(store, i, 1000, NOW_S + 10 + i);
		assert_true(results[i].stored);
		assert_true(look(store).used_bytes <= 10000);
	}
	for (unsigned i = 0; i < 30; i++)
		assert_int_equal(is_there(folder, &results[i]), i >= 20);
	store_close(store);
	// The order is known after a restart, too.
	store = open_and_walk(folder, &limits);
	assert_int_equal(look(store).used_bytes, 10000);
	store_number(store, 100, 3000, NOW_S + 100);
	for (unsigned i = 20; i < 30; i++)
		assert_int_equal(is_there(folder, &results[i]), i >= 23);
	store_close(store);
}

static void sidecars_go_with_their_file(void **state)
{
	const char *folder = rig_path(*state, "files");
	struct store_limits limits = {.files = 4};
	struct store *store = open_and_walk(folder, &limits);
	struct store_result one = store_number(store, 1, 10, NOW_S), two;
	char side[256];

	assert_int_equal(store_note(store, &one, NOW_S, 1, "{}", 2), 0);
	assert_int_equal(store_note(store, &one, NOW_S, 2, "{}", 2), 0);
	assert_int_equal(look(store).used_files, 3);
	two = store_number(store, 2, 10, NOW_S + 1);
	assert_int_equal(store_note(store, &two, NOW_S + 1, 1, "{}", 2), 0);
	assert_false(is_there(folder, &one));
	snprintf(side, sizeof(side), "%.68s.%u.1.json", one.path, NOW_S);
	assert_int_equal(access(rig_path(folder, side), F_OK), -1);
	assert_int_equal(look(store).used_files, 2);
	assert_int_equal(look(store).used_bytes, 12);
	// Where it is the file itself that would have to go, there is no room for its sidecar.
	assert_int_equal(store_note(store, &two, NOW_S + 1, 2, "{}", 2), 0);
	assert_int_equal(store_note(store, &two, NOW_S + 1, 3, "{}", 2), 0);
	assert_int_equal(store_note(store, &two, NOW_S + 1, 4, "{}", 2), -EDQUOT);
	assert_int_equal(look(store).used_files, 0);
	store_close(store);
}

static void what_comes_is_refused(void **state)
{
	const char *folder = rig_path(*state, "files");
	struct store_limits limits = {.bytes = 2500, .full = STORE_FULL_REFUSE};
	struct store *store = open_and_walk(folder, &limits);
	struct store_result one = store_number(store, 1, 1000, NOW_S);
	struct store_result two = store_number(store, 2, 1000, NOW_S);
	struct store_result three = store_number(store, 3, 1000, NOW_S);

	assert_true(is_there(folder, &one) && is_there(folder, &two));
	assert_false(three.stored);
	assert_int_equal(three.error, EDQUOT);
	assert_int_equal(look(store).refused, 1);
	assert_int_equal(look(store).errors, 0);
	assert_int_equal(look(store).used_bytes, 2000);
	assert_true(store_number(store, 4, 500, NOW_S).stored);
	store_close(store);
}

static void one_file_is_too_long(void **state)
{
	const char *folder = rig_path(*state, "files");
	struct store_limits limits = {.bytes = 100000, .file_bytes = 5000};
	struct store *store = open_and_walk(folder, &limits);
	struct store_result one = store_number(store, 1, 5000, NOW_S);
	struct store_result two = store_number(store, 2, 5001, NOW_S);

	assert_true(one.stored);
	assert_false(two.stored);
	assert_int_equal(two.error, EFBIG);
	assert_int_equal(two.size, 5001);
	assert_int_equal(look(store).evicted, 0);
	assert_int_equal(look(store).used_bytes, 5000);
	store_close(store);
}

static void more_files_than_may_be_open(void **state)
{
	struct store_limits limits = {.open_files = 2};
	struct store *store = open_and_walk(rig_path(*state, "files"), &limits);
	struct store_file *files[3];
	struct store_result result;

	for (unsigned i = 0; i < 3; i++) {
		files[i] = store_begin(store);
		assert_int_equal(store_write(files[i], 0, "abc", 3), i < 2 ? 0 : -EMFILE);
	}
	for (unsigned i = 0; i < 3; i++) {
		store_end(files[i], STORE_CLOSED, NOW_S, &result);
		assert_int_equal(result.stored, i < 2);
		assert_true(result.digested);
	}
	assert_int_equal(result.error, EMFILE);
	store_close(store);
}

static void what_is_too_old_goes(void **state)
{
	const char *folder = rig_path(*state, "files");
	struct store_limits limits = {.age_s = 100};
	struct store *store = open_and_walk(folder, &limits);

	for (unsigned i = 0; i < 20; i++)
		store_number(store, i, 10, NOW_S + i);
	assert_false(store_step(store, NOW_S + 100, 5));
	assert_int_equal(look(store).used_files, 20);
	assert_true(store_step(store, NOW_S + 110, 5)); // some at a time
	assert_int_equal(look(store).aged, 5);
	assert_false(store_step(store, NOW_S + 110, 5));
	assert_int_equal(look(store).used_files, 10);
	store_close(store);
	store = open_with(folder, &limits);
	while (store_step(store, NOW_S + 200, 3))
		;
	assert_int_equal(look(store).used_files, 0);
	store_close(store);
}

// While the store finds out what it has, files come: each is counted once.
static void files_that_come_while_it_walks(void **state)
{
	const char *folder = rig_path(*state, "files");
	struct store_limits limits = {0};
	struct store *store = open_and_walk(folder, &limits);

	for (unsigned i = 0; i < 300; i++) {
		struct store_result result = store_number(store, i, 10, NOW_S);
		if (i % 3 == 0)
			store_note(store, &result, NOW_S, i, "{}", 2);
	}
	assert_int_equal(look(store).used_files, 400);
	store_close(store);
	store = open_with(folder, &limits);
	unsigned next = 200; // 100 of them are there
	while (store_step(store, NOW_S + 1, 1)) {
		assert_true(look(store).walking);
		if (next == 500)
			continue;
		struct store_result result = store_number(store, next, 10, NOW_S + 1);
		assert_true(result.stored);
		assert_int_equal(result.duplicate, next < 300);
		if (next % 3 == 0)
			assert_int_equal(store_note(store, &result, NOW_S + 1, next, "{}", 2), 0);
		next++;
	}
	assert_int_equal(next, 500);
	assert_int_equal(look(store).used_files, 500 + 100 + 100); // sidecars of both times
	assert_int_equal(look(store).used_bytes, 5000 + 400);
	store_close(store);
	store = open_and_walk(folder, &limits);
	assert_int_equal(look(store).used_files, 700);
	assert_int_equal(look(store).used_bytes, 5400);
	store_close(store);
}

static void what_is_none_of_its_files_stays(void **state)
{
	static const char *const names[] = {"ab/readme", "tmp/note.txt",
		"ab/cdba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015",
		"ab/ab7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f2001500.json"};
	const char *folder = rig_path(*state, "files");
	struct store_limits limits = {.age_s = 1};

	store_close(open_and_walk(folder, &limits));
	mkdir(rig_path(folder, "tmp"), 0700);
	assert_int_equal(mkdir(rig_path(folder, "ab"), 0700), 0);
	for (unsigned i = 0; i < 4; i++)
		rig_write(rig_path(folder, names[i]), "x", 1);
	rig_write(rig_path(folder, "tmp/0123456789abcdef"), "left by one that was killed", 27);
	struct store *store = open_with(folder, &limits);
	assert_int_equal(access(rig_path(folder, "tmp/0123456789abcdef"), F_OK), -1);
	while (store_step(store, NOW_S * 2, 10))
		;
	assert_int_equal(look(store).foreign_files, 3);
	assert_int_equal(look(store).used_files, 0);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(access(rig_path(folder, names[i]), F_OK), 0);
	store_close(store);
}

static void no_link_is_followed(void **state)
{
	const char *folder = rig_path(*state, "files"), *outside = rig_path(*state, "outside");
	struct store_limits limits = {0};
	struct store *store = open_and_walk(folder, &limits);
	struct store_result result = store_number(store, 1, 10, NOW_S);
	char prefix[4] = "", victim[256];

	memcpy(prefix, result.path, 2);
	assert_int_equal(mkdir(outside, 0700), 0);
	// In the place of the file: not taken for it.
	assert_int_equal(unlink(rig_path(folder, result.path)), 0);
	snprintf(victim, sizeof(victim), "%s", rig_path(outside, "victim"));
	rig_write(victim, "0123456789", 10);
	assert_int_equal(symlink(victim, rig_path(folder, result.path)), 0);
	struct store_result again = store_number(store, 1, 10, NOW_S);
	assert_true(again.stored && !again.duplicate);
	struct stat st;
	assert_int_equal(lstat(rig_path(folder, result.path), &st), 0);
	assert_true(S_ISREG(st.st_mode));
	// In the place of its folder, and of tmp.
	assert_int_equal(unlink(rig_path(folder, result.path)), 0);
	assert_int_equal(rmdir(rig_path(folder, prefix)), 0);
	assert_int_equal(symlink(outside, rig_path(folder, prefix)), 0);
	again = store_number(store, 1, 10, NOW_S);
	assert_false(again.stored);
	assert_true(again.error == ELOOP || again.error == ENOTDIR);
	assert_int_equal(rmdir(rig_path(folder, "tmp")), 0);
	assert_int_equal(symlink(outside, rig_path(folder, "tmp")), 0);
	again = store_number(store, 2, 10, NOW_S);
	assert_false(again.stored);
	size_t length;
	char *text = rig_read(victim, &length);
	assert_string_equal(text, "0123456789");
	free(text);
	assert_int_equal(unlink(victim), 0);
	assert_int_equal(rmdir(outside), 0); // nothing else was put there
	store_close(store);
}

static void a_full_disk_costs_its_file(void **state)
{
	const char *folder = rig_path(*state, "small");
	struct store_limits limits = {0};

	if (geteuid() != 0)
		skip();
	assert_int_equal(mkdir(folder, 0700), 0);
	assert_int_equal(mount("none", folder, "tmpfs", 0, "size=1m"), 0);
	struct store *store = open_and_walk(folder, &limits);
	struct store_file *waiting = store_begin(store); // another file is not disturbed
	assert_int_equal(store_write(waiting, 0, "ab", 2), 0);
	unsigned stored = 0, failed = 0;
	for (unsigned i = 0; i < 40; i++) {
		struct store_result result = store_number(store, i, 50000, NOW_S);
		stored += result.stored;
		failed += result.error == ENOSPC;
	}
	assert_int_equal(stored + failed, 40);
	assert_in_range(stored, 10, 21);
	assert_int_equal(look(store).errors, failed);
	assert_int_equal(look(store).error, ENOSPC);
	assert_int_equal(look(store).used_bytes, stored * 50000u + 2);
	struct store_result result;
	store_write(waiting, 2, "c", 1);
	store_end(waiting, STORE_CLOSED, NOW_S, &result);
	assert_true(result.stored);
	store_close(store);
	// The same, read-only.
	assert_int_equal(mount("none", folder, "tmpfs", MS_REMOUNT | MS_RDONLY, "size=1m"), 0);
	store = open_and_walk(folder, &limits);
	assert_int_equal(look(store).used_files, stored + 1);
	result = store_number(store, 1000, 100, NOW_S);
	assert_false(result.stored);
	assert_int_equal(result.error, EROFS);
	store_close(store);
	limits.age_s = 1; // what is too old cannot go, and nothing hangs
	store = open_with(folder, &limits);
	for (unsigned i = 0; i < 400 && store_step(store, 2 * NOW_S, 10); i++)
		assert_true(i < 399);
	assert_int_equal(look(store).aged, 0);
	assert_true(look(store).errors > 0);
	store_close(store);
	assert_int_equal(umount2(folder, MNT_DETACH), 0);
}

static void one_process_has_the_folder(void **state)
{
	const char *folder = rig_path(*state, "files");
	struct store_limits limits = {0};
	struct store *store = open_with(folder, &limits), *other;
	char err[256];

	assert_int_equal(store_open(folder, &limits, &other, err, sizeof(err)), -EBUSY);
	assert_null(other);
	assert_string_equal(err, "another process stores files there");
	store_close(store);
	store_close(open_with(folder, &limits));
	assert_int_equal(
		store_open(rig_path(*state, "no/where"), &limits, &other, err, sizeof(err)),
		-ENOENT);
	rig_write(rig_path(*state, "file"), "", 0);
	assert_int_equal(
		store_open(rig_path(*state, "file"), &limits, &other, err, sizeof(err)), -ENOTDIR);
}

// Killed while it stores: what is in its place is whole.
static void kill_9_leaves_whole_files(void **state)
{
	const char *folder = rig_path(*state, "files");
	struct store_limits limits = {.files = 60};
	unsigned files = 0;

	for (unsigned turn = 0; turn < 20; turn++) {
		char command[512];
		int pipes[2], status;
		char byte;

		assert_int_equal(pipe(pipes), 0);
		pid_t child = fork();
		if (child == 0) {
			struct store *store = open_and_walk(folder, &limits);
			(void)!write(pipes[1], "", 1);
			for (unsigned i = turn * 100000;; i++) {
				struct store_result result =
					store_number(store, i, 1 + i * 7919 % 99999, NOW_S);
				store_note(store, &result, NOW_S, i, "{}", 2);
			}
		}
		assert_int_equal(read(pipes[0], &byte, 1), 1);
		usleep(2000 + turn * 531);
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
		close(pipes[0]);
		close(pipes[1]);
		struct store *store = open_and_walk(folder, &limits);
		files = (unsigned)look(store).used_files;
		assert_true(files <= 61);
		store_close(store);
		if (!files) // it was killed before its first file
			continue;
		snprintf(command, sizeof(command),
			"cd %s && test -z \"$(ls tmp)\" && for f in [0-9a-f]*/*; do case $f in "
			"*.json) ;; "
			"*) echo \"$(basename $f)  $f\" ;; esac; done | sha256sum -c --quiet",
			folder);
		assert_int_equal(system(command), 0);
	}
	assert_true(files > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_oldest_go_first, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			sidecars_go_with_their_file, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(what_comes_is_refused, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(one_file_is_too_long, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			more_files_than_may_be_open, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(what_is_too_old_goes, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			files_that_come_while_it_walks, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			what_is_none_of_its_files_stays, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(no_link_is_followed, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			a_full_disk_costs_its_file, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			one_process_has_the_folder, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(kill_9_leaves_whole_files, rig_setup, rig_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
