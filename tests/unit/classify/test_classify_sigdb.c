// SPDX-License-Identifier: BSD-3-Clause
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "lib/classify/classify_rig.h"

static struct signature good(const char *id, const char *pattern)
{
	struct signature s = {
		.app = app_find("fasttrack"),
		.l4 = IPPROTO_TCP,
		.halves = 3,
		.confidence = CONFIDENCE_DPI,
		.dotall = true,
	};

	snprintf(s.id, sizeof(s.id), "%s", id);
	snprintf(s.pattern, sizeof(s.pattern), "%s", pattern);
	return s;
}

static void test_bad_pattern_is_named(void **state)
{
	const struct signature set[] = {
		good("first", "^abc"), good("second", "^(abc"), good("third", "^abd")};
	struct sigdb *db = NULL;
	char err[256] = "";

	(void)state;
	assert_int_equal(sigdb_new(set, 3, NULL, &db, NULL, err, sizeof(err)), -EINVAL);
	assert_null(db);
	assert_non_null(strstr(err, "\"second\""));
	assert_int_equal(sigdb_check_pattern(&set[1], err, sizeof(err)), -EINVAL);
	assert_non_null(strstr(err, "\"second\""));
	assert_int_equal(sigdb_check_pattern(&set[0], err, sizeof(err)), 0);
}

static void test_bad_fields(void **state)
{
	struct signature set[7];
	char err[256];

	(void)state;
	for (unsigned i = 0; i < 7; i++)
		set[i] = good("it", "^abc");
	set[0].app = APP_NONE;
	set[1].l4 = IPPROTO_ICMP;
	set[2].halves = 0;
	set[3].verify = true; // fasttrack has no verifier
	set[4].confidence = CONFIDENCE_PORT;
	set[5] = good("it", "");
	set[6] = good("it", "^(abc)?"); // matches nothing at all
	for (unsigned i = 0; i < 7; i++) {
		assert_int_equal(sigdb_check_pattern(&set[i], err, sizeof(err)), -EINVAL);
		assert_non_null(strstr(err, "\"it\""));
	}
}

static void test_empty(void **state)
{
	struct rig *rig = rig_new_with(NULL, 0, 4);

	(void)state;
	assert_int_equal(sigdb_count(rig->db), 0);
	assert_null(sigdb_get(rig->db, 0));
	assert_string_equal(rig_first(rig, IPPROTO_TCP, 0, LITERAL("GNUTELLA CONNECT/0.6")), "");
	rig_free(rig);
}

// Runs one scan through a database: the application of "abc".
static uint16_t app_of_abc(struct sigdb *db)
{
	struct rig rig = {.db = db, .classifier = classifier_new(1, 0, -1)};
	struct rig_flow flow = rig_flow(&rig, IPPROTO_TCP, 1, 2);

	assert_int_equal(edition_new(db, 1, &rig.edition), 0);
	rig_feed(&flow, 0, "abc", 3);
	rig_end(&flow);
	edition_free(rig.edition);
	classifier_free(rig.classifier);
	return flow.verdict.app;
}

static struct sigdb *from_dir(
	const struct signature *set, unsigned n, const char *dir, bool expect_cached)
{
	struct sigdb *db;
	char err[256];
	bool cached;

	assert_int_equal(sigdb_new(set, n, dir, &db, &cached, err, sizeof(err)), 0);
	assert_int_equal(cached, expect_cached);
	assert_int_equal(app_of_abc(db), app_find("fasttrack"));
	return db;
}

// The one file in a folder; fails if there is another number of them.
static void only_file(const char *dir, char *path, size_t room)
{
	DIR *open = opendir(dir);
	const struct dirent *entry;
	unsigned n = 0;

	assert_non_null(open);
	while ((entry = readdir(open))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, room, "%s/%s", dir, entry->d_name);
		n++;
	}
	closedir(open);
	assert_int_equal(n, 1);
}

static void write_file(const char *path, const uint8_t *bytes, size_t length)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, length, file), length);
	fclose(file);
}

