// SPDX-License-Identifier: BSD-3-Clause
// policy.json's MAC addresses, DSCP and comments: what is read, refused, decided and written back.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <netinet/in.h>
#include <cmocka.h>
#include "pipeline/policy/decide.h"
#include "lib/control/policy_text.h"

#define DOC(body) "{'schema_version':1," body "}"
#define RULE(id, match, action, more) \
	"{'id':'" id "','match':{" match "},'action':'" action "'" more "}"
#define ONE(match) DOC("'rules':[" RULE("r", match, "drop", "") "]")
#define SETS                                                                 \
	"'mac_sets':{'phones':['02:00:5E:20:00:00/32','02:00:00:00:00:01']," \
	"'none':[],'noted':{'comment':'Second floor','addresses':['02:00:00:00:00:07']}},"
#define SOME(match) DOC(SETS "'rules':[" RULE("r", match, "drop", "") "]")

static const uint8_t phone[6] = {2, 0, 0x5e, 0x20, 0, 0xff}, next_one[6] = {2, 0, 0x5e, 0x21, 0, 0};
static const uint8_t single[6] = {2, 0, 0, 0, 0, 1}, other[6] = {2, 0, 0, 0, 0, 2};

static uint8_t decided(const struct policy *policy, const uint8_t *mac, uint8_t dscp, bool inside)
{
	static const struct flow_ends ends;
	const struct decide_input input = {.ends = &ends,
		.l4_proto = IPPROTO_UDP,
		.app_final = true,
		.ports_known = true,
		.c2s_from_inside = inside,
		.mac = mac,
		.dscp = dscp};

	return decide(policy, &input).action;
}

static void mac_addresses_decide(void **state)
{
	struct policy *policy = good(SOME("'mac':['phones','02:00:00:00:00:01']"));
	(void)state;

	assert_true(policy->asks_mac);
	assert_int_equal(policy->rules[0].mac.n, 2); // the single one once
	assert_int_equal(decided(policy, phone, 0, true), ACTION_DROP);
	assert_int_equal(decided(policy, phone, 63, false), ACTION_DROP);
	assert_int_equal(decided(policy, single, 0, true), ACTION_DROP);
	assert_int_equal(decided(policy, next_one, 0, true), ACTION_PASS);
	assert_int_equal(decided(policy, other, 0, true), ACTION_PASS);
	assert_int_equal(decided(policy, NULL, 0, true), ACTION_PASS); // not known
	policy_free(policy);
	policy = good(SOME("'mac':['none']"));
	assert_int_equal(decided(policy, single, 0, true), ACTION_PASS);
	policy_free(policy);
	policy = good(ONE("'mac':['00:00:00:00:00:00/1']")); // half of all, groups among them
	assert_int_equal(decided(policy, other, 0, true), ACTION_DROP);
	policy_free(policy);
}

static void sealed_set_grows(void **state)
{
	struct mac_set set = {0};
	uint8_t mac[6] = {2};
	char text[18];
	(void)state;

	for (mac[5] = 0; mac[5] < 100; mac[5]++) {
		snprintf(text, sizeof text, "02:00:00:00:00:%02x", mac[5]);
		assert_int_equal(mac_set_add(&set, text), 0);
		assert_int_equal(mac_set_add(&set, text), 0);
		mac_set_seal(&set);
		assert_int_equal(set.n, mac[5] + 1);
		assert_true(mac_set_has(&set, mac));
	}
	assert_false(mac_set_has(&set, mac));
	mac_set_free(&set);
}

static void marks_decide(void **state)
{
	struct policy *policy = good(ONE("'dscp':['EF','af41',8,'CS7']"));
	(void)state;

	assert_false(policy->asks_mac);
	assert_true(policy->asks_frame);
	for (unsigned dscp = 0; dscp < 64; dscp++)
		assert_int_equal(decided(policy, NULL, (uint8_t)dscp, true),
			dscp == 46 || dscp == 34 || dscp == 8 || dscp == 56 ? ACTION_DROP
									    : ACTION_PASS);
	policy_free(policy);
	policy = good(ONE("'dscp':['DF']")); // 0 is a mark as any
	assert_int_equal(decided(policy, NULL, 0, true), ACTION_DROP);
	assert_int_equal(decided(policy, NULL, 1, true), ACTION_PASS);
	policy_free(policy);
	policy = good(ONE("'protocol':'udp'"));
	assert_false(policy->asks_frame);
	policy_free(policy);
}

// An ICMP error of the host is what it sends; one to it is not.
static void sender_is_known_by_its_mac_address(void **state)
{
	struct policy *policy = good(SOME("'mac':['phones']"));
	static const struct flow_ends ends;
	struct decide_input input = {
		.ends = &ends, .l4_proto = IPPROTO_ICMP, .mac = phone, .c2s_from_inside = true};
	(void)state;

	assert_int_equal(decide_sender(policy, &input, true), 0);
	input.mac = other;
	assert_int_equal(decide_sender(policy, &input, true), RULE_DEFAULT);
	input.mac = phone;
	input.c2s_from_inside = false;
	assert_int_equal(decide_sender(policy, &input, true), RULE_DEFAULT);
	policy_free(policy);
}

