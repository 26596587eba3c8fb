// SPDX-License-Identifier: BSD-3-Clause
// Adds up the counters of all lcores and checks the ledger.
#include "control/stats/sum.h"

#include <rte_mempool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "config/json_put.h"
#include "control/stats/counters.h"
#include "pipeline/limits.h"
#include "reassembly/slab.h"
#include "pipeline/vocab/tick.h"

// struct stats has nothing but 64-bit members.
#define STATS_WORDS (offsetof(struct stats, heartbeat_ns) / sizeof(uint64_t) + 1)

static void stats_copy(const struct stats *from, struct stats *to)
{
	const uint64_t *source = (const uint64_t *)from;
	uint64_t *copy = (uint64_t *)to;

	// The lcore writes meanwhile: each word is whole, all of them are of about the same loop.
	for (size_t i = 0; i < STATS_WORDS; i++)
		copy[i] = __atomic_load_n(&source[i], __ATOMIC_RELAXED);
}

static uint64_t dropped_sum(const struct stats *stats)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < DROP_REASONS_MAX; i++)
		sum += stats->dropped_pkts[i];
	return sum;
}

// Packets that left by no entry point; at rest, those that are missing behind it, of any kind.
static int64_t egress_open(const struct stats *stats)
{
	int64_t open = (int64_t)stats->egress_sent[EGRESS_NONE];

	for (unsigned kind = EGRESS_NONE + 1; !stats->held_pkts && kind < EGRESS_KINDS_MAX; kind++)
		open += llabs((long long)(stats->egress_entered[kind] - stats->egress_sent[kind] -
					  stats->egress_dropped[kind]));
	return open;
}

static void ledger_close(const struct stats *stats, struct ledger *ledger)
{
	*ledger = (struct ledger){
		.received = stats->received_pkts,
		.injected = stats->injected_pkts,
		.sent = stats->sent_pkts,
		.dropped = dropped_sum(stats),
		.held = stats->held_pkts,
		.consumed = stats->consumed_pkts,
	};
	ledger->unaccounted = (int64_t)(ledger->received + ledger->injected - ledger->sent -
					ledger->dropped - ledger->held - ledger->consumed) +
			      egress_open(stats);
}

// Adds the counters of an lcore, or of the standby for it; its last heartbeat.
static uint64_t stats_add(const struct lcore *lcore, struct stats *sum)
{
	uint64_t *total = (uint64_t *)sum;
	struct stats one;
	const uint64_t *words = (const uint64_t *)&one;

	stats_copy(&lcore->stats, &one);
#define X(name, help) uint64_t name = one.name > sum->name ? one.name : sum->name;
	STATS_LONGEST(X)
#undef X
	for (size_t w = 0; w < STATS_WORDS; w++)
		total[w] += words[w];
#define X(name, help) sum->name = name;
	STATS_LONGEST(X)
#undef X
	return one.heartbeat_ns;
}

void stats_lcore(const struct lcore *lcore, struct stats *out)
{
	stats_copy(&lcore->stats, out);
	uint64_t own = out->heartbeat_ns;

	if (lcore->dp->standbys[lcore->index])
		stats_add(lcore->dp->standbys[lcore->index], out);
	out->heartbeat_ns = own; // a time, no count
}

void stats_sum(const struct dataplane *dp, struct stats *sum, struct ledger *ledger)
{
	uint64_t oldest = UINT64_MAX;

	memset(sum, 0, sizeof *sum);
	for (unsigned i = 0; i < dp->n_lcores; i++) {
		if (dp->standbys[i])
			stats_add(dp->standbys[i], sum);
		if (!dp->lcores[i])
			continue;
		uint64_t beat = stats_add(dp->lcores[i], sum);

		if (beat < oldest)
			oldest = beat;
	}
	sum->heartbeat_ns = oldest == UINT64_MAX ? 0 : oldest;
	if (ledger)
		ledger_close(sum, ledger);
}

unsigned stats_ports(const struct dataplane *dp, struct port_counters *sum)
{
	unsigned down = 0;

	*sum = (struct port_counters){0};
	for (unsigned i = 0; i < dp->n_ports; i++) {
		struct port_counters one;

		down += port_read(&dp->ports[i], &one) && !one.link_up;
#define X(name, help) sum->name += one.name;
		PORT_COUNTERS(X)
#undef X
	}
	return down;
}

