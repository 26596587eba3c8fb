// SPDX-License-Identifier: BSD-3-Clause
// What explain says of scripted cases (see test_explain.c). Here: what was decided, what never
// became a flow, and what came later.
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

static void monitored_by_a_rule(void **state)
{
	struct gate *gate = gate_new(1,
		"'rules':[{'id':'watch','match':{'app':['bittorrent']},'action':'reset','mode':"
		"'monitor'}]");
	(void)state;

	explained_handshake(gate, 1, 40001);
	json_t *told = explained_by_ends(gate, 1, "");

	explained_expect_evidence(told, "flow_made signature decision monitor");
	explained_expect_piece(told, "monitor", 0, "rule=watch action=reset");
	explained_expect_piece(told, "decision", 0, "rule=default action=pass");
	explained_expect_verdict(told, "monitored",
		"Passes, but rule \"watch\" (generation 1) would have reset it, were it not in "
		"monitor mode: bittorrent, verified by signature bittorrent-handshake in the first "
		"68 bytes of what the client sent.");
	json_decref(told);
	gate_free(gate);
}

static void monitored_by_the_policy(void **state)
{
	struct gate *gate = gate_new(1, "'mode':'monitor','default':'drop'");
	(void)state;

	explained_handshake(gate, 1, 40001);
	json_t *told = explained_by_ends(gate, 1, "");

	explained_expect_piece(told, "monitor", 0, "rule=default action=drop");
	assert_string_equal(explained_text(told, "outcome"), "monitored");
	assert_non_null(strstr(explained_text(told, "verdict"),
		"Passes, but the policy's default (generation 1) would have dropped it"));
	json_decref(told);
	gate_free(gate);
}

static void blocked_by_the_default(void **state)
{
	struct gate *gate = gate_new(1, "'default':'drop'");
	(void)state;

	gate_run(gate, &(struct pipe_packet){.sport = 40001, .tcp_flags = TH_SYN});
	json_t *told = explained_by_ends(gate, 1, "");

	explained_expect_evidence(told, "flow_made decision");
	explained_expect_piece(told, "decision", 0, "rule=default action=drop final=true");
	explained_expect_verdict(told, "blocked",
		"Dropped by the policy's default (generation 1), which needed no application.");
	json_decref(told);
	gate_free(gate);
}

static void allowed_by_an_earlier_rule(void **state)
{
	struct gate *gate = gate_new(1,
		"'rules':[{'id':'staff','match':{'source':['10.0.0.1'],'app':['bittorrent']},"
		"'action':'pass'},{'id':'no-p2p','match':{'app':['bittorrent']},'action':'drop'}]");
	(void)state;

	explained_handshake(gate, 1, 40001);
	json_t *told = explained_by_ends(gate, 1, "");

	explained_expect_piece(told, "decision", 0, "rule=staff action=pass final=true");
	explained_expect_verdict(told, "pass",
		"Passes by rule \"staff\" (generation 1): bittorrent, verified by signature "
		"bittorrent-handshake in the first 68 bytes of what the client sent.");
	json_decref(told);
	explained_handshake(gate, 3, 40001);
	told = explained_by_ends(gate, 3, "");
	explained_expect_piece(told, "decision", 0, "rule=no-p2p action=drop");
	json_decref(told);
	gate_free(gate);
}

static void invalid_packets(void **state)
{
	struct gate *gate = gate_new(1, "'invalid':{'malformed':'drop'}");
	uint8_t frame[256];
	(void)state;

	// a wrong checksum
	gate_run(gate,
		&(struct pipe_packet){.client = 5, .tcp_flags = TH_SYN, .bad_checksum = true});
	json_t *told = explained_by_ends(gate, 5, "");

	explained_expect_evidence(told, "invalid");
	explained_expect_piece(told, "invalid", 0, "reason=bad_checksum dropped=true generation=1");
	explained_expect_verdict(told, "invalid",
		"A packet from 10.0.0.5 to 10.0.0.2 port 80 has a wrong checksum: no host accepts "
		"it; it was dropped (invalid.malformed of the policy, generation 1).");
	json_decref(told);
	// malformed: a TCP header that says it is shorter than any
	unsigned length = pipe_build(
		&(struct pipe_packet){.client = 6, .tcp_flags = TH_SYN}, frame, sizeof(frame));

	frame[14 + 20 + 12] = 0x10;
	pipe_run_frame(gate->pipe, 0, frame, length, false, 1);
	told = explained_by_ends(gate, 6, "");
	explained_expect_piece(told, "invalid", 0, "reason=malformed dropped=true");
	assert_string_equal(explained_text(told, "outcome"), "invalid");
	json_decref(told);
	gate_free(gate);
}

