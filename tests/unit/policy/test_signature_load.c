// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
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
#include "control/policy/app_tables.h"
#include "lib/control/error_list.h"
#include "control/policy/signature_load.h"

static char dir[] = "/tmp/test_signature_XXXXXX";

// Tests are written with ' for ".
static void put(const char *name, const char *text)
{
	char path[300];
	FILE *file;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	file = fopen(path, "w");
	assert_non_null(file);
	for (; *text; text++)
		fputc(*text == '\'' ? '"' : *text, file);
	fclose(file);
}

static void drop(const char *name)
{
	char path[300];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	assert_int_equal(unlink(path), 0);
}

#define TABLES_OF(list) "{'schema_version':1,'applications':[" list "]}"
#define FILE_OF(list)   "{'schema_version':1,'signatures':[" list "]}"
#define ONE(id, rest) \
	"{'id':'" id "','app':'http','l4':'tcp','pattern':'^GET','why':'RFC 9112'" rest "}"

static struct config_errors bad(const char *text)
{
	struct config_errors errors = {0};
	struct signature *list;
	unsigned n;

	put("a.json", text);
	assert_int_equal(signature_load_dir(dir, &list, &n, NULL, &errors), -EINVAL);
	assert_null(list);
	assert_int_equal(n, 0);
	drop("a.json");
	return errors;
}

#define BAD(text, ...)                                    \
	do {                                              \
		struct config_errors errors_ = bad(text); \
		EXPECT_LINE(&errors_, __VA_ARGS__);       \
		expect_count(&errors_, 1);                \
		config_errors_free(&errors_);             \
	} while (0)

static void test_files_in_name_order(void **state)
{
	struct config_errors errors = {0};
	struct signature *list;
	unsigned n;

	(void)state;
	put("b.json", FILE_OF(ONE("third", "")));
	put("a.json",
		FILE_OF(ONE("first", "") ",{'id':'second','app':'bittorrent','l4':'udp',"
					 "'direction':'c2s','pattern':'d1:\\\\x00','flags':'si',"
					 "'min_length':20,'confidence':'partial','verify':true,"
					 "'midstream':true,'why':'BEP 5'}"));
	put(".hidden.json", "not JSON");
	put("c.json~", "not JSON");
	put("README.md", "not JSON");
	assert_int_equal(signature_load_dir(dir, &list, &n, NULL, &errors), 0);
	expect_count(&errors, 0);
	assert_int_equal(n, 3);
	assert_string_equal(list[0].id, "first");
	assert_int_equal(list[0].app, 4);
	assert_int_equal(list[0].l4, IPPROTO_TCP);
	assert_int_equal(list[0].halves, 1 << HALF_C2S | 1 << HALF_S2C);
	assert_int_equal(list[0].confidence, CONFIDENCE_DPI);
	assert_false(list[0].verify || list[0].midstream || list[0].caseless || list[0].dotall);
	assert_int_equal(list[0].min_length, 0);
	assert_string_equal(list[1].id, "second");
	assert_int_equal(list[1].app, 1);
	assert_int_equal(list[1].l4, IPPROTO_UDP);
	assert_int_equal(list[1].halves, 1 << HALF_C2S);
	assert_string_equal(list[1].pattern, "d1:\\x00");
	assert_true(list[1].caseless && list[1].dotall && list[1].verify && list[1].midstream);
	assert_int_equal(list[1].min_length, 20);
	assert_int_equal(list[1].confidence, CONFIDENCE_PARTIAL);
	assert_string_equal(list[2].id, "third");
	free(list);
	drop("a.json");
	drop("b.json");
	drop(".hidden.json");
	drop("c.json~");
	drop("README.md");
}

