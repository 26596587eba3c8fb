// SPDX-License-Identifier: BSD-3-Clause
// The arena of files under scan: who may write to it, and what is refused of extents that claim to
// lie in it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>
#include "scan/arena.h"

#define UNIT (1u << 20)

static void arena_of(struct scan_arena *arena, size_t bytes, unsigned parts)
{
	char err[200] = "";

	if (scan_arena_new(arena, bytes, UNIT, parts, err, sizeof(err)))
		fail_msg("%s", err);
}

static void each_lcore_has_a_part_of_whole_units(void **state)
{
	struct scan_arena arena;
	size_t bytes;

	(void)state;
	arena_of(&arena, 4 * UNIT + 1, 3);
	assert_int_equal(arena.bytes, 6 * UNIT);
	for (unsigned i = 0; i < 3; i++) {
		assert_ptr_equal(scan_arena_part(&arena, i, 3, &bytes), arena.base + i * 2 * UNIT);
		assert_int_equal(bytes, 2 * UNIT);
	}
	scan_arena_free(&arena);
	assert_int_equal(arena.fd, -1);
	scan_arena_free(&arena);
}

static void sizes_that_cannot_be_are_refused(void **state)
{
	struct scan_arena arena;
	char err[200];

	(void)state;
	assert_int_equal(scan_arena_new(&arena, 0, UNIT, 1, err, sizeof(err)), -EINVAL);
	assert_int_equal(scan_arena_new(&arena, UNIT, UNIT, 0, err, sizeof(err)), -EINVAL);
	assert_int_equal(scan_arena_new(&arena, UNIT, 100, 1, err, sizeof(err)), -EINVAL);
	assert_int_equal(scan_arena_new(&arena, SIZE_MAX, UNIT, 1, err, sizeof(err)), -EINVAL);
	assert_non_null(strstr(err, "data lcores"));
	assert_int_equal(arena.fd, -1);
	assert_null(arena.base);
}

// What a process that has only the descriptor can do with it.
static void its_descriptor_gives_reading_and_nothing_else(void **state)
{
	struct scan_arena arena;

	(void)state;
	arena_of(&arena, UNIT, 1);
	memcpy(arena.base, "hello", 5);
	char *read_only = mmap(NULL, UNIT, PROT_READ, MAP_SHARED, arena.fd, 0);

	assert_ptr_not_equal(read_only, MAP_FAILED);
	assert_memory_equal(read_only, "hello", 5);
	memcpy(arena.base, "later", 5); // the gateway goes on writing
	assert_memory_equal(read_only, "later", 5);
	assert_int_equal(mprotect(read_only, UNIT, PROT_READ | PROT_WRITE), -1);
	assert_ptr_equal(
		mmap(NULL, UNIT, PROT_READ | PROT_WRITE, MAP_SHARED, arena.fd, 0), MAP_FAILED);
	assert_int_equal(pwrite(arena.fd, "x", 1, 0), -1);
	assert_int_equal(ftruncate(arena.fd, 0), -1);
	assert_int_equal(ftruncate(arena.fd, 2 * UNIT), -1);
	assert_int_equal(fcntl(arena.fd, F_ADD_SEALS, F_SEAL_WRITE), -1); // sealed for good
	munmap(read_only, UNIT);
	scan_arena_free(&arena);
}

#define FIT(bytes, ...) FIT_BEHIND(0, bytes, __VA_ARGS__)
#define FIT_BEHIND(lead, bytes, ...)                                                            \
	scan_extents_fit((const struct scan_extent[]){__VA_ARGS__},                             \
		sizeof((const struct scan_extent[]){__VA_ARGS__}) / sizeof(struct scan_extent), \
		lead, bytes, UNIT)