unsigned stats_pools(const struct dataplane *dp, const struct rte_mempool *out[LCORES_MAX])
{
	unsigned n = 0;

	for (unsigned i = 0; i < dp->n_lcores; i++) {
		const struct rte_mempool *pool = dp->lcores[i] ? dp->lcores[i]->pool : NULL;
		unsigned k = 0;

		while (k < n && out[k] != pool)
			k++;
		if (pool && k == n)
			out[n++] = pool;
	}
	return n;
}

static void press(struct pressure *most, unsigned lcore, uint64_t used, uint64_t limit)
{
	// exact: used / limit > most->used / most->limit
	if (limit && (!most->limit || used * most->limit > most->used * limit))
		*most = (struct pressure){.lcore = lcore, .used = used, .limit = limit};
}

void stats_pressure(const struct dataplane *dp, struct pressure out[PRESSURES_MAX])
{
	memset(out, 0, PRESSURES_MAX * sizeof *out);
	for (unsigned i = 0; i < dp->n_lcores; i++) {
		struct stats stats;

		if (!dp->lcores[i])
			continue;
		stats_copy(&dp->lcores[i]->stats, &stats);
		press(&out[PRESSURE_FLOWS], i, stats.flows_active, dp->limits->flows);
		press(&out[PRESSURE_EMBRYOS], i, stats.embryos_active, dp->limits->embryos);
		press(&out[PRESSURE_MEMORY], i, stats.slab_blocks_used, stats.slab_blocks);
		press(&out[PRESSURE_TRACKED], i, stats.tracked_active, stats.tracked_limit);
		press(&out[PRESSURE_HELD], i, stats.tcp_held_active, stats.tcp_held_limit);
	}
}

void stats_latency(const struct dataplane *dp, unsigned port, struct histogram *out)
{
	*out = (struct histogram){0};
	for (unsigned i = 0; i < dp->n_lcores; i++) {
		if (dp->lcores[i])
			histogram_merge(out, &dp->lcores[i]->latency[port]);
		if (dp->standbys[i])
			histogram_merge(out, &dp->standbys[i]->latency[port]);
	}
}

void stats_hold(const struct dataplane *dp, struct histogram *out)
{
	*out = (struct histogram){0};
	for (unsigned i = 0; i < dp->n_lcores; i++)
		if (dp->lcores[i])
			histogram_merge(out, &dp->lcores[i]->scan_hold);
}

json_t *stats_dropped_json(const struct stats *stats)
{
	json_t *dropped = json_object();

	for (unsigned i = 0; i < DROP_REASONS_MAX; i++)
		put_number(&dropped, drop_reason_word(i), stats->dropped_pkts[i]);
	return dropped;
}

static void put_ledger(json_t **parent, const struct ledger *ledger)
{
	put_number(parent, "received", ledger->received);
	put_number(parent, "injected", ledger->injected);
	put_number(parent, "sent", ledger->sent);
	put_number(parent, "held", ledger->held);
	put_number(parent, "consumed", ledger->consumed);
	put_json(parent, "unaccounted", json_integer(ledger->unaccounted));
}

static void put_pools(json_t **parent, const struct dataplane *dp)
{
	const struct rte_mempool *pools[LCORES_MAX];
	unsigned n = stats_pools(dp, pools);
	json_t *object = json_object();

	for (unsigned i = 0; i < n; i++)
		put_json(&object, pools[i]->name,
			json_pack("{s:I, s:I}", "size", (json_int_t)pools[i]->size, "free",
				(json_int_t)rte_mempool_avail_count(pools[i])));
	put_json(parent, "pools", object);
}

// The rows that are shown in JSON, as members.
static void put_rows(json_t **parent, const struct counter *rows, const void *counted)
{
	const struct counter *row = NULL;

	while ((row = counter_next(rows, row, COUNTER_JSON)))
		put_number(parent, row->name, counter_value(row, counted, 0));
}

static void put_counters(json_t **parent, const struct stats *stats)
{
	json_t *counters = json_object();

	put_rows(&counters, lcore_counters, stats);
	put_json(parent, "counters", counters);
}

