// SPDX-License-Identifier: BSD-3-Clause
// Reports what the tracker found: counters, anomalies, gauges, a look at a flow's halves.
#include "pipeline/stage/inspect_report.h"
#include <netinet/tcp.h>
#include "pipeline/event/flow_event.h"
#include "pipeline/stage/hold.h"
#include "pipeline/stage/inspect_track.h"

static void count_limit(struct stats *stats, enum stream_target target)
{
	switch (target) {
	case STREAM_TARGET_REASSEMBLY_MEMORY: stats->tcp_memory_drops++; break;
	case STREAM_TARGET_HALF_LIMIT: stats->tcp_half_limit_drops++; break;
	case STREAM_TARGET_HELD_LIMIT: stats->tcp_held_limit_drops++; break;
	default: break;
	}
}

static void count(struct lcore *lcore, const struct pkt *pkt, const struct track_result *result)
{
	struct stats *stats = &lcore->stats;

	stats->tcp_ahead_pkts += result->ahead;
	stats->tcp_old_pkts += pkt->payload_len && !result->ahead && !result->taken &&
			       result->verdict == TRACK_FORWARD;
	stats->tcp_overlap_pkts += result->known > 0;
	stats->tcp_conflict_pkts += result->differ > 0;
	stats->tcp_conflict_bytes += result->differ;
	stats->tcp_rewritten_pkts += result->rewritten && result->differ;
	stats->tcp_edited_pkts += result->edited > 0;
	stats->tcp_edited_bytes += result->edited;
	stats->tcp_paws_pkts += result->paws;
	stats->tcp_window_pkts += result->refused && !result->paws;
	if (result->copied) {
		stats->tcp_copied_pkts++;
		stats->tcp_copied_bytes += pkt->payload_len;
	}
	stats->tcp_absorbed_pkts += result->verdict == TRACK_ABSORBED;
	stats->tcp_held_pkts += result->verdict == TRACK_HELD;
	if (result->full && result->verdict == TRACK_DROP)
		count_limit(stats, result->target);
}

// The offset of a number that is within 2^31 of the next one; 0 before the first byte.
static uint64_t offset_of(const struct tcp_half *half, uint32_t seq)
{
	int64_t offset = (int64_t)half->next + (int32_t)(seq - half_seq(half, half->next));

	return offset < 0 ? 0 : (uint64_t)offset;
}

// What its receiver would not take, or challenge; and what found no room.
static void note_anomalies(struct lcore *lcore, const struct packet_ctx *ctx,
	const struct tcp_half *half, uint64_t expected, const struct track_result *result)
{
	const struct pkt *pkt = ctx->pkt;
	uint64_t offset = offset_of(half, pkt->tcp_seq + !!(pkt->tcp_flags & TH_SYN));
	enum anomaly anomaly;

	if (result->differ)
		flow_event_anomaly(lcore, ctx->ref, ctx->m, ANOMALY_OVERLAP_CONFLICT,
			result->differ_at, result->differ, ctx->half);
	if (result->paws)
		anomaly = ANOMALY_PAWS;
	else if (pkt->tcp_flags & TH_RST &&
		 (result->refused || (half->flags & HALF_STARTED && offset != expected)))
		anomaly = ANOMALY_RESET_CHALLENGE; // RFC 5961 section 3.2
	else if (result->refused)
		anomaly = ANOMALY_WINDOW;
	else if (result->full)
		anomaly = ANOMALY_LIMIT;
	else
		return;
	flow_event_anomaly(lcore, ctx->ref, ctx->m, anomaly, offset, pkt->payload_len, ctx->half);
}

// A half whose beginning was not seen.
static void note_midstream(
	struct lcore *lcore, const struct packet_ctx *ctx, struct flow_cold *cold)
{
	uint8_t bit = (uint8_t)(1 << ctx->half);

	// looked at again after it was decided: its beginning had been seen
	if (cold->report.midstream & bit || cold->half[ctx->half].late)
		return;
	cold->report.midstream |= bit;
	flow_event_anomaly(
		lcore, ctx->ref, ctx->m, ANOMALY_MIDSTREAM, 0, ctx->pkt->payload_len, ctx->half);
}

void inspect_report(const struct inspection *in, const struct tcp_track *track, uint64_t expected,
	const struct track_result *result)
{
	const struct packet_ctx *ctx = in->ctx;
	const struct tcp_half *half = &track->half[ctx->half];

	count(in->lcore, ctx->pkt, result);
	in->lcore->stats.tcp_closing_pkts += half->flags & HALF_CLOSING && ctx->pkt->payload_len;
	if (half->flags & HALF_MIDSTREAM)
		note_midstream(in->lcore, ctx, in->cold);
	note_anomalies(in->lcore, ctx, half, expected, result);
}

bool inspect_look(const struct lcore *lcore, uint32_t ref, unsigned half, struct stream_look *look)
{
	struct tcp_track *track = inspect_track(lcore, flow_cold_at(lcore->flows, ref));
	struct hold_summary hold;

	if (!track)
		return false;
	track_look(&track->half[half], look);
	if (hold_summary(lcore, ref, &hold))
		look->job_ns = hold.since_ns[half];
	return true;
}

void inspect_dropped(struct lcore *lcore, struct rte_mbuf *m, enum drop_reason reason)
{
	const struct pkt *pkt = pkt_of(m);

	if (reason != DROP_HELD_TIMEOUT || pkt->flow >= flow_table_usage(lcore->flows).flows_max)
		return;
	const struct flow *flow = flow_at(lcore->flows, pkt->flow);
	const struct tcp_track *track =
		flow->gen == pkt->flow_gen
			? inspect_track(lcore, flow_cold_at(lcore->flows, pkt->flow))
			: NULL;

	if (!track)
		return;
	bool initiator_is_a = flow->flags & FLOW_INITIATOR_IS_A;
	enum half half = !!(pkt->flags & PKT_A_TO_B) == initiator_is_a ? HALF_C2S : HALF_S2C;

	flow_event_anomaly(lcore, pkt->flow, m, ANOMALY_HELD_TIMEOUT,
		offset_of(&track->half[half], pkt->tcp_seq), pkt->payload_len, half);
}

unsigned inspect_held(const struct lcore *lcore)
{
	return lcore->tracker->n_held;
}

void inspect_publish(struct lcore *lcore)
{
	const struct tracker *tracker = lcore->tracker;
	struct stats *stats = &lcore->stats;

	stats->slab_blocks = tracker->slab.n;
	stats->slab_blocks_used = tracker->slab.used;
	stats->tracked_limit = tracker->limits.tracks;
	stats->tracked_active = tracker->limits.tracks - tracker->n_free;
	stats->tcp_held_limit = tracker->limits.held;
	stats->tcp_held_active = tracker->n_held;
	stats->tcp_holes_active = tracker->slab.copiers;
}
