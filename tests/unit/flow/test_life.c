// SPDX-License-Identifier: BSD-3-Clause
// The life of flows through the whole path: packets, time, reloads, the operator and the scan
// engine take every edge of the table in pipeline/flow/states.h, and none that it does not have.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "classify/user_apps.h"
#include "lib/packet/quic_craft.h"
#include "lib/pipeline/hold_rig.h"
#include "pipeline/flow/states.h"

static const char handshake[] = "\x13"
				"BitTorrent protocol"
				"\0\0\0\0\0\x10\0\x05"
				"AAAAAAAAAAAAAAAAAAAA-qB4520-BBBBBBBBBBBB";
#define HANDSHAKE_LENGTH 68
#define LETTERS          64 // each counts as a data packet
#define ROUNDS           16 // of letters: beyond the budget of classification
#define PORT             40000
#define NEW              0x40000000u // numbers of a second handshake

static const char letters[LETTERS] = "abcdefghijklmnopqrstuvwxyz";

// Every step that the pipeline makes goes through here (tests/unit/flow/meson.build).
enum flow_life __real_flow_life_move(enum flow_life from, enum flow_step step, uint16_t *flags);
enum flow_life __wrap_flow_life_move(enum flow_life from, enum flow_step step, uint16_t *flags);

static bool taken[FLOW_LIFE_MAX][FLOW_STEPS_MAX]; // by all tests
static bool now[FLOW_LIFE_MAX][FLOW_STEPS_MAX];   // since the last took()

static const char *const lives[] = {
#define X(state, what) #state,
	FLOW_LIVES(X)
#undef X
};
static const char *const steps[] = {
#define X(step, set, clear) #step,
	FLOW_STEPS(X)
#undef X
};

enum flow_life __wrap_flow_life_move(enum flow_life from, enum flow_step step, uint16_t *flags)
{
	if (flow_life_next(from, step) == FLOW_LIFE_MAX)
		fail_msg("%s has no step %s", lives[from], steps[step]);
	taken[from][step] = now[from][step] = true;
	return __real_flow_life_move(from, step, flags);
}

static void took(enum flow_life from, enum flow_step step)
{
	if (!now[from][step])
		fail_msg("%s: step %s was not taken", lives[from], steps[step]);
	memset(now, 0, sizeof(now));
}

static struct lcore *lcore_of(struct pipe *pipe)
{
	return pipe->dp.lcores[0];
}

static bool has_port(const union flow_key *key, uint16_t port)
{
	return key->v4.port_a == port || key->v4.port_b == port;
}

// The entry of the flow from that port.
static uint32_t ref_of(struct pipe *pipe, uint16_t sport)
{
	const struct flow_table *table = lcore_of(pipe)->flows;
	struct flow_usage usage = flow_table_usage(table);

	for (uint32_t i = 0; i < usage.flows_max; i++)
		if (table->flows[i].gen &&
			has_port(flow_key_of(table, table->flows[i].key_pos, false), sport))
			return i;
	for (uint32_t i = 0; i < usage.stubs_max; i++)
		if (table->stubs[i].gen &&
			has_port(flow_key_of(table, table->stubs[i].key_pos, false), sport))
			return i | FLOW_REF_STUB;
	return FLOW_REF_NONE;
}

static enum flow_life life_at(struct pipe *pipe, uint16_t sport)
{
	uint32_t ref = ref_of(pipe, sport);

	if (ref == FLOW_REF_NONE)
		return FLOW_LIFE_FREE;
	return ref & FLOW_REF_STUB
		       ? flow_life_of_stub(
				 flow_stub_at(lcore_of(pipe)->flows, ref), FLOW_STEP_BLOCK)
		       : flow_life_of(flow_at(lcore_of(pipe)->flows, ref), FLOW_STEP_BLOCK);
}

