// SPDX-License-Identifier: BSD-3-Clause
// What the live page says needs attention: each state of the gateway alone, just on and just below
// its bound, with its level and its words; and the worst first.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "control/policy/reload.h"
#include "control/stats/alarms.h"
#include "control/stats/rates.h"
#include "lib/control/control_world.h"
#include "lib/control/fake_control.h"
#include "pipeline/limits.h"
#include "pipeline/policy/content_rules.h"
#include "pipeline/vocab/tick.h"

static struct world world;
static struct rates rates;
static struct port_counters counters;
static struct lcore_limits limits;
static uint64_t clock_ns = 1700000000 * NS_PER_S;

static uint64_t still_ns(void)
{
	return clock_ns;
}

static void port_counters(void *ctx, struct port_counters *out)
{
	*out = *(const struct port_counters *)ctx;
}

// A gateway that is well: its policy blocks, its lcores beat, its ports have a link.
static void well(void)
{
	struct dataplane *dp = world.context.dp;
	struct policy *policy = (struct policy *)(uintptr_t)reload_policy(world.context.reload);

	memset(&rates, 0, sizeof(rates));
	rates.context = &world.context;
	world.context.now_ns = still_ns;
	world.context.state = NULL;
	policy->mode = MODE_ENFORCE;
	policy->enforces = true;
	counters = (struct port_counters){.link_up = true};
	limits.flows = limits.embryos = 100;
	dp->limits = &limits;
	for (unsigned i = 0; i < dp->n_ports; i++) {
		dp->ports[i].counters = i ? NULL : port_counters;
		dp->ports[i].ctx = &counters;
	}
	for (unsigned i = 0; i < dp->n_lcores; i++) {
		memset(&dp->lcores[i]->stats, 0, sizeof(dp->lcores[i]->stats));
		dp->lcores[i]->stats.heartbeat_ns = clock_ns;
	}
}

static int begin(void **state)
{
	(void)state;
	world_new(&world);
	well();
	return 0;
}

static int end(void **state)
{
	(void)state;
	world_free(&world);
	return 0;
}

// "error: words of the first; note: words of the second"; "" for none.
static void expect(const char *what, const char *wanted)
{
	json_t *list = alarms_json(&rates), *one;
	char copy[512], *rest = copy, *word;
	size_t i = 0;

	assert_non_null(list);
	snprintf(copy, sizeof(copy), "%s", wanted);
	while ((word = strsep(&rest, ";")) && *word) {
		const char *level, *text;

		one = json_array_get(list, i++);
		level = json_string_value(json_object_get(one, "level"));
		text = json_string_value(json_object_get(one, "text"));
		word += strspn(word, " ");
		if (!level || strncmp(word, level, strlen(level)) != 0 ||
			!strstr(text, strchr(word, ':') + 2))
			fail_msg("%s: \"%s: %s\" instead of \"%s\"", what, level, text, word);
	}
	if (json_array_size(list) != i)
		fail_msg("%s: %zu are listed, not %zu: %s", what, json_array_size(list), i,
			json_dumps(list, 0));
	json_decref(list);
	well();
}

#define LCORE(i) (&world.context.dp->lcores[i]->stats)

static void who_is_well_is_left_alone(void **state)
{
	(void)state;
	expect("well", "");
}

static void lcores_and_tables(void **state)
{
	(void)state;
	LCORE(1)->heartbeat_ns -= 2 * NS_PER_S;
	expect("a heart that is slow", "");
	LCORE(1)->heartbeat_ns -= 2 * NS_PER_S + 1;
	LCORE(1)->busy_permille = 1000; // by then it means nothing
	expect("a heart that stands", "error: Data lcore 1 stands still for ");
	LCORE(0)->busy_permille = 950;
	expect("nearly busy", "");
	LCORE(0)->busy_permille = 951;
	expect("busy", "warning: Data lcore 0 is busy for 95 %");
	LCORE(0)->flows_active = 100;
	LCORE(1)->flows_active = 80;
	expect("flows, of both lcores together", "");
	LCORE(1)->flows_active = 81;
	LCORE(0)->flows_active = 100;
	expect("flows", "warning: (181 of 200): raise limits.flows");
	LCORE(0)->embryos_active = 90;
	LCORE(1)->embryos_active = 90;
	expect("embryos", "");
	LCORE(0)->embryos_active = 91;
	LCORE(1)->embryos_active = 90;
	expect("embryos", "warning: limits.embryos is too small");
}

