// SPDX-License-Identifier: BSD-3-Clause
// What an operator should look into when it grows: one list for `sluicectl stats`, the live page
// and the service manager's STATUS=, so that they never disagree. What each means:
// docs/operating.md, Alarms. Control core only.
#ifndef SLUICE_ALARM_COUNTERS_H
#define SLUICE_ALARM_COUNTERS_H

#include "control/stats/context.h"

// X(symbol, word, value): in the order in which they are reported. Values are made of what
// alarm_counters_read has at hand.
#define ALARM_COUNTERS(X)                                                                     \
	X(PORTS_DOWN, "ports_down", ports_down) /* for now */                                 \
	X(LCORE_STALLS, "lcore_stalls", context->lcore_stalls)                                \
	X(BYPASSED_PKTS, "bypassed_pkts", sum.bypassed_pkts)                                  \
	X(RX_MISSED, "rx_missed", ports.rx_missed) /* all ports' */                           \
	X(RX_NOMBUF, "rx_nombuf", ports.rx_nombuf) /* the same */                             \
	X(TX_FULL, "tx_full", sum.dropped_pkts[DROP_TX_FULL])                                 \
	X(HANDOFF_FULL, "handoff_full", sum.dropped_pkts[DROP_HANDOFF_FULL])                  \
	X(FLOW_TABLE_FULL, "flow_table_full", sum.flow_table_full)                            \
	X(FLOWS_EVICTED, "flows_evicted", sum.flows_evicted)                                  \
	X(EMERGENCY_ENTERED, "emergency_entered", sum.emergency_entered)                      \
	X(CLASSIFY_NOMEM, "classify_nomem", sum.classify_nomem)                               \
	X(TCP_MEMORY_DROPS, "tcp_memory_drops", sum.tcp_memory_drops)                         \
	X(TCP_HALF_LIMIT_DROPS, "tcp_half_limit_drops", sum.tcp_half_limit_drops)             \
	X(TCP_HELD_LIMIT_DROPS, "tcp_held_limit_drops", sum.tcp_held_limit_drops)             \
	X(TCP_NOT_TRACKED, "tcp_not_tracked", sum.tcp_not_tracked)                            \
	X(FLOWS_LAW_WAIVED, "flows_law_waived", sum.flows_law_waived)                         \
	X(MAKE_NOMEM, "make_nomem", sum.make_nomem)                                           \
	X(RESETS_IMPOSSIBLE, "resets_impossible", sum.resets_impossible)                      \
	X(BAD_CHECKSUM_PKTS, "bad_checksum_pkts", sum.bad_checksum_pkts)                      \
	X(HINTS_LOST, "hints_lost", sum.hints_lost)                                           \
	X(EVENTS_LOST, "events_lost", sum.events_lost)                                        \
	X(EVENTS_FAILED, "events_failed", sink ? sink_failed(sink) : 0)                       \
	X(AUDIT_LOST, "audit_lost", content.log.lost)                                         \
	X(CONTENT_NOMEM, "content_nomem", sum.content_nomem)                                  \
	X(CONTENT_LOST, "content_lost", sum.content_lost)                                     \
	X(CONTENT_LOST_CLOSED, "content_lost_closed", sum.content_lost_closed)                \
	X(CONTENT_AMBIGUOUS, "content_ambiguous_refused", sum.content_ambiguous_refused)      \
	X(STORE_REFUSED, "store_refused", content.store.refused + content.quarantine.refused) \
	X(STORE_EVICTED, "store_evicted", content.store.evicted + content.quarantine.evicted) \
	X(STORE_ERRORS, "store_errors", content.store.errors + content.quarantine.errors)     \
	X(RELOAD_FAILURES, "reload_failures",                                                 \
		context->reload ? reload_failures(context->reload) : 0)                       \
	X(EVENTS_STUCK, "events_stuck", events_stuck)     /* 1 for now */                     \
	X(STATE_STUCK, "state_stuck", state_stuck)        /* the same */                      \
	X(SCAN_NOT_READY, "scan_not_ready", scan_missing) /* the same */                      \
	X(IMPAIRED, "impaired_pkts", sum.impaired_pkts)   /* on purpose, but not to be forgotten */

enum alarm_counter {
#define X(symbol, word, value) ALARM_COUNTER_##symbol,
	ALARM_COUNTERS(X)
#undef X
		ALARM_COUNTERS_MAX
};

// Values since the start. `reload` and `sink` of the context may be NULL.
void alarm_counters_read(
	const struct control_context *context, uint64_t values[ALARM_COUNTERS_MAX]);
const char *alarm_counter_word(enum alarm_counter alarm_counter);
// Its value is how it stands, not a count: it is reported while it is not 0, and not after that.
bool alarm_counter_is_state(enum alarm_counter alarm_counter);

#endif
