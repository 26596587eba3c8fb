// SPDX-License-Identifier: BSD-3-Clause
// What the packet path leaves as evidence: which records, in which order, with what in them; and
// that the log is bounded, says what it lost, and is silent about decided flows and floods.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/pipeline/pipe_evidence.h"
#include "pipeline/event/event.h"
#include "pipeline/flow/expect.h"
#include "pipeline/event/evidence.h"
#include "pipeline/cache/conn_cache.h"
#include "pipeline/query.h"
#include "pipeline/limits.h"
#include "pipeline/policy/policy.h"

#define HANDSHAKE             \
	"\x13"                \
	"BitTorrent protocol" \
	"\0\0\0\0\0\0\0\0"
#define MAX 64

struct found {
	struct evidence at[MAX];
	unsigned n;
};

static struct found of_flow(struct pipe *pipe, uint64_t flow_id)
{
	const struct evidence_filter filter = {.flow_ids = {flow_id}};
	struct found found;

	found.n = pipe_evidence(pipe, &filter, found.at, MAX);
	return found;
}

static struct found of_ends(struct pipe *pipe, uint32_t client, uint32_t server)
{
	struct evidence_filter filter = {0};
	struct found found;
	uint32_t words[2] = {htonl(0x0a000000u + client), htonl(0x0a000000u + server)};

	for (unsigned end = 0; end < 2; end++) {
		memset(filter.ends.address[end] + 10, 0xff, 2);
		memcpy(filter.ends.address[end] + 12, &words[end], 4);
	}
	found.n = pipe_evidence(pipe, &filter, found.at, MAX);
	return found;
}

// "flow_made signature decision": the order is what is asserted first.
static void expect_words(const struct found *found, const char *words)
{
	char text[1024] = "";

	for (unsigned i = 0; i < found->n; i++) {
		size_t length = strlen(text);

		snprintf(text + length, sizeof(text) - length, "%s%s", i ? " " : "",
			evidence_word(found->at[i].kind));
	}
	assert_string_equal(text, words);
}

static void handshake(struct pipe *pipe, uint16_t sport)
{
	const struct pipe_packet packets[] = {
		{.sport = sport, .seq = 99, .tcp_flags = TH_SYN},
		{.sport = sport,
			.seq = 499,
			.ack = 100,
			.tcp_flags = TH_SYN | TH_ACK,
			.from_outside = true},
		{.sport = sport, .seq = 100, .ack = 500},
	};

	for (unsigned i = 0; i < 3; i++)
		pipe_run(pipe, 0, &packets[i]);
}

static unsigned say(
	struct pipe *pipe, uint16_t sport, uint32_t seq, const void *payload, uint16_t length)
{
	return pipe_run(pipe, 0,
		&(struct pipe_packet){.sport = sport,
			.seq = seq,
			.ack = 500,
			.payload = payload,
			.payload_length = length});
}

static struct pipe *pipe_blocking(enum cache_mode cache)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct policy *policy = pipe_policy(pipe);

	pipe_rule_app(policy, 7, ACTION_RESET, "bittorrent")->cache = (uint8_t)cache;
	pipe_publish(pipe, policy);
	return pipe;
}

