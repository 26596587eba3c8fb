// SPDX-License-Identifier: BSD-3-Clause
// The table of counters whose growth an operator should know of.
#include "control/stats/alarm_counters.h"

#include "control/stats/scan_state.h"
#include "control/stats/sum.h"

const char *alarm_counter_word(enum alarm_counter alarm_counter)
{
	static const char *const words[] = {
#define X(symbol, word, value) word,
		ALARM_COUNTERS(X)
#undef X
	};
	return alarm_counter < ALARM_COUNTERS_MAX ? words[alarm_counter] : "?";
}

bool alarm_counter_is_state(enum alarm_counter alarm_counter)
{
	return alarm_counter == ALARM_COUNTER_PORTS_DOWN ||
	       alarm_counter == ALARM_COUNTER_EVENTS_STUCK ||
	       alarm_counter == ALARM_COUNTER_STATE_STUCK ||
	       alarm_counter == ALARM_COUNTER_SCAN_NOT_READY;
}

void alarm_counters_read(const struct control_context *context, uint64_t values[ALARM_COUNTERS_MAX])
{
	struct port_counters ports;
	unsigned ports_down = stats_ports(context->dp, &ports);
	const struct sink *sink = context->sink;
	struct sink_stuck stuck;
	bool events_stuck = sink && sink_is_stuck(sink, &stuck);
	bool state_stuck = context->state && context->state->failing;
	bool scan_missing = scan_state_is_missing(context, NULL, 0);
	struct content_reader_counters content = {0};
	struct stats sum;

	if (context->content)
		content_reader_look(context->content, &content);
	stats_sum(context->dp, &sum, NULL);
#define X(symbol, word, value) values[ALARM_COUNTER_##symbol] = (value);
	ALARM_COUNTERS(X)
#undef X
}
