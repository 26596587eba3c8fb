// SPDX-License-Identifier: BSD-3-Clause
// Edits of bytes on their way (reassembly/edit.h): what leaves, and what comes again. The consumer
// blanks every digit of what it is given, as far as it may.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/packet/packet.h"
#include "reassembly/tcp_track.h"
#include "pipeline/vocab/tick.h"

#define HEADER 54 // bytes of a frame before its payload

static struct rig {
	struct tracker *tracker;
	struct tcp_track *track;
	struct stream_report report;
	uint64_t now_ns;
	uint32_t isn;
	enum edit_answer answer; // to the last edit
	bool takes_all;          // the consumer leaves no block free
	void *blocks[64];
	unsigned n_blocks;
	bool rewrites, one_sided, keep_whole, observes, starves, holds;
	unsigned asked;
	char told[4096];   // to the consumer
	char payload[256]; // of the segment at hand, as it would leave
	bool lines;        // all of a span is edited, but its line ends
} rig;

static enum consumed take_bytes(const struct span *span, const uint8_t *bytes)
{
	struct stream_edit edits[64];
	unsigned n = 0;

	if (!bytes || span->offset64 + span->extent >= sizeof(rig.told))
		return CONSUMED;
	memcpy(rig.told + span->offset64, bytes, span->extent);
	for (uint32_t i = 0; i < span->extent && !rig.lines; i++)
		if (bytes[i] >= '0' && bytes[i] <= '9')
			edits[n++] = (struct stream_edit){
				.offset64 = span->offset64 + i, .length = 1, .fill = '#'};
	if (rig.lines)
		edits[n++] = (struct stream_edit){.offset64 = span->offset64,
			.length = span->extent,
			.fill = '#',
			.keeps_lines = true};
	if (n) {
		rig.answer = track_edit(rig.tracker, rig.track, span->half, edits, n);
		rig.asked++;
	}
	while (rig.takes_all && slab_free(&rig.tracker->slab))
		rig.blocks[rig.n_blocks++] = slab_take(&rig.tracker->slab);
	rig.takes_all = false;
	if (rig.starves)
		return CONSUMED_NOTHING;
	return rig.holds ? CONSUMED_HOLD : CONSUMED;
}

static enum consumed take(void *ctx, const struct span *span)
{
	(void)ctx;
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

static void begin_with(uint32_t isn, uint32_t blocks)
{
	const struct tracker_limits limits = {.tracks = 2,
		.blocks = blocks,
		.half_blocks = 32,
		.held = 8,
		.half_held = 4,
		.hold_ns = NS_PER_S,
		.fast_pass = true};

	packet_pool();
	rig = (struct rig){.now_ns = NS_PER_S, .isn = isn, .answer = EDIT_NO_ROOM};
	rig.tracker = tracker_new(&limits, SOCKET_ID_ANY);
	assert_non_null(rig.tracker);
	rig.tracker->drop = drop;
	rig.track = track_at(rig.tracker, track_take(rig.tracker, 1, &rig.report));
	track_syn(&rig.track->half[0], isn - 1);
	track_syn(&rig.track->half[1], 4999);
	track_edits(rig.tracker, rig.track, TRACK_EDITS_BOTH);
}

static void begin(void)
{
	begin_with(1000, 64);
}

static void end(void)
{
	track_give(rig.tracker, (uint32_t)(rig.track - rig.tracker->tracks), DROP_HELD_CLOSED);
	assert_int_equal(rig.tracker->slab.used, 0);
	tracker_free(rig.tracker);
	assert_int_equal(rte_mempool_in_use_count(packet_pool()), 0);
}

static struct track_result walk(struct rte_mbuf *m, bool resumed)
{
	const struct pkt *pkt = pkt_of(m);
	const struct tcp_segment segment = {
		.m = m,
		.now_ns = rig.now_ns,
		.seq = pkt->tcp_seq,
		.ack = 5000,
		.payload_at = HEADER,
		.length = rte_pktmbuf_pkt_len(m) - HEADER,
		.window = 60000,
		.tcp_flags = pkt->tcp_flags,
		.enforces = !rig.observes,
		.rewrites = rig.rewrites,
		.one_sided = rig.one_sided,
		.keep_whole = rig.keep_whole,
		.resumed = resumed,
	};
	struct track_result result = track_segment(rig.tracker, rig.track, &segment, &consumer);
	uint8_t room[256];
	const void *bytes = rte_pktmbuf_read(m, HEADER, segment.length, room);

