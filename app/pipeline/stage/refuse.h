// SPDX-License-Identifier: BSD-3-Clause
// Packets that a rule refuses while not both ends of their flow are heard (both_ends.h): anybody
// may have sent them. Only they are dropped. The flow is not blocked, nothing is learned of it, and
// its other end is sent nothing; what else comes on its tuple passes. The owning lcore only.
//
//   a stub      is forgotten: its next packet is decided anew. Where addresses alone have decided,
//               the tuple goes to the connection cache: the rule blocks whatever the entry does.
//   TCP         the bytes of the segment are kept out, however often they come. When both ends are
//               heard, these have been the stream's next bytes (and the flow is blocked for good),
//               or were forged (and the flow is classified anew).
//   UDP         each datagram is looked at by itself until both ends are heard.
#ifndef SLUICE_REFUSE_H
#define SLUICE_REFUSE_H

#include "pipeline/policy/decide.h"
#include "pipeline/stage/inspect.h"

// The context's flow or stub, which may be gone afterwards (ctx->ref). The packet is to be dropped.
// `addresses_alone`: the rule would refuse it whatever it carries.
void refuse_packet(struct lcore *lcore, struct packet_ctx *ctx, const struct decision *decision,
	const struct flow_ends *ends, bool addresses_alone);

// The segment has bytes that were refused: it is to be dropped (the context says why).
bool refuse_segment(struct lcore *lcore, struct packet_ctx *ctx, const struct flow *flow,
	struct flow_cold *cold);

// A datagram of a flow of which one was refused, before it is classified. True: it is the like of
// that one, and to be dropped (or decided, if both ends are heard now).
bool refuse_datagram(
	struct inspection *in, const struct span *span, const struct classify_flow *about);

// Both ends are heard now. True: what was refused stands, the flow is to be decided again; else it
// is classified anew.
bool refuse_settle(struct lcore *lcore, uint32_t ref);

#endif
