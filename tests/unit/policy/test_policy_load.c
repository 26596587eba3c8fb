// SPDX-License-Identifier: BSD-3-Clause
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "lib/control/policy_text.h"

#define DOC(body)   "{'schema_version':1," body "}"
#define RULE(body)  DOC("'address_sets':{'staff':['10.0.0.0/8']},'rules':[{'id':'r'," body "}]")
#define MATCH(body) RULE("'match':{" body "},'action':'drop'")

static bool has(const struct address_set *set, const char *text)
{
	uint8_t address[16] = {[10] = 0xff, [11] = 0xff};

	if (inet_pton(AF_INET, text, address + 12) != 1)
		assert_int_equal(inet_pton(AF_INET6, text, address), 1);
	return address_set_has(set, address);
}

static void test_defaults(void **state)
{
	struct policy *policy = good("{'schema_version':1}"), expected;

	(void)state;
	policy_default(&expected);
	assert_int_equal(policy->mode, MODE_ENFORCE);
	assert_int_equal(policy->default_action, ACTION_PASS);
	assert_int_equal(policy->malformed, INVALID_OBSERVE);
	assert_int_equal(policy->unsupported, INVALID_AUTO);
	assert_int_equal(policy->reevaluate, REEVALUATE_ALL);
	assert_int_equal(policy->icmp_rejects_per_s, 100);
	assert_int_equal(policy->conn_cache.ttl_s, 300);
	assert_int_equal(policy->conn_cache.max_lifetime_s, 3600);
	assert_false(policy->conn_cache.learn_only);
	assert_int_equal(policy->link[LINK_PROTO_PAUSE], ACTION_DROP);
	assert_int_equal(policy->link[LINK_PROTO_ARP], ACTION_PASS);
	assert_int_equal(policy->link[LINK_PROTO_OTHER], ACTION_PASS);
	assert_false(policy->enforces);
	assert_false(policy->enforces_app);
	assert_int_equal(policy->n_rules, 0);
	assert_memory_equal(policy->link, expected.link, sizeof expected.link);
	assert_int_equal(policy->tcp.conflict, TCP_CONFLICT_REWRITE);
	assert_int_equal(policy->tcp.mptcp, TCP_MPTCP_STRIP);
	assert_int_equal(policy->tcp.midstream, TCP_MIDSTREAM_INSPECT);
	assert_int_equal(policy->tcp.over_limit, TCP_OVER_LIMIT_DROP);
	assert_memory_equal(&policy->tcp, &expected.tcp, sizeof expected.tcp);
	assert_int_equal(expected.conn_cache.ttl_s, 300);
	policy_free(policy);
}

static void test_scalars(void **state)
{
	struct policy *policy = good(
		DOC("'$schema':'x','mode':'monitor','default':'reset',"
		    "'invalid':{'malformed':'drop'},'reevaluate':'none','icmp_rejects_per_s':7,"
		    "'link':{'pause':'pass','lldp':'drop'},"
		    "'tcp':{'conflict':'drop','mptcp':'pass','midstream':'pass',"
		    "'over_limit':'pass'},"
		    "'address_sets':{'staff':['10.0.0.0/8']},"
		    "'conn_cache':{'ttl_s':5,'max_lifetime_s':6,'learn_only':true,"
		    "'exempt':['staff','192.0.2.1','2001:db8::/32']}"));

	(void)state;
	assert_int_equal(policy->mode, MODE_MONITOR);
	assert_int_equal(policy->default_action, ACTION_RESET);
	assert_int_equal(policy->malformed, INVALID_DROP);
	assert_int_equal(policy->unsupported, INVALID_AUTO);
	assert_int_equal(policy->reevaluate, REEVALUATE_NONE);
	assert_int_equal(policy->icmp_rejects_per_s, 7);
	assert_int_equal(policy->link[LINK_PROTO_PAUSE], ACTION_PASS);
	assert_int_equal(policy->link[LINK_PROTO_LLDP], ACTION_DROP);
	assert_int_equal(policy->tcp.conflict, TCP_CONFLICT_DROP);
	assert_int_equal(policy->tcp.mptcp, TCP_MPTCP_PASS);
	assert_int_equal(policy->tcp.midstream, TCP_MIDSTREAM_PASS);
	assert_int_equal(policy->tcp.over_limit, TCP_OVER_LIMIT_PASS);
	assert_true(policy->conn_cache.learn_only);
	assert_true(has(&policy->conn_cache.exempt, "10.9.9.9"));
	assert_true(has(&policy->conn_cache.exempt, "192.0.2.1"));
	assert_true(has(&policy->conn_cache.exempt, "2001:db8::1"));
	assert_false(has(&policy->conn_cache.exempt, "192.0.2.2"));
	assert_false(policy->enforces); // monitor: the default blocks nothing
	policy_free(policy);
}

