// SPDX-License-Identifier: BSD-3-Clause
// decide(): first match, undecidable rules, monitor mode, default.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <cmocka.h>
#include "pipeline/policy/decide.h"

#define APP_A 1
#define APP_B 2

static struct rule rules[8];
static struct policy policy;
static struct flow_ends ends;
static struct decide_input input;

static int setup(void **state)
{
	(void)state;
	memset(rules, 0, sizeof(rules));
	policy = (struct policy){.rules = rules, .default_action = ACTION_PASS};
	memset(&ends, 0, sizeof(ends));
	static const uint8_t inside[16] = {[10] = 0xff, [11] = 0xff, 10, 0, 0, 7};
	static const uint8_t outside[16] = {[10] = 0xff, [11] = 0xff, 192, 0, 2, 9};

	memcpy(ends.address[HALF_C2S], inside, 16);
	memcpy(ends.address[HALF_S2C], outside, 16);
	ends.port[HALF_C2S] = 40000;
	ends.port[HALF_S2C] = 6881;
	input = (struct decide_input){
		.ends = &ends,
		.l4_proto = IPPROTO_TCP,
		.ports_known = true,
		.c2s_from_inside = true,
	};
	return 0;
}

static struct rule *rule_add(enum action action)
{
	struct rule *rule = &rules[policy.n_rules++];

	rule->action = (uint8_t)action;
	return rule;
}

static struct rule *rule_for_app(uint16_t app, enum action action, enum confidence least)
{
	struct rule *rule = rule_add(action);

	rule->has_app = true;
	rule->min_confidence = (uint8_t)least;
	app_set_add(&rule->apps, app);
	return rule;
}

static void default_decides_when_nothing_matches(void **state)
{
	(void)state;
	policy.default_action = ACTION_DROP;
	struct decision decision = decide(&policy, &input);

	assert_int_equal(decision.action, ACTION_DROP);
	assert_int_equal(decision.rule, RULE_DEFAULT);
	assert_true(decision.final);
}

static void first_match_wins(void **state)
{
	(void)state;
	rule_for_app(APP_A, ACTION_PASS, CONFIDENCE_DPI);
	rule_for_app(APP_A, ACTION_RESET, CONFIDENCE_DPI);
	input.app = APP_A;
	input.confidence = CONFIDENCE_VERIFIED;
	assert_int_equal(decide(&policy, &input).action, ACTION_PASS);
	assert_int_equal(decide(&policy, &input).rule, 0);
}

static void undecided_application_passes_for_now(void **state)
{
	(void)state;
	rule_for_app(APP_A, ACTION_RESET, CONFIDENCE_DPI);
	struct decision decision = decide(&policy, &input);

	assert_int_equal(decision.action, ACTION_PASS);
	assert_false(decision.final);
	input.app_final = true;
	assert_true(decide(&policy, &input).final);
}

static void later_address_rule_waits_for_an_earlier_application_rule(void **state)
{
	(void)state;
	rule_for_app(APP_A, ACTION_PASS, CONFIDENCE_DPI);
	rule_add(ACTION_DROP); // everything else
	assert_int_equal(decide(&policy, &input).action, ACTION_PASS);
	assert_false(decide(&policy, &input).final);
	input.app_final = true;
	assert_int_equal(decide(&policy, &input).action, ACTION_DROP);
	input.app = APP_A;
	input.confidence = CONFIDENCE_DPI;
	assert_int_equal(decide(&policy, &input).action, ACTION_PASS);
}

static void earlier_address_rule_is_final_at_once(void **state)
{
	(void)state;
	struct rule *rule = rule_add(ACTION_RESET);

	rule->has_source = true;
	assert_int_equal(address_set_add(&rule->source, "10.0.0.0/24"), 0);
	address_set_seal(&rule->source);
	rule_for_app(APP_A, ACTION_PASS, CONFIDENCE_DPI);
	struct decision decision = decide(&policy, &input);

	assert_int_equal(decision.action, ACTION_RESET);
	assert_true(decision.final);
	ends.address[HALF_C2S][14] = 1; // 10.0.1.7
	assert_int_equal(decide(&policy, &input).action, ACTION_PASS);
	address_set_free(&rule->source);
}

// Whoever began the flow, of either family.
static void host_is_either_end(void **state)
{
	struct rule *rule = rule_add(ACTION_DROP);
	(void)state;

	rule->has_host = true;
	assert_int_equal(address_set_add(&rule->host, "10.0.0.7"), 0);
	assert_int_equal(address_set_add(&rule->host, "2001:db8::7"), 0);
	address_set_seal(&rule->host);
	assert_int_equal(decide(&policy, &input).action, ACTION_DROP);
	for (unsigned i = 0; i < 16; i++) { // begun by the other end
		uint8_t byte = ends.address[HALF_C2S][i];

		ends.address[HALF_C2S][i] = ends.address[HALF_S2C][i];
		ends.address[HALF_S2C][i] = byte;
	}
	input.c2s_from_inside = false;
	assert_int_equal(decide(&policy, &input).action, ACTION_DROP);
	ends.address[HALF_S2C][15] = 8;
	assert_int_equal(decide(&policy, &input).action, ACTION_PASS);
	static const uint8_t v6[16] = {0x20, 0x01, 0x0d, 0xb8, [15] = 7};

	memcpy(ends.address[HALF_S2C], v6, 16);
	assert_int_equal(decide(&policy, &input).action, ACTION_DROP);
	ends.address[HALF_S2C][15] = 8;
	assert_int_equal(decide(&policy, &input).action, ACTION_PASS);
	address_set_free(&rule->host);
}

