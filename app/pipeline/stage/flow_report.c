// SPDX-License-Identifier: BSD-3-Clause
// Puts what hold.c knows of a flow into its records.
#include "pipeline/stage/flow_report.h"
#include "pipeline/content/look.h"
#include "pipeline/event/flow_event.h"
#include "pipeline/stage/hold.h"

static struct scan_summary summary_of(const struct lcore *lcore, uint32_t ref)
{
	struct hold_summary held = {0};
	bool has_place = hold_summary(lcore, ref, &held);

	return (struct scan_summary){
		.jobs = held.jobs,
		.longest_ns = held.longest_ns,
		.worst = held.worst,
		.has_verdict = held.has_verdict,
		.has_place = has_place,
	};
}

void flow_report_end(struct lcore *lcore, uint32_t ref, enum flow_end reason)
{
	struct content_summary content;
	struct scan_summary scan = {0};

	if (!(ref & FLOW_REF_STUB))
		scan = summary_of(lcore, ref);
	content_summary(lcore, ref, &content);
	flow_event_end(lcore, ref, reason, &scan, &content);
}

void flow_report_elephant(struct lcore *lcore, uint32_t ref)
{
	struct scan_summary scan = summary_of(lcore, ref);
	struct content_summary content;

	content_summary(lcore, ref, &content);
	flow_event_elephant(lcore, ref, &scan, &content);
}