static void test_errors(void **state)
{
	(void)state;
	BAD(FILE_OF("{'id':'x','app':'htp','l4':'tcp','pattern':'a','why':'w'}"),
		"a.json: $.signatures[0].app", "did you mean \"http\"?");
	BAD(FILE_OF("{'id':'x','app':'http','l4':'tcp','pattern':'a(b','why':'w'}"),
		"$.signatures[0]", "pattern of \"x\": Missing close parenthesis");
	BAD(FILE_OF("{'id':'x','app':'http','l4':'icmp','pattern':'a','why':'w'}"),
		"$.signatures[0].l4", "tcp, udp");
	BAD(FILE_OF("{'id':'x','app':'http','l4':'tcp','pattern':'a'}"), "\"why\" is missing");
	BAD(FILE_OF("{'id':'x','app':'http','l4':'tcp','pattern':'','why':'w'}"),
		"$.signatures[0].pattern", "empty");
	BAD(FILE_OF("{'id':'x','app':'http','l4':'tcp','pattern':'\xc3\xa9','why':'w'}"),
		"$.signatures[0].pattern", "\\xNN", "0xc3 at offset 0");
	BAD(FILE_OF(ONE("x", ",'flags':'x'")), "$.signatures[0].flags", "'x' is unknown");
	BAD(FILE_OF(ONE("x", ",'flags':'ii'")), "given twice");
	BAD(FILE_OF(ONE("x", ",'min_length':2049")), "0 to 2048");
	BAD(FILE_OF(ONE("x", ",'confidence':'verified'")), "partial, dpi");
	BAD(FILE_OF(ONE("x", ",'verify':true")), "\"http\" has no verifier");
	BAD(FILE_OF(ONE("x", ",'direction':'up'")), "any, c2s, s2c");
	BAD(FILE_OF(ONE("x", ",'patern':'y'")), "did you mean \"pattern\"?");
	BAD(FILE_OF(ONE("X", "")), "$.signatures[0].id", "\"X\" is not a name");
	BAD(FILE_OF(ONE("x", "") "," ONE("x", "")), "$.signatures[1]", "\"x\" is taken");
	BAD(FILE_OF(""), "$.signatures", "1 or more entries");
	BAD("{'schema_version':1}", "add \"signatures\" or \"applications\"");
	BAD("{", "a.json: line 1", "not JSON");
}

static struct address_set one(const char *text)
{
	struct address_set set = {0};

	assert_int_equal(address_set_add(&set, text), 0);
	address_set_seal(&set);
	return set;
}

static uint16_t of_host(const struct policy *policy, const char *name)
{
	return user_apps_of_host(policy->user_apps, (const uint8_t *)name, (uint32_t)strlen(name));
}

static uint16_t of_shared_host(const struct policy *policy, const char *name)
{
	return user_apps_of_shared_host(
		policy->user_apps, (const uint8_t *)name, (uint32_t)strlen(name));
}

static uint16_t of_address(const struct policy *policy, uint8_t last)
{
	const uint8_t address[16] = {[10] = 0xff, 0xff, 192, 0, 2, last};

	return app_networks_find(&policy->app_networks, address);
}

