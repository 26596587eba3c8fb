// SPDX-License-Identifier: BSD-3-Clause
// 100,000 forged packets a second beside honest traffic, at the limits that are shipped: of each
// kind that makes state, from random sources, of one /64 and with the victim's own address, from
// inside and from outside. Of new honest connections 99 % succeed at the first try and are
// recognised, established ones lose nothing, and 60 s after the flood every pool, table, cache and
// hash chain is where it is without a flood. SLUICE_LONG=1: longer slices.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include "lib/peers/forged.h"
#include "lib/peers/storm.h"

#define ANY_KIND FORGED_KINDS_MAX

struct forger {
	unsigned kind; // enum forged_kind, ANY_KIND
	enum forged_source source;
	bool from_outside;
};

static void forge(struct pipe *pipe, const void *how)
{
	const struct forger *forger = how;

	forged_run(pipe,
		forger->kind == ANY_KIND ? forged_random() % FORGED_KINDS_MAX : forger->kind,
		forger->source, forger->from_outside);
}

static struct pipe *gateway(void)
{
	struct pipe *pipe = pipe_new(1, &storm_limits);
	struct policy *policy = pipe_policy(pipe);

	pipe_signatures(pipe, storm_rig->db);
	policy_free(policy);
	policy = pipe_policy(pipe);
	pipe_rule_app(policy, 1, ACTION_DROP, "bittorrent");
	pipe_publish(pipe, policy);
	return pipe;
}

// `forger` NULL: the honest alone.
static struct storm_level storm(struct storm *storm, struct forger *forger, double longest)
{
	storm_forge *by = forger ? forge : NULL;
	struct forger any = forger ? *forger : (struct forger){0}, one = any;
	double seconds = getenv("SLUICE_LONG") ? 10 : 0.3;

	any.kind = ANY_KIND;
	storm_begin(storm, gateway());
	for (one.kind = 0; one.kind < FORGED_KINDS_MAX; one.kind++)
		storm_flood(storm, by, &one,
			one.kind == FORGED_UDP_ONE || one.kind == FORGED_SYN
				? RTE_MAX(seconds, longest)
				: seconds);
	storm_end_openings(storm);
	storm_rest(storm, by, &any);
	one.kind = FORGED_ONE_BYTE;
	storm_flood(storm, by, &one, seconds);
	storm_say_all(storm);
	storm_end_openings(storm);
	storm_calm(storm);
	return storm_look(storm->pipe);
}

static void storm_with(enum forged_source source, bool from_outside, double longest)
{
	static struct storm_level quiet[2];
	static bool is_known[2];
	struct forger forger = {.source = source, .from_outside = from_outside};
	struct storm flooded, honest;
	char what[64];

	if (!is_known[longest > 0]) {
		quiet[longest > 0] = storm(&honest, NULL, longest);
		assert_int_equal(honest.succeeded, honest.begun);
		pipe_free(honest.pipe);
		is_known[longest > 0] = true;
	}
	struct storm_level after = storm(&flooded, &forger, longest);

	snprintf(what, sizeof(what), "%s, from %s", forged_sources[source],
		from_outside ? "outside" : "inside");
	storm_report(&flooded, what);
	pipe_free(flooded.pipe);
	storm_assert_honest(&flooded);
	assert_int_equal(storm_above(&after, &quiet[longest > 0]), 0);
}

#define STORM(name, source, from_outside, longest)         \
	static void name(void **state)                     \
	{                                                  \
		(void)state;                               \
		storm_with(source, from_outside, longest); \
	}
STORM(random_sources_from_inside, FORGED_ANY, false, 0)
STORM(random_sources_from_outside, FORGED_ANY, true, 6)
STORM(one_prefix_from_inside, FORGED_ONE_64, false, 0)
STORM(one_prefix_from_outside, FORGED_ONE_64, true, 0)
STORM(the_victims_address_from_inside, FORGED_VICTIM, false, 0)
STORM(the_victims_address_from_outside, FORGED_VICTIM, true, 0)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_sources_from_inside),
		cmocka_unit_test(random_sources_from_outside),
		cmocka_unit_test(one_prefix_from_inside),
		cmocka_unit_test(one_prefix_from_outside),
		cmocka_unit_test(the_victims_address_from_inside),
		cmocka_unit_test(the_victims_address_from_outside),
	};

	return cmocka_run_group_tests(tests, storm_prepare, storm_done);
}
