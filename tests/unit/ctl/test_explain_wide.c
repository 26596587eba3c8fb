// SPDX-License-Identifier: BSD-3-Clause
// What explain says where several flows are meant: those of two ends, of a host, of a user, of a
// rule. Blocked ones first, each with its verdict.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/pipeline/explained.h"

#define WITHOUT_CACHE                                                                    \
	"'rules':[{'id':'no-p2p','match':{'app':['bittorrent'],'min_confidence':'dpi'}," \
	"'action':'reset','cache':'none'}]"

static void web(struct gate *gate, uint32_t client, uint16_t sport)
{
	struct gate_tcp tcp = gate_connect(gate, client, sport, 80);

	gate_send(gate, &tcp, false, "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", 35);
}

// One blocked flow of client 1, then some that pass.
static struct gate *gate_with(const char *policy, unsigned n_passing)
{
	struct gate *gate = gate_new(1, policy);

	explained_handshake(gate, 1, 40001);
	for (uint16_t i = 0; i < n_passing; i++) {
		gate->pipe->now_ns += NS_PER_S;
		web(gate, 1, (uint16_t)(41000 + i));
	}
	return gate;
}

static const json_t *verdict_at(const json_t *told, unsigned place)
{
	const json_t *row = json_array_get(json_object_get(told, "verdicts"), place);

	assert_non_null(row);
	return row;
}

static void expect_row(const json_t *told, unsigned place, const char *outcome, int dest_port)
{
	const json_t *row = verdict_at(told, place);

	assert_string_equal(explained_text(row, "outcome"), outcome);
	assert_int_equal(explained_number(row, "dest_port"), dest_port);
	assert_int_equal(explained_number(row, "flow_id"),
		json_integer_value(json_array_get(json_object_get(told, "flows"), place)));
}

static void expect_blocked_first(json_t *told, unsigned n)
{
	assert_string_equal(explained_text(told, "outcome"), "blocked");
	assert_non_null(strstr(explained_text(told, "verdict"),
		"Reset by rule \"no-p2p\" (generation 1): bittorrent"));
	assert_int_equal(explained_number(told, "flow_id"),
		explained_number(verdict_at(told, 0), "flow_id"));
	assert_int_equal(json_array_size(json_object_get(told, "verdicts")), n);
	expect_row(told, 0, "blocked", 6999);
	assert_string_equal(explained_text(verdict_at(told, 0), "rule"), "no-p2p");
	assert_string_equal(explained_text(verdict_at(told, 0), "app"), "bittorrent");
	assert_string_equal(explained_text(verdict_at(told, 0), "action"), "reset");
	explained_expect_evidence(told, "flow_made signature decision resets");
}

static void the_blocked_one_of_two_ends(void **state)
{
	struct gate *gate = gate_with(WITHOUT_CACHE, 2);
	(void)state;

	json_t *told = explained_by_ends(gate, 1, "");

	expect_blocked_first(told, 3);
	expect_row(told, 1, "pass", 80);
	expect_row(told, 2, "pass", 80);
	assert_int_equal(explained_number(verdict_at(told, 1), "src_port"), 41001);
	assert_string_equal(explained_text(verdict_at(told, 1), "app"), "http");
	json_decref(told);
	told = explained_by_ends(gate, 1, ",'dest_port':80");
	assert_string_equal(explained_text(told, "outcome"), "pass");
	expect_row(told, 0, "pass", 80);
	json_decref(told);
	gate_free(gate);
}

static void of_a_host(void **state)
{
	struct gate *gate = gate_with(WITHOUT_CACHE, 2);
	(void)state;

	web(gate, 7, 42000); // another host's
	json_t *told = gate_ok(gate, "explain", "'host':'10.0.0.1'");

	expect_blocked_first(told, 3);
	json_decref(told);
	told = gate_ok(gate, "explain", "'host':'10.0.0.2'"); // the server of all
	expect_blocked_first(told, 4);
	assert_string_equal(explained_text(verdict_at(told, 1), "src_ip"), "10.0.0.7");
	json_decref(told);
	told = gate_ok(gate, "explain", "'host':'10.0.0.1','port':80,'proto':'tcp'");
	assert_int_equal(json_array_size(json_object_get(told, "flows")), 2);
	assert_string_equal(explained_text(told, "outcome"), "pass");
	json_decref(told);
	told = gate_ok(gate, "explain", "'host':'10.0.0.9'");
	assert_string_equal(explained_text(told, "outcome"), "unknown");
	json_decref(told);
	gate_free(gate);
}

