// SPDX-License-Identifier: BSD-3-Clause
// Puts segments into the tracker and takes bytes in order out of it.
#include "pipeline/stage/inspect_tcp.h"
#include <netinet/tcp.h>
#include <string.h>
#include <rte_ip.h>
#include "pipeline/event/flow_event.h"
#include "pipeline/content/untaken.h"
#include "pipeline/stage/hold.h"
#include "pipeline/stage/refuse.h"
#include "pipeline/stage/inspect_content.h"
#include "pipeline/stage/inspect_payload.h"
#include "pipeline/stage/inspect_report.h"
#include "pipeline/stage/inspect_room.h"
#include "pipeline/stage/inspect_track.h"
#include "pipeline/wire/resegment.h"
#include "reassembly/seq.h"
#include "pipeline/egress/egress.h"
#include "reassembly/tcp_track.h"
#include "pipeline/event/stream_tap.h"

#define AGE_BUDGET 16 // connections whose held packets are looked at in one turn

// Bytes of a file under scan do not leave before those behind them are known, or it was looked at:
// from `gate64` on the half stands. True: it has a job.
static bool scanned(const struct inspection *in, unsigned half, uint64_t gate64)
{
	struct lcore *lcore = in->lcore;
	struct tcp_track *track;
	enum scan_since since = scan_files_since(lcore, in->ctx->ref, half);

	if (likely(since == SCAN_SINCE_NOTHING) || !inspect_enforces(lcore, in->flow) ||
		!(track = inspect_track(lcore, in->cold)))
		return false;
	track_gate(lcore->tracker, track, half, gate64);
	if (since != SCAN_SINCE_JOB)
		return false;
	track_process(track, half);
	return true;
}

// `left`: the span is of a copy, which has left ahead of a hole: what fills that waits, as does
// what has not left of the other half.
static bool scanned_both(const struct inspection *in, const struct span *span, bool left)
{
	const struct tcp_track *track = inspect_track(in->lcore, in->cold);
	unsigned half = span->half & 1;

	if (!track)
		return false;
	scanned(in, !half, track->half[!half].sent);
	return scanned(in, half, left ? track->half[half].sent : span->offset64);
}

static enum consumed consumed(struct inspection *in, const struct span *span, bool left)
{
	// before all else: what of a span goes on later may have ended a file by now
	bool scans = unlikely(in->lcore->scan_files != NULL) && scanned_both(in, span, left);

	if (unlikely(in->ctx->flags & (CTX_LATER | CTX_STARVED))) {
		enum consumed result =
			in->ctx->flags & CTX_LATER ? CONSUMED_LATER : CONSUMED_NOTHING;

		in->ctx->flags &= ~(uint32_t)(CTX_LATER | CTX_STARVED);
		return result;
	}
	if (scans)
		return CONSUMED_HOLD;
	if (!in->cold->hold || !inspect_enforces(in->lcore, in->flow))
		return CONSUMED;
	return hold_span(in->lcore, in->ctx, span) ? CONSUMED_HOLD : CONSUMED;
}

static void note_gap(const struct inspection *in, const struct span *gap)
{
	struct stats *stats = &in->lcore->stats;

	stats->tcp_gaps++;
	stats->tcp_gap_bytes += gap->extent;
	flow_event_anomaly(in->lcore, in->ctx->ref, in->ctx->m, ANOMALY_GAP, gap->offset64,
		gap->extent, gap->half);
	if (in->cold->report.half[gap->half].gaps > 1)
		return; // the first is evidence enough
	struct evidence *evidence = packet_evidence(in->lcore, in->ctx, EVIDENCE_GAP);

	evidence->half = gap->half;
	evidence->offset = gap->offset64;
	evidence->length = gap->extent;
}

static uint8_t one_more(uint8_t n)
{
	return n < UINT8_MAX ? (uint8_t)(n + 1) : n;
}

static void count_taken(struct flow *flow, struct flow_half *half, uint32_t bytes)
{
	bytes += half->taken_bytes;
	flow->taken_pkts = one_more(flow->taken_pkts);
	half->taken_bytes = bytes < TAKEN_BYTES ? (uint8_t)bytes : 0;
	if (bytes < TAKEN_BYTES)
		flow->taken_small = one_more(flow->taken_small);
}

