// SPDX-License-Identifier: BSD-3-Clause
// The memory of refused files: how long, how many, what goes when it is full, and who else hears.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "lib/pipeline/pipe.h"
#include "pipeline/content/refused.h"
#include "pipeline/flow/table.h"

#define TTL_S 10
#define RULE  7

static const struct refused_marks one = {.path = 0x1111, .validator = 0x3333};

static bool finds(const struct lcore *lcore, const struct refused_files *refused,
	struct refused_marks marks, bool partial)
{
	return refused_files_find(lcore, refused, &marks, partial);
}

static void it_is_found_by_each_mark_until_it_ends(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct lcore *lcore = pipe->dp.lcores[0];
	struct refused_files *refused = refused_files_new(16, TTL_S, -1);
	const struct refused_marks named = {.path = 0x4444, .name = 0x2222};
	const struct refused_slot *slot;
	(void)state;

	lcore->now_ns = NS_PER_S;
	assert_true(refused_files_are_empty(refused, lcore->now_ns));
	refused_files_learn(lcore, refused, &one, RULE, 2);
	assert_false(refused_files_are_empty(refused, lcore->now_ns));
	slot = refused_files_find(lcore, refused, &one, false);
	assert_non_null(slot);
	assert_int_equal(slot->rule_uid, RULE);
	assert_int_equal(slot->action, 2);
	assert_true(finds(lcore, refused, (struct refused_marks){.path = 0x1111}, true));
	// the whole of it is judged by its bytes: another file may stand under the path
	assert_false(finds(lcore, refused, (struct refused_marks){.path = 0x1111}, false));
	assert_true(finds(lcore, refused, (struct refused_marks){.validator = 0x3333}, false));
	assert_false(finds(lcore, refused, (struct refused_marks){.path = 0x3333 + 1}, false));
	assert_false(finds(lcore, refused, (struct refused_marks){0}, true));
	// a name says enough of a part of a file alone
	refused_files_learn(lcore, refused, &named, RULE, 2);
	assert_true(finds(lcore, refused, (struct refused_marks){.name = 0x2222}, true));
	assert_false(finds(lcore, refused, (struct refused_marks){.name = 0x2222}, false));
	lcore->now_ns += TTL_S * NS_PER_S - 1;
	assert_true(finds(lcore, refused, one, false));
	lcore->now_ns++;
	assert_false(finds(lcore, refused, one, false));
	assert_true(refused_files_are_empty(refused, lcore->now_ns));
	assert_int_equal(lcore->stats.refused_files_evicted, 0);
	refused_files_free(refused);
	pipe_free(pipe);
}

static void the_oldest_goes_when_it_is_full(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct lcore *lcore = pipe->dp.lcores[0];
	struct refused_files *refused = refused_files_new(2, TTL_S, -1); // one set of eight
	(void)state;

	lcore->now_ns = NS_PER_S;
	for (uint64_t i = 1; i <= 8; i++, lcore->now_ns += 1000)
		refused_files_learn(lcore, refused, &(struct refused_marks){.path = i}, RULE, 2);
	assert_int_equal(lcore->stats.refused_files_evicted, 0);
	// the first is refused anew, so the second is the oldest
	refused_files_learn(lcore, refused, &(struct refused_marks){.path = 1}, RULE, 2);
	lcore->now_ns += 1000;
	refused_files_learn(lcore, refused, &(struct refused_marks){.path = 9}, RULE, 2);
	assert_int_equal(lcore->stats.refused_files_evicted, 1);
	for (uint64_t i = 1; i <= 9; i++)
		assert_int_equal(
			finds(lcore, refused, (struct refused_marks){.path = i}, true), i != 2);
	// who has nothing to be known by is not remembered
	refused_files_learn(lcore, refused, &(struct refused_marks){0}, RULE, 2);
	assert_int_equal(lcore->stats.refused_files_learned, 10);
	// nor is a hint that comes too late
	refused_files_hint(lcore, refused,
		&(struct refused_file){.marks = {.path = 99}, .expires_ns = lcore->now_ns});
	assert_false(finds(lcore, refused, (struct refused_marks){.path = 99}, true));
	refused_files_free(refused);
	pipe_free(pipe);
}

// ---- ids ----