static void a_blocked_flow_tells_its_story(void **state)
{
	struct pipe *pipe = pipe_blocking(CACHE_TUPLE);
	(void)state;

	handshake(pipe, 1000);
	pipe->now_ns += NS_PER_S;
	say(pipe, 1000, 100, HANDSHAKE, 28);
	uint64_t flow_id = pipe_only_flow(pipe).flow_id;
	struct found found = of_flow(pipe, flow_id);

	expect_words(&found, "flow_made signature decision cache_learned resets");
	const struct evidence *made = &found.at[0], *signature = &found.at[1];

	assert_int_equal(made->detail, EVIDENCE_MADE_SYN);
	assert_int_equal(made->ends.port[HALF_C2S], 1000);
	assert_int_equal(made->ends.port[HALF_S2C], 80);
	assert_int_equal(made->ends.address[HALF_C2S][15], 1);
	assert_int_equal(made->l4_proto, IPPROTO_TCP);
	assert_int_equal(made->at_ns, pipe->now_ns);
	assert_int_equal(signature->signature, 0);
	assert_int_equal(signature->app, app_find("bittorrent"));
	assert_int_equal(signature->detail, CLASSIFY_NO_VERIFIER);
	assert_int_equal(signature->confidence, CONFIDENCE_DPI);
	assert_int_equal(signature->half, HALF_C2S);
	assert_int_equal(signature->offset + signature->length, 20);
	assert_int_equal(signature->looked_at, 28);
	assert_int_equal(signature->n_bytes, 16);
	assert_memory_equal(signature->bytes, &HANDSHAKE[4], 16);
	assert_int_equal(found.at[2].detail, ACTION_RESET);
	assert_int_equal(found.at[2].rule_uid, 7);
	assert_int_equal(found.at[2].generation, 2);
	assert_int_equal(found.at[2].signature, 0);
	assert_int_equal(found.at[2].flags, EVIDENCE_IS_FINAL | EVIDENCE_HAS_ENDS);
	assert_int_equal(found.at[3].detail, CACHE_TUPLE);
	assert_int_equal(found.at[3].rule_uid, 7);
	assert_int_equal(found.at[4].length, 2);

	// what still comes is answered and noted once; a reconnection is the cache's, and says who
	// taught it
	pipe->now_ns += NS_PER_S;
	for (unsigned i = 0; i < 5; i++) {
		say(pipe, 1000, 128, "late", 4);
		pipe->now_ns += NS_PER_S / 10;
	}
	for (uint16_t i = 0; i < 5; i++)
		handshake(pipe, (uint16_t)(2000 + i));
	found = of_flow(pipe, flow_id);
	expect_words(
		&found, "flow_made signature decision cache_learned resets condemned cache_hit");
	assert_int_equal(found.at[5].detail, 1);
	assert_int_equal(found.at[6].rule_uid, 7);
	assert_int_equal(found.at[6].detail, CACHE_TUPLE);
	assert_true(found.at[6].flags & EVIDENCE_HAS_ENDS);
	assert_int_equal(found.at[6].ends.port[HALF_S2C], 80);
	// each second once more
	pipe->now_ns += 2 * NS_PER_S;
	handshake(pipe, 3000);
	assert_int_equal(of_flow(pipe, flow_id).n, 8);
	// by ends, from either side, it is the records that have ends
	found = of_ends(pipe, 2, 1);
	expect_words(&found, "flow_made decision cache_learned cache_hit cache_hit");
	found = of_ends(pipe, 1, 3);
	assert_int_equal(found.n, 0);
	pipe_free(pipe);
}

static void a_decided_flow_is_silent(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	(void)state;

	handshake(pipe, 1000);
	say(pipe, 1000, 100, HANDSHAKE, 28);
	uint64_t flow_id = pipe_only_flow(pipe).flow_id;

	expect_words(&(struct found){0}, "");
	struct found found = of_flow(pipe, flow_id);

	expect_words(&found, "flow_made signature decision");
	assert_int_equal(found.at[2].detail, ACTION_PASS);
	assert_int_equal(found.at[2].rule_uid, 0);
	uint64_t written = pipe_stats(pipe).evidence_written;

	for (uint32_t i = 0; i < 50; i++)
		say(pipe, 1000, 128 + i * 10, "0123456789", 10);
	assert_int_equal(pipe_stats(pipe).evidence_written, written);
	pipe_advance(pipe, 8000);
	found = of_flow(pipe, flow_id);
	expect_words(&found, "flow_made signature decision ended");
	assert_int_equal(found.at[3].detail, FLOW_END_TIMEOUT);
	pipe_free(pipe);
}

