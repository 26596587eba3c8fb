// SPDX-License-Identifier: BSD-3-Clause
// Numbers of a flow's report: they saturate, and round up.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "pipeline/vocab/stream_report.h"

static void gaps_add_up_and_saturate(void **state)
{
	struct stream_report report = {0};

	(void)state;
	stream_report_gap(&report, HALF_S2C, 1448);
	stream_report_gap(&report, HALF_S2C, 2);
	assert_int_equal(report.half[HALF_S2C].gaps, 2);
	assert_int_equal(report.half[HALF_S2C].gap_bytes, 1450);
	assert_int_equal(report.half[HALF_C2S].gaps, 0);
	stream_report_gap(&report, HALF_S2C, UINT32_MAX - 1450);
	assert_int_equal(report.half[HALF_S2C].gap_bytes, UINT32_MAX);
	for (unsigned i = 0; i < UINT16_MAX; i++)
		stream_report_gap(&report, HALF_S2C, 1);
	assert_int_equal(report.half[HALF_S2C].gaps, UINT16_MAX);
	assert_int_equal(report.half[HALF_S2C].gap_bytes, UINT32_MAX);
}

static void the_longest_hold_stays(void **state)
{
	struct stream_report report = {0};
	const uint16_t *longest = &report.half[HALF_C2S].held_cs;

	(void)state;
	stream_report_hold(&report, HALF_C2S, 0);
	assert_int_equal(*longest, 0);
	stream_report_hold(&report, HALF_C2S, 1); // it was held
	assert_int_equal(*longest, 1);
	stream_report_hold(&report, HALF_C2S, 3000000000);
	assert_int_equal(*longest, 300);
	stream_report_hold(&report, HALF_C2S, 2000000000);
	assert_int_equal(*longest, 300);
	stream_report_hold(&report, HALF_C2S, UINT64_MAX - 9999999);
	assert_int_equal(*longest, UINT16_MAX);
}

static void the_most_that_was_kept_stays(void **state)
{
	struct stream_report report = {0};
	const uint16_t *most = &report.half[HALF_S2C].copied_kb;

	(void)state;
	stream_report_copied(&report, HALF_S2C, 1);
	assert_int_equal(*most, 1);
	stream_report_copied(&report, HALF_S2C, 1024);
	assert_int_equal(*most, 1);
	stream_report_copied(&report, HALF_S2C, 1025);
	assert_int_equal(*most, 2);
	stream_report_copied(&report, HALF_S2C, 0);
	assert_int_equal(*most, 2);
	stream_report_copied(&report, HALF_S2C, UINT64_C(1) << 40);
	assert_int_equal(*most, UINT16_MAX);
}

static void each_target_has_a_word(void **state)
{
	(void)state;
	assert_string_equal(stream_target_word(STREAM_TARGET_HALF_LIMIT), "half_limit");
	assert_string_equal(stream_target_word(STREAM_TARGET_SCAN), "scan");
	assert_string_equal(stream_target_word(STREAM_TARGETS_MAX), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gaps_add_up_and_saturate),
		cmocka_unit_test(the_longest_hold_stays),
		cmocka_unit_test(the_most_that_was_kept_stays),
		cmocka_unit_test(each_target_has_a_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
