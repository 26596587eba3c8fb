// SPDX-License-Identifier: BSD-3-Clause
// Finds packets that no host accepts, and wrong checksums.
#include "pipeline/stage/packet_invalid.h"
#include "pipeline/event/flow_event.h"
#include "pipeline/stage/packet_rules.h"
#include "pipeline/wire/checksum.h"

bool mbuf_checksum_good(struct lcore *lcore, struct rte_mbuf *m)
{
	const struct pkt *pkt = pkt_of(m);

	if (pkt->flags & PKT_CSUM_IGNORE)
		return true;
	if (!(pkt->flags & (PKT_CSUM_GOOD | PKT_CSUM_BAD)) && checksum_verify(m))
		lcore->stats.checksum_verified_pkts++;
	return !(pkt->flags & PKT_CSUM_BAD);
}

enum verdict packet_invalid(struct lcore *lcore, struct packet_ctx *ctx, enum drop_reason reason,
	enum invalid_action action)
{
	struct evidence *evidence = evidence_add_loose(lcore, EVIDENCE_INVALID);

	flow_event_invalid(lcore, ctx->m, reason);
	ctx->flags |= CTX_REPORTED;
	ctx->reason = reason;
	if (evidence) {
		evidence_set_packet(evidence, ctx->m);
		evidence->detail = (uint8_t)reason;
		evidence->flags |= action == INVALID_DROP ? EVIDENCE_WAS_DROPPED : 0;
		if (ctx->ref != FLOW_REF_NONE)
			evidence->flow_id = packet_flow_id(lcore, ctx);
	}
	return action == INVALID_DROP ? VERDICT_DROP : VERDICT_SEND;
}

static void count_unsupported(struct stats *stats, enum unsupported_cause cause)
{
	stats->unsupported_pkts++;
	switch (cause) {
	case UNSUPPORTED_HEADERS: stats->unsupported_headers++; break;
	case UNSUPPORTED_TUNNELS: stats->unsupported_tunnels++; break;
	case UNSUPPORTED_ROUTING: stats->unsupported_routing++; break;
	case UNSUPPORTED_FRAGMENTS: stats->unsupported_fragments++; break;
	case UNSUPPORTED_MAX: break;
	}
}

enum verdict packet_unsupported(struct lcore *lcore, struct packet_ctx *ctx, unsigned cause)
{
	count_unsupported(&lcore->stats, cause);
	return packet_invalid(lcore, ctx, DROP_UNSUPPORTED, policy_unsupported(lcore->policy));
}

enum verdict packet_bad_checksum(struct lcore *lcore, struct packet_ctx *ctx)
{
	bool alone = ctx->ref == FLOW_REF_NONE || ctx->pkt->flags & PKT_ICMP_ERROR;

	lcore->stats.bad_checksum_pkts++;
	if (alone && packet_decide_addresses(lcore, ctx) == VERDICT_DROP)
		return VERDICT_DROP;
	return packet_invalid(lcore, ctx, DROP_BAD_CHECKSUM, lcore->policy->malformed);
}
