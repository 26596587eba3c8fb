// SPDX-License-Identifier: BSD-3-Clause
// Every event type as one whole JSON line, as docs/events.md describes it.
#include "control/event/sink.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "control/event/eve.h"
#include "lib/control/eve_lines.h"

// Writes one event to a file, reads its line back.
static json_t *written(const struct event *event)
{
	struct dataplane *dp = fake_dataplane_new(2, false);
	struct rule_names *names = rule_names_new();
	char path[] = "/tmp/test_eve.XXXXXX", err[256] = "";
	struct sink_options options = {
		.path = path, .source = "pcap", .flow_events = true, .drop_events = true};
	json_t *list, *object;
	struct app_names *apps = app_names_new();
	const struct app_proto own = {
		.name = "intranet-wiki", .group = "intranet", .category = APP_CATEGORY_WEB};
	struct sink *sink;
	uint16_t id;

	close(mkstemp(path));
	assert_int_equal(app_names_intern(apps, &own, &id), 0);
	assert_int_equal(rule_names_intern(names, "no-bittorrent"), 1);
	assert_int_equal(rule_names_intern(names, "J\xc3\xb6rg \"x\""), 2); // a user
	assert_int_equal(sink_new(&options, dp, names, &sink, err, sizeof err), 0);
	sink_set_apps(sink, apps);
	fake_event_send(dp, 1, event);
	assert_int_equal(sink_drain(sink, 0), 1);
	sink_free(sink);
	app_names_free(apps);
	list = lines_read(path);
	assert_int_equal(json_array_size(list), 1);
	object = json_incref(json_array_get(list, 0));
	json_decref(list);
	unlink(path);
	rule_names_free(names);
	fake_dataplane_free(dp);
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
	stream_report_gap(&event.flow.stream, HALF_S2C, 1448);
	stream_report_gap(&event.flow.stream, HALF_S2C, 2);
	event.flow.tcp_flags[HALF_C2S] = 0x02;
	event.flow.tcp_flags[HALF_S2C] = 0x1b;
	event.flow.state = FLOW_STATE_BLOCKED;
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
	has_number(o, "tcp.toclient.gaps", 2);
	has_number(o, "tcp.toclient.gap_bytes", 1450);
	has_not(o, "tcp.toclient.held_pkts"); // only what is not 0
	has_not(o, "tcp.toserver");
	has_not(o, "flow.law");
	has_text(o, "app_proto", "bittorrent");
	has_text(o, "app.category", "p2p");
	has_text(o, "app.confidence", "verified");
	has_number(o, "app.decided_pkts", 1);
	json_decref(o);
}

static void a_user_of_each_kind_of_event(void **state)
{
	static const enum event_type types[] = {
		EVENT_FLOW, EVENT_ALERT, EVENT_DROP, EVENT_CONNCACHE, EVENT_INVALID, EVENT_ANOMALY};

	(void)state;
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		struct event event = event_of(types[i]);
		json_t *o;

		o = written(&event);
		has_not(o, "user"); // nobody's address
		json_decref(o);
		event.user_uid = 2;
		o = written(&event);
		has_text(o, "user", "J\xc3\xb6rg \"x\"");
		json_decref(o);
	}
}

static void is_exception(json_t *o, size_t index, const char *target, const char *policy)
{
	json_t *entry = json_array_get(at(o, "flow.exception_policy"), index);

	has_text(entry, "target", target);
	has_text(entry, "policy", policy);
}

