// SPDX-License-Identifier: BSD-3-Clause
// The clients of the control socket. Each costs at most one line of input, one answer, and a
// while: one command at a time, the next one only when the last answer has left. A client that
// sends half a line and stops, a longer line than CONTROL_LINE_MAX, or that does not read its
// answer is dropped. Control core only.
#ifndef SLUICE_CONTROL_CLIENT_H
#define SLUICE_CONTROL_CLIENT_H

#include "control/ctl/socket.h"

#define CONTROL_CLIENTS_MAX 32
#define CONTROL_LINE_MAX    65536 // bytes of a command, with its newline
#define CONTROL_LINE_S      10    // from its first byte to its newline
#define CONTROL_WRITE_S     10    // without the client reading anything
#define CONTROL_IDLE_S      300   // between two commands

struct control_clients;

int control_clients_new(struct control_context *context, struct control_clients **out);
void control_clients_free(struct control_clients *clients); // the lcores have left
// Takes the connected descriptor. Beyond the cap it is told so and closed.
void control_client_new(struct control_clients *clients, int fd);

#endif
