// SPDX-License-Identifier: BSD-3-Clause
// Gives back what the modules of the packet path keep for a flow that ends.
#include "pipeline/stage/flow_hooks.h"
#include "classify/names/follow.h"
#include "pipeline/content/flow_content.h"
#include "pipeline/event/stream_tap.h"
#include "pipeline/flow/expect.h"
#include "pipeline/stage/flow_report.h"
#include "pipeline/stage/hold.h"
#include "pipeline/stage/inspect_tcp.h"
#include "pipeline/stage/inspect_track.h"
#include "pipeline/stage/teardown.h"
#include "pipeline/vocab/fault.h"

static void ends(struct lcore *lcore, uint32_t ref, enum flow_end reason)
{
	// before its holes are given up, by which a file would end
	if (reason == FLOW_END_FORCED && !(ref & FLOW_REF_STUB) &&
		unlikely(lcore->scan_files != NULL) && content_scan_leaves(lcore, ref))
		teardown_flow_now(lcore, ref);
	inspect_finish(lcore, ref);
	flow_report_end(lcore, ref, reason);
}

static void release(struct lcore *lcore, uint32_t ref)
{
	struct flow *flow = flow_at(lcore->flows, ref);
	struct flow_cold *cold = flow_cold_at(lcore->flows, ref);

	if (unlikely(lcore->tap != NULL))
		lcore->tap->end(lcore->tap->ctx, lcore, ref);
	hold_end(lcore, ref);
	flow_content_end(lcore, ref);
	expect_give(lcore->expect, cold->expected);
	if (!FAULT(STATE_KEPT))
		classify_end(lcore->classifier, &flow->classify_state);
	classify_end(lcore->classifier, &flow->decoder_state);
	classify_end(lcore->classifier, &cold->again.state);
	names_follow_end(lcore->name_heads, &cold->names);
	inspect_end(lcore, ref, DROP_HELD_CLOSED);
}

const struct flow_hooks flow_hooks = {.ends = ends, .release = release};
