// SPDX-License-Identifier: BSD-3-Clause
// Files in the store: what comes in any order has the digests of the whole and stands in its place.
#include "unit/audit/rig.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/store.h"

#define NOW_S 1700000000u
#define ABC   "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

static struct store *open_store(const char *folder)
{
	struct store *store;
	char err[256] = "";

	if (store_open(folder, &(struct store_limits){0}, &store, err, sizeof(err)) < 0)
		fail_msg("%s", err);
	while (store_step(store, NOW_S, 100))
		;
	return store;
}

static struct store_result store_text(struct store *store, const char *text)
{
	struct store_file *file = store_begin(store);
	struct store_result result;

	assert_int_equal(store_write(file, 0, text, strlen(text)), 0);
	store_end(file, STORE_CLOSED, NOW_S, &result);
	return result;
}

static struct store_counters look(const struct store *store)
{
	struct store_counters counters;

	store_look(store, &counters);
	return counters;
}

static void digests_and_place(void **state)
{
	const char *folder = rig_path(*state, "files");
	struct store *store = open_store(folder);
	struct store_result result = store_text(store, "abc");
	struct stat st;
	size_t length;

	assert_string_equal(result.digests.md5, "900150983cd24fb0d6963f7d28e17f72");
	assert_string_equal(result.digests.sha1, "a9993e364706816aba3e25717850c26c9cd0d89d");
	assert_string_equal(result.digests.sha256, ABC);
	assert_string_equal(result.path, "ba/" ABC);
	assert_true(result.stored && result.digested && !result.duplicate && !result.gaps);
	assert_int_equal(result.size, 3);
	assert_int_equal(result.error, 0);
	char *text = rig_read(rig_path(folder, result.path), &length);
	assert_string_equal(text, "abc");
	free(text);
	assert_int_equal(stat(rig_path(folder, result.path), &st), 0);
	assert_int_equal(st.st_mode & 0137, 0);
	assert_int_equal(st.st_mtime, NOW_S);
	assert_int_equal(stat(rig_path(folder, "ba"), &st), 0);
	assert_int_equal(st.st_mode & 027, 0); // 0750, less what the umask takes
	assert_int_equal(look(store).used_bytes, 3);
	assert_int_equal(look(store).used_files, 1);
	store_close(store);
}

static void a_file_of_nothing(void **state)
{
	struct store *store = open_store(rig_path(*state, "files"));
	struct store_result result = store_text(store, "");

	assert_true(result.stored && result.digested);
	assert_string_equal(result.digests.sha256,
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	store_close(store);
}

static void a_file_is_stored_once(void **state)
{
	const char *folder = strdup(rig_path(*state, "files"));
	struct store *store = open_store(folder);
	struct store_result first = store_text(store, "abc"), again;
	struct stat st;

	struct store_file *file = store_begin(store);
	store_write(file, 0, "abc", 3);
	store_end(file, STORE_CLOSED, NOW_S + 70, &again);
	assert_true(again.stored && again.duplicate);
	assert_string_equal(again.path, first.path);
	assert_int_equal(look(store).stored, 1);
	assert_int_equal(look(store).duplicates, 1);
	assert_int_equal(look(store).used_bytes, 3);
	assert_int_equal(look(store).used_files, 1);
	assert_int_equal(stat(rig_path(folder, first.path), &st), 0);
	assert_int_equal(st.st_mtime, NOW_S + 70); // the last transfer
	store_close(store);
	// What a power cut left of it is written once more.
	assert_int_equal(truncate(rig_path(folder, first.path), 1), 0);
	store = open_store(folder);
	again = store_text(store, "abc");
	assert_true(again.stored && !again.duplicate);
	assert_int_equal(stat(rig_path(folder, first.path), &st), 0);
	assert_int_equal(st.st_size, 3);
	assert_int_equal(look(store).used_bytes, 3);
	assert_int_equal(look(store).used_files, 1);
	// So is one that somebody removed.
	assert_int_equal(unlink(rig_path(folder, first.path)), 0);
	again = store_text(store, "abc");
	assert_true(again.stored && !again.duplicate);
	assert_int_equal(look(store).used_files, 1);
	store_close(store);
	free((char *)(uintptr_t)folder);
}

static void sidecars_stand_beside_it(void **state)
{
	const char *folder = strdup(rig_path(*state, "files"));
	struct store *store = open_store(folder);
	struct store_result result = store_text(store, "abc");
	size_t length;

	assert_int_equal(store_note(store, &result, NOW_S, 7, "{\"a\":1}\n", 8), 0);
	result = store_text(store, "abc");
	assert_int_equal(store_note(store, &result, NOW_S + 1, 8, "{}\n", 3), 0);
	char *text = rig_read(rig_path(folder, "ba/" ABC ".1700000000.7.json"), &length);
	assert_string_equal(text, "{\"a\":1}\n");
	free(text);
	assert_int_equal(access(rig_path(folder, "ba/" ABC ".1700000001.8.json"), F_OK), 0);
	assert_int_equal(look(store).sidecars, 2);
	assert_int_equal(look(store).used_bytes, 14);
	assert_int_equal(look(store).used_files, 3);
	store_close(store);
	store = open_store(folder); // finds them all
	assert_int_equal(look(store).used_bytes, 14);
	assert_int_equal(look(store).used_files, 3);
	store_close(store);
	store = open_store(NULL);
	result = store_text(store, "abc");
	assert_int_equal(
		store_note(store, &result, NOW_S, 7, "{}", 2), -EINVAL); // nothing is stored
	store_close(store);
	free((char *)(uintptr_t)folder);
}

static void hash(const uint8_t *bytes, size_t n, char out[65])
{
	audit_hash(bytes, n, out);
}

// Blocks in any order, some of them twice; some that never come.
static void bytes_in_any_order(void **state)
{
	struct store *store = open_store(rig_path(*state, "files"));
	static uint8_t bytes[200000], with_gaps[200000];
	uint64_t seed = 7;
	char expected[65];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * i >> 5);
	for (unsigned turn = 0; turn < 60; turn++) {
		struct store_file *file = store_begin(store);
		bool whole = turn % 2, came[200] = {false};
		struct store_result result;
		unsigned left = 200, last = 0;

		memset(with_gaps, 0, sizeof(with_gaps));
		for (unsigned i = 0; left && (whole || i < 120); i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			// the first blocks mostly in order
			unsigned block = turn % 3 == 0 && i < 40 ? i : (unsigned)(seed >> 33) % 200;
			left -= !came[block];
			came[block] = true;
			last = block > last ? block : last;
			assert_int_equal(
				store_write(file, block * 1000u, bytes + block * 1000u, 1000), 0);
			memcpy(with_gaps + block * 1000u, bytes + block * 1000u, 1000);
		}
		store_end(file, whole ? STORE_CLOSED : STORE_TRUNCATED, NOW_S, &result);
		assert_true(result.stored && result.digested);
		assert_int_equal(result.size, last * 1000u + 1000);
		assert_int_equal(result.gaps, !whole);
		hash(with_gaps, result.size, expected);
		assert_string_equal(result.digests.sha256, expected);
	}
	assert_int_equal(look(store).open_files, 0);
	store_close(store);
}

