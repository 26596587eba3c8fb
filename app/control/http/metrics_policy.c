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

struct apps {
	unsigned n;
	char label[APPS_MAX][64];
	struct app_usage usage[APPS_MAX];
};

static void apps_read(struct apps *apps, const struct control_context *context)
{
	const struct app_names *names = reload_apps(context->reload);

	apps->n = 0;
	for (unsigned app = 0; app < APPS_MAX; app++) {
		const struct app_proto *proto = app_names_get(names, (uint16_t)app);
		char label[METRICS_LABELS_MAX] = "";

		if (app && !proto)
			continue;
		metrics_label(label, "app", proto ? proto->name : NO_APP);
		if (strlen(label) >= sizeof apps->label[0])
			continue; // no id is as long
		strncpy(apps->label[apps->n], label, sizeof apps->label[0]);
		apps->usage[apps->n++] = rates_app(context->dp, app);
	}
}

static void put_halves(struct metrics *m, const struct apps *apps, size_t offset)
{
	static const char *const directions[] = {
		[HALF_C2S] = "to_server", [HALF_S2C] = "to_client"};

	for (unsigned i = 0; i < apps->n; i++) {
		const uint64_t *halves = (const void *)((const char *)&apps->usage[i] + offset);

		for (unsigned half = 0; half < 2; half++) {
			char labels[METRICS_LABELS_MAX];

			memcpy(labels, apps->label[i], sizeof apps->label[i]);
			metrics_label(labels, "direction", directions[half]);
			metrics_u64(m, labels, halves[half]);
		}
	}
}

void metrics_put_apps(struct metrics *m, const struct control_context *context)
{
	struct apps apps;

	apps_read(&apps, context);
	metrics_family(m, "sluice_app_pkts", METRIC_COUNTER, NULL,
		"packets of flows, by application; a flow's first ones when it is known");
	put_halves(m, &apps, offsetof(struct app_usage, pkts));
	metrics_family(m, "sluice_app_bytes", METRIC_COUNTER, "bytes", "the same in bytes");
	put_halves(m, &apps, offsetof(struct app_usage, bytes));
	metrics_family(m, "sluice_app_flows", METRIC_COUNTER, NULL,
		"flows that came to be known as the application");
	for (unsigned i = 0; i < apps.n; i++)
		metrics_u64(m, apps.label[i], apps.usage[i].flows);
	metrics_family(m, "sluice_app_flows_active", METRIC_GAUGE, NULL,
		"live flows; those not known yet are unknown");
	for (unsigned i = 0; i < apps.n; i++)
		metrics_u64(m, apps.label[i], apps.usage[i].flows_active);
	metrics_family(m, "sluice_app_flows_blocked", METRIC_COUNTER, NULL,
		"flows that the policy dropped or reset");
	for (unsigned i = 0; i < apps.n; i++)
		metrics_u64(m, apps.label[i], apps.usage[i].flows_blocked);
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
