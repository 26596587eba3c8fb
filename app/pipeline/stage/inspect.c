// SPDX-License-Identifier: BSD-3-Clause
// Stages of a flow that is not decided for good: reload, checksum, stream and classification.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include "pipeline/content/flow_content.h"
#include "pipeline/stage/inspect_payload.h"
#include "pipeline/stage/inspect_room.h"
#include "pipeline/stage/inspect_tcp.h"
#include "pipeline/stage/packet_invalid.h"
#include "pipeline/stage/packet_rules.h"
#include "pipeline/stage/stages.h"

// Its flow is asked for with each packet, until the rules on the tunnel's ends let it pass.
static bool refuses_tunnel(struct lcore *lcore, struct packet_ctx *ctx, uint16_t flow_flags)
{
	return unlikely(ctx->pkt->flags & PKT_TUNNEL) && !(flow_flags & FLOW_ALLOWED) &&
	       packet_outer_refused(lcore, ctx, ctx->half == HALF_C2S);
}

static uint32_t epoch_of(const struct lcore *lcore, const struct packet_ctx *ctx)
{
	return packet_has_flow(ctx) ? flow_at(lcore->flows, ctx->ref)->policy_epoch
				    : flow_stub_at(lcore->flows, ctx->ref)->policy_epoch;
}

static __rte_noinline enum verdict decide_again(struct lcore *lcore, struct packet_ctx *ctx)
{
	bool again = lcore->policy->reevaluate == REEVALUATE_ALL;

	if (packet_has_flow(ctx)) {
		struct flow *flow = flow_at(lcore->flows, ctx->ref);

		if (again && refuses_tunnel(lcore, ctx, flow->flags))
			return VERDICT_DROP;
		flow->policy_epoch = lcore->epoch;
		if (!again && !(flow->flags & FLOW_OPERATOR))
			return VERDICT_PASS;
		if (flow->flags & FLOW_FINAL)
			flow_life_step(flow, FLOW_STEP_REVIEW);
		if (flow->flags & FLOW_OPERATOR)
			flow_life_step(flow, FLOW_STEP_RESUME);
		flow->flags &= (uint16_t)~FLOW_MONITORED;
	} else {
		struct flow_stub *stub = flow_stub_at(lcore->flows, ctx->ref);

		if (again && refuses_tunnel(lcore, ctx, stub->flags))
			return VERDICT_DROP;
		stub->policy_epoch = lcore->epoch;
		if (!again)
			return VERDICT_PASS;
		stub->flags &= (uint16_t)~FLOW_MONITORED;
	}
	if (!(ctx->flags & CTX_UNDECIDED)) {
		lcore->stats.decisions_again++;
		ctx->flags |= CTX_AGAIN;
	}
	ctx->flags |= CTX_UNDECIDED;
	return VERDICT_PASS;
}

// The first packet after a reload, or after a time window has opened or closed, decides again on
// the stored application.
enum verdict stage_reload(struct lcore *lcore, struct packet_ctx *ctx)
{
	return likely(epoch_of(lcore, ctx) == lcore->epoch) ? VERDICT_PASS
							    : decide_again(lcore, ctx);
}

static __rte_noinline bool asks(const struct lcore *lcore, const struct packet_ctx *ctx)
{
	return datagram_asks(lcore, ctx->m, ctx->pkt);
}

enum verdict stage_final(struct lcore *lcore, struct packet_ctx *ctx)
{
	if (!packet_has_flow(ctx) || !(flow_at(lcore->flows, ctx->ref)->flags & FLOW_FINAL))
		return VERDICT_PASS;
	return asks(lcore, ctx) ? VERDICT_PASS : VERDICT_SEND;
}

// What opens or ends a connection, or asks for a name, counts on a final flow, too.
static bool is_plain(const struct lcore *lcore, const struct packet_ctx *ctx)
{
	return ctx->pkt->l4_proto != IPPROTO_TCP ? !asks(lcore, ctx)
						 : !(ctx->pkt->tcp_flags & FAST_PATH_NOT);
}

