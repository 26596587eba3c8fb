// SPDX-License-Identifier: BSD-3-Clause
// What random schedules (tests/model) and fuzzers (tests/fuzz) found on the way of a TCP connection
// through the gateway, each in the fewest packets that show it, as stories (two_ends.h). A story
// begins as its connection does; `leaves` is what an enforcing gateway lets out.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/peers/two_ends.h"

#define DIRTY       .text = STORY_DIRTY, .length = STORY_DIRTY_LENGTH
#define REFUSED     .leaves = NONE
#define STORIES_MAX 60

static void without_fast_pass(struct lcore_limits *limits)
{
	limits->tracker.fast_pass = false;
}

// Where a half begins.
static const struct story beginnings[] = {
	{STORY("of two SYN-ACKs the one counts that the client acknowledges",
		 CLIENT(.at = -1, .flags = TH_SYN), SERVER(.at = -1, .flags = TH_SYN | TH_ACK),
		 SERVER(.at = 0x30000000, .flags = TH_SYN | TH_ACK), CLIENT(), SERVER(DIRTY)),
		.blocked = true},
	{STORY("of one SYN-ACK none counts but its own number, whatever the client acknowledges",
		 CLIENT(.at = -1, .flags = TH_SYN), SERVER(.at = -1, .flags = TH_SYN | TH_ACK),
		 CLIENT(.ack = 110), SERVER(DIRTY)),
		.blocked = true},
	{STORY("nor in what follows it with payload", CLIENT(.at = -1, .flags = TH_SYN),
		 SERVER(.at = -1, .flags = TH_SYN | TH_ACK),
		 CLIENT(.text = "a", .ack = 110, REFUSED), CLIENT(), SERVER(DIRTY)),
		.blocked = true},
	{STORY("a client's SYN-ACK behind its SYN says nothing of where it begins",
		 CLIENT(.at = -1, .flags = TH_SYN),
		 CLIENT(.at = 0x20000000, .ack = 0x10000000, .flags = TH_SYN | TH_ACK, REFUSED),
		 SERVER(.at = -1, .flags = TH_SYN | TH_ACK), CLIENT(), CLIENT(DIRTY)),
		.blocked = true},
	{STORY("an octet before the first one is no keep-alive's before the SYN is acknowledged",
		 CLIENT(.at = -1, .flags = TH_SYN), CLIENT(.at = -1, .text = "#", REFUSED),
		 SERVER(.at = -1, .flags = TH_SYN | TH_ACK), CLIENT(),
		 CLIENT(.at = -1, .text = "#", .leaves = 1), CLIENT(DIRTY)),
		.blocked = true},
	{STORY("a SYN's payload is not forgotten once bytes have left behind it",
		 CLIENT(.at = -1, .flags = TH_SYN, .text = "abcd"), CLIENT(.at = 4, .text = "efgh"),
		 SERVER(.at = -1, .flags = TH_SYN | TH_ACK), CLIENT(.text = "ABCDEFGH")),
		.delivers = "abcdefgh"},
	{STORY("an acknowledgement from before a SYN's payload was left is not believed",
		 CLIENT(.at = -1, .flags = TH_SYN, .text = "abcdefgh"),
		 SERVER(.at = -1, .flags = TH_SYN | TH_ACK), CLIENT(.at = 4, .text = "EFGH"),
		 SERVER(.at = -1, .ack = 1), CLIENT(.at = 1, .text = "BCD"), CLIENT(.text = "A")),
		.delivers = "ABCDEFGH"},
};

