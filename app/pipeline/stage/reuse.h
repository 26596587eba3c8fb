// SPDX-License-Identifier: BSD-3-Clause
// The tuple of a TCP flow that lives is used again: a handshake within it. The old flow ends when
// the new handshake is complete (its SYN-ACK acknowledged), and not before: either end can be
// imitated, but not both (parse_key_zones). Handshakes are kept by the half that begins, for
// limits.embryonic_s after their last SYN, and for as long as a server may take their last part
// after their last SYN-ACK. A SYN counts whatever its number is: the SYN-ACK says whether it is a
// copy of the one that the old flow began with. While SYNs of one half differ, the SYN-ACK says
// which was taken: whoever forges SYNs in the name of one end hinders no handshake of that end.
// Only packets behind a SYN-ACK leave the fast path. The owning lcore only.
#ifndef SLUICE_REUSE_H
#define SLUICE_REUSE_H

#include <netinet/in.h>
#include <netinet/tcp.h>
#include "pipeline/stage/packet_ctx.h"

// Only such a packet can be part of a handshake in a flow that lives.
static inline bool reuse_begins(const struct flow *flow, const struct pkt *pkt)
{
	return pkt->l4_proto == IPPROTO_TCP &&
	       unlikely(
		       pkt->tcp_flags & TH_SYN || (flow->seen[0] | flow->seen[1]) & SEEN_SYN_AGAIN);
}
// Such a packet, before it is accounted. The flow may be another afterwards (ctx->ref), or a
// stub. VERDICT_DROP: the connection cache refuses it.
enum verdict reuse_account(struct lcore *lcore, struct packet_ctx *ctx);
// Who sends a SYN-ACK has not begun the connection, whatever came before: a SYN of its own or, of
// the other end, a SYN-ACK. True: the stub's ends are turned, and it is undecided.
bool reuse_turn(struct lcore *lcore, struct packet_ctx *ctx);
// A SYN, or SYN-ACK, in a flow that lives.
void reuse_syn(struct lcore *lcore, struct packet_ctx *ctx);

#endif
