// SPDX-License-Identifier: BSD-3-Clause
// The packet path in process: what passes, what is refused and how, what it leaves behind.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/pipeline/pipe.h"
#include "pipeline/vocab/stream_report.h"
#include "pipeline/cache/conn_cache.h"

static const char handshake[] = "\x13"
				"BitTorrent protocol"
				"\0\0\0\0\0\x10\0\x05"
				"AAAAAAAAAAAAAAAAAAAA-qB4520-BBBBBBBBBBBB";
#define HANDSHAKE_LENGTH 68

static struct policy *block_bittorrent(struct pipe *pipe)
{
	struct policy *policy = pipe_policy(pipe);

	pipe_rule_app(policy, 7, ACTION_RESET, "bittorrent");
	pipe_publish(pipe, policy);
	return policy;
}

// SYN, SYN-ACK, ACK; client's numbers start at 1000, server's at 5000.
static void open_tcp(struct pipe *pipe, struct pipe_packet base)
{
	struct pipe_packet packet = base;

	packet.seq = 1000;
	packet.tcp_flags = TH_SYN;
	assert_int_equal(pipe_run(pipe, 0, &packet), 1);
	packet = base;
	packet.from_outside = true;
	packet.seq = 5000;
	packet.ack = 1001;
	packet.tcp_flags = TH_SYN | TH_ACK;
	assert_int_equal(pipe_run(pipe, 0, &packet), 1);
	packet = base;
	packet.seq = 1001;
	packet.ack = 5001;
	assert_int_equal(pipe_run(pipe, 0, &packet), 1);
}

static struct pipe_packet from_client(
	struct pipe_packet base, uint32_t seq, const void *payload, uint16_t length)
{
	base.seq = seq;
	base.ack = 5001;
	base.payload = payload;
	base.payload_length = length;
	return base;
}

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

// A RST among what was sent since `from`: to that port, with that sequence number.
static const struct pipe_sent *find_reset(
	const struct pipe *pipe, unsigned from, uint8_t port, unsigned l2, uint32_t seq)
{
	for (unsigned i = from; i < pipe->n_sent; i++) {
		const struct pipe_sent *sent = &pipe->sent[i];
		const uint8_t *tcp = sent->frame + l2 + 20;

		if (sent->port == port && sent->frame[l2 + 9] == IPPROTO_TCP && tcp[13] & TH_RST &&
			be32(tcp + 4) == seq)
			return sent;
	}
	return NULL;
}

static void plain_traffic_leaves_as_it_came(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct pipe_packet get =
		from_client((struct pipe_packet){0}, 1001, "GET / HTTP/1.1\r\n", 16);
	uint8_t frame[256];
	(void)state;

	block_bittorrent(pipe);
	open_tcp(pipe, (struct pipe_packet){0});
	unsigned length = pipe_build(&get, frame, sizeof(frame));

	assert_int_equal(pipe_run(pipe, 0, &get), 1);
	const struct pipe_sent *sent = &pipe->sent[pipe->n_sent - 1];

	assert_int_equal(sent->port, PIPE_OUTSIDE);
	assert_int_equal(sent->length, length);
	assert_memory_equal(sent->frame, frame, length);
	assert_int_equal(pipe_stats(pipe).resets_sent, 0);
	pipe_free(pipe);
}

static void blocked_flow_is_torn_down_at_both_ends(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct pipe_packet hello =
		from_client((struct pipe_packet){0}, 1001, handshake, HANDSHAKE_LENGTH);
	struct event event;
	(void)state;

	block_bittorrent(pipe);
	open_tcp(pipe, (struct pipe_packet){0});
	unsigned before = pipe->n_sent;

	pipe_run(pipe, 0, &hello);
	// to the server at what it expects next, to the client at what it expects next
	assert_non_null(find_reset(pipe, before, PIPE_OUTSIDE, 14, 1001));
	assert_non_null(find_reset(pipe, before, PIPE_INSIDE, 14, 5001));
	for (unsigned i = before; i < pipe->n_sent; i++) // the handshake itself did not leave
		assert_true(pipe->sent[i].length < HANDSHAKE_LENGTH + 54);
	struct stats stats = pipe_stats(pipe);

	assert_int_equal(stats.dropped_pkts[DROP_RULE], 1);
	assert_int_equal(stats.flows_condemned, 1);
	assert_int_equal(stats.flows_active, 0);
	assert_true(pipe_event(pipe, 0, EVENT_ALERT, &event));
	assert_int_equal(event.rule_uid, 7);
	assert_int_equal(event.action, ACTION_RESET);
	assert_int_equal(event.app, app_find("bittorrent"));
	assert_int_equal(event.n_data_pkts, 1);
	assert_true(pipe_event(pipe, 0, EVENT_DROP, &event));
	assert_int_equal(event.reason, DROP_RULE);
	assert_true(pipe_event(pipe, 0, EVENT_CONNCACHE, &event));
	assert_int_equal(event.reason, CONNCACHE_ADD);
	assert_true(pipe_event(pipe, 0, EVENT_FLOW, &event));
	assert_int_equal(event.flow.state, FLOW_STATE_BLOCKED);
	pipe_free(pipe);
}

