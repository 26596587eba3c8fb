// SPDX-License-Identifier: BSD-3-Clause
// Stages of a flow that is not decided for good: reload, checksum, stream and classification.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <string.h>
#include "pipeline/flow/both_ends.h"
#include "pipeline/event/flow_event.h"
#include "pipeline/stage/inspect.h"
#include "pipeline/stage/inspect_again.h"
#include "pipeline/flow/both_ends.h"
#include "pipeline/stage/inspect_learned.h"
#include "pipeline/stage/packet_invalid.h"
#include "pipeline/stage/packet_rules.h"
#include "pipeline/stage/refuse.h"
#include "pipeline/stage/inspect_names.h"

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
		flow->flags &= (uint16_t) ~(FLOW_FINAL | FLOW_MONITORED | FLOW_OPERATOR);
	} else {
		struct flow_stub *stub = flow_stub_at(lcore->flows, ctx->ref);

		if (again && refuses_tunnel(lcore, ctx, stub->flags))
			return VERDICT_DROP;
		stub->policy_epoch = lcore->epoch;
		if (!again)
			return VERDICT_PASS;
		stub->flags &= (uint16_t)~FLOW_MONITORED;
	}
	if (!ctx->undecided) {
		lcore->stats.decisions_again++;
		ctx->again = true;
	}
	ctx->undecided = true;
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
	return ctx->pkt->l4_proto != IPPROTO_TCP
		       ? !asks(lcore, ctx)
		       : !(ctx->pkt->tcp_flags & (TH_SYN | TH_FIN | TH_RST));
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

static void decode(struct inspection *in, const struct span *span)
{
	struct lcore *lcore = in->lcore;
	struct flow *flow = in->flow;
	const struct decoder_sink sink = {
		.expect = learned_expectation,
		.endpoint = learned_endpoint,
		.name = learned_name,
		.transfer = learned_transfer,
		.ctx = in,
		.asked = &in->cold->asked,
	};

	if (decoder_feed(lcore->classifier, flow->app, &in->cold->ends, span, &flow->decoder_state,
		    &sink) != DECODER_DONE)
		return;
	flow->flags &= (uint16_t)~FLOW_DECODED;
	classify_end(lcore->classifier, &flow->decoder_state);
	in->ctx->decoded = true;
}

static struct classify_flow about_flow(const struct inspection *in, const struct span *span)
{
	const struct flow *flow = in->flow;
	bool tcp = flow->l4_proto == IPPROTO_TCP;

	return (struct classify_flow){
		.ends = &in->cold->ends,
		.l4_proto = flow->l4_proto,
		.n_data_pkts = tcp ? flow->taken_pkts : flow->n_data_pkts, // for the budget
		.n_small_pkts = tcp ? flow->taken_small : 0,
		// by half: a stray segment of one must not spoil the beginning of the other
		.midstream = span->flags & SPAN_MIDSTREAM,
		.c2s_from_inside = flow->flags & FLOW_C2S_INSIDE,
		.named = in->cold->named,
		.serves = in->cold->serves,
	};
}

// `work` is large: its steps, and the greeting, stay as they are.
static void begin_work(
	const struct inspection *in, struct classify_work *work, struct handshake_meta *meta)
{
	memset(work, 0, offsetof(struct classify_work, steps));
	work->meta = in->lcore->dp->limits.greetings ? meta : NULL;
	work->handshake_meta_phase = in->cold->meta;
}

static void take_handshake_meta(struct inspection *in, const struct classify_work *work)
{
	in->cold->meta = work->handshake_meta_phase;
	in->lcore->stats.greetings_nomem += work->handshake_meta_nomem;
	if (work->greeted)
		flow_event_handshake_meta(in->lcore, in->ctx->ref, work->meta,
			handshake_meta_pending(work->handshake_meta_phase));
}