static json_t *lcore_json(const struct lcore *lcore)
{
	json_t *entry = json_object();
	struct ledger ledger;
	struct stats stats;

	stats_lcore(lcore, &stats);
	ledger_close(&stats, &ledger);
	put_number(&entry, "lcore", lcore->index);
	put_ledger(&entry, &ledger);
	put_number(&entry, "dropped", ledger.dropped);
	put_number(&entry, "handoff_out", stats.handoff_out_pkts);
	put_number(&entry, "handoff_in", stats.handoff_in_pkts);
	put_number(&entry, "flows_active", stats.flows_active);
	put_number(&entry, "embryos_active", stats.embryos_active);
	put_number(&entry, "cache_entries", stats.cache_entries);
	put_number(&entry, "events_lost", stats.events_lost);
	put_number(&entry, "loops", stats.loops);
	put_number(&entry, "busy_loops", stats.busy_loops);
	put_number(&entry, "busy_ns", stats.busy_ns);
	put_number(&entry, "loop_ns", stats.loop_ns);
	put_number(&entry, "busy_permille", stats.busy_permille);
	put_number(&entry, "heartbeat_ns", stats.heartbeat_ns);
	put_bool(&entry, "bypassed", is_bypassed(lcore->dp, lcore->index));
	put_counters(&entry, &stats);
	return entry;
}

// Buckets that hold any, as [bound_ns, count]: the times below their bound and not below the last.
json_t *stats_histogram_json(const struct histogram *histogram)
{
	json_t *object = json_object(), *buckets = json_array();

	put_number(&object, "count", histogram_count(histogram));
	put_number(&object, "sum_ns", histogram->sum_ns);
	put_number(&object, "p50_ns", histogram_quantile_ns(histogram, 500));
	put_number(&object, "p90_ns", histogram_quantile_ns(histogram, 900));
	put_number(&object, "p99_ns", histogram_quantile_ns(histogram, 990));
	put_number(&object, "max_ns", histogram->max_ns);
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		json_int_t bound = (json_int_t)histogram_bound_ns(i);
		json_int_t count = (json_int_t)histogram->counts[i];

		if (count)
			put_item(&buckets, json_pack("[I,I]", bound, count));
	}
	put_json(&object, "buckets", buckets);
	return object;
}

static json_t *port_json(const struct dataplane *dp, unsigned index)
{
	const struct port *port = &dp->ports[index];
	struct port_counters counters;
	json_t *entry = json_object();
	struct histogram latency;

	put_text(&entry, "name", port->name);
	put_text(&entry, "side", port->inside ? "inside" : "outside");
	if (port->peer < dp->n_ports)
		put_text(&entry, "peer", dp->ports[port->peer].name);
	stats_latency(dp, index, &latency);
	put_json(&entry, "latency", stats_histogram_json(&latency));
	if (!port_read(port, &counters))
		return entry;
	put_text(&entry, "link", counters.link_up ? "up" : "down");
	if (counters.link > PORT_LINK_UP)
		put_text(&entry, "link_reason", port_link_word(counters.link));
	put_number(&entry, "link_changes", counters.link_changes);
	put_number(&entry, "speed_mbps", counters.speed_mbps);
	put_rows(&entry, port_counters, &counters);
	return entry;
}

json_t *stats_json(const struct dataplane *dp, uint64_t uptime_ns)
{
	json_t *root = json_object(), *lcores = json_array(), *ports = json_array();
	struct histogram hold;
	struct ledger ledger;
	struct stats sum;

	stats_sum(dp, &sum, &ledger);
	put_number(&root, "uptime_s", uptime_ns / NS_PER_S);
	put_ledger(&root, &ledger);
	put_json(&root, "dropped", stats_dropped_json(&sum));
	put_pools(&root, dp);
	put_counters(&root, &sum);
	stats_hold(dp, &hold);
	put_json(&root, "scan_hold", stats_histogram_json(&hold));
	for (unsigned i = 0; i < dp->n_lcores; i++) {
		if (dp->lcores[i])
			put_item(&lcores, lcore_json(dp->lcores[i]));
	}
	put_json(&root, "lcores", lcores);
	for (unsigned i = 0; i < dp->n_ports; i++)
		put_item(&ports, port_json(dp, i));
	put_json(&root, "ports", ports);
	return root;
}

// Suricata's names, of its groups.

