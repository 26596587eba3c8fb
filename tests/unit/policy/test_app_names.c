// SPDX-License-Identifier: BSD-3-Clause
// app_names: ids that stay, names that outlive a policy, the end of the ids.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include "control/policy/app_names.h"

static uint16_t intern(struct app_names *names, const char *name, const char *title)
{
	const struct app_proto app = {.name = name, .title = title, .category = APP_CATEGORY_OTHER};
	uint16_t id = APP_NONE;

	assert_int_equal(app_names_intern(names, &app, &id), 0);
	return id;
}

static void builtin_ones_need_no_registry(void **state)
{
	struct app_names *names = app_names_new();
	uint16_t http = app_find("http");

	(void)state;
	assert_ptr_equal(app_names_get(NULL, http), app_get(http));
	assert_ptr_equal(app_names_get(names, http), app_get(http));
	assert_int_equal(app_names_find(NULL, "http"), http);
	assert_null(app_names_get(NULL, (uint16_t)(app_count() + 1)));
	assert_null(app_names_get(NULL, APP_NONE));
	assert_null(app_names_get(names, (uint16_t)(app_count() + 1)));
	assert_null(app_names_get(names, UINT16_MAX));
	assert_int_equal(app_names_find(names, "wiki"), APP_NONE);
	app_names_free(names);
	app_names_free(NULL);
}

static void an_id_stays(void **state)
{
	struct app_names *names = app_names_new();
	uint16_t wiki = intern(names, "wiki", "Wiki"), crm = intern(names, "crm", NULL);
	char name[] = "wiki", group[] = "intranet";
	const struct app_proto again = {.name = name, .group = group, .category = APP_CATEGORY_WEB};
	uint16_t id;

	(void)state;
	assert_int_equal(wiki, app_count() + 1);
	assert_int_equal(crm, app_count() + 2);
	assert_string_equal(app_names_get(names, wiki)->title, "Wiki");
	assert_string_equal(app_names_get(names, crm)->title, "crm"); // for want of one
	assert_null(app_names_get(names, crm)->group);
	// defined otherwise by a later policy; nothing of the caller's is kept
	assert_int_equal(app_names_intern(names, &again, &id), 0);
	name[0] = group[0] = '?';
	assert_int_equal(id, wiki);
	assert_string_equal(app_names_get(names, wiki)->name, "wiki");
	assert_string_equal(app_names_get(names, wiki)->group, "intranet");
	assert_int_equal(app_names_get(names, wiki)->category, APP_CATEGORY_WEB);
	assert_null(app_names_get(names, (uint16_t)(crm + 1)));
	app_names_free(names);
}

static void a_builtin_name_is_refused(void **state)
{
	struct app_names *names = app_names_new();
	const struct app_proto app = {.name = "bittorrent"};
	uint16_t id = 77;

	(void)state;
	assert_int_equal(app_names_intern(names, &app, &id), -EEXIST);
	assert_int_equal(id, 77);
	assert_null(app_names_get(names, (uint16_t)(app_count() + 1)));
	app_names_free(names);
}

static void ids_end(void **state)
{
	struct app_names *names = app_names_new();
	const struct app_proto more = {.name = "one-more"}, known = {.name = "own-1"};
	char name[16];
	uint16_t id;

	(void)state;
	for (unsigned i = 1; app_count() + i < APPS_MAX; i++) {
		snprintf(name, sizeof name, "own-%u", i);
		assert_int_equal(intern(names, name, NULL), app_count() + i);
	}
	assert_non_null(app_names_get(names, APPS_MAX - 1));
	assert_null(app_names_get(names, APPS_MAX));
	assert_int_equal(app_names_intern(names, &more, &id), -ENOSPC);
	assert_int_equal(app_names_intern(names, &known, &id), 0);
	assert_int_equal(id, app_count() + 1);
	app_names_free(names);
}

// A policy that fails leaves nothing behind; one that is published makes its names known.
static void a_copy_is_tried_first(void **state)
{
	struct app_names *names = app_names_new(), *copy;
	uint16_t wiki = intern(names, "wiki", NULL), crm;

	(void)state;
	copy = app_names_copy(names);
	crm = intern(copy, "crm", NULL);
	assert_int_equal(app_names_find(names, "crm"), APP_NONE);
	app_names_free(copy); // it failed

	copy = app_names_copy(names);
	assert_int_equal(intern(copy, "other", NULL), crm); // the id was never seen outside
	assert_int_equal(intern(copy, "wiki", "The wiki"), wiki);
	app_names_adopt_take(names, copy);
	assert_string_equal(app_names_get(names, crm)->name, "other");
	assert_string_equal(app_names_get(names, wiki)->title, "The wiki");
	app_names_free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(builtin_ones_need_no_registry),
		cmocka_unit_test(an_id_stays),
		cmocka_unit_test(a_builtin_name_is_refused),
		cmocka_unit_test(ids_end),
		cmocka_unit_test(a_copy_is_tried_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
