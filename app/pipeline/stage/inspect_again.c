// SPDX-License-Identifier: BSD-3-Clause
// Classifies UDP flows again while the other side has not confirmed the result.
#include "pipeline/stage/inspect_again.h"
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include "pipeline/flow/both_ends.h"
#include "pipeline/vocab/fault.h"
#include "pipeline/stage/packet_invalid.h"
#include "pipeline/flow/app_usage.h"

#define AGAIN_LAST (1u << 30)

static uint64_t pkts_of(const struct flow *flow)
{
	return (uint64_t)flow->pkts[0] + flow->pkts[1];
}

static uint32_t next_look(uint64_t pkts)
{
	uint64_t at = AGAIN_FIRST;

	while (at <= pkts)
		at *= 4;
	return at <= AGAIN_LAST ? (uint32_t)at : AGAIN_NEVER;
}

static void confirmed_by(struct flow *flow, struct flow_cold *cold, unsigned half)
{
	cold->again.confirmed |= (uint8_t)(1u << half);
	if (cold->again.confirmed == 3)
		flow->look_at = AGAIN_NEVER;
}

static void begin(struct lcore *lcore, struct flow_again *again)
{
	*again = (struct flow_again){
		.on = true, .signature = UINT16_MAX, .confirmed = again->confirmed};
	lcore->stats.classify_again++;
}

static bool is_first_answer(const struct flow *flow, unsigned half)
{
	return flow->pkts[half] == 1 && flow->pkts[!half];
}

bool again_settled(struct lcore *lcore, uint32_t ref, unsigned half)
{
	struct flow *flow = flow_at(lcore->flows, ref);
	struct flow_cold *cold = flow_cold_at(lcore->flows, ref);

	if (flow->l4_proto != IPPROTO_UDP)
		return false;
	flow->look_at = next_look(pkts_of(flow));
	cold->again.confirmed = 0;
	if (flow->confidence >= CONFIDENCE_DPI) {
		confirmed_by(flow, cold, half);
		return false;
	}
	if (!is_first_answer(flow, half) || flow->flags & FLOW_ALLOWED || FAULT(DECOY))
		return false;
	begin(lcore, &cold->again);
	return true;
}

void again_begin(struct lcore *lcore, struct packet_ctx *ctx)
{
	struct flow *flow = flow_at(lcore->flows, ctx->ref);
	struct flow_again *again = &flow_cold_at(lcore->flows, ctx->ref)->again;
	bool first = is_first_answer(flow, ctx->half);

	if (again->on || !(flow->flags & FLOW_APP_FINAL) || flow->flags & FLOW_ALLOWED ||
		flow->look_at == AGAIN_NEVER || FAULT(DECOY) ||
		(!first && pkts_of(flow) < flow->look_at))
		return;
	// of a final flow the checksum was not looked at yet: the next datagram will do
	if (!packet_checksum_good(lcore, ctx)) {
		flow->look_at = 0;
		return;
	}
	flow->look_at = next_look(pkts_of(flow));
	if (flow->flags & FLOW_FINAL)
		flow_life_step(flow, FLOW_STEP_LOOK_AGAIN);
	begin(lcore, again);
}

// By how much a rule may want to know of it.
static unsigned rank(uint16_t app)
{
	const struct app_proto *proto = app_get(app);

	if (!proto)
		return app == APP_NONE ? 0 : 1; // of the operator
	if (proto->carrier || proto->opens)
		return 0;
	return proto->category == APP_CATEGORY_P2P ? 3 : proto->category == APP_CATEGORY_IM ? 2 : 1;
}

// What is found later displaces what was found first, unless it says less: a flow that was known by
// its name, or as a call, goes on as media of which more than one application is made.
static bool displaces(const struct flow *flow, const struct classify_verdict *verdict)
{
	if (verdict->confidence < CONFIDENCE_DPI)
		return false;
	if (verdict->app == flow->app)
		return flow->confidence < CONFIDENCE_DPI;
	if (flow->app == APP_NONE || flow->confidence < CONFIDENCE_IP)
		return true;
	if (!rank(verdict->app))
		return false;
	if (flow->app > app_count())
		return flow->confidence == CONFIDENCE_IP;
	return rank(flow->app) < 2 || rank(verdict->app) > rank(flow->app);
}

static bool confirms(const struct flow *flow, const struct classify_verdict *verdict)
{
	const struct app_proto *proto = app_get(verdict->app);

	// media carry nothing: beside another application they say nothing of it
	return flow->app != APP_NONE && verdict->confidence >= CONFIDENCE_DPI &&
	       (verdict->app == flow->app ||
		       (app_is_carrier(verdict->app) && !(proto && proto->media)));
}

static void take(struct inspection *in, const struct span *span,
	const struct classify_verdict *verdict, const struct classify_work *work)
{
	struct lcore *lcore = in->lcore;
	struct flow *flow = in->flow;
	classify_end(lcore->classifier, &flow->decoder_state);
	flow->app = verdict->app;
	flow->signature = verdict->signature;
	flow->confidence = verdict->confidence;
	in->cold->carrier = verdict->carrier;
	in->cold->carrier_confidence = verdict->carrier_confidence;
	flow->decided_pkts = flow->n_data_pkts;
	flow->flags &= (uint16_t) ~(FLOW_DECODED | FLOW_GAVEUP | FLOW_NOMEM | FLOW_MONITORED);
	if (app_has_decoder(flow->app))
		flow->flags |= FLOW_DECODED;
	app_usage_settle(lcore->apps, flow);
	in->cold->again.confirmed = 0;
	confirmed_by(flow, in->cold, span->half & 1);
	in->ctx->flags |= CTX_UNDECIDED;
	lcore->stats.classify_changed++;
	if (work->n_steps)
		evidence_steps(lcore, packet_flow_id(lcore, in->ctx), span, work);
}

// The flow takes the fast path again, if it has taken it before.
static void end(struct inspection *in)
{
	struct flow_again *again = &in->cold->again;

	classify_end(in->lcore->classifier, &again->state);
	again->on = false;
	in->ctx->flags |= CTX_DECODED;
}

void again_look(struct inspection *in, const struct span *span)
{
	struct lcore *lcore = in->lcore;
	struct flow_again *again = &in->cold->again;
	struct classify_verdict verdict = {
		.app = again->app, .signature = again->signature, .confidence = again->confidence};
	const struct classify_flow about = {
		.ends = &in->cold->ends,
		.l4_proto = IPPROTO_UDP,
		.n_data_pkts = ++again->n_pkts,
		.c2s_from_inside = in->flow->flags & FLOW_C2S_INSIDE,
		.media = &in->cold->media,
	};
	struct classify_work work;

	memset(&work, 0, offsetof(struct classify_work, steps));
	classify_feed(lcore->classifier, lcore->policy->edition, lcore->policy->user_apps, &about,
		span, &again->state, &verdict, &work);
	again->app = verdict.app;
	again->signature = verdict.signature;
	again->confidence = verdict.confidence;
	if (verdict.app != APP_NONE &&
		(displaces(in->flow, &verdict) || verdict.app == in->flow->app))
		both_ends_datagram(lcore, in->flow, in->cold, in->ctx->pkt, verdict.app,
			work.found == verdict.app ? work.found_by : 0);
	if (displaces(in->flow, &verdict)) {
		take(in, span, &verdict, &work);
		end(in);
	} else if (confirms(in->flow, &verdict)) {
		confirmed_by(in->flow, in->cold, span->half & 1);
		end(in);
	} else if (verdict.final) {
		end(in);
	}
}
