// SPDX-License-Identifier: BSD-3-Clause
// What hostile ends do to be taken for something else, and what must not come of it: SYNs in the
// middle of a connection, payload on SYNs, forged edges, tuples used again, wrong checksums. All of
// it under a rule that refuses, and once more with one beside it that may edit messages.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/pipeline/pipe.h"
#include "pipeline/event/flow_event.h"

static const char handshake[] = "\x13"
				"BitTorrent protocol"
				"\0\0\0\0\0\x10\0\x05"
				"AAAAAAAAAAAAAAAAAAAA-qB4520-BBBBBBBBBBBB";
#define HANDSHAKE_LENGTH 68

#define LETTERS 64
static const char letters[LETTERS] = "abcdefghijklmnopqrstuvwxyz"; // each counts as a data packet

static bool edits; // the policy has a rule that may edit messages, too

static struct pipe *begin(const bool *with_edits)
{
	const struct lcore_limits limits = pipe_limits_edits();

	edits = *with_edits;
	return pipe_new(1, &limits);
}

static struct rule *block_bittorrent(struct pipe *pipe)
{
	struct policy *policy = pipe_policy(pipe);
	struct rule *rule = pipe_rule_app(policy, 7, ACTION_RESET, "bittorrent");

	if (edits)
		pipe_rule_edits(policy, 9);
	pipe_publish(pipe, policy);
	return rule;
}

static unsigned segment(struct pipe *pipe, bool from_server, uint32_t seq, uint32_t ack,
	uint8_t flags, const void *payload, uint16_t length)
{
	struct pipe_packet packet = {
		.from_outside = from_server,
		.seq = seq,
		.ack = ack,
		.tcp_flags = flags,
		.payload = payload,
		.payload_length = length,
	};

	return pipe_run(pipe, 0, &packet);
}

static unsigned client(struct pipe *pipe, uint32_t seq, const void *payload, uint16_t length)
{
	return segment(pipe, false, seq, 5001, 0, payload, length);
}

// Client's numbers start at 1000, server's at 5000.
static void open_tcp(struct pipe *pipe)
{
	assert_int_equal(segment(pipe, false, 1000, 0, TH_SYN, NULL, 0), 1);
	assert_int_equal(segment(pipe, true, 5000, 1001, TH_SYN | TH_ACK, NULL, 0), 1);
	assert_int_equal(segment(pipe, false, 1001, 5001, TH_ACK, NULL, 0), 1);
}

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static bool has_reset(const struct pipe *pipe, unsigned from, uint8_t port, uint32_t seq)
{
	for (unsigned i = from; i < pipe->n_sent; i++)
		if (pipe->sent[i].port == port && pipe->sent[i].frame[47] & TH_RST &&
			be32(pipe->sent[i].frame + 38) == seq)
			return true;
	return false;
}

// The server challenges it and keeps its numbers: so do we.
static void second_syn_does_not_move_where_the_client_begins(void **state)
{
	struct pipe *pipe = begin(*state);

	block_bittorrent(pipe);
	open_tcp(pipe);
	segment(pipe, false, 0x40000000, 0, TH_SYN, NULL, 0);
	client(pipe, 1001, handshake, HANDSHAKE_LENGTH);
	assert_int_equal(pipe_stats(pipe).flows_condemned, 1);
	pipe_free(pipe);
}

// The same after the server spoke first, when the entry is a flow already.
static void second_syn_behind_a_banner_does_not_either(void **state)
{
	struct pipe *pipe = begin(*state);

	block_bittorrent(pipe);
	open_tcp(pipe);
	segment(pipe, true, 5001, 1001, 0, "hello", 5);
	segment(pipe, false, 0x40000000, 0, TH_SYN, NULL, 0);
	client(pipe, 1001, handshake, HANDSHAKE_LENGTH);
	assert_int_equal(pipe_stats(pipe).flows_condemned, 1);
	pipe_free(pipe);
}