// A FIN before any payload: the half has no flow yet that would know where it lies.
static const struct story ends[] = {
	{STORY("a FIN ahead of all payload, and its acknowledgement when the payload has come",
		 OPEN(), CLIENT(.at = 4, .flags = TH_FIN | TH_ACK, .leaves = 1),
		 CLIENT(.text = "last", .leaves = 1), SERVER(.ack = 5, .leaves = 1)),
		.delivers = "last"},
	{STORY("the same, and the server's answer rides on the acknowledgement", OPEN(),
		 CLIENT(.at = 4, .flags = TH_FIN | TH_ACK, .leaves = 1),
		 CLIENT(.text = "last", .leaves = 1),
		 SERVER(.text = "bye", .ack = 5, .flags = TH_FIN | TH_ACK, .leaves = 1),
		 CLIENT(.at = 5, .ack = 4, .leaves = 1)),
		.delivers = "last"},
	{STORY("a FIN in place of the first octet, and its acknowledgement", OPEN(),
		 CLIENT(.flags = TH_FIN | TH_ACK, .leaves = 1),
		 SERVER(.text = "a", .ack = 1, .leaves = 1)),
		.delivers = ""},
	{STORY("a FIN at the number of another SYN is of no octet here",
		 CLIENT(.at = 0x20000000, .flags = TH_SYN),
		 CLIENT(.at = 0x20000001, .flags = TH_FIN | TH_ACK),
		 CLIENT(.at = -1, .flags = TH_SYN), SERVER(.at = -1, .flags = TH_SYN | TH_ACK),
		 CLIENT(), SERVER(.text = "a", .ack = 1, REFUSED), CLIENT(DIRTY)),
		.blocked = true},
	{STORY("bytes behind a FIN in place of the first octet, which was acknowledged", OPEN(),
		 CLIENT(.flags = TH_FIN | TH_ACK), CLIENT(.at = 4, .text = "e"), SERVER(.ack = 1),
		 CLIENT(.at = 1, .text = "bcd", REFUSED)),
		.delivers = "", .counters = {{DROPPED(NOT_TAKEN), 1}}},
	{STORY("a first acknowledgement that is of a FIN, too, does not move where the half begins",
		 CLIENT(.at = -1, .flags = TH_SYN), SERVER(.at = -1, .flags = TH_SYN | TH_ACK),
		 SERVER(.flags = TH_FIN | TH_ACK), CLIENT(.ack = 1), SERVER(DIRTY)),
		.blocked = true},
	{STORY("a FIN that was refused with its payload is in place of no octet", OPEN(),
		 CLIENT(.at = -500, .text = "junk", .flags = TH_FIN | TH_ACK, REFUSED),
		 SERVER(.text = "a", .ack = 1, REFUSED), CLIENT(DIRTY)),
		.blocked = true},
	{STORY("bytes behind a FIN that nobody has acknowledged are inspected", OPEN(),
		 CLIENT(.text = "\x13", .flags = TH_FIN | TH_ACK, .ttl = 3),
		 CLIENT(.at = 1, .text = &STORY_DIRTY[1], .length = STORY_DIRTY_LENGTH - 1)),
		.blocked = true},
	{STORY("bytes behind a FIN that was acknowledged are not taken", OPEN(),
		 CLIENT(.text = "a", .flags = TH_FIN | TH_ACK), SERVER(.ack = 2),
		 CLIENT(.at = 1, .text = "b", REFUSED)),
		.delivers = "a", .counters = {{DROPPED(NOT_TAKEN), 1}}},
};

