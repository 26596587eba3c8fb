// SPDX-License-Identifier: BSD-3-Clause
// The stub's first payload, or a FIN ahead of it: a flow takes over its key and what it knows. The
// owning lcore only.
#ifndef SLUICE_PROMOTE_H
#define SLUICE_PROMOTE_H

#include "pipeline/lcore/lcore.h"
#include "pipeline/stage/packet_ctx.h"

static inline uint64_t unseen_until(const struct lcore *lcore)
{
	return atomic_load_explicit(&lcore->unseen_until_ns, memory_order_relaxed);
}

// Packets may have passed unseen since the stub's last one, which is known to a tick.
static inline bool stub_is_out_of_date(const struct lcore *lcore, const struct flow_stub *stub)
{
	uint64_t until = unseen_until(lcore);

	return until && (int32_t)((uint32_t)(until >> STUB_TICK_SHIFT) - stub->last_tick) > 0;
}

// The packet's stub becomes a flow (ctx->ref). False: none is free, and the stub stays.
bool packet_promote(struct lcore *lcore, struct packet_ctx *ctx);

#endif
