// SPDX-License-Identifier: BSD-3-Clause
// What one side says makes nothing of what harms others: no tombstone, no entry of the connection
// cache, no hint, no endpoint, name or expectation, learned or unlearned, no end of a connection,
// no RST. For each of these and a forger on either side; and the control: where both ends speak, it
// comes into being.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include <rte_cycles.h>
#include "lib/classify/classify_rig.h"
#include "lib/pipeline/pipe.h"
#include "pipeline/cache/endpoint_cache.h"
#include "pipeline/flow/table.h"
#include "classify/user_apps.h"

#define ID    "abcdefghij0123456789"
#define FIXED 51820 // both ends' port of the victim's WireGuard

static const char handshake[68] = "\x13"
				  "BitTorrent protocol\0\0\0\0\0\x10\0\x05"
				  "AAAAAAAAAAAAAAAAAAAA-qB4520-BBBBBBBBBBBB";
static const char dht_query[] = "d1:ad2:id20:" ID "e1:q4:ping1:t2:aa1:y1:qe";
// It lists a peer, 10.0.0.77 port 51413.
static const char dht_reply[] = "d1:rd2:id20:" ID "6:valuesl6:\x0a\0\0\x4d\xc8\xd5"
				"ee1:t2:aa1:y1:re";
// chat.host1 is 10.0.0.66; chat.host9, which is nobody's, is 10.0.0.67.
#define DNS(host, last)                                                  \
	"\x12\x34\x81\x80\0\1\0\1\0\0\0\0\4chat\5host" host "\0\0\1\0\1" \
	"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\x0a\0\0" last
#define ASKED(host) "\x12\x34\1\0\0\1\0\0\0\0\0\0\4chat\5host" host "\0\0\1\0\1"
static const char dns_query[] = ASKED("1"), dns_query_again[] = ASKED("9");
static const char dns_names[] = DNS("1", "\x42");
static const char dns_takes_back[] = DNS("9", "\x43");
static const char wireguard[148] = "\1\0\0\0abcd";
static const char noise[70] = "\1no application at all, and long enough to count in full";

enum state {
	TOMBSTONE,
	CACHE_ENTRY,
	HINT,
	ENDPOINT_LEARNED,
	ENDPOINT_UNLEARNED,
	NAME_LEARNED,
	NAME_UNLEARNED,
	EXPECTATION,
	FLOW_END,
	RESET,
	STATES,
};
static const char *const state_names[] = {"tombstone", "connection cache", "hint",
	"endpoint learned", "endpoint unlearned", "name learned", "name unlearned", "expectation",
	"end of a connection", "RST"};

static struct pipe_packet tcp(bool of_server, uint16_t sport, uint16_t dport, uint32_t seq,
	uint32_t ack, uint8_t flags, const void *bytes, size_t length)
{
	return (struct pipe_packet){.from_outside = of_server,
		.sport = sport,
		.dport = dport,
		.seq = seq,
		.ack = ack,
		.tcp_flags = flags,
		.payload = bytes,
		.payload_length = (uint16_t)length};
}

static struct pipe_packet udp(
	bool of_server, uint16_t sport, uint16_t dport, const void *bytes, size_t length)
{
	return (struct pipe_packet){.from_outside = of_server,
		.proto = IPPROTO_UDP,
		.sport = sport,
		.dport = dport,
		.payload = bytes,
		.payload_length = (uint16_t)length};
}

// `from_outside`: the side that it comes in on, whatever its addresses say.
static unsigned arrive(struct pipe *pipe, const struct pipe_packet *packet, bool from_outside)
{
	uint8_t frame[2048];
	unsigned length = pipe_build(packet, frame, sizeof(frame));

	pipe->n_sent = 0;
	return pipe_run_frame(pipe, 0, frame, length, from_outside, 1);
}

static unsigned own_side(struct pipe *pipe, struct pipe_packet packet)
{
	return arrive(pipe, &packet, packet.from_outside);
}

static struct endpoint_entry entry_of(uint8_t last, uint16_t port, uint8_t proto)
{
	return (struct endpoint_entry){.key = {.address = {[10] = 0xff, 0xff, 10, 0, 0, last},
					       .port = port,
					       .l4_proto = proto},
		.expires_ns = UINT64_MAX,
		.app = app_find("irc"),
		.from = LEARNED_PEER};
}

