// SPDX-License-Identifier: BSD-3-Clause
// A half that waits for a verdict: what is held, what
// passes, what leaves in the end, and that hostile ends gain nothing by it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/peers/two_ends.h"

static const uint32_t numbers[] = {1000, 0xfffffff8};

#define EACH_WAY(story, body)                                                                      \
	do {                                                                                       \
		for (unsigned way = 0; way < 8; way++) {                                           \
			struct telling *t = telling_begin((story), way & 1, numbers[way >> 1 & 1], \
				true, way & 4 ? TCP_CONFLICT_DROP : TCP_CONFLICT_REWRITE);         \
			body telling_end(t);                                                       \
		}                                                                                  \
	} while (0)
#define STEP(...) telling_step(t, &(const struct step)__VA_ARGS__)
#define HELD(...)                  \
	do {                       \
		STEP(__VA_ARGS__); \
		expect_held(t);    \
	} while (0)
#define WAITING                                                  \
	STEP(OPEN(.time = 100));                                 \
	STEP(CLIENT(.text = "first", .time = 101, .echo = 500)); \
	STEP(HOLD)

static const struct story quiet = {.name = "held"};

static void expect_frame(
	struct telling *t, unsigned i, enum half half, int32_t at, const char *payload)
{
	enum half is;
	struct wire_segment frame = telling_frame(t, i, &is);

	assert_int_equal(is, half);
	assert_true(frame.good_checksum);
	assert_int_equal(frame.seq, telling_number(t, half, at));
	assert_int_equal(frame.length, strlen(payload));
	assert_memory_equal(frame.payload, payload, frame.length);
}

// Of what came nothing left; at most an ACK of ours.
static void expect_held(struct telling *t)
{
	for (unsigned i = 0; i < telling_left(t); i++) {
		enum half half;
		struct wire_segment frame = telling_frame(t, i, &half);

		assert_int_equal(half, HALF_C2S);
		assert_int_equal(frame.length, 0);
		assert_int_equal(frame.flags, TH_ACK);
	}
}

static struct stats stats_of(struct telling *t)
{
	return pipe_stats(telling_pipe(t));
}

// In order, and nothing overtakes: what is ahead of a hole is held as well.
static void payload_is_held_and_leaves_in_order(void **state)
{
	(void)state;
	EACH_WAY(&quiet, {
		WAITING;
		HELD(CLIENT(.at = 9, .text = "cccc", .time = 102));
		HELD(CLIENT(.at = 5, .text = "bbbb", .time = 102));
		assert_int_equal(stats_of(t).tcp_held_pkts, 2);
		STEP(RELEASE);
		assert_int_equal(telling_left(t), 2);
		expect_frame(t, 0, HALF_C2S, 5, "bbbb");
		expect_frame(t, 1, HALF_C2S, 9, "cccc");
		assert_int_equal(stats_of(t).tcp_released_pkts, 2);
	});
}

// While copies behind a hole are worked off, what comes leaves as it came: of a segment that a
// later one overtakes its sender would believe that it is lost (RFC 8985).
static void what_waits_for_copies_leaves_as_it_came(void **state)
{
	static const char many[] = "0123456789012345678901234567890123456789"; // a step is of 32

	(void)state;
	EACH_WAY(&quiet, {
		STEP(OPEN());
		STEP(CLIENT(.text = "a", .leaves = 1));
		for (int at = 41; at >= 2; at--) // so that each is a copy of its own
			STEP(CLIENT(.at = at, .text = &many[at - 2], .length = 1, .leaves = 1));
		STEP(CLIENT(.at = 43, .text = "cc", .leaves = 1));
		HELD(CLIENT(.at = 1, .text = "b"));
		HELD(CLIENT(.at = 45, .text = "new"));
		HELD(CLIENT(.at = 42, .text = "h"));
		STEP(RELEASE);
		assert_int_equal(telling_left(t), 3);
		expect_frame(t, 0, HALF_C2S, 1, "b");
		expect_frame(t, 1, HALF_C2S, 45, "new");
		expect_frame(t, 2, HALF_C2S, 42, "h");
	});
}

// The other half goes on.
static void the_other_half_is_not_held(void **state)
{
	(void)state;
	EACH_WAY(&quiet, {
		WAITING;
		STEP(SERVER(.text = "banner", .ack = 5, .time = 501, .echo = 101, .leaves = 1));
		expect_frame(t, 0, HALF_S2C, 0, "banner");
		STEP(RELEASE);
	});
}