// Of bytes that come twice with another content.
static void digested_bytes_stay(void **state)
{
	struct store *store = open_store(rig_path(*state, "files"));
	struct store_file *file = store_begin(store);
	struct store_result result;

	store_write(file, 0, "ab", 2);
	store_write(file, 0, "xy", 2);
	store_write(file, 1, "zc", 2);
	store_end(file, STORE_CLOSED, NOW_S, &result);
	assert_string_equal(result.digests.sha256, ABC);
	file = store_begin(store);
	store_write(file, 1, "xx", 2);
	store_write(file, 1, "bc", 2);
	store_write(file, 0, "a", 1);
	store_end(file, STORE_CLOSED, NOW_S, &result);
	assert_string_equal(result.digests.sha256, ABC);
	assert_true(result.duplicate);
	store_close(store);
}

static void without_a_folder_files_are_digested(void **state)
{
	struct store *store = open_store(NULL);
	struct store_result result = store_text(store, "abc");
	struct store_file *file;

	(void)state;
	assert_true(result.digested && !result.stored);
	assert_string_equal(result.digests.sha256, ABC);
	assert_string_equal(result.path, "");
	assert_int_equal(result.error, 0);
	file = store_begin(store);
	assert_int_equal(store_write(file, 1, "bc", 2), 0);
	assert_int_equal(store_write(file, 0, "a", 1), 0);
	store_end(file, STORE_CLOSED, NOW_S, &result);
	assert_false(result.digested || result.gaps);
	assert_string_equal(result.digests.sha256, "");
	assert_int_equal(result.size, 3);
	// again what came ahead, in order: then it is whole
	file = store_begin(store);
	store_write(file, 1, "bc", 2);
	store_write(file, 0, "a", 1);
	store_write(file, 1, "bc", 2);
	store_end(file, STORE_CLOSED, NOW_S, &result);
	assert_true(result.digested);
	assert_string_equal(result.digests.sha256, ABC);
	store_close(store);
}

static void what_is_aborted_or_wrong_leaves_nothing(void **state)
{
	const char *folder = strdup(rig_path(*state, "files"));
	struct store *store = open_store(folder);
	struct store_file *file = store_begin(store);
	struct store_result result;

	store_write(file, 0, "abc", 3);
	store_abort(file);
	file = store_begin(store);
	store_write(file, 0, "abc", 3);
	store_end(file, STORE_ERROR, NOW_S, &result);
	assert_false(result.stored);
	assert_true(result.digested);
	assert_int_equal(result.state, STORE_ERROR);
	file = store_begin(store);
	assert_int_equal(store_write(file, UINT64_MAX - 1, "abc", 3), -EFBIG);
	store_end(file, STORE_CLOSED, NOW_S, &result);
	assert_false(result.stored || result.digested);
	assert_int_equal(result.error, EFBIG);
	store_begin(store); // open when it closes
	store_begin(store);
	assert_int_equal(look(store).used_files, 2);
	assert_int_equal(look(store).open_files, 2);
	store_close(store);
	store = open_store(folder);
	assert_int_equal(look(store).used_files, 0);
	store_close(store);
	assert_int_equal(rmdir(rig_path(folder, "tmp")), 0);
	assert_int_equal(rmdir(folder), 0);
	free((char *)(uintptr_t)folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(digests_and_place, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(a_file_of_nothing, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(a_file_is_stored_once, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(sidecars_stand_beside_it, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(bytes_in_any_order, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(digested_bytes_stay, rig_setup, rig_teardown),
		cmocka_unit_test(without_a_folder_files_are_digested),
		cmocka_unit_test_setup_teardown(
			what_is_aborted_or_wrong_leaves_nothing, rig_setup, rig_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
