// SPDX-License-Identifier: BSD-3-Clause
// 100,000 forged packets a second at a gateway that scans: on the tuples of connections of which
// segments are held, and as servers that nobody asked, of whose payload some is to be held. What is
// held leaves whole, half of the places stay for the honest, and all are free afterwards.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/peers/forged.h"
#include "lib/pipeline/hold_rig.h"
#include "lib/peers/storm.h"

#define HELD_PORT 45000
#define PLACES    4096 // scan.flows

// On the tuple of a connection of which segments are held, in the name of either end.
static void on_the_held(struct pipe *pipe, const void *how)
{
	static const char payload[100] = "HTTP/1.1 200 OK\r\n\r\n";
	static const uint8_t flags[] = {0, TH_SYN, TH_SYN | TH_ACK, TH_RST, TH_FIN | TH_ACK};
	const struct pipe_packet packet = {
		.from_outside = forged_random() & 1,
		.sport = forged_random() & 1 ? HELD_PORT : (uint16_t)forged_random(),
		.seq = forged_random(),
		.ack = forged_random(),
		.tcp_flags = flags[forged_random() % 5],
		.payload = payload,
		.payload_length = forged_random() & 1 ? sizeof(payload) : 0,
	};
	uint8_t frame[256];
	unsigned length = pipe_build(&packet, frame, sizeof(frame));

	pipe_run_frame(pipe, 0, frame, length, *(const bool *)how, 1);
	pipe->n_sent = 0;
}

// A server that answers nobody: its third segment and those behind it wait for a verdict.
static void to_be_held(struct pipe *pipe, const void *how)
{
	struct pipe_packet packet = {
		.from_outside = true,
		.client = 0x01000000 + (forged_random() >> 1),
		.sport = (uint16_t)forged_random(),
		.seq = forged_random(),
		.tcp_flags = TH_SYN | TH_ACK,
		.payload = file,
	};
	uint8_t frame[1200];

	for (unsigned i = 0; i < 6; i++) {
		unsigned length = pipe_build(&packet, frame, sizeof(frame));

		pipe_run_frame(pipe, 0, frame, length, *(const bool *)how, 1);
		pipe->n_sent = 0;
		packet.seq += i ? MSS : 1;
		packet.tcp_flags = TH_ACK;
		packet.payload_length = MSS;
	}
}

static struct pipe *scanning_gateway(void)
{
	struct scan_config config = clean;
	struct pipe *pipe = pipe_new(1, &storm_limits);

	pipe_signatures(pipe, storm_rig->db);
	struct policy *policy = pipe_policy(pipe);

	pipe_rule(policy, RULE, ACTION_SCAN)->l4_proto = 0;
	pipe_publish(pipe, policy);
	config.flows = PLACES;
	pipe_scan_new(pipe, &config);
	for (size_t i = 0; i < sizeof(file); i++)
		file[i] = (uint8_t)(i * 7 + i / 251);
	return pipe;
}

static void held_segments_leave_whole(bool from_outside)
{
	struct pipe *pipe = scanning_gateway();
	unsigned parts = 0;
	struct storm storm;

	storm_begin(&storm, pipe);
	hold_flow(pipe, HELD_PORT);
	pipe_turns(pipe);
	struct stats before = pipe_stats(pipe);

	assert_int_equal(before.tcp_held_active, 2);
	storm_flood(&storm, on_the_held, &from_outside, 0.5);
	storm_end_openings(&storm);
	struct stats after = pipe_stats(pipe);

	assert_true(after.scan_flows_full > 0); // of the forged, which leave half of the places
	assert_in_range(after.scan_flows, PLACES / 2, PLACES / 2 + before.scan_flows + storm.begun);
	assert_true(after.tcp_held_active >= 2);
	storm_say_all(&storm);
	for (unsigned i = 0; i < 40; i++) {
		pipe->n_sent = 0;
		pipe_advance(pipe, 0.1);
		for (unsigned k = 0; k < pipe->n_sent; k++)
			if (pipe->sent[k].length == 14 + 20 + 20 + MSS)
				assert_part(&pipe->sent[k], ++parts * MSS);
	}
	assert_int_equal(parts, 2);
	storm_calm(&storm);
	assert_int_equal(pipe_stats(pipe).tcp_held_active, 0);
	assert_true(pipe_stats(pipe).scan_flows <= before.scan_flows + storm.begun);
	pipe_free(pipe);
	storm_assert_honest(&storm);
}

static void held_segments_survive_a_flood(void **state)
{
	(void)state;
	held_segments_leave_whole(false);
	held_segments_leave_whole(true);
}

static void places_to_hold_are_left_for_the_honest(void **state)
{
	struct pipe *pipe = scanning_gateway();
	const bool from_outside = true;
	struct storm storm;
	(void)state;

	storm_begin(&storm, pipe);
	for (unsigned i = 0; i < 600; i++)
		to_be_held(pipe, &from_outside);
	pipe_turns(pipe);
	struct stats stats = pipe_stats(pipe);

	assert_int_equal(stats.tcp_held_active, stats.tcp_held_limit / 2);
	assert_true(stats.tcp_held_limit_drops > 0);
	for (unsigned i = 0; i < 10; i++) {
		storm_flood(&storm, to_be_held, &from_outside, 0.01);
		open_flow(pipe, (uint16_t)(HELD_PORT + i));
		server(pipe, (uint16_t)(HELD_PORT + i), 0, 101);
		client(pipe, (uint16_t)(HELD_PORT + i), 101, 1 + MSS, TH_ACK, 0);
		uint64_t held = pipe_stats(pipe).tcp_held_pkts;

		server(pipe, (uint16_t)(HELD_PORT + i), MSS, 101);
		server(pipe, (uint16_t)(HELD_PORT + i), 2 * MSS, 101);
		pipe_turns(pipe);
		assert_int_equal(pipe_stats(pipe).tcp_held_pkts, held + 2);
	}
	storm_end_openings(&storm);
	storm_calm(&storm);
	assert_int_equal(pipe_stats(pipe).tcp_held_active, 0);
	pipe_free(pipe);
	storm_assert_honest(&storm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(held_segments_survive_a_flood),
		cmocka_unit_test(places_to_hold_are_left_for_the_honest),
	};

	return cmocka_run_group_tests(tests, storm_prepare, storm_done);
}
