// SPDX-License-Identifier: BSD-3-Clause
// The packet path against the streams' model. SLUICE_SEED=N runs that schedule alone, SLUICE_LONG=1
// many times as many, SLUICE_SCHEDULES=N so many (from SLUICE_SEED on, where that is given, too).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include "stream_campaign.h"
#include "stream_pipe.h"

#if defined(__SANITIZE_ADDRESS__)
#define SCHEDULES 10000
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SCHEDULES 10000
#endif
#endif
#ifndef SCHEDULES
#define SCHEDULES 100000
#endif
#define LONG_TIMES 50

static void run(const char *name, uint64_t n, bool observe, enum stream_pipe_edits edits)
{
	const char *one = getenv("SLUICE_SEED"), *many = getenv("SLUICE_SCHEDULES");
	const struct stream_gateway gateway = stream_pipe_editing(edits);
	struct stream_campaign campaign = {.name = name,
		.first = 1,
		.n = getenv("SLUICE_LONG") ? n * LONG_TIMES : n,
		.observe = observe};

	if (one) {
		campaign.first = strtoull(one, NULL, 0);
		campaign.n = 1;
	}
	if (many)
		campaign.n = strtoull(many, NULL, 0);
	assert_true(stream_campaign_run(&gateway, &campaign));
}

static void what_is_delivered_was_inspected(void **state)
{
	(void)state;
	run("enforced", SCHEDULES, false, STREAM_PIPE_NO_EDITS);
}

static void what_is_observed_leaves_as_it_came(void **state)
{
	(void)state;
	run("observed", SCHEDULES / 5, true, STREAM_PIPE_NO_EDITS);
}

// What a consumer has edited leaves edited, whatever comes again.
static void what_is_edited_is_delivered_so(void **state)
{
	(void)state;
	run("edited", SCHEDULES / 4, false, STREAM_PIPE_EDITS);
}

static void fast_pass_may_come_and_go(void **state)
{
	(void)state;
	run("edited at times", SCHEDULES / 4, false, STREAM_PIPE_EDITS_AT_TIMES);
}

static void an_edit_is_observed_by_nobody(void **state)
{
	(void)state;
	run("edited and observed", SCHEDULES / 50, true, STREAM_PIPE_EDITS);
}

// What may complete a file waits behind a gate, and leaves in order when that moves.
static void nothing_leaves_behind_a_gate(void **state)
{
	(void)state;
	run("gated", SCHEDULES / 2, false, STREAM_PIPE_GATES);
}

static int free_all(void **state)
{
	(void)state;
	stream_pipe_free();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_delivered_was_inspected),
		cmocka_unit_test(what_is_observed_leaves_as_it_came),
		cmocka_unit_test(what_is_edited_is_delivered_so),
		cmocka_unit_test(fast_pass_may_come_and_go),
		cmocka_unit_test(an_edit_is_observed_by_nobody),
		cmocka_unit_test(nothing_leaves_behind_a_gate),
	};

	return cmocka_run_group_tests_name("model_stream", tests, NULL, free_all);
}
