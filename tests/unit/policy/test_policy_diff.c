// SPDX-License-Identifier: BSD-3-Clause
// policy-diff: what it says of two policies and of the flows that live, and that it changes
// nothing.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/pipeline/pipe_control.h"
#include "pipeline/flow/table.h"

#define RULE(id, match, action) "{'id':'" id "','match':{" match "},'action':'" action "'}"

// Asks against a file that holds these members of policy.json; to decref.
static json_t *diff_asked(struct gate *gate, const char *members, unsigned examples)
{
	char path[64], arguments[128], text[4096];
	json_t *message;
	FILE *file;
	int n;

	snprintf(path, sizeof path, "%s/other.json", gate->dir);
	n = snprintf(text, sizeof text, "{'schema_version':1%s%s}", *members ? "," : "", members);
	assert_true(n > 0 && n < (int)sizeof text);
	for (char *c = text; *c; c++)
		if (*c == '\'')
			*c = '"';
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	snprintf(arguments, sizeof arguments, "'path':'%s','examples':%u", path, examples);
	message = gate_ok(gate, "policy-diff", arguments);
	unlink(path);
	return message;
}

static void expect_json(const json_t *value, const char *wanted)
{
	char *copy = strdup(wanted), *told;
	json_t *object;

	assert_non_null(copy);
	for (char *c = copy; *c; c++)
		if (*c == '\'')
			*c = '"';
	object = json_loads(copy, JSON_DECODE_ANY, NULL);
	assert_non_null(object);
	if (!json_equal(value, object)) {
		told = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
		fail_msg("wanted %s\ngot    %s", copy, told ? told : "nothing");
	}
	json_decref(object);
	free(copy);
}

static const json_t *in(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	if (!value)
		fail_msg("%s is missing", key);
	return value;
}

static json_int_t number_in(const json_t *object, const char *key)
{
	return json_integer_value(in(object, key));
}

static void another_spelling_is_the_same(void **state)
{
	struct gate *gate = gate_new(
		1, "'address_sets':{'lab':['10.0.0.0/25','10.0.0.128/25']},'rules':[" RULE("a",
			   "'category':['p2p'],'source':['lab']", "reset") "],'default':'pass'");
	json_t *told = diff_asked(gate,
		"'mode':'enforce','rules':[{'match':{'source':['10.0.0.0/24'],'category':['p2p'],"
		"'min_confidence':'dpi'},'action':'reset','id':'a','cache':'tuple'}],"
		"'time_windows':{}",
		5);
	(void)state;

	assert_true(json_is_true(in(told, "same")));
	expect_json(in(told, "keys"), "[]");
	expect_json(in(told, "rules"), "{'added':[],'removed':[],'changed':[],'moved':[]}");
	assert_int_equal(number_in(told, "generation"), 1);
	expect_json(in(told, "reevaluate"), "'all'");
	json_decref(told);
	gate_free(gate);
}

