// SPDX-License-Identifier: BSD-3-Clause
// The endpoint and name caches through the packet path: who teaches, who is named, who is not
// believed, and that payload has the last word.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/pipeline/pipe.h"
#include "pipeline/cache/endpoint_cache.h"
#include "pipeline/flow/table.h"
#include "classify/user_apps.h"

#define ID "abcdefghij0123456789"

static uint64_t seed;

static uint8_t *chance(uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		bytes[i] = (uint8_t)(seed >> 40);
	}
	return bytes;
}

static void datagram(struct pipe *pipe, unsigned lcore, uint32_t server, bool from_outside,
	const void *payload, size_t length)
{
	struct pipe_packet packet = {.proto = IPPROTO_UDP,
		.server = server,
		.sport = 6881,
		.dport = 6881,
		.from_outside = from_outside,
		.payload = payload,
		.payload_length = (uint16_t)length};

	pipe_run(pipe, lcore, &packet);
}

// A DHT node at 10.0.0.`server` says that these octets, address and port, are a peer.
static void told_of(struct pipe *pipe, unsigned lcore, uint32_t server, const char *peer)
{
	static const char query[] = "d1:ad2:id20:" ID "e1:q4:ping1:t2:aa1:y1:qe";
	char reply[] = "d1:rd2:id20:" ID "6:valuesl6:......ee1:t2:aa1:y1:re";

	memcpy(strchr(reply, '.'), peer, 6);
	datagram(pipe, lcore, server, false, query, sizeof(query) - 1);
	datagram(pipe, lcore, server, true, reply, sizeof(reply) - 1);
	pipe_turns(pipe);
}

// The first flight of a connection to 10.0.0.`server`, and its flow as it is then.
static const struct flow *connect_to(struct pipe *pipe, unsigned lcore, uint32_t server,
	uint16_t dport, const void *bytes, size_t length)
{
	static uint16_t sport = 20000;
	struct pipe_packet packet = {
		.server = server, .sport = ++sport, .dport = dport, .tcp_flags = TH_SYN, .seq = 99};

	pipe_run(pipe, lcore, &packet);
	pipe_turns(pipe);
	packet.tcp_flags = 0;
	packet.seq = 100;
	packet.payload = bytes;
	packet.payload_length = (uint16_t)length;
	pipe_run(pipe, lcore, &packet);
	pipe_turns(pipe); // it may belong to another lcore
	for (unsigned l = 0; l < pipe->dp.n_lcores; l++) {
		struct flow_table *flows = pipe->dp.lcores[l]->flows;

		for (uint32_t i = 0; i < flow_table_usage(flows).flows_max; i++) {
			const struct flow *flow = flow_at(flows, i);

			if (flow->gen && flow_cold_at(flows, i)->ends.port[HALF_C2S] == sport)
				return flow;
		}
	}
	fail_msg("no flow");
	return NULL;
}

static void assert_is(const struct flow *flow, const char *app, enum confidence confidence)
{
	assert_int_equal(flow->app, app_find(app));
	assert_int_equal(flow->confidence, confidence);
}

static void a_peer_that_the_dht_lists_is_known_encrypted(void **state)
{
	struct pipe *pipe = pipe_new(2, NULL);
	uint8_t bytes[300];
	(void)state;

	told_of(pipe, 0, 9, "\x0a\0\0\x05\xc8\xd5");
	assert_is(connect_to(pipe, 0, 5, 51413, chance(bytes, 300), 300), "bittorrent",
		CONFIDENCE_CACHE);
	for (unsigned i = 0; i < 19; i++)
		assert_is(connect_to(pipe, i & 1, 5, 51413, chance(bytes, 300), 300), "bittorrent",
			CONFIDENCE_CACHE);
	assert_int_equal(pipe_stats(pipe).endpoints_hits, 20);
	// whichever lcore has the flow has heard
	assert_true(pipe->dp.lcores[0]->stats.endpoints_hits > 0);
	assert_true(pipe->dp.lcores[1]->stats.endpoints_hits > 0);
	assert_int_equal(pipe_stats(pipe).endpoints_active, 2 * 3); // TCP, UDP, and the node
	// another port, another address: unknown
	assert_is(connect_to(pipe, 0, 5, 51414, chance(bytes, 300), 300), "", CONFIDENCE_NONE);
	assert_is(connect_to(pipe, 0, 6, 51413, chance(bytes, 300), 300), "", CONFIDENCE_NONE);
	// an hour later nobody knows any more
	pipe_advance(pipe, ENDPOINT_TTL_S + 1);
	assert_is(connect_to(pipe, 0, 5, 51413, chance(bytes, 300), 300), "", CONFIDENCE_NONE);
	assert_int_equal(pipe_stats(pipe).endpoints_active, 0);
	pipe_free(pipe);
}