static bool known(const struct pipe *pipe, bool names, uint8_t last, uint16_t port, uint8_t proto)
{
	struct lcore *lcore = pipe->dp.lcores[0];
	const struct endpoint_entry entry = entry_of(last, port, proto);
	const struct endpoint_entry *found =
		endpoint_cache_find(lcore, names ? lcore->names : lcore->endpoints, &entry.key);

	return found && found->app != APP_NONE;
}

static struct rig *rig; // the repository's signatures

static struct pipe *stage(enum action action, enum cache_mode cache)
{
	struct pipe *pipe = pipe_new(2, NULL);

	pipe_signatures(pipe, rig->db);
	struct policy *policy = pipe_policy(pipe);
	struct lcore *lcore = pipe->dp.lcores[0];
	struct endpoint_entry peer = entry_of(2, 7000, IPPROTO_UDP), name = entry_of(67, 0, 0);

	memset(pipe->dp.owner, 0, sizeof(pipe->dp.owner)); // the other one gets hints alone
	policy->user_apps = user_apps_new();
	assert_non_null(policy->user_apps);
	assert_int_equal(user_apps_add_host(policy->user_apps, app_find("irc"), "host1"), 0);
	pipe_rule_app(policy, 7, action, "bittorrent")->cache = (uint8_t)cache;
	pipe_publish(pipe, policy);
	// wrong: the server's port 7000 is not of IRC
	assert_true(endpoint_cache_learn(lcore, lcore->endpoints, &peer));
	assert_true(endpoint_cache_learn(lcore, lcore->names, &name));
	// an honest connection that lives
	assert_int_equal(own_side(pipe, tcp(false, 50000, 443, 1000, 0, TH_SYN, NULL, 0)), 1);
	assert_int_equal(
		own_side(pipe, tcp(true, 50000, 443, 5000, 1001, TH_SYN | TH_ACK, NULL, 0)), 1);
	assert_int_equal(own_side(pipe, tcp(false, 50000, 443, 1001, 5001, 0, "hello", 5)), 1);
	return pipe;
}

// The honest connection's flow has the generation that it began with.
static bool flow_lives(const struct pipe *pipe)
{
	const struct flow_table *table = pipe->dp.lcores[0]->flows;

	for (uint32_t i = 0; i < table->flow_pool.size; i++)
		if (table->flows[i].gen && table->flows[i].bytes[0] &&
			table->cold[i].ends.port[HALF_C2S] == 50000 &&
			table->flows[i].flags & FLOW_C2S_INSIDE && table->cold[i].half[0].has_start)
			return table->cold[i].half[0].start_seq == 1001;
	return false;
}

static unsigned tombstones(const struct pipe *pipe)
{
	return pipe->dp.lcores[0]->flows->lru[FLOW_CLASS_BLOCKED].n;
}

static bool is_there(const struct pipe *pipe, enum state state)
{
	struct stats stats = pipe_stats(pipe);

	switch (state) {
	case TOMBSTONE: return tombstones(pipe);
	case CACHE_ENTRY: return stats.cache_entries || stats.cache_learned;
	case HINT: return stats.hints_sent || stats.hints_lost;
	case ENDPOINT_LEARNED: return known(pipe, false, 77, 51413, IPPROTO_TCP);
	case ENDPOINT_UNLEARNED: return !known(pipe, false, 2, 7000, IPPROTO_UDP);
	case NAME_LEARNED: return known(pipe, true, 66, 0, 0);
	case NAME_UNLEARNED: return !known(pipe, true, 67, 0, 0);
	case EXPECTATION: return stats.expectations_told;
	case FLOW_END: return !flow_lives(pipe);
	case RESET: return stats.resets_sent;
	case STATES: break;
	}
	return false;
}

#define FTP_PASSIVE "227 Entering Passive Mode (10,0,0,2,156,65)\r\n"

