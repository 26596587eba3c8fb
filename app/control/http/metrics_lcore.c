// SPDX-License-Identifier: BSD-3-Clause
// What data lcores count, each with its own label: a sum would hide the one that drowns.
#include <stdio.h>
#include <string.h>
#include <rte_mempool.h>

#include "control/http/metrics.h"
#include "control/stats/sum.h"

struct lcores { // labels, made once for all families
	unsigned n;
	const struct lcore *lcore[LCORES_MAX];
	char label[LCORES_MAX][24];
};

static struct lcores lcores_of(const struct dataplane *dp)
{
	struct lcores lcores = {0};

	for (unsigned i = 0; i < dp->n_lcores; i++) {
		if (!dp->lcores[i])
			continue;
		lcores.lcore[lcores.n] = dp->lcores[i];
		snprintf(lcores.label[lcores.n++], sizeof lcores.label[0], "lcore=\"%u\"", i);
	}
	return lcores;
}

// A member of struct stats of a lcore, with what the standby did in its place.
static uint64_t member(const struct lcore *lcore, size_t offset)
{
	const struct lcore *standby = lcore->dp->standbys[lcore->index];
	uint64_t value = __atomic_load_n(
		(const uint64_t *)(const void *)((const char *)&lcore->stats + offset),
		__ATOMIC_RELAXED);

	if (standby)
		value += __atomic_load_n(
			(const uint64_t *)(const void *)((const char *)&standby->stats + offset),
			__ATOMIC_RELAXED);
	return value;
}

// One family of a member of struct stats; `offset` is the member's.
static void put_each(struct metrics *m, const struct lcores *lcores, size_t offset)
{
	for (unsigned i = 0; i < lcores->n; i++)
		metrics_u64(m, lcores->label[i], member(lcores->lcore[i], offset));
}

static void put_dropped(struct metrics *m, const struct lcores *lcores)
{
	metrics_family(m, "sluice_dropped_pkts", METRIC_COUNTER, NULL,
		"packets dropped, by the one reason that each drop has");
	for (unsigned i = 0; i < lcores->n; i++) {
		for (unsigned reason = 0; reason < DROP_REASONS_MAX; reason++) {
			char labels[METRICS_LABELS_MAX];

			snprintf(labels, sizeof labels, "%s,reason=\"%s\"", lcores->label[i],
				drop_reason_word(reason));
			metrics_u64(m, labels,
				member(lcores->lcore[i], offsetof(struct stats, dropped_pkts) +
								 reason * sizeof(uint64_t)));
		}
	}
}

