// SPDX-License-Identifier: BSD-3-Clause
// Listening sockets of a transport of IP streams, and what comes in on them.
#ifndef TRANSPORTAPI_LISTEN_H
#define TRANSPORTAPI_LISTEN_H

#include "transportapi/transport/accept.h"
#include "transportapi/transport/inet_own.h"

struct tapi_listener;

struct tapi_listeners { // embedded in the transport
	const struct tapi_core_api *core;
	const char *name; // of the transport: section, scheme
	// A connection came in: non-blocking, TCP_NODELAY. Takes fd.
	void (*taken)(void *context, int fd, const struct tapi_source *from);
	void *context;
	uint64_t *refused; // counter: closed because no descriptor was left
	struct tapi_listener *at[TAPI_INET_LIST_MAX];
	unsigned n;
	struct tapi_accepting accepting;
};

// core, name, taken, context and refused are filled in by the caller; core->base is needed.
enum tapi_result tapi_listeners_init(struct tapi_listeners *listeners);
// Listens on `wanted`, and on nothing else; what was listened on before and is wanted stays as it
// is. TAPI_ESYS: *error says what; all is as it was. `implicit`: nobody asked for these addresses
// by name, a machine without IPv6 has the others only.
enum tapi_result tapi_listeners_open(struct tapi_listeners *listeners,
	const struct tapi_inet_list *wanted, bool implicit, struct tapi_error *error);
void tapi_listeners_close(struct tapi_listeners *listeners);
void tapi_listeners_bound(const struct tapi_listeners *listeners, struct tapi_inet_list *out);

#endif
