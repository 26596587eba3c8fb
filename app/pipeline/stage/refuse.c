// SPDX-License-Identifier: BSD-3-Clause
// Drops packets that a rule refuses while only one end of their flow was heard.
#include "pipeline/stage/flow_report.h"
#include "pipeline/stage/refuse.h"
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include "pipeline/flow/both_ends.h"
#include "classify/handshake/datagram_hello.h"
#include "pipeline/vocab/fault.h"
#include "pipeline/content/flow_content.h"
#include "pipeline/event/flow_event.h"
#include "pipeline/stage/inspect_track.h"
#include "pipeline/event/windows.h"
#include "reassembly/seq.h"
#include "pipeline/stage/packet_rules.h"
#include "pipeline/stage/teardown.h"
#include "pipeline/flow/app_usage.h"

#define ALERTS_PER_S 200 // of flows that are refused so, each lcore and side

static bool within_alerts(
	struct lcore *lcore, const struct packet_ctx *ctx, const struct flow_ends *ends)
{
	uint16_t flags = packet_has_flow(ctx) ? flow_at(lcore->flows, ctx->ref)->flags
					      : flow_stub_at(lcore->flows, ctx->ref)->flags;
	bool inside = flags & FLOW_C2S_INSIDE;
	struct fair_window *window = &lcore->event_windows->refused;

	return !fair_window_is_full(window, inside, ALERTS_PER_S, lcore->now_ns) &&
	       fair_window_take(
		       window, &lcore->parse.seed, ends->address[HALF_C2S], inside, ALERTS_PER_S);
}

static void report(struct lcore *lcore, const struct packet_ctx *ctx,
	const struct decision *decision, const struct flow_ends *ends)
{
	const struct rule *rule =
		decision->rule == RULE_DEFAULT ? NULL : &lcore->policy->rules[decision->rule];

	lcore->stats.flows_condemned++;
	if (!within_alerts(lcore, ctx, ends)) {
		lcore->stats.alerts_limited++;
		return;
	}
	bool told = packet_has_flow(ctx) && flow_content_is_told(lcore, ctx->ref);

	if (!told)
		flow_event_alert(lcore, ctx->ref, rule, decision->action, MODE_ENFORCE, ctx->half,
			packet_has_flow(ctx) ? flow_content_item(lcore, ctx->ref) : NULL);
	flow_event_drop(lcore, ctx->ref, ctx->m, told ? DROP_UNSCANNED : DROP_RULE, ctx->rule_uid);
}

// An entry for all that two peers do is no wider than the rule, if that asks for addresses alone,
// and no rule before it lets some of it pass.
static bool covers_peer(const struct policy *policy, const struct decision *decision)
{
	const struct rule *rule = &policy->rules[decision->rule];

	if (rule->n_ports || rule->l4_proto || rule->n_vlans || rule->has_app)
		return false;
	for (uint32_t i = 0; i < decision->rule; i++)
		if (!policy->rules[i].only_content && !action_blocks(policy->rules[i].action))
			return false;
	return true;
}

// No wider than what has decided: a forged packet shall not block more than its rule does.
static void learn_ends(struct lcore *lcore, struct packet_ctx *ctx, const struct decision *decision,
	const struct flow_ends *ends, uint16_t flags, uint16_t app)
{
	bool peer = decision->cache == CACHE_PEER && covers_peer(lcore->policy, decision);
	struct conn_entry entry = {
		.key =
			{
				.port = peer ? 0 : ends->port[HALF_S2C],
				.realm = parse_key_realm(ctx->key, ctx->flags & CTX_V6),
				.l4_proto = peer ? 0 : ctx->pkt->l4_proto,
				.from_inside = !!(flags & FLOW_C2S_INSIDE),
				.mode = peer ? CACHE_PEER : CACHE_TUPLE,
			},
		.created_ns = lcore->now_ns,
		.flow_id = packet_flow_id(lcore, ctx),
		.rule_uid = ctx->rule_uid,
		.app = app,
		.confidence = app ? CONFIDENCE_IP : CONFIDENCE_NONE,
		.flags = CONN_ENTRY_UNHEARD,
	};

	memcpy(entry.key.initiator, ends->address[HALF_C2S], 16);
	memcpy(entry.key.responder, ends->address[HALF_S2C], 16);
	conn_cache_learn(lcore, &entry, true);
}

