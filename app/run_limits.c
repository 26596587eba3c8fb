// SPDX-License-Identifier: BSD-3-Clause
#include "run_limits.h"

#include <rte_random.h>
#include "flow_rate.h"
#include "flow_table.h"

// In an emergency no class lives longer than it is told to live anyway.
static struct flow_timeouts timeouts_of(const struct gateway *gateway)
{
	const uint32_t seconds[FLOW_CLASS_MAX] = {
		[FLOW_CLASS_EMBRYONIC] = gateway->limits.embryonic_s,
		[FLOW_CLASS_STATELESS] = gateway->limits.stateless_s,
		[FLOW_CLASS_CONDEMNED] = gateway->limits.condemned_s,
		[FLOW_CLASS_TCP] = gateway->limits.tcp_s,
		[FLOW_CLASS_TCP_CLOSING] = gateway->limits.tcp_closing_s,
		[FLOW_CLASS_UDP_ONE_WAY] = gateway->limits.udp_one_way_s,
		[FLOW_CLASS_UDP] = gateway->limits.udp_s,
	};
	struct flow_timeouts timeouts = flow_timeouts_default;

	for (unsigned i = 0; i < FLOW_CLASS_MAX; i++) {
		if (seconds[i])
			timeouts.normal_ns[i] = seconds[i] * NS_PER_S;
		if (timeouts.emergency_ns[i] > timeouts.normal_ns[i])
			timeouts.emergency_ns[i] = timeouts.normal_ns[i];
	}
	return timeouts;
}

struct lcore_limits run_limits(const struct gateway *gateway)
{
	uint32_t n = gateway->n_data;

	return (struct lcore_limits){
		// The owner table spreads flows evenly; hash noise is what the rounding up is for.
		.flows = (gateway->limits.flows + n - 1) / n,
		.embryos = (gateway->limits.embryos + n - 1) / n,
		.classifying = (gateway->limits.classifying + n - 1) / n,
		.conn_cache = gateway->limits.conn_cache, // replicas: each lcore has all
		.expectations = gateway->limits.expectations,
		.evidence = gateway->limits.evidence,
		.fragments =
			{
				.datagrams = gateway->fragments.datagrams,
				.packets = gateway->fragments.packets,
				.per_datagram = gateway->fragments.per_datagram,
				.timeout_ns = gateway->fragments.timeout_ms * NS_PER_MS,
				.seed = rte_rand(),
			},
		.elephant =
			flow_elephant_limits(gateway->elephant.mbit_s, gateway->elephant.seconds),
		.timeouts = timeouts_of(gateway),
		.tracker =
			{
				.tracks = (gateway->reassembly.tracked + n - 1) / n,
				.blocks = gateway->reassembly.memory_mb * TRACKER_BLOCKS_PER_MB / n,
				.half_blocks = gateway->reassembly.half_kb / (SLAB_BLOCK / 1024),
				.held = gateway->reassembly.held,
				.half_held = gateway->reassembly.half_held,
				.hold_ns = gateway->reassembly.hold_ms * NS_PER_MS,
				.fast_pass = gateway->reassembly.fast_pass,
			},
	};
}
