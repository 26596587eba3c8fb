// SPDX-License-Identifier: BSD-3-Clause
// What is known of a flow where the name that would tell its application is not heard: one side is
// missing, or a part of the other. And what falls when that side speaks after all.
#include "classify/classify_job.h"

// Payload has proven TLS or the like, or STUN: of these a name, or a realm, says whose they are.
static uint16_t proven(const struct job *job, const struct classify_verdict *verdict)
{
	const struct app_proto *proto = app_get(job->app);

	if (proto && proto->opens && job->confidence >= CONFIDENCE_DPI)
		return job->app;
	if (proto && !proto->carrier)
		return APP_NONE; // payload has an answer of its own
	return job->carrier != APP_NONE ? job->carrier : verdict->carrier;
}

// Bytes of it are missing where a name may have been.
static bool has_hole(const struct look *look, unsigned half)
{
	return look->begin64[half] ||
	       (look->ended[half] && look->length[half] < CLASSIFY_PREFIX_BYTES);
}

static bool is_unheard(const struct job *job, uint16_t carrier)
{
	const struct look *look = job->look;
	unsigned half = job->span->half & 1;

	if (job->flow->one_sided && !look->length[!half])
		return true;
	return (has_hole(look, HALF_C2S) || has_hole(look, HALF_S2C)) &&
	       !job_awaits_host(job, carrier);
}

void look_at_unheard(struct job *job, const struct classify_verdict *verdict)
{
	struct look *look = job->look;
	unsigned half = job->span->half & 1;

	if (verdict->confidence != CONFIDENCE_IP || job->flow->named || job->work->named)
		return;
	uint16_t carrier = proven(job, verdict);

	if (carrier == APP_NONE || !is_unheard(job, carrier))
		return;
	job->asked = (uint8_t)(1u << half);
	job_propose(job, verdict->app, OF_NETWORK, CONFIDENCE_PARTIAL);
	const struct probe probe = job_probe(job, half);

	job_note_shape(job, &probe, verdict->app, CLASSIFY_NO_VERIFIER, CONFIDENCE_PARTIAL);
	if (!job->flow->one_sided)
		return;
	look->alone = verdict->app;
	look->alone_half = (uint8_t)half;
}

void job_hear_other(struct job *job, struct classify_verdict *verdict)
{
	struct look *look = job->look;

	if (look->alone == APP_NONE || look->alone_half == (job->span->half & 1) ||
		!span_length(job->span))
		return;
	bool stands = verdict->app != look->alone || verdict->confidence != CONFIDENCE_PARTIAL ||
		      job->app == look->alone;

	look->alone = APP_NONE;
	if (stands)
		return;
	bool of_network = verdict->signature == OF_NETWORK;

	verdict->app = of_network ? verdict->app : APP_NONE;
	verdict->confidence = of_network ? CONFIDENCE_IP : CONFIDENCE_NONE;
	if (!of_network)
		verdict->carrier = verdict->carrier_confidence = 0;
}