// As a closed port would: whoever begins is told so. In what goes on, nobody is.
static void answer(struct lcore *lcore, struct packet_ctx *ctx, bool begins)
{
	uint64_t before = lcore->stats.resets_sent + lcore->stats.icmp_rejects_sent;
	const struct pkt *pkt = ctx->pkt;
	bool syn = (pkt->tcp_flags & (TH_SYN | TH_ACK | TH_RST)) == TH_SYN;

	if (begins && (pkt->l4_proto != IPPROTO_TCP || syn))
		teardown_answer(lcore, ctx->m);
	packet_evidence(lcore, ctx, EVIDENCE_RESETS)->length =
		(uint32_t)(lcore->stats.resets_sent + lcore->stats.icmp_rejects_sent - before);
}

static void refuse_stub(struct lcore *lcore, struct packet_ctx *ctx,
	const struct decision *decision, const struct flow_ends *ends)
{
	struct flow_stub *stub = flow_stub_at(lcore->flows, ctx->ref);

	report(lcore, ctx, decision, ends);
	lcore->apps[stub->app < APPS_MAX ? stub->app : APP_NONE].flows_blocked++;
	if (decision->cache != CACHE_NONE)
		learn_ends(lcore, ctx, decision, ends, stub->flags, stub->app);
	if (decision->action == ACTION_RESET)
		answer(lcore, ctx, !stub->pkts[!ctx->half]);
	stub->action = decision->action & 0xfu;
	stub->rule_uid = ctx->rule_uid;
	stub->confidence = stub->app ? CONFIDENCE_IP : CONFIDENCE_NONE;
	flow_report_end(lcore, ctx->ref, FLOW_END_FORCED);
	lcore->stats.flows_ended++;
	flow_remove(lcore, ctx->ref, FLOW_STEP_REFUSE);
	ctx->ref = FLOW_REF_NONE;
}

static void forget(struct lcore *lcore, struct packet_ctx *ctx)
{
	flow_report_end(lcore, ctx->ref, FLOW_END_FORCED);
	lcore->stats.flows_ended++;
	flow_remove(lcore, ctx->ref, FLOW_STEP_REFUSE);
	ctx->ref = FLOW_REF_NONE;
}

static void keep_out(struct lcore *lcore, struct flow *flow, struct flow_refused *refused,
	const struct packet_ctx *ctx)
{
	const struct pkt *pkt = ctx->pkt;
	uint32_t from = pkt->tcp_seq + !!(pkt->tcp_flags & TH_SYN), to = from + pkt->payload_len;

	refused->stands = true;
	refused->app = flow->app;
	refused->half = (uint8_t)ctx->half;
	if (flow->l4_proto != IPPROTO_TCP) {
		if (flow->app == APP_NONE)
			refused->halves |= (uint8_t)(1u << ctx->half);
		uint8_t buffer[DATAGRAM_HELLO_TELLS];
		uint32_t length = RTE_MIN(pkt->payload_len, (uint32_t)sizeof(buffer));
		const uint8_t *start = rte_pktmbuf_read(ctx->m, pkt->payload_off, length, buffer);

		if (!start)
			length = 0;
		classify_refused(lcore->classifier, flow->classify_state, ctx->half);
		refused->connection =
			datagram_hello_connection((struct text){start, length}, &refused->random);
		return;
	}
	refused->from = from;
	refused->to = to;
}

static void refuse_flow(struct lcore *lcore, struct packet_ctx *ctx,
	const struct decision *decision, const struct flow_ends *ends, bool addresses_alone)
{
	struct flow *flow = flow_at(lcore->flows, ctx->ref);
	struct flow_cold *cold = flow_cold_at(lcore->flows, ctx->ref);
	bool first = !cold->refused.is, only = flow->pkts[0] + flow->pkts[1] == 1;

	flow->action = decision->action;
	flow->rule_uid = ctx->rule_uid;
	app_usage_settle(lcore->apps, flow);
	if (first) {
		lcore->apps[flow->app < APPS_MAX ? flow->app : APP_NONE].flows_blocked++;
		report(lcore, ctx, decision, ends);
		if (decision->action == ACTION_RESET)
			answer(lcore, ctx,
				!flow->pkts[!ctx->half] &&
					(addresses_alone || flow->l4_proto != IPPROTO_TCP));
	}
	if ((addresses_alone || FAULT(CACHE)) && decision->cache != CACHE_NONE)
		learn_ends(lcore, ctx, decision, ends, flow->flags,
			flow->confidence == CONFIDENCE_IP ? flow->app : APP_NONE);
	cold->refused.is = true;
	cold->refused.rule_uid = ctx->rule_uid;
	// nothing else is known of it, and its numbers say nothing of those that come
	if (addresses_alone || (only && flow->l4_proto == IPPROTO_TCP)) {
		forget(lcore, ctx);
		return;
	}
	keep_out(lcore, flow, &cold->refused, ctx);
}