// What an end may acknowledge, and what of it is believed.
static const struct story acknowledgements[] = {
	{STORY("an acknowledgement of what has not left is refused", OPEN(), CLIENT(.text = "abcd"),
		 SERVER(.ack = 5, REFUSED), SERVER(.ack = 4, .leaves = 1)),
		.delivers = "abcd", .counters = {{DROPPED(NOT_TAKEN), 1}}},
	{STORY("so are the bytes that come with it", OPEN(), CLIENT(.text = "abcd"),
		 SERVER(.ack = 5, .text = "evil", REFUSED),
		 SERVER(.ack = 4, .text = "good", .leaves = 1)),
		.delivers = "abcd"},
	{STORY("an acknowledgement of what is held is refused", OPEN(), CLIENT(.text = "abcd"),
		 HOLD, CLIENT(.at = 4, .text = "efgh", REFUSED), SERVER(.ack = 8, REFUSED),
		 SERVER(.ack = 4, .leaves = 1), RELEASE, SERVER(.ack = 8, .leaves = 1)),
		.delivers = "abcdefgh"},
	{STORY("a blind acknowledgement, far from its own numbers, is not believed", OPEN(),
		 CLIENT(.text = "abcd", .ttl = 3), SERVER(.at = 0x40000000, .ack = 4, REFUSED),
		 CLIENT(.text = "ABCD")),
		.delivers = "abcd"},
	{STORY("nor is one below what was acknowledged of its sender", OPEN(),
		 CLIENT(.text = "abcd", .ttl = 3), SERVER(.text = "banner"),
		 CLIENT(.at = 4, .ack = 6), SERVER(.ack = 4), CLIENT(.text = "ABCD")),
		.delivers = "abcd"},
	{STORY("midstream, its receiver may have more than has passed here", CLIENT(.text = "abcd"),
		 SERVER(.ack = 100, .leaves = 1), CLIENT(.at = 100, .text = "efgh", .leaves = 1),
		 SERVER(.ack = 104, .text = "banner", .leaves = 1)),
		.delivers = "abcd", .counters = {{COUNTER(tcp_gaps), 1}}},
	{STORY("midstream, what it acknowledges too early may not be changed for that",
		 CLIENT(.text = "abcd", .ttl = 3), SERVER(.ack = 100), CLIENT(.text = "ABCD")),
		.delivers = "abcd"},
	{STORY("midstream, nobody acknowledges what is held", CLIENT(.text = "abcd"), HOLD,
		 CLIENT(.at = 4, .text = "efgh"), SERVER(.ack = 8, REFUSED), RELEASE,
		 SERVER(.ack = 8, .leaves = 1)),
		.delivers = "abcdefgh"},
	{STORY("nobody acknowledges a hole whose bytes never left", OPEN(), CLIENT(.text = "abcd"),
		 SERVER(.ack = 6, REFUSED), CLIENT(.at = 6, .text = "gh"),
		 CLIENT(.at = 4, .text = "ef")),
		.delivers = "abcdefgh"},
};

// Segments that wait.
static const struct story waiting[] = {
	{STORY("without fast pass, what contradicts a held segment does not pass it", OPEN(),
		 CLIENT(.text = "ab"), CLIENT(.at = 6, .text = "ghij", REFUSED),
		 CLIENT(.at = 2, .text = "cdefGHIJ", REFUSED), CLIENT(.at = 2, .text = "cdef")),
		.limits = without_fast_pass, .counters = {{DROPPED(CONFLICT), 1}}},
	{STORY("a FIN that comes again while it is held is absorbed", OPEN(),
		 CLIENT(.text = "abcd"), HOLD,
		 CLIENT(.at = 4, .text = "efgh", .flags = TH_FIN | TH_ACK, REFUSED),
		 CLIENT(.at = 4, .text = "efgh", .flags = TH_FIN | TH_ACK, REFUSED), RELEASE,
		 SERVER(.ack = 9, .leaves = 1)),
		.delivers = "abcdefgh", .counters = {{COUNTER(tcp_absorbed_pkts), 1}}},
	{STORY("held bytes again, with the FIN that they lacked, are held as well", OPEN(),
		 CLIENT(.text = "abcd"), HOLD, CLIENT(.at = 4, .text = "efgh", REFUSED),
		 CLIENT(.at = 4, .text = "efgh", .flags = TH_FIN | TH_ACK, REFUSED), RELEASE,
		 SERVER(.ack = 9, .leaves = 1)),
		.delivers = "abcdefgh"},
};

static void tell_story(void **state)
{
	story_tell(*state);
}

static const uint32_t numbers[] = {1000, 0xfffffff8};

#define EACH_WAY(story, body)                                                                     \
	do {                                                                                      \
		for (unsigned way = 0; way < 4; way++) {                                          \
			struct telling *t = telling_begin(                                        \
				(story), way & 1, numbers[way >> 1], true, TCP_CONFLICT_REWRITE); \
			body telling_end(t);                                                      \
		}                                                                                 \
	} while (0)
