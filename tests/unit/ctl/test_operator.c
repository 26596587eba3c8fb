// SPDX-License-Identifier: BSD-3-Clause
// What the operator does by hand, through the commands and the real packet path: flows reset and
// allowed, entries of the connection cache made, removed and exempt, on every lcore; what events
// and explain say of it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/pipeline/explained.h"

#define LCORES 3

static uint64_t id_of(struct gate *gate, uint32_t client)
{
	char text[64];

	snprintf(text, sizeof(text), "'host':'10.0.0.%u'", client);
	json_t *list = gate_ok(gate, "flow-list", text);
	uint64_t id = (uint64_t)explained_number(
		json_array_get(json_object_get(list, "flows"), 0), "flow_id");

	json_decref(list);
	return id;
}

static json_t *do_to(struct gate *gate, const char *command, uint64_t flow_id, const char *more)
{
	char text[128];

	snprintf(text, sizeof(text), "'flow_id':%llu%s", (unsigned long long)flow_id, more);
	return gate_ok(gate, command, text);
}

static void refuse_to(struct gate *gate, const char *command, uint64_t flow_id, const char *more,
	const char *word)
{
	char text[128];

	snprintf(text, sizeof(text), "'flow_id':%llu%s", (unsigned long long)flow_id, more);
	gate_nok(gate, command, text, word);
}

static unsigned syn(struct gate *gate, uint32_t client, uint16_t sport, uint16_t dport)
{
	return gate_run(gate,
		&(struct pipe_packet){
			.client = client, .sport = sport, .dport = dport, .tcp_flags = TH_SYN});
}

static const struct pipe_sent *resets_of(struct gate *gate, unsigned *n)
{
	// gate_ask has turned the lcores: what they made lies on the wire
	*n = gate->pipe->n_sent;
	gate->pipe->n_sent = 0;
	return gate->pipe->sent;
}

