// SPDX-License-Identifier: BSD-3-Clause
// The in-order provider against a reference: each byte once, in order, or in one gap.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "seq.h"
#include "stream.h"

static void in_order_after_syn(void **state)
{
	struct stream_half half = {0};
	(void)state;

	stream_syn(&half, 999);
	struct stream_take take = stream_segment(&half, 1000, 10);

	assert_int_equal(take.length, 10);
	assert_int_equal(take.offset64, 0);
	assert_int_equal(take.skip, 0);
	assert_int_equal(take.gap, 0);
	take = stream_segment(&half, 1010, 5);
	assert_int_equal(take.offset64, 10);
	assert_int_equal(take.length, 5);
	assert_false(half.flags & STREAM_MIDSTREAM);
}

static void retransmission_gives_only_its_new_tail(void **state)
{
	struct stream_half half = {0};
	(void)state;

	stream_syn(&half, 0);
	stream_segment(&half, 1, 100);
	struct stream_take take = stream_segment(&half, 1, 100);

	assert_int_equal(take.length, 0);
	assert_false(take.ahead);
	take = stream_segment(&half, 51, 80);
	assert_int_equal(take.skip, 50);
	assert_int_equal(take.length, 30);
	assert_int_equal(take.offset64, 100);
}

static void hole_is_told_once_after_patience(void **state)
{
	struct stream_half half = {0};
	(void)state;

	stream_syn(&half, 0);
	for (uint32_t i = 0; i < STREAM_AHEAD_MAX; i++) {
		struct stream_take ahead = stream_segment(&half, 101 + 10 * i, 10);

		assert_true(ahead.ahead);
		assert_int_equal(ahead.length, 0);
	}
	struct stream_take take = stream_segment(&half, 131, 10);

	assert_int_equal(take.gap, 130);
	assert_int_equal(take.offset64, 130);
	assert_int_equal(take.length, 10);
	assert_int_equal(half.gap_bytes, 130);
	take = stream_segment(&half, 141, 10);
	assert_int_equal(take.gap, 0);
	assert_int_equal(take.length, 10);
}

static void hole_that_is_filled_is_no_gap(void **state)
{
	struct stream_half half = {0};
	(void)state;

	stream_syn(&half, 0);
	assert_true(stream_segment(&half, 11, 10).ahead);
	assert_int_equal(stream_segment(&half, 1, 10).length, 10);
	assert_int_equal(stream_segment(&half, 11, 10).offset64, 10);
	assert_int_equal(half.gap_bytes, 0);
}

static void syn_again_starts_over_until_a_byte_was_taken(void **state)
{
	struct stream_half half = {0};
	(void)state;

	stream_syn(&half, 5000);
	stream_syn(&half, 9000); // another number: the client started again
	assert_int_equal(stream_segment(&half, 9001, 4).length, 4);
	stream_syn(&half, 1); // too late: evasion by a SYN in the middle
	assert_int_equal(stream_segment(&half, 9005, 4).offset64, 4);
}

static void midstream_starts_at_the_first_byte_seen(void **state)
{
	struct stream_half half = {0};
	(void)state;

	struct stream_take take = stream_segment(&half, 0xfffffff0u, 0x20);

	assert_true(half.flags & STREAM_MIDSTREAM);
	assert_int_equal(take.length, 0x20);
	assert_int_equal(take.offset64, 0);
	assert_int_equal(half.next, 0x10); // across the wrap
}

// Random segments near the wrap: what is taken plus the gaps is one run of bytes.
static void model_bytes_once_and_in_order(void **state)
{
	unsigned seed = 20081015;
	(void)state;

	for (unsigned round = 0; round < 20000; round++) {
		struct stream_half half = {0};
		uint32_t isn = (uint32_t)rand_r(&seed) | 0xff000000u;
		uint64_t told = 0;

		stream_syn(&half, isn);
		for (unsigned i = 0; i < 40; i++) {
			uint32_t offset = (uint32_t)rand_r(&seed) % 2000;
			uint32_t length = 1 + (uint32_t)rand_r(&seed) % 300;
			struct stream_take take = stream_segment(&half, isn + 1 + offset, length);

			if (!take.length)
				continue;
			assert_int_equal(take.offset64, told + take.gap);
			// the bytes that are called new are those of that place in the stream
			assert_int_equal(take.offset64, offset + take.skip);
			assert_true(take.skip + take.length == length);
			told = take.offset64 + take.length;
			assert_int_equal(half.offset64, told);
			assert_int_equal(half.next, (uint32_t)(isn + 1 + told));
		}
	}
}

static void sequence_arithmetic_wraps(void **state)
{
	(void)state;
	assert_true(seq_lt(0xfffffff0u, 0x10));
	assert_false(seq_lt(0x10, 0xfffffff0u));
	assert_true(seq_le(7, 7));
	assert_int_equal(seq_max(0xfffffff0u, 0x10), 0x10);
}

static void what_passed_unseen_is_a_gap_of_any_size(void **state)
{
	static const uint32_t jumps[] = {1, 100000, UINT32_C(2000000000), UINT32_C(4000000000)};
	(void)state;

	for (unsigned i = 0; i < sizeof jumps / sizeof *jumps; i++) {
		struct stream_half half = {0};

		stream_syn(&half, 999);
		stream_segment(&half, 1000, 10);
		stream_unseen(&half);
		// what was sent again is of before, and tells nothing
		assert_int_equal(stream_segment(&half, 1000, 10).length, 0);
		struct stream_take take = stream_segment(&half, 1010 + jumps[i], 5);

		assert_false(take.refused);
		assert_false(take.ahead);
		assert_int_equal(take.gap, jumps[i]);
		assert_int_equal(take.length, 5);
		assert_int_equal(take.offset64, UINT64_C(10) + jumps[i]);
		assert_true(half.flags & STREAM_MIDSTREAM);
		// from here on as usual
		take = stream_segment(&half, 1015 + jumps[i], 7);
		assert_int_equal(take.length, 7);
		assert_int_equal(take.gap, 0);
		assert_true(stream_segment(&half, 1100 + jumps[i], 7).ahead);
	}
}

static void nothing_passed_unseen_after_all(void **state)
{
	struct stream_half half = {0};
	(void)state;

	stream_unseen(&half);
	assert_int_equal(half.flags, 0); // not begun
	stream_syn(&half, 999);
	stream_segment(&half, 1000, 10);
	stream_unseen(&half);
	struct stream_take take = stream_segment(&half, 1010, 5);

	assert_int_equal(take.length, 5);
	assert_int_equal(take.gap, 0);
	assert_false(half.flags & (STREAM_MIDSTREAM | STREAM_UNSEEN));
	// and what no receiver takes is refused again
	assert_true(stream_segment(&half, 1015 + STREAM_WINDOW_MAX + 1, 5).refused);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_order_after_syn),
		cmocka_unit_test(retransmission_gives_only_its_new_tail),
		cmocka_unit_test(hole_is_told_once_after_patience),
		cmocka_unit_test(hole_that_is_filled_is_no_gap),
		cmocka_unit_test(syn_again_starts_over_until_a_byte_was_taken),
		cmocka_unit_test(midstream_starts_at_the_first_byte_seen),
		cmocka_unit_test(what_passed_unseen_is_a_gap_of_any_size),
		cmocka_unit_test(nothing_passed_unseen_after_all),
		cmocka_unit_test(model_bytes_once_and_in_order),
		cmocka_unit_test(sequence_arithmetic_wraps),
	};

	return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}