static void test_match(void **state)
{
	struct policy *policy =
		good(RULE("'match':{'app':['http'],'category':['im'],'group':['file-sharing'],"
			  "'direction':'outbound','source':['staff','192.0.2.0/24'],"
			  "'destination':['2001:db8::/32'],'ports':[80,'6881-6889','443'],"
			  "'vlan':[10,4094],'protocol':'tcp','min_confidence':'partial'},"
			  "'action':'reset','cache':'peer','mode':'monitor'"));
	const struct rule *rule = &policy->rules[0];

	(void)state;
	assert_string_equal(rule->id, "r");
	assert_int_equal(rule->action, ACTION_RESET);
	assert_int_equal(rule->cache, CACHE_PEER);
	assert_int_equal(rule->mode, MODE_MONITOR);
	assert_int_equal(rule->direction, DIRECTION_OUTBOUND);
	assert_int_equal(rule->l4_proto, 6);
	assert_int_equal(rule->min_confidence, CONFIDENCE_PARTIAL);
	assert_true(rule->has_app);
	for (uint16_t app = 1; app <= 4; app++) // two by group, one by category, one by name
		assert_true(app_set_has(&rule->apps, app));
	assert_true(rule->has_source && rule->has_destination);
	assert_true(has(&rule->source, "10.1.2.3"));
	assert_true(has(&rule->source, "192.0.2.255"));
	assert_false(has(&rule->source, "192.0.3.0"));
	assert_true(has(&rule->destination, "2001:db8::1"));
	assert_int_equal(rule->n_ports, 3);
	assert_int_equal(rule->ports[0].first, 80);
	assert_int_equal(rule->ports[0].last, 80);
	assert_int_equal(rule->ports[1].first, 6881);
	assert_int_equal(rule->ports[1].last, 6889);
	assert_int_equal(rule->ports[2].last, 443);
	assert_int_equal(rule->n_vlans, 2);
	assert_int_equal(rule->vlans[1], 4094);
	assert_false(policy->enforces);
	policy_free(policy);
	policy = good(MATCH("'protocol':47"));
	assert_int_equal(policy->rules[0].l4_proto, 47);
	assert_true(policy->enforces);
	policy_free(policy);
}

static uint8_t cache_of(const char *text)
{
	struct policy *policy = good(text);
	uint8_t cache = policy->rules[0].cache;

	policy_free(policy);
	return cache;
}

// docs/policy.md, `cache`.
static void test_cache_default(void **state)
{
	(void)state;
	assert_int_equal(cache_of(MATCH("'app':['http']")), CACHE_TUPLE); // min_confidence dpi
	assert_int_equal(
		cache_of(MATCH("'app':['http'],'min_confidence':'verified'")), CACHE_TUPLE);
	assert_int_equal(cache_of(MATCH("'app':['http'],'min_confidence':'partial'")), CACHE_NONE);
	assert_int_equal(cache_of(MATCH("'app':['http'],'min_confidence':'port',"
					"'source':['staff']")),
		CACHE_NONE);
	assert_int_equal(cache_of(MATCH("'source':['staff']")), CACHE_TUPLE);
	assert_int_equal(cache_of(MATCH("'destination':['192.0.2.1']")), CACHE_TUPLE);
	assert_int_equal(cache_of(MATCH("'ports':[25]")), CACHE_NONE);
	assert_int_equal(cache_of(MATCH("")), CACHE_NONE);
	assert_int_equal(cache_of(RULE("'match':{'app':['http']},'action':'pass'")), CACHE_NONE);
	assert_int_equal(
		cache_of(RULE("'match':{'source':['staff']},'action':'drop','cache':'none'")),
		CACHE_NONE);
}

