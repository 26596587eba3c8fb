// SPDX-License-Identifier: BSD-3-Clause
// Adds up the counters of all lcores and checks the ledger.
#include "control/stats/sum.h"

#include <rte_mempool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/limits.h"
#include "pipeline/bypass.h"
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

// Adds the counters of an lcore, or of the standby for it; its heart's last beat.
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

// Objects are built by many small puts that may all fail for want of memory; `ok` gathers that.
struct builder {
	bool ok;
};

static json_t *put_object(struct builder *b, json_t *parent, const char *key, json_t *child)
{
	// The parent takes the reference also when this fails; a NULL child makes it fail.
	if (json_object_set_new(parent, key, child) < 0) {
		b->ok = false;
		return NULL;
	}
	return child;
}

static void put_number(struct builder *b, json_t *parent, const char *key, uint64_t value)
{
	put_object(b, parent, key, json_integer((json_int_t)value));
}

static void put_dropped(
	struct builder *b, json_t *parent, const char *key, const struct stats *stats)
{
	json_t *dropped = put_object(b, parent, key, json_object());

	for (unsigned i = 0; i < DROP_REASONS_MAX; i++)
		put_number(b, dropped, drop_reason_word(i), stats->dropped_pkts[i]);
}

static void put_ledger(struct builder *b, json_t *parent, const struct ledger *ledger)
{
	put_number(b, parent, "received", ledger->received);
	put_number(b, parent, "injected", ledger->injected);
	put_number(b, parent, "sent", ledger->sent);
	put_number(b, parent, "held", ledger->held);
	put_number(b, parent, "consumed", ledger->consumed);
	put_object(b, parent, "unaccounted", json_integer(ledger->unaccounted));
}

static void put_pools(struct builder *b, json_t *parent, const struct dataplane *dp)
{
	json_t *pools = put_object(b, parent, "pools", json_object());

	for (unsigned i = 0; i < dp->n_lcores; i++) {
		const struct rte_mempool *pool = dp->lcores[i] ? dp->lcores[i]->pool : NULL;
		json_t *entry;

		if (!pool || json_object_get(pools, pool->name)) // lcores of a socket share one
			continue;
		entry = put_object(b, pools, pool->name, json_object());
		put_number(b, entry, "size", pool->size);
		put_number(b, entry, "free", rte_mempool_avail_count(pool));
	}
}

static void put_counters(struct builder *b, json_t *parent, const struct stats *stats)
{
	json_t *counters = put_object(b, parent, "counters", json_object());

#define X(name, help) put_number(b, counters, #name, stats->name);
	STATS_COUNTERS(X)
#undef X
	put_number(b, counters, "fragments_held", stats->fragments_held);
	put_number(b, counters, "datagrams_held", stats->datagrams_held);
	put_number(b, counters, "flows_active", stats->flows_active);
	put_number(b, counters, "embryos_active", stats->embryos_active);
	put_number(b, counters, "elephants_active", stats->elephants_active);
	put_number(b, counters, "cache_entries", stats->cache_entries);
#define X(name, help) put_number(b, counters, #name, stats->name);
	STATS_GAUGES(X)
#undef X
}

static void put_lcore(struct builder *b, json_t *list, const struct lcore *lcore)
{
	json_t *entry = json_object();
	struct ledger ledger;
	struct stats stats;

	if (json_array_append_new(list, entry) < 0) {
		b->ok = false;
		return;
	}
	stats_copy(&lcore->stats, &stats);
	if (lcore->dp->standbys[lcore->index]) // what was done in its place
		stats_add(lcore->dp->standbys[lcore->index], &stats);
	ledger_close(&stats, &ledger);
	put_number(b, entry, "lcore", lcore->index);
	put_ledger(b, entry, &ledger);
	put_number(b, entry, "dropped", ledger.dropped);
	put_number(b, entry, "handoff_out", stats.handoff_out_pkts);
	put_number(b, entry, "handoff_in", stats.handoff_in_pkts);
	put_number(b, entry, "flows_active", stats.flows_active);
	put_number(b, entry, "embryos_active", stats.embryos_active);
	put_number(b, entry, "cache_entries", stats.cache_entries);
	put_number(b, entry, "events_lost", stats.events_lost);
	put_number(b, entry, "loops", stats.loops);
	put_number(b, entry, "busy_loops", stats.busy_loops);
	put_number(b, entry, "busy_ns", stats.busy_ns);
	put_number(b, entry, "loop_ns", stats.loop_ns);
	put_number(b, entry, "busy_permille", stats.busy_permille);
	put_number(b, entry, "heartbeat_ns", stats.heartbeat_ns);
	put_object(b, entry, "bypassed", json_boolean(is_bypassed(lcore->dp, lcore->index)));
	put_counters(b, entry, &stats);
}

