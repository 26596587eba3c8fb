// SPDX-License-Identifier: BSD-3-Clause
// The document /metrics, and how a row of a table of counters (stats/counters.h) becomes a family.
#include "control/http/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <rte_version.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "control/http/census.h"
#include "control/stats/sum.h"

#define LATENCY_FIRST_SHIFT 10 // 1.024 us
#define LATENCY_LAST_SHIFT  30 // 1.07 s

static void put_samples(
	struct metrics *m, const struct counter *row, const char *subject, const void *counted)
{
	for (unsigned at = 0; at < (row->word ? row->n : 1); at++) {
		uint64_t value = counter_value(row, counted, at);
		char labels[METRICS_LABELS_MAX];

		snprintf(labels, sizeof labels, "%s", subject);
		if (row->word)
			metrics_label(labels, row->label, row->word(at));
		if (row->unit == COUNTER_NS)
			metrics_seconds(m, labels, value);
		else
			metrics_u64(m, labels, value);
	}
}

void metrics_put_rows(struct metrics *m, const char *prefix, const struct counter *rows, unsigned n,
	char (*labels)[METRICS_LABELS_MAX], const void *counted, size_t size)
{
	static const char *const units[] = {[COUNTER_BYTES] = "bytes", [COUNTER_NS] = "seconds"};
	const struct counter *row = NULL;

	while ((row = counter_next(rows, row, COUNTER_METRICS))) {
		char name[128];

		snprintf(name, sizeof name, "%s%s", prefix, row->name);
		metrics_family(m, name, row->gauge ? METRIC_GAUGE : METRIC_COUNTER,
			units[row->unit], row->help);
		for (unsigned i = 0; i < n; i++)
			put_samples(m, row, labels[i], (const char *)counted + i * size);
	}
}

// A family with one sample.
static void put_one(struct metrics *m, const char *name, enum metric_type type, uint64_t value,
	const char *help)
{
	metrics_family(m, name, type, NULL, help);
	metrics_u64(m, NULL, value);
}

void metrics_doublings(struct metrics *m, const char *labels, const struct histogram *histogram,
	unsigned first_shift, unsigned last_shift)
{
	uint64_t count = histogram_count(histogram);

	for (unsigned shift = first_shift; shift <= last_shift; shift++) {
		uint64_t bound = UINT64_C(1) << shift;

		metrics_bucket(m, labels, bound, histogram_below(histogram, bound));
	}
	metrics_bucket(m, labels, UINT64_MAX, count);
	metrics_sum_seconds(m, labels, histogram->sum_ns, count);
}

// Of packets that left by the port, all lcores; two bounds of the histogram to each factor of 16
// would hide a queue that doubles: one to each doubling, from 1 us to 1 s.
static void put_latency(struct metrics *m, const struct dataplane *dp)
{
	metrics_family(m, "sluice_port_latency_seconds", METRIC_HISTOGRAM, "seconds",
		"time from the turn that received a packet until the port's driver had it");
	for (unsigned i = 0; i < dp->n_ports; i++) {
		char labels[METRICS_LABELS_MAX] = "";
		struct histogram histogram;

		metrics_label(labels, "port", dp->ports[i].name);
		stats_latency(dp, i, &histogram);
		metrics_doublings(m, labels, &histogram, LATENCY_FIRST_SHIFT, LATENCY_LAST_SHIFT);
	}
}

void metrics_put_ports(struct metrics *m, const struct control_context *context)
{
	const struct dataplane *dp = context->dp;
	struct port_counters seen[PORTS_MAX] = {0};
	char labels[PORTS_MAX][METRICS_LABELS_MAX];
	unsigned n = 0;

	for (unsigned i = 0; i < dp->n_ports; i++) {
		const struct port *port = &dp->ports[i];

		if (!port_read(port, &seen[n]))
			continue;
		labels[n][0] = '\0';
		metrics_label(labels[n], "port", port->name);
		metrics_label(labels[n], "side", port->inside ? "inside" : "outside");
		n++;
	}
	metrics_put_rows(m, "sluice_port_", port_counters, n, labels, seen, sizeof seen[0]);
	metrics_family(m, "sluice_port_up", METRIC_GAUGE, NULL, "1 while the port has a link");
	for (unsigned k = 0; k < n; k++)
		metrics_u64(m, labels[k], seen[k].link_up);
	metrics_family(m, "sluice_port_link_changes", METRIC_COUNTER, NULL,
		"times that the port lost or got its link");
	for (unsigned k = 0; k < n; k++)
		metrics_u64(m, labels[k], seen[k].link_changes);
	metrics_family(m, "sluice_port_speed_bytes_per_second", METRIC_GAUGE, NULL,
		"speed of the link; 0 where the driver does not know");
	for (unsigned k = 0; k < n; k++)
		metrics_u64(m, labels[k], (uint64_t)seen[k].speed_mbps * 125000);
	put_latency(m, dp);
}

