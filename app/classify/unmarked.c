// SPDX-License-Identifier: BSD-3-Clause
// What no signature finds: media of calls, Telegram's transport that looks like chance, ports.
#include "classify/classify_job.h"
#include "classify/handshake/mtproto.h"
#include "classify/media.h"

static void propose(struct job *job, uint16_t app, uint8_t confidence)
{
	const struct probe probe = job_probe(job, job->span->half & 1);

	job->asked = (uint8_t)(1u << probe.half);
	job_propose(job, app, NO_SIGNATURE, confidence);
	job_note_shape(job, &probe, app, CLASSIFY_NO_VERIFIER, confidence);
}

// Whose media they are, by where they go.
static uint16_t app_between(const struct classifier *classifier, const struct flow_ends *ends)
{
	for (unsigned i = 0; i < classifier->n_callers; i++)
		if (classifier->callers[i].proto->media_between(ends))
			return classifier->callers[i].app;
	return APP_NONE;
}

static void look_at_media(const struct classifier *classifier, struct job *job,
	const struct classify_verdict *verdict)
{
	const struct text datagram = span_text(job->span);
	struct media_memo *memo = job->flow->media;

	if (!memo || !media_may_be(datagram))
		return;
	bool announced =
		verdict->app == classifier->media && verdict->confidence == CONFIDENCE_CACHE;
	enum media_seen seen = media_look(memo, job->span->half & 1, datagram, announced);

	if (seen <= MEDIA_BEGINS)
		return;
	uint16_t app = app_between(classifier, job->flow->ends);

	job->media = true;
	if (app != APP_NONE)
		propose(job, app, CONFIDENCE_PARTIAL);
	else if (seen >= MEDIA_TWO)
		propose(job, classifier->media,
			seen == MEDIA_PROVEN ? CONFIDENCE_DPI : CONFIDENCE_PARTIAL);
}

static void look_at_transport(struct classifier *classifier, struct job *job, uint16_t kept)
{
	const struct look *look = job->look;

	if (job->midstream || kept >= MTPROTO_BYTES || look->length[HALF_C2S] < MTPROTO_BYTES)
		return;
	enum mtproto_seen seen =
		mtproto_open(classifier->mtproto, look->at[HALF_C2S], job->flow->second);

	if (seen == MTPROTO_FORBIDDEN)
		return;
	if (seen == MTPROTO_LIMITED) {
		job->work->mtproto_limited++;
		return;
	}
	job->work->mtproto_tried++;
	if (seen == MTPROTO_NOTHING)
		return;
	job->work->mtproto_opened++;
	propose(job, classifier->telegram,
		seen == MTPROTO_CENTRE ? CONFIDENCE_DPI : CONFIDENCE_PARTIAL);
}

void look_at_unmarked(struct classifier *classifier, struct job *job, uint16_t kept,
	const struct classify_verdict *verdict)
{
	if (!job_is_tcp(job))
		look_at_media(classifier, job, verdict);
	else if (job->app == APP_NONE && verdict->confidence < CONFIDENCE_PARTIAL)
		look_at_transport(classifier, job, kept);
}

static uint16_t app_of_port(const struct classifier *classifier, const struct job *job)
{
	const struct classify_flow *flow = job->flow;
	uint16_t port = flow->ends->port[HALF_S2C];
	uint16_t known = user_apps_of_port(job->user, flow->l4_proto, port);

	if (known != APP_NONE)
		return known;
	return port_app(classifier, flow->l4_proto, port);
}

void job_guess_port(
	const struct classifier *classifier, struct job *job, struct classify_verdict *verdict)
{
	const struct probe nothing = {.signature = NO_SIGNATURE};
	uint16_t app =
		verdict->confidence < CONFIDENCE_PORT ? app_of_port(classifier, job) : APP_NONE;

	if (app == APP_NONE)
		return;
	verdict->app = app;
	verdict->signature = NO_SIGNATURE;
	verdict->confidence = CONFIDENCE_PORT;
	verdict->n_data_pkts = job->flow->n_data_pkts;
	struct classify_step *step = job_note(job, CLASSIFY_STEP_PORT, &nothing, 0);

	if (step) {
		step->app = app;
		step->answer = CLASSIFY_NO_VERIFIER;
		step->confidence = CONFIDENCE_PORT;
		step->looked_at = job->flow->ends->port[HALF_S2C];
	}
}
