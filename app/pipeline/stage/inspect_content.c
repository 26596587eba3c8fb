// SPDX-License-Identifier: BSD-3-Clause
// Begins content decoders, obeys what comes of a span, prepares packets whose messages or requests
// may be changed, and listens for an application that a flow was not taken for.
#include "pipeline/stage/inspect_content.h"
#include <netinet/in.h>
#include <string.h>
#include "pipeline/content/speaks_http.h"
#include "pipeline/flow/app_usage.h"
#include "pipeline/flow/both_ends.h"
#include "pipeline/flow/expect.h"
#include "pipeline/stage/inspect_track.h"

void inspect_content_seen(const struct inspection *in, struct content_seen *seen)
{
	struct content_prefix *prefix = &seen->prefix;

	for (unsigned half = 0; half < 2; half++) {
		uint32_t length = 0;
		const uint8_t *bytes = NULL;

		if (in->flow->l4_proto == IPPROTO_TCP)
			bytes = classify_prefix(
				in->lcore->classifier, in->flow->classify_state, half, &length);
		if (bytes)
			memcpy(seen->bytes[half], bytes, length);
		prefix->bytes[half] = seen->bytes[half];
		prefix->length[half] = bytes ? length : 0;
	}
}

// Who sends is who the announcement says: of a file or listing of FTP one end alone sends.
static bool fits(const struct transfer_label *label, unsigned half)
{
	return label->what != TRANSFER_NOT_SAID && label->half == half;
}

// What was announced as a data connection of FTP may be none: where the announcement was but a
// claim, or the other end speaks, it was wrong, or somebody else has come there first.
static bool may_be_another(const struct expected *expected, unsigned half)
{
	return expected && expected->what.as == EXPECTED_FTP_DATA &&
	       (expected->what.claimed || !fits(&expected->what.label, half));
}

static bool is_refused(const struct inspection *in)
{
	enum action action;
	uint32_t rule;

	return flow_content_refuses(in->lcore, in->ctx->ref, &rule, &action);
}

// It is found to be another application: else what a server sends as a file would say how it is
// looked at. What it was refused for stays refused.
static bool is_contradicted(const struct inspection *in, unsigned half)
{
	const struct expected *expected = expect_at(in->lcore->expect, in->cold->expected);
	const struct flow *flow = in->flow;

	return may_be_another(expected, half) && flow->app != expected->what.app &&
	       flow->confidence >= CONFIDENCE_DPI && !is_refused(in);
}

static void forget_expected(struct inspection *in)
{
	expect_give(in->lcore->expect, in->cold->expected);
	in->cold->expected = EXPECT_NONE;
}

bool inspect_content_begin(struct inspection *in, const struct span *span,
	const struct content_seen *seen, const struct decoder_sink *others)
{
	struct content_prefix first = {0};
	unsigned half = span->half & 1;

	if (seen)
		first = seen->prefix;

	if (!first.length[half] && !span_is_gap(span)) {
		first.bytes[half] = span_bytes(span);
		first.length[half] = span_length(span);
	}
	bool scouts = flow_content_scouts(in->lcore, in->ctx->ref);

	bool announced = in->doubted || (in->cold->content && !scouts);

	if (announced && is_contradicted(in, half)) {
		if (!scouts)
			flow_content_end(in->lcore, in->ctx->ref);
		forget_expected(in);
		in->flow->flags &= (uint16_t)~FLOW_DECODED;
	}
	const struct content_decoder *decoder =
		flow_content_wanted(in->lcore, in->ctx->ref, &first);

	// begun with its first byte: it was announced, or asks as HTTP/0.9 does
	if (in->cold->content && !scouts && !flow_content_settles(in->lcore, in->ctx->ref, decoder))
		return true;
	if (!decoder && scouts)
		flow_content_end(in->lcore, in->ctx->ref);
	if (!decoder)
		return false;
	flow_content_begin(in->lcore, in->ctx->ref, decoder, seen ? &seen->prefix : NULL, others);
	return in->cold->content != CONTENT_NONE;
}

void inspect_content_scout(
	struct inspection *in, const struct span *span, const struct content_seen *seen)
{
	if (in->flow->l4_proto == IPPROTO_TCP)
		flow_content_scout(in->lcore, in->ctx->ref, span, &seen->prefix);
}

// What learns of others goes on, if it has not ended before.
static void ended(struct inspection *in, bool others_over)
{
	const struct app_proto *proto = app_get(in->flow->app);

	if (proto && proto->decodes_for_others && app_has_decoder(in->flow->app) && !others_over)
		return;
	in->flow->flags &= (uint16_t)~FLOW_DECODED;
	in->ctx->flags |= CTX_DECODED;
}

void inspect_content(
	struct inspection *in, const struct span *span, const struct decoder_sink *others)
{
	bool others_over = flow_content_others_over(in->lcore, in->ctx->ref, false);
	enum action action;
	uint32_t rule;