static void put_gauges(struct metrics *m, const struct lcores *lcores)
{
	static const struct {
		const char *name;
		enum metric_type type;
		size_t offset;
		const char *help;
	} gauges[] = {
#define MEMBER(name) offsetof(struct stats, name)
		{"sluice_held_pkts", METRIC_GAUGE, MEMBER(held_pkts),
			"packets in tx buffers and rings, and fragments"},
		{"sluice_fragments_held", METRIC_GAUGE, MEMBER(fragments_held),
			"of these, fragments of datagrams that are not whole"},
		{"sluice_datagrams_held", METRIC_GAUGE, MEMBER(datagrams_held),
			"datagrams that these belong to, or that were given up"},
		{"sluice_flows_active", METRIC_GAUGE, MEMBER(flows_active), "live flows"},
		{"sluice_elephants_active", METRIC_GAUGE, MEMBER(elephants_active),
			"of these, elephants"},
		{"sluice_embryos_active", METRIC_GAUGE, MEMBER(embryos_active),
			"flows without payload yet, and blocked ones"},
		{"sluice_cache_entries", METRIC_GAUGE, MEMBER(cache_entries),
			"entries of this lcore's replica of the connection cache"},
		{"sluice_loops", METRIC_COUNTER, MEMBER(loops), "turns of the lcore's loop"},
		{"sluice_busy_loops", METRIC_COUNTER, MEMBER(busy_loops),
			"turns that took at least one packet"},
#undef MEMBER
	};

	for (size_t i = 0; i < sizeof gauges / sizeof gauges[0]; i++) {
		metrics_family(m, gauges[i].name, gauges[i].type, NULL, gauges[i].help);
		put_each(m, lcores, gauges[i].offset);
	}
#define X(name, help)                                                 \
	metrics_family(m, "sluice_" #name, METRIC_GAUGE, NULL, help); \
	put_each(m, lcores, offsetof(struct stats, name));
	STATS_GAUGES(X)
#undef X
	metrics_family(m, "sluice_lcore_busy_seconds", METRIC_COUNTER, "seconds",
		"time in turns that took at least one packet");
	for (unsigned i = 0; i < lcores->n; i++)
		metrics_seconds(m, lcores->label[i],
			__atomic_load_n(&lcores->lcore[i]->stats.busy_ns, __ATOMIC_RELAXED));
	metrics_family(m, "sluice_lcore_loop_seconds", METRIC_COUNTER, "seconds",
		"time in all turns and in naps between them");
	for (unsigned i = 0; i < lcores->n; i++)
		metrics_seconds(m, lcores->label[i],
			__atomic_load_n(&lcores->lcore[i]->stats.loop_ns, __ATOMIC_RELAXED));
	metrics_family(m, "sluice_lcore_heartbeat_timestamp_seconds", METRIC_GAUGE, "seconds",
		"time of the lcore's last turn");
	for (unsigned i = 0; i < lcores->n; i++)
		metrics_seconds(m, lcores->label[i],
			__atomic_load_n(&lcores->lcore[i]->stats.heartbeat_ns, __ATOMIC_RELAXED));
}

static void put_ledger(struct metrics *m, const struct dataplane *dp)
{
	struct ledger ledger;
	struct stats sum;

	stats_sum(dp, &sum, &ledger);
	metrics_family(m, "sluice_unaccounted_packets", METRIC_GAUGE, NULL,
		"received + injected - sent - dropped - held - consumed, all lcores: 0 at rest");
	metrics_i64(m, NULL, ledger.unaccounted);
}

static void put_pools(struct metrics *m, const struct lcores *lcores)
{
	const struct rte_mempool *pools[LCORES_MAX];
	unsigned n = 0;
	char labels[LCORES_MAX][METRICS_LABELS_MAX];

	for (unsigned i = 0; i < lcores->n; i++) {
		const struct rte_mempool *pool = lcores->lcore[i]->pool;
		unsigned k = 0;

		while (k < n && pools[k] != pool)
			k++;
		if (!pool || k < n) // lcores of a socket share one
			continue;
		labels[n][0] = '\0';
		metrics_label(labels[n], "pool", pool->name);
		pools[n++] = pool;
	}
	metrics_family(m, "sluice_pool_buffers", METRIC_GAUGE, NULL, "packet buffers of the pool");
	for (unsigned i = 0; i < n; i++)
		metrics_u64(m, labels[i], pools[i]->size);
	metrics_family(m, "sluice_pool_buffers_free", METRIC_GAUGE, NULL,
		"of these, not in use; receive rings are use");
	for (unsigned i = 0; i < n; i++)
		metrics_u64(m, labels[i], rte_mempool_avail_count(pools[i]));
}

void metrics_put_lcores(struct metrics *m, const struct control_context *context)
{
	struct lcores lcores = lcores_of(context->dp);

#define X(name, help)                                                   \
	metrics_family(m, "sluice_" #name, METRIC_COUNTER, NULL, help); \
	put_each(m, &lcores, offsetof(struct stats, name));
	STATS_COUNTERS(X)
#undef X
	put_dropped(m, &lcores);
	put_gauges(m, &lcores);
	put_ledger(m, context->dp);
	put_pools(m, &lcores);
}
