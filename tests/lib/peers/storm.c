// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "pipeline/flow/table.h"
#include "config/gateway.h"
#include "classify/names/follow.h"
#include "cmd/run_limits.h"
#include "storm.h"

#define STEP_NS     (100 * NS_PER_US) // ten forged packets
#define STEP_PKTS   10
#define RTT_STEPS   100 // between two packets of a new connection: 10 ms
#define NEW_EVERY   50  // steps: 200 connections a second
#define SAY_EVERY   200 // steps between packets of the established: 20 ms
#define IDLE_S      600
#define KEEPALIVE_S 30
#define CLIENT      30 // the honest one that nobody forges
#define VICTIM      1  // the one whose address is forged
#define ESTABLISHED 20

struct rig *storm_rig;
struct lcore_limits storm_limits;

int storm_prepare(void **state)
{
	struct gateway *gateway = calloc(1, sizeof(*gateway));

	(void)state;

	pipe_eal_mb = "1200";
	pipe_mbufs = 8191;
	assert_non_null(gateway);
	assert_int_equal(gateway_defaults(gateway), 0);
	gateway->n_data = 2; // config/gateway.json
	storm_limits = run_limits(gateway, &HASH_SEED_FIXED);
	gateway_free(gateway);
	storm_rig = rig_new();
	return 0;
}

int storm_done(void **state)
{
	(void)state;
	rig_free(storm_rig);
	return 0;
}

struct storm_level storm_look(const struct pipe *pipe)
{
	struct stats stats = pipe_stats(pipe);
	const struct lcore *lcore = pipe->dp.lcores[0];

	return (struct storm_level){
#define X(name) .name = stats.name,
		STORM_GAUGES(X)
#undef X
			.tombstones = lcore->flows->lru[FLOW_CLASS_BLOCKED].n,
		.embryos = stats.embryos_active - lcore->flows->lru[FLOW_CLASS_BLOCKED].n,
		.states = classifier_states_max(lcore->classifier) -
			  classifier_states_free(lcore->classifier),
		.heads = storm_limits.heads - name_heads_left(lcore->name_heads),
	};
}

static unsigned above(const char *name, uint64_t is, uint64_t quiet)
{
	if (is <= quiet)
		return 0;
	print_message("  %s: %llu, and %llu without the flood\n", name, (unsigned long long)is,
		(unsigned long long)quiet);
	return 1;
}

unsigned storm_above(const struct storm_level *is, const struct storm_level *quiet)
{
	unsigned n = above("embryos", is->embryos, quiet->embryos) +
		     above("tombstones", is->tombstones, quiet->tombstones) +
		     above("classifier states", is->states, quiet->states) +
		     above("heads", is->heads, quiet->heads);

#define X(name) n += above(#name, is->name, quiet->name);
	STORM_GAUGES(X)
#undef X
	return n;
}

static void events_away(struct pipe *pipe)
{
	struct event event;

	while (pipe_event(pipe, 0, EVENT_TRACE, &event))
		;
}

void storm_pass_time(struct storm *storm, double seconds, double each)
{
	for (double t = 0; t < seconds; t += each) {
		pipe_advance(storm->pipe, each);
		storm->pipe->n_sent = 0;
		events_away(storm->pipe);
	}
}

void storm_calm(struct storm *storm)
{
	storm_pass_time(storm, STORM_CALM_S, 0.005);
}

static void begin(struct storm *storm)
{
	assert_true(storm->n_open < STORM_OPEN_MAX);
	enum honest_kind kind = storm->begun % HONEST_KINDS_MAX;
	uint32_t client = storm->begun / HONEST_KINDS_MAX % 2 ? VICTIM : CLIENT;

	storm->due[storm->n_open] = storm->step;
	storm->open[storm->n_open++] = honest_new(kind, client, ++storm->sport);
	storm->begun++;
}