// A datagram that hides the name which the policy asks for does not pass.
static void count_hellos(struct inspection *in, const struct classify_work *work)
{
	struct lcore *lcore = in->lcore;

	lcore->stats.classify_quic_tried += work->quic_tried;
	lcore->stats.classify_quic_opened += work->quic_opened;
	in->cold->serves |= work->serves;
	if (!work->hello_refused)
		return;
	lcore->stats.classify_hello_refused++;
	if (lcore->policy->enforces_app && !(in->flow->flags & FLOW_ALLOWED))
		in->ctx->starved = true;
}

// The application is known, but not yet all that its ends say of themselves; or they may say
// something else.
static void hear(struct inspection *in, const struct span *span)
{
	struct lcore *lcore = in->lcore;
	struct flow *flow = in->flow;
	const struct classify_flow about = about_flow(in, span);
	struct classify_verdict verdict = {
		.app = flow->app,
		.signature = flow->signature,
		.confidence = flow->confidence,
		.final = true,
	};
	struct classify_work work;
	struct handshake_meta meta;

	begin_work(in, &work, &meta);
	classify_listen(lcore->classifier, lcore->policy->edition, lcore->policy->user_apps, &about,
		span, &flow->classify_state, &verdict, &work);
	count_hellos(in, &work);
	if (work.n_steps)
		evidence_steps(lcore, packet_flow_id(lcore, in->ctx), span, &work);
	in->cold->named |= work.named;
	take_handshake_meta(in, &work);
	in->ctx->decoded |= !handshake_meta_pending(in->cold->meta);
	if (verdict.app == flow->app)
		return;
	classify_end(lcore->classifier, &flow->decoder_state);
	flow->flags &= (uint16_t) ~(FLOW_DECODED | FLOW_GAVEUP | FLOW_MONITORED);
	if (app_has_decoder(verdict.app))
		flow->flags |= FLOW_DECODED;
	flow->app = verdict.app;
	flow->signature = verdict.signature;
	flow->confidence = verdict.confidence;
	flow->decided_pkts = flow->n_data_pkts;
	app_usage_settle(lcore->apps, flow);
	both_ends_other_app(flow);
	in->ctx->undecided = true;
}

bool inspect_asks(const struct lcore *lcore, const struct rte_mbuf *m, const struct pkt *pkt)
{
	uint32_t here = m->data_len - pkt->payload_off;
	const uint8_t *bytes = rte_pktmbuf_mtod_offset(m, const uint8_t *, pkt->payload_off);

	return pkt->flags & PKT_L4_OK && user_apps_have_hosts(lcore->policy->user_apps) &&
	       classify_may_ask(bytes, RTE_MIN(here, (uint32_t)pkt->payload_len));
}

static bool hears(const struct inspection *in, const struct span *span)
{
	return handshake_meta_pending(in->cold->meta) ||
	       (span->flags & SPAN_MAY_ASK && user_apps_have_hosts(in->lcore->policy->user_apps) &&
		       classify_may_ask(span_bytes(span), span_length(span)));
}

// Of a flow that is classified: whether this half, too, speaks as its application does.
static void ask_half(struct inspection *in, const struct span *span)
{
	struct lcore *lcore = in->lcore;
	struct flow *flow = in->flow;
	const struct classify_flow about = about_flow(in, span);
	struct classify_verdict verdict = {0};
	struct classify_work work;
	struct handshake_meta unread;
	uint32_t state = CLASSIFY_NO_STATE;

	begin_work(in, &work, &unread);
	work.meta = NULL;
	classify_feed(lcore->classifier, lcore->policy->edition, lcore->policy->user_apps, &about,
		span, &state, &verdict, &work);
	classify_end(lcore->classifier, &state);
	lcore->stats.classify_scans += work.scans;
	if (work.found == flow->app)
		both_ends_datagram(lcore, flow, in->cold, in->ctx->pkt, work.found, work.found_by);
	if (flow_both_heard(flow))
		learned_from_parser(in);
}

