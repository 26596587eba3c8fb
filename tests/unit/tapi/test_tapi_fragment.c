// SPDX-License-Identifier: BSD-3-Clause
// Messages in parts (TA16), and what bounds them (TA29). In random order:
// model/model_tapi_fragment.c.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "transportapi/proto/fragment.h"
#include "transportapi/base/wire.h"

#define S      1000000u
#define EXPIRY (10 * S)
#define TYPE   77

static struct tapi_fragment_pool pool;
static struct tapi_assemblies all;
static struct tapi_whole whole;
static uint8_t message[TAPI_MESSAGE_BYTES_MAX];
static uint8_t part[UINT16_MAX];
static uint64_t now_us;

static int setup(void **state)
{
	(void)state;
	tapi_fragment_pool_init(&pool, 1 << 22);
	tapi_assemblies_init(&all, &pool);
	now_us = 5;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tapi_assemblies_clear(&all);
	assert_true(pool.bytes == 0 && all.bytes == 0 && all.count == 0);
	assert_null(tapi_memory_largest(&pool.share.memory));
	assert_int_equal(pool.counters.started,
		pool.counters.whole + pool.counters.conflict + pool.counters.expired +
			pool.counters.dropped_full + pool.counters.dropped_memory +
			pool.counters.dropped_forgotten);
	return 0;
}

// A message of `total` octets, unlike another `id`'s.
static void message_make(uint32_t id, uint32_t total)
{
	for (uint32_t i = 0; i < total; i++)
		message[i] = (uint8_t)(i * 7 + i / 251 + id * 31);
	tapi_put16(tapi_put16(message, total > UINT16_MAX ? 0 : (uint16_t)total), TYPE);
}

static enum tapi_result take(struct tapi_assemblies *to, uint32_t length)
{
	uint8_t *exact = malloc(length ? length : 1);
	enum tapi_result result;

	assert_non_null(exact);
	memcpy(exact, part, length);
	result = tapi_fragment_take(to, exact, length, false, length, now_us, EXPIRY, &whole);
	free(exact);
	return result;
}

// `n` octets from `offset` of message `id` of `total` octets.
static enum tapi_result give(
	struct tapi_assemblies *to, uint32_t id, uint32_t total, uint32_t offset, uint32_t n)
{
	uint32_t next, size;

	message_make(id, total);
	size = tapi_fragment_make(
		part, n + TAPI_FRAGMENT_HEAD_BYTES, id, message, total, offset, &next);
	assert_int_equal(size, n + TAPI_FRAGMENT_HEAD_BYTES);
	return take(to, size);
}

static void assert_whole(uint32_t id, uint32_t total)
{
	message_make(id, total);
	assert_non_null(whole.message);
	assert_int_equal(whole.size, total);
	assert_memory_equal(whole.message, message, total);
	free(whole.message);
	whole.message = NULL;
}

static void a_part_is_as_the_wire_has_it(void **state)
{
	uint32_t next;

	(void)state;
	message_make(9, 100);
	assert_int_equal(tapi_fragment_make(part, 20, 0x01020304, message, 100, 50, &next), 20);
	assert_int_equal(next, 54);
	assert_memory_equal(part, "\0\x14\0\5\1\2\3\4\0\0\0\x64\0\0\0\x32", 16);
	assert_memory_equal(&part[16], &message[50], 4);
	assert_int_equal(tapi_fragment_make(part, 200, 1, message, 100, 90, &next), 26);
	assert_int_equal(next, 100);
	assert_int_equal(tapi_fragment_make(part, 200, 1, message, 100, 100, &next), 0);
	assert_int_equal(tapi_fragment_make(part, 16, 1, message, 100, 0, &next), 0);
	assert_int_equal(next, 0);
}

