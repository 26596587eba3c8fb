// SPDX-License-Identifier: BSD-3-Clause
// Every event type as one whole JSON line; rotation; full disks and readers that stand still.
#include "sink.h"

#include <fcntl.h>
#include <jansson.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "eve.h"
#include "fake_control.h"
#include "tick.h"

#define T0 (1695017621ull * NS_PER_S + 532140000)

struct world {
	struct dataplane *dp;
	struct rule_names *names;
	struct sink *sink;
	char dir[32];
	char path[64];
};

static void world_open(struct world *w, bool live, bool flow_events, bool drop_events)
{
	struct sink_options options = {.path = w->path,
		.source = "pcap",
		.flow_events = flow_events,
		.drop_events = drop_events,
		.live = live};
	char err[256] = "";

	if (sink_new(&options, w->dp, w->names, &w->sink, err, sizeof err))
		fail_msg("%s", err);
}

static struct world world_new(void)
{
	struct world w = {.dp = fake_dataplane_new(2, false), .dir = "/tmp/test_sink.XXXXXX"};

	assert_non_null(mkdtemp(w.dir));
	snprintf(w.path, sizeof w.path, "%s/eve.json", w.dir);
	w.names = rule_names_new();
	assert_int_equal(rule_names_intern(w.names, "no-bittorrent"), 1);
	return w;
}

static void world_free(struct world *w)
{
	char old[80];

	sink_free(w->sink);
	rule_names_free(w->names);
	fake_dataplane_free(w->dp);
	snprintf(old, sizeof old, "%s.1", w->path);
	unlink(old);
	unlink(w->path);
	rmdir(w->dir);
}

// All lines of a file, each a JSON object; a last line without its end fails.
static json_t *lines_read(const char *path)
{
	json_t *list = json_array();
	FILE *file = fopen(path, "r");
	char *line = NULL;
	size_t size = 0;
	ssize_t n;

	assert_non_null(file);
	while ((n = getline(&line, &size, file)) > 0) {
		json_error_t error;
		json_t *object;

		assert_int_equal(line[n - 1], '\n');
		object = json_loads(line, JSON_REJECT_DUPLICATES, &error);
		if (!object)
			fail_msg("%s: %s", error.text, line);
		json_array_append_new(list, object);
	}
	free(line);
	fclose(file);
	return list;
}

// "alert.signature" of an object.
static json_t *at(json_t *object, const char *path)
{
	char copy[64], *part = copy, *dot;

	snprintf(copy, sizeof copy, "%s", path);
	while ((dot = strchr(part, '.'))) {
		*dot = '\0';
		object = json_object_get(object, part);
		part = dot + 1;
	}
	return json_object_get(object, part);
}

static void has_text(json_t *object, const char *path, const char *text)
{
	const char *value = json_string_value(at(object, path));

	if (!value || strcmp(value, text) != 0)
		fail_msg("%s is %s, not %s", path, value ? value : "absent", text);
}

static void has_number(json_t *object, const char *path, json_int_t number)
{
	json_t *value = at(object, path);

	if (!json_is_integer(value) || json_integer_value(value) != number)
		fail_msg("%s is %lld, not %lld", path, (long long)json_integer_value(value),
			(long long)number);
}

static void has_not(json_t *object, const char *path)
{
	if (at(object, path))
		fail_msg("%s is there", path);
}

static struct event event_of(enum event_type type)
{
	return (struct event){
		.now_ns = T0,
		.flow_id = 1234567890123,
		.generation = 7,
		.pcap_cnt = 42,
		.type = (uint8_t)type,
		.lcore = 1,
		.in_port = 0,
		.l4_proto = 6,
		.half = HALF_S2C,
		.action = ACTION_RESET,
		.mode = MODE_ENFORCE,
		.confidence = CONFIDENCE_VERIFIED,
		.n_vlan = 2,
		.vlan = {100, 4000},
		.n_data_pkts = 1,
		.app = 1,
		.signature = UINT16_MAX,
		.rule_uid = 1,
		.ends = fake_ends("10.0.0.1", 50000, "192.0.2.200", 6881),
	};
}