	memcpy(rig.payload, bytes, segment.length);
	rig.payload[segment.length] = 0;
	return result;
}

// A segment of the half that is edited; in several mbuf segments.
static struct track_result give(uint32_t at, const char *text)
{
	uint32_t length = (uint32_t)strlen(text);
	uint8_t frame[HEADER + 256] = {0};

	assert_true(length < 256);
	memcpy(frame + HEADER, text, length);
	struct rte_mbuf *m = packet_mbuf(packet_pool(), frame, HEADER + length, LINK_ETHERNET, 3);

	pkt_of(m)->tcp_seq = rig.isn + at;
	pkt_of(m)->tcp_flags = TH_ACK;
	struct track_result result = walk(m, false);

	if (result.verdict != TRACK_HELD)
		rte_pktmbuf_free(m);
	return result;
}

static void leaves(uint32_t at, const char *text, const char *as)
{
	struct track_result result = give(at, text);

	assert_int_equal(result.verdict, TRACK_FORWARD);
	assert_string_equal(rig.payload, as);
	assert_int_equal(result.rewritten, strcmp(text, as) != 0);
}

// The receiver has all bytes below.
static void acknowledge(uint32_t ack)
{
	const struct tcp_segment segment = {.seq = 5000,
		.ack = rig.isn + ack,
		.window = 60000,
		.tcp_flags = TH_ACK,
		.half = 1,
		.enforces = true};

	track_segment(rig.tracker, rig.track, &segment, &consumer);
}

// The next packet that was held; its verdict, and `payload` as it would leave.
static struct track_result release(void)
{
	bool more = true;
	struct rte_mbuf *m = NULL;

	while (more && !m)
		m = track_work(rig.tracker, rig.track, 0, rig.now_ns, &consumer, &more);
	assert_non_null(m);
	struct track_result result = walk(m, true);

