// SPDX-License-Identifier: BSD-3-Clause
// What each application uses, per data lcore: one writer (that lcore), any reader, as struct stats.
//
// A packet of a flow is counted when it is accounted, under the flow's application. While that is
// not known for good it goes to a slot that nobody reads; when it is, the flow's packets so far
// are counted at once, and so they are under APP_NONE if the flow ends unknown. A counter never
// falls: a flow whose application changes later takes only its later packets along. Packets of
// blocked flows are drops and not among these; entries without payload (handshakes that came to
// nothing, ICMP) are counted when they end.
#ifndef SLUICE_APP_USAGE_H
#define SLUICE_APP_USAGE_H

#include "pipeline/flow/flow.h"
#include "pipeline/vocab/stats.h"

static inline void app_usage_count(
	struct app_usage *usage, const struct flow *flow, unsigned half, uint32_t bytes)
{
	usage[flow->usage_app].pkts[half]++;
	usage[flow->usage_app].bytes[half] += bytes;
}

// A flow was made.
void app_usage_begin(struct app_usage *usage, struct flow *flow);
// flow->app is known for good, or has changed after that.
void app_usage_settle(struct app_usage *usage, struct flow *flow);
// The flow ends: its slot is about to be given back.
void app_usage_end(struct app_usage *usage, const struct flow *flow);
// An entry ends that has never carried payload.
void app_usage_end_stub(struct app_usage *usage, const struct flow_stub *stub);

#endif