#define STEP(...) telling_step(t, &(const struct step)__VA_ARGS__)

static const struct story plain = {.name = "frame by frame"};

// A sender whose first segments had no timestamp: its held one keeps its own.
static void a_held_segment_keeps_the_only_timestamp_there_is(void **state)
{
	(void)state;
	EACH_WAY(&plain, {
		enum half half;

		STEP(OPEN());
		STEP(CLIENT(.text = "abcd"));
		STEP(HOLD);
		STEP(CLIENT(.at = 4, .text = "efgh", .time = 0x90000000, .echo = 0x80000001));
		STEP(RELEASE);
		assert_int_equal(telling_left(t), 1);
		struct wire_segment frame = telling_frame(t, 0, &half);

		assert_int_equal(frame.time, 0x90000000);
		assert_int_equal(frame.echo, 0x80000001);
	});
}

// Where a driver cuts a packet is no matter: every third step comes in three buffers, and the TCP
// header lies in all of them.
static void a_header_in_several_buffers_is_mended(void **state)
{
	(void)state;
	EACH_WAY(&plain, {
		enum half half;

		STEP(OPEN());
		STEP(CLIENT(.text = "abcdefgh"));
		STEP(CLIENT(.at = 8));
		STEP(CLIENT(.at = 8));
		STEP(CLIENT(.text = "ABCDEFGH", .leaves = 1));
		struct wire_segment frame = telling_frame(t, 0, &half);

		assert_true(frame.good_checksum);
		assert_int_equal(frame.length, 8);
		assert_memory_equal(frame.payload, "abcdefgh", 8);
	});
}

static void a_held_header_in_several_buffers_is_brought_up_to_date(void **state)
{
	(void)state;
	EACH_WAY(&plain, {
		enum half half;

		STEP(OPEN(.time = 100));
		STEP(CLIENT(.text = "abcd", .time = 101, .echo = 500));
		STEP(HOLD);
		STEP(CLIENT(.at = 4, .time = 102, .echo = 500));
		STEP(CLIENT(.at = 4, .text = "efgh", .time = 103, .echo = 500));
		STEP(SERVER(.text = "banner", .ack = 4, .time = 501, .echo = 103));
		STEP(CLIENT(.at = 4, .ack = 6, .window = 777, .time = 109, .echo = 501));
		STEP(RELEASE);
		assert_int_equal(telling_left(t), 1);
		struct wire_segment frame = telling_frame(t, 0, &half);

		assert_true(frame.good_checksum);
		assert_int_equal(frame.seq, telling_number(t, HALF_C2S, 4));
		assert_int_equal(frame.ack, telling_number(t, HALF_S2C, 6));
		assert_int_equal(frame.window, 777);
		assert_int_equal(frame.time, 109);
		assert_int_equal(frame.echo, 501);
		assert_memory_equal(frame.payload, "efgh", 4);
	});
}

int main(void)
{
	const struct {
		const struct story *stories;
		size_t n;
	} tables[] = {
		{beginnings, sizeof(beginnings) / sizeof(*beginnings)},
		{ends, sizeof(ends) / sizeof(*ends)},
		{acknowledgements, sizeof(acknowledgements) / sizeof(*acknowledgements)},
		{waiting, sizeof(waiting) / sizeof(*waiting)},
	};
	struct CMUnitTest tests[STORIES_MAX] = {
		cmocka_unit_test(a_held_segment_keeps_the_only_timestamp_there_is),
		cmocka_unit_test(a_header_in_several_buffers_is_mended),
		cmocka_unit_test(a_held_header_in_several_buffers_is_brought_up_to_date),
	};
	size_t n = 3;

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		for (size_t k = 0; k < tables[i].n; k++)
			tests[n++] = (struct CMUnitTest){.name = tables[i].stories[k].name,
				.test_func = tell_story,
				.initial_state = (void *)(uintptr_t)&tables[i].stories[k]};
	return _cmocka_run_group_tests("stream_regressions", tests, n, NULL, NULL);
}