static void segment(struct pipe *pipe, uint16_t sport, bool from_server, uint32_t seq, uint32_t ack,
	uint8_t flags, const void *payload, uint16_t length)
{
	pipe->n_sent = 0;
	pipe_run(pipe, 0,
		&(struct pipe_packet){
			.from_outside = from_server,
			.sport = sport,
			.seq = seq,
			.ack = ack,
			.tcp_flags = flags,
			.payload = payload,
			.payload_length = length,
		});
}

static void datagram(struct pipe *pipe, bool from_server, const char *payload, uint16_t length)
{
	pipe->n_sent = 0;
	pipe_run(pipe, 0,
		&(struct pipe_packet){
			.from_outside = from_server,
			.proto = IPPROTO_UDP,
			.sport = PORT,
			.payload = payload,
			.payload_length = length,
		});
}

static void shake_from(struct pipe *pipe, uint16_t sport, uint32_t client_isn, uint32_t server_isn)
{
	segment(pipe, sport, false, client_isn, 0, TH_SYN, NULL, 0);
	segment(pipe, sport, true, server_isn, client_isn + 1, TH_SYN | TH_ACK, NULL, 0);
	segment(pipe, sport, false, client_isn + 1, server_isn + 1, TH_ACK, NULL, 0);
}

static void shake(struct pipe *pipe, uint16_t sport)
{
	shake_from(pipe, sport, C_ISN, S_ISN);
}

// Rounds of letters until the flow is so far.
static void talk_until(struct pipe *pipe, uint16_t sport, enum flow_life life)
{
	for (unsigned i = 0; i < 2 * ROUNDS && life_at(pipe, sport) != life; i++) {
		uint32_t each = i / 2 * LETTERS, before = i % 2 * LETTERS;

		if (i % 2)
			segment(pipe, sport, true, S_ISN + 1 + each, C_ISN + 1 + each + before, 0,
				letters, LETTERS);
		else
			segment(pipe, sport, false, C_ISN + 1 + each, S_ISN + 1 + each, 0, letters,
				LETTERS);
	}
}

static void begin(struct pipe *pipe, enum flow_life life, uint16_t sport)
{
	switch (life) {
	case FLOW_LIFE_STUB: segment(pipe, sport, false, C_ISN, 0, TH_SYN, NULL, 0); break;
	case FLOW_LIFE_UNCONFIRMED:
		begin(pipe, FLOW_LIFE_BLOCKED, sport);
		segment(pipe, sport, false, NEW, 0, TH_SYN, NULL, 0);
		break;
	case FLOW_LIFE_BLOCKED:
		shake(pipe, sport);
		segment(pipe, sport, false, C_ISN + 1, S_ISN + 1, 0, handshake, HANDSHAKE_LENGTH);
		break;
	case FLOW_LIFE_LATE:
		begin(pipe, FLOW_LIFE_BLOCKED, sport);
		pipe_advance(pipe, 0.2); // it is not answered at once
		segment(pipe, sport, false, C_ISN + 1, S_ISN + 1, 0, letters, LETTERS);
		break;
	default: shake(pipe, sport); talk_until(pipe, sport, life);
	}
	if (life_at(pipe, sport) != life)
		fail_msg("%s instead of %s", lives[life_at(pipe, sport)], lives[life]);
}

static void publish_blocking(struct pipe *pipe)
{
	struct policy *policy = pipe_policy(pipe);

	pipe_rule_app(policy, 7, ACTION_RESET, "bittorrent")->cache = CACHE_NONE;
	pipe_publish(pipe, policy);
	pipe_turns(pipe);
}

static void publish_by_address(struct pipe *pipe)
{
	struct policy *policy = pipe_policy(pipe);

	pipe_rule(policy, 8, ACTION_DROP)->l4_proto = IPPROTO_TCP;
	pipe_publish(pipe, policy);
	pipe_turns(pipe);
}

static void publish_passing(struct pipe *pipe)
{
	pipe_publish(pipe, pipe_policy(pipe));
	pipe_turns(pipe);
}