static uint32_t word_at(const struct pipe_sent *sent, unsigned offset)
{
	const uint8_t *at = sent->frame + 14 + 20 + offset;

	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void a_flow_is_reset_at_both_ends(void **state)
{
	struct gate *gate = gate_new(LCORES, "'default':'pass'");
	struct gate_tcp tcp = gate_connect(gate, 1, 40001, 80);
	unsigned n;
	(void)state;

	gate_send(gate, &tcp, false, "hello", 5);
	gate_send(gate, &tcp, true, "hello to you", 12);
	uint64_t id = id_of(gate, 1);
	json_t *done = do_to(gate, "flow-reset", id, "");
	const struct pipe_sent *sent = resets_of(gate, &n);

	assert_string_equal(explained_text(done, "was"), "flow");
	assert_string_equal(explained_text(done, "cache"), "none");
	assert_int_equal(explained_number(done, "resets"), 3);
	json_decref(done);
	// each end gets one at exactly its next byte (RFC 5961), and one more where the last
	// acknowledgement was behind
	unsigned to_server = 0, to_client = 0;

	assert_int_equal(n, 3);
	for (unsigned i = 0; i < n; i++) {
		assert_true(sent[i].frame[14 + 20 + 13] & TH_RST);
		if (sent[i].port == PIPE_OUTSIDE)
			to_server += word_at(&sent[i], 4) == tcp.seq[0];
		else
			to_client += word_at(&sent[i], 4) == tcp.seq[1];
	}
	assert_int_equal(to_server, 1);
	assert_int_equal(to_client, 1);
	// what comes is dropped, answered, and no reload reprieves it
	gate->pipe->now_ns += NS_PER_S;
	assert_int_equal(gate_send(gate, &tcp, false, "late", 4), 1);
	gate_policy(gate, "'default':'pass'");
	gate->pipe->now_ns += NS_PER_S;
	assert_int_equal(gate_send(gate, &tcp, false, "late", 4), 1);
	assert_int_equal(pipe_stats(gate->pipe).dropped_pkts[DROP_BLOCKED], 2);
	json_t *told = explained_by_id(gate, id);

	explained_expect_piece(told, "operator", 0, "command=flow-reset expired=false");
	explained_expect_piece(told, "resets", 0, "sent=3");
	explained_expect_verdict(told, "blocked", "Reset by the operator.");
	json_decref(told);
	json_t *event = gate_event(gate, "flow");

	assert_string_equal(explained_text(json_object_get(event, "flow"), "operator"), "reset");
	assert_string_equal(explained_text(json_object_get(event, "flow"), "action"), "drop");
	assert_null(json_object_get(event, "rule"));
	json_decref(event);
	refuse_to(gate, "flow-reset", id, "", "condemned already");
	refuse_to(gate, "flow-reset", id + 1, "", "no flow");
	// a new connection on its ports is decided anew
	assert_int_equal(syn(gate, 1, 40001, 80), 1);
	gate_free(gate);
}

static void a_reset_is_told(void **state)
{
	struct gate *gate = gate_new(1, "'default':'pass'");
	struct gate_tcp tcp = gate_connect(gate, 1, 40001, 80);
	(void)state;

	gate_send(gate, &tcp, false, "hello", 5);
	uint64_t id = id_of(gate, 1);

	json_decref(do_to(gate, "flow-reset", id, ",'cache':'peer'"));
	json_t *event = gate_event(gate, "operator");
	const json_t *word = json_object_get(event, "operator");

	assert_int_equal(explained_number(event, "flow_id"), id);
	assert_string_equal(explained_text(event, "src_ip"), "10.0.0.1");
	assert_string_equal(explained_text(word, "command"), "flow-reset");
	assert_string_equal(explained_text(word, "cache"), "peer");
	assert_int_equal(explained_number(word, "resets"), 2);
	json_decref(event);
	gate_free(gate);
}

static void a_reset_teaches_the_cache_of_all_lcores(void **state)
{
	struct gate *gate = gate_new(LCORES, "'default':'pass'");
	struct gate_tcp tcp = gate_connect(gate, 1, 40001, 80);
	(void)state;

	gate_send(gate, &tcp, false, "hello", 5);
	uint64_t id = id_of(gate, 1);

	json_decref(do_to(gate, "flow-reset", id, ",'cache':'tuple'"));
	gate->pipe->n_sent = 0;
	pipe_turns(gate->pipe);
	for (uint16_t i = 0; i < 12; i++) // ports that fall to all lcores
		assert_int_equal(syn(gate, 1, (uint16_t)(41000 + i), 80), 0);
	assert_int_equal(pipe_stats(gate->pipe).dropped_pkts[DROP_CONN_CACHE], 12);
	assert_int_equal(syn(gate, 1, 42000, 81), 1); // another port
	// it is the operator's: no reload heals it
	gate_policy(gate, "'default':'pass'");
	assert_int_equal(syn(gate, 1, 43000, 80), 0);
	json_t *told = explained_by_ends(gate, 1, ",'src_port':43000,'dest_port':80");

	assert_non_null(strstr(explained_text(told, "verdict"),
		"are in the connection cache by the operator, taught by flow "));
	json_decref(told);
	gate_free(gate);
}

static void what_has_no_payload_is_reset_with_its_next_packet(void **state)
{
	struct gate *gate = gate_new(1, "'default':'pass'");
	(void)state;

	gate_connect(gate, 1, 40001, 80);
	json_t *done = do_to(gate, "flow-reset", id_of(gate, 1), "");

	assert_string_equal(explained_text(done, "was"), "embryonic");
	assert_int_equal(explained_number(done, "resets"), 0);
	json_decref(done);
	gate->pipe->n_sent = 0;
	assert_int_equal(gate_run(gate, &(struct pipe_packet){.sport = 40001,
						.dport = 80,
						.seq = 1000,
						.ack = 5000,
						.payload = "data",
						.payload_length = 4}),
		1);
	assert_true(gate->pipe->sent[0].frame[14 + 20 + 13] & TH_RST);
	assert_int_equal(gate->pipe->sent[0].port, PIPE_INSIDE);
	// a datagram's flow: ICMP unreachable for the next one
	struct pipe_packet datagram = {.client = 3,
		.proto = IPPROTO_UDP,
		.dport = 5000,
		.payload = "one",
		.payload_length = 3};

	gate_run(gate, &datagram);
	done = do_to(gate, "flow-reset", id_of(gate, 3), "");
	assert_string_equal(explained_text(done, "was"), "flow");
	json_decref(done);
	gate->pipe->n_sent = 0;
	assert_int_equal(gate_run(gate, &datagram), 1);
	assert_int_equal(gate->pipe->sent[0].frame[14 + 9], IPPROTO_ICMP);
	assert_int_equal(gate_run(gate, &datagram), 0);
	gate_free(gate);
}

#define NO_P2P "'rules':[{'id':'no-p2p','match':{'app':['bittorrent']},'action':'reset'}]"

static void an_allowed_flow_passes_whatever_the_policy_says(void **state)
{
	struct gate *gate = gate_new(LCORES, "'default':'pass'");
	struct gate_tcp tcp = gate_connect(gate, 1, 40001, 6999);
	struct gate_tcp other = gate_connect(gate, 3, 40001, 6999);
	(void)state;

	gate_send(gate, &tcp, false, gate_handshake, HANDSHAKE_BYTES);
	gate_send(gate, &other, false, gate_handshake, HANDSHAKE_BYTES);
	uint64_t id = id_of(gate, 1);
	json_t *done = do_to(gate, "flow-allow", id, "");

	assert_string_equal(explained_text(done, "was"), "flow");
	assert_null(json_object_get(done, "ttl_s"));
	json_decref(done);
	for (unsigned i = 0; i < 3; i++) {
		gate_policy(gate, i == 1 ? "'default':'drop'" : NO_P2P);
		assert_int_equal(gate_send(gate, &tcp, false, "more", 4), 1);
		assert_int_equal(gate_send(gate, &tcp, true, "and more", 8), 1);
	}
	gate_send(gate, &other, false, "more", 4);
	assert_int_equal(pipe_stats(gate->pipe).flows_condemned, 1); // the other
	json_t *told = explained_by_id(gate, id);

	explained_expect_verdict(
		told, "pass", "Passes because the operator allowed it, whatever the policy says.");
	json_decref(told);
	json_t *list = gate_ok(gate, "flow-list", "'host':'10.0.0.1'");
	json_t *flow = json_array_get(json_object_get(list, "flows"), 0);
	json_t *flags = json_object_get(flow, "flags");
	bool allowed = false;

	for (size_t i = 0; i < json_array_size(flags); i++)
		allowed |= !strcmp(json_string_value(json_array_get(flags, i)), "allowed");
	assert_true(allowed);
	json_decref(list);
	json_t *event = gate_event(gate, "operator");

	assert_string_equal(
		explained_text(json_object_get(event, "operator"), "command"), "flow-allow");
	json_decref(event);
	// its client's next connection is blocked as any other, by the cache or the rule
	pipe_advance(gate->pipe, 8000);
	event = gate_event(gate, "flow"); // the other's, when it was blocked
	json_decref(event);
	event = gate_event(gate, "flow");
	assert_string_equal(explained_text(json_object_get(event, "flow"), "operator"), "allow");
	json_decref(event);
	gate_free(gate);
}

static void an_allowance_ends(void **state)
{
	struct gate *gate = gate_new(1, NO_P2P ",'reevaluate':'none'");
	struct gate_tcp tcp = gate_connect(gate, 1, 40001, 6999);
	(void)state;

	uint64_t id = id_of(gate, 1); // embryonic: payload is still to come
	json_t *done = do_to(gate, "flow-allow", id, ",'ttl_s':60");

	assert_string_equal(explained_text(done, "was"), "embryonic");
	assert_int_equal(explained_number(done, "ttl_s"), 60);
	json_decref(done);
	assert_int_equal(gate_send(gate, &tcp, false, gate_handshake, HANDSHAKE_BYTES), 1);
	assert_int_equal(gate_send(gate, &tcp, true, "yes", 3), 1);
	pipe_advance(gate->pipe, 59);
	assert_int_equal(gate_send(gate, &tcp, false, "more", 4), 1);
	pipe_advance(gate->pipe, 2);
	gate->pipe->n_sent = 0;
	gate_send(gate, &tcp, false, "more", 4);
	assert_int_equal(pipe_stats(gate->pipe).flows_condemned, 1);
	json_t *told = explained_by_id(gate, id);

	explained_expect_piece(told, "operator", 1, "expired=true");
	explained_expect_piece(told, "decision", 1, "rule=no-p2p action=reset again=true");
	assert_string_equal(explained_text(told, "outcome"), "blocked");
	json_decref(told);
	gate_free(gate);
}

static void a_condemned_flow_is_forgotten_and_its_ends_may_pass(void **state)
{
	struct gate *gate = gate_new(LCORES, NO_P2P);
	struct gate_tcp tcp = gate_connect(gate, 1, 40001, 6999);
	(void)state;

	gate_send(gate, &tcp, false, gate_handshake, HANDSHAKE_BYTES);
	uint64_t id = id_of(gate, 1);

	pipe_turns(gate->pipe);
	assert_int_equal(syn(gate, 1, 41000, 6999), 0); // the cache has learned
	json_t *done = do_to(gate, "flow-allow", id, ",'ttl_s':100");

	assert_string_equal(explained_text(done, "was"), "condemned");
	assert_int_equal(explained_number(done, "ttl_s"), 100);
	json_decref(done);
	for (uint16_t i = 0; i < 9; i++) { // on all lcores, whole connections
		struct gate_tcp next = gate_connect(gate, 1, (uint16_t)(42000 + i), 6999);

		assert_int_equal(gate_send(gate, &next, false, gate_handshake, HANDSHAKE_BYTES), 1);
		assert_int_equal(gate_send(gate, &next, true, "yes", 3), 1);
	}
	json_t *told = explained_by_ends(gate, 1, ",'src_port':42003");

	explained_expect_piece(told, "flow_made", 0, "allowed=true");
	explained_expect_piece(told, "decision", 0, "action=pass allowed=true");
	explained_expect_verdict(told, "pass",
		"Passes because the operator allowed its ends, whatever the policy says.");
	json_decref(told);
	told = explained_by_id(gate, id);
	assert_non_null(strstr(explained_text(told, "verdict"),
		"Blocked before by rule \"no-p2p\" (generation 1); the operator has allowed it "
		"since"));
	json_decref(told);
	// another port is blocked still, and so is this one when the time is over
	struct gate_tcp other = gate_connect(gate, 1, 43000, 7000);

	assert_int_equal(gate_send(gate, &other, false, "no", 2), 1);
	pipe_advance(gate->pipe, 101);
	struct gate_tcp late = gate_connect(gate, 1, 44000, 6999);
	uint64_t before = pipe_stats(gate->pipe).flows_condemned;

	gate_send(gate, &late, false, gate_handshake, HANDSHAKE_BYTES);
	assert_int_equal(pipe_stats(gate->pipe).flows_condemned, before + 1);
	gate_free(gate);
}

static void entries_are_added_on_every_lcore(void **state)
{
	struct gate *gate = gate_new(LCORES, "'default':'pass','conn_cache':{'ttl_s':50}");
	(void)state;

	json_t *done = gate_ok(gate, "cache-add",
		"'src_ip':'10.0.0.1','dest_ip':'10.0.0.2','dest_port':80,'ttl_s':100");

	assert_int_equal(explained_number(done, "lcores"), LCORES);
	assert_int_equal(explained_number(json_object_get(done, "entry"), "ttl_s"), 100);
	assert_string_equal(explained_text(json_object_get(done, "entry"), "mode"), "tuple");
	json_decref(done);
	json_decref(gate_ok(gate, "cache-add", "'src_ip':'10.0.0.4','dest_ip':'10.0.0.2'"));
	for (uint16_t i = 0; i < 12; i++) {
		assert_int_equal(syn(gate, 1, (uint16_t)(41000 + i), 80), 0);
		assert_int_equal(syn(gate, 4, (uint16_t)(41000 + i), (uint16_t)(90 + i)), 0);
	}
	assert_int_equal(syn(gate, 1, 42000, 81), 1);
	assert_int_equal(syn(gate, 5, 42000, 80), 1);
	gate_policy(gate, "'default':'pass','conn_cache':{'ttl_s':50}"); // no reload heals it
	// its end is its own: hits do not move it, nor does the policy's shorter life end it
	pipe_advance(gate->pipe, 70);
	assert_int_equal(syn(gate, 1, 43000, 80), 0);
	assert_int_equal(syn(gate, 4, 43000, 80), 1); // 50 s after its last hit
	pipe_advance(gate->pipe, 31);
	assert_int_equal(syn(gate, 1, 43001, 80), 1);
	// the first record is of the addition, by the operator
	json_t *event = gate_event(gate, "conncache");
	const json_t *conncache = json_object_get(event, "conncache");

	assert_string_equal(explained_text(conncache, "action"), "add");
	assert_string_equal(explained_text(conncache, "reason"), "operator");
	assert_string_equal(explained_text(event, "dest_ip"), "10.0.0.2");
	json_decref(event);
	gate_free(gate);
}

static void entries_hold_in_their_vlan(void **state)
{
	struct gate *gate = gate_new(1, "'default':'pass'");
	struct pipe_packet tagged = {.tcp_flags = TH_SYN, .n_vlan = 1, .vlan = {7}};
	(void)state;

	json_decref(
		gate_ok(gate, "cache-add", "'src_ip':'10.0.0.1','dest_ip':'10.0.0.2','vlan':7"));
	assert_int_equal(pipe_run(gate->pipe, 0, &tagged), 0);
	assert_int_equal(syn(gate, 1, 41000, 80), 1);
	gate_free(gate);
}

static void entries_with_a_rule_go_with_it(void **state)
{
	struct gate *gate =
		gate_new(1, "'rules':[{'id':'r','match':{'source':['10.0.0.1']},'action':'drop'}]");
	(void)state;

	json_decref(gate_ok(gate, "cache-add",
		"'src_ip':'10.0.0.1','dest_ip':'10.0.0.2','rule':'r','app':'bittorrent'"));
	assert_int_equal(syn(gate, 1, 41000, 80), 0);
	assert_int_equal(pipe_stats(gate->pipe).cache_hits, 1);
	gate_policy(gate, "'default':'pass'");
	assert_int_equal(syn(gate, 1, 41001, 80), 1);
	assert_int_equal(pipe_stats(gate->pipe).cache_healed, 1);
	gate_free(gate);
}

static void entries_are_removed_on_every_lcore(void **state)
{
	struct gate *gate = gate_new(LCORES, "'default':'pass'");
	(void)state;

	for (unsigned port = 80; port < 84; port++) {
		char text[128];

		snprintf(text, sizeof(text),
			"'src_ip':'10.0.0.1','dest_ip':'10.0.0.2','dest_port':%u", port);
		json_decref(gate_ok(gate, "cache-add", text));
	}
	json_t *done = gate_ok(
		gate, "cache-del", "'src_ip':'10.0.0.1','dest_ip':'10.0.0.2','dest_port':81");

	assert_int_equal(explained_number(done, "deleted"), 1);
	json_decref(done);
	for (uint16_t i = 0; i < 9; i++) {
		assert_int_equal(syn(gate, 1, (uint16_t)(41000 + i), 81), 1);
		assert_int_equal(syn(gate, 1, (uint16_t)(41000 + i), 82), 0);
	}
	gate_nok(gate, "cache-del", "'src_ip':'10.0.0.1','dest_ip':'10.0.0.2','dest_port':81",
		"no such entry");
	gate_nok(gate, "cache-del", "'src_ip':'10.0.0.1','dest_ip':'10.0.0.2','zone':'outside'",
		"no such entry");
	done = gate_ok(gate, "cache-del", "'src_ip':'10.0.0.1','dest_ip':'10.0.0.2'");
	assert_int_equal(explained_number(done, "deleted"), 3);
	json_decref(done);
	assert_int_equal(gate->context.cache_removals, 2);
	for (unsigned i = 0; i < LCORES; i++)
		assert_int_equal(conn_cache_count(gate->pipe->dp.lcores[i]->conn_cache), 0);
	// reported one by one, with the hits of all lcores
	unsigned removed = 0;
	uint64_t hits = 0;
	json_t *event;

	while ((event = gate_event(gate, "conncache"))) {
		const json_t *conncache = json_object_get(event, "conncache");

		if (!strcmp(explained_text(conncache, "action"), "del")) {
			removed++;
			hits += (uint64_t)explained_number(conncache, "hits");
			assert_string_equal(explained_text(conncache, "reason"), "operator");
		}
		json_decref(event);
	}
	assert_int_equal(removed, 4);
	assert_int_equal(hits, 9);
	gate_free(gate);
}

static void exempt_addresses_are_not_learned(void **state)
{
	struct gate *gate = gate_new(LCORES, NO_P2P);
	(void)state;

	explained_handshake(gate, 1, 40001);
	explained_handshake(gate, 3, 40001);
	pipe_turns(gate->pipe);
	assert_int_equal(syn(gate, 1, 41000, 6999), 0);
	json_t *done = gate_ok(gate, "cache-exempt", "'address':'10.0.0.0/31'");

	assert_int_equal(explained_number(done, "deleted"), 1); // that of 10.0.0.1
	assert_int_equal(json_array_size(json_object_get(done, "exempt")), 1);
	json_decref(done);
	for (uint16_t i = 0; i < 9; i++) {
		assert_int_equal(syn(gate, 1, (uint16_t)(42000 + i), 6999), 1);
		assert_int_equal(syn(gate, 3, (uint16_t)(42000 + i), 6999), 0);
	}
	// over a reload; what is blocked is not learned
	gate_policy(gate, NO_P2P);
	explained_handshake(gate, 1, 44000);
	pipe_turns(gate->pipe);
	assert_int_equal(syn(gate, 1, 44001, 6999), 1);
	json_t *told = explained_by_ends(gate, 1, ",'src_port':44000");

	explained_expect_piece(told, "cache_exempt", 0, "rule=no-p2p mode=tuple");
	assert_string_equal(json_string_value(json_array_get(json_object_get(told, "exempt"), 0)),
		"10.0.0.0/31");
	assert_non_null(strstr(explained_text(told, "verdict"),
		"; 10.0.0.0/31 is exempt from the connection cache by the operator."));
	json_decref(told);
	gate_nok(gate, "cache-add", "'src_ip':'10.0.0.1','dest_ip':'10.0.0.2'", "exempt");
	// taken back: it is learned again
	done = gate_ok(gate, "cache-exempt", "'address':'10.0.0.0/31','on':false");
	assert_int_equal(json_array_size(json_object_get(done, "exempt")), 0);
	json_decref(done);
	explained_handshake(gate, 1, 45000);
	pipe_turns(gate->pipe);
	assert_int_equal(syn(gate, 1, 45001, 6999), 0);
	gate_nok(gate, "cache-exempt", "'address':'10.0.0.0/31','on':false", "not exempt");
	json_t *event = gate_event(gate, "operator");
	const json_t *word = json_object_get(event, "operator");

	assert_string_equal(explained_text(word, "command"), "cache-exempt");
	assert_string_equal(explained_text(word, "address"), "10.0.0.0/31");
	assert_null(json_object_get(event, "src_ip"));
	json_decref(event);
	gate_free(gate);
}

static void an_exemption_ends(void **state)
{
	struct gate *gate = gate_new(1, NO_P2P);
	(void)state;

	json_decref(gate_ok(gate, "cache-exempt", "'address':'10.0.0.1','ttl_s':10"));
	explained_handshake(gate, 1, 40001);
	assert_int_equal(conn_cache_count(gate->pipe->dp.lcores[0]->conn_cache), 0);
	pipe_advance(gate->pipe, 11);
	explained_handshake(gate, 1, 40002);
	assert_int_equal(conn_cache_count(gate->pipe->dp.lcores[0]->conn_cache), 1);
	json_t *done = gate_ok(gate, "cache-exempt", "");

	assert_int_equal(json_array_size(json_object_get(done, "exempt")), 0);
	json_decref(done);
	// bounded
	char text[64];

	for (unsigned i = 0; i < EXEMPTIONS_MAX; i++) {
		snprintf(text, sizeof(text), "'address':'10.1.%u.0/24'", i);
		json_decref(gate_ok(gate, "cache-exempt", text));
	}
	gate_nok(gate, "cache-exempt", "'address':'10.2.0.0/24'", "256");
	gate_free(gate);
}

static void hostile_arguments_are_refused(void **state)
{
	static const char *const cases[][3] = {
		{"flow-reset", "", "flow_id is missing"},
		{"flow-reset", "'flow_id':1,'cache':'all'", "none, tuple, peer"},
		{"flow-reset", "'flow_id':1,'ttl_s':1", "none of them"},
		{"flow-allow", "'flow_id':'x'", "positive"},
		{"flow-allow", "'flow_id':1,'ttl_s':0", "1 to 86400"},
		{"flow-allow", "'flow_id':1,'ttl_s':86401", "86400"},
		{"flow-allow", "'flow_id':1,'ttl_s':true", "86400"},
		{"flow-allow", "'flow_id':1", "no flow 1"},
		{"cache-add", "'src_ip':'10.0.0.1'", "dest_ip are needed"},
		{"cache-add", "'src_ip':'10.0.0.1','dest_ip':'10.0.0.2','mode':'tuple'",
			"dest_port"},
		{"cache-add",
			"'src_ip':'10.0.0.1','dest_ip':'10.0.0.2','mode':'peer','dest_port':1",
			"any port"},
		{"cache-add", "'src_ip':'10.0.0.1','dest_ip':'10.0.0.2','proto':'UDP'", "any port"},
		{"cache-add", "'src_ip':'10.0.0.1','dest_ip':'10.0.0.2','rule':'gone'", "gone"},
		{"cache-add", "'src_ip':'10.0.0.1','dest_ip':'10.0.0.2','app':'gone'", "gone"},
		{"cache-add", "'src_ip':'10.0.0.1','dest_ip':'10.0.0.2','vlan':4096", "4095"},
		{"cache-add", "'src_ip':'10.0.0.1','dest_ip':'10.0.0.2','zone':'dmz'", "inside"},
		{"cache-add", "'src_ip':'10.0.0.1','dest_ip':'10.0.0.2','ttl_s':604801", "604800"},
		{"cache-del", "'src_ip':'10.0.0.1','dest_ip':'10.0.0.0/24'", "no address"},
		{"cache-del", "'src_ip':'10.0.0.1','dest_ip':'10.0.0.2','ttl_s':1", "none of them"},
		{"cache-exempt", "'on':true", "address is missing"},
		{"cache-exempt", "'address':'10.0.0.1/8'", "prefix"},
		{"cache-exempt", "'address':'somewhere'", "neither"},
		{"cache-exempt", "'address':'10.0.0.1','on':false,'ttl_s':9", "no end"},
		{"cache-exempt", "'address':'10.0.0.1','ttl_s':-1", "604800"},
	};
	struct gate *gate = gate_new(1, "'default':'pass'");
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		gate_nok(gate, cases[i][0], cases[i][1], cases[i][2]);
	assert_int_equal(conn_cache_count(gate->pipe->dp.lcores[0]->conn_cache), 0);
	gate_free(gate);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flow_is_reset_at_both_ends),
		cmocka_unit_test(a_reset_is_told),
		cmocka_unit_test(a_reset_teaches_the_cache_of_all_lcores),
		cmocka_unit_test(what_has_no_payload_is_reset_with_its_next_packet),
		cmocka_unit_test(an_allowed_flow_passes_whatever_the_policy_says),
		cmocka_unit_test(an_allowance_ends),
		cmocka_unit_test(a_condemned_flow_is_forgotten_and_its_ends_may_pass),
		cmocka_unit_test(entries_are_added_on_every_lcore),
		cmocka_unit_test(entries_hold_in_their_vlan),
		cmocka_unit_test(entries_with_a_rule_go_with_it),
		cmocka_unit_test(entries_are_removed_on_every_lcore),
		cmocka_unit_test(exempt_addresses_are_not_learned),
		cmocka_unit_test(an_exemption_ends),
		cmocka_unit_test(hostile_arguments_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
