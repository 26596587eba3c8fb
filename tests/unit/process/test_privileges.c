// SPDX-License-Identifier: BSD-3-Clause
// Giving up rights, in a child that goes on without them: ids, groups and capabilities, of every
// thread. As root only.
#include "process/privileges.h"

#include <grp.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define USER "nobody"

static pthread_barrier_t begun, dropped;
static int of_thread;

// 0, or which right is still there.
static int what_is_left(const struct identity *identity)
{
	gid_t groups[64];
	int n = getgroups(64, groups);
	uid_t uid[3];
	gid_t gid[3];

	if (getresuid(&uid[0], &uid[1], &uid[2]) || getresgid(&gid[0], &gid[1], &gid[2]) || n < 0)
		return 10;
	for (unsigned i = 0; i < 3; i++)
		if (uid[i] != identity->uid || gid[i] != identity->gid)
			return 11;
	for (int i = 0; i < n; i++)
		if (groups[i] != identity->gid)
			return 12;
	if (!access("/proc/1/environ", R_OK))
		return 13;
	return setuid(0) == 0 ? 14 : 0;
}

static void *waits(void *identity)
{
	pthread_barrier_wait(&begun);
	pthread_barrier_wait(&dropped);
	of_thread = what_is_left(identity);
	return NULL;
}

static int becomes(const struct identity *identity)
{
	static const gid_t roots[] = {0, 4, 27};
	char err[512] = "";
	pthread_t thread;

	pthread_barrier_init(&begun, NULL, 2);
	pthread_barrier_init(&dropped, NULL, 2);
	if (setgroups(3, roots) ||
		pthread_create(&thread, NULL, waits, (void *)(uintptr_t)identity))
		return 1;
	pthread_barrier_wait(&begun);
	if (privileges_limit(err, sizeof(err)) || privileges_drop(identity, err, sizeof(err))) {
		fprintf(stderr, "%s\n", err);
		return 2;
	}
	pthread_barrier_wait(&dropped);
	pthread_join(thread, NULL);
	return of_thread ? of_thread : what_is_left(identity);
}

static void nothing_of_root_is_kept(void **state)
{
	struct identity identity;
	char err[512];
	int status;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(identity_find(USER, NULL, &identity, err, sizeof(err)), 0);
	assert_true(identity.change);
	pid_t child = fork();

	if (child == 0)
		_exit(becomes(&identity));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

// Whoever stays who it is keeps its groups; capabilities go.
static void who_stays_itself_loses_capabilities(void **state)
{
	const struct identity itself = {.change = false};
	char err[512] = "";
	int status;

	(void)state;
	pid_t child = fork();

	if (child == 0) {
		uid_t uid = getuid();

		if (privileges_drop(&itself, err, sizeof(err)))
			_exit(1);
		// CAP_CHOWN and the like are gone, also root's
		_exit(getuid() != uid || setgroups(0, NULL) == 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_of_root_is_kept),
		cmocka_unit_test(who_stays_itself_loses_capabilities),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
