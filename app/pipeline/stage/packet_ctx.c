// SPDX-License-Identifier: BSD-3-Clause
// What is known of the packet at hand: its flow's id, and evidence of it; whose its bytes are.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include "pipeline/flow/ends.h"
#include "pipeline/stage/packet_ctx.h"

uint64_t packet_flow_id(const struct lcore *lcore, struct packet_ctx *ctx)
{
	if (!ctx->flow_id && ctx->ref != FLOW_REF_NONE)
		ctx->flow_id = flow_id_of(ctx->key, ctx->flags & CTX_V6,
			packet_has_flow(ctx) ? flow_at(lcore->flows, ctx->ref)->start_ns
					     : flow_stub_at(lcore->flows, ctx->ref)->start_ns);
	return ctx->flow_id;
}

struct evidence *packet_evidence(
	struct lcore *lcore, struct packet_ctx *ctx, enum evidence_kind kind)
{
	return evidence_add(lcore, kind, packet_flow_id(lcore, ctx));
}

static enum evidence_made how_made(uint16_t flags, uint8_t l4_proto, const uint8_t tcp_flags[2])
{
	if (l4_proto == IPPROTO_UDP)
		return EVIDENCE_MADE_DATAGRAM;
	if (l4_proto != IPPROTO_TCP)
		return EVIDENCE_MADE_OTHER;
	return flags & FLOW_MIDSTREAM || !((tcp_flags[0] | tcp_flags[1]) & TH_SYN)
		       ? EVIDENCE_MADE_MIDSTREAM
		       : EVIDENCE_MADE_SYN;
}

void packet_evidence_ends(
	const struct lcore *lcore, const struct packet_ctx *ctx, struct evidence *evidence)
{
	if (packet_has_flow(ctx))
		evidence->ends = flow_cold_at(lcore->flows, ctx->ref)->ends;
	else
		flow_ends_of(
			ctx->key, flow_stub_at(lcore->flows, ctx->ref)->flags, &evidence->ends);
	evidence->flags |= EVIDENCE_HAS_ENDS;
	evidence->l4_proto = ctx->pkt->l4_proto;
	evidence->vlan = ctx->pkt->n_vlan ? (uint16_t)(ctx->pkt->vlan[0] | 1u << 15) : 0;
}

void packet_evidence_made(struct lcore *lcore, struct packet_ctx *ctx)
{
	struct evidence *evidence = packet_evidence(lcore, ctx, EVIDENCE_FLOW_MADE);
	const uint8_t *tcp_flags;
	uint16_t flags;

	if (packet_has_flow(ctx)) {
		tcp_flags = flow_at(lcore->flows, ctx->ref)->tcp_flags;
		flags = flow_at(lcore->flows, ctx->ref)->flags;
	} else {
		tcp_flags = flow_stub_at(lcore->flows, ctx->ref)->tcp_flags;
		flags = flow_stub_at(lcore->flows, ctx->ref)->flags;
	}
	packet_evidence_ends(lcore, ctx, evidence);
	if (flags & FLOW_ALLOWED)
		evidence->flags |= EVIDENCE_IS_ALLOWED;
	evidence->detail = (uint8_t)how_made(flags, evidence->l4_proto, tcp_flags);
}

static bool is_ours_alone(const struct rte_mbuf *m)
{
	for (; m; m = m->next) {
		if (rte_mbuf_refcnt_read(m) != 1 || RTE_MBUF_CLONED(m) ||
			(RTE_MBUF_HAS_EXTBUF(m) && rte_mbuf_ext_refcnt_read(m->shinfo) != 1))
			return false;
	}
	return true;
}

static bool replace(struct lcore *lcore, struct packet_ctx *ctx)
{
	struct rte_mbuf *copy = rte_pktmbuf_copy(ctx->m, lcore->pool, 0, UINT32_MAX);

	if (!copy) {
		lcore->stats.make_nomem++;
		return false;
	}
	*pkt_of(copy) = *ctx->pkt;
	rte_pktmbuf_free(ctx->m);
	ctx->m = copy;
	ctx->pkt = pkt_of(copy);
	return true;
}

bool packet_make_ours(struct lcore *lcore, struct packet_ctx *ctx)
{
	return likely(is_ours_alone(ctx->m)) || replace(lcore, ctx);
}

bool packet_make_whole(struct lcore *lcore, struct packet_ctx *ctx)
{
	return likely(!ctx->m->next) ? packet_make_ours(lcore, ctx) : replace(lcore, ctx);
}