// The SYN-ACK says which of two SYNs was taken.
static void the_syn_that_was_acknowledged_counts(void **state)
{
	struct pipe *pipe = begin(*state);

	block_bittorrent(pipe);
	segment(pipe, false, 1000, 0, TH_SYN, NULL, 0);
	segment(pipe, false, 0x40000000, 0, TH_SYN, NULL, 0);
	segment(pipe, true, 5000, 1001, TH_SYN | TH_ACK, NULL, 0);
	client(pipe, 1001, handshake, HANDSHAKE_LENGTH);
	assert_int_equal(pipe_stats(pipe).flows_condemned, 1);
	pipe_free(pipe);
}

// Payload where no receiver looks is not let through by an enforcing policy.
static void segments_before_the_first_byte_are_not_taken(void **state)
{
	struct pipe *pipe = begin(*state);

	open_tcp(pipe);
	assert_int_equal(client(pipe, 0xf0000000, "junk", 4), 1); // enforces nothing: all leaves
	block_bittorrent(pipe);
	assert_int_equal(client(pipe, 0xf0000000, "junk", 4), 0);
	assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_NOT_TAKEN], 1);
	assert_int_equal(client(pipe, 1000, "k", 1), 1); // a keep-alive
	pipe_free(pipe);
}

// A server without Fast Open leaves the payload of the SYN; the client then sends something else.
static void payload_of_a_syn_that_was_left_is_forgotten(void **state)
{
	struct pipe *pipe = begin(*state);

	block_bittorrent(pipe);
	segment(pipe, false, 1000, 0, TH_SYN, "GET / HTTP/1.1\r\n\r\n", 18);
	segment(pipe, true, 5000, 1001, TH_SYN | TH_ACK, NULL, 0);
	client(pipe, 1001, handshake, HANDSHAKE_LENGTH);
	assert_int_equal(pipe_stats(pipe).flows_condemned, 1);
	pipe_free(pipe);
}

static void payload_of_a_syn_is_inspected(void **state)
{
	struct pipe *pipe = begin(*state);

	block_bittorrent(pipe);
	segment(pipe, false, 1000, 0, TH_SYN, handshake, HANDSHAKE_LENGTH);
	assert_int_equal(pipe_stats(pipe).flows_condemned, 1);
	pipe_free(pipe);
}

// The flow was picked up by the stray segment, its client's half begins with its SYN all the same.
static void stray_segment_of_the_server_does_not_hide_the_client(void **state)
{
	struct pipe *pipe = begin(*state);

	block_bittorrent(pipe);
	segment(pipe, true, 5001, 1001, 0, "stray", 5);
	segment(pipe, false, 1000, 0, TH_SYN, NULL, 0);
	client(pipe, 1001, handshake, HANDSHAKE_LENGTH);
	assert_int_equal(pipe_stats(pipe).flows_condemned, 1);
	pipe_free(pipe);
}

