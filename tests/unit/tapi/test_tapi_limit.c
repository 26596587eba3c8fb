// SPDX-License-Identifier: BSD-3-Clause
// Rates (TA29): what a bucket lets through is never more than rate x t + burst, and not less than
// is due; the memory of keys is bounded and forgets nothing that still counts.
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "transportapi/base/limit.h"

#define SECOND_US UINT64_C(1000000)

static uint64_t drawn;

static uint64_t draw(uint64_t below)
{
	drawn ^= drawn << 13;
	drawn ^= drawn >> 7;
	drawn ^= drawn << 17;
	return drawn % below;
}

static void test_bucket(void **state)
{
	struct tapi_bucket bucket;

	(void)state;
	tapi_bucket_init(&bucket, 1000, 500, 7);
	assert_true(tapi_bucket_take(&bucket, 500, 7)); // full at first
	assert_false(tapi_bucket_take(&bucket, 1, 7));
	assert_true(tapi_bucket_take(&bucket, 0, 7));
	assert_false(tapi_bucket_take(&bucket, 1, 7 + 999));
	assert_true(tapi_bucket_take(&bucket, 1, 7 + 1000));
	assert_false(tapi_bucket_take(&bucket, 1, 7 + 1000));
	// all or none: what was refused took nothing
	assert_false(tapi_bucket_take(&bucket, 11, 7 + 11000));
	assert_true(tapi_bucket_take(&bucket, 10, 7 + 11000));
	// never more than the burst, however long nobody came
	assert_false(tapi_bucket_take(&bucket, 501, 3600 * SECOND_US));
	assert_true(tapi_bucket_take(&bucket, 500, 3600 * SECOND_US));
	// the clock goes back: nothing is given, nothing is given twice
	assert_false(tapi_bucket_take(&bucket, 1, 1800 * SECOND_US));
	assert_true(tapi_bucket_take(&bucket, 0, 1800 * SECOND_US));
	assert_false(tapi_bucket_take(&bucket, 1, 3600 * SECOND_US));
	assert_true(tapi_bucket_when(&bucket, 1, 1800 * SECOND_US) == 3600 * SECOND_US + 1000);
	assert_true(tapi_bucket_take(&bucket, 1, 3600 * SECOND_US + 1000));
}

static void test_no_limit(void **state)
{
	struct tapi_bucket bucket;

	(void)state;
	tapi_bucket_init(&bucket, 0, 0, 5);
	assert_true(tapi_bucket_take(&bucket, UINT64_MAX, 5));
	assert_true(tapi_bucket_when(&bucket, UINT64_MAX, 5) == 5);
	// a rate and no burst lets nothing through, and says so
	tapi_bucket_init(&bucket, 1, 0, 5);
	assert_false(tapi_bucket_take(&bucket, 1, UINT64_MAX));
	assert_true(tapi_bucket_when(&bucket, 1, 5) == UINT64_MAX);
}

static void test_change(void **state)
{
	struct tapi_bucket bucket;

	(void)state;
	tapi_bucket_init(&bucket, 100, 100, 0);
	assert_true(tapi_bucket_take(&bucket, 100, 0));
	// what was earned at the old rate stays, the new one counts from here
	tapi_bucket_change(&bucket, 10, 1000, SECOND_US / 2);
	assert_false(tapi_bucket_take(&bucket, 51, SECOND_US / 2));
	assert_true(tapi_bucket_take(&bucket, 50, SECOND_US / 2));
	assert_false(tapi_bucket_take(&bucket, 11, SECOND_US * 3 / 2));
	assert_true(tapi_bucket_take(&bucket, 10, SECOND_US * 3 / 2));
	// a smaller burst holds at once
	tapi_bucket_change(&bucket, 10, 5, 3600 * SECOND_US);
	assert_false(tapi_bucket_take(&bucket, 6, 3600 * SECOND_US));
	assert_true(tapi_bucket_take(&bucket, 5, 3600 * SECOND_US));
	// from no limit to one: one burst
	tapi_bucket_change(&bucket, 0, 0, 3601 * SECOND_US);
	assert_true(tapi_bucket_take(&bucket, 999, 3601 * SECOND_US));
	tapi_bucket_change(&bucket, 10, 7, 3602 * SECOND_US);
	assert_false(tapi_bucket_take(&bucket, 8, 3602 * SECOND_US));
	assert_true(tapi_bucket_take(&bucket, 7, 3602 * SECOND_US));
	// asked again and again, no octet is gained
	for (unsigned i = 0; i < 1000; i++)
		tapi_bucket_change(&bucket, 10, 7, 3602 * SECOND_US);
	assert_false(tapi_bucket_take(&bucket, 1, 3602 * SECOND_US));
}

