// SPDX-License-Identifier: BSD-3-Clause
// The table of counters whose growth an operator should know of.
#include "control/stats/troubles.h"

#include "control/cache/store.h"
#include "control/stats/sum.h"

const char *trouble_word(enum trouble trouble)
{
	static const char *const words[] = {
#define X(symbol, word) word,
		TROUBLES(X)
#undef X
	};
	return trouble < TROUBLES_MAX ? words[trouble] : "?";
}

bool trouble_stands(enum trouble trouble)
{
	return trouble == TROUBLE_PORTS_DOWN || trouble == TROUBLE_EVENTS_STUCK ||
	       trouble == TROUBLE_STATE_STUCK;
}

static void read_ports(const struct dataplane *dp, uint64_t values[TROUBLES_MAX])
{
	for (unsigned i = 0; i < dp->n_ports; i++) {
		struct port_counters counters = {0};

		if (!dp->ports[i].counters)
			continue;
		dp->ports[i].counters(dp->ports[i].ctx, &counters);
		values[TROUBLE_RX_MISSED] += counters.rx_missed;
		values[TROUBLE_RX_NOMBUF] += counters.rx_nombuf;
		values[TROUBLE_PORTS_DOWN] += !counters.link_up;
	}
}

void troubles_read(const struct control_context *context, uint64_t values[TROUBLES_MAX])
{
	struct sink_stuck stuck;
	struct stats sum;

	stats_sum(context->dp, &sum, NULL);
	values[TROUBLE_LCORE_STALLS] = context->lcore_stalls;
	values[TROUBLE_BYPASSED_PKTS] = sum.bypassed_pkts;
	values[TROUBLE_RX_MISSED] = values[TROUBLE_RX_NOMBUF] = values[TROUBLE_PORTS_DOWN] = 0;
	read_ports(context->dp, values);
	values[TROUBLE_TX_FULL] = sum.dropped_pkts[DROP_TX_FULL];
	values[TROUBLE_HANDOFF_FULL] = sum.dropped_pkts[DROP_HANDOFF_FULL];
	values[TROUBLE_FLOW_TABLE_FULL] = sum.flow_table_full;
	values[TROUBLE_FLOWS_EVICTED] = sum.flows_evicted;
	values[TROUBLE_EMERGENCY_ENTERED] = sum.emergency_entered;
	values[TROUBLE_CLASSIFY_NOMEM] = sum.classify_nomem;
	values[TROUBLE_TCP_MEMORY_DROPS] = sum.tcp_memory_drops;
	values[TROUBLE_TCP_HALF_LIMIT_DROPS] = sum.tcp_half_limit_drops;
	values[TROUBLE_TCP_HELD_LIMIT_DROPS] = sum.tcp_held_limit_drops;
	values[TROUBLE_TCP_NOT_TRACKED] = sum.tcp_not_tracked;
	values[TROUBLE_FLOWS_LAW_WAIVED] = sum.flows_law_waived;
	values[TROUBLE_MAKE_NOMEM] = sum.make_nomem;
	values[TROUBLE_RESETS_IMPOSSIBLE] = sum.resets_impossible;
	values[TROUBLE_BAD_CHECKSUM_PKTS] = sum.bad_checksum_pkts;
	values[TROUBLE_HINTS_LOST] = sum.hints_lost;
	values[TROUBLE_EVENTS_LOST] = sum.events_lost;
	values[TROUBLE_EVENTS_FAILED] = context->sink ? sink_failed(context->sink) : 0;
	values[TROUBLE_RELOAD_FAILURES] = context->reload ? reload_failures(context->reload) : 0;
	values[TROUBLE_EVENTS_STUCK] = context->sink && sink_is_stuck(context->sink, &stuck);
	values[TROUBLE_STATE_STUCK] = context->state && context->state->failing;
	values[TROUBLE_IMPAIRED] = sum.impaired_pkts;
}