static void pressure(void **state)
{
	(void)state;
	LCORE(1)->slab_blocks = LCORE(1)->tracked_limit = LCORE(1)->tcp_held_limit = 200;
	LCORE(1)->slab_blocks_used = LCORE(1)->tracked_active = LCORE(1)->tcp_held_active = 180;
	expect("nearly", "");
	LCORE(1)->slab_blocks = LCORE(1)->tracked_limit = LCORE(1)->tcp_held_limit = 200;
	LCORE(1)->slab_blocks_used = LCORE(1)->tracked_active = LCORE(1)->tcp_held_active = 181;
	expect("pressure",
		"warning: Data lcore 1 has used 181 of its 200 blocks of reassembly memory: raise "
		"reassembly.memory_mb;"
		" warning: 181 of its 200 places for TCP flows under inspection: raise "
		"reassembly.tracked;"
		" warning: 181 of its 200 places for held segments");
}

static void ports(void **state)
{
	(void)state;
	counters.link_up = false;
	expect("no link", "error: Port lan has no link: nothing passes between it and wan. Look at "
			  "its cable");
	counters = (struct port_counters){.link = PORT_LINK_DISABLED};
	expect("set down", "error: ip link set");
	counters = (struct port_counters){.link = PORT_LINK_GONE};
	expect("gone", "error: the gateway takes it up as soon as it is there");
	counters = (struct port_counters){.link = PORT_LINK_GONE, .restart = true};
	expect("gone for good", "error: and restart the gateway");
	counters = (struct port_counters){.link = PORT_LINK_DISABLED, .restart = true};
	expect("set down, then gone", "error: ip link set");
}

// Reported for as long as it is so, and only while a rule asks for it.
static void nothing_scans(void **state)
{
	static struct rule_content scans = {.has_scan = true};
	struct policy *policy = (struct policy *)(uintptr_t)reload_policy(world.context.reload);
	struct rule_content *before = policy->rules[0].content;

	(void)state;
	expect("nobody asks", "");
	policy->rules[0].content = &scans;
	expect("no engine",
		"error: has files scanned, and no scan engine is ready: scan.engine of");
	policy->rules[0].content = before;
	expect("nobody asks any more", "");
}

// A count that has grown is reported for a minute.
static void lately(void **state)
{
	struct rates_watch grown = {.last = 9, .lately = 7, .grown_ns = clock_ns};

	(void)state;
	rates.missed[1] = grown;
	expect("missed", "warning: Port wan lost 7 packets");
	rates.nombuf[0] = grown;
	expect("no buffer", "warning: Port lan found no packet buffer 7 times");
	rates.port_errors[0] = grown;
	expect("errors", "warning: Port lan had 7 errors");
	rates.missed[1] = grown;
	rates.missed[1].grown_ns -= 60 * NS_PER_S;
	expect("a minute ago", "warning: Port wan lost 7 packets");
	rates.missed[1] = grown;
	rates.missed[1].grown_ns -= 60 * NS_PER_S + 1;
	expect("longer ago", "");
}

