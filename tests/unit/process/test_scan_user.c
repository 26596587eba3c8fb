// SPDX-License-Identifier: BSD-3-Clause
// Who reads hostile files: the user that was named or must exist, else sluice-scan's own if there
// is one, else nobody else, and what is said then.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "process/scan_user.h"

#define NO_USER "no-such-user-here"

static const char *user;
static char text[SCAN_USER_TEXT];

static int choose(const char *named, const char *own, bool can_change)
{
	return scan_user_choose(named, own, can_change, &user, text, sizeof(text));
}

static void says(const char *words)
{
	if (!strstr(text, words))
		fail_msg("\"%s\" is not in: %s", words, text);
}

static void its_own_user_is_taken_if_it_is_there(void **state)
{
	(void)state;
	assert_int_equal(choose(NULL, "nobody", true), 0);
	assert_string_equal(user, "nobody");
	assert_string_equal(text, "");
}

static void without_it_what_protects_is_told_and_how_to_have_more(void **state)
{
	(void)state;
	assert_int_equal(choose(NULL, NO_USER, true), 0);
	assert_null(user);
	says("read as root");
	says("seccomp");
	says("adduser --system --group --no-create-home --home /nonexistent " NO_USER);
}

static void without_rights_nobody_else_is_chosen(void **state)
{
	(void)state;
	assert_int_equal(choose(NULL, "nobody", false), 0);
	assert_null(user);
	says("only root");
	says("seccomp");
}

static void one_that_is_named_must_exist(void **state)
{
	(void)state;
	assert_int_equal(choose(NO_USER, "nobody", true), -ENOENT);
	assert_null(user);
	says("adduser");
	says(NO_USER);
}

static void one_that_is_named_needs_rights(void **state)
{
	(void)state;
	assert_int_equal(choose("nobody", "nobody", true), 0);
	assert_string_equal(user, "nobody");
	assert_string_equal(text, "");
	if (geteuid() == 0) {
		assert_int_equal(choose("nobody", "nobody", false), -EPERM);
		assert_null(user);
		says("root");
	}
}

static void root_is_taken_with_a_warning(void **state)
{
	(void)state;
	assert_int_equal(choose("root", "nobody", true), 0);
	assert_string_equal(user, "root");
	says("owns nothing else");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_own_user_is_taken_if_it_is_there),
		cmocka_unit_test(without_it_what_protects_is_told_and_how_to_have_more),
		cmocka_unit_test(without_rights_nobody_else_is_chosen),
		cmocka_unit_test(one_that_is_named_must_exist),
		cmocka_unit_test(one_that_is_named_needs_rights),
		cmocka_unit_test(root_is_taken_with_a_warning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
