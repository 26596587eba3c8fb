// SPDX-License-Identifier: BSD-3-Clause
// 100,000 forged packets a second beside honest traffic, at the limits that are shipped: of each
// kind that makes state, from random sources, of one /64 and with the victim's own address, from
// inside and from outside. Of new honest connections 99 % succeed at the first try and are
// recognised, established ones lose nothing, and 60 s after the flood every pool is back where it
// was. SLUICE_LONG=1: longer slices.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "../lib/classify_rig.h"
#include "../lib/forged.h"
#include "../lib/honest.h"
#include "flow_table.h"
#include "gateway.h"
#include "run_limits.h"

#define STEP_NS     (100 * NS_PER_US) // ten forged packets
#define STEP_PKTS   10
#define RTT_STEPS   100 // between two packets of a new connection: 10 ms
#define NEW_EVERY   50  // steps: 200 connections a second
#define SAY_EVERY   200 // steps between packets of the established: 20 ms
#define OPEN_MAX    1024
#define CALM_S      60
#define IDLE_S      600
#define KEEPALIVE_S 30

static struct rig *rig; // the repository's signatures
static struct lcore_limits limits;

struct quiet { // what pools hold
	uint64_t flows, embryos, states, tracked, blocks, fragments, expectations, names, cache;
};

struct trial {
	struct pipe *pipe;
	struct honest open[OPEN_MAX]; // on their way
	uint64_t due[OPEN_MAX];       // step of their next packet
	unsigned n_open;
	struct honest lasting[HONEST_KINDS_MAX];
	uint64_t step;
	uint16_t sport;
	unsigned begun, succeeded, said, lost, rested_lost;
	unsigned failed[HONEST_KINDS_MAX];
};

static struct quiet look(const struct pipe *pipe)
{
	struct stats stats = pipe_stats(pipe);
	const struct classifier *classifier = pipe->dp.lcores[0]->classifier;

	return (struct quiet){
		.flows = stats.flows_active,
		.embryos = stats.embryos_active -
			   pipe->dp.lcores[0]->flows->lru[FLOW_CLASS_CONDEMNED].n,
		.states = classifier_states_max(classifier) - classifier_states_free(classifier),
		.tracked = stats.tracked_active,
		.blocks = stats.slab_blocks_used,
		.fragments = stats.fragments_held,
		.expectations = stats.expectations_active,
		.names = stats.names_active,
		.cache = stats.cache_entries,
	};
}

static void events_away(struct pipe *pipe)
{
	struct event event;

	while (pipe_event(pipe, 0, EVENT_TRACE, &event))
		;
}

static void pass_time(struct trial *trial, double seconds, double each)
{
	for (double t = 0; t < seconds; t += each) {
		pipe_advance(trial->pipe, each);
		trial->pipe->n_sent = 0;
		events_away(trial->pipe);
	}
}

static void begin(struct trial *trial)
{
	assert_true(trial->n_open < OPEN_MAX);
	enum honest_kind kind = trial->begun % HONEST_KINDS_MAX;
	uint32_t client = trial->begun / HONEST_KINDS_MAX % 2 ? FORGED_VICTIM_CLIENT : 30;

	trial->due[trial->n_open] = trial->step;
	trial->open[trial->n_open++] = honest_new(kind, client, ++trial->sport);
	trial->begun++;
}

static void over(struct trial *trial, unsigned i)
{
	struct honest *honest = &trial->open[i];

	if (!honest->lost && honest_known(trial->pipe, honest))
		trial->succeeded++;
	else
		trial->failed[honest->kind]++;
	trial->n_open--;
	trial->open[i] = trial->open[trial->n_open];
	trial->due[i] = trial->due[trial->n_open];
}

static void go_on(struct trial *trial)
{
	for (unsigned i = 0; i < trial->n_open;) {
		if (trial->due[i] > trial->step) {
			i++;
			continue;
		}
		trial->due[i] = trial->step + RTT_STEPS;
		if (honest_step(trial->pipe, &trial->open[i]))
			i++;
		else
			over(trial, i);
	}
}

static void say_all(struct trial *trial)
{
	for (unsigned i = 0; i < HONEST_KINDS_MAX; i++)
		for (unsigned back = 0; back < 2; back++, trial->said++)
			trial->lost += !honest_say(trial->pipe, &trial->lasting[i], back);
}

static void flood(struct trial *trial, enum forged_kind kind, enum forged_source source,
	bool from_outside, double seconds)
{
	uint64_t end = trial->step + (uint64_t)(seconds * 1e9) / STEP_NS;

	for (; trial->step < end; trial->step++) {
		for (unsigned i = 0; i < STEP_PKTS; i++)
			forged_run(trial->pipe, kind, source, from_outside);
		trial->pipe->now_ns += STEP_NS;
		pipe_turns(trial->pipe);
		trial->pipe->n_sent = 0;
		if (trial->step % NEW_EVERY == 0)
			begin(trial);
		go_on(trial);
		if (trial->step % SAY_EVERY == 0)
			say_all(trial);
		events_away(trial->pipe);
	}
}

static void end_openings(struct trial *trial)
{
	while (trial->n_open) {
		trial->step++;
		go_on(trial);
		pipe_advance(trial->pipe, 1e-4);
		trial->pipe->n_sent = 0;
	}
}

