// SPDX-License-Identifier: BSD-3-Clause
// Measures the rate of a flow over windows, and marks elephants.
#include "pipeline/flow/rate.h"
#include "pipeline/flow/table.h"
#include "pipeline/lcore/lcore.h"

static uint32_t units(const struct flow *flow)
{
	return (uint32_t)((flow->bytes[HALF_C2S] + flow->bytes[HALF_S2C]) >> RATE_UNIT_SHIFT);
}

// Windows from the flow's last packet to now.
static uint64_t windows_since(const struct flow *flow, uint64_t now_ns)
{
	return (now_ns >> RATE_WINDOW_SHIFT) - (flow->last_ns >> RATE_WINDOW_SHIFT);
}

static bool becomes_elephant(const struct elephant_limits *limits, struct flow *flow)
{
	if (!limits->rate || flow->flags & FLOW_ELEPHANT)
		return false;
	if (flow->rate < limits->rate) {
		flow->fast_windows = 0;
		return false;
	}
	return ++flow->fast_windows >= limits->windows;
}

bool flow_rate_close(struct lcore *lcore, uint32_t ref)
{
	struct flow *flow = flow_at(lcore->flows, ref);
	uint32_t now = units(flow);

	// the window before this one is the last whole one: empty, if the flow rested through it
	flow->rate = windows_since(flow, lcore->now_ns) == 1 ? now - flow->rate_mark : 0;
	flow->rate_mark = now;
	if (!becomes_elephant(&lcore->flows->elephant, flow))
		return false;
	flow->flags |= FLOW_ELEPHANT;
	lcore->stats.elephants++;
	lcore->stats.elephants_active++;
	return true;
}

uint64_t flow_rate_bytes_s(const struct flow *flow, uint64_t now_ns)
{
	uint64_t since = windows_since(flow, now_ns), rate = units(flow) - flow->rate_mark;

	if (since > 1)
		return 0;
	if (since == 0 && rate < flow->rate)
		rate = flow->rate;
	return ((rate << RATE_UNIT_SHIFT) * NS_PER_S) >> RATE_WINDOW_SHIFT;
}

struct elephant_limits flow_elephant_limits(uint32_t mbit_s, uint32_t seconds)
{
	uint64_t bytes_s = mbit_s * (UINT64_C(1000000) / 8);
	uint64_t rate = (bytes_s << (RATE_WINDOW_SHIFT - RATE_UNIT_SHIFT)) / NS_PER_S;
	uint64_t windows =
		(seconds * NS_PER_S + (UINT64_C(1) << RATE_WINDOW_SHIFT) - 1) >> RATE_WINDOW_SHIFT;

	return (struct elephant_limits){.rate = (uint32_t)rate, .windows = (uint8_t)windows};
}
