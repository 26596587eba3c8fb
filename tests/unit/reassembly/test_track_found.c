// SPDX-License-Identifier: BSD-3-Clause
// The tracker alone, with a consumer that holds or refuses when the test says so: what fuzzers,
// schedules and captures found in it, each in a few segments. (What else it keeps:
// test_tcp_track.c; whole connections with every kind of receiver: test_evasion*.c,
// test_stream_regressions.c; at random: tests/model, fuzz_tcp_track.c.)
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/packet/packet.h"
#include "reassembly/tcp_track.h"
#include "pipeline/vocab/tick.h"

#define HEADER    54 // bytes of a frame before its payload
#define C_ISN     0xfffffffeu
#define S_ISN     5000u
#define KEPT_MAX  80000
#define OBSERVED  false
#define LARGE     1000 // bytes of a segment of those that are many
#define GAP_BYTES '~'  // in what was reported

struct rig {
	struct tracker *tracker;
	struct tcp_track *track;
	struct stream_report report;
	uint64_t now_ns;
	bool enforces, drops_conflicts;
	bool refuses_copies; // the consumer cannot look at copies
	uint32_t cut;        // of the segments that come, a capture leaves out so much
	uint64_t hold_at;    // it wants a hold when it has seen the byte before; 0: none
	char told[2][KEPT_MAX];
	uint32_t n_told[2];
	bool fin[2];
	char payload[2048]; // of the segment at hand, as it would leave
};

static struct rig rig;

static enum consumed take_bytes(const struct span *span, const void *bytes)
{
	uint32_t *n = &rig.n_told[span->half];

	assert_int_equal(span->offset64, *n);
	assert_true(*n + span->extent < KEPT_MAX);
	if (bytes)
		memcpy(rig.told[span->half] + *n, bytes, span->extent);
	else
		memset(rig.told[span->half] + *n, GAP_BYTES, span->extent);
	*n += span->extent;
	return rig.hold_at && *n >= rig.hold_at ? CONSUMED_HOLD : CONSUMED;
}

static enum consumed take(void *ctx, const struct span *span)
{
	(void)ctx;
	if (rig.refuses_copies && !span_is_gap(span))
		return CONSUMED_NOTHING;
	rig.fin[span->half] |= span->flags & SPAN_FIN;
	return take_bytes(span, span->unchecked);
}

static enum consumed take_packet(void *ctx, const struct span *span, struct payload bytes)
{
	uint8_t room[2048];
	(void)ctx;

	return take_bytes(span, rte_pktmbuf_read(bytes.m, bytes.at, span->extent, room));
}

static const struct stream_consumer consumer = {.take = take, .take_packet = take_packet};

static void drop(void *ctx, struct rte_mbuf *m, enum drop_reason reason)
{
	(void)ctx;
	(void)reason;
	rte_pktmbuf_free(m);
}

static const struct tracker_limits ordinary = {
	.tracks = 2,
	.blocks = 64,
	.half_blocks = 32,
	.held = 8,
	.half_held = 4,
	.hold_ns = NS_PER_S,
	.fast_pass = true,
};

static void begin(const struct tracker_limits *limits, bool enforces)
{
	packet_pool();
	rig = (struct rig){.enforces = enforces, .now_ns = NS_PER_S};
	rig.tracker = tracker_new(limits, SOCKET_ID_ANY);
	assert_non_null(rig.tracker);
	rig.tracker->drop = drop;
	rig.track = track_at(rig.tracker, track_take(rig.tracker, 1, &rig.report));
	track_syn(&rig.track->half[HALF_C2S], C_ISN);
	track_syn(&rig.track->half[HALF_S2C], S_ISN);
}

static void end(void)
{
	track_give(rig.tracker, (uint32_t)(rig.track - rig.tracker->tracks), DROP_HELD_CLOSED);
	assert_int_equal(rig.tracker->slab.used, 0);
	assert_int_equal(rig.tracker->n_held, 0);
	tracker_free(rig.tracker);
	assert_int_equal(rte_mempool_in_use_count(packet_pool()), 0);
}

struct says { // of a segment; offsets of its half and of the other one
	enum half half;
	uint32_t at;
	const char *text;
	uint32_t ack;
	uint8_t flags; // beside ACK
	uint32_t base; // of its half, if not the one that its SYN says
	bool has_base;
};

