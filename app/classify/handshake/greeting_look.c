// SPDX-License-Identifier: BSD-3-Clause
// When what is told: as soon as a name is known (a policy may end the flow by it), once more when
// the client's hello or request is whole, and when its server has answered. While a flow is being
// classified this looks at the same prefixes; afterwards it keeps the flow's state only where a
// hello is cut, and only while states are not scarce.
#include "classify/handshake/greeting_read.h"
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

static void tell(struct job *job, enum greeting_phase next)
{
	job->work->greeted = true;
	job->work->greeting_phase = (uint8_t)next;
}

// What the client has said so far is in the greeting.
static void tell_client(struct job *job, bool whole, enum greeting_phase next)
{
	struct classify_work *work = job->work;

	if (whole && work->greeting->length)
		tell(job, next);
	else if (whole)
		work->greeting_phase = GREETING_OVER;
	else if (work->greeting_phase != GREETING_NAMED && greeting_has_name(work->greeting))
		tell(job, GREETING_NAMED);
	else if (work->greeting_phase == GREETING_AWAITED)
		work->greeting_phase = GREETING_BEGUN;
}

static void look_at_client(struct job *job, struct text half)
{
	struct classify_work *work = job->work;
	bool over = client_is_over(job);
	enum greeting_seen seen = greeting_of_client(half, work->greeting);

	if (seen == GREETING_SEEN_NONE)
		work->greeting_phase = GREETING_OVER;
	else
		tell_client(job, seen == GREETING_SEEN_WHOLE || over, GREETING_ANSWER);
}

// That there is no answer is told, too: nothing more is to be waited for.
static void tell_answer(struct job *job, bool found)
{
	if (!found)
		greeting_begin(job->work->greeting, GREETING_TLS, true);
	tell(job, GREETING_OVER);
}

static void look_at_server(struct job *job, struct text half)
{
	enum greeting_seen seen =
		half.length ? greeting_of_server(half, job->work->greeting) : GREETING_SEEN_NONE;

	if (seen != GREETING_SEEN_MORE || half_closed(job->look, HALF_S2C))
		tell_answer(job, seen != GREETING_SEEN_NONE);
}

void greet_stream(struct job *job)
{
	const struct look *look = job->look;
	unsigned half = job->span->half & 1;
	struct text bytes = {look->at[half], look->length[half]};
	uint8_t phase = job->work->greeting_phase;

	if (!job->work->greeting || phase == GREETING_OVER)
		return;
	if (phase == GREETING_ANSWER && half == HALF_S2C)
		look_at_server(job, bytes);
	else if (phase == GREETING_ANSWER && is_late(job))
		tell_answer(job, false);
	else if (phase != GREETING_ANSWER && half == HALF_C2S && (!bytes.length || job->midstream))
		job->work->greeting_phase = GREETING_OVER;
	else if (phase != GREETING_ANSWER && half == HALF_C2S)
		look_at_client(job, bytes);
}

bool greets_datagram(const struct job *job)
{
	return job->work->greeting && job->work->greeting_phase <= GREETING_NAMED;
}

void greet_datagram(struct job *job, enum tls_hello_seen seen, const struct datagram_asks *asks)
{
	bool whole = seen == TLS_HELLO_WHOLE;
	bool over = seen != TLS_HELLO_MORE || classify_packets_used_up(job->flow);

	if (!greets_datagram(job))
		return;
	if (!asks->tls.carrier && !asks->name.length) {
		if (over)
			job->work->greeting_phase = GREETING_OVER;
		else
			tell_client(job, false, GREETING_OVER);
		return;
	}
	greeting_of_datagram(asks, whole, job->work->greeting);
	tell_client(job, over,
		asks->tls.carrier == TLS_OVER_DATAGRAMS ? GREETING_ANSWER : GREETING_OVER);
}

void greet_datagram_answer(struct job *job)
{
	const struct text datagram = span_text(job->span);
	bool answer = (job->span->half & 1) == HALF_S2C;

	if (!job->work->greeting || job->work->greeting_phase != GREETING_ANSWER)
		return;
	if (answer && greeting_of_dtls_server(datagram, job->work->greeting))
		tell_answer(job, true);
	else if (classify_packets_used_up(job->flow))
		tell_answer(job, false);
}

// Whether what comes next has to be put together with what is here.
static bool needs_state(const struct job *job)
{
	uint8_t phase = job->work->greeting_phase;

	if (phase == GREETING_ANSWER)
		return job_is_tcp(job) && job->look->length[HALF_S2C];
	return phase == GREETING_BEGUN || phase == GREETING_NAMED;
}

void greet_settle(
	struct classifier *classifier, struct job *job, struct state *state, uint32_t *ref)
{
	bool needs = job->work->greeting && needs_state(job);
	bool room = classifier->n_free > classifier->n_states / 4;
	bool asks = !job_is_tcp(job) && hello_goes_on(job->look);

	if ((needs || asks) &&
		(state || ((room || asks) && job_keep(classifier, job, NULL, ref)))) {
		if (state)
			look_leave(classifier, &state->look);
		return;
	}
	if (needs) {
		job->work->greeting_phase = GREETING_OVER;
		job->work->greeting_nomem = true;
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
		greet_stream(&job);
	} else if (listen_datagram(classifier, &job, state, verdict)) {
		take_verdict(&job, verdict);
	}
	greet_settle(classifier, &job, state, ref);
}