static void confidence_below_the_rule_does_not_match(void **state)
{
	(void)state;
	rule_for_app(APP_A, ACTION_RESET, CONFIDENCE_DPI);
	input.app = APP_A;
	input.confidence = CONFIDENCE_PARTIAL;
	assert_int_equal(decide(&policy, &input).action, ACTION_PASS);
	assert_false(decide(&policy, &input).final);
	input.app_final = true;
	assert_true(decide(&policy, &input).final);
	input.confidence = CONFIDENCE_DPI;
	assert_int_equal(decide(&policy, &input).action, ACTION_RESET);
}

static void monitor_rule_is_noted_and_passed_over(void **state)
{
	(void)state;
	rule_for_app(APP_A, ACTION_RESET, CONFIDENCE_DPI)->mode = MODE_MONITOR;
	rule_for_app(APP_A, ACTION_DROP, CONFIDENCE_DPI);
	input.app = APP_A;
	input.confidence = CONFIDENCE_DPI;
	struct decision decision = decide(&policy, &input);

	assert_int_equal(decision.action, ACTION_DROP);
	assert_int_equal(decision.rule, 1);
	assert_true(decision.would_block);
	assert_int_equal(decision.monitored, 0);
	assert_int_equal(decision.monitored_action, ACTION_RESET);
}

// Several rules in monitor mode: the first is the one that would block, as without the mode.
static void first_monitor_rule_is_the_one_noted(void **state)
{
	(void)state;
	rule_for_app(APP_A, ACTION_RESET, CONFIDENCE_DPI)->mode = MODE_MONITOR;
	rule_for_app(APP_A, ACTION_DROP, CONFIDENCE_DPI)->mode = MODE_MONITOR;
	input.app = APP_A;
	input.confidence = CONFIDENCE_DPI;
	struct decision decision = decide(&policy, &input);

	assert_int_equal(decision.action, ACTION_PASS);
	assert_true(decision.would_block);
	assert_int_equal(decision.monitored, 0);
	assert_int_equal(decision.monitored_action, ACTION_RESET);
}

static void monitored_default_passes_and_says_so(void **state)
{
	(void)state;
	policy.mode = MODE_MONITOR;
	policy.default_action = ACTION_DROP;
	struct decision decision = decide(&policy, &input);

	assert_int_equal(decision.action, ACTION_PASS);
	assert_true(decision.would_block);
	assert_int_equal(decision.monitored, RULE_DEFAULT);
}

static void every_static_condition_counts(void **state)
{
	(void)state;
	struct rule *rule = rule_add(ACTION_DROP);

	rule->l4_proto = IPPROTO_UDP;
	assert_int_equal(decide(&policy, &input).action, ACTION_PASS);
	rule->l4_proto = IPPROTO_TCP;
	assert_int_equal(decide(&policy, &input).action, ACTION_DROP);

	rule->direction = DIRECTION_INBOUND;
	assert_int_equal(decide(&policy, &input).action, ACTION_PASS);
	rule->direction = DIRECTION_OUTBOUND;
	assert_int_equal(decide(&policy, &input).action, ACTION_DROP);

	rule->n_ports = 1;
	rule->ports[0] = (struct port_range){6882, 6889};
	assert_int_equal(decide(&policy, &input).action, ACTION_PASS);
	rule->ports[0].first = 6881;
	assert_int_equal(decide(&policy, &input).action, ACTION_DROP);
	input.ports_known = false; // a later fragment
	assert_int_equal(decide(&policy, &input).action, ACTION_PASS);
	input.ports_known = true;

	rule->n_vlans = 1;
	rule->vlans[0] = 20;
	assert_int_equal(decide(&policy, &input).action, ACTION_PASS);
	input.n_vlan = 2;
	input.vlan[1] = 20; // the inner tag
	assert_int_equal(decide(&policy, &input).action, ACTION_DROP);
}

