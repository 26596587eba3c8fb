// SPDX-License-Identifier: BSD-3-Clause
#include "flow_rate.h"
#include "flow_table.h"
#include "lcore.h"

static uint32_t units(const struct flow *flow)
{
	return (uint32_t)((flow->bytes[HALF_C2S] + flow->bytes[HALF_S2C]) >> RATE_UNIT_SHIFT);
}

// Windows from the flow's last packet to now.
static uint64_t windows_since(const struct flow *flow, uint64_t now_ns)
{
	return (now_ns >> RATE_WINDOW_SHIFT) - (flow->last_ns >> RATE_WINDOW_SHIFT);
}

void flow_rate_close(struct lcore *lcore, uint32_t ref)
{
	struct flow *flow = flow_at(lcore->flows, ref);
	uint32_t now = units(flow);

	// the window before this one is the last whole one: empty, if the flow rested through it
	flow->rate = windows_since(flow, lcore->now_ns) == 1 ? now - flow->rate_mark : 0;
	flow->rate_mark = now;
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