static struct pipe *world_of(uint32_t entries)
{
	struct lcore_limits limits = pipe_limits();

	limits.flows = limits.embryos = entries;
	struct pipe *pipe = pipe_new(1, &limits);

	memset(now, 0, sizeof(now));
	publish_blocking(pipe);
	return pipe;
}

static struct pipe *in(enum flow_life life)
{
	struct pipe *pipe = world_of(64);

	if (life != FLOW_LIFE_FREE)
		begin(pipe, life, PORT);
	return pipe;
}

static const enum flow_life flows[] = {FLOW_LIFE_UNDECIDED, FLOW_LIFE_CLASSIFIED, FLOW_LIFE_FINAL};
static const enum flow_life blocked[] = {FLOW_LIFE_BLOCKED, FLOW_LIFE_LATE};
static const enum flow_life all[] = {FLOW_LIFE_STUB, FLOW_LIFE_UNCONFIRMED, FLOW_LIFE_UNDECIDED,
	FLOW_LIFE_CLASSIFIED, FLOW_LIFE_FINAL, FLOW_LIFE_BLOCKED, FLOW_LIFE_LATE};
#define LIVE 5 // the first of them: stubs and flows that are not blocked

static void a_connection_is_admitted_inspected_and_decided(void **state)
{
	struct pipe *pipe = in(FLOW_LIFE_FREE);
	(void)state;

	segment(pipe, PORT, false, C_ISN, 0, TH_SYN, NULL, 0);
	took(FLOW_LIFE_FREE, FLOW_STEP_ADMIT);
	shake(pipe, PORT);
	talk_until(pipe, PORT, FLOW_LIFE_UNDECIDED);
	took(FLOW_LIFE_STUB, FLOW_STEP_PROMOTE);
	talk_until(pipe, PORT, FLOW_LIFE_CLASSIFIED);
	took(FLOW_LIFE_UNDECIDED, FLOW_STEP_CLASSIFY);
	pipe_free(pipe);
	pipe = in(FLOW_LIFE_FINAL);
	took(FLOW_LIFE_CLASSIFIED, FLOW_STEP_SETTLE);
	// under another policy it is looked at again, and is final again
	publish_blocking(pipe);
	segment(pipe, PORT, false, C_ISN + 1, S_ISN + 1, TH_ACK, NULL, 0);
	assert_true(now[FLOW_LIFE_CLASSIFIED][FLOW_STEP_SETTLE]);
	took(FLOW_LIFE_FINAL, FLOW_STEP_REVIEW);
	pipe_free(pipe);
}

static void datagrams_are_looked_at_again_when_the_other_end_speaks(void **state)
{
	struct pipe *pipe = in(FLOW_LIFE_FREE);
	(void)state;

	for (unsigned i = 0; i < 2 * ROUNDS && life_at(pipe, PORT) != FLOW_LIFE_FINAL; i++)
		datagram(pipe, false, letters, LETTERS);
	assert_int_equal(life_at(pipe, PORT), FLOW_LIFE_FINAL);
	datagram(pipe, true, letters, LETTERS);
	took(FLOW_LIFE_FINAL, FLOW_STEP_LOOK_AGAIN);
	pipe_free(pipe);
}