static void keys_and_rules_are_compared_by_meaning(void **state)
{
	struct gate *gate = gate_new(1,
		"'rules':[" RULE("a", "'vlan':[1]", "drop") "," RULE(
			"b", "'vlan':[2]", "drop") "," RULE("c", "'vlan':[3]", "drop") "," RULE("d",
			"'vlan':[4]", "drop") "],"
					      "'time_windows':{'w':{'to':'12:00'}},"
					      "'users':{'alice':['10.0.0.1'],'bob':['10.0.0.2']}");
	json_t *told = diff_asked(gate,
		"'rules':[" RULE("d", "'vlan':[4]", "drop") "," RULE("a", "'vlan':[1,7]",
			"reset") "," RULE("c", "'vlan':[3]", "drop") "," RULE("e", "'vlan':[5]",
			"drop") "],"
				"'conn_cache':{'ttl_s':60},'link':{'arp':'drop'},"
				"'reevaluate':'none','tcp':{'mptcp':'pass'},"
				"'time_windows':{'w':{'to':'13:00'},'v':{}},"
				"'users':{'bob':['10.0.0.3'],'carol':['10.0.0.1']}",
		5);
	const json_t *rules = in(told, "rules");
	(void)state;

	assert_true(json_is_false(in(told, "same")));
	expect_json(in(rules, "moved"), "[{'id':'d','old':3,'new':0}]"); // the fewest
	assert_int_equal(json_array_size(in(rules, "added")), 1);
	expect_json(in(json_array_get(in(rules, "added"), 0), "id"), "'e'");
	expect_json(in(json_array_get(in(rules, "added"), 0), "position"), "3");
	expect_json(in(in(json_array_get(in(rules, "added"), 0), "rule"), "action"), "'drop'");
	assert_int_equal(json_array_size(in(rules, "removed")), 1);
	expect_json(in(json_array_get(in(rules, "removed"), 0), "id"), "'b'");
	expect_json(in(rules, "changed"),
		"[{'id':'a','keys':[{'key':'match.vlan','old':[1],'new':[1,7]},"
		"{'key':'action','old':'drop','new':'reset'}]}]");
	expect_json(in(told, "users"),
		"{'added':1,'removed':1,'changed':1,'names':['alice','bob','carol']}");
	const json_t *keys = in(told, "keys");
	static const char *const wanted[] = {"time_windows.w", "time_windows.v", "conn_cache.ttl_s",
		"link.arp", "tcp.mptcp", "reevaluate"};

	assert_int_equal(json_array_size(keys), 6);
	for (unsigned i = 0; i < 6; i++) {
		bool found = false;

		for (unsigned k = 0; k < 6; k++)
			found |= !strcmp(
				wanted[i], json_string_value(in(json_array_get(keys, k), "key")));
		if (!found)
			fail_msg("%s is not told", wanted[i]);
	}
	expect_json(in(told, "reevaluate"), "'none'");
	json_decref(told);
	gate_free(gate);
}

static void applications_are_compared(void **state)
{
	struct gate *gate = gate_new(1, "'applications':[{'id':'wiki','sni':['wiki.example']}]");
	json_t *told = diff_asked(gate,
		"'applications':[{'id':'wiki','sni':['wiki.example','w.example']},"
		"{'id':'cam','ports':{'tcp':[554]}}]",
		5);
	const json_t *applications = in(told, "applications");
	(void)state;

	assert_int_equal(json_array_size(in(applications, "added")), 1);
	expect_json(in(json_array_get(in(applications, "added"), 0), "id"), "'cam'");
	assert_int_equal(json_array_size(in(applications, "changed")), 1);
	expect_json(in(json_array_get(in(applications, "changed"), 0), "id"), "'wiki'");
	assert_true(json_is_false(in(told, "same")));
	json_decref(told);
	gate_free(gate);
}

static void long_lists_are_cut(void **state)
{
	char members[4096] = "'rules':[{'id':'a','action':'drop','match':{'source':[";
	struct gate *gate =
		gate_new(1, "'rules':[" RULE("a", "'source':['192.0.2.1']", "drop") "]");
	size_t used = strlen(members);
	(void)state;

	for (unsigned i = 0; i < 130; i++) // apart, so that they stay 130
		used += (size_t)snprintf(
			members + used, sizeof members - used, "%s'10.0.%u.1'", i ? "," : "", i);
	snprintf(members + used, sizeof members - used, "]}}]");
	json_t *told = diff_asked(gate, members, 0);
	const json_t *change =
		json_array_get(in(json_array_get(in(in(told, "rules"), "changed"), 0), "keys"), 0);

	assert_int_equal(json_array_size(in(change, "new")), 101);
	expect_json(json_array_get(in(change, "new"), 100), "'... and 30 more'");
	expect_json(in(change, "old"), "['192.0.2.1/32']");
	json_decref(told);
	gate_free(gate);
}

