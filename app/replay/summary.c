// SPDX-License-Identifier: BSD-3-Clause
// Prints the summary of a replay.
#include "replay/summary.h"

#include <inttypes.h>

#include "control/stats/rates.h"
#include "control/stats/sum.h"

static void put_apps(FILE *out, const struct dataplane *dp, const struct app_names *apps)
{
	bool reported = false;

	for (unsigned app = 0; app < APPS_MAX; app++) {
		const struct app_usage usage = rates_app(dp, app);
		const struct app_proto *proto = app_names_get(apps, (uint16_t)app);
		uint64_t pkts = usage.pkts[0] + usage.pkts[1];

		if (!usage.flows && !usage.flows_blocked && !pkts)
			continue;
		if (!reported)
			fprintf(out, "%-20s %8s %8s %10s %14s\n", "application", "flows", "blocked",
				"packets", "bytes");
		reported = true;
		fprintf(out, "%-20s %8" PRIu64 " %8" PRIu64 " %10" PRIu64 " %14" PRIu64 "\n",
			proto ? proto->name : "unknown", usage.flows, usage.flows_blocked, pkts,
			usage.bytes[0] + usage.bytes[1]);
	}
	if (!reported)
		fprintf(out, "no flows\n");
}

static void put_rule(FILE *out, const struct reload *reload, const char *id, uint32_t uid)
{
	struct rule_counts counts = {0};

	reload_rule_counts(reload, uid, &counts);
	if (counts.decisions || counts.monitor_hits)
		fprintf(out, "%-20s %8" PRIu64 " %8" PRIu64 " %11" PRIu64 "\n", id,
			counts.decisions, counts.blocks, counts.monitor_hits);
}

static void put_rules(FILE *out, const struct reload *reload)
{
	const struct policy *policy = reload_policy(reload);

	fprintf(out, "\n%-20s %8s %8s %11s\n", "rule", "decided", "blocked", "would block");
	for (uint32_t i = 0; policy && i < policy->n_rules; i++)
		put_rule(out, reload, policy->rules[i].id, policy->rules[i].uid);
	put_rule(out, reload, "default", 0);
}

static void put_ledger(FILE *out, const struct dataplane *dp)
{
	struct ledger ledger;
	struct stats sum;

	stats_sum(dp, &sum, &ledger);
	fprintf(out,
		"\nreceived %" PRIu64 ", injected %" PRIu64 ", sent %" PRIu64 ", dropped %" PRIu64
		", held %" PRIu64 ", consumed %" PRIu64 ", unaccounted %" PRId64 "\n",
		ledger.received, ledger.injected, ledger.sent, ledger.dropped, ledger.held,
		ledger.consumed, ledger.unaccounted);
	for (unsigned i = 0; i < DROP_REASONS_MAX; i++) {
		if (sum.dropped_pkts[i])
			fprintf(out, "dropped %s %" PRIu64 "\n", drop_reason_word(i),
				sum.dropped_pkts[i]);
	}
}

int replay_summary(FILE *out, const struct dataplane *dp, const struct reload *reload)
{
	put_apps(out, dp, reload_apps(reload));
	put_rules(out, reload);
	put_ledger(out, dp);
	return fflush(out) ? -1 : 0;
}