// Buckets that hold any, as [bound_ns, count]: the times below their bound and not below the last.
static void put_histogram(
	struct builder *b, json_t *parent, const char *key, const struct histogram *histogram)
{
	json_t *latency = put_object(b, parent, key, json_object()), *buckets;

	put_number(b, latency, "count", histogram_count(histogram));
	put_number(b, latency, "sum_ns", histogram->sum_ns);
	put_number(b, latency, "p50_ns", histogram_quantile_ns(histogram, 500));
	put_number(b, latency, "p90_ns", histogram_quantile_ns(histogram, 900));
	put_number(b, latency, "p99_ns", histogram_quantile_ns(histogram, 990));
	put_number(b, latency, "max_ns", histogram->max_ns);
	buckets = put_object(b, latency, "buckets", json_array());
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		json_int_t bound = (json_int_t)histogram_bound_ns(i);
		json_int_t count = (json_int_t)histogram->counts[i];

		if (count && json_array_append_new(buckets, json_pack("[I,I]", bound, count)) < 0)
			b->ok = false;
	}
}

static void put_port(struct builder *b, json_t *list, const struct dataplane *dp, unsigned index)
{
	const struct port *port = &dp->ports[index];
	struct port_counters counters = {0};
	json_t *entry = json_object();
	struct histogram latency;

	if (json_array_append_new(list, entry) < 0) {
		b->ok = false;
		return;
	}
	put_object(b, entry, "name", json_string(port->name));
	put_object(b, entry, "side", json_string(port->inside ? "inside" : "outside"));
	if (port->peer < dp->n_ports)
		put_object(b, entry, "peer", json_string(dp->ports[port->peer].name));
	stats_latency(dp, index, &latency);
	put_histogram(b, entry, "latency", &latency);
	if (!port->counters)
		return;
	port->counters(port->ctx, &counters);
	put_object(b, entry, "link", json_string(counters.link_up ? "up" : "down"));
	if (counters.link > PORT_LINK_UP)
		put_object(b, entry, "link_reason", json_string(port_link_word(counters.link)));
	put_number(b, entry, "link_changes", counters.link_changes);
	put_number(b, entry, "speed_mbps", counters.speed_mbps);
	put_number(b, entry, "rx_pkts", counters.rx_pkts);
	put_number(b, entry, "rx_bytes", counters.rx_bytes);
	put_number(b, entry, "tx_pkts", counters.tx_pkts);
	put_number(b, entry, "tx_bytes", counters.tx_bytes);
	put_number(b, entry, "rx_missed", counters.rx_missed);
	put_number(b, entry, "rx_nombuf", counters.rx_nombuf);
	put_number(b, entry, "rx_errors", counters.rx_errors);
	put_number(b, entry, "tx_errors", counters.tx_errors);
}

static json_t *done(struct builder *b, json_t *root)
{
	if (b->ok)
		return root;
	json_decref(root);
	return NULL;
}

json_t *stats_json(const struct dataplane *dp, uint64_t uptime_ns)
{
	struct builder b = {.ok = true};
	json_t *root = json_object(), *lcores, *ports;
	struct histogram hold;
	struct ledger ledger;
	struct stats sum;

	stats_sum(dp, &sum, &ledger);
	put_number(&b, root, "uptime_s", uptime_ns / NS_PER_S);
	put_ledger(&b, root, &ledger);
	put_dropped(&b, root, "dropped", &sum);
	put_pools(&b, root, dp);
	put_counters(&b, root, &sum);
	stats_hold(dp, &hold);
	put_histogram(&b, root, "scan_hold", &hold);
	lcores = put_object(&b, root, "lcores", json_array());
	for (unsigned i = 0; i < dp->n_lcores; i++) {
		if (dp->lcores[i])
			put_lcore(&b, lcores, dp->lcores[i]);
	}
	ports = put_object(&b, root, "ports", json_array());
	for (unsigned i = 0; i < dp->n_ports; i++)
		put_port(&b, ports, dp, i);
	return done(&b, root);
}