// The list names who told it last, and it lasts from then on.
static void who_tells_it_again_is_who_told_it(void **state)
{
	static const uint8_t peer[16] = {[10] = 0xff, 0xff, 10, 0, 0, 5};
	struct pipe *pipe = pipe_new(1, NULL);
	const struct endpoint_cache *cache = pipe->dp.lcores[0]->endpoints;
	struct endpoint_entry entries[16], told[2] = {0};
	(void)state;

	for (unsigned i = 0; i < 2; i++) {
		uint32_t cursor = 0;

		told_of(pipe, 0, 9 - i, "\x0a\0\0\x05\xc8\xd5");
		unsigned n = endpoint_cache_read(cache, &cursor, entries, RTE_DIM(entries));

		for (unsigned at = 0; at < n; at++)
			if (!memcmp(entries[at].key.address, peer, 16) &&
				entries[at].key.l4_proto == IPPROTO_TCP)
				told[i] = entries[at];
		assert_true(told[i].flow_id != 0);
		pipe_advance(pipe, 5);
	}
	assert_true(told[1].flow_id != told[0].flow_id);
	assert_int_equal(told[1].created_ns, told[0].created_ns);
	assert_int_equal(told[1].expires_ns, told[0].expires_ns + 5 * NS_PER_S);
	pipe_free(pipe);
}

// A handshake that is encrypted begins with a key of 96 octets; transmission takes whatever stands
// behind.
static void padding_hides_no_peer_that_was_named(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	uint8_t bytes[1400];
	(void)state;

	told_of(pipe, 0, 9, "\x0a\0\0\x05\xc8\xd5");
	for (unsigned i = 0; i < 20; i++) {
		chance(bytes, sizeof(bytes)); // more than the specification's 512
		assert_is(connect_to(pipe, 0, 5, 51413, bytes, i & 1 ? 609 : sizeof(bytes)),
			"bittorrent", CONFIDENCE_CACHE);
		memset(bytes + 96, 'a', 300); // no chance
		assert_is(
			connect_to(pipe, 0, 5, 51413, bytes, 396), "bittorrent", CONFIDENCE_CACHE);
	}
	chance(bytes, 95);
	assert_is(connect_to(pipe, 0, 5, 51413, bytes, 95), "", CONFIDENCE_NONE);
	memset(bytes, 'a', 96);
	assert_is(connect_to(pipe, 0, 5, 51413, bytes, sizeof(bytes)), "", CONFIDENCE_NONE);
	pipe_free(pipe);
}

// Whoever lists a server that is none cannot make its clients' flows look like peers.
static void payload_has_the_last_word(void **state)
{
	static const char text[] = "EHLO this is something that is no ciphertext at all, and long "
				   "enough to be a key of ninety-six octets with its padding";
	static const char handshake[] = "\x13"
					"BitTorrent protocol\0\0\0\0\0\0\0\0" ID ID;
	struct pipe *pipe = pipe_new(1, NULL);
	const struct flow *flow;
	(void)state;

	told_of(pipe, 0, 9, "\x0a\0\0\x05\xc8\xd5");
	assert_is(connect_to(pipe, 0, 5, 51413, text, sizeof(text) - 1), "", CONFIDENCE_NONE);
	flow = connect_to(pipe, 0, 5, 51413, handshake, sizeof(handshake) - 1);
	assert_int_equal(flow->app, app_find("bittorrent"));
	assert_true(flow->confidence >= CONFIDENCE_DPI);
	assert_int_equal(pipe_stats(pipe).endpoints_hits, 0);
	pipe_free(pipe);
}

