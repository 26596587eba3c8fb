// SPDX-License-Identifier: BSD-3-Clause
// Ends connections at both ends (docs/architecture.md, "A verdict's path"). A TCP end accepts a RST
// only at exactly its next expected byte (RFC 5961 section 3.2), so each end gets one at the
// released edge and, where that differs, one at the last acknowledgement seen from it.
#ifndef SLUICE_TEARDOWN_H
#define SLUICE_TEARDOWN_H

#include "pipeline/stage/packet_ctx.h"

// A flow that is about to be blocked; `ctx->m` is the packet that will not leave.
void teardown_flow(struct lcore *lcore, struct packet_ctx *ctx);
// The same without a packet: both ends of a TCP flow, as far as their numbers are known. Returns
// how many resets were sent.
unsigned teardown_flow_now(struct lcore *lcore, uint32_t ref);
// The server's end alone: its client was told otherwise (notice.h). `ctx` NULL: no packet is at
// hand.
void teardown_server(struct lcore *lcore, struct packet_ctx *ctx, uint32_t ref);
// An empty packet that leaves as if it had come in on that port. NULL: no memory, which is counted.
struct rte_mbuf *teardown_packet(struct lcore *lcore, uint8_t in_port, uint8_t link);
// One more packet of ours, within the rate limit of RSTs (counted if not).
bool teardown_may_reset(struct lcore *lcore);
// To the sender of this packet alone (a stub, a blocked flow): RST from its own numbers, or
// ICMP unreachable for a datagram, within the rate limit.
void teardown_answer(struct lcore *lcore, struct rte_mbuf *m);

#endif
