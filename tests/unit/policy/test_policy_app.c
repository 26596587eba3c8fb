// SPDX-License-Identifier: BSD-3-Clause
// "applications" of policy.json: what is read, what is refused and how it is reported, and rules
// that name what the policy defines. The built-in applications are those of
// lib/control/fake_apps.h.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include "lib/control/policy_text.h"

#define APPS(body)                                               \
	"{'schema_version':1,'address_sets':{'dmz':['192.0.2.0/" \
	"24'],'nobody':[]},'applications':[" body "]}"
#define RULED(body, rule)                                                                 \
	"{'schema_version':1,'applications':[" body "],'rules':[{'id':'r','match':{" rule \
	"},'action':'drop'}]}"
#define WIKI "{'id':'wiki','sni':['wiki.example']}"

static uint16_t of_host(const struct policy *policy, const char *name)
{
	return user_apps_of_host(policy->user_apps, (const uint8_t *)name, (uint32_t)strlen(name));
}

static uint16_t of_address(const struct policy *policy, const char *text)
{
	uint8_t address[16] = {[10] = 0xff, [11] = 0xff};

	if (inet_pton(AF_INET, text, address + 12) != 1)
		assert_int_equal(inet_pton(AF_INET6, text, address), 1);
	return app_networks_find(&policy->app_networks, address);
}

static void every_key_is_read(void **state)
{
	struct policy *policy = good(
		APPS("{'id':'crm','title':'Customers','category':'im','group':'business',"
		     "'regex':[{'pattern':'^CRM/"
		     "[0-9]','protocol':'tcp','direction':'to_server','min_length':6},"
		     "{'pattern':'^crm','protocol':'udp','direction':'to_client','caseless':true}],"
		     "'ports':{'tcp':[25,'6000-6063'],'udp':[5000]},"
		     "'sni':['CRM.example.','x_1.example'],'networks':['dmz','2001:db8::/32']},"
		     "{'id':'plain','ports':{'udp':[5000,5001]}}"));
	const struct user_app *crm = &policy->applications[0], *plain = &policy->applications[1];
	const struct signature *signature = policy->user_signatures;

	(void)state;
	assert_int_equal(policy->n_applications, 2);
	assert_int_equal(crm->app, app_count() + 1);
	assert_string_equal(crm->title, "Customers");
	assert_int_equal(crm->category, APP_CATEGORY_IM);
	assert_string_equal(crm->group, "business");
	assert_null(plain->title);
	assert_null(plain->group);
	assert_int_equal(plain->category, APP_CATEGORY_OTHER);

	assert_int_equal(policy->n_user_signatures, 2);
	assert_string_equal(signature[0].id, "crm/1");
	assert_int_equal(signature[0].app, crm->app);
	assert_int_equal(signature[0].l4, IPPROTO_TCP);
	assert_int_equal(signature[0].halves, 1 << HALF_C2S);
	assert_int_equal(signature[0].confidence, CONFIDENCE_DPI);
	assert_int_equal(signature[0].min_length, 6);
	assert_false(signature[0].caseless);
	assert_true(signature[0].dotall);
	assert_string_equal(signature[1].id, "crm/2");
	assert_int_equal(signature[1].l4, IPPROTO_UDP);
	assert_int_equal(signature[1].halves, 1 << HALF_S2C);
	assert_true(signature[1].caseless);
	assert_int_equal(signature[1].rank, 1);

	assert_int_equal(user_apps_of_port(policy->user_apps, IPPROTO_TCP, 6063), crm->app);
	assert_int_equal(user_apps_of_port(policy->user_apps, IPPROTO_UDP, 5000), crm->app);
	assert_int_equal(user_apps_of_port(policy->user_apps, IPPROTO_UDP, 5001), plain->app);
	assert_int_equal(of_host(policy, "a.crm.example"), crm->app);
	assert_int_equal(of_host(policy, "x_1.example"), crm->app);
	assert_int_equal(of_address(policy, "192.0.2.7"), crm->app);
	assert_int_equal(of_address(policy, "2001:db8::1"), crm->app);
	assert_int_equal(of_address(policy, "192.0.3.7"), APP_NONE);
	assert_string_equal(app_names_get(rule_names_apps(names), crm->app)->title, "Customers");
	policy_free(policy);
}

