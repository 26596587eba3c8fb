// SPDX-License-Identifier: BSD-3-Clause
// Reads the state of scan lcores.
#include "control/stats/scan_state.h"

#include <stdio.h>

#include "control/policy/reload.h"
#include "pipeline/policy/content_rules.h"

const char *scan_state_asks(const struct control_context *context)
{
	const struct policy *policy = context->reload ? reload_policy(context->reload) : NULL;

	for (uint32_t i = 0; policy && i < policy->n_rules; i++)
		if (policy->rules[i].content && policy->rules[i].content->has_scan)
			return policy->rules[i].id;
	return NULL;
}

// A child that is replaced is back before a job gives up waiting for it.
static bool takes_jobs(const struct scan_status *status)
{
	return status->state == SCAN_STATE_READY || status->state == SCAN_STATE_WAITING;
}

unsigned scan_state_ready(const struct scan_desk *desk)
{
	struct scan_status status;
	unsigned n = 0;

	for (unsigned i = 0; i < desk->n; i++)
		n += !desk->status(desk->ctx, i, &status) || takes_jobs(&status);
	return n;
}

bool scan_state_is_missing(const struct control_context *context, char *why, size_t why_len)
{
	const struct scan_desk *desk = context->scan;
	struct scan_status status = {0};

	if (!scan_state_asks(context) || (desk && scan_state_ready(desk)))
		return false;
	if (!why)
		return true;
	if (!desk) {
		snprintf(why, why_len, "scan.engine of gateway.json names none");
		return true;
	}
	desk->status(desk->ctx, 0, &status);
	switch ((enum scan_state)status.state) {
	case SCAN_STATE_LOADING: snprintf(why, why_len, "it loads its signatures"); break;
	case SCAN_STATE_FAILED: snprintf(why, why_len, "%s", status.text); break;
	default: snprintf(why, why_len, "the scanner does not run; the log says why"); break;
	}
	return true;
}
