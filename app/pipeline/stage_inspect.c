// SPDX-License-Identifier: BSD-3-Clause
// Stages of a flow that is not decided for good: reload, checksum, stream and classification.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <string.h>
#include "checksum.h"
#include "flow_event.h"
#include "hold.h"
#include "inspect.h"
#include "walk.h"

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

struct inspection {
	struct lcore *lcore;
	struct walk *walk;
	struct flow *flow;
	struct flow_cold *cold;
};

static void expect_from_decoder(void *ctx, const struct expectation *expectation)
{
	expect_add(ctx, expectation, true);
}

static void consume(const struct inspection *in, const struct span *span)
{
	struct lcore *lcore = in->lcore;
	struct flow *flow = in->flow;

	if (flow->flags & FLOW_DECODED) {
		const struct decoder_sink sink = {.expect = expect_from_decoder, .ctx = lcore};

		decoder_feed(lcore->classifier, flow->app, &in->cold->ends, span,
			&flow->decoder_state, &sink);
		return;
	}
	if (flow->flags & FLOW_APP_FINAL)
		return;
	struct classify_verdict verdict = {
		.app = flow->app,
		.signature = flow->signature,
		.confidence = flow->confidence,
		.n_data_pkts = flow->decided_pkts,
	};
	const struct classify_flow about = {
		.ends = &in->cold->ends,
		.l4_proto = flow->l4_proto,
		.n_data_pkts = flow->n_data_pkts,
		// by half: a stray segment of one must not spoil the beginning of the other
		.midstream = span->flags & SPAN_MIDSTREAM,
		.c2s_from_inside = flow->flags & FLOW_C2S_INSIDE,
	};
	struct classify_work work; // large: its steps stay as they are

	memset(&work, 0, offsetof(struct classify_work, steps));

	classify_feed(lcore->classifier, lcore->policy->sigdb, lcore->policy->scratch[lcore->index],
		lcore->policy->user_apps, &about, span, &flow->classify_state, &verdict, &work);
	lcore->stats.classify_pkts++;
	lcore->stats.classify_scans += work.scans;
	lcore->stats.classify_hits += work.hits;
	lcore->stats.classify_refused += work.refused;
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
	if (verdict.app != flow->app || verdict.confidence != flow->confidence || verdict.final)
		in->walk->undecided = true;
	flow->app = verdict.app;
	flow->signature = verdict.signature;
	flow->confidence = verdict.confidence;
	flow->decided_pkts = verdict.n_data_pkts;
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

		evidence->detail = flow->n_data_pkts >= CLASSIFY_BUDGET_PKTS;
		evidence->length = flow->n_data_pkts;
	} else {
		lcore->stats.classify_done++;
	}
	if (!app_has_decoder(flow->app))
		return;
	// What classification has read belongs to the decoder, too: begin with this span.
	flow->flags |= FLOW_DECODED;
	walk_evidence(lcore, in->walk, EVIDENCE_DECODER)->app = flow->app;
	consume(in, span);
}

static void feed(const struct inspection *in, const struct span *span)
{
	const struct stream_tap *tap = in->lcore->tap;

	consume(in, span);
	// what starves is not taken, and comes again
	if (unlikely(tap != NULL) && span->length && !(span->flags & SPAN_DATAGRAM) &&
		!in->walk->starved)
		tap->span(tap->ctx, in->lcore, in->walk->ref, span);
}

// New bytes of a segment, one span for each mbuf segment that they lie in; but what a classifier
// keeps of them in one piece, as it would be in a larger buffer: where a driver cuts a packet must
// not change what it is taken for.
static void feed_payload(
	const struct inspection *in, uint32_t skip, struct span span, uint32_t length)
{
	const struct rte_mbuf *m = in->walk->m;
	uint32_t offset = in->walk->pkt->payload_off + skip;
	uint8_t start[CLASSIFY_PREFIX_BYTES];

	if (offset + length > m->data_len && !(in->flow->flags & FLOW_APP_FINAL)) {
		span.length = RTE_MIN(length, (uint32_t)sizeof(start));
		span.bytes = rte_pktmbuf_read(m, offset, span.length, start);
		if (!span.bytes)
			return; // pkt_len promises more than the segments hold
		feed(in, &span);
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
		feed(in, &span);
		span.offset64 += here;
		length -= here;
		offset = 0;
	}
}

// Segments that bring nothing new count, too: the budget of classification is hard.
static void feed_nothing(const struct inspection *in, const struct span *span)
{
	if (in->flow->n_data_pkts >= CLASSIFY_BUDGET_PKTS &&
		!(in->flow->flags & (FLOW_APP_FINAL | FLOW_DECODED)))
		feed(in, span);
}

