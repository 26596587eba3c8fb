// SPDX-License-Identifier: BSD-3-Clause
// The tracker alone, where a case is about what it keeps and not about what leaves.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/packet/packet.h"
#include "reassembly/tcp_track.h"

#define HEADER 54
#define WINDOW 60000

static struct rte_mempool *pool;
static unsigned spans, dropped;
static bool wants_hold;

static enum consumed take(void *ctx, const struct span *span)
{
	(void)ctx;
	spans += !span_is_gap(span);
	return wants_hold ? CONSUMED_HOLD : CONSUMED;
}

static enum consumed take_packet(void *ctx, const struct span *span, struct payload bytes)
{
	(void)bytes;
	return take(ctx, span);
}

static const struct stream_consumer consumer = {.take = take, .take_packet = take_packet};

static void drop(void *ctx, struct rte_mbuf *m, enum drop_reason reason)
{
	(void)ctx;
	(void)reason;
	dropped++;
	rte_pktmbuf_free(m);
}

static struct tracker *tracker_of(bool fast_pass)
{
	const struct tracker_limits limits = {.tracks = 4,
		.blocks = 256,
		.half_blocks = 128,
		.held = 32,
		.half_held = 16,
		.hold_ns = 1000,
		.fast_pass = fast_pass};
	struct tracker *tracker;

	pool = packet_pool();
	tracker = tracker_new(&limits, SOCKET_ID_ANY);
	assert_non_null(tracker);
	tracker->drop = drop;
	spans = dropped = 0;
	wants_hold = false;
	return tracker;
}

// Both halves begin at offset 0 with number 1000.
static struct tcp_track *connection(struct tracker *tracker, struct stream_report *report)
{
	uint32_t index = track_take(tracker, 0, report);

	assert_int_not_equal(index, TRACK_NONE);
	memset(report, 0, sizeof(*report));
	for (unsigned half = 0; half < 2; half++)
		track_syn(&track_at(tracker, index)->half[half], 999);
	return track_at(tracker, index);
}

static void give_back(struct tracker *tracker)
{
	for (uint32_t i = 1; i <= tracker->limits.tracks; i++)
		if (track_at(tracker, i)->report)
			track_give(tracker, i, DROP_HELD_CLOSED);
	assert_int_equal(tracker->slab.used, 0);
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
	tracker_free(tracker);
}

struct part {
	uint64_t now_ns;
	uint32_t at, length, ack;
	uint8_t half, fill;
	uint16_t window; // 0: WINDOW
};

static struct track_result walk(struct tracker *tracker, struct tcp_track *track,
	const struct part *part, struct rte_mbuf *m, bool resumed)
{
	const struct tcp_segment segment = {
		.m = m,
		.now_ns = part->now_ns,
		.seq = 1000 + part->at,
		.ack = 1000 + part->ack,
		.payload_at = HEADER,
		.length = part->length,
		.window = part->window ? part->window : WINDOW,
		.tcp_flags = TH_ACK,
		.half = part->half,
		.enforces = true,
		.resumed = resumed,
	};

	return track_segment(tracker, track, &segment, &consumer);
}

static struct track_result give(
	struct tracker *tracker, struct tcp_track *track, const struct part *part)
{
	static uint8_t frame[HEADER + 2000];

	assert_true(part->length <= 2000);
	memset(frame + HEADER, part->fill, part->length);
	struct rte_mbuf *m = packet_mbuf(pool, frame, HEADER + part->length, LINK_ETHERNET, 1);
	struct track_result result = walk(tracker, track, part, m, false);

	if (result.verdict != TRACK_HELD)
		rte_pktmbuf_free(m);
	return result;
}

// The half is worked off: what it held goes on its way, and comes back here if it is held again.
static unsigned release(
	struct tracker *tracker, struct tcp_track *track, unsigned half, uint64_t now_ns)
{
	unsigned n = 0;
	bool more = true;

