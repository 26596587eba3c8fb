// SPDX-License-Identifier: BSD-3-Clause
// What applications use and what rules did, as the data path counts it. pipe_free asserts for every
// test of the path that no flow is left counted as live.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/pipeline/pipe.h"

static const char handshake[68] = "\x13"
				  "BitTorrent protocol"
				  "\0\0\0\0\0\x10\0\x05"
				  "AAAAAAAAAAAAAAAAAAAA-qB4520-BBBBBBBBBBBB";

static void say(struct pipe *pipe, uint16_t sport, bool from_outside, uint32_t seq, uint32_t ack,
	uint8_t flags, const void *payload, unsigned length)
{
	struct pipe_packet packet = {.sport = sport,
		.from_outside = from_outside,
		.seq = seq,
		.ack = ack,
		.tcp_flags = flags,
		.payload = payload,
		.payload_length = (uint16_t)length};

	pipe_run(pipe, 0, &packet);
}

static void open_tcp(struct pipe *pipe, uint16_t sport)
{
	say(pipe, sport, false, 1000, 0, TH_SYN, NULL, 0);
	say(pipe, sport, true, 5000, 1001, TH_SYN | TH_ACK, NULL, 0);
	say(pipe, sport, false, 1001, 5001, TH_ACK, NULL, 0);
}

static const struct app_usage *usage_of(const struct pipe *pipe, const char *app)
{
	return &pipe->dp.lcores[0]->apps[app ? app_find(app) : APP_NONE];
}

static uint64_t all_pkts(const struct pipe *pipe)
{
	uint64_t sum = 0;

	for (unsigned app = 0; app < APPS_MAX; app++)
		sum += pipe->dp.lcores[0]->apps[app].pkts[0] +
		       pipe->dp.lcores[0]->apps[app].pkts[1];
	return sum;
}

static void a_flow_is_counted_whole_when_it_is_known(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	const struct app_usage *torrent = usage_of(pipe, "bittorrent"),
			       *none = usage_of(pipe, NULL);

	(void)state;
	open_tcp(pipe, 40000);
	assert_int_equal(torrent->flows + none->flows_active + all_pkts(pipe), 0);
	say(pipe, 40000, false, 1001, 5001, 0, handshake, sizeof handshake);
	say(pipe, 40000, true, 5001, 1069, 0, handshake, sizeof handshake);
	assert_int_equal(torrent->flows, 1);
	assert_int_equal(torrent->flows_active, 1);
	assert_int_equal(none->flows_active, 0);
	assert_int_equal(torrent->pkts[HALF_C2S], 3); // the handshake with them
	assert_int_equal(torrent->pkts[HALF_S2C], 2);
	assert_int_equal(torrent->bytes[HALF_S2C], 2 * 54 + sizeof handshake);
	// and each packet afterwards at once
	say(pipe, 40000, true, 5069, 1069, 0, "0123456789", 10);
	assert_int_equal(torrent->pkts[HALF_S2C], 3);
	assert_int_equal(torrent->bytes[HALF_S2C], 3 * 54 + 78);
	assert_int_equal(all_pkts(pipe), 6);
	pipe_advance(pipe, 100000);
	pipe_turns(pipe);
	assert_int_equal(torrent->flows_active, 0);
	assert_int_equal(torrent->flows, 1);
	assert_int_equal(all_pkts(pipe), 6);
	pipe_free(pipe);
}

static void what_stays_unknown_is_counted_when_it_ends(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	const struct app_usage *none = usage_of(pipe, NULL);

	(void)state;
	open_tcp(pipe, 40000);
	say(pipe, 40000, false, 1001, 5001, 0, "?", 1);
	open_tcp(pipe, 40001); // never carries anything
	assert_int_equal(none->flows_active, 1);
	assert_int_equal(all_pkts(pipe), 0);
	pipe_advance(pipe, 100000);
	pipe_turns(pipe);
	assert_int_equal(none->flows, 1);
	assert_int_equal(none->flows_active, 0);
	assert_int_equal(all_pkts(pipe), 7);
	pipe_free(pipe);
}

static void rules_count_flows(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct policy *policy = pipe_policy(pipe);

	(void)state;
	struct rule *watched = pipe_rule(policy, 9, ACTION_DROP);

	watched->mode = MODE_MONITOR;
	watched->n_ports = 1;
	watched->ports[0] = (struct port_range){8080, 8080};
	pipe_rule_app(policy, 7, ACTION_RESET, "bittorrent");
	policy->counts[0] = calloc(policy->n_rules + 1, sizeof *policy->counts[0]);
	assert_non_null(policy->counts[0]);
	pipe_publish(pipe, policy);
	open_tcp(pipe, 40000);
	say(pipe, 40000, false, 1001, 5001, 0, handshake, sizeof handshake);
	say(pipe, 40000, true, 5001, 1069, 0, handshake, sizeof handshake);
	say(pipe, 40000, true, 5069, 1069, 0, "more", 4);
	const struct rule_counts *counts = policy->counts[0];

	assert_int_equal(counts[1].blocks, 1); // one flow, however many packets
	assert_true(counts[1].decisions >= 1);
	assert_int_equal(counts[0].monitor_hits + counts[0].blocks + counts[2].blocks, 0);
	assert_int_equal(usage_of(pipe, "bittorrent")->flows_blocked, 1);
	struct pipe_packet packet = {.sport = 40001,
		.dport = 8080,
		.proto = IPPROTO_UDP,
		.payload = "?",
		.payload_length = 1};

	for (unsigned i = 0; i < 20; i++) // beyond the classifier's budget
		pipe_run(pipe, 0, &packet);
	assert_int_equal(counts[0].monitor_hits, 1);
	assert_int_equal(counts[0].blocks + counts[0].decisions, 0);
	assert_true(counts[2].decisions >= 1); // the default's
	assert_int_equal(counts[2].blocks, 0);
	assert_int_equal(usage_of(pipe, NULL)->flows_blocked, 0);
	pipe_free(pipe);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flow_is_counted_whole_when_it_is_known),
		cmocka_unit_test(what_stays_unknown_is_counted_when_it_ends),
		cmocka_unit_test(rules_count_flows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
