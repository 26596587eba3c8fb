// SPDX-License-Identifier: BSD-3-Clause
// Segments that overlap what was sent before, with other content: every way in which they can lie,
// whatever became of the first ones meanwhile, whichever of the two is dirty. Hosts differ in which
// of two they believe (RFC 9293 leaves it open); nothing that leaves may let them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/peers/two_ends.h"

// The first segment is [8, 24) of the half, the other one lies:
static const struct kind {
	const char *name;
	int32_t at;
	uint16_t length;
} kinds[] = {
	{"exactly on it", 8, 16},
	{"over its front", 4, 12},
	{"over its front, ending with it", 4, 20},
	{"over its tail", 16, 16},
	{"over its tail, beginning with it", 8, 24},
	{"around it", 4, 24},
	{"inside it", 12, 4},
	{"inside it, at its front", 8, 4},
	{"inside it, at its tail", 20, 4},
	{"over its last byte", 23, 9},
	{"over its first byte", 1, 8},
};

// What became of the first one before the other comes.
enum when {
	IN_ORDER, // sent
	ACKNOWLEDGED,
	AHEAD,       // sent ahead of a hole: [0, 8) is missing, and comes after the other
	AHEAD_TWICE, // the same, and a second hole behind it
	HELD,        // waits for a verdict
	HELD_AFTER,  // as HELD; the other comes after the verdict
	WHENS,
};
static const char *const whens[WHENS] = {"sent before", "acknowledged before", "ahead of a hole",
	"ahead of a hole, with another behind it", "held", "held and released"};

// Both are as long as all that is sent, and differ in every byte.
static const char first[] = "abcdefghijklmnopqrstuvwxyz012345";
static const char other[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ!#$%&/";

static struct step segment_of(const char *text, int32_t at, uint16_t length)
{
	return (struct step){.kind = STEP_CLIENT, .at = at, .text = text + at, .length = length};
}

static void make(struct story *story, const struct kind *kind, enum when when)
{
	struct step *step = story->steps;
	bool ahead = when == AHEAD || when == AHEAD_TWICE;

	*step++ = (struct step)OPEN();
	if (when == HELD || when == HELD_AFTER) {
		*step++ = segment_of(first, 0, 8);
		*step++ = (struct step)HOLD;
	} else if (!ahead) {
		*step++ = segment_of(first, 0, 8);
	}
	*step++ = segment_of(first, 8, 16);
	if (when == AHEAD_TWICE)
		*step++ = segment_of(first, 28, 4);
	if (when == ACKNOWLEDGED)
		*step++ = (struct step)SERVER(.ack = 24);
	if (when == HELD_AFTER)
		*step++ = (struct step)RELEASE;
	*step++ = segment_of(other, kind->at, kind->length);
	if (when == HELD)
		*step++ = (struct step)RELEASE;
	// and now an honest sender, who sends all again that may have been lost
	*step++ = segment_of(first, 0, 16);
	*step++ = segment_of(first, 4, 28);
	*step++ = segment_of(first, 0, 32);
}

// First wins, byte by byte: what of the other came where nothing was.
static void expected(char *text, const struct kind *kind, enum when when)
{
	bool has[32] = {0};

	memcpy(text, first, 33);
	for (unsigned i = 0; i < 32; i++)
		has[i] = (i < 8 && when != AHEAD && when != AHEAD_TWICE) || (i >= 8 && i < 24) ||
			 (i >= 28 && when == AHEAD_TWICE);
	for (int32_t i = kind->at; i < kind->at + kind->length; i++)
		if (!has[i])
			text[i] = other[i];
}

static void no_receiver_has_other_bytes(void **state)
{
	(void)state;
	for (unsigned when = 0; when < WHENS; when++) {
		for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
			char name[120], text[33];
			struct story story = {
				.name = name, .by_fast_pass = when == AHEAD || when == AHEAD_TWICE};

			snprintf(name, sizeof(name), "%s, %s", kinds[i].name, whens[when]);
			make(&story, &kinds[i], when);
			expected(text, &kinds[i], when);
			// what overlaps a held segment otherwise is dropped, not rewritten: all of
			// it
			story.delivers = when == HELD ? first : text;
			if (when != ACKNOWLEDGED) {
				story.counters[0].at = COUNTER(tcp_conflict_pkts);
				story.counters[0].least = 1;
			}
			story_tell(&story);
		}
	}
}

// The two are cut into bytes and come in turns.
static void byte_by_byte(void **state)
{
	struct story story = {.name = "byte by byte, in turns", .delivers = first};
	struct step *step = story.steps;
	(void)state;

	*step++ = (struct step)OPEN();
	for (int32_t i = 0; i < 12; i++) {
		*step++ = segment_of(first, 12 - i, 1);
		*step++ = segment_of(other, 12 - i, 1);
	}
	*step++ = segment_of(other, 5, 8);
	*step++ = segment_of(first, 0, 32);
	story.counters[0].at = COUNTER(tcp_conflict_pkts);
	story.counters[0].least = 12;
	story_tell(&story);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_receiver_has_other_bytes),
		cmocka_unit_test(byte_by_byte),
	};

	return cmocka_run_group_tests_name("evasion_overlap", tests, NULL, NULL);
}
