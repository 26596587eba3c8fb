// SPDX-License-Identifier: BSD-3-Clause
// What waits for a peer, and who gives way (TA16, TA29). In random order: model/model_tapi_queue.c.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "transportapi/core/queue.h"

#define NEVER UINT64_MAX
#define TYPE  77

static struct tapi_queue_pool pool;
static struct tapi_queue queue;
static uint8_t out[70000];

static int setup(void **state)
{
	(void)state;
	tapi_queue_pool_init(&pool, 1 << 20);
	tapi_queue_init(&queue, &pool, 8, 1000);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tapi_queue_clear(&queue);
	assert_int_equal(pool.bytes, 0);
	assert_null(tapi_memory_largest(&pool.share.memory));
	return 0;
}

// `length` octets of body, all `mark`.
static enum tapi_result put(
	struct tapi_queue *to, uint8_t mark, size_t length, unsigned priority, uint64_t deadline_us)
{
	uint8_t body[1000];

	assert_true(length <= sizeof(body));
	memset(body, mark, length);
	return tapi_queue_put(to, TYPE, body, length, priority, false, 0, deadline_us, 100);
}

// The marks of the messages of a batch, in their order.
static const char *marks(struct tapi_queue *of, uint32_t mtu, struct tapi_batch *batch)
{
	static char text[64];
	uint32_t size = tapi_queue_batch(of, out, mtu, 100, batch), at = 0;
	unsigned n = 0;

	assert_int_equal(size, batch->size);
	while (at < size) {
		assert_int_equal(out[at + 2] << 8 | out[at + 3], TYPE);
		assert_true(n + 1 < sizeof(text));
		text[n++] = (char)out[at + 4];
		at += (uint32_t)(out[at] << 8 | out[at + 1]);
	}
	assert_int_equal(at, size);
	assert_int_equal(n, batch->msgs);
	text[n] = 0;
	return text;
}

static void the_highest_first_and_in_one_as_they_came(void **state)
{
	struct tapi_batch batch;

	(void)state;
	put(&queue, 'd', 10, 1, NEVER);
	put(&queue, 'a', 10, 3, NEVER);
	put(&queue, 'e', 10, 1, NEVER);
	put(&queue, 'b', 10, 3, NEVER);
	put(&queue, 'f', 10, 0, NEVER);
	put(&queue, 'c', 10, 99, NEVER); // beyond the highest: the highest
	assert_string_equal(marks(&queue, 1000, &batch), "abcdef");
	assert_false(batch.full);
	assert_string_equal(marks(&queue, 1000, &batch), "abcdef"); // not taken: it is still there
	tapi_queue_sent(&queue, &batch);
	assert_string_equal(marks(&queue, 1000, &batch), "");
	assert_int_equal(queue.counters.taken, 6);
}

static void a_batch_is_at_most_the_mtu_and_says_when_it_is_full(void **state)
{
	struct tapi_batch batch;

	(void)state;
	for (char c = 'a'; c < 'e'; c++)
		put(&queue, (uint8_t)c, 26, 1, NEVER);
	assert_string_equal(marks(&queue, 120, &batch), "abcd");
	assert_true(batch.size == 120 && batch.full);
	assert_string_equal(marks(&queue, 119, &batch), "abc");
	assert_true(batch.full);
	assert_string_equal(marks(&queue, 123, &batch), "abcd"); // not even an empty one fits
	assert_true(batch.full);
	assert_string_equal(marks(&queue, 124, &batch), "abcd");
	assert_false(batch.full);
	put(&queue, 'z', 100, 3, NEVER); // no skipping: the order stands
	assert_string_equal(marks(&queue, 105, &batch), "z");
	assert_true(batch.full && !batch.too_long);
}

static void an_encrypted_message_goes_alone_with_its_crc(void **state)
{
	struct tapi_batch batch;

	(void)state;
	put(&queue, 'a', 10, 1, NEVER);
	assert_int_equal(
		tapi_queue_put(&queue, TYPE, "b", 1, 1, true, 0xfeedf00d, NEVER, 100), TAPI_OK);
	put(&queue, 'c', 10, 1, NEVER);
	assert_string_equal(marks(&queue, 1000, &batch), "a");
	assert_true(batch.full && !batch.is_encrypted);
	tapi_queue_sent(&queue, &batch);
	assert_string_equal(marks(&queue, 1000, &batch), "b");
	assert_true(batch.full && batch.is_encrypted);
	assert_int_equal(batch.crc, 0xfeedf00d);
	tapi_queue_sent(&queue, &batch);
	assert_string_equal(marks(&queue, 1000, &batch), "c");
	assert_false(batch.is_encrypted);
}

