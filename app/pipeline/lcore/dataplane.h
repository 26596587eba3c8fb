// SPDX-License-Identifier: BSD-3-Clause
// Everything the data lcores share: ports, who owns which flow, the policy in force.
#ifndef SLUICE_DATAPLANE_H
#define SLUICE_DATAPLANE_H

#include <stdatomic.h>
#include <rte_rcu_qsbr.h>
#include "pipeline/lcore/port.h"
#include "pipeline/wire/owner.h"

struct egress_row;
struct lcore;
struct lcore_limits;
struct content_id_set;
struct policy;
struct scan_config;
struct torrents;

struct dataplane {
	unsigned n_lcores;
	unsigned n_ports;
	struct port ports[PORTS_MAX];
	uint16_t reta_size;         // of the NICs' redirection tables; 0: no RSS
	uint8_t owner[OWNER_TABLE]; // slot -> lcore index (owner.h)
	struct lcore *lcores[LCORES_MAX];
	struct lcore *standbys[LCORES_MAX]; // NULL unless inspection fails open (bypass.h)
	_Atomic uint64_t bypassed; // lcores whose flows' packets pass uninspected for now, as bits
	_Atomic(const struct policy *) policy; // written by the control core only
	// Content ids that the operator has blocked, likewise; NULL: none.
	_Atomic(const struct content_id_set *) blocked_ids;
	_Atomic uint32_t oldest_edition; // classifier_retire; control core only
	struct rte_rcu_qsbr *qsbr;       // reader id = lcore index; n_lcores is the standby's
	// Wall clock less the lcores' clock, which runs by the TSC from the start on. Written by
	// the control core now and then: time windows follow the wall clock. 0 in replay.
	_Atomic int64_t wall_error_ns;
	_Atomic uint32_t meter_every; // one burst in so many is measured; 0: none. Control core
	_Atomic int stopping;         // 1: stop receiving, empty the rings; 2: drain and leave
	// Stands still for so long, where the debug hook wants it; NULL: there is no such hook.
	void (*stand_still)(uint64_t ns);
	uint64_t (*clock_ns)(void); // what time it is within a turn; NULL: its now_ns (replay)
	const struct lcore_limits *limits; // limits.h
	bool extracts;   // all content is decoded and recorded, whatever the policy asks: replay
	bool all_stages; // no packet takes a fast path (stage/stages.h): for comparison; replay
			 // alone
	const struct egress_row *egress_rows; // egress/egress.h; ends with {0}; NULL: no row
	struct torrents *torrents;            // content/torrents.h; NULL: none are kept
	const struct scan_config *scan; // NULL: no engine; set before the lcores' holds are made
};

// Index of the lcore that owns the packet's flow. The packet was parsed.
static inline unsigned flow_owner(const struct dataplane *dp, const struct pkt *pkt)
{
	return dp->owner[pkt->owner_slot];
}

// Packets of this lcore's flows pass uninspected for now (bypass.h).
static inline bool is_bypassed(const struct dataplane *dp, unsigned lcore)
{
	return atomic_load_explicit(&dp->bypassed, memory_order_relaxed) >> lcore & 1;
}

#endif
