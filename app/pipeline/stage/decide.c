// SPDX-License-Identifier: BSD-3-Clause
// The decision on a flow, and what follows from it: reported, remembered, torn down.
#include <netinet/in.h>
#include <string.h>
#include "pipeline/content/flow_content.h"
#include "pipeline/flow/facts.h"
#include "pipeline/policy/decide.h"
#include "pipeline/vocab/fault.h"
#include "pipeline/event/flow_event.h"
#include "pipeline/stage/flow_report.h"
#include "pipeline/stage/hold.h"
#include "pipeline/stage/inspect_content.h"
#include "pipeline/stage/inspect_track.h"
#include "pipeline/stage/notice.h"
#include "pipeline/stage/refuse.h"
#include "pipeline/stage/teardown.h"
#include "pipeline/stage/stages.h"
#include "pipeline/flow/app_usage.h"
#include "pipeline/flow/ends.h"

static void learn(struct lcore *lcore, struct packet_ctx *ctx, const struct decision *decision,
	const struct flow_ends *ends, uint16_t flags, uint16_t app, uint8_t confidence)
{
	bool peer = decision->cache == CACHE_PEER;
	struct conn_entry entry = {
		.key =
			{
				.port = peer ? 0 : ends->port[HALF_S2C],
				.realm = parse_key_realm(ctx->key, ctx->flags & CTX_V6),
				.l4_proto = peer ? 0 : ctx->pkt->l4_proto,
				.from_inside = !!(flags & FLOW_C2S_INSIDE),
				.mode = decision->cache,
			},
		.created_ns = lcore->now_ns,
		.flow_id = packet_flow_id(lcore, ctx),
		.rule_uid = ctx->rule_uid,
		.app = app,
		.confidence = confidence,
	};

	memcpy(entry.key.initiator, ends->address[HALF_C2S], 16);
	memcpy(entry.key.responder, ends->address[HALF_S2C], 16);
	conn_cache_learn(lcore, &entry, true);
}

// The flow ends here: reported, remembered, torn down, and kept as a blocked stub.
static void block(struct lcore *lcore, struct packet_ctx *ctx, const struct decision *decision,
	const struct flow_ends *ends, enum drop_reason reason)
{
	const struct rule *rule =
		decision->rule == RULE_DEFAULT ? NULL : &lcore->policy->rules[decision->rule];
	uint16_t flags, app = APP_NONE;
	uint8_t confidence = CONFIDENCE_NONE;

	bool told = packet_has_flow(ctx) && flow_content_is_told(lcore, ctx->ref);

	if (told)
		reason = DROP_UNSCANNED;
	ctx->rule_uid = rule ? rule->uid : 0;
	if (packet_has_flow(ctx)) {
		struct flow *flow = flow_at(lcore->flows, ctx->ref);

		flow->action = decision->action;
		flow->rule_uid = ctx->rule_uid;
		app = flow->app;
		confidence = flow->confidence;
		flags = flow->flags;
		app_usage_settle(lcore->apps, flow);
	} else {
		const struct flow_stub *stub = flow_stub_at(lcore->flows, ctx->ref);

		flags = stub->flags;
		app = stub->app;
		confidence = app ? CONFIDENCE_IP : CONFIDENCE_NONE;
	}
	if (!packet_has_flow(ctx) || !flow_cold_at(lcore->flows, ctx->ref)->refused.is) {
		lcore->stats.flows_condemned++;
		lcore->apps[app < APPS_MAX ? app : APP_NONE].flows_blocked++;
		if (!told)
			flow_event_alert(lcore, ctx->ref, rule, decision->action, MODE_ENFORCE,
				ctx->half,
				packet_has_flow(ctx) ? flow_content_item(lcore, ctx->ref) : NULL);
	}
	flow_event_drop(lcore, ctx->ref, ctx->m, reason, ctx->rule_uid);
	ctx->reason = reason;
	ctx->flags |= CTX_REPORTED;
	if (decision->cache != CACHE_NONE)
		learn(lcore, ctx, decision, ends, flags, app, confidence);
	struct notice *notice = NULL;

	if (decision->action == ACTION_RESET) {
		uint64_t before = lcore->stats.resets_sent + lcore->stats.icmp_rejects_sent;

		if (!packet_has_flow(ctx))
			teardown_answer(lcore, ctx->m);
		else if (unlikely((notice = notice_show(lcore, ctx->ref,
					   ctx->half == HALF_C2S ? ctx->m : NULL)) != NULL))
			teardown_server(lcore, ctx, ctx->ref);
		else
			teardown_flow(lcore, ctx);
		struct evidence *resets = packet_evidence(lcore, ctx, EVIDENCE_RESETS);

		resets->detail = notice != NULL;
		resets->length = (uint32_t)(lcore->stats.resets_sent +
					    lcore->stats.icmp_rejects_sent - before);
	}
	if (packet_has_flow(ctx)) {
		flow_report_end(lcore, ctx->ref, FLOW_END_FORCED);
		ctx->ref = flow_block(lcore, ctx->ref);
		notice_keep(lcore, notice, ctx->ref);
		return;
	}
	struct flow_stub *stub = flow_stub_at(lcore->flows, ctx->ref);

	stub->action = decision->action & 0xfu;
	stub->rule_uid = ctx->rule_uid;
	stub->confidence = confidence;
	stub->answer_tick = (uint32_t)(lcore->now_ns >> STUB_TICK_SHIFT);
	flow_report_end(lcore, ctx->ref, FLOW_END_FORCED); // before its class says it was reported
	app_usage_end_stub(lcore->apps, stub);
	flow_block_stub(lcore, ctx->ref);
}

