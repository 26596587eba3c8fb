// SPDX-License-Identifier: BSD-3-Clause
// The index of the file store against an array that is searched and moved.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "audit/store_index.h"

#define KEYS 200

static uint32_t random_below(uint64_t *seed, uint32_t n)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % n;
}

// Some of them meet in one chain, however many there are.
static void hash_of(unsigned key, uint8_t out[32])
{
	memset(out, 0, 32);
	out[0] = (uint8_t)key;
	out[8] = (uint8_t)(key % 8);
}

static void in_order(const struct store_index *index, const unsigned *keys, unsigned n)
{
	uint32_t at = index->oldest, before = STORE_NONE;

	assert_int_equal(index->n, n);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(index->entries[at].sha256[0], keys[i]);
		assert_int_equal(index->entries[at].older, before);
		before = at;
		at = index->entries[at].newer;
	}
	assert_int_equal(at, STORE_NONE);
	assert_int_equal(index->newest, before);
}

static unsigned drop(unsigned *keys, unsigned n, unsigned key)
{
	for (unsigned i = 0; i < n; i++) {
		if (keys[i] != key)
			continue;
		memmove(&keys[i], &keys[i + 1], (n - i - 1) * sizeof(*keys));
		return n - 1;
	}
	return n;
}

static void entries_keep_their_order(void **state)
{
	struct store_index index;
	unsigned keys[KEYS + 1], n = 0;
	uint64_t seed = 1;

	(void)state;
	store_index_init(&index);
	for (unsigned turn = 0; turn < 20000; turn++) {
		unsigned key = random_below(&seed, KEYS), had = n;
		uint8_t hash[32];

		hash_of(key, hash);
		uint32_t at = store_index_find(&index, hash);
		n = drop(keys, n, key);
		assert_int_equal(at != STORE_NONE, n < had);
		if (at == STORE_NONE) {
			assert_int_not_equal(store_index_add(&index, hash, turn), STORE_NONE);
		} else if (random_below(&seed, 2)) {
			store_index_remove(&index, at);
			continue;
		} else {
			store_index_touch(&index, at, turn);
		}
		keys[n++] = key;
		if (turn % 64 == 0)
			in_order(&index, keys, n);
	}
	in_order(&index, keys, n);
	assert_int_equal(store_index_sort(&index), 0); // times rise: nothing moves
	in_order(&index, keys, n);
	store_index_free(&index);
}

static void sorted_by_time(void **state)
{
	static const int64_t times[] = {5, 3, 9, 1, 3};
	static const unsigned order[] = {3, 1, 4, 0, 2};
	struct store_index index;
	uint8_t hash[32];

	(void)state;
	store_index_init(&index);
	assert_int_equal(store_index_sort(&index), 0);
	hash_of(1, hash);
	assert_int_equal(store_index_find(&index, hash), STORE_NONE);
	for (unsigned i = 0; i < 5; i++) {
		hash_of(i, hash);
		store_index_add(&index, hash, times[i]);
	}
	assert_int_equal(store_index_sort(&index), 0);
	unsigned i = 0;
	for (uint32_t at = index.oldest; at != STORE_NONE; at = index.entries[at].newer)
		assert_int_equal(index.entries[at].time_s, times[order[i++]]);
	assert_int_equal(i, 5);
	store_index_free(&index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_keep_their_order),
		cmocka_unit_test(sorted_by_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
