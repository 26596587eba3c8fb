// SPDX-License-Identifier: BSD-3-Clause
// Infected files: the store keeps no copy of them, the quarantine does, within its limits.
#include "unit/audit/rig.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/store.h"

#define NOW_S 1700000000u
#define ABC   "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

struct world {
	char *files, *quarantine; // folders
	struct store *store, *away;
};

static struct store *open_store(const char *folder, struct store_limits limits)
{
	struct store *store;
	char err[256] = "";

	if (store_open(folder, &limits, &store, err, sizeof(err)) < 0)
		fail_msg("%s", err);
	return store;
}

static void walk(struct store *store)
{
	while (store_step(store, NOW_S, 100))
		;
}

static struct world world_of(void *folder, struct store_limits limits)
{
	struct world w = {.files = strdup(rig_path(folder, "files")),
		.quarantine = strdup(rig_path(folder, "away"))};

	limits.owner_only = true;
	w.store = open_store(w.files, (struct store_limits){0});
	w.away = open_store(w.quarantine, limits);
	walk(w.store);
	walk(w.away);
	return w;
}

static void world_end(struct world *w)
{
	store_close(w->store);
	store_close(w->away);
	free(w->files);
	free(w->quarantine);
}

static struct store_counters look(const struct store *store)
{
	struct store_counters counters;

	store_look(store, &counters);
	return counters;
}

static struct store_result clean(struct store *store, const char *text)
{
	struct store_file *file = store_begin(store);
	struct store_result result;

	assert_int_equal(store_write(file, 0, text, strlen(text)), 0);
	store_end(file, STORE_CLOSED, NOW_S, &result);
	return result;
}

static struct store_result infected(struct store *store, struct store *quarantine, const char *text)
{
	struct store_file *file = store_begin(store);
	struct store_result result;

	(void)store_write(file, 0, text, strlen(text));
	store_end_infected(file, STORE_TRUNCATED, NOW_S, quarantine, &result);
	return result;
}

// Files in a folder of the store; folders that are not there have none.
static unsigned files_in(const char *folder, const char *below)
{
	DIR *open = opendir(rig_path(folder, below));
	struct dirent *entry;
	unsigned n = 0;

	while (open && (entry = readdir(open)))
		n += entry->d_name[0] != '.';
	if (open)
		closedir(open);
	return n;
}

static void its_copy_is_removed(void **state)
{
	struct world w = world_of(*state, (struct store_limits){0});
	struct store_result other = clean(w.store, "xyz");
	struct store_result result = infected(w.store, NULL, "abc");

	assert_false(result.stored || result.quarantined);
	assert_true(result.digested);
	assert_string_equal(result.digests.sha256, ABC);
	assert_string_equal(result.path, "");
	assert_int_equal(result.error, 0);
	assert_int_equal(files_in(w.files, "ba") + files_in(w.files, "tmp"), 0);
	assert_int_equal(look(w.store).removed, 1);
	assert_int_equal(look(w.store).quarantined, 0);
	assert_int_equal(look(w.store).used_files, 1); // the other one stays
	assert_int_equal(look(w.store).used_bytes, 3);
	assert_int_equal(access(rig_path(w.files, other.path), F_OK), 0);
	world_end(&w);
}

// Nobody knew then what it was.
static void an_earlier_copy_goes_too(void **state)
{
	struct world w = world_of(*state, (struct store_limits){0});
	struct store_result first = clean(w.store, "abc");

	assert_int_equal(store_note(w.store, &first, NOW_S, 1, "{}", 2), 0);
	assert_int_equal(files_in(w.files, "ba"), 2);
	infected(w.store, NULL, "abc");
	assert_int_equal(files_in(w.files, "ba"), 0);
	assert_int_equal(look(w.store).used_files, 0);
	assert_int_equal(look(w.store).used_bytes, 0);
	assert_int_equal(look(w.store).removed, 1);
	// It can come again, and go again.
	assert_true(clean(w.store, "abc").stored);
	assert_int_equal(look(w.store).used_files, 1);
	infected(w.store, NULL, "abc");
	assert_int_equal(look(w.store).used_files, 0);
	world_end(&w);
}

// After a restart, before the store knows what its folder has.
static void an_earlier_copy_that_is_not_counted_yet(void **state)
{
	struct world w = world_of(*state, (struct store_limits){0});

	clean(w.store, "abc");
	clean(w.store, "xyz");
	store_close(w.store);
	w.store = open_store(w.files, (struct store_limits){0});
	assert_true(infected(w.store, w.away, "abc").quarantined);
	walk(w.store);
	assert_int_equal(files_in(w.files, "ba"), 0);
	assert_int_equal(look(w.store).used_files, 1);
	assert_int_equal(look(w.store).used_bytes, 3);
	world_end(&w);
}