// Everything that the forger can say in the name of either end, from the side where he is. He knows
// addresses and ports, and numbers that he has chosen himself.
static void forge(struct pipe *pipe, bool outside)
{
	const struct pipe_packet packets[] = {
		// a segment without a connection, as either; payload on a SYN; a whole handshake
		tcp(false, 40000, 443, 1, 1, 0, handshake, 68),
		tcp(true, 40000, 443, 1, 1, 0, handshake, 68),
		tcp(false, 40001, 443, 1, 0, TH_SYN, handshake, 68),
		tcp(true, 40001, 443, 1, 0, TH_SYN, handshake, 68),
		tcp(false, 40002, 443, 99, 0, TH_SYN, NULL, 0),
		tcp(true, 40002, 443, 499, 100, TH_SYN | TH_ACK, NULL, 0),
		tcp(false, 40002, 443, 100, 500, TH_ACK, NULL, 0),
		tcp(false, 40002, 443, 100, 500, 0, handshake, 68),
		tcp(true, 40002, 443, 500, 168, 0, handshake, 68),
		// the same on the tuple of the honest connection
		tcp(false, 50000, 443, 0x40000099, 0, TH_SYN, NULL, 0),
		tcp(true, 50000, 443, 0x50000099, 0x4000009a, TH_SYN | TH_ACK, NULL, 0),
		tcp(false, 50000, 443, 0x4000009a, 0x5000009a, TH_ACK, NULL, 0),
		tcp(false, 50000, 443, 0x4000009a, 0x5000009a, 0, handshake, 68),
		tcp(true, 50000, 443, 0x60000000, 0, TH_RST, NULL, 0),
		tcp(false, 50000, 443, 0x60000000, 0, TH_RST, NULL, 0),
		// midstream with acknowledgements of what was never sent
		tcp(true, 40003, 21, 1, 100, 0, "220 FTP ready\r\n", 15),
		tcp(true, 40003, 21, 16, 200, 0, FTP_PASSIVE, strlen(FTP_PASSIVE)),
		tcp(false, 40003, 21, 1, 1, 0, "PASV\r\n", 6),
		// between fixed ports
		udp(false, FIXED, FIXED, dht_query, sizeof(dht_query) - 1),
		udp(true, FIXED, FIXED, dht_query, sizeof(dht_query) - 1),
		udp(true, FIXED, FIXED, dht_reply, sizeof(dht_reply) - 1),
		udp(false, FIXED, FIXED, dht_reply, sizeof(dht_reply) - 1),
		udp(false, 6881, 7000, dht_query, sizeof(dht_query) - 1),
		udp(true, 6881, 7000, dht_query, sizeof(dht_query) - 1),
		udp(true, 40004, 53, dns_names, sizeof(dns_names) - 1),
		udp(true, 40004, 53, dns_takes_back, sizeof(dns_takes_back) - 1),
		udp(false, 40004, 53, dns_names, sizeof(dns_names) - 1),
		udp(false, 40004, 53, dns_takes_back, sizeof(dns_takes_back) - 1),
	};

	for (unsigned round = 0; round < 3; round++)
		for (size_t i = 0; i < sizeof(packets) / sizeof(packets[0]); i++)
			arrive(pipe, &packets[i], outside);
	pipe_turns(pipe);
}

// A connection of the victim, from its handshake on. True: all of it passes.
static bool connects(struct pipe *pipe, uint16_t sport)
{
	const struct pipe_packet packets[] = {
		tcp(false, sport, 443, 0x70000000, 0, TH_SYN, NULL, 0),
		tcp(true, sport, 443, 0x10000000, 0x70000001, TH_SYN | TH_ACK, NULL, 0),
		tcp(false, sport, 443, 0x70000001, 0x10000001, TH_ACK, NULL, 0),
		tcp(false, sport, 443, 0x70000001, 0x10000001, 0, "hello", 5),
		tcp(true, sport, 443, 0x10000001, 0x70000006, 0, "world", 5),
	};

	for (unsigned i = 0; i < sizeof(packets) / sizeof(packets[0]); i++)
		if (own_side(pipe, packets[i]) != 1) {
			print_message("port %u: packet %u was lost\n", sport, i);
			return false;
		}
	return true;
}

static void victims_pass(struct pipe *pipe)
{
	for (uint16_t sport = 40000; sport < 40003; sport++)
		assert_true(connects(pipe, sport));
	assert_true(connects(pipe, 41000));
	assert_int_equal(own_side(pipe, tcp(false, 50000, 443, 1006, 5001, 0, "again", 5)), 1);
	assert_int_equal(own_side(pipe, tcp(true, 50000, 443, 5001, 1011, 0, "reply", 5)), 1);
	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(
			own_side(pipe, udp(i & 1, FIXED, FIXED, wireguard, sizeof(wireguard))), 1);
}

