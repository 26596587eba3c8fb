// SPDX-License-Identifier: BSD-3-Clause
// One flow's way to a verdict: prefix, scan, verifiers, shapes, budget. A flow that its first
// payload decides is looked at in the packet and leaves nothing behind; only the others take a
// state. Unknown traffic is the common case: each step below is skipped where it cannot help.
#include <stdatomic.h>
#include <string.h>
#include "classify/classify_job.h"
#include "classify/handshake/hello_halves.h"
#include "classify/sigdb.h"
#include "classify/states.h"

static const uint8_t no_bytes[1];

struct probe job_probe(const struct job *job, unsigned half)
{
	const struct classify_flow *flow = job->flow;
	struct probe probe = {
		.ends = flow->ends,
		.sport = flow->ends->port[half],
		.dport = flow->ends->port[!half],
		.signature = NO_SIGNATURE,
		.half = (uint8_t)half,
		.l4_proto = flow->l4_proto,
		.n_data_pkts = flow->n_data_pkts,
		.midstream = job_is_tcp(job) && look_lacks_begin(job->look, half),
		.one_sided = flow->one_sided,
		.from_inside = flow->c2s_from_inside == (half == HALF_C2S),
	};

	if (job_is_tcp(job)) {
		probe.bytes = job->look->at[half];
		probe.length = job->look->length[half];
		probe.peer = job->look->at[!half];
		probe.peer_length = job->look->length[!half];
		probe.one_sided &= !probe.peer_length;
	} else {
		const struct text datagram = span_text(job->span);

		probe.bytes = datagram.at;
		probe.length = datagram.length;
		probe.datagram_bytes =
			flow->datagram_bytes ? flow->datagram_bytes : (uint16_t)datagram.length;
	}
	if (!probe.bytes)
		probe.bytes = no_bytes;
	if (!probe.peer)
		probe.peer = no_bytes;
	return probe;
}

static bool is_user(uint16_t app)
{
	return app > app_count();
}

// Of two answers with the same weight: what the operator has defined, as the document has it; then
// the signature that stands first.
static bool more_specific(
	const struct job *job, uint16_t a_app, uint16_t a, uint16_t b_app, uint16_t b)
{
	const struct signature *first = sigdb_get(job->db, a), *second = sigdb_get(job->db, b);

	if (is_user(a_app) != is_user(b_app))
		return is_user(a_app);
	if (is_user(a_app) && a_app != b_app)
		return user_apps_place(job->user, a_app) < user_apps_place(job->user, b_app);
	if (!first || !second)
		return first != NULL;
	return first->rank != second->rank ? first->rank < second->rank : a < b;
}

// What is carried is found together with its carrier, and means more. So does an application that
// is known by its network, or hinted at by a name: to say TLS of it would say less.
static unsigned weight(uint16_t app, uint16_t signature, uint8_t confidence)
{
	const struct app_proto *proto = app_get(app);

	if (confidence == CONFIDENCE_IP || signature == SHARED_NAME || signature == OF_NETWORK)
		return CONFIDENCE_VERIFIED + 1u;
	bool carried = confidence >= CONFIDENCE_DPI && !(proto && proto->carrier);

	if (proto && (proto->opens || proto->media) && confidence > CONFIDENCE_PARTIAL)
		return CONFIDENCE_PARTIAL;

	return confidence + (carried ? CONFIDENCE_VERIFIED + 1u : 0u);
}

void job_propose(struct job *job, uint16_t app, uint16_t signature, uint8_t confidence)
{
	unsigned ours = weight(app, signature, confidence);
	unsigned best = weight(job->app, job->signature, job->confidence);

	if (confidence >= CONFIDENCE_DPI && confidence > job->carrier_confidence &&
		app_is_carrier(app)) {
		job->carrier = app;
		job->carrier_confidence = confidence;
	}
	if (job->app != APP_NONE &&
		(ours < best || (ours == best && !more_specific(job, app, signature, job->app,
							 job->signature))))
		return;
	job->app = app;
	job->signature = signature;
	job->confidence = confidence;
	job->halves = job->asked;
}