// NULL: nobody counts.
static struct rule_counts *counts_of(const struct lcore *lcore, uint32_t rule)
{
	const struct policy *policy = lcore->policy;
	struct rule_counts *counts = policy->counts[lcore->index];

	return counts ? &counts[rule == RULE_DEFAULT ? policy->n_rules : rule] : NULL;
}

static void count_decision(const struct lcore *lcore, const struct decision *decision)
{
	struct rule_counts *counts = counts_of(lcore, decision->rule);

	if (!counts || !decision->final)
		return;
	counts->decisions++;
	counts->blocks += action_blocks(decision->action);
}

static void monitor(struct lcore *lcore, struct packet_ctx *ctx, const struct decision *decision)
{
	uint16_t *flags = packet_has_flow(ctx) ? &flow_at(lcore->flows, ctx->ref)->flags
					       : &flow_stub_at(lcore->flows, ctx->ref)->flags;

	if (!decision->would_block || *flags & FLOW_MONITORED)
		return;
	*flags |= FLOW_MONITORED;
	lcore->stats.monitor_hits++;
	struct rule_counts *counts = counts_of(lcore, decision->monitored);

	if (counts)
		counts->monitor_hits++;
	if (packet_has_flow(ctx))
		flow_cold_at(lcore->flows, ctx->ref)->alerted = true;
	else
		packet_evidence_made(lcore, ctx);
	struct evidence *evidence = packet_evidence(lcore, ctx, EVIDENCE_MONITOR);

	evidence->rule_uid = decision->monitored == RULE_DEFAULT
				     ? 0
				     : lcore->policy->rules[decision->monitored].uid;
	evidence->detail = decision->monitored_action;
	packet_evidence_ends(lcore, ctx, evidence);
	flow_event_alert(lcore, ctx->ref,
		decision->monitored == RULE_DEFAULT ? NULL
						    : &lcore->policy->rules[decision->monitored],
		decision->monitored_action, MODE_MONITOR, ctx->half, 0);
}

static uint32_t uid_of(const struct lcore *lcore, uint32_t rule)
{
	return rule == RULE_DEFAULT ? 0 : lcore->policy->rules[rule].uid;
}

// What a stub is known as; of a flow it was reported when it was made.
static void note_network(
	struct lcore *lcore, struct packet_ctx *ctx, const struct decide_input *input)
{
	if (input->app == APP_NONE)
		return;
	struct evidence *evidence = packet_evidence(lcore, ctx, EVIDENCE_USER_APP);

	evidence->app = input->app;
	evidence->confidence = input->confidence;
	evidence->detail = EVIDENCE_BY_ADDRESS;
}

// Not of a TCP stub that passes: it is decided with its first payload again. Nor that a flow is
// undecided still, but for the first time.
static void note_decision(struct lcore *lcore, struct packet_ctx *ctx,
	const struct decide_input *input, const struct decision *decision)
{
	bool blocks = action_blocks(decision->action), flow = packet_has_flow(ctx);

	if (!flow && !blocks && (input->l4_proto == IPPROTO_TCP || input->l4_proto == IPPROTO_UDP))
		return;
	if (!decision->final && !(ctx->flags & (CTX_MADE | CTX_AGAIN)) && input->app == APP_NONE)
		return;
	if (!flow && !(ctx->flags & CTX_AGAIN)) {
		packet_evidence_made(lcore, ctx);
		note_network(lcore, ctx, input);
	}
	if (decision->final && decision->unsure != RULE_DEFAULT) {
		struct evidence *unsure = packet_evidence(lcore, ctx, EVIDENCE_TOO_UNSURE);
		const struct rule *rule = &lcore->policy->rules[decision->unsure];

		unsure->rule_uid = rule->uid;
		unsure->app = input->app;
		unsure->confidence = input->confidence;
		unsure->detail = rule->min_confidence;
	}
	struct evidence *evidence = packet_evidence(lcore, ctx, EVIDENCE_DECISION);

	evidence->rule_uid = uid_of(lcore, decision->rule);
	evidence->detail = decision->action;
	evidence->app = input->app;
	evidence->confidence = input->confidence;
	evidence->flags = (uint8_t)((decision->final ? EVIDENCE_IS_FINAL : 0) |
				    (ctx->flags & CTX_AGAIN ? EVIDENCE_IS_AGAIN : 0));
	if (blocks)
		packet_evidence_ends(lcore, ctx, evidence);
	if (!flow)
		return;
	const struct flow *of = flow_at(lcore->flows, ctx->ref);

	evidence->signature = of->signature;
	if (of->flags & FLOW_ALLOWED)
		evidence->flags |= EVIDENCE_IS_ALLOWED;
}