static void late_segments_of_a_condemned_flow_are_answered_within_a_limit(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct pipe_packet hello =
		from_client((struct pipe_packet){0}, 1001, handshake, HANDSHAKE_LENGTH);
	(void)state;

	block_bittorrent(pipe);
	open_tcp(pipe, (struct pipe_packet){0});
	pipe_run(pipe, 0, &hello);
	pipe_advance(pipe, 1);
	struct pipe_packet late = {.from_outside = true,
		.seq = 5001,
		.ack = 1001,
		.payload = "late",
		.payload_length = 4};
	unsigned before = pipe->n_sent;

	assert_int_equal(pipe_run(pipe, 0, &late), 1);
	assert_non_null(find_reset(pipe, before, PIPE_OUTSIDE, 14, 1001));
	assert_int_equal(pipe_run(pipe, 0, &late), 0); // within the same 67 ms
	assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_BLOCKED], 2);
	pipe_free(pipe);
}

static void reconnection_dies_in_the_cache_from_any_source_port(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct pipe_packet hello =
		from_client((struct pipe_packet){0}, 1001, handshake, HANDSHAKE_LENGTH);
	struct event event;
	(void)state;

	block_bittorrent(pipe);
	open_tcp(pipe, (struct pipe_packet){0});
	pipe_run(pipe, 0, &hello);
	struct pipe_packet syn = {.sport = 40123, .seq = 77, .tcp_flags = TH_SYN};

	assert_int_equal(pipe_run(pipe, 0, &syn), 0);
	syn.sport = 40000; // the very tuple that was blocked
	assert_int_equal(pipe_run(pipe, 0, &syn), 0);
	assert_int_equal(pipe_stats(pipe).cache_hits, 2);
	assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_CONN_CACHE], 2);
	assert_int_equal(pipe_stats(pipe).flows_embryonic, 1);
	syn.dport = 8080; // another service of that peer is another matter
	assert_int_equal(pipe_run(pipe, 0, &syn), 1);
	while (pipe_event(pipe, 0, EVENT_CONNCACHE, &event) && event.reason != CONNCACHE_HIT)
		;
	assert_int_equal(event.reason, CONNCACHE_HIT);
	// silence longer than the time to live lets it in again
	pipe_advance(pipe, 301);
	syn.dport = 80;
	assert_int_equal(pipe_run(pipe, 0, &syn), 1);
	pipe_free(pipe);
}

static void bad_checksum_neither_refreshes_nor_tears_nor_is_inspected(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct pipe_packet hello =
		from_client((struct pipe_packet){0}, 1001, handshake, HANDSHAKE_LENGTH);
	(void)state;

	block_bittorrent(pipe);
	open_tcp(pipe, (struct pipe_packet){0});
	hello.bad_checksum = true;
	assert_int_equal(pipe_run(pipe, 0, &hello), 1); // observed: forwarded, uninspected
	assert_int_equal(pipe_stats(pipe).bad_checksum_pkts, 1);
	assert_int_equal(pipe_stats(pipe).flows_created, 0);
	pipe->policy->malformed = INVALID_DROP;
	assert_int_equal(pipe_run(pipe, 0, &hello), 0);
	assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_BAD_CHECKSUM], 1);
	hello.bad_checksum = false;
	pipe_run(pipe, 0, &hello);
	assert_int_equal(pipe_stats(pipe).flows_condemned, 1);
	pipe_free(pipe);
}

