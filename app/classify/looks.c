// SPDX-License-Identifier: BSD-3-Clause
// What the bytes at hand say of a flow: hits of signatures, each confirmed by a verifier where a
// pattern alone can lie, and shapes. A connection whose beginning was not seen is asked of
// signatures that hold enough bits fixed: one half says `partial`, both say `dpi`.
#include <string.h>
#include "classify/classify_job.h"
#include "classify/sigdb.h"
#include "classify/states.h"

// Asks with the application's own memo; a slot is taken only when something is written into it.
// `half`: where the bytes are from, whichever end the probe takes that for. `fresh` is the memo of
// an application that has none, and of one for which no slot is left.
static enum verify ask(struct look *look, uint16_t app, enum verify (*verify)(const struct probe *),
	struct probe *probe, unsigned half, struct app_memo *fresh)
{
	unsigned i = 0;

	while (i < APP_MEMOS && look->memos[i].app != app && look->memos[i].app != APP_NONE)
		i++;
	struct memo_slot *slot = i < APP_MEMOS ? &look->memos[i] : NULL;
	uint8_t from = (uint8_t)(1u << half);
	enum verify answer;

	if (slot && slot->app == app) {
		const struct app_memo before = slot->memo;

		probe->memo = &slot->memo;
		answer = verify(probe);
		probe->halves = from | slot->halves;
		if (memcmp(&before, &slot->memo, sizeof(before)) != 0)
			slot->halves |= from;
		return answer;
	}
	*fresh = (struct app_memo){0};
	probe->memo = fresh;
	answer = verify(probe);
	probe->halves = from;
	if (slot && memo_used(fresh))
		*slot = (struct memo_slot){.app = app, .halves = from, .memo = *fresh};
	return answer;
}

static uint8_t confidence_of(enum verify answer)
{
	switch (answer) {
	case VERIFY_ALONE:
	case VERIFY_PARTIAL: return CONFIDENCE_PARTIAL;
	case VERIFY_DPI: return CONFIDENCE_DPI;
	case VERIFY_YES: return CONFIDENCE_VERIFIED;
	case VERIFY_NO:
	case VERIFY_MORE: break;
	}
	return CONFIDENCE_NONE;
}

struct classify_step *job_note(
	struct job *job, enum classify_step_kind kind, const struct probe *probe, uint32_t to)
{
	struct classify_work *work = job->work;

	if (work->n_steps == CLASSIFY_STEPS_MAX)
		return NULL;
	struct classify_step *step = &work->steps[work->n_steps++];
	uint32_t length = probe->length < UINT16_MAX ? probe->length : UINT16_MAX;

	if (to > length)
		to = length;
	step->kind = (uint8_t)kind;
	step->half = probe->half;
	step->signature = probe->signature;
	step->looked_at = (uint16_t)length;
	step->matched_to = (uint16_t)to;
	step->n_bytes = to < CLASSIFY_STEP_BYTES ? (uint8_t)to : CLASSIFY_STEP_BYTES;
	if (step->n_bytes)
		memcpy(step->bytes, probe->bytes + to - step->n_bytes, step->n_bytes);
	return step;
}

void job_note_shape(struct job *job, const struct probe *probe, uint16_t app, uint8_t answer,
	uint8_t confidence)
{
	struct classify_step *step = job_note(job, CLASSIFY_STEP_SHAPE, probe, CLASSIFY_STEP_BYTES);

	if (!step)
		return;
	step->app = app;
	step->answer = answer;
	step->confidence = confidence;
}

static void note_signature(struct job *job, const struct probe *probe,
	const struct signature *signature, uint32_t to, enum verify answer, uint8_t confidence)
{
	struct classify_step *step = job_note(job, CLASSIFY_STEP_SIGNATURE, probe, to);

	if (!step)
		return;
	step->app = signature->app;
	step->answer = signature->verify ? (uint8_t)answer : CLASSIFY_NO_VERIFIER;
	step->confidence = confidence;
}

static bool asked_without_beginning(const struct signature *signature)
{
	return signature->midstream || signature->bits >= CLASSIFY_BITS_ANYWHERE;
}

// What a signature that asks for a beginning means of bytes that may lie anywhere in a connection:
// a hint; where the other half says the same, or the verifier has seen both, more.
static uint8_t confidence_here(
	struct job *job, const struct signature *signature, unsigned half, uint8_t confidence)
{
	struct look *look = job->look;

	if (confidence == CONFIDENCE_NONE || !look_lacks_begin(look, half))
		return confidence;
	look->leans[half] = signature->app;
	if (signature->midstream || confidence < CONFIDENCE_DPI)
		return confidence;
	bool agreed = look->leans[!half] == signature->app || job->asked == 3;

	return agreed ? CONFIDENCE_DPI : CONFIDENCE_PARTIAL;
}

static void wait_for_more(struct look *look, uint16_t index, unsigned half)
{
	if (look->n_pending < PENDING_MAX)
		look->pending[look->n_pending++] = (struct pending){index, (uint8_t)half};
}

static void claimed_alone(struct job *job, uint16_t app)
{
	job->look->alone = app;
	job->look->alone_half = job->span->half & 1;
}

// What the verifier says, if the signature asks one.
static enum verify verified(struct job *job, const struct signature *signature, struct probe *probe)
{
	unsigned half = probe->half;

	job->asked = (uint8_t)(1u << (half & 1));
	if (!signature->verify)
		return VERIFY_YES;
	// who began is not known where its bytes were found in the half of the other end
	if (job->flow->either_began && !(signature->halves >> half & 1))
		probe->half = !half;
	struct app_memo fresh;
	enum verify answer = ask(
		job->look, signature->app, app_get(signature->app)->verify, probe, half, &fresh);