static void test_monitor_policy_makes_every_rule_monitor(void **state)
{
	struct policy *policy = good(DOC("'mode':'monitor','rules':[{'id':'a','match':{},"
					 "'action':'drop','mode':'enforce'}]"));

	(void)state;
	assert_int_equal(policy->rules[0].mode, MODE_MONITOR);
	assert_false(policy->enforces);
	policy_free(policy);
}

static void test_rule_errors(void **state)
{
	(void)state;
	BAD(RULE("'match':{},'action':'rest'"),
		"p.json: $.rules[0].action: ", "\"rest\" is not one of pass, drop, reset",
		"did you mean \"reset\"?");
	BAD(RULE("'match':{},'action':'shape'"), "$.rules[0].action",
		"not supported by this version");
	BAD(RULE("'match':{},'action':'drop','shape':{}"), "$.rules[0].shape",
		"not supported by this version", "traffic shaping");
	BAD(RULE("'match':{}"), "$.rules[0]", "key \"action\" is missing");
	BAD(RULE("'action':'drop'"), "$.rules[0]", "key \"match\" is missing");
	BAD(DOC("'rules':[{'match':{},'action':'drop'}]"), "key \"id\" is missing");
	BAD(DOC("'rules':[{'id':'a b','match':{},'action':'drop'}]"), "$.rules[0].id",
		"\"a b\" is not a name");
	BAD(DOC("'rules':[{'id':'','match':{},'action':'drop'}]"), "$.rules[0].id", "empty");
	BAD(RULE("'match':{},'action':'pass','cache':'tuple'"), "$.rules[0]",
		"cache is for rules that drop or reset");
	BAD(RULE("'match':{},'action':'drop','cache':'host'"), "$.rules[0].cache",
		"none, tuple, peer");
	BAD(RULE("'match':[],'action':'drop'"), "$.rules[0].match", "expected an object");
	BAD(DOC("'rules':{}"), "$.rules", "expected an array");
	BAD(DOC("'rules':[7]"), "$.rules[0]", "expected an object, got an integer (7)");
	BAD(DOC("'rules':[{'id':'a','match':{'app':['http']},'action':'drop'},"
		"{'id':'a','match':{},'action':'drop'}]"),
		"$.rules[1]", "rule id \"a\" is taken by $.rules[0]");
}

static void test_match_errors(void **state)
{
	(void)state;
	BAD(MATCH("'app':['bitorrent']"), "$.rules[0].match.app[0]",
		"unknown application \"bitorrent\"", "did you mean \"bittorrent\"?", "sluice apps");
	BAD(MATCH("'app':['qwertyuiop']"), "unknown application \"qwertyuiop\"; `sluice apps`");
	BAD(MATCH("'app':['p2p']"), "\"p2p\" is a category: write \"category\": [\"p2p\"]");
	BAD(MATCH("'app':['chat']"), "\"chat\" is a group: write \"group\": [\"chat\"]");
	BAD(MATCH("'category':['p2q']"), "unknown category \"p2q\"; did you mean \"p2p\"?");
	BAD(MATCH("'group':['file-shering']"), "did you mean \"file-sharing\"?");
	BAD(MATCH("'app':'http'"), "$.rules[0].match.app", "expected an array");
	BAD(MATCH("'app':[]"), "$.rules[0].match.app", "1 or more entries");
	BAD(MATCH("'source':['stuff']"), "$.rules[0].match.source[0]",
		"no address set is named \"stuff\"; did you mean \"staff\"?");
	BAD(MATCH("'source':['servers']"), "define it in $.address_sets");
	BAD(MATCH("'source':['10.1.2.3/8']"), "has bits beyond its prefix", "write \"10.0.0.0/8\"");
	BAD(MATCH("'destination':['2001:db8::1/33']"), "write \"2001:db8::/33\"");
	BAD(MATCH("'destination':['10.0.0.300']"), "\"10.0.0.300\" is not an address");
	BAD(MATCH("'destination':[]"), "$.rules[0].match.destination", "1 or more");
	BAD(MATCH("'ports':['9-1']"), "ends before it begins", "write \"1-9\"");
	BAD(MATCH("'ports':['http']"), "\"http\" is no port range");
	BAD(MATCH("'ports':['1-']"), "\"1-\" is no port range");
	BAD(MATCH("'ports':['1-65536']"), "no port range");
	BAD(MATCH("'ports':[65536]"), "0 to 65535");
	BAD(MATCH("'ports':[true]"), "$.rules[0].match.ports[0]", "got true");
	BAD(MATCH("'ports':[80],'protocol':'icmp'"), "this protocol has no ports");
	BAD(MATCH("'vlan':[4095]"), "1 to 4094");
	BAD(MATCH("'vlan':[0]"), "1 to 4094");
	BAD(MATCH("'protocol':'tpc'"), "did you mean \"tcp\"?");
	BAD(MATCH("'protocol':256"), "1 to 255");
	BAD(MATCH("'min_confidence':'dpi'"), "min_confidence needs app, category or group");
	BAD(MATCH("'app':['http'],'min_confidence':'sure'"),
		"port, ip, cache, partial, dpi, verified");
	BAD(MATCH("'direction':'out'"), "any, outbound, inbound");
	BAD(MATCH("'sourxe':['staff']"), "$.rules[0].match.sourxe", "did you mean \"source\"?");
}