// Both ends take a new connection on the tuple of one that never closed.
static void tuple_used_again_is_a_new_flow(void **state)
{
	struct pipe *pipe = begin(*state);

	block_bittorrent(pipe);
	open_tcp(pipe);
	client(pipe, 1001, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", 28);
	assert_int_equal(segment(pipe, false, 0x60000000, 0, TH_SYN, NULL, 0), 1);
	assert_int_equal(pipe_stats(pipe).flows_ended, 0); // not yet: nobody took it
	assert_int_equal(segment(pipe, true, 0x70000000, 0x60000001, TH_SYN | TH_ACK, NULL, 0), 1);
	assert_int_equal(pipe_stats(pipe).flows_ended, 0); // nor has anybody acknowledged that
	client(pipe, 1029, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", 28);
	segment(pipe, false, 0x60000001, 0x70000001, 0, handshake, HANDSHAKE_LENGTH);
	assert_int_equal(pipe_stats(pipe).flows_condemned, 1);
	pipe_free(pipe);
}

// A forged RST in the window and a SYN: the receiver challenges both, the flow goes on.
static void reset_and_syn_do_not_end_an_inspection(void **state)
{
	struct pipe *pipe = begin(*state);

	block_bittorrent(pipe);
	open_tcp(pipe);
	client(pipe, 1001, handshake, 1);
	segment(pipe, false, 1100, 0, TH_RST, NULL, 0);
	segment(pipe, false, 1001, 0, TH_SYN, NULL, 0);
	client(pipe, 1002, handshake + 1, HANDSHAKE_LENGTH - 1);
	assert_int_equal(pipe_stats(pipe).flows_condemned, 1);
	pipe_free(pipe);
}

// Without a cache entry a SYN may open the tuple of a blocked flow, but not for the old one.
static void syn_on_a_condemned_tuple_does_not_free_the_old_connection(void **state)
{
	struct pipe *pipe = begin(*state);

	block_bittorrent(pipe)->cache = CACHE_NONE;
	open_tcp(pipe);
	client(pipe, 1001, handshake, HANDSHAKE_LENGTH);
	assert_int_equal(segment(pipe, false, 1068, 0, TH_SYN, NULL, 0), 1);
	assert_int_equal(client(pipe, 1069, "piece", 5), 0);
	assert_int_equal(segment(pipe, true, 5001, 1069, 0, "piece", 5), 0);
	assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_NOT_TAKEN], 2);
	// a new connection comes about
	assert_int_equal(segment(pipe, true, 9000, 1069, TH_SYN | TH_ACK, NULL, 0), 1);
	assert_int_equal(segment(pipe, false, 1069, 9001, 0, "hello", 5), 1);
	pipe_free(pipe);
}

// A SYN that no host takes, as its checksum is wrong, opens nothing: the blocked one stays.
static void wrong_checksums_free_no_condemned_tuple(void **state)
{
	struct pipe *pipe = begin(*state);
	struct pipe_packet forged = {.seq = 1068, .tcp_flags = TH_SYN, .bad_checksum = true};

	block_bittorrent(pipe)->cache = CACHE_NONE;
	open_tcp(pipe);
	client(pipe, 1001, handshake, HANDSHAKE_LENGTH);
	assert_int_equal(pipe_run(pipe, 0, &forged), 0);
	for (unsigned i = 0; i < 5; i++)
		client(pipe, 1069 + 5 * i, "piece", 5);
	assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_BLOCKED], 6);
	assert_int_equal(pipe_stats(pipe).flows_ended, 0);
	pipe_free(pipe);
}

// What a blocked tuple drops does not prolong it: after 120 s it is decided anew.
static void who_goes_on_is_not_blocked_for_ever(void **state)
{
	struct pipe *pipe = begin(*state);

	block_bittorrent(pipe)->cache = CACHE_NONE;
	open_tcp(pipe);
	client(pipe, 1001, handshake, HANDSHAKE_LENGTH);
	for (unsigned i = 0; i < 3; i++) {
		pipe->now_ns += 59 * NS_PER_S; // at 59, 118 and 177 s
		client(pipe, 1069 + 5 * i, "piece", 5);
		assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_BLOCKED], i < 2 ? i + 1 : 2);
	}
	pipe_free(pipe);
}

static void wrong_checksums_move_no_edge(void **state)
{
	struct pipe *pipe = begin(*state);

	open_tcp(pipe);
	client(pipe, 1001, "hello", 5);
	struct pipe_packet forged = {.seq = 1006,
		.ack = 5001,
		.payload = "0123456789",
		.payload_length = 10,
		.bad_checksum = true};

	assert_int_equal(pipe_run(pipe, 0, &forged), 1); // observed
	block_bittorrent(pipe)->has_app = false;
	unsigned before = pipe->n_sent;

	segment(pipe, true, 5001, 1001, TH_ACK, NULL, 0);
	assert_true(has_reset(pipe, before, PIPE_OUTSIDE, 1006));
	assert_false(has_reset(pipe, before, PIPE_OUTSIDE, 1016));
	pipe_free(pipe);
}