// Writes one event, reads its line back.
static json_t *written(const struct event *event)
{
	struct world w = world_new();
	json_t *list, *object;

	world_open(&w, false, true, true);
	fake_event_send(w.dp, 1, event);
	assert_int_equal(sink_drain(w.sink, 0), 1);
	sink_flush(w.sink);
	list = lines_read(w.path);
	assert_int_equal(json_array_size(list), 1);
	object = json_incref(json_array_get(list, 0));
	json_decref(list);
	world_free(&w);
	return object;
}

static void what_every_event_has(json_t *o, const char *type)
{
	has_text(o, "timestamp", "2023-09-18T06:13:41.532140+0000");
	has_text(o, "event_type", type);
	has_number(o, "flow_id", 1234567890123);
	has_text(o, "in_iface", "lan");
	has_text(o, "pkt_src", "pcap");
	has_number(o, "pcap_cnt", 42);
	has_number(o, "generation", 7);
	has_number(o, "ip_v", 4);
	has_text(o, "proto", "TCP");
	assert_int_equal(json_integer_value(json_array_get(at(o, "vlan"), 1)), 4000);
}

static void a_flow(void **state)
{
	struct event event = event_of(EVENT_FLOW);
	json_t *o;

	(void)state;
	event.reason = FLOW_END_CLOSED;
	event.flow.start_ns = T0 - 61 * NS_PER_S;
	event.flow.end_ns = T0;
	event.flow.pkts[HALF_C2S] = 10;
	event.flow.bytes[HALF_S2C] = 5000000000;
	event.flow.gaps[HALF_S2C] = 1448;
	event.flow.tcp_flags[HALF_C2S] = 0x02;
	event.flow.tcp_flags[HALF_S2C] = 0x1b;
	event.flow.state = FLOW_STATE_CONDEMNED;
	o = written(&event);
	what_every_event_has(o, "flow");
	has_text(o, "src_ip", "10.0.0.1"); // the initiator, whatever the last packet's half
	has_number(o, "src_port", 50000);
	has_text(o, "dest_ip", "192.0.2.200");
	has_number(o, "dest_port", 6881);
	has_number(o, "flow.pkts_toserver", 10);
	has_number(o, "flow.bytes_toclient", 5000000000);
	has_text(o, "flow.start", "2023-09-18T06:12:40.532140+0000");
	has_number(o, "flow.age", 61);
	has_text(o, "flow.state", "closed");
	has_text(o, "flow.reason", "timeout");
	has_text(o, "flow.action", "drop");
	assert_true(json_is_true(at(o, "flow.alerted")));
	has_text(o, "rule", "no-bittorrent");
	has_text(o, "tcp.tcp_flags", "1b");
	has_text(o, "tcp.tcp_flags_ts", "02");
	assert_true(json_is_true(at(o, "tcp.tc_gap")));
	assert_true(json_is_false(at(o, "tcp.ts_gap")));
	has_text(o, "app_proto", "bittorrent");
	has_text(o, "app.category", "p2p");
	has_text(o, "app.confidence", "verified");
	has_number(o, "app.decided_pkts", 1);
	json_decref(o);
}

static void a_flow_of_ipv6_without_an_application(void **state)
{
	struct event event = event_of(EVENT_FLOW);
	json_t *o;

	(void)state;
	event.ends = fake_ends("2001:db8::1", 5, "2001:db8::ff", 6);
	event.app = APP_NONE;
	event.rule_uid = 0;
	event.action = ACTION_PASS;
	event.n_vlan = 0;
	event.l4_proto = 17;
	event.pcap_cnt = 0;
	event.flow.gaveup = true;
	event.flow.state = FLOW_STATE_ESTABLISHED;
	event.flow.exception = 1;
	o = written(&event);
	has_text(o, "src_ip", "2001:db8::1");
	has_number(o, "ip_v", 6);
	has_text(o, "proto", "UDP");
	has_text(o, "app_proto", "failed");
	has_text(o, "flow.action", "accept");
	has_text(o, "flow.state", "established");
	assert_int_equal(json_array_size(at(o, "flow.exception_policy")), 1);
	has_not(o, "app");
	has_not(o, "tcp");
	has_not(o, "vlan");
	has_not(o, "pcap_cnt");
	has_not(o, "rule");
	json_decref(o);
}