static void test_document_errors(void **state)
{
	static const char *const later[] = {"scan", "shape", "nat"};

	(void)state;
	for (size_t i = 0; i < sizeof later / sizeof *later; i++) {
		char text[100];

		snprintf(text, sizeof text, "{'schema_version':1,'%s':[]}", later[i]);
		BAD(text, later[i], "not supported by this version");
	}
	BAD("{}", "$: key \"schema_version\" is missing");
	BAD("{'schema_version':2}", "$.schema_version", "expected 1", "2");
	BAD("{'schema_version':'1'}", "$.schema_version", "a string");
	BAD(DOC("'ruels':[]"), "$.ruels", "did you mean \"rules\"?");
	BAD(DOC("'conn_cache':{'ttl_s':100,'max_lifetime_s':99}"), "$.conn_cache",
		"max_lifetime_s (99) is shorter than ttl_s (100)");
	BAD(DOC("'tcp':{'midstream':'refuse'}"), "$.tcp.midstream", "drop");
	BAD(DOC("'tcp':{'mptcp':true}"), "$.tcp.mptcp", "strip");
	BAD(DOC("'tcp':{'overlap':'drop'}"), "$.tcp.overlap", "unknown key");
	BAD(DOC("'tcp':'strict'"), "$.tcp", "object");
	BAD(DOC("'conn_cache':{'ttl_s':0}"), "$.conn_cache.ttl_s", "1 to 86400");
	BAD(DOC("'conn_cache':{'exempt':['nobody']}"), "$.conn_cache.exempt[0]", "nobody");
	BAD(DOC("'address_sets':{'9x':[]}"), "$.address_sets.9x", "is not a name");
	BAD(DOC("'address_sets':{'a b':[]}"), "$.address_sets[\"a b\"]", "is not a name");
	BAD(DOC("'address_sets':{'a':['b']}"), "$.address_sets.a[0]",
		"a set holds addresses, not names");
	BAD(DOC("'address_sets':[]"), "$.address_sets", "expected an object");
	BAD(DOC("'link':{'arp':'reset'}"), "$.link.arp", "pass, drop");
	BAD(DOC("'rules':[],'rules':[]"), "duplicate object key");
}

static void test_unreachable(void **state)
{
	struct policy *policy;

	(void)state;
	BAD(DOC("'rules':[{'id':'all','match':{},'action':'pass'},"
		"{'id':'late','match':{'app':['http']},'action':'drop'}]"),
		"$.rules[1]", "rule \"late\" can never match",
		"\"all\" ($.rules[0]) has no condition", "move it up");
	// A rule that only watches takes nothing; one that passes takes all, whatever its mode.
	policy = good(DOC("'rules':[{'id':'all','match':{},'action':'drop','mode':'monitor'},"
			  "{'id':'late','match':{'app':['http']},'action':'drop'}]"));
	policy_free(policy);
	BAD(DOC("'rules':[{'id':'all','match':{},'action':'pass','mode':'monitor'},"
		"{'id':'late','match':{'app':['http']},'action':'drop'}]"),
		"can never match");
	policy = good(DOC("'rules':[{'id':'out','match':{'direction':'outbound'},'action':'drop'},"
			  "{'id':'late','match':{'app':['http']},'action':'drop'}]"));
	policy_free(policy);
	// A rule whose condition is wrong is not taken for one without.
	BAD(DOC("'rules':[{'id':'x','match':{'app':['bitorrent']},'action':'drop'},"
		"{'id':'late','match':{'app':['http']},'action':'drop'}]"),
		"unknown application");
	BAD(DOC("'rules':[{'id':'x','match':{'vlan':[0]},'action':'drop'},"
		"{'id':'late','match':{'app':['http']},'action':'drop'}]"),
		"1 to 4094");
}