// Neither classification, a decoder nor its greeting wants more of the flow.
static bool is_heard_out(const struct lcore *lcore, uint32_t ref)
{
	uint16_t flags = flow_at(lcore->flows, ref)->flags;
	const struct flow_cold *cold = flow_cold_at(lcore->flows, ref);

	return (flags & (FLOW_APP_FINAL | FLOW_DECODED)) == FLOW_APP_FINAL && !cold->again.on &&
	       !names_follow_goes_on(&cold->names) && !handshake_meta_pending(cold->meta) &&
	       !overhear_goes_on(cold->overhear);
}

// One of its packets was refused, and not both ends are heard: each is looked at.
static bool is_watched(const struct lcore *lcore, uint32_t ref)
{
	return flow_cold_at(lcore->flows, ref)->refused.is &&
	       !flow_both_heard(flow_at(lcore->flows, ref));
}

// The policy does not scan it any more.
static void leave_scan(struct lcore *lcore, uint32_t ref)
{
	unsigned waited = hold_leave(lcore, ref);

	for (unsigned half = 0; half < 2; half++)
		if (waited & 1u << half)
			inspect_resume(lcore, ref, half);
}

// A flow that is to be scanned is never final: it is inspected to its end. False: it must be
// scanned to pass, and there is no place for it.
static bool let_pass(struct lcore *lcore, struct packet_ctx *ctx, const struct decision *decision)
{
	struct flow *flow = flow_at(lcore->flows, ctx->ref);
	bool scans = decision->action == ACTION_SCAN;
	bool done = decision->final && is_heard_out(lcore, ctx->ref);

	if (ctx->flags & CTX_AGAIN) // nothing of it is refused by this policy
		flow_cold_at(lcore->flows, ctx->ref)->refused = (struct flow_refused){0};
	flow->action = decision->action;
	if (scans || done)
		flow->rule_uid = uid_of(lcore, decision->rule);
	if (scans && flow->l4_proto == IPPROTO_TCP)
		return hold_begin(lcore, ctx->ref) ||
		       lcore->dp->scan->on_error == SCAN_FAILURE_PASS;
	leave_scan(lcore, ctx->ref);
	if (unlikely(content_is_asked(lcore)) && ctx->flags & CTX_AGAIN && decision->final)
		done = !inspect_content_late(lcore, ctx->ref) && done;
	if (done && !lcore->tap && !is_watched(lcore, ctx->ref) && inspect_settled(lcore, ctx->ref))
		flow_life_settle(flow);
	return true;
}

// A flow that passes was kept from being final by its decoder or its greeting alone.
static void settle(struct lcore *lcore, struct packet_ctx *ctx)
{
	struct flow *flow = flow_at(lcore->flows, ctx->ref);

	if (flow->action == ACTION_PASS && is_heard_out(lcore, ctx->ref) && !lcore->tap &&
		!is_watched(lcore, ctx->ref) && inspect_settled(lcore, ctx->ref))
		flow_life_settle(flow);
}

static bool is_heard(const struct lcore *lcore, const struct packet_ctx *ctx)
{
	if (FAULT(ONE_SIDED))
		return true;
	return packet_has_flow(ctx) ? flow_both_heard(flow_at(lcore->flows, ctx->ref))
				    : stub_both_heard(flow_stub_at(lcore->flows, ctx->ref));
}

// What the packets carry makes no difference.
static bool by_addresses(const struct lcore *lcore, const struct decide_input *known)
{
	struct decide_input input = *known;

	if (input.l4_proto == IPPROTO_TCP || input.l4_proto == IPPROTO_UDP)
		input.app_final = false;
	if (input.confidence != CONFIDENCE_IP) {
		input.app = APP_NONE;
		input.confidence = CONFIDENCE_NONE;
	}
	struct decision decision = decide(lcore->policy, &input);

	return decision.final && action_blocks(decision.action);
}