#define SERVER   1 // refs
#define OTHER    2
#define ABC_SHA1 "VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5" // of "abc"
#define SUM_SHA1 "QSMD4RA4HPJG5OVOJKQ7SUJJ4XSUM4HR" // of another

static const uint8_t abc_sha1[20] = {0xa9, 0x99, 0x3e, 0x36, 0x47, 0x06, 0x81, 0x6a, 0xba, 0x3e,
	0x25, 0x71, 0x78, 0x50, 0xc2, 0x6c, 0x9c, 0xd0, 0xd8, 0x9d};
static const uint8_t abc_sha256[32] = {0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41,
	0x40, 0xde, 0x5d, 0xae, 0x22, 0x23, 0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c, 0xb4,
	0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad};

// Of the whole of a file that a request asks this server for.
static struct refused_marks asked(const struct lcore *lcore, uint32_t ref, const char *path)
{
	const struct content_file file = {.half = HALF_S2C,
		.by_path = true,
		.size = CONTENT_SIZE_UNKNOWN,
		.path = {(const uint8_t *)path, (uint32_t)strlen(path)}};

	flow_cold_at(lcore->flows, ref)->ends.address[HALF_S2C][0] = (uint8_t)ref;
	return refused_marks_of(lcore, ref, &file);
}

#define N2R "/uri-res/N2R?urn:"

static void an_infected_files_digests_are_refused_by_anybody(void **state)
{
	static const char *const refused_ones[] = {N2R "sha1:" ABC_SHA1,
		"/uri-res/N2X?urn:sha1:" ABC_SHA1,
		N2R "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"};
	static const char *const others[] = {N2R "sha1:" SUM_SHA1, "/other?urn:sha1:" ABC_SHA1,
		N2R "ed2k:31d6cfe0d16ae931b73c59d7e0c089c0", N2R, "/uri-res/N2R?", "/abc"};
	struct pipe *pipe = pipe_new(1, NULL);
	struct lcore *lcore = pipe->dp.lcores[0];
	struct refused_files *refused = refused_files_new(16, TTL_S, -1);
	(void)state;

	lcore->now_ns = NS_PER_S;
	refused_files_learn_digests(lcore, refused, abc_sha1, abc_sha256, RULE, 2);
	for (uint32_t ref = SERVER; ref <= OTHER; ref++) {
		for (unsigned i = 0; i < 3; i++)
			assert_true(
				finds(lcore, refused, asked(lcore, ref, refused_ones[i]), false));
		for (unsigned i = 0; i < 6; i++)
			assert_false(finds(lcore, refused, asked(lcore, ref, others[i]), true));
	}
	lcore->now_ns += TTL_S * NS_PER_S;
	assert_false(finds(lcore, refused, asked(lcore, OTHER, refused_ones[0]), false));
	refused_files_free(refused);
	pipe_free(pipe);
}

// What a client asks for and a server answers is theirs to choose: others' files are not refused
// for it.
static void an_id_of_a_request_is_refused_of_its_server_alone(void **state)
{
	static const char *const ids[] = {
		N2R "sha1:" SUM_SHA1, N2R "ed2k:31d6cfe0d16ae931b73c59d7e0c089c0"};
	struct pipe *pipe = pipe_new(1, NULL);
	struct lcore *lcore = pipe->dp.lcores[0];
	struct refused_files *refused = refused_files_new(16, TTL_S, -1);
	(void)state;

	lcore->now_ns = NS_PER_S;
	for (unsigned i = 0; i < 2; i++) {
		struct refused_marks marks = asked(lcore, SERVER, ids[i]);

		assert_false(finds(lcore, refused, marks, false));
		refused_files_learn(lcore, refused, &marks, RULE, 2);
		assert_true(finds(lcore, refused, asked(lcore, SERVER, ids[i]), false));
		assert_false(finds(lcore, refused, asked(lcore, OTHER, ids[i]), true));
	}
	refused_files_free(refused);
	pipe_free(pipe);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_found_by_each_mark_until_it_ends),
		cmocka_unit_test(the_oldest_goes_when_it_is_full),
		cmocka_unit_test(an_infected_files_digests_are_refused_by_anybody),
		cmocka_unit_test(an_id_of_a_request_is_refused_of_its_server_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
