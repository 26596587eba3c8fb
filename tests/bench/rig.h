// SPDX-License-Identifier: BSD-3-Clause
// The packet path in process, for measuring: one data lcore, a pair of ports whose wire costs what
// a wire must (take mbufs from the pool, copy the frame in; give them back) and nothing else. The
// frames are prepared: a round touches no clock, no system call, no allocator but the mbuf pool.
#ifndef SLUICE_BENCH_RIG_H
#define SLUICE_BENCH_RIG_H

#include "pipeline/limits.h"
#include "pipeline/loop.h"

#define RIG_INSIDE     0
#define RIG_OUTSIDE    1
#define RIG_HEAD       64   // bytes of a frame that are a packet's own
#define RIG_TAILS      4096 // payloads behind them, shared
#define RIG_TAIL_BYTES 1472
#define RIG_FRAME_MIN  60 // 64 bytes on the wire, without the checksum of Ethernet

struct rig_head {
	uint8_t bytes[RIG_HEAD];
};

// What the wire delivers next.
struct rig_wire {
	struct rig_head *heads; // n_heads frames' beginnings
	uint32_t n_heads;
	uint32_t cursor;  // of the next frame
	uint32_t left;    // frames still to be delivered in this round
	uint16_t length;  // of every frame
	uint32_t advance; // what TCP's sequence numbers grow by with each pass over the heads
	uint32_t advanced;
	uint8_t port;   // where they come in
	uint64_t freed; // by `send`: what left
};

struct rig {
	struct lcore_limits limits;
	struct dataplane dp;
	struct lcore *lcore;
	struct rte_mempool *pool;
	struct sigdb *sigdb;
	struct edition *edition;
	struct policy *policy;
	struct app_tables *tables;
	struct rule_names *names;
	struct rig_wire wire;
	uint8_t (*tails)[RIG_TAIL_BYTES];
	uint64_t now_ns;
	bool hugepages;
};

struct rig_options {
	const char *signatures; // folder
	const char *policy;     // file
	const char *cache;      // of compiled signatures
	uint32_t flows;         // table sizes
	unsigned mb;            // of memory for all of it
};

// Ends the program with a message when something is missing: a bench has nobody to report to.
struct rig *rig_new(const struct rig_options *options);
// Ends with status 1 when the ledger does not close or an mbuf is missing.
void rig_free(struct rig *rig);
__attribute__((format(printf, 1, 2), noreturn)) void rig_die(const char *format, ...);

// Another policy, of that text; before its flows are made.
void rig_policy(struct rig *rig, const char *json);

struct rig_packet {    // zeroed members have defaults
	uint32_t flow; // makes the tuple
	uint8_t l4_proto;
	bool from_responder;
	uint16_t sport, dport;
	uint32_t seq, ack;
	uint8_t tcp_flags;
	uint16_t length;     // of the frame
	const void *payload; // its start; the rest is the packet's tail
	uint16_t payload_length;
	uint32_t tail; // which of the shared ones
	bool bare;     // without payload: padded to its length
};
// Writes the head; checksums are those of the whole frame. `frame` (2 KiB) gets all of it if not
// NULL.
void rig_build(const struct rig *rig, const struct rig_packet *packet, struct rig_head *head,
	uint8_t *frame);
// Takes one packet through the path, as it would come in on that port.
void rig_send(struct rig *rig, uint8_t port, const uint8_t *frame, uint16_t length);
// Where packet i of the wire finds its tail.
uint32_t rig_tail_of(uint32_t index);

// A round: `n` packets from the wire through pipeline_turn, or over the bare wire; returns cycles.
uint64_t rig_round(struct rig *rig, uint32_t n);
uint64_t rig_warm(struct rig *rig, uint32_t n); // the same, where callgrind does not count
uint64_t rig_round_wire(struct rig *rig, uint32_t n);
// Throws away what the lcore reported the control core.
void rig_drain_events(struct rig *rig);

// Hyperscan, told apart (hyperscan_switch.c): switched off, every scan finds nothing at no cost.
extern bool hyperscan_off;
// Reassembly, told apart (reassembly_switch.c): switched off, nothing is tracked.
extern bool reassembly_off;

#endif