static void a_message_beyond_the_mtu_waits_for_fragments(void **state)
{
	struct tapi_batch batch;
	struct tapi_item *item;

	(void)state;
	put(&queue, 'a', 600, 2, NEVER);
	put(&queue, 'b', 10, 1, NEVER);
	assert_string_equal(marks(&queue, 603, &batch), "");
	item = batch.too_long;
	assert_non_null(item);
	assert_true(item->size == 604 && item->message[4] == 'a' && item->part_offset == 0);
	item->part_offset = 300; // the transport took that much
	put(&queue, 'c', 10, 3, NEVER);
	assert_string_equal(marks(&queue, 603, &batch), "c"); // before the rest of it
	assert_true(!batch.too_long && batch.full);
	tapi_queue_sent(&queue, &batch);
	assert_string_equal(marks(&queue, 603, &batch), "");
	assert_true(batch.too_long == item && item->part_offset == 300);
	tapi_queue_sent_parts(&queue, item);
	assert_int_equal(queue.counters.taken, 2);
	put(&queue, 'd', 600, 2, NEVER);
	marks(&queue, 603, &batch);
	tapi_queue_drop(&queue, batch.too_long);
	assert_int_equal(queue.counters.dropped_too_big, 1);
	assert_string_equal(marks(&queue, 603, &batch), "b");
}

static void a_message_beyond_its_own_size_field_travels_in_fragments_only(void **state)
{
	static uint8_t body[TAPI_MESSAGE_BYTES_MAX];
	static uint8_t wide[3 * UINT16_MAX];
	struct tapi_batch batch;

	(void)state;
	body[UINT16_MAX - 5] = 1;
	assert_int_equal(tapi_queue_put(&queue, TYPE, body, UINT16_MAX - 4, 1, false, 0, NEVER, 1),
		TAPI_OK); // alone it may be longer than the queue's octets
	assert_int_equal(tapi_queue_batch(&queue, wide, sizeof(wide), 1, &batch), UINT16_MAX);
	assert_int_equal(wide[0] << 8 | wide[1], UINT16_MAX);
	assert_int_equal(wide[UINT16_MAX - 1], 1);
	tapi_queue_sent(&queue, &batch);
	assert_int_equal(
		tapi_queue_put(&queue, TYPE, body, UINT16_MAX - 3, 1, false, 0, NEVER, 1), TAPI_OK);
	assert_int_equal(tapi_queue_batch(&queue, wide, sizeof(wide), 1, &batch), 0);
	assert_int_equal(batch.too_long->size, UINT16_MAX + 1);
	assert_memory_equal(batch.too_long->message, "\0\0\0M", 4);
	tapi_queue_sent_parts(&queue, batch.too_long);
	assert_int_equal(tapi_queue_put(&queue, TYPE, body, TAPI_MESSAGE_BYTES_MAX - 4, 1, false, 0,
				 NEVER, 1),
		TAPI_OK);
	assert_int_equal(queue.bytes, TAPI_MESSAGE_BYTES_MAX);
	assert_int_equal(tapi_queue_put(&queue, TYPE, body, TAPI_MESSAGE_BYTES_MAX - 3, 3, false, 0,
				 NEVER, 1),
		TAPI_ETOOBIG);
	assert_true(queue.msgs == 1 && queue.counters.dropped_too_big == 1);
}

static void what_is_past_its_deadline_is_not_sent(void **state)
{
	struct tapi_batch batch;

	(void)state;
	assert_true(tapi_queue_deadline(&queue) == NEVER && tapi_queue_oldest(&queue) == NEVER);
	put(&queue, 'a', 1, 1, 103);
	put(&queue, 'b', 1, 1, NEVER);
	put(&queue, 'c', 1, 1, 101);
	put(&queue, 'd', 1, 2, 102);
	assert_int_equal(tapi_queue_deadline(&queue), 101);
	assert_int_equal(tapi_queue_oldest(&queue), 100);
	assert_string_equal(marks(&queue, 1000, &batch), "dabc");
	assert_int_equal(tapi_queue_expire(&queue, 100), 0);
	assert_int_equal(tapi_queue_expire(&queue, 102), 2);
	assert_int_equal(tapi_queue_deadline(&queue), 103);
	assert_string_equal(marks(&queue, 1000, &batch), "ab");
	tapi_queue_batch(&queue, out, 1000, 103, &batch);
	assert_true(batch.msgs == 1 && out[4] == 'b');
	assert_int_equal(tapi_queue_deadline(&queue), NEVER);
	assert_int_equal(queue.counters.expired, 3);
	put(&queue, 'e', 1, 1, 99); // already past
	assert_string_equal(marks(&queue, 1000, &batch), "b");
}

