// SPDX-License-Identifier: BSD-3-Clause
// Checks the heartbeats of the data lcores, and reports those that are late.
#include "control/stats/watchdog.h"

#include <inttypes.h>

#include "pipeline/bypass.h"
#include "base/log.h"
#include "control/stats/sum.h"
#include "pipeline/vocab/tick.h"

#define AFTER_MS 500

void watchdog_start(struct watchdog *watchdog, struct control_context *context,
	const struct stall_options *options)
{
	uint64_t now_ns = context->now_ns();

	*watchdog = (struct watchdog){.context = context, .options = options, .watched_ns = now_ns};
	for (unsigned i = 0; i < LCORES_MAX; i++)
		watchdog->watchdog[i].changed_ns = now_ns;
}

// Packets that the NIC dropped for want of room, on the ports that a lcore receives from.
static uint64_t rx_missed(const struct dataplane *dp, const struct lcore *lcore)
{
	uint64_t missed = 0, seen = 0;

	for (unsigned i = 0; i < lcore->n_rx; i++) {
		const struct port *port = &dp->ports[lcore->rx[i].port];
		struct port_counters counters;

		if (seen >> port->index & 1 || !port_read(port, &counters))
			continue;
		seen |= UINT64_C(1) << port->index;
		missed += counters.rx_missed;
	}
	return missed;
}

// The driver's count may begin anew.
static uint64_t missed_since(
	const struct dataplane *dp, unsigned lcore, const struct heartbeat *heartbeat)
{
	uint64_t missed = rx_missed(dp, dp->lcores[lcore]);

	return missed > heartbeat->rx_missed ? missed - heartbeat->rx_missed : 0;
}

static void report(
	struct watchdog *watchdog, unsigned lcore, enum stall_state state, uint64_t now_ns)
{
	const struct dataplane *dp = watchdog->context->dp;
	const struct heartbeat *heartbeat = &watchdog->watchdog[lcore];
	struct stats sum;

	if (!watchdog->context->sink)
		return;
	stats_sum(dp, &sum, NULL);
	sink_stall_event(watchdog->context->sink, now_ns,
		&(struct stall_report){
			.lcore = lcore,
			.state = state,
			.fail_open = watchdog->options->fail_open,
			.bypassed = heartbeat->taken,
			.rested_ns = now_ns - heartbeat->changed_ns,
			.bypassed_pkts = sum.bypassed_pkts - heartbeat->bypassed_pkts,
			.bypassed_bytes = sum.bypassed_bytes - heartbeat->bypassed_bytes,
			.rx_missed = missed_since(dp, lcore, heartbeat),
		});
}

static uint64_t rested_ms(const struct heartbeat *heartbeat, uint64_t now_ns)
{
	return (now_ns - heartbeat->changed_ns) / NS_PER_MS;
}

// Again each time: it may have left the driver for a place where it can be helped.
static bool try_bypass(struct watchdog *watchdog, unsigned lcore)
{
	const struct stall_options *options = watchdog->options;

	return options->fail_open && options->take(options->ctx, lcore);
}

static void begins(struct watchdog *watchdog, unsigned lcore, uint64_t now_ns)
{
	struct heartbeat *heartbeat = &watchdog->watchdog[lcore];
	struct dataplane *dp = watchdog->context->dp;
	bool open = watchdog->options->fail_open;
	struct stats sum;

	stats_sum(dp, &sum, NULL);
	heartbeat->stalled = true;
	heartbeat->bypassed_pkts = sum.bypassed_pkts;
	heartbeat->bypassed_bytes = sum.bypassed_bytes;
	heartbeat->rx_missed = rx_missed(dp, dp->lcores[lcore]);
	watchdog->context->lcore_stalls++;
	if (open)
		bypass_begin(dp, lcore);
	heartbeat->taken = try_bypass(watchdog, lcore);
	log_error("data lcore %u stands still: no turn of its loop for %" PRIu64 " ms; %s", lcore,
		rested_ms(heartbeat, now_ns),
		heartbeat->taken ? "its packets pass uninspected (stall.policy open)"
		: open ? "it is inside a driver: its queues cannot be taken over, and its "
			 "packets are lost; what its flows send by other lcores passes uninspected"
		       : "its packets are lost until it goes on (stall.policy closed)");
	report(watchdog, lcore, STALL_BEGINS, now_ns);
}

static void goes_on(struct watchdog *watchdog, unsigned lcore, uint64_t now_ns)
{
	const struct heartbeat *heartbeat = &watchdog->watchdog[lcore];
	const struct dataplane *dp = watchdog->context->dp;
	struct stats sum;

	// where the standby did not end it
	if (is_bypassed(dp, lcore))
		bypass_over(watchdog->context->dp, lcore, now_ns);
	stats_sum(dp, &sum, NULL);
	log_notice("data lcore %u goes on after %" PRIu64 " ms; %" PRIu64
		   " packets passed uninspected, %" PRIu64 " were missed by its ports",
		lcore, rested_ms(heartbeat, now_ns), sum.bypassed_pkts - heartbeat->bypassed_pkts,
		missed_since(dp, lcore, heartbeat));
	report(watchdog, lcore, STALL_ENDS, now_ns);
}

static bool has_been_given_back(const struct watchdog *watchdog, unsigned lcore)
{
	const struct stall_options *options = watchdog->options;

	return !watchdog->watchdog[lcore].taken || !options->has(options->ctx, lcore);
}

static void rests(struct watchdog *watchdog, unsigned lcore, uint64_t now_ns)
{
	struct heartbeat *heartbeat = &watchdog->watchdog[lcore];
	uint64_t after_ms = watchdog->options->after_ms ? watchdog->options->after_ms : AFTER_MS;

	if (!heartbeat->stalled) {
		if (heartbeat->rested_ns > after_ms * NS_PER_MS)
			begins(watchdog, lcore, now_ns);
	} else if (!heartbeat->taken && try_bypass(watchdog, lcore)) {
		heartbeat->taken = true;
		log_notice("data lcore %u: its packets pass uninspected from now on", lcore);
		report(watchdog, lcore, STALL_BYPASSED, now_ns);
	}
}

static bool watch(struct watchdog *watchdog, unsigned lcore, uint64_t now_ns, uint64_t awake_ns)
{
	struct heartbeat *heartbeat = &watchdog->watchdog[lcore];
	uint64_t beat = __atomic_load_n(
		&watchdog->context->dp->lcores[lcore]->stats.heartbeat_ns, __ATOMIC_RELAXED);

	// back, but what it had was not given to it yet: not over
	if (beat != heartbeat->beat_ns && has_been_given_back(watchdog, lcore)) {
		if (heartbeat->stalled)
			goes_on(watchdog, lcore, now_ns);
		*heartbeat = (struct heartbeat){.beat_ns = beat, .changed_ns = now_ns};
		return true;
	}
	heartbeat->rested_ns += awake_ns;
	rests(watchdog, lcore, now_ns);
	return !heartbeat->stalled;
}

bool watchdog_check(struct watchdog *watchdog, uint64_t now_ns)
{
	const uint64_t awake_max_ns = 2 * WATCHDOG_CHECK_MS * NS_PER_MS;
	uint64_t awake_ns = now_ns - watchdog->watched_ns;
	bool all = true;

	if (awake_ns > awake_max_ns)
		awake_ns = awake_max_ns;
	watchdog->watched_ns = now_ns;
	for (unsigned i = 0; i < watchdog->context->dp->n_lcores; i++)
		all &= watch(watchdog, i, now_ns, awake_ns);
	return all;
}