// However many pass after it.
static void a_blocked_one_is_not_crowded_out(void **state)
{
	struct gate *gate = gate_with(WITHOUT_CACHE, 40);
	(void)state;

	json_t *told = gate_ok(gate, "explain", "'host':'10.0.0.1'");

	expect_blocked_first(told, 16);
	assert_int_equal(explained_number(verdict_at(told, 1), "src_port"), 41039);
	json_decref(told);
	for (uint16_t i = 0; i < 30; i++) {
		gate->pipe->now_ns += NS_PER_S;
		explained_handshake(gate, 1, (uint16_t)(45000 + i));
	}
	told = gate_ok(gate, "explain", "'host':'10.0.0.1'");
	expect_blocked_first(told, 16);
	assert_int_equal(explained_number(verdict_at(told, 0), "src_port"), 45029);
	expect_row(told, 11, "blocked", 6999);
	expect_row(told, 12, "pass", 80); // some of the others
	json_decref(told);
	gate_free(gate);
}

static void of_a_host_that_the_cache_stops(void **state)
{
	struct gate *gate = gate_new(1, BLOCK_P2P);
	(void)state;

	web(gate, 1, 41000);
	json_decref(gate_ok(
		gate, "cache-add", "'src_ip':'10.0.0.1','dest_ip':'10.0.0.2','dest_port':99"));
	gate->pipe->now_ns += NS_PER_S;
	gate_connect(gate, 1, 40002, 99);
	gate->pipe->now_ns += NS_PER_S;
	web(gate, 1, 41001);
	json_t *told = gate_ok(gate, "explain", "'host':'10.0.0.1'");

	assert_string_equal(explained_text(told, "outcome"), "blocked");
	assert_non_null(strstr(explained_text(told, "verdict"),
		"Blocked: connections from 10.0.0.1 to 10.0.0.2 port 99 are in the connection "
		"cache by the operator"));
	assert_null(json_object_get(told, "flow_id"));
	assert_int_equal(json_array_size(json_object_get(told, "flows")), 2);
	json_decref(told);
	gate_free(gate);
}

// What the cache stopped of other ends says nothing of the flow that the answer is about.
static void hits_of_other_ends_are_left_out(void **state)
{
	struct gate *gate = gate_with(WITHOUT_CACHE, 0);
	(void)state;

	json_decref(gate_ok(
		gate, "cache-add", "'src_ip':'10.0.0.1','dest_ip':'10.0.0.2','dest_port':99"));
	gate->pipe->now_ns += NS_PER_S;
	gate_connect(gate, 1, 40002, 99);
	json_t *told = gate_ok(gate, "explain", "'host':'10.0.0.1'");

	expect_blocked_first(told, 1);
	assert_string_equal(
		explained_text(told, "verdict"), explained_text(verdict_at(told, 0), "verdict"));
	json_decref(told);
	gate_free(gate);
}

static void a_hit_whose_entry_has_gone_is_over(void **state)
{
	struct gate *gate = gate_new(1, BLOCK_P2P);
	(void)state;

	web(gate, 1, 41000);
	json_decref(gate_ok(
		gate, "cache-add", "'src_ip':'10.0.0.1','dest_ip':'10.0.0.2','dest_port':99"));
	gate->pipe->now_ns += NS_PER_S;
	gate_connect(gate, 1, 40002, 99);
	gate->pipe->now_ns += NS_PER_S;
	json_decref(gate_ok(gate, "cache-flush", ""));
	json_t *told = gate_ok(gate, "explain", "'host':'10.0.0.1'");

	assert_string_equal(explained_text(told, "outcome"), "pass");
	expect_row(told, 0, "pass", 80);
	assert_string_equal(
		explained_text(told, "verdict"), explained_text(verdict_at(told, 0), "verdict"));
	assert_int_equal(explained_number(told, "flow_id"),
		explained_number(verdict_at(told, 0), "flow_id"));
	json_decref(told);
	gate_free(gate);
}

static void of_a_user(void **state)
{
	struct gate *gate =
		gate_with("'users':{'ann':['10.0.0.1'],'bob':['10.0.0.7']}," WITHOUT_CACHE, 1);
	(void)state;

	web(gate, 7, 42000);
	json_t *told = gate_ok(gate, "explain", "'user':'ann'");

	expect_blocked_first(told, 2);
	json_decref(told);
	told = gate_ok(gate, "explain", "'user':'bob'");
	assert_int_equal(json_array_size(json_object_get(told, "flows")), 1);
	expect_row(told, 0, "pass", 80);
	json_decref(told);
	gate_nok(gate, "explain", "'user':'eve'", "no user \"eve\"");
	gate_free(gate);
}

