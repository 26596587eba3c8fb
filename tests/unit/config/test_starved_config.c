// SPDX-License-Identifier: BSD-3-Clause
// What reads and writes configuration, with memory refused at each place where it is asked for: a
// document is taken whole or not at all, whoever asked is told why, and nothing is left behind.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <jansson.h>
#include "config/error.h"
#include "config/gateway.h"
#include "control/policy/app_tables.h"
#include "control/policy/diff.h"
#include "control/policy/load.h"
#include "control/policy/signature_load.h"
#include "lib/rig/starved.h"

struct text {
	char *json;
	char *dump; // of the document, when nothing was refused
	const char *path;
};

static struct text text_of(const char *quoted)
{
	struct text text = {.json = strdup(quoted)};

	assert_non_null(text.json);
	for (char *at = text.json; *at; at++)
		if (*at == '\'')
			*at = '"';
	return text;
}

static void text_free(struct text *text)
{
	free(text->json);
	free(text->dump);
}

// Refused, and told: in the words of who has no memory, if there was any for a line. What follows
// from it (a set that is not there) may be told as well.
static enum starved_outcome told(int rc, const struct config_errors *errors)
{
	assert_true(starved_now());
	assert_true(rc == -ENOMEM || rc == -EINVAL);
	assert_true(errors->n + errors->dropped > 0);
	if (errors->n && !errors->dropped && !strstr(errors->lines[0], "memory"))
		fail_msg("\"%s\"", errors->lines[0]);
	for (size_t i = 0; i < errors->n; i++)
		if (!strstr(errors->lines[i], ": "))
			fail_msg("\"%s\" names no place", errors->lines[i]);
	return STARVED_TOLD;
}

static void fail_differs(const char *is, const char *wanted)
{
	size_t at = 0;

	while (is[at] && is[at] == wanted[at])
		at++;
	fail_msg("from octet %zu: \"%.100s\", wanted: \"%.100s\"", at, is + at, wanted + at);
}

// The document is the whole: its dump, which may be refused, is that of the first time.
static enum starved_outcome dumped(struct text *text, char *dump)
{
	enum starved_outcome outcome = dump ? STARVED_DONE : STARVED_TOLD;

	if (!dump)
		assert_true(starved_now());
	else if (!text->dump)
		text->dump = strdup(dump); // outside of a starved run
	else if (strcmp(dump, text->dump) != 0)
		fail_differs(dump, text->dump);
	free(dump);
	return outcome;
}

static char sets[][64] = {"http.listen=127.0.0.1:9111", "user=sluice"};

static enum starved_outcome gateway_step(void *ctx)
{
	char *words[] = {sets[0], sets[1]};
	struct config_errors errors = {0};
	struct text *text = ctx;
	struct gateway *gateway;
	enum starved_outcome outcome;
	int rc = gateway_parse(text->json, "p.json", words, 2, &gateway, &errors);

	if (rc < 0) {
		assert_null(gateway);
		// an override that cannot be put in is told by its own name
		if (errors.n && !strncmp(errors.lines[0], "--set: ", 7))
			outcome = STARVED_TOLD;
		else
			outcome = told(rc, &errors);
		config_errors_free(&errors);
		return outcome;
	}
	assert_int_equal(errors.n + errors.dropped, 0);
	outcome = dumped(text, gateway_dump(gateway));
	gateway_free(gateway);
	return outcome;
}

static void a_gateway_is_read_whole_or_not(void **state)
{
	struct text text = text_of(
		"{'$schema':'x','schema_version':1,'eal':['--no-huge','-m','512'],"
		"'ports':[{'name':'lan','device':'net_ring0'},{'name':'wan','device':'net_ring1'},"
		"{'name':'a','device':'net_ring2'},{'name':'b','device':'net_ring3'}],"
		"'pairs':[{'inside':'lan','outside':'wan','mode':'bridge'},"
		"{'inside':'a','outside':'b'}],"
		"'lcores':{'control':0,'data':[1,2],'scan':[3]},'memory':{'hugepages':false},"
		"'scan':{'engine':'null','script':[{'half':'s2c','after_bytes':7,'verdict':'clean'}"
		"]},'impairment':{'to_inside':{'delay_ms':3}},"
		"'paths':{'events':'/tmp/e','control':'/tmp/c'},'http':{'token_file':'/tmp/t'},"
		"'hook':{'command':['/bin/true','x']},'drain_s':3}");

	(void)state;
	assert_int_equal(gateway_step(&text), STARVED_DONE);
	assert_true(starved_run(gateway_step, &text) > 100);
	text_free(&text);
}

