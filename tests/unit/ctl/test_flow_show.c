// SPDX-License-Identifier: BSD-3-Clause
// What a live flow's halves look like from outside, and what its anomalies and its end leave in
// the event file: from frames to JSON.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/pipeline/explained.h"
#include "pipeline/event/flow_event.h"

static json_int_t number(json_t *object, const char *path)
{
	char key[64];
	const char *dot;

	while ((dot = strchr(path, '.'))) {
		snprintf(key, sizeof key, "%.*s", (int)(dot - path), path);
		object = json_object_get(object, key);
		path = dot + 1;
	}
	json_t *value = json_object_get(object, path);

	if (!json_is_integer(value))
		fail_msg("no number %s", path);
	return json_integer_value(value);
}

static bool is(json_t *shown, const char *half, const char *word)
{
	json_t *list = json_object_get(json_object_get(shown, half), "is"), *one;
	size_t i;

	json_array_foreach (list, i, one) {
		if (!strcmp(json_string_value(one), word))
			return true;
	}
	return false;
}

static json_t *show(struct gate *gate)
{
	json_t *list = gate_ok(gate, "flow-list", "");
	char text[64];

	assert_int_equal(number(list, "matched"), 1);
	snprintf(text, sizeof text, "'flow_id':%lld",
		(long long)number(json_array_get(json_object_get(list, "flows"), 0), "flow_id"));
	json_decref(list);
	return gate_ok(gate, "flow-show", text);
}

static unsigned send_at(struct gate *gate, const struct gate_tcp *tcp, int32_t ahead, uint8_t flags,
	const char *text)
{
	return gate_run(gate, &(struct pipe_packet){.client = tcp->client,
				      .sport = tcp->sport,
				      .dport = tcp->dport,
				      .seq = tcp->seq[0] + (uint32_t)ahead,
				      .ack = tcp->seq[1],
				      .tcp_flags = flags,
				      .payload = text,
				      .payload_length = (uint16_t)strlen(text)});
}

static void a_hole_and_what_lies_behind_it(void **state)
{
	struct gate *gate = gate_new(1, BLOCK_P2P);
	struct gate_tcp tcp = gate_connect(gate, 1, 40001, 80);
	(void)state;

	gate_send(gate, &tcp, false, "abc", 3);
	assert_int_equal(send_at(gate, &tcp, 100, TH_ACK, "0123456789"), 1);
	assert_int_equal(send_at(gate, &tcp, 110, TH_ACK, "0123456789"), 1); // one block
	assert_int_equal(send_at(gate, &tcp, 200, TH_ACK, "0123456"), 1);
	json_t *shown = show(gate);

	assert_true(json_is_true(json_object_get(shown, "tracked")));
	assert_true(is(shown, "tcp_toserver", "started"));
	assert_false(is(shown, "tcp_toserver", "midstream"));
	assert_false(is(shown, "tcp_toserver", "processing"));
	assert_int_equal(number(shown, "tcp_toserver.next"), tcp.seq[0]);
	assert_int_equal(number(shown, "tcp_toserver.next_offset"), 3);
	assert_int_equal(number(shown, "tcp_toserver.released_offset"), 3);
	assert_int_equal(number(shown, "tcp_toserver.acked_offset"), 0);
	assert_int_equal(number(shown, "tcp_toserver.copies.segments"), 2);
	assert_int_equal(number(shown, "tcp_toserver.copies.bytes"), 27);
	assert_int_equal(number(shown, "tcp_toserver.copies.holes"), 2);
	assert_int_equal(number(shown, "tcp_toserver.sent.segments"), 1);
	assert_int_equal(number(shown, "tcp_toserver.sent.bytes"), 3);
	assert_int_equal(number(shown, "tcp_toserver.held.segments"), 0);
	assert_int_equal(number(shown, "tcp_toserver.gaps"), 0);
	json_decref(shown);
	// its receiver acknowledges all but the hole, and says how much more it takes
	gate_run(gate, &(struct pipe_packet){.client = 1,
			       .sport = 40001,
			       .dport = 80,
			       .seq = tcp.seq[1],
			       .ack = tcp.seq[0],
			       .tcp_flags = TH_ACK,
			       .from_outside = true});
	shown = show(gate);
	assert_int_equal(number(shown, "tcp_toserver.acked_offset"), 3);
	assert_int_equal(number(shown, "tcp_toserver.sent.segments"), 0);
	assert_int_equal(number(shown, "tcp_toserver.copies.segments"), 2);
	assert_true(number(shown, "tcp_toserver.window") >= 60000);
	json_decref(shown);
	gate_free(gate);
}