static void a_message_comes_whole_at_each_mtu_in_each_direction(void **state)
{
	static const uint32_t mtus[] = {17, 100, 1040, 1432, 1440, 32768, 65000, 400000};
	static const uint32_t totals[] = {4, 1023, 1024, 1025, 65535, 65536, 262144};
	uint32_t id = 0;

	(void)state;
	for (unsigned m = 0; m < 8; m++)
		for (unsigned t = m == 0 ? 0 : 1; t < (m == 0 ? 4 : 7); t++) {
			uint32_t offset = 0, total = totals[t], size, next;

			message_make(++id, total);
			while ((size = tapi_fragment_make(
					part, mtus[m], id, message, total, offset, &next))) {
				assert_null(whole.message);
				assert_int_equal(take(&all, size), TAPI_OK);
				offset = next;
			}
			assert_whole(id, total);
			assert_int_equal(pool.bytes, 0);
			// the last first
			id++;
			for (uint32_t each = mtus[m] < UINT16_MAX ? mtus[m] - 16 : UINT16_MAX - 16,
				      n = (total + each - 1) / each;
				n > 0; n--)
				assert_int_equal(give(&all, id, total, (n - 1) * each,
							 total - (n - 1) * each < each
								 ? total - (n - 1) * each
								 : each),
					TAPI_OK);
			assert_whole(id, total);
		}
	assert_int_equal(pool.counters.whole, id);
	assert_int_equal(pool.counters.duplicate, 0);
}

static void the_same_octets_may_come_again_in_other_pieces(void **state)
{
	(void)state;
	assert_int_equal(give(&all, 1, 3000, 900, 1000), TAPI_OK);
	assert_true(tapi_assemblies_wait_for(&all, part, 1016));
	assert_false(tapi_assemblies_wait_for(&all, part, 1015));
	part[7]++;
	assert_false(tapi_assemblies_wait_for(&all, part, 1016));
	assert_int_equal(give(&all, 1, 3000, 900, 1000), TAPI_OK);
	assert_int_equal(give(&all, 1, 3000, 1001, 64), TAPI_OK);
	assert_int_equal(pool.counters.duplicate, 2);
	assert_int_equal(give(&all, 1, 3000, 850, 1100), TAPI_OK); // both ends are new
	assert_int_equal(give(&all, 1, 3000, 0, 900), TAPI_OK);
	assert_null(whole.message);
	assert_int_equal(give(&all, 1, 3000, 1900, 1100), TAPI_OK);
	assert_whole(1, 3000);
	assert_int_equal(pool.counters.duplicate, 2);
}

static void other_octets_for_a_place_discard_the_message(void **state)
{
	(void)state;
	for (uint32_t at = 100; at < 200; at++) {
		assert_int_equal(give(&all, 1, 3000, 100, 100), TAPI_OK);
		give(&all, 2, 3000, 0, 10);
		message_make(1, 3000);
		message[at] ^= 4;
		uint32_t next, size = tapi_fragment_make(part, 316, 1, message, 3000, 0, &next);
		assert_int_equal(take(&all, size), TAPI_EFORMAT);
		assert_int_equal(all.count, 1); // the other one stays
	}
	assert_int_equal(pool.counters.conflict, 100);
	assert_int_equal(give(&all, 2, 3001, 10, 10), TAPI_EFORMAT); // another total
	assert_true(all.count == 0 && pool.counters.conflict == 101);
}

static void what_was_encrypted_keeps_its_crc(void **state)
{
	uint32_t next;

	(void)state;
	message_make(1, 50);
	for (unsigned wrong = 0; wrong < 3; wrong++) {
		tapi_fragment_make(part, 46, 1, message, 50, 0, &next);
		assert_int_equal(tapi_fragment_take(&all, part, 46, true, 0xabc, 5, EXPIRY, &whole),
			TAPI_OK);
		tapi_fragment_make(part, 46, 1, message, 50, 30, &next);
		assert_int_equal(tapi_fragment_take(&all, part, 36, wrong != 1,
					 wrong == 2 ? 0xabd : 0xabc, 5, EXPIRY, &whole),
			wrong ? TAPI_EFORMAT : TAPI_OK);
		if (wrong)
			continue;
		assert_true(whole.is_encrypted && whole.crc == 0xabc);
		assert_whole(1, 50);
	}
	assert_int_equal(pool.counters.conflict, 2);
}

