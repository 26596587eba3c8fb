// SPDX-License-Identifier: BSD-3-Clause
// Two nodes of unix with a folder of their own, and sockets of the system at the other end.
#ifndef TESTS_LIB_TAPI_UNIX_END_H
#define TESTS_LIB_TAPI_UNIX_END_H

#include <sys/socket.h>
#include <sys/un.h>

#include "tapi_node.h"

#define UNIX_MTU 65000u

tapi_init_fn inittransport_unix;
tapi_done_fn donetransport_unix;

extern struct node a, b;
extern char folder[32], path_a[64], path_b[64]; // a's and b's

int unix_setup(void **state);
int unix_teardown(void **state); // nothing is left: no file, no descriptor
// "unix": {...} with this path, and other keys; until the next call.
const char *unix_section(const char *path, const char *more);
void unix_make(struct node *node, const char *path, const char *more);
void unix_begin(struct node *node, const char *path, const char *more); // and starts it
const char *unix_url(const char *path);                                 // until the next call

// Sockets of the system, blocking for 5 s at most.
struct sockaddr_un unix_address(const char *path);
int unix_socket(void);
int unix_listen(const char *path, int backlog);
int unix_try(const char *path, int *fd); // to connect; 0 or errno
int unix_connect(const char *path);
int unix_peer(struct node *to, const char *path); // has said WELCOME and one message

#endif