	switch (flow_content_feed(in->lcore, in->ctx->ref, span, others)) {
	case CONTENT_TAKEN:
		packet_flag_if(in->ctx, CTX_UNDECIDED,
			flow_content_refuses(in->lcore, in->ctx->ref, &rule, &action));
		break;
	case CONTENT_DROPPED:
		in->ctx->flags |= CTX_REFUSED;
		in->ctx->reason = DROP_RULE;
		break;
	case CONTENT_LATER: in->ctx->flags |= CTX_LATER; break;
	case CONTENT_STARVED: in->ctx->flags |= CTX_STARVED; break;
	case CONTENT_ENDED: ended(in, others_over); break;
	}
}

static bool is_taken_for_http(const struct inspection *in)
{
	const struct app_proto *proto = app_get(in->flow->app);

	return proto && !strcmp(proto->name, "http");
}

// Known by its form, or by who has named its end (once that one has answered, as then what a secret
// opens is opened): what comes shows no more of it, and a whole file may come before the look at it
// ends.
static bool is_disguised(const struct inspection *in, const struct span *span)
{
	const struct flow *flow = in->flow;
	const struct flow_cold *cold = in->cold;
	const struct app_proto *proto = app_get(flow->app);

	if (!proto || !proto->disguised || flow->signature != UINT16_MAX)
		return false;
	return flow->confidence == CONFIDENCE_PARTIAL ||
	       (flow->confidence == CONFIDENCE_CACHE && flow->app == cold->learned_app &&
		       cold->learned_from != LEARNED_DNS &&
		       (cold->shaped || span->half == HALF_S2C));
}

// What the first bytes and the span at hand make of a flow: one whose answer may be a file at once
// (HTTP/0.9), the answer to what begins as a request, or is taken for one, the part of a request
// that classification does not keep, or what is disguised. Later it would be too late.
static bool is_due(
	const struct inspection *in, const struct span *span, const struct content_prefix *now)
{
	if (content_asks_simply(now) || is_disguised(in, span))
		return true;
	return (span->half == HALF_S2C || span->offset64 + span->extent > CLASSIFY_PREFIX_BYTES) &&
	       (content_begins_request(now) || is_taken_for_http(in));
}

bool inspect_content_early(struct inspection *in, const struct span *span,
	const struct content_seen *seen, const struct decoder_sink *others)
{
	struct content_prefix now = {0};

	if (in->flow->l4_proto != IPPROTO_TCP || in->cold->report.midstream)
		return false;
	if (in->cold->content != CONTENT_NONE && !flow_content_scouts(in->lcore, in->ctx->ref))
		return false;
	now.bytes[HALF_C2S] = classify_prefix(
		in->lcore->classifier, in->flow->classify_state, HALF_C2S, &now.length[HALF_C2S]);
	if (!now.bytes[HALF_C2S] || !is_due(in, span, &now))
		return false;
	const struct content_decoder *decoder = flow_content_wanted(in->lcore, in->ctx->ref, &now);

	if (!decoder)
		return false;
	flow_content_begin_early(in->lcore, in->ctx->ref, decoder, &seen->prefix, others);
	return in->cold->content != CONTENT_NONE;
}

// Somebody has named a third one's address: a flow to there whose other end speaks first, or whose
// first byte is not here, is not taken for what was claimed.
static bool is_disproved(const struct expected *expected, const struct span *span)
{
	const struct transfer_label *label = &expected->what.label;

	if (!expected->what.claimed || expected->what.as != EXPECTED_FTP_DATA)
		return false;
	return span_is_gap(span) ||
	       (label->what == TRANSFER_NOT_SAID ? span->half == HALF_C2S
						 : !fits(label, span->half & 1));
}

// What it was announced as is decoded, if anybody asks for it.
static const struct content_decoder *wanted_announced(const struct inspection *in)
{
	const struct expected *expected = expect_at(in->lcore->expect, in->cold->expected);

	if (in->flow->confidence != CONFIDENCE_CACHE && !(expected && expected->what.claimed))
		return NULL;
	return flow_content_wanted(in->lcore, in->ctx->ref, NULL);
}

bool inspect_content_doubts(struct inspection *in, const struct span *span)
{
	const struct expected *expected = expect_at(in->lcore->expect, in->cold->expected);
	bool begun = in->cold->content && !flow_content_scouts(in->lcore, in->ctx->ref);

	in->doubted = false;
	if (!expected || in->flow->flags & FLOW_APP_FINAL)
		return false;
	if (!in->cold->content && is_disproved(expected, span))
		forget_expected(in);
	else if (may_be_another(expected, span->half & 1))
		in->doubted = in->cold->content ? begun : wanted_announced(in) != NULL;
	return in->doubted;
}

void inspect_content_announced(struct inspection *in, const struct decoder_sink *others)
{
	const struct content_prefix none = {0};
	const struct content_decoder *decoder = wanted_announced(in);

	if (!decoder)
		return;
	flow_content_begin(in->lcore, in->ctx->ref, decoder, &none, others);
	in->flow->flags |= FLOW_DECODED;
}