static void acknowledgements_of_what_was_never_sent_move_no_edge(void **state)
{
	struct pipe *pipe = begin(*state);

	open_tcp(pipe);
	client(pipe, 1001, "hello", 5);
	segment(pipe, true, 5001, 0x30000000, TH_ACK, NULL, 0);
	block_bittorrent(pipe)->has_app = false;
	unsigned before = pipe->n_sent;

	segment(pipe, true, 5001, 1006, TH_ACK, NULL, 0);
	assert_true(has_reset(pipe, before, PIPE_OUTSIDE, 1006));
	pipe_free(pipe);
}

// Only what takes a place in the stream moves its edge.
static void resets_and_bare_acknowledgements_move_no_edge(void **state)
{
	struct pipe *pipe = begin(*state);

	open_tcp(pipe);
	client(pipe, 1001, "hello", 5);
	segment(pipe, false, 2000, 0, TH_RST, NULL, 0);
	segment(pipe, false, 3000, 5001, TH_ACK, NULL, 0);
	block_bittorrent(pipe)->has_app = false;
	unsigned before = pipe->n_sent;

	segment(pipe, true, 5001, 1001, TH_ACK, NULL, 0);
	assert_true(has_reset(pipe, before, PIPE_OUTSIDE, 1006));
	pipe_free(pipe);
}

// The packet that is blocked has no ACK: the reset has the number that the flow knows.
static void repeated_syn_is_reset_at_the_edge_of_the_flow(void **state)
{
	struct pipe *pipe = begin(*state);

	open_tcp(pipe);
	client(pipe, 1001, "hello", 5);
	block_bittorrent(pipe)->has_app = false;
	unsigned before = pipe->n_sent;

	segment(pipe, false, 1000, 0, TH_SYN, NULL, 0);
	assert_true(has_reset(pipe, before, PIPE_INSIDE, 5001));
	pipe_free(pipe);
}

// No host takes them; they must not end a flow that is decided either.
static void wrong_checksums_do_not_close_a_final_flow(void **state)
{
	struct pipe *pipe = begin(*state);
	struct pipe_packet forged = {
		.seq = 1001 + 12 * LETTERS, .tcp_flags = TH_RST, .bad_checksum = true};

	open_tcp(pipe);
	for (uint32_t i = 0; i < 12; i++) { // beyond the budget: final
		client(pipe, 1001 + i * LETTERS, letters, LETTERS);
		segment(pipe, true, 5001, 1001 + (i + 1) * LETTERS, 0, NULL, 0);
	}
	assert_int_equal(pipe_stats(pipe).classify_giveup, 1);
	pipe_run(pipe, 0, &forged);
	pipe_advance(pipe, 60);
	assert_int_equal(pipe_stats(pipe).flows_active, 1);
	pipe_free(pipe);
}

static void condemned_flows_do_not_answer_wrong_checksums(void **state)
{
	struct pipe *pipe = begin(*state);
	struct pipe_packet forged = {
		.from_outside = true, .seq = 5001, .ack = 1001, .bad_checksum = true};

	block_bittorrent(pipe);
	open_tcp(pipe);
	client(pipe, 1001, handshake, HANDSHAKE_LENGTH);
	pipe_advance(pipe, 100);
	assert_int_equal(pipe_run(pipe, 0, &forged), 0);
	pipe_advance(pipe, 21); // 120 s after the last good packet
	assert_int_equal(pipe_stats(pipe).embryos_active, 0);
	pipe_free(pipe);
}

// What brings nothing new does not end the classifier's budget: an application cannot hide behind
// its own retransmissions. New bytes do, in however small segments.
static void old_segments_use_up_no_budget(void **state)
{
	struct pipe *pipe = begin(*state);

	block_bittorrent(pipe);
	open_tcp(pipe);
	for (unsigned i = 0; i < 12; i++)
		client(pipe, 1001, "x", 1);
	assert_int_equal(pipe_stats(pipe).classify_giveup, 0);
	for (uint32_t i = 0; i < 10; i++)
		client(pipe, 1002 + i * LETTERS, letters, LETTERS);
	assert_int_equal(pipe_stats(pipe).classify_giveup, 1);
	pipe_free(pipe);
}

