// SPDX-License-Identifier: BSD-3-Clause
// The control socket: newline-framed JSON, {"command":...,"arguments":...} ->
// {"return":"OK"|"NOK","message":...}; mode 0660, group as configured. On the control core's
// libevent loop; a slow or hostile client costs a bounded buffer and is dropped, nothing else.
#ifndef SLUICE_CONTROL_SOCKET_H
#define SLUICE_CONTROL_SOCKET_H

// libevent's and the pipeline's `struct event` share a tag: here libevent's is only ever a pointer
// (never include event2/event_struct.h next to this).
#include <event2/event.h>
#include "control/cache/exemptions.h"
#include "control/policy/reload.h"

struct control_socket;
struct control_context { // what commands work on; borrowed
	struct event_base *base;
	struct dataplane *dp;
	struct reload *reload;
	struct rule_names *names;
	struct sink *sink;                 // may be NULL
	const struct trace_log *trace_log; // may be NULL
	const struct gateway *gateway;
	uint64_t (*now_ns)(void);
	uint64_t started_ns;
	// The rest is the control core's own; 0 at start.
	uint64_t cache_removals;      // commands that took entries out of the connection cache
	uint64_t cache_flushed_ns;    // when the last cache-flush began
	struct exemptions exemptions; // of cache-exempt
	const struct cache_store_stats *state; // NULL: nothing outlives a restart
	uint64_t lcore_stalls;                 // times that a data lcore's heart rested
	bool stop;
};
// -EADDRINUSE when another instance answers at `path` (a dead socket file is replaced).
int control_socket_new(struct control_context *context, const char *path, const char *group,
	struct control_socket **out, char *err, size_t err_len);
void control_socket_free(struct control_socket *socket); // removes the file

#endif