	while (more) {
		struct rte_mbuf *m = track_work(tracker, track, half, now_ns, &consumer, &more);

		if (!m)
			continue;
		rte_pktmbuf_free(m);
		n++;
	}
	return n;
}

static void a_half_that_begins_after_inspection_ended_is_free_too(void **state)
{
	struct tracker *tracker = tracker_of(true);
	struct stream_report report = {0};
	uint32_t index = track_take(tracker, 0, &report);
	struct tcp_track *track = track_at(tracker, index);

	(void)state;
	// midstream: one end has sent, the other was heard, and has sent nothing
	give(tracker, track, &(struct part){.half = 0, .length = 100});
	track_set_free(tracker, track);
	assert_false(track->half[1].flags & HALF_STARTED);
	struct track_result result =
		give(tracker, track, &(struct part){.half = 1, .length = 100, .ack = 0});

	assert_int_equal(result.verdict, TRACK_FORWARD);
	assert_int_equal(spans, 1); // nobody looks at it
	assert_true(track->half[1].flags & HALF_FREE);
	assert_int_equal(track->half[1].q2.n_blocks, 0);
	// once the first bytes are acknowledged nothing of it is needed
	assert_false(track_is_idle(track));
	give(tracker, track, &(struct part){.half = 1, .at = 100, .ack = 100});
	assert_true(track_is_idle(track));
	// but payload that takes the place of a SYN's is looked at
	assert_false(track_restart(tracker, track, 1, 4999)); // bytes have left behind it
	track->half[1].flags &= (uint32_t)~HALF_BEHIND_SYN;
	assert_true(track_restart(tracker, track, 1, 4999));
	assert_false(track->half[1].flags & HALF_FREE);
	give_back(tracker);
}

static void what_contradicts_held_bytes_came_again(void **state)
{
	struct tracker *tracker = tracker_of(true);
	struct stream_report report;
	struct tcp_track *track = connection(tracker, &report);

	(void)state;
	track_process(track, 0);
	for (unsigned i = 0; i < 2; i++) // they overlap
		assert_int_equal(
			give(tracker, track, &(struct part){.at = i * 50, .length = 100}).verdict,
			TRACK_HELD);
	assert_int_equal(report.half[0].duplicate_bytes, 50);
	struct track_result result =
		give(tracker, track, &(struct part){.at = 20, .length = 200, .fill = 1});

	assert_int_equal(result.verdict, TRACK_DROP);
	assert_int_equal(result.reason, DROP_CONFLICT);
	assert_int_equal(result.differ, 130); // each byte once, though two packets have it
	assert_int_equal(result.differ_at, 20);
	assert_int_equal(result.old, 130);
	assert_int_equal(report.half[0].duplicate_bytes, 180);
	assert_int_equal(report.half[0].conflict_bytes, 130);
	// the same again is absorbed, and came again, too
	result = give(tracker, track, &(struct part){.at = 60, .length = 90});
	assert_int_equal(result.verdict, TRACK_ABSORBED);
	assert_int_equal(result.old, 90);
	give_back(tracker);
}

static void no_half_keeps_the_time_outs_of_others_waiting(void **state)
{
	struct tracker *tracker = tracker_of(true);
	struct stream_report reports[2];
	struct tcp_track *busy = connection(tracker, &reports[0]);
	struct tcp_track *stuck = connection(tracker, &reports[1]);

	(void)state;
	track_process(busy, 0);
	track_process(stuck, 0);
	// the one that was first holds something all the time, but none for long
	give(tracker, busy, &(struct part){.at = 0, .length = 10, .now_ns = 1});
	give(tracker, busy, &(struct part){.at = 10, .length = 10, .now_ns = 1});
	give(tracker, stuck, &(struct part){.at = 0, .length = 10, .now_ns = 2});
	track_resume(tracker, busy, 0);
	bool more;
	struct rte_mbuf *m = track_work(tracker, busy, 0, 900, &consumer, &more);

	assert_non_null(m);
	rte_pktmbuf_free(m);
	track_process(busy, 0); // a verdict was wanted again
	assert_int_equal(track_age(tracker, 1001, 16), 0);
	assert_int_equal(track_age(tracker, 1002, 16), 1);
	assert_int_equal(stuck->half[0].q2.n_held, 0);
	assert_int_equal(busy->half[0].q2.n_held, 1);
	assert_int_equal(track_age(tracker, 1899, 16), 0);
	assert_int_equal(track_age(tracker, 1900, 16), 1);
	assert_int_equal(dropped, 2);
	give_back(tracker);
}