bool job_awaits_host(const struct job *job, uint16_t app)
{
	const struct app_proto *proto = app_get(app);

	if (!proto || !proto->carrier)
		return false;
	return (name_awaited(job->look) && !half_closed(job->look, HALF_C2S)) ||
	       (job->look->host[0] == HOST_OF_SERVER && !half_closed(job->look, HALF_S2C));
}

// A more specific signature wants to see more: the carrier (HTTP) is known, but not what it
// carries.
static bool may_get_better(const struct job *job, uint16_t app, uint16_t signature)
{
	for (unsigned i = 0; i < job->look->n_pending; i++) {
		uint16_t pending = job->look->pending[i].signature;
		const struct signature *known = sigdb_get(job->db, pending);

		if (known && more_specific(job, known->app, pending, app, signature))
			return true;
	}
	const struct app_proto *proto = app_get(app);

	return (proto && proto->opens) || job_awaits_host(job, app);
}

// No later packet would change the answer. The best of this call counts where the verdict stays
// with what is known by its network: it has told what the flow is made of.
static bool settled(const struct job *job, const struct classify_verdict *verdict)
{
	if (verdict->confidence >= CONFIDENCE_DPI)
		return !may_get_better(job, verdict->app, verdict->signature);
	// media do not say whose they are: a hint beside them may still become sure
	return !job->media && job->confidence >= CONFIDENCE_DPI &&
	       !may_get_better(job, job->app, job->signature);
}

// Packets, or bytes: with both prefixes at their end nothing new can be seen.
// Who cuts a hello into many segments does not hide the name in it, nor half a shape the other:
// they are waited for as long as the prefix has room.
static bool exhausted(const struct job *job, const struct classify_verdict *verdict)
{
	bool waits = job_is_tcp(job) && job->flow->n_data_pkts < UINT8_MAX &&
		     (job_awaits_host(job, verdict->app) || job->shape_waits);

	return (classify_packets_used_up(job->flow) && !waits) ||
	       (job_is_tcp(job) && half_is_over(job->look, HALF_C2S) &&
		       half_is_over(job->look, HALF_S2C));
}

// A datagram flow is remembered only if somebody wrote something down.
static bool worth_a_state(const struct job *job)
{
	const struct look *look = job->look;

	return look->length[0] || look->length[1] || look->n_pending || look->alone != APP_NONE ||
	       look->memos[0].app != APP_NONE || hello_goes_on(look);
}

// Where no state is free. Bytes of which nobody knows where in the connection they lie are left
// out, as if they had not come: they prove little, and TCP would send them in vain to a gateway
// that has begun in the middle of all connections at once. All others must be looked at.
static void do_without_state(const struct job *job, const struct classify_verdict *before,
	struct classify_verdict *verdict)
{
	if (job_is_tcp(job) && look_lacks_begin(job->look, job->span->half & 1)) {
		*verdict = *before;
		job->work->left_out = true;
		return;
	}
	verdict->final = true;
	verdict->nomem = true;
}

static void count_open(struct classifier *classifier, uint32_t edition, uint32_t more)
{
	_Atomic uint32_t *open = &classifier->open[edition % EDITIONS_OPEN_MAX];
	uint32_t now = atomic_load_explicit(open, memory_order_relaxed) + more;

	// who reads 0 frees what the flow has looked into before
	atomic_store_explicit(open, now, memory_order_release);
}

uint32_t classifier_open(const struct classifier *classifier, uint32_t edition)
{
	return atomic_load_explicit(
		&classifier->open[edition % EDITIONS_OPEN_MAX], memory_order_acquire);
}

void classifier_retire(struct classifier *classifier, uint32_t oldest)
{
	classifier->oldest = oldest;
}