static void nothing_comes_of_what_one_side_says(void **state)
{
	static const enum cache_mode modes[] = {CACHE_TUPLE, CACHE_PEER};
	(void)state;

	for (unsigned m = 0; m < 2; m++)
		for (unsigned outside = 0; outside < 2; outside++) {
			struct pipe *pipe = stage(ACTION_RESET, modes[m]);

			forge(pipe, outside);
			for (enum state s = 0; s < STATES; s++)
				if (is_there(pipe, s))
					fail_msg("forger %s: %s", outside ? "outside" : "inside",
						state_names[s]);
			victims_pass(pipe);
			pipe_free(pipe);
		}
}

// In turns with the victim's datagrams, too.
static void each_forged_datagram_is_dropped_and_no_other(void **state)
{
	(void)state;
	for (unsigned outside = 0; outside < 2; outside++) {
		struct pipe *pipe = stage(ACTION_DROP, CACHE_TUPLE);

		for (unsigned i = 0; i < 200; i++) {
			struct pipe_packet forged =
				udp(outside, FIXED, FIXED, dht_query, sizeof(dht_query) - 1);

			if (i < 2) // before there is more of the victim's flow than that
				assert_int_equal(own_side(pipe, forged), 0);
			else
				own_side(pipe, forged);
			assert_int_equal(own_side(pipe, udp(i & 1, FIXED, FIXED, wireguard,
								sizeof(wireguard))),
				1);
			pipe_advance(pipe, 1);
		}
		assert_int_equal(tombstones(pipe), 0);
		pipe_free(pipe);
	}
}

static void ftp_names_a_flow(struct pipe *pipe)
{
	own_side(pipe, tcp(false, 42000, 21, 100, 0, TH_SYN, NULL, 0));
	own_side(pipe, tcp(true, 42000, 21, 500, 101, TH_SYN | TH_ACK, NULL, 0));
	own_side(pipe, tcp(true, 42000, 21, 501, 101, 0, "220 FTP ready\r\n", 15));
	own_side(pipe, tcp(false, 42000, 21, 101, 516, 0, "USER alice\r\n", 12));
	own_side(pipe, tcp(true, 42000, 21, 516, 113, 0, "331 and?\r\n", 10));
	own_side(pipe, tcp(false, 42000, 21, 113, 526, 0, "PASS s\r\n", 8));
	own_side(pipe, tcp(true, 42000, 21, 526, 121, 0, "230 in\r\n", 8));
	own_side(pipe, tcp(false, 42000, 21, 121, 534, 0, "PASV\r\n", 6));
	own_side(pipe, tcp(true, 42000, 21, 534, 127, 0, FTP_PASSIVE, strlen(FTP_PASSIVE)));
}

static void where_both_ends_speak_it_comes_into_being(void **state)
{
	struct pipe *pipe = stage(ACTION_PASS, CACHE_NONE);
	struct policy *policy;
	(void)state;

	own_side(pipe, udp(false, 6881, 6881, dht_query, sizeof(dht_query) - 1));
	own_side(pipe, udp(true, 6881, 6881, dht_reply, sizeof(dht_reply) - 1));
	own_side(pipe, udp(false, 6881, 7000, dht_query, sizeof(dht_query) - 1));
	own_side(pipe, udp(true, 6881, 7000, dht_query, sizeof(dht_query) - 1));
	own_side(pipe, udp(false, 40004, 53, dns_query, sizeof(dns_query) - 1));
	own_side(pipe, udp(true, 40004, 53, dns_names, sizeof(dns_names) - 1));
	own_side(pipe, udp(false, 40005, 53, dns_query_again, sizeof(dns_query_again) - 1));
	own_side(pipe, udp(true, 40005, 53, dns_takes_back, sizeof(dns_takes_back) - 1));
	ftp_names_a_flow(pipe);
	assert_true(connects(pipe, 50000)); // on the tuple of the connection that lives
	policy = pipe_policy(pipe);
	pipe_rule_app(policy, 7, ACTION_RESET, "bittorrent");
	pipe_publish(pipe, policy);
	assert_true(connects(pipe, 43000));
	own_side(pipe, tcp(false, 43001, 443, 100, 0, TH_SYN, NULL, 0));
	own_side(pipe, tcp(true, 43001, 443, 500, 101, TH_SYN | TH_ACK, NULL, 0));
	own_side(pipe, tcp(false, 43001, 443, 101, 501, 0, handshake, 68));
	pipe_turns(pipe);
	for (enum state s = 0; s < STATES; s++)
		if (!is_there(pipe, s))
			fail_msg("both ends spoke: no %s", state_names[s]);
	pipe_free(pipe);
}