static void bare_acknowledgements_windows_and_keep_alives_pass(void **state)
{
	(void)state;
	EACH_WAY(&quiet, {
		WAITING;
		STEP(SERVER(.text = "banner", .ack = 5, .time = 501, .echo = 101));
		STEP(CLIENT(.at = 5, .ack = 6, .time = 102, .echo = 501, .leaves = 1));
		STEP(CLIENT(.at = 5, .ack = 6, .window = 300, .time = 102, .echo = 501,
			.leaves = 1));
		STEP(CLIENT(.at = 4, .text = "t", .time = 103, .echo = 501, .ack = 6, .leaves = 1));
		STEP(RELEASE);
	});
}

// An acknowledgement that rides on what is held is told by one of ours.
static void what_a_held_segment_acknowledges_is_told(void **state)
{
	(void)state;
	EACH_WAY(&quiet, {
		WAITING;
		STEP(SERVER(.text = "banner", .ack = 5, .time = 501, .echo = 101));
		STEP(CLIENT(.at = 5, .text = "reply", .ack = 6, .window = 1234, .time = 102,
			.echo = 501, .leaves = 1));
		enum half half;
		struct wire_segment ack = telling_frame(t, 0, &half);

		expect_frame(t, 0, HALF_C2S, 5, ""); // at the released edge
		assert_int_equal(ack.flags, TH_ACK);
		assert_int_equal(ack.ack, telling_number(t, HALF_S2C, 6));
		assert_int_equal(ack.window, 1234);
		assert_int_equal(ack.time, 102);
		assert_int_equal(ack.echo, 501);
		assert_int_equal(stats_of(t).tcp_acks_made, 1);
		STEP(RELEASE);
		expect_frame(t, 0, HALF_C2S, 5, "reply");
	});
}

// With a newer timestamp: absorbed, and what is held leaves with it.
static void retransmissions_of_held_bytes_are_absorbed(void **state)
{
	(void)state;
	EACH_WAY(&quiet, {
		WAITING;
		HELD(CLIENT(.at = 5, .text = "held", .time = 102, .echo = 500));
		STEP(SERVER(.text = "banner", .ack = 5, .time = 501, .echo = 101));
		for (uint32_t i = 0; i < 5; i++)
			HELD(CLIENT(.at = 5, .text = "held", .time = 103 + i, .echo = 501, .ack = 6,
				.window = 777));
		struct stats stats = stats_of(t);

		assert_int_equal(stats.tcp_absorbed_pkts, 5);
		assert_int_equal(stats.consumed_pkts, 5);
		STEP(RELEASE);
		assert_int_equal(telling_left(t), 1);
		expect_frame(t, 0, HALF_C2S, 5, "held");
		enum half half;
		struct wire_segment frame = telling_frame(t, 0, &half);

		assert_int_equal(frame.time, 107);
		assert_int_equal(frame.echo, 501);
		assert_int_equal(frame.ack, telling_number(t, HALF_S2C, 6));
		assert_int_equal(frame.window, 777);
	});
}

// Retransmitted in other pieces, with more behind it.
static void retransmissions_may_be_cut_otherwise(void **state)
{
	(void)state;
	EACH_WAY(&quiet, {
		WAITING;
		HELD(CLIENT(.at = 5, .text = "abcd", .time = 102));
		HELD(CLIENT(.at = 9, .text = "efgh", .time = 102));
		HELD(CLIENT(.at = 7, .text = "cdef", .time = 103));
		HELD(CLIENT(.at = 5, .text = "abcdefghij", .time = 103));
		STEP(RELEASE);
		assert_true(telling_left(t) >= 2);
		expect_frame(t, 0, HALF_C2S, 5, "abcd");
	});
}

// Other bytes in the place of held ones are dropped: nobody knows yet which were clean.
static void other_bytes_than_held_ones_are_dropped(void **state)
{
	(void)state;
	EACH_WAY(&quiet, {
		WAITING;
		HELD(CLIENT(.at = 5, .text = "held", .time = 102));
		HELD(CLIENT(.at = 5, .text = "HELD", .time = 103));
		HELD(CLIENT(.at = 7, .text = "LDxy", .time = 103));
		assert_int_equal(stats_of(t).dropped_pkts[DROP_CONFLICT], 2);
		STEP(RELEASE);
		expect_frame(t, 0, HALF_C2S, 5, "held");
	});
}

static void a_fin_stays_behind_what_is_held(void **state)
{
	(void)state;
	EACH_WAY(&quiet, {
		WAITING;
		HELD(CLIENT(.at = 5, .text = "last", .time = 102));
		HELD(CLIENT(.at = 9, .flags = TH_FIN | TH_ACK, .time = 102));
		STEP(RELEASE);
		assert_int_equal(telling_left(t), 2);
		expect_frame(t, 0, HALF_C2S, 5, "last");
		expect_frame(t, 1, HALF_C2S, 9, "");
		enum half half;

		assert_int_equal(telling_frame(t, 1, &half).flags, TH_FIN | TH_ACK);
	});
}