static void an_alert_that_blocks(void **state)
{
	struct event event = event_of(EVENT_ALERT);
	json_t *o = written(&event);

	(void)state;
	what_every_event_has(o, "alert");
	has_text(o, "src_ip", "192.0.2.200"); // of the packet
	has_text(o, "direction", "to_client");
	has_text(o, "alert.action", "blocked");
	has_number(o, "alert.gid", 1);
	has_number(o, "alert.signature_id", 1);
	has_text(o, "alert.signature", "no-bittorrent");
	has_text(o, "alert.category", "p2p");
	has_text(o, "verdict.action", "drop");
	has_text(o, "verdict.reject_target", "both");
	assert_string_equal(
		json_string_value(json_array_get(at(o, "verdict.reject"), 0)), "tcp-reset");
	json_decref(o);
}

static void an_alert_of_a_monitor_rule(void **state)
{
	struct event event = event_of(EVENT_ALERT);
	json_t *o;

	(void)state;
	event.mode = MODE_MONITOR;
	event.half = HALF_C2S;
	o = written(&event);
	has_text(o, "direction", "to_server");
	has_text(o, "alert.action", "allowed");
	has_text(o, "alert.rule_action", "reset");
	has_text(o, "alert.rule_mode", "monitor");
	has_text(o, "verdict.action", "alert");
	has_not(o, "verdict.reject");
	json_decref(o);
}

static void an_alert_of_the_default(void **state)
{
	struct event event = event_of(EVENT_ALERT);
	json_t *o;

	(void)state;
	event.rule_uid = 0;
	event.app = APP_NONE;
	event.l4_proto = 17;
	o = written(&event);
	has_text(o, "rule", "default");
	has_text(o, "alert.signature", "default");
	has_number(o, "alert.signature_id", 0);
	has_text(o, "verdict.reject_target", "to_client");
	json_decref(o);
}

static void a_drop(void **state)
{
	struct event event = event_of(EVENT_DROP);
	json_t *o;

	(void)state;
	event.reason = DROP_CONN_CACHE;
	event.tcp_flags = 0x12;
	event.drop.frame_length = 1514;
	event.drop.tcp_seq = UINT32_MAX;
	event.drop.ttl = 63;
	o = written(&event);
	what_every_event_has(o, "drop");
	has_text(o, "drop.reason", "conn_cache");
	has_number(o, "drop.len", 1514);
	has_number(o, "drop.tcpseq", UINT32_MAX);
	has_number(o, "drop.ttl", 63);
	assert_true(json_is_true(at(o, "drop.syn")));
	assert_true(json_is_false(at(o, "drop.rst")));
	has_text(o, "verdict.action", "drop");
	has_text(o, "rule", "no-bittorrent");
	json_decref(o);
}

static void a_cache_entry(void **state)
{
	struct event event = event_of(EVENT_CONNCACHE);
	json_t *o;

	(void)state;
	event.reason = CONNCACHE_EXPIRE;
	event.conncache.cache_mode = CACHE_TUPLE;
	event.conncache.created_ns = T0;
	event.conncache.hits = 12;
	event.conncache.saved_bytes = 900;
	o = written(&event);
	has_text(o, "event_type", "conncache");
	has_text(o, "conncache.action", "expire");
	has_text(o, "conncache.mode", "tuple");
	has_number(o, "conncache.hits", 12);
	has_number(o, "conncache.saved_bytes", 900);
	has_text(o, "src_ip", "10.0.0.1");
	has_not(o, "src_port");
	has_number(o, "dest_port", 6881);
	has_text(o, "rule", "no-bittorrent");
	json_decref(o);
}