// A datagram, while not both ends of its flow are heard. False: there is nothing more to do for it.
static bool ask_ends(struct inspection *in, const struct span *span)
{
	struct flow *flow = in->flow;
	const struct classify_flow about = about_flow(in, span);

	if (unlikely(in->cold->refused.is) && refuse_datagram(in, span, &about))
		return false;
	if (flow->flags & FLOW_APP_FINAL && flow->app != APP_NONE && !in->cold->again.on &&
		(in->cold->heard_app != flow->app || !(flow->seen[span->half & 1] & SEEN_HEARD)))
		ask_half(in, span);
	return true;
}

// What a datagram says of its flow's ends, whatever the flow was taken for. False: there is nothing
// more to do for it.
static bool take_ends(struct inspection *in, const struct span *span)
{
	if (unlikely(!flow_both_heard(in->flow)) && in->flow->l4_proto == IPPROTO_UDP &&
		!ask_ends(in, span))
		return false;
	if (unlikely(in->cold->again.on)) {
		again_look(in, span);
		if (flow_both_heard(in->flow))
			learned_from_parser(in);
	}
	return true;
}

// Names that a TCP connection asks for beyond its first bytes. False: the span is not taken.
static bool take_names(struct inspection *in, const struct span *span)
{
	if (likely(in->cold->names.phase == NAMES_OVER && !in->cold->names.fresh))
		return true;
	if (unlikely(!inspect_names(in, span))) {
		in->ctx->starved = true;
		return false;
	}
	if (unlikely(in->cold->names.fresh && in->flow->flags & FLOW_APP_FINAL))
		inspect_names_apply(in);
	return true;
}

// Of a flow whose application is not settled. Apart, as it needs much of the stack.
static __rte_noinline void classify(struct inspection *in, const struct span *span)
{
	struct lcore *lcore = in->lcore;
	struct flow *flow = in->flow;

	struct classify_verdict verdict = {
		.app = flow->app,
		.signature = flow->signature,
		.confidence = flow->confidence,
	};
	const struct classify_flow about = about_flow(in, span);
	struct classify_work work;
	struct handshake_meta meta;

	begin_work(in, &work, &meta);
	classify_feed(lcore->classifier, lcore->policy->edition, lcore->policy->user_apps, &about,
		span, &flow->classify_state, &verdict, &work);
	lcore->stats.classify_pkts++;
	lcore->stats.classify_scans += work.scans;
	lcore->stats.classify_hits += work.hits;
	lcore->stats.classify_refused += work.refused;
	count_hellos(in, &work);
	if (work.n_steps)
		evidence_steps(lcore, packet_flow_id(lcore, in->ctx), span, &work);
	// Never unlooked at where the policy asks for the application: TCP will send it again, and
	// by then another flow may have given its state back.
	if (verdict.nomem && lcore->policy->enforces_app && !(flow->flags & FLOW_ALLOWED)) {
		packet_evidence(lcore, in->ctx, EVIDENCE_NO_STATE)->detail = true;
		in->cold->report.dropped |= 1 << STREAM_TARGET_CLASSIFY_STATES;
		lcore->stats.classify_nomem++;
		in->ctx->starved = true;
		return;
	}
	learned_apply(in, span, &work, &verdict);
	if (flow->l4_proto == IPPROTO_UDP && verdict.app != APP_NONE)
		both_ends_datagram(lcore, flow, in->cold, in->ctx->pkt, verdict.app,
			work.found == verdict.app ? work.found_by : 0);
	if (unlikely(in->cold->names.fresh))
		inspect_names_merge(in, &verdict);
	if (unlikely(work.named_app != APP_NONE))
		inspect_names_first(in, work.named_app, &verdict);
	if (verdict.app != flow->app || verdict.confidence != flow->confidence || verdict.final)
		in->ctx->undecided = true;
	flow->app = verdict.app;
	flow->signature = verdict.signature;
	flow->confidence = verdict.confidence;
	if (verdict.n_data_pkts)
		flow->decided_pkts = flow->n_data_pkts;
	take_handshake_meta(in, &work);
	if (!verdict.final)
		return;
	flow->flags |= FLOW_APP_FINAL;
	again_settled(lcore, in->ctx->ref, span->half & 1);
	app_usage_settle(lcore->apps, flow);
	if (verdict.nomem) {
		flow->flags |= FLOW_NOMEM;
		in->cold->report.ignored |= 1 << STREAM_TARGET_CLASSIFY_STATES;
		lcore->stats.classify_nomem++;
		packet_evidence(lcore, in->ctx, EVIDENCE_NO_STATE);
	} else if (verdict.gaveup) {
		flow->flags |= FLOW_GAVEUP;
		lcore->stats.classify_giveup++;
		struct evidence *evidence = packet_evidence(lcore, in->ctx, EVIDENCE_GIVE_UP);

		evidence->detail = classify_packets_used_up(&about);
		evidence->length = about.n_data_pkts;
	} else {
		lcore->stats.classify_done++;
	}
	if (!app_has_decoder(flow->app))
		return;
	// What classification has read belongs to the decoder, too: begin with this span.
	flow->flags |= FLOW_DECODED;
	if (!app_get(flow->app)->decodes_for_others)
		packet_evidence(lcore, in->ctx, EVIDENCE_DECODER)->app = flow->app;
	decode(in, span);
}