// A RST ends what is held, not the inspection: if the server challenges it, the rest is looked at.
static void after_a_reset_nothing_held_is_released(void **state)
{
	static const struct story blocked = {.name = "reset while held", .blocked = true};
	(void)state;

	EACH_WAY(&blocked, {
		STEP(OPEN());
		STEP(CLIENT(.text = STORY_DIRTY, .length = 5));
		STEP(HOLD);
		HELD(CLIENT(.at = 5, .text = "held"));
		STEP(CLIENT(.at = 5, .flags = TH_RST, .ttl = 3, .leaves = 1));
		assert_int_equal(stats_of(t).dropped_pkts[DROP_HELD_CLOSED], 1);
		STEP(RELEASE);
		assert_int_equal(telling_left(t), 0);
		STEP(CLIENT(.at = 5, .text = &STORY_DIRTY[5], .length = STORY_DIRTY_LENGTH - 5));
	});
}

static void a_reset_outside_the_window_drops_nothing_held(void **state)
{
	(void)state;
	EACH_WAY(&quiet, {
		WAITING;
		HELD(CLIENT(.at = 5, .text = "held", .time = 102));
		STEP(CLIENT(.at = 0x40000000, .flags = TH_RST));
		STEP(RELEASE);
		expect_frame(t, 0, HALF_C2S, 5, "held");
	});
}

// Loss is legal: it comes again, and is looked at then.
static void what_is_held_for_too_long_is_dropped(void **state)
{
	static const struct story blocked = {.name = "held for too long", .blocked = true};
	(void)state;

	EACH_WAY(&blocked, {
		STEP(OPEN());
		STEP(CLIENT(.text = STORY_DIRTY, .length = 5));
		STEP(HOLD);
		HELD(CLIENT(.at = 5, .text = &STORY_DIRTY[5], .length = STORY_DIRTY_LENGTH - 5));
		STEP(PAUSE(29));
		assert_int_equal(stats_of(t).dropped_pkts[DROP_HELD_TIMEOUT], 0);
		STEP(PAUSE(2));
		assert_int_equal(stats_of(t).dropped_pkts[DROP_HELD_TIMEOUT], 1);
		STEP(RELEASE);
		assert_int_equal(telling_left(t), 0);
		STEP(CLIENT(.at = 5, .text = &STORY_DIRTY[5], .length = STORY_DIRTY_LENGTH - 5));
	});
}

// Dirty bytes that were held are dirty when they are released.
static void what_is_released_is_inspected(void **state)
{
	static const struct story blocked = {.name = "dirty while held", .blocked = true};
	(void)state;

	EACH_WAY(&blocked, {
		STEP(OPEN());
		STEP(CLIENT(.text = STORY_DIRTY, .length = 5));
		STEP(HOLD);
		STEP(CLIENT(.at = 5, .text = &STORY_DIRTY[5], .length = STORY_DIRTY_LENGTH - 5));
		assert_int_equal(stats_of(t).flows_condemned, 0);
		STEP(RELEASE);
	});
}

static void caps_of_held_segments_drop_the_segment(void **state)
{
	(void)state;
	EACH_WAY(&quiet, {
		WAITING;
		for (int32_t i = 0; i < 20; i++)
			HELD(CLIENT(.at = 5 + i, .text = "x", .time = 102));
		struct stats stats = stats_of(t);

		assert_int_equal(stats.tcp_held_pkts, 16);
		assert_int_equal(stats.dropped_pkts[DROP_HELD_LIMIT], 4);
		STEP(RELEASE);
		assert_int_equal(telling_left(t), 16);
		STEP(CLIENT(.at = 21, .text = "x", .time = 103, .leaves = 1));
	});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(payload_is_held_and_leaves_in_order),
		cmocka_unit_test(what_waits_for_copies_leaves_as_it_came),
		cmocka_unit_test(the_other_half_is_not_held),
		cmocka_unit_test(bare_acknowledgements_windows_and_keep_alives_pass),
		cmocka_unit_test(what_a_held_segment_acknowledges_is_told),
		cmocka_unit_test(retransmissions_of_held_bytes_are_absorbed),
		cmocka_unit_test(retransmissions_may_be_cut_otherwise),
		cmocka_unit_test(other_bytes_than_held_ones_are_dropped),
		cmocka_unit_test(a_fin_stays_behind_what_is_held),
		cmocka_unit_test(after_a_reset_nothing_held_is_released),
		cmocka_unit_test(a_reset_outside_the_window_drops_nothing_held),
		cmocka_unit_test(what_is_held_for_too_long_is_dropped),
		cmocka_unit_test(what_is_released_is_inspected),
		cmocka_unit_test(caps_of_held_segments_drop_the_segment),
	};

	return cmocka_run_group_tests_name("evasion_held", tests, NULL, NULL);
}