// Consumed, held, and dropped when its time was over: what is sent again in other pieces leaves in
// an order in which the receiver's acknowledgement can be believed.
static void what_was_lost_in_a_hold_is_sent_again_in_other_pieces(void **state)
{
	struct tracker *tracker = tracker_of(true);
	struct stream_report report;
	struct tcp_track *track = connection(tracker, &report);

	(void)state;
	wants_hold = true;
	assert_int_equal(give(tracker, track, &(struct part){.length = 200}).verdict, TRACK_HELD);
	wants_hold = false;
	assert_int_equal(track_age(tracker, 5000, 16), 1);
	track_resume(tracker, track, 0);
	assert_int_equal(release(tracker, track, 0, 5000), 0);
	// the second piece overtakes the first on its way to us
	struct track_result second = give(tracker, track, &(struct part){.at = 100, .length = 100});
	struct track_result first = give(tracker, track, &(struct part){.length = 100});
	uint32_t has = 100;

	assert_int_equal(first.verdict, TRACK_FORWARD);
	if (second.verdict == TRACK_FORWARD)
		has = 200;
	// what the receiver says of what it has is taken
	assert_int_equal(
		give(tracker, track, &(struct part){.half = 1, .ack = has}).verdict, TRACK_FORWARD);
	assert_int_equal(track->half[0].acked, has);
	give(tracker, track, &(struct part){.at = 100, .length = 100});
	assert_int_equal(
		give(tracker, track, &(struct part){.half = 1, .ack = 200}).verdict, TRACK_FORWARD);
	assert_int_equal(track->half[0].acked, 200);
	give_back(tracker);
}

// The same where inspection ended in between.
static void what_was_lost_in_a_hold_is_acknowledged_when_nobody_looks_any_more(void **state)
{
	struct tracker *tracker = tracker_of(true);
	struct stream_report report;
	struct tcp_track *track = connection(tracker, &report);

	(void)state;
	wants_hold = true;
	assert_int_equal(give(tracker, track, &(struct part){.length = 200}).verdict, TRACK_HELD);
	assert_int_equal(track_age(tracker, 5000, 16), 1);
	track_resume(tracker, track, 0);
	release(tracker, track, 0, 5000);
	track_set_free(tracker, track);
	assert_int_equal(
		give(tracker, track, &(struct part){.length = 200}).verdict, TRACK_FORWARD);
	give(tracker, track, &(struct part){.at = 200, .length = 100});
	assert_int_equal(
		give(tracker, track, &(struct part){.half = 1, .ack = 300}).verdict, TRACK_FORWARD);
	assert_int_equal(track->half[0].acked, 300);
	give_back(tracker);
}

