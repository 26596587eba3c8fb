// SPDX-License-Identifier: BSD-3-Clause
// What the commands of the control socket answer.
#include "lib/control/control_world.h"

#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "config/gateway.h"
#include "control/ctl/command.h"
#include "lib/control/fake_content.h"
#include "pipeline/vocab/tick.h"
#include "control/event/trace_log.h"

static void simple_commands(void **state)
{
	struct world w;
	json_t *reply;

	(void)state;
	world_new(&w);
	w.context.dp->lcores[0]->stats.received_pkts = 9;
	reply = ask(&w, "{\"command\":\"stats\"}");
	assert_int_equal(number(message(reply), "received"), 9);
	assert_int_equal(number(json_object_get(message(reply), "policy"), "generation"), 1);
	json_decref(reply);
	reply = ask(&w, "{\"command\":\"version\",\"arguments\":{}}");
	assert_string_equal(
		json_string_value(json_object_get(message(reply), "version")), SLUICE_VERSION);
	json_decref(reply);
	reply = ask(&w, "{\"command\":\"help\"}");
	assert_true(json_array_size(message(reply)) >= 12);
	json_decref(reply);
	asks_ok(&w, "{\"command\":\"log-level\",\"arguments\":{\"level\":\"debug\"}}");
	asks_ok(&w, "{\"command\":\"log-level\",\"arguments\":{\"level\":\"notice\"}}");
	asks_nok(&w, "{\"command\":\"log-level\",\"arguments\":{\"level\":\"loud\"}}", "loud");
	world_free(&w);
}

static void the_audit_log_is_summed(void **state)
{
	char path[] = "/var/log/audit.log";
	const struct gateway gateway = {
		.paths = {.audit = path, .evidence = path, .quarantine = path}};
	struct world w;
	json_t *reply, *log;

	(void)state;
	world_new(&w);
	asks_nok(&w, "{\"command\":\"audit-show\"}", "nothing reads");
	fake_content_counters = (struct content_reader_counters){.offered = 100,
		.log = {.records = 70, .lost = 20, .error = ENOSPC},
		.store = {.stored = 5, .refused = 3, .quarantined = 8, .removed = 9},
		.quarantine = {.used_files = 6, .refused = 7},
		.evidence = {.written = 4, .removed = 2},
		.head_seq = 73,
		.head = "f00d"};
	w.context.content = (struct content_reader *)&w; // whoever it is, its answer is faked
	reply = ask(&w, "{\"command\":\"audit-show\"}");
	assert_null(json_object_get(message(reply), "log"));
	assert_int_equal(number(json_object_get(message(reply), "store"), "stored"), 5);
	assert_int_equal(number(json_object_get(message(reply), "store"), "refused"), 3);
	assert_int_equal(number(json_object_get(message(reply), "store"), "quarantined"), 8);
	assert_int_equal(number(json_object_get(message(reply), "store"), "removed"), 9);
	assert_null(json_object_get(message(reply), "quarantine")); // without a gateway.json
	json_decref(reply);
	w.context.gateway = &gateway;
	reply = ask(&w, "{\"command\":\"audit-show\"}");
	log = json_object_get(message(reply), "log");
	assert_string_equal(json_string_value(json_object_get(log, "head")), "f00d");
	assert_string_equal(json_string_value(json_object_get(log, "error")), strerror(ENOSPC));
	assert_int_equal(number(log, "seq"), 73);
	assert_int_equal(number(log, "offered"), 100);
	assert_int_equal(number(log, "written"), 70);
	assert_int_equal(number(log, "lost"), 20);
	assert_int_equal(number(log, "waiting"), 10);
	assert_int_equal(number(json_object_get(message(reply), "quarantine"), "files"), 6);
	assert_int_equal(number(json_object_get(message(reply), "quarantine"), "refused"), 7);
	assert_int_equal(number(json_object_get(message(reply), "evidence"), "written"), 4);
	assert_int_equal(number(json_object_get(message(reply), "evidence"), "removed"), 2);
	json_decref(reply);
	asks_nok(&w, "{\"command\":\"audit-show\",\"arguments\":{\"a\":1}}", "none expected");
	w.context.gateway = NULL;
	w.context.content = NULL;
	world_free(&w);
}

