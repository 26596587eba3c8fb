// SPDX-License-Identifier: BSD-3-Clause
// What tapi_wire.c and tapi_wire_transport.c share.
#ifndef TAPI_WIRE_INTERNAL_H
#define TAPI_WIRE_INTERNAL_H

#include "tapi_wire.h"

#include "transportapi/transport/sessions.h"
#include "transportapi/base/table.h"

#define WIRE_RULES_MAX  64
#define WIRE_THIRDS_MAX 16
#define WIRE_EPOCH_US   UINT64_C(1800000000000000) // virtual time 0, on the wall

struct wire_end; // one transport of one node

struct wire_timer {
	uint64_t due_us, order;
	uint32_t place;
	bool is_packet;
};

enum wire_op { WIRE_MESSAGE, WIRE_SYN, WIRE_SYNACK, WIRE_FIN, WIRE_RST };

struct wire_packet {
	struct wire_timer timer;
	enum wire_kind kind;
	enum wire_op op;
	uint32_t from_ip, to_ip;
	uint16_t from_port, to_port;
	uint64_t stream; // both ends name a stream by this
	struct tapi_peer_id sender;
	bool is_encrypted;
	uint32_t crc, size;
	uint8_t message[];
};

struct wire_full_node {
	struct wire_node node; // first
	struct wire *wire;
	struct wire_timer timer;
	struct tapi_conf *conf;
	struct wire_end *ends[WIRE_KINDS];
	bool nated[WIRE_KINDS], cone[WIRE_KINDS], full[WIRE_KINDS];
	uint32_t helo_mtu, narrow[WIRE_KINDS]; // 0: the transport's
	unsigned turns_now;
	UT_hash_handle by_ip;
};

struct wire_rule {
	int kind;
	uint32_t a, b;
};

struct wire_alias_of {
	uint32_t ip;
	struct wire_full_node *node;
};

struct wire_third {
	int kind;
	uint32_t ip;
	struct wire_seen seen;
};

struct wire {
	uint64_t now_us, chance, order, streams;
	struct wire_timer **heap; // from 1
	uint32_t n_heap, heap_room;
	struct wire_full_node *nodes;
	uint32_t n_nodes;
	struct wire_rule rules[WIRE_RULES_MAX];
	unsigned n_rules;
	struct wire_third thirds[WIRE_THIRDS_MAX];
	unsigned n_thirds;
	struct wire_alias_of aliases[WIRE_THIRDS_MAX];
	unsigned n_aliases;
	double loss[WIRE_KINDS];
	uint64_t latency_us[WIRE_KINDS], jitter_us[WIRE_KINDS];
	void (*tap)(void *context, enum wire_kind kind, uint32_t from_ip, uint32_t to_ip,
		uint8_t *message, uint32_t size);
	void *tap_context;
};

struct wire_session {
	struct tapi_link link;
	uint32_t ip;
	uint16_t port;
	uint64_t stream;
	uint8_t *first; // sent before the stream stands: one payload
	struct wire_packet first_like;
};

struct contact { // whom we sent to: a NAT lets them in
	uint32_t ip;
	uint64_t sent_us; // last
	UT_hash_handle hh;
};

struct wire_end {
	struct tapi_transport_api api;
	const struct tapi_core_api *core;
	struct wire_full_node *node;
	enum wire_kind kind;
	bool started;
	struct tapi_links links;
	struct tapi_transport_stats stats;
	struct contact *contacts;
};

extern struct wire_full_node *wire_building; // whose transports are being made

void wire_timer_at(struct wire *wire, struct wire_timer *timer, uint64_t due_us);
uint64_t wire_chance(struct wire *wire);
// Sends a packet like this, unless a switch or chance takes it.
void wire_put(
	struct wire *wire, const struct wire_packet *like, const void *message, uint32_t size);
uint64_t wire_end_now(const struct wire_end *end);
struct tapi_source wire_source(const struct wire_end *end, uint32_t ip, uint16_t port);
struct wire_session *wire_session_add(struct wire_end *end, uint32_t ip, uint16_t port,
	uint64_t stream, bool inbound, enum tapi_result *result);
void wire_end_take(struct wire_end *end, const struct wire_packet *packet);

tapi_init_fn inittransport_vudp, inittransport_vtcp, inittransport_vraw;
tapi_done_fn donetransport_vudp, donetransport_vtcp, donetransport_vraw;

#endif
