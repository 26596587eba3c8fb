// SPDX-License-Identifier: BSD-3-Clause
// What each step of the packet path costs, sampled: of every so many bursts one is measured, with a
// reading of the TSC behind each step. Off, it is one branch a burst and one a step. A reading
// costs some 20 cycles itself, which are in the figures.
//
// The lcore writes, the control core reads (a reader may see a burst half counted).
#ifndef SLUICE_STAGE_METER_H
#define SLUICE_STAGE_METER_H

#include <stdbool.h>
#include <stdint.h>
#include "pipeline/vocab/tick.h"

enum {
	METER_PARSE,    // bytes -> struct pkt and key
	METER_LOOKUP,   // flow table, for the burst
	METER_FINAL,    // all of the fast path of a final flow, but for the driver
	METER_REFUSED,  // the same of a hit of the connection cache
	METER_FOLLOWED, // the same of a datagram that only a decoder wants
	METER_SEND,     // behind the last stage: released edge, send buffer; or the drop
	METER_STAGES,   // from here on: the stages of stage/stages.h, in order
	METER_MAX = 17  // room for all of them (stages.c)
};

struct stage_cost {
	uint64_t pkts;
	uint64_t cycles; // of the TSC
};

struct stage_meter {
	bool on;       // this burst is measured
	uint32_t left; // bursts until the next one that is
	uint64_t mark; // the last reading
	struct stage_cost costs[METER_MAX];
};

static inline void stage_meter_start(struct stage_meter *meter, uint32_t every)
{
	meter->on = false;
	if (__builtin_expect(!every, 1))
		return;
	if (meter->left && meter->left <= every) {
		meter->left--;
		return;
	}
	meter->left = every - 1;
	meter->on = true;
	meter->mark = rte_rdtsc();
}

// What was done since the last call was this step, for so many packets.
static inline void stage_meter_add(struct stage_meter *meter, unsigned step, unsigned pkts)
{
	if (__builtin_expect(!meter->on, 1))
		return;
	uint64_t now = rte_rdtsc();

	meter->costs[step].pkts += pkts;
	meter->costs[step].cycles += now - meter->mark;
	meter->mark = now;
}

#endif
