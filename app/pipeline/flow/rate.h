// SPDX-License-Identifier: BSD-3-Clause
// How fast a flow is, both halves together, over windows of about a second; and which flows are
// elephants: over the gateway's limit for so many windows in a row. The owning lcore only.
//
// A window is 2^30 ns of the gateway's clock. No timer closes it: the first packet of a later
// window does, seen by one compare of the flow's last packet's time with now.
#ifndef SLUICE_FLOW_RATE_H
#define SLUICE_FLOW_RATE_H

#include "pipeline/flow/flow.h"

#define RATE_WINDOW_SHIFT 30
// struct flow.rate and rate_mark count in this many bytes, so that 32 bits hold 250 GB a window.
#define RATE_UNIT_SHIFT 6

// A packet at `now_ns` is the first of its window. Asked before it is accounted.
static inline bool flow_rate_due(const struct flow *flow, uint64_t now_ns)
{
	return (flow->last_ns ^ now_ns) >> RATE_WINDOW_SHIFT;
}
// Ends the window of the flow's last packet. True: the flow is an elephant from now on, and flagged
// so. Only when due.
bool flow_rate_close(struct lcore *lcore, uint32_t ref);
// Bytes a second: of the last whole window, or of the one at hand if that is more already. Falls
// to 0 by itself when the flow rests.
uint64_t flow_rate_bytes_s(const struct flow *flow, uint64_t now_ns);

// The limits that follow from what an operator says. `mbit_s` 0: none.
struct elephant_limits flow_elephant_limits(uint32_t mbit_s, uint32_t seconds);

#endif