static enum starved_outcome policy_step(void *ctx)
{
	struct config_errors errors = {0};
	struct text *text = ctx;
	struct rule_names *names = rule_names_new();
	struct policy *policy;
	enum starved_outcome outcome;
	int rc;

	if (!names)
		return STARVED_TOLD;
	rc = policy_parse(text->json, "p.json", names, &policy, &errors);
	if (rc < 0) {
		assert_null(policy);
		outcome = told(rc, &errors);
	} else {
		assert_int_equal(errors.n + errors.dropped, 0);
		outcome = dumped(text, policy_dump(policy, names));
		policy_free(policy);
	}
	config_errors_free(&errors);
	rule_names_free(names);
	return outcome;
}

static void a_policy_is_read_whole_or_not(void **state)
{
	struct text text = text_of(
		"{'schema_version':1,'mode':'enforce','default':'pass',"
		"'users':{'alice':['10.0.0.1','fd00::1'],'bob':['10.0.0.3/32','10.0.9.0/24']},"
		"'address_sets':{'staff':['10.0.0.0/24','10.0.2.0/24','fd00::/64'],"
		"'lab':{'comment':'of a set','addresses':['10.7.0.0/16']}},"
		"'mac_sets':{'phones':['02:00:5e:00:00:00/24','02:00:5f:00:00:01'],"
		"'pads':{'comment':'too','addresses':['02:00:60:00:00:00/24']}},"
		"'time_zone':'Europe/Berlin','time_windows':{"
		"'night':{'days':['mon','fri'],'from':'22:00','to':'06:00'},"
		"'day':{'from':'08:00','to':'18:00'}},"
		"'applications':[{'id':'lab','title':'Lab','group':'own','category':'p2p',"
		"'sni':['lab.example','x.example'],'networks':['192.0.2.0/24','staff','fd07::/16'],"
		"'ports':{'tcp':[9000,'9100-9200'],'udp':[9000]},"
		"'regex':[{'pattern':'^LAB/[0-9]','protocol':'tcp'}]},"
		"{'id':'second','ports':{'udp':[77]}}],"
		"'conn_cache':{'exempt':['staff','192.0.2.1']},"
		"'rules':[{'id':'a','comment':'of a rule','match':{'user':['bob','alice']},"
		"'action':'drop'},"
		"{'id':'b','match':{'app':['lab','bittorrent'],'source':['staff'],'time':['night'],"
		"'not_time':['day'],'ports':[80,'90-99']},'action':'reset'},"
		"{'id':'m','match':{'mac':['phones','02:00:61:00:00:01'],'dscp':[46]},"
		"'action':'drop'},"
		"{'id':'c','match':{'app':['edonkey'],'destination':['10.9.0.0/16','lab']},"
		"'action':'drop','mode':'monitor'},"
		"{'id':'d','match':{'group':['file-sharing'],'vlan':[7,9]},'action':'drop'},"
		"{'id':'e','match':{'category':['p2p'],'host':['lab'],'protocol':'udp'},"
		"'action':'drop'}]}");

	(void)state;
	assert_int_equal(policy_step(&text), STARVED_DONE);
	assert_true(starved_run(policy_step, &text) > 100);
	text_free(&text);
}

static json_t *two_policies[2];

static enum starved_outcome diff_step(void *ctx)
{
	json_t *diff = policy_diff(two_policies[0], two_policies[1]);
	struct text *text = ctx;
	enum starved_outcome outcome;

	if (!diff) {
		assert_true(starved_now());
		return STARVED_TOLD;
	}
	outcome = dumped(text, json_dumps(diff, JSON_SORT_KEYS));
	json_decref(diff);
	return outcome;
}