static void liars_are_bounded(void **state)
{
	static const char *const refused[] = {
		"\x0a\0\0\x05\x01\xbb", // 443
		"\x7f\0\0\x01\xc8\xd5", // loopback
		"\xe0\0\0\x01\xc8\xd5", // a group
		"\0\0\0\0\xc8\xd5",
		"\xff\xff\xff\xff\xc8\xd5",
	};
	struct pipe *pipe = pipe_new(1, NULL);
	struct stats before;
	(void)state;

	for (unsigned i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		told_of(pipe, 0, 9, refused[i]);
	assert_int_equal(pipe_stats(pipe).endpoints_active, 1); // the node itself
	assert_int_equal(pipe_stats(pipe).endpoints_refused, 5);
	// one teller has a share of the 256 entries, others still have room
	before = pipe_stats(pipe);
	for (unsigned i = 0; i < 100; i++) {
		const char peer[] = {10, 0, 1, (char)i, (char)0xc8, (char)0xd5, 0};

		told_of(pipe, 0, 9, peer);
	}
	assert_int_equal(pipe_stats(pipe).endpoints_active, 256 / ENDPOINT_TELLER_SHARE);
	assert_true(pipe_stats(pipe).endpoints_refused > before.endpoints_refused + 150);
	told_of(pipe, 0, 8, "\x0a\0\2\x05\xc8\xd5");
	assert_int_equal(pipe_stats(pipe).endpoints_active, 256 / ENDPOINT_TELLER_SHARE + 3);
	pipe_free(pipe);
}

static void private_addresses_are_told_by_neighbours_alone(void **state)
{
	const uint8_t inside[16] = {[10] = 0xff, 0xff, 192, 168, 1, 5};
	const uint8_t shared[16] = {[10] = 0xff, 0xff, 100, 64, 1, 5};
	const uint8_t outside[16] = {[10] = 0xff, 0xff, 11, 0, 0, 1};
	const uint8_t unique[16] = {0xfd, 1}, global[16] = {0x20, 1}, group[16] = {0xff, 2};
	(void)state;

	assert_false(endpoint_is_plausible(inside, outside));
	assert_false(endpoint_is_plausible(shared, outside));
	assert_false(endpoint_is_plausible(unique, global));
	assert_false(endpoint_is_plausible(group, unique));
	assert_true(endpoint_is_plausible(inside, inside));
	assert_true(endpoint_is_plausible(outside, inside));
	assert_true(endpoint_is_plausible(global, outside));
	assert_true(endpoint_is_plausible(unique, unique));
}

// The oldest goes; one that is reported again stays.
static void a_full_cache_keeps_what_was_told_last(void **state)
{
	struct lcore_limits limits = pipe_limits();
	struct pipe *pipe;
	uint8_t bytes[300];
	(void)state;

	limits.endpoints = 32;
	pipe = pipe_new(1, &limits);
	for (unsigned i = 0; i < 60; i++) {
		const char peer[] = {10, 0, 1, (char)i, (char)0xc8, (char)0xd5, 0};

		told_of(pipe, 0, 9, "\x0a\0\0\x05\xc8\xd5");
		told_of(pipe, 0, 100 + i, peer);
	}
	assert_int_equal(pipe_stats(pipe).endpoints_active, 32);
	assert_true(pipe_stats(pipe).endpoints_evicted > 0);
	assert_is(connect_to(pipe, 0, 5, 51413, chance(bytes, 300), 300), "bittorrent",
		CONFIDENCE_CACHE);
	pipe_free(pipe);
	limits.endpoints = limits.names = 0; // off
	pipe = pipe_new(1, &limits);
	told_of(pipe, 0, 9, "\x0a\0\0\x05\xc8\xd5");
	assert_is(connect_to(pipe, 0, 5, 51413, chance(bytes, 300), 300), "", CONFIDENCE_NONE);
	pipe_free(pipe);
}

// An A record for a name of ten octets, chat.host0 .. chat.host9: of which one is an application's.
static void resolved(struct pipe *pipe, uint32_t client, char host, uint8_t server)
{
	char answer[] = "\x12\x34\x81\x80\0\1\0\1\0\0\0\0\4chat\5host?\0\0\1\0\1"
			"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\x0a\0\0?";
	char query[12 + 12 + 4];
	struct pipe_packet packet = {.proto = IPPROTO_UDP,
		.client = client,
		.server = 53,
		.sport = (uint16_t)(1024 + client),
		.dport = 53,
		.payload = query,
		.payload_length = sizeof(query)};

	answer[22] = host;
	answer[sizeof(answer) - 2] = (char)server;
	memcpy(query, answer, sizeof(query));
	query[2] = 1;
	query[3] = query[7] = 0;
	pipe_run(pipe, 0, &packet);
	packet.from_outside = true;
	packet.payload = answer;
	packet.payload_length = sizeof(answer) - 1;
	pipe_run(pipe, 0, &packet);
	pipe_turns(pipe);
}

static struct pipe *pipe_with_hosts(void)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct policy *policy = pipe_policy(pipe);

	policy->user_apps = user_apps_new();
	assert_non_null(policy->user_apps);
	assert_int_equal(user_apps_add_host(policy->user_apps, app_find("irc"), "host1"), 0);
	assert_int_equal(user_apps_add_host(policy->user_apps, app_find("xmpp"), "host2"), 0);
	pipe_publish(pipe, policy);
	return pipe;
}

