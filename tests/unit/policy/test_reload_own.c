// SPDX-License-Identifier: BSD-3-Clause
// User-defined applications over reloads, with the real loaders, classifier and threads: ids stay,
// what has not changed is not compiled again, names outlive policies.
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "control/policy/reload.h"

struct world {
	struct dataplane *dp;
	struct rule_names *names;
	struct reload *reload;
	char dir[40];
	char policy[80];
	char signatures[80];
	char file[100];
};

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	for (; *text; text++)
		fputc(*text == '\'' ? '"' : *text, file);
	assert_int_equal(fclose(file), 0);
}

static struct world world_new(void)
{
	struct world w = {.dir = "/tmp/test_own.XXXXXX"};

	assert_non_null(mkdtemp(w.dir));
	snprintf(w.policy, sizeof w.policy, "%s/policy.json", w.dir);
	snprintf(w.signatures, sizeof w.signatures, "%s/signatures", w.dir);
	snprintf(w.file, sizeof w.file, "%s/a.json", w.signatures);
	assert_int_equal(mkdir(w.signatures, 0700), 0);
	write_file(w.file, "{'schema_version':1,'signatures':[{'id':'irc-x','app':'irc','l4':'tcp',"
			   "'pattern':'^IRCX','why':'test'}]}");
	w.dp = calloc(1, sizeof *w.dp);
	assert_non_null(w.dp);
	w.dp->n_lcores = 2;
	w.names = rule_names_new();
	assert_int_equal(reload_new(w.dp, w.names, w.signatures, NULL, &w.reload), 0);
	return w;
}

static void world_free(struct world *w)
{
	reload_free(w->reload);
	rule_names_free(w->names);
	free(w->dp);
	unlink(w->file);
	rmdir(w->signatures);
	unlink(w->policy);
	rmdir(w->dir);
}

#define WIKI         "{'id':'wiki','sni':['wiki.example'],'regex':[{'pattern':'^WIKI','protocol':'tcp'}]}"
#define CRM          "{'id':'crm','regex':[{'pattern':'^CRM','protocol':'tcp'}]}"
#define POLICY(apps) "{'schema_version':1,'applications':[" apps "]}"

static const struct policy *load(struct world *w, const char *text)
{
	struct config_errors errors = {0};

	write_file(w->policy, text);
	if (reload_load(w->reload, w->policy, 1, &errors) < 0)
		fail_msg("%s", errors.n ? errors.lines[0] : "?");
	reload_step(w->reload, 1);
	return reload_policy(w->reload);
}

static void ids_stay(void **state)
{
	struct world w = world_new();
	struct config_errors errors = {0};
	const struct policy *policy;
	uint16_t wiki, crm;

	(void)state;
	policy = load(&w, POLICY(WIKI "," CRM));
	wiki = policy->applications[0].app;
	crm = policy->applications[1].app;
	assert_int_equal(wiki, app_count() + 1);
	assert_int_equal(crm, app_count() + 2);
	// wiki goes; its flows live on, and events go on to name them
	policy = load(&w, POLICY(CRM));
	assert_int_equal(policy->applications[0].app, crm);
	assert_string_equal(app_names_get(reload_apps(w.reload), wiki)->name, "wiki");
	// another takes no id that was given
	policy = load(&w, POLICY("{'id':'new','ports':{'tcp':[1]}}," CRM));
	assert_int_equal(policy->applications[0].app, app_count() + 3);
	assert_int_equal(user_apps_place(policy->user_apps, crm), 1);
	// wiki comes again
	policy = load(&w, POLICY(CRM "," WIKI));
	assert_int_equal(policy->applications[1].app, wiki);
	// a policy that is refused, or only checked, gives no ids away
	write_file(w.policy, POLICY("{'id':'fourth','sni':['x']},{'id':'fifth','sni':['*']}"));
	assert_int_equal(reload_load(w.reload, w.policy, 1, &errors), -EINVAL);
	config_errors_free(&errors);
	write_file(w.policy, POLICY("{'id':'fourth','sni':['x']}"));
	assert_int_equal(reload_check(w.reload, w.policy, &errors), 0);
	assert_non_null(app_names_get(reload_apps(w.reload), (uint16_t)(app_count() + 3)));
	assert_null(app_names_get(reload_apps(w.reload), (uint16_t)(app_count() + 4)));
	world_free(&w);
}