static void test_cache(void **state)
{
	struct signature set[] = {good("first", "^abc"), good("second", "^xyz")};
	char dir[] = "/tmp/test_sigdb.XXXXXX", path[512], other[512];
	static uint8_t bytes[1 << 20];
	size_t length;
	FILE *file;

	(void)state;
	set[1].l4 = IPPROTO_UDP;
	assert_non_null(mkdtemp(dir));
	sigdb_free(from_dir(set, 2, dir, false));
	sigdb_free(from_dir(set, 2, dir, true));
	only_file(dir, path, sizeof(path));
	file = fopen(path, "rb");
	length = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	assert_in_range(length, 100, sizeof(bytes) - 1);
	// damaged anywhere, cut anywhere, longer: compiled again, and mended
	for (size_t at = 0; at < length; at += length / 23) {
		bytes[at] ^= 0x20;
		write_file(path, bytes, length);
		bytes[at] ^= 0x20;
		sigdb_free(from_dir(set, 2, dir, false));
		write_file(path, bytes, at);
		sigdb_free(from_dir(set, 2, dir, false));
		sigdb_free(from_dir(set, 2, dir, true));
	}
	bytes[length] = 0;
	write_file(path, bytes, length + 1);
	sigdb_free(from_dir(set, 2, dir, false));
	// another pattern, flag, half or order is another key
	set[0].caseless = true;
	sigdb_free(from_dir(set, 2, dir, false));
	set[0].halves = 1 << HALF_C2S;
	sigdb_free(from_dir(set, 2, dir, false));
	snprintf(other, sizeof(other), "rm -r %s", dir);
	assert_int_equal(system(other), 0);
	// a folder that is not there is no error
	sigdb_free(from_dir(set, 2, dir, false));
}

// What another build has written is not used where it compiles differently: the code that compiles
// is part of the key.
static void test_cache_is_of_this_code(void **state)
{
	struct signature set[] = {good("first", "^abc")};
	char dir[] = "/tmp/test_sigdb.XXXXXX", path[512], code[33] = "";
	static uint8_t bytes[1 << 20];
	FILE *file = popen("cat " SIGDB_SOURCES " | sha256sum", "r");

	(void)state;
	assert_non_null(file);
	assert_int_equal(fread(code, 1, 32, file), 32);
	assert_int_equal(pclose(file), 0);
	assert_non_null(mkdtemp(dir));
	sigdb_free(from_dir(set, 1, dir, false));
	only_file(dir, path, sizeof(path));
	file = fopen(path, "rb");
	size_t length = fread(bytes, 1, sizeof(bytes), file);

	fclose(file);
	assert_non_null(memmem(bytes, length, code, 32));
	snprintf(path, sizeof(path), "rm -r %s", dir);
	assert_int_equal(system(path), 0);
}

static void set_used(const char *path, int64_t used_s)
{
	const struct timespec times[2] = {{.tv_sec = used_s}, {.tv_sec = used_s}};

	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void path_of(char *out, size_t room, const char *dir, const char *name)
{
	snprintf(out, room, "%s/%s", dir, name);
}

// What somebody else could have written is compiled again, and replaced.
static void test_cache_trusts_nobody(void **state)
{
	struct signature set[] = {good("first", "^abc")};
	char dir[] = "/tmp/test_sigdb.XXXXXX", path[512], other[512];
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(dir));
	sigdb_free(from_dir(set, 1, dir, false));
	only_file(dir, path, sizeof(path));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0644);
	assert_int_equal(chmod(path, 0664), 0);
	sigdb_free(from_dir(set, 1, dir, false));
	sigdb_free(from_dir(set, 1, dir, true));
	if (geteuid() == 0) {
		assert_int_equal(chown(path, 65534, 65534), 0);
		sigdb_free(from_dir(set, 1, dir, false));
		sigdb_free(from_dir(set, 1, dir, true));
		// nor, for root, whom the folder was given to: root starts the gateway, a user goes
		// on, and believes root's
		assert_int_equal(chown(path, 65534, 65534), 0);
		assert_int_equal(chown(dir, 65534, 65534), 0);
		sigdb_free(from_dir(set, 1, dir, false));
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_uid, 0);
		sigdb_free(from_dir(set, 1, dir, true));
		assert_int_equal(seteuid(65534), 0);
		sigdb_free(from_dir(set, 1, dir, true));
		assert_int_equal(unlink(path), 0);
		sigdb_free(from_dir(set, 1, dir, false));
		sigdb_free(from_dir(set, 1, dir, true)); // its own
		assert_int_equal(seteuid(0), 0);
		sigdb_free(from_dir(set, 1, dir, false));
	}
	// a link leads elsewhere
	path_of(other, sizeof(other), dir, "kept");
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(symlink(other, path), 0);
	sigdb_free(from_dir(set, 1, dir, false));
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	snprintf(other, sizeof(other), "rm -r %s", dir);
	assert_int_equal(system(other), 0);
}