static void deadlines_come_in_order_out_of_a_long_queue(void **state)
{
	enum { N = 1000 };
	uint64_t before = 0;

	(void)state;
	tapi_queue_init(&queue, &pool, N, 1 << 20);
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(put(&queue, 'x', 1, i % 4, 1000 + i * 7919 % N), TAPI_OK);
	for (unsigned i = 0; i < N; i++) {
		uint64_t first = tapi_queue_deadline(&queue);

		assert_true(first > before);
		assert_int_equal(tapi_queue_expire(&queue, first - 1), 0);
		assert_int_equal(tapi_queue_expire(&queue, first), 1);
		before = first;
	}
	assert_int_equal(queue.msgs, 0);
}

static void in_a_full_queue_lower_priorities_give_way(void **state)
{
	struct tapi_batch batch;

	(void)state;
	for (char c = 'a'; c < 'i'; c++)
		assert_int_equal(put(&queue, (uint8_t)c, 1,
					 c < 'd'   ? 0
					 : c < 'f' ? 1
						   : 2,
					 NEVER),
			TAPI_OK);
	assert_int_equal(put(&queue, 'n', 1, 0, NEVER), TAPI_DROPPED);
	assert_string_equal(marks(&queue, 1000, &batch), "fghdeabc");
	assert_int_equal(put(&queue, 'i', 1, 1, NEVER), TAPI_OK); // in the place of the oldest
	assert_string_equal(marks(&queue, 1000, &batch), "fghdeibc");
	for (char c = 'j'; c < 'o'; c++)
		assert_int_equal(put(&queue, (uint8_t)c, 1, 3, NEVER), TAPI_OK);
	assert_string_equal(marks(&queue, 1000, &batch), "jklmnfgh");
	assert_int_equal(put(&queue, 'o', 1, 2, NEVER), TAPI_DROPPED);
	assert_int_equal(queue.counters.dropped_full, 8);
	assert_int_equal(queue.counters.queued, 16);
}

static void octets_bound_it_too_and_a_refusal_costs_nothing(void **state)
{
	struct tapi_batch batch;

	(void)state;
	put(&queue, 'a', 296, 0, NEVER);
	put(&queue, 'b', 296, 0, NEVER);
	put(&queue, 'c', 296, 2, NEVER);
	assert_int_equal(put(&queue, 'd', 97, 0, NEVER), TAPI_DROPPED); // 1001
	assert_int_equal(put(&queue, 'd', 96, 0, NEVER), TAPI_OK);
	// All lower ones together would not make room: none goes.
	assert_int_equal(put(&queue, 'e', 697, 1, NEVER), TAPI_DROPPED);
	assert_string_equal(marks(&queue, 2000, &batch), "cabd");
	assert_int_equal(put(&queue, 'e', 696, 1, NEVER), TAPI_OK);
	assert_string_equal(marks(&queue, 2000, &batch), "ce");
	assert_int_equal(queue.bytes, 1000);
}