static void test_all_errors_are_told(void **state)
{
	struct config_errors errors =
		bad("{'mode':'on','rules':[{'id':'a','match':{'app':['x','http','y'],'ports':[-1]},"
		    "'action':'kill'},{'id':'a','match':{'source':['s','1.2.3.4/5']},"
		    "'action':'drop'}],'default':1}");

	(void)state;
	EXPECT_LINE(&errors, "$.mode");
	EXPECT_LINE(&errors, "$.rules[0].match.app[0]");
	EXPECT_LINE(&errors, "$.rules[0].match.app[2]");
	EXPECT_LINE(&errors, "$.rules[0].match.ports[0]");
	EXPECT_LINE(&errors, "$.rules[0].action");
	EXPECT_LINE(&errors, "$.rules[1].match.source[0]");
	EXPECT_LINE(&errors, "$.rules[1].match.source[1]");
	EXPECT_LINE(&errors, "$.rules[1]: rule id");
	EXPECT_LINE(&errors, "$.default", "expected one of the words pass, drop, reset");
	EXPECT_LINE(&errors, "schema_version");
	expect_count(&errors, 10);
	config_errors_free(&errors);
}

static void test_uids_outlive_policies(void **state)
{
	struct policy *first = good(DOC("'rules':[{'id':'a','match':{'vlan':[1]},'action':'drop'},"
					"{'id':'b','match':{},'action':'drop'}]"));
	struct policy *second = good(DOC("'rules':[{'id':'c','match':{'vlan':[1]},'action':'drop'},"
					 "{'id':'b','match':{'vlan':[2]},'action':'drop'},"
					 "{'id':'a','match':{},'action':'pass'}]"));
	uint32_t a = first->rules[0].uid, b = first->rules[1].uid, c = second->rules[0].uid;
	struct config_errors errors;

	(void)state;
	assert_true(a && b && c && a != b && c != a && c != b);
	assert_int_equal(second->rules[1].uid, b);
	assert_int_equal(second->rules[2].uid, a);
	assert_string_equal(rule_names_get(names, b), "b");
	assert_ptr_equal(policy_rule_by_uid(second, a), &second->rules[2]);
	assert_ptr_equal(policy_rule_by_uid(second, c), &second->rules[0]);
	assert_null(policy_rule_by_uid(first, c));
	assert_null(rule_names_get(names, 0));
	assert_null(rule_names_get(names, UINT32_MAX));
	policy_free(first);
	policy_free(second);
	// A refused policy leaves no names.
	errors = bad(DOC("'rules':[{'id':'refused','match':{},'action':'x'}]"));
	config_errors_free(&errors);
	for (uint32_t uid = 1; rule_names_get(names, uid); uid++)
		assert_string_not_equal(rule_names_get(names, uid), "refused");
}

static void test_many_names(void **state)
{
	struct rule_names *many = rule_names_new();
	char id[20];

	(void)state;
	for (uint32_t i = 1; i <= 5000; i++) {
		snprintf(id, sizeof id, "rule-%u", i);
		assert_int_equal(rule_names_intern(many, id), i);
	}
	for (uint32_t i = 1; i <= 5000; i++) {
		snprintf(id, sizeof id, "rule-%u", i);
		assert_int_equal(rule_names_intern(many, id), i);
		assert_string_equal(rule_names_get(many, i), id);
	}
	rule_names_free(many);
}