static struct track_result give(struct rte_mbuf *m, bool resumed)
{
	const struct pkt *pkt = pkt_of(m);
	const struct tcp_segment segment = {
		.m = m,
		.now_ns = rig.now_ns,
		.seq = pkt->tcp_seq,
		.ack = pkt->tcp_ack,
		.payload_at = HEADER,
		.length = pkt->payload_len,
		.cut = rig.cut,
		.window = 65000,
		.tcp_flags = pkt->tcp_flags,
		.half = pkt->in_port,
		.enforces = rig.enforces,
		.rewrites = !rig.drops_conflicts,
		.resumed = resumed,
	};
	struct track_result result = track_segment(rig.tracker, rig.track, &segment, &consumer);

	if (result.verdict == TRACK_HELD)
		return result;
	const char *left = rte_pktmbuf_read(m, HEADER, segment.length, rig.payload);

	if (left != rig.payload)
		memcpy(rig.payload, left, segment.length);
	rig.payload[segment.length] = 0;
	rte_pktmbuf_free(m);
	return result;
}

static struct track_result say(struct says says)
{
	static const uint32_t first[2] = {C_ISN + 1, S_ISN + 1};
	uint8_t frame[HEADER + 2000] = {0};
	uint32_t length = says.text ? (uint32_t)strlen(says.text) : 0;

	memcpy(frame + HEADER, says.text ? says.text : "", length);
	struct rte_mbuf *m = packet_mbuf(packet_pool(), frame, HEADER + length, LINK_ETHERNET, 1);
	struct pkt *pkt = pkt_of(m);

	pkt->in_port = (uint8_t)says.half;
	pkt->tcp_seq = (says.has_base ? says.base : first[says.half]) + says.at;
	pkt->tcp_ack = first[!says.half] + says.ack;
	pkt->tcp_flags = TH_ACK | says.flags;
	pkt->payload_len = (uint16_t)length;
	return give(m, false);
}
#define CLIENT(...) say((struct says){.half = HALF_C2S, __VA_ARGS__})
#define SERVER(...) say((struct says){.half = HALF_S2C, __VA_ARGS__})

static void expect_told(enum half half, const char *text)
{
	assert_int_equal(rig.n_told[half], strlen(text));
	assert_memory_equal(rig.told[half], text, strlen(text));
}

// Steps until nothing more can be done; how many held packets left.
static unsigned work(enum half half)
{
	unsigned left = 0;
	bool more = true;

	for (unsigned budget = 20; more; budget--) {
		struct rte_mbuf *m =
			track_work(rig.tracker, rig.track, half, rig.now_ns, &consumer, &more);

		assert_true(budget > 0);
		left += m && give(m, true).verdict == TRACK_FORWARD;
	}
	return left;
}

// The segment reaches over a copy that cannot be looked at now: its own end was not either.
static void what_reaches_over_a_copy_that_cannot_be_looked_at_is_held(void **state)
{
	(void)state;
	begin(&ordinary, true);
	assert_int_equal(CLIENT(.at = 2, .text = "cd").verdict, TRACK_FORWARD);
	rig.refuses_copies = true;
	assert_int_equal(CLIENT(.text = "abcdef").verdict, TRACK_HELD);
	expect_told(HALF_C2S, "ab");
	assert_int_equal(work(HALF_C2S), 0); // and it ends
	assert_true(track_has_work(rig.track));
	expect_told(HALF_C2S, "ab");
	rig.refuses_copies = false;
	assert_int_equal(work(HALF_C2S), 1);
	assert_string_equal(rig.payload, "abcdef");
	expect_told(HALF_C2S, "abcdef");
	assert_false(track_has_work(rig.track));
	end();
}

// Nothing else would come for it: the receiver has acknowledged the hole.
static void a_copy_behind_a_gap_that_cannot_be_looked_at_is_tried_again(void **state)
{
	(void)state;
	begin(&ordinary, true);
	CLIENT(.at = 2, .text = "cd");
	rig.refuses_copies = true;
	SERVER(.ack = 4);
	expect_told(HALF_C2S, "~~");
	assert_true(track_has_work(rig.track));
	rig.refuses_copies = false;
	work(HALF_C2S);
	expect_told(HALF_C2S, "~~cd");
	end();
}