static void bytes_that_differ_are_counted_and_replaced(void **state)
{
	struct gate *gate = gate_new(1, BLOCK_P2P);
	struct gate_tcp tcp = gate_connect(gate, 1, 40001, 80);
	(void)state;

	gate_send(gate, &tcp, false, "hello world", 11);
	assert_int_equal(send_at(gate, &tcp, -11, TH_ACK, "hellO worlD"), 1);
	const struct pipe_sent *sent = &gate->pipe->sent[0];

	assert_memory_equal(sent->frame + sent->length - 11, "hello world", 11);
	json_t *event = gate_event(gate, "anomaly");

	assert_non_null(event);
	assert_string_equal(
		explained_text(json_object_get(event, "anomaly"), "event"), "overlap_conflict");
	assert_string_equal(explained_text(json_object_get(event, "anomaly"), "type"), "stream");
	assert_string_equal(explained_text(event, "direction"), "to_server");
	assert_int_equal(number(event, "anomaly.offset"), 4);
	assert_int_equal(number(event, "anomaly.bytes"), 2);
	json_decref(event);
	json_t *shown = show(gate);

	assert_int_equal(number(shown, "tcp_toserver.conflict_bytes"), 2);
	assert_int_equal(number(shown, "tcp_toserver.dup_bytes"), 11);
	json_decref(shown);
	json_t *told = explained_by_ends(gate, 1, "");

	explained_expect_piece(told, "conflict", 0, "half=to_server offset=4 length=2");
	json_decref(told);
	flow_end_some(gate->pipe->dp.lcores[0], FLOW_STEP_SHUTDOWN, 8);
	event = gate_event(gate, "flow");
	assert_non_null(event);
	assert_int_equal(number(event, "tcp.toserver.conflict_bytes"), 2);
	assert_int_equal(number(event, "tcp.toserver.dup_bytes"), 11);
	json_decref(event);
	gate_free(gate);
}

static void expect_anomaly(struct gate *gate, const char *word, json_int_t offset)
{
	json_t *event = gate_event(gate, "anomaly");

	assert_non_null(event);
	assert_string_equal(explained_text(json_object_get(event, "anomaly"), "event"), word);
	assert_int_equal(number(event, "anomaly.offset"), offset);
	json_decref(event);
}

static void what_no_receiver_takes_is_an_anomaly(void **state)
{
	struct gate *gate = gate_new(1, BLOCK_P2P);
	struct gate_tcp tcp = gate_connect(gate, 1, 40001, 80);
	(void)state;

	gate_send(gate, &tcp, false, "abc", 3);
	assert_null(gate_event(gate, "anomaly"));
	assert_int_equal(send_at(gate, &tcp, 0x41000000, TH_ACK, "??"), 0);
	expect_anomaly(gate, "window", 3 + 0x41000000);
	// in the window, but not where the next byte is: its receiver asks
	assert_int_equal(send_at(gate, &tcp, 5, TH_RST, ""), 1);
	expect_anomaly(gate, "reset_challenge", 8);
	json_t *shown = show(gate);

	assert_true(is(shown, "tcp_toserver", "closing"));
	json_decref(shown);
	send_at(gate, &tcp, 0, TH_ACK, "go on");
	assert_int_equal(pipe_stats(gate->pipe).tcp_closing_pkts, 1);
	assert_null(gate_event(gate, "anomaly"));
	gate_free(gate);
}

