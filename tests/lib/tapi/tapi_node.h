// SPDX-License-Identifier: BSD-3-Clause
// A transport alone, with a core that writes down what it is reported, and sockets of the system at
// the other end. The clock is the test's.
#ifndef TESTS_LIB_TAPI_NODE_H
#define TESTS_LIB_TAPI_NODE_H

#include <event2/event.h>

#include "transportapi/base/acl.h"
#include "transportapi/proto/helo.h"
#include "transportapi/base/transport.h"

#define NODE_MESSAGES 4096u
#define NODE_DOWNS    64u

struct node_message {
	struct tapi_session *session;
	uint32_t size, crc;
	bool is_encrypted;
	uint8_t first, last; // octets of it
	struct tapi_peer_id sender;
};

struct node {
	struct event_base *base;
	struct tapi_core_api core;
	struct tapi_peer_id id;
	struct tapi_conf *conf;
	struct tapi_acl *acl;
	const struct tapi_conf *conf_in_force;
	const struct tapi_acl *acl_in_force;
	struct tapi_transport_api *api;
	uint64_t now_us;
	struct node_message messages[NODE_MESSAGES];
	unsigned n_messages;
	struct {
		struct tapi_session *session;
		enum tapi_down why;
	} downs[NODE_DOWNS];
	unsigned n_downs;
	bool inside; // a method runs: calling back is forbidden
	void (*on_message)(struct node *node, const struct tapi_message_pack *pack);
	char logged[512];
	unsigned n_logged;
};

extern struct tapi_budget *node_budget; // of nodes from here on; NULL: none

// `sections` are those of the transport ("\"tcp\": {...}"), and others but "acl": the loopback is
// allowed. `first` is the first octet of the node's identity, the others are 0.
void node_init(struct node *node, tapi_init_fn *init, uint8_t first, const char *sections);
void node_end(struct node *node, tapi_done_fn *done);
// Puts another configuration in force and reloads; after an error the old one is back.
enum tapi_result node_reload(struct node *node, const char *sections, const char *acl);
void node_start(struct node *node);
void node_stop(struct node *node);
// The port that the HELO of this family has.
uint16_t node_port(struct node *node, uint8_t family);
struct tapi_helo node_helo(struct node *node, const char *text);
struct tapi_session *node_connect(struct node *node, const char *text);
// A message of `size` octets, all `mark`.
enum tapi_result node_send(
	struct node *node, struct tapi_session *session, uint8_t mark, uint32_t size);
// Runs the loop until *counter >= least; fails after 5 s.
void node_until(struct node *node, const unsigned *counter, unsigned least);
void node_run(struct node *node, unsigned rounds);   // of the loop, without waiting
uint64_t node_ahead(struct node *node, uint64_t us); // the clock, then turn(); its wish

// Sockets of the system, blocking, on the loopback.
int raw_listen(uint16_t *port, int backlog);
int raw_accept(int listening);
int raw_connect(uint16_t port); // IPv4
void raw_write(int fd, const void *octets, size_t length);
// The descriptor in this process whose peer `fd` is.
int raw_other_end(int fd);
size_t raw_read(int fd, uint8_t *out, size_t length); // until all is there, or the end

// A peer of stream transports, as octets. peer_connect: it has said WELCOME (its identity begins
// with 0xbb) and one message, 5 times 'h'.
const char *tcp_url(uint16_t port); // "tcp://127.0.0.1:..." until the next call
size_t peer_welcome(uint8_t *out, uint8_t first);
size_t peer_frame(uint8_t *out, uint8_t mark, uint32_t size);
int peer_connect(struct node *to);
struct tapi_session *last_session(struct node *node); // that something came on

// tcp started with these keys of its section; each with an identity of its own.
void tcp_begin(struct node *node, const char *keys);
enum tapi_result tcp_reload(
	struct node *node, const char *keys, const char *acl); // NULL: the loopback
bool tcp_refused(uint16_t port);                               // nobody listens at 127.0.0.1

#endif