static void torrent(struct gate *gate, uint32_t client, uint16_t sport)
{
	struct gate_tcp tcp = gate_connect(gate, client, sport, 6999);

	gate_send(gate, &tcp, false, gate_handshake, HANDSHAKE_BYTES);
	gate_send(gate, &tcp, true, gate_handshake, HANDSHAKE_BYTES);
}

static void living_flows_are_decided_by_both(void **state)
{
	struct gate *gate = gate_new(2,
		"'rules':[" RULE("old", "'source':['10.0.0.9'],'app':['bittorrent']", "drop") "]");
	(void)state;

	for (uint16_t i = 0; i < 12; i++)
		torrent(gate, 1, (uint16_t)(40000 + i));
	torrent(gate, 3, 41000);
	gate_connect(gate, 5, 42000, 80); // nothing said yet: its application is not known
	torrent(gate, 9, 43000);          // refused by "old"
	struct stats before = pipe_stats(gate->pipe);
	json_t *told = diff_asked(gate,
		"'rules':[" RULE("three", "'source':['10.0.0.3']", "drop") "," RULE(
			"no-bt", "'app':['bittorrent']", "reset") "]",
		3);
	const json_t *flows = in(told, "flows");

	assert_int_equal(number_in(flows, "looked_at"), 15);
	assert_int_equal(number_in(flows, "changed"), 14);
	assert_int_equal(number_in(flows, "undecided"), 1);
	expect_json(in(flows, "transitions"),
		"[{'old':{'action':'pass','rule':'default'},'new':{'action':'reset','rule':'no-bt'}"
		","
		"'flows':12},"
		"{'old':{'action':'pass','rule':'default'},'new':{'action':'drop','rule':'three'},"
		"'flows':1},"
		"{'old':{'action':'drop','rule':'old'},'new':{'action':'reset','rule':'no-bt'},"
		"'flows':1}]");
	// one of each before a second of the many
	const json_t *examples = in(flows, "examples");

	assert_int_equal(json_array_size(examples), 3);
	expect_json(in(json_array_get(examples, 0), "new"), "{'action':'reset','rule':'no-bt'}");
	expect_json(in(json_array_get(examples, 0), "app_proto"), "'bittorrent'");
	expect_json(in(json_array_get(examples, 1), "src_ip"), "'10.0.0.3'");
	expect_json(in(json_array_get(examples, 2), "old"), "{'action':'drop','rule':'old'}");
	assert_true(number_in(json_array_get(examples, 0), "flow_id") > 0);
	json_decref(told);
	// nothing has happened
	struct stats after = pipe_stats(gate->pipe);

	assert_int_equal(after.decisions, before.decisions);
	assert_int_equal(after.decisions_again, before.decisions_again);
	assert_int_equal(after.flows_condemned, before.flows_condemned);
	assert_int_equal(reload_generation(gate->context.reload), 1);
	assert_int_equal(reload_failures(gate->context.reload), 0);
	told = gate_ok(gate, "policy-show", "");
	expect_json(in(json_array_get(in(in(told, "policy"), "rules"), 0), "id"), "'old'");
	json_decref(told);
	gate_free(gate);
}

// What it foretells is what the reload does.
static void reload_does_what_the_diff_says(void **state)
{
	static const char members[] =
		"'rules':[" RULE("no-bt", "'app':['bittorrent']", "reset") "]";
	struct gate *gate = gate_new(2, "");
	struct gate_tcp tcp[6];
	(void)state;

	for (uint16_t i = 0; i < 6; i++) {
		tcp[i] = gate_connect(gate, 1 + i % 2, (uint16_t)(40000 + i), 6999);
		gate_send(gate, &tcp[i], false, gate_handshake, HANDSHAKE_BYTES);
		gate_send(gate, &tcp[i], true, gate_handshake, HANDSHAKE_BYTES);
	}
	json_t *told = diff_asked(gate, members, 0);

	assert_int_equal(number_in(in(told, "flows"), "changed"), 6);
	expect_json(in(in(told, "flows"), "examples"), "[]");
	json_decref(told);
	gate_policy(gate, members);
	for (unsigned i = 0; i < 6; i++)
		gate_send(gate, &tcp[i], false, "more", 4);
	assert_int_equal(pipe_stats(gate->pipe).flows_condemned, 6);
	gate_free(gate);
}

