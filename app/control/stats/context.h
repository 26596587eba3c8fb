// SPDX-License-Identifier: BSD-3-Clause
// What the parts of the control core work on: the data plane, the policy, the event sink, and what
// the core knows of itself. Whoever starts the core fills it. Control core only.
#ifndef SLUICE_CONTROL_CONTEXT_H
#define SLUICE_CONTROL_CONTEXT_H

// libevent's and the pipeline's `struct event` share a tag: here libevent's is only ever a pointer
// (never include event2/event_struct.h next to this).
#include <event2/event.h>
#include "control/content/blocked.h"
#include "control/content/reader.h"
#include "control/event/sink.h"
#include "control/policy/exemptions.h"
#include "control/stats/scan_reloads.h"

struct cache_store_stats { // of control/cache/store.h
	uint64_t restored;
	uint64_t written; // entries in the last writing
	uint64_t writings;
	uint64_t failures; // of writings and of journal lines
	bool failing;      // the last one failed; reported once
};

struct control_context { // what commands work on; borrowed
	struct event_base *base;
	struct dataplane *dp;
	struct reload *reload;
	struct rule_names *names;
	struct sink *sink;              // may be NULL
	struct content_reader *content; // may be NULL
	// Its figures: content_reader_look.
	void (*content_look)(
		struct content_reader *reader, struct content_reader_counters *counters);
	struct content_recent *recent;     // what it has told of last; may be NULL
	struct blocked_ids *blocked;       // may be NULL
	const struct trace_log *trace_log; // may be NULL
	const struct scan_desk *scan;      // NULL: there is no scan engine (scan_desk.h)
	struct scan_reloads *scan_reloads; // NULL: there is no engine that has signatures
	const struct gateway *gateway;
	uint64_t (*now_ns)(void);
	uint64_t started_ns;
	// The rest is the control core's own; 0 at start.
	uint64_t cache_removals;      // commands that took entries out of the connection cache
	uint64_t cache_flushed_ns;    // when the last cache-flush began
	struct exemptions exemptions; // of cache-exempt
	const struct cache_store_stats *state; // NULL: nothing outlives a restart
	uint64_t lcore_stalls;                 // times that a data lcore's heartbeat was late
	bool stop;
};

#endif