	if (result.verdict != TRACK_HELD)
		rte_pktmbuf_free(m);
	return result;
}

static void bytes_are_changed_before_they_leave_and_the_consumer_sees_them_as_they_came(
	void **state)
{
	(void)state;
	begin();
	leaves(0, "pin 1234 ok", "pin #### ok");
	assert_int_equal(rig.answer, EDIT_TAKEN);
	assert_memory_equal(rig.told, "pin 1234 ok", 11);
	leaves(11, " and no more", " and no more");
	end();
}

static void a_retransmission_of_the_original_is_edited_and_is_no_conflict(void **state)
{
	(void)state;
	for (unsigned rewrites = 0; rewrites < 2; rewrites++) { // whatever tcp.conflict says
		begin();
		rig.rewrites = rewrites;
		leaves(0, "pin 1234 ok", "pin #### ok");
		struct track_result result = give(0, "pin 1234 ok");

		assert_int_equal(result.verdict, TRACK_FORWARD);
		assert_string_equal(rig.payload, "pin #### ok");
		assert_int_equal(result.differ, 0);
		assert_int_equal(result.edited, 4);
		assert_true(result.rewritten);
		assert_int_equal(rig.report.half[0].conflict_bytes, 0);
		assert_int_equal(rig.asked, 1); // nor is it given to the consumer again
		// who has the edited bytes may send them, too
		leaves(0, "pin #### ok", "pin #### ok");
		end();
	}
}

static void other_segmentations_of_edited_bytes_are_edited(void **state)
{
	static const char text[] = "a1b22c333d";
	static const char as[] = "a#b##c###d";
	(void)state;

	begin();
	leaves(0, text, as);
	for (uint32_t from = 0; from < 10; from++)
		for (uint32_t to = from + 1; to <= 10; to++) {
			char part[16] = {0}, edited[16] = {0};

			memcpy(part, text + from, to - from);
			memcpy(edited, as + from, to - from);
			leaves(from, part, edited);
		}
	// with new bytes behind them
	leaves(8, "3d4e", "#d#e");
	assert_memory_equal(rig.told, "a1b22c333d4e", 12);
	end();
}

static void other_bytes_in_an_edited_place_are_a_conflict(void **state)
{
	(void)state;
	begin();
	leaves(0, "pin 1234 ok", "pin #### ok");
	struct track_result result = give(0, "pin 9234 ok");

	assert_int_equal(result.verdict, TRACK_DROP);
	assert_int_equal(result.reason, DROP_CONFLICT);
	assert_int_equal(result.differ, 1);
	assert_int_equal(result.differ_at, 4);
	assert_int_equal(result.edited, 3);
	rig.rewrites = true; // tcp.conflict
	result = give(0, "pin 9234 ok");
	assert_int_equal(result.verdict, TRACK_FORWARD);
	assert_int_equal(result.differ, 1);
	assert_string_equal(rig.payload, "pin #### ok");
	end();
}

static void the_original_is_forgotten_with_its_acknowledgement(void **state)
{
	(void)state;
	begin();
	leaves(0, "pin 1234 ok", "pin #### ok");
	assert_int_equal(rig.tracker->slab.used, 2); // its bytes, and as they came
	acknowledge(6);                              // a part of it: whole blocks are forgotten
	leaves(0, "pin 1234 ok", "pin #### ok");
	acknowledge(11);
	assert_int_equal(rig.tracker->slab.used, 0);
	assert_int_equal(rig.track->half[0].q2.n_blocks, 0);
	end();
}

static void what_comes_ahead_of_a_hole_waits_and_is_edited_in_its_turn(void **state)
{
	(void)state;
	begin();
	leaves(0, "a1", "a#");
	assert_int_equal(give(4, "c3").verdict, TRACK_HELD);
	assert_int_equal(give(6, "d4").verdict, TRACK_HELD);
	leaves(2, "b2", "b#");
	assert_int_equal(release().verdict, TRACK_FORWARD);
	assert_string_equal(rig.payload, "c#");
	assert_int_equal(release().verdict, TRACK_FORWARD);
	assert_string_equal(rig.payload, "d#");
	leaves(0, "a1b2c3d4", "a#b#c#d#");
	end();
}

static void numbers_may_wrap_in_an_edit(void **state)
{
	(void)state;
	begin_with(UINT32_MAX - 2, 64);
	leaves(0, "12", "##");
	leaves(2, "3456", "####");
	leaves(1, "2345", "####");
	end();
}

static void what_has_left_ahead_of_a_hole_is_edited_no_more(void **state)
{
	(void)state;
	begin();
	track_edits(rig.tracker, rig.track, 0);
	leaves(2, "b2", "b2"); // fast pass
	track_edits(rig.tracker, rig.track, TRACK_EDITS_BOTH);
	leaves(0, "a1", "a1"); // what is behind it has left: nothing here is edited
	assert_int_equal(rig.asked, 2);
	assert_int_equal(rig.answer, EDIT_LEFT);
	leaves(4, "c3", "c#");
	assert_int_equal(rig.answer, EDIT_TAKEN);
	end();
}

static void the_half_that_is_not_edited_keeps_its_fast_pass(void **state)
{
	(void)state;
	begin();
	track_edits(rig.tracker, rig.track, 1u << HALF_S2C);
	leaves(2, "b2", "b2"); // ahead of a hole
	leaves(0, "a1", "a1");
	assert_int_equal(rig.answer, EDIT_LEFT);
	assert_int_equal(rig.track->edited, 0);
	track_edits(rig.tracker, rig.track, 1u << HALF_C2S);
	leaves(4, "c3", "c#");
	assert_int_equal(rig.track->edited, 1u << HALF_C2S);
	end();
}

static void an_edit_that_begins_in_an_earlier_segment_is_refused(void **state)
{
	struct stream_edit edit = {.offset64 = 2, .length = 4, .fill = '#'};
	(void)state;

	begin();
	leaves(0, "abcd", "abcd");
	// only while a packet is at hand, and of its bytes
	assert_int_equal(track_edit(rig.tracker, rig.track, 0, &edit, 1), EDIT_LEFT);
	leaves(4, "1", "#");
	assert_int_equal(rig.answer, EDIT_TAKEN);
	end();
}

static void only_what_can_be_written_is_edited(void **state)
{
	(void)state;
	begin();
	rig.keep_whole = true; // a view of fragments
	leaves(0, "a1", "a1");
	assert_int_equal(rig.answer, EDIT_LEFT);
	rig.keep_whole = false;
	rig.one_sided = true; // nobody says until when it must be remembered
	leaves(2, "b2", "b2");
	assert_int_equal(rig.answer, EDIT_LEFT);
	rig.one_sided = false;
	leaves(4, "c3", "c#");
	// a fragmented retransmission cannot be rewritten
	rig.keep_whole = true;
	assert_int_equal(give(4, "c3").verdict, TRACK_DROP);
	rig.keep_whole = false;
	rig.observes = true;
	leaves(6, "d4", "d4");
	assert_int_equal(rig.answer, EDIT_LEFT);
	end();
}

// A consumer that takes nothing now may have looked at a part: what it asked for holds when the
// bytes come again, however they are cut.
static void an_edit_of_bytes_that_were_not_taken_is_remembered(void **state)
{
	(void)state;
	begin();
	rig.starves = true;
	assert_int_equal(give(0, "a1b22c").verdict, TRACK_DROP);
	assert_int_equal(rig.answer, EDIT_TAKEN);
	rig.starves = false;
	rig.track->edits = 0; // it asks no more
	leaves(0, "a1b2", "a#b#");
	leaves(4, "2c", "#c");
	assert_null(rig.track->half[0].q2.edits);
	leaves(0, "a1b22c", "a#b##c");
	end();
}

static void a_packet_that_waits_for_a_verdict_leaves_edited(void **state)
{
	(void)state;
	begin();
	rig.holds = true;
	assert_int_equal(give(0, "a1").verdict, TRACK_HELD);
	rig.holds = false;
	assert_int_equal(give(0, "a1").verdict, TRACK_ABSORBED);
	assert_int_equal(give(2, "b2").verdict, TRACK_HELD);
	track_resume(rig.tracker, rig.track, 0);
	assert_int_equal(release().verdict, TRACK_FORWARD);
	assert_string_equal(rig.payload, "a#");
	assert_int_equal(release().verdict, TRACK_FORWARD);
	assert_string_equal(rig.payload, "b#");
	// while it waits again, what has left comes again
	track_process(rig.track, 0);
	leaves(0, "a1b2", "a#b#");
	end();
}

static void an_edit_that_finds_no_memory_is_made_when_its_bytes_come_again(void **state)
{
	struct slab *slab;
	unsigned n = 0;
	(void)state;

	begin_with(1000, 16);
	slab = &rig.tracker->slab;
	leaves(0, "a", "a");
	// of the blocks that are asked for before a segment is taken there are enough: they go when
	// its bytes are kept (with the first one's), and the edit has its list
	rig.takes_all = true;
	struct track_result result = give(1, "12");

	assert_int_equal(rig.answer, EDIT_TAKEN);
	assert_int_equal(result.verdict, TRACK_DROP);
	assert_int_equal(result.reason, DROP_STREAM_MEMORY);
	assert_int_equal(rig.report.dropped, 1 << STREAM_TARGET_REASSEMBLY_MEMORY);
	assert_int_equal(give(1, "12").verdict, TRACK_DROP); // still
	for (; n < rig.n_blocks; n++)
		slab_put(slab, rig.blocks[n]);
	leaves(1, "12", "##");
	leaves(0, "a12", "a##");
	end();
}

static void edits_of_a_half_are_bounded(void **state)
{
	struct stream_edit edits[EDITS_MAX] = {0};
	struct q2 q2;
	(void)state;

	begin();
	q2_init(&q2);
	assert_true(edits_add(&q2, &rig.tracker->slab, edits, EDITS_MAX));
	assert_false(edits_add(&q2, &rig.tracker->slab, edits, 1));
	assert_int_equal(rig.tracker->slab.used, 1);
	edits_forget(&q2, &rig.tracker->slab);
	end();
}

static void an_edit_may_keep_line_ends(void **state)
{
	(void)state;
	begin();
	rig.lines = true;
	leaves(0, "a1\r\n\rb\n", "##\r\n\r#\n");
	rig.lines = false;
	leaves(7, "c3", "c#");
	assert_int_equal(rig.answer, EDIT_TAKEN);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			bytes_are_changed_before_they_leave_and_the_consumer_sees_them_as_they_came),
		cmocka_unit_test(a_retransmission_of_the_original_is_edited_and_is_no_conflict),
		cmocka_unit_test(other_segmentations_of_edited_bytes_are_edited),
		cmocka_unit_test(other_bytes_in_an_edited_place_are_a_conflict),
		cmocka_unit_test(the_original_is_forgotten_with_its_acknowledgement),
		cmocka_unit_test(what_comes_ahead_of_a_hole_waits_and_is_edited_in_its_turn),
		cmocka_unit_test(numbers_may_wrap_in_an_edit),
		cmocka_unit_test(what_has_left_ahead_of_a_hole_is_edited_no_more),
		cmocka_unit_test(the_half_that_is_not_edited_keeps_its_fast_pass),
		cmocka_unit_test(an_edit_that_begins_in_an_earlier_segment_is_refused),
		cmocka_unit_test(only_what_can_be_written_is_edited),
		cmocka_unit_test(an_edit_of_bytes_that_were_not_taken_is_remembered),
		cmocka_unit_test(a_packet_that_waits_for_a_verdict_leaves_edited),
		cmocka_unit_test(an_edit_that_finds_no_memory_is_made_when_its_bytes_come_again),
		cmocka_unit_test(an_edit_may_keep_line_ends),
		cmocka_unit_test(edits_of_a_half_are_bounded),
	};

	return cmocka_run_group_tests_name("edits", tests, NULL, NULL);
}
