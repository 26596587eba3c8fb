// SPDX-License-Identifier: BSD-3-Clause
// What scan lcores and their engine tell. Their label is scan-0, scan-1, ...: lcore 0 is a data
// lcore.
#include <stdio.h>

#include "control/http/metrics.h"
#include "control/stats/scan_state.h"
#include "control/stats/sum.h"
#include "pipeline/vocab/tick.h"

#define QUEUE_FIRST_SHIFT 17 // 131 us
#define QUEUE_LAST_SHIFT  36 // 69 s
#define HOLD_FIRST_SHIFT  20 // 1.05 ms

struct seen {
	unsigned n;
	char labels[GATEWAY_LCORES_MAX][METRICS_LABELS_MAX];
	struct scan_status status[GATEWAY_LCORES_MAX];
};

static void look(struct seen *seen, const struct scan_desk *desk)
{
	seen->n = 0;
	for (unsigned i = 0; desk && i < desk->n && seen->n < GATEWAY_LCORES_MAX; i++) {
		if (!desk->status(desk->ctx, i, &seen->status[seen->n]))
			continue;
		snprintf(seen->labels[seen->n], sizeof seen->labels[0], "lcore=\"scan-%u\"", i);
		seen->n++;
	}
}

static void put_verdicts(struct metrics *m, const struct seen *seen)
{
	metrics_family(m, "sluice_scan_verdicts", METRIC_COUNTER, NULL,
		"verdicts of the scan engine on files; reason: of those that are unscanned");
	for (unsigned i = 0; i < seen->n; i++) {
		const struct scan_status *status = &seen->status[i];
		char labels[METRICS_LABELS_MAX];

		for (unsigned value = 0; value < SCAN_VALUES_MAX; value++) {
			if (value == SCAN_UNSCANNED)
				continue;
			snprintf(labels, sizeof labels, "%s", seen->labels[i]);
			metrics_label(labels, "verdict", scan_value_word(value));
			metrics_label(labels, "reason", scan_reason_word(SCAN_REASON_NONE));
			metrics_u64(m, labels, status->verdicts[value]);
		}
		for (unsigned reason = 1; reason < SCAN_REASONS_MAX; reason++) {
			snprintf(labels, sizeof labels, "%s", seen->labels[i]);
			metrics_label(labels, "verdict", scan_value_word(SCAN_UNSCANNED));
			metrics_label(labels, "reason", scan_reason_word(reason));
			metrics_u64(m, labels, status->unscanned[reason]);
		}
	}
}

static uint64_t children_replaced(const struct scan_status *status)
{
	return status->replaced;
}

static uint64_t children_died(const struct scan_status *status)
{
	return status->died;
}

static uint64_t children_finished(const struct scan_status *status)
{
	return status->finished;
}

static uint64_t is_ready(const struct scan_status *status)
{
	return status->state == SCAN_STATE_READY;
}

static uint64_t waiting(const struct scan_status *status)
{
	return status->waiting;
}

static uint64_t running(const struct scan_status *status)
{
	return status->running;
}

static uint64_t hits(const struct scan_status *status)
{
	return status->known.hits;
}

static uint64_t misses(const struct scan_status *status)
{
	return status->known.misses;
}

static uint64_t joined(const struct scan_status *status)
{
	return status->known.joined;
}

static uint64_t listed(const struct scan_status *status)
{
	return status->known.listed;
}

static uint64_t signatures(const struct scan_status *status)
{
	return status->signatures;
}

static uint64_t version(const struct scan_status *status)
{
	return status->db_version;
}

static const struct row {
	const char *name;
	enum metric_type type;
	uint64_t (*value)(const struct scan_status *status);
	const char *help;
} rows[] = {
	{"sluice_scan_ready", METRIC_GAUGE, is_ready,
		"1 while the scan lcore has a child that scans"},
	{"sluice_scan_jobs_waiting", METRIC_GAUGE, waiting, "jobs that no child was given yet"},
	{"sluice_scan_jobs_running", METRIC_GAUGE, running, "jobs that a child has"},
	{"sluice_scan_children_replaced", METRIC_COUNTER, children_replaced,
		"children that were killed for a deadline, or for what they said"},
	{"sluice_scan_children_died", METRIC_COUNTER, children_died,
		"children that ended by themselves before they had done their jobs"},
	{"sluice_scan_children_finished", METRIC_COUNTER, children_finished,
		"children that ended after as many jobs as each may have (scan.jobs)"},
	{"sluice_scan_cache_hits", METRIC_COUNTER, hits, "files whose verdict was remembered"},
	{"sluice_scan_cache_misses", METRIC_COUNTER, misses,
		"files that were hashed and are in neither cache nor list"},
	{"sluice_scan_cache_joined", METRIC_COUNTER, joined,
		"files that waited for the verdict of the same file in flight"},
	{"sluice_scan_listed", METRIC_COUNTER, listed, "files that scan.allow or scan.deny names"},
	{"sluice_clamav_signatures", METRIC_GAUGE, signatures, "signatures that are in force"},
	{"sluice_clamav_db_version", METRIC_GAUGE, version,
		"highest version of the files of signatures; 0: custom ones alone"},
};

static void put_rows(struct metrics *m, const struct seen *seen)
{
	for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
		metrics_family(m, rows[row].name, rows[row].type, NULL, rows[row].help);
		for (unsigned i = 0; i < seen->n; i++)
			metrics_u64(m, seen->labels[i], rows[row].value(&seen->status[i]));
	}
}

