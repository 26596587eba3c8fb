// SPDX-License-Identifier: BSD-3-Clause
// What data lcores count, each with its own label: a sum would hide the one that drowns.
#include <stdio.h>
#include <stdlib.h>
#include <rte_mempool.h>

#include "control/http/metrics.h"
#include "control/stats/sum.h"

static void put_ledger(struct metrics *m, const struct dataplane *dp)
{
	struct ledger ledger;
	struct stats sum;

	stats_sum(dp, &sum, &ledger);
	metrics_family(m, "sluice_unaccounted_packets", METRIC_GAUGE, NULL,
		"received + injected - sent - dropped - held - consumed, all lcores: 0 at rest");
	metrics_i64(m, NULL, ledger.unaccounted);
}

static void put_pools(struct metrics *m, const struct dataplane *dp)
{
	const struct rte_mempool *pools[LCORES_MAX];
	char labels[LCORES_MAX][METRICS_LABELS_MAX];
	unsigned n = stats_pools(dp, pools);

	metrics_family(m, "sluice_pool_buffers", METRIC_GAUGE, NULL, "packet buffers of the pool");
	for (unsigned i = 0; i < n; i++) {
		labels[i][0] = '\0';
		metrics_label(labels[i], "pool", pools[i]->name);
		metrics_u64(m, labels[i], pools[i]->size);
	}
	metrics_family(m, "sluice_pool_buffers_free", METRIC_GAUGE, NULL,
		"of these, not in use; receive rings are use");
	for (unsigned i = 0; i < n; i++)
		metrics_u64(m, labels[i], rte_mempool_avail_count(pools[i]));
}

void metrics_put_lcores(struct metrics *m, const struct control_context *context)
{
	const struct dataplane *dp = context->dp;
	char labels[LCORES_MAX][METRICS_LABELS_MAX];
	struct stats *stats = aligned_alloc(_Alignof(struct stats), dp->n_lcores * sizeof *stats);
	unsigned n = 0;

	if (!stats) {
		m->text.failed = true;
		return;
	}
	for (unsigned i = 0; i < dp->n_lcores; i++) {
		if (!dp->lcores[i])
			continue;
		snprintf(labels[n], sizeof labels[n], "lcore=\"%u\"", i);
		stats_lcore(dp->lcores[i], &stats[n++]);
	}
	metrics_put_rows(m, "sluice_", lcore_counters, n, labels, stats, sizeof *stats);
	free(stats);
	put_ledger(m, dp);
	put_pools(m, dp);
}
