// SPDX-License-Identifier: BSD-3-Clause
// The table of counters whose growth an operator should know of.
#include "control/stats/alarm_counters.h"

#include "control/stats/sum.h"

const char *alarm_counter_word(enum alarm_counter alarm_counter)
{
	static const char *const words[] = {
#define X(symbol, word) word,
		ALARM_COUNTERS(X)
#undef X
	};
	return alarm_counter < ALARM_COUNTERS_MAX ? words[alarm_counter] : "?";
}

bool alarm_counter_is_state(enum alarm_counter alarm_counter)
{
	return alarm_counter == ALARM_COUNTER_PORTS_DOWN ||
	       alarm_counter == ALARM_COUNTER_EVENTS_STUCK ||
	       alarm_counter == ALARM_COUNTER_STATE_STUCK;
}

static void read_ports(const struct dataplane *dp, uint64_t values[ALARM_COUNTERS_MAX])
{
	for (unsigned i = 0; i < dp->n_ports; i++) {
		struct port_counters counters = {0};

		if (!dp->ports[i].counters)
			continue;
		dp->ports[i].counters(dp->ports[i].ctx, &counters);
		values[ALARM_COUNTER_RX_MISSED] += counters.rx_missed;
		values[ALARM_COUNTER_RX_NOMBUF] += counters.rx_nombuf;
		values[ALARM_COUNTER_PORTS_DOWN] += !counters.link_up;
	}
}

void alarm_counters_read(const struct control_context *context, uint64_t values[ALARM_COUNTERS_MAX])
{
	struct sink_stuck stuck;
	struct stats sum;

	stats_sum(context->dp, &sum, NULL);
	values[ALARM_COUNTER_LCORE_STALLS] = context->lcore_stalls;
	values[ALARM_COUNTER_BYPASSED_PKTS] = sum.bypassed_pkts;
	values[ALARM_COUNTER_RX_MISSED] = values[ALARM_COUNTER_RX_NOMBUF] =
		values[ALARM_COUNTER_PORTS_DOWN] = 0;
	read_ports(context->dp, values);
	values[ALARM_COUNTER_TX_FULL] = sum.dropped_pkts[DROP_TX_FULL];
	values[ALARM_COUNTER_HANDOFF_FULL] = sum.dropped_pkts[DROP_HANDOFF_FULL];
	values[ALARM_COUNTER_FLOW_TABLE_FULL] = sum.flow_table_full;
	values[ALARM_COUNTER_FLOWS_EVICTED] = sum.flows_evicted;
	values[ALARM_COUNTER_EMERGENCY_ENTERED] = sum.emergency_entered;
	values[ALARM_COUNTER_CLASSIFY_NOMEM] = sum.classify_nomem;
	values[ALARM_COUNTER_TCP_MEMORY_DROPS] = sum.tcp_memory_drops;
	values[ALARM_COUNTER_TCP_HALF_LIMIT_DROPS] = sum.tcp_half_limit_drops;
	values[ALARM_COUNTER_TCP_HELD_LIMIT_DROPS] = sum.tcp_held_limit_drops;
	values[ALARM_COUNTER_TCP_NOT_TRACKED] = sum.tcp_not_tracked;
	values[ALARM_COUNTER_FLOWS_LAW_WAIVED] = sum.flows_law_waived;
	values[ALARM_COUNTER_MAKE_NOMEM] = sum.make_nomem;
	values[ALARM_COUNTER_RESETS_IMPOSSIBLE] = sum.resets_impossible;
	values[ALARM_COUNTER_BAD_CHECKSUM_PKTS] = sum.bad_checksum_pkts;
	values[ALARM_COUNTER_HINTS_LOST] = sum.hints_lost;
	values[ALARM_COUNTER_EVENTS_LOST] = sum.events_lost;
	values[ALARM_COUNTER_EVENTS_FAILED] = context->sink ? sink_failed(context->sink) : 0;
	values[ALARM_COUNTER_RELOAD_FAILURES] =
		context->reload ? reload_failures(context->reload) : 0;
	values[ALARM_COUNTER_EVENTS_STUCK] = context->sink && sink_is_stuck(context->sink, &stuck);
	values[ALARM_COUNTER_STATE_STUCK] = context->state && context->state->failing;
	values[ALARM_COUNTER_IMPAIRED] = sum.impaired_pkts;
}