static void a_flood_of_syns_overwrites_nothing(void **state)
{
	struct pipe *pipe = pipe_blocking(CACHE_NONE);
	(void)state;

	for (uint16_t i = 0; i < 40; i++)
		pipe_run(pipe, 0,
			&(struct pipe_packet){.sport = (uint16_t)(1000 + i), .tcp_flags = TH_SYN});
	assert_int_equal(pipe_stats(pipe).evidence_written, 0);
	pipe_advance(pipe, 60);
	assert_int_equal(pipe_stats(pipe).evidence_written, 0);
	pipe_free(pipe);
}

static void a_syn_blocked_by_address_is_told(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct policy *policy = pipe_policy(pipe);
	(void)state;

	struct rule *rule = pipe_rule(policy, 3, ACTION_DROP);

	rule->has_source = true;
	assert_int_equal(address_set_add(&rule->source, "10.0.0.1"), 0);
	address_set_seal(&rule->source);
	pipe_publish(pipe, policy);
	pipe_run(pipe, 0, &(struct pipe_packet){.sport = 1000, .tcp_flags = TH_SYN});
	struct event event;

	assert_true(pipe_event(pipe, 0, EVENT_ALERT, &event));
	struct found found = of_flow(pipe, event.flow_id);

	expect_words(&found, "flow_made decision");
	assert_int_equal(found.at[1].detail, ACTION_DROP);
	assert_int_equal(found.at[1].rule_uid, 3);
	// nothing is left of it: what comes next is decided again
	assert_int_equal(pipe_run(pipe, 0, &(struct pipe_packet){.sport = 1000, .seq = 1}), 0);
	assert_true(pipe_event(pipe, 0, EVENT_ALERT, &event));
	found = of_flow(pipe, event.flow_id); // at the same time: the same id
	expect_words(&found, "flow_made decision flow_made decision");
	pipe_free(pipe);
}

static void a_rule_that_is_too_unsure_is_named(void **state)
{
	struct pipe *pipe = pipe_blocking(CACHE_NONE);
	static const char letters[64] = "?"; // each counts as a data packet
	struct pipe_packet packet = {
		.dport = 6881, .payload = letters, .payload_length = sizeof(letters)};
	(void)state;

	for (uint32_t i = 0; i < CLASSIFY_BUDGET_PKTS; i++) {
		packet.seq = 100 + i * packet.payload_length;
		pipe_run(pipe, 0, &packet);
	}
	struct found found = of_flow(pipe, pipe_only_flow(pipe).flow_id);

	expect_words(&found, "flow_made decision port_guess give_up too_unsure decision");
	assert_int_equal(found.at[0].detail, EVIDENCE_MADE_MIDSTREAM);
	assert_int_equal(found.at[1].flags, 0); // tentative
	assert_int_equal(found.at[2].app, app_find("bittorrent"));
	assert_int_equal(found.at[3].detail, 1);
	assert_int_equal(found.at[3].length, CLASSIFY_BUDGET_PKTS);
	assert_int_equal(found.at[4].rule_uid, 7);
	assert_int_equal(found.at[4].confidence, CONFIDENCE_PORT);
	assert_int_equal(found.at[4].detail, CONFIDENCE_DPI);
	assert_int_equal(found.at[5].detail, ACTION_PASS);
	assert_int_equal(found.at[5].confidence, CONFIDENCE_PORT);
	assert_int_equal(found.at[5].flags, EVIDENCE_IS_FINAL);
	pipe_free(pipe);
}

static void a_reload_and_a_monitor_rule_are_told(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	(void)state;

	handshake(pipe, 1000);
	say(pipe, 1000, 100, HANDSHAKE, 28);
	struct policy *policy = pipe_policy(pipe);
	struct rule *rule = pipe_rule_app(policy, 9, ACTION_RESET, "bittorrent");

	rule->mode = MODE_MONITOR;
	pipe_publish(pipe, policy);
	say(pipe, 1000, 128, "more", 4);
	struct found found = of_flow(pipe, pipe_only_flow(pipe).flow_id);

	expect_words(&found, "flow_made signature decision decision monitor");
	assert_int_equal(found.at[3].flags, EVIDENCE_IS_FINAL | EVIDENCE_IS_AGAIN);
	assert_int_equal(found.at[3].generation, 2);
	assert_int_equal(found.at[4].rule_uid, 9);
	assert_int_equal(found.at[4].detail, ACTION_RESET);
	pipe_free(pipe);
}