// What the flow carries was refused, which its own rules have let pass.
static void refuse_content(
	const struct lcore *lcore, const struct packet_ctx *ctx, struct decision *decision)
{
	enum action action;
	uint32_t rule;

	if (likely(!packet_has_flow(ctx) || !flow_cold_at(lcore->flows, ctx->ref)->content) ||
		action_blocks(decision->action) ||
		!flow_content_refuses(lcore, ctx->ref, &rule, &action))
		return;
	*decision = (struct decision){
		.action = (uint8_t)action,
		.final = true,
		.rule = rule,
		.monitored = RULE_DEFAULT,
		.unsure = RULE_DEFAULT,
	};
}

static void stub_input(const struct lcore *lcore, const struct packet_ctx *ctx,
	uint8_t mac[MAC_BYTES], struct flow_ends *ends, struct decide_input *input)
{
	const struct flow_stub *stub = flow_stub_at(lcore->flows, ctx->ref);
	uint8_t l4_proto = ctx->pkt->l4_proto;

	flow_ends_of(ctx->key, stub->flags, ends);
	*input = (struct decide_input){
		.ends = ends,
		.app = stub->app,
		.confidence = stub->app ? CONFIDENCE_IP : CONFIDENCE_NONE,
		// only TCP and UDP carry applications
		.app_final = l4_proto != IPPROTO_TCP && l4_proto != IPPROTO_UDP,
		.ports_known = true,
		.c2s_from_inside = stub->flags & FLOW_C2S_INSIDE,
		.windows = lcore->windows,
		.mac = packet_mac(lcore, ctx, stub->flags, mac),
		.dscp = stub->dscp,
	};
}

static enum verdict decide_flow(struct lcore *lcore, struct packet_ctx *ctx)
{
	if (!(ctx->flags & CTX_UNDECIDED)) {
		if (unlikely(ctx->flags & CTX_DECODED))
			settle(lcore, ctx);
		return VERDICT_PASS;
	}
	struct flow_ends ends;
	struct decide_input input;
	uint8_t mac[MAC_BYTES];
	uint16_t flags;

	if (packet_has_flow(ctx)) {
		flow_decide_input(lcore, ctx->ref, &ends, &input);
		flags = flow_at(lcore->flows, ctx->ref)->flags;
	} else {
		flags = flow_stub_at(lcore->flows, ctx->ref)->flags;
		stub_input(lcore, ctx, mac, &ends, &input);
	}
	// these are the packet's own
	input.l4_proto = ctx->pkt->l4_proto;
	input.n_vlan = ctx->pkt->n_vlan;
	input.vlan[0] = ctx->pkt->vlan[0];
	input.vlan[1] = ctx->pkt->vlan[1];
	struct decision decision = decide(lcore->policy, &input);

	lcore->stats.decisions++;
	if (flags & FLOW_ALLOWED)
		decision = (struct decision){.final = decision.final,
			.rule = RULE_DEFAULT,
			.monitored = RULE_DEFAULT,
			.unsure = RULE_DEFAULT};
	refuse_content(lcore, ctx, &decision);
	count_decision(lcore, &decision);
	note_decision(lcore, ctx, &input, &decision);
	monitor(lcore, ctx, &decision);
	if (action_blocks(decision.action) && !is_heard(lcore, ctx)) {
		refuse_packet(lcore, ctx, &decision, &ends, by_addresses(lcore, &input));
		return VERDICT_DROP;
	}
	if (action_blocks(decision.action)) {
		block(lcore, ctx, &decision, &ends, DROP_RULE);
		return VERDICT_DROP;
	}
	if (packet_has_flow(ctx) && !let_pass(lcore, ctx, &decision)) {
		decision.action = ACTION_RESET;
		if (is_heard(lcore, ctx))
			block(lcore, ctx, &decision, &ends, DROP_UNSCANNED);
		else
			refuse_packet(lcore, ctx, &decision, &ends, false);
		return VERDICT_DROP;
	}
	return VERDICT_PASS;
}

// A datagram that is refused for what it names does not leave, whatever becomes of its flow.
enum verdict stage_decide(struct lcore *lcore, struct packet_ctx *ctx)
{
	if (likely(!(ctx->flags & (CTX_UNDECIDED | CTX_DECODED | CTX_ID_REFUSED))))
		return VERDICT_PASS;
	if (likely(!(ctx->flags & CTX_ID_REFUSED)))
		return decide_flow(lcore, ctx);
	uint32_t rule_uid = ctx->rule_uid;

	if (decide_flow(lcore, ctx) == VERDICT_DROP)
		return VERDICT_DROP;
	ctx->rule_uid = rule_uid;
	ctx->reason = DROP_RULE;
	ctx->flags |= CTX_REPORTED; // by the record of the id
	return VERDICT_DROP;
}
