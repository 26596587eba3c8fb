// SPDX-License-Identifier: BSD-3-Clause
// The packet path in process, for tests: a pair of ports whose wires are arrays, any number of
// lcores that take their turns when the test says so, a clock that the test owns. Packets go in
// and come out as bytes; mbufs are heap buffers of exact size, so that AddressSanitizer sees one
// byte too far.
#ifndef SLUICE_TEST_PIPE_H
#define SLUICE_TEST_PIPE_H

#include "pipeline/limits.h"
#include "pipeline/loop.h"
#include "scan/scan_link.h"
#include "pipeline/egress/egress.h"
#include "pipeline/event/event.h"
#include "pipeline/lcore/lcore.h"
#include "pipeline/policy/policy.h"

#define PIPE_INSIDE   0
#define PIPE_OUTSIDE  1
#define PIPE_SENT_MAX 512

struct pipe_scan;
struct scan_config;

struct pipe_sent {
	uint8_t port;
	uint32_t length;
	uint8_t frame[2048];
};

struct pipe {
	struct lcore_limits limits;
	struct dataplane dp;
	struct rte_mempool *pool;
	struct sigdb *sigdb;
	struct edition *edition; // of it, number 1: every policy has it
	struct policy *policy;   // in force; rules are `rules`
	bool sigdb_borrowed;     // pipe_signatures
	struct rule *rules;
	uint64_t now_ns;
	struct pipe_sent sent[PIPE_SENT_MAX];
	unsigned n_sent;
	uint64_t tagged[EGRESS_KINDS_MAX]; // packets that the entry point's row saw
	unsigned accept;                   // packets that the wire still takes before it refuses
	unsigned refuse;                   // packets that the wire does not accept, next
	struct pipe_scan *scan;            // NULL: no scan engine
	uint16_t rx_flags;                 // of packets, as they are received: PKT_CAPTURED ...
};

// What EAL is given, and mbufs of a pipe's pool; for tests with larger limits, before pipe_new.
extern const char *pipe_eal_mb;
extern unsigned pipe_mbufs;

// The rows of every pipe: one that counts. A test with rows of its own (dp.egress_rows) has it
// before them: pipe_free asserts that it saw all that entered.
extern const struct egress_row pipe_rows[];

// EAL is started at the first call of a program.
struct pipe *pipe_new(unsigned n_lcores, const struct lcore_limits *limits);
// Asserts the ledger, also by kind behind the entry point, and that every mbuf is back, then frees.
void pipe_free(struct pipe *pipe);
// Asserts that by kind the row saw what entered, and what entered was sent or dropped. At rest;
// again only with new lcores. By pipe_free.
void pipe_egress_closes(struct pipe *pipe);
struct lcore_limits pipe_limits(void);

// A scan engine with that script (`ops` is set here), whose worker runs in the lcores' turns.
void pipe_scan_new(struct pipe *pipe, const struct scan_config *config);
struct scan_link *pipe_scan_link(struct pipe *pipe, unsigned lcore);
// By pipe_free: asserts that no place and no job is left.
void pipe_scan_free(struct pipe *pipe);

// Instead of the two of BitTorrent that every pipe has; the caller's, and outlives the pipe.
void pipe_signatures(struct pipe *pipe, struct sigdb *db);

// A new snapshot with room for 8 rules; passes everything. Published by pipe_publish.
struct policy *pipe_policy(struct pipe *pipe);
struct rule *pipe_rule(struct policy *policy, uint32_t uid, enum action action);
struct rule *pipe_rule_app(
	struct policy *policy, uint32_t uid, enum action action, const char *app);
// A rule that decides nothing and may mask messages, of which none has its keyword, beside others:
// flows are edited as far as is known of them, and take no fast pass. For pipes with limits of
// pipe_limits_edits.
void pipe_rule_edits(struct policy *policy, uint32_t uid);
struct lcore_limits pipe_limits_edits(void);
void pipe_publish(struct pipe *pipe, struct policy *policy);

struct pipe_packet { // what a test says of a packet; zeroed members have defaults
	bool v6;
	bool from_outside;       // sent by the responder: addresses and ports are swapped
	uint8_t proto;           // default TCP
	uint32_t client, server; // last word of the addresses; default 1, 2
	uint16_t sport, dport;   // of the client; default 40000, 80
	uint32_t seq, ack;
	uint8_t tcp_flags; // default ACK, or PSH|ACK with payload
	const void *payload;
	uint16_t payload_length;
	const void *options; // of TCP: a multiple of 4 bytes, at most 40
	uint8_t options_length;
	uint16_t urgent; // pointer
	uint16_t window; // default 65000
	uint8_t ttl;     // default 63
	uint8_t n_vlan;
	uint16_t vlan[2];
	bool bad_checksum;
	uint16_t fragment; // IPv4 flags and offset field
	uint16_t ip_id;
	unsigned segments; // mbuf segments; default 1
};
unsigned pipe_build(const struct pipe_packet *packet, uint8_t *frame, size_t size);
// Builds it and runs it on `lcore`; returns how many frames came out.
unsigned pipe_run(struct pipe *pipe, unsigned lcore, const struct pipe_packet *packet);
unsigned pipe_run_frame(struct pipe *pipe, unsigned lcore, const uint8_t *frame, uint32_t length,
	bool from_outside, unsigned segments);
// Every lcore takes a turn; returns how many frames came out.
unsigned pipe_turns(struct pipe *pipe);
void pipe_advance(struct pipe *pipe, double seconds);

struct stats pipe_stats(const struct pipe *pipe);
// received + injected - sent - dropped - held - consumed
int64_t pipe_unaccounted(const struct pipe *pipe);
// Takes the next event of a type from an lcore's ring, throwing away others; false at the end.
bool pipe_event(struct pipe *pipe, unsigned lcore, enum event_type type, struct event *event);

#endif