static void test_dump_reads_back(void **state)
{
	struct policy *policy = good(DOC(
		"'mode':'enforce','address_sets':{'odd':['10.0.0.0/8','11.0.0.0/"
		"9','255.255.255.255',"
		"'0.0.0.0/32','2001:db8::/33','2001:db8:8000::/34','::/128',"
		"'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],'all4':['0.0.0.0/0'],'all6':['::/0']},"
		"'rules':[{'id':'a','match':{'group':['file-sharing'],'source':['odd'],"
		"'destination':['all4','all6'],'ports':['1-2',3],'vlan':[7],'protocol':'udp',"
		"'direction':'inbound','min_confidence':'ip'},'action':'reset','cache':'peer'},"
		"{'id':'b','match':{'protocol':200},'action':'pass','mode':'monitor'}],"
		"'conn_cache':{'ttl_s':9,'exempt':['odd']},'link':{'arp':'drop'},"
		"'tcp':{'midstream':'drop','over_limit':'pass'},"
		"'icmp_rejects_per_s':0,'default':'drop','invalid':{'unsupported':'drop'}"));
	char *text = policy_dump(policy, names), *second;
	struct policy *again;

	(void)state;
	assert_non_null(text);
	assert_non_null(strstr(text, "\"10.0.0.0/8\""));
	assert_non_null(strstr(text, "\"11.0.0.0/9\""));
	assert_non_null(strstr(text, "\"0.0.0.0/0\""));
	assert_non_null(strstr(text, "\"::/0\""));
	assert_non_null(strstr(text, "\"edonkey\""));
	assert_non_null(strstr(text, "\"2001:db8::/33\""));
	again = good(text);
	second = policy_dump(again, names);
	assert_string_equal(text, second);
	assert_int_equal(again->rules[0].source.n_v4, policy->rules[0].source.n_v4);
	assert_memory_equal(again->rules[0].source.v4, policy->rules[0].source.v4,
		policy->rules[0].source.n_v4 * sizeof(struct address_range4));
	assert_int_equal(again->rules[0].source.n_v6, policy->rules[0].source.n_v6);
	assert_memory_equal(again->rules[0].source.v6, policy->rules[0].source.v6,
		policy->rules[0].source.n_v6 * sizeof(struct address_range6));
	assert_int_equal(again->rules[1].l4_proto, 200);
	assert_memory_equal(&again->tcp, &policy->tcp, sizeof policy->tcp);
	assert_int_equal(again->tcp.midstream, TCP_MIDSTREAM_DROP);
	free(text);
	free(second);
	policy_free(policy);
	policy_free(again);
}

// What can never match stays so, and is not read back as "any".
static void test_dump_of_empty_conditions(void **state)
{
	struct policy *policy = good(DOC("'address_sets':{'none':[]},'rules':["
					 "{'id':'a','match':{'source':['none']},'action':'drop'},"
					 "{'id':'b','match':{'category':['mail']},'action':'drop'},"
					 "{'id':'c','match':{'vlan':[1]},'action':'drop'}]"));
	char *text = policy_dump(policy, names);
	struct policy *again = good(text);

	(void)state;
	assert_true(again->rules[0].has_source);
	assert_int_equal(again->rules[0].source.n_v4 + again->rules[0].source.n_v6, 0);
	assert_true(again->rules[1].has_app);
	for (uint16_t app = 0; app < APPS_MAX; app++)
		assert_false(app_set_has(&again->rules[1].apps, app));
	free(text);
	policy_free(policy);
	policy_free(again);
}

static void test_files(void **state)
{
	struct config_errors errors = {0};
	struct policy *policy;

	(void)state;
	assert_int_equal(policy_load("/nonexistent", names, &policy, &errors), -ENOENT);
	assert_int_equal(policy_load("/", names, &policy, &errors), -EISDIR);
	expect_count(&errors, 2);
	EXPECT_LINE(&errors, "/nonexistent: cannot read");
	config_errors_free(&errors);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_scalars),
		cmocka_unit_test(test_match),
		cmocka_unit_test(test_cache_default),
		cmocka_unit_test(test_monitor_policy_makes_every_rule_monitor),
		cmocka_unit_test(test_rule_errors),
		cmocka_unit_test(test_match_errors),
		cmocka_unit_test(test_document_errors),
		cmocka_unit_test(test_unreachable),
		cmocka_unit_test(test_all_errors_are_told),
		cmocka_unit_test(test_uids_outlive_policies),
		cmocka_unit_test(test_many_names),
		cmocka_unit_test(test_dump_reads_back),
		cmocka_unit_test(test_dump_of_empty_conditions),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, names_make, names_end);
}
