// SPDX-License-Identifier: BSD-3-Clause
// The tracker, broken on purpose (app/reassembly/mutation.h): the streams' model finds each way
// within the seeds that model_stream.c runs, and says how.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>
#include "pipeline/flow/states.h"
#include "reassembly/mutation.h"
#include "stream_campaign.h"
#include "stream_pipe.h"

static const char *const names[TRACK_MUTATIONS] = {
	[MUTATION_NO_COMPARE] = "what comes again is taken for the same",
	[MUTATION_TAIL] = "the last byte of what comes again is not compared",
	[MUTATION_COPIES] = "copies behind a hole are not inspected",
	[MUTATION_OVERTAKEN] = "what is held is overtaken",
	[MUTATION_FORGOTTEN] = "what was sent is not kept until it is acknowledged",
	[MUTATION_WRAP] = "numbers do not wrap",
	[MUTATION_RESET] = "a RST ends inspection",
};

// A broken tracker asks for steps that no flow's life has, and an assertion would find it. While
// one is broken nothing is done instead, and the streams have to show it.
enum flow_life __real_flow_life_move(enum flow_life from, enum flow_step step, uint16_t *flags);
enum flow_life __wrap_flow_life_move(enum flow_life from, enum flow_step step, uint16_t *flags);

enum flow_life __wrap_flow_life_move(enum flow_life from, enum flow_step step, uint16_t *flags)
{
	return track_mutation != MUTATION_NONE && flow_life_next(from, step) == FLOW_LIFE_MAX
		       ? from
		       : __real_flow_life_move(from, step, flags);
}

static void every_mutation_is_found(void **state)
{
	const struct stream_gateway gateway = stream_pipe();
	const struct stream_campaign campaign = {.name = "mutation", .first = 1, .n = 100000};
	static struct stream_schedule schedule;
	char why[300];
	(void)state;

	for (unsigned i = MUTATION_NONE + 1; i < TRACK_MUTATIONS; i++) {
		track_mutation = i;
		uint64_t seed =
			stream_campaign_find(&gateway, &campaign, &schedule, why, sizeof(why));

		track_mutation = MUTATION_NONE;
		if (!seed)
			fail_msg("mutation %u is not found: %s", i, names[i]);
		fprintf(stderr, "%s: seed %llu: %s\n", names[i], (unsigned long long)seed, why);
		stream_schedule_print(&schedule);
	}
}

static int free_all(void **state)
{
	(void)state;
	stream_pipe_free();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_mutation_is_found)};

	return cmocka_run_group_tests_name("model_stream_mutations", tests, NULL, free_all);
}
