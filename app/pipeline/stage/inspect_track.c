// SPDX-License-Identifier: BSD-3-Clause
// Begins and ends the tracking of a TCP flow.
#include "pipeline/stage/inspect_track.h"
#include "pipeline/content/flow_content.h"
#include "pipeline/stage/hold.h"
#include "reassembly/seq.h"

// What the flow knows of its halves' beginnings.
static void begin(struct tcp_track *track, const struct flow *flow, const struct flow_cold *cold)
{
	for (unsigned half = 0; half < 2; half++) {
		const struct flow_half *from = &cold->half[half];

		if (from->late) {
			// looked at again after it was not for a while: from where it is now
			if (!(flow->seen[half] & SEEN_RELEASED))
				continue;
			track_syn(&track->half[half], flow->released[half] - 1);
			track->half[half].flags |= HALF_MIDSTREAM;
		} else if (from->has_start) {
			track_syn(&track->half[half], from->start_seq - 1);
			if (flow->seen[half] & SEEN_ACKED)
				track->half[half].flags |= HALF_KNOWN;
			if (from->syns_differ)
				track->half[half].flags |= HALF_DIFFER;
			if (flow->seen[half] & SEEN_FIN_FIRST)
				track_fin_first(&track->half[half]);
		}
	}
}

struct tcp_track *inspect_begin(struct inspection *in)
{
	struct flow_cold *cold = in->cold;

	cold->track = track_take(in->lcore->tracker, in->ctx->ref, &cold->report);
	if (!cold->track)
		return NULL;
	struct tcp_track *track = inspect_track(in->lcore, cold);

	track_rank(in->lcore->tracker, track, flow_class_rank[in->flow->lru_class]);
	begin(track, in->flow, cold);
	hold_anew(in->lcore, in->ctx->ref, HALF_C2S);
	hold_anew(in->lcore, in->ctx->ref, HALF_S2C);
	flow_content_anew(in->lcore, in->ctx->ref);
	return track;
}

void inspect_resume(struct lcore *lcore, uint32_t ref, unsigned half)
{
	struct tcp_track *track = inspect_track(lcore, flow_cold_at(lcore->flows, ref));

	if (track)
		track_resume(lcore->tracker, track, half);
}

void inspect_end(struct lcore *lcore, uint32_t ref, enum drop_reason reason)
{
	struct flow_cold *cold = flow_cold_at(lcore->flows, ref);

	if (cold->track)
		track_give(lcore->tracker, cold->track, reason);
	cold->track = TRACK_NONE;
}

bool inspect_settled(struct lcore *lcore, uint32_t ref)
{
	struct flow *flow = flow_at(lcore->flows, ref);
	struct flow_cold *cold = flow_cold_at(lcore->flows, ref);
	struct tcp_track *track = inspect_track(lcore, cold);

	if (!track)
		return true;
	for (unsigned half = 0; half < 2; half++)
		if (track->half[half].flags & (HALF_PROCESSING | HALF_RESUMING) ||
			track->half[half].q2.n_held)
			return false;
	track_set_free(lcore->tracker, track);
	// where only one side is seen, no acknowledgement ever comes
	bool sees_both = flow->pkts[0] && flow->pkts[1];

	if (inspect_enforces(lcore, flow) && sees_both && !track_is_idle(track))
		return false;
	inspect_end(lcore, ref, DROP_HELD_CLOSED);
	cold->half[0].late = cold->half[1].late = true;
	return true;
}

void inspect_again_from_here(struct lcore *lcore, uint32_t ref)
{
	struct flow_cold *cold = flow_cold_at(lcore->flows, ref);
	const struct tcp_track *track = inspect_track(lcore, cold);

	if (!track || !(track->half[0].flags & HALF_FREE))
		return;
	inspect_end(lcore, ref, DROP_HELD_CLOSED);
	cold->half[0].late = cold->half[1].late = true;
}

uint32_t inspect_next(const struct lcore *lcore, uint32_t ref, unsigned half)
{
	const struct tcp_track *track = inspect_track(lcore, flow_cold_at(lcore->flows, ref));

	return track ? half_seq(&track->half[half], track->half[half].next)
		     : flow_at(lcore->flows, ref)->released[half];
}

void inspect_released(struct lcore *lcore, uint32_t ref, unsigned half, const struct pkt *pkt)
{
	struct flow *flow = flow_at(lcore->flows, ref);
	const struct tcp_track *track = inspect_track(lcore, flow_cold_at(lcore->flows, ref));

	if (!track || !(track->half[half].flags & HALF_STARTED))
		return;
	const struct tcp_half *of = &track->half[half];
	uint32_t released = half_seq(of, of->sent);

	// ahead of a hole it moves nothing; what fills one moves it to the end of the copies
	if (seq_lt(released, flow->released[half]) && seq_le(released, pkt->tcp_seq) &&
		of->q2.n_copies)
		flow->released[half] = released;
	else if (seq_lt(flow->released[half], released))
		flow->released[half] = released;
}
