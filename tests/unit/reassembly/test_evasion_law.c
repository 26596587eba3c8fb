// SPDX-License-Identifier: BSD-3-Clause
// Each trick by which an end has its peer read other bytes than a middlebox looked at, as a story
// (two_ends.h): whatever leaves, no kind of receiver has bytes that were not inspected.
// docs/evasions.md lists them. Overlaps have their own table (test_evasion_overlap.c), held bytes
// theirs (test_evasion_held.c).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/peers/two_ends.h"

#define DIRTY      .text = STORY_DIRTY, .length = STORY_DIRTY_LENGTH
#define CLEAN      "GET / HTTP/1.1\r\nHost: intranet.example\r\nUser-Agent: evasion/1111\r\n\r\n"
#define CAPABLE    30, 12, 1, 0x81, 1, 2, 3, 4, 5, 6, 7, 8
#define JOIN       30, 12, 0x10, 1, 9, 9, 9, 9, 8, 8, 8, 8
#define PART(n, m) .text = &STORY_DIRTY[n], .length = (m)
#define FROM_TO(n) PART(n, STORY_DIRTY_LENGTH - (n))
static_assert(sizeof(CLEAN) == STORY_DIRTY_LENGTH + 1, "as long as what is dirty");

#define STORIES_MAX 100

static const uint8_t capable[] = {CAPABLE}, join[] = {JOIN};

// Beginnings.
static const struct story beginnings[] = {
	{STORY("a second SYN with another number", OPEN(),
		 CLIENT(.at = 0x40000000, .flags = TH_SYN), CLIENT(DIRTY)),
		.blocked = true},
	{STORY("a second SYN with another number, before any was answered",
		 CLIENT(.at = -1, .flags = TH_SYN), CLIENT(.at = 0x40000000, .flags = TH_SYN),
		 SERVER(.at = -1, .flags = TH_SYN | TH_ACK), CLIENT(), CLIENT(DIRTY)),
		.blocked = true},
	{STORY("the same, and the first payload belongs to the SYN that nobody took",
		 CLIENT(.at = -1, .flags = TH_SYN), CLIENT(.at = 0x40000000, .flags = TH_SYN),
		 CLIENT(.at = 0x40000001, .text = CLEAN),
		 SERVER(.at = -1, .flags = TH_SYN | TH_ACK), CLIENT(), CLIENT(DIRTY)),
		.delivers = ""},
	{STORY("a SYN with another number and payload, in the session", OPEN(), CLIENT(PART(0, 4)),
		 CLIENT(.at = 3, .flags = TH_SYN, .text = "xxxx"), CLIENT(.at = 4, FROM_TO(4))),
		.blocked = true},
	{STORY("SYN and ACK set on a segment of the session", OPEN(), CLIENT(PART(0, 4)),
		 CLIENT(.at = 3, .flags = TH_SYN | TH_ACK, .text = "xxxx"),
		 CLIENT(.at = 4, FROM_TO(4))),
		.blocked = true},
	{STORY("payload on a SYN that the server leaves",
		 CLIENT(.at = -1, .flags = TH_SYN, .text = CLEAN),
		 SERVER(.at = -1, .flags = TH_SYN | TH_ACK), CLIENT(), CLIENT(DIRTY)),
		.blocked = true},
	{STORY("payload on a SYN that the server takes (Fast Open)",
		 CLIENT(.at = -1, .flags = TH_SYN, DIRTY)),
		.blocked = true, .takes_syn_data = true},
	{STORY("Fast Open, and the rest behind it", CLIENT(.at = -1, .flags = TH_SYN, PART(0, 10)),
		 SERVER(.at = -1, .ack = 10, .flags = TH_SYN | TH_ACK),
		 CLIENT(.at = 10, FROM_TO(10))),
		.blocked = true, .takes_syn_data = true},
	{STORY("Fast Open, and the SYN's payload again, but dirty",
		 CLIENT(.at = -1, .flags = TH_SYN, .text = CLEAN), CLIENT(DIRTY),
		 SERVER(.at = -1, .ack = 68, .flags = TH_SYN | TH_ACK),
		 CLIENT(.at = 68, .text = "end")),
		.takes_syn_data = true},
	{STORY("both ends send a SYN (simultaneous open)", CLIENT(.at = -1, .flags = TH_SYN),
		 SERVER(.at = -1, .flags = TH_SYN), CLIENT(.at = -1, .flags = TH_SYN | TH_ACK),
		 SERVER(.at = -1, .flags = TH_SYN | TH_ACK), CLIENT(DIRTY)),
		.blocked = true},
	{STORY("the tuple used again", OPEN(), CLIENT(.text = CLEAN), SERVER(.ack = 68),
		 ANEW(0x20000000), OPEN(), CLIENT(DIRTY)),
		.blocked = true},
	{STORY("the tuple used again while the old one closes", OPEN(), CLIENT(.text = CLEAN),
		 SERVER(.ack = 68, .flags = TH_ACK | TH_FIN),
		 CLIENT(.at = 68, .ack = 1, .flags = TH_ACK | TH_FIN), SERVER(.at = 1, .ack = 69),
		 ANEW(0x20000000), OPEN(), CLIENT(DIRTY)),
		.blocked = true},
	{STORY("options of multipath TCP on the SYN",
		 CLIENT(.at = -1, .flags = TH_SYN, .options = capable, .options_length = 12),
		 SERVER(.at = -1, .flags = TH_SYN | TH_ACK, .options = capable,
			 .options_length = 12),
		 CLIENT(), CLIENT(DIRTY)),
		.blocked = true, .counters = {{COUNTER(mptcp_stripped), 2}}},
	{STORY("a subflow that joins a connection of multipath TCP",
		 CLIENT(.at = -1, .flags = TH_SYN, .options = join, .options_length = 12),
		 SERVER(.at = -1, .flags = TH_SYN | TH_ACK, .options = join, .options_length = 12),
		 CLIENT(), CLIENT(.text = CLEAN)),
		.delivers = CLEAN, .counters = {{COUNTER(mptcp_stripped), 2}}},
};

