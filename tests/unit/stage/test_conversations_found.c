// SPDX-License-Identifier: BSD-3-Clause
// What the fuzzer of conversations has found (tests/model/README.md), each as short as it can be.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/pipeline/pipe.h"
#include "pipeline/cache/conn_cache.h"
#include "pipeline/flow/table.h"

#define HANDSHAKE_LENGTH 68
static const char handshake[] = "\x13"
				"BitTorrent protocol"
				"\0\0\0\0\0\x10\0\x05"
				"AAAAAAAAAAAAAAAAAAAA-qB4520-BBBBBBBBBBBB";

static unsigned segment(struct pipe *pipe, bool from_server, uint8_t flags, uint32_t seq,
	uint32_t ack, const void *payload, uint16_t length)
{
	struct pipe_packet packet = {
		.from_outside = from_server,
		.tcp_flags = flags,
		.seq = seq,
		.ack = ack,
		.payload = payload,
		.payload_length = length,
	};

	return pipe_run(pipe, 0, &packet);
}

static struct pipe *blocking(void)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct policy *policy = pipe_policy(pipe);

	pipe_rule_app(policy, 7, ACTION_DROP, "bittorrent")->cache = CACHE_TUPLE;
	pipe_publish(pipe, policy);
	return pipe;
}

// Client's numbers start at 1000, server's at 5000.
static void open_tcp(struct pipe *pipe)
{
	assert_int_equal(segment(pipe, false, TH_SYN, 1000, 0, NULL, 0), 1);
	assert_int_equal(segment(pipe, true, TH_SYN | TH_ACK, 5000, 1001, NULL, 0), 1);
	assert_int_equal(segment(pipe, false, TH_ACK, 1001, 5001, NULL, 0), 1);
}

static void is_blocked(struct pipe *pipe)
{
	assert_int_equal(segment(pipe, false, 0, 1001, 5001, handshake, HANDSHAKE_LENGTH), 0);
	assert_int_equal(pipe_stats(pipe).cache_learned, 1);
	assert_int_equal(pipe_unaccounted(pipe), 0);
}

static const struct flow *only_flow(struct pipe *pipe, struct flow_ends *ends)
{
	struct flow_table *flows = pipe->dp.lcores[0]->flows;

	for (uint32_t i = 0; i < flow_table_usage(flows).flows_max; i++)
		if (flow_at(flows, i)->gen) {
			*ends = flow_cold_at(flows, i)->ends;
			return flow_at(flows, i);
		}
	fail_msg("there is no flow");
	return NULL;
}

// One that has a low TTL, or that its server throws away: the client would be taken for the server,
// and what it says for answers.
static void a_syn_ack_ahead_of_the_syn_does_not_turn_the_ends(void **state)
{
	(void)state;
	for (unsigned server_first = 0; server_first < 2; server_first++) {
		struct pipe *pipe = pipe_new(1, NULL);
		struct flow_ends ends;

		if (server_first) // anybody outside in its name
			segment(pipe, true, TH_SYN, 77, 0, NULL, 0);
		else
			segment(pipe, false, TH_SYN | TH_ACK, 77, 0, NULL, 0);
		open_tcp(pipe);
		segment(pipe, false, 0, 1001, 5001, "hello", 5);
		const struct flow *flow = only_flow(pipe, &ends);

		assert_true(flow->flags & FLOW_C2S_INSIDE);
		assert_true(flow_both_heard(flow));
		assert_int_equal(ends.port[HALF_C2S], 40000);
		assert_int_equal(ends.port[HALF_S2C], 80);
		assert_int_equal(flow->pkts[HALF_C2S], server_first ? 3 : 4);
		pipe_free(pipe);
	}
}

// It has answered: what says otherwise is no server's.
static void nor_does_one_behind_the_answer(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct flow_ends ends;
	(void)state;

	segment(pipe, false, TH_SYN, 1000, 0, NULL, 0);
	segment(pipe, true, TH_SYN | TH_ACK, 5000, 1001, NULL, 0);
	segment(pipe, false, TH_SYN | TH_ACK, 77, 5001, NULL, 0);
	segment(pipe, false, TH_ACK, 1001, 5001, NULL, 0);
	segment(pipe, false, 0, 1001, 5001, "hello", 5);
	const struct flow *flow = only_flow(pipe, &ends);

	assert_true(flow->flags & FLOW_C2S_INSIDE);
	assert_true(flow_both_heard(flow));
	assert_int_equal(ends.port[HALF_C2S], 40000);
	assert_int_equal(ends.port[HALF_S2C], 80);
	pipe_free(pipe);
}