static void an_anomaly_of_a_frame_without_addresses(void **state)
{
	struct event event = {.type = EVENT_INVALID, .now_ns = T0, .reason = DROP_MALFORMED};
	json_t *o = written(&event);

	(void)state;
	has_text(o, "event_type", "anomaly");
	has_text(o, "anomaly.event", "malformed");
	has_not(o, "src_ip");
	has_not(o, "community_id");
	has_not(o, "flow_id");
	json_decref(o);
}

static void a_trace_with_hostile_text(void **state)
{
	struct event event = event_of(EVENT_TRACE);
	json_t *o;

	(void)state;
	// Quotes, control characters, bytes that are not UTF-8, no end.
	memset(event.trace.text, 0xc3, sizeof event.trace.text);
	memcpy(event.trace.text, "a\"\\\n\x01\x7f\xc3\xa9\xed\xa0\x80\xff", 12);
	o = written(&event);
	assert_memory_equal(json_string_value(at(o, "trace.text")), "a\"\\\n\x01\x7f\xc3\xa9", 8);
	json_decref(o);
}

static void garbage_is_still_a_whole_line(void **state)
{
	struct event event;
	uint8_t *bytes = (uint8_t *)&event;
	json_t *o;

	(void)state;
	srandom(2);
	for (unsigned round = 0; round < 300; round++) {
		for (size_t i = 0; i < sizeof event; i++)
			bytes[i] = (uint8_t)(random() & 0x7f); // numbers of 63 bits: jansson's
		event.type = (uint8_t)(round % (EVENT_TRACE + 1));
		if (event.type == EVENT_FLOW) {
			event.flow.v6 = event.flow.gaveup = round & 1;
			event.flow.midstream = event.flow.bypassed = round & 2;
		}
		o = written(&event);
		json_decref(o);
	}
}

static void the_longest_line_fits(void **state)
{
	struct event event;
	struct world w = world_new();
	struct eve_names names = {.dp = w.dp, .rules = w.names, .source = "wire/pcap"};
	char line[EVE_LINE_MAX];
	struct json_out out;

	(void)state;
	for (unsigned type = 0; type <= EVENT_TRACE; type++) {
		memset(&event, 0xff, sizeof event);
		event.type = (uint8_t)type;
		event.app = 1;
		event.in_port = 0;
		if (type == EVENT_FLOW) {
			event.flow.v6 = event.flow.gaveup = true;
			event.flow.midstream = event.flow.bypassed = true;
		}
		if (type == EVENT_TRACE)
			memset(event.trace.text, 1, sizeof event.trace.text);
		json_out_init(&out, line, sizeof line);
		eve_render(&names, &event, &out);
		assert_false(out.full);
		assert_true(json_out_length(&out) < EVE_LINE_MAX / 2);
	}
	world_free(&w);
}

static void records_of_the_control_core(void **state)
{
	struct world w = world_new();
	struct config_errors errors = {0};
	json_t *list, *o;

	(void)state;
	world_open(&w, true, true, true);
	sink_policy_event(w.sink, T0, 1, true, "/etc/policy.json", NULL);
	for (unsigned i = 0; i < 50; i++)
		config_error_add(&errors, "policy.json", "$.rules[0]", "bad \"thing\" %u", i);
	sink_policy_event(w.sink, T0, 1, false, "/etc/policy.json", &errors);
	sink_set_start(w.sink, T0 - 100 * NS_PER_S);
	sink_stats_event(w.sink, T0);
	sink_flush(w.sink);
	list = lines_read(w.path);
	o = json_array_get(list, 0);
	has_text(o, "event_type", "policy");
	has_text(o, "policy.result", "ok");
	has_text(o, "policy.action", "load");
	o = json_array_get(list, 1);
	has_text(o, "policy.result", "error");
	has_number(o, "policy.errors_total", 50);
	assert_int_equal(json_array_size(at(o, "policy.errors")), 20);
	o = json_array_get(list, 2);
	has_text(o, "event_type", "stats");
	has_number(o, "stats.uptime", 100);
	assert_non_null(at(o, "stats.ips.drop_reason"));
	json_decref(list);
	config_errors_free(&errors);
	world_free(&w);
}

