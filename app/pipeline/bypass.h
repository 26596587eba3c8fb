// SPDX-License-Identifier: BSD-3-Clause
// Fail-open forwarding when inspection stalls. A standby has a `struct lcore` for
// each data lcore, of which only what moves packets is used: the same queues and rings, tx buffers
// and counters of its own. It has no flows, classifier, events or queries. Its turns run on the
// standby's thread (app/machine/standby), and only while that holds the lcore's lease (lease.h).
//
// What it forwards was not inspected, and is counted so (bypassed_pkts). Frames that are not IP
// follow the policy's link rules all the same: a PAUSE frame must not cross.
#ifndef SLUICE_BYPASS_H
#define SLUICE_BYPASS_H

#include "pipeline/lcore/lcore.h"

// The standby's side of dp->lcores[index], into dp->standbys[index]. After the queues were dealt
// and the rings connected. -ENOMEM. Freed with the lcore (lcore_free).
int bypass_new(struct dataplane *dp, unsigned index);

// Takes what came for the lcore and sends it to the peer port; the number of packets. Nothing is
// received once dp->stopping is set: then 0 says that its rings are empty. The caller holds the
// lease, and is a reader of dp->policy.
unsigned bypass_turn(struct lcore *standby, uint64_t now_ns);
// Before the lease is given back: what the drivers did not take is dropped, as tx_full. Flows of
// the lcore are marked: packets have gone by unseen until `now_ns` (bypass_over).
void bypass_end(struct lcore *standby, uint64_t now_ns);

// Packets of `lcore`'s flows are not inspected by anybody, from now on: other lcores send what they
// would hand to it. Control core.
static inline void bypass_begin(struct dataplane *dp, unsigned lcore)
{
	atomic_fetch_or_explicit(&dp->bypassed, UINT64_C(1) << lcore, memory_order_relaxed);
}
// They are again. Whoever ends it: the standby, or the control core where it never took over.
static inline void bypass_over(struct dataplane *dp, unsigned lcore, uint64_t now_ns)
{
	atomic_fetch_and_explicit(&dp->bypassed, ~(UINT64_C(1) << lcore), memory_order_relaxed);
	atomic_store_explicit(&dp->lcores[lcore]->unseen_until_ns, now_ns, memory_order_release);
}

#endif