// A keep-alive may have the octet before the first byte; a segment that goes on from there is of a
// connection that begins elsewhere, and its receiver would read one byte more than was inspected.
static void only_a_keep_alives_octet_lies_before_the_first_byte(void **state)
{
	struct tracker *tracker = tracker_of(true);
	struct stream_report report;
	struct tcp_track *track = connection(tracker, &report);

	(void)state;
	give(tracker, track, &(struct part){.half = 1, .ack = 0}); // where it begins is known
	assert_true(track->half[0].flags & HALF_KNOWN);
	struct track_result result =
		give(tracker, track, &(struct part){.at = UINT32_MAX, .length = 100});

	assert_int_equal(result.verdict, TRACK_DROP);
	assert_true(result.refused);
	assert_int_equal(spans, 0);
	result = give(tracker, track, &(struct part){.at = UINT32_MAX, .length = 1});
	assert_int_equal(result.verdict, TRACK_FORWARD);
	assert_int_equal(
		give(tracker, track, &(struct part){.length = 100}).verdict, TRACK_FORWARD);
	assert_int_equal(spans, 1);
	assert_int_equal(track->half[0].next, 100);
	give_back(tracker);
}

// RFC 5961 section 5: whoever does not know what the other end has sent is not believed by every
// receiver, so no receiver gets it.
static void what_acknowledges_long_ago_is_not_taken(void **state)
{
	struct tracker *tracker = tracker_of(true);
	struct stream_report report;
	struct tcp_track *track = connection(tracker, &report);
	struct part part = {.length = 100, .ack = UINT32_MAX};
	struct track_result result;

	(void)state;
	give(tracker, track, &(struct part){0}); // where the other half begins is known
	result = give(tracker, track, &part);    // its SYN
	assert_int_equal(result.verdict, TRACK_DROP);
	assert_true(result.refused);
	part.ack = 0;
	assert_int_equal(give(tracker, track, &part).verdict, TRACK_FORWARD);
	assert_int_equal(track->half[0].next, 100);
	// behind so many bytes of the other half that its first lies a window ago
	track->half[1].next = track->half[1].acked = track->half[1].left = track->half[1].top =
		TRACK_WINDOW_MAX;
	part.at = 100;
	assert_int_equal(give(tracker, track, &part).verdict, TRACK_FORWARD);
	track->half[1].next = ++track->half[1].acked;
	part.at = 200;
	assert_int_equal(give(tracker, track, &part).verdict, TRACK_DROP);
	part.ack = 1;
	assert_int_equal(give(tracker, track, &part).verdict, TRACK_FORWARD);
	give_back(tracker);
}

// One acknowledgement gives up many holes: a bounded number of them with it, the others in steps,
// and what comes meanwhile waits for its turn.
static void one_acknowledgement_of_many_holes_is_worked_off_in_steps(void **state)
{
	enum { HOLES = 90 };
	struct tracker *tracker = tracker_of(true);
	struct stream_report report;
	struct tcp_track *track = connection(tracker, &report);
	bool more = true;

	(void)state;
	for (unsigned i = 0; i < HOLES; i++)
		assert_int_equal(
			give(tracker, track, &(struct part){.at = 2 * i + 1, .length = 1}).verdict,
			TRACK_FORWARD);
	assert_int_equal(spans, 0);
	give(tracker, track, &(struct part){.half = 1, .ack = 2 * HOLES});
	assert_int_equal(spans, TRACK_DRAIN_BUDGET);
	assert_true(track_has_work(track));
	assert_int_equal(
		give(tracker, track, &(struct part){.at = 2 * HOLES, .length = 100}).verdict,
		TRACK_HELD);
	struct rte_mbuf *m = NULL;

	for (unsigned steps = 0; more && spans < HOLES; steps++) {
		unsigned before = spans;

		assert_true(steps < HOLES);
		m = track_work(tracker, track, 0, 1, &consumer, &more);
		assert_true(spans - before <= TRACK_DRAIN_BUDGET);
		if (!m)
			continue;
		// ahead of the holes that are left, it leaves with a copy
		const struct part part = {.at = 2 * HOLES, .length = 100};

		assert_int_equal(walk(tracker, track, &part, m, true).verdict, TRACK_FORWARD);
		rte_pktmbuf_free(m);
	}
	release(tracker, track, 0, 1);
	assert_int_equal(track->half[0].next, 2 * HOLES + 100);
	assert_int_equal(report.half[0].gaps, HOLES);
	assert_int_equal(report.half[0].gap_bytes, HOLES);
	assert_false(track_has_work(track));
	give_back(tracker);
}

