// SPDX-License-Identifier: BSD-3-Clause
// The tables of what lcores and ports count, in the order in which they are shown.
#include "control/stats/counters.h"

#include "pipeline/lcore/port.h"
#include "pipeline/vocab/span.h"
#include "pipeline/vocab/stats.h"

static const char *reason_word(unsigned reason)
{
	return drop_reason_word(reason);
}

static const char *direction_word(unsigned half)
{
	return half == HALF_C2S ? "to_server" : "to_client";
}

// What else is to be said of a row stands behind its member.
#define ROW(type, key, member, ...)                                        \
	{                                                                  \
		.name = key, .offset = offsetof(type, member), __VA_ARGS__ \
	}
#define LCORE(member, text, where, ...) \
	ROW(struct stats, #member, member, .help = text, .shown = where, __VA_ARGS__)
#define LCORE_TIME(key, member, text, ...)                                                         \
	ROW(struct stats, key, member, .help = text, .shown = COUNTER_METRICS, .unit = COUNTER_NS, \
		__VA_ARGS__)
#define NOT_JSON      (COUNTER_METRICS | COUNTER_TELEMETRY) // it has another place there
#define NOT_TELEMETRY (COUNTER_METRICS | COUNTER_JSON)

const struct counter lcore_counters[] = {
#define X(name, help) LCORE(name, help, COUNTER_EVERYWHERE),
	STATS_COUNTERS(X)
#undef X
		LCORE(dropped_pkts, "packets dropped, by the one reason that each drop has",
			NOT_JSON, .n = DROP_REASONS_MAX, .label = "reason", .word = reason_word),
	LCORE(held_pkts, "packets in tx buffers and rings, and fragments", NOT_JSON, .gauge = true),
	LCORE(fragments_held, "of these, fragments of datagrams that are not whole", NOT_TELEMETRY,
		.gauge = true),
	LCORE(datagrams_held, "datagrams that these belong to, or that were given up",
		NOT_TELEMETRY, .gauge = true),
	LCORE(flows_active, "live flows", COUNTER_EVERYWHERE, .gauge = true),
	LCORE(elephants_active, "of these, elephants", COUNTER_METRICS, .gauge = true),
	LCORE(embryos_active, "flows without payload yet, and blocked ones", COUNTER_EVERYWHERE,
		.gauge = true),
	LCORE(elephants_active, "", COUNTER_JSON), // the order in JSON is another
	LCORE(cache_entries, "entries of this lcore's replica of the connection cache",
		COUNTER_EVERYWHERE, .gauge = true),
	LCORE(loops, "turns of the lcore's loop", COUNTER_METRICS),
	LCORE(busy_loops, "turns that took at least one packet", COUNTER_METRICS),
#define X(name, help) LCORE(name, help, COUNTER_EVERYWHERE, .gauge = true),
	STATS_GAUGES(X)
#undef X
		LCORE_TIME("lcore_busy_seconds", busy_ns,
			"time in turns that took at least one packet"),
	LCORE_TIME("lcore_loop_seconds", loop_ns, "time in all turns and in naps between them"),
	LCORE_TIME("lcore_heartbeat_timestamp_seconds", heartbeat_ns,
		"time of the lcore's last turn", .gauge = true),
	COUNTER_END,
};

const struct counter port_counters[] = {
#define X(name, text) ROW(struct port_counters, #name, name, .help = text, .shown = NOT_TELEMETRY),
	PORT_COUNTERS(X)
#undef X
		COUNTER_END,
};

#define APP(member, text, ...) \
	ROW(struct app_usage, #member, member, .help = text, .shown = COUNTER_METRICS, __VA_ARGS__)
#define DIRECTIONS .n = 2, .label = "direction", .word = direction_word

const struct counter app_counters[] = {
	APP(pkts, "packets of flows, by application; a flow's first ones when it is known",
		DIRECTIONS),
	APP(bytes, "the same in bytes", .unit = COUNTER_BYTES, DIRECTIONS),
	APP(flows, "flows that came to be known as the application"),
	APP(flows_active, "live flows; those not known yet are unknown", .gauge = true),
	APP(flows_blocked, "flows that the policy dropped or reset"),
	COUNTER_END,
};

const struct counter *counter_next(
	const struct counter *rows, const struct counter *last, enum counter_shown shown)
{
	const struct counter *row = last ? last + 1 : rows;

	while (row->name && !(row->shown & shown))
		row++;
	return row->name ? row : NULL;
}

uint64_t counter_value(const struct counter *row, const void *counted, unsigned at)
{
	const uint64_t *values = (const void *)((const char *)counted + row->offset);

	return __atomic_load_n(&values[at], __ATOMIC_RELAXED);
}
