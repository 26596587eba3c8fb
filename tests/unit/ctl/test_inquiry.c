// SPDX-License-Identifier: BSD-3-Clause
// Questions to data lcores: the memory that a lcore may write to stays until it has answered, even
// when whoever asked has gone, or has been reported that there is no answer.
#include "control/cache/inquiry.h"

#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "lib/control/fake_control.h"
#include "pipeline/vocab/tick.h"

static uint64_t now;
static unsigned ends, pages;
static char failure[128];

static uint64_t clock_ns(void)
{
	return now;
}

// Nothing is left that could be cancelled, and the next question has its place.
static void on_end(void *ctx, const char *error)
{
	assert_null(*(struct inquiry **)ctx);
	ends++;
	strncpy(failure, error ? error : "", sizeof(failure) - 1);
}

static void on_page(void *ctx, unsigned lcore, const struct query *query, bool last)
{
	assert_non_null(*(struct inquiry **)ctx);
	(void)lcore;
	(void)query;
	(void)last;
	pages++;
}

struct stand {
	struct dataplane *dp;
	struct event_base *base;
	struct inquiries *inquiries;
};
static struct inquiry *asked;

static struct stand stand_asking(void)
{
	struct stand stand = {.dp = fake_dataplane_new(1, false), .base = event_base_new()};
	const struct inquiry_question question = {
		.type = QUERY_FLOWS, .page = on_page, .end = on_end, .ctx = &asked};

	now = NS_PER_S;
	ends = pages = 0;
	assert_int_equal(inquiries_new(stand.base, stand.dp, clock_ns, &stand.inquiries), 0);
	assert_int_equal(inquiry_start(stand.inquiries, &question, &asked), 0);
	assert_non_null(asked);
	assert_int_equal(inquiries_open(stand.inquiries), 1);
	return stand;
}

static void stand_free(struct stand *stand)
{
	inquiries_free(stand->inquiries);
	event_base_free(stand->base);
	fake_dataplane_free(stand->dp);
}

// Writes where it was told to, up to the last record.
static void answer(struct stand *stand)
{
	void *at;

	assert_int_equal(rte_ring_sc_dequeue(stand->dp->lcores[0]->queries, &at), 0);
	struct query *query = at;

	memset(query->out, 7, query->max * sizeof(struct flow_record));
	query->n = 1;
	atomic_store_explicit(&query->done, true, memory_order_release);
}

static void wait_for_the_timer(struct stand *stand)
{
	event_base_loop(stand->base, EVLOOP_ONCE);
}

static void an_answer_ends_it(void **state)
{
	struct stand stand = stand_asking();

	(void)state;
	wait_for_the_timer(&stand);
	assert_int_equal(ends, 0);
	answer(&stand);
	wait_for_the_timer(&stand);
	assert_int_equal(pages, 1);
	assert_int_equal(ends, 1);
	assert_string_equal(failure, "");
	assert_int_equal(inquiries_open(stand.inquiries), 0);
	stand_free(&stand);
}

static void who_asked_has_gone(void **state)
{
	struct stand stand = stand_asking();

	(void)state;
	inquiry_cancel(asked);
	assert_int_equal(inquiries_open(stand.inquiries), 1);
	answer(&stand);
	wait_for_the_timer(&stand);
	assert_int_equal(inquiries_open(stand.inquiries), 0);
	assert_int_equal(ends + pages, 0); // nobody is reported
	stand_free(&stand);
}

static void a_silent_lcore_is_told_of_once(void **state)
{
	struct stand stand = stand_asking();

	(void)state;
	now += INQUIRY_SILENCE_MS * NS_PER_MS;
	wait_for_the_timer(&stand);
	assert_int_equal(ends, 0);
	now += NS_PER_MS;
	wait_for_the_timer(&stand);
	assert_int_equal(ends, 1);
	assert_non_null(strstr(failure, "data lcore 0 does not answer"));
	assert_int_equal(inquiries_open(stand.inquiries), 1);
	answer(&stand);
	wait_for_the_timer(&stand);
	assert_int_equal(inquiries_open(stand.inquiries), 0);
	assert_int_equal(ends, 1);
	assert_int_equal(pages, 0);
	stand_free(&stand);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_ends_it),
		cmocka_unit_test(who_asked_has_gone),
		cmocka_unit_test(a_silent_lcore_is_told_of_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