static void stages_are_summed_over_lcores(void **state)
{
	struct world w;
	json_t *reply, *first;

	(void)state;
	world_new(&w);
	for (unsigned i = 0; i < 2; i++)
		w.context.dp->lcores[i]->meter.costs[METER_PARSE] = (struct stage_cost){10, 300};
	reply = ask(&w, "{\"command\":\"stages\",\"arguments\":{\"every\":64}}");
	assert_int_equal(number(message(reply), "every"), 64);
	first = json_array_get(json_object_get(message(reply), "stages"), 0);
	assert_string_equal(json_string_value(json_object_get(first, "stage")), "parse");
	assert_int_equal(number(first, "pkts"), 20);
	assert_int_equal(number(first, "cycles_pkt"), 30);
	json_decref(reply);
	assert_int_equal(atomic_load(&w.context.dp->meter_every), 64);
	asks_nok(&w, "{\"command\":\"stages\",\"arguments\":{\"every\":-1}}", "1000000");
	asks_nok(&w, "{\"command\":\"stages\",\"arguments\":{\"each\":1}}", "every");
	assert_int_equal(atomic_load(&w.context.dp->meter_every), 64);
	asks_ok(&w, "{\"command\":\"stages\",\"arguments\":{\"every\":0}}");
	assert_int_equal(atomic_load(&w.context.dp->meter_every), 0);
	world_free(&w);
}

static void wrong_lines_are_answered(void **state)
{
	struct world w;

	(void)state;
	world_new(&w);
	asks_nok(&w, "garbage", "JSON");
	asks_nok(&w, "\xff\xfe\x01", "JSON");
	asks_nok(&w, "[]", "command");
	asks_nok(&w, "{}", "command");
	asks_nok(&w, "{\"command\":1}", "command");
	asks_nok(&w, "{\"command\":\"stats\",\"command\":\"stats\"}", "JSON");
	asks_nok(&w, "{\"command\":\"stats\",\"argument\":{}}", "argument");
	asks_nok(&w, "{\"command\":\"stats\",\"arguments\":[]}", "object");
	asks_nok(&w, "{\"command\":\"stats\",\"arguments\":{\"x\":1}}", "none");
	asks_nok(&w, "{\"command\":\"reboot\"}", "help");
	asks_nok(&w, "{\"command\":\"flow-list\",\"arguments\":{\"limit\":0}}", "limit");
	asks_nok(&w, "{\"command\":\"flow-list\",\"arguments\":{\"limit\":\"9\"}}", "limit");
	asks_nok(&w, "{\"command\":\"flow-list\",\"arguments\":{\"app\":\"nosuch\"}}", "nosuch");
	asks_nok(&w, "{\"command\":\"flow-list\",\"arguments\":{\"host\":\"10.0.0.300\"}}",
		"10.0.0.300");
	asks_nok(&w, "{\"command\":\"flow-list\",\"arguments\":{\"host\":\"10.0.0.1/8\"}}",
		"prefix");
	asks_nok(&w, "{\"command\":\"flow-show\"}", "flow_id");
	asks_nok(&w, "{\"command\":\"flow-show\",\"arguments\":{\"flow_id\":-1}}", "positive");
	asks_nok(&w, "{\"command\":\"trace\",\"arguments\":{\"flow_id\":1}}", "on");
	asks_nok(&w, "{\"command\":\"policy-check\",\"arguments\":{\"path\":\"p.json\"}}",
		"absolute");
	world_free(&w);
}