// What could not be looked at does not count against the budget.
struct taken {
	uint8_t pkts, small, bytes;
};

static struct taken taken_before(const struct inspection *in, unsigned half)
{
	return (struct taken){
		.pkts = in->flow->taken_pkts,
		.small = in->flow->taken_small,
		.bytes = in->cold->half[half].taken_bytes,
	};
}

static enum consumed counted(const struct inspection *in, unsigned half, const struct taken *before,
	enum consumed result)
{
	if (unlikely(result >= CONSUMED_NOTHING)) {
		in->flow->taken_pkts = before->pkts;
		in->flow->taken_small = before->small;
		in->cold->half[half].taken_bytes = before->bytes;
	}
	return result;
}

static enum consumed take(void *ctx, const struct span *span)
{
	struct inspection *in = ctx;
	const struct taken before = taken_before(in, span->half);

	if (span->flags & SPAN_FIN) {
		inspect_fin(in, span);
		return consumed(in, span, false);
	}
	if (span_is_gap(span))
		note_gap(in, span);
	else
		count_taken(in->flow, &in->cold->half[span->half], span_length(span));
	inspect_span(in, span);
	return counted(in, span->half, &before, consumed(in, span, true));
}

static enum consumed take_packet(void *ctx, const struct span *span, struct payload bytes)
{
	struct inspection *in = ctx;
	const struct taken before = taken_before(in, span->half);

	if (!in->counted)
		count_taken(in->flow, &in->cold->half[span->half], in->ctx->pkt->payload_len);
	in->counted = true;
	if (unlikely(in->cold->content))
		content_come_again(in->lcore, in->ctx->ref, span, bytes);
	inspect_payload(in, *span, bytes.at);
	enum consumed result = counted(in, span->half, &before, consumed(in, span, false));

	if (unlikely(result >= CONSUMED_NOTHING && in->cold->content))
		content_untaken(in->lcore, in->ctx->ref, span, bytes);
	return result;
}

// The receiver learns what a held packet says of the other half.
static void acknowledge(struct lcore *lcore, struct rte_mbuf *held, uint32_t seq)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(lcore->pool);

	if (!m) {
		lcore->stats.make_nomem++;
		return;
	}
	const struct pkt *from = pkt_of(held);
	struct pkt *pkt = pkt_of(m);

	memset(pkt, 0, sizeof(*pkt));
	pkt->flow = PKT_FLOW_NONE;
	pkt->flags = PKT_INJECTED;
	pkt->in_port = from->in_port;
	pkt->link = from->link;
	if (segment_ack(m, held, seq)) {
		rte_pktmbuf_free(m);
		return;
	}
	lcore->stats.tcp_acks_made++;
	egress_inject(lcore, m, from->flow, EGRESS_INJECTED_FLOW);
}

// A bypass that the policy asks for where room ends: nothing looks at the flow any more.
static void waive(struct inspection *in)
{
	in->lcore->stats.flows_law_waived++;
	if (!(in->flow->flags & FLOW_APP_FINAL))
		flow_life_step(in->flow, FLOW_STEP_CLASSIFY);
	in->flow->flags = (uint16_t)((in->flow->flags | FLOW_GAVEUP) & ~FLOW_DECODED);
	in->cold->meta = HANDSHAKE_META_OVER;
	names_follow_end(in->lcore->name_heads, &in->cold->names);
	in->ctx->flags |= CTX_UNDECIDED;
}

static void settle_later(struct inspection *in, struct tcp_track *track)
{
	// at the next packet that gets so far
	track->undecided |= !!(in->ctx->flags & (CTX_UNDECIDED | CTX_DECODED));
}

static enum verdict obey(
	struct inspection *in, struct tcp_track *track, const struct track_result *result)
{
	struct lcore *lcore = in->lcore;
	struct rte_mbuf *m = in->ctx->m;

	switch (result->verdict) {
	case TRACK_FORWARD: return VERDICT_PASS;
	case TRACK_DROP:
		settle_later(in, track);
		in->ctx->reason = result->reason;
		return VERDICT_DROP;
	case TRACK_ABSORBED:
	case TRACK_HELD:
		settle_later(in, track);
		if (result->ack_due)
			acknowledge(lcore, m, result->ack_seq);
		return result->verdict == TRACK_ABSORBED ? VERDICT_CONSUMED : VERDICT_TAKEN;
	}
	return VERDICT_PASS;
}

