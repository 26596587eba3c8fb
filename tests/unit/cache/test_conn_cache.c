// SPDX-License-Identifier: BSD-3-Clause
// The connection cache through the packet path: what makes, keeps and ends an entry.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/pipeline/pipe.h"
#include "pipeline/cache/conn_cache.h"
#include "pipeline/query.h"

// Refuses every SYN of client 10.0.0.1 by an address rule, so that each makes an entry.
static struct rule *refuse_client(struct policy *policy, enum cache_mode cache)
{
	struct rule *rule = pipe_rule(policy, 5, ACTION_DROP);

	rule->has_source = true;
	rule->cache = (uint8_t)cache;
	assert_int_equal(address_set_add(&rule->source, "10.0.0.1"), 0);
	address_set_seal(&rule->source);
	return rule;
}

static unsigned syn(struct pipe *pipe, uint32_t server, uint16_t sport, uint16_t dport)
{
	struct pipe_packet packet = {
		.server = server, .sport = sport, .dport = dport, .tcp_flags = TH_SYN};

	unsigned out = pipe_run(pipe, 0, &packet);

	pipe_turns(pipe); // gauges are published at the end of a turn
	return out;
}

static struct pipe *pipe_refusing(enum cache_mode cache)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct policy *policy = pipe_policy(pipe);

	refuse_client(policy, cache);
	pipe_publish(pipe, policy);
	return pipe;
}

static void rule_without_cache_makes_no_entry(void **state)
{
	struct pipe *pipe = pipe_refusing(CACHE_NONE);
	(void)state;

	syn(pipe, 2, 1000, 80);
	syn(pipe, 2, 1001, 80);
	assert_int_equal(pipe_stats(pipe).cache_entries, 0);
	assert_int_equal(pipe_stats(pipe).cache_hits, 0);
	assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_RULE], 2);
	pipe_free(pipe);
}

static void hits_refresh_an_entry_up_to_its_lifetime(void **state)
{
	struct pipe *pipe = pipe_refusing(CACHE_TUPLE);
	(void)state;

	pipe->policy->conn_cache.ttl_s = 10;
	pipe->policy->conn_cache.max_lifetime_s = 35;
	syn(pipe, 2, 1000, 80);
	for (uint16_t i = 1; i <= 4; i++) { // at 8, 16, 24, 32 s: each within the time to live
		pipe_advance(pipe, 8);
		syn(pipe, 2, (uint16_t)(1000 + i), 80);
		assert_int_equal(pipe_stats(pipe).cache_hits, i);
	}
	pipe_advance(pipe, 4); // 36 s: the lifetime is over although it was hit 4 s ago
	assert_int_equal(pipe_stats(pipe).cache_entries, 0);
	assert_int_equal(pipe_stats(pipe).cache_expired, 1);
	pipe_free(pipe);
}

static void expiry_tells_hits_and_saved_bytes(void **state)
{
	struct pipe *pipe = pipe_refusing(CACHE_TUPLE);
	struct event event = {0};
	(void)state;

	syn(pipe, 2, 1000, 80);
	syn(pipe, 2, 1001, 80);
	syn(pipe, 2, 1002, 80);
	pipe_advance(pipe, 301);
	while (pipe_event(pipe, 0, EVENT_CONNCACHE, &event) && event.reason != CONNCACHE_EXPIRE)
		;
	assert_int_equal(event.reason, CONNCACHE_EXPIRE);
	assert_int_equal(event.conncache.hits, 2);
	assert_int_equal(event.conncache.saved_bytes, 2 * 54);
	assert_int_equal(event.rule_uid, 5);
	pipe_free(pipe);
}

static void bad_checksum_is_no_hit_and_no_refresh(void **state)
{
	struct pipe *pipe = pipe_refusing(CACHE_TUPLE);
	struct pipe_packet forged = {.sport = 2000, .tcp_flags = TH_SYN, .bad_checksum = true};
	(void)state;

	pipe->policy->conn_cache.ttl_s = 10;
	syn(pipe, 2, 1000, 80);
	pipe_advance(pipe, 8);
	pipe_run(pipe, 0, &forged);
	pipe_advance(pipe, 4);
	assert_int_equal(pipe_stats(pipe).cache_hits, 0);
	assert_int_equal(pipe_stats(pipe).cache_entries, 0);
	pipe_free(pipe);
}

