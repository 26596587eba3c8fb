// SPDX-License-Identifier: BSD-3-Clause
// Data lcores that answer questions of the control core from tables that they make up:
// `n_flows` flows on each (ids lcore * 10000 + 1 ...; every 100th is BitTorrent, every 10th IPv6,
// flow 77 of lcore 1 can be traced), 900 cache entries of which 300 are on both of two lcores.
#ifndef SLUICE_FAKE_LCORE_H
#define SLUICE_FAKE_LCORE_H

#include "pipeline/lcore/lcore.h"
#include "pipeline/query.h"

struct fake_lcores {
	struct dataplane *dp;
	uint64_t (*now_ns)(void);
	struct query *held[2]; // taken by a lcore that stands still
	bool stalled[2];
	unsigned n_flows;
	uint32_t realm; // of them
	// NULL: those above
	void (*flow)(unsigned lcore, uint64_t number, struct flow_record *record);
	unsigned flushes;
	uint64_t traced;
	bool tracing; // flow 77
};

// One turn: reports quiescent, works on one query.
void fake_lcore_turn(struct fake_lcores *lcores, unsigned lcore);

#endif