static void resets_keep_the_vlan_tags(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct pipe_packet base = {.n_vlan = 2, .vlan = {100, 7}};
	struct pipe_packet hello = from_client(base, 1001, handshake, HANDSHAKE_LENGTH);
	(void)state;

	block_bittorrent(pipe);
	open_tcp(pipe, base);
	unsigned before = pipe->n_sent;

	pipe_run(pipe, 0, &hello);
	const struct pipe_sent *to_client = find_reset(pipe, before, PIPE_INSIDE, 22, 5001);

	assert_non_null(to_client);
	static const uint8_t tags[] = {0x88, 0xa8, 0, 100, 0x81, 0, 0, 7, 8, 0};

	assert_memory_equal(to_client->frame + 12, tags, sizeof(tags));
	assert_int_equal(to_client->frame[5], 1); // to the client's MAC
	pipe_free(pipe);
}

static void handshake_over_many_mbuf_segments_is_seen(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct pipe_packet hello =
		from_client((struct pipe_packet){.v6 = true}, 1001, handshake, HANDSHAKE_LENGTH);
	(void)state;

	block_bittorrent(pipe);
	open_tcp(pipe, (struct pipe_packet){.v6 = true, .segments = 3});
	hello.segments = 9;
	pipe_run(pipe, 0, &hello);
	assert_int_equal(pipe_stats(pipe).flows_condemned, 1);
	assert_int_equal(pipe_stats(pipe).multiseg_pkts, 4);
	pipe_free(pipe);
}

static void handshake_in_tiny_segments_is_seen(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	(void)state;

	block_bittorrent(pipe);
	open_tcp(pipe, (struct pipe_packet){0});
	for (uint16_t i = 0; i < 5; i++) {
		struct pipe_packet piece =
			from_client((struct pipe_packet){0}, 1001u + 8u * i, handshake + 8 * i, 8);

		pipe_run(pipe, 0, &piece);
	}
	assert_int_equal(pipe_stats(pipe).flows_condemned, 1);
	pipe_free(pipe);
}

static void address_rule_answers_the_syn_and_feeds_the_cache(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct policy *policy = pipe_policy(pipe);
	struct rule *rule = pipe_rule(policy, 3, ACTION_RESET);
	(void)state;

	rule->has_source = true;
	rule->cache = CACHE_PEER;
	assert_int_equal(address_set_add(&rule->source, "10.0.0.1"), 0);
	address_set_seal(&rule->source);
	pipe_publish(pipe, policy);
	struct pipe_packet syn = {.seq = 1000, .tcp_flags = TH_SYN};

	assert_int_equal(pipe_run(pipe, 0, &syn), 1);
	const uint8_t *tcp = pipe->sent[0].frame + 34;

	assert_int_equal(pipe->sent[0].port, PIPE_INSIDE);
	assert_int_equal(tcp[13], TH_RST | TH_ACK);
	assert_int_equal(be32(tcp + 8), 1001);
	syn.sport = 41000;
	syn.dport = 443; // any port: the entry is for the peer
	assert_int_equal(pipe_run(pipe, 0, &syn), 0);
	assert_int_equal(pipe_stats(pipe).cache_hits, 1);
	struct pipe_packet fragment = {.proto = IPPROTO_UDP,
		.fragment = 0x2000,
		.ip_id = 9,
		.payload = "0123456789abcdef",
		.payload_length = 16};

	assert_int_equal(pipe_run(pipe, 0, &fragment), 0);
	fragment.fragment = 3; // the last: the datagram obeys address rules
	fragment.payload = "the other end of it";
	assert_int_equal(pipe_run(pipe, 0, &fragment), 0);
	assert_int_equal(pipe_stats(pipe).datagrams_whole, 1);
	assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_CONN_CACHE], 3); // its peer is known
	assert_int_equal(pipe_stats(pipe).flows_created, 0);
	pipe_free(pipe);
}

static void datagrams_are_refused_by_icmp_within_the_limit(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	static const char query[] = "d1:ad2:id20:abcdefghij0123456789e1:q4:ping1:t2:aa1:y1:qe";
	(void)state;

	block_bittorrent(pipe);
	for (uint16_t i = 0; i < 4; i++) {
		struct pipe_packet packet = {.proto = IPPROTO_UDP,
			.sport = (uint16_t)(6881 + i),
			.dport = 6881,
			.server = 10u + i,
			.payload = query,
			.payload_length = sizeof(query) - 1};

		pipe_run(pipe, 0, &packet);
	}
	struct stats stats = pipe_stats(pipe);

	assert_int_equal(stats.flows_condemned, 4);
	assert_int_equal(stats.icmp_rejects_sent, 2);
	assert_int_equal(stats.icmp_rejects_limited, 2);
	assert_int_equal(pipe->sent[0].port, PIPE_INSIDE);
	assert_int_equal(pipe->sent[0].frame[34], 3); // destination unreachable
	assert_int_equal(pipe->sent[0].frame[35], 3); // port
	pipe_free(pipe);
}