static void exempt_peers_are_never_learned(void **state)
{
	struct pipe *pipe = pipe_refusing(CACHE_TUPLE);
	(void)state;

	assert_int_equal(address_set_add(&pipe->policy->conn_cache.exempt, "10.0.0.2"), 0);
	address_set_seal(&pipe->policy->conn_cache.exempt);
	syn(pipe, 2, 1000, 80);
	syn(pipe, 3, 1000, 80);
	assert_int_equal(pipe_stats(pipe).cache_exempt, 1);
	assert_int_equal(pipe_stats(pipe).cache_entries, 1);
	pipe_free(pipe);
}

static void learn_only_counts_and_lets_through(void **state)
{
	struct pipe *pipe = pipe_refusing(CACHE_TUPLE);
	(void)state;

	pipe->policy->conn_cache.learn_only = true;
	syn(pipe, 2, 1000, 80);
	syn(pipe, 2, 1001, 80);
	struct stats stats = pipe_stats(pipe);

	assert_int_equal(stats.cache_learn_only, 1);
	assert_int_equal(stats.cache_hits, 0);
	assert_int_equal(stats.dropped_pkts[DROP_CONN_CACHE], 0);
	assert_int_equal(stats.dropped_pkts[DROP_RULE], 2); // the rule itself still refuses
	pipe_free(pipe);
}

static void full_cache_evicts_the_one_not_refreshed_longest(void **state)
{
	struct pipe *pipe = pipe_refusing(CACHE_TUPLE); // 64 entries
	(void)state;

	for (uint32_t server = 2; server < 66; server++) {
		syn(pipe, server, 1000, 80);
		pipe->now_ns += 2 * NS_PER_S; // within one second the order is not kept
	}
	syn(pipe, 2, 1001, 80); // the first is refreshed, the second is now the oldest
	syn(pipe, 100, 1000, 80);
	assert_int_equal(pipe_stats(pipe).cache_evicted, 1);
	assert_int_equal(pipe_stats(pipe).cache_entries, 64);
	uint64_t hits = pipe_stats(pipe).cache_hits;

	syn(pipe, 2, 1002, 80);
	assert_int_equal(pipe_stats(pipe).cache_hits, hits + 1);
	syn(pipe, 3, 1002, 80); // evicted: refused by the rule, and learned anew
	assert_int_equal(pipe_stats(pipe).cache_hits, hits + 1);
	pipe_free(pipe);
}

static void entry_knows_who_began(void **state)
{
	struct pipe *pipe = pipe_refusing(CACHE_TUPLE);
	struct pipe_packet inbound = {.from_outside = true,
		.sport = 80,
		.dport = 1000,
		.tcp_flags = TH_SYN}; // the server calls the client's port 80
	(void)state;

	syn(pipe, 2, 1000, 80);
	assert_int_equal(pipe_run(pipe, 0, &inbound), 1);
	assert_int_equal(pipe_stats(pipe).cache_hits, 0);
	pipe_free(pipe);
}

static void answer_without_its_syn_hits_by_the_responder(void **state)
{
	struct pipe *pipe = pipe_refusing(CACHE_TUPLE);
	struct pipe_packet answer = {
		.from_outside = true, .sport = 3000, .dport = 80, .tcp_flags = TH_SYN | TH_ACK};
	(void)state;

	syn(pipe, 2, 1000, 80);
	assert_int_equal(pipe_run(pipe, 0, &answer), 0);
	assert_int_equal(pipe_stats(pipe).cache_hits, 1);
	pipe_free(pipe);
}

static void flush_lets_them_in_again(void **state)
{
	struct pipe *pipe = pipe_refusing(CACHE_PEER);
	struct query flush = {.type = QUERY_CACHE_FLUSH};
	struct conn_entry entries[4];
	struct query list = {.type = QUERY_CACHE, .out = entries, .max = 4};
	(void)state;

	syn(pipe, 2, 1000, 80);
	assert_int_equal(rte_ring_sp_enqueue(pipe->dp.lcores[0]->queries, &list), 0);
	for (unsigned i = 0; i < 4 && !list.done; i++)
		pipe_turns(pipe);
	assert_int_equal(list.n, 1);
	assert_int_equal(entries[0].key.mode, CACHE_PEER);
	assert_int_equal(entries[0].key.port, 0);
	assert_int_equal(rte_ring_sp_enqueue(pipe->dp.lcores[0]->queries, &flush), 0);
	pipe_turns(pipe);
	assert_true(flush.done);
	assert_int_equal(flush.total, 1);
	assert_int_equal(pipe_stats(pipe).cache_entries, 0);
	pipe_free(pipe);
}

