// SPDX-License-Identifier: BSD-3-Clause
// A full connection cache on several lcores: what is kept of it, and what it is told to come to.
#include "control/cache/conn_top.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "control/ctl/explain_cache.h"

#define ENTRIES 60000u
#define LCORES  3

static struct conn_entry entry_of(uint32_t i)
{
	struct conn_entry entry = {.created_ns = 1000 + i, .expires_ns = 1000000 - i, .hits = 1};

	memcpy(entry.key.responder, &i, sizeof(i));
	return entry;
}

// The replicas' orders differ.
static uint32_t place_of(unsigned lcore, uint32_t i)
{
	return lcore == 0 ? i : lcore == 1 ? ENTRIES - 1 - i : (i * 7919u) % ENTRIES;
}

static void the_newest_are_whole(void **state)
{
	struct conn_top top;
	struct conn_list list = {0};

	(void)state;
	conn_top_init(&top, 100, LCORES);
	for (uint32_t i = 0; i < ENTRIES; i++) {
		for (unsigned lcore = 0; lcore < LCORES; lcore++) {
			struct conn_entry entry = entry_of(place_of(lcore, i));

			conn_top_offer(&top, lcore, &entry, entry.created_ns);
		}
	}
	assert_true(conn_top_has_left_out(&top));
	assert_int_equal(conn_top_fullest(&top), ENTRIES);
	conn_top_list(&top, &list);
	assert_int_equal(list.n, 100 * LCORES); // of 180,000
	conn_list_merge(&list);
	assert_int_equal(list.n, 100);
	for (uint32_t i = 0; i < list.n; i++) {
		assert_true(list.entries[i].created_ns >= 1000 + ENTRIES - 100);
		assert_int_equal(list.entries[i].hits, LCORES);
	}
	conn_list_free(&list);
	conn_top_free(&top);
}

// However old it is, and however many fit the question.
static void an_entry_for_known_ends_is_kept(void **state)
{
	struct explain_cache cache = {0};
	struct explain_found found = {0};
	struct flow_ends ends = {0};
	const uint32_t oldest = 0, middle = 30000;
	unsigned n_known = 0;

	(void)state;
	explain_cache_begin(&cache, LCORES);
	memcpy(ends.address[HALF_S2C], &middle, sizeof(middle));
	explain_cache_know(&cache, &ends);
	memcpy(ends.address[HALF_S2C], &oldest, sizeof(oldest));
	explain_cache_know(&cache, &ends);
	explain_cache_known(&cache);
	for (uint32_t i = 0; i < ENTRIES; i++) {
		for (unsigned lcore = 0; lcore < LCORES; lcore++) {
			struct conn_entry entry = entry_of(place_of(lcore, i));

			explain_cache_offer(&cache, lcore, &entry);
		}
	}
	explain_cache_end(&cache, &found);
	assert_int_equal(found.cache_entries, ENTRIES);
	assert_true(found.cache_left_out);
	assert_int_equal(found.cache.n, 102);
	for (uint32_t i = 0; i < found.cache.n; i++)
		n_known += found.cache.entries[i].created_ns == 1000 ||
			   found.cache.entries[i].created_ns == 31000;
	assert_int_equal(n_known, 2);
	conn_list_free(&found.cache);
	explain_cache_free(&cache);
}

static void few_are_counted_exactly(void **state)
{
	struct explain_cache cache = {0};
	struct explain_found found = {0};

	(void)state;
	explain_cache_begin(&cache, LCORES);
	explain_cache_known(&cache);
	for (uint32_t i = 0; i < 50; i++) {
		struct conn_entry entry = entry_of(i);

		explain_cache_offer(&cache, i % LCORES, &entry); // each in one replica alone
	}
	explain_cache_end(&cache, &found);
	assert_int_equal(found.cache_entries, 50);
	assert_false(found.cache_left_out);
	conn_list_free(&found.cache);
	explain_cache_free(&cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_newest_are_whole),
		cmocka_unit_test(an_entry_for_known_ends_is_kept),
		cmocka_unit_test(few_are_counted_exactly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
