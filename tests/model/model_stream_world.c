// SPDX-License-Identifier: BSD-3-Clause
// The test of the streams' model: it finds nothing in a small gateway that keeps the law, and each
// of its mutations. SLUICE_SEED=N runs that schedule alone.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include "stream_campaign.h"
#include "stream_fake.h"

static void a_gateway_that_keeps_the_law_passes(void **state)
{
	const char *one = getenv("SLUICE_SEED");
	const struct stream_campaign campaign = {
		.name = "plain gateway",
		.first = one ? strtoull(one, NULL, 0) : 1,
		.n = one ? 1 : 20000,
	};
	const struct stream_gateway gateway = stream_fake(FAKE_RIGHT);
	(void)state;

	assert_true(stream_campaign_run(&gateway, &campaign));
}

static void every_mutation_of_it_is_found(void **state)
{
	const struct stream_campaign campaign = {.name = "mutation", .first = 1, .n = 5000};
	static struct stream_schedule schedule;
	char why[300];
	(void)state;

	for (enum fake_mutation mutation = FAKE_RIGHT + 1; mutation < FAKE_MUTATIONS; mutation++) {
		const struct stream_gateway gateway = stream_fake(mutation);
		uint64_t seed =
			stream_campaign_find(&gateway, &campaign, &schedule, why, sizeof(why));

		if (!seed)
			fail_msg("mutation %u is not found", (unsigned)mutation);
		printf("mutation %u: seed %llu, cut down to %u operations: %s\n",
			(unsigned)mutation, (unsigned long long)seed, schedule.n_ops, why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gateway_that_keeps_the_law_passes),
		cmocka_unit_test(every_mutation_of_it_is_found),
	};

	return cmocka_run_group_tests_name("model_stream_world", tests, NULL, NULL);
}
