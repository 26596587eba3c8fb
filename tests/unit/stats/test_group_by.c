// SPDX-License-Identifier: BSD-3-Clause
// Sums by key: bounded, and spread whatever the keys are.
#include "control/stats/group_by.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

// More keys than are told apart: none is lost, they are summed as `other`.
static void keys_are_bounded(void **state)
{
	struct flow_record record = {.bytes = {1, 2}, .rate_bytes_s = 5, .pkts = {1, 1}};
	struct group_by group_by = {.seed = HASH_SEED_FIXED};
	struct group_by_key key = {0};
	uint64_t sum = 0;

	(void)state;
	for (uint32_t i = 0; i < GROUP_BY_KEYS_MAX + 1000; i++) {
		memcpy(key.bytes + 12, &i, 4);
		group_by_add(&group_by, &key, &record);
		group_by_add(&group_by, &key, &record);
	}
	assert_false(group_by.no_memory);
	assert_int_equal(group_by.n, GROUP_BY_KEYS_MAX);
	assert_int_equal(group_by.other.flows, 2000);
	assert_int_equal(group_by.other.bytes[1], 4000);
	for (uint32_t i = 0; i < group_by.n; i++) {
		assert_int_equal(group_by.rows[i].flows, 2);
		sum += group_by.rows[i].rate_bytes_s;
	}
	assert_int_equal(sum + group_by.other.rate_bytes_s, 10ull * (GROUP_BY_KEYS_MAX + 1000));
	group_by_free(&group_by);
}

// The farthest that a row lies from the slot where its search begins.
static uint32_t farthest(const struct group_by *group_by)
{
	uint32_t most = 0, mask = group_by->n_slots - 1;

	for (uint32_t at = 0; at <= mask; at++) {
		uint64_t words[2];

		if (!group_by->slots[at])
			continue;
		memcpy(words, group_by->rows[group_by->slots[at] - 1].key.bytes, sizeof words);
		uint32_t far = (at - hash_words(&group_by->seed, words, 2)) & mask;

		most = far > most ? far : most;
	}
	return most;
}

// Addresses that all begin at one slot, where the seed is the one that they were made for.
static void hosts_made_for_one_seed_spread_under_another(void **state)
{
	const struct hash_seed known = HASH_SEED_FIXED;
	struct flow_record record = {0};
	struct group_by as_known = {.seed = known}, other = {.seed = known};

	(void)state;
	for (unsigned i = 0; i < HASH_WORDS_MAX; i++)
		other.seed.words[i] = ~known.words[i] * 0x9e3779b97f4a7c15ull;
	for (uint64_t i = 0; i < 2000; i++) {
		const uint64_t words[2] = {known.words[0], i};
		struct group_by_key key;

		memcpy(key.bytes, words, sizeof key.bytes);
		group_by_add(&as_known, &key, &record);
		group_by_add(&other, &key, &record);
	}
	assert_int_equal(farthest(&as_known), 1999);
	assert_in_range(farthest(&other), 0, 40);
	group_by_free(&as_known);
	group_by_free(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_are_bounded),
		cmocka_unit_test(hosts_made_for_one_seed_spread_under_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