static void alarm_counters(void **state)
{
	static const struct {
		unsigned counter;
		const char *wanted;
	} rows[] = {
		{ALARM_COUNTER_PORTS_DOWN, ""}, // reported port by port
		{ALARM_COUNTER_LCORE_STALLS,
			"warning: 7 times a data lcore stood still in the last"},
		{ALARM_COUNTER_RX_MISSED, ""}, // reported port by port
		{ALARM_COUNTER_RX_NOMBUF, ""},
		{ALARM_COUNTER_BYPASSED_PKTS,
			"warning: 7 packets passed uninspected in the last minute"},
		{ALARM_COUNTER_TX_FULL, "warning: 7 packets were not taken by a port"},
		{ALARM_COUNTER_HANDOFF_FULL, "warning: 7 packets were lost between data lcores"},
		{ALARM_COUNTER_FLOW_TABLE_FULL, "error: 7 packets found no room in a flow table"},
		{ALARM_COUNTER_FLOWS_EVICTED, "warning: 7 flows had to make room"},
		{ALARM_COUNTER_EMERGENCY_ENTERED,
			"warning: 7 times a flow table was more than 90 % full"},
		{ALARM_COUNTER_CLASSIFY_NOMEM, "warning: raise limits.classifying"},
		{ALARM_COUNTER_TCP_MEMORY_DROPS, "warning: raise reassembly.memory_mb"},
		{ALARM_COUNTER_TCP_HALF_LIMIT_DROPS, "warning: raise reassembly.half_kb"},
		{ALARM_COUNTER_TCP_HELD_LIMIT_DROPS, "warning: raise reassembly.held, half_held"},
		{ALARM_COUNTER_TCP_NOT_TRACKED, "warning: raise reassembly.tracked"},
		{ALARM_COUNTER_FLOWS_LAW_WAIVED, "error: 7 flows passed uninspected bytes"},
		{ALARM_COUNTER_MAKE_NOMEM, "warning: raise memory.mbufs"},
		{ALARM_COUNTER_RESETS_IMPOSSIBLE, "note: 7 blocked flows were dropped, not reset"},
		{ALARM_COUNTER_BAD_CHECKSUM_PKTS,
			"warning: 7 packets were not inspected, for a bad checksum"},
		{ALARM_COUNTER_HINTS_LOST, "warning: 7 words between data lcores"},
		{ALARM_COUNTER_EVENTS_LOST, "warning: 7 events were lost"},
		{ALARM_COUNTER_EVENTS_FAILED, "error: 7 events could not be written"},
		{ALARM_COUNTER_AUDIT_LOST, "error: 7 records were lost to the audit log"},
		{ALARM_COUNTER_CONTENT_NOMEM,
			"warning: 7 pieces of files or messages found no room"},
		{ALARM_COUNTER_CONTENT_LOST, "warning: 7 records of files or messages found no"},
		{ALARM_COUNTER_CONTENT_LOST_CLOSED, "error: 7 flows were reset because a record"},
		{ALARM_COUNTER_CONTENT_AMBIGUOUS, "warning: 7 flows were reset, as hosts may"},
		{ALARM_COUNTER_STORE_REFUSED, "warning: 7 files were not stored, for a limit"},
		{ALARM_COUNTER_STORE_EVICTED, "note: 7 stored files had to make room"},
		{ALARM_COUNTER_STORE_ERRORS, "error: 7 files could not be stored"},
		{ALARM_COUNTER_RELOAD_FAILURES, "error: 7 reloads were refused"},
		{ALARM_COUNTER_EVENTS_STUCK, ""},
		{ALARM_COUNTER_STATE_STUCK, ""},
		{ALARM_COUNTER_SCAN_NOT_READY, ""},
		{ALARM_COUNTER_IMPAIRED, ""},
	};

	(void)state;
	assert_int_equal(sizeof(rows) / sizeof(rows[0]), ALARM_COUNTERS_MAX);
	for (unsigned i = 0; i < ALARM_COUNTERS_MAX; i++) {
		rates.watches[rows[i].counter] =
			(struct rates_watch){.lately = 7, .grown_ns = clock_ns};
		expect(rows[i].wanted, rows[i].wanted);
	}
}

