// SPDX-License-Identifier: BSD-3-Clause
// Writes the list of what an operator should look into, from counters and rates.
#include "base/plural.h"
#include "control/stats/alarms.h"

#include <inttypes.h>
#include <rte_mempool.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "control/stats/scan_state.h"
#include "control/stats/sum.h"
#include "pipeline/limits.h"
#include "pipeline/vocab/tick.h"

#define HEART_NS      (2 * NS_PER_S) // as control_loop's
#define UNBALANCED_S  5
#define FULL_PERCENT  90
#define POOL_PERCENT  10
#define BUSY_PERMILLE 950

enum level { LEVEL_ERROR, LEVEL_WARNING, LEVEL_NOTE, LEVELS };

struct list {
	json_t *by_level[LEVELS];
};

static void format(struct list *list, enum level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static void format(struct list *list, enum level level, const char *format, ...)
{
	static const char *const words[] = {"error", "warning", "note"};
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (json_array_append_new(list->by_level[level],
		    json_pack("{s:s, s:s}", "level", words[level], "text", text)) < 0) {
		json_decref(list->by_level[level]); // all of the list, or none
		list->by_level[level] = NULL;
	}
}

static void look_at_lcores(struct list *list, const struct rates *rates)
{
	const struct dataplane *dp = rates->context->dp;
	uint64_t now_ns = rates->context->now_ns();

	for (unsigned i = 0; i < dp->n_lcores; i++) {
		const struct stats *stats = &dp->lcores[i]->stats;
		uint64_t beat = __atomic_load_n(&stats->heartbeat_ns, __ATOMIC_RELAXED);
		uint64_t busy = __atomic_load_n(&stats->busy_permille, __ATOMIC_RELAXED);

		if (now_ns > beat && now_ns - beat > HEART_NS)
			format(list, LEVEL_ERROR,
				"Data lcore %u stands still for %" PRIu64
				" s: its flows do not pass. If it does not go on, restart the "
				"gateway and report it.",
				i, (uint64_t)((now_ns - beat) / NS_PER_S));
		else if (busy > BUSY_PERMILLE)
			format(list, LEVEL_WARNING,
				"Data lcore %u is busy for %" PRIu64
				" %% of its time: more data lcores (lcores.data) share the load.",
				i, busy / 10);
	}
}

// As it is, not as it was when the last sample was taken.
static void look_at_link(struct list *list, const struct dataplane *dp, const struct port *port)
{
	static const char *const advice[] = {
		[PORT_LINK_DISABLED] = "Its interface is set down: ip link set ... up.",
		[PORT_LINK_GONE] =
			"Its interface, or device, is gone: make it again; the gateway "
			"takes it up as soon as it is there, or says in the log why not.",
	};
	struct port_counters now;

	if (!port_read(port, &now) || now.link_up)
		return;
	const char *what = now.link < sizeof advice / sizeof advice[0] ? advice[now.link] : NULL;

	if (now.link == PORT_LINK_GONE && now.restart)
		what = "Its interface, or device, is gone, and it cannot be taken up in passing: "
		       "make it again, or put it back, and restart the gateway.";
	format(list, LEVEL_ERROR, "Port %s has no link: nothing passes between it and %s. %s",
		port->name, port->peer < dp->n_ports ? dp->ports[port->peer].name : "its peer",
		what ? what : "Look at its cable and at the other end.");
}

static void look_at_ports(struct list *list, const struct rates *rates)
{
	const struct dataplane *dp = rates->context->dp;
	uint64_t lately;

	for (unsigned i = 0; i < dp->n_ports; i++) {
		const struct port *port = &dp->ports[i];

		look_at_link(list, dp, port);
		lately = rates_grown_by(rates, &rates->missed[i]);
		if (lately)
			format(list, LEVEL_WARNING,
				"Port %s lost %" PRIu64
				" %s in the last minute: its receive ring was full (more data "
				"lcores, or a larger ports[].rx_desc).",
				port->name, lately, plural(lately, "packet", "packets"));
		lately = rates_grown_by(rates, &rates->nombuf[i]);
		if (lately)
			format(list, LEVEL_WARNING,
				"Port %s found no packet buffer %" PRIu64
				" %s in the last minute: raise memory.mbufs.",
				port->name, lately, plural(lately, "time", "times"));
		lately = rates_grown_by(rates, &rates->port_errors[i]);
		if (lately)
			format(list, LEVEL_WARNING,
				"Port %s had %" PRIu64
				" %s in the last minute: look at its cable and driver.",
				port->name, lately, plural(lately, "error", "errors"));
	}
}

static void look_at_tables(struct list *list, const struct rates *rates, const struct stats *sum)
{
	const struct dataplane *dp = rates->context->dp;
	uint64_t flows = (uint64_t)dp->limits->flows * dp->n_lcores;
	uint64_t embryos = (uint64_t)dp->limits->embryos * dp->n_lcores;
	const struct rte_mempool *pools[LCORES_MAX];
	unsigned n_pools = stats_pools(dp, pools);

	if (flows && sum->flows_active * 100 > flows * FULL_PERCENT)
		format(list, LEVEL_WARNING,
			"The flow tables are over %u %% full (%" PRIu64 " of %" PRIu64
			"): raise limits.flows.",
			FULL_PERCENT, sum->flows_active, flows);
	if (embryos && sum->embryos_active * 100 > embryos * FULL_PERCENT)
		format(list, LEVEL_WARNING,
			"The tables of flows without payload are over %u %% full: a scan or a "
			"flood "
			"of SYN, or limits.embryos is too small.",
			FULL_PERCENT);
	for (unsigned i = 0; i < n_pools; i++) {
		if ((uint64_t)rte_mempool_avail_count(pools[i]) * 100 <
			(uint64_t)pools[i]->size * POOL_PERCENT)
			format(list, LEVEL_WARNING,
				"Pool %s has less than %u %% of its packet buffers left: raise "
				"memory.mbufs.",
				pools[i]->name, POOL_PERCENT);
	}
}

// What reassembly may keep. Beyond it segments are dropped, or pass uninspected, by policy.
static void look_at_pressure(struct list *list, const struct rates *rates)
{
	static const struct {
		const char *what, *advice;
	} rows[PRESSURES_MAX] = {
		// flow tables are looked at as a whole
		[PRESSURE_MEMORY] = {"blocks of reassembly memory",
			"raise reassembly.memory_mb; many holes in many flows are an attack"},
		[PRESSURE_TRACKED] = {"places for TCP flows under inspection",
			"raise reassembly.tracked"},
		[PRESSURE_HELD] = {"places for held segments",
			"what they wait for takes too long, or raise reassembly.held"},
	};
	struct pressure pressures[PRESSURES_MAX];

	stats_pressure(rates->context->dp, pressures);
	for (unsigned i = 0; i < PRESSURES_MAX; i++) {
		const struct pressure *one = &pressures[i];

		if (rows[i].what && one->used * 100 > one->limit * FULL_PERCENT)
			format(list, LEVEL_WARNING,
				"Data lcore %u has used %" PRIu64 " of its %" PRIu64 " %s: %s.",
				one->lcore, one->used, one->limit, rows[i].what, rows[i].advice);
	}
}

static void look_at_watches(struct list *list, const struct rates *rates)
{
	static const struct {
		enum level level;
		const char *one, *many, *what, *advice; // "1 flow was" "reset"
	} rows[] = {
		[ALARM_COUNTER_PORTS_DOWN] = {.what = NULL}, // reported port by port
		[ALARM_COUNTER_LCORE_STALLS] = {LEVEL_WARNING, "time", "times",
			"a data lcore stood still",
			"does something else run on its CPU? The log names it"},
		[ALARM_COUNTER_BYPASSED_PKTS] = {LEVEL_WARNING, "packet", "packets",
			"passed uninspected", "a data lcore stood still (stall.policy open)"},
		// Told port by port: rx_missed, rx_nombuf.
		[ALARM_COUNTER_TX_FULL] = {LEVEL_WARNING, "packet was", "packets were",
			"not taken by a port", "it is slower than what comes in"},
		[ALARM_COUNTER_HANDOFF_FULL] = {LEVEL_WARNING, "packet was", "packets were",
			"lost between data lcores", "one of them is too slow"},
		[ALARM_COUNTER_FLOW_TABLE_FULL] = {LEVEL_ERROR, "packet", "packets",
			"found no room in a flow table", "raise limits.flows and limits.embryos"},
		[ALARM_COUNTER_FLOWS_EVICTED] = {LEVEL_WARNING, "flow", "flows",
			"had to make room for others", "a flood, or limits.flows is too small"},
		[ALARM_COUNTER_EMERGENCY_ENTERED] = {LEVEL_WARNING, "time", "times",
			"a flow table was more than 90 % full",
			"a flood, or limits.flows and limits.embryos are too small"},
		[ALARM_COUNTER_CLASSIFY_NOMEM] = {LEVEL_WARNING, "packet", "packets",
			"found no free state of the classifier", "raise limits.classifying"},
		[ALARM_COUNTER_TCP_MEMORY_DROPS] = {LEVEL_WARNING, "segment was", "segments were",
			"dropped, for want of memory for copies",
			"raise reassembly.memory_mb; many holes in many flows are an attack"},
		[ALARM_COUNTER_TCP_HALF_LIMIT_DROPS] = {LEVEL_WARNING, "segment was",
			"segments were", "dropped, because a connection kept too much",
			"raise reassembly.half_kb; on purpose, it is an attack"},
		[ALARM_COUNTER_TCP_HELD_LIMIT_DROPS] = {LEVEL_WARNING, "segment was",
			"segments were", "dropped, because too many wait already",
			"what they wait for takes too long, or raise reassembly.held, half_held"},
		[ALARM_COUNTER_TCP_NOT_TRACKED] = {LEVEL_WARNING, "time", "times",
			"a TCP flow found no room to be inspected", "raise reassembly.tracked"},
		[ALARM_COUNTER_FLOWS_LAW_WAIVED] = {LEVEL_ERROR, "flow", "flows",
			"passed uninspected bytes",
			"for want of room, as over_limit of the policy says; their events say why"},
		[ALARM_COUNTER_MAKE_NOMEM] = {LEVEL_WARNING, "reset", "resets",
			"could not be made for want of packet buffers", "raise memory.mbufs"},
		[ALARM_COUNTER_RESETS_IMPOSSIBLE] = {LEVEL_NOTE, "blocked flow was",
			"blocked flows were", "dropped, not reset",
			"no reset could be built from what had been seen of them"},
		[ALARM_COUNTER_BAD_CHECKSUM_PKTS] = {LEVEL_WARNING, "packet was", "packets were",
			"not inspected, for a bad checksum", "all of one host: its offloads"},
		[ALARM_COUNTER_HINTS_LOST] = {LEVEL_WARNING, "word", "words",
			"between data lcores about blocked peers got lost",
			"a reconnection may pass; one of them is too slow"},
		[ALARM_COUNTER_EVENTS_LOST] = {LEVEL_WARNING, "event was", "events were", "lost",
			"the control core is too slow for them; are drop_events needed?"},
		[ALARM_COUNTER_EVENTS_FAILED] = {LEVEL_ERROR, "event", "events",
			"could not be written", "is the disk of paths.events full?"},
		[ALARM_COUNTER_AUDIT_LOST] = {LEVEL_ERROR, "record was", "records were",
			"lost to the audit log",
			"is the disk of paths.audit full, or slow? sluicectl audit show"},
		[ALARM_COUNTER_CONTENT_NOMEM] = {LEVEL_WARNING, "piece", "pieces",
			"of files or messages found no room for their decoder",
			"raise content.flows or content.memory_mb, or one host has all places"},
		[ALARM_COUNTER_CONTENT_LOST] = {LEVEL_WARNING, "record", "records",
			"of files or messages found no room on the way",
			"is the disk of paths.audit or paths.files slow? Raise content.records_mb"},
		[ALARM_COUNTER_CONTENT_LOST_CLOSED] = {LEVEL_ERROR, "flow was", "flows were",
			"reset because a record could not be written",
			"as on_lost of a rule says; look at the disk of paths.audit"},
		[ALARM_COUNTER_CONTENT_AMBIGUOUS] = {LEVEL_WARNING, "flow was", "flows were",
			"reset, as hosts may read what was said in two ways, or at a decoder's "
			"limit",
			"few are normal; many of one host are an attempt to get round the rules"},
		[ALARM_COUNTER_STORE_REFUSED] = {LEVEL_WARNING, "file was", "files were",
			"not stored, for a limit of the store or the quarantine",
			"raise content.store_mb, store_files or quarantine_mb"},
		[ALARM_COUNTER_STORE_EVICTED] = {LEVEL_NOTE, "stored file", "stored files",
			"had to make room for newer ones",
			"raise content.store_mb, store_files or quarantine_mb to keep them longer"},
		[ALARM_COUNTER_STORE_ERRORS] = {LEVEL_ERROR, "file", "files", "could not be stored",
			"is the disk of paths.files or paths.quarantine full, or not writable?"},
		[ALARM_COUNTER_RELOAD_FAILURES] = {LEVEL_ERROR, "reload was", "reloads were",
			"refused",
			"the old policy stays in force; sluicectl policy check says why"},
		[ALARM_COUNTER_EVENTS_STUCK] = {.what = NULL},   // told by look_at_files
		[ALARM_COUNTER_STATE_STUCK] = {.what = NULL},    // the same
		[ALARM_COUNTER_SCAN_NOT_READY] = {.what = NULL}, // told by look_at_scan
		[ALARM_COUNTER_IMPAIRED] = {.what = NULL},       // told by look_at_impairment
	};

	static_assert(sizeof rows / sizeof rows[0] == ALARM_COUNTERS_MAX, "each has a row");
	for (unsigned i = 0; i < ALARM_COUNTERS_MAX; i++) {
		uint64_t lately = rates_grown_by(rates, &rates->watches[i]);

		if (lately && rows[i].what)
			format(list, rows[i].level, "%" PRIu64 " %s %s in the last minute: %s.",
				lately, plural(lately, rows[i].one, rows[i].many), rows[i].what,
				rows[i].advice);
	}
}

// What cannot be written now; what it has cost so far is told by look_at_watches, too.
static void look_at_files(struct list *list, const struct control_context *context)
{
	struct sink_stuck stuck;

	if (context->sink && sink_is_stuck(context->sink, &stuck)) {
		if (stuck.error)
			format(list, LEVEL_ERROR,
				"Events cannot be written to %s: %s. The newest wait in memory, "
				"%" PRIu64 " lost so far: make room (df). It goes on by itself.",
				stuck.path, strerror(stuck.error), stuck.lost);
		else if (stuck.hangs)
			format(list, LEVEL_ERROR,
				"Writing events to %s does not come to an end: its disk hangs. The "
				"newest wait in memory, %" PRIu64
				" are lost so far. It goes on by itself.",
				stuck.path, stuck.lost);
		else
			format(list, LEVEL_ERROR,
				"The reader of %s is too slow: %" PRIu64 " %s lost so far.",
				stuck.path, stuck.lost,
				plural(stuck.lost, "event is", "events are"));
	}
	if (context->state && context->state->failing)
		format(list, LEVEL_ERROR,
			"The connection cache cannot be written to paths.state: blocked peers "
			"would "
			"be forgotten by a restart. Make room (df), or make it writable; it is "
			"tried again.");
}

static void look_at_scan(struct list *list, const struct control_context *context)
{
	char why[256];

	if (scan_state_is_missing(context, why, sizeof why))
		format(list, LEVEL_ERROR,
			"Rule %s has files scanned, and no scan engine is ready: %s. Until one is, "
			"files are unscanned (no_engine), and pass or end as the rule says of "
			"those.",
			scan_state_asks(context), why);
}

static void look_at_impairment(struct list *list, const struct control_context *context)
{
	char text[400];

	if (!context->gateway || !gateway_impairs(context->gateway))
		return;
	gateway_impairment_text(context->gateway, text, sizeof text);
	format(list, LEVEL_WARNING,
		"The impairment stage is on, packets are disturbed on purpose (%s): remove "
		"\"impairment\" from gateway.json and restart.",
		text);
}

static void look_at_policy(struct list *list, const struct rates *rates)
{
	const struct policy *policy = reload_policy(rates->context->reload);

	if (policy && policy->mode == MODE_MONITOR)
		format(list, LEVEL_NOTE,
			"The whole policy is in monitor mode: nothing is blocked.");
	else if (policy && !policy->enforces)
		format(list, LEVEL_NOTE, "The policy in force blocks nothing.");
}

json_t *alarms_json(const struct rates *rates)
{
	struct list list;
	struct ledger ledger;
	struct stats sum;

	for (unsigned i = 0; i < LEVELS; i++)
		list.by_level[i] = json_array();
	stats_sum(rates->context->dp, &sum, &ledger);
	look_at_lcores(&list, rates);
	look_at_ports(&list, rates);
	look_at_tables(&list, rates, &sum);
	look_at_pressure(&list, rates);
	look_at_watches(&list, rates);
	look_at_files(&list, rates->context);
	if (rates->unbalanced_s >= UNBALANCED_S)
		format(&list, LEVEL_ERROR,
			"%" PRId64 " %s not accounted for: please report this, with the output of "
			"sluicectl stats.",
			ledger.unaccounted, ledger.unaccounted == 1 ? "packet is" : "packets are");
	look_at_scan(&list, rates->context);
	look_at_impairment(&list, rates->context);
	look_at_policy(&list, rates);
	for (unsigned i = 1; i < LEVELS; i++) {
		if (json_array_extend(list.by_level[0], list.by_level[i]) < 0) {
			json_decref(list.by_level[0]);
			list.by_level[0] = NULL;
		}
		json_decref(list.by_level[i]);
	}
	return list.by_level[0];
}
