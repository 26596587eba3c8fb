// SPDX-License-Identifier: BSD-3-Clause
// The filter of system calls of a scanning child, exported, has the calls of the reviewed list
// (calls.txt) and no others.
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "scan/program/jail.h"

#define CALLS_MAX 200
#define NAME_MAX_ 40

struct list {
	unsigned n;
	char name[CALLS_MAX][NAME_MAX_];
};

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void add(struct list *list, const char *name, size_t len)
{
	assert_in_range(len, 1, NAME_MAX_ - 1);
	for (unsigned i = 0; i < list->n; i++)
		if (strlen(list->name[i]) == len && !strncmp(list->name[i], name, len))
			return;
	assert_in_range(list->n, 0, CALLS_MAX - 1);
	memcpy(list->name[list->n++], name, len);
}

// Of libseccomp's pseudo code: under "# filter for syscall "NAME" (N) [priority: P]" what it does.
static void exported(struct list *allowed, struct list *deadly, char *otherwise, size_t len)
{
	FILE *file = tmpfile();
	char line[400], name[NAME_MAX_] = "";

	assert_non_null(file);
	assert_int_equal(scan_jail_calls_export(fileno(file)), 0);
	rewind(file);
	while (fgets(line, sizeof(line), file)) {
		const char *at = strstr(line, "# filter for syscall \"");

		if (at)
			assert_int_equal(sscanf(at, "# filter for syscall \"%39[^\"]", name), 1);
		else if (strstr(line, "# default action"))
			name[0] = 0;
		if (!(at = strstr(line, "action ")) || !strchr(at, ';'))
			continue;
		if (strstr(line, "action ALLOW;") || strstr(line, "action ERRNO(38);"))
			add(allowed, name, strlen(name));
		else if (name[0] && strstr(line, "action KILL_PROCESS;"))
			add(deadly, name, strlen(name));
		else if (!name[0] && strstr(line, "ERRNO"))
			snprintf(otherwise, len, "%s", at);
	}
	fclose(file);
	qsort(allowed->name, allowed->n, NAME_MAX_, by_name);
}

static void reviewed(struct list *list)
{
	FILE *file = fopen(SCAN_CALLS, "r");
	char line[400];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		const char *bar = strstr(line, " | ");

		if (line[0] == '#')
			continue;
		if (!bar || strlen(bar) < 8)
			fail_msg("no reason: %s", line);
		add(list, line, strcspn(line, " "));
	}
	fclose(file);
	qsort(list->name, list->n, NAME_MAX_, by_name);
}

static void the_filter_is_the_reviewed_list(void **state)
{
	static struct list is, deadly, ought;
	char otherwise[100] = "";

	(void)state;
	exported(&is, &deadly, otherwise, sizeof(otherwise));
	reviewed(&ought);
	for (unsigned i = 0; i < is.n || i < ought.n; i++)
		assert_string_equal(is.name[i], ought.name[i]);
	assert_int_equal(is.n, ought.n);
	assert_non_null(strstr(otherwise, "ERRNO(1)"));
	for (unsigned i = 0; i < deadly.n; i++)
		assert_null(bsearch(deadly.name[i], is.name, is.n, NAME_MAX_, by_name));
	assert_in_range(deadly.n, 15, CALLS_MAX);
}

static void nothing_of_the_network_is_in_it(void **state)
{
	static const char *const never[] = {"socket", "socketpair", "connect", "bind", "listen",
		"accept", "accept4", "sendto", "sendmsg", "recvmsg", "recvfrom", "kill", "tkill",
		"ptrace", "execve", "fork", "vfork", "ioctl", "memfd_create", "link", "symlink",
		"setuid", "mount"};
	static struct list is, deadly;
	char otherwise[100] = "";

	(void)state;
	exported(&is, &deadly, otherwise, sizeof(otherwise));
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		for (unsigned n = 0; n < is.n; n++)
			assert_string_not_equal(is.name[n], never[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_filter_is_the_reviewed_list),
		cmocka_unit_test(nothing_of_the_network_is_in_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