static uint16_t of_host(const struct policy *policy, const char *name)
{
	return user_apps_of_host(policy->user_apps, (const uint8_t *)name, (uint32_t)strlen(name));
}

static uint16_t of_address(const struct policy *policy, uint8_t last)
{
	const uint8_t address[16] = {[10] = 0xff, 0xff, 192, 0, 2, last};

	return app_networks_find(&policy->app_networks, address);
}

// The signature files' hosts and networks are those of the last reload; nothing is compiled for
// them, and a table that is wrong changes nothing.
static void tables_are_those_of_the_last_reload(void **state)
{
	struct world w = world_new();
	struct config_errors errors = {0};
	const struct policy *policy;
	const struct sigdb *db;
	char hosts[120];
	uint16_t wiki;

	(void)state;
	snprintf(hosts, sizeof hosts, "%s/hosts.json", w.signatures);
	write_file(hosts,
		"{'schema_version':1,'applications':[{'app':'irc','hosts':['chat.example',"
		"'wiki.example'],'networks':['192.0.2.0/25'],'why':'w'}]}");
	policy = load(&w, POLICY(WIKI));
	wiki = policy->applications[0].app;
	db = reload_sigdb(w.reload);
	assert_int_equal(of_host(policy, "a.chat.example"), app_find("irc"));
	assert_int_equal(of_host(policy, "a.wiki.example"), wiki); // the policy's own wins
	assert_int_equal(of_host(policy, "new.example"), APP_NONE);
	assert_int_equal(of_address(policy, 1), app_find("irc"));
	assert_int_equal(of_address(policy, 200), APP_NONE);

	write_file(hosts,
		"{'schema_version':1,'applications':[{'app':'xmpp','hosts':['new.example',"
		"'wiki.example'],'networks':['192.0.2.128/25'],'why':'w'}]}");
	policy = load(&w, POLICY(WIKI));
	assert_ptr_equal(reload_sigdb(w.reload), db);
	assert_int_equal(of_host(policy, "a.chat.example"), APP_NONE);
	assert_int_equal(of_host(policy, "new.example"), app_find("xmpp"));
	assert_int_equal(of_address(policy, 1), APP_NONE);
	assert_int_equal(of_address(policy, 200), app_find("xmpp"));
	policy = load(&w, "{'schema_version':1}"); // without applications of its own
	assert_int_equal(of_host(policy, "wiki.example"), app_find("xmpp"));

	write_file(hosts, "{'schema_version':1,'applications':[{'app':'xmpp','hosts':['x y'],"
			  "'why':'w'}]}");
	assert_int_equal(reload_load(w.reload, w.policy, 1, &errors), -EINVAL);
	assert_non_null(strstr(errors.lines[0], "hosts.json: $.applications[0].hosts[0]"));
	config_errors_free(&errors);
	assert_ptr_equal(reload_policy(w.reload), policy);
	assert_int_equal(of_host(policy, "new.example"), app_find("xmpp"));
	unlink(hosts);
	world_free(&w);
}

