// SPDX-License-Identifier: BSD-3-Clause
// Buckets and quantiles against exact ones.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include "pipeline/vocab/histogram.h"

static void every_time_is_in_the_bucket_that_holds_it(void **state)
{
	(void)state;
	for (unsigned i = 0; i + 1 < HISTOGRAM_BUCKETS; i++) {
		uint64_t bound = histogram_bound_ns(i), lower = i ? histogram_bound_ns(i - 1) : 0;

		assert_true(bound > lower);
		assert_int_equal(histogram_bucket(lower), i);
		assert_int_equal(histogram_bucket(bound - 1), i);
		assert_int_equal(histogram_bucket(bound), i + 1);
		assert_true(bound - lower <= (lower / 8 > 128 ? lower / 8 : 128));
	}
	assert_int_equal(histogram_bound_ns(HISTOGRAM_BUCKETS - 1), UINT64_C(1) << 36);
	assert_int_equal(histogram_bucket(UINT64_MAX), HISTOGRAM_BUCKETS - 1);
	for (unsigned shift = 7; shift <= 36; shift++) { // what metrics cut at
		unsigned bucket = histogram_bucket((UINT64_C(1) << shift) - 1);

		assert_int_equal(histogram_bound_ns(bucket), UINT64_C(1) << shift);
	}
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

// Uniform, exponential-like and two far lumps.
static uint64_t draw(unsigned shape)
{
	uint64_t r = (uint64_t)random();

	switch (shape) {
	case 0: return r % 1000000;
	case 1: return (UINT64_C(1) << (r % 30)) + (uint64_t)random() % 1000;
	default: return r % 100 ? 700 + r % 50 : 200000000 + r % 1000;
	}
}

static void quantiles_are_exact_to_a_bucket(void **state)
{
	static const unsigned permilles[] = {1, 500, 900, 990, 999, 1000};
	enum { N = 20011 };
	uint64_t *all = calloc(N, sizeof *all);

	(void)state;
	assert_non_null(all);
	srandom(7);
	for (unsigned shape = 0; shape < 3; shape++) {
		struct histogram histogram = {0};
		uint64_t sum = 0;

		for (unsigned i = 0; i < N; i++) {
			all[i] = draw(shape);
			sum += all[i];
			histogram_add(&histogram, all[i], 1);
		}
		qsort(all, N, sizeof *all, compare);
		assert_int_equal(histogram_count(&histogram), N);
		assert_int_equal(histogram.sum_ns, sum);
		assert_int_equal(histogram.max_ns, all[N - 1]);
		for (unsigned i = 0; i < sizeof permilles / sizeof *permilles; i++) {
			uint64_t rank = ((uint64_t)N * permilles[i] + 999) / 1000;
			uint64_t exact = all[rank - 1];
			uint64_t got = histogram_quantile_ns(&histogram, permilles[i]);

			assert_true(got >= exact);
			assert_true(got - exact <= (exact / 8 > 128 ? exact / 8 : 128));
		}
		for (unsigned shift = 7; shift < 36; shift += 3) {
			uint64_t below = 0, bound = UINT64_C(1) << shift;

			while (below < N && all[below] < bound)
				below++;
			assert_int_equal(histogram_below(&histogram, bound), below);
		}
	}
	free(all);
}

static void merged_is_as_if_one_had_seen_all(void **state)
{
	struct histogram one = {0}, other = {0}, both = {0};

	(void)state;
	srandom(8);
	for (unsigned i = 0; i < 1000; i++) {
		uint64_t ns = draw(i % 3), n = 1 + i % 4;

		histogram_add(i & 1 ? &one : &other, ns, n);
		histogram_add(&both, ns, n);
	}
	histogram_merge(&one, &other);
	assert_memory_equal(&one, &both, sizeof both);
}

static void none_and_the_longest(void **state)
{
	struct histogram histogram = {0};

	(void)state;
	assert_int_equal(histogram_count(&histogram), 0);
	assert_int_equal(histogram_quantile_ns(&histogram, 990), 0);
	histogram_add(&histogram, UINT64_C(100) << 36, 1); // beyond the last bound
	assert_int_equal(histogram_quantile_ns(&histogram, 500), UINT64_C(100) << 36);
	histogram_add(&histogram, 130, 3);
	assert_int_equal(histogram_quantile_ns(&histogram, 500), 256);
	assert_int_equal(histogram_below(&histogram, UINT64_C(1) << 35), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_time_is_in_the_bucket_that_holds_it),
		cmocka_unit_test(quantiles_are_exact_to_a_bucket),
		cmocka_unit_test(merged_is_as_if_one_had_seen_all),
		cmocka_unit_test(none_and_the_longest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
