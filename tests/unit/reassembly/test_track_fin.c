// SPDX-License-Identifier: BSD-3-Clause
// The consumer is told of a FIN once, behind the last byte, whatever way the bytes before it came;
// and it can hold the packet, or ask for it again, as with bytes.
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
#define FIRST  1000u // the number of offset 0

static struct tracker *tracker;
static struct tcp_track *track;
static struct stream_report report;
static struct rte_mempool *pool;
static uint64_t told; // bytes and gaps
static unsigned fins;
static enum consumed fin_answer, bytes_answer;

static enum consumed take(void *ctx, const struct span *span)
{
	(void)ctx;
	assert_int_equal(span->half, 0);
	assert_int_equal(span->offset64, told);
	if (span->flags & SPAN_FIN) {
		assert_int_equal(span->extent, 0);
		fins += fin_answer != CONSUMED_NOTHING;
		return fin_answer;
	}
	assert_int_not_equal(span->extent, 0);
	assert_int_equal(fins, 0); // nothing behind it
	if (bytes_answer != CONSUMED_NOTHING)
		told += span->extent;
	return bytes_answer;
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
	rte_pktmbuf_free(m);
}

static int begin(void **state)
{
	static const struct tracker_limits limits = {.tracks = 2,
		.blocks = 256,
		.half_blocks = 128,
		.held = 32,
		.half_held = 16,
		.hold_ns = 1000,
		.fast_pass = true};

	(void)state;
	pool = packet_pool();
	tracker = tracker_new(&limits, SOCKET_ID_ANY);
	assert_non_null(tracker);
	tracker->drop = drop;
	memset(&report, 0, sizeof(report));
	track = track_at(tracker, track_take(tracker, 0, &report));
	for (unsigned half = 0; half < 2; half++)
		track_syn(&track->half[half], FIRST - 1);
	told = 0;
	fins = 0;
	fin_answer = bytes_answer = CONSUMED;
	return 0;
}

static int end(void **state)
{
	(void)state;
	track_give(tracker, (uint32_t)(track - tracker->tracks), DROP_HELD_CLOSED);
	assert_int_equal(tracker->slab.used, 0);
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
	tracker_free(tracker);
	return 0;
}

static enum track_verdict walk(struct rte_mbuf *m, bool resumed)
{
	const struct pkt *pkt = pkt_of(m);
	const struct tcp_segment segment = {
		.m = m,
		.seq = pkt->tcp_seq,
		.ack = FIRST,
		.payload_at = HEADER,
		.length = pkt->payload_len,
		.window = 60000,
		.tcp_flags = pkt->tcp_flags,
		.enforces = true,
		.resumed = resumed,
	};
	struct track_result result = track_segment(tracker, track, &segment, &consumer);

	if (result.verdict != TRACK_HELD)
		rte_pktmbuf_free(m);
	return result.verdict;
}

static enum track_verdict give(uint32_t at, uint32_t length, uint8_t tcp_flags)
{
	static uint8_t frame[HEADER + 2000];
	struct rte_mbuf *m;

	for (uint32_t i = 0; i < length; i++)
		frame[HEADER + i] = (uint8_t)((at + i) * 7);
	m = packet_mbuf(pool, frame, HEADER + length, LINK_ETHERNET, 1);
	pkt_of(m)->tcp_seq = FIRST + at;
	pkt_of(m)->payload_len = (uint16_t)length;
	pkt_of(m)->tcp_flags = (uint8_t)(TH_ACK | tcp_flags);
	return walk(m, false);
}

// The job on the half is done. How many packets left.
static unsigned resume(void)
{
	unsigned n = 0;
	bool more = true;

	track_resume(tracker, track, 0);
	while (more) {
		struct rte_mbuf *m = track_work(tracker, track, 0, 0, &consumer, &more);

		if (m)
			n += walk(m, true) == TRACK_FORWARD;
	}
	return n;
}

static void with_the_last_bytes(void **state)
{
	(void)state;
	assert_int_equal(give(0, 100, 0), TRACK_FORWARD);
	assert_int_equal(fins, 0);
	assert_int_equal(give(100, 50, TH_FIN), TRACK_FORWARD);
	assert_int_equal(told, 150);
	assert_int_equal(fins, 1);
	assert_int_equal(give(100, 50, TH_FIN), TRACK_FORWARD); // again
	assert_int_equal(give(150, 0, TH_FIN), TRACK_FORWARD);
	assert_int_equal(fins, 1);
}

static void alone(void **state)
{
	(void)state;
	give(0, 100, 0);
	assert_int_equal(give(100, 0, TH_FIN), TRACK_FORWARD);
	assert_int_equal(fins, 1);
}

