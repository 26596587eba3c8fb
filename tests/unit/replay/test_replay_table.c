// SPDX-License-Identifier: BSD-3-Clause
// Replay's table of flows and senders: grows without losing or mixing up an entry.
#include "replay/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define KEYS 20000u

static void key_of(uint32_t n, uint8_t key[REPLAY_KEY_BYTES])
{
	memset(key, 0, REPLAY_KEY_BYTES);
	memcpy(key + (n % 3) * 16, &n, sizeof n); // differ in different places
}

static void entries_survive_growth(void **state)
{
	uint8_t key[REPLAY_KEY_BYTES];
	struct replay_table table;
	struct replay_entry *entry;
	bool made;

	(void)state;
	assert_int_equal(replay_table_init(&table), 0);
	for (uint32_t n = 1; n <= KEYS; n++) {
		key_of(n, key);
		assert_null(replay_table_find(&table, key));
		entry = replay_table_get(&table, key, &made);
		assert_non_null(entry);
		assert_true(made);
		assert_int_equal(entry->value[0], 0);
		entry->value[0] = n;
		entry->value[2] = ~n;
	}
	for (uint32_t n = 1; n <= KEYS; n++) {
		key_of(n, key);
		entry = replay_table_get(&table, key, &made);
		assert_false(made);
		assert_ptr_equal(entry, replay_table_find(&table, key));
		assert_int_equal(entry->value[0], n);
		assert_int_equal(entry->value[2], ~n);
	}
	assert_int_equal(table.n, KEYS);
	replay_table_fini(&table);
}

static void a_cleared_table_is_empty(void **state)
{
	uint8_t key[REPLAY_KEY_BYTES];
	struct replay_table table;
	bool made;

	(void)state;
	assert_int_equal(replay_table_init(&table), 0);
	key_of(7, key);
	replay_table_get(&table, key, &made)->value[1] = 9;
	replay_table_clear(&table);
	assert_null(replay_table_find(&table, key));
	assert_int_equal(replay_table_get(&table, key, &made)->value[1], 0);
	assert_true(made);
	replay_table_fini(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_survive_growth),
		cmocka_unit_test(a_cleared_table_is_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