static void wrong_ones_are_told(void **state)
{
	char text[600], comment[300];
	struct config_errors errors;
	(void)state;

	BAD(ONE("'mac':['02:00:00:00:00']"), "$.rules[0].match.mac[0]", "is not a MAC address");
	BAD(ONE("'mac':['02-00-00-00-00-01']"), "is not a MAC address", "02:00:5e:10:00:01");
	BAD(ONE("'mac':['aa-bb-cc-dd-ee-ff']"), "is not a MAC address");
	BAD(ONE("'mac':['02:00:00:00:00:0g']"), "is not a MAC address");
	BAD(ONE("'mac':['02:00:00:00:00:00/49']"), "is not a MAC address");
	BAD(ONE("'mac':['02:00:00:00:00:00/0']"), "is not a MAC address");
	BAD(ONE("'mac':['02:00:00:00:00:01/24']"), "bits beyond its prefix");
	BAD(ONE("'mac':['ff:ff:ff:ff:ff:ff']"), "is a group address");
	BAD(ONE("'mac':['01:00:5e:00:00:00/24']"), "is a group address");
	BAD(ONE("'mac':['phones']"), "no set of MAC addresses is named", "$.mac_sets");
	BAD(SOME("'mac':['phone']"), "did you mean \"phones\"?");
	BAD(ONE("'mac':[]"), "1 or more");
	BAD(DOC("'mac_sets':{'a':['b']}"), "$.mac_sets.a[0]", "is not a MAC address");
	BAD(DOC("'mac_sets':{'a b':[]}"), "is not a name");
	BAD(ONE("'dscp':['EFF']"), "$.rules[0].match.dscp[0]", "is no DSCP", "CS0 to CS7");
	BAD(ONE("'dscp':['AF44']"), "is no DSCP");
	BAD(ONE("'dscp':[64]"), "$.rules[0].match.dscp[0]", "63");
	BAD(ONE("'dscp':[true]"), "$.rules[0].match.dscp[0]");
	BAD(ONE("'dscp':[]"), "1 or more");
	BAD(DOC("'rules':[" RULE("r", "", "drop", ",'comment':'a\\nb'") "]"), "$.rules[0].comment",
		"control character");
	BAD(DOC("'rules':[" RULE("r", "", "drop", ",'comment':''") "]"), "must not be empty");
	BAD(DOC("'address_sets':{'a':{'comment':'x'}}"), "$.address_sets.a", "addresses");
	BAD(DOC("'address_sets':{'a':{'addresses':[],'note':'x'}}"), "$.address_sets.a.note");
	BAD(DOC("'address_sets':{'a':{'addresses':['x']}}"), "$.address_sets.a.addresses[0]");
	BAD(DOC("'mac_sets':{'a':{'addresses':[],'comment':7}}"), "$.mac_sets.a.comment");
	memset(comment, 'c', sizeof comment);
	comment[256] = 0;
	snprintf(text, sizeof text, DOC("'rules':[" RULE("r", "", "drop", ",'comment':'%s'") "]"),
		comment);
	errors = bad(text);
	EXPECT_LINE(&errors, "$.rules[0].comment", "too long", "255");
	config_errors_free(&errors);
	comment[255] = 0;
	snprintf(text, sizeof text, DOC("'rules':[" RULE("r", "", "drop", ",'comment':'%s'") "]"),
		comment);
	policy_free(good(text));
}

#define HOST  "'host':['10.0.0.1']"
#define MAC   "'mac':['02:00:00:00:00:01']"
#define TUPLE ",'cache':'tuple'"

// The cache knows addresses and ports: what it refuses must not be wider than its rule.
static void cache_stays_out_of_it(void **state)
{
	struct policy *policy = good(ONE(HOST "," MAC));
	(void)state;

	assert_int_equal(policy->rules[0].cache, CACHE_NONE);
	policy_free(policy);
	policy = good(
		DOC("'rules':[" RULE("a", HOST, "drop", "") "," RULE("b", MAC, "pass", "") "," RULE(
			"c", HOST, "drop", "") "," RULE("d", "'app':['http']", "reset", "") "]"));
	assert_int_equal(policy->rules[0].cache, CACHE_TUPLE);
	assert_int_equal(policy->rules[2].cache, CACHE_NONE);
	assert_int_equal(policy->rules[3].cache, CACHE_NONE);
	policy_free(policy);
	policy = good(
		DOC("'rules':[" RULE("b", MAC, "drop", "") "," RULE("c", HOST, "drop", "") "]"));
	assert_int_equal(policy->rules[1].cache, CACHE_TUPLE); // nothing passes before it
	policy_free(policy);
	BAD(DOC("'rules':[" RULE("r", MAC, "drop", TUPLE) "]"), "does not know mac and dscp");
	BAD(DOC("'rules':[" RULE("r", "'dscp':[1]", "drop", ",'cache':'peer'") "]"),
		"does not know mac and dscp");
	BAD(DOC("'rules':[" RULE("b", "'dscp':[1]", "pass", "") "," RULE(
		    "c", HOST, "drop", TUPLE) "]"),
		"rule \"b\" before it passes by mac or dscp");
}

