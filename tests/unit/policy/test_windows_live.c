// SPDX-License-Identifier: BSD-3-Clause
// What lives obeys when a time window opens or closes: decided flows, blocked ones, and the
// connection cache; as `reevaluate` says.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/pipeline/pipe.h"
#include "pipeline/cache/conn_cache.h"

#define MONDAY_NS (1767571200ull * NS_PER_S)
#define MINUTE    60

static const char handshake[] = "\x13"
				"BitTorrent protocol"
				"\0\0\0\0\0\0\0\0aaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbb";

// A gateway at Monday 07:59:00 UTC whose window 0 is Monday 08:00-18:00.
static struct pipe *pipe_monday(void)
{
	struct pipe *pipe = pipe_new(1, NULL);

	pipe->now_ns = MONDAY_NS + 479ull * MINUTE * NS_PER_S;
	return pipe;
}

static struct policy *office_policy(struct pipe *pipe)
{
	struct policy *policy = pipe_policy(pipe);

	policy->times.n_windows = 1;
	policy->times.windows = calloc(1, sizeof(struct time_window));
	assert_non_null(policy->times.windows);
	assert_int_equal(time_window_add(&policy->times.windows[0], 1, 480, 1080), 0);
	assert_int_equal(timetable_seal(&policy->times), 0);
	return policy;
}

static struct rule *block_in_office_hours(struct policy *policy)
{
	struct rule *rule = pipe_rule_app(policy, 5, ACTION_RESET, "bittorrent");

	rule->has_time = true;
	rule->windows = 1;
	return rule;
}

static unsigned say(struct pipe *pipe, uint16_t sport, uint32_t seq, uint8_t flags,
	const void *payload, uint16_t length)
{
	struct pipe_packet packet = {.sport = sport, .dport = 6881, .seq = seq, .tcp_flags = flags};

	if (!(flags & TH_SYN))
		packet.ack = 5001;
	packet.payload = payload;
	packet.payload_length = length;
	return pipe_run(pipe, 0, &packet);
}

static void open_torrent(struct pipe *pipe, uint16_t sport)
{
	struct pipe_packet answer = {.sport = sport,
		.dport = 6881,
		.from_outside = true,
		.seq = 5000,
		.ack = 1001,
		.tcp_flags = TH_SYN | TH_ACK};

	say(pipe, sport, 1000, TH_SYN, NULL, 0);
	pipe_run(pipe, 0, &answer);
	say(pipe, sport, 1001, TH_ACK, NULL, 0);
	say(pipe, sport, 1001, 0, handshake, sizeof(handshake) - 1);
}

#define AFTER_HANDSHAKE (1001 + (uint32_t)sizeof(handshake) - 1)

static void window_that_opens_stops_a_decided_flow(void **state)
{
	struct pipe *pipe = pipe_monday();
	struct policy *policy = office_policy(pipe);
	struct event event = {0};
	(void)state;

	block_in_office_hours(policy);
	pipe_publish(pipe, policy);
	open_torrent(pipe, 1000);
	assert_int_equal(say(pipe, 1000, AFTER_HANDSHAKE, 0, "abcd", 4), 1);
	pipe_advance(pipe, 59); // 07:59:59
	assert_int_equal(say(pipe, 1000, AFTER_HANDSHAKE + 4, 0, "abcd", 4), 1);
	assert_int_equal(pipe_stats(pipe).decisions_again, 0);
	pipe_advance(pipe, 1); // 08:00:00
	say(pipe, 1000, AFTER_HANDSHAKE + 8, 0, "abcd", 4);
	assert_int_equal(pipe_stats(pipe).flows_condemned, 1);
	assert_true(pipe_stats(pipe).injected_pkts >= 2); // both ends' RST
	assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_RULE], 1);
	assert_int_equal(pipe_stats(pipe).decisions_again, 1);
	assert_true(pipe_event(pipe, 0, EVENT_ALERT, &event));
	assert_int_equal(event.rule_uid, 5);
	assert_int_equal(event.generation, 2); // the policy is the same
	pipe_free(pipe);
}

static void window_that_closes_frees_its_victims(void **state)
{
	struct pipe *pipe = pipe_monday();
	struct policy *policy = office_policy(pipe);
	struct event event = {0};
	(void)state;

	block_in_office_hours(policy);
	pipe_publish(pipe, policy);
	pipe_advance(pipe, 600 * MINUTE); // 17:59
	open_torrent(pipe, 1000);
	assert_int_equal(pipe_stats(pipe).flows_condemned, 1);
	pipe_turns(pipe);
	assert_int_equal(pipe_stats(pipe).cache_entries, 1);
	assert_int_equal(say(pipe, 1001, 1000, TH_SYN, NULL, 0), 0);
	assert_int_equal(pipe_stats(pipe).cache_hits, 1);
	pipe_advance(pipe, 60); // 18:00
	assert_int_equal(say(pipe, 1002, 1000, TH_SYN, NULL, 0), 1);
	assert_int_equal(pipe_stats(pipe).cache_healed, 1);
	do
		assert_true(pipe_event(pipe, 0, EVENT_CONNCACHE, &event));
	while (event.reason != CONNCACHE_HEAL);
	// the blocked flow itself is free, too
	assert_int_equal(say(pipe, 1000, AFTER_HANDSHAKE, 0, "abcd", 4), 1);
	pipe_free(pipe);
}