// Segments that one of the two does not take: gateway or receiver.
static const struct story insertions[] = {
	{STORY("clean with a low TTL, then dirty", OPEN(), CLIENT(.text = CLEAN, .ttl = 3),
		 CLIENT(DIRTY)),
		.delivers = CLEAN, .counters = {{COUNTER(tcp_conflict_pkts), 1}}},
	{STORY("clean with a low TTL, then dirty, byte by byte", OPEN(),
		 CLIENT(.text = CLEAN, .ttl = 3, .pieces = 17), CLIENT(DIRTY, .pieces = 1)),
		.delivers = CLEAN, .counters = {{COUNTER(tcp_conflict_pkts), 50}}},
	{STORY("ahead and clean with a low TTL, then dirty from the beginning", OPEN(),
		 CLIENT(.at = 4, .text = &CLEAN[4], .ttl = 3), CLIENT(DIRTY),
		 CLIENT(.at = 4, .text = &CLEAN[4])),
		.counters = {{COUNTER(tcp_ahead_pkts), 1}, {COUNTER(tcp_conflict_pkts), 1}}},
	{STORY("clean with a wrong checksum, then dirty", OPEN(),
		 CLIENT(.text = CLEAN, .bad_checksum = true), CLIENT(DIRTY)),
		.blocked = true, .counters = {{COUNTER(bad_checksum_pkts), 1}}},
	{STORY("a RST outside the window, then dirty", OPEN(), CLIENT(PART(0, 1)),
		 CLIENT(.at = 0x1000000, .flags = TH_RST), CLIENT(.at = 1, FROM_TO(1))),
		.blocked = true},
	{STORY("a RST in the window, which the server challenges, then dirty", OPEN(),
		 CLIENT(PART(0, 1)), CLIENT(.at = 100, .flags = TH_RST), SERVER(.ack = 1),
		 CLIENT(.at = 1, FROM_TO(1))),
		.blocked = true},
	{STORY("a RST at the exact number with a low TTL, then dirty", OPEN(), CLIENT(PART(0, 1)),
		 CLIENT(.at = 1, .flags = TH_RST | TH_ACK, .ttl = 3), CLIENT(.at = 1, FROM_TO(1))),
		.blocked = true},
	{STORY("a RST of the server in the window, then dirty", OPEN(), CLIENT(PART(0, 1)),
		 SERVER(.at = 50, .flags = TH_RST), CLIENT(.at = 1, FROM_TO(1))),
		.blocked = true},
	{STORY("a RST with payload, then dirty", OPEN(),
		 CLIENT(.flags = TH_RST, .text = "xx", .ttl = 3), CLIENT(DIRTY)),
		.blocked = true},
	{STORY("a FIN with a low TTL, then dirty", OPEN(), CLIENT(PART(0, 1)),
		 CLIENT(.at = 1, .flags = TH_FIN | TH_ACK, .ttl = 3), CLIENT(.at = 1, FROM_TO(1))),
		.blocked = true},
	{STORY("a FIN far ahead, then dirty", OPEN(), CLIENT(PART(0, 1)),
		 CLIENT(.at = 30000, .flags = TH_FIN | TH_ACK), CLIENT(.at = 1, FROM_TO(1))),
		.blocked = true},
	{STORY("a FIN beyond any window, then dirty", OPEN(), CLIENT(PART(0, 1)),
		 CLIENT(.at = 0x50000000, .flags = TH_FIN | TH_ACK), CLIENT(.at = 1, FROM_TO(1))),
		.blocked = true, .counters = {{DROPPED(NOT_TAKEN), 1}}},
	{STORY("clean with an older timestamp, then dirty", OPEN(.time = 1000),
		 CLIENT(.time = 2000, PART(0, 1)), SERVER(.ack = 1, .time = 600, .echo = 2000),
		 CLIENT(.at = 1, .text = &CLEAN[1], .time = 100),
		 CLIENT(.at = 1, FROM_TO(1), .time = 2001)),
		.blocked = true, .counters = {{COUNTER(tcp_paws_pkts), 1}}},
	{STORY("the same before the server has echoed any", OPEN(.time = 1000),
		 CLIENT(.time = 2000, .text = "G"),
		 CLIENT(.at = 1, .text = &CLEAN[1], .time = 1500),
		 CLIENT(.at = 1, FROM_TO(1), .time = 2001)),
		.delivers = CLEAN},
	{STORY("payload beyond the window", OPEN(), CLIENT(PART(0, 1)),
		 SERVER(.ack = 1, .window = 100),
		 CLIENT(.at = 70000, .text = "junk", .leaves = NONE), CLIENT(.at = 1, FROM_TO(1))),
		.blocked = true, .counters = {{DROPPED(NOT_TAKEN), 1}}},
	{STORY("payload far beyond any window", OPEN(),
		 CLIENT(.at = 0x50000000, .text = "junk", .leaves = NONE), CLIENT(DIRTY)),
		.blocked = true, .counters = {{COUNTER(tcp_window_pkts), 1}}},
	{STORY("payload before the first octet", OPEN(),
		 CLIENT(.at = -500, .text = "junk", .leaves = NONE), CLIENT(DIRTY)),
		.blocked = true, .counters = {{DROPPED(NOT_TAKEN), 1}}},
	{STORY("payload that begins before the first octet and goes on behind it", OPEN(),
		 CLIENT(.at = -4, .text = "junk" CLEAN), CLIENT(DIRTY)),
		.blocked = true},
	{STORY("payload without ACK", OPEN(),
		 CLIENT(.text = CLEAN, .flags = TH_PUSH, .leaves = NONE), CLIENT(DIRTY)),
		.blocked = true, .counters = {{DROPPED(NOT_TAKEN), 1}}},
	{STORY("payload without any flag", OPEN(),
		 CLIENT(.text = CLEAN, .no_flags = true, .leaves = NONE), CLIENT(DIRTY)),
		.blocked = true, .counters = {{DROPPED(NOT_TAKEN), 1}}},
	{STORY("SYN and FIN on payload", OPEN(),
		 CLIENT(.text = CLEAN, .flags = TH_SYN | TH_FIN, .ttl = 3), CLIENT(DIRTY)),
		.blocked = true},
	{STORY("a keep-alive with an octet of rubbish", OPEN(), CLIENT(PART(0, 4)),
		 SERVER(.ack = 4), CLIENT(.at = 3, .text = "#"), CLIENT(.at = 4, FROM_TO(4))),
		.blocked = true},
	{STORY("a keep-alive before anything was sent", OPEN(),
		 CLIENT(.at = -1, .text = "#", .leaves = 1), CLIENT(DIRTY)),
		.blocked = true},
	{STORY("probes of a closed window: other octets than come later", OPEN(),
		CLIENT(.text = "G"), SERVER(.ack = 1, .window = 1), CLIENT(.at = 1, .text = "x"),
		CLIENT(.at = 2, .text = "y"), SERVER(.ack = 2, .window = 60000),
		CLIENT(.at = 2, .text = "zz"))},
	{STORY("acknowledgements of what was never sent", OPEN(), CLIENT(.text = CLEAN, .ttl = 3),
		 SERVER(.ack = 60000), CLIENT(DIRTY)),
		.delivers = CLEAN},
	{STORY("acknowledgements of the server that come in on the client's side", OPEN(),
		 CLIENT(.text = CLEAN, .ttl = 3), SERVER(.ack = 68, .astray = true), CLIENT(DIRTY)),
		.delivers = CLEAN},
	{STORY("the urgent pointer into the middle of a word", OPEN(),
		 CLIENT(DIRTY, .flags = TH_ACK | TH_URG, .urgent = 5)),
		.blocked = true, .counters = {{COUNTER(urg_cleared), 1}}},
	{STORY("an urgent byte that hides what is around it", OPEN(),
		 CLIENT(.text = "clean", .flags = TH_ACK | TH_URG, .urgent = 3)),
		.delivers = "clean", .counters = {{COUNTER(urg_cleared), 1}}},
};

