// SPDX-License-Identifier: BSD-3-Clause
#include "status_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "stats_sum.h"
#include "tick.h"

// What an operator should look into when it grows (docs/operating.md says why).
static const struct {
	const char *name;
	size_t offset;
} troubles[] = {
#define TROUBLE(field)                                \
	{                                             \
#field, offsetof(struct stats, field) \
	}
	TROUBLE(bad_checksum_pkts),
	TROUBLE(classify_nomem),
	TROUBLE(emergency_entered),
	TROUBLE(events_lost),
	TROUBLE(flow_table_full),
	TROUBLE(flows_evicted),
	TROUBLE(hints_lost),
	TROUBLE(make_nomem),
	TROUBLE(resets_impossible),
#undef TROUBLE
	{"tx_full", offsetof(struct stats, dropped_pkts[DROP_TX_FULL])},
	{"handoff_full", offsetof(struct stats, dropped_pkts[DROP_HANDOFF_FULL])},
	// From here what ports say, not lcores.
	{"rx_missed", SIZE_MAX},
	{"rx_nombuf", SIZE_MAX},
};
#define TROUBLES  (sizeof(troubles) / sizeof(troubles[0]))
#define RX_MISSED (TROUBLES - 2)
#define RX_NOMBUF (TROUBLES - 1)
static_assert(TROUBLES <= STATUS_TROUBLES_MAX, "each has its place");

void status_amount(uint64_t value, char *out, size_t out_len)
{
	static const char units[] = " kMGTPE";
	unsigned unit = 0;
	uint64_t tenths = value < UINT64_MAX / 10 ? value * 10 : UINT64_MAX;

	while (tenths >= 10000) {
		tenths /= 1000;
		unit++;
	}
	if (unit)
		snprintf(out, out_len, "%" PRIu64 ".%" PRIu64 " %c", tenths / 10, tenths % 10,
			units[unit]);
	else
		snprintf(out, out_len, "%" PRIu64 " ", value);
}

static void read_troubles(
	const struct dataplane *dp, const struct stats *sum, uint64_t values[TROUBLES])
{
	for (unsigned i = 0; i < RX_MISSED; i++)
		memcpy(&values[i], (const char *)sum + troubles[i].offset, sizeof(values[i]));
	values[RX_MISSED] = values[RX_NOMBUF] = 0;
	for (unsigned i = 0; i < dp->n_ports; i++) {
		struct port_counters counters = {0};

		if (!dp->ports[i].counters)
			continue;
		dp->ports[i].counters(dp->ports[i].ctx, &counters);
		values[RX_MISSED] += counters.rx_missed;
		values[RX_NOMBUF] += counters.rx_nombuf;
	}
}

static size_t put_troubles(struct status_line *line, const uint64_t values[TROUBLES],
	uint64_t now_ns, char *out, size_t out_len)
{
	size_t used = 0;

	for (unsigned i = 0; i < TROUBLES; i++) {
		if (values[i] > line->troubles[i])
			line->grew_ns[i] = now_ns;
		line->troubles[i] = values[i];
		if (line->grew_ns[i] && now_ns - line->grew_ns[i] < STATUS_MEMORY_NS &&
			used < out_len)
			used += (size_t)snprintf(out + used, out_len - used, "%s%s",
				used ? ", " : "; look into: ", troubles[i].name);
	}
	return used;
}

void status_line_render(struct status_line *line, const struct dataplane *dp, uint64_t generation,
	uint64_t now_ns, char *out, size_t out_len)
{
	char rate[80] = "", pkts[16], bits[16], watch[400] = "";
	uint64_t values[TROUBLES];
	struct stats sum;

	stats_sum(dp, &sum, NULL);
	read_troubles(dp, &sum, values);
	if (line->now_ns && now_ns > line->now_ns) {
		double seconds = (double)(now_ns - line->now_ns) / (double)NS_PER_S;
		status_amount((uint64_t)((double)(sum.received_pkts - line->pkts) / seconds), pkts,
			sizeof(pkts));
		status_amount((uint64_t)((double)(sum.received_bytes - line->bytes) * 8 / seconds),
			bits, sizeof(bits));
		snprintf(rate, sizeof(rate), "%spps, %sbit/s received; ", pkts, bits);
	}
	line->now_ns = now_ns;
	line->pkts = sum.received_pkts;
	line->bytes = sum.received_bytes;
	put_troubles(line, values, now_ns, watch, sizeof(watch));
	snprintf(out, out_len, "%s%" PRIu64 " flows; policy generation %" PRIu64 "%s", rate,
		sum.flows_active + sum.embryos_active, generation, watch);
}
