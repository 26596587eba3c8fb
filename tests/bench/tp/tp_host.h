// SPDX-License-Identifier: BSD-3-Clause
// A small host of one transport, by the library's own contract (transportapi/base/transport.h):
// what a core is to it, without peers, queues and validation. Benches load any transport by its
// name.
#ifndef TP_HOST_H
#define TP_HOST_H

#include "transportapi/base/acl.h"
#include "transportapi/proto/helo.h"
#include "transportapi/transport/registry.h"
#include "tp.h"

struct event;

struct tp_host {
	struct event_base *base;
	struct event *clock; // of turn()
	struct event *bell;  // of tp_host_wait()
	struct tapi_conf *conf;
	struct tapi_acl *acl;
	struct tapi_identity identity;
	struct tapi_core_api core;
	struct tapi_loaded loaded;
	struct tapi_transport_api *transport;
	const char *program;
	// Set by the caller before it lets the loop run.
	void (*receive)(void *context, const struct tapi_message_pack *pack);
	void *context;
	uint64_t downs; // sessions that ended; never one of ours while we measure
};

// Loads and starts `name` with the configuration `text` (JSON), or ends the program with 3 after
// saying why: what cannot be had here is "n/a", not a failure. `seed` tells hosts apart.
void tp_host_init(struct tp_host *host, const char *program, const char *name, const char *text,
	uint8_t seed);
void tp_host_done(struct tp_host *host);
// The first address under which it can be reached, signed.
void tp_host_helo(struct tp_host *host, struct tapi_helo *out);
struct tapi_session *tp_host_connect(struct tp_host *host, const struct tapi_helo *helo);
enum tapi_result tp_host_send(
	struct tp_host *host, struct tapi_session *session, const void *message, uint32_t size);
// Lets the loop run: what is ready now; or until something happened, at most as long.
void tp_host_poll(struct tp_host *host);
void tp_host_wait(struct tp_host *host, uint64_t most_us);

#endif