void metrics_put_policy(struct metrics *m, const struct control_context *context)
{
	const struct reload *reload = context->reload;
	const struct policy *policy = reload_policy(reload);

	put_one(m, "sluice_policy_generation", METRIC_GAUGE, reload_generation(reload),
		"generation of the policy in force");
	metrics_family(m, "sluice_policy_last_reload_success_timestamp_seconds", METRIC_GAUGE,
		"seconds", "when the policy in force was put in force");
	metrics_seconds(m, NULL, reload_loaded_ns(reload));
	put_one(m, "sluice_policy_reload_failures", METRIC_COUNTER, reload_failures(reload),
		"policies that were refused; the one in force stayed");
	put_one(m, "sluice_policy_snapshots_published", METRIC_COUNTER, reload_generation(reload),
		"policies put in force");
	put_one(m, "sluice_policy_snapshots_freed", METRIC_COUNTER, reload_freed(reload),
		"policies freed; all published ones but the last, at rest");
	struct reload_editions editions = reload_editions(reload);

	put_one(m, "sluice_policy_signature_sets_leaving", METRIC_GAUGE, editions.leaving,
		"replaced signatures, kept for flows that began with them");
	put_one(m, "sluice_policy_signature_sets_drained", METRIC_COUNTER, editions.drained,
		"replaced signatures that were freed with the last of those flows");
	put_one(m, "sluice_policy_signature_sets_retired", METRIC_COUNTER, editions.retired,
		"replaced signatures that were freed before: those flows took too long");
	put_one(m, "sluice_policy_rules", METRIC_GAUGE, policy ? policy->n_rules : 0,
		"rules of the policy in force");
	put_one(m, "sluice_policy_enforcing", METRIC_GAUGE, policy && policy->enforces,
		"1: something of the policy in force blocks; 0: nothing does");
}

