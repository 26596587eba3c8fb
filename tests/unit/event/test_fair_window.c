// SPDX-License-Identifier: BSD-3-Clause
// A limit of records a second: what is left for others when one source, or one side, makes many.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "pipeline/event/fair_window.h"
#include "pipeline/vocab/tick.h"

#define LIMIT 40u

static struct fair_window window;
static uint64_t now_ns = 5 * NS_PER_S;

static bool take_from(const uint8_t source[16], bool inside)
{
	return !fair_window_is_full(&window, inside, LIMIT, now_ns) &&
	       fair_window_take(&window, &HASH_SEED_FIXED, source, inside, LIMIT);
}

// How many of `n` records of 10.0.0.`host` are written.
static unsigned take(unsigned n, uint8_t host, bool inside)
{
	const uint8_t source[16] = {[10] = 0xff, [11] = 0xff, 10, 0, 0, host};
	unsigned taken = 0;

	while (n--)
		taken += take_from(source, inside);
	return taken;
}

static int begin(void **state)
{
	(void)state;
	memset(&window, 0, sizeof(window));
	return 0;
}

static void one_source_leaves_half(void **state)
{
	(void)state;
	assert_int_equal(take(1000, 66, true), LIMIT / 2);
	assert_int_equal(take(1, 1, true), 1);
	assert_int_equal(take(1000, 2, true), LIMIT / FAIR_WINDOW_FEW);
	assert_int_equal(take(1000, 66, true), 0);
}

static void many_sources_use_it_up(void **state)
{
	unsigned taken = 0;
	(void)state;

	for (uint8_t host = 0; host < 200; host++)
		taken += take(1, host, true);
	assert_int_equal(taken, LIMIT);
}

static void each_side_has_its_own(void **state)
{
	(void)state;
	for (uint8_t host = 0; host < 200; host++)
		take(1, host, false);
	assert_int_equal(take(1, 1, false), 0);
	assert_int_equal(take(1000, 1, true), LIMIT / 2);
}

static void a_second_is_forgotten(void **state)
{
	(void)state;
	assert_int_equal(take(1000, 66, true), LIMIT / 2);
	now_ns += NS_PER_S - 1;
	assert_int_equal(take(1, 66, true), 0);
	now_ns += 1;
	assert_int_equal(take(1000, 66, true), LIMIT / 2);
}

static void a_slash_64_is_one_source(void **state)
{
	uint8_t source[16] = {0x20, 1, 0xd, 0xb8};
	unsigned taken = 0;
	(void)state;

	for (unsigned i = 0; i < 200; i++, source[15]++)
		taken += take_from(source, true);
	assert_int_equal(taken, LIMIT / 2);
	source[7] = 1;
	assert_true(take_from(source, true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(one_source_leaves_half, begin),
		cmocka_unit_test_setup(many_sources_use_it_up, begin),
		cmocka_unit_test_setup(each_side_has_its_own, begin),
		cmocka_unit_test_setup(a_second_is_forgotten, begin),
		cmocka_unit_test_setup(a_slash_64_is_one_source, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
