// SPDX-License-Identifier: BSD-3-Clause
// The memory of refused files: how long, how many, what goes when it is full, and who else hears.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include "lib/pipeline/pipe.h"
#include "pipeline/content/refused.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_found_by_each_mark_until_it_ends),
		cmocka_unit_test(the_oldest_goes_when_it_is_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