static void what_is_wrong_is_told(void **state)
{
	(void)state;
	BAD(APPS("{'id':'http','sni':['x']}"), "$.applications[0].id", "built in");
	BAD(APPS("{'id':'p2p','sni':['x']}"), "$.applications[0].id", "meaning of its own");
	BAD(APPS("{'id':'unknown','sni':['x']}"), "$.applications[0].id", "meaning of its own");
	BAD(APPS("{'id':'Wiki','sni':['x']}"), "$.applications[0].id");
	BAD(APPS(WIKI ",{'id':'wiki','ports':{'tcp':[1]}}"), "$.applications[1].id",
		"$.applications[0]");
	BAD(APPS("{'id':'a'}"), "$.applications[0]:", "nothing to know it by");
	BAD(APPS("{'sni':['x']}"), "$.applications[0]", "\"id\" is missing");
	BAD(APPS("7"), "$.applications[0]", "an object");
	BAD(APPS("{'id':'a','sni':['x'],'snni':[]}"), "$.applications[0].snni",
		"did you mean \"sni\"?");
	BAD(APPS("{'id':'a','category':'imm','sni':['x']}"), "category", "did you mean \"im\"?");
	BAD(APPS("{'id':'a','title':'','sni':['x']}"), "$.applications[0].title", "empty");
	BAD(APPS("{'id':'a','ports':{}}"), "$.applications[0].ports", "names no port");
	BAD(APPS("{'id':'a','ports':{'sctp':[1]}}"), "$.applications[0].ports.sctp", "unknown key");
	BAD(APPS("{'id':'a','ports':{'tcp':['7-6']}}"), "$.applications[0].ports.tcp[0]",
		"ends before it begins");
	BAD(APPS("{'id':'a','networks':['dmzz']}"), "$.applications[0].networks[0]",
		"did you mean \"dmz\"?");
	BAD(APPS("{'id':'a','networks':['10.1.0.0/8']}"), "$.applications[0].networks[0]",
		"10.0.0.0/8");
	BAD(APPS("{'id':'a','regex':[{'pattern':'(','protocol':'tcp'}]}"),
		"$.applications[0].regex[0].pattern: Missing close parenthesis");
	BAD(APPS("{'id':'a','regex':[{'pattern':'x'}]}"), "$.applications[0].regex[0]",
		"\"protocol\" is missing");
	BAD(APPS("{'id':'a','regex':[{'pattern':'\\u00e9','protocol':'tcp'}]}"),
		"$.applications[0].regex[0].pattern", "printable ASCII");
	BAD(APPS("{'id':'a','regex':[{'pattern':'x','protocol':'tcp','min_length':2049}]}"),
		"$.applications[0].regex[0].min_length", "2048");
}