static void put_decoder(struct builder *b, json_t *root, const struct stats *sum)
{
	json_t *decoder = put_object(b, root, "decoder", json_object());

	put_number(b, decoder, "pkts", sum->received_pkts);
	put_number(b, decoder, "bytes", sum->received_bytes);
	put_number(b, decoder, "invalid", sum->malformed_pkts + sum->unsupported_pkts);
	put_number(b, decoder, "ipv4", sum->ipv4_pkts);
	put_number(b, decoder, "ipv6", sum->ipv6_pkts);
	put_number(b, decoder, "vlan", sum->vlan_pkts);
	put_number(b, decoder, "arp", sum->arp_pkts);
	put_number(b, decoder, "unknown_ethertype", sum->link_pkts - sum->arp_pkts);
}

static void put_flow(struct builder *b, json_t *root, const struct stats *sum)
{
	json_t *flow = put_object(b, root, "flow", json_object());

	put_number(b, flow, "total", sum->flows_embryonic + sum->flows_midstream);
	put_number(b, flow, "active", sum->flows_active + sum->embryos_active);
	put_number(b, flow, "emerg_mode_entered", sum->emergency_entered);
	put_number(b, flow, "memcap", sum->flow_table_full);
	put_number(b, flow, "get_used", sum->flows_evicted);
}

static void put_ips(
	struct builder *b, json_t *root, const struct stats *sum, const struct ledger *ledger)
{
	json_t *ips = put_object(b, root, "ips", json_object());

	put_number(b, ips, "accepted",
		sum->sent_pkts - (sum->sent_pkts < sum->injected_pkts ? sum->sent_pkts
								      : sum->injected_pkts));
	put_number(b, ips, "blocked", ledger->dropped);
	put_number(b, ips, "rejected", sum->resets_sent + sum->icmp_rejects_sent);
	put_number(b, ips, "replaced", sum->tcp_rewritten_pkts);
	put_dropped(b, ips, "drop_reason", sum);
}

static void put_tcp(struct builder *b, json_t *root, const struct stats *sum)
{
	json_t *tcp = put_object(b, root, "tcp", json_object());

	put_number(b, tcp, "active_sessions", sum->tracked_active);
	put_number(b, tcp, "ssn_memcap_drop", sum->tcp_not_tracked);
	put_number(b, tcp, "midstream_pickups", sum->flows_midstream);
	put_number(b, tcp, "invalid_checksum", sum->bad_checksum_pkts);
	put_number(b, tcp, "memuse", sum->slab_blocks_used * SLAB_BLOCK);
	put_number(b, tcp, "segment_memcap_drop",
		sum->tcp_memory_drops + sum->tcp_half_limit_drops + sum->tcp_held_limit_drops);
	put_number(b, tcp, "reassembly_gap", sum->tcp_gaps);
	put_number(b, tcp, "overlap", sum->tcp_overlap_pkts);
	put_number(b, tcp, "overlap_diff_data", sum->tcp_conflict_pkts);
}

static void put_memcap(struct builder *b, json_t *root, const struct dataplane *dp)
{
	json_t *memcap = put_object(b, root, "memcap", json_object());
	struct pressure pressures[PRESSURES_MAX];
	uint64_t most = 0;

	stats_pressure(dp, pressures);
	for (unsigned i = 0; i < PRESSURES_MAX; i++) {
		uint64_t percent = pressure_percent(&pressures[i]);

		most = percent > most ? percent : most;
	}
	put_number(b, memcap, "pressure", most);
}

json_t *stats_eve_json(const struct dataplane *dp, uint64_t uptime_ns)
{
	struct builder b = {.ok = true};
	json_t *root = json_object(), *capture;
	struct port_counters ports = {0};
	struct ledger ledger;
	struct stats sum;

	stats_sum(dp, &sum, &ledger);
	for (unsigned i = 0; i < dp->n_ports; i++) {
		struct port_counters one = {0};

		if (!dp->ports[i].counters)
			continue;
		dp->ports[i].counters(dp->ports[i].ctx, &one);
		ports.rx_missed += one.rx_missed;
		ports.rx_nombuf += one.rx_nombuf;
		ports.rx_errors += one.rx_errors;
	}
	put_number(&b, root, "uptime", uptime_ns / NS_PER_S);
	capture = put_object(&b, root, "capture", json_object());
	put_number(&b, capture, "packets", sum.received_pkts);
	put_number(&b, capture, "rx_missed", ports.rx_missed);
	put_number(&b, capture, "rx_nombuf", ports.rx_nombuf);
	put_number(&b, capture, "rx_errors", ports.rx_errors);
	put_decoder(&b, root, &sum);
	put_flow(&b, root, &sum);
	put_tcp(&b, root, &sum);
	put_memcap(&b, root, dp);
	put_ips(&b, root, &sum, &ledger);
	put_object(&b, root, "sluice", stats_json(dp, uptime_ns));
	return done(&b, root);
}
