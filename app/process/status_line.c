// SPDX-License-Identifier: BSD-3-Clause
// Formats the status line that `systemctl status` shows.
#include "process/status_line.h"

#include <inttypes.h>
#include <stdio.h>
#include "base/plural.h"
#include "control/stats/sum.h"
#include "pipeline/vocab/tick.h"

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

static size_t put_alarm_counters(struct status_line *line,
	const uint64_t values[ALARM_COUNTERS_MAX], uint64_t now_ns, char *out, size_t out_len)
{
	size_t used = 0;

	for (unsigned i = 0; i < ALARM_COUNTERS_MAX; i++) {
		if (values[i] > line->troubles[i])
			line->grew_ns[i] = now_ns;
		line->troubles[i] = values[i];
		bool reported =
			alarm_counter_is_state(i)
				? values[i] != 0
				: line->grew_ns[i] && now_ns - line->grew_ns[i] < STATUS_MEMORY_NS;
		if (reported && used < out_len)
			used += (size_t)snprintf(out + used, out_len - used, "%s%s",
				used ? ", " : "; look into: ", alarm_counter_word(i));
	}
	return used;
}

void status_line_render(struct status_line *line, const struct control_context *context,
	uint64_t generation, uint64_t now_ns, char *out, size_t out_len)
{
	char rate[80] = "", pkts[16], bits[16], watch[512] = "";
	uint64_t values[ALARM_COUNTERS_MAX];
	struct stats sum;
	uint64_t flows;

	stats_sum(context->dp, &sum, NULL);
	flows = sum.flows_active + sum.embryos_active;
	alarm_counters_read(context, values);
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
	put_alarm_counters(line, values, now_ns, watch, sizeof(watch));
	snprintf(out, out_len, "%s%" PRIu64 " %s; policy generation %" PRIu64 "%s", rate, flows,
		plural(flows, "flow", "flows"), generation, watch);
}