// The second number of /proc/self/statm: pages resident. Hugepages are not among them.
static uint64_t resident_bytes(void)
{
	char text[128];
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	char *end;

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	strtoull(text, &end, 10);
	return strtoull(end, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void put_store(struct metrics *m, const struct store_counters *store)
{
	put_one(m, "sluice_store_used_bytes", METRIC_GAUGE, store->used_bytes,
		"bytes that stored files take");
	put_one(m, "sluice_store_files_stored", METRIC_COUNTER, store->stored,
		"files that came into the store");
	put_one(m, "sluice_store_files_evicted", METRIC_COUNTER, store->evicted,
		"stored files that had to make room for newer ones");
	put_one(m, "sluice_store_files_refused", METRIC_COUNTER, store->refused,
		"files that a limit kept out of the store");
	put_one(m, "sluice_store_errors", METRIC_COUNTER, store->errors,
		"files that the disk kept out, and removals that failed");
	put_one(m, "sluice_store_files_quarantined", METRIC_COUNTER, store->quarantined,
		"infected files whose stored copy went to quarantine");
	put_one(m, "sluice_store_files_removed", METRIC_COUNTER, store->removed,
		"infected files whose stored copy was removed");
}

static void put_quarantine(struct metrics *m, const struct store_counters *quarantine)
{
	put_one(m, "sluice_quarantine_used_bytes", METRIC_GAUGE, quarantine->used_bytes,
		"bytes that files in quarantine take");
	put_one(m, "sluice_quarantine_files_evicted", METRIC_COUNTER, quarantine->evicted,
		"files in quarantine that had to make room for newer ones");
	put_one(m, "sluice_quarantine_files_refused", METRIC_COUNTER, quarantine->refused,
		"infected files that a limit kept out of quarantine");
	put_one(m, "sluice_quarantine_errors", METRIC_COUNTER, quarantine->errors,
		"infected files that the disk kept out of quarantine, and removals that failed");
}

static void put_http(struct metrics *m, const struct http_site *site)
{
	const struct http_counts *counts = site->counts;
	const struct census *census = site->census;
	const struct {
		const char *reason;
		uint64_t value;
	} refused[] = {
		{"malformed", counts->malformed},
		{"not_found", counts->not_found},
		{"timed_out", counts->timed_out},
		{"too_many", counts->refused},
		{"no_token", counts->no_token},
		{"wrong_token", counts->bad_token},
		{"throttled", counts->throttled},
	};

	put_one(m, "sluice_http_requests", METRIC_COUNTER, counts->requests,
		"requests answered by the HTTP server");
	metrics_family(m, "sluice_http_refused", METRIC_COUNTER, NULL,
		"requests and connections refused by the HTTP server");
	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
		char labels[METRICS_LABELS_MAX] = "";

		metrics_label(labels, "reason", refused[i].reason);
		metrics_u64(m, labels, refused[i].value);
	}
	put_one(m, "sluice_http_connections", METRIC_GAUGE, counts->open,
		"open connections of the HTTP server");
	put_one(m, "sluice_http_commands", METRIC_COUNTER, counts->commands,
		"commands of the page that were run, with the token");
	put_one(m, "sluice_http_hosts", METRIC_GAUGE, census->hosts.n,
		"hosts that are kept for the page");
	put_one(m, "sluice_http_users", METRIC_GAUGE, census->users.n,
		"users that are kept for the page");
	put_one(m, "sluice_http_hosts_evicted", METRIC_COUNTER,
		census->hosts.evicted + census->users.evicted,
		"hosts and users that made room for others (http.hosts)");
	put_one(m, "sluice_http_hosts_unheard", METRIC_COUNTER,
		census->hosts.unheard + census->users.unheard,
		"records of one end alone that found no place among the hosts and users");
}

void metrics_put_program(struct metrics *m, const struct http_site *site)
{
	const struct control_context *context = site->context;
	uint64_t now_ns = context->now_ns();
	char labels[METRICS_LABELS_MAX] = "";

	metrics_label(labels, "version", SLUICE_VERSION);
	metrics_label(labels, "dpdk", rte_version());
	metrics_label(labels, "clamav", SLUICE_CLAMAV);
	metrics_family(m, "sluice_build", METRIC_INFO, NULL, "what runs here");
	metrics_info(m, labels);
	metrics_family(
		m, "sluice_uptime_seconds", METRIC_GAUGE, "seconds", "since forwarding began");
	metrics_seconds(m, NULL, now_ns > context->started_ns ? now_ns - context->started_ns : 0);
	put_one(m, "sluice_lcore_stalls", METRIC_COUNTER, context->lcore_stalls,
		"times that a data lcore stood still");
	put_one(m, "sluice_events_written", METRIC_COUNTER,
		context->sink ? sink_written(context->sink) : 0, "event records written");
	put_one(m, "sluice_events_failed", METRIC_COUNTER,
		context->sink ? sink_failed(context->sink) : 0,
		"event records that could not be written");
	struct content_reader_counters content = {0};
	if (context->content)
		content_reader_look(context->content, &content);
	put_one(m, "sluice_audit_records_written", METRIC_COUNTER, content.log.records,
		"records of files and messages in the audit log");
	put_one(m, "sluice_audit_records_lost", METRIC_COUNTER, content.log.lost,
		"records that the audit log lacks: no room on their way, or its disk");
	put_store(m, &content.store);
	put_quarantine(m, &content.quarantine);
	struct sink_stuck stuck;
	put_one(m, "sluice_events_stuck", METRIC_GAUGE,
		context->sink && sink_is_stuck(context->sink, &stuck),
		"1 while the event file cannot be written");
	put_one(m, "sluice_state_stuck", METRIC_GAUGE, context->state && context->state->failing,
		"1 while the connection cache cannot be written to paths.state");
	put_one(m, "sluice_events_limited", METRIC_COUNTER,
		context->sink ? sink_left_out(context->sink) : 0,
		"event records left out because their type or source had too many");
	put_one(m, "sluice_events_limited_unheard", METRIC_COUNTER,
		context->sink ? sink_left_out_one_sided(context->sink) : 0,
		"of these, records of flows of which one end alone was heard");
	put_one(m, "sluice_greetings_forgotten", METRIC_COUNTER,
		context->sink ? sink_greetings_forgotten(context->sink) : 0,
		"flows whose hello was forgotten before they ended");
	metrics_family(m, "process_resident_memory_bytes", METRIC_GAUGE, "bytes",
		"ordinary memory in use; hugepages are not counted");
	metrics_u64(m, NULL, resident_bytes());
	put_http(m, site);
}

static int render(const struct http_site *site, bool openmetrics, struct text *out)
{
	struct metrics m = {.openmetrics = openmetrics};

	metrics_put_program(&m, site);
	metrics_put_policy(&m, site->context);
	metrics_put_ports(&m, site->context);
	metrics_put_lcores(&m, site->context);
	metrics_put_scan(&m, site->context);
	metrics_put_apps(&m, site->context);
	metrics_put_rules(&m, site->context);
	metrics_end(&m);
	*out = m.text;
	return m.text.failed ? -ENOMEM : 0;
}

int metrics_openmetrics(const struct http_site *site, struct text *out)
{
	return render(site, true, out);
}

int metrics_classic(const struct http_site *site, struct text *out)
{
	return render(site, false, out);
}