// Nor where the answer is to the client's second SYN, behind one that answers nothing: of that SYN
// the gateway knows by the answer alone.
static void nor_does_one_behind_two_answers(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct flow_ends ends;
	(void)state;

	segment(pipe, true, TH_SYN | TH_ACK, 99, 9999, NULL, 0);
	segment(pipe, false, TH_SYN, 7000, 0, NULL, 0);
	segment(pipe, false, TH_SYN, 1000, 0, NULL, 0);
	segment(pipe, true, TH_SYN | TH_ACK, 5000, 1001, NULL, 0);
	segment(pipe, false, TH_SYN | TH_ACK, 1001, 5001, NULL, 0); // of a low TTL
	segment(pipe, false, TH_ACK, 1001, 5001, NULL, 0);
	segment(pipe, false, 0, 1001, 5001, "hello", 5);
	const struct flow *flow = only_flow(pipe, &ends);

	assert_true(flow->flags & FLOW_C2S_INSIDE);
	assert_int_equal(ends.port[HALF_C2S], 40000);
	assert_int_equal(ends.port[HALF_S2C], 80);
	pipe_free(pipe);
}

// Who has only sent an acknowledgement of nothing may begin all the same.
static void who_begins_behind_a_stray_acknowledgement_is_the_client(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct flow_ends ends;
	(void)state;

	segment(pipe, false, TH_SYN, 77, 0, NULL, 0);   // forged in the server's name
	segment(pipe, true, TH_ACK, 99, 9999, NULL, 0); // and in the client's
	segment(pipe, true, TH_SYN, 1000, 0, NULL, 0);
	segment(pipe, false, TH_SYN | TH_ACK, 5000, 1001, NULL, 0);
	segment(pipe, true, TH_ACK, 1001, 5001, NULL, 0);
	segment(pipe, true, 0, 1001, 5001, "hello", 5);
	const struct flow *flow = only_flow(pipe, &ends);

	assert_false(flow->flags & FLOW_C2S_INSIDE);
	assert_int_equal(ends.port[HALF_C2S], 80);
	pipe_free(pipe);
}

static void nor_does_it_pass_the_connection_cache(void **state)
{
	struct pipe *pipe = blocking();
	(void)state;

	open_tcp(pipe);
	is_blocked(pipe);
	pipe_advance(pipe, 121); // its tombstone is over, the entry is not
	pipe_turns(pipe);
	segment(pipe, false, TH_SYN | TH_ACK, 77, 0, NULL, 0);
	assert_int_equal(segment(pipe, false, TH_SYN, 1000, 0, NULL, 0), 1);
	assert_int_equal(segment(pipe, true, TH_SYN | TH_ACK, 5000, 1001, NULL, 0), 0);
	assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_CONN_CACHE], 1);
	pipe_free(pipe);
}

// It was taken by nobody, as the handshake went on: the connection is established.
static void a_reset_ahead_of_the_answer_does_not_make_it_midstream(void **state)
{
	struct pipe *pipe = blocking();
	(void)state;

	segment(pipe, false, TH_SYN, 1000, 0, NULL, 0);
	segment(pipe, true, TH_RST | TH_ACK, 77, 1001, NULL, 0);
	open_tcp(pipe);
	pipe_advance(pipe, 100);
	pipe_turns(pipe);
	is_blocked(pipe);
	assert_int_equal(pipe_stats(pipe).flows_midstream, 0);
	pipe_free(pipe);
}

// Far ahead, as long as the server has not answered: no reason to go on behind the hole.
static void junk_ahead_of_the_answer_hides_nothing(void **state)
{
	(void)state;
	for (uint32_t ahead = 70000; ahead < 1u << 30; ahead *= 100) {
		struct pipe *pipe = blocking();

		segment(pipe, false, TH_SYN, 1000, 0, NULL, 0);
		segment(pipe, false, TH_ACK, 1001 + ahead, 7, "junk", 4);
		segment(pipe, true, TH_SYN | TH_ACK, 5000, 1001, NULL, 0);
		segment(pipe, false, TH_ACK, 1001, 5001, NULL, 0);
		is_blocked(pipe);
		assert_int_equal(pipe_stats(pipe).tcp_gaps, 0);
		pipe_free(pipe);
	}
}