static void of_a_rule(void **state)
{
	struct gate *gate = gate_with(WITHOUT_CACHE ",'default':'pass'", 1);
	(void)state;

	explained_handshake(gate, 3, 40003);
	json_t *told = gate_ok(gate, "explain", "'rule':'no-p2p'");

	expect_blocked_first(told, 2);
	assert_string_equal(explained_text(verdict_at(told, 0), "src_ip"), "10.0.0.3");
	assert_string_equal(explained_text(verdict_at(told, 1), "src_ip"), "10.0.0.1");
	json_decref(told);
	told = gate_ok(gate, "explain", "'rule':'default'");
	expect_row(told, 0, "pass", 80);
	json_decref(told);
	gate_nok(gate, "explain", "'rule':'no-such'", "no-such");
	gate_free(gate);
}

// What the policy in force lets pass is not reported as blocked, however long the block is
// remembered.
static void a_newer_policy_lets_it_pass(void **state)
{
	struct gate *gate = gate_with(WITHOUT_CACHE, 0);
	(void)state;

	gate_policy(gate, "'default':'pass'");
	gate->pipe->now_ns += NS_PER_S;
	explained_handshake(gate, 1, 40005);
	json_t *told = explained_by_ends(gate, 1, "");

	assert_string_equal(explained_text(told, "outcome"), "pass");
	assert_int_equal(explained_number(verdict_at(told, 0), "src_port"), 40005);
	expect_row(told, 1, "blocked", 6999);
	json_decref(told);
	gate_free(gate);
}

static void an_end_on_another_day_has_its_date(void **state)
{
	struct gate *gate =
		gate_new(1, BLOCK_P2P ",'conn_cache':{'ttl_s':86400,'max_lifetime_s':604800}");
	(void)state;

	explained_handshake(gate, 1, 40001);
	json_t *told = explained_by_ends(gate, 1, "");
	const char *expires =
		explained_text(json_array_get(json_object_get(told, "cache"), 0), "expires");
	char words[64];

	snprintf(words, sizeof(words), "until %.10s %.8s UTC", expires, expires + 11);
	if (!strstr(explained_text(told, "verdict"), words))
		fail_msg("no \"%s\" in %s", words, explained_text(told, "verdict"));
	json_decref(told);
	gate_free(gate);
}

// Two signatures of one application match: the sentence names the one that the decision has.
static void one_signature(void **state)
{
	struct gate *gate = gate_new(1,
		"'applications':[{'id':'crm','regex':[{'pattern':'^CRM/[0-9]','protocol':'tcp'},"
		"{'pattern':'^CRM/[0-9] hel','protocol':'tcp'},{'pattern':'^CRM/[0-9] "
		"h.*o','protocol':'tcp'}]}],'rules':[{'id':'no-crm','match':{'app':"
		"['crm']},'action':'drop','cache':'none'}]");
	(void)state;

	struct gate_tcp tcp = gate_connect(gate, 1, 40001, 9000);

	gate_send(gate, &tcp, false, "CRM/2 hello", 11);
	json_t *told = explained_by_ends(gate, 1, "");
	char words[80];

	assert_string_not_equal(explained_text(explained_piece(told, "signature", 0), "signature"),
		explained_text(explained_piece(told, "signature", 1), "signature"));
	snprintf(words, sizeof(words), "by signature %s in",
		explained_text(explained_piece(told, "decision", 0), "signature"));
	if (!strstr(explained_text(told, "verdict"), words))
		fail_msg("no \"%s\" in %s", words, explained_text(told, "verdict"));
	json_decref(told);
	gate_free(gate);
}

static void one_question_at_a_time(void **state)
{
	struct gate *gate = gate_new(1, "'default':'pass'");
	(void)state;

	gate_nok(gate, "explain", "'host':'10.0.0.1','rule':'default'", "leave one");
	gate_nok(gate, "explain", "'host':'10.0.0.1','src_ip':'10.0.0.1'", "leave one");
	gate_nok(gate, "explain", "'rule':'default','port':80", "leave one");
	gate_nok(gate, "explain", "'host':'10.0.0.0/8'", "no address");
	gate_nok(gate, "explain", "'host':7", "text");
	gate_nok(gate, "explain", "'user':7", "text");
	gate_nok(gate, "explain", "'rule':7", "text");
	gate_nok(gate, "explain", "'port':80", "host, user");
	gate_free(gate);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_blocked_one_of_two_ends),
		cmocka_unit_test(of_a_host),
		cmocka_unit_test(a_blocked_one_is_not_crowded_out),
		cmocka_unit_test(of_a_host_that_the_cache_stops),
		cmocka_unit_test(hits_of_other_ends_are_left_out),
		cmocka_unit_test(a_hit_whose_entry_has_gone_is_over),
		cmocka_unit_test(of_a_user),
		cmocka_unit_test(of_a_rule),
		cmocka_unit_test(a_newer_policy_lets_it_pass),
		cmocka_unit_test(an_end_on_another_day_has_its_date),
		cmocka_unit_test(one_signature),
		cmocka_unit_test(one_question_at_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