// One of a kind has the words of one.
static void one_alone(void **state)
{
	static const struct {
		unsigned counter;
		const char *wanted;
	} rows[] = {
		{ALARM_COUNTER_LCORE_STALLS, "warning: 1 time a data lcore stood still"},
		{ALARM_COUNTER_BYPASSED_PKTS, "warning: 1 packet passed uninspected"},
		{ALARM_COUNTER_TX_FULL, "warning: 1 packet was not taken by a port"},
		{ALARM_COUNTER_HANDOFF_FULL, "warning: 1 packet was lost between data lcores"},
		{ALARM_COUNTER_FLOW_TABLE_FULL, "error: 1 packet found no room in a flow table"},
		{ALARM_COUNTER_FLOWS_EVICTED, "warning: 1 flow had to make room"},
		{ALARM_COUNTER_EMERGENCY_ENTERED, "warning: 1 time a flow table was more"},
		{ALARM_COUNTER_CLASSIFY_NOMEM, "warning: 1 packet found no free state"},
		{ALARM_COUNTER_TCP_MEMORY_DROPS, "warning: 1 segment was dropped, for want"},
		{ALARM_COUNTER_TCP_HALF_LIMIT_DROPS, "warning: 1 segment was dropped, because"},
		{ALARM_COUNTER_TCP_HELD_LIMIT_DROPS, "warning: 1 segment was dropped, because"},
		{ALARM_COUNTER_TCP_NOT_TRACKED, "warning: 1 time a TCP flow found no room"},
		{ALARM_COUNTER_FLOWS_LAW_WAIVED, "error: 1 flow passed uninspected bytes"},
		{ALARM_COUNTER_MAKE_NOMEM, "warning: 1 reset could not be made"},
		{ALARM_COUNTER_RESETS_IMPOSSIBLE, "note: 1 blocked flow was dropped, not reset"},
		{ALARM_COUNTER_BAD_CHECKSUM_PKTS, "warning: 1 packet was not inspected"},
		{ALARM_COUNTER_HINTS_LOST, "warning: 1 word between data lcores"},
		{ALARM_COUNTER_EVENTS_LOST, "warning: 1 event was lost"},
		{ALARM_COUNTER_EVENTS_FAILED, "error: 1 event could not be written"},
		{ALARM_COUNTER_AUDIT_LOST, "error: 1 record was lost to the audit log"},
		{ALARM_COUNTER_CONTENT_NOMEM, "warning: 1 piece of files or messages found"},
		{ALARM_COUNTER_CONTENT_LOST, "warning: 1 record of files or messages found"},
		{ALARM_COUNTER_CONTENT_LOST_CLOSED, "error: 1 flow was reset because a record"},
		{ALARM_COUNTER_CONTENT_AMBIGUOUS, "warning: 1 flow was reset, as hosts may"},
		{ALARM_COUNTER_STORE_REFUSED, "warning: 1 file was not stored, for a limit"},
		{ALARM_COUNTER_STORE_EVICTED, "note: 1 stored file had to make room"},
		{ALARM_COUNTER_STORE_ERRORS, "error: 1 file could not be stored"},
		{ALARM_COUNTER_RELOAD_FAILURES, "error: 1 reload was refused"},
	};
	struct rates_watch once = {.lately = 1, .grown_ns = clock_ns};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rates.watches[rows[i].counter] = once;
		expect(rows[i].wanted, rows[i].wanted);
	}
	rates.missed[1] = once;
	expect("missed", "warning: Port wan lost 1 packet in");
	rates.nombuf[0] = once;
	expect("no buffer", "warning: Port lan found no packet buffer 1 time in");
	rates.port_errors[0] = once;
	expect("errors", "warning: Port lan had 1 error in");
}

static void a_policy_that_blocks_nothing(void **state)
{
	struct policy *policy = (struct policy *)(uintptr_t)reload_policy(world.context.reload);

	(void)state;
	policy->enforces = false;
	expect("no rule that blocks", "note: The policy in force blocks nothing.");
	policy->mode = MODE_MONITOR;
	expect("monitor", "note: The whole policy is in monitor mode");
}

static void the_worst_comes_first(void **state)
{
	struct rates_watch grown = {.lately = 1, .grown_ns = clock_ns};
	struct cache_store_stats store = {.failing = true};

	(void)state;
	rates.unbalanced_s = 4;
	expect("a ledger that may close yet", "");
	rates.watches[ALARM_COUNTER_RESETS_IMPOSSIBLE] = grown;
	rates.watches[ALARM_COUNTER_HINTS_LOST] = grown;
	rates.unbalanced_s = 5;
	world.context.state = &store;
	expect("all levels",
		"error: to paths.state; error: not accounted for; warning: word between; "
		"note: not reset");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_well_is_left_alone),
		cmocka_unit_test(lcores_and_tables),
		cmocka_unit_test(pressure),
		cmocka_unit_test(ports),
		cmocka_unit_test(nothing_scans),
		cmocka_unit_test(lately),
		cmocka_unit_test(alarm_counters),
		cmocka_unit_test(one_alone),
		cmocka_unit_test(a_policy_that_blocks_nothing),
		cmocka_unit_test(the_worst_comes_first),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
