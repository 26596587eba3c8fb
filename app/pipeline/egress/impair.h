// SPDX-License-Identifier: BSD-3-Clause
// The impairment stage: a bad link inside the gateway, for laboratories (docs/impairment.md). It is
// what NIST Net was to the kP2PADM paper (section 4.3): delay, jitter, rate, loss, reordering,
// duplicates and flipped bits, by direction. Off unless gateway.json asks for it; then it costs
// one branch a burst. Keeper: what is on its way is in a heap of `limit` packets; beyond that they
// are dropped, and counted (impaired_limit).
//
// A packet on its way: lost or not; waits for the line (rate), or finds its queue full; is delayed,
// unless it is one that skips the delay (reorder); its duplicate arrives right behind it, and one
// of its bits behind the link header may have flipped. Among packets due at the same time the first
// to come is the first to go.
//
// Everything by chance is a hash, so that two runs of the same transfer see the same
// (impair_decide.h).
//
// Data lcores only; everything is the lcore's own. Each lcore that receives (at rx) or sends (at
// tx) has lines, memory and limit of its own.
#ifndef SLUICE_IMPAIR_H
#define SLUICE_IMPAIR_H

#include <stdbool.h>
#include <stdint.h>
#include <rte_mbuf.h>
#include "pipeline/vocab/verdict.h"

struct lcore;
struct impair;
struct tx_buffer;

enum impair_place {
	IMPAIR_RX, // right after the port, before parse: the link lies before the gateway
	IMPAIR_TX, // just before the driver: it lies behind the gateway
};
enum impair_way { IMPAIR_TO_INSIDE, IMPAIR_TO_OUTSIDE, IMPAIR_WAYS };
enum impair_loss {
	IMPAIR_BERNOULLI,       // each packet by itself
	IMPAIR_GILBERT_ELLIOTT, // in a good and a bad state that take turns
};

#define IMPAIR_ALWAYS (1ull << 32) // a share of 1

struct impair_link { // one direction; shares are of IMPAIR_ALWAYS
	uint64_t delay_ns;
	uint64_t jitter_ns;   // the delay is even between delay_ns less and plus that
	uint64_t ps_per_byte; // of the line; 0: it takes no time
	uint64_t queue_ns;    // the longest that a packet waits for the line
	enum impair_loss loss;
	uint64_t to_bad, to_good;     // Gilbert-Elliott's p and r
	uint64_t lost_good, lost_bad; // and 1-k, 1-h; Bernoulli: lost_good alone
	uint64_t reorder;             // skip the delay
	uint64_t duplicate;
	uint64_t corrupt;
};

struct impair_settings {
	bool on;
	bool whole_tuple; // by chance means: by both ports; else not by the higher one of TCP and
			  // UDP
	enum impair_place at;
	uint32_t seed;
	uint32_t limit; // packets on their way, per lcore
	struct impair_link links[IMPAIR_WAYS];
};

// NULL where settings->on is false. -ENOMEM.
int impair_new(const struct impair_settings *settings, int socket, struct impair **out);
void impair_free(struct impair *impair); // NULL is allowed; the packets are gone by then

// At rx: takes n packets as pipeline_receive has prepared them, and counts them as received.
void impair_receive(struct lcore *lcore, struct rte_mbuf **mbufs, unsigned n);
// At most `max` of those whose time has come (lcore->now_ns); the caller's from then on. Their
// rx_ns is that they were received now: the gateway's latency is its own.
unsigned impair_received(struct lcore *lcore, struct rte_mbuf **mbufs, unsigned max);

// At tx: takes what waits in the send buffer of `port`, and returns another one with what is to be
// offered to the driver now. What the driver refuses stays in it.
struct tx_buffer *impair_send(struct lcore *lcore, unsigned port);

// Packets in its hands; and when the next one is due: 0: there is none.
unsigned impair_held(const struct lcore *lcore);
uint64_t impair_next_ns(const struct lcore *lcore);
// Frees them all, counted by that reason.
void impair_discard(struct lcore *lcore, enum drop_reason reason);

#endif