// Numbers so large that products do not fit.
static void test_edges(void **state)
{
	static const uint64_t edges[] = {1, 2, 999999, SECOND_US, UINT32_MAX,
		UINT64_MAX / SECOND_US, UINT64_MAX / SECOND_US + 1, INT64_MAX, UINT64_MAX};
	const unsigned n = sizeof(edges) / sizeof(edges[0]);

	(void)state;
	for (unsigned r = 0; r < n; r++)
		for (unsigned b = 0; b < n; b++)
			for (unsigned t = 0; t < n; t++) {
				struct tapi_bucket bucket;

				tapi_bucket_init(&bucket, edges[r], edges[b], 0);
				assert_false(edges[t] > edges[b] &&
					     tapi_bucket_take(&bucket, edges[t], UINT64_MAX));
				tapi_bucket_init(&bucket, edges[r], edges[b], 0);
				if (edges[t] <= edges[b] && edges[t] < UINT64_MAX / SECOND_US) {
					assert_true(tapi_bucket_take(&bucket, edges[t], 0));
					// once more as soon as it says
					uint64_t when = tapi_bucket_when(&bucket, edges[t], 0);

					assert_true(tapi_bucket_take(&bucket, edges[t], when));
				}
			}
}

// Random schedules: in each window what went through is at most rate x t + burst; and what is
// refused comes through when `when` says, not one microsecond earlier.
static void test_law(void **state)
{
	enum { STEPS = 400 };

	(void)state;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct tapi_bucket bucket;
		uint64_t rate, burst, now, start, times[STEPS], taken[STEPS];
		unsigned count = 0;

		drawn = seed * 0x9e3779b97f4a7c15;
		rate = 1 + draw(draw(3) ? 5000 : 2000000000);
		burst = 1 + draw(draw(2) ? 3000 : 10000000);
		start = now = draw(UINT64_C(1) << 50);
		tapi_bucket_init(&bucket, rate, burst, now);
		for (unsigned i = 0; i < STEPS; i++) {
			uint64_t tokens = 1 + draw(burst + burst / 8 + 1);
			uint64_t when = tapi_bucket_when(&bucket, tokens, now);
			struct tapi_bucket copy = bucket;

			if (tokens > burst) {
				assert_true(when == UINT64_MAX);
				assert_false(tapi_bucket_take(&bucket, tokens, now));
				continue;
			}
			assert_true(when >= now);
			if (when > now) {
				assert_false(tapi_bucket_take(&bucket, tokens, when - 1));
				assert_memory_equal(&bucket, &copy, sizeof(copy));
			}
			if (draw(2))
				now = when;
			if (tapi_bucket_take(&bucket, tokens, now)) {
				assert_true(when <= now);
				times[count] = now;
				taken[count++] = tokens;
			} else {
				assert_true(when > now);
			}
			now += draw(4) ? draw(2000) : draw(5 * SECOND_US);
		}
		assert_true(count > 0 && times[0] >= start);
		for (unsigned i = 0; i < count; i++) {
			unsigned __int128 sum = 0;

			for (unsigned j = i; j < count; j++) {
				unsigned __int128 most =
					(unsigned __int128)rate * (times[j] - times[i]) +
					(unsigned __int128)burst * SECOND_US;

				sum += (unsigned __int128)taken[j] * SECOND_US;
				if (sum > most)
					fail_msg("seed %llu: more than rate x t + burst",
						(unsigned long long)seed);
			}
		}
	}
}

static void test_map(void **state)
{
	struct tapi_rate_map *map = tapi_rate_map_new(2, 60 * SECOND_US, 8);

	(void)state;
	assert_non_null(map);
	assert_true(tapi_rate_map_take(map, "abcd", 4, 0));
	assert_true(tapi_rate_map_take(map, "abcd", 4, 10 * SECOND_US));
	assert_false(tapi_rate_map_take(map, "abcd", 4, 20 * SECOND_US));
	assert_true(tapi_rate_map_when(map, "abcd", 4, 20 * SECOND_US) == 60 * SECOND_US);
	assert_false(tapi_rate_map_take(map, "abcd", 4, 60 * SECOND_US - 1));
	// another key, also one that begins the same
	assert_true(tapi_rate_map_take(map, "abc", 3, 20 * SECOND_US));
	assert_true(tapi_rate_map_take(map, "abce", 4, 20 * SECOND_US));
	assert_true(tapi_rate_map_when(map, "abce", 4, 20 * SECOND_US) == 20 * SECOND_US);
	// the window moves: the second of them is still in it
	assert_true(tapi_rate_map_take(map, "abcd", 4, 60 * SECOND_US));
	assert_false(tapi_rate_map_take(map, "abcd", 4, 70 * SECOND_US - 1));
	assert_true(tapi_rate_map_take(map, "abcd", 4, 70 * SECOND_US));
	// a clock that goes back
	assert_false(tapi_rate_map_take(map, "abcd", 4, 0));
	tapi_rate_map_free(map);
	tapi_rate_map_free(NULL);
}

