// SPDX-License-Identifier: BSD-3-Clause
// A core that only writes down what it is reported, for transports under test: several of them in
// one process, on one loop. What the contract (transport.h) forbids a transport to do at any time
// is asserted here, in every test: to call back inside a method, to name a session after its end or
// to end it twice, to deliver octets that nobody sent.
#ifndef TESTS_TRANSPORT_RIG_H
#define TESTS_TRANSPORT_RIG_H

#include <event2/event.h>
#include <sys/queue.h>

#include "transportapi/base/acl.h"
#include "transportapi/proto/helo.h"
#include "transportapi/transport/registry.h"

#define RIG_NODES 3

struct rig;
struct rig_node;

// A session as the core knows it. Outlives the transport's: `session` is NULL then.
struct rig_session {
	LIST_ENTRY(rig_session) next;
	struct rig_node *node;
	struct tapi_session *session;
	unsigned references; // as the contract counts them
	bool inbound;
	bool down; // session_down() came
	enum tapi_down why;
	struct tapi_peer_id sender; // of what came in last
	unsigned arrived;
};

struct rig_arrival {
	struct rig_session *session; // NULL: session-less
	struct tapi_peer_id sender;
	struct tapi_source source;
	uint32_t serial, size, crc;
	bool is_encrypted;
};

struct rig_node {
	struct rig *rig;
	char letter; // 'a'
	struct tapi_peer_id id;
	struct tapi_core_api core;
	const struct tapi_conf *conf;
	const struct tapi_acl *acl;
	struct tapi_loaded loaded;
	struct tapi_transport_api *api; // NULL: not loaded
	bool started;
	const char *inside; // the method that runs and may not call back
	LIST_HEAD(, rig_session) sessions;
	struct rig_arrival *arrivals;
	unsigned n_arrivals, room;
	unsigned n_downs, n_alien_downs; // of these, for sessions that never said anything
	uint64_t given, taken;           // messages to send(); TAPI_OK
	uint64_t given_bytes;
	uint64_t refused[16]; // by -result
	uint64_t wish;        // of the last turn
};

struct rig {
	struct event_base *base;
	struct event *tick; // the loop never waits longer than 1 ms
	uint64_t ahead_us;  // of the real clock
	uint64_t chance;    // state of the generator
	struct rig_node nodes[RIG_NODES];
	char log[1024];     // the last line
	char all_log[4096]; // as much as fits, since it was emptied
	bool thin;          // arrivals are counted only, sessions that ended are forgotten at once
	bool aloud;         // log lines to standard error, too
};

void rig_init(struct rig *rig, uint64_t seed);
void rig_end(struct rig *rig); // asserts that each session came to its end
uint64_t rig_random(struct rig *rig);
uint64_t rig_now(const struct rig *rig);

// The node loads `transport` with this configuration; asserts that it can.
struct rig_node *rig_load(struct rig *rig, unsigned index, const char *transport,
	const char *directory, bool objects_first, const char *conf_text);
void rig_configure(struct rig_node *node, const char *conf_text); // puts another in force
enum tapi_result rig_reload(struct rig_node *node, const char *conf_text);
void rig_unload(struct rig_node *node);

// The methods, guarded and counted.
enum tapi_result rig_start(struct rig_node *node);
void rig_stop(struct rig_node *node);
enum tapi_result rig_connect(
	struct rig_node *node, const struct tapi_helo *helo, struct rig_session **out);
enum tapi_result rig_send_as(struct rig_session *session, uint32_t serial, uint32_t size,
	bool is_encrypted, uint32_t crc);
enum tapi_result rig_send(struct rig_session *session, uint32_t serial, uint32_t size);
enum tapi_result rig_associate(struct rig_session *session);
enum tapi_result rig_disconnect(struct rig_session *session);
void rig_turn(struct rig_node *node);
void rig_info(struct rig_session *session, struct tapi_session_info *out);
const struct tapi_transport_stats *rig_stats(struct rig_node *node);
// The index-th own address; asserts that there is one.
struct tapi_helo rig_helo(struct rig_node *node, unsigned index);

// Events and turns until `done` says so; false: not within 15 s (of the real clock).
bool rig_until(struct rig *rig, bool (*done)(void *context), void *context);
void rig_pump(struct rig *rig, unsigned ms);
bool rig_until_arrivals(struct rig_node *node, unsigned n);
bool rig_until_down(struct rig_session *session);
// The latest arrival with this serial, NULL: none.
const struct rig_arrival *rig_arrival(const struct rig_node *node, uint32_t serial);
// A session that came in and has not ended; NULL: none.
struct rig_session *rig_inbound(struct rig_node *node);

// What a message with this serial holds; from 4 octets on, the serial is in it.
void rig_message(uint8_t *out, uint32_t serial, uint32_t size);

#endif