static void unsupported_packets(void **state)
{
	struct gate *gate = gate_new(1, "'default':'pass'");
	uint8_t frame[256];
	(void)state;

	// IPIP in IPIP in IPIP ...: more tunnels than the gateway follows
	unsigned length = 14;

	memset(frame, 0, sizeof(frame));
	frame[12] = 8;
	for (unsigned i = 0; i < 10; i++, length += 20) {
		uint8_t *ip = frame + length;

		ip[0] = 0x45;
		ip[3] = (uint8_t)(20 * (10 - i));
		ip[8] = 64;
		ip[9] = IPPROTO_IPIP;
		ip[12] = ip[16] = 10;
		ip[15] = 7;
		ip[19] = 2;
		uint32_t sum = 0;

		for (unsigned k = 0; k < 20; k += 2)
			sum += (uint32_t)(ip[k] << 8 | ip[k + 1]);
		sum = (sum & 0xffff) + (sum >> 16);
		ip[10] = (uint8_t)(~sum >> 8);
		ip[11] = (uint8_t)~sum;
	}
	pipe_run_frame(gate->pipe, 0, frame, length, false, 1);
	gate->pipe->n_sent = 0;
	assert_int_equal(pipe_stats(gate->pipe).unsupported_pkts, 1);
	json_t *told = explained_by_ends(gate, 7, "");

	explained_expect_evidence(told, "invalid");
	explained_expect_piece(
		told, "invalid", 0, "reason=unsupported dropped=false src_ip=10.0.0.7");
	explained_expect_verdict(told, "invalid",
		"A packet from 10.0.0.7 to 10.0.0.2 has more headers or tunnels than the gateway "
		"follows; it was forwarded uninspected (invalid.unsupported of the policy, "
		"generation 1).");
	json_decref(told);
	gate_free(gate);
}

static void condemned_and_answering(void **state)
{
	struct gate *gate = gate_new(1, BLOCK_P2P);
	struct gate_tcp tcp = gate_connect(gate, 1, 40001, 6999);
	(void)state;

	gate_send(gate, &tcp, false, gate_handshake, HANDSHAKE_BYTES);
	gate->pipe->now_ns += NS_PER_S;
	gate_send(gate, &tcp, false, "late", 4);
	json_t *told = explained_by_ends(gate, 1, ",'src_port':40001");

	explained_expect_evidence(
		told, "flow_made signature decision cache_learned resets condemned");
	explained_expect_piece(told, "condemned", 0, "answered=true");
	assert_non_null(strstr(explained_text(told, "verdict"),
		"; packets came after that and were dropped and answered; the peer is"));
	json_decref(told);
	gate_free(gate);
}

static void decided_again_after_a_reload(void **state)
{
	struct gate *gate = gate_new(1, "'default':'pass'");
	struct gate_tcp tcp = gate_connect(gate, 1, 40001, 6999);
	(void)state;

	gate_send(gate, &tcp, false, gate_handshake, HANDSHAKE_BYTES);
	gate->pipe->now_ns += NS_PER_S;
	gate_policy(gate, "'rules':[{'id':'later','match':{'app':['bittorrent']},'action':'drop','"
			  "cache':'none'}]");
	gate_send(gate, &tcp, false, "more", 4);
	json_t *told = explained_by_ends(gate, 1, "");

	explained_expect_evidence(told, "flow_made signature decision decision");
	explained_expect_piece(
		told, "decision", 0, "rule=default generation=1 again=false action=pass");
	explained_expect_piece(
		told, "decision", 1, "rule=later generation=2 again=true action=drop");
	explained_expect_verdict(told, "blocked",
		"Dropped by rule \"later\" (generation 2): bittorrent, verified by signature "
		"bittorrent-handshake in the first 68 bytes of what the client sent; decided again "
		"when that policy came into force.");
	json_decref(told);
	// a rule of an older generation keeps its name; what it blocked is reprieved
	gate->pipe->now_ns += NS_PER_S;
	gate_policy(gate, "'default':'pass'");
	uint64_t id = 0;

	told = explained_by_ends(gate, 1, "");
	id = (uint64_t)explained_number(told, "flow_id");
	json_decref(told);
	gate_send(gate, &tcp, false, "again", 5);
	told = explained_by_id(gate, id);
	explained_expect_piece(told, "decision", 1, "rule=later generation=2");
	explained_expect_verdict(told, "pass",
		"Blocked before by rule \"later\" (generation 2); the policy of generation 3 no "
		"longer blocks it: its next packet began a new flow.");
	json_decref(told);
	gate_free(gate);
}

static void bytes_that_came_again_otherwise(void **state)
{
	struct gate *gate = gate_new(1, BLOCK_P2P);
	struct gate_tcp tcp = gate_connect(gate, 1, 40001, 80);
	(void)state;

	gate_send(gate, &tcp, false, "\xfe\xfe", 2);
	struct lcore *lcore = gate->pipe->dp.lcores[0];

	for (uint32_t ref = 0; ref < flow_table_usage(lcore->flows).flows_max; ref++) {
		if (flow_at(lcore->flows, ref)->gen)
			flow_event_anomaly(
				lcore, ref, NULL, ANOMALY_OVERLAP_CONFLICT, 4711, 17, HALF_S2C);
	}
	json_t *told = explained_by_ends(gate, 1, "");

	explained_expect_piece(told, "conflict", 0, "half=to_client offset=4711 length=17");
	assert_non_null(strstr(explained_text(told, "verdict"),
		"; 17 bytes of what the server sent came again with other content"));
	json_decref(told);
	gate_free(gate);
}