// Which edition a flow is held against. One whose own is retired begins again with that in force:
// of TCP the prefix is kept and scanned as a whole.
static const struct edition *edition_of(
	struct classifier *classifier, struct look *look, const struct edition *in_force)
{
	if (look->edition_number == in_force->number)
		return in_force;
	if (look->edition_number >= classifier->oldest)
		return look->edition;
	count_open(classifier, look->edition_number, -1u);
	count_open(classifier, in_force->number, 1);
	look->edition = in_force;
	look->edition_number = in_force->number;
	look->n_pending = 0;
	return in_force;
}

void look_leave(struct classifier *classifier, struct look *look)
{
	if (look->edition)
		count_open(classifier, look->edition_number, -1u);
	look->edition = NULL;
}

bool job_keep(struct classifier *classifier, const struct job *job, const struct edition *edition,
	uint32_t *ref)
{
	struct state *state = state_take(classifier, STATE_CLASSIFY, ref);

	if (!state)
		return false;
	state->look = *job->look;
	state->look.edition = edition;
	if (edition) {
		state->look.edition_number = edition->number;
		count_open(classifier, edition->number, 1);
	}
	if (!job_is_tcp(job)) {
		HIDE(state->bytes, sizeof(state->bytes));
		if (hello_goes_on(job->look)) {
			SHOW(&state->hello, sizeof(state->hello));
			state->hello = classifier->hello;
		}
		return true;
	}
	for (unsigned half = 0; half < 2; half++) {
		uint32_t length = job->look->length[half];

		if (length)
			memcpy(state->bytes[half], job->look->at[half], length);
		state->look.at[half] = state->bytes[half];
		HIDE(state->bytes[half] + length, CLASSIFY_PREFIX_BYTES - length);
	}
	return true;
}

// Of two answers with the same weight. Media say more than what opened the way for them, whichever
// of them came last.
static bool is_better(const struct job *job, const struct classify_verdict *verdict)
{
	const struct app_proto *before = app_get(verdict->app);

	if (verdict->app == APP_NONE || (job->media && before && before->opens))
		return true;
	if (job->app == verdict->app)
		return job->confidence > verdict->confidence;
	return more_specific(job, job->app, job->signature, verdict->app, verdict->signature);
}

static bool has_opened(const struct job *job, const struct classify_verdict *verdict)
{
	const struct app_proto *now = app_get(job->app), *before = app_get(verdict->app);

	return now && now->opens && before && before->media;
}

// What was found first carries what was found in it; the same may become surer.
static void merge_carrier(const struct job *job, struct classify_verdict *verdict)
{
	if (verdict->carrier != APP_NONE && verdict->carrier != job->carrier)
		return;
	if (job->carrier_confidence <= verdict->carrier_confidence)
		return;
	verdict->carrier = job->carrier;
	verdict->carrier_confidence = job->carrier_confidence;
}

static void merge(const struct job *job, struct classify_verdict *verdict)
{
	if (job->app == APP_NONE || has_opened(job, verdict))
		return;
	unsigned now = weight(job->app, job->signature, job->confidence);
	unsigned before = weight(verdict->app, verdict->signature, verdict->confidence);

	if (now < before || (now == before && !is_better(job, verdict)))
		return;
	// The position of an answer that only became surer stays where it could first be given.
	if (verdict->app != job->app || verdict->confidence < CONFIDENCE_PARTIAL)
		verdict->n_data_pkts = job->flow->n_data_pkts;
	verdict->app = job->app;
	verdict->signature = job->signature;
	verdict->confidence = job->confidence;
}