// RFC 7413: the server leaves the payload of the SYN, so what was read of it does not count.
static void what_a_syn_carried_in_vain_is_forgotten(void **state)
{
	(void)state;
	for (unsigned i = 0; i < RTE_DIM(flows); i++) {
		struct pipe *pipe = in(FLOW_LIFE_FREE);
		uint32_t end = C_ISN + 1 + LETTERS;

		publish_passing(pipe);
		if (flows[i] == FLOW_LIFE_CLASSIFIED) { // its decoder keeps it from being final
			segment(pipe, PORT, false, C_ISN, 0, TH_SYN, handshake, HANDSHAKE_LENGTH);
			end = C_ISN + 1 + HANDSHAKE_LENGTH;
		} else {
			segment(pipe, PORT, false, C_ISN, 0, TH_SYN, letters, LETTERS);
		}
		for (unsigned n = 0; n < ROUNDS && life_at(pipe, PORT) != flows[i]; n++) {
			segment(pipe, PORT, false, end, S_ISN + 1, 0, letters, LETTERS);
			end += LETTERS;
		}
		assert_int_equal(life_at(pipe, PORT), flows[i]);
		segment(pipe, PORT, true, S_ISN, C_ISN + 1, TH_SYN | TH_ACK, NULL, 0);
		took(flows[i], FLOW_STEP_ANEW);
		assert_int_equal(life_at(pipe, PORT), FLOW_LIFE_UNDECIDED);
		pipe_free(pipe);
	}
}

static void a_syn_on_a_blocked_tuple_waits_for_its_answer(void **state)
{
	struct pipe *pipe = in(FLOW_LIFE_UNCONFIRMED);
	(void)state;

	took(FLOW_LIFE_STUB, FLOW_STEP_DOUBT);
	segment(pipe, PORT, false, NEW + 1, S_ISN + 1, 0, letters, LETTERS); // of the old one
	assert_int_equal(life_at(pipe, PORT), FLOW_LIFE_UNCONFIRMED);
	segment(pipe, PORT, true, S_ISN, NEW + 1, TH_SYN | TH_ACK, NULL, 0);
	segment(pipe, PORT, false, NEW + 1, S_ISN + 1, TH_ACK, NULL, 0);
	took(FLOW_LIFE_UNCONFIRMED, FLOW_STEP_CONFIRM);
	assert_int_equal(life_at(pipe, PORT), FLOW_LIFE_STUB);
	pipe_free(pipe);
	// a policy that enforces nothing does not wait
	pipe = in(FLOW_LIFE_UNCONFIRMED);
	publish_passing(pipe);
	segment(pipe, PORT, false, NEW + 1, S_ISN + 1, 0, letters, LETTERS);
	took(FLOW_LIFE_UNCONFIRMED, FLOW_STEP_PROMOTE);
	pipe_free(pipe);
}

static void rules_and_the_operator_block(void **state)
{
	struct pipe *pipe = in(FLOW_LIFE_BLOCKED);
	(void)state;

	took(FLOW_LIFE_CLASSIFIED, FLOW_STEP_BLOCK);
	pipe_free(pipe);
	pipe = in(FLOW_LIFE_LATE);
	took(FLOW_LIFE_BLOCKED, FLOW_STEP_NOTE_LATE);
	pipe_free(pipe);
	// a stub whose both ends are heard, by a rule that asks for addresses
	pipe = in(FLOW_LIFE_FREE);
	shake(pipe, PORT);
	publish_by_address(pipe);
	segment(pipe, PORT, false, C_ISN + 1, S_ISN + 1, TH_ACK, NULL, 0);
	took(FLOW_LIFE_STUB, FLOW_STEP_BLOCK);
	assert_int_equal(life_at(pipe, PORT), FLOW_LIFE_BLOCKED);
	pipe_free(pipe);
	for (unsigned i = 0; i < LIVE; i++) {
		enum flow_life life = all[i];

		pipe = in(life);
		memset(now, 0, sizeof(now));
		operator_reset(lcore_of(pipe), ref_of(pipe, PORT), CACHE_NONE);
		assert_true(now[FLOW_LIFE_POLICY][FLOW_STEP_RESET]);
		took(life, FLOW_STEP_BLOCK);
		assert_int_equal(life_at(pipe, PORT), FLOW_LIFE_BLOCKED);
		pipe_free(pipe);
	}
}