static void windows_and_users_count(void **state)
{
	struct gate *gate = gate_new(1, "");
	(void)state;

	torrent(gate, 1, 40000); // alice's
	torrent(gate, 3, 40001);
	json_t *told = diff_asked(gate,
		"'users':{'alice':['10.0.0.1']},'time_windows':{'always':{},"
		"'other':{'days':['mon']},'more':{'days':['tue','wed','thu','fri','sat','sun']}},"
		"'rules':[" RULE("never", "'time':['other'],'not_time':['more']", "pass") "," RULE(
			"a", "'user':['alice'],'time':['always']", "drop") "]",
		5);
	const json_t *flows = in(told, "flows");

	// on a Monday "never" takes both, on other days "a" takes alice's: as the clock says
	uint64_t day = (gate->pipe->now_ns / NS_PER_S / 86400 + 3) % 7;

	expect_json(in(json_array_get(in(flows, "transitions"), 0), "new"),
		day == 0 ? "{'action':'pass','rule':'never'}" : "{'action':'drop','rule':'a'}");
	assert_int_equal(number_in(flows, "changed"), day == 0 ? 2 : 1);
	json_decref(told);
	gate_free(gate);
}

static void operators_word_stands(void **state)
{
	struct gate *gate = gate_new(1, "");
	struct flow_table *flows = gate->pipe->dp.lcores[0]->flows;
	(void)state;

	torrent(gate, 1, 40000);
	for (uint32_t ref = 0; ref < flow_table_usage(flows).flows_max; ref++)
		if (flow_at(flows, ref)->gen)
			flow_at(flows, ref)->flags |= FLOW_ALLOWED;
	json_t *told =
		diff_asked(gate, "'rules':[" RULE("no-bt", "'app':['bittorrent']", "reset") "]", 5);

	assert_int_equal(number_in(in(told, "flows"), "looked_at"), 1);
	assert_int_equal(number_in(in(told, "flows"), "changed"), 0);
	json_decref(told);
	gate_free(gate);
}

static void what_cannot_be_compared_is_told(void **state)
{
	struct gate *gate = gate_new(1, "");
	json_t *reply;
	(void)state;

	gate_nok(gate, "policy-diff", "'path':'x.json'", "absolute");
	gate_nok(gate, "policy-diff", "'path':7", "path");
	gate_nok(gate, "policy-diff", "'examples':101", "examples");
	gate_nok(gate, "policy-diff", "'file':'/x'", "file");
	reply = gate_ask(gate, "policy-diff", "'path':'/nonexistent'");
	assert_string_equal(json_string_value(json_object_get(reply, "return")), "NOK");
	assert_int_equal(json_array_size(in(in(reply, "message"), "errors")), 1);
	json_decref(reply);
	reply = gate_ok(gate, "policy-diff", ""); // the file in force, as it is now
	assert_true(json_is_true(in(reply, "same")));
	json_decref(reply);
	assert_int_equal(reload_failures(gate->context.reload), 0);
	gate_free(gate);
}