// It was looked at, then no room was found to hold it.
static void what_was_consumed_and_dropped_has_not_left(void **state)
{
	struct tracker_limits none_held = ordinary;
	(void)state;

	none_held.half_held = 0;
	begin(&none_held, true);
	rig.hold_at = 4;
	struct track_result result = CLIENT(.text = "abcd");

	assert_int_equal(result.verdict, TRACK_DROP);
	assert_int_equal(result.reason, DROP_HELD_LIMIT);
	expect_told(HALF_C2S, "abcd");
	assert_true(SERVER(.ack = 4).refused);
	rig.hold_at = 0;
	track_resume(rig.tracker, rig.track, HALF_C2S);
	work(HALF_C2S);
	// what comes behind it leaves; of nothing before has its receiver more
	assert_int_equal(CLIENT(.at = 4, .text = "efgh").verdict, TRACK_FORWARD);
	assert_true(SERVER(.ack = 8).refused);
	// again, with other bytes: what was inspected leaves, and nothing is reported twice
	result = CLIENT(.text = "aBcD");
	assert_int_equal(result.verdict, TRACK_FORWARD);
	assert_int_equal(result.differ, 2);
	assert_string_equal(rig.payload, "abcd");
	expect_told(HALF_C2S, "abcdefgh");
	assert_false(SERVER(.ack = 8).refused);
	assert_int_equal(rig.track->half[HALF_C2S].acked, 8);
	end();
}

static void nobody_acknowledges_what_is_held(void **state)
{
	(void)state;
	begin(&ordinary, true);
	CLIENT(.text = "abcd");
	track_process(rig.track, HALF_C2S);
	assert_int_equal(CLIENT(.at = 4, .text = "efgh").verdict, TRACK_HELD);
	assert_true(SERVER(.ack = 8).refused);
	assert_int_equal(rig.track->half[HALF_C2S].acked, 0);
	track_resume(rig.tracker, rig.track, HALF_C2S);
	assert_int_equal(work(HALF_C2S), 1);
	assert_false(SERVER(.ack = 8).refused);
	end();
}

// No more is looked at, but where the half ends is still known: behind it nobody takes anything.
static void a_half_that_is_free_still_has_an_end(void **state)
{
	(void)state;
	begin(&ordinary, true);
	CLIENT(.text = "abcd");
	track_set_free(rig.tracker, rig.track);
	assert_int_equal(CLIENT(.at = 4, .text = "ef", .flags = TH_FIN).verdict, TRACK_FORWARD);
	assert_int_equal(SERVER(.ack = 7).verdict, TRACK_FORWARD);
	struct track_result result = CLIENT(.at = 6, .text = "gh");

	assert_int_equal(result.verdict, TRACK_DROP);
	assert_int_equal(result.reason, DROP_NOT_TAKEN);
	end();
}

static void what_is_ahead_of_a_hole_counts_when_it_comes_again(void **state)
{
	(void)state;
	begin(&ordinary, true);
	assert_int_equal(CLIENT(.at = 2, .text = "cd").old, 0);
	assert_int_equal(CLIENT(.at = 2, .text = "cdef").old, 2);
	assert_int_equal(CLIENT(.text = "abcdefgh").old, 4);
	assert_int_equal(rig.report.half[HALF_C2S].duplicate_bytes, 6);
	expect_told(HALF_C2S, "abcdefgh");
	end();
}

// A mirror may show an acknowledgement before what it acknowledges, and nobody waits for us.
static void observed_an_acknowledged_hole_may_still_be_filled(void **state)
{
	(void)state;
	begin(&ordinary, OBSERVED);
	CLIENT(.at = 2, .text = "cd");
	SERVER(.ack = 4);
	expect_told(HALF_C2S, "");
	CLIENT(.text = "ab");
	expect_told(HALF_C2S, "abcd");
	end();
}

static void observed_an_acknowledged_hole_is_given_up_in_the_end(void **state)
{
	char text[LARGE + 1] = {0};
	uint32_t at = 2;
	(void)state;

	begin(&ordinary, OBSERVED);
	memset(text, 'x', LARGE);
	for (; at < 20000; at += LARGE)
		CLIENT(.at = at, .text = text);
	assert_int_equal(rig.n_told[HALF_C2S], 0); // not acknowledged
	SERVER(.ack = at);
	assert_int_equal(rig.n_told[HALF_C2S], at);
	assert_memory_equal(rig.told[HALF_C2S], "~~xxx", 5);
	assert_int_equal(rig.report.half[HALF_C2S].gap_bytes, 2);
	end();
}

// Captures have holes: its sender has seen what is missing here. Who enforces has seen all of it.
static void observed_an_acknowledgement_of_what_is_missing_is_taken(void **state)
{
	(void)state;
	for (unsigned enforces = 0; enforces < 2; enforces++) {
		begin(&ordinary, enforces);
		CLIENT(.text = "a");
		struct track_result result = SERVER(.text = "banner", .ack = 3);

		assert_int_equal(result.refused, enforces);
		assert_int_equal(result.verdict, enforces ? TRACK_DROP : TRACK_FORWARD);
		expect_told(HALF_S2C, enforces ? "" : "banner");
		end();
	}
}