static void refused_packets_do_not_flood_the_event_ring(void **state)
{
	struct pipe *pipe = begin(*state);

	block_bittorrent(pipe);
	open_tcp(pipe);
	client(pipe, 1001, "x", 1);
	uint64_t before = pipe_stats(pipe).events_sent;

	for (unsigned i = 0; i < 100; i++)
		client(pipe, 0xf0000000, "junk", 4);
	// 10 of drops, and those of one kind of anomaly
	assert_in_range(pipe_stats(pipe).events_sent - before, 1, 10 + ANOMALY_EVENTS_PER_S / 2);
	pipe_free(pipe);
}

// Ten segments of seven octets are less than most openings: what counts is what they bring.
static void small_segments_use_up_the_budget_together(void **state)
{
	struct pipe *pipe = begin(*state);
	uint32_t next = 1001;

	open_tcp(pipe);
	for (; next < 1001 + 10 * (LETTERS - 8); next += 7)
		client(pipe, next, letters, 7);
	assert_int_equal(pipe_stats(pipe).classify_giveup, 0);
	for (; next < 1001 + 10 * (LETTERS + 7); next += 7)
		client(pipe, next, letters, 7);
	assert_int_equal(pipe_stats(pipe).classify_giveup, 1);
	pipe_free(pipe);
}

// What is behind a hole may be part of a message: where messages are edited it waits.
static void what_is_ahead_of_a_hole_waits_where_messages_are_edited(void **state)
{
	struct pipe *pipe = begin(*state);

	block_bittorrent(pipe);
	open_tcp(pipe);
	client(pipe, 1002, "bc", 2); // with it may leave what it acknowledges, by an ACK of ours
	assert_int_equal(pipe_stats(pipe).tcp_held_pkts, edits);
	assert_int_equal(pipe_stats(pipe).tcp_copied_pkts, !edits);
	client(pipe, 1001, "a", 1);
	pipe_turns(pipe);
	assert_int_equal(pipe_stats(pipe).tcp_released_pkts, edits);
	pipe_free(pipe);
}

#define STORIES(X)                                                   \
	X(second_syn_does_not_move_where_the_client_begins)          \
	X(second_syn_behind_a_banner_does_not_either)                \
	X(the_syn_that_was_acknowledged_counts)                      \
	X(segments_before_the_first_byte_are_not_taken)              \
	X(payload_of_a_syn_that_was_left_is_forgotten)               \
	X(payload_of_a_syn_is_inspected)                             \
	X(stray_segment_of_the_server_does_not_hide_the_client)      \
	X(tuple_used_again_is_a_new_flow)                            \
	X(reset_and_syn_do_not_end_an_inspection)                    \
	X(syn_on_a_condemned_tuple_does_not_free_the_old_connection) \
	X(wrong_checksums_free_no_condemned_tuple)                   \
	X(who_goes_on_is_not_blocked_for_ever)                       \
	X(wrong_checksums_move_no_edge)                              \
	X(acknowledgements_of_what_was_never_sent_move_no_edge)      \
	X(repeated_syn_is_reset_at_the_edge_of_the_flow)             \
	X(resets_and_bare_acknowledgements_move_no_edge)             \
	X(wrong_checksums_do_not_close_a_final_flow)                 \
	X(condemned_flows_do_not_answer_wrong_checksums)             \
	X(old_segments_use_up_no_budget)                             \
	X(small_segments_use_up_the_budget_together)                 \
	X(refused_packets_do_not_flood_the_event_ring)               \
	X(what_is_ahead_of_a_hole_waits_where_messages_are_edited)

#define TOLD(story)   cmocka_unit_test_prestate(story, (void *)(uintptr_t)&with_edits[0]),
#define EDITED(story) {"edited: " #story, story, NULL, NULL, (void *)(uintptr_t)&with_edits[1]},

int main(void)
{
	static const bool with_edits[2] = {false, true};
	const struct CMUnitTest tests[] = {STORIES(TOLD) STORIES(EDITED)};

	return cmocka_run_group_tests_name("evasion", tests, NULL, NULL);
}