static void a_gap_is_told_once_per_half(void **state)
{
	struct pipe *pipe = pipe_blocking(CACHE_NONE);
	(void)state;

	handshake(pipe, 1000);
	say(pipe, 1000, 100, "xy", 2);
	for (uint32_t i = 0; i < 40;
		i++) // two holes of 10 bytes, of which only the first is reported
		say(pipe, 1000, 112 + i * 2 + (i >= 20 ? 10 : 0), "ab", 2);
	// its receiver has it all
	pipe_run(pipe, 0,
		&(struct pipe_packet){
			.from_outside = true, .sport = 1000, .seq = 500, .ack = 112 + 40 * 2 + 10});
	struct found found = of_flow(pipe, pipe_only_flow(pipe).flow_id);
	unsigned gaps = 0;

	for (unsigned i = 0; i < found.n; i++) {
		if (found.at[i].kind != EVIDENCE_GAP)
			continue;
		gaps++;
		assert_int_equal(found.at[i].half, HALF_C2S);
		assert_int_equal(found.at[i].offset, 2);
		assert_true(found.at[i].length >= 10);
	}
	assert_int_equal(gaps, 1);
	pipe_free(pipe);
}

static void what_has_no_flow_is_found_by_its_ends(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	(void)state;

	pipe->policy->malformed = INVALID_DROP;
	pipe_run(pipe, 0,
		&(struct pipe_packet){
			.client = 5, .server = 6, .tcp_flags = TH_SYN, .bad_checksum = true});
	struct found found = of_ends(pipe, 5, 6);

	expect_words(&found, "invalid");
	assert_int_equal(found.at[0].flow_id, 0);
	assert_int_equal(found.at[0].detail, DROP_BAD_CHECKSUM);
	assert_true(found.at[0].flags & EVIDENCE_WAS_DROPPED);
	assert_int_equal(found.at[0].ends.port[HALF_C2S], 40000);
	// a flood of them is limited, and counted
	for (unsigned i = 0; i < EVIDENCE_LOOSE_PER_S + 20; i++)
		pipe_run(pipe, 0,
			&(struct pipe_packet){.client = 5, .server = 6, .bad_checksum = true});
	assert_int_equal(pipe_stats(pipe).evidence_written, EVIDENCE_LOOSE_PER_S);
	assert_int_equal(pipe_stats(pipe).evidence_limited, 21);
	pipe_free(pipe);
}

static void what_is_exempt_or_healed_is_told(void **state)
{
	struct pipe *pipe = pipe_blocking(CACHE_TUPLE);
	(void)state;

	assert_int_equal(address_set_add(&pipe->policy->conn_cache.exempt, "10.0.0.2"), 0);
	address_set_seal(&pipe->policy->conn_cache.exempt);
	handshake(pipe, 1000);
	say(pipe, 1000, 100, HANDSHAKE, 28);
	uint64_t flow_id = pipe_only_flow(pipe).flow_id;
	struct found found = of_flow(pipe, flow_id);

	expect_words(&found, "flow_made signature decision cache_exempt resets");
	// without the exemption it is learned; without the rule it heals, and the flow is reprieved
	struct policy *policy = pipe_policy(pipe);

	pipe_rule_app(policy, 7, ACTION_RESET, "bittorrent");
	pipe_publish(pipe, policy);
	pipe_run(pipe, 0, &(struct pipe_packet){.sport = 1000, .seq = 999, .tcp_flags = TH_SYN});
	handshake(pipe, 1001);
	say(pipe, 1001, 100, HANDSHAKE, 28);
	pipe->now_ns += NS_PER_S;
	pipe_publish(pipe, pipe_policy(pipe));
	say(pipe, 1001, 128, "late", 4);
	found = of_ends(pipe, 1, 2);
	bool healed = false, learned = false;

	for (unsigned i = 0; i < found.n; i++) {
		learned |= found.at[i].kind == EVIDENCE_CACHE_LEARNED;
		healed |= found.at[i].kind == EVIDENCE_CACHE_REVOKED;
		if (found.at[i].kind == EVIDENCE_CACHE_LEARNED)
			flow_id = found.at[i].flow_id;
	}
	assert_true(learned);
	assert_true(healed);
	found = of_flow(pipe, flow_id);
	expect_words(
		&found, "flow_made signature decision cache_learned resets reprieved cache_healed");
	pipe_free(pipe);
}

