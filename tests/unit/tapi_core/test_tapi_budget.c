// SPDX-License-Identifier: BSD-3-Clause
// One budget over queues, fragments and others (TA29): who holds most of all gives way, and nobody
// for one who would then hold more.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

#include "transportapi/core/queue.h"
#include "transportapi/base/wire.h"

#define NEVER UINT64_MAX

static struct tapi_budget budget;
static struct tapi_queue_pool queues;
static struct tapi_fragment_pool fragments;
static struct tapi_queue queue, other;
static struct tapi_assemblies assemblies;

static int setup(void **state)
{
	(void)state;
	tapi_budget_init(&budget, 10000);
	tapi_queue_pool_init(&queues, 1 << 20);
	tapi_queue_pool_join(&queues, &budget);
	tapi_fragment_pool_init(&fragments, 1 << 20);
	tapi_fragment_pool_join(&fragments, &budget);
	tapi_queue_init(&queue, &queues, 1000, 1 << 20);
	tapi_queue_init(&other, &queues, 1000, 1 << 20);
	tapi_assemblies_init(&assemblies, &fragments);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tapi_queue_clear(&queue);
	tapi_queue_clear(&other);
	tapi_assemblies_clear(&assemblies);
	assert_int_equal(budget.bytes, 0);
	return 0;
}

static enum tapi_result put(struct tapi_queue *to, size_t length, unsigned priority)
{
	static const uint8_t body[70000];

	return tapi_queue_put(to, 77, body, length, priority, false, 0, NEVER, 100);
}

// The first `length` octets of a message of `total`.
static enum tapi_result part(uint32_t id, uint32_t total, uint32_t length)
{
	uint8_t message[20000] = {0}, out[20000];
	struct tapi_whole whole;
	uint32_t size, next;
	enum tapi_result result;

	tapi_put16(message, (uint16_t)total);
	tapi_put16(&message[2], 77);
	size = tapi_fragment_make(
		out, length + TAPI_FRAGMENT_HEAD_BYTES, id, message, total, 0, &next);
	result = tapi_fragment_take(&assemblies, out, size, false, 0, 100, 1000, &whole);
	assert_null(whole.message);
	return result;
}

static void both_are_in_the_sum(void **state)
{
	uint64_t before;

	(void)state;
	assert_int_equal(put(&queue, 1000, 0), TAPI_OK);
	assert_int_equal(budget.bytes, queues.bytes);
	before = budget.bytes;
	assert_int_equal(part(1, 3000, 1000), TAPI_OK);
	assert_int_equal(budget.bytes, queues.bytes + fragments.bytes);
	assert_true(budget.bytes > before);
}

static void the_largest_of_all_gives_way(void **state)
{
	(void)state;
	assert_int_equal(part(1, 9000, 6000), TAPI_OK); // some 7 KiB: most
	assert_int_equal(put(&queue, 2000, 0), TAPI_OK);
	assert_int_equal(put(&other, 2000, 0), TAPI_OK); // no room beside the message in parts
	assert_int_equal(queue.msgs, 1);
	assert_int_equal(other.msgs, 1);
	assert_int_equal(assemblies.count, 0);
	assert_int_equal(fragments.counters.dropped_full, 1);
	// and the other way round
	assert_int_equal(put(&queue, 2000, 0), TAPI_OK);
	assert_int_equal(put(&queue, 2000, 0), TAPI_OK);
	assert_int_equal(part(2, 5000, 3000), TAPI_OK);
	assert_int_equal(assemblies.count, 1);
	assert_true(queues.counters.dropped_pool > 0);
	assert_int_equal(other.msgs, 1);
	assert_true(budget.bytes <= budget.bytes_max);
}

static void who_would_hold_most_is_refused(void **state)
{
	(void)state;
	assert_int_equal(put(&queue, 4000, 1), TAPI_OK);
	assert_int_equal(put(&other, 4000, 1), TAPI_OK);
	assert_int_equal(put(&queue, 4000, 1), TAPI_DROPPED);
	assert_int_equal(part(1, 9000, 8000), TAPI_DROPPED);
	assert_int_equal(put(&queue, 20000, 3), TAPI_DROPPED); // more than all
	assert_int_equal(queue.msgs, 1);
	assert_int_equal(other.msgs, 1);
	assert_int_equal(queues.counters.dropped_pool, 2);
}

static void its_own_of_lower_priority_give_way(void **state)
{
	(void)state;
	assert_int_equal(put(&queue, 4000, 0), TAPI_OK);
	assert_int_equal(put(&queue, 4000, 1), TAPI_OK);
	assert_int_equal(put(&queue, 4000, 2), TAPI_OK);
	assert_int_equal(queue.msgs, 2);
	assert_int_equal(queue.msgs_of[0], 0);
	assert_true(budget.bytes <= budget.bytes_max);
}

static void a_lower_bound_cuts_at_once(void **state)
{
	(void)state;
	assert_int_equal(part(1, 5000, 3000), TAPI_OK);
	assert_int_equal(put(&queue, 500, 0), TAPI_OK);
	assert_int_equal(put(&other, 1000, 0), TAPI_OK);
	budget.bytes_max = 1000;
	tapi_budget_fit(&budget);
	assert_int_equal(assemblies.count, 0);
	assert_int_equal(other.msgs, 0);
	assert_int_equal(queue.msgs, 1);
}

// RLIMIT_NOFILE, less what is open and a reserve; sessions of ours are not counted twice.
static void descriptors_are_counted(void **state)
{
	struct rlimit before, set;
	uint64_t limit;
	uint32_t open, again;
	int fds[8];

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	set = before;
	set.rlim_cur = 200;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &set), 0);
	tapi_budget_descriptors(&budget, &limit, &open);
	assert_int_equal(limit, 200);
	assert_in_range(open, 3, 100);
	assert_int_equal(budget.descriptors_max, 200 - 16 - 200 / 16 - open);
	for (unsigned i = 0; i < 8; i++) {
		fds[i] = dup(0);
		assert_true(fds[i] >= 0);
	}
	budget.descriptors = 5; // of the 8
	tapi_budget_descriptors(&budget, &limit, &again);
	assert_int_equal(again, open + 8);
	assert_int_equal(budget.descriptors_max, 200 - 16 - 200 / 16 - open - 3);
	for (unsigned i = 0; i < 8; i++)
		close(fds[i]);
	set.rlim_cur = 12; // less than the reserve
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &set), 0);
	tapi_budget_descriptors(&budget, &limit, &open);
	assert_int_equal(budget.descriptors_max, 4);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(both_are_in_the_sum),
		TEST(the_largest_of_all_gives_way),
		TEST(who_would_hold_most_is_refused),
		TEST(its_own_of_lower_priority_give_way),
		TEST(a_lower_bound_cuts_at_once),
		TEST(descriptors_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