void refuse_packet(struct lcore *lcore, struct packet_ctx *ctx, const struct decision *decision,
	const struct flow_ends *ends, bool addresses_alone)
{
	ctx->rule_uid =
		decision->rule == RULE_DEFAULT ? 0 : lcore->policy->rules[decision->rule].uid;
	ctx->reason = DROP_RULE;
	ctx->flags |= CTX_REPORTED;
	lcore->stats.refused_unheard++;
	if (packet_has_flow(ctx))
		refuse_flow(lcore, ctx, decision, ends, addresses_alone);
	else
		refuse_stub(lcore, ctx, decision, ends);
}

static bool again(struct lcore *lcore, struct packet_ctx *ctx, const struct flow_refused *refused)
{
	ctx->reason = DROP_RULE;
	ctx->rule_uid = refused->rule_uid;
	ctx->flags |= CTX_REPORTED;
	lcore->stats.refused_unheard++;
	return true;
}

bool refuse_segment(struct lcore *lcore, struct packet_ctx *ctx, const struct flow *flow,
	struct flow_cold *cold)
{
	const struct flow_refused *refused = &cold->refused;
	const struct pkt *pkt = ctx->pkt;
	uint32_t seq = pkt->tcp_seq + !!(pkt->tcp_flags & TH_SYN);

	if (ctx->flags & CTX_AGAIN) { // the policy has changed: it is decided again
		cold->refused = (struct flow_refused){0};
		return false;
	}
	if (!refused->stands || !pkt->payload_len || flow_both_heard(flow))
		return false;
	if (refused->app == APP_NONE) // nothing that it carries makes it pass
		return again(lcore, ctx, refused);
	if (ctx->half != refused->half || !seq_lt(seq, refused->to) ||
		!seq_lt(refused->from, seq + pkt->payload_len))
		return false;
	return again(lcore, ctx, refused);
}

// As if no packet had come before, but for the hellos of datagrams.
static void classify_anew(struct lcore *lcore, struct flow *flow, struct flow_cold *cold)
{
	if (flow->l4_proto == IPPROTO_UDP)
		classify_restart(lcore->classifier, lcore->policy->edition, &flow->classify_state);
	else
		classify_end(lcore->classifier, &flow->classify_state);
	classify_end(lcore->classifier, &flow->decoder_state);
	classify_end(lcore->classifier, &cold->again.state);
	cold->again = (struct flow_again){0};
	flow->look_at = 0;
	cold->meta = HANDSHAKE_META_AWAITED;
	cold->refused.stands = false;
	flow->action = ACTION_PASS;
	flow->rule_uid = 0;
	flow_know_by_network(flow, packet_app_by_network(lcore, &cold->ends));
	flow->signature = UINT16_MAX;
	flow->n_data_pkts = 1;
	flow->taken_pkts = flow->taken_small = 0;
	flow_life_step(flow, FLOW_STEP_ANEW);
	flow->flags &= (uint16_t) ~(FLOW_GAVEUP | FLOW_DECODED | FLOW_NOMEM);
}

// A part of the hello that was refused is refused by itself, too: with the parts that left before
// it, it would be whole at the server. All parts of one come from one end.
static bool is_of_refused_hello(const struct span *span, const struct flow_refused *refused)
{
	const struct text datagram = {span_bytes(span), span_length(span)};
	uint32_t random, connection = datagram_hello_connection(datagram, &random);

	return connection && connection == refused->connection &&
	       (!random || !refused->random || random == refused->random) &&
	       (span->half & 1) == refused->half;
}

// It has a part of another hello, and of that alone: what that asks for is seen when it is whole.
static bool is_of_another_hello(const struct span *span, const struct flow_refused *refused,
	const struct classify_work *work)
{
	const struct text datagram = {span_bytes(span), span_length(span)};

	if (!refused->connection || work->hello_refused || is_of_refused_hello(span, refused))
		return false;
	return datagram_hello_is_dtls_alone(datagram) ||
	       (work->quic_tried == 1 && work->quic_opened == 1);
}