static void lengths_that_cannot_be_are_refused(void **state)
{
	static const struct {
		uint32_t total, offset, length;
	} wrong[] = {
		{0, 0, 10},
		{3, 0, 3},
		{TAPI_MESSAGE_BYTES_MAX + 1, 0, 10},
		{UINT32_MAX, 0, 10},
		{100, 100, 1},
		{100, 99, 2},
		{100, UINT32_MAX, 10},
		{100, UINT32_MAX - 5, 10},
		{100, 0, 101},
		{100, 0, 0},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		uint8_t *p = tapi_put16(part, (uint16_t)(wrong[i].length + 16));

		p = tapi_put32(tapi_put32(tapi_put16(p, 5), i), wrong[i].total);
		tapi_put32(p, wrong[i].offset);
		assert_int_equal(take(&all, wrong[i].length + 16), TAPI_EFORMAT);
	}
	give(&all, 1, 100, 0, 50);
	message_make(2, 100);
	for (uint32_t cut = 0; cut < 66; cut++) // shorter than it says
		assert_int_equal(take(&all, cut), TAPI_EFORMAT);
	part[3] = 6;
	assert_int_equal(take(&all, 66), TAPI_EFORMAT);
	assert_int_equal(all.count, 1);
	assert_int_equal(pool.counters.malformed, 10 + 66 + 1);
}

static void a_message_whose_own_head_says_otherwise_is_discarded(void **state)
{
	static const struct {
		uint32_t total;
		uint16_t size, type;
		bool good;
	} heads[] = {
		{100, 100, TYPE, true},
		{100, 99, TYPE, false},
		{100, 0, TYPE, false},
		{100, 100, TAPI_TYPE_FRAGMENT, false}, // no nesting
		{65535, 65535, TYPE, true},
		{65535, 0, TYPE, false},
		{65536, 0, TYPE, true},
		{65540, 4, TYPE, false},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		uint32_t at = 0, size = 0;
		enum tapi_result result = TAPI_OK;

		message_make(i, heads[i].total);
		tapi_put16(tapi_put16(message, heads[i].size), heads[i].type);
		while (!result && (size = tapi_fragment_make(
					   part, 60000, i, message, heads[i].total, at, &at)))
			result = take(&all, size);
		assert_int_equal(result, heads[i].good ? TAPI_OK : TAPI_EFORMAT);
		assert_true(heads[i].good == (whole.message != NULL));
		free(whole.message);
	}
	assert_int_equal(pool.counters.conflict, 5);
}

static void what_does_not_become_whole_expires(void **state)
{
	(void)state;
	assert_int_equal(tapi_fragment_turn(&all, now_us), UINT64_MAX);
	give(&all, 1, 3000, 0, 1000);
	now_us += S;
	give(&all, 2, 3000, 0, 1000);
	now_us += S;
	give(&all, 1, 3000, 1000, 1000); // does not make it live longer
	assert_int_equal(tapi_fragment_turn(&all, now_us), 5 + EXPIRY);
	assert_int_equal(tapi_fragment_turn(&all, 4 + EXPIRY), 5 + EXPIRY);
	assert_int_equal(tapi_fragment_turn(&all, 5 + EXPIRY), 5 + S + EXPIRY);
	assert_true(all.count == 1 && pool.counters.expired == 1);
	now_us = 5 + S + EXPIRY; // the last part is too late
	give(&all, 2, 3000, 1000, 1000);
	assert_true(all.count == 1 && pool.counters.expired == 2);
	give(&all, 2, 3000, 2000, 1000);
	assert_null(whole.message);
}