// Its receiver says which SYN it took, with its own next number, before a byte was sent.
static void a_half_begins_where_its_receiver_says(void **state)
{
	(void)state;
	begin(&ordinary, true);
	track_syn(&rig.track->half[HALF_C2S], C_ISN + 0x1000);
	track_syn(&rig.track->half[HALF_C2S], C_ISN);
	SERVER(.ack = 0x1000);
	CLIENT(.text = "abcd", .base = C_ISN + 1 + 0x1000, .has_base = true);
	expect_told(HALF_C2S, "abcd");
	// later it is nothing but wrong
	assert_true(SERVER(.ack = 0x2000).refused);
	end();
}

// Of one SYN nobody acknowledges another number: what says so is of nothing that was sent.
static void a_half_of_one_syn_begins_behind_it(void **state)
{
	(void)state;
	begin(&ordinary, true);
	assert_true(SERVER(.ack = 0x1000).refused);
	assert_int_equal(CLIENT(.text = "abcd").verdict, TRACK_FORWARD);
	expect_told(HALF_C2S, "abcd");
	end();
}

// What fills a hole finds room where the copies behind it did.
static void copies_leave_room_for_what_fills_their_hole(void **state)
{
	struct tracker_limits roomy = ordinary;
	char text[LARGE + 1] = {0};
	uint32_t at = 1;
	(void)state;

	roomy.blocks = 1000; // the half's own cap is met
	begin(&roomy, true);
	memset(text, 'x', LARGE);
	while (CLIENT(.at = at, .text = text).verdict == TRACK_FORWARD)
		at += LARGE;
	assert_in_range(at, 8 * LARGE, 60 * LARGE);
	assert_int_equal(CLIENT(.text = "x").verdict, TRACK_FORWARD);
	assert_int_equal(rig.n_told[HALF_C2S], at);
	end();
}

// A capture has cut a segment: its end never comes, and what follows is taken at once.
static void the_end_of_a_cut_segment_is_a_gap(void **state)
{
	(void)state;
	begin(&ordinary, OBSERVED);
	rig.cut = 3;
	CLIENT(.text = "ab");
	expect_told(HALF_C2S, "ab~~~");
	rig.cut = 0;
	CLIENT(.at = 5, .text = "cd");
	expect_told(HALF_C2S, "ab~~~cd");
	CLIENT(.at = 2, .text = "xyz"); // too late
	expect_told(HALF_C2S, "ab~~~cd");
	rig.cut = 2;
	SERVER(.text = "ef", .flags = TH_FIN);
	expect_told(HALF_S2C, "ef~~");
	assert_true(rig.fin[HALF_S2C]); // behind what was cut
	assert_false(rig.fin[HALF_C2S]);
	end();
}

// Ahead of a hole: what fills that brings the rest.
static void a_cut_segment_ahead_of_a_hole_waits(void **state)
{
	(void)state;
	begin(&ordinary, OBSERVED);
	rig.cut = 3;
	CLIENT(.at = 2, .text = "cd");
	expect_told(HALF_C2S, "");
	rig.cut = 0;
	CLIENT(.text = "ab");
	expect_told(HALF_C2S, "abcd");
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_reaches_over_a_copy_that_cannot_be_looked_at_is_held),
		cmocka_unit_test(a_copy_behind_a_gap_that_cannot_be_looked_at_is_tried_again),
		cmocka_unit_test(what_was_consumed_and_dropped_has_not_left),
		cmocka_unit_test(nobody_acknowledges_what_is_held),
		cmocka_unit_test(a_half_that_is_free_still_has_an_end),
		cmocka_unit_test(what_is_ahead_of_a_hole_counts_when_it_comes_again),
		cmocka_unit_test(observed_an_acknowledged_hole_may_still_be_filled),
		cmocka_unit_test(observed_an_acknowledged_hole_is_given_up_in_the_end),
		cmocka_unit_test(observed_an_acknowledgement_of_what_is_missing_is_taken),
		cmocka_unit_test(a_half_begins_where_its_receiver_says),
		cmocka_unit_test(a_half_of_one_syn_begins_behind_it),
		cmocka_unit_test(copies_leave_room_for_what_fills_their_hole),
		cmocka_unit_test(the_end_of_a_cut_segment_is_a_gap),
		cmocka_unit_test(a_cut_segment_ahead_of_a_hole_waits),
	};

	return cmocka_run_group_tests_name("track_found", tests, NULL, NULL);
}