static void names_of_dns_answers(void **state)
{
	struct pipe *pipe = pipe_with_hosts();
	uint8_t bytes[300];
	const struct flow *flow;
	(void)state;

	resolved(pipe, 1, '1', 7);
	chance(bytes, 300);
	bytes[0] = 0; // no shape of anything
	flow = connect_to(pipe, 0, 7, 9999, bytes, 300);
	assert_is(flow, "irc", CONFIDENCE_CACHE);
	assert_int_equal(pipe_stats(pipe).names_hits, 1);
	// of two applications, or of one and of none: nobody's, for who did not ask himself
	resolved(pipe, 1, '1', 8);
	resolved(pipe, 3, '2', 8);
	assert_is(connect_to(pipe, 0, 8, 9999, bytes, 300), "irc", CONFIDENCE_CACHE);
	resolved(pipe, 1, '9', 8);
	assert_is(connect_to(pipe, 0, 8, 9999, bytes, 300), "", CONFIDENCE_NONE);
	resolved(pipe, 3, '1', 9);
	assert_is(connect_to(pipe, 0, 9, 9999, bytes, 300), "irc", CONFIDENCE_CACHE);
	resolved(pipe, 3, '9', 9);
	assert_is(connect_to(pipe, 0, 9, 9999, bytes, 300), "", CONFIDENCE_NONE);
	// the answer's time is over
	pipe_advance(pipe, 61);
	assert_is(connect_to(pipe, 0, 7, 9999, bytes, 300), "", CONFIDENCE_NONE);
	pipe_free(pipe);
}

// A flow that says itself what it wants is not of the name that its address has.
static void a_name_of_its_own_counts(void **state)
{
	static const char request[] = "GET / HTTP/1.1\r\nHost: other.example\r\n\r\n";
	struct pipe *pipe = pipe_with_hosts();
	(void)state;

	resolved(pipe, 1, '1', 7);
	assert_is(connect_to(pipe, 0, 7, 80, request, sizeof(request) - 1), "", CONFIDENCE_NONE);
	pipe_free(pipe);
}

static void a_rule_for_the_cache_blocks(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct policy *policy = pipe_policy(pipe);
	struct rule *rule = pipe_rule_app(policy, 7, ACTION_DROP, "bittorrent");
	uint8_t bytes[300];
	struct pipe_packet packet = {.server = 5,
		.sport = 30000,
		.dport = 51413,
		.seq = 100,
		.payload = bytes,
		.payload_length = 300};
	(void)state;

	told_of(pipe, 0, 9, "\x0a\0\0\x05\xc8\xd5");
	rule->min_confidence = CONFIDENCE_CACHE;
	pipe_publish(pipe, policy);
	chance(bytes, 300);
	struct pipe_packet syn = packet;

	syn.tcp_flags = TH_SYN;
	syn.seq = 99;
	syn.payload_length = 0;
	pipe_run(pipe, 0, &syn);
	assert_int_equal(pipe_run(pipe, 0, &packet), 0);
	assert_int_equal(pipe_stats(pipe).flows_condemned, 1);
	pipe_free(pipe);
}

// Three flights of the shape of MSE, to a peer or to nobody known; whether the last one passed.
static bool encrypted(struct pipe *pipe, uint32_t server, uint16_t sport)
{
	static const uint16_t lengths[] = {300, 200, 124};
	struct pipe_packet packet = {
		.server = server, .sport = sport, .dport = 51413, .tcp_flags = TH_SYN, .seq = 99};
	uint8_t bytes[300];
	unsigned sent = 0;

	pipe_run(pipe, 0, &packet);
	packet.from_outside = true;
	packet.tcp_flags = TH_SYN | TH_ACK;
	packet.ack = 100;
	pipe_run(pipe, 0, &packet);
	packet.tcp_flags = 0;
	packet.payload = bytes;
	for (unsigned i = 0; i < 3; i++) {
		packet.from_outside = i == 1;
		packet.seq = i == 2 ? 400 : 100;
		packet.ack = (uint32_t[]){100, 400, 300}[i];
		packet.payload_length = lengths[i];
		chance(bytes, lengths[i]);
		sent = pipe_run(pipe, 0, &packet);
	}
	return sent == 1;
}

static const struct flow_cold *cold_of(struct pipe *pipe, uint16_t sport, struct flow **flow)
{
	struct flow_table *flows = pipe->dp.lcores[0]->flows;

	for (uint32_t i = 0; i < flow_table_usage(flows).flows_max; i++) {
		*flow = flow_at(flows, i);
		if ((*flow)->gen && flow_cold_at(flows, i)->ends.port[HALF_C2S] == sport)
			return flow_cold_at(flows, i);
	}
	fail_msg("no flow");
	return NULL;
}

