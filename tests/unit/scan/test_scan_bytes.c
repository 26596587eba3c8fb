// SPDX-License-Identifier: BSD-3-Clause
// The bytes of files in the arena: what a job names is what was added, whatever comes behind it or
// becomes of the file, and all room comes back.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "pipeline/scan/bytes.h"

#define PARTS 2
#define PART  (4 * (size_t)CONTENT_BLOCK_MAX)

static struct scan_arena arena;
static struct scan_store stored, *store = &stored;

static int begin(void **state)
{
	char err[200];

	(void)state;
	if (scan_arena_new(&arena, PARTS * PART, CONTENT_BLOCK_MAX, PARTS, err, sizeof(err)))
		return -1;
	return scan_store_init(store, &arena, 1, PARTS) ? 0 : -1; // not at the arena's beginning
}

static int end(void **state)
{
	struct content_memory_use use;

	(void)state;
	scan_store_look(store, &use);
	scan_store_fini(store);
	scan_arena_free(&arena);
	return use.used ? -1 : 0; // all room came back
}

// The file's byte at that offset.
static uint8_t byte_at(uint64_t at)
{
	return (uint8_t)(at * 0x9e3779b97f4a7c15ull >> 56);
}

static bool add(struct scan_bytes *bytes, uint32_t length)
{
	uint8_t *from = malloc(length ? length : 1);
	uint64_t at = scan_bytes_end(bytes);

	for (uint32_t i = 0; i < length; i++)
		from[i] = byte_at(at + i);
	bool added = scan_bytes_add(store, bytes, from, length);

	free(from);
	return added;
}

// What the scanner would see: extents that fit the arena, side by side.
static void check_job(const struct scan_job *job)
{
	const struct scan_extents *extents = scan_arena_extents(&arena, job);
	uint64_t at = job->from64;

	assert_non_null(extents);
	for (uint32_t i = 0; i < extents->n; i++) {
		const uint8_t *bytes = arena.base + (size_t)extents->extent[i].page * SCAN_PAGE;

		for (uint32_t k = 0; k < extents->extent[i].bytes; k++, at++)
			if (bytes[k] != byte_at(at))
				fail_msg("byte %llu is another", (unsigned long long)at);
	}
	assert_int_equal(at, job->to64);
}

static void a_job_names_what_was_added(void **state)
{
	static const uint32_t pieces[] = {1, 68, 1448, 4096, 16384, 65536, 1000000};

	(void)state;
	for (unsigned i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		struct scan_bytes *bytes = scan_bytes_new(store);
		struct scan_job job = {0};

		assert_false(scan_bytes_job(store, bytes, 0, &job)); // of nothing
		for (uint64_t size = 0; size < 3000000 && size < pieces[i] * 100ull;
			size += pieces[i])
			assert_true(add(bytes, pieces[i]));
		assert_true(scan_bytes_job(store, bytes, 0, &job));
		assert_int_equal(job.from64, 0);
		assert_int_equal(job.to64, scan_bytes_end(bytes));
		check_job(&job);
		scan_bytes_job_over(store, bytes, &job);
		scan_bytes_free(store, bytes);
	}
}

static void a_job_about_the_end_begins_at_a_page_before(void **state)
{
	struct scan_bytes *bytes = scan_bytes_new(store);

	(void)state;
	assert_true(add(bytes, 1000003));
	for (uint64_t from = 0; from < 1000003; from += 9973) {
		struct scan_job job = {0};

		assert_true(scan_bytes_job(store, bytes, from, &job));
		assert_true(job.from64 <= from && from - job.from64 < SCAN_PAGE);
		check_job(&job);
		scan_bytes_job_over(store, bytes, &job);
	}
	struct scan_job none = {0};

	assert_false(scan_bytes_job(store, bytes, 1000003, &none));
	scan_bytes_free(store, bytes);
}

static void what_a_job_names_stays(void **state)
{
	struct scan_bytes *bytes = scan_bytes_new(store);
	struct scan_job first = {0}, second = {0};

	(void)state;
	assert_true(add(bytes, 100));
	assert_true(scan_bytes_job(store, bytes, 0, &first));
	assert_true(add(bytes, 100000));
	assert_true(scan_bytes_job(store, bytes, 50000, &second));
	scan_bytes_forget(store, bytes, 100100); // a job is out: nothing goes
	assert_int_equal(scan_bytes_begin(bytes), 0);
	scan_bytes_free(store, bytes); // the flow has ended
	check_job(&first);
	check_job(&second);
	scan_bytes_job_over(store, bytes, &first);
	check_job(&second);
	scan_bytes_job_over(store, bytes, &second);
}

static void what_is_forgotten_makes_room(void **state)
{
	struct scan_bytes *bytes = scan_bytes_new(store);
	const uint64_t window = 1 << 20, overlap = 4096;

	(void)state;
	// a file of twice the room, by windows
	for (uint64_t at = 0; at < 2 * PART; at += window) {
		struct scan_job job = {0};

		assert_true(add(bytes, window));
		assert_true(scan_bytes_job(store, bytes, at < overlap ? 0 : at - overlap, &job));
		check_job(&job);
		scan_bytes_job_over(store, bytes, &job);
		scan_bytes_forget(store, bytes, at + window - overlap);
		assert_true(scan_bytes_begin(bytes) <= at + window - overlap);
	}
	scan_bytes_free(store, bytes);
}

static void without_room_nothing_is_added_in_part(void **state)
{
	struct scan_bytes *bytes = scan_bytes_new(store), *other = scan_bytes_new(store);
	struct content_memory_use use;
	struct scan_job job = {0};

	(void)state;
	while (add(bytes, 300000))
		;
	uint64_t end64 = scan_bytes_end(bytes);

	scan_store_look(store, &use);
	assert_true(end64 > PART / 2 && use.failed);
	assert_false(add(bytes, PART));
	assert_int_equal(scan_bytes_end(bytes), end64);
	while (add(other, 1000)) // what is left is for small ones
		;
	if (scan_bytes_job(store, bytes, 0, &job)) {
		check_job(&job);
		scan_bytes_job_over(store, bytes, &job);
	}
	scan_bytes_free(store, bytes);
	assert_true(add(other, 1000000));
	scan_bytes_free(store, other);
	scan_bytes_free(store, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_job_names_what_was_added, begin, end),
		cmocka_unit_test_setup_teardown(
			a_job_about_the_end_begins_at_a_page_before, begin, end),
		cmocka_unit_test_setup_teardown(what_a_job_names_stays, begin, end),
		cmocka_unit_test_setup_teardown(what_is_forgotten_makes_room, begin, end),
		cmocka_unit_test_setup_teardown(without_room_nothing_is_added_in_part, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