// A difference that leaves something out would be taken for the whole.
static void a_difference_is_told_whole_or_not(void **state)
{
	struct text text = {0},
		    policies[2] = {
			    text_of("{'mode':'enforce','icmp':{'a':1,'b':2},'users':{'a':1,'b':2,'"
				    "c':3},"
				    "'address_sets':{'s':{'comment':'old','addresses':[1]}},"
				    "'rules':[{'id':'a','x':1},{'id':'b','x':2},{'id':'c','x':3}],"
				    "'applications':[{'id':'one','sni':['h']}]}"),
			    text_of("{'mode':'monitor','icmp':{'a':2},'users':{'a':2,'c':3,'d':4},"
				    "'address_sets':{'s':{'comment':'new','addresses':[1]}},"
				    "'mac_sets':{'m':{'comment':'fresh','addresses':[]}},"
				    "'rules':[{'id':'c','x':3},{'id':'a','x':2},{'id':'d','x':4}],"
				    "'applications':[{'id':'one','sni':['a']},{'id':'two'}]}"),
		    };
	json_t *hosts;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		two_policies[i] = json_loads(policies[i].json, 0, NULL);
		assert_non_null(two_policies[i]);
		text_free(&policies[i]);
	}
	hosts = json_object_get(
		json_array_get(json_object_get(two_policies[0], "applications"), 0), "sni");
	for (unsigned i = 0; i <= POLICY_DIFF_LIST_MAX; i++) // so long that it is cut
		assert_int_equal(json_array_append_new(hosts, json_integer(i)), 0);
	assert_int_equal(diff_step(&text), STARVED_DONE);
	assert_true(starved_run(diff_step, &text) > 50);
	text_free(&text);
	for (unsigned i = 0; i < 2; i++)
		json_decref(two_policies[i]);
}

// Names of rules and applications outlive their policy: what was not loaded has changed none.
static enum starved_outcome names_step(void *ctx)
{
	struct rule_names *names = rule_names_new();
	enum starved_outcome outcome = STARVED_DONE;

	(void)ctx;
	for (unsigned i = 1; names && i <= 300; i++) {
		char id[16];
		uint32_t uid;

		snprintf(id, sizeof(id), "rule-%u", i);
		uid = rule_names_intern(names, id);
		if (uid) {
			assert_int_equal(rule_names_find(names, id), uid);
			assert_string_equal(rule_names_get(names, uid), id);
			continue;
		}
		assert_true(starved_now());
		outcome = STARVED_TOLD;
		assert_int_equal(rule_names_find(names, id), 0);
		assert_int_not_equal(rule_names_intern(names, id), 0); // the next time it is there
	}
	for (unsigned i = 1; names && i <= 300; i++) {
		char id[16];

		snprintf(id, sizeof(id), "rule-%u", i);
		assert_string_equal(rule_names_get(names, rule_names_find(names, id)), id);
	}
	rule_names_free(names);
	return names ? outcome : STARVED_TOLD;
}

static void a_name_is_kept_or_not(void **state)
{
	(void)state;
	assert_true(starved_run(names_step, NULL) > 300);
}

static char folder[] = "/tmp/test_starved_XXXXXX", path[64];

static void put_file(const char *quoted)
{
	FILE *file;

	snprintf(path, sizeof(path), "%s/p.json", folder);
	file = fopen(path, "w");
	assert_non_null(file);
	for (; *quoted; quoted++)
		fputc(*quoted == '\'' ? '"' : *quoted, file);
	fclose(file);
}

static enum starved_outcome signatures_step(void *ctx)
{
	struct config_errors errors = {0};
	struct app_tables *tables = NULL;
	struct signature *list;
	unsigned n;
	int rc = signature_load_dir(folder, &list, &n, &tables, &errors);

	(void)ctx;
	if (rc < 0) {
		told(rc, &errors);
		assert_null(list);
		assert_int_equal(n, 0);
	} else {
		assert_int_equal(errors.n + errors.dropped, 0);
		assert_int_equal(n, 2);
		assert_string_equal(list[0].id, "one");
		assert_string_equal(list[1].pattern, "^POST");
		assert_non_null(tables);
	}
	free(list);
	app_tables_free(tables);
	config_errors_free(&errors);
	return rc < 0 ? STARVED_TOLD : STARVED_DONE;
}

static void signatures_are_read_whole_or_not(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(folder));
	put_file("{'schema_version':1,'signatures':["
		 "{'id':'one','app':'http','l4':'tcp','pattern':'^GET','why':'RFC 9112'},"
		 "{'id':'two','app':'http','l4':'tcp','pattern':'^POST','why':'RFC 9112'}],"
		 "'applications':[{'app':'irc','hosts':['irc.example','x.example'],"
		 "'networks':['192.0.2.0/24','198.51.100.0/24'],'why':'its own'}]}");
	assert_true(starved_run(signatures_step, NULL) > 10);
	unlink(path);
	assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gateway_is_read_whole_or_not),
		cmocka_unit_test(a_policy_is_read_whole_or_not),
		cmocka_unit_test(a_difference_is_told_whole_or_not),
		cmocka_unit_test(a_name_is_kept_or_not),
		cmocka_unit_test(signatures_are_read_whole_or_not),
	};

	starved_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
