// SPDX-License-Identifier: BSD-3-Clause
// Fills the question to decide() from a flow.
#include "pipeline/flow/facts.h"
#include "pipeline/flow/ends.h"
#include "pipeline/flow/expect.h"
#include "pipeline/flow/table.h"
#include "pipeline/lcore/lcore.h"

void flow_decide_input(
	const struct lcore *lcore, uint32_t ref, struct flow_ends *ends, struct decide_input *input)
{
	const struct flow *flow = flow_at(lcore->flows, ref);
	const struct flow_cold *cold = flow_cold_at(lcore->flows, ref);

	*ends = cold->ends;
	*input = (struct decide_input){
		.ends = ends,
		.app = flow->app,
		.confidence = flow->confidence,
		.carrier = cold->carrier,
		.carrier_confidence = cold->carrier_confidence,
		.l4_proto = flow->l4_proto,
		.n_vlan = flow->n_vlan,
		.app_final = flow->flags & FLOW_APP_FINAL,
		.ports_known = true,
		.c2s_from_inside = flow->flags & FLOW_C2S_INSIDE,
		.vlan = {flow->vlan[0], flow->vlan[1]},
		.windows = lcore->windows,
		.mac = lcore->policy->asks_mac ? flow_mac(flow, cold) : NULL,
		.dscp = cold->dscp,
	};
	// the endpoint cache named it, and its shape would have been enough
	if (flow->confidence == CONFIDENCE_CACHE && cold->shaped)
		input->confidence = CONFIDENCE_PARTIAL;
}

void flow_content_input(
	const struct lcore *lcore, uint32_t ref, struct flow_ends *ends, struct decide_input *input)
{
	const struct expected *expected =
		expect_at(lcore->expect, flow_cold_at(lcore->flows, ref)->expected);

	flow_decide_input(lcore, ref, ends, input);
	if (!expected || !expected->what.claimed || input->app != APP_NONE)
		return;
	input->app = expected->what.app;
	input->confidence = CONFIDENCE_CACHE;
}