static void the_log_is_bounded_and_says_what_it_lost(void **state)
{
	struct lcore_limits limits = pipe_limits();
	(void)state;

	limits.evidence = 10;
	struct pipe *pipe = pipe_new(1, &limits);

	for (uint16_t i = 0; i < 5; i++) { // three each
		handshake(pipe, (uint16_t)(1000 + i));
		say(pipe, (uint16_t)(1000 + i), 100, HANDSHAKE, 28);
	}
	struct evidence_filter filter = {0};
	struct evidence out[20];
	struct query query = {.type = QUERY_EVIDENCE, .page = true, .out = out, .max = 20};

	filter.flow_ids[0] = 1;
	query.filter = filter;
	pipe_ask(pipe, 0, &query);
	assert_int_equal(query.aside, 5);
	assert_int_equal(pipe_stats(pipe).evidence_overwritten, 5);
	struct found found = of_ends(pipe, 1, 2);

	// fifteen were written; the beginnings of the last three flows are among the ten
	expect_words(&found, "flow_made flow_made flow_made");
	assert_int_equal(found.at[0].ends.port[HALF_C2S], 1002);
	assert_int_equal(found.at[2].ends.port[HALF_C2S], 1004);
	pipe_free(pipe);
}

// Every lcore has its own; a question goes to each.
static void each_lcore_keeps_its_own(void **state)
{
	struct pipe *pipe = pipe_new(3, NULL);
	(void)state;

	for (uint16_t i = 0; i < 30; i++) {
		struct pipe_packet packet = {.sport = (uint16_t)(1000 + i),
			.proto = IPPROTO_UDP,
			.payload = "nothing known",
			.payload_length = 13};

		pipe_run(pipe, i % 3, &packet);
	}
	pipe_turns(pipe);
	struct found found = of_ends(pipe, 1, 2);
	unsigned lcores = 0;

	assert_int_equal(found.n, 30);
	for (unsigned i = 0; i < found.n; i++) {
		assert_int_equal(found.at[i].kind, EVIDENCE_FLOW_MADE);
		assert_int_equal(found.at[i].detail, EVIDENCE_MADE_DATAGRAM);
		lcores |= 1u << found.at[i].lcore;
	}
	assert_int_equal(lcores, 7);
	pipe_free(pipe);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_blocked_flow_tells_its_story),
		cmocka_unit_test(a_decided_flow_is_silent),
		cmocka_unit_test(a_flood_of_syns_overwrites_nothing),
		cmocka_unit_test(a_syn_blocked_by_address_is_told),
		cmocka_unit_test(a_rule_that_is_too_unsure_is_named),
		cmocka_unit_test(a_reload_and_a_monitor_rule_are_told),
		cmocka_unit_test(a_gap_is_told_once_per_half),
		cmocka_unit_test(what_has_no_flow_is_found_by_its_ends),
		cmocka_unit_test(what_is_exempt_or_healed_is_told),
		cmocka_unit_test(the_log_is_bounded_and_says_what_it_lost),
		cmocka_unit_test(each_lcore_keeps_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