static bool came_astray(
	const struct lcore *lcore, const struct flow *flow, const struct packet_ctx *ctx)
{
	bool inside = ctx->pkt->flags & PKT_FROM_INSIDE;
	bool should = !!(flow->flags & FLOW_C2S_INSIDE) == (ctx->half == HALF_C2S);

	return !lcore->inside_is_initiator && inside != should;
}

// RFC 7323 section 2.2: only if both SYNs have the option.
static uint8_t scale_of(const struct flow_cold *cold, unsigned half)
{
	uint8_t own = cold->half[half].window_scale, other = cold->half[!half].window_scale;

	return own == WINDOW_SCALE_NONE || other == WINDOW_SCALE_NONE ? 0 : own;
}

// Nobody will say what arrived of this half. A connection that has begun has another side, and what
// it has not answered yet is no reason to go on behind a hole.
static bool is_one_sided(const struct inspection *in, bool law)
{
	unsigned half = in->ctx->half;

	if (likely(in->flow->pkts[!half]))
		return false;
	return !law || !in->cold->half[half].has_start ||
	       in->lcore->dp->ports[in->ctx->pkt->in_port].one_way;
}

// Of a captured segment, what a snap length has taken off its end.
static uint32_t cut_bytes(const struct packet_ctx *ctx)
{
	const struct pkt *pkt = ctx->pkt;

	if (likely(!(pkt->flags & PKT_CAPTURED)) || ctx->m->data_len < pkt->payload_off)
		return 0;
	const uint8_t *ip = rte_pktmbuf_mtod_offset(ctx->m, const uint8_t *, pkt->l3_off);
	uint32_t length = pkt->flags & PKT_V6 ? (uint32_t)sizeof(struct rte_ipv6_hdr) +
							(uint32_t)(ip[4] << 8 | ip[5])
					      : (uint32_t)(ip[2] << 8 | ip[3]);
	uint32_t here = (uint32_t)(pkt->payload_off - pkt->l3_off) + pkt->payload_len;

	return length > here ? length - here : 0;
}

static struct tcp_segment segment_of(const struct inspection *in)
{
	const struct lcore *lcore = in->lcore;
	const struct flow *flow = in->flow;
	const struct packet_ctx *ctx = in->ctx;
	const struct pkt *pkt = ctx->pkt;
	struct segment_times times = segment_times(ctx->m, pkt);
	bool law = inspect_enforces(lcore, flow);

	return (struct tcp_segment){
		.m = ctx->m,
		.now_ns = lcore->now_ns,
		.seq = pkt->tcp_seq + !!(pkt->tcp_flags & TH_SYN),
		.ack = pkt->tcp_ack,
		.payload_at = pkt->payload_off,
		.length = pkt->payload_len,
		.cut = law ? 0 : cut_bytes(ctx),
		.tsval = times.value,
		.tsecr = times.echo,
		.window = pkt->tcp_win,
		.tcp_flags = pkt->tcp_flags,
		.half = (uint8_t)ctx->half,
		.scale = scale_of(in->cold, ctx->half),
		.has_timestamp = times.present,
		.one_sided = is_one_sided(in, law),
		.astray = came_astray(lcore, flow, ctx),
		.enforces = law,
		.rewrites = lcore->policy->tcp.conflict == TCP_CONFLICT_REWRITE,
		.resumed = ctx->flags & CTX_RESUMED,
		.passes_limits = lcore->policy->tcp.over_limit == TCP_OVER_LIMIT_PASS,
		.keep_whole = ctx->flags & CTX_VIEW,
		.unheard = !flow_both_heard(flow),
	};
}

// A SYN in it is of another connection, if of any (reuse.h).
static bool goes_on(const struct flow *flow, unsigned half)
{
	return flow_both_heard(flow) ||
	       (flow->flags & FLOW_MIDSTREAM && flow->pkts[half] > 1 && flow->pkts[!half]);
}