bool inspect_content_late(struct lcore *lcore, uint32_t ref)
{
	struct flow_cold *cold = flow_cold_at(lcore->flows, ref);
	struct flow *flow = flow_at(lcore->flows, ref);
	const struct content_decoder *decoder = NULL;

	if (cold->content == CONTENT_DONE)
		cold->content = CONTENT_NONE;
	if (flow->flags & FLOW_APP_FINAL && flow_content_scouts(lcore, ref))
		flow_content_end(lcore, ref);
	if (!cold->content && flow->flags & FLOW_APP_FINAL)
		decoder = flow_content_wanted(lcore, ref, NULL);
	if (!decoder)
		return cold->content;
	flow_content_begin(lcore, ref, decoder, NULL, NULL);
	flow->flags |= FLOW_DECODED;
	inspect_again_from_here(lcore, ref);
	return true;
}

// What the policy says, asked again when it or what is known of the flow has changed.
static unsigned may_edit(const struct inspection *in, struct tcp_track *track)
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
	track->may_edit =
		lcore->policy->edits_content ? (uint8_t)flow_content_edits(lcore, in->ctx->ref) : 0;
	return track->may_edit;
}

// Once the application is settled there is a decoder, or nobody will ask.
static bool is_decoded(const struct inspection *in)
{
	return !(in->flow->flags & FLOW_APP_FINAL) || content_has_place(in->cold->content);
}

bool inspect_edits(struct inspection *in, struct tcp_track *track)
{
	unsigned halves = 0;

	if (inspect_enforces(in->lcore, in->flow) && is_decoded(in))
		halves = may_edit(in, track);
	track_edits(in->lcore->tracker, track, halves);
	if (!((halves | track->edited) >> in->ctx->half & 1) || in->ctx->flags & CTX_VIEW)
		return true;
	// where a driver cuts a packet a message or a field must not seem to go on
	return packet_make_whole(in->lcore, in->ctx);
}

void inspect_overhear_begin(struct inspection *in, const struct span *span)
{
	bool begins = span->half == HALF_C2S && !span->offset64 && !span_is_gap(span) &&
		      !(span->flags & SPAN_MIDSTREAM);

	if (in->flow->l4_proto != IPPROTO_TCP || in->cold->overhear != OVERHEAR_NOT)
		return;
	begins = begins && flow_content_overhears(in->lcore, in->ctx->ref);
	in->cold->overhear = begins ? OVERHEAR_CLIENT : OVERHEAR_OVER;
}

static enum verify hear_span(struct inspection *in, const struct span *span)
{
	uint16_t app = flow_content_overheard(in->lcore);
	struct flow_cold *cold = in->cold;
	unsigned half = span->half & 1;

	if (app == APP_NONE || app == in->flow->app || span_is_gap(span))
		return VERIFY_NO;
	// what is carried (by HTTP) or read by a decoder may be what a person has written, or
	// stored
	if (half == HALF_C2S && (cold->overhear == OVERHEAR_SERVER || cold->content ||
					app_is_carrier(in->flow->app)))
		return VERIFY_MORE;
	if (half == HALF_S2C && cold->overhear == OVERHEAR_CLIENT) {
		cold->overhear = OVERHEAR_SERVER;
		cold->overheard = (struct app_overheard){0};
	}
	return app_get(app)->overhear(&cold->overheard, half, span_bytes(span), span_length(span));
}

bool inspect_overhear(struct inspection *in, const struct span *span)
{
	enum verify answer = hear_span(in, span);

	// a client may say much before its server says its first line, of which little is needed
	uint64_t most = (span->half & 1) == HALF_C2S ? OVERHEAR_CLIENT_BYTES : OVERHEAR_BYTES;

	if (answer == VERIFY_MORE && span->offset64 + span->extent < most)
		return false;
	in->cold->overhear = OVERHEAR_OVER;
	in->ctx->flags |= CTX_DECODED; // it may be all that the flow was inspected for
	return answer == VERIFY_YES;
}

void inspect_overhear_take(struct inspection *in)
{
	struct lcore *lcore = in->lcore;
	struct flow *flow = in->flow;

	classify_end(lcore->classifier, &flow->classify_state);
	classify_end(lcore->classifier, &flow->decoder_state);
	flow_content_end(lcore, in->ctx->ref);
	in->doubted = false;
	in->cold->meta = HANDSHAKE_META_OVER;
	flow->flags &= (uint16_t) ~(FLOW_DECODED | FLOW_GAVEUP | FLOW_NOMEM | FLOW_MONITORED);
	if (!(flow->flags & FLOW_APP_FINAL))
		flow_life_step(flow, FLOW_STEP_CLASSIFY);
	flow->app = flow_content_overheard(lcore);
	flow->signature = UINT16_MAX;
	flow->confidence = CONFIDENCE_DPI;
	flow->decided_pkts = flow->n_data_pkts;
	app_usage_settle(lcore->apps, flow);
	both_ends_other_app(flow);
	in->ctx->flags |= CTX_UNDECIDED;
	packet_evidence(lcore, in->ctx, EVIDENCE_DECODER)->app = flow->app;
}