static void flows_page_by_page(void **state)
{
	struct world w;
	json_t *reply, *flows, *flow;

	(void)state;
	world_new(&w);
	reply = ask(
		&w, "{\"command\":\"flow-list\",\"arguments\":{\"limit\":1000,\"offset\":1000}}");
	assert_true(is_ok(reply));
	assert_int_equal(number(message(reply), "total"), 2 * FLOWS);
	assert_int_equal(number(message(reply), "matched"), 2 * FLOWS);
	flows = json_object_get(message(reply), "flows");
	assert_int_equal(json_array_size(flows), 1000);
	// 1300 of lcore 0, of which 1000 are skipped, then lcore 1's.
	assert_int_equal(number(json_array_get(flows, 0), "flow_id"), 1001);
	assert_int_equal(number(json_array_get(flows, 300), "flow_id"), 10001);
	json_decref(reply);

	reply = ask(&w, "{\"command\":\"flow-list\",\"arguments\":{\"app\":\"bittorrent\","
			"\"host\":\"2001:db8::/32\"}}");
	assert_int_equal(number(message(reply), "matched"), 26);
	flow = json_array_get(json_object_get(message(reply), "flows"), 0);
	assert_string_equal(json_string_value(json_object_get(flow, "src_ip")), "2001:db8::5");
	assert_string_equal(json_string_value(json_object_get(flow, "rule")), "no-bittorrent");
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(flow, "app"), "signature")),
		"sig-a");
	assert_int_equal(number(flow, "bytes_toclient"), 4000000000);
	assert_int_equal(number(flow, "age_s"), 5);
	// The first is lcore 0's, of whose flows no confidence is known; the last is lcore 1's.
	assert_null(json_object_get(json_object_get(flow, "app"), "confidence"));
	flow = json_array_get(json_object_get(message(reply), "flows"), 25);
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(flow, "app"), "confidence")),
		"dpi");
	json_decref(reply);
	reply = ask(&w, "{\"command\":\"flow-list\",\"arguments\":{\"app\":\"unknown\","
			"\"host\":\"192.0.2.1\",\"limit\":1}}");
	assert_int_equal(number(message(reply), "matched"), 2 * (FLOWS - 13));
	json_decref(reply);
	world_free(&w);
}

static void traced_steps_are_read(struct world *w)
{
	struct event event = {.type = EVENT_TRACE, .flow_id = 77, .l4_proto = IPPROTO_TCP};
	json_t *reply, *steps;

	event.tcp_flags = 0x12;
	event.half = HALF_S2C;
	for (uint32_t i = 1; i <= 3; i++) {
		event.trace.packet = i;
		snprintf(event.trace.text, sizeof event.trace.text, "decide: drop rule");
		trace_log_take(w->trace_log, &event);
	}
	reply = ask(w, "{\"command\":\"trace-read\",\"arguments\":{\"flow_id\":77}}");
	assert_int_equal(number(message(reply), "after"), 3); // from here on
	assert_int_equal(json_array_size(json_object_get(message(reply), "steps")), 0);
	json_decref(reply);
	reply = ask(w, "{\"command\":\"trace-read\",\"arguments\":{\"flow_id\":77,\"after\":1,"
		       "\"limit\":1}}");
	assert_int_equal(number(message(reply), "after"), 2);
	assert_true(json_is_false(json_object_get(message(reply), "missed")));
	steps = json_object_get(message(reply), "steps");
	assert_int_equal(json_array_size(steps), 1);
	assert_int_equal(number(json_array_get(steps, 0), "packet"), 2);
	assert_int_equal(number(json_array_get(steps, 0), "tcp_flags"), 0x12);
	assert_string_equal(
		json_string_value(json_object_get(json_array_get(steps, 0), "direction")),
		"to_client");
	json_decref(reply);
	asks_nok(w, "{\"command\":\"trace-read\"}", "flow_id");
	asks_nok(w, "{\"command\":\"trace-read\",\"arguments\":{\"flow_id\":77,\"limit\":0}}",
		"limit");
}

static void one_flow(void **state)
{
	struct world w;
	json_t *reply;

	(void)state;
	world_new(&w);
	reply = ask(&w, "{\"command\":\"flow-show\",\"arguments\":{\"flow_id\":10007}}");
	assert_true(is_ok(reply));
	assert_int_equal(number(message(reply), "flow_id"), 10007);
	assert_int_equal(number(message(reply), "lcore"), 1);
	assert_non_null(json_object_get(message(reply), "tcp_toclient"));
	json_decref(reply);
	asks_nok(
		&w, "{\"command\":\"flow-show\",\"arguments\":{\"flow_id\":5000}}", "no flow 5000");
	asks_ok(&w, "{\"command\":\"trace\",\"arguments\":{\"flow_id\":77,\"on\":true}}");
	assert_int_equal(w.lcores.traced, 1);
	asks_nok(&w, "{\"command\":\"trace\",\"arguments\":{\"flow_id\":78,\"on\":true}}", "78");
	traced_steps_are_read(&w);
	world_free(&w);
}

