// SPDX-License-Identifier: BSD-3-Clause
// The control socket: newline-framed JSON, {"command":...,"arguments":...} ->
// {"return":"OK"|"NOK","message":...}; mode 0660, group as configured. On the control core's
// libevent loop; a slow or hostile client costs a bounded buffer and is dropped, nothing else.
#ifndef SLUICE_CONTROL_SOCKET_H
#define SLUICE_CONTROL_SOCKET_H

#include "control/stats/context.h"

struct control_socket;
// -EADDRINUSE when another instance answers at `path` (a dead socket file is replaced).
int control_socket_new(struct control_context *context, const char *path, const char *group,
	struct control_socket **out, char *err, size_t err_len);
void control_socket_free(struct control_socket *socket); // removes the file

#endif
