// SPDX-License-Identifier: BSD-3-Clause
// Gives the bytes of a flow to the classifier and to decoders.
#include "pipeline/stage/inspect_payload.h"
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <string.h>
#include "pipeline/flow/both_ends.h"
#include "pipeline/event/flow_event.h"
#include "pipeline/stage/inspect_again.h"
#include "pipeline/stage/inspect_content.h"
#include "pipeline/stage/inspect_learned.h"
#include "pipeline/stage/inspect_names.h"
#include "pipeline/stage/refuse.h"
#include "pipeline/flow/app_usage.h"
#include "pipeline/flow/expect.h"
#include "pipeline/event/stream_tap.h"

static struct decoder_sink learned_sink(struct inspection *in)
{
	return (struct decoder_sink){
		.expect = learned_expectation,
		.endpoint = learned_endpoint,
		.name = learned_name,
		.transfer = learned_transfer,
		.ctx = in,
		.asked = &in->cold->asked,
	};
}

// A decoder of content tells nothing of others: where the application's own decoder learns of them
// alone, that one is fed, too, with what was taken.
static bool is_fed_beside(const struct inspection *in)
{
	const struct app_proto *proto = app_get(in->flow->app);

	return proto && proto->decodes_for_others && in->flow->flags & FLOW_DECODED &&
	       !(in->ctx->flags & (CTX_STARVED | CTX_LATER)) &&
	       !flow_content_others_over(in->lcore, in->ctx->ref, false);
}

static void feed_decoder(struct inspection *in, const struct span *span)
{
	struct lcore *lcore = in->lcore;
	struct flow *flow = in->flow;
	const struct decoder_sink sink = learned_sink(in);
	int rc = decoder_feed(
		lcore->classifier, flow->app, &in->cold->ends, span, &flow->decoder_state, &sink);

	if (unlikely(rc == -ENOBUFS)) { // what it says of others is not learned
		lcore->stats.decode_nomem++;
		in->cold->report.ignored |= 1 << STREAM_TARGET_CLASSIFY_STATES;
	}
	if (rc != DECODER_DONE)
		return;
	if (unlikely(flow_content_others_over(lcore, in->ctx->ref, true))) {
		classify_end(lcore->classifier, &flow->decoder_state);
		return;
	}
	flow->flags &= (uint16_t)~FLOW_DECODED;
	classify_end(lcore->classifier, &flow->decoder_state);
	in->ctx->flags |= CTX_DECODED;
}

static void feed_content(struct inspection *in, const struct span *span)
{
	const struct decoder_sink sink = learned_sink(in);

	inspect_content(in, span, &sink);
}

static void decode(struct inspection *in, const struct span *span)
{
	if (unlikely(in->cold->content)) {
		feed_content(in, span);
		if (!is_fed_beside(in))
			return;
	}
	feed_decoder(in, span);
}

// What is known by an answer alone is decoded from there on: what the datagrams before it, which
// were a hint, have asked for is kept, or nobody would know that it is an answer.
static void note_asked(struct inspection *in, const struct span *span)
{
	const struct app_proto *proto = app_get(in->flow->app);
	const struct decoder_sink notes = {.asked = &in->cold->asked};

	if (proto && proto->decode_datagram && span->flags & SPAN_DATAGRAM &&
		in->flow->confidence == CONFIDENCE_PARTIAL)
		proto->decode_datagram(span, &in->cold->ends, &notes);
}

#define UDP_HEADER_BYTES  8
#define UDP_LENGTH_BEFORE 4 // the payload
#define ALONE_PACKETS     3 // of a half that nobody answers
#define ALONE_NS          3000000000ull

// One end alone is heard, though the other has spoken, or should have. A segment behind a SYN
// acknowledges the other's SYN, which was not seen.
static bool is_one_sided(const struct inspection *in, unsigned half)
{
	const struct flow *flow = in->flow;

	if (likely(flow->pkts[!half]))
		return false;
	if (flow->l4_proto == IPPROTO_TCP && !(flow->flags & FLOW_MIDSTREAM))
		return flow->tcp_flags[half] & TH_ACK;
	return flow->pkts[half] >= ALONE_PACKETS || in->lcore->now_ns - flow->start_ns >= ALONE_NS;
}