static void consume(struct inspection *in, const struct span *span)
{
	const struct flow *flow = in->flow;

	if (flow->l4_proto == IPPROTO_TCP ? !take_names(in, span) : !take_ends(in, span))
		return;
	if (flow->flags & FLOW_APP_FINAL && hears(in, span))
		hear(in, span);
	if (flow->flags & FLOW_DECODED)
		decode(in, span);
	else if (!(flow->flags & FLOW_APP_FINAL))
		classify(in, span);
}

void inspect_span(struct inspection *in, const struct span *span)
{
	const struct stream_tap *tap = in->lcore->tap;

	consume(in, span);
	// what starves is not taken, and comes again
	if (unlikely(tap != NULL) && span->extent && !(span->flags & SPAN_DATAGRAM) &&
		!in->ctx->starved)
		tap->span(tap->ctx, in->lcore, in->ctx->ref, span);
}

// Bytes of a segment, one span for each mbuf segment that they lie in; but what a classifier
// keeps of them in one piece, as it would be in a larger buffer: where a driver cuts a packet must
// not change what it is taken for.
void inspect_payload(struct inspection *in, struct span span, uint32_t offset)
{
	const struct rte_mbuf *m = in->ctx->m;
	uint32_t length = span.extent;
	uint8_t start[CLASSIFY_PREFIX_BYTES];

	bool looked_at =
		!(in->flow->flags & FLOW_APP_FINAL) || handshake_meta_pending(in->cold->meta);

	if (offset + length > m->data_len && looked_at) {
		span.extent = RTE_MIN(length, (uint32_t)sizeof(start));
		span.unchecked = rte_pktmbuf_read(m, offset, span.extent, start);
		if (!span.unchecked)
			return; // pkt_len promises more than the segments hold
		inspect_span(in, &span);
		span.offset64 += span.extent;
		offset += span.extent;
		length -= span.extent;
	}
	for (; m && length; m = m->next) {
		if (offset >= m->data_len) {
			offset -= m->data_len;
			continue;
		}
		uint32_t here = m->data_len - offset < length ? m->data_len - offset : length;

		span.unchecked = rte_pktmbuf_mtod_offset(m, const uint8_t *, offset);
		span.extent = here;
		inspect_span(in, &span);
		span.offset64 += here;
		length -= here;
		offset = 0;
	}
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
	if (ctx->refused)
		return VERDICT_DROP; // the walk says why
	if (ctx->starved) {
		ctx->reason = DROP_UNCLASSIFIED;
		verdict = VERDICT_DROP;
	}
	if (verdict == VERDICT_DROP && ctx->reason == DROP_UNCLASSIFIED)
		flow->n_data_pkts--; // nor does it count against the budget
	return verdict;
}