static void signatures_keep_their_numbers(void **state)
{
	struct world w = world_new();
	const struct sigdb *db;

	(void)state;
	load(&w, POLICY(WIKI "," CRM));
	db = reload_sigdb(w.reload);
	assert_int_equal(sigdb_count(db), 1);
	assert_int_equal(sigdb_user_count(db), 2);
	assert_string_equal(sigdb_get(db, 0)->id, "irc-x");
	assert_string_equal(sigdb_get(db, SIGNATURE_USER_FIRST)->id, "wiki/1");
	assert_string_equal(sigdb_get(db, SIGNATURE_USER_FIRST + 1)->id, "crm/1");
	load(&w, POLICY(CRM "," WIKI)); // the other way round
	db = reload_sigdb(w.reload);
	assert_string_equal(sigdb_get(db, SIGNATURE_USER_FIRST)->id, "wiki/1");
	assert_int_equal(sigdb_get(db, SIGNATURE_USER_FIRST)->rank, 1);
	assert_string_equal(sigdb_get(db, SIGNATURE_USER_FIRST + 1)->id, "crm/1");
	load(&w, "{'schema_version':1}");
	db = reload_sigdb(w.reload);
	assert_int_equal(sigdb_user_count(db), 0);
	assert_null(sigdb_get(db, SIGNATURE_USER_FIRST));
	world_free(&w);
}

static void what_has_not_changed_is_shared(void **state)
{
	struct world w = world_new();
	const struct sigdb *first, *second;

	(void)state;
	load(&w, POLICY(CRM));
	first = reload_sigdb(w.reload);
	load(&w, POLICY(CRM ",{'id':'x','sni':['x.example']}"));
	assert_ptr_equal(reload_sigdb(w.reload), first); // patterns are the same
	load(&w, POLICY(CRM "," WIKI));
	second = reload_sigdb(w.reload);
	assert_ptr_not_equal(second, first);
	write_file(w.file, "{'schema_version':1,'signatures':[{'id':'irc-y','app':'irc','l4':'tcp',"
			   "'pattern':'^IRCY','why':'test'}]}");
	load(&w, POLICY(CRM "," WIKI));
	assert_ptr_not_equal(reload_sigdb(w.reload), second);
	assert_int_equal(sigdb_count(reload_sigdb(w.reload)), 1);
	assert_true(signature_is_gone(sigdb_get(reload_sigdb(w.reload), 0))); // irc-x
	assert_string_equal(sigdb_get(reload_sigdb(w.reload), 1)->id, "irc-y");
	assert_string_equal(
		sigdb_get(reload_sigdb(w.reload), SIGNATURE_USER_FIRST + 1)->id, "wiki/1");
	world_free(&w);
}

static unsigned answered;

static void done(void *ctx, bool good, const struct config_errors *errors)
{
	(void)errors;
	answered++;
	*(bool *)ctx = good;
}

static bool ask(struct world *w, const char *text)
{
	struct pollfd pollfd = {.fd = reload_fd(w->reload), .events = POLLIN};
	struct reload_request *request;
	unsigned before = answered;
	bool good = false;

	write_file(w->policy, text);
	assert_int_equal(reload_ask(w->reload, w->policy, false, 1, done, &good, &request), 0);
	while (answered == before) {
		assert_int_equal(poll(&pollfd, 1, 20000), 1);
		reload_turn(w->reload, 1);
	}
	reload_step(w->reload, 1);
	return good;
}

// Through the thread it is the same.
static void a_thread_builds_the_same(void **state)
{
	struct world w = world_new();
	uint16_t wiki;

	(void)state;
	assert_int_equal(reload_start(w.reload), 0);
	assert_true(ask(&w, POLICY(WIKI)));
	wiki = reload_policy(w.reload)->applications[0].app;
	assert_false(ask(&w, POLICY("{'id':'bad','sni':['*']}")));
	assert_true(ask(&w, POLICY(CRM)));
	for (unsigned i = 0; i < 20; i++) {
		assert_true(ask(&w, i & 1 ? POLICY(CRM) : POLICY(CRM "," WIKI)));
		assert_int_equal(reload_policy(w.reload)->applications[0].app, wiki + 1);
	}
	assert_int_equal(reload_generation(w.reload), 22);
	assert_int_equal(reload_freed(w.reload), 21);
	assert_string_equal(app_names_get(reload_apps(w.reload), wiki)->name, "wiki");
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_stay),
		cmocka_unit_test(signatures_keep_their_numbers),
		cmocka_unit_test(tables_are_those_of_the_last_reload),
		cmocka_unit_test(what_has_not_changed_is_shared),
		cmocka_unit_test(a_thread_builds_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
