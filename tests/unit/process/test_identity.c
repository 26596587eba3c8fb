// SPDX-License-Identifier: BSD-3-Clause
// What a start as root has left is given to the service's user, and nothing else is: whose a file
// is, and who becomes its owner, is the test's here.
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>
#include "process/identity.h"

#define ROOT  0
#define USER  990
#define OTHER 1000

static struct {
	ino_t inode;
	uid_t owner;
} owners[32]; // of those that are not root's
static unsigned n_owners;
static char dir[] = "/tmp/test_identity.XXXXXX";

static uid_t *owner_of(ino_t inode, bool make)
{
	static uid_t root;

	for (unsigned i = 0; i < n_owners; i++)
		if (owners[i].inode == inode)
			return &owners[i].owner;
	root = ROOT;
	if (!make)
		return &root;
	assert_true(n_owners < sizeof(owners) / sizeof(owners[0]));
	owners[n_owners].inode = inode;
	return &owners[n_owners++].owner;
}

int fstat(int fd, struct stat *st)
{
	if (syscall(SYS_newfstatat, fd, "", st, AT_EMPTY_PATH) < 0)
		return -1;
	st->st_uid = *owner_of(st->st_ino, false);
	st->st_gid = ROOT;
	return 0;
}

int fchown(int fd, uid_t uid, gid_t gid)
{
	struct stat st;

	assert_int_equal(gid, USER); // its group was root's, too
	assert_int_equal(fstat(fd, &st), 0);
	*owner_of(st.st_ino, true) = uid;
	return 0;
}

int lchown(const char *path, uid_t uid, gid_t gid)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW);
	int rc = fchown(fd, uid, gid);

	close(fd);
	return rc;
}

static const char *in(const char *name)
{
	static char path[4][128];
	static unsigned at;
	char *out = path[at++ % 4];

	snprintf(out, sizeof(path[0]), "%s/%s", dir, name);
	return out;
}

static void own(const char *name, uid_t uid)
{
	int fd = open(in(name), O_RDONLY);
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	*owner_of(st.st_ino, true) = uid;
	close(fd);
}

static void folder(const char *name, uid_t uid, mode_t mode)
{
	assert_int_equal(mkdir(in(name), 0700), 0);
	assert_int_equal(chmod(in(name), mode), 0);
	own(name, uid);
}

static void file(const char *name, uid_t uid)
{
	int fd = open(in(name), O_WRONLY | O_CREAT, 0640);

	assert_true(fd >= 0);
	close(fd);
	own(name, uid);
}

static void expect(const char *name, uid_t uid)
{
	int fd = open(in(name), O_RDONLY);
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	close(fd);
	if (st.st_uid != uid)
		fail_msg("%s is %u's", name, st.st_uid);
}

static void prepare(const char *state, const char *cache, const char *events)
{
	const struct identity identity = {
		.change = true, .uid = USER, .gid = USER, .user = "sluice", .group = "sluice"};
	struct gateway gateway = {0};

	gateway.paths.state = strdup(in(state));
	gateway.paths.cache = strdup(in(cache));
	gateway.paths.events = strdup(in(events));
	gateway.paths.control = strdup(in("run/control.sock"));
	identity_prepare(&identity, &gateway);
	free(gateway.paths.state);
	free(gateway.paths.cache);
	free(gateway.paths.events);
	free(gateway.paths.control);
}

static int begin(void **state)
{
	(void)state;
	n_owners = 0;
	snprintf(dir, sizeof(dir), "/tmp/test_identity.XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int end(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

static void what_is_not_there_is_made(void **state)
{
	(void)state;
	prepare("state", "cache", "log/eve.json");
	expect("state", USER);
	expect("cache", USER);
	expect("log", USER);
	expect("run", USER);
	expect("log/eve.json", USER);
}

static void what_root_has_left_is_given(void **state)
{
	(void)state;
	folder("state", ROOT, 0755);
	file("state/conn-cache.json", ROOT);
	file("state/conn-cache.journal", ROOT);
	folder("cache", ROOT, 0750);
	file("cache/sigdb-1", ROOT);
	folder("log", ROOT, 0755);
	file("log/eve.json", ROOT);
	file("log/eve.json.over1", ROOT);
	prepare("state", "cache", "log/eve.json");
	expect("state", USER);
	expect("state/conn-cache.json", USER);
	expect("state/conn-cache.journal", USER);
	expect("cache", USER);
	expect("cache/sigdb-1", ROOT); // root believes nobody else's
	expect("log", USER);
	expect("log/eve.json", USER);
	expect("log/eve.json.over1", USER);
}

static void a_folder_with_something_else_stays(void **state)
{
	(void)state;
	folder("state", ROOT, 0755);
	file("state/conn-cache.json", ROOT);
	file("state/notes", ROOT);
	folder("cache", ROOT, 0755); // nothing in it: it is for us alone
	folder("log", ROOT, 0755);   // but this one may be for others, too
	prepare("state", "cache", "log/eve.json");
	expect("state", ROOT);
	expect("state/conn-cache.json", ROOT);
	expect("state/notes", ROOT);
	expect("cache", USER);
	expect("log", ROOT);
	expect("log/eve.json", USER);
}

static void in_the_users_own_folder_only_ours_are_given(void **state)
{
	(void)state;
	folder("state", USER, 0755);
	file("state/conn-cache.json", ROOT);
	file("state/conn-cache.journal", OTHER);
	file("state/notes", ROOT);
	file("secret", ROOT);
	assert_int_equal(link(in("secret"), in("state/conn-cache.linked")), 0);
	assert_int_equal(symlink(in("secret"), in("state/conn-cache.led")), 0);
	prepare("state", "cache", "eve.json");
	expect("state/conn-cache.json", USER);
	expect("state/conn-cache.journal", OTHER);
	expect("state/notes", ROOT);
	expect("secret", ROOT);
}

static void what_others_can_write_stays(void **state)
{
	static const struct {
		uid_t owner;
		mode_t mode;
	} folders[] = {{ROOT, 0757}, {ROOT, 0775}, {USER, 0707}, {OTHER, 0755}};
	(void)state;

	for (unsigned i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		char name[16], path[64];

		snprintf(name, sizeof(name), "state%u", i);
		snprintf(path, sizeof(path), "%s/conn-cache.json", name);
		folder(name, folders[i].owner, folders[i].mode);
		file(path, ROOT);
		prepare(name, "cache", "eve.json");
		expect(name, folders[i].owner);
		expect(path, ROOT);
	}
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		CASE(what_is_not_there_is_made),
		CASE(what_root_has_left_is_given),
		CASE(a_folder_with_something_else_stays),
		CASE(in_the_users_own_folder_only_ours_are_given),
		CASE(what_others_can_write_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
