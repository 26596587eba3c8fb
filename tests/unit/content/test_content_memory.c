// SPDX-License-Identifier: BSD-3-Clause
// Blocks that are taken never overlap, keep what is written into them, and when all are given back
// the region is whole again.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "content/memory.h"

#define BLOCKS 2000

struct block {
	uint8_t *at;
	size_t bytes;
	uint8_t filled;
};

static uint32_t random_below(uint64_t *seed, uint32_t n)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % n;
}

static size_t a_size(uint64_t *seed)
{
	size_t most = (size_t)1 << random_below(seed, 22);

	return random_below(seed, (uint32_t)most + 1);
}

static void holds(const struct block *block)
{
	for (size_t i = 0; i < block->bytes; i++)
		if (block->at[i] != block->filled)
			fail_msg("byte %zu of a block of %zu", i, block->bytes);
}

static struct content_memory_use look(const struct content_memory *memory)
{
	struct content_memory_use use;

	content_memory_look(memory, &use);
	return use;
}

// A block is kept whole while others come and go: each has its own byte in all of its places.
static void blocks_keep_what_is_in_them(void **state)
{
	struct content_memory *memory = content_memory_new(20 << 20, 0);
	static struct block blocks[BLOCKS];
	uint64_t seed = 1;
	unsigned taken = 0, refused = 0;

	(void)state;
	assert_non_null(memory);
	assert_int_equal(look(memory).bytes, 24 << 20); // whole blocks of 8 MiB
	for (unsigned turn = 0; turn < 20000; turn++) {
		struct block *block = &blocks[random_below(&seed, BLOCKS)];

		if (block->at) {
			holds(block);
			content_give(memory, block->at);
			block->at = NULL;
			continue;
		}
		block->bytes = a_size(&seed);
		block->filled = (uint8_t)turn;
		block->at = content_take(memory, block->bytes);
		if (!block->at) {
			refused++;
			continue;
		}
		taken++;
		assert_int_equal((uintptr_t)block->at % CONTENT_BLOCK_MIN, 0);
		memset(block->at, block->filled, block->bytes);
	}
	assert_in_range(taken, 1000, 20000);
	assert_int_equal(look(memory).failed, refused);
	for (unsigned i = 0; i < BLOCKS; i++)
		content_give(memory, blocks[i].at);
	assert_int_equal(look(memory).used, 0);
	assert_in_range(look(memory).peak, 1 << 20, 24 << 20);
	for (unsigned i = 0; i < 3; i++) // nothing is left in pieces
		assert_non_null(content_take(memory, CONTENT_BLOCK_MAX));
	assert_null(content_take(memory, 1));
	content_memory_free(memory);
}

static void sizes_are_rounded_up(void **state)
{
	static const struct {
		size_t bytes, used;
	} rows[] = {{0, 256}, {1, 256}, {256, 256}, {257, 512}, {4097, 8192},
		{CONTENT_BLOCK_MAX, CONTENT_BLOCK_MAX}};
	struct content_memory *memory = content_memory_new(1, 0);

	(void)state;
	assert_non_null(memory);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		void *block = content_take(memory, rows[i].bytes);

		assert_non_null(block);
		assert_int_equal(look(memory).used, rows[i].used);
		content_give(memory, block);
		assert_int_equal(look(memory).used, 0);
	}
	assert_null(content_take(memory, CONTENT_BLOCK_MAX + 1));
	assert_null(content_take(memory, SIZE_MAX));
	assert_int_equal(look(memory).failed, 2);
	content_give(memory, NULL);
	content_memory_free(memory);
}

static void all_of_the_region_can_be_had(void **state)
{
	struct content_memory *memory = content_memory_new(CONTENT_BLOCK_MAX, 0);
	unsigned n = 0;

	(void)state;
	assert_non_null(memory);
	while (content_take(memory, CONTENT_BLOCK_MIN))
		n++;
	assert_int_equal(n, CONTENT_BLOCK_MAX / CONTENT_BLOCK_MIN);
	assert_int_equal(look(memory).used, CONTENT_BLOCK_MAX);
	content_memory_free(memory);
}

static void no_region_of_nothing(void **state)
{
	(void)state;
	assert_null(content_memory_new(0, 0));
	assert_null(content_memory_new(SIZE_MAX, 0));
	content_memory_free(NULL);
}

static void large_blocks_leave_what_is_reserved(void **state)
{
	struct content_memory *memory = content_memory_new(2 * CONTENT_BLOCK_MAX, 0);
	struct content_memory_use use;
	void *large[256], *small;
	unsigned n = 0;

	(void)state;
	content_memory_reserve(memory, CONTENT_BLOCK_MAX / 4);
	while (n < 256 && (large[n] = content_take(memory, CONTENT_BLOCK_LARGE)))
		n++;
	content_memory_look(memory, &use);
	assert_int_equal(use.bytes - use.used, CONTENT_BLOCK_MAX / 4);
	assert_int_equal(use.failed, 1);
	small = content_take(memory, CONTENT_BLOCK_LARGE / 2);
	assert_non_null(small);
	content_give(memory, small);
	content_give(memory, large[--n]);
	large[n] = content_take(memory, CONTENT_BLOCK_LARGE);
	assert_non_null(large[n++]);
	while (n)
		content_give(memory, large[--n]);
	content_memory_free(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_keep_what_is_in_them),
		cmocka_unit_test(sizes_are_rounded_up),
		cmocka_unit_test(all_of_the_region_can_be_had),
		cmocka_unit_test(large_blocks_leave_what_is_reserved),
		cmocka_unit_test(no_region_of_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
