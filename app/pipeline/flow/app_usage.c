// SPDX-License-Identifier: BSD-3-Clause
// Counts packets and bytes by application.
#include "pipeline/flow/app_usage.h"

static uint16_t slot_of(uint16_t app)
{
	return app < APPS_MAX ? app : APP_NONE;
}

void app_usage_begin(struct app_usage *usage, struct flow *flow)
{
	flow->usage_app = APP_USAGE_PENDING;
	usage[APP_NONE].flows_active++;
}

static void count_all(struct app_usage *slot, const struct flow *flow)
{
	slot->flows++;
	for (unsigned half = 0; half < 2; half++) {
		slot->pkts[half] += flow->pkts[half];
		slot->bytes[half] += flow->bytes[half];
	}
}

void app_usage_settle(struct app_usage *usage, struct flow *flow)
{
	uint16_t slot = slot_of(flow->app), before = flow->usage_app;

	if (slot == before)
		return;
	if (before == APP_USAGE_PENDING) {
		count_all(&usage[slot], flow);
		before = APP_NONE;
	}
	usage[before].flows_active--;
	usage[slot].flows_active++;
	flow->usage_app = slot;
}

void app_usage_end(struct app_usage *usage, const struct flow *flow)
{
	if (flow->usage_app != APP_USAGE_PENDING) {
		usage[flow->usage_app].flows_active--;
		return;
	}
	usage[APP_NONE].flows_active--;
	count_all(&usage[slot_of(flow->app)], flow);
}

void app_usage_end_stub(struct app_usage *usage, const struct flow_stub *stub)
{
	if (stub->lru_class == FLOW_CLASS_BLOCKED)
		return; // counted when it was blocked
	for (unsigned half = 0; half < 2; half++) {
		usage[APP_NONE].pkts[half] += stub->pkts[half];
		usage[APP_NONE].bytes[half] += stub->bytes[half];
	}
}