static void it_goes_to_quarantine(void **state)
{
	struct world w = world_of(*state, (struct store_limits){0});
	struct store_result result = infected(w.store, w.away, "abc");
	struct stat st;
	size_t length;

	assert_true(result.quarantined);
	assert_false(result.stored);
	assert_string_equal(result.path, "ba/" ABC);
	assert_int_equal(files_in(w.files, "ba") + files_in(w.files, "tmp"), 0);
	char *text = rig_read(rig_path(w.quarantine, "ba/" ABC), &length);
	assert_string_equal(text, "abc");
	free(text);
	assert_int_equal(stat(rig_path(w.quarantine, "ba/" ABC), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(stat(rig_path(w.quarantine, "ba"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(look(w.store).quarantined, 1);
	assert_int_equal(look(w.store).removed, 0);
	assert_int_equal(look(w.store).used_files, 0);
	assert_int_equal(look(w.away).used_bytes, 3);
	assert_int_equal(store_note(w.away, &result, NOW_S, 7, "{}", 2), 0);
	assert_int_equal(stat(rig_path(w.quarantine, "ba/" ABC ".1700000000.7.json"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	// Once more: it is there once.
	assert_true(infected(w.store, w.away, "abc").quarantined);
	assert_int_equal(look(w.away).used_files, 2);
	assert_int_equal(look(w.away).duplicates, 1);
	world_end(&w);
}

// More than a copy takes at once, with a gap and out of order: as the store would have it.
static void a_large_one_with_a_gap(void **state)
{
	static char bytes[200000];
	struct world w = world_of(*state, (struct store_limits){0});
	struct store_file *file = store_begin(w.store);
	struct store_result result;
	size_t length;

	memset(bytes, 'b', sizeof(bytes));
	store_write(file, 100000, bytes + 100000, 100000);
	store_write(file, 0, bytes, 99990);
	store_end_infected(file, STORE_TRUNCATED, NOW_S, w.away, &result);
	assert_true(result.quarantined && result.gaps);
	memset(bytes + 99990, 0, 10);
	char *text = rig_read(rig_path(w.quarantine, result.path), &length);
	assert_int_equal(length, sizeof(bytes));
	assert_memory_equal(text, bytes, sizeof(bytes));
	free(text);
	world_end(&w);
}

static void the_oldest_goes_or_none_comes(void **state)
{
	struct world w = world_of(*state, (struct store_limits){.bytes = 5});

	infected(w.store, w.away, "xyz");
	assert_true(infected(w.store, w.away, "abc").quarantined);
	assert_int_equal(look(w.away).evicted, 1);
	assert_int_equal(look(w.away).used_bytes, 3);
	assert_int_equal(files_in(w.quarantine, "ba"), 1);
	world_end(&w);

	w = world_of(*state, (struct store_limits){.bytes = 5, .full = STORE_FULL_REFUSE});
	struct store_result result = infected(w.store, w.away, "defg");
	assert_false(result.quarantined || result.stored);
	assert_int_equal(look(w.away).refused, 1);
	assert_int_equal(look(w.store).removed, 1); // and it is not kept for that
	assert_int_equal(look(w.store).used_files, 0);
	assert_int_equal(files_in(w.quarantine, "tmp"), 0);
	world_end(&w);
}

// The store had no room for this transfer; its hash is known all the same.
static void one_that_found_no_room(void **state)
{
	struct world w = world_of(*state, (struct store_limits){0});

	clean(w.store, "abc");
	store_close(w.store);
	w.store = open_store(w.files, (struct store_limits){.bytes = 3, .full = STORE_FULL_REFUSE});
	walk(w.store);
	struct store_result result = infected(w.store, w.away, "abc");
	assert_true(result.quarantined);
	assert_int_equal(result.error, EDQUOT);
	assert_int_equal(files_in(w.files, "ba"), 0);
	assert_int_equal(look(w.store).used_bytes, 0);
	world_end(&w);
}

// Records were lost: what is there is not the file, and says nothing of the one of that name.
static void what_is_not_known_removes_nothing(void **state)
{
	struct world w = world_of(*state, (struct store_limits){0});
	struct store_file *file;
	struct store_result result;

	clean(w.store, "abc");
	file = store_begin(w.store);
	store_write(file, 0, "abc", 3);
	store_end_infected(file, STORE_ERROR, NOW_S, w.away, &result);
	assert_false(result.stored || result.quarantined);
	assert_int_equal(files_in(w.files, "ba"), 1);
	assert_int_equal(files_in(w.files, "tmp"), 0);
	assert_int_equal(look(w.store).removed, 0);
	world_end(&w);
}

// An earlier copy that is in the way of being removed is told as stored.
static void one_that_cannot_be_removed(void **state)
{
	struct world w = world_of(*state, (struct store_limits){0});
	struct store_result result;

	infected(w.store, NULL, "xyz"); // makes tmp/
	assert_int_equal(mkdir(rig_path(w.files, "ba"), 0700), 0);
	assert_int_equal(mkdir(rig_path(w.files, "ba/" ABC), 0700), 0);
	result = infected(w.store, w.away, "abc");
	assert_true(result.stored && result.quarantined);
	assert_int_equal(look(w.store).errors, 1);
	assert_int_equal(look(w.store).error, EISDIR);
	world_end(&w);
}

static void without_a_folder(void **state)
{
	(void)state;
	struct store *store = open_store(NULL, (struct store_limits){0});
	struct store_result result = infected(store, NULL, "abc");

	assert_true(result.digested);
	assert_false(result.stored || result.quarantined);
	assert_int_equal(look(store).removed, 0);
	assert_int_equal(look(store).errors, 0);
	store_close(store);
}

#define ON_DISK(test) cmocka_unit_test_setup_teardown(test, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_DISK(its_copy_is_removed),
		ON_DISK(an_earlier_copy_goes_too),
		ON_DISK(an_earlier_copy_that_is_not_counted_yet),
		ON_DISK(it_goes_to_quarantine),
		ON_DISK(a_large_one_with_a_gap),
		ON_DISK(the_oldest_goes_or_none_comes),
		ON_DISK(one_that_found_no_room),
		ON_DISK(what_is_not_known_removes_nothing),
		ON_DISK(one_that_cannot_be_removed),
		cmocka_unit_test(without_a_folder),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