static void extents_lie_inside_side_by_side_and_add_up(void **state)
{
	const uint32_t last = UNIT / SCAN_PAGE - 1;
	struct scan_extent many[SCAN_EXTENTS_MAX + 1];

	(void)state;
	assert_true(FIT(1, {0, 1}));
	assert_true(FIT(SCAN_PAGE, {last, SCAN_PAGE}));
	assert_false(FIT(SCAN_PAGE + 1, {last, SCAN_PAGE + 1}));
	assert_false(FIT(1, {last + 1, 1}));
	assert_false(FIT(1, {UINT32_MAX, 1}));
	assert_false(FIT(UINT32_MAX, {0, UINT32_MAX}));
	assert_false(FIT(0, {0, 0}));
	assert_true(FIT(SCAN_PAGE + 5, {7, SCAN_PAGE}, {2, 5}));
	assert_false(FIT(SCAN_PAGE + 6, {7, SCAN_PAGE}, {2, 5}));
	assert_false(FIT(105, {7, 100}, {2, 5})); // a hole between them
	assert_false(FIT(SCAN_PAGE, {7, SCAN_PAGE}, {2, 0}));
	// it begins within the first page
	assert_true(FIT_BEHIND(7, SCAN_PAGE - 2, {7, SCAN_PAGE}, {2, 5}));
	assert_false(FIT_BEHIND(7, SCAN_PAGE - 1, {7, SCAN_PAGE}, {2, 5}));
	assert_false(FIT_BEHIND(SCAN_PAGE, 5, {7, SCAN_PAGE}, {2, 5}));
	assert_false(FIT_BEHIND(5, 0, {7, 5}));
	assert_false(FIT_BEHIND(UINT32_MAX, 6, {7, 5}));
	assert_false(scan_extents_fit(many, 0, 0, 0, UNIT));
	for (unsigned i = 0; i <= SCAN_EXTENTS_MAX; i++)
		many[i] = (struct scan_extent){i, SCAN_PAGE};
	assert_true(
		scan_extents_fit(many, SCAN_EXTENTS_MAX, 0, SCAN_EXTENTS_MAX * SCAN_PAGE, UNIT));
	assert_false(scan_extents_fit(
		many, SCAN_EXTENTS_MAX + 1, 0, (SCAN_EXTENTS_MAX + 1) * SCAN_PAGE, UNIT));
}

static void a_job_whose_extents_do_not_fit_has_none(void **state)
{
	struct scan_arena arena;
	struct scan_job job = {.flags = SCAN_JOB_FILE, .extents = 4096, .from64 = 10, .to64 = 110};
	struct scan_extents *extents;

	(void)state;
	arena_of(&arena, UNIT, 1);
	extents = (void *)(arena.base + 4096);
	*extents = (struct scan_extents){.n = 1, .extent = {{5, 100}}};
	assert_ptr_equal(scan_arena_extents(&arena, &job), extents);
	assert_null(scan_arena_extents(NULL, &job));
	extents->n = 2;
	assert_null(scan_arena_extents(&arena, &job));
	extents->n = 1;
	job.to64++;
	assert_null(scan_arena_extents(&arena, &job));
	job.to64 = 9;
	assert_null(scan_arena_extents(&arena, &job));
	job.to64 = 110;
	job.flags = 0;
	assert_null(scan_arena_extents(&arena, &job));
	job.flags = SCAN_JOB_FILE;
	static const uint64_t outside[] = {4097, UNIT, UNIT - 4, UINT64_MAX - 7};

	for (unsigned i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
		job.extents = outside[i];
		assert_null(scan_arena_extents(&arena, &job));
	}
	scan_arena_free(&arena);
}

// What all lcores share lies behind the parts, and the control core's behind that; none overlaps.
static void what_is_shared_is_nobodys_part(void **state)
{
	struct scan_arena arena;
	char err[200];
	size_t bytes, shared, spare;

	(void)state;
	assert_int_equal(scan_arena_new_of(&arena,
				 &(struct scan_arena_room){.bytes = 2 * UNIT,
					 .unit = UNIT,
					 .n_parts = 2,
					 .shared = UNIT + 1,
					 .spare = 5},
				 err, sizeof(err)),
		0);
	assert_ptr_equal(scan_arena_part(&arena, 1, 2, &bytes), arena.base + UNIT);
	assert_int_equal(bytes, UNIT);
	assert_ptr_equal(scan_arena_shared(&arena, &shared), arena.base + 2 * UNIT);
	assert_int_equal(shared, 2 * UNIT); // whole units
	assert_ptr_equal(scan_arena_spare(&arena, &spare), arena.base + 4 * UNIT);
	assert_int_equal(spare, SCAN_PAGE);
	assert_int_equal(arena.bytes, 4 * UNIT + SCAN_PAGE);
	scan_arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_lcore_has_a_part_of_whole_units),
		cmocka_unit_test(sizes_that_cannot_be_are_refused),
		cmocka_unit_test(its_descriptor_gives_reading_and_nothing_else),
		cmocka_unit_test(extents_lie_inside_side_by_side_and_add_up),
		cmocka_unit_test(a_job_whose_extents_do_not_fit_has_none),
		cmocka_unit_test(what_is_shared_is_nobodys_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
