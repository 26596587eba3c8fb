// SPDX-License-Identifier: BSD-3-Clause
// A schedule: connections, and what happens to them in which order. Made from a seed alone; each
// operation stands by itself, so that any of them can be left out (shrinking).
#ifndef SLUICE_MODEL_SCHEDULE_H
#define SLUICE_MODEL_SCHEDULE_H

#include "lib/pipeline/pipe.h"

#define CONNS_MAX  16
#define OPS_MAX    420
#define STREAM_MAX 700

enum op_type {
	OP_PACKET,
	OP_TURN,   // every lcore takes a turn
	OP_TIME,   // the clock moves on
	OP_POLICY, // a reload
	OP_REFUSE, // the wire takes fewer packets
};

enum model_policy {
	MODEL_PASS,
	MODEL_RESET, // BitTorrent is reset, or
	MODEL_DROP,  // dropped
	MODEL_MONITOR,
	MODEL_POLICIES,
};

struct conn {
	bool bad; // BitTorrent
	bool v6;
	uint8_t proto;
	uint8_t n_vlan;
	uint16_t vlan[2];
	uint32_t client, server; // words of the addresses
	uint16_t sport, dport;
	uint32_t isn[2];
	uint8_t lcore[2]; // on which each half is received
	uint8_t bytes[2][STREAM_MAX];
};

struct op {
	uint8_t type;
	uint8_t conn;
	uint8_t half;
	uint8_t tcp_flags;
	bool bad_checksum;
	bool starve; // the pool is empty but for this packet
	bool turn;   // the lcores take a turn after it
	uint8_t segments;
	uint16_t fragment;
	uint16_t at, length; // payload: of the half's bytes
	uint32_t ack;        // bytes of the other half that it acknowledges, its SYN included
	uint32_t number;     // of the packet, from 1: its identification on the wire
	uint32_t value;      // seconds, policy, packets refused
};

struct schedule {
	uint64_t seed;
	unsigned n_lcores;
	bool small; // tables that overflow
	unsigned n_conns;
	struct conn conns[CONNS_MAX];
	unsigned n_ops;
	struct op ops[OPS_MAX];
};

void schedule_make(struct schedule *schedule, uint64_t seed);
void schedule_print(const struct schedule *schedule);
// The same peer and service: one cache entry.
bool schedule_same_entry(const struct conn *a, const struct conn *b);
// What acknowledges all that the packet brings; 0: it brings nothing.
uint32_t schedule_end(const struct op *op);
// The frame of a packet; its length.
unsigned schedule_frame(const struct conn *conn, const struct op *op, uint8_t *frame, size_t size);

#endif