static void take_syn(struct inspection *in, struct tcp_track *track)
{
	struct flow_half *half = &in->cold->half[in->ctx->half];
	struct tcp_half *other = &track->half[!in->ctx->half];

	if (in->ctx->pkt->tcp_flags & TH_ACK && other->flags & HALF_STARTED &&
		in->ctx->pkt->tcp_ack == other->base)
		other->flags |= HALF_KNOWN;
	if (half->has_start && half->start_seq != in->ctx->pkt->tcp_seq + 1)
		track->half[in->ctx->half].flags |= HALF_DIFFER;
	// where a half begins is known when its other end has acknowledged it
	if (in->flow->seen[in->ctx->half] & SEEN_ACKED && half->has_start)
		return;
	if (goes_on(in->flow, in->ctx->half))
		return;
	if (track->half[in->ctx->half].flags & HALF_TAKEN)
		return;
	half->has_start = true;
	half->start_seq = in->ctx->pkt->tcp_seq + 1;
	track_syn(&track->half[in->ctx->half], in->ctx->pkt->tcp_seq);
}

// No state is free for a flow that the policy wants looked at.
static enum verdict untracked(struct inspection *in)
{
	struct stream_report *report = &in->cold->report;

	in->lcore->stats.tcp_not_tracked++;
	if (!inspect_enforces(in->lcore, in->flow)) {
		report->ignored |= 1 << STREAM_TARGET_TRACKED;
		return VERDICT_PASS;
	}
	if (in->lcore->policy->tcp.over_limit == TCP_OVER_LIMIT_PASS) {
		report->passed |= 1 << STREAM_TARGET_TRACKED;
		waive(in);
		return VERDICT_PASS;
	}
	report->dropped |= 1 << STREAM_TARGET_TRACKED;
	in->ctx->reason = DROP_STREAM_LIMIT;
	return in->ctx->pkt->payload_len ? VERDICT_DROP : VERDICT_PASS;
}

static struct tcp_track *tracked(struct inspection *in)
{
	struct tcp_track *track = inspect_track(in->lcore, in->cold);

	return likely(track) ? track : inspect_begin(in);
}

// Neither half is inspected any longer, and nothing of the flow is left to be decided.
static bool is_over(const struct inspection *in, const struct tcp_track *track)
{
	return track->half[0].flags & track->half[1].flags & HALF_FREE &&
	       !(in->ctx->flags & CTX_UNDECIDED) && !in->cold->refused.is &&
	       inspect_settled(in->lcore, in->ctx->ref);
}

enum verdict inspect_tcp(struct lcore *lcore, struct packet_ctx *ctx)
{
	struct inspection in = {
		.lcore = lcore,
		.ctx = ctx,
		.flow = flow_at(lcore->flows, ctx->ref),
		.cold = flow_cold_at(lcore->flows, ctx->ref),
	};
	const struct stream_consumer consumer = {take, take_packet, &in};
	struct tcp_track *track = tracked(&in);

	if (unlikely(in.cold->refused.is) && refuse_segment(lcore, ctx, in.flow, in.cold))
		return VERDICT_DROP;
	if (!track)
		return untracked(&in);
	if (unlikely(lcore->policy->edits_content | track->edits | track->edited) &&
		!inspect_edits(&in, track)) {
		ctx->reason = DROP_NOT_TAKEN;
		return VERDICT_DROP;
	}
	const struct pkt *pkt = ctx->pkt;

	if (pkt->tcp_flags & TH_SYN && !(pkt->tcp_flags & TH_RST)) {
		take_syn(&in, track);
		if (!pkt->payload_len)
			return VERDICT_PASS;
	}
	struct tcp_segment segment = segment_of(&in);
	uint64_t expected = track->half[ctx->half].next;
	struct track_result result = track_segment(lcore->tracker, track, &segment, &consumer);

	inspect_report(&in, track, expected, &result);
	if (unlikely(lcore->tap != NULL) && result.old)
		lcore->tap->overlap(
			lcore->tap->ctx, lcore, ctx->ref, ctx->half, result.old, result.differ);
	if (result.rewritten)
		segment_rewritten(ctx->m);
	if (result.waived)
		waive(&in);
	packet_flag_if(ctx, CTX_UNDECIDED, track->undecided);
	track->undecided = false;
	enum verdict verdict = obey(&in, track, &result);

	if (verdict == VERDICT_PASS && is_over(&in, track))
		flow_life_settle(in.flow);
	return verdict;
}