#define NOW_S 1700000000
#define DAYS  86400

static void test_cache_is_pruned(void **state)
{
	struct signature set[] = {good("first", "^abc")}, more[] = {good("own", "^own")};
	char dir[] = "/tmp/test_sigdb.XXXXXX", path[512], name[64], own[512], err[256];
	struct sigdb *db, *beside;
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(dir));
	db = from_dir(set, 1, dir, false);
	only_file(dir, path, sizeof(path));
	set_used(path, NOW_S - 300 * DAYS); // in force, but never read again
	path_of(own, sizeof(own), dir, "sigdb-00000000000000aa");
	write_file(own, (const uint8_t *)"x", 1);
	set_used(own, NOW_S - 31 * DAYS);
	static const struct {
		const char *name;
		int64_t age_s;
		bool stays;
	} files[] = {
		{"sigdb-0000000000000001", 29 * DAYS, true},
		{"sigdb-0000000000000002", 31 * DAYS, false},
		{"sigdb-0000000000000003.abcDEF", 7200, false}, // left over
		{"sigdb-0000000000000004.abcDEF", 60, true},    // being written
		{"sigdb-0000000000000005.json", 400 * DAYS, true},
		{"sigdb-5", 400 * DAYS, true},
		{"notes.txt", 400 * DAYS, true},
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char file[512];

		path_of(file, sizeof(file), dir, files[i].name);
		write_file(file, (const uint8_t *)"x", 1);
		set_used(file, NOW_S - files[i].age_s);
	}
	assert_int_equal(sigdb_cache_prune(dir, db, 0, NOW_S), 0); // age does not matter
	assert_int_equal(access(own, F_OK), 0);
	assert_int_equal(sigdb_cache_prune(dir, db, 30, NOW_S), 0);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char file[512];

		path_of(file, sizeof(file), dir, files[i].name);
		assert_int_equal(access(file, F_OK) == 0, files[i].stays);
	}
	assert_int_equal(access(own, F_OK), -1);
	assert_int_equal(stat(path, &st), 0); // in force: it counts as used now
	assert_true(st.st_mtime > NOW_S);
	// a database beside keeps both; and the oldest of too many go
	assert_int_equal(sigdb_new_overlay(db, more, 1, dir, &beside, NULL, err, sizeof(err)), 0);
	set_used(path, NOW_S - 300 * DAYS);
	for (unsigned i = 0; i < 2 * SIGDB_CACHE_FILES; i++) {
		snprintf(name, sizeof(name), "sigdb-00000000000001%02x", i);
		path_of(own, sizeof(own), dir, name);
		write_file(own, (const uint8_t *)"x", 1);
		set_used(own, NOW_S - 1000 - i);
	}
	assert_int_equal(sigdb_cache_prune(dir, beside, 30, NOW_S), 0);
	assert_int_equal(access(path, F_OK), 0);
	path_of(own, sizeof(own), dir, "sigdb-0000000000000100");
	assert_int_equal(access(own, F_OK), 0);
	path_of(own, sizeof(own), dir, "sigdb-000000000000017f");
	assert_int_equal(access(own, F_OK), -1);
	sigdb_free(beside);
	assert_int_equal(sigdb_new_overlay(db, more, 1, dir, &beside, NULL, err, sizeof(err)), 0);
	sigdb_free(beside);
	sigdb_free(db);
	sigdb_free(from_dir(set, 1, dir, true)); // what was in force is still there
	assert_true(sigdb_cache_prune("/nonexistent", NULL, 30, NOW_S) < 0);
	snprintf(own, sizeof(own), "rm -r %s", dir);
	assert_int_equal(system(own), 0);
}