// What its header says: a capture may hold less. The header lies before the payload.
static uint16_t datagram_bytes(const struct inspection *in)
{
	const struct pkt *pkt = in->ctx->pkt;

	if (pkt->l4_proto != IPPROTO_UDP || in->ctx->m->data_len < pkt->payload_off)
		return pkt->payload_len;
	const uint8_t *length = rte_pktmbuf_mtod_offset(
		in->ctx->m, const uint8_t *, pkt->payload_off - UDP_LENGTH_BEFORE);
	uint16_t bytes = (uint16_t)(length[0] << 8 | length[1]);

	return bytes > UDP_HEADER_BYTES ? (uint16_t)(bytes - UDP_HEADER_BYTES) : pkt->payload_len;
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
		.either_began = tcp && flow->flags & FLOW_MIDSTREAM,
		.one_sided = is_one_sided(in, span->half & 1),
		.datagram_bytes = tcp ? 0 : datagram_bytes(in),
		.c2s_from_inside = flow->flags & FLOW_C2S_INSIDE,
		.named = in->cold->named,
		.serves = in->cold->serves,
		.second = (uint32_t)(in->lcore->now_ns >> 30),
		.media = tcp ? NULL : &in->cold->media,
	};
}

// `work` is large: its steps, and the greeting, stay as they are.
static void begin_work(
	const struct inspection *in, struct classify_work *work, struct handshake_meta *meta)
{
	memset(work, 0, offsetof(struct classify_work, steps));
	work->meta = in->lcore->reads_handshakes ? meta : NULL;
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
static void count_opened(struct inspection *in, const struct classify_work *work)
{
	struct lcore *lcore = in->lcore;

	lcore->stats.classify_quic_tried += work->quic_tried;
	lcore->stats.classify_quic_opened += work->quic_opened;
	lcore->stats.classify_mtproto_tried += work->mtproto_tried;
	lcore->stats.classify_mtproto_opened += work->mtproto_opened;
	lcore->stats.classify_mtproto_limited += work->mtproto_limited;
	in->cold->serves |= work->serves & 3u;
	if (!work->hello_refused)
		return;
	lcore->stats.classify_hello_refused++;
	if (lcore->policy->enforces_app && !(in->flow->flags & FLOW_ALLOWED))
		in->ctx->flags |= CTX_STARVED;
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
	count_opened(in, &work);
	if (work.n_steps)
		evidence_steps(lcore, packet_flow_id(lcore, in->ctx), span, &work);
	in->cold->named |= work.named;
	take_handshake_meta(in, &work);
	packet_flag_if(in->ctx, CTX_DECODED, !handshake_meta_pending(in->cold->meta));
	if (verdict.app == flow->app)
		return;
	classify_end(lcore->classifier, &flow->decoder_state);
	flow->flags &= (uint16_t) ~(FLOW_DECODED | FLOW_GAVEUP | FLOW_MONITORED);
	if (app_has_decoder(verdict.app) || in->cold->content)
		flow->flags |= FLOW_DECODED;
	flow->app = verdict.app;
	flow->signature = verdict.signature;
	flow->confidence = verdict.confidence;
	flow->decided_pkts = flow->n_data_pkts;
	app_usage_settle(lcore->apps, flow);
	both_ends_other_app(flow);
	in->ctx->flags |= CTX_UNDECIDED;
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

static void look_again(struct inspection *in, const struct span *span)
{
	again_look(in, span);
	if (flow_both_heard(in->flow))
		learned_from_parser(in);
}

// What a datagram says of its flow's ends, whatever the flow was taken for. False: there is nothing
// more to do for it.
static bool take_ends(struct inspection *in, const struct span *span)
{
	if (unlikely(!flow_both_heard(in->flow)) && in->flow->l4_proto == IPPROTO_UDP &&
		!ask_ends(in, span))
		return false;
	if (unlikely(in->cold->again.on))
		look_again(in, span);
	return true;
}

// Names that a TCP connection asks for beyond its first bytes. False: the span is not taken.
static bool take_names(struct inspection *in, const struct span *span)
{
	if (likely(in->cold->names.phase == NAMES_OVER && !in->cold->names.fresh))
		return true;
	if (unlikely(!inspect_names(in, span))) {
		in->ctx->flags |= CTX_STARVED;
		return false;
	}
	if (unlikely(in->cold->names.fresh && in->flow->flags & FLOW_APP_FINAL))
		inspect_names_apply(in);
	return true;
}

// What classification has read is fed before the span at hand; `seen` NULL: it is not known any
// more, and the content begins with the span. False: nobody asks for its content.
static bool begin_content(
	struct inspection *in, const struct span *span, const struct content_seen *seen)
{
	const struct decoder_sink sink = learned_sink(in);

	if (!inspect_content_begin(in, span, seen, &sink))
		return false;
	in->flow->flags |= FLOW_DECODED;
	decode(in, span); // who learns of others reads from this span on, too
	return true;
}

static void begin_announced(struct inspection *in)
{
	const struct decoder_sink sink = learned_sink(in);

	inspect_content_announced(in, &sink);
}

// What was announced and may be something else: its application is not found with this span, so it
// is fed to what was announced. Before, a file could be told, and refused, that is none.
static void feed_doubted(struct inspection *in, const struct span *span)
{
	if (!in->cold->content)
		begin_announced(in);
	if (in->cold->content && in->flow->flags & FLOW_DECODED)
		decode(in, span);
}

// What classification has read is fed before the span at hand, while the application is not final.
static void begin_early(
	struct inspection *in, const struct span *span, const struct content_seen *seen)
{
	const struct decoder_sink sink = learned_sink(in);

	if (!inspect_content_early(in, span, seen, &sink))
		return;
	in->flow->flags |= FLOW_DECODED;
	inspect_content(in, span, &sink);
}

// Of a flow whose application is not settled. Apart, as it needs much of the stack.
static __rte_noinline void classify(struct inspection *in, const struct span *span)
{
	struct lcore *lcore = in->lcore;
	struct flow *flow = in->flow;

	struct classify_verdict verdict = {
		.app = flow->app,
		.signature = flow->signature,
		.carrier = in->cold->carrier,
		.confidence = flow->confidence,
		.carrier_confidence = in->cold->carrier_confidence,
	};
	const struct classify_flow about = about_flow(in, span);
	struct classify_work work;
	struct handshake_meta meta;
	struct content_seen seen;

	if (unlikely(content_is_asked(lcore)))
		inspect_content_seen(in, &seen);
	begin_work(in, &work, &meta);
	classify_feed(lcore->classifier, lcore->policy->edition, lcore->policy->user_apps, &about,
		span, &flow->classify_state, &verdict, &work);
	lcore->stats.classify_pkts++;
	lcore->stats.classify_scans += work.scans;
	lcore->stats.classify_hits += work.hits;
	lcore->stats.classify_refused += work.refused;
	lcore->stats.classify_nomem += work.left_out;
	count_opened(in, &work);
	if (work.n_steps)
		evidence_steps(lcore, packet_flow_id(lcore, in->ctx), span, &work);
	// Never unlooked at where the policy asks for the application: TCP will send it again, and
	// by then another flow may have given its state back.
	if (verdict.nomem && lcore->policy->enforces_app && !(flow->flags & FLOW_ALLOWED)) {
		packet_evidence(lcore, in->ctx, EVIDENCE_NO_STATE)->detail = true;
		in->cold->report.dropped |= 1 << STREAM_TARGET_CLASSIFY_STATES;
		lcore->stats.classify_nomem++;
		in->ctx->flags |= CTX_STARVED;
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
	if (verdict.app != flow->app || verdict.confidence != flow->confidence ||
		verdict.carrier_confidence != in->cold->carrier_confidence || verdict.final)
		in->ctx->flags |= CTX_UNDECIDED;
	flow->app = verdict.app;
	flow->signature = verdict.signature;
	flow->confidence = verdict.confidence;
	in->cold->carrier = verdict.carrier;
	in->cold->carrier_confidence = verdict.carrier_confidence;
	if (verdict.n_data_pkts)
		flow->decided_pkts = flow->n_data_pkts;
	take_handshake_meta(in, &work);
	if (!verdict.final) {
		note_asked(in, span);
		if (unlikely(content_is_asked(lcore))) {
			if (in->doubted)
				feed_doubted(in, span);
			begin_early(in, span, &seen);
		}
		if (unlikely(lcore->policy->edits_content) && content_is_asked(lcore))
			inspect_content_scout(in, span, &seen);
		return;
	}
	flow_life_step(flow, FLOW_STEP_CLASSIFY);
	bool again = again_settled(lcore, in->ctx->ref, span->half & 1);

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
	if (again)
		look_again(in, span);
	if (unlikely(content_is_asked(lcore)) && begin_content(in, span, &seen))
		return;
	if (unlikely(in->cold->content) && flow_content_scouts(lcore, in->ctx->ref))
		flow_content_end(lcore, in->ctx->ref); // nobody asks any more
	if (!app_has_decoder(flow->app))
		return;
	// What classification has read belongs to the decoder, too: begin with this span.
	flow->flags |= FLOW_DECODED;
	if (!app_get(flow->app)->decodes_for_others)
		packet_evidence(lcore, in->ctx, EVIDENCE_DECODER)->app = flow->app;
	decode(in, span);
}

// First, as it may not take the span, which then comes again to all. False: nothing decodes it, or
// only once it is classified.
static __rte_noinline bool consume_content(struct inspection *in, const struct span *span)
{
	if (inspect_content_doubts(in, span))
		return false;
	if (!in->cold->content && in->cold->expected != EXPECT_NONE &&
		!(in->flow->flags & FLOW_APP_FINAL))
		begin_announced(in);
	if (!in->cold->content)
		return false;
	if (in->flow->flags & FLOW_DECODED)
		feed_content(in, span);
	return true;
}

static void consume(struct inspection *in, const struct span *span)
{
	const struct flow *flow = in->flow;
	bool content = false;

	if (unlikely(content_is_asked(in->lcore))) {
		content = consume_content(in, span);
		if (in->ctx->flags & (CTX_STARVED | CTX_LATER))
			return;
	}
	if (flow->l4_proto == IPPROTO_TCP ? !take_names(in, span) : !take_ends(in, span))
		return;
	if (flow->flags & FLOW_APP_FINAL && hears(in, span))
		hear(in, span);
	if (!(flow->flags & FLOW_APP_FINAL))
		classify(in, span);
	else if (flow->flags & FLOW_DECODED && likely(!content))
		decode(in, span);
	else if (content && is_fed_beside(in)) // who learns of others: now the ends are heard
		feed_decoder(in, span);
}

// Its ends speak something else than the flow was taken for.
static __rte_noinline void overhear(struct inspection *in, const struct span *span)
{
	bool known = in->flow->flags & FLOW_APP_FINAL;
	struct content_seen seen;

	if (in->ctx->flags & (CTX_STARVED | CTX_LATER) || !inspect_overhear(in, span))
		return;
	if (!known)
		inspect_content_seen(in, &seen);
	inspect_overhear_take(in);
	begin_content(in, span, known ? NULL : &seen);
}

void inspect_decoder(struct inspection *in, const struct span *span)
{
	feed_decoder(in, span);
}

void inspect_fin(struct inspection *in, const struct span *span)
{
	if (in->flow->flags & FLOW_DECODED)
		decode(in, span);
}

void inspect_span(struct inspection *in, const struct span *span)
{
	const struct stream_tap *tap = in->lcore->tap;

	if (unlikely(content_is_asked(in->lcore)))
		inspect_overhear_begin(in, span);
	consume(in, span);
	if (unlikely(overhear_goes_on(in->cold->overhear)))
		overhear(in, span);
	// what starves is not taken, and comes again
	if (unlikely(tap != NULL) && span->extent && !(span->flags & SPAN_DATAGRAM) &&
		!(in->ctx->flags & (CTX_STARVED | CTX_LATER)))
		tap->span(tap->ctx, in->lcore, in->ctx->ref, span);
}

// Bytes of a segment, one span for each mbuf segment that they lie in; but what a classifier
// keeps of them in one piece, as it would be in a larger buffer: where a driver cuts a packet must
// not change what it is taken for. Behind one that is not taken the others wait, too: the packet
// comes again as a whole, and what decoders have not read of it must not seem to be missing.
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
	for (; m && length && !(in->ctx->flags & (CTX_STARVED | CTX_LATER)); m = m->next) {
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