static void the_cache_is_merged_over_lcores(void **state)
{
	struct world w;
	json_t *reply, *entries;

	(void)state;
	world_new(&w);
	reply = ask(&w, "{\"command\":\"cache-list\",\"arguments\":{\"limit\":1000}}");
	assert_int_equal(number(message(reply), "matched"), 900);
	entries = json_object_get(message(reply), "entries");
	assert_int_equal(json_array_size(entries), 900);
	assert_int_equal(number(json_array_get(entries, 0), "dest_port"), 899); // newest
	assert_int_equal(number(json_array_get(entries, 0), "hits"), 2);
	assert_int_equal(number(json_array_get(entries, 400), "hits"), 4); // on both lcores
	json_decref(reply);
	asks_nok(&w, "{\"command\":\"cache-list\",\"arguments\":{\"offset\":-1}}", "offset");
	asks_nok(&w, "{\"command\":\"cache-list\",\"arguments\":{\"offset\":10001}}", "10000");
	reply = ask(&w, "{\"command\":\"cache-flush\"}");
	assert_int_equal(number(message(reply), "flushed"), 600);
	assert_int_equal(w.lcores.flushes, 2);
	json_decref(reply);
	world_free(&w);
}

static const char *begun(void *ctx)
{
	(*(unsigned *)ctx)++;
	return NULL;
}

static const char *not_begun(void *ctx)
{
	(void)ctx;
	return "one is under way";
}

static void signatures_are_loaded_anew(void **state)
{
	unsigned asked = 0;
	struct scan_reloads reloads = {.ctx = &asked, .ask = begun, .taken = 3, .refused = 1};
	struct world w;
	json_t *reply;

	(void)state;
	world_new(&w);
	asks_nok(&w, "{\"command\":\"scan-reload\"}", "no engine that has signatures");
	w.context.scan_reloads = &reloads;
	reply = ask(&w, "{\"command\":\"scan-reload\"}");
	assert_string_equal(
		json_string_value(json_object_get(message(reply), "mode")), "concurrent");
	assert_int_equal(number(message(reply), "taken"), 3);
	assert_int_equal(number(message(reply), "refused"), 1);
	json_decref(reply);
	assert_int_equal(asked, 1);
	reloads.is_sequential = true;
	reply = ask(&w, "{\"command\":\"scan-reload\"}");
	assert_string_equal(
		json_string_value(json_object_get(message(reply), "mode")), "sequential");
	json_decref(reply);
	reloads.ask = not_begun;
	asks_nok(&w, "{\"command\":\"scan-reload\"}", "under way");
	asks_nok(&w, "{\"command\":\"scan-reload\",\"arguments\":{\"x\":1}}", "none expected");
	assert_int_equal(asked, 2);
	world_free(&w);
}

static void what_others_said_is_merged_over_lcores(void **state)
{
	struct world w;
	json_t *reply, *entries, *first;

	(void)state;
	world_new(&w);
	reply = ask(&w, "{\"command\":\"endpoint-list\",\"arguments\":{\"limit\":1000}}");
	assert_int_equal(number(message(reply), "matched"), 59); // one is nobody's
	entries = json_object_get(message(reply), "entries");
	assert_int_equal(json_array_size(entries), 59);
	first = json_array_get(entries, 0); // reported last
	assert_int_equal(number(first, "port"), 6881 + 58);
	assert_int_equal(number(first, "hits"), 2);
	assert_int_equal(number(first, "told_by"), 77);
	assert_string_equal(json_string_value(json_object_get(first, "from")), "dht");
	assert_string_equal(json_string_value(json_object_get(first, "proto")), "UDP");
	assert_null(json_object_get(first, "client"));
	assert_int_equal(number(json_array_get(entries, 25), "hits"), 4); // on both lcores
	json_decref(reply);
	reply = ask(&w, "{\"command\":\"name-list\",\"arguments\":"
			"{\"limit\":1,\"offset\":1,\"app\":\"bittorrent\"}}");
	assert_int_equal(number(message(reply), "matched"), 59);
	first = json_array_get(json_object_get(message(reply), "entries"), 0);
	assert_string_equal(json_string_value(json_object_get(first, "address")), "192.0.2.57");
	assert_string_equal(json_string_value(json_object_get(first, "client")), "2000::");
	assert_null(json_object_get(first, "port"));
	json_decref(reply);
	asks_nok(&w, "{\"command\":\"name-list\",\"arguments\":{\"zone\":1}}", "zone");
	world_free(&w);
}