// The files' patterns and a policy's own are compiled apart: one change is one compilation.
static void test_beside(void **state)
{
	struct signature set[] = {good("first", "^abc")}, more[] = {good("own", "^own")};
	char dir[] = "/tmp/test_sigdb.XXXXXX", err[256];
	struct sigdb *db, *beside;
	bool cached;

	(void)state;
	assert_non_null(mkdtemp(dir));
	db = from_dir(set, 1, dir, false);
	assert_int_equal(
		sigdb_new_overlay(db, more, 1, dir, &beside, &cached, err, sizeof(err)), 0);
	assert_false(cached);
	assert_int_equal(app_of_abc(beside), app_find("fasttrack"));
	sigdb_free(beside);
	more[0].app = app_find("irc"); // the name is not part of what is compiled
	assert_int_equal(
		sigdb_new_overlay(db, more, 1, dir, &beside, &cached, err, sizeof(err)), 0);
	assert_true(cached);
	sigdb_free(beside);
	more[0].pattern[0] = '(';
	assert_int_equal(
		sigdb_new_overlay(db, more, 1, dir, &beside, &cached, err, sizeof(err)), -EINVAL);
	assert_non_null(strstr(err, "own"));
	sigdb_free(db);
	sigdb_free(from_dir(set, 1, dir, true));
	snprintf(err, sizeof(err), "rm -r %s", dir);
	assert_int_equal(system(err), 0);
}

static void test_scratch_of_another_database(void **state)
{
	const struct signature set[] = {good("first", "^abc")};
	struct rig *one = rig_new_with(set, 1, 4), *two = rig_new_with(set, 1, 4);
	struct sigdb_scratch *kept = one->edition->scratch[0];

	(void)state;
	one->edition->scratch[0] = two->edition->scratch[0];
	assert_string_equal(rig_first(one, IPPROTO_TCP, 0, LITERAL("abc")), "");
	assert_int_equal(one->work.errors, 1);
	one->edition->scratch[0] = kept;
	assert_string_equal(rig_first(one, IPPROTO_TCP, 0, LITERAL("abc")), "fasttrack");
	assert_int_equal(one->work.errors, 1);
	rig_free(one);
	rig_free(two);
}

static void test_table(void **state)
{
	(void)state;
	assert_null(app_get(APP_NONE));
	assert_null(app_get((uint16_t)(app_count() + 1)));
	assert_int_equal(app_find("no-such-thing"), APP_NONE);
	for (uint16_t app = 1; app <= app_count(); app++) {
		const struct app_proto *proto = app_get(app);

		assert_int_equal(app_find(proto->name), app);
		assert_true(strspn(proto->name, "abcdefghijklmnopqrstuvwxyz0123456789-") ==
			    strlen(proto->name));
		assert_true(proto->title && *proto->title);
		assert_int_equal(
			app_category_find(app_category_word(proto->category)), proto->category);
	}
	assert_int_equal(app_category_find("p2p"), APP_CATEGORY_P2P);
	assert_int_equal(app_category_find("peer"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_pattern_is_named),
		cmocka_unit_test(test_bad_fields),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_cache),
		cmocka_unit_test(test_cache_is_of_this_code),
		cmocka_unit_test(test_cache_trusts_nobody),
		cmocka_unit_test(test_cache_is_pruned),
		cmocka_unit_test(test_beside),
		cmocka_unit_test(test_scratch_of_another_database),
		cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