static void policy_that_lets_this_peer_pass_heals_its_entry(void **state)
{
	(void)state;

	for (unsigned way = 0; way < 3; way++) {
		struct pipe *pipe = pipe_refusing(CACHE_TUPLE);

		syn(pipe, 2, 1000, 80);
		struct policy *policy = pipe_policy(pipe);

		if (way == 0) { // a rule before it allows
			struct rule *rule = pipe_rule(policy, 4, ACTION_PASS);

			rule->has_destination = true;
			assert_int_equal(address_set_add(&rule->destination, "10.0.0.2"), 0);
			address_set_seal(&rule->destination);
		} else if (way == 1) {
			assert_int_equal(
				address_set_add(&policy->conn_cache.exempt, "10.0.0.2"), 0);
			address_set_seal(&policy->conn_cache.exempt);
		}
		struct rule *rule = refuse_client(policy, CACHE_TUPLE);

		if (way == 2) { // the same rule for somebody else
			address_set_free(&rule->source);
			assert_int_equal(address_set_add(&rule->source, "10.0.0.9"), 0);
			address_set_seal(&rule->source);
		}
		pipe_publish(pipe, policy);
		syn(pipe, 2, 1001, 80);
		assert_int_equal(pipe_stats(pipe).cache_healed, 1);
		pipe_free(pipe);
	}
}

static void reload_that_still_blocks_keeps_its_entries(void **state)
{
	(void)state;

	for (enum cache_mode cache = CACHE_TUPLE; cache <= CACHE_PEER; cache++) {
		struct pipe *pipe = pipe_refusing(cache);
		struct policy *policy = pipe_policy(pipe);

		syn(pipe, 2, 1000, 80);
		refuse_client(policy, cache);
		pipe_publish(pipe, policy);
		assert_int_equal(syn(pipe, 2, 1001, 80), 0);
		assert_int_equal(pipe_stats(pipe).cache_hits, 1);
		pipe_free(pipe);
	}
}

// A rule on either end: an entry lives while one of its ends is in it, whichever that is.
static void entry_of_a_host_rule_goes_with_the_host(void **state)
{
	static const char *const hosts[] = {"10.0.0.1", "10.0.0.2", "10.0.0.9"};
	(void)state;

	for (unsigned round = 0; round < 6; round++) {
		struct pipe *pipe = pipe_refusing(round & 1 ? CACHE_PEER : CACHE_TUPLE);
		struct policy *policy = pipe_policy(pipe);
		struct rule *rule = pipe_rule(policy, 5, ACTION_DROP);

		assert_int_equal(syn(pipe, 2, 1000, 80), 0);
		rule->has_host = true;
		rule->cache = round & 1 ? CACHE_PEER : CACHE_TUPLE;
		assert_int_equal(address_set_add(&rule->host, hosts[round / 2]), 0);
		address_set_seal(&rule->host);
		pipe_publish(pipe, policy);
		assert_int_equal(syn(pipe, 2, 1001, 80), round / 2 == 2);
		assert_int_equal(pipe_stats(pipe).cache_hits, round / 2 != 2);
		assert_int_equal(pipe_stats(pipe).cache_healed, round / 2 == 2);
		pipe_free(pipe);
	}
}

// The same rule in monitor mode, without a cache, or one that passes: who was refused may come.
static void rule_that_blocks_no_more_lets_its_entries_go(void **state)
{
	(void)state;
	for (enum cache_mode cache = CACHE_TUPLE; cache <= CACHE_PEER; cache++)
		for (unsigned change = 0; change < 3; change++) {
			struct pipe *pipe = pipe_refusing(cache);
			struct policy *policy = pipe_policy(pipe);

			assert_int_equal(syn(pipe, 2, 1000, 80), 0);
			struct rule *rule = refuse_client(policy, cache);

			if (change == 0)
				rule->mode = MODE_MONITOR;
			else if (change == 1)
				rule->action = ACTION_PASS;
			else
				rule->cache = CACHE_NONE;
			pipe_publish(pipe, policy);
			assert_int_equal(syn(pipe, 2, 1001, 80), change < 2);
			assert_int_equal(pipe_stats(pipe).cache_hits, 0);
			assert_int_equal(pipe_stats(pipe).cache_healed, 1);
			pipe_free(pipe);
		}
}

