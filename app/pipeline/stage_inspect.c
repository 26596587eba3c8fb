// SPDX-License-Identifier: BSD-3-Clause
// Stages of a flow that is not decided for good: reload, checksum, stream and classification.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <string.h>
#include "checksum.h"
#include "flow_event.h"
#include "inspect.h"
#include "inspect_learned.h"

// The first packet after a reload, or after a time window has opened or closed, decides again on
// the stored application.
enum verdict stage_reload(struct lcore *lcore, struct walk *walk)
{
	bool again = lcore->policy->reevaluate == REEVALUATE_ALL;

	if (walk_has_flow(walk)) {
		struct flow *flow = flow_at(lcore->flows, walk->ref);

		if (flow->policy_epoch == lcore->epoch)
			return VERDICT_PASS;
		flow->policy_epoch = lcore->epoch;
		if (!again && !(flow->flags & FLOW_OPERATOR))
			return VERDICT_PASS;
		flow->flags &= (uint16_t) ~(FLOW_FINAL | FLOW_MONITORED | FLOW_OPERATOR);
	} else {
		struct flow_stub *stub = flow_stub_at(lcore->flows, walk->ref);

		if (stub->policy_epoch == lcore->epoch)
			return VERDICT_PASS;
		stub->policy_epoch = lcore->epoch;
		if (!again)
			return VERDICT_PASS;
		stub->flags &= (uint16_t)~FLOW_MONITORED;
	}
	if (!walk->undecided) {
		lcore->stats.decisions_again++;
		walk->again = true;
	}
	walk->undecided = true;
	return VERDICT_PASS;
}

enum verdict stage_final(struct lcore *lcore, struct walk *walk)
{
	bool final = walk_has_flow(walk) && flow_at(lcore->flows, walk->ref)->flags & FLOW_FINAL;

	return final ? VERDICT_SEND : VERDICT_PASS;
}

// A bad L4 checksum is never inspected, queued or counted on a flow (insertion: the receiver would
// not see those bytes). No host accepts it, so its rule is that of `malformed`.
enum verdict stage_checksum(struct lcore *lcore, struct walk *walk)
{
	if (walk_has_flow(walk)) {
		const struct flow *flow = flow_at(lcore->flows, walk->ref);

		// what opens or ends a connection counts on a final flow, too
		bool plain = walk->pkt->l4_proto != IPPROTO_TCP ||
			     !(walk->pkt->tcp_flags & (TH_SYN | TH_FIN | TH_RST));

		if (plain && flow->flags & FLOW_FINAL && flow->policy_epoch == lcore->epoch)
			return VERDICT_PASS;
	}
	if (walk_checksum_good(lcore, walk))
		return VERDICT_PASS;
	lcore->stats.bad_checksum_pkts++;
	return walk_invalid(lcore, walk, DROP_BAD_CHECKSUM, lcore->policy->malformed);
}

bool mbuf_checksum_good(struct lcore *lcore, struct rte_mbuf *m)
{
	const struct pkt *pkt = pkt_of(m);

	if (pkt->flags & PKT_CSUM_IGNORE)
		return true;
	if (!(pkt->flags & (PKT_CSUM_GOOD | PKT_CSUM_BAD)) && checksum_verify(m))
		lcore->stats.checksum_verified_pkts++;
	return !(pkt->flags & PKT_CSUM_BAD);
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
	};

	if (decoder_feed(lcore->classifier, flow->app, &in->cold->ends, span, &flow->decoder_state,
		    &sink) != DECODER_DONE)
		return;
	flow->flags &= (uint16_t)~FLOW_DECODED;
	classify_end(lcore->classifier, &flow->decoder_state);
	in->walk->decoded = true;
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
	};
}

// `work` is large: its steps, and the greeting, stay as they are.
static void begin_work(
	const struct inspection *in, struct classify_work *work, struct greeting *greeting)
{
	memset(work, 0, offsetof(struct classify_work, steps));
	work->greeting = in->lcore->dp->limits.greetings ? greeting : NULL;
	work->greeting_phase = in->cold->greeting;
}

