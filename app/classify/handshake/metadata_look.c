// SPDX-License-Identifier: BSD-3-Clause
// When what is reported: as soon as a name is known (a policy may end the flow by it), once more
// when the client's hello or request is whole, and when its server has answered. While a flow is
// being classified this looks at the same prefixes; afterwards it keeps the flow's state only where
// a hello is cut, and only while states are not scarce.
#include "classify/handshake/metadata_read.h"
#include "classify/classify_job.h"

// Small segments count together: a prefix that comes byte by byte is read to its end.
#define CLIENT_PKTS 48

static bool is_late(const struct job *job)
{
	return job->flow->n_data_pkts - job->flow->n_small_pkts >= CLIENT_PKTS;
}

static bool client_is_over(const struct job *job)
{
	return half_closed(job->look, HALF_C2S) || is_late(job);
}

static void report(struct job *job, enum handshake_meta_phase next)
{
	job->work->greeted = true;
	job->work->handshake_meta_phase = (uint8_t)next;
}

// What the client has said so far is in the greeting.
static void report_client(struct job *job, bool whole, enum handshake_meta_phase next)
{
	struct classify_work *work = job->work;

	if (whole && work->meta->length)
		report(job, next);
	else if (whole)
		work->handshake_meta_phase = HANDSHAKE_META_OVER;
	else if (work->handshake_meta_phase != HANDSHAKE_META_NAMED &&
		 handshake_meta_has_name(work->meta))
		report(job, HANDSHAKE_META_NAMED);
	else if (work->handshake_meta_phase == HANDSHAKE_META_AWAITED)
		work->handshake_meta_phase = HANDSHAKE_META_BEGUN;
}

static void look_at_client(struct job *job, struct text half)
{
	struct classify_work *work = job->work;
	bool over = client_is_over(job);
	enum handshake_meta_seen seen = handshake_meta_of_client(half, work->meta);

	if (seen == HANDSHAKE_META_SEEN_NONE)
		work->handshake_meta_phase = HANDSHAKE_META_OVER;
	else
		report_client(
			job, seen == HANDSHAKE_META_SEEN_WHOLE || over, HANDSHAKE_META_ANSWER);
}

// That there is no answer is reported, too: nothing more is to be waited for.
static void report_answer(struct job *job, bool found)
{
	if (!found)
		handshake_meta_begin(job->work->meta, HANDSHAKE_META_TLS, true);
	report(job, HANDSHAKE_META_OVER);
}

static void look_at_server(struct job *job, struct text half)
{
	enum handshake_meta_seen seen = half.length
						? handshake_meta_of_server(half, job->work->meta)
						: HANDSHAKE_META_SEEN_NONE;

	if (seen != HANDSHAKE_META_SEEN_MORE || half_closed(job->look, HALF_S2C))
		report_answer(job, seen != HANDSHAKE_META_SEEN_NONE);
}

void handshake_meta_stream(struct job *job)
{
	const struct look *look = job->look;
	unsigned half = job->span->half & 1;
	struct text bytes = {look->at[half], look->length[half]};
	uint8_t phase = job->work->handshake_meta_phase;

	if (!job->work->meta || phase == HANDSHAKE_META_OVER)
		return;
	if (phase == HANDSHAKE_META_ANSWER && half == HALF_S2C)
		look_at_server(job, bytes);
	else if (phase == HANDSHAKE_META_ANSWER && is_late(job))
		report_answer(job, false);
	else if (phase != HANDSHAKE_META_ANSWER && half == HALF_C2S &&
		 (!bytes.length || job->midstream))
		job->work->handshake_meta_phase = HANDSHAKE_META_OVER;
	else if (phase != HANDSHAKE_META_ANSWER && half == HALF_C2S)
		look_at_client(job, bytes);
}

bool has_handshake_datagram(const struct job *job)
{
	return job->work->meta && job->work->handshake_meta_phase <= HANDSHAKE_META_NAMED;
}