static json_t *decoder_json(const struct stats *sum)
{
	json_t *decoder = json_object();

	put_number(&decoder, "pkts", sum->received_pkts);
	put_number(&decoder, "bytes", sum->received_bytes);
	put_number(&decoder, "invalid", sum->malformed_pkts + sum->unsupported_pkts);
	put_number(&decoder, "ipv4", sum->ipv4_pkts);
	put_number(&decoder, "ipv6", sum->ipv6_pkts);
	put_number(&decoder, "vlan", sum->vlan_pkts);
	put_number(&decoder, "arp", sum->arp_pkts);
	put_number(&decoder, "unknown_ethertype", sum->link_pkts - sum->arp_pkts);
	return decoder;
}

static json_t *flow_json(const struct stats *sum)
{
	json_t *flow = json_object();

	put_number(&flow, "total", sum->flows_embryonic + sum->flows_midstream);
	put_number(&flow, "active", sum->flows_active + sum->embryos_active);
	put_number(&flow, "emerg_mode_entered", sum->emergency_entered);
	put_number(&flow, "memcap", sum->flow_table_full);
	put_number(&flow, "get_used", sum->flows_evicted);
	return flow;
}

static json_t *ips_json(const struct stats *sum, const struct ledger *ledger)
{
	json_t *ips = json_object();

	put_number(&ips, "accepted",
		sum->sent_pkts - (sum->sent_pkts < sum->injected_pkts ? sum->sent_pkts
								      : sum->injected_pkts));
	put_number(&ips, "blocked", ledger->dropped);
	put_number(&ips, "rejected", sum->resets_sent + sum->icmp_rejects_sent);
	put_number(&ips, "replaced", sum->tcp_rewritten_pkts);
	put_json(&ips, "drop_reason", stats_dropped_json(sum));
	return ips;
}

static json_t *tcp_json(const struct stats *sum)
{
	json_t *tcp = json_object();

	put_number(&tcp, "active_sessions", sum->tracked_active);
	put_number(&tcp, "ssn_memcap_drop", sum->tcp_not_tracked);
	put_number(&tcp, "midstream_pickups", sum->flows_midstream);
	put_number(&tcp, "invalid_checksum", sum->bad_checksum_pkts);
	put_number(&tcp, "memuse", sum->slab_blocks_used * SLAB_BLOCK);
	put_number(&tcp, "segment_memcap_drop",
		sum->tcp_memory_drops + sum->tcp_half_limit_drops + sum->tcp_held_limit_drops);
	put_number(&tcp, "reassembly_gap", sum->tcp_gaps);
	put_number(&tcp, "overlap", sum->tcp_overlap_pkts);
	put_number(&tcp, "overlap_diff_data", sum->tcp_conflict_pkts);
	return tcp;
}

static json_t *memcap_json(const struct dataplane *dp)
{
	json_t *memcap = json_object();
	struct pressure pressures[PRESSURES_MAX];
	uint64_t most = 0;

	stats_pressure(dp, pressures);
	for (unsigned i = 0; i < PRESSURES_MAX; i++) {
		uint64_t percent = pressure_percent(&pressures[i]);

		most = percent > most ? percent : most;
	}
	put_number(&memcap, "pressure", most);
	return memcap;
}

json_t *stats_eve_json(const struct dataplane *dp, uint64_t uptime_ns)
{
	json_t *root = json_object(), *capture = json_object();
	struct port_counters ports;
	struct ledger ledger;
	struct stats sum;

	stats_sum(dp, &sum, &ledger);
	stats_ports(dp, &ports);
	put_number(&root, "uptime", uptime_ns / NS_PER_S);
	put_number(&capture, "packets", sum.received_pkts);
	put_number(&capture, "rx_missed", ports.rx_missed);
	put_number(&capture, "rx_nombuf", ports.rx_nombuf);
	put_number(&capture, "rx_errors", ports.rx_errors);
	put_json(&root, "capture", capture);
	put_json(&root, "decoder", decoder_json(&sum));
	put_json(&root, "flow", flow_json(&sum));
	put_json(&root, "tcp", tcp_json(&sum));
	put_json(&root, "memcap", memcap_json(dp));
	put_json(&root, "ips", ips_json(&sum, &ledger));
	put_json(&root, "sluice", stats_json(dp, uptime_ns));
	return root;
}