static void give_client_to(struct policy *policy, const char *name, uint32_t uid)
{
	struct user_clash clash;

	policy->users.users = calloc(1, sizeof(struct user));
	assert_non_null(policy->users.users);
	policy->users.n_users = 1;
	policy->users.users[0].uid = uid;
	snprintf(policy->users.users[0].name, USER_NAME_SIZE, "%s", name);
	assert_int_equal(user_map_add(&policy->users, 0, 0, "10.0.0.1"), 0);
	assert_int_equal(user_map_seal(&policy->users, &clash), 0);
	policy->asks_user = true;
}

// What alice was refused is not refused to whom her address is given next.
static void entry_of_a_user_goes_with_the_address(void **state)
{
	(void)state;
	for (enum cache_mode mode = CACHE_TUPLE; mode <= CACHE_PEER; mode++) {
		struct pipe *pipe = pipe_new(1, NULL);
		struct policy *policy = pipe_policy(pipe);
		struct rule *rule = pipe_rule(policy, 5, ACTION_DROP);
		struct event event = {0};

		give_client_to(policy, "alice", 70);
		rule->has_user = true;
		rule->cache = (uint8_t)mode;
		rule->users = calloc(1, sizeof(uint32_t)); // index 0
		assert_non_null(rule->users);
		rule->n_users = 1;
		pipe_publish(pipe, policy);
		assert_int_equal(syn(pipe, 2, 1000, 80), 0);
		assert_true(pipe_event(pipe, 0, EVENT_ALERT, &event));
		assert_int_equal(event.user_uid, 70);
		assert_true(pipe_event(pipe, 0, EVENT_CONNCACHE, &event));
		assert_int_equal(event.user_uid, 70);
		assert_int_equal(syn(pipe, 2, 1001, 80), 0);
		assert_int_equal(pipe_stats(pipe).cache_hits, 1);

		policy = pipe_policy(pipe);
		rule = pipe_rule(policy, 5, ACTION_DROP);
		give_client_to(policy, "bob", 71);
		rule->has_user = true; // of a user who has no address now
		rule->cache = (uint8_t)mode;
		rule->users = calloc(1, sizeof(uint32_t));
		assert_non_null(rule->users);
		rule->users[0] = 1;
		rule->n_users = 1;
		pipe_publish(pipe, policy);
		assert_int_equal(syn(pipe, 2, 1002, 80), 1);
		assert_int_equal(pipe_stats(pipe).cache_healed, 1);
		pipe_free(pipe);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(policy_that_lets_this_peer_pass_heals_its_entry),
		cmocka_unit_test(reload_that_still_blocks_keeps_its_entries),
		cmocka_unit_test(entry_of_a_host_rule_goes_with_the_host),
		cmocka_unit_test(rule_that_blocks_no_more_lets_its_entries_go),
		cmocka_unit_test(rule_without_cache_makes_no_entry),
		cmocka_unit_test(hits_refresh_an_entry_up_to_its_lifetime),
		cmocka_unit_test(expiry_tells_hits_and_saved_bytes),
		cmocka_unit_test(bad_checksum_is_no_hit_and_no_refresh),
		cmocka_unit_test(exempt_peers_are_never_learned),
		cmocka_unit_test(learn_only_counts_and_lets_through),
		cmocka_unit_test(full_cache_evicts_the_one_not_refreshed_longest),
		cmocka_unit_test(entry_knows_who_began),
		cmocka_unit_test(answer_without_its_syn_hits_by_the_responder),
		cmocka_unit_test(flush_lets_them_in_again),
		cmocka_unit_test(entry_of_a_user_goes_with_the_address),
	};

	return cmocka_run_group_tests_name("conn_cache", tests, NULL, NULL);
}