void inspect_finish(struct lcore *lcore, uint32_t ref)
{
	if (ref & FLOW_REF_STUB)
		return;
	struct packet_ctx ctx = packet_ctx_of(lcore, ref, 0);
	struct inspection in = {
		.lcore = lcore,
		.ctx = &ctx,
		.flow = flow_at(lcore->flows, ref),
		.cold = flow_cold_at(lcore->flows, ref),
	};
	const struct stream_consumer consumer = {take, take_packet, &in};
	struct tcp_track *track = inspect_track(lcore, in.cold);

	for (unsigned half = 0; track && half < 2; half++)
		track_finish(lcore->tracker, track, half, &consumer);
}

// Its sender may have said more since.
static void refresh(struct rte_mbuf *m, const struct tcp_half *half)
{
	const struct segment_newest newest = {
		.ack = half->newest_ack,
		.value = half->newest_tsval,
		.echo = half->newest_tsecr,
		.window = half->newest_window,
		.stamped = half->flags & HALF_STAMPED,
	};

	// of bytes that were acknowledged before, what it says was not heard
	if (half->flags & HALF_PACKET && !seq_lt(half->newest_ack, pkt_of(m)->tcp_ack))
		segment_refresh(m, &newest);
}

// Works off what the half has until a packet comes free. NULL: nothing more, or no budget.
static struct rte_mbuf *work_half(struct lcore *lcore, struct inspect_work *work)
{
	while (work->more && work->budget) {
		struct packet_ctx ctx = packet_ctx_of(lcore, work->ref, work->half);
		struct inspection in = {
			.lcore = lcore,
			.ctx = &ctx,
			.flow = flow_at(lcore->flows, work->ref),
			.cold = flow_cold_at(lcore->flows, work->ref),
		};
		const struct stream_consumer consumer = {take, take_packet, &in};

		inspect_owns(lcore, work->ref);
		work->budget--;
		struct rte_mbuf *m = track_work(lcore->tracker, work->track, work->half,
			lcore->now_ns, &consumer, &work->more);

		work->track->undecided |= !!(ctx.flags & (CTX_UNDECIDED | CTX_DECODED));
		if (m) {
			refresh(m, &work->track->half[work->half]);
			lcore->stats.tcp_released_pkts++;
			return m;
		}
		// a run of copies costs as much as that many packets
		if (work->more)
			work->budget -= RTE_MIN(work->budget, TRACK_DRAIN_BUDGET - 1u);
	}
	return NULL;
}

static bool begin_work(struct lcore *lcore, struct inspect_work *work)
{
	work->track = work->budget ? TAILQ_FIRST(&lcore->tracker->resuming) : NULL;
	if (!work->track)
		return false;
	work->ref = work->track->flow;
	work->gen = flow_at(lcore->flows, work->ref)->gen;
	work->half = HALF_C2S;
	work->more = true;
	return true;
}

static void end_work(struct lcore *lcore, struct inspect_work *work)
{
	struct tcp_track *track = work->track;
	struct tracker *tracker = lcore->tracker;

	TAILQ_REMOVE(&tracker->resuming, track, resuming);
	track->on_resuming = track_has_work(track);
	if (track->on_resuming)
		TAILQ_INSERT_TAIL(&tracker->resuming, track, resuming);
	work->track = NULL;
}

// What became of the last packet may have ended its flow, or its inspection.
static bool is_gone(const struct lcore *lcore, const struct inspect_work *work)
{
	return flow_at(lcore->flows, work->ref)->gen != work->gen ||
	       !flow_cold_at(lcore->flows, work->ref)->track;
}

struct rte_mbuf *inspect_release(struct lcore *lcore, struct inspect_work *work)
{
	if (work->track && is_gone(lcore, work))
		work->track = NULL; // it took itself off the list
	while (work->track || begin_work(lcore, work)) {
		struct rte_mbuf *m = work_half(lcore, work);

		if (m)
			return m;
		if (work->half == HALF_S2C) {
			end_work(lcore, work);
			continue;
		}
		work->half = HALF_S2C;
		work->more = true;
	}
	return NULL;
}

void inspect_age(struct lcore *lcore)
{
	lcore->stats.tcp_held_timeout_pkts += track_age(lcore->tracker, lcore->now_ns, AGE_BUDGET);
}