// The time of a hold is that of its first packet: who goes on sending does not prolong it.
static void what_is_held_later_does_not_prolong_a_hold(void **state)
{
	struct tracker *tracker = tracker_of(true);
	struct stream_report report;
	struct tcp_track *track = connection(tracker, &report);

	(void)state;
	track_process(track, 0);
	for (uint32_t i = 0; i < 3; i++) // at 0, 450, 900: the hold ends at 1000
		give(tracker, track,
			&(struct part){.at = 10 * i, .length = 10, .now_ns = 450 * (uint64_t)i});
	assert_int_equal(track_age(tracker, 999, 16), 0);
	assert_int_equal(track_age(tracker, 1000, 16), 3);
	give_back(tracker);
}

// What was sent and is not acknowledged is known also when nobody looks any more: a receiver that
// lost it gets the same bytes.
static void what_was_sent_is_known_after_the_flow_is_free(void **state)
{
	struct tracker *tracker = tracker_of(true);
	struct stream_report report;
	struct tcp_track *track = connection(tracker, &report);

	(void)state;
	give(tracker, track, &(struct part){.length = 100});
	give(tracker, track, &(struct part){.at = 200, .length = 100}); // ahead of a hole
	assert_int_equal(track->half[0].q2.n_copies, 1);
	track_set_free(tracker, track);
	assert_int_equal(track->half[0].q2.n_copies, 0);
	struct track_result result = give(tracker, track, &(struct part){.length = 100, .fill = 1});

	assert_int_equal(result.differ, 100);
	give_back(tracker);
}

// RFC 9293 3.8.6: a window that shrinks does not take back what was offered.
static void the_edge_of_a_window_does_not_go_back(void **state)
{
	struct tracker *tracker = tracker_of(true);
	struct stream_report report;
	struct tcp_track *track = connection(tracker, &report);
	struct tcp_half *half = &track->half[0];

	(void)state;
	give(tracker, track, &(struct part){.half = 1, .ack = 0});
	assert_int_equal(half->edge, WINDOW);
	give(tracker, track, &(struct part){.half = 1, .ack = 0, .window = 100});
	assert_int_equal(half->edge, WINDOW);
	give(tracker, track, &(struct part){.length = 100});
	give(tracker, track, &(struct part){.half = 1, .ack = 100, .window = 100});
	assert_int_equal(half->edge, WINDOW);
	assert_int_equal(
		give(tracker, track, &(struct part){.at = WINDOW - 100, .length = 100}).verdict,
		TRACK_FORWARD); // within what was offered first
	give(tracker, track, &(struct part){.half = 1, .ack = 100, .window = WINDOW});
	assert_int_equal(half->edge, WINDOW + 100);
	give_back(tracker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_half_that_begins_after_inspection_ended_is_free_too),
		cmocka_unit_test(what_contradicts_held_bytes_came_again),
		cmocka_unit_test(no_half_keeps_the_time_outs_of_others_waiting),
		cmocka_unit_test(what_was_lost_in_a_hold_is_sent_again_in_other_pieces),
		cmocka_unit_test(
			what_was_lost_in_a_hold_is_acknowledged_when_nobody_looks_any_more),
		cmocka_unit_test(only_a_keep_alives_octet_lies_before_the_first_byte),
		cmocka_unit_test(what_acknowledges_long_ago_is_not_taken),
		cmocka_unit_test(one_acknowledgement_of_many_holes_is_worked_off_in_steps),
		cmocka_unit_test(what_is_held_later_does_not_prolong_a_hold),
		cmocka_unit_test(what_was_sent_is_known_after_the_flow_is_free),
		cmocka_unit_test(the_edge_of_a_window_does_not_go_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