static void a_policy(void **state)
{
	struct world w;
	json_t *reply;

	(void)state;
	world_new(&w);
	reply = ask(&w, "{\"command\":\"policy-show\"}");
	assert_string_equal(
		json_string_value(json_object_get(message(reply), "path")), "/etc/policy.json");
	assert_int_equal(number(json_object_get(message(reply), "policy"), "schema_version"), 1);
	json_decref(reply);
	reply = ask(
		&w, "{\"command\":\"policy-check\",\"arguments\":{\"path\":\"/etc/good.json\"}}");
	assert_true(is_ok(reply));
	assert_null(json_object_get(message(reply), "warnings"));
	json_decref(reply);
	reply = ask(
		&w, "{\"command\":\"policy-check\",\"arguments\":{\"path\":\"/etc/odd.json\"}}");
	assert_true(is_ok(reply));
	assert_string_equal(
		json_string_value(json_array_get(json_object_get(message(reply), "warnings"), 0)),
		"/etc/odd.json: $.rules[0].chat: half of it is not decoded");
	json_decref(reply);
	reply = ask(
		&w, "{\"command\":\"policy-check\",\"arguments\":{\"path\":\"/etc/bad.json\"}}");
	assert_false(is_ok(reply));
	assert_int_equal(json_array_size(json_object_get(message(reply), "errors")), 2);
	assert_null(json_object_get(message(reply), "errors_dropped"));
	json_decref(reply);
	reply = ask(&w,
		"{\"command\":\"policy-check\",\"arguments\":{\"path\":\"/etc/bad-worse.json\"}}");
	assert_int_equal(
		json_array_size(json_object_get(message(reply), "errors")), CONFIG_ERRORS_MAX);
	assert_int_equal(number(message(reply), "errors_dropped"), 7);
	json_decref(reply);
	assert_int_equal(reload_generation(w.context.reload), 1);
	world_free(&w);
}

static void a_reload_answers_after_the_last_lcore(void **state)
{
	struct world w;
	json_t *reply;
	char byte;
	int fd;

	(void)state;
	world_new(&w);
	w.lcores.stalled[1] = true;
	fd = client(&w);
	assert_true(put(&w, fd, "{\"command\":\"policy-reload\"}\n", 28));
	for (unsigned i = 0; i < 50; i++) {
		turn(&w);
		usleep(1000);
	}
	assert_int_equal(reload_generation(w.context.reload), 2);
	assert_int_equal(recv(fd, &byte, 1, 0), -1); // published, not yet in force everywhere
	w.lcores.stalled[1] = false;
	reply = get(&w, fd);
	assert_true(is_ok(reply));
	assert_int_equal(number(message(reply), "generation"), 2);
	assert_int_equal(reload_freed(w.context.reload), 1);
	json_decref(reply);
	close(fd);

	reply = ask(
		&w, "{\"command\":\"policy-reload\",\"arguments\":{\"path\":\"/etc/bad.json\"}}");
	assert_false(is_ok(reply));
	assert_int_equal(json_array_size(json_object_get(message(reply), "errors")), 2);
	assert_int_equal(reload_generation(w.context.reload), 2);
	json_decref(reply);

	w.lcores.stalled[0] = true;
	fd = client(&w);
	assert_true(put(&w, fd, "{\"command\":\"policy-reload\"}\n", 28));
	turn(&w);
	clock_offset_ns = 11 * NS_PER_S;
	reply = get(&w, fd);
	assert_false(is_ok(reply));
	json_decref(reply);
	close(fd);
	world_free(&w);
}

