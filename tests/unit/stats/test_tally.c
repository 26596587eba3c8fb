// SPDX-License-Identifier: BSD-3-Clause
// Sums by key: bounded, and spread whatever the keys are.
#include "control/stats/tally.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

// More keys than are told apart: none is lost, they are summed as `other`.
static void keys_are_bounded(void **state)
{
	struct flow_record record = {.bytes = {1, 2}, .rate_bytes_s = 5, .pkts = {1, 1}};
	struct tally tally = {.seed = HASH_SEED_FIXED};
	struct tally_key key = {0};
	uint64_t sum = 0;

	(void)state;
	for (uint32_t i = 0; i < TALLY_KEYS_MAX + 1000; i++) {
		memcpy(key.bytes + 12, &i, 4);
		tally_add(&tally, &key, &record);
		tally_add(&tally, &key, &record);
	}
	assert_false(tally.no_memory);
	assert_int_equal(tally.n, TALLY_KEYS_MAX);
	assert_int_equal(tally.other.flows, 2000);
	assert_int_equal(tally.other.bytes[1], 4000);
	for (uint32_t i = 0; i < tally.n; i++) {
		assert_int_equal(tally.rows[i].flows, 2);
		sum += tally.rows[i].rate_bytes_s;
	}
	assert_int_equal(sum + tally.other.rate_bytes_s, 10ull * (TALLY_KEYS_MAX + 1000));
	tally_free(&tally);
}

// The farthest that a row lies from the slot where its search begins.
static uint32_t farthest(const struct tally *tally)
{
	uint32_t most = 0, mask = tally->n_slots - 1;

	for (uint32_t at = 0; at <= mask; at++) {
		uint64_t words[2];

		if (!tally->slots[at])
			continue;
		memcpy(words, tally->rows[tally->slots[at] - 1].key.bytes, sizeof words);
		uint32_t far = (at - hash_words(&tally->seed, words, 2)) & mask;

		most = far > most ? far : most;
	}
	return most;
}

// Addresses that all begin at one slot, where the seed is the one that they were made for.
static void hosts_made_for_one_seed_spread_under_another(void **state)
{
	const struct hash_seed known = HASH_SEED_FIXED;
	struct flow_record record = {0};
	struct tally as_known = {.seed = known}, other = {.seed = known};

	(void)state;
	for (unsigned i = 0; i < HASH_WORDS_MAX; i++)
		other.seed.words[i] = ~known.words[i] * 0x9e3779b97f4a7c15ull;
	for (uint64_t i = 0; i < 2000; i++) {
		const uint64_t words[2] = {known.words[0], i};
		struct tally_key key;

		memcpy(key.bytes, words, sizeof key.bytes);
		tally_add(&as_known, &key, &record);
		tally_add(&other, &key, &record);
	}
	assert_int_equal(farthest(&as_known), 1999);
	assert_in_range(farthest(&other), 0, 40);
	tally_free(&as_known);
	tally_free(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_are_bounded),
		cmocka_unit_test(hosts_made_for_one_seed_spread_under_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
