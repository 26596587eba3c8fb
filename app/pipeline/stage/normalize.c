// SPDX-License-Identifier: BSD-3-Clause
// Before inspection: what would let a receiver read other bytes than those that are inspected, or
// in another order, is taken out of TCP headers (tcp_normalize.h). Only under a policy that
// enforces, and only while a flow is looked at; of one that is decided for good the SYNs, which may
// begin another connection on its tuple.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include "pipeline/wire/tcp_normalize.h"
#include "pipeline/stage/stages.h"

static void write_back(struct rte_mbuf *m, uint32_t offset, const uint8_t *bytes, unsigned length)
{
	for (; m && length; m = m->next) {
		if (offset >= m->data_len) {
			offset -= m->data_len;
			continue;
		}
		unsigned here = RTE_MIN(length, m->data_len - offset);

		memcpy(rte_pktmbuf_mtod_offset(m, uint8_t *, offset), bytes, here);
		bytes += here;
		length -= here;
		offset = 0;
	}
}

// False: it has to be changed, and cannot be.
static bool take_out(struct lcore *lcore, struct packet_ctx *ctx, struct tcp_normal what)
{
	unsigned length = (unsigned)(ctx->pkt->payload_off - ctx->pkt->l4_off);
	uint8_t header[TCP_HEADER_MAX];

	// what is read is a view: its fragments would leave as they came
	if (ctx->flags & CTX_VIEW || !packet_make_ours(lcore, ctx))
		return false;
	const uint8_t *bytes = rte_pktmbuf_read(ctx->m, ctx->pkt->l4_off, length, header);

	if (!bytes)
		return false;
	if (bytes != header)
		memcpy(header, bytes, length);
	tcp_normal_apply(header, length, what);
	write_back(ctx->m, ctx->pkt->l4_off, header, length);
	ctx->pkt->tcp_flags = header[13];
	lcore->stats.mptcp_stripped += what.mptcp;
	lcore->stats.urg_cleared += what.urg;
	return true;
}

// Its bytes are inspected in the order of this subflow; another may have what lies between.
static void waive_mptcp(struct lcore *lcore, const struct packet_ctx *ctx)
{
	if (!packet_has_flow(ctx))
		return;
	struct stream_report *report = &flow_cold_at(lcore->flows, ctx->ref)->report;

	if (report->passed & 1 << STREAM_TARGET_MPTCP)
		return;
	report->passed |= 1 << STREAM_TARGET_MPTCP;
	lcore->stats.flows_mptcp++;
}

static bool is_looked_at(const struct lcore *lcore, const struct packet_ctx *ctx)
{
	uint16_t flags = packet_has_flow(ctx) ? flow_at(lcore->flows, ctx->ref)->flags
					      : flow_stub_at(lcore->flows, ctx->ref)->flags;

	if (flags & FLOW_ALLOWED)
		return false;
	return !packet_has_flow(ctx) || !(flags & FLOW_FINAL) || ctx->pkt->tcp_flags & TH_SYN;
}

enum verdict stage_normalize(struct lcore *lcore, struct packet_ctx *ctx)
{
	const struct pkt *pkt = ctx->pkt;

	if (!lcore->policy->enforces || pkt->l4_proto != IPPROTO_TCP || !(pkt->flags & PKT_L4_OK) ||
		!is_looked_at(lcore, ctx))
		return VERDICT_PASS;
	unsigned length = (unsigned)(pkt->payload_off - pkt->l4_off);
	uint8_t buffer[TCP_HEADER_MAX];
	const uint8_t *header = rte_pktmbuf_read(ctx->m, pkt->l4_off, length, buffer);

	if (!header)
		return VERDICT_PASS; // cut by a snap length: it reaches nobody
	struct tcp_normal what = tcp_normal_find(header, length);

	if (what.mptcp && lcore->policy->tcp.mptcp == TCP_MPTCP_PASS) {
		waive_mptcp(lcore, ctx);
		what.mptcp = false;
	}
	if (likely(!what.mptcp && !what.urg) || take_out(lcore, ctx, what))
		return VERDICT_PASS;
	ctx->reason = DROP_NOT_TAKEN;
	return VERDICT_DROP;
}