void classify_feed(struct classifier *classifier, const struct edition *edition,
	const struct user_apps *user, const struct classify_flow *flow, const struct span *span,
	uint32_t *ref, struct classify_verdict *verdict, struct classify_work *work)
{
	struct state *state = state_at(classifier, *ref, STATE_CLASSIFY);
	struct look fresh;

	if (state)
		edition = edition_of(classifier, &state->look, edition);
	struct job job = {
		.db = edition->db,
		.user = user,
		.flow = flow,
		.span = span,
		.look = state ? &state->look : &fresh,
		.work = work,
		.midstream = flow->midstream || span->flags & SPAN_MIDSTREAM,
		.signature = NO_SIGNATURE,
	};
	bool gap = span_is_gap(span);
	bool grown = span_length(span), beyond = false;

	if (verdict->final)
		return;
	if (!state)
		memset(&fresh, 0, sizeof(fresh));
	const uint16_t kept = job.look->length[HALF_C2S];
	const struct classify_verdict before = *verdict;

	if (verdict->app == APP_NONE)
		verdict->signature = NO_SIGNATURE;
	// what comes behind a gap that is first is all that is known of the half's beginning
	if (job_is_tcp(&job) && (span_length(span) || (gap && job.look->length[span->half & 1]))) {
		look_begin(job.look, span, job.midstream);
		grown = look_grow(job.look, state, span);
		beyond = !grown && look_grow_beyond(job.look, state, span);
		job.midstream = look_lacks_begin(job.look, span->half & 1);
	}
	if (grown || (job.look->n_pending && span_length(span)))
		look_at_signatures(&job,
			classifier->index < edition->n_scratch ? edition->scratch[classifier->index]
							       : NULL,
			grown);
	job.asked = (uint8_t)(1u << (span->half & 1));
	if (grown)
		look_at_names(classifier, &job, state);
	if (job_is_tcp(&job))
		handshake_meta_stream(&job);
	else
		handshake_meta_datagram_answer(&job);
	work->awaits_name = name_awaited(job.look) && !job.look->ended[HALF_C2S];
	if (beyond || (grown && job.confidence < CONFIDENCE_DPI))
		look_at_shapes(classifier, &job, grown);
	if (grown && job.confidence < CONFIDENCE_DPI)
		look_at_unmarked(classifier, &job, kept, verdict);
	look_at_unheard(&job, verdict);
	if (job.renamed) {
		verdict->app = verdict->carrier = APP_NONE;
		verdict->confidence = verdict->carrier_confidence = CONFIDENCE_NONE;
	}
	job_hear_other(&job, verdict);
	merge(&job, verdict);
	merge_carrier(&job, verdict);
	work->found = job.app;
	work->found_by = job.halves;
	if (settled(&job, verdict)) {
		verdict->final = true;
	} else if (exhausted(&job, verdict)) {
		verdict->final = true;
		verdict->gaveup = true;
	} else if (!state && worth_a_state(&job) && !job_keep(classifier, &job, edition, ref)) {
		do_without_state(&job, &before, verdict);
	}
	if (!verdict->final)
		return;
	job_guess_port(classifier, &job, verdict);
	handshake_meta_finish(classifier, &job, state, ref);
}

void classify_restart(struct classifier *classifier, const struct edition *edition, uint32_t *ref)
{
	struct state *state = state_at(classifier, *ref, STATE_CLASSIFY);

	if (!state || !hello_goes_on(&state->look)) {
		classify_end(classifier, ref);
		return;
	}
	struct look *look = &state->look;

	look_leave(classifier, look);
	memset(look->memos, 0, sizeof(look->memos));
	look->n_pending = 0;
	look->edition = edition;
	look->edition_number = edition->number;
	count_open(classifier, edition->number, 1);
}

const uint8_t *classify_prefix(
	struct classifier *classifier, uint32_t state, unsigned half, uint32_t *length)
{
	const struct state *at = state_at(classifier, state, STATE_CLASSIFY);

	if (!at || !at->look.length[half] || at->look.begin64[half])
		return NULL;
	*length = at->look.length[half];
	return at->look.at[half];
}

void classify_end(struct classifier *classifier, uint32_t *ref)
{
	struct state *state = state_at(classifier, *ref, STATE_CLASSIFY);

	if (state) {
		SHOW(state->bytes, sizeof(state->bytes));
		look_leave(classifier, &state->look);
		halves_end(classifier, state);
	}
	state_give(classifier, ref);
}
