// SPDX-License-Identifier: BSD-3-Clause
// Sums the lcores' counters and closes the ledger (docs/architecture.md, "Conservation").
#ifndef SLUICE_STATS_SUM_H
#define SLUICE_STATS_SUM_H

#include <jansson.h>
#include "pipeline/lcore/lcore.h"

struct ledger {
	uint64_t received, injected, sent, dropped, held, consumed;
	int64_t unaccounted; // 0 at rest; bounded by ring occupancy while running
};
// Counters are summed, those of the standbys too; `heartbeat_ns` is the oldest one. `ledger`
// may be NULL.
void stats_sum(const struct dataplane *dp, struct stats *sum, struct ledger *ledger);
// Of one lcore, with what the standby did in its place; `heartbeat_ns` is the lcore's own.
void stats_lcore(const struct lcore *lcore, struct stats *out);
// What the drivers of all ports count; how many ports have no link.
unsigned stats_ports(const struct dataplane *dp, struct port_counters *sum);
// The pools of the lcores, each once, for lcores of a socket share one; how many.
unsigned stats_pools(const struct dataplane *dp, const struct rte_mempool *out[LCORES_MAX]);
// How full what has a cap is: of the data lcore where it is fullest, since each has its own.
enum pressure_of {
	PRESSURE_FLOWS,   // limits.flows
	PRESSURE_EMBRYOS, // limits.embryos
	PRESSURE_MEMORY,  // reassembly.memory_mb
	PRESSURE_TRACKED, // reassembly.tracked
	PRESSURE_HELD,    // reassembly.held
	PRESSURES_MAX
};
struct pressure {
	unsigned lcore;
	uint64_t used, limit; // limit 0: there is no such cap
};
void stats_pressure(const struct dataplane *dp, struct pressure out[PRESSURES_MAX]);
static inline uint64_t pressure_percent(const struct pressure *pressure)
{
	return pressure->limit ? pressure->used * 100 / pressure->limit : 0;
}
// How long packets that left by a port were here, of all lcores (lcore.h). `out` is overwritten.
void stats_hold(const struct dataplane *dp, struct histogram *out); // of verdicts waited for
json_t *stats_histogram_json(const struct histogram *histogram);    // count, quantiles, buckets
void stats_latency(const struct dataplane *dp, unsigned port, struct histogram *out);
// The nested object of `sluicectl stats --json`, replay's --stats and the EVE stats record:
// {"uptime_s","received","injected","sent","dropped":{REASON:n},"held","consumed","unaccounted",
//  "pools":{NAME:{"size","free"}},"counters":{...},"scan_hold":{...},"lcores":[...],"ports":[...]}
// NULL: no memory.
json_t *stats_json(const struct dataplane *dp, uint64_t uptime_ns);
json_t *stats_dropped_json(const struct stats *stats); // its "dropped"
// The `stats` member of an EVE record (docs/events.md): Suricata's groups and names where there
// are such (capture, decoder, flow, tcp, ips), and "sluice", which is stats_json.
json_t *stats_eve_json(const struct dataplane *dp, uint64_t uptime_ns);

#endif
