// SPDX-License-Identifier: BSD-3-Clause
// Checks the heartbeats of the data lcores, and reports those that are late.
#include "control/stats/hearts.h"

#include <inttypes.h>

#include "pipeline/bypass.h"
#include "base/log.h"
#include "control/stats/sum.h"
#include "pipeline/vocab/tick.h"

#define AFTER_MS 500

void hearts_start(
	struct hearts *hearts, struct control_context *context, const struct stall_options *options)
{
	uint64_t now_ns = context->now_ns();

	*hearts = (struct hearts){.context = context, .options = options, .watched_ns = now_ns};
	for (unsigned i = 0; i < LCORES_MAX; i++)
		hearts->hearts[i].changed_ns = now_ns;
}

// Packets that the NIC dropped for want of room, on the ports that a lcore receives from.
static uint64_t rx_missed(const struct dataplane *dp, const struct lcore *lcore)
{
	uint64_t missed = 0, seen = 0;

	for (unsigned i = 0; i < lcore->n_rx; i++) {
		const struct port *port = &dp->ports[lcore->rx[i].port];
		struct port_counters counters = {0};

		if (seen >> port->index & 1 || !port->counters)
			continue;
		seen |= UINT64_C(1) << port->index;
		port->counters(port->ctx, &counters);
		missed += counters.rx_missed;
	}
	return missed;
}

// The driver's count may begin anew.
static uint64_t missed_since(const struct dataplane *dp, unsigned lcore, const struct heart *heart)
{
	uint64_t missed = rx_missed(dp, dp->lcores[lcore]);

	return missed > heart->rx_missed ? missed - heart->rx_missed : 0;
}

static void tell(struct hearts *hearts, unsigned lcore, enum stall_state state, uint64_t now_ns)
{
	const struct dataplane *dp = hearts->context->dp;
	const struct heart *heart = &hearts->hearts[lcore];
	struct stats sum;

	if (!hearts->context->sink)
		return;
	stats_sum(dp, &sum, NULL);
	sink_stall_event(hearts->context->sink, now_ns,
		&(struct stall_report){
			.lcore = lcore,
			.state = state,
			.fail_open = hearts->options->fail_open,
			.bypassed = heart->taken,
			.rested_ns = now_ns - heart->changed_ns,
			.bypassed_pkts = sum.bypassed_pkts - heart->bypassed_pkts,
			.bypassed_bytes = sum.bypassed_bytes - heart->bypassed_bytes,
			.rx_missed = missed_since(dp, lcore, heart),
		});
}

static uint64_t rested_ms(const struct heart *heart, uint64_t now_ns)
{
	return (now_ns - heart->changed_ns) / NS_PER_MS;
}

// Again each time: it may have left the driver for a place where it can be helped.
static bool try_bypass(struct hearts *hearts, unsigned lcore)
{
	const struct stall_options *options = hearts->options;

	return options->fail_open && options->take(options->ctx, lcore);
}

static void begins(struct hearts *hearts, unsigned lcore, uint64_t now_ns)
{
	struct heart *heart = &hearts->hearts[lcore];
	struct dataplane *dp = hearts->context->dp;
	bool open = hearts->options->fail_open;
	struct stats sum;

	stats_sum(dp, &sum, NULL);
	heart->stalled = true;
	heart->bypassed_pkts = sum.bypassed_pkts;
	heart->bypassed_bytes = sum.bypassed_bytes;
	heart->rx_missed = rx_missed(dp, dp->lcores[lcore]);
	hearts->context->lcore_stalls++;
	if (open)
		bypass_begin(dp, lcore);
	heart->taken = try_bypass(hearts, lcore);
	log_error("data lcore %u stands still: no turn of its loop for %" PRIu64 " ms; %s", lcore,
		rested_ms(heart, now_ns),
		heart->taken ? "its packets pass uninspected (stall.policy open)"
		: open       ? "it is inside a driver: its queues cannot be taken over, and its "
			       "packets are lost; what its flows send by other lcores passes uninspected"
			     : "its packets are lost until it goes on (stall.policy closed)");
	tell(hearts, lcore, STALL_BEGINS, now_ns);
}

static void goes_on(struct hearts *hearts, unsigned lcore, uint64_t now_ns)
{
	const struct heart *heart = &hearts->hearts[lcore];
	const struct dataplane *dp = hearts->context->dp;
	struct stats sum;

	// where the standby did not end it
	if (is_bypassed(dp, lcore))
		bypass_over(hearts->context->dp, lcore, now_ns);
	stats_sum(dp, &sum, NULL);
	log_notice("data lcore %u goes on after %" PRIu64 " ms; %" PRIu64
		   " packets passed uninspected, %" PRIu64 " were missed by its ports",
		lcore, rested_ms(heart, now_ns), sum.bypassed_pkts - heart->bypassed_pkts,
		missed_since(dp, lcore, heart));
	tell(hearts, lcore, STALL_ENDS, now_ns);
}

static bool has_been_given_back(const struct hearts *hearts, unsigned lcore)
{
	const struct stall_options *options = hearts->options;

	return !hearts->hearts[lcore].taken || !options->has(options->ctx, lcore);
}

static void rests(struct hearts *hearts, unsigned lcore, uint64_t now_ns)
{
	struct heart *heart = &hearts->hearts[lcore];
	uint64_t after_ms = hearts->options->after_ms ? hearts->options->after_ms : AFTER_MS;

	if (!heart->stalled) {
		if (heart->rested_ns > after_ms * NS_PER_MS)
			begins(hearts, lcore, now_ns);
	} else if (!heart->taken && try_bypass(hearts, lcore)) {
		heart->taken = true;
		log_notice("data lcore %u: its packets pass uninspected from now on", lcore);
		tell(hearts, lcore, STALL_BYPASSED, now_ns);
	}
}

static bool watch(struct hearts *hearts, unsigned lcore, uint64_t now_ns, uint64_t awake_ns)
{
	struct heart *heart = &hearts->hearts[lcore];
	uint64_t beat = __atomic_load_n(
		&hearts->context->dp->lcores[lcore]->stats.heartbeat_ns, __ATOMIC_RELAXED);

	// back, but what it had was not given to it yet: not over
	if (beat != heart->beat_ns && has_been_given_back(hearts, lcore)) {
		if (heart->stalled)
			goes_on(hearts, lcore, now_ns);
		*heart = (struct heart){.beat_ns = beat, .changed_ns = now_ns};
		return true;
	}
	heart->rested_ns += awake_ns;
	rests(hearts, lcore, now_ns);
	return !heart->stalled;
}

bool hearts_watch(struct hearts *hearts, uint64_t now_ns)
{
	const uint64_t awake_max_ns = 2 * HEARTS_WATCH_MS * NS_PER_MS;
	uint64_t awake_ns = now_ns - hearts->watched_ns;
	bool all = true;

	if (awake_ns > awake_max_ns)
		awake_ns = awake_max_ns;
	hearts->watched_ns = now_ns;
	for (unsigned i = 0; i < hearts->context->dp->n_lcores; i++)
		all &= watch(hearts, i, now_ns, awake_ns);
	return all;
}