// Without signatures there is no age: a series that is absent, not 0, which would be the best.
static void put_age(struct metrics *m, const struct seen *seen, uint64_t now_ns)
{
	metrics_family(m, "sluice_clamav_db_age_seconds", METRIC_GAUGE, "seconds",
		"since the newest file of signatures in force was made");
	for (unsigned i = 0; i < seen->n; i++) {
		uint64_t made_s = seen->status[i].db_time_s, now_s = now_ns / NS_PER_S;

		if (seen->status[i].signatures)
			metrics_u64(m, seen->labels[i], now_s > made_s ? now_s - made_s : 0);
	}
}

// One for all scan lcores: each tells the same, so it has no label.
static void put_cache(struct metrics *m, const struct seen *seen)
{
	const struct scan_known_status *known = &seen->status[0].known;

	metrics_family(
		m, "sluice_scan_cache_entries", METRIC_GAUGE, NULL, "verdicts that are remembered");
	if (seen->n)
		metrics_u64(m, NULL, known->entries);
	metrics_family(m, "sluice_scan_cache_limit", METRIC_GAUGE, NULL,
		"verdicts that can be (scan.cache)");
	if (seen->n)
		metrics_u64(m, NULL, known->limit);
	metrics_family(m, "sluice_scan_cache_evicted", METRIC_COUNTER, NULL,
		"verdicts that made room before their time");
	if (seen->n)
		metrics_u64(m, NULL, known->evicted);
}

// A time that never was is absent: 0 would be 1970.
static void put_reloads(struct metrics *m, const struct scan_reloads *reloads)
{
	static const char taken[] = "result=\"taken\"", refused[] = "result=\"refused\"";

	metrics_family(m, "sluice_scan_reloads", METRIC_COUNTER, NULL,
		"signatures that came into force, the first ones too, or did not");
	if (reloads) {
		metrics_u64(m, taken, reloads->taken);
		metrics_u64(m, refused, reloads->refused);
	}
	metrics_family(m, "sluice_scan_last_reload_timestamp_seconds", METRIC_GAUGE, "seconds",
		"when the last ones did, since 1970");
	if (reloads && reloads->taken_ns)
		metrics_u64(m, taken, reloads->taken_ns / NS_PER_S);
	if (reloads && reloads->refused_ns)
		metrics_u64(m, refused, reloads->refused_ns / NS_PER_S);
	metrics_family(m, "sluice_scan_reloading", METRIC_GAUGE, NULL,
		"1 while signatures are loaded anew");
	if (reloads)
		metrics_u64(m, NULL, reloads->is_loading);
}

static void put_times(struct metrics *m, const struct seen *seen, const struct dataplane *dp)
{
	struct histogram hold;

	metrics_family(m, "sluice_scan_queue_seconds", METRIC_HISTOGRAM, "seconds",
		"time from a job until a child was given it");
	for (unsigned i = 0; i < seen->n; i++)
		metrics_doublings(m, seen->labels[i], &seen->status[i].queue, QUEUE_FIRST_SHIFT,
			QUEUE_LAST_SHIFT);
	metrics_family(m, "sluice_scan_run_seconds", METRIC_HISTOGRAM, "seconds",
		"time that jobs were with a child");
	for (unsigned i = 0; i < seen->n; i++)
		metrics_doublings(m, seen->labels[i], &seen->status[i].run, QUEUE_FIRST_SHIFT,
			QUEUE_LAST_SHIFT);
	metrics_family(m, "sluice_scan_hold_seconds", METRIC_HISTOGRAM, "seconds",
		"time from a scan job until its verdict, or until it was given up");
	stats_hold(dp, &hold);
	metrics_doublings(m, "", &hold, HOLD_FIRST_SHIFT, QUEUE_LAST_SHIFT);
}

static void put_arena(struct metrics *m, const struct control_context *context)
{
	static const char *const names[] = {"sluice_scan_arena_bytes",
		"sluice_scan_arena_used_bytes", "sluice_scan_held_flows"};
	static const char *const helps[] = {"memory for files under scan of the data lcore",
		"of these, in use", "halves of flows that wait for a verdict"};
	const struct scan_desk *desk = context->scan;

	for (unsigned what = 0; what < 3; what++) {
		metrics_family(
			m, names[what], METRIC_GAUGE, what < 2 ? "bytes" : NULL, helps[what]);
		for (unsigned i = 0; desk && i < context->dp->n_lcores; i++) {
			struct scan_files_use use;
			char label[32];

			if (!desk->files(desk->ctx, i, &use))
				continue;
			const uint64_t values[] = {use.arena_bytes, use.arena_used, use.held};

			snprintf(label, sizeof label, "lcore=\"%u\"", i);
			metrics_u64(m, label, values[what]);
		}
	}
}

void metrics_put_scan(struct metrics *m, const struct control_context *context)
{
	static struct seen seen; // large; the control core is one

	look(&seen, context->scan);
	put_rows(m, &seen);
	put_age(m, &seen, context->now_ns());
	put_verdicts(m, &seen);
	put_cache(m, &seen);
	put_reloads(m, context->scan_reloads);
	put_times(m, &seen, context->dp);
	put_arena(m, context);
	metrics_family(m, "sluice_scan_missing", METRIC_GAUGE, NULL,
		"1 while a rule has files scanned and no scan engine is ready");
	metrics_u64(m, NULL, scan_state_is_missing(context, NULL, 0));
}