// While one end alone is heard nothing of it stays.
static void rules_refuse_what_one_end_says(void **state)
{
	struct pipe *pipe = in(FLOW_LIFE_FREE);
	(void)state;

	publish_by_address(pipe);
	segment(pipe, PORT, false, C_ISN, 0, TH_SYN, NULL, 0);
	took(FLOW_LIFE_STUB, FLOW_STEP_REFUSE);
	segment(pipe, PORT, false, C_ISN + 1, S_ISN + 1, 0, letters, LETTERS);
	took(FLOW_LIFE_UNDECIDED, FLOW_STEP_REFUSE);
	assert_int_equal(life_at(pipe, PORT), FLOW_LIFE_FREE);
	publish_blocking(pipe);
	segment(pipe, PORT, false, C_ISN, 0, TH_SYN, handshake, HANDSHAKE_LENGTH);
	took(FLOW_LIFE_CLASSIFIED, FLOW_STEP_REFUSE);
	pipe_free(pipe);
	pipe = in(FLOW_LIFE_BLOCKED);
	publish_by_address(pipe);
	segment(pipe, PORT, false, NEW, 0, TH_SYN, NULL, 0);
	took(FLOW_LIFE_UNCONFIRMED, FLOW_STEP_REFUSE);
	pipe_free(pipe);
}

static void publish_hosts(struct pipe *pipe, bool blocks)
{
	struct policy *policy = pipe_policy(pipe);

	policy->reevaluate = REEVALUATE_NONE;
	policy->user_apps = user_apps_new();
	assert_non_null(policy->user_apps);
	assert_int_equal(
		user_apps_add_host(policy->user_apps, app_find("irc"), "irc.example.org"), 0);
	if (blocks)
		pipe_rule(policy, 8, ACTION_DROP)->l4_proto = IPPROTO_UDP;
	pipe_publish(pipe, policy);
	pipe_turns(pipe);
}