static void where_memory_is_full_the_largest_holder_gives_way(void **state)
{
	struct tapi_queue many[3];
	struct tapi_batch batch;
	uint64_t each = TAPI_ITEM_EXTRA_BYTES + 4 + 500;

	(void)state;
	tapi_queue_pool_init(&pool, 9 * each);
	for (unsigned i = 0; i < 3; i++)
		tapi_queue_init(&many[i], &pool, 64, 1 << 20);
	for (char c = 'a'; c < 'g'; c++) // six, the first of the highest priority
		put(&many[0], (uint8_t)c, 500, c == 'a' ? 3 : c == 'f' ? 0 : 1, NEVER);
	put(&many[1], 'x', 500, 3, NEVER);
	put(&many[1], 'y', 500, 0, NEVER);
	put(&many[1], 'z', 500, 0, NEVER);
	assert_int_equal(pool.bytes, pool.bytes_max);
	// Whoever holds most and wants more gives way itself.
	assert_int_equal(put(&many[0], 'h', 500, 0, NEVER), TAPI_DROPPED);
	assert_int_equal(many[0].counters.dropped_pool, 1);
	assert_int_equal(put(&many[0], 'h', 500, 1, NEVER), TAPI_OK);
	assert_string_equal(marks(&many[0], 9000, &batch), "abcdeh");
	// Another takes from it, whatever the priorities: lowest first, oldest first.
	assert_int_equal(put(&many[2], 'm', 500, 0, NEVER), TAPI_OK);
	assert_string_equal(marks(&many[0], 9000, &batch), "acdeh");
	assert_int_equal(put(&many[2], 'n', 500, 0, NEVER), TAPI_OK);
	assert_string_equal(marks(&many[0], 9000, &batch), "adeh");
	assert_string_equal(marks(&many[1], 9000, &batch), "xyz");
	// Nobody holds more than it would: it is refused, and nobody has lost anything.
	assert_int_equal(put(&many[1], 'q', 500, 0, NEVER), TAPI_DROPPED);
	assert_int_equal(many[1].counters.dropped_pool, 1);
	assert_string_equal(marks(&many[0], 9000, &batch), "adeh");
	assert_true(pool.bytes <= pool.bytes_max);
	assert_int_equal(pool.counters.dropped_pool, 5);
	for (unsigned i = 0; i < 3; i++)
		tapi_queue_clear(&many[i]);
	assert_int_equal(pool.bytes, 0);
	assert_int_equal(
		pool.counters.queued, pool.counters.dropped_pool + pool.counters.dropped_forgotten);
}

// A walk over all holders would take a thousand times as long with 20,000 as with 20.
static double seconds_of_drops(unsigned n)
{
	struct tapi_queue *all = calloc(n, sizeof(*all));
	const unsigned rounds = 20000;
	struct timespec from, to;

	assert_non_null(all);
	tapi_queue_pool_init(&pool, (n + 2 * rounds) * (TAPI_ITEM_EXTRA_BYTES + 14));
	for (unsigned i = 0; i < n; i++) {
		tapi_queue_init(&all[i], &pool, 1 << 20, UINT32_MAX);
		put(&all[i], 'x', 10, 1, NEVER);
	}
	while (put(&all[0], 'x', 10, 1, NEVER) == TAPI_OK)
		;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	for (unsigned i = 0; i < rounds; i++)
		assert_int_equal(put(&all[1 + i % (n - 1)], 'y', 10, 0, NEVER), TAPI_OK);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	assert_true(pool.counters.dropped_pool >= rounds);
	for (unsigned i = 0; i < n; i++)
		tapi_queue_clear(&all[i]);
	free(all);
	return (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) * 1e-9;
}

static void the_largest_of_twenty_thousand_is_found_at_once(void **state)
{
	double few, many;

	(void)state;
	few = seconds_of_drops(20);
	many = seconds_of_drops(20000);
	print_message(
		"20,000 puts into a full pool: %.0f ns each with 20 peers, %.0f with 20,000\n",
		few * 50000, many * 50000);
	assert_true(many < 30 * few + 0.05);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			the_highest_first_and_in_one_as_they_came, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_batch_is_at_most_the_mtu_and_says_when_it_is_full, setup, teardown),
		cmocka_unit_test_setup_teardown(
			an_encrypted_message_goes_alone_with_its_crc, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_message_beyond_the_mtu_waits_for_fragments, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_message_beyond_its_own_size_field_travels_in_fragments_only, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			what_is_past_its_deadline_is_not_sent, setup, teardown),
		cmocka_unit_test_setup_teardown(
			deadlines_come_in_order_out_of_a_long_queue, setup, teardown),
		cmocka_unit_test_setup_teardown(
			in_a_full_queue_lower_priorities_give_way, setup, teardown),
		cmocka_unit_test_setup_teardown(
			octets_bound_it_too_and_a_refusal_costs_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(
			where_memory_is_full_the_largest_holder_gives_way, setup, teardown),
		cmocka_unit_test_setup_teardown(
			the_largest_of_twenty_thousand_is_found_at_once, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
