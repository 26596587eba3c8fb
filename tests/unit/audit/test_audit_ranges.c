// SPDX-License-Identifier: BSD-3-Clause
// Ranges against a map with a bit for each byte.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "audit/ranges.h"

#define BYTES 300

static uint32_t random_below(uint64_t *seed, uint32_t n)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % n;
}

static void agree(const struct ranges *ranges, const bool map[BYTES])
{
	unsigned n = 0, bytes = 0, end = 0;

	for (unsigned i = 0; i < BYTES; i++) {
		bool begins = map[i] && (i == 0 || !map[i - 1]);
		if (begins) {
			assert_true(n < ranges->n);
			assert_int_equal(ranges->at[n].from, i);
		}
		if (map[i] && (i + 1 == BYTES || !map[i + 1]))
			assert_int_equal(ranges->at[n++].to, i + 1);
		bytes += map[i];
		end = map[i] ? i + 1 : end;
	}
	assert_int_equal(ranges->n, n);
	assert_int_equal(ranges->bytes, bytes);
	assert_int_equal(ranges_end(ranges), end);
}

static void ranges_are_those_of_a_map(void **state)
{
	(void)state;
	for (uint64_t seed = 1, turn = 0; turn < 300; turn++) {
		struct ranges ranges = {0};
		bool map[BYTES] = {false};

		for (unsigned i = 0; i < 40; i++) {
			unsigned from = random_below(&seed, BYTES);
			unsigned to = from + random_below(&seed, 25);

			to = to > BYTES ? BYTES : to;
			assert_int_equal(ranges_add(&ranges, from, to), 0);
			memset(map + from, true, to - from);
			agree(&ranges, map);
		}
		ranges_free(&ranges);
		assert_int_equal(ranges.n, 0);
	}
}

static void there_is_an_end_of_them(void **state)
{
	struct ranges ranges = {0};

	(void)state;
	for (uint64_t i = 0; i < RANGES_MAX; i++)
		assert_int_equal(ranges_add(&ranges, 2 * i, 2 * i + 1), 0);
	assert_int_equal(ranges_add(&ranges, 2 * RANGES_MAX, 2 * RANGES_MAX + 1), -E2BIG);
	assert_int_equal(ranges.n, RANGES_MAX);
	assert_int_equal(ranges.bytes, RANGES_MAX);
	assert_int_equal(ranges_add(&ranges, 1, 2), 0); // what fills a gap is no new one
	assert_int_equal(ranges.n, RANGES_MAX - 1);
	ranges_free(&ranges);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_are_those_of_a_map),
		cmocka_unit_test(there_is_an_end_of_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