// The tuple is blocked for a while, however much comes meanwhile.
static void a_tombstone_does_not_live_on_what_it_drops(void **state)
{
	struct pipe *pipe = stage(ACTION_DROP, CACHE_NONE);
	unsigned passed = 0, seconds = 0;
	(void)state;

	own_side(pipe, udp(false, FIXED, FIXED, dht_query, sizeof(dht_query) - 1));
	own_side(pipe, udp(true, FIXED, FIXED, dht_query, sizeof(dht_query) - 1));
	assert_int_equal(tombstones(pipe), 1);
	for (; seconds < 200 && !passed; seconds++) {
		passed = own_side(pipe, udp(false, FIXED, FIXED, "SIP/2.0 200 OK", 14));
		pipe_advance(pipe, 1);
	}
	assert_in_range(seconds, 25, 32);
	own_side(pipe, tcp(false, 43001, 443, 100, 0, TH_SYN, NULL, 0));
	own_side(pipe, tcp(true, 43001, 443, 500, 101, TH_SYN | TH_ACK, NULL, 0));
	own_side(pipe, tcp(false, 43001, 443, 101, 501, 0, handshake, 68));
	assert_int_equal(tombstones(pipe), 1);
	for (seconds = passed = 0; seconds < 200 && !passed; seconds++) {
		passed = own_side(pipe, tcp(false, 43001, 443, 169, 501, 0, "more", 4));
		pipe_advance(pipe, 1);
	}
	assert_in_range(seconds, 115, 123);
	pipe_free(pipe);
}

// Bytes that were refused are kept out, however often and in whatever pieces they come; and when
// both ends are heard, the flow is blocked for good.
static void what_was_refused_stays_out_until_both_ends_are_heard(void **state)
{
	struct pipe *pipe = stage(ACTION_RESET, CACHE_TUPLE);
	(void)state;

	own_side(pipe, tcp(false, 43001, 443, 100, 0, TH_SYN, NULL, 0));
	// the server's SYN-ACK takes another way
	assert_int_equal(own_side(pipe, tcp(false, 43001, 443, 101, 501, 0, handshake, 68)), 0);
	assert_int_equal(own_side(pipe, tcp(false, 43001, 443, 101, 501, 0, handshake, 30)), 0);
	assert_int_equal(
		own_side(pipe, tcp(false, 43001, 443, 121, 501, 0, handshake + 20, 48)), 0);
	assert_int_equal(pipe_stats(pipe).cache_learned, 0);
	assert_int_equal(pipe_stats(pipe).resets_sent, 0);
	assert_int_equal(tombstones(pipe), 0);
	// it is heard after all
	assert_int_equal(own_side(pipe, tcp(true, 43001, 443, 501, 101, 0, "220 hi", 6)), 1);
	own_side(pipe, tcp(false, 43001, 443, 101, 507, 0, handshake, 68));
	assert_int_equal(tombstones(pipe), 1);
	assert_int_equal(pipe_stats(pipe).cache_learned, 1);
	assert_true(pipe_stats(pipe).resets_sent >= 2);
	pipe_free(pipe);
}

// A rule on addresses needs no evidence; what it leaves is no wider than the rule.
static void a_forged_syn_leaves_no_more_than_its_rule_refuses(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct policy *policy = pipe_policy(pipe);
	struct rule *rule = pipe_rule(policy, 3, ACTION_DROP);
	(void)state;

	rule->ports[rule->n_ports++] = (struct port_range){6881, 6881};
	rule->cache = CACHE_PEER;
	pipe_publish(pipe, policy);
	assert_int_equal(own_side(pipe, tcp(false, 40000, 6881, 1, 0, TH_SYN, NULL, 0)), 0);
	assert_int_equal(own_side(pipe, tcp(true, 6881, 443, 1, 0, TH_SYN, NULL, 0)), 0);
	assert_int_equal(tombstones(pipe), 0);
	assert_true(connects(pipe, 40000));
	assert_true(connects(pipe, 6881)); // a forged SYN of the server came on this tuple
	assert_int_equal(own_side(pipe, tcp(false, 40001, 6881, 1, 0, TH_SYN, NULL, 0)), 0);
	pipe_free(pipe);
}