// That others named the peer is not forgotten when the flow turns out to have the shape, too.
static void a_shape_does_not_hide_who_named_the_peer(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	const struct flow_cold *cold;
	struct flow *flow = NULL;
	(void)state;

	told_of(pipe, 0, 9, "\x0a\0\0\x05\xc8\xd5");
	seed = 3;
	assert_true(encrypted(pipe, 5, 30000));
	cold = cold_of(pipe, 30000, &flow);
	assert_is(flow, "bittorrent", CONFIDENCE_CACHE);
	assert_int_equal(flow->decided_pkts, 1);
	assert_int_equal(cold->learned_from, LEARNED_DHT);
	assert_true(cold->shaped);
	assert_int_equal(pipe_stats(pipe).endpoints_hits, 1);
	assert_true(encrypted(pipe, 6, 30001));
	cold = cold_of(pipe, 30001, &flow);
	assert_is(flow, "bittorrent", CONFIDENCE_PARTIAL);
	assert_int_equal(flow->decided_pkts, 3);
	assert_false(cold->shaped);
	pipe_free(pipe);
}

// A rule that asks for a shape blocks what has one, also where it is named by the cache.
static void a_rule_for_the_shape_blocks_both(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct policy *policy = pipe_policy(pipe);
	struct rule *rule = pipe_rule_app(policy, 7, ACTION_DROP, "bittorrent");
	(void)state;

	told_of(pipe, 0, 9, "\x0a\0\0\x05\xc8\xd5");
	rule->min_confidence = CONFIDENCE_PARTIAL;
	pipe_publish(pipe, policy);
	seed = 3;
	assert_false(encrypted(pipe, 5, 30000));
	assert_false(encrypted(pipe, 6, 30001));
	assert_int_equal(pipe_stats(pipe).flows_condemned, 2);
	pipe_free(pipe);
}

// What one lcore finds to be wrong, the others do not go on believing.
static void a_contradiction_takes_the_entry_out_everywhere(void **state)
{
	struct lcore_limits limits = pipe_limits();
	struct pipe *pipe = pipe_new(3, &limits);
	static const char query[] = "d1:ad2:id20:" ID "e1:q4:ping1:t2:aa1:y1:qe";
	struct endpoint_entry wrong = {.key = {.address = {[10] = 0xff, 0xff, 10, 0, 0, 5},
					       .port = 6881,
					       .l4_proto = IPPROTO_UDP},
		.expires_ns = UINT64_MAX,
		.app = app_find("irc"),
		.from = LEARNED_PEER};
	(void)state;

	for (unsigned l = 0; l < 3; l++)
		assert_true(endpoint_cache_learn(
			pipe->dp.lcores[l], pipe->dp.lcores[l]->endpoints, &wrong));
	datagram(pipe, 0, 5, false, query, sizeof(query) - 1);
	pipe_turns(pipe);
	assert_int_equal(pipe_stats(pipe).endpoints_wrong, 0); // one side says so
	datagram(pipe, 0, 5, true, query, sizeof(query) - 1);
	pipe_turns(pipe);
	pipe_turns(pipe);
	for (unsigned l = 0; l < 3; l++) {
		const struct endpoint_entry *left = endpoint_cache_find(
			pipe->dp.lcores[l], pipe->dp.lcores[l]->endpoints, &wrong.key);

		assert_null(left);
	}
	assert_int_equal(pipe_stats(pipe).endpoints_wrong, 1);
	pipe_free(pipe);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_peer_that_the_dht_lists_is_known_encrypted),
		cmocka_unit_test(who_tells_it_again_is_who_told_it),
		cmocka_unit_test(padding_hides_no_peer_that_was_named),
		cmocka_unit_test(payload_has_the_last_word),
		cmocka_unit_test(liars_are_bounded),
		cmocka_unit_test(private_addresses_are_told_by_neighbours_alone),
		cmocka_unit_test(a_full_cache_keeps_what_was_told_last),
		cmocka_unit_test(names_of_dns_answers),
		cmocka_unit_test(a_name_of_its_own_counts),
		cmocka_unit_test(a_rule_for_the_cache_blocks),
		cmocka_unit_test(a_shape_does_not_hide_who_named_the_peer),
		cmocka_unit_test(a_rule_for_the_shape_blocks_both),
		cmocka_unit_test(a_contradiction_takes_the_entry_out_everywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