static void a_connection_without_its_beginning(void **state)
{
	struct gate *gate = gate_new(1, BLOCK_P2P);
	struct gate_tcp tcp = {.client = 1, .sport = 40001, .dport = 80, .seq = {777, 888}};
	(void)state;

	send_at(gate, &tcp, 0, TH_ACK, "abc");
	expect_anomaly(gate, "midstream", 0);
	send_at(gate, &tcp, 3, TH_ACK, "def");
	assert_null(gate_event(gate, "anomaly")); // once
	json_t *shown = show(gate);

	assert_true(is(shown, "tcp_toserver", "midstream"));
	assert_false(is(shown, "tcp_toclient", "started"));
	json_decref(shown);
	flow_end_some(gate->pipe->dp.lcores[0], FLOW_STEP_SHUTDOWN, 8);
	json_t *event = gate_event(gate, "flow");

	assert_true(json_is_true(json_object_get(
		json_object_get(json_object_get(event, "tcp"), "toserver"), "midstream")));
	json_decref(event);
	gate_free(gate);
}

static uint64_t bytes_of_all(const struct gate *gate)
{
	const struct lcore *lcore = gate->pipe->dp.lcores[0];
	uint64_t bytes = 0;

	for (unsigned app = 0; app < APPS_MAX; app++)
		bytes += lcore->apps[app].bytes[0] + lcore->apps[app].bytes[1];
	return bytes;
}

// A block takes nothing away from what the flow has carried, and its end adds nothing to it.
static void a_blocked_flow_keeps_its_bytes(void **state)
{
	struct gate *gate = gate_new(1, "'default':'pass'");
	(void)state;

	struct gate_tcp tcp = gate_connect(gate, 1, 40001, 6999);

	gate_send(gate, &tcp, false, gate_handshake, HANDSHAKE_BYTES);
	gate_send(gate, &tcp, true, gate_handshake, HANDSHAKE_BYTES);
	json_t *before = gate_ok(gate, "flow-list", "");
	json_t *flow = json_array_get(json_object_get(before, "flows"), 0);

	assert_true(explained_number(flow, "bytes_toserver") > HANDSHAKE_BYTES);
	gate_policy(gate, BLOCK_P2P);
	gate_send(gate, &tcp, true, "x", 1);
	uint64_t counted = bytes_of_all(gate);
	json_t *list = gate_ok(gate, "flow-list", "");
	json_t *blocked = json_array_get(json_object_get(list, "flows"), 0);

	assert_string_equal(explained_text(blocked, "state_word"), "condemned");
	assert_int_equal(explained_number(blocked, "bytes_toserver"),
		explained_number(flow, "bytes_toserver"));
	assert_true(explained_number(blocked, "bytes_toclient") >
		    explained_number(flow, "bytes_toclient")); // the packet that was refused
	assert_int_equal(explained_number(blocked, "pkts_toserver"),
		explained_number(flow, "pkts_toserver"));
	assert_true(counted > 0);
	gate->pipe->now_ns += 600 * NS_PER_S;
	pipe_turns(gate->pipe);
	assert_int_equal(pipe_stats(gate->pipe).flows_ended, 1);
	assert_int_equal(bytes_of_all(gate), counted);
	json_decref(list);
	json_decref(before);
	gate_free(gate);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_blocked_flow_keeps_its_bytes),
		cmocka_unit_test(a_hole_and_what_lies_behind_it),
		cmocka_unit_test(bytes_that_differ_are_counted_and_replaced),
		cmocka_unit_test(what_no_receiver_takes_is_an_anomaly),
		cmocka_unit_test(a_connection_without_its_beginning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