static void test_tables(void **state)
{
	struct config_errors errors = {0};
	struct signature *list;
	struct app_tables *tables;
	struct policy none = {0}, own = {0};
	uint16_t ours = (uint16_t)(app_count() + 1);
	struct address_set set = one("192.0.2.7");
	unsigned n;

	(void)state;
	put("a.json",
		TABLES_OF("{'why':'w','hosts':['Chat.Example.','media.example'],'app':'http'},"
			  "{'app':'bittorrent','networks':['192.0.2.0/24','2001:db8::/32'],"
			  "'why':'w'}"));
	put("b.json", FILE_OF(ONE("x", "")));
	put("c.json", TABLES_OF("{'app':'bittorrent','hosts':['p2p.media.example'],'why':'w'},"
				"{'app':'irc','shared_hosts':['talk.media.example'],'why':'w'}"));
	assert_int_equal(signature_load_dir(dir, &list, &n, &tables, &errors), 0);
	expect_count(&errors, 0);
	assert_int_equal(n, 1);
	assert_int_equal(tables->n_tables, 4);
	assert_int_equal(tables->n_networks, 2);
	assert_int_equal(tables->tables[0].n_hosts, 2);
	assert_int_equal(tables->tables[3].n_hosts, 0);
	assert_int_equal(tables->tables[3].n_shared_hosts, 1);

	assert_int_equal(app_tables_apply(tables, &none), 0);
	assert_int_equal(of_host(&none, "www.chat.example"), app_find("http"));
	assert_int_equal(of_host(&none, "a.media.example"), app_find("http"));
	assert_int_equal(of_host(&none, "p2p.media.example"), app_find("bittorrent"));
	assert_int_equal(of_host(&none, "xchat.example"), APP_NONE);
	assert_int_equal(of_host(&none, "talk.media.example"), APP_NONE); // nor the shorter one's
	assert_int_equal(of_shared_host(&none, "a.talk.media.example"), app_find("irc"));
	assert_int_equal(of_shared_host(&none, "a.media.example"), APP_NONE);
	assert_int_equal(of_address(&none, 7), app_find("bittorrent"));

	// What a policy defines stands before them, also where its name is the shorter one.
	own.user_apps = user_apps_new();
	user_apps_add(own.user_apps, ours);
	assert_int_equal(user_apps_add_host(own.user_apps, ours, "media.example"), 0);
	assert_int_equal(app_networks_add(&own.app_networks, &set, ours), 0);
	assert_int_equal(app_tables_apply(tables, &own), 0);
	assert_int_equal(of_host(&own, "p2p.media.example"), ours);
	assert_int_equal(of_host(&own, "talk.media.example"), ours);
	assert_int_equal(of_shared_host(&own, "talk.media.example"), APP_NONE);
	assert_int_equal(of_host(&own, "chat.example"), app_find("http"));
	assert_int_equal(user_apps_n_hosts(own.user_apps), 1);
	assert_int_equal(of_address(&own, 7), ours);
	assert_int_equal(of_address(&own, 8), app_find("bittorrent"));

	user_apps_free(none.user_apps);
	app_networks_free(&none.app_networks);
	user_apps_free(own.user_apps);
	app_networks_free(&own.app_networks);
	address_set_free(&set);
	app_tables_free(tables);
	free(list);
	drop("a.json");
	drop("b.json");
	drop("c.json");
}

static void test_errors_of_tables(void **state)
{
	(void)state;
	BAD(TABLES_OF("{'app':'htp','hosts':['a.example'],'why':'w'}"),
		"a.json: $.applications[0].app", "did you mean \"http\"?");
	BAD(TABLES_OF("{'app':'http','why':'w'}"), "$.applications[0]", "add hosts or networks");
	BAD(TABLES_OF("{'app':'http','hosts':['a.example']}"), "\"why\" is missing");
	BAD(TABLES_OF("{'app':'http','hosts':['*.a.example'],'why':'w'}"),
		"$.applications[0].hosts[0]", "wildcard");
	BAD(TABLES_OF("{'app':'http','hosts':['192.0.2.1'],'why':'w'}"), "use \"networks\"");
	BAD(TABLES_OF("{'app':'http','hosts':[],'why':'w'}"), "$.applications[0].hosts",
		"1 or more");
	BAD(TABLES_OF("{'app':'http','hosts':['a.b','A.B.'],'why':'w'}"),
		"$.applications[0].hosts[1]", "listed before, for \"http\"");
	BAD(TABLES_OF("{'app':'http','hosts':['a.b'],'why':'w'},"
		      "{'app':'bittorrent','hosts':['a.b'],'why':'w'}"),
		"$.applications[1].hosts[0]", "for \"http\"");
	BAD(TABLES_OF("{'app':'http','hosts':['a.b'],'shared_hosts':['a.b'],'why':'w'}"),
		"$.applications[0].shared_hosts[0]", "for \"http\"");
	BAD(TABLES_OF("{'app':'http','shared_hosts':[],'why':'w'}"),
		"$.applications[0].shared_hosts", "1 or more");
	BAD(TABLES_OF("{'app':'http','networks':['192.0.2.1/24'],'why':'w'}"),
		"$.applications[0].networks[0]", "write \"192.0.2.0/24\"");
	BAD(TABLES_OF("{'app':'http','networks':['staff'],'why':'w'}"), "is not an address");
	BAD(TABLES_OF("{'app':'http','host':['a.b'],'hosts':['a.b'],'why':'w'}"),
		"did you mean \"hosts\"?");
	BAD(TABLES_OF(""), "$.applications", "1 or more");
}