// The inside end's, whoever began: 10.0.0.7 is alice, 192.0.2.9 is not a user at all.
static void user_is_that_of_the_inside_end(void **state)
{
	struct user_clash clash;
	uint32_t alice = 0;
	(void)state;

	policy.users.users = calloc(1, sizeof(struct user));
	assert_non_null(policy.users.users);
	policy.users.n_users = 1;
	assert_int_equal(user_map_add(&policy.users, 0, 0, "10.0.0.7"), 0);
	assert_int_equal(user_map_seal(&policy.users, &clash), 0);
	struct rule *rule = rule_add(ACTION_DROP);

	rule->has_user = true;
	rule->users = &alice;
	rule->n_users = 1;
	policy.asks_user = true;
	assert_int_equal(decide(&policy, &input).action, ACTION_DROP);
	input.c2s_from_inside = false; // 10.0.0.7 is then an outside host of that address
	assert_int_equal(decide(&policy, &input).action, ACTION_PASS);
	struct flow_ends turned = {.address = {}, .port = {}};

	memcpy(turned.address[HALF_C2S], ends.address[HALF_S2C], 16);
	memcpy(turned.address[HALF_S2C], ends.address[HALF_C2S], 16);
	input.ends = &turned; // somebody outside calls alice
	assert_int_equal(decide(&policy, &input).action, ACTION_DROP);
	user_map_free(&policy.users);
}

static void time_is_a_condition(void **state)
{
	struct rule *rule = rule_add(ACTION_DROP);
	(void)state;

	rule->has_time = true;
	rule->windows = 6;
	rule->not_windows = 8;
	static const struct {
		uint64_t open;
		enum action action;
	} cases[] = {{0, ACTION_PASS}, {1, ACTION_PASS}, {2, ACTION_DROP}, {5, ACTION_DROP},
		{10, ACTION_PASS}, {8, ACTION_PASS}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		input.windows = cases[i].open;
		assert_int_equal(decide(&policy, &input).action, cases[i].action);
	}
	rule->has_time = false;
	rule->windows = 0;
	input.windows = 0;
	assert_int_equal(decide(&policy, &input).action, ACTION_DROP);
}

// Known by its address, while payload has proven no more than what carries it: the first rule on
// either decides. Told by payload, only rules on the application match.
static void a_guess_leaves_rules_on_its_carrier(void **state)
{
	static const struct {
		enum confidence app, carrier;
		enum action action;
	} cases[] = {
		{CONFIDENCE_IP, CONFIDENCE_VERIFIED, ACTION_DROP},
		{CONFIDENCE_CACHE, CONFIDENCE_DPI, ACTION_DROP},
		{CONFIDENCE_PARTIAL, CONFIDENCE_DPI, ACTION_DROP},
		{CONFIDENCE_DPI, CONFIDENCE_VERIFIED, ACTION_RESET},
		{CONFIDENCE_VERIFIED, CONFIDENCE_VERIFIED, ACTION_RESET},
		{CONFIDENCE_IP, CONFIDENCE_NONE, ACTION_RESET},
	};

	(void)state;
	struct rule *of_carrier = rule_for_app(APP_B, ACTION_DROP, CONFIDENCE_DPI);

	rule_for_app(APP_A, ACTION_RESET, CONFIDENCE_IP);
	input.app = APP_A;
	input.app_final = true;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		input.confidence = (uint8_t)cases[i].app;
		input.carrier = cases[i].carrier ? APP_B : APP_NONE;
		input.carrier_confidence = (uint8_t)cases[i].carrier;
		assert_int_equal(decide(&policy, &input).action, cases[i].action);
		assert_int_equal(rule_matches(of_carrier, &input, USER_NONE),
			cases[i].action == ACTION_DROP ? RULE_MATCHES : RULE_MATCHES_NOT);
	}
	input.confidence = CONFIDENCE_IP;
	input.carrier = APP_B;
	input.carrier_confidence = CONFIDENCE_DPI;
	of_carrier->min_confidence = CONFIDENCE_VERIFIED; // which the carrier is not
	assert_int_equal(decide(&policy, &input).action, ACTION_RESET);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(default_decides_when_nothing_matches, setup),
		cmocka_unit_test_setup(first_match_wins, setup),
		cmocka_unit_test_setup(undecided_application_passes_for_now, setup),
		cmocka_unit_test_setup(
			later_address_rule_waits_for_an_earlier_application_rule, setup),
		cmocka_unit_test_setup(earlier_address_rule_is_final_at_once, setup),
		cmocka_unit_test_setup(host_is_either_end, setup),
		cmocka_unit_test_setup(confidence_below_the_rule_does_not_match, setup),
		cmocka_unit_test_setup(monitor_rule_is_noted_and_passed_over, setup),
		cmocka_unit_test_setup(first_monitor_rule_is_the_one_noted, setup),
		cmocka_unit_test_setup(monitored_default_passes_and_says_so, setup),
		cmocka_unit_test_setup(every_static_condition_counts, setup),
		cmocka_unit_test_setup(user_is_that_of_the_inside_end, setup),
		cmocka_unit_test_setup(time_is_a_condition, setup),
		cmocka_unit_test_setup(a_guess_leaves_rules_on_its_carrier, setup),
	};

	return cmocka_run_group_tests_name("decide", tests, NULL, NULL);
}