static void over(struct storm *storm, unsigned i)
{
	struct honest *honest = &storm->open[i];

	if (!honest->lost && honest_known(storm->pipe, honest))
		storm->succeeded++;
	else
		storm->failed[honest->kind]++;
	storm->n_open--;
	storm->open[i] = storm->open[storm->n_open];
	storm->due[i] = storm->due[storm->n_open];
}

static void go_on(struct storm *storm)
{
	for (unsigned i = 0; i < storm->n_open;) {
		if (storm->due[i] > storm->step) {
			i++;
			continue;
		}
		storm->due[i] = storm->step + RTT_STEPS;
		if (honest_step(storm->pipe, &storm->open[i]))
			i++;
		else
			over(storm, i);
	}
}

void storm_say_all(struct storm *storm)
{
	for (unsigned i = 0; i < HONEST_KINDS_MAX; i++)
		for (unsigned back = 0; back < 2; back++, storm->said++)
			storm->lost += !honest_say(storm->pipe, &storm->lasting[i], back);
}

void storm_flood(struct storm *storm, storm_forge *forge, const void *how, double seconds)
{
	uint64_t end = storm->step + (uint64_t)(seconds * 1e9) / STEP_NS;

	for (; storm->step < end; storm->step++) {
		for (unsigned i = 0; forge && i < STEP_PKTS; i++)
			forge(storm->pipe, how);
		storm->pipe->now_ns += STEP_NS;
		pipe_turns(storm->pipe);
		storm->pipe->n_sent = 0;
		if (storm->step % NEW_EVERY == 0)
			begin(storm);
		go_on(storm);
		if (storm->step % SAY_EVERY == 0)
			storm_say_all(storm);
		events_away(storm->pipe);
	}
}

void storm_end_openings(struct storm *storm)
{
	while (storm->n_open) {
		storm->step++;
		go_on(storm);
		pipe_advance(storm->pipe, 1e-4);
		storm->pipe->n_sent = 0;
	}
}

void storm_rest(struct storm *storm, storm_forge *forge, const void *how)
{
	for (unsigned second = 0; second < IDLE_S; second++) {
		for (unsigned i = 0; forge && i < 100; i++)
			forge(storm->pipe, how);
		storm_pass_time(storm, 1, 0.05);
		if (second % KEEPALIVE_S == KEEPALIVE_S - 1)
			for (unsigned back = 0; back < 2; back++, storm->said++)
				storm->lost +=
					!honest_say(storm->pipe, &storm->lasting[HONEST_SIP], back);
	}
}

void storm_begin(struct storm *storm, struct pipe *pipe)
{
	*storm = (struct storm){.pipe = pipe, .sport = 1024};
	storm_pass_time(storm, 61, 0.5); // the grace of a new gateway
	for (unsigned i = 0; i < HONEST_KINDS_MAX; i++) {
		storm->lasting[i] = honest_new(i, ESTABLISHED, (uint16_t)(50000 + i));
		while (honest_step(storm->pipe, &storm->lasting[i]))
			storm_pass_time(storm, 0.01, 0.01);
		assert_int_equal(storm->lasting[i].lost, 0);
		assert_true(honest_known(storm->pipe, &storm->lasting[i]));
	}
	storm_say_all(storm);
	storm_pass_time(storm, 1, 0.01);
}

void storm_report(const struct storm *storm, const char *what)
{
	struct stats stats = pipe_stats(storm->pipe);

	print_message("%s: %u of %u new connections, %u of %u packets of the established lost; "
		      "%llu entries evicted; failed:",
		what, storm->succeeded, storm->begun, storm->lost, storm->said,
		(unsigned long long)stats.flows_evicted);
	for (unsigned i = 0; i < HONEST_KINDS_MAX; i++)
		print_message(" %s %u", honest_words[i], storm->failed[i]);
	print_message("\n");
}

void storm_assert_honest(const struct storm *storm)
{
	assert_true(storm->begun > 0 && storm->said > 0);
	assert_true(storm->succeeded * 100 >= storm->begun * 99);
	assert_int_equal(storm->lost, 0);
}
