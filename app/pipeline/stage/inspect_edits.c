// SPDX-License-Identifier: BSD-3-Clause
// Asks the policy whether messages of a flow may be changed, and prepares its packets for it.
#include "pipeline/stage/inspect_edits.h"
#include "pipeline/content/flow_content.h"

// What the policy says, asked again when it or what is known of the flow has changed.
static bool may_edit(const struct inspection *in, struct tcp_track *track)
{
	const struct lcore *lcore = in->lcore;
	const struct flow *flow = in->flow;
	bool final = flow->flags & FLOW_APP_FINAL;

	if (track->of_epoch == lcore->epoch && track->of_app == flow->app &&
		track->of_final == final)
		return track->may_edit;
	track->of_epoch = lcore->epoch;
	track->of_app = flow->app;
	track->of_final = final;
	track->may_edit = lcore->policy->edits_content && flow_content_edits(lcore, in->ctx->ref);
	return track->may_edit;
}

// Once the application is settled there is a decoder, or nobody will ask.
static bool is_decoded(const struct inspection *in)
{
	return !(in->flow->flags & FLOW_APP_FINAL) ||
	       (in->cold->content != CONTENT_NONE && in->cold->content < CONTENT_DONE);
}

bool inspect_edits(struct inspection *in, struct tcp_track *track)
{
	bool edits = inspect_enforces(in->lcore, in->flow) && may_edit(in, track) && is_decoded(in);

	track_edits(in->lcore->tracker, track, edits);
	if ((!edits && !track->edited) || in->ctx->flags & CTX_VIEW)
		return true;
	return packet_make_ours(in->lcore, in->ctx);
}