// What a datagram is by itself; a carrier may carry what was refused in several of them.
static bool is_alike(struct inspection *in, const struct span *span,
	const struct classify_flow *about, const struct flow_refused *refused)
{
	struct lcore *lcore = in->lcore;
	struct classify_verdict verdict = {0};
	struct classify_work work;
	uint32_t state = CLASSIFY_NO_STATE;

	memset(&work, 0, offsetof(struct classify_work, steps));
	classify_feed(lcore->classifier, lcore->policy->edition, lcore->policy->user_apps, about,
		span, &state, &verdict, &work);
	classify_end(lcore->classifier, &state);
	lcore->stats.classify_scans += work.scans;
	if (work.found == refused->app)
		both_ends_datagram(
			lcore, in->flow, in->cold, in->ctx->pkt, work.found, work.found_by);
	return work.found == refused->app ||
	       (refused->app > app_count() && app_is_carrier(work.found) && !verdict.final &&
		       !is_of_another_hello(span, refused, &work));
}

// What one end sends that is of no application says nothing of what the other one sends: that is
// classified in a row, until it is refused, too.
static bool speaks_for_itself(
	const struct inspection *in, const struct span *span, const struct flow_refused *refused)
{
	return refused->stands && refused->app == APP_NONE && in->flow->app == APP_NONE &&
	       !(refused->halves & 1u << (span->half & 1));
}

bool refuse_datagram(
	struct inspection *in, const struct span *span, const struct classify_flow *about)
{
	struct flow_refused *refused = &in->cold->refused;

	if (in->ctx->flags & CTX_AGAIN) {
		*refused = (struct flow_refused){0};
		classify_anew(in->lcore, in->flow, in->cold);
		return false;
	}
	if (speaks_for_itself(in, span, refused)) {
		if (in->flow->flags & FLOW_APP_FINAL)
			classify_anew(in->lcore, in->flow, in->cold);
		refused->stands = true;
		return false;
	}
	if (refused->app == APP_NONE && in->flow->app != APP_NONE)
		refused->stands = false; // by the other half it is known now
	if (!refused->stands && is_of_refused_hello(span, refused)) {
		packet_flag_if(in->ctx, CTX_REFUSED, again(in->lcore, in->ctx, refused));
		return true;
	}
	if (!refused->stands) {
		if (in->flow->flags & FLOW_APP_FINAL)
			classify_anew(in->lcore, in->flow, in->cold);
		return false;
	}
	if (!is_alike(in, span, about, refused) && !is_of_refused_hello(span, refused)) {
		classify_anew(in->lcore, in->flow, in->cold);
		return false;
	}
	if (flow_both_heard(in->flow)) {
		in->ctx->flags |= CTX_UNDECIDED;
		return true;
	}
	if (refused->app == APP_NONE && in->flow->n_data_pkts)
		in->flow->n_data_pkts--; // the other half's budget is its own
	packet_flag_if(in->ctx, CTX_REFUSED, again(in->lcore, in->ctx, refused));
	return true;
}

// What was refused is what comes next, or its receiver has got it all the same.
static bool is_of_stream(const struct flow *flow, const struct flow_refused *refused)
{
	uint32_t next = flow->released[refused->half], acked = flow->acked[refused->half];
	uint8_t seen = flow->seen[refused->half];

	return (seen & SEEN_RELEASED && !seq_lt(next, refused->from) &&
		       seq_lt(next, refused->to)) ||
	       (seen & SEEN_ACKED && acked - refused->from - 1 < UINT16_MAX);
}

bool refuse_settle(struct lcore *lcore, uint32_t ref)
{
	struct flow *flow = flow_at(lcore->flows, ref);
	struct flow_cold *cold = flow_cold_at(lcore->flows, ref);
	const struct flow_refused *refused = &cold->refused;
	struct flow_half *half = &cold->half[refused->half];
	uint32_t next = flow->released[refused->half];

	if (!refused->stands)
		return false;
	if (is_of_stream(flow, refused))
		return true;
	classify_anew(lcore, flow, cold);
	inspect_end(lcore, ref, DROP_NOT_TAKEN);
	half->late = !half->has_start || next != half->start_seq;
	half = &cold->half[!refused->half];
	half->late = !half->has_start || flow->released[!refused->half] != half->start_seq;
	cold->refused = (struct flow_refused){0};
	return false;
}
