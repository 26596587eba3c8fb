// SPDX-License-Identifier: BSD-3-Clause
// What is reported flows that two policies decide otherwise, from the events of two passes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <cmocka.h>
#include "replay/against.h"
#include "pipeline/event/event.h"
#include "pipeline/lcore/lcore.h"
#include "pipeline/lcore/port.h"
#include "pipeline/policy/policy.h"

#define OLD_POLICY                                                         \
	"{'schema_version':1,'users':{'alice':['10.0.0.1']},'rules':["     \
	"{'id':'no-p2p','match':{'app':['bittorrent']},'action':'reset'}," \
	"{'id':'mail','match':{'ports':[25]},'action':'pass'}]}"
#define NEW_POLICY \
	"{'schema_version':1,'rules':[{'id':'irc','match':{'app':['irc']},'action':'drop'}]}"

static struct rule_names *names;
static struct dataplane dp;
static struct lcore lcore;
static struct against *against;

static struct policy *good(const char *text)
{
	struct config_errors errors = {0};
	struct policy *policy = NULL;
	char *json = strdup(text);

	for (char *c = json; *c; c++)
		if (*c == '\'')
			*c = '"';
	assert_int_equal(policy_parse(json, "p.json", names, &policy, &errors), 0);
	free(json);
	return policy;
}

static void begin_side(enum against_side side, struct policy *policy)
{
	dp.lcores[0] = &lcore;
	dp.n_lcores = 1;
	atomic_store(&dp.policy, policy);
	against_adjust(policy);
	against_begin(against, side, &dp);
}

static struct event flow_of(uint64_t flow_id, uint16_t port, const char *app)
{
	struct event event = {.type = EVENT_FLOW,
		.flow_id = flow_id,
		.l4_proto = IPPROTO_TCP,
		.in_port = PORT_NONE,
		.app = app ? app_find(app) : APP_NONE,
		.confidence = app ? CONFIDENCE_DPI : CONFIDENCE_NONE,
		.ends = {.port = {(uint16_t)(40000 + flow_id), port}},
		.flow.start_ns = (1700000000 + flow_id) * NS_PER_S};

	for (unsigned half = 0; half < 2; half++)
		memcpy(event.ends.address[half],
			(uint8_t[16]){[10] = 0xff, 0xff, 10, 0, 0, (uint8_t)(1 + half)}, 16);
	return event;
}

static struct event stopped(struct event event, const char *rule, enum action action)
{
	event.type = EVENT_ALERT;
	event.rule_uid = rule_names_find(names, rule);
	event.action = (uint8_t)action;
	return event;
}

static void see(struct event event)
{
	against_see(against, &event);
}

static char *told(bool json, struct against_sum *sum)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(against_report(against, out, json, sum), 0);
	fclose(out);
	return text;
}

static void expect(bool json, const char *text)
{
	struct against_sum sum;
	char *is = told(json, &sum);

	if (strcmp(is, text))
		fail_msg("%s", is);
	free(is);
}

static int begin(void **state)
{
	(void)state;
	names = rule_names_new();
	against = against_new(names, false);
	return names && against ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	against_free(against);
	rule_names_free(names);
	return 0;
}

