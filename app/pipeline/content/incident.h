// SPDX-License-Identifier: BSD-3-Clause
// The newest packets of a data lcore, so that whoever looks at a refused file or message later sees
// what its flow said before. A ring of bytes, overwritten from its oldest packet on; packets of a
// flow are found by the flow's number. Only while the policy in force asks for content.
// The owning data lcore only, but for incident_ring_new and incident_ring_free.
#ifndef SLUICE_INCIDENT_H
#define SLUICE_INCIDENT_H

#include <rte_mbuf.h>
#include "pipeline/lcore/lcore.h"
#include "pipeline/vocab/item_id.h"

#define INCIDENT_PKTS_MAX   64    // that are reported of one
#define INCIDENT_SNAP_BYTES 9728u // of a packet that are kept
#define INCIDENT_RING_MIN   (64u << 10)

struct incident_ring;

// `bytes` is rounded up to a power of two. NULL: no memory.
struct incident_ring *incident_ring_new(uint64_t bytes, int socket);
void incident_ring_free(struct incident_ring *ring); // NULL is allowed

// Of the flow or stub, as events have it; 0: its key is not to be found.
uint64_t incident_flow_id(const struct lcore *lcore, uint32_t ref);
// A packet of the flow or stub came.
void incident_note(struct lcore *lcore, uint32_t ref, const struct rte_mbuf *m, unsigned half);
// The flow is refused: what is left of its packets is recorded, the oldest first. `rule_uid`: 0,
// none; `item`: for that file or message, if its number is not 0.
void incident_tell(
	struct lcore *lcore, uint32_t ref, uint32_t rule_uid, const struct item_id *item);

#endif