static void what_reassembly_says_of_a_flow(void **state)
{
	struct event event = event_of(EVENT_FLOW);
	json_t *o;

	(void)state;
	event.flow.stream.half[HALF_C2S] = (struct stream_half_report){
		.duplicate_bytes = 5792,
		.conflict_bytes = 17,
		.held_pkts = 12,
		.copied_kb = 65,
		.held_cs = 302,
	};
	event.flow.stream.midstream = 1 << HALF_S2C;
	event.flow.stream.dropped =
		1 << STREAM_TARGET_HELD_LIMIT | 1 << STREAM_TARGET_REASSEMBLY_MEMORY;
	event.flow.stream.passed =
		1 << STREAM_TARGET_HALF_LIMIT | 1 << STREAM_TARGET_REASSEMBLY_MEMORY;
	o = written(&event);
	has_number(o, "tcp.toserver.dup_bytes", 5792);
	has_number(o, "tcp.toserver.conflict_bytes", 17);
	has_number(o, "tcp.toserver.held_pkts", 12);
	has_number(o, "tcp.toserver.copied_kb", 65);
	has_number(o, "tcp.toserver.held_ms", 3020);
	has_not(o, "tcp.toserver.gaps");
	has_not(o, "tcp.toserver.midstream");
	assert_true(json_is_true(at(o, "tcp.toclient.midstream")));
	assert_int_equal(json_object_size(at(o, "tcp.toclient")), 1);
	assert_int_equal(json_array_size(at(o, "flow.exception_policy")), 4);
	is_exception(o, 0, "reassembly_memory", "drop_packet");
	is_exception(o, 1, "reassembly_memory", "pass_packet");
	is_exception(o, 2, "half_limit", "pass_packet");
	is_exception(o, 3, "held_limit", "drop_packet");
	has_text(o, "flow.law", "waived");
	assert_int_equal(json_array_size(at(o, "flow.law_reason")), 2);
	assert_string_equal(json_string_value(json_array_get(at(o, "flow.law_reason"), 0)),
		"reassembly_memory");
	assert_string_equal(
		json_string_value(json_array_get(at(o, "flow.law_reason"), 1)), "half_limit");
	json_decref(o);
	event.flow.stream.passed = 0; // dropping keeps the law
	o = written(&event);
	assert_int_equal(json_array_size(at(o, "flow.exception_policy")), 2);
	has_not(o, "flow.law");
	json_decref(o);
}