static void flows_that_differ_are_told(void **state)
{
	struct policy *old = good(OLD_POLICY), *new = good(NEW_POLICY);
	struct event p2p = flow_of(3, 6881, "bittorrent"), mail = flow_of(2, 25, "smtp"),
		     same = flow_of(4, 80, "http"), mute = flow_of(5, 80, NULL),
		     chat = flow_of(6, 6667, "irc"), ping = flow_of(7, 0, NULL);
	(void)state;

	ping.l4_proto = IPPROTO_ICMP;
	begin_side(AGAINST_OLD, old);
	see(stopped(p2p, "no-p2p", ACTION_RESET));
	see(stopped(p2p, "irc", ACTION_DROP));   // the first is what counts
	see(stopped(mail, "mail", ACTION_PASS)); // stops nothing
	struct event later = p2p;

	later.app = app_find("irc");
	see(later);
	see(mail);
	see(same);
	see(mute);
	see(chat);
	see(ping);
	begin_side(AGAINST_NEW, new);
	see(p2p);
	see(mail);
	see(same);
	see(mute);
	see(stopped(chat, "irc", ACTION_DROP));
	see(chat); // and the ping is seen in one pass only
	expect(false,
		"2023-11-14T22:13:22.000000+0000 TCP 10.0.0.1 40002 > 10.0.0.2 25 smtp: pass by "
		"mail -> pass by default\n"
		"2023-11-14T22:13:23.000000+0000 TCP 10.0.0.1 40003 > 10.0.0.2 6881 "
		"bittorrent: reset by no-p2p -> pass by default\n"
		"2023-11-14T22:13:26.000000+0000 TCP 10.0.0.1 40006 > 10.0.0.2 6667 irc: pass by "
		"default -> drop by irc\n"
		"2023-11-14T22:13:27.000000+0000 ICMP 10.0.0.1 > 10.0.0.2 unknown: pass by "
		"default -> pass by default\n");
	policy_free(old);
	policy_free(new);
}

static void what_a_flow_was_taken_for_is_told_of_both(void **state)
{
	struct policy *old = good(OLD_POLICY), *new = good(NEW_POLICY);
	struct event flow = flow_of(9, 6881, "bittorrent"), other = flow_of(9, 6881, "http");
	(void)state;

	other.n_vlan = 2;
	other.vlan[0] = 7;
	other.vlan[1] = 8;
	other.user_uid = rule_names_find(names, "alice");
	begin_side(AGAINST_OLD, old);
	see(stopped(flow, "no-p2p", ACTION_RESET));
	see(other);
	begin_side(AGAINST_NEW, new);
	see(other);
	expect(true,
		"{\"start\":\"2023-11-14T22:13:29.000000+0000\",\"flow_id\":9,\"proto\":\"TCP\","
		"\"src_ip\":\"10.0.0.1\",\"src_port\":40009,\"dest_ip\":\"10.0.0.2\","
		"\"dest_port\":6881,\"vlan\":[7,8],\"user\":\"alice\","
		"\"app_proto\":\"http\",\"app_proto_old\":\"bittorrent\","
		"\"old\":{\"action\":\"reset\",\"rule\":\"no-p2p\"},"
		"\"new\":{\"action\":\"pass\",\"rule\":\"default\"}}\n");
	policy_free(old);
	policy_free(new);
}

static void many_flows_are_told_in_their_order(void **state)
{
	struct policy *old = good(OLD_POLICY), *new = good(NEW_POLICY);
	struct against_sum sum;
	uint64_t last = 0;
	unsigned n = 0;
	(void)state;

	for (unsigned side = 0; side < 2; side++) {
		begin_side(side, side ? new : old);
		for (uint64_t id = 1; id <= 3000; id++) {
			struct event flow = flow_of(id * 1024, 6881, "bittorrent");

			flow.flow.start_ns = (4000 - id) * NS_PER_S;
			if (!side && id % 3 == 0)
				see(stopped(flow, "no-p2p", ACTION_RESET));
			see(flow);
		}
	}
	char *text = told(true, &sum);

	assert_int_equal(sum.flows, 3000);
	assert_int_equal(sum.differ, 1000);
	for (const char *at = text; (at = strstr(at, "\"flow_id\":")); n++) {
		uint64_t id = strtoull(at += 10, NULL, 10);

		assert_true(!last || id < last); // later ones began sooner
		last = id;
	}
	assert_int_equal(n, 1000);
	free(text);
	policy_free(old);
	policy_free(new);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		CASE(flows_that_differ_are_told),
		CASE(what_a_flow_was_taken_for_is_told_of_both),
		CASE(many_flows_are_told_in_their_order),
	};

	setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