	probe->half = (uint8_t)half;
	job->asked = probe->halves;
	return answer;
}

// `to`: 0 if it matched in an earlier look. `again`: it has wanted to see more before.
static void consider(struct job *job, uint16_t index, unsigned half, uint32_t to, bool again)
{
	const struct signature *signature = sigdb_get(job->db, index);
	struct look *look = job->look;

	if (!signature || (look_lacks_begin(look, half) && !asked_without_beginning(signature)))
		return;
	struct probe probe = job_probe(job, half);

	if (probe.length < signature->min_length) {
		// A short datagram between those of an exchange is no answer of the verifier's.
		if (again)
			wait_for_more(look, index, half);
		return;
	}
	probe.signature = index;
	enum verify answer = verified(job, signature, &probe);
	uint8_t confidence = confidence_here(job, signature, half,
		signature->verify ? confidence_of(answer) : signature->confidence);

	if (!again || answer != VERIFY_MORE) // that it wants still more is no news
		note_signature(job, &probe, signature, to, answer, confidence);
	if (answer == VERIFY_NO)
		job->work->refused++;
	if (answer == VERIFY_MORE || answer == VERIFY_ALONE)
		wait_for_more(look, index, half);
	if (confidence != CONFIDENCE_NONE)
		job_propose(job, signature->app, index, confidence);
	if (answer == VERIFY_ALONE)
		claimed_alone(job, signature->app);
}

static bool among(const struct sigdb_scratch *scratch, unsigned n_hits, uint16_t index)
{
	for (unsigned i = 0; i < n_hits; i++)
		if (scratch->hits[i].signature == index)
			return true;
	return false;
}

static bool wanted_more(const struct pending *before, unsigned n, uint16_t index)
{
	for (unsigned i = 0; i < n; i++)
		if (before[i].signature == index)
			return true;
	return false;
}

// Holds the half that has just grown against what `as` may say; `turned`: only what `half` itself
// may not say. Returns how many hits are in `scratch`.
static unsigned look_at_half(struct job *job, struct sigdb_scratch *scratch, unsigned as,
	const struct pending *before, unsigned n_before)
{
	unsigned half = job->span->half & 1;
	const struct text bytes = job_bytes(job, half);
	uint32_t length =
		bytes.length < CLASSIFY_PREFIX_BYTES ? bytes.length : CLASSIFY_PREFIX_BYTES;

	job->work->scans++;
	if (!sigdb_scan(job->db, scratch, job->flow->l4_proto, as, bytes.at, length)) {
		job->work->errors++;
		return 0;
	}
	job->work->hits += scratch->n_hits;
	for (unsigned i = 0; i < scratch->n_hits; i++) {
		const struct sigdb_hit *hit = &scratch->hits[i];
		const struct signature *signature = sigdb_get(job->db, hit->signature);

		if (as == half || (signature && !(signature->halves >> half & 1)))
			consider(job, hit->signature, half, hit->to,
				wanted_more(before, n_before, hit->signature));
	}
	return scratch->n_hits;
}

void look_at_signatures(struct job *job, struct sigdb_scratch *scratch, bool grown)
{
	struct look *look = job->look;
	unsigned half = job->span->half & 1, n_hits = 0, n_before = look->n_pending;
	struct pending before[PENDING_MAX];

	memcpy(before, look->pending, sizeof(before));
	look->n_pending = 0;
	if (grown && job->flow->either_began)
		look_at_half(job, scratch, !half, before, n_before);
	if (grown)
		n_hits = look_at_half(job, scratch, half, before, n_before);
	// Those that wanted more are asked again, whether or not they matched again.
	for (unsigned i = 0; i < n_before; i++) {
		if (job_is_tcp(job) && before[i].half != half)
			consider(job, before[i].signature, before[i].half, 0, true);
		else if (!among(scratch, n_hits, before[i].signature))
			consider(job, before[i].signature, half, 0, true);
	}
}

void look_at_shapes(const struct classifier *classifier, struct job *job, bool grown)
{
	bool udp = !job_is_tcp(job);
	struct probe probe = job_probe(job, job->span->half & 1);
	const uint32_t length = probe.length, peer_length = probe.peer_length;
	struct app_memo fresh;

	for (unsigned i = 0; i < classifier->n_shapes[udp]; i++) {
		const struct shape *shape = &classifier->shapes[udp][i];

		bool by_lengths = shape->proto->shape_by_lengths;

		if (!grown && !by_lengths)
			continue;
		probe.length = length + (by_lengths ? job->look->beyond[probe.half] : 0);
		probe.peer_length = peer_length + (by_lengths ? job->look->beyond[!probe.half] : 0);
		enum verify answer = ask(job->look, shape->app,
			udp ? shape->proto->shape_udp : shape->proto->shape_tcp, &probe, probe.half,
			&fresh);

		job->asked = probe.halves;
		if (confidence_of(answer) != CONFIDENCE_NONE)
			job_propose(job, shape->app, NO_SIGNATURE, confidence_of(answer));
		if (answer == VERIFY_ALONE)
			claimed_alone(job, shape->app);
		job->shape_waits |= answer == VERIFY_MORE && memo_used(probe.memo);
		if (confidence_of(answer) != CONFIDENCE_NONE)
			job_note_shape(
				job, &probe, shape->app, (uint8_t)answer, confidence_of(answer));
	}
}
