// SPDX-License-Identifier: BSD-3-Clause
// Runs a packet through the stages and ends it where a stage says.
#include <assert.h>
#include "pipeline/egress/egress.h"
#include "pipeline/event/flow_event.h"
#include "pipeline/stage/fragments.h"
#include "pipeline/stage/stages.h"
#include "pipeline/stage/trace.h"

struct stage {
	enum verdict (*run)(struct lcore *lcore, struct packet_ctx *ctx);
	const char *name;
};

// THE stage table (stage/stages.h). A packet goes down it until a stage says where it ends.
static const struct stage stages[] = {
#define ROW(name, label, final) {stage_##name, label},
	STAGES(ROW)
#undef ROW
};

// What no stage has reported: not taken, no room.
static void log_unreported_drop(struct lcore *lcore, struct packet_ctx *ctx)
{
	struct evidence *evidence = evidence_add_loose(lcore, EVIDENCE_DROPPED);

	flow_event_drop_limited(lcore, ctx->ref, ctx->m, ctx->reason, ctx->rule_uid);
	if (!evidence)
		return;
	evidence->detail = (uint8_t)ctx->reason;
	evidence->rule_uid = ctx->rule_uid;
	evidence_set_packet(evidence, ctx->m);
	if (ctx->ref != FLOW_REF_NONE)
		evidence->flow_id = packet_flow_id(lcore, ctx);
}

// Its fragments have the view's end. A view cannot be kept, nor stand for
// what is kept already: it is dropped, and its sender sends it again.
static void finish_view(struct lcore *lcore, struct packet_ctx *ctx, enum verdict verdict)
{
	switch (verdict) {
	case VERDICT_PASS:
	case VERDICT_SEND:
		packet_released(lcore, ctx);
		fragments_send(lcore, ctx->m);
		return;
	case VERDICT_CONSUMED:
	case VERDICT_TAKEN: ctx->reason = DROP_NOT_TAKEN; break;
	case VERDICT_DROP: break;
	}
	if (!(ctx->flags & CTX_REPORTED))
		log_unreported_drop(lcore, ctx);
	fragments_drop(lcore, ctx->m, ctx->reason);
}

static void finish(struct lcore *lcore, struct packet_ctx *ctx, enum verdict verdict)
{
	if (unlikely(ctx->flags & CTX_VIEW)) {
		finish_view(lcore, ctx, verdict);
		return;
	}
	switch (verdict) {
	case VERDICT_DROP:
		if (!(ctx->flags & CTX_REPORTED))
			log_unreported_drop(lcore, ctx);
		packet_drop(lcore, ctx->m, ctx->reason);
		break;
	case VERDICT_CONSUMED:
		lcore->stats.consumed_pkts++;
		rte_pktmbuf_free(ctx->m);
		break;
	case VERDICT_TAKEN: break;
	case VERDICT_PASS:
	case VERDICT_SEND:
		packet_released(lcore, ctx);
		egress_packet(lcore, ctx->m, ctx->ref, egress_kind_of(ctx->pkt));
		break;
	}
}

// Two loops are made of it: most bursts are not measured.
static inline __attribute__((always_inline)) enum verdict run(
	struct lcore *lcore, struct packet_ctx *ctx, unsigned first, bool measured)
{
	enum verdict verdict = VERDICT_PASS;

	for (unsigned i = first; i < RTE_DIM(stages) && verdict == VERDICT_PASS; i++) {
		verdict = stages[i].run(lcore, ctx);
		if (measured)
			stage_meter_add(&lcore->meter, METER_STAGES + i, 1);
		if (unlikely(ctx->pkt->flags & PKT_TRACE))
			trace_stage(lcore, ctx, stages[i].name, verdict);
	}
	return verdict;
}

void stages_run(struct lcore *lcore, struct packet_ctx *ctx, unsigned first)
{
	finish(lcore, ctx,
		unlikely(lcore->meter.on) ? run(lcore, ctx, first, true)
					  : run(lcore, ctx, first, false));
	stage_meter_add(&lcore->meter, METER_SEND, 1);
}

void stages_resume(struct lcore *lcore, struct rte_mbuf *m, uint32_t ref, unsigned half)
{
	struct packet_ctx ctx = packet_ctx_of(lcore, ref, half);
	unsigned first = 0;

	ctx.m = m;
	ctx.pkt = pkt_of(m);
	ctx.flags |= CTX_RESUMED;
	while (stages[first].run != stage_reload)
		first++;
	stages_run(lcore, &ctx, first);
}

void stages_decide(struct lcore *lcore, struct packet_ctx *ctx)
{
	unsigned first = 0;

	while (stages[first].run != stage_decide)
		first++;
	stages_run(lcore, ctx, first);
}

static_assert(METER_STAGES + RTE_DIM(stages) <= METER_MAX,
	"each stage has its meter: raise METER_MAX (lcore/stage_meter.h)");

const char *stage_meter_name(unsigned step)
{
	static const char *const names[METER_STAGES] = {"parse", "lookup",
		"short way of final flows", "short way of cache hits",
		"short way of followed flows", "send"};

	if (step < METER_STAGES)
		return names[step];
	return step - METER_STAGES < RTE_DIM(stages) ? stages[step - METER_STAGES].name : NULL;
}