static void monitor_mode_tells_once_and_lets_pass(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct pipe_packet hello =
		from_client((struct pipe_packet){0}, 1001, handshake, HANDSHAKE_LENGTH);
	struct event event;
	(void)state;

	block_bittorrent(pipe)->rules[0].mode = MODE_MONITOR;
	open_tcp(pipe, (struct pipe_packet){0});
	assert_int_equal(pipe_run(pipe, 0, &hello), 1);
	hello.seq += HANDSHAKE_LENGTH;
	assert_int_equal(pipe_run(pipe, 0, &hello), 1);
	assert_int_equal(pipe_stats(pipe).monitor_hits, 1);
	assert_true(pipe_event(pipe, 0, EVENT_ALERT, &event));
	assert_int_equal(event.mode, MODE_MONITOR);
	assert_int_equal(event.action, ACTION_RESET);
	pipe_free(pipe);
}

static void reload_decides_live_flows_again(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct pipe_packet hello =
		from_client((struct pipe_packet){0}, 1001, handshake, HANDSHAKE_LENGTH);
	(void)state;

	open_tcp(pipe, (struct pipe_packet){0});
	assert_int_equal(pipe_run(pipe, 0, &hello), 1); // everything passes
	struct policy *policy = block_bittorrent(pipe);

	policy->reevaluate = REEVALUATE_NONE;
	hello.seq += HANDSHAKE_LENGTH;
	assert_int_equal(pipe_run(pipe, 0, &hello), 1);
	block_bittorrent(pipe); // the next generation, reevaluate: all
	hello.seq += HANDSHAKE_LENGTH;
	unsigned before = pipe->n_sent;

	pipe_run(pipe, 0, &hello);
	assert_int_equal(pipe_stats(pipe).flows_condemned, 1);
	// both payloads that passed moved the edge
	assert_non_null(find_reset(pipe, before, PIPE_OUTSIDE, 14, 1001 + 2 * HANDSHAKE_LENGTH));
	pipe_free(pipe);
}

static void policy_that_no_longer_blocks_frees_its_victims(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct pipe_packet hello =
		from_client((struct pipe_packet){0}, 1001, handshake, HANDSHAKE_LENGTH);
	(void)state;

	block_bittorrent(pipe);
	open_tcp(pipe, (struct pipe_packet){0});
	pipe_run(pipe, 0, &hello);
	pipe_publish(pipe, pipe_policy(pipe)); // without the rule
	struct pipe_packet syn = {.sport = 40500, .seq = 1, .tcp_flags = TH_SYN};

	assert_int_equal(pipe_run(pipe, 0, &syn), 1);
	assert_int_equal(pipe_stats(pipe).cache_healed, 1);
	pipe_free(pipe);
}

static void flood_of_syns_costs_stubs_only_and_evicts_the_oldest(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct event event;
	(void)state;

	for (uint16_t i = 0; i < 200; i++) {
		struct pipe_packet syn = {.sport = (uint16_t)(1024 + i), .tcp_flags = TH_SYN};

		assert_int_equal(pipe_run(pipe, 0, &syn), 1);
	}
	struct stats stats = pipe_stats(pipe);

	assert_int_equal(stats.flows_created, 0);
	assert_int_equal(stats.flows_embryonic, 200);
	assert_int_equal(stats.flows_evicted, 200 - 64);
	assert_int_equal(stats.emergency_entered, 1);
	assert_true(pipe_event(pipe, 0, EVENT_FLOW, &event));
	assert_int_equal(event.reason, FLOW_END_FORCED);
	// in emergency the short time-outs hold, until below 80 % the normal ones do again
	pipe_advance(pipe, 4);
	assert_in_range(pipe_stats(pipe).embryos_active, 50, 52);
	pipe_advance(pipe, 31);
	assert_int_equal(pipe_stats(pipe).embryos_active, 0);
	pipe_free(pipe);
}

