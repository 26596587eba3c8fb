// SPDX-License-Identifier: BSD-3-Clause
// The whole path of a packet, and the loop around it. loop.c is the only place where the order of
// the stages is written (docs/architecture.md).
#ifndef SLUICE_LOOP_H
#define SLUICE_LOOP_H

#include "pipeline/lcore/lcore.h"
#include "reassembly/tcp_track.h"
#include "pipeline/egress/tx.h"

// Takes n mbufs as received (struct pkt: in_port, link, rx_ns and input flags set, the rest
// undefined) through every stage. Ports, replay, tests, fuzzers and benches call this same
// function. Owns the mbufs from here on. `lcore->policy` and `lcore->now_ns` are read by it from
// dp->policy and the argument. With packets of other lcores' flows, they go to the handoff ring.
void pipeline_run(struct lcore *lcore, struct rte_mbuf **mbufs, unsigned n, uint64_t now_ns);

// Prepares struct pkt of a packet that was received on a port (or read from a capture).
void pipeline_receive(struct lcore *lcore, struct rte_mbuf *m, uint8_t in_port, uint8_t link,
	uint64_t now_ns, uint16_t flags);

// One turn of an lcore: rx bursts, handoff rings, inject ring, hints, queries, ageing, tx flush,
// heartbeat, quiescent report. Returns the packets that it took (0: idle). Replay and tests call
// it with n_rx = 0 to let time pass: ageing, hints and flush run at the virtual clock.
unsigned pipeline_turn(struct lcore *lcore, uint64_t now_ns);

// Between turns, for a caller who lets time pass only with turns (replay): sends what the last
// packets left in the buffers. False: a turn at the same time, or the events' reader, has more to
// do. What expires waits for the turn that begins the next instant.
static inline bool pipeline_settled(struct lcore *lcore)
{
	tx_flush(lcore);
	return lcore->dp->n_lcores == 1 && !lcore->n_rx && !lcore->hold && !lcore->impair_rx &&
	       !lcore->impair_tx && TAILQ_EMPTY(&lcore->tracker->resuming) &&
	       rte_ring_empty(lcore->inject) && rte_ring_empty(lcore->events);
}

// Packets that are in the lcore's keepers, in the rings that it consumes, and in its hands: exact
// while it stands still.
unsigned pipeline_held(const struct lcore *lcore);

// Ends every flow (events with reason shutdown), frees what is still held (DROP_SHUTDOWN),
// flushes tx. The lcore's thread has left its loop, or is the caller.
void pipeline_drain(struct lcore *lcore, uint64_t now_ns);

#endif