static void entry_for_a_peer_goes_with_its_window(void **state)
{
	struct pipe *pipe = pipe_monday();
	struct policy *policy = office_policy(pipe);
	(void)state;

	block_in_office_hours(policy)->cache = CACHE_PEER;
	pipe_publish(pipe, policy);
	pipe_advance(pipe, 600 * MINUTE);
	open_torrent(pipe, 1000);
	assert_int_equal(say(pipe, 1001, 1000, TH_SYN, NULL, 0), 0);
	pipe_advance(pipe, 60);
	assert_int_equal(say(pipe, 1002, 1000, TH_SYN, NULL, 0), 1);
	assert_int_equal(pipe_stats(pipe).cache_healed, 1);
	pipe_free(pipe);
}

static void not_time_is_the_other_way_round(void **state)
{
	struct pipe *pipe = pipe_monday();
	struct policy *policy = office_policy(pipe);
	struct rule *rule = pipe_rule_app(policy, 5, ACTION_RESET, "bittorrent");
	(void)state;

	rule->not_windows = 1;
	pipe_publish(pipe, policy);
	open_torrent(pipe, 1000); // 07:59: outside of office hours
	assert_int_equal(pipe_stats(pipe).flows_condemned, 1);
	pipe_advance(pipe, 60);
	open_torrent(pipe, 1001);
	assert_int_equal(pipe_stats(pipe).flows_condemned, 1);
	pipe_free(pipe);
}

static void reevaluate_none_keeps_the_decision_at_a_boundary(void **state)
{
	static const uint8_t words[] = {REEVALUATE_NONE, REEVALUATE_RATES};
	(void)state;

	for (unsigned i = 0; i < 2; i++) {
		struct pipe *pipe = pipe_monday();
		struct policy *policy = office_policy(pipe);

		policy->reevaluate = words[i];
		block_in_office_hours(policy);
		pipe_publish(pipe, policy);
		open_torrent(pipe, 1000);
		pipe_advance(pipe, 60);
		assert_int_equal(say(pipe, 1000, AFTER_HANDSHAKE, 0, "abcd", 4), 1);
		open_torrent(pipe, 1001); // a new one meets the open window
		assert_int_equal(pipe_stats(pipe).flows_condemned, 1);
		pipe_free(pipe);
	}
}

static void same_set_of_windows_is_the_same_decision(void **state)
{
	struct pipe *pipe = pipe_monday();
	struct policy *policy = office_policy(pipe);
	(void)state;

	block_in_office_hours(policy);
	pipe_publish(pipe, policy);
	pipe_advance(pipe, 600 * MINUTE + 60); // 18:00
	open_torrent(pipe, 1000);
	pipe_advance(pipe, 6 * 3600 - 60); // Tuesday 00:00 is near: nothing opens or closes there
	assert_int_equal(say(pipe, 1000, AFTER_HANDSHAKE, 0, "abcd", 4), 1);
	pipe_advance(pipe, 3600);
	assert_int_equal(say(pipe, 1000, AFTER_HANDSHAKE + 4, 0, "abcd", 4), 1);
	assert_int_equal(pipe_stats(pipe).decisions_again, 0);
	pipe_free(pipe);
}

static void wall_clock_that_is_set_is_followed(void **state)
{
	struct pipe *pipe = pipe_monday();
	struct policy *policy = office_policy(pipe);
	(void)state;

	block_in_office_hours(policy);
	pipe_publish(pipe, policy);
	open_torrent(pipe, 1000);                                        // 07:59:00
	atomic_store(&pipe->dp.wall_error_ns, (int64_t)(58 * NS_PER_S)); // 07:59:58
	pipe_advance(pipe, 1);                                           // 07:59:59
	assert_int_equal(say(pipe, 1000, AFTER_HANDSHAKE, 0, "abcd", 4), 1);
	pipe_advance(pipe, 1); // 08:00:00
	say(pipe, 1000, AFTER_HANDSHAKE + 4, 0, "abcd", 4);
	assert_int_equal(pipe_stats(pipe).flows_condemned, 1);
	// and set back by two minutes
	atomic_store(&pipe->dp.wall_error_ns, -(int64_t)(62 * NS_PER_S));
	pipe_advance(pipe, 1);
	open_torrent(pipe, 1001);
	assert_int_equal(pipe_stats(pipe).flows_condemned, 1);
	pipe_free(pipe);
}

static void epochs_tell_their_generation(void **state)
{
	static const uint64_t generations[] = {
		1, 2, 1023, 4194303, 4194304, 4194305, 1ull << 33, (1ull << 40) + 7};
	(void)state;

	for (unsigned i = 0; i < RTE_DIM(generations); i++) {
		uint32_t epoch = policy_epoch(generations[i], 1023);

		assert_int_equal(policy_epoch_generation(epoch, generations[i]), generations[i]);
		assert_int_equal(
			policy_epoch_generation(epoch, generations[i] + 1000000), generations[i]);
		assert_int_not_equal(epoch, policy_epoch(generations[i], 1022));
		assert_int_not_equal(epoch, policy_epoch(generations[i] + 1, 1023));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(window_that_opens_stops_a_decided_flow),
		cmocka_unit_test(window_that_closes_frees_its_victims),
		cmocka_unit_test(entry_for_a_peer_goes_with_its_window),
		cmocka_unit_test(not_time_is_the_other_way_round),
		cmocka_unit_test(reevaluate_none_keeps_the_decision_at_a_boundary),
		cmocka_unit_test(same_set_of_windows_is_the_same_decision),
		cmocka_unit_test(wall_clock_that_is_set_is_followed),
		cmocka_unit_test(epochs_tell_their_generation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