// What wears an inspection out.
static void small_half(struct lcore_limits *limits)
{
	limits->tracker.half_blocks = 8;
}

static void little_memory(struct lcore_limits *limits)
{
	limits->tracker.blocks = 8;
}

static char flood[7000]; // filled in main

static const struct story attrition[] = {
	{STORY("one byte at a time", OPEN(), CLIENT(DIRTY, .pieces = 1)), .blocked = true},
	{STORY("one byte at a time, each acknowledged late and sent twice", OPEN(),
		 CLIENT(PART(0, 30), .pieces = 1), CLIENT(PART(0, 30), .pieces = 1),
		 SERVER(.ack = 30), CLIENT(.at = 30, FROM_TO(30), .pieces = 1)),
		.blocked = true},
	{STORY("a minute between two bytes", OPEN(), CLIENT(PART(0, 5)), PAUSE(600),
		 CLIENT(.at = 5, FROM_TO(5))),
		.blocked = true},
	{STORY("backwards, one byte at a time from the end", OPEN(), CLIENT(.at = 40, FROM_TO(40)),
		 CLIENT(.at = 20, PART(20, 20)), CLIENT(.at = 1, PART(1, 19)), CLIENT(PART(0, 1))),
		.blocked = true},
	{STORY("a dirty beginning behind many clean segments ahead of it", OPEN(),
		 CLIENT(.at = 68, .text = flood, .pieces = 100), CLIENT(DIRTY)),
		.blocked = true, .counters = {{COUNTER(tcp_ahead_pkts), 20}}},
	{STORY("the same, and the clean ones are sent again and again", OPEN(),
		 CLIENT(.at = 68, .text = flood, .length = 700, .pieces = 50, .again = 3),
		 CLIENT(PART(0, 5)), CLIENT(.at = 5, FROM_TO(5))),
		.blocked = true},
	{STORY("a hole that stays open for long, and is filled with what is dirty", OPEN(),
		 CLIENT(.at = 10, FROM_TO(10)), PAUSE(3000), CLIENT(PART(0, 10))),
		.blocked = true, .by_fast_pass = true},
	{STORY("copies up to the cap of the half, then dirty bytes beyond it", OPEN(),
		 CLIENT(.at = 68, .text = flood, .pieces = 1000), CLIENT(DIRTY)),
		.blocked = true, .limits = small_half, .counters = {{DROPPED(STREAM_LIMIT), 1}}},
	{STORY("the same with the memory of all", OPEN(),
		 CLIENT(.at = 68, .text = flood, .pieces = 1000), CLIENT(DIRTY)),
		.blocked = true, .limits = little_memory,
		.counters = {{DROPPED(STREAM_MEMORY), 1}}},
	{STORY("the same, and the hole is filled in pieces", OPEN(),
		 CLIENT(.at = 68, .text = flood, .pieces = 1000), CLIENT(PART(0, 5)),
		 CLIENT(.at = 5, FROM_TO(5))),
		.blocked = true, .limits = little_memory},
	{STORY("what a cap dropped comes again with other bytes", OPEN(),
		 CLIENT(.at = 4, .text = flood, .pieces = 1000), CLIENT(.text = "GET "),
		 CLIENT(.at = 4, .text = flood, .pieces = 1000)),
		.limits = small_half},
	{STORY("retransmissions only", OPEN(), CLIENT(PART(0, 1), .again = 20),
		 CLIENT(.at = 1, FROM_TO(1))),
		.blocked = true},
	{STORY("a transfer that is honest, with losses, duplicates and new cuts", OPEN(),
		 CLIENT(.text = "abcd"), CLIENT(.at = 8, .text = "ijkl"),
		 CLIENT(.at = 2, .text = "cdefghij"), SERVER(.ack = 12),
		 CLIENT(.text = "abcdefghijkl"), CLIENT(.at = 12, .text = "mn")),
		.delivers = "abcdefghijklmn"},
};

static void tell_story(void **state)
{
	story_tell(*state);
}

int main(void)
{
	const struct {
		const struct story *stories;
		size_t n;
	} tables[] = {
		{beginnings, sizeof(beginnings) / sizeof(*beginnings)},
		{insertions, sizeof(insertions) / sizeof(*insertions)},
		{attrition, sizeof(attrition) / sizeof(*attrition)},
	};
	struct CMUnitTest tests[STORIES_MAX];
	size_t n = 0;

	for (size_t i = 0; i < sizeof(flood) - 1; i++)
		flood[i] = (char)('a' + i % 26);
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		for (size_t k = 0; k < tables[i].n; k++)
			tests[n++] = (struct CMUnitTest){.name = tables[i].stories[k].name,
				.test_func = tell_story,
				.initial_state = (void *)(uintptr_t)&tables[i].stories[k]};
	return _cmocka_run_group_tests("evasion_law", tests, n, NULL, NULL);
}
