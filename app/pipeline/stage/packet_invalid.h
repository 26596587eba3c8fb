// SPDX-License-Identifier: BSD-3-Clause
// Packets that no host accepts, or that we do not follow: how a checksum is verified, and how such
// a packet is counted, reported and dropped. The owning lcore only.
#ifndef SLUICE_PACKET_INVALID_H
#define SLUICE_PACKET_INVALID_H

#include "pipeline/stage/packet_ctx.h"

// What no host accepts, or we do not follow: reported, and dropped if `action` says so.
enum verdict packet_invalid(struct lcore *lcore, struct packet_ctx *ctx, enum drop_reason reason,
	enum invalid_action action);

// The same of what we do not follow, counted by its cause. What is known of it is its outermost IP
// header: the rules on addresses come first.
enum verdict packet_unsupported(struct lcore *lcore, struct packet_ctx *ctx, unsigned cause);

// A checksum is wrong: as malformed. The rules on addresses come first, if it is of no flow.
enum verdict packet_bad_checksum(struct lcore *lcore, struct packet_ctx *ctx);

// Verified once; known from then on.
bool mbuf_checksum_good(struct lcore *lcore, struct rte_mbuf *m);
static inline bool packet_checksum_good(struct lcore *lcore, struct packet_ctx *ctx)
{
	return mbuf_checksum_good(lcore, ctx->m);
}

#endif