static void bytes_that_never_came(void **state)
{
	struct gate *gate = gate_new(1, BLOCK_P2P);
	struct gate_tcp tcp = gate_connect(gate, 1, 40001, 80);
	(void)state;

	gate_send(gate, &tcp, false, "\xfe\xfe", 2);
	tcp.seq[0] += 100;
	for (unsigned i = 0; i < 40; i++)
		gate_send(gate, &tcp, false, "??", 2);
	gate_send(gate, &tcp, true, "", 0); // the server has it all
	json_t *told = explained_by_ends(gate, 1, "");

	explained_expect_piece(told, "gap", 0, "half=to_server offset=2");
	assert_true(explained_number(explained_piece(told, "gap", 0), "length") >= 100);
	assert_non_null(
		strstr(explained_text(told, "verdict"), " bytes of what the client sent were "
							"never seen"));
	json_decref(told);
	gate_free(gate);
}

static void ended_and_never_seen(void **state)
{
	struct gate *gate = gate_new(1, "'default':'pass'");
	(void)state;

	explained_handshake(gate, 1, 40001);
	json_t *told = explained_by_ends(gate, 1, "");
	uint64_t id = (uint64_t)explained_number(told, "flow_id");

	json_decref(told);
	pipe_advance(gate->pipe, 8000);
	told = explained_by_id(gate, id);
	assert_true(json_is_false(json_object_get(told, "live")));
	explained_expect_piece(told, "ended", 0, "reason=timeout");
	assert_non_null(strstr(explained_text(told, "verdict"), "; it has ended."));
	json_decref(told);
	told = explained_by_ends(gate, 1, "");
	assert_int_equal(explained_number(told, "flow_id"), id);
	json_decref(told);
	told = explained_by_ends(gate, 77, "");
	explained_expect_verdict(told, "unknown",
		"No evidence: nothing like it was seen, or it has been overwritten.");
	json_decref(told);
	gate_nok(gate, "explain", "'flow_id':12345", "no flow 12345");
	gate_free(gate);
}

// Several lcores, several flows between the same ends: the latest, and the others by number.
static void the_latest_flow_is_explained(void **state)
{
	struct gate *gate = gate_new(3, "'default':'pass'");
	(void)state;

	for (uint16_t i = 0; i < 6; i++) {
		gate->pipe->now_ns += NS_PER_S;
		explained_handshake(gate, 1, (uint16_t)(40001 + i));
	}
	json_t *told = explained_by_ends(gate, 1, ""), *one;

	assert_int_equal(json_array_size(json_object_get(told, "flows")), 6);
	explained_expect_piece(told, "flow_made", 0, "src_port=40006");
	explained_expect_evidence(told, "flow_made signature decision");
	one = explained_by_id(gate,
		(uint64_t)json_integer_value(json_array_get(json_object_get(told, "flows"), 3)));
	explained_expect_piece(one, "flow_made", 0, "src_port=40003");
	json_decref(one);
	json_decref(told);
	gate_free(gate);
}

static void hostile_arguments(void **state)
{
	static const char *const cases[][2] = {
		{"", "flow_id, or src_ip and dest_ip"},
		{"'flow_id':0", "positive"},
		{"'flow_id':-7", "positive"},
		{"'flow_id':'7'", "positive"},
		{"'flow_id':1e3", "positive"},
		{"'flow_id':99999999999999999999", "JSON"},
		{"'flow_id':7,'src_ip':'10.0.0.1'", "leave one"},
		{"'src_ip':'10.0.0.1'", "dest_ip"},
		{"'src_ip':'10.0.0.1','dest_ip':'10.0.0.0/8'", "no address"},
		{"'src_ip':'10.0.0.1','dest_ip':''", "no address"},
		{"'src_ip':'10.0.0.1','dest_ip':7", "text"},
		{"'src_ip':'10.0.0.1','dest_ip':'10.0.0.2','src_port':65536", "65535"},
		{"'src_ip':'10.0.0.1','dest_ip':'10.0.0.2','proto':'x'", "protocol"},
		{"'src_ip':'10.0.0.1','dest_ip':'10.0.0.2','app':'http'", "none of them"},
	};
	struct gate *gate = gate_new(1, "'default':'pass'");
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		gate_nok(gate, "explain", cases[i][0], cases[i][1]);
	gate_free(gate);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(monitored_by_a_rule),
		cmocka_unit_test(monitored_by_the_policy),
		cmocka_unit_test(blocked_by_the_default),
		cmocka_unit_test(allowed_by_an_earlier_rule),
		cmocka_unit_test(invalid_packets),
		cmocka_unit_test(unsupported_packets),
		cmocka_unit_test(condemned_and_answering),
		cmocka_unit_test(decided_again_after_a_reload),
		cmocka_unit_test(bytes_that_came_again_otherwise),
		cmocka_unit_test(bytes_that_never_came),
		cmocka_unit_test(ended_and_never_seen),
		cmocka_unit_test(the_latest_flow_is_explained),
		cmocka_unit_test(hostile_arguments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