static void resets_have_a_limit(void **state)
{
	struct pipe *pipe = stage(ACTION_RESET, CACHE_NONE);
	(void)state;

	pipe->policy->resets_per_s = 5;
	for (uint16_t i = 0; i < 20; i++) {
		own_side(pipe, tcp(false, (uint16_t)(43000 + i), 443, 100, 0, TH_SYN, NULL, 0));
		own_side(pipe,
			tcp(true, (uint16_t)(43000 + i), 443, 500, 101, TH_SYN | TH_ACK, NULL, 0));
		own_side(pipe, tcp(false, (uint16_t)(43000 + i), 443, 101, 501, 0, handshake, 68));
	}
	assert_int_equal(tombstones(pipe), 20);
	assert_int_equal(pipe_stats(pipe).resets_sent, 5);
	assert_true(pipe_stats(pipe).resets_limited > 20);
	pipe_advance(pipe, 1.1);
	own_side(pipe, tcp(false, 43000, 443, 169, 501, 0, "late", 4));
	assert_int_equal(pipe_stats(pipe).resets_sent, 6);
	pipe_free(pipe);
}

static void a_syn_with_a_bad_checksum_frees_no_condemned_flow(void **state)
{
	struct pipe *pipe = stage(ACTION_DROP, CACHE_NONE);
	struct pipe_packet syn = tcp(false, 43001, 443, 0x40000000, 0, TH_SYN, NULL, 0);
	(void)state;

	own_side(pipe, tcp(false, 43001, 443, 100, 0, TH_SYN, NULL, 0));
	own_side(pipe, tcp(true, 43001, 443, 500, 101, TH_SYN | TH_ACK, NULL, 0));
	own_side(pipe, tcp(false, 43001, 443, 101, 501, 0, handshake, 68));
	syn.bad_checksum = true;
	assert_int_equal(own_side(pipe, syn), 0);
	assert_int_equal(tombstones(pipe), 1);
	syn.bad_checksum = false;
	assert_int_equal(own_side(pipe, syn), 1);
	assert_int_equal(tombstones(pipe), 0);
	pipe_free(pipe);
}

static struct pipe *default_drops(const char *all_but)
{
	struct pipe *pipe = pipe_new(1, NULL);

	pipe_signatures(pipe, rig->db);
	struct policy *policy = pipe_policy(pipe);

	pipe_rule_app(policy, 7, ACTION_PASS, all_but);
	policy->default_action = ACTION_DROP;
	policy->enforces = policy->enforces_app = true;
	pipe_publish(pipe, policy);
	return pipe;
}

// What no rule lets pass, of one side or of both, in datagrams or in segments without a connection.
static void what_the_default_drops_stays_dropped(void **state)
{
	(void)state;
	for (unsigned which = 0; which < 3; which++) {
		struct pipe *pipe = default_drops("dns");
		unsigned passed = 0;

		for (uint32_t i = 0; i < 200; i++) {
			bool back = which & 1 && i & 1;

			passed += own_side(pipe,
				which & 2 ? tcp(back, 40000, 4000, 1 + i * 70, 1, 0, noise, 70)
					  : udp(back, 40000, 4000, noise, 70));
			pipe_advance(pipe, 0.1);
		}
		if (passed > 20)
			fail_msg("%u: %u passed", which, passed);
		pipe_free(pipe);
	}
}

// Nobody is heard by it, and the other end has a budget of its own.
static void noise_in_the_name_of_one_end_costs_the_other_nothing(void **state)
{
	struct pipe *pipe = default_drops("bittorrent");
	(void)state;

	for (unsigned i = 0; i < 60; i++) // the client's is the 20th of each 20
		assert_int_equal(own_side(pipe, udp(i % 20 != 19, 40000, 4000, noise, 70)),
			i < 9 || i % 20 == 19);
	assert_int_equal(own_side(pipe, udp(false, 40000, 4000, dht_query, 56)), 1);
	assert_int_equal(tombstones(pipe), 0);
	pipe_free(pipe);
}