static void good(const char *text)
{
	struct config_errors errors = {0};
	struct app_tables *tables;
	struct signature *list;
	unsigned n;

	put("a.json", text);
	assert_int_equal(signature_load_dir(dir, &list, &n, &tables, &errors), 0);
	assert_int_equal(errors.n, 0);
	assert_int_equal(tables->n_tables, 1);
	app_tables_free(tables);
	free(list);
	drop("a.json");
}

#define ORIGIN_OF(keys) TABLES_OF("{'app':'http','hosts':['a.b']," keys ",'why':'w'}")

static void test_origin_of_tables(void **state)
{
	static const char *const months[] = {"2026-13", "2026-00", "2026-1a", "20a6-11", "1999-11",
		"2026/11", "2126-11", "2026-+1"};
	char text[256];

	(void)state;
	good(ORIGIN_OF("'source':'its page','date':'2026-11'"));
	good(ORIGIN_OF("'source':'its page','date':'2000-01'"));
	good(ORIGIN_OF("'source':'its page','date':'2099-12'"));
	good(TABLES_OF("{'app':'http','hosts':['a.b'],'why':'w'}"));
	BAD(ORIGIN_OF("'source':'its page'"), "a.json: $.applications[0]: has a source without",
		"add \"date\"");
	BAD(ORIGIN_OF("'date':'2026-11'"), "a.json: $.applications[0]: has a date without",
		"add \"source\"");
	BAD(ORIGIN_OF("'source':'','date':'2026-11'"), "$.applications[0].source");
	BAD(ORIGIN_OF("'source':7,'date':'2026-11'"), "$.applications[0].source");
	BAD(ORIGIN_OF("'source':'s','date':202611"), "$.applications[0].date");
	BAD(ORIGIN_OF("'source':'s','date':'2026-1'"), "$.applications[0].date");
	BAD(ORIGIN_OF("'source':'s','date':'2026-11-27'"), "$.applications[0].date");
	for (size_t i = 0; i < sizeof(months) / sizeof(*months); i++) {
		snprintf(text, sizeof(text), ORIGIN_OF("'source':'s','date':'%s'"), months[i]);
		BAD(text, "$.applications[0].date", months[i], "write YYYY-MM");
	}
}

static void test_all_files_are_read(void **state)
{
	struct config_errors errors = {0};
	struct signature *list;
	unsigned n;

	(void)state;
	put("a.json", FILE_OF(ONE("same", "")));
	put("b.json", "nonsense");
	put("c.json", FILE_OF(ONE("same", ",'min_length':-1")));
	assert_int_equal(signature_load_dir(dir, &list, &n, NULL, &errors), -EINVAL);
	EXPECT_LINE(&errors, "b.json", "not JSON");
	EXPECT_LINE(&errors, "c.json: $.signatures[0].min_length");
	EXPECT_LINE(&errors, "c.json: $.signatures[0]: signature id \"same\" is taken");
	expect_count(&errors, 3);
	config_errors_free(&errors);
	drop("a.json");
	drop("b.json");
	drop("c.json");
}

static void test_folder(void **state)
{
	struct config_errors errors = {0};
	struct signature *list;
	unsigned n;

	(void)state;
	assert_int_equal(signature_load_dir(dir, &list, &n, NULL, &errors), -EINVAL);
	EXPECT_LINE(&errors, dir, "no signature file (*.json)");
	assert_int_equal(signature_load_dir("/nonexistent", &list, &n, NULL, &errors), -ENOENT);
	EXPECT_LINE(&errors, "/nonexistent: cannot read", "paths.signatures");
	expect_count(&errors, 2);
	config_errors_free(&errors);
}

static int dir_make(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int dir_end(void **state)
{
	(void)state;
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files_in_name_order),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_errors_of_tables),
		cmocka_unit_test(test_origin_of_tables),
		cmocka_unit_test(test_all_files_are_read),
		cmocka_unit_test(test_folder),
	};

	return cmocka_run_group_tests(tests, dir_make, dir_end);
}