static void hosts_that_are_none(void **state)
{
	static const struct {
		const char *host, *words;
	} cases[] = {
		{"*.wiki.example", "wildcard"},
		{".wiki.example", "begins with a dot"},
		{"wiki..example", "empty label"},
		{".", "begins with a dot"},
		{"w\\u00edki.example", "xn--"},
		{"https://wiki.example/", "without scheme"},
		{"wiki.example:443", "without scheme"},
		{"192.0.2.1", "networks"},
		{"2001:db8::1", "networks"},
		{"wiki example", "no host name"},
		{"", "empty"},
		{"a1234567890123456789012345678901234567890123456789012345678901234.b",
			"63 characters"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[300];

		snprintf(text, sizeof text, APPS("{'id':'a','sni':['ok.example','%s']}"),
			cases[i].host);
		BAD(text, "$.applications[0].sni[1]", cases[i].words);
	}
}

static void rules_name_them(void **state)
{
	struct policy *policy = good(RULED(WIKI, "'app':['wiki','http']"));

	(void)state;
	assert_true(app_set_has(&policy->rules[0].apps, policy->applications[0].app));
	assert_true(app_set_has(&policy->rules[0].apps, app_find("http")));
	policy_free(policy);
	// the document's order does not matter
	policy = good(
		"{'schema_version':1,'rules':[{'id':'r','match':{'category':['im']},"
		"'action':'drop'}],'applications':[{'id':'chat-x','category':'im','group':'own',"
		"'sni':['x']}]}");
	assert_true(app_set_has(&policy->rules[0].apps, policy->applications[0].app));
	assert_true(app_set_has(&policy->rules[0].apps, app_find("irc")));
	policy_free(policy);
	policy = good(
		RULED("{'id':'a','group':'own','sni':['x']},{'id':'b','group':'chat','sni':['y']}",
			"'group':['own','chat']"));
	assert_true(app_set_has(&policy->rules[0].apps, policy->applications[0].app));
	assert_true(app_set_has(&policy->rules[0].apps, policy->applications[1].app));
	assert_true(app_set_has(&policy->rules[0].apps, app_find("irc")));
	policy_free(policy);

	BAD(RULED(WIKI, "'app':['wikki']"), "$.rules[0].match.app[0]", "did you mean \"wiki\"?");
	BAD(RULED(WIKI ",{'id':'a','group':'intra','sni':['x']}", "'app':['intra']"), "is a group");
	// another policy's application is none of this one's
	BAD(RULED("{'id':'another','sni':['x']}", "'app':['wiki']"), "unknown application");
}

static void a_rule_must_be_able_to_match(void **state)
{
	(void)state;
	BAD(RULED("{'id':'n','networks':['192.0.2.0/24']}", "'app':['n']"),
		"$.rules[0].match:", "can never match", "\"min_confidence\": \"ip\"");
	BAD(RULED("{'id':'n','ports':{'tcp':[1]}}", "'app':['n'],'min_confidence':'ip'"),
		"can never match", "\"min_confidence\": \"port\"");
	policy_free(good(RULED(
		"{'id':'n','networks':['192.0.2.0/24']}", "'app':['n'],'min_confidence':'ip'")));
	policy_free(good(RULED("{'id':'n','networks':['192.0.2.0/24']}", "'app':['n','http']")));
}

// A policy that is refused gives no ids away; one that is read again gives the same.
static void ids_are_given_once(void **state)
{
	struct rule_names *before = names;
	struct policy *policy;

	(void)state;
	names = rule_names_new();
	BAD(APPS("{'id':'first','sni':['*']}"), "wildcard");
	assert_null(app_names_get(rule_names_apps(names), (uint16_t)(app_count() + 1)));
	policy = good(APPS(WIKI));
	assert_int_equal(policy->applications[0].app, app_count() + 1);
	policy_free(policy);
	policy = good(APPS("{'id':'crm','sni':['c']}")); // wiki has gone
	assert_int_equal(policy->applications[0].app, app_count() + 2);
	policy_free(policy);
	policy = good(APPS("{'id':'crm','sni':['c']}," WIKI)); // and comes again
	assert_int_equal(policy->applications[1].app, app_count() + 1);
	policy_free(policy);
	rule_names_free(names);
	names = before;
}

static char *many(const char *head, const char *each, unsigned n, const char *tail)
{
	size_t room = strlen(head) + strlen(tail) + n * (strlen(each) + 16) + 1;
	char *text = malloc(room), *at;

	assert_non_null(text);
	at = stpcpy(text, head);
	for (unsigned i = 0; i < n; i++) {
		if (i)
			*at++ = ',';
		at += snprintf(at, room - (size_t)(at - text), each, i, i);
	}
	stpcpy(at, tail);
	return text;
}

#define FULL "{'schema_version':1,'applications':["

static void there_are_limits(void **state)
{
	struct rule_names *before = names;
	unsigned left = APPS_MAX - 1 - app_count();
	char *text;

	(void)state;
	names = rule_names_new();
	text = many(FULL, "{'id':'a%u','sni':['h%u.example']}", left, "]}");
	policy_free(good(text));
	free(text);
	BAD(APPS("{'id':'one-more','sni':['x']}"), "$.applications[0].id", "no number is left",
		"restart");
	policy_free(good(APPS("{'id':'a0','sni':['x']}"))); // one of those is still possible
	rule_names_free(names);
	names = rule_names_new();

	text = many(FULL "{'id':'a','sni':[", "'h%u.example'", 65536, "]}]}");
	policy_free(good(text));
	free(text);
	text = many(
		FULL "{'id':'b','sni':['x']},{'id':'a','sni':[", "'h%u.example'", 65536, "]}]}");
	BAD(text, "$.applications[1].sni[65535]", "more than 65536 host names in all");
	free(text);
	text = many(FULL "{'id':'a','sni':[", "'h%u.example'", 65537, "]}]}");
	BAD(text, "$.applications[0].sni", "at most 65536");
	free(text);
	text = many(FULL, "{'id':'a%u','networks':['10.%u.0.0/16','192.0.2.1']}", 200, "]}");
	policy_free(good(text));
	free(text);
	rule_names_free(names);
	names = before;
}

static void patterns_have_a_limit(void **state)
{
	char *inner = many("", "{'pattern':'^x%u','protocol':'tcp'}", 256, "");
	char *text;

	(void)state;
	assert_true(asprintf(&text,
			    FULL "{'id':'a','regex':[%s]},{'id':'b','regex':[%s]},"
				 "{'id':'c','regex':[%s]},{'id':'d','regex':[%s]}]}",
			    inner, inner, inner, inner) > 0);
	policy_free(good(text));
	free(text);
	assert_true(asprintf(&text,
			    FULL "{'id':'a','regex':[%s]},{'id':'b','regex':[%s]},"
				 "{'id':'c','regex':[%s]},{'id':'d','regex':[%s]},"
				 "{'id':'e','regex':[{'pattern':'x','protocol':'tcp'}]}]}",
			    inner, inner, inner, inner) > 0);
	BAD(text, "$.applications[4].regex[0]", "more than 1024 patterns in all");
	free(text);
	free(inner);
}

static void the_dump_reads_back(void **state)
{
	struct policy *policy =
		good("{'schema_version':1,'address_sets':{'none':[]},"
		     "'applications':[{'id':'a','title':'A','group':'g','category':'im',"
		     "'regex':[{'pattern':'^\\\\x01','protocol':'udp'}],'ports':{'tcp':['1-2']},"
		     "'sni':['a.example'],'networks':['10.0.0.0/8','none']},"
		     "{'id':'b','networks':['none']}],"
		     "'rules':[{'id':'r','match':{'app':['a']},'action':'drop'}]}");
	char *first = policy_dump(policy, names), *second;
	struct policy *again = NULL;
	struct config_errors errors = {0};

	(void)state;
	assert_non_null(first);
	assert_int_equal(policy_parse(first, "dump", names, &again, &errors), 0);
	second = policy_dump(again, names);
	assert_string_equal(first, second);
	assert_non_null(strstr(first, "\"a.example\""));
	assert_int_equal(of_address(again, "10.1.1.1"), policy->applications[0].app);
	free(first);
	free(second);
	policy_free(policy);
	policy_free(again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key_is_read),
		cmocka_unit_test(what_is_wrong_is_told),
		cmocka_unit_test(hosts_that_are_none),
		cmocka_unit_test(rules_name_them),
		cmocka_unit_test(a_rule_must_be_able_to_match),
		cmocka_unit_test(ids_are_given_once),
		cmocka_unit_test(there_are_limits),
		cmocka_unit_test(patterns_have_a_limit),
		cmocka_unit_test(the_dump_reads_back),
	};

	return cmocka_run_group_tests(tests, names_make, names_end);
}
