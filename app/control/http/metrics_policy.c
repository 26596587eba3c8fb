// SPDX-License-Identifier: BSD-3-Clause
// What applications use and what rules did: sums over the lcores, since the number of series would
// else be applications and rules times lcores. Ids of rules and applications begin with a letter or
// digit, so that what stands in parentheses is nobody's.
#include <stddef.h>
#include <string.h>

#include "control/policy/app_names.h"
#include "control/http/metrics.h"
#include "control/stats/rates.h"

#define NO_APP  "(unknown)"
#define NO_RULE "(default)"

void metrics_put_apps(struct metrics *m, const struct control_context *context)
{
	const struct app_names *names = reload_apps(context->reload);
	char labels[APPS_MAX][METRICS_LABELS_MAX];
	struct app_usage usage[APPS_MAX];
	unsigned n = 0;

	for (unsigned app = 0; app < APPS_MAX; app++) {
		const struct app_proto *proto = app_names_get(names, (uint16_t)app);

		if (app && !proto)
			continue;
		labels[n][0] = '\0';
		metrics_label(labels[n], "app", proto ? proto->name : NO_APP);
		usage[n++] = rates_app(context->dp, app);
	}
	metrics_put_rows(m, "sluice_app_", app_counters, n, labels, usage, sizeof usage[0]);
}

static void put_rule_family(struct metrics *m, const struct control_context *context,
	const char *name, const char *help, size_t offset)
{
	const struct policy *policy = reload_policy(context->reload);

	metrics_family(m, name, METRIC_COUNTER, NULL, help);
	for (uint32_t i = 0; policy && i <= policy->n_rules; i++) {
		const struct rule *rule = i < policy->n_rules ? &policy->rules[i] : NULL;
		struct rule_counts counts = {0};
		char labels[METRICS_LABELS_MAX] = "";
		uint64_t value;

		metrics_label(labels, "rule_id", rule ? rule->id : NO_RULE);
		reload_rule_counts(context->reload, rule ? rule->uid : 0, &counts);
		memcpy(&value, (const char *)&counts + offset, sizeof value);
		metrics_u64(m, labels, value);
	}
}

void metrics_put_rules(struct metrics *m, const struct control_context *context)
{
	put_rule_family(m, context, "sluice_rule_decisions",
		"evaluations that this rule decided; a flow may be decided again",
		offsetof(struct rule_counts, decisions));
	put_rule_family(m, context, "sluice_rule_blocks", "flows that this rule dropped or reset",
		offsetof(struct rule_counts, blocks));
	put_rule_family(m, context, "sluice_rule_monitor_hits",
		"flows that this rule would have blocked, but for monitor mode",
		offsetof(struct rule_counts, monitor_hits));
}