// A bad L4 checksum is never inspected, queued or counted on a flow (insertion: the receiver would
// not see those bytes). No host accepts it, so its rule is that of `malformed`.
enum verdict stage_checksum(struct lcore *lcore, struct packet_ctx *ctx)
{
	if (packet_has_flow(ctx)) {
		const struct flow *flow = flow_at(lcore->flows, ctx->ref);

		if (flow->flags & FLOW_FINAL && flow->policy_epoch == lcore->epoch &&
			is_plain(lcore, ctx))
			return VERDICT_PASS;
	}
	if (packet_checksum_good(lcore, ctx))
		return VERDICT_PASS;
	return packet_bad_checksum(lcore, ctx);
}

void inspect_followed(struct lcore *lcore, struct packet_ctx *ctx)
{
	const struct pkt *pkt = ctx->pkt;
	struct inspection in = {
		.lcore = lcore,
		.ctx = ctx,
		.flow = flow_at(lcore->flows, ctx->ref),
		.cold = flow_cold_at(lcore->flows, ctx->ref),
	};
	uint64_t *offset64 = &in.cold->half[ctx->half].offset64;
	const struct span span = {
		.offset64 = *offset64,
		.unchecked = rte_pktmbuf_mtod_offset(ctx->m, const uint8_t *, pkt->payload_off),
		.extent = pkt->payload_len,
		.half = (uint8_t)ctx->half,
		.flags = SPAN_DATAGRAM,
	};

	*offset64 += pkt->payload_len;
	inspect_owns(lcore, ctx->ref);
	inspect_decoder(&in, &span);
}

static void inspect_datagram(struct inspection *in)
{
	const struct pkt *pkt = in->ctx->pkt;
	unsigned half = in->ctx->half;
	uint64_t *offset64 = &in->cold->half[half].offset64;
	uint8_t buffer[CLASSIFY_PREFIX_BYTES];
	uint32_t length = pkt->payload_len;

	if (!length)
		return;
	// a datagram is looked at in one piece; over several mbuf segments, its start is
	if (pkt->payload_off + length > in->ctx->m->data_len && length > sizeof(buffer))
		length = sizeof(buffer);
	const uint8_t *bytes = rte_pktmbuf_read(in->ctx->m, pkt->payload_off, length, buffer);
	uint64_t offset = *offset64;

	*offset64 += pkt->payload_len;
	if (!bytes)
		return;
	bool asks = length >= DATAGRAM_ASKS_BYTES && datagram_begins_asking(bytes);
	const struct span span = {
		.offset64 = offset,
		.unchecked = bytes,
		.extent = length,
		.half = (uint8_t)half,
		.flags = asks ? SPAN_DATAGRAM | SPAN_MAY_ASK : SPAN_DATAGRAM,
	};

	inspect_span(in, &span);
	if (unlikely(content_datagrams_are_asked(in->lcore)) &&
		flow_content_datagram(in->lcore, in->ctx->ref, &span, &in->ctx->rule_uid))
		in->ctx->flags |= CTX_ID_REFUSED;
}

enum verdict stage_inspect(struct lcore *lcore, struct packet_ctx *ctx)
{
	if (!packet_has_flow(ctx) || !(ctx->pkt->flags & PKT_L4_OK))
		return VERDICT_PASS;
	struct flow *flow = flow_at(lcore->flows, ctx->ref);
	enum verdict verdict = VERDICT_PASS;

	inspect_make_room(lcore, ctx);
	if (flow->l4_proto == IPPROTO_TCP) {
		verdict = inspect_tcp(lcore, ctx);
	} else {
		struct inspection in = {
			.lcore = lcore,
			.ctx = ctx,
			.flow = flow,
			.cold = flow_cold_at(lcore->flows, ctx->ref),
		};

		inspect_datagram(&in);
	}
	if (ctx->flags & CTX_REFUSED)
		return VERDICT_DROP; // the context says why
	if (ctx->flags & CTX_STARVED) {
		ctx->reason = DROP_UNCLASSIFIED;
		verdict = VERDICT_DROP;
	}
	if (verdict == VERDICT_DROP && ctx->reason == DROP_UNCLASSIFIED)
		flow->n_data_pkts--; // nor does it count against the budget
	return verdict;
}
