// SPDX-License-Identifier: BSD-3-Clause
// Hash tables whose keys come from packets. 16,000 keys that all share one chain under a seed that
// the attacker knows are put into each table, under that seed and under others: the chain is cut at
// CHAIN_MAX, and where the seed is another the keys spread. A new table belongs into the list.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include <rte_cycles.h>
#include "lib/pipeline/pipe.h"
#include "pipeline/vocab/chains.h"
#include "pipeline/flow/table.h"
#include "pipeline/stage/fragments.h"
#include "pipeline/flow/expect.h"
#include "pipeline/cache/conn_cache.h"
#include "pipeline/cache/endpoint_cache.h"
#include "pipeline/loop.h"

#define KEYS   16000
#define SPREAD 10 // entries of a chain that nobody aimed at; one more is a matter of 10^-6

static uint64_t next_random(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static struct hash_seed seed_of(uint64_t number)
{
	struct hash_seed seed;

	for (unsigned i = 0; i < HASH_WORDS_MAX; i++)
		seed.words[i] = next_random(&number);
	return seed;
}

static struct lcore_limits limits_of(const struct hash_seed *seed)
{
	struct lcore_limits limits = pipe_limits();

	limits.parse.seed = *seed;
	limits.flows = 1024;
	limits.embryos = limits.conn_cache = limits.expectations = limits.endpoints = limits.names =
		limits.fragments.datagrams = limits.fragments.packets = 32768;
	return limits;
}

// Two words of a key of which one hides the other: a factor that is 0 where the seed is `known`.
static void forge(const struct hash_seed *known, uint32_t i, uint8_t out[16])
{
	uint64_t words[2] = {known->words[0], 0x0123456789ab0000ull + i};

	memcpy(out, words, 16);
}

static void put_flow4(struct lcore *lcore, const struct hash_seed *known, uint32_t i)
{
	union flow_key key = {.v4 = {.l4_proto = IPPROTO_UDP,
				      .port_a = (uint16_t)i,
				      .port_b = (uint16_t)(i >> 16)}};

	memcpy(&key.v4, &known->words[0], 8);
	flow_stub_add(lcore, &key, false, FLOW_CLASS_STATELESS, 0);
}

static void put_flow6(struct lcore *lcore, const struct hash_seed *known, uint32_t i)
{
	union flow_key key = {.v6 = {.l4_proto = IPPROTO_UDP, .port_a = 1, .port_b = 2}};

	forge(known, i, key.v6.addr_a);
	flow_stub_add(lcore, &key, true, FLOW_CLASS_STATELESS, 0);
}

static void put_conn(struct lcore *lcore, const struct hash_seed *known, uint32_t i)
{
	struct conn_entry entry = {.key = {.port = 443, .l4_proto = IPPROTO_TCP}};

	entry.created_ns = lcore->now_ns;
	forge(known, i, entry.key.initiator);
	conn_cache_learn(lcore, &entry, false);
}

static struct endpoint_entry endpoint(
	const struct lcore *lcore, const struct hash_seed *known, uint32_t i)
{
	struct endpoint_entry entry = {
		.expires_ns = lcore->now_ns + NS_PER_S, .teller = i, .app = 1};

	forge(known, i, entry.key.address);
	return entry;
}

static void put_endpoint(struct lcore *lcore, const struct hash_seed *known, uint32_t i)
{
	struct endpoint_entry entry = endpoint(lcore, known, i);

	entry.key.port = 6881;
	endpoint_cache_learn(lcore, lcore->endpoints, &entry);
}

static void put_name(struct lcore *lcore, const struct hash_seed *known, uint32_t i)
{
	struct endpoint_entry entry = endpoint(lcore, known, i);

	endpoint_cache_learn(lcore, lcore->names, &entry);
}

static void put_expectation(struct lcore *lcore, const struct hash_seed *known, uint32_t i)
{
	struct expected expected = {
		.what = {.port = 2000, .l4_proto = IPPROTO_TCP, .ttl_s = 60, .app = 1},
		.teller = i};

	forge(known, i, expected.what.address);
	expect_add(lcore, &expected, false);
}

// The beginnings of so many datagrams, of IPv6 senders.
static void put_fragment(struct lcore *lcore, const struct hash_seed *known, uint32_t i)
{
	uint8_t frame[14 + 40 + 8 + 8] = {[12] = 0x86,
		[13] = 0xdd,
		[14] = 0x60,
		[19] = 16,
		[20] = IPPROTO_FRAGMENT,
		[21] = 64,
		[38] = 0xfd,
		[54] = IPPROTO_UDP,
		[57] = 9};
	struct rte_mbuf *m = rte_pktmbuf_alloc(lcore->pool);

	assert_non_null(m);
	forge(known, i, frame + 22);
	memcpy(rte_pktmbuf_append(m, sizeof(frame)), frame, sizeof(frame));
	pipeline_receive(m ? lcore : NULL, m, PIPE_INSIDE, LINK_ETHERNET, lcore->now_ns, 0);
	pipeline_run(lcore, &m, 1, lcore->now_ns);
}

static const struct {
	const char *name;
	void (*put)(struct lcore *lcore, const struct hash_seed *known, uint32_t i);
	size_t chain; // in struct stats
	uint32_t keys;
	bool evicts; // of a full chain the oldest goes; else the new key is refused
} tables[] = {
	{"flows, IPv4", put_flow4, offsetof(struct stats, chain_flows), KEYS, false},
	{"flows, IPv6", put_flow6, offsetof(struct stats, chain_flows), KEYS, false},
	{"connection cache", put_conn, offsetof(struct stats, chain_conn_cache), KEYS, true},
	{"endpoint cache", put_endpoint, offsetof(struct stats, chain_endpoints), KEYS, true},
	{"name cache", put_name, offsetof(struct stats, chain_names), KEYS, true},
	{"expectations", put_expectation, offsetof(struct stats, chain_expectations), KEYS, true},
	{"fragments", put_fragment, offsetof(struct stats, chain_fragments), 400, true},
};
#define TABLES (sizeof(tables) / sizeof(tables[0]))

// Puts the keys into a table of `seed`; the longest chain of the table. *full: keys refused or
// evicted for it.
static uint64_t attack(
	unsigned table, const struct hash_seed *known, const struct hash_seed *seed, uint64_t *full)
{
	struct lcore_limits limits = limits_of(seed);
	struct pipe *pipe = pipe_new(1, &limits);
	struct lcore *lcore = pipe->dp.lcores[0];
	struct event event;

	pipe_turns(pipe);
	for (uint32_t i = 0; i < tables[table].keys; i++) {
		tables[table].put(lcore, known, i);
		pipe->n_sent = 0;
		while (i % 256 == 0 && pipe_event(pipe, 0, EVENT_TRACE, &event))
			;
	}
	pipe_turns(pipe);
	struct stats stats = pipe_stats(pipe);
	uint64_t longest = *(const uint64_t *)((const char *)&stats + tables[table].chain);

	*full = stats.chain_full;
	if (tables[table].put == put_fragment) // those have the counter of their limit
		*full = stats.datagrams_limit;
	while (pipe_event(pipe, 0, EVENT_TRACE, &event))
		;
	pipe_free(pipe);
	return longest;
}

static void known_seed_fills_one_chain_and_no_more(void **state)
{
	const struct hash_seed seed = HASH_SEED_FIXED;
	(void)state;

	for (unsigned i = 0; i < TABLES; i++) {
		uint64_t full, longest = attack(i, &seed, &seed, &full);

		print_message("%s: %llu of %u keys found the chain full\n", tables[i].name,
			(unsigned long long)full, tables[i].keys);
		assert_int_equal(longest, CHAIN_MAX);
		assert_int_equal(full, tables[i].keys - CHAIN_MAX);
	}
}

static void keys_made_for_one_seed_spread_under_another(void **state)
{
	const struct hash_seed known = HASH_SEED_FIXED;
	(void)state;

	for (unsigned i = 0; i < TABLES; i++)
		for (uint64_t number = 1; number <= 3; number++) {
			const struct hash_seed seed = seed_of(number);
			uint64_t full, longest = attack(i, &known, &seed, &full);

			print_message("%s, seed %llu: longest chain %llu\n", tables[i].name,
				(unsigned long long)number, (unsigned long long)longest);
			assert_in_range(longest, 1, SPREAD);
			assert_int_equal(full, 0);
		}
}

// The parts of one who tells (endpoints, expectations) are counted by a hash of his address.
static void tellers_of_one_network_share_no_counter(void **state)
{
	const struct hash_seed known = HASH_SEED_FIXED, seed = seed_of(4);
	unsigned count[256] = {0}, most = 0;
	uint64_t words[2];
	(void)state;

	for (uint32_t i = 0; i < 4096; i++) {
		forge(&known, i, (uint8_t *)words);
		unsigned *of = &count[hash_words(&seed, words, 2) % 256];

		assert_int_equal(hash_words(&known, words, 2) % 256,
			hash_words(&known, (uint64_t[]){known.words[0], 0}, 2) % 256);
		most = RTE_MAX(most, ++*of);
	}
	assert_in_range(most, 16, 40); // 16 each, sigma 4
}

// Sets of keys of which one who does not know the seed may hope that they collide for any.
enum { HOPES = 7 };
static void hope(unsigned kind, uint32_t i, uint64_t words[6])
{
	const struct hash_seed fixed = HASH_SEED_FIXED;

	memset(words, 0, 6 * sizeof(words[0]));
	switch (kind) {
	case 0: words[1] = i; break;                                              // 0 against all
	case 1: words[0] = (uint64_t)i << 52; break;                              // the top bits
	case 2: words[i & 1] = i >> 1, words[!(i & 1)] = ~0ull - (i >> 1); break; // change places
	case 3: words[0] = fixed.words[0], words[1] = i; break;           // public constants
	case 4: words[0] = words[2] = i, words[1] = words[3] = ~i; break; // pairs that cancel
	case 5: words[0] = 1ull << (i % 64), words[3] = 1ull << (i / 64); break;
	case 6: words[4] = ~0ull, words[0] = (uint64_t)i * 0x0001000100010001ull; break;
	}
}

static void no_structure_collides_for_many_seeds(void **state)
{
	enum { N = 4096, HEADS = 8192 };
	static uint8_t length[HEADS];
	(void)state;

	for (unsigned kind = 0; kind < HOPES; kind++)
		for (uint64_t number = 1; number <= 200; number++) {
			const struct hash_seed seed = seed_of(number * 1000);
			unsigned longest = 0;

			memset(length, 0, sizeof(length));
			for (uint32_t i = 0; i < N; i++) {
				uint64_t words[6];

				hope(kind, i, words);
				uint8_t *of = &length[hash_words(&seed, words, 6) % HEADS];

				longest = RTE_MAX(longest, (unsigned)++*of);
			}
			if (longest > SPREAD)
				fail_msg("kind %u, seed %llu: a chain of %u", kind,
					(unsigned long long)number, longest);
		}
}

static uint64_t cost_of_syns(struct pipe *pipe, uint32_t client)
{
	uint64_t start = rte_rdtsc_precise();

	for (unsigned i = 0; i < 500; i++) {
		const struct pipe_packet syn = {
			.client = client, .sport = (uint16_t)(1000 + i), .tcp_flags = TH_SYN};

		pipe->n_sent = 0;
		assert_int_equal(pipe_run(pipe, 0, &syn), 1);
	}
	return (rte_rdtsc_precise() - start) / 500;
}

// An empty one of UDP between two addresses that hide its ports where the seed is `known`.
static void datagram(uint8_t frame[14 + 28], const struct hash_seed *known, uint32_t i)
{
	const uint8_t head[14 + 28] = {[12] = 8,
		[14] = 0x45,
		[17] = 28,
		[22] = 64,
		[23] = IPPROTO_UDP,
		[34] = (uint8_t)(i >> 8),
		[35] = (uint8_t)i,
		[37] = 9,
		[39] = 8};
	uint32_t sum = 0;

	memcpy(frame, head, sizeof(head));
	memcpy(frame + 26, &known->words[0], 8);
	for (unsigned at = 14; at < 34; at += 2)
		sum += (uint32_t)(frame[at] << 8 | frame[at + 1]);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~(sum + (sum >> 16));
	frame[24] = (uint8_t)(sum >> 8);
	frame[25] = (uint8_t)sum;
}

// Through the packet path: datagrams between two addresses that were chosen by the public seed.
static void flood_of_one_chain_costs_a_syn_nothing(void **state)
{
	const struct hash_seed known = HASH_SEED_FIXED, secret = seed_of(5);
	struct lcore_limits limits = limits_of(&secret);
	struct pipe *pipe = pipe_new(1, &limits);
	uint64_t quiet = cost_of_syns(pipe, 77);
	uint8_t frame[14 + 28];
	struct event event;
	(void)state;

	for (uint32_t i = 0; i < KEYS; i++) {
		datagram(frame, &known, i);
		pipe->n_sent = 0;
		pipe_run_frame(pipe, 0, frame, sizeof(frame), false, 1);
	}
	uint64_t flooded = cost_of_syns(pipe, 78);

	pipe_turns(pipe);
	print_message("a SYN: %llu cycles, behind the flood %llu; longest chain %llu\n",
		(unsigned long long)quiet, (unsigned long long)flooded,
		(unsigned long long)pipe_stats(pipe).chain_flows);
	assert_in_range(pipe_stats(pipe).chain_flows, 1, SPREAD);
	assert_in_range(pipe_stats(pipe).embryos_active, KEYS, KEYS + 1000);
	for (unsigned s = 0; s < 62; s++)
		pipe_advance(pipe, 1);
	while (pipe_event(pipe, 0, EVENT_TRACE, &event))
		;
	for (unsigned i = 0; i < 1000; i++)
		pipe_advance(pipe, 0.01);
	assert_int_equal(pipe_stats(pipe).embryos_active, 0);
	assert_int_equal(pipe_stats(pipe).chain_flows, 0);
	pipe_free(pipe);
}

static unsigned owner_of(const struct pipe *pipe, const struct pipe_packet *packet)
{
	struct pkt pkt = {.link = LINK_ETHERNET};
	uint8_t frame[256];
	unsigned length = pipe_build(packet, frame, sizeof(frame));

	parse_packet(&pkt, frame, length, length);
	return flow_owner(&pipe->dp, &pkt);
}

// The owner of a flow follows from its addresses and ports by a function that is public and linear
// (owner.h): a flood can be aimed at one lcore. That one has it all; the others lose nothing.
static void flood_aimed_at_one_lcore_leaves_the_others_alone(void **state)
{
	enum { LCORES = 3, TARGET = 1 };
	const struct hash_seed secret = seed_of(6);
	struct lcore_limits limits = limits_of(&secret);
	unsigned aimed = 0, sent = 0, delivered = 0;

	limits.embryos = 2048;
	struct pipe *pipe = pipe_new(LCORES, &limits);
	struct event event;
	(void)state;

	for (uint32_t i = 0; aimed < KEYS; i++) {
		const uint32_t client = 100 + i / 50000;
		const uint16_t sport = (uint16_t)(1 + i % 50000);
		const struct pipe_packet syn = {
			.client = client, .sport = sport, .tcp_flags = TH_SYN};

		if (owner_of(pipe, &syn) != TARGET)
			continue;
		pipe_run(pipe, TARGET, &syn); // as receive-side scaling deals it
		if (aimed++ % 16)
			continue;
		for (unsigned lcore = 0; lcore < LCORES; lcore++) { // new connections of others
			struct pipe_packet honest = {.client = 7, .tcp_flags = TH_SYN};

			honest.sport = (uint16_t)(2000 + sent * 8);
			while (owner_of(pipe, &honest) != lcore)
				honest.sport++;
			if (lcore == TARGET)
				continue;
			pipe->n_sent = 0;
			delivered += pipe_run(pipe, lcore, &honest);
			sent++;
		}
		pipe_turns(pipe);
		while (pipe_event(pipe, TARGET, EVENT_TRACE, &event))
			;
	}
	assert_int_equal(delivered, sent);
	for (unsigned lcore = 0; lcore < LCORES; lcore++) {
		const struct stats *stats = &pipe->dp.lcores[lcore]->stats;

		assert_int_equal(stats->flows_evicted > 0, lcore == TARGET);
		assert_in_range(stats->chain_flows, 1, SPREAD);
		assert_int_equal(stats->chain_full, 0);
		while (pipe_event(pipe, lcore, EVENT_TRACE, &event))
			;
	}
	pipe_free(pipe);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_seed_fills_one_chain_and_no_more),
		cmocka_unit_test(keys_made_for_one_seed_spread_under_another),
		cmocka_unit_test(tellers_of_one_network_share_no_counter),
		cmocka_unit_test(no_structure_collides_for_many_seeds),
		cmocka_unit_test(flood_of_one_chain_costs_a_syn_nothing),
		cmocka_unit_test(flood_aimed_at_one_lcore_leaves_the_others_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