static void flows_end_by_their_time_outs_with_a_record(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct pipe_packet query = {
		.proto = IPPROTO_UDP, .dport = 9999, .payload = "hello", .payload_length = 5};
	struct event event;
	(void)state;

	pipe_run(pipe, 0, &query);
	pipe_advance(pipe, 29);
	assert_int_equal(pipe_stats(pipe).flows_active, 1);
	query.from_outside = true;
	pipe_run(pipe, 0, &query); // both ways now: the longer time-out
	pipe_advance(pipe, 200);
	assert_int_equal(pipe_stats(pipe).flows_active, 1);
	pipe_advance(pipe, 101);
	assert_int_equal(pipe_stats(pipe).flows_active, 0);
	assert_true(pipe_event(pipe, 0, EVENT_FLOW, &event));
	assert_int_equal(event.reason, FLOW_END_TIMEOUT);
	assert_int_equal(event.flow.pkts[HALF_C2S], 1);
	assert_int_equal(event.flow.pkts[HALF_S2C], 1);
	assert_int_equal(event.flow.bytes[HALF_C2S], 47);
	assert_int_equal(event.ends.port[HALF_S2C], 9999);
	pipe_free(pipe);
}

static void forged_reset_far_from_the_window_does_not_end_a_flow(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct pipe_packet text = from_client((struct pipe_packet){0}, 1001, "hello", 5);
	(void)state;

	open_tcp(pipe, (struct pipe_packet){0});
	pipe_run(pipe, 0, &text);
	struct pipe_packet forged = {.seq = 0x70000000, .tcp_flags = TH_RST};

	assert_int_equal(pipe_run(pipe, 0, &forged), 1);
	pipe_advance(pipe, 60);
	assert_int_equal(pipe_stats(pipe).flows_active, 1);
	forged.seq = 1006; // in the window
	pipe_run(pipe, 0, &forged);
	pipe_advance(pipe, 16);
	assert_int_equal(pipe_stats(pipe).flows_active, 0);
	pipe_free(pipe);
}

static void packets_that_a_driver_refuses_wait_then_drop(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct pipe_packet text = from_client((struct pipe_packet){0}, 1001, "hello", 5);
	(void)state;

	pipe->refuse = 1;
	assert_int_equal(pipe_run(pipe, 0, &text), 0);
	pipe->refuse = 0;
	assert_int_equal(pipe_turns(pipe), 1); // kept, and sent in the next turn
	pipe->refuse = UINT32_MAX;
	for (unsigned i = 0; i < TX_BUFFER + 3; i++)
		pipe_run(pipe, 0, &text);
	assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_TX_FULL], 3);
	pipe_turns(pipe);
	assert_int_equal(pipe_stats(pipe).held_pkts, TX_BUFFER);
	assert_int_equal(pipe_unaccounted(pipe), 0);
	pipe_free(pipe);
}

// Two flows whose first byte says too little, and a classifier with one state.
static void flow_that_cannot_be_looked_at_waits_where_the_policy_asks(void **state)
{
	struct lcore_limits limits = pipe_limits();
	(void)state;

	limits.classifying = 1;
	struct pipe *pipe = pipe_new(1, &limits);
	struct pipe_packet first = from_client((struct pipe_packet){0}, 1001, handshake, 1);
	struct pipe_packet second =
		from_client((struct pipe_packet){.sport = 40001}, 1001, handshake, 1);

	open_tcp(pipe, (struct pipe_packet){0});
	open_tcp(pipe, (struct pipe_packet){.sport = 40001});
	block_bittorrent(pipe);
	assert_int_equal(pipe_run(pipe, 0, &first), 1);
	for (unsigned i = 0; i < 2 * CLASSIFY_BUDGET_PKTS; i++) // however often it is sent again
		assert_int_equal(pipe_run(pipe, 0, &second), 0);
	assert_int_equal(
		pipe_stats(pipe).dropped_pkts[DROP_UNCLASSIFIED], 2 * CLASSIFY_BUDGET_PKTS);
	// the first is decided and gives its state back
	first = from_client((struct pipe_packet){0}, 1002, handshake + 1, HANDSHAKE_LENGTH - 1);
	pipe_run(pipe, 0, &first);
	assert_int_equal(pipe_stats(pipe).flows_condemned, 1);
	assert_int_equal(pipe_run(pipe, 0, &second), 1);
	second = from_client(
		(struct pipe_packet){.sport = 40001}, 1002, handshake + 1, HANDSHAKE_LENGTH - 1);
	pipe_run(pipe, 0, &second);
	assert_int_equal(pipe_stats(pipe).flows_condemned, 2);
	pipe_free(pipe);
}

