// SPDX-License-Identifier: BSD-3-Clause
// A network in one process, in virtual time: many cores, three transports of its own, and switches
// for what the Internet does to them.
//
//   vudp  protocol 200, cost 100, mtu 1432: datagrams, one session per pair of addresses
//   vtcp  protocol 201, cost 200, mtu 32768: streams; a connect takes a round trip
//   vraw  protocol 202, cost 90, mtu 1440: datagrams, what comes in has no session
//
// Time stands still but in wire_run(). Nothing is random but by the seed of wire_new().
#ifndef TAPI_WIRE_H
#define TAPI_WIRE_H

#include "transportapi/core/core.h"

enum wire_kind { WIRE_UDP, WIRE_TCP, WIRE_RAW, WIRE_KINDS };
#define WIRE_ANY      (-1)
#define WIRE_PORT     2086
#define WIRE_PROTOCOL 200 // and the kind

struct wire;
struct wire_node;

struct wire_seen { // by a socket that is nobody's peer
	uint64_t connects, messages, bytes, pings, others;
};

struct wire_inbox { // what a node's application got
	uint64_t messages, bytes, unvalidated, sealed;
	uint16_t last_type;
	uint32_t last_length;
	bool last_encrypted;
	uint32_t last_crc; // where encrypted
	uint8_t last[65536];
	uint64_t reachable, switched, lost; // events
	struct tapi_peer_info event;        // the last one
};

struct wire_node {
	struct tapi_core *core;
	struct tapi_identity identity;
	struct wire_inbox inbox;
	uint32_t ip;      // 10.0.0.1 upwards
	void *test;       // the test's own
	unsigned refuses; // the so many-th reload of a transport from now on; 0: none
	const char *hark; // NULL, or a word: the last line of the log that has it is `heard`
	char heard[160];
};

struct wire_node_options {
	const char *transports; // "\"vudp\", \"vtcp\"" (NULL: these two)
	const char *core;       // keys of section "core", as JSON, without braces; or NULL
	const char *sections;   // further sections, as JSON: "\"acl\": {...}"; or NULL
	bool nated[WIRE_KINDS]; // no address of this kind; who was not sent to does not come in
	// A NAT that lets in who was sent to within 30 s; the address is known, as STUN tells it.
	bool cone[WIRE_KINDS];
	uint32_t helo_mtu; // what its HELOs say; 0: the transport's
	bool quiet;        // no inbox, for 10,000 nodes
};

struct wire *wire_new(uint64_t seed);
void wire_free(struct wire *wire); // and its nodes; frees of sessions are checked
uint64_t wire_now(const struct wire *wire);
void wire_run(struct wire *wire, uint64_t for_us);
// Until `done` is true, at most for_us; whether it is.
bool wire_run_until(struct wire *wire, uint64_t for_us, bool (*done)(void *context), void *context);

struct wire_node *wire_node_add(struct wire *wire, const struct wire_node_options *options);
// As add, but what tapi_core_new() says is handed back; *out is NULL after an error.
enum tapi_result wire_node_try(struct wire *wire, const struct wire_node_options *options,
	struct wire_node **out, struct tapi_error *error);
enum tapi_result wire_node_reload(
	struct wire_node *node, const struct wire_node_options *options, struct tapi_error *error);
void wire_node_restart(struct wire_node *node); // stop and start
void wire_poke(struct wire_node *node);         // after a call of its core from outside wire_run()
// One HELO of another node, as a friend would pass it on; all of them: kind WIRE_ANY.
void wire_introduce(struct wire_node *to, struct wire_node *whom, int kind);
enum tapi_result wire_send(struct wire_node *from, struct wire_node *to, uint16_t type,
	const void *body, uint32_t length);

// Between two addresses, both ways; 0: any.
void wire_block(struct wire *wire, int kind, uint32_t ip, uint32_t other, bool blocked);
void wire_loss(struct wire *wire, int kind, double probability);
void wire_latency(struct wire *wire, int kind, uint64_t latency_us, uint64_t jitter_us);
void wire_no_room(struct wire_node *node, int kind, bool full);   // send() drops
void wire_narrow(struct wire_node *node, int kind, uint32_t mtu); // send() refuses more; 0: none
void wire_move(struct wire_node *node, uint32_t ip);              // its address changes
// A second address of a node: what goes there comes to it, what it sends comes from the first.
void wire_alias(struct wire_node *node, uint32_t ip);
// A socket at an address that no node has.
const struct wire_seen *wire_third_party(struct wire *wire, int kind, uint32_t ip);
// A message on the wire from nowhere: what a forger would send.
void wire_forge(struct wire *wire, enum wire_kind kind, uint32_t from_ip, struct wire_node *to,
	const struct tapi_peer_id *sender, const void *message, uint32_t size, bool is_encrypted,
	const uint32_t *crc);
// Each message on the wire, as it leaves: who watches may count, and change it (in place).
void wire_tap(struct wire *wire,
	void (*tap)(void *context, enum wire_kind kind, uint32_t from_ip, uint32_t to_ip,
		uint8_t *message, uint32_t size),
	void *context);
uint32_t wire_sessions(const struct wire_node *node, enum wire_kind kind); // open now
uint64_t wire_counter(const struct wire_node *node, const char *name);     // of tapi_core_counters

#endif