static void take_greeting(struct inspection *in, const struct classify_work *work)
{
	in->cold->greeting = work->greeting_phase;
	in->lcore->stats.greetings_nomem += work->greeting_nomem;
	if (work->greeted)
		flow_event_greeting(in->lcore, in->walk->ref, work->greeting,
			greeting_pending(work->greeting_phase));
}

// The application is known, but not yet all that its ends say of themselves.
static void hear(struct inspection *in, const struct span *span)
{
	struct lcore *lcore = in->lcore;
	const struct classify_flow about = about_flow(in, span);
	struct classify_work work;
	struct greeting greeting;

	begin_work(in, &work, &greeting);
	classify_listen(lcore->classifier, &about, span, &in->flow->classify_state, &work);
	lcore->stats.classify_quic_tried += work.quic_tried;
	lcore->stats.classify_quic_opened += work.quic_opened;
	take_greeting(in, &work);
	in->walk->decoded |= !greeting_pending(in->cold->greeting);
}

static void consume(struct inspection *in, const struct span *span)
{
	struct lcore *lcore = in->lcore;
	struct flow *flow = in->flow;

	if (flow->flags & FLOW_APP_FINAL && greeting_pending(in->cold->greeting))
		hear(in, span);
	if (flow->flags & FLOW_DECODED) {
		decode(in, span);
		return;
	}
	if (flow->flags & FLOW_APP_FINAL)
		return;
	struct classify_verdict verdict = {
		.app = flow->app,
		.signature = flow->signature,
		.confidence = flow->confidence,
	};
	const struct classify_flow about = about_flow(in, span);
	struct classify_work work;
	struct greeting greeting;

	begin_work(in, &work, &greeting);
	classify_feed(lcore->classifier, lcore->policy->edition, lcore->policy->user_apps, &about,
		span, &flow->classify_state, &verdict, &work);
	lcore->stats.classify_pkts++;
	lcore->stats.classify_scans += work.scans;
	lcore->stats.classify_hits += work.hits;
	lcore->stats.classify_refused += work.refused;
	lcore->stats.classify_quic_tried += work.quic_tried;
	lcore->stats.classify_quic_opened += work.quic_opened;
	if (work.n_steps)
		evidence_steps(lcore, walk_flow_id(lcore, in->walk), span, &work);
	// Never unlooked at where the policy asks for the application: TCP will send it again, and
	// by then another flow may have given its state back.
	if (verdict.nomem && lcore->policy->enforces_app && !(flow->flags & FLOW_ALLOWED)) {
		walk_evidence(lcore, in->walk, EVIDENCE_NO_STATE)->detail = true;
		in->cold->report.dropped |= 1 << STREAM_TARGET_CLASSIFY_STATES;
		lcore->stats.classify_nomem++;
		in->walk->starved = true;
		return;
	}
	learned_apply(in, span, &work, &verdict);
	if (verdict.app != flow->app || verdict.confidence != flow->confidence || verdict.final)
		in->walk->undecided = true;
	flow->app = verdict.app;
	flow->signature = verdict.signature;
	flow->confidence = verdict.confidence;
	if (verdict.n_data_pkts)
		flow->decided_pkts = flow->n_data_pkts;
	take_greeting(in, &work);
	if (!verdict.final)
		return;
	flow->flags |= FLOW_APP_FINAL;
	app_usage_settle(lcore->apps, flow);
	if (verdict.nomem) {
		flow->flags |= FLOW_NOMEM;
		in->cold->report.ignored |= 1 << STREAM_TARGET_CLASSIFY_STATES;
		lcore->stats.classify_nomem++;
		walk_evidence(lcore, in->walk, EVIDENCE_NO_STATE);
	} else if (verdict.gaveup) {
		flow->flags |= FLOW_GAVEUP;
		lcore->stats.classify_giveup++;
		struct evidence *evidence = walk_evidence(lcore, in->walk, EVIDENCE_GIVE_UP);

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
		walk_evidence(lcore, in->walk, EVIDENCE_DECODER)->app = flow->app;
	decode(in, span);
}

void inspect_span(struct inspection *in, const struct span *span)
{
	const struct stream_tap *tap = in->lcore->tap;

	consume(in, span);
	// what starves is not taken, and comes again
	if (unlikely(tap != NULL) && span->length && !(span->flags & SPAN_DATAGRAM) &&
		!in->walk->starved)
		tap->span(tap->ctx, in->lcore, in->walk->ref, span);
}

// Bytes of a segment, one span for each mbuf segment that they lie in; but what a classifier
// keeps of them in one piece, as it would be in a larger buffer: where a driver cuts a packet must
// not change what it is taken for.
void inspect_payload(struct inspection *in, struct span span, uint32_t offset)
{
	const struct rte_mbuf *m = in->walk->m;
	uint32_t length = span.length;
	uint8_t start[CLASSIFY_PREFIX_BYTES];

	bool looked_at =
		!(in->flow->flags & FLOW_APP_FINAL) || greeting_pending(in->cold->greeting);

	if (offset + length > m->data_len && looked_at) {
		span.length = RTE_MIN(length, (uint32_t)sizeof(start));
		span.bytes = rte_pktmbuf_read(m, offset, span.length, start);
		if (!span.bytes)
			return; // pkt_len promises more than the segments hold
		inspect_span(in, &span);
		span.offset64 += span.length;
		offset += span.length;
		length -= span.length;
	}
	for (; m && length; m = m->next) {
		if (offset >= m->data_len) {
			offset -= m->data_len;
			continue;
		}
		uint32_t here = m->data_len - offset < length ? m->data_len - offset : length;

		span.bytes = rte_pktmbuf_mtod_offset(m, const uint8_t *, offset);
		span.length = here;
		inspect_span(in, &span);
		span.offset64 += here;
		length -= here;
		offset = 0;
	}
}

static void inspect_datagram(struct inspection *in)
{
	const struct pkt *pkt = in->walk->pkt;
	unsigned half = in->walk->half;
	uint64_t *offset64 = &in->cold->half[half].offset64;
	uint8_t buffer[CLASSIFY_PREFIX_BYTES];
	uint32_t length = pkt->payload_len;

	if (!length)
		return;
	// a datagram is looked at in one piece; over several mbuf segments, its start is
	if (pkt->payload_off + length > in->walk->m->data_len && length > sizeof(buffer))
		length = sizeof(buffer);
	const struct span span = {
		.offset64 = *offset64,
		.bytes = rte_pktmbuf_read(in->walk->m, pkt->payload_off, length, buffer),
		.length = length,
		.half = (uint8_t)half,
		.flags = SPAN_DATAGRAM,
	};

	*offset64 += pkt->payload_len;
	if (span.bytes)
		inspect_span(in, &span);
}

enum verdict stage_inspect(struct lcore *lcore, struct walk *walk)
{
	if (!walk_has_flow(walk) || !(walk->pkt->flags & PKT_L4_OK))
		return VERDICT_PASS;
	struct flow *flow = flow_at(lcore->flows, walk->ref);
	enum verdict verdict = VERDICT_PASS;

	if (flow->l4_proto == IPPROTO_TCP) {
		verdict = inspect_tcp(lcore, walk);
	} else {
		struct inspection in = {
			.lcore = lcore,
			.walk = walk,
			.flow = flow,
			.cold = flow_cold_at(lcore->flows, walk->ref),
		};

		inspect_datagram(&in);
	}
	if (walk->starved) {
		walk->reason = DROP_UNCLASSIFIED;
		verdict = VERDICT_DROP;
	}
	if (verdict == VERDICT_DROP && walk->reason == DROP_UNCLASSIFIED &&
		flow->n_data_pkts < UINT8_MAX)
		flow->n_data_pkts--; // nor does it count against the budget
	return verdict;
}
