// SPDX-License-Identifier: BSD-3-Clause
// Files whose bytes come in blocks at offsets: what is remembered of them, and no more than that.
#include "content/placed.h"
#include "lib/content/transcript.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct guarded {
	struct content_placed placed;
	uint64_t behind[4];
};

// A transfer of which nothing came.
static void begin(struct guarded *at, struct transcript *transcript, uint64_t from)
{
	const struct content_sink sink = transcript_sink(transcript);
	const struct content_turn turn = {.sink = &sink};
	struct content_file what = {.size = CONTENT_SIZE_UNKNOWN};
	uint32_t files = 0;

	memset(at, 0, sizeof(*at));
	transcript_begin(transcript, CONTENT_WANT_DATA);
	content_placed_open(&at->placed, &turn, &what, &files, 0, from);
}

static bool takes(struct guarded *at, uint64_t offset, uint64_t length)
{
	bool taken = content_placed_takes(&at->placed, offset, length);

	if (taken)
		content_placed_begin(&at->placed, offset, length);
	return taken;
}

// Blocks with holes between them, as many as there is room for; then those that close a hole.
static void room_for_ranges(void **state)
{
	static struct transcript transcript;
	struct guarded at;

	(void)state;
	begin(&at, &transcript, 10);
	assert_false(takes(&at, 9, 5));
	for (uint64_t i = 0; i < PLACED_RANGES; i++)
		assert_true(takes(&at, 10 + 2 * i, 1));
	assert_false(takes(&at, 10 + 2 * PLACED_RANGES, 1)); // behind them all
	assert_false(takes(&at, 14, 1));                     // again
	assert_false(takes(&at, 13, 2));                     // ... in part
	assert_true(takes(&at, 11, 1));
	assert_true(takes(&at, 10 + 2 * PLACED_RANGES, 1));
	assert_int_equal(at.placed.n_came, PLACED_RANGES);
	for (uint64_t i = 1; i < PLACED_RANGES; i++)
		assert_true(takes(&at, 11 + 2 * i, 1));
	assert_true(content_placed_reaches(&at.placed, 11 + 2 * PLACED_RANGES));
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(at.behind[i], 0);
}

// A block of no bytes is none, wherever it is.
static void blocks_of_no_bytes(void **state)
{
	static struct transcript transcript;
	struct guarded at;

	(void)state;
	begin(&at, &transcript, 0);
	for (uint64_t i = 0; i < 2 * PLACED_RANGES; i++)
		assert_false(takes(&at, i, 0));
	assert_false(takes(&at, UINT64_MAX, 2)); // nor one that has no end
	assert_int_equal(at.placed.n_came, 0);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(at.behind[i], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(room_for_ranges),
		cmocka_unit_test(blocks_of_no_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