void handshake_meta_datagram(
	struct job *job, enum tls_hello_seen seen, const struct datagram_asks *asks)
{
	bool whole = seen == TLS_HELLO_WHOLE;
	bool over = seen != TLS_HELLO_MORE || classify_packets_used_up(job->flow);

	if (!has_handshake_datagram(job))
		return;
	if (!asks->tls.carrier && !asks->name.length) {
		if (over)
			job->work->handshake_meta_phase = HANDSHAKE_META_OVER;
		else
			report_client(job, false, HANDSHAKE_META_OVER);
		return;
	}
	handshake_meta_of_datagram(asks, whole, job->work->meta);
	report_client(job, over,
		asks->tls.carrier == TLS_OVER_DATAGRAMS ? HANDSHAKE_META_ANSWER
							: HANDSHAKE_META_OVER);
}

void handshake_meta_datagram_answer(struct job *job)
{
	const struct text datagram = span_text(job->span);
	bool answer = (job->span->half & 1) == HALF_S2C;

	if (!job->work->meta || job->work->handshake_meta_phase != HANDSHAKE_META_ANSWER)
		return;
	if (answer && handshake_meta_of_dtls_server(datagram, job->work->meta))
		report_answer(job, true);
	else if (classify_packets_used_up(job->flow))
		report_answer(job, false);
}

// Whether what comes next has to be put together with what is here.
static bool needs_state(const struct job *job)
{
	uint8_t phase = job->work->handshake_meta_phase;

	if (phase == HANDSHAKE_META_ANSWER)
		return job_is_tcp(job) && job->look->length[HALF_S2C];
	return phase == HANDSHAKE_META_BEGUN || phase == HANDSHAKE_META_NAMED;
}

void handshake_meta_finish(
	struct classifier *classifier, struct job *job, struct state *state, uint32_t *ref)
{
	bool needs = job->work->meta && needs_state(job);
	bool room = classifier->n_free > classifier->n_states / 4;
	bool asks = !job_is_tcp(job) && hello_goes_on(job->look);

	if ((needs || asks) &&
		(state || ((room || asks) && job_keep(classifier, job, NULL, ref)))) {
		if (state)
			look_leave(classifier, &state->look);
		return;
	}
	if (needs) {
		job->work->handshake_meta_phase = HANDSHAKE_META_OVER;
		job->work->handshake_meta_nomem = true;
	}
	classify_end(classifier, ref);
}

bool classify_may_ask(const uint8_t *bytes, uint32_t length)
{
	return datagram_hello_may_be((struct text){bytes, length});
}

static void take_verdict(const struct job *job, struct classify_verdict *verdict)
{
	verdict->app = job->app;
	verdict->signature = job->signature;
	verdict->confidence = job->confidence;
	verdict->n_data_pkts = job->flow->n_data_pkts;
}

void classify_listen(struct classifier *classifier, const struct edition *edition,
	const struct user_apps *user, const struct classify_flow *flow, const struct span *span,
	uint32_t *ref, struct classify_verdict *verdict, struct classify_work *work)
{
	struct state *state = state_at(classifier, *ref, STATE_CLASSIFY);
	struct look fresh;
	struct job job = {
		.db = edition->db,
		.user = user,
		.signature = NO_SIGNATURE,
		.flow = flow,
		.span = span,
		.look = state ? &state->look : &fresh,
		.work = work,
		.midstream = flow->midstream || span->flags & SPAN_MIDSTREAM,
	};

	if (!state)
		memset(&fresh, 0, sizeof(fresh));
	if (job_is_tcp(&job)) {
		look_grow(job.look, state, span);
		handshake_meta_stream(&job);
	} else if (listen_datagram(classifier, &job, state, verdict)) {
		take_verdict(&job, verdict);
	}
	handshake_meta_finish(classifier, &job, state, ref);
}