static void unwanted_types_are_not_written(void **state)
{
	struct world w = world_new();
	struct event flow = event_of(EVENT_FLOW), drop = event_of(EVENT_DROP);
	struct event alert = event_of(EVENT_ALERT);

	(void)state;
	world_open(&w, true, false, false);
	fake_event_send(w.dp, 0, &flow);
	fake_event_send(w.dp, 0, &drop);
	fake_event_send(w.dp, 0, &alert);
	assert_int_equal(sink_drain(w.sink, 0), 1);
	world_free(&w);
}

static void a_drain_is_bounded(void **state)
{
	struct world w = world_new();
	struct event event = event_of(EVENT_ALERT);

	(void)state;
	world_open(&w, true, true, true);
	for (unsigned i = 0; i < 200; i++)
		fake_event_send(w.dp, i % 2, &event);
	assert_int_equal(sink_drain(w.sink, 70), 140);
	assert_int_equal(sink_drain(w.sink, 0), 60);
	assert_int_equal(sink_written(w.sink), 200);
	world_free(&w);
}

static void send_and_drain(struct world *w, unsigned n)
{
	struct event event = event_of(EVENT_ALERT);

	for (unsigned i = 0; i < n; i++) {
		fake_event_send(w->dp, 0, &event);
		sink_drain(w->sink, 0);
	}
}

static size_t lines_count(const char *path)
{
	json_t *list = lines_read(path);
	size_t n = json_array_size(list);

	json_decref(list);
	return n;
}

static void a_rotation_loses_nothing(void **state)
{
	struct world w = world_new();
	char old[80];

	(void)state;
	snprintf(old, sizeof old, "%s.1", w.path);
	world_open(&w, true, true, true);
	send_and_drain(&w, 10);
	assert_int_equal(rename(w.path, old), 0);
	send_and_drain(&w, 5); // still the old file
	assert_int_equal(sink_reopen(w.sink), 0);
	send_and_drain(&w, 3);
	sink_flush(w.sink);
	assert_int_equal(lines_count(old), 15);
	assert_int_equal(lines_count(w.path), 3);
	world_free(&w);
}

static void a_live_file_is_appended_to_and_a_replays_is_new(void **state)
{
	struct world w = world_new();

	(void)state;
	for (unsigned round = 1; round <= 3; round++) {
		world_open(&w, round < 3, true, true);
		send_and_drain(&w, 1);
		sink_flush(w.sink);
		assert_int_equal(lines_count(w.path), round < 3 ? round : 1);
		sink_free(w.sink);
		w.sink = NULL;
	}
	world_free(&w);
}

// A limit on the file's size takes a part of a write and refuses the rest, as a full disk does.
static void a_full_disk_never_tears_a_line(void **state)
{
	struct rlimit limit, old;
	struct world w = world_new();
	size_t n;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	limit = old;
	limit.rlim_cur = 10000;
	world_open(&w, true, true, true);
	setrlimit(RLIMIT_FSIZE, &limit);
	send_and_drain(&w, 100);
	sink_flush(w.sink);
	n = lines_count(w.path); // fails on half a line
	assert_in_range(n, 5, 30);
	sink_flush(w.sink);
	assert_int_equal(lines_count(w.path), n);
	setrlimit(RLIMIT_FSIZE, &old);
	sink_flush(w.sink);
	assert_int_equal(lines_count(w.path), 100);
	assert_int_equal(sink_failed(w.sink), 0);
	world_free(&w);
}

