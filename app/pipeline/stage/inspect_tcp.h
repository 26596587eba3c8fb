// SPDX-License-Identifier: BSD-3-Clause
// The TCP half of the inspect stage: segments go to the tracker of their flow, bytes in order from
// it to inspect_payload.h, and packets go where the tracker says. The owning lcore only.
#ifndef SLUICE_INSPECT_TCP_H
#define SLUICE_INSPECT_TCP_H

#include "pipeline/stage/inspect.h"

// A segment of the packet's flow.
enum verdict inspect_tcp(struct lcore *lcore, struct packet_ctx *ctx);

// Halves that resume, worked off once per turn: packets that were held come free one by one, and
// each passes the stages from reload on before the next, as it may end its flow.
#define INSPECT_WORK_BUDGET 128 // held packets and copies worked off in one turn
struct inspect_work {
	struct tcp_track *track; // at which it is; NULL: the next that resumes
	unsigned budget;         // INSPECT_WORK_BUDGET at first; what is left of it
	uint32_t ref, gen;       // of its flow
	enum half half;
	bool more; // the half has more to work off
};
// The next packet that comes free, of work->ref and work->half. NULL: none in this turn.
struct rte_mbuf *inspect_release(struct lcore *lcore, struct inspect_work *work);
// Once per turn: drops what is held for too long.
void inspect_age(struct lcore *lcore);

// The flow ends: what lies behind holes is looked at.
void inspect_finish(struct lcore *lcore, uint32_t ref);

#endif