static void an_elephant_goes_on(void **state)
{
	struct event event = event_of(EVENT_ELEPHANT);
	json_t *o;

	(void)state;
	event.flow.start_ns = T0 - 6 * NS_PER_S;
	event.flow.end_ns = T0;
	event.flow.bytes[HALF_S2C] = 100000000;
	event.flow.state = FLOW_STATE_ESTABLISHED;
	event.flow.elephant = true;
	event.flow.rate_bytes_s = 15000000;
	o = written(&event);
	what_every_event_has(o, "elephant");
	assert_true(json_is_true(at(o, "flow.elephant")));
	has_number(o, "flow.rate_bytes_s", 15000000);
	has_number(o, "flow.bytes_toclient", 100000000);
	has_text(o, "flow.state", "established");
	has_not(o, "flow.reason"); // it has not ended
	json_decref(o);
	event.type = EVENT_FLOW;
	o = written(&event);
	assert_true(json_is_true(at(o, "flow.elephant")));
	has_not(o, "flow.rate_bytes_s");
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
	event.flow.stream.ignored = 1 << STREAM_TARGET_CLASSIFY_STATES;
	o = written(&event);
	has_text(o, "src_ip", "2001:db8::1");
	has_number(o, "ip_v", 6);
	has_text(o, "proto", "UDP");
	has_text(o, "app_proto", "failed");
	has_text(o, "flow.action", "accept");
	has_text(o, "flow.state", "established");
	is_exception(o, 0, "classify_states", "ignore");
	assert_int_equal(json_array_size(at(o, "flow.exception_policy")), 1);
	has_not(o, "flow.law"); // nothing is enforced
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

static void an_anomaly_of_a_stream(void **state)
{
	struct event event = event_of(EVENT_ANOMALY);
	json_t *o;

	(void)state;
	event.reason = ANOMALY_OVERLAP_CONFLICT;
	event.half = HALF_S2C;
	event.anomaly.offset = 5000000000;
	event.anomaly.bytes = 17;
	o = written(&event);
	what_every_event_has(o, "anomaly");
	has_text(o, "src_ip", "192.0.2.200"); // of the packet
	has_text(o, "direction", "to_client");
	has_text(o, "anomaly.type", "stream");
	has_text(o, "anomaly.event", "overlap_conflict");
	has_number(o, "anomaly.offset", 5000000000);
	has_number(o, "anomaly.bytes", 17);
	json_decref(o);
}

static void an_anomaly_of_fragments(void **state)
{
	struct event event = {.type = EVENT_ANOMALY,
		.now_ns = T0,
		.reason = ANOMALY_FRAGMENT_OVERLAP,
		.l4_proto = 17,
		.signature = UINT16_MAX,
		.ends = fake_ends("10.0.0.1", 0, "192.0.2.200", 0),
		.anomaly = {.offset = 1480, .bytes = 8}};
	json_t *o = written(&event);

	(void)state;
	has_text(o, "src_ip", "10.0.0.1");
	has_text(o, "direction", "to_server");
	has_text(o, "anomaly.type", "defrag");
	has_text(o, "anomaly.event", "fragment_overlap");
	has_number(o, "anomaly.offset", 1480);
	has_number(o, "anomaly.bytes", 8);
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

static void a_user_defined_application(void **state)
{
	struct event event = event_of(EVENT_ALERT);
	json_t *o;

	(void)state;
	event.app = (uint16_t)(app_count() + 1);
	event.confidence = CONFIDENCE_DPI;
	o = written(&event);
	has_text(o, "app_proto", "intranet-wiki");
	has_text(o, "app.name", "intranet-wiki");
	has_text(o, "app.group", "intranet");
	has_text(o, "app.category", "web");
	has_text(o, "alert.category", "web");
	json_decref(o);
	event.app++; // never given
	o = written(&event);
	assert_null(json_object_get(o, "app_proto"));
	json_decref(o);
}

// Other bytes than 0 and 1 are no bool: of what is filled with garbage they are made from `bits`.
static void make_bools(struct event *event, unsigned bits)
{
	event->has_mac = bits & 8;
	if (event->type == EVENT_ALERT) {
		event->alert.scanned = bits & 2;
		event->alert.has_id = bits & 4;
	}
	if (event->type == EVENT_FLOW || event->type == EVENT_ELEPHANT) {
		event->flow.alerted = bits & 8;
		event->flow.content.is = bits & 4;
		event->flow.elephant = bits & 4;
		event->flow.v6 = event->flow.gaveup = bits & 1;
		event->flow.midstream = event->flow.bypassed = bits & 2;
	}
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
		make_bools(&event, round);
		o = written(&event);
		json_decref(o);
	}
}

static void the_longest_line_fits(void **state)
{
	struct event event;
	struct dataplane *dp = fake_dataplane_new(2, false);
	struct rule_names *rules = rule_names_new();
	struct eve_names names = {.dp = dp, .rules = rules, .source = "wire/pcap"};
	char line[EVE_LINE_MAX];
	struct json_out out;

	(void)state;
	for (unsigned type = 0; type <= EVENT_TRACE; type++) {
		memset(&event, 0xff, sizeof event);
		event.type = (uint8_t)type;
		event.app = 1;
		event.in_port = 0;
		make_bools(&event, ~0u);
		if (type == EVENT_TRACE)
			memset(event.trace.text, 1, sizeof event.trace.text);
		json_out_init(&out, line, sizeof line);
		eve_render(&names, &event, NULL, &out);
		assert_false(out.full);
		assert_true(json_out_length(&out) < EVE_LINE_MAX / 2);
	}
	rule_names_free(rules);
	fake_dataplane_free(dp);
}

// What another flow announced: in the record of the transfer, and by its parent in all of them.
static void a_transfer(void **state)
{
	struct event event = event_of(EVENT_TRANSFER);
	json_t *o;

	(void)state;
	event.expected_as = EXPECTED_DCC + 1;
	event.parent = 4321;
	event.transfer.size = 5000000000;
	memcpy(event.transfer.user, "al\"ice", 7);
	memcpy(event.transfer.file, "caf\xe9.txt", 9); // no UTF-8
	o = written(&event);
	what_every_event_has(o, "transfer");
	has_text(o, "expected.as", "dcc");
	has_number(o, "expected.parent", 4321);
	has_text(o, "transfer.user", "al\"ice");
	has_text(o, "transfer.filename", "caf\xef\xbf\xbd.txt");
	has_number(o, "transfer.size", 5000000000);
	json_decref(o);
	memset(&event.transfer, 0, sizeof event.transfer);
	memset(event.transfer.file, 'x', sizeof event.transfer.file); // not even its end
	event.expected_as = 0;
	o = written(&event);
	assert_null(json_object_get(o, "expected"));
	assert_null(at(o, "transfer.user"));
	assert_null(at(o, "transfer.size"));
	assert_int_equal(json_string_length(at(o, "transfer.filename")), TRANSFER_FILE_BYTES);
	json_decref(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flow),
		cmocka_unit_test(a_transfer),
		cmocka_unit_test(a_user_of_each_kind_of_event),
		cmocka_unit_test(what_reassembly_says_of_a_flow),
		cmocka_unit_test(an_elephant_goes_on),
		cmocka_unit_test(a_flow_of_ipv6_without_an_application),
		cmocka_unit_test(an_alert_that_blocks),
		cmocka_unit_test(an_alert_of_a_monitor_rule),
		cmocka_unit_test(an_alert_of_the_default),
		cmocka_unit_test(a_drop),
		cmocka_unit_test(a_cache_entry),
		cmocka_unit_test(an_anomaly_of_a_frame_without_addresses),
		cmocka_unit_test(an_anomaly_of_a_stream),
		cmocka_unit_test(an_anomaly_of_fragments),
		cmocka_unit_test(a_trace_with_hostile_text),
		cmocka_unit_test(a_user_defined_application),
		cmocka_unit_test(garbage_is_still_a_whole_line),
		cmocka_unit_test(the_longest_line_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