// No reload looks at a flow that is final where the policy says so; a name on it does.
static void a_name_on_a_final_flow_is_refused(void **state)
{
	const uint8_t cid[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	const struct quic_packet initial = {.version = 1,
		.cid = cid,
		.cid_length = sizeof(cid),
		.number_length = 1,
		.padded_to = 1200};
	uint8_t hello[2048], frames[2048], out[2048];
	struct pipe *pipe = in(FLOW_LIFE_FREE);
	(void)state;

	publish_hosts(pipe, false);
	for (unsigned i = 0; i < 2 * ROUNDS && life_at(pipe, PORT) != FLOW_LIFE_FINAL; i++)
		datagram(pipe, i % 2, letters, LETTERS);
	assert_int_equal(life_at(pipe, PORT), FLOW_LIFE_FINAL);
	publish_hosts(pipe, true);
	datagram(pipe, false, letters, LETTERS);
	assert_int_equal(life_at(pipe, PORT), FLOW_LIFE_FINAL);
	size_t length = quic_hello("irc.example.org", 0, hello);

	length = quic_seal(&initial, frames, quic_crypto_frame(6, 0, hello, length, frames), out);
	datagram(pipe, false, (const char *)out, (uint16_t)length);
	took(FLOW_LIFE_FINAL, FLOW_STEP_REFUSE);
	assert_int_equal(life_at(pipe, PORT), FLOW_LIFE_FREE);
	pipe_free(pipe);
}

static void a_tuple_is_blocked_no_more(void **state)
{
	(void)state;
	for (unsigned i = 0; i < RTE_DIM(blocked); i++) {
		struct pipe *pipe = in(blocked[i]);

		publish_passing(pipe);
		segment(pipe, PORT, false, C_ISN + 1, S_ISN + 1, TH_ACK, NULL, 0);
		took(blocked[i], FLOW_STEP_REPRIEVE);
		pipe_free(pipe);
		pipe = in(blocked[i]);
		memset(now, 0, sizeof(now));
		segment(pipe, PORT, false, NEW, 0, TH_SYN, NULL, 0);
		took(blocked[i], FLOW_STEP_NEW_SYN);
		pipe_free(pipe);
		pipe = in(blocked[i]);
		operator_allow(lcore_of(pipe), ref_of(pipe, PORT), 0);
		took(blocked[i], FLOW_STEP_RELEASE);
		pipe_free(pipe);
		// datagrams: a packet notices it before the list does
		pipe = in(FLOW_LIFE_FREE);
		datagram(pipe, false, letters, LETTERS);
		operator_reset(lcore_of(pipe), ref_of(pipe, PORT), CACHE_NONE);
		pipe_advance(pipe, 1);
		if (blocked[i] == FLOW_LIFE_LATE)
			datagram(pipe, false, letters, LETTERS);
		assert_int_equal(life_at(pipe, PORT), blocked[i]);
		pipe_advance(pipe, 30);
		datagram(pipe, false, letters, LETTERS);
		took(blocked[i], FLOW_STEP_LAPSE);
		pipe_free(pipe);
	}
}

static void every_entry_ends_by_time_or_with_the_gateway(void **state)
{
	(void)state;
	for (unsigned i = 0; i < RTE_DIM(all); i++) {
		struct pipe *pipe = in(all[i]);

		pipe_advance(pipe, 8000);
		took(all[i], FLOW_STEP_TIMEOUT);
		assert_int_equal(life_at(pipe, PORT), FLOW_LIFE_FREE);
		pipe_free(pipe);
		pipe = in(all[i]);
		flow_end_all(lcore_of(pipe), FLOW_STEP_SHUTDOWN);
		took(all[i], FLOW_STEP_SHUTDOWN);
		pipe_free(pipe);
	}
}

static void every_entry_gives_its_place_to_one_that_says_more(void **state)
{
	(void)state;
	for (unsigned i = 0; i < RTE_DIM(all); i++) {
		struct pipe *pipe = world_of(8);

		for (uint16_t n = 0; n < 9; n++) {
			if (all[i] == FLOW_LIFE_LATE && n == 8)
				begin(pipe, FLOW_LIFE_BLOCKED, PORT + n);
			else
				begin(pipe, all[i], PORT + n);
			pipe_advance(pipe, 0.1); // one is older than the other
		}
		took(all[i], FLOW_STEP_EVICT);
		pipe_free(pipe);
	}
}

static void a_flow_ends_when_its_connection_does(void **state)
{
	(void)state;
	for (unsigned i = 0; i < RTE_DIM(flows); i++) {
		struct pipe *pipe = in(flows[i]);
		const struct flow *flow = flow_at(lcore_of(pipe)->flows, ref_of(pipe, PORT));

		segment(pipe, PORT, false, flow->released[HALF_C2S], flow->released[HALF_S2C],
			TH_RST | TH_ACK, NULL, 0);
		assert_int_equal(flow->lru_class, FLOW_CLASS_TCP_CLOSING);
		pipe_advance(pipe, 17);
		took(flows[i], FLOW_STEP_CLOSE);
		pipe_free(pipe);
		pipe = in(flows[i]);
		shake_from(pipe, PORT, NEW, 2 * NEW);
		took(flows[i], FLOW_STEP_REUSE);
		assert_int_equal(life_at(pipe, PORT), FLOW_LIFE_STUB);
		pipe_free(pipe);
	}
}

static void the_operator_allows_for_a_time(void **state)
{
	struct pipe *pipe = in(FLOW_LIFE_UNDECIDED);
	struct lcore *lcore = lcore_of(pipe);
	uint32_t ref = ref_of(pipe, PORT);
	(void)state;

	operator_allow(lcore, ref, NS_PER_S);
	took(FLOW_LIFE_POLICY, FLOW_STEP_ALLOW);
	operator_allow(lcore, ref, NS_PER_S);
	took(FLOW_LIFE_ALLOWED, FLOW_STEP_ALLOW);
	pipe_advance(pipe, 2);
	took(FLOW_LIFE_ALLOWED, FLOW_STEP_EXPIRE);
	operator_allow(lcore, ref, NS_PER_S);
	took(FLOW_LIFE_OPERATOR, FLOW_STEP_ALLOW);
	pipe_advance(pipe, 2);
	segment(pipe, PORT, true, S_ISN + 1, C_ISN + 1 + LETTERS, TH_ACK, NULL, 0);
	took(FLOW_LIFE_OPERATOR, FLOW_STEP_RESUME);
	operator_allow(lcore, ref, NS_PER_S);
	pipe_advance(pipe, 2);
	memset(now, 0, sizeof(now));
	operator_reset(lcore, ref, CACHE_NONE);
	took(FLOW_LIFE_OPERATOR, FLOW_STEP_RESET);
	pipe_free(pipe);
	pipe = in(FLOW_LIFE_STUB);
	operator_allow(lcore_of(pipe), ref_of(pipe, PORT), NS_PER_S);
	pipe_advance(pipe, 2);
	took(FLOW_LIFE_ALLOWED, FLOW_STEP_RESUME);
	operator_allow(lcore_of(pipe), ref_of(pipe, PORT), 0);
	operator_reset(lcore_of(pipe), ref_of(pipe, PORT), CACHE_NONE);
	took(FLOW_LIFE_ALLOWED, FLOW_STEP_RESET);
	pipe_free(pipe);
}

static void a_verdict_of_the_scan_engine_blocks(void **state)
{
	const struct scan_config config = says(SCAN_SCRIPT_INFECTED, SCAN_FAILURE_RESET);
	struct pipe *pipe = world(&config);
	(void)state;

	hold_flow(pipe, PORT);
	pipe_advance(pipe, 0.001);
	pipe_advance(pipe, 4);
	took(FLOW_LIFE_POLICY, FLOW_STEP_FIND);
	pipe_free(pipe);
	// under a policy that decides nothing again, what was allowed is scanned until its next
	// packet
	pipe = world(&config);
	pipe->policy->reevaluate = REEVALUATE_NONE;
	hold_flow(pipe, PORT);
	pipe_advance(pipe, 0.001);
	operator_allow(lcore_of(pipe), ref_of(pipe, PORT), NS_PER_S);
	pipe_advance(pipe, 2);
	pipe_advance(pipe, 2);
	took(FLOW_LIFE_OPERATOR, FLOW_STEP_FIND);
	pipe_free(pipe);
}

static void every_edge_was_taken(void **state)
{
	unsigned missing = 0;
	(void)state;

	for (unsigned from = 0; from < FLOW_LIFE_MAX; from++)
		for (unsigned step = 0; step < FLOW_STEPS_MAX; step++)
			if (flow_life_next(from, step) != FLOW_LIFE_MAX && !taken[from][step]) {
				print_error("%s: no test takes %s\n", lives[from], steps[step]);
				missing++;
			}
	assert_int_equal(missing, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_connection_is_admitted_inspected_and_decided),
		cmocka_unit_test(datagrams_are_looked_at_again_when_the_other_end_speaks),
		cmocka_unit_test(what_a_syn_carried_in_vain_is_forgotten),
		cmocka_unit_test(a_syn_on_a_blocked_tuple_waits_for_its_answer),
		cmocka_unit_test(rules_and_the_operator_block),
		cmocka_unit_test(rules_refuse_what_one_end_says),
		cmocka_unit_test(a_name_on_a_final_flow_is_refused),
		cmocka_unit_test(a_tuple_is_blocked_no_more),
		cmocka_unit_test(every_entry_ends_by_time_or_with_the_gateway),
		cmocka_unit_test(every_entry_gives_its_place_to_one_that_says_more),
		cmocka_unit_test(a_flow_ends_when_its_connection_does),
		cmocka_unit_test(the_operator_allows_for_a_time),
		cmocka_unit_test(a_verdict_of_the_scan_engine_blocks),
		cmocka_unit_test(every_edge_was_taken), // the last: by those before it
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