// SSH rests and SIP keeps alive, while the flood is thin.
static void rest(struct trial *trial, enum forged_source source, bool from_outside)
{
	for (unsigned second = 0; second < IDLE_S; second++) {
		for (unsigned i = 0; i < 100; i++)
			forged_run(trial->pipe, forged_random() % FORGED_KINDS_MAX, source,
				from_outside);
		pass_time(trial, 1, 0.05);
		if (second % KEEPALIVE_S == KEEPALIVE_S - 1)
			for (unsigned back = 0; back < 2; back++, trial->said++)
				trial->lost +=
					!honest_say(trial->pipe, &trial->lasting[HONEST_SIP], back);
	}
}

static struct pipe *gateway(void)
{
	struct pipe *pipe = pipe_new(1, &limits);
	struct policy *policy = pipe_policy(pipe);

	pipe_signatures(pipe, rig->db);
	policy_free(policy);
	policy = pipe_policy(pipe);
	pipe_rule_app(policy, 1, ACTION_DROP, "bittorrent");
	pipe_publish(pipe, policy);
	return pipe;
}

static void establish(struct trial *trial)
{
	for (unsigned i = 0; i < HONEST_KINDS_MAX; i++) {
		trial->lasting[i] = honest_new(i, 20, (uint16_t)(50000 + i));
		while (honest_step(trial->pipe, &trial->lasting[i]))
			pass_time(trial, 0.01, 0.01);
		assert_int_equal(trial->lasting[i].lost, 0);
		assert_true(honest_known(trial->pipe, &trial->lasting[i]));
	}
	say_all(trial);
	pass_time(trial, 1, 0.01);
}

// The honest have flows still; nothing of theirs waits for anything.
static bool is_calm(const struct trial *trial, struct quiet before)
{
	struct quiet after = look(trial->pipe);

	print_message("  %u s later: %llu flows, %llu embryos, %llu states, %llu tracked, %llu "
		      "blocks, %llu fragments, %llu expectations\n",
		CALM_S, (unsigned long long)after.flows, (unsigned long long)after.embryos,
		(unsigned long long)after.states, (unsigned long long)after.tracked,
		(unsigned long long)after.blocks, (unsigned long long)after.fragments,
		(unsigned long long)after.expectations);
	return after.flows <= before.flows + trial->begun + HONEST_KINDS_MAX &&
	       after.embryos <= before.embryos && after.states <= before.states &&
	       after.tracked <= before.tracked + trial->begun / 10 &&
	       after.blocks <= before.blocks + trial->begun / 10 && !after.fragments &&
	       after.expectations <= before.expectations;
}

static void report(const struct trial *trial, enum forged_source source, bool from_outside)
{
	struct stats stats = pipe_stats(trial->pipe);

	print_message("%s, from %s: %u of %u new connections, %u of %u packets of the established "
		      "lost; %llu entries evicted; failed:",
		forged_sources[source], from_outside ? "outside" : "inside", trial->succeeded,
		trial->begun, trial->lost, trial->said, (unsigned long long)stats.flows_evicted);
	for (unsigned i = 0; i < HONEST_KINDS_MAX; i++)
		print_message(" %s %u", honest_words[i], trial->failed[i]);
	print_message("\n");
}

static void storm(enum forged_source source, bool from_outside, double longest)
{
	struct trial trial = {.pipe = gateway(), .sport = 1024};
	double seconds = getenv("SLUICE_LONG") ? 10 : 0.3;
	struct quiet before;

	pass_time(&trial, 61, 0.5); // the grace of a new gateway
	before = look(trial.pipe);
	establish(&trial);
	for (unsigned kind = 0; kind < FORGED_KINDS_MAX; kind++)
		flood(&trial, kind, source, from_outside,
			kind == FORGED_UDP_ONE || kind == FORGED_SYN ? RTE_MAX(seconds, longest)
								     : seconds);
	end_openings(&trial);
	rest(&trial, source, from_outside);
	flood(&trial, FORGED_ONE_BYTE, source, from_outside, seconds);
	say_all(&trial);
	end_openings(&trial);
	report(&trial, source, from_outside);
	// turns as frequent as those of a gateway that polls would be: what ages is bounded in each
	pass_time(&trial, CALM_S, 0.005);
	bool calm = is_calm(&trial, before);

	pipe_free(trial.pipe);
	assert_true(trial.succeeded * 100 >= trial.begun * 99);
	assert_int_equal(trial.lost, 0);
	assert_true(calm);
}

#define STORM(name, source, from_outside, longest)    \
	static void name(void **state)                \
	{                                             \
		(void)state;                          \
		storm(source, from_outside, longest); \
	}
STORM(random_sources_from_inside, FORGED_ANY, false, 0)
STORM(random_sources_from_outside, FORGED_ANY, true, 6)
STORM(one_prefix_from_inside, FORGED_ONE_64, false, 0)
STORM(one_prefix_from_outside, FORGED_ONE_64, true, 0)
STORM(the_victims_address_from_inside, FORGED_VICTIM, false, 0)
STORM(the_victims_address_from_outside, FORGED_VICTIM, true, 0)

static int prepare(void **state)
{
	struct gateway gateway;
	(void)state;

	pipe_eal_mb = "1200";
	pipe_mbufs = 8191;
	assert_int_equal(gateway_defaults(&gateway), 0);
	gateway.n_data = 2; // config/gateway.json
	limits = run_limits(&gateway, &HASH_SEED_FIXED);
	rig = rig_new();
	return 0;
}

static int done(void **state)
{
	(void)state;
	rig_free(rig);
	return 0;
}

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

	return cmocka_run_group_tests(tests, prepare, done);
}
