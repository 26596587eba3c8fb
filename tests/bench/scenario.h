// SPDX-License-Identifier: BSD-3-Clause
// What is measured: each scenario prepares its flows once, then its rounds. A round is made of
// steps (one for all but the give-up, which needs its ten packets one after the other); before each
// step the frames are laid out, and only then the clock runs.
#ifndef SLUICE_BENCH_SCENARIO_H
#define SLUICE_BENCH_SCENARIO_H

#include "rig.h"

#define ROUND_PKTS 4096

// Which way every packet takes, as the meter of stages tells (lcore/stage_meter.h).
enum scenario_way {
	WAY_STAGES,
	WAY_FINAL,      // the short way of final flows
	WAY_FOLLOWED,   // that of flows which only a decoder follows
	WAY_REFUSED,    // that of hits of the connection cache
	WAY_CLASSIFIED, // all stages while the flow is classified, then that of final flows
};

struct scenario {
	const char *name;
	const char *what;
	char letter;     // of the table in docs/performance.md
	bool by_flow;    // the unit is a flow, not a packet
	bool hyperscan;  // measured with it and without
	uint16_t length; // the only frame length it makes sense for; 0: any
	unsigned steps;
	enum scenario_way way;
	// Makes what the rounds need; once.
	void (*setup)(struct rig *rig, uint32_t flows, uint16_t length);
	// Before and after the steps of one round; `round` counts from 0.
	void (*before)(struct rig *rig, unsigned round);
	void (*lay_out)(struct rig *rig, unsigned round, unsigned step);
	void (*after)(struct rig *rig, unsigned round);
	// Ends the program unless the rounds did what they are named for; `pkts` of them in all.
	void (*check)(struct rig *rig, uint64_t pkts);
};

extern const struct scenario scenarios[];
extern const unsigned n_scenarios;

#endif