static void note_gap(const struct inspection *in, const struct span *gap)
{
	bool first = !in->cold->report.half[gap->half].gaps;

	in->lcore->stats.tcp_gaps++;
	in->lcore->stats.tcp_gap_bytes += gap->length;
	stream_report_gap(&in->cold->report, gap->half, gap->length);
	flow_event_anomaly(in->lcore, in->walk->ref, in->walk->m, ANOMALY_GAP, gap->offset64,
		gap->length, gap->half);
	if (!first)
		return;
	struct evidence *evidence = walk_evidence(in->lcore, in->walk, EVIDENCE_GAP);

	evidence->half = gap->half;
	evidence->offset = gap->offset64;
	evidence->length = gap->length;
}

// False: the segment lies where no receiver takes it.
static bool inspect_tcp(const struct inspection *in)
{
	const struct pkt *pkt = in->walk->pkt;
	unsigned half = in->walk->half;
	struct stream_half *stream = &in->cold->half[half].stream, before = *stream;
	uint32_t seq = pkt->tcp_seq + !!(pkt->tcp_flags & TH_SYN);

	// where a half begins is known when its other end has acknowledged it
	if (pkt->tcp_flags & TH_SYN &&
		!(in->flow->seen[half] & SEEN_ACKED && stream->flags & STREAM_STARTED))
		stream_syn(stream, pkt->tcp_seq);
	if (!pkt->payload_len || pkt->tcp_flags & TH_RST)
		return true;
	struct stream_take take = stream_segment(stream, seq, pkt->payload_len);
	struct span span = {.half = (uint8_t)half, .offset64 = take.offset64};

	if (stream->flags & STREAM_MIDSTREAM) {
		span.flags |= SPAN_MIDSTREAM;
		in->cold->report.midstream |= (uint8_t)(1 << half);
	}
	if (take.ahead)
		in->lcore->stats.tcp_ahead_pkts++;
	else if (!take.length)
		in->lcore->stats.tcp_old_pkts++;
	if (unlikely(in->lcore->tap != NULL) && !take.ahead && !take.refused &&
		take.length < pkt->payload_len)
		in->lcore->tap->overlap(in->lcore->tap->ctx, in->lcore, in->walk->ref, half,
			pkt->payload_len - take.length, 0);
	if (take.gap) {
		struct span gap = span;

		gap.flags |= SPAN_GAP;
		gap.offset64 -= take.gap;
		gap.length = take.gap;
		note_gap(in, &gap);
		feed(in, &gap);
	}
	if (take.length)
		feed_payload(in, take.skip, span, take.length);
	else
		feed_nothing(in, &span);
	if (in->walk->starved)
		*stream = before; // it does not leave, so it was not taken
	return !take.refused;
}

static void inspect_datagram(const struct inspection *in)
{
	const struct pkt *pkt = in->walk->pkt;
	unsigned half = in->walk->half;
	struct stream_half *stream = &in->cold->half[half].stream;
	uint8_t buffer[CLASSIFY_PREFIX_BYTES];
	uint32_t length = pkt->payload_len;

	if (!length)
		return;
	// a datagram is looked at in one piece; over several mbuf segments, its start is
	if (pkt->payload_off + length > in->walk->m->data_len && length > sizeof(buffer))
		length = sizeof(buffer);
	const struct span span = {
		.offset64 = stream->offset64,
		.bytes = rte_pktmbuf_read(in->walk->m, pkt->payload_off, length, buffer),
		.length = length,
		.half = (uint8_t)half,
		.flags = SPAN_DATAGRAM,
	};

	stream->offset64 += pkt->payload_len;
	if (span.bytes)
		feed(in, &span);
}

enum verdict stage_inspect(struct lcore *lcore, struct walk *walk)
{
	if (!walk_has_flow(walk) || !(walk->pkt->flags & PKT_L4_OK))
		return VERDICT_PASS;
	const struct inspection in = {
		.lcore = lcore,
		.walk = walk,
		.flow = flow_at(lcore->flows, walk->ref),
		.cold = flow_cold_at(lcore->flows, walk->ref),
	};

	if (in.flow->l4_proto != IPPROTO_TCP) {
		inspect_datagram(&in);
	} else if (!inspect_tcp(&in) && lcore->policy->enforces &&
		   !(in.flow->flags & FLOW_ALLOWED)) {
		// what does not enter our stream does not leave
		walk->reason = DROP_NOT_TAKEN;
		return VERDICT_DROP;
	}
	if (walk->starved) {
		if (in.flow->n_data_pkts < UINT8_MAX)
			in.flow->n_data_pkts--; // nor does it count against the budget
		walk->reason = DROP_UNCLASSIFIED;
		return VERDICT_DROP;
	}
	return VERDICT_PASS;
}

void inspect_resume(struct lcore *lcore, uint32_t ref, unsigned half)
{
	// the in-order provider keeps no packet
	(void)lcore;
	(void)ref;
	(void)half;
}