static void test_map_full(void **state)
{
	enum { KEYS = 100 };
	struct tapi_rate_map *map = tapi_rate_map_new(1, 60 * SECOND_US, KEYS);
	uint32_t key;

	(void)state;
	assert_non_null(map);
	for (key = 0; key < KEYS; key++)
		assert_true(tapi_rate_map_take(map, &key, sizeof(key), key));
	assert_int_equal(tapi_rate_map_count(map), KEYS);
	// full: no, and nobody is forgotten for the stranger's sake
	assert_false(tapi_rate_map_take(map, &key, sizeof(key), 1000));
	assert_int_equal(tapi_rate_map_count(map), KEYS);
	assert_true(tapi_rate_map_when(map, &key, sizeof(key), 1000) == 60 * SECOND_US);
	assert_false(tapi_rate_map_take(map, &key, sizeof(key), 60 * SECOND_US - 1));
	assert_true(tapi_rate_map_take(map, &key, sizeof(key), 60 * SECOND_US));
	assert_true(tapi_rate_map_count(map) <= KEYS);
	for (uint32_t known = 1; known < KEYS; known++)
		assert_false(tapi_rate_map_take(map, &known, sizeof(known), 60 * SECOND_US));
	// what nobody asks for any more goes
	for (unsigned i = 0; i < KEYS; i++)
		assert_true(tapi_rate_map_take(
			map, &key, sizeof(key), (200 + 60 * (uint64_t)i) * SECOND_US));
	assert_int_equal(tapi_rate_map_count(map), 1);
	tapi_rate_map_free(map);
	map = tapi_rate_map_new(0, SECOND_US, 8); // none at all
	assert_false(tapi_rate_map_take(map, "a", 1, 0));
	assert_true(tapi_rate_map_when(map, "a", 1, 0) == UINT64_MAX);
	tapi_rate_map_free(map);
	map = tapi_rate_map_new(1, SECOND_US, 0);
	assert_false(tapi_rate_map_take(map, "a", 1, 0));
	assert_true(tapi_rate_map_when(map, "a", 1, 0) == UINT64_MAX);
	tapi_rate_map_free(map);
}

// Random questions against a list of all that was ever let through.
static void test_map_law(void **state)
{
	enum { STEPS = 3000, KEYS = 12 };
	static struct {
		uint32_t key;
		uint64_t time;
	} taken[STEPS];

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		uint64_t now = 0, window = 50 + seed;
		uint32_t most;
		unsigned count = 0, refused = 0;
		struct tapi_rate_map *map;

		drawn = seed * 0x9e3779b97f4a7c15;
		most = 1 + (uint32_t)draw(5);
		map = tapi_rate_map_new(most, window, KEYS - 3);
		for (unsigned i = 0; i < STEPS; i++) {
			uint32_t key = (uint32_t)draw(KEYS), inside = 0;
			bool known[KEYS] = {false};
			uint32_t keys = 0;
			bool took;

			now += draw(8);
			for (unsigned j = count; j-- > 0;) {
				if (taken[j].time + window <= now)
					continue;
				inside += taken[j].key == key;
				keys += !known[taken[j].key];
				known[taken[j].key] = true;
			}
			took = tapi_rate_map_take(map, &key, sizeof(key), now);
			if (inside == most || (!known[key] && keys == KEYS - 3))
				assert_false(took);
			else
				assert_true(took);
			assert_true(tapi_rate_map_count(map) <= KEYS - 3);
			if (took) {
				taken[count].key = key;
				taken[count++].time = now;
			}
			refused += !took;
		}
		assert_true(count > 100 && (refused > 10 || most == 5));
		tapi_rate_map_free(map);
	}
}

// A limit may be as high as one likes: memory follows what was taken, not what may be.
static void test_map_memory(void **state)
{
	struct tapi_rate_map *map = tapi_rate_map_new(1000000, 1000, 2000);
	size_t before = mallinfo2().uordblks;

	(void)state;
	assert_non_null(map);
	for (uint32_t key = 0; key < 1000; key++)
		for (uint64_t now = 1; now <= 5; now++)
			assert_true(tapi_rate_map_take(map, &key, sizeof(key), now));
	assert_true(mallinfo2().uordblks - before < 1000 * 400); // 0 under ASan
	for (uint64_t now = 5; now < 100000; now++) { // one key, a thousand in its window
		uint32_t key = 5;

		assert_true(tapi_rate_map_take(map, &key, sizeof(key), now));
	}
	assert_int_equal(tapi_rate_map_count(map), 1);
	assert_true(mallinfo2().uordblks - before < 100000);
	tapi_rate_map_free(map);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bucket),
		cmocka_unit_test(test_no_limit),
		cmocka_unit_test(test_change),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_law),
		cmocka_unit_test(test_map),
		cmocka_unit_test(test_map_full),
		cmocka_unit_test(test_map_law),
		cmocka_unit_test(test_map_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