// Of a connection whose beginning was not seen, by a host that does not know its numbers.
static void a_syn_in_the_middle_does_not_move_where_a_half_is(void **state)
{
	(void)state;
	for (unsigned answer = 0; answer < 2; answer++) {
		struct pipe *pipe = blocking();

		segment(pipe, false, 0, 1001, 5001, "first", 5);
		segment(pipe, true, TH_ACK, 5001, 1006, NULL, 0);
		segment(pipe, false, 0, 1006, 5001, "second", 6);
		segment(pipe, true, answer ? TH_SYN | TH_ACK : TH_SYN, 0x30000000, 99, NULL, 0);
		assert_int_equal(segment(pipe, true, 0, 5001, 1012, "answer", 6), 1);
		assert_int_equal(segment(pipe, false, TH_ACK, 1012, 5007, NULL, 0), 1);
		pipe_free(pipe);
	}
}

// Whoever knows no number cannot say which time stamps were echoed, and by that what is old (PAWS).
static void an_echo_that_acknowledges_nothing_ages_nothing(void **state)
{
	static const char high[12] = "\1\1\x08\x0a\0\0\0\1\x7f\xff\0\0";
	static const char low[12] = "\1\1\x08\x0a\0\0\0\x64\0\0\0\1";
	struct pipe *pipe = blocking();
	struct pipe_packet packet = {.seq = 1001 + (200u << 20),
		.ack = 0x90000000,
		.payload = "forged",
		.payload_length = 6,
		.options = high,
		.options_length = sizeof(high)};
	(void)state;

	open_tcp(pipe);
	pipe_run(pipe, 0, &packet);
	packet = (struct pipe_packet){.from_outside = true,
		.seq = 5001,
		.ack = 1001,
		.payload = "true",
		.payload_length = 4,
		.options = low,
		.options_length = sizeof(low)};
	assert_int_equal(pipe_run(pipe, 0, &packet), 1);
	pipe_free(pipe);
}

// No host takes it, but one that listens for it reads it: a host that may send nothing does not.
static void wrong_checksums_do_not_pass_rules_on_addresses(void **state)
{
	static const uint8_t protos[] = {IPPROTO_TCP, IPPROTO_UDP};
	(void)state;

	for (unsigned i = 0; i < 2 * sizeof(protos); i++) {
		struct pipe *pipe = pipe_new(1, NULL);
		struct policy *policy = pipe_policy(pipe);
		struct pipe_packet packet = {.proto = protos[i / 2],
			.client = i & 1 ? 66 : 1,
			.payload = "leak",
			.payload_length = 4,
			.bad_checksum = true};
		struct rule *rule = pipe_rule(policy, 7, ACTION_DROP);

		assert_int_equal(address_set_add(&rule->source, "10.0.0.66"), 0);
		address_set_seal(&rule->source);
		rule->has_source = true;
		policy->malformed = INVALID_OBSERVE;
		pipe_publish(pipe, policy);
		assert_int_equal(pipe_run(pipe, 0, &packet), i & 1 ? 0 : 1);
		assert_int_equal(pipe_stats(pipe).bad_checksum_pkts, 1);
		assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_RULE], i & 1);
		pipe_free(pipe);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_syn_ack_ahead_of_the_syn_does_not_turn_the_ends),
		cmocka_unit_test(nor_does_one_behind_the_answer),
		cmocka_unit_test(nor_does_one_behind_two_answers),
		cmocka_unit_test(who_begins_behind_a_stray_acknowledgement_is_the_client),
		cmocka_unit_test(nor_does_it_pass_the_connection_cache),
		cmocka_unit_test(a_reset_ahead_of_the_answer_does_not_make_it_midstream),
		cmocka_unit_test(junk_ahead_of_the_answer_hides_nothing),
		cmocka_unit_test(a_syn_in_the_middle_does_not_move_where_a_half_is),
		cmocka_unit_test(an_echo_that_acknowledges_nothing_ages_nothing),
		cmocka_unit_test(wrong_checksums_do_not_pass_rules_on_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