static void a_lost_part_costs_its_own_message_only(void **state)
{
	(void)state;
	// By octets: the largest message, each time without its end, then one that is whole.
	for (uint32_t id = 1; id < 5; id++)
		assert_int_equal(give(&all, id, TAPI_MESSAGE_BYTES_MAX, 0, 60000), TAPI_OK);
	assert_true(all.count == 1 && pool.counters.dropped_full == 3);
	assert_int_equal(give(&all, 3, TAPI_MESSAGE_BYTES_MAX, 60000, 60000), TAPI_DROPPED);
	assert_int_equal(
		pool.counters.refused, 1); // late parts of an old one do not take its place
	for (uint32_t at = 60000; at < TAPI_MESSAGE_BYTES_MAX;) {
		uint32_t n =
			TAPI_MESSAGE_BYTES_MAX - at < 60000 ? TAPI_MESSAGE_BYTES_MAX - at : 60000;
		assert_int_equal(give(&all, 4, TAPI_MESSAGE_BYTES_MAX, at, n), TAPI_OK);
		at += n;
	}
	assert_whole(4, TAPI_MESSAGE_BYTES_MAX);
	// By number, across the wrap of the counter: the oldest goes, whatever came first.
	for (uint32_t i = 0; i < TAPI_ASSEMBLIES_MAX; i++)
		assert_int_equal(give(&all, UINT32_MAX - 3 + (i + 5) % 16, 300, 0, 100), TAPI_OK);
	assert_int_equal(give(&all, 20, 300, 0, 100), TAPI_OK);
	assert_int_equal(all.count, TAPI_ASSEMBLIES_MAX);
	give(&all, UINT32_MAX - 2, 300, 100, 200); // the second oldest is still there
	assert_whole(UINT32_MAX - 2, 300);
	assert_int_equal(give(&all, UINT32_MAX - 3, 300, 0, 100), TAPI_OK); // there is room again
	assert_int_equal(give(&all, UINT32_MAX - 4, 300, 0, 100), TAPI_DROPPED);
}

static void memory_is_taken_as_parts_come_and_not_as_totals_promise(void **state)
{
	(void)state;
	give(&all, 1, TAPI_MESSAGE_BYTES_MAX, 131072, 1);
	assert_in_range(pool.bytes, 1000, 4000);
	give(&all, 1, TAPI_MESSAGE_BYTES_MAX, 131071, 1);
	assert_in_range(pool.bytes, 2000, 5500);
}

static void where_memory_is_full_the_largest_peer_loses_its_oldest(void **state)
{
	struct tapi_assemblies small, late;

	(void)state;
	tapi_fragment_pool_init(&pool, 100000);
	tapi_assemblies_init(&small, &pool);
	tapi_assemblies_init(&late, &pool);
	give(&small, 1, 20000, 0, 10000);
	for (uint32_t id = 1; id <= 4; id++)
		assert_int_equal(give(&all, id, 20000, 0, 18000), TAPI_OK);
	assert_int_equal(all.count, 4);
	assert_int_equal(give(&late, 1, 20000, 0, 10000), TAPI_OK);
	assert_true(all.count == 3 && small.count == 1 && late.count == 1);
	assert_int_equal(pool.counters.dropped_full, 1);
	// The largest one itself gets nothing more, and a message that lost a part is given up.
	assert_int_equal(give(&all, 5, 20000, 0, 18000), TAPI_DROPPED);
	assert_int_equal(give(&all, 4, 20000, 10000, 10000), TAPI_OK);
	assert_whole(4, 20000);
	assert_true(all.count == 2 && small.count == 1 && late.count == 1);
	assert_true(pool.bytes <= pool.bytes_max);
	assert_int_equal(give(&small, 1, 20000, 10000, 10000), TAPI_OK);
	assert_whole(1, 20000);
	tapi_assemblies_clear(&late);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_part_is_as_the_wire_has_it, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_message_comes_whole_at_each_mtu_in_each_direction, setup, teardown),
		cmocka_unit_test_setup_teardown(
			the_same_octets_may_come_again_in_other_pieces, setup, teardown),
		cmocka_unit_test_setup_teardown(
			other_octets_for_a_place_discard_the_message, setup, teardown),
		cmocka_unit_test_setup_teardown(what_was_encrypted_keeps_its_crc, setup, teardown),
		cmocka_unit_test_setup_teardown(
			lengths_that_cannot_be_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_message_whose_own_head_says_otherwise_is_discarded, setup, teardown),
		cmocka_unit_test_setup_teardown(
			what_does_not_become_whole_expires, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_lost_part_costs_its_own_message_only, setup, teardown),
		cmocka_unit_test_setup_teardown(
			memory_is_taken_as_parts_come_and_not_as_totals_promise, setup, teardown),
		cmocka_unit_test_setup_teardown(
			where_memory_is_full_the_largest_peer_loses_its_oldest, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