static void flow_that_cannot_be_looked_at_passes_where_nobody_asks(void **state)
{
	struct lcore_limits limits = pipe_limits();
	struct event event;
	(void)state;

	limits.classifying = 1;
	struct pipe *pipe = pipe_new(1, &limits);
	struct pipe_packet first = from_client((struct pipe_packet){0}, 1001, handshake, 1);
	struct pipe_packet second = first;

	second.sport = 40001;
	open_tcp(pipe, (struct pipe_packet){0});
	open_tcp(pipe, (struct pipe_packet){.sport = 40001});
	assert_int_equal(pipe_run(pipe, 0, &first), 1);
	assert_int_equal(pipe_run(pipe, 0, &second), 1);
	assert_int_equal(pipe_stats(pipe).classify_nomem, 1);
	second = from_client(
		(struct pipe_packet){.sport = 40002}, 1001, handshake, HANDSHAKE_LENGTH);
	open_tcp(pipe, (struct pipe_packet){.sport = 40002});
	assert_int_equal(pipe_run(pipe, 0, &second), 1);
	assert_int_equal(pipe_stats(pipe).decode_nomem, 1);
	pipe_advance(pipe, 8000);
	for (unsigned n = 0, is; n < 2; n += is) {
		assert_true(pipe_event(pipe, 0, EVENT_FLOW, &event));
		is = event.ends.port[HALF_C2S] != 40000;
		assert_int_equal(event.flow.stream.ignored, is << STREAM_TARGET_CLASSIFY_STATES);
		assert_int_equal(event.flow.stream.passed | event.flow.stream.dropped, 0);
	}
	pipe_free(pipe);
}

static void link_protocols_go_by_policy(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	uint8_t arp[60] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 8, 6};
	uint8_t stp[60] = {1, 0x80, 0xc2, 0, 0, 0, 2, 0, 0, 0, 0, 1, 0, 38, 0x42, 0x42, 3};
	(void)state;

	pipe->policy->link[LINK_PROTO_STP] = ACTION_DROP;
	assert_int_equal(pipe_run_frame(pipe, 0, arp, sizeof(arp), false, 1), 1);
	assert_int_equal(pipe_run_frame(pipe, 0, stp, sizeof(stp), false, 1), 0);
	assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_ETHERTYPE], 1);
	assert_int_equal(pipe_stats(pipe).arp_pkts, 1);
	pipe_free(pipe);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_traffic_leaves_as_it_came),
		cmocka_unit_test(blocked_flow_is_torn_down_at_both_ends),
		cmocka_unit_test(late_segments_of_a_condemned_flow_are_answered_within_a_limit),
		cmocka_unit_test(reconnection_dies_in_the_cache_from_any_source_port),
		cmocka_unit_test(bad_checksum_neither_refreshes_nor_tears_nor_is_inspected),
		cmocka_unit_test(resets_keep_the_vlan_tags),
		cmocka_unit_test(handshake_over_many_mbuf_segments_is_seen),
		cmocka_unit_test(handshake_in_tiny_segments_is_seen),
		cmocka_unit_test(address_rule_answers_the_syn_and_feeds_the_cache),
		cmocka_unit_test(datagrams_are_refused_by_icmp_within_the_limit),
		cmocka_unit_test(monitor_mode_tells_once_and_lets_pass),
		cmocka_unit_test(reload_decides_live_flows_again),
		cmocka_unit_test(policy_that_no_longer_blocks_frees_its_victims),
		cmocka_unit_test(flood_of_syns_costs_stubs_only_and_evicts_the_oldest),
		cmocka_unit_test(flows_end_by_their_time_outs_with_a_record),
		cmocka_unit_test(forged_reset_far_from_the_window_does_not_end_a_flow),
		cmocka_unit_test(packets_that_a_driver_refuses_wait_then_drop),
		cmocka_unit_test(flow_that_cannot_be_looked_at_waits_where_the_policy_asks),
		cmocka_unit_test(flow_that_cannot_be_looked_at_passes_where_nobody_asks),
		cmocka_unit_test(link_protocols_go_by_policy),
	};

	return cmocka_run_group_tests_name("pipeline", tests, NULL, NULL);
}