static void what_the_buffer_cannot_hold_is_counted(void **state)
{
	struct rlimit limit, old;
	struct world w = world_new();
	uint64_t failed;

	(void)state;
	getrlimit(RLIMIT_FSIZE, &old);
	limit = old;
	limit.rlim_cur = 10000;
	world_open(&w, true, true, true);
	setrlimit(RLIMIT_FSIZE, &limit);
	send_and_drain(&w, 5000);
	setrlimit(RLIMIT_FSIZE, &old);
	failed = sink_failed(w.sink);
	assert_in_range(failed, 500, 4500);
	assert_int_equal(sink_written(w.sink) + failed, 5000);
	sink_flush(w.sink);
	assert_int_equal(lines_count(w.path), sink_written(w.sink));
	world_free(&w);
}

static void a_reader_that_stands_still_costs_no_time(void **state)
{
	struct world w = world_new();
	struct timespec before, after;
	int reader;

	(void)state;
	assert_int_equal(mkfifo(w.path, 0600), 0);
	reader = open(w.path, O_RDONLY | O_NONBLOCK);
	world_open(&w, true, true, true);
	clock_gettime(CLOCK_MONOTONIC, &before);
	send_and_drain(&w, 5000);
	sink_flush(w.sink);
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert_true(after.tv_sec - before.tv_sec < 5);
	assert_true(sink_failed(w.sink) > 0);
	assert_int_equal(sink_written(w.sink) + sink_failed(w.sink), 5000);
	close(reader);
	world_free(&w);
}

static void a_pipe_without_a_reader_is_an_error_at_start(void **state)
{
	struct world w = world_new();
	struct sink_options options = {.path = w.path, .live = true};
	char err[256] = "";

	(void)state;
	assert_int_equal(mkfifo(w.path, 0600), 0);
	assert_true(sink_new(&options, w.dp, w.names, &w.sink, err, sizeof err) < 0);
	assert_non_null(strstr(err, w.path));
	options.path = "/nonexistent/eve.json";
	assert_int_equal(sink_new(&options, w.dp, w.names, &w.sink, err, sizeof err), -2);
	assert_non_null(strstr(err, "paths.events"));
	w.sink = NULL;
	world_free(&w);
}

static void without_a_path_events_are_counted(void **state)
{
	struct world w = world_new();
	struct sink_options options = {.flow_events = true};
	char err[256];

	(void)state;
	assert_int_equal(sink_new(&options, w.dp, w.names, &w.sink, err, sizeof err), 0);
	send_and_drain(&w, 7);
	sink_flush(w.sink);
	assert_int_equal(sink_written(w.sink), 7);
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flow),
		cmocka_unit_test(a_flow_of_ipv6_without_an_application),
		cmocka_unit_test(an_alert_that_blocks),
		cmocka_unit_test(an_alert_of_a_monitor_rule),
		cmocka_unit_test(an_alert_of_the_default),
		cmocka_unit_test(a_drop),
		cmocka_unit_test(a_cache_entry),
		cmocka_unit_test(an_anomaly_of_a_frame_without_addresses),
		cmocka_unit_test(a_trace_with_hostile_text),
		cmocka_unit_test(garbage_is_still_a_whole_line),
		cmocka_unit_test(the_longest_line_fits),
		cmocka_unit_test(records_of_the_control_core),
		cmocka_unit_test(unwanted_types_are_not_written),
		cmocka_unit_test(a_drain_is_bounded),
		cmocka_unit_test(a_rotation_loses_nothing),
		cmocka_unit_test(a_live_file_is_appended_to_and_a_replays_is_new),
		cmocka_unit_test(a_full_disk_never_tears_a_line),
		cmocka_unit_test(what_the_buffer_cannot_hold_is_counted),
		cmocka_unit_test(a_reader_that_stands_still_costs_no_time),
		cmocka_unit_test(a_pipe_without_a_reader_is_an_error_at_start),
		cmocka_unit_test(without_a_path_events_are_counted),
	};

	signal(SIGPIPE, SIG_IGN); // as the control loop does
	return cmocka_run_group_tests(tests, NULL, NULL);
}