static void of_a_half_without_bytes(void **state)
{
	(void)state;
	assert_int_equal(give(0, 0, TH_FIN), TRACK_FORWARD);
	assert_int_equal(fins, 1);
}

// It came ahead of a hole, with bytes or without: it is told when the hole is filled.
static void ahead_of_a_hole(void **state)
{
	(void)state;
	give(0, 100, 0);
	assert_int_equal(give(200, 100, 0), TRACK_FORWARD);
	assert_int_equal(give(300, 0, TH_FIN), TRACK_FORWARD);
	assert_int_equal(fins, 0);
	assert_int_equal(give(100, 100, 0), TRACK_FORWARD);
	assert_int_equal(told, 300);
	assert_int_equal(fins, 1);
}

static void ahead_with_bytes(void **state)
{
	(void)state;
	assert_int_equal(give(100, 100, TH_FIN), TRACK_FORWARD);
	assert_int_equal(fins, 0);
	assert_int_equal(give(0, 100, 0), TRACK_FORWARD);
	assert_int_equal(told, 200);
	assert_int_equal(fins, 1);
}

// The packet of a FIN is held like one of bytes, and what fills the hole before it, too.
static void it_is_held(void **state)
{
	(void)state;
	give(0, 100, 0);
	fin_answer = CONSUMED_HOLD;
	assert_int_equal(give(100, 0, TH_FIN), TRACK_HELD);
	assert_int_equal(fins, 1);
	assert_int_equal(give(100, 0, TH_FIN), TRACK_ABSORBED);
	assert_int_equal(resume(), 1);
	assert_int_equal(fins, 1);
}

static void it_is_held_with_its_bytes(void **state)
{
	(void)state;
	fin_answer = CONSUMED_HOLD;
	assert_int_equal(give(0, 100, TH_FIN), TRACK_HELD);
	assert_int_equal(told, 100);
	assert_int_equal(resume(), 1);
	assert_int_equal(fins, 1);
}

static void what_fills_the_hole_is_held(void **state)
{
	(void)state;
	fin_answer = CONSUMED_HOLD;
	assert_int_equal(give(100, 100, TH_FIN), TRACK_FORWARD);
	assert_int_equal(give(0, 100, 0), TRACK_HELD);
	assert_int_equal(fins, 1);
	assert_int_equal(resume(), 1);
}

// Bytes before it wait for a verdict: it comes after them.
static void behind_bytes_that_are_held(void **state)
{
	(void)state;
	bytes_answer = CONSUMED_HOLD;
	assert_int_equal(give(0, 100, 0), TRACK_HELD);
	assert_int_equal(give(100, 0, TH_FIN), TRACK_HELD);
	assert_int_equal(fins, 0);
	bytes_answer = CONSUMED;
	assert_int_equal(resume(), 2);
	assert_int_equal(fins, 1);
}

static void it_could_not_be_looked_at(void **state)
{
	(void)state;
	fin_answer = CONSUMED_NOTHING;
	assert_int_equal(give(0, 100, TH_FIN), TRACK_HELD);
	assert_int_equal(fins, 0);
	fin_answer = CONSUMED;
	assert_int_equal(resume(), 1);
	assert_int_equal(told, 100);
	assert_int_equal(fins, 1);
}

// One that was dropped, as its bytes were, is none: its sender may say something else.
static void one_that_did_not_leave_is_none(void **state)
{
	(void)state;
	give(0, 100, 0);
	bytes_answer = CONSUMED_NOTHING;
	assert_int_equal(give(100, 50, TH_FIN), TRACK_DROP);
	bytes_answer = CONSUMED;
	assert_int_equal(give(100, 200, 0), TRACK_FORWARD);
	assert_int_equal(told, 300);
	assert_int_equal(fins, 0);
	assert_int_equal(give(300, 0, TH_FIN), TRACK_FORWARD);
	assert_int_equal(fins, 1);
}

static void nobody_hears_of_it_once_inspection_is_over(void **state)
{
	(void)state;
	give(0, 100, 0);
	track_set_free(tracker, track);
	assert_int_equal(give(100, 0, TH_FIN), TRACK_FORWARD);
	assert_int_equal(fins, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(with_the_last_bytes),
		TEST(alone),
		TEST(of_a_half_without_bytes),
		TEST(ahead_of_a_hole),
		TEST(ahead_with_bytes),
		TEST(it_is_held),
		TEST(it_is_held_with_its_bytes),
		TEST(what_fills_the_hole_is_held),
		TEST(behind_bytes_that_are_held),
		TEST(it_could_not_be_looked_at),
		TEST(one_that_did_not_leave_is_none),
		TEST(nobody_hears_of_it_once_inspection_is_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