// Cycles of pipeline_run for a datagram, one at a time, of 500 flows in turns.
static uint64_t cycles(struct pipe *pipe, const void *bytes, size_t length, unsigned n)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < n; i++) {
		struct pipe_packet packet =
			udp(false, (uint16_t)(10000 + i % 500), 6881, bytes, length);
		uint8_t frame[2048];
		unsigned size = pipe_build(&packet, frame, sizeof(frame));
		struct rte_mbuf *m = rte_pktmbuf_alloc(pipe->pool);

		assert_non_null(m);
		memcpy(rte_pktmbuf_append(m, (uint16_t)size), frame, size);
		pipeline_receive(
			pipe->dp.lcores[0], m, PIPE_INSIDE, LINK_ETHERNET, pipe->now_ns, 0);
		uint64_t start = rte_rdtsc();

		pipeline_run(pipe->dp.lcores[0], &m, 1, pipe->now_ns);
		sum += rte_rdtsc() - start;
		pipe->n_sent = 0;
		if (i % 500 == 499)
			pipe_advance(pipe, 1);
	}
	return sum / n;
}

// A DHT node of which no datagram gets through is never answered: there is no entry of the
// connection cache for it, each datagram is looked at.
static void what_unanswered_datagrams_cost(void **state)
{
	struct lcore_limits limits = pipe_limits();
	(void)state;

	limits.flows = limits.embryos = 1024;
	struct pipe *pipe = pipe_new(1, &limits);

	pipe_signatures(pipe, rig->db);
	struct policy *policy = pipe_policy(pipe);

	pipe_rule_app(policy, 7, ACTION_DROP, "bittorrent");
	pipe_publish(pipe, policy);
	uint64_t first = cycles(pipe, dht_query, sizeof(dht_query) - 1, 500);
	uint64_t later = cycles(pipe, dht_query, sizeof(dht_query) - 1, 20000);

	assert_int_equal(pipe_stats(pipe).sent_pkts, 0);
	assert_int_equal(pipe_stats(pipe).cache_learned, 0);
	assert_int_equal(pipe_stats(pipe).refused_unheard, 20500);
	own_side(pipe, udp(true, 10000, 6881, dht_query, sizeof(dht_query) - 1)); // an answer
	assert_int_equal(pipe_stats(pipe).cache_learned, 1);
	pipe_advance(pipe, 121);
	for (unsigned i = 0; i < 20; i++) { // what is left of its flows ends
		pipe_turns(pipe);
		pipe_advance(pipe, 1);
	}
	own_side(pipe, udp(false, 10000, 6881, dht_query, sizeof(dht_query) - 1));
	uint64_t hits = pipe_stats(pipe).cache_hits;
	uint64_t cached = cycles(pipe, dht_query, sizeof(dht_query) - 1, 20000);

	assert_int_equal(pipe_stats(pipe).cache_hits - hits, 20000);
	print_message("cycles for a datagram: first %lu, refused again %lu, in the cache %lu\n",
		(unsigned long)first, (unsigned long)later, (unsigned long)cached);
	print_message("500 a second: %lu cycles\n", 500 * (unsigned long)later);
	pipe_free(pipe);
}

static int teardown(void **state)
{
	(void)state;
	rig_free(rig);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_comes_of_what_one_side_says),
		cmocka_unit_test(each_forged_datagram_is_dropped_and_no_other),
		cmocka_unit_test(where_both_ends_speak_it_comes_into_being),
		cmocka_unit_test(a_tombstone_does_not_live_on_what_it_drops),
		cmocka_unit_test(what_was_refused_stays_out_until_both_ends_are_heard),
		cmocka_unit_test(a_forged_syn_leaves_no_more_than_its_rule_refuses),
		cmocka_unit_test(what_the_default_drops_stays_dropped),
		cmocka_unit_test(noise_in_the_name_of_one_end_costs_the_other_nothing),
		cmocka_unit_test(what_unanswered_datagrams_cost),
		cmocka_unit_test(resets_have_a_limit),
		cmocka_unit_test(a_syn_with_a_bad_checksum_frees_no_condemned_flow),
	};

	rig = rig_new();
	return cmocka_run_group_tests(tests, NULL, teardown);
}