// A rule on frames does not hide those behind it.
static void frame_rule_does_not_take_everything(void **state)
{
	(void)state;
	policy_free(good(DOC("'rules':[" RULE("a", MAC, "pass", "") "," RULE(
		"b", "'dscp':[0]", "pass", "") "," RULE("c", "", "drop", "") "]")));
}

static void dump_reads_back(void **state)
{
	static const char *const texts[] = {
		SOME("'mac':['phones','noted'],'dscp':[0,3,'EF']"),
		SOME("'mac':['none'],'dscp':['VA']"),
		DOC("'address_sets':{'a':{'comment':'Umlaut \u00e4','addresses':['10.0.0.0/8']},"
		    "'b':['10.0.0.1'],'c':{'addresses':[]}},'rules':["
		    "{'id':'r','comment':'Ticket "
		    "4711','match':{'host':['a','b']},'action':'drop'}]"),
		DOC("'address_sets':{'nobody':{'comment':'Mine','addresses':['10.0.0.1']},'e':[]},"
		    "'rules':["
		    "{'id':'r','match':{'host':['e']},'action':'drop'},"
		    "{'id':'s','match':{'source':['nobody']},'action':'drop'}]"),
	};
	(void)state;

	for (unsigned i = 0; i < 4; i++) {
		struct policy *policy = good(texts[i]), *again;
		char *text = policy_dump(policy, names), *second;

		again = good(text);
		second = policy_dump(again, names);
		assert_string_equal(text, second);
		assert_int_equal(again->rules[0].dscps, policy->rules[0].dscps);
		assert_int_equal(again->rules[0].mac.n, policy->rules[0].mac.n);
		assert_int_equal(again->n_notes, 1);
		if (i == 0)
			assert_non_null(strstr(text, "02:00:5e:20:00:00/32"));
		if (i == 0)
			assert_non_null(strstr(text, "\"EF\""));
		if (i == 2) {
			assert_string_equal(again->rules[0].comment, "Ticket 4711");
			assert_string_equal(again->notes[0].comment, "Umlaut \u00e4");
			assert_string_equal(again->notes[0].name, "a");
		}
		if (i == 3) {
			assert_int_equal(again->rules[0].host.n_v4, 0);
			assert_int_equal(again->rules[1].source.n_v4, 1);
			assert_int_equal(again->notes[0].addresses.n_v4, 1);
		}
		free(text);
		free(second);
		policy_free(policy);
		policy_free(again);
	}
}

// A set that is written out in the rules: as many as a set may have.
static void a_large_set_reads_back(void **state)
{
	enum { N = 70000 };
	size_t length = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &length);
	(void)state;

	assert_non_null(out);
	fprintf(out, "{'schema_version':1,'address_sets':{'a':['10.0.0.0'");
	for (unsigned i = 1; i < N; i++)
		fprintf(out, ",'10.%u.%u.%u'", i >> 15, i >> 7 & 255, i << 1 & 255);
	fprintf(out, "]},'mac_sets':{'m':['02:00:00:00:00:00'");
	for (unsigned i = 1; i < N; i++)
		fprintf(out, ",'02:00:00:%02x:%02x:%02x'", i >> 15, i >> 7 & 255, i << 1 & 255);
	fprintf(out, "]},'conn_cache':{'exempt':['a']},'rules':[{'id':'r','match':{'host':['a'],"
		     "'mac':['m']},'action':'drop'}]}");
	fclose(out);
	struct policy *policy = good(text);
	char *dump = policy_dump(policy, names);
	struct policy *again = good(dump);

	assert_int_equal(again->rules[0].host.n_v4, N);
	assert_int_equal(again->rules[0].mac.n, N);
	assert_int_equal(again->conn_cache.exempt.n_v4, N);
	free(dump);
	free(text);
	policy_free(policy);
	policy_free(again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mac_addresses_decide),
		cmocka_unit_test(sealed_set_grows),
		cmocka_unit_test(marks_decide),
		cmocka_unit_test(sender_is_known_by_its_mac_address),
		cmocka_unit_test(wrong_ones_are_told),
		cmocka_unit_test(cache_stays_out_of_it),
		cmocka_unit_test(frame_rule_does_not_take_everything),
		cmocka_unit_test(dump_reads_back),
		cmocka_unit_test(a_large_set_reads_back),
	};

	return cmocka_run_group_tests(tests, names_make, names_end);
}
