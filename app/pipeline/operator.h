// SPDX-License-Identifier: BSD-3-Clause
// What the operator does to a flow by hand: resets it, or lets it pass whatever the policy says
// (docs/control-socket.md, "Doing something to a flow"). The owning lcore, between two bursts.
#ifndef SLUICE_OPERATOR_H
#define SLUICE_OPERATOR_H

#include "pipeline/lcore/lcore.h"

// A flow that passes until then, whatever the policy says.
struct allowance {
	union flow_key key;
	uint64_t flow_id;
	uint64_t expires_ns;
	bool v6;
};

// Not of what is blocked already. Returns the resets that were sent; where there were none, what
// comes next is answered. `cache`: enum cache_mode of the entry that is learned.
unsigned operator_reset(struct lcore *lcore, uint32_t ref, uint8_t cache);
// A blocked flow is forgotten. `ttl_ns` 0: as long as it lives. False: too many have an end.
bool operator_allow(struct lcore *lcore, uint32_t ref, uint64_t ttl_ns);
// Ends what is over, in each turn.
void operator_age(struct lcore *lcore);

#endif