static void a_debug_hook_is_refused_unless_configured(void **state)
{
	struct gateway *gateway = calloc(1, sizeof *gateway);
	struct world w;

	(void)state;
	assert_non_null(gateway);
	world_new(&w);
	w.context.gateway = gateway;
	struct lcore *const *lcores = w.context.dp->lcores;
	const char *good = "{\"command\":\"debug-stall\",\"arguments\":{\"lcore\":1,\"ms\":300}}";

	asks_nok(&w, good, "\"debug\": true");
	assert_int_equal(lcores[1]->stall_inspect_ns, 0);
	gateway->debug = true;
	json_t *reply = ask(&w, good);

	assert_true(is_ok(reply));
	assert_int_equal(number(message(reply), "lcore"), 1);
	assert_int_equal(number(message(reply), "ms"), 300);
	json_decref(reply);
	assert_int_equal(lcores[1]->stall_inspect_ns, 300 * NS_PER_MS);
	asks_ok(&w, "{\"command\":\"debug-stall\",\"arguments\":{\"lcore\":0,\"ms\":5,"
		    "\"where\":\"driver\"}}");
	assert_int_equal(lcores[0]->stall_turn_ns, 5 * NS_PER_MS);
	assert_int_equal(lcores[0]->stall_inspect_ns, 0);
	asks_nok(
		&w, "{\"command\":\"debug-stall\",\"arguments\":{\"lcore\":2,\"ms\":5}}", "0 to 1");
	asks_nok(&w, "{\"command\":\"debug-stall\",\"arguments\":{\"lcore\":-1,\"ms\":5}}",
		"0 to 1");
	asks_nok(&w, "{\"command\":\"debug-stall\",\"arguments\":{\"lcore\":0,\"ms\":0}}", "60000");
	asks_nok(&w, "{\"command\":\"debug-stall\",\"arguments\":{\"lcore\":0,\"ms\":60001}}",
		"60000");
	asks_nok(&w,
		"{\"command\":\"debug-stall\",\"arguments\":{\"lcore\":0,\"ms\":5,\"where\":\"x\"}"
		"}",
		"driver");
	asks_nok(&w, "{\"command\":\"debug-stall\"}", "where");
	world_free(&w);
	free(gateway);
}

static void keep(void *ctx, json_t *reply)
{
	*(json_t **)ctx = reply;
}

// What could not be put together is not reported in part.
static void lack_of_memory_is_an_answer(void **state)
{
	json_t *reply = NULL, *object = json_object(), *list = json_array();
	struct request request = {.answer = keep, .ctx = &reply};
	(void)state;

	request_ok(&request, NULL);
	assert_false(is_ok(reply));
	assert_string_equal(json_string_value(message(reply)), "no memory for the answer");
	json_decref(reply);
	put_number(&object, "a", 1);
	assert_int_equal(number(object, "a"), 1);
	put_json(&object, "b", NULL);
	assert_null(object);
	put_number(&object, "c", 1);
	assert_null(object);
	put_item(&list, json_true());
	assert_int_equal(json_array_size(list), 1);
	put_item(&list, NULL);
	assert_null(list);
	put_item(&list, json_true());
	assert_null(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_audit_log_is_summed),
		cmocka_unit_test(stages_are_summed_over_lcores),
		cmocka_unit_test(signatures_are_loaded_anew),
		cmocka_unit_test(simple_commands),
		cmocka_unit_test(wrong_lines_are_answered),
		cmocka_unit_test(flows_page_by_page),
		cmocka_unit_test(one_flow),
		cmocka_unit_test(the_cache_is_merged_over_lcores),
		cmocka_unit_test(what_others_said_is_merged_over_lcores),
		cmocka_unit_test(a_policy),
		cmocka_unit_test(a_reload_answers_after_the_last_lcore),
		cmocka_unit_test(a_debug_hook_is_refused_unless_configured),
		cmocka_unit_test(lack_of_memory_is_an_answer),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
