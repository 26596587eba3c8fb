// SPDX-License-Identifier: BSD-3-Clause
// What a verdict does to its flow.
#include "flow_event.h"
#include "hold.h"
#include "inspect.h"
#include "teardown.h"

// As block() in stage_decide.c, but that no packet is at hand: what made it wait has left, what
// came since is held.
static void block(
	struct lcore *lcore, uint32_t ref, enum half half, const struct scan_verdict *verdict)
{
	struct flow *flow = flow_at(lcore->flows, ref);
	struct event about = {0};

	flow->action = ACTION_RESET;
	app_usage_settle(lcore->apps, flow);
	lcore->stats.flows_condemned++;
	lcore->apps[flow->app < APPS_MAX ? flow->app : APP_NONE].flows_blocked++;
	flow_event_identify(lcore, ref, &about);
	flow_event_scan(lcore, ref, half, verdict);
	evidence_add(lcore, EVIDENCE_RESETS, about.flow_id)->length = teardown_flow_now(lcore, ref);
	flow_event_end(lcore, ref, FLOW_END_FORCED);
	uint32_t stub = flow_condemn(lcore, ref);

	// A policy says nothing about what was found: no reload reprieves it.
	if (stub != FLOW_REF_NONE)
		flow_stub_at(lcore->flows, stub)->flags |= FLOW_FOUND;
}

static bool lets_pass(const struct scan_config *config, const struct scan_verdict *verdict)
{
	switch ((enum scan_value)verdict->value) {
	case SCAN_CLEAN: return true;
	case SCAN_ERROR: return config->on_error == SCAN_FAILURE_PASS;
	case SCAN_TIMEOUT: return config->on_timeout == SCAN_FAILURE_PASS;
	case SCAN_INFECTED:
	case SCAN_VALUES_MAX: break;
	}
	return false;
}

void hold_verdict(
	struct lcore *lcore, uint32_t ref, enum half half, const struct scan_verdict *verdict)
{
	const struct flow *flow = flow_at(lcore->flows, ref);

	if (flow->flags & FLOW_ALLOWED || lets_pass(lcore->dp->scan, verdict)) {
		inspect_resume(lcore, ref, half);
		return;
	}
	block(lcore, ref, half, verdict);
}