// Of sets, which are written out in the rules, the comments alone.
static void comments_are_compared(void **state)
{
	struct gate *gate =
		gate_new(1, "'address_sets':{'lab':{'comment':'old','addresses':['10.0.0.0/25']}},"
			    "'mac_sets':{'phones':{'comment':'same','addresses':[]}},'rules':["
			    "{'id':'a','match':{'source':['lab']},'action':'drop'}]");
	json_t *told = diff_asked(gate,
		"'address_sets':{'lab':{'comment':'new','addresses':['10.0.0.0/25']}},"
		"'mac_sets':{'phones':{'comment':'same','addresses':['02:00:00:00:00:01']}},"
		"'rules':[{'id':'a','comment':'why','match':{'source':['lab']},'action':'drop'}]",
		0);
	(void)state;

	assert_true(json_is_false(in(told, "same")));
	expect_json(
		in(told, "keys"), "[{'key':'address_sets.lab.comment','old':'old','new':'new'}]");
	expect_json(in(in(told, "rules"), "changed"),
		"[{'id':'a','keys':[{'key':'comment','old':null,'new':'why'}]}]");
	json_decref(told);
	gate_free(gate);
}

// A flow is decided on the MAC address and the mark that are kept of it; a stub keeps no address.
static void what_frames_say_counts(void **state)
{
	static const char *const matches[] = {"'mac':['00:00:00:00:00:00/1']",
		"'mac':['80:00:00:00:00:00/1']", "'dscp':[0]", "'dscp':['EF']"};
	struct gate *gate = gate_new(1, "");
	(void)state;

	torrent(gate, 1, 40000);
	gate_connect(gate, 5, 42000, 80); // has carried no payload
	for (unsigned i = 0; i < 4; i++) {
		char members[200];

		snprintf(members, sizeof members, "'rules':[" RULE("r", "%s", "drop") "]",
			matches[i]);
		json_t *told = diff_asked(gate, members, 0);
		const json_t *flows = in(told, "flows");

		assert_int_equal(number_in(flows, "changed"), i == 0 ? 1 : i == 2 ? 2 : 0);
		assert_int_equal(number_in(flows, "undecided"), i < 2);
		json_decref(told);
	}
	json_t *told = gate_ok(gate, "flow-list", "'sort':'bytes'");
	const json_t *flow = json_array_get(in(told, "flows"), 0);

	assert_int_equal(strlen(json_string_value(in(flow, "mac"))), 17);
	assert_int_equal(number_in(flow, "dscp"), 0);
	assert_null(json_object_get(json_array_get(in(told, "flows"), 1), "mac"));
	json_decref(told);
	gate_free(gate);
}

// What a gateway without a scan engine says of a rule that wants one.
static void a_rule_that_scans_is_warned_of(void **state)
{
	struct gate *gate = gate_new(1, "'default':'pass'");
	FILE *log = tmpfile();
	int error_fd = dup(STDERR_FILENO);
	char text[1024] = "";
	const struct gateway gateway = {.scan.engine = SCAN_ENGINE_NONE};
	(void)state;

	assert_non_null(log);
	reload_set_engine(gate->context.reload, &gateway);
	fflush(stderr);
	dup2(fileno(log), STDERR_FILENO);
	gate_policy(gate, "'rules':[" RULE("files", "'ports':[80]", "scan") "]");
	fflush(stderr);
	dup2(error_fd, STDERR_FILENO);
	close(error_fd);
	rewind(log);
	text[fread(text, 1, sizeof(text) - 1, log)] = '\0';
	fclose(log);
	if (!strstr(text, "rule \"files\": nothing is scanned"))
		fail_msg("%s", text);
	gate_free(gate);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_spelling_is_the_same),
		cmocka_unit_test(keys_and_rules_are_compared_by_meaning),
		cmocka_unit_test(applications_are_compared),
		cmocka_unit_test(long_lists_are_cut),
		cmocka_unit_test(living_flows_are_decided_by_both),
		cmocka_unit_test(reload_does_what_the_diff_says),
		cmocka_unit_test(windows_and_users_count),
		cmocka_unit_test(operators_word_stands),
		cmocka_unit_test(comments_are_compared),
		cmocka_unit_test(what_frames_say_counts),
		cmocka_unit_test(what_cannot_be_compared_is_told),
		cmocka_unit_test(a_rule_that_scans_is_warned_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
