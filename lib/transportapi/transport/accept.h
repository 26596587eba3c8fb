// SPDX-License-Identifier: BSD-3-Clause
// What comes in on listening stream sockets, of whatever family: a bounded number per event; where
// no descriptor is left, who comes is refused and the loop does not spin. tcp's addresses:
// listen.h.
#ifndef TRANSPORTAPI_ACCEPT_H
#define TRANSPORTAPI_ACCEPT_H

#include <event2/event_struct.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "transportapi/base/transport.h"

#define TAPI_ACCEPT_BACKLOG 1024

struct tapi_accepting { // of one transport; embedded there
	const struct tapi_core_api *core;
	const char *name; // of the transport: section
	// A connection came in: non-blocking. Takes fd.
	void (*taken)(void *context, int fd, const struct sockaddr_storage *from, socklen_t length);
	void *context;
	uint64_t *refused;   // counter: closed because no descriptor was left
	int reserve;         // a descriptor that is given up to refuse a connection
	struct event resume; // after a rest: accept() failed, and would again
	bool resting;
	bool complained; // once until an accept works
	TAILQ_HEAD(, tapi_accept_socket) sockets;
};

struct tapi_accept_socket {
	struct tapi_accepting *of;
	int fd;
	struct event acceptable;
	TAILQ_ENTRY(tapi_accept_socket) entry;
};

// core, name, taken, context and refused are filled in by the caller; core->base is needed.
enum tapi_result tapi_accepting_init(struct tapi_accepting *accepting);
// `fd` listens and is non-blocking. Takes it; false: it is still the caller's.
bool tapi_accepting_add(
	struct tapi_accepting *accepting, struct tapi_accept_socket *socket, int fd);
void tapi_accepting_remove(struct tapi_accept_socket *socket); // and closes it
// After the last one is removed: the reserve goes, too.
void tapi_accepting_close(struct tapi_accepting *accepting);

#endif
