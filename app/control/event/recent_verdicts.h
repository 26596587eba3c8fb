// SPDX-License-Identifier: BSD-3-Clause
// The last verdicts and the last entries of the connection cache, as the live page shows them. Fed
// by the sink's events as they come, whether or not they are written to a file. Bounded; control
// core only.
#ifndef SLUICE_RECENT_VERDICTS_H
#define SLUICE_RECENT_VERDICTS_H

#include "control/event/sink.h"

#define RECENT_VERDICTS 50
#define RECENT_ENTRIES  20

enum recent_state { // of an entry of the connection cache
	RECENT_LIVE,
	RECENT_EXPIRED,
	RECENT_REVOKED, // the policy no longer blocks
	RECENT_EVICTED,
	RECENT_REMOVED, // by the operator
};

struct recent_cache_entry {
	struct event event; // EVENT_CONNCACHE, as it was learned
	uint64_t hits;      // as far as was reported: the first one, and all of them at its end
	enum recent_state state;
};

struct recent_verdicts {
	uint64_t verdicts_seen; // since the start; the newest is [(verdicts_seen - 1) % N]
	uint64_t entries_seen;
	struct event verdicts[RECENT_VERDICTS]; // EVENT_ALERT
	struct recent_cache_entry entries[RECENT_ENTRIES];
};

// A sink_listener_fn; `ctx` is the struct recent, which the caller owns (zeroed at first).
void recent_verdicts_add(void *ctx, const struct event *event);
// The i-th newest, from 0; NULL beyond the last.
const struct event *recent_verdicts_at(const struct recent_verdicts *recent_verdicts, unsigned i);
const struct recent_cache_entry *recent_cache_entry(
	const struct recent_verdicts *recent_verdicts, unsigned i);

#endif
