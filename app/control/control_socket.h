// SPDX-License-Identifier: BSD-3-Clause
// The control socket (K1): newline-framed JSON, {"command":...,"arguments":...} ->
// {"return":"OK"|"NOK","message":...}; mode 0660, group as configured. On the control core's
// libevent loop; a slow or hostile client costs a bounded buffer and is dropped, nothing else.
#ifndef SLUICE_CONTROL_SOCKET_H
#define SLUICE_CONTROL_SOCKET_H

#include <event2/event.h>
#include "reload.h"

struct control_socket;
struct control_context { // what commands work on; borrowed
	struct event_base *base;
	struct dataplane *dp;
	struct reload *reload;
	struct rule_names *names;
	struct sink *sink;
	const struct gateway *gateway;
	uint64_t (*now_ns)(void);
	uint64_t started_ns;
};
// -EADDRINUSE when another instance answers at `path` (a dead socket file is replaced).
int control_socket_new(struct control_context *context, const char *path, const char *group,
	struct control_socket **out, char *err, size_t err_len);
void control_socket_free(struct control_socket *socket); // removes the file

#endif
