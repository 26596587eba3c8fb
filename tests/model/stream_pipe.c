// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <netinet/in.h>
#include <cmocka.h>
#include "lib/pipeline/pipe.h"
#include "pipeline/stage/inspect_content.h"
#include "pipeline/stage/inspect_track.h"
#include "stream_pipe.h"
#include "pipeline/egress/tx.h"
#include "pipeline/vocab/span.h"
#include "reassembly/tcp_track.h"
#include "pipeline/event/stream_tap.h"
#include "pipeline/flow/table.h"
#include "pipeline/loop.h"

#define BLOCKS     512 // of the slab
#define FEW_BLOCKS 16

enum { POLICY_REWRITE, POLICY_DROP, POLICY_OBSERVE, POLICIES };

struct job {
	const struct stream_job *said;
	uint64_t bytes, at; // inspected so far; where it begins (again)
	bool pending;
	uint64_t until_ns;
	uint32_t ref;
	unsigned half; // of the flow
};

static struct piped {
	struct pipe *pipe;
	struct policy *policies[POLICIES][2]; // two snapshots of each
	struct policy **pair;                 // of the schedule
	void *taken[BLOCKS];                  // from the slab, so that it is small
	unsigned n_taken;
	unsigned turn;
	bool gate_fails;
	uint64_t generation;
	struct job jobs[2];
	enum stream_pipe_edits edits;
	struct gate {
		uint64_t until_ns; // then it moves; 0: there is none
		uint32_t ref;
		unsigned half; // of the flow
	} gates[2];
	uint64_t seed, packets;
	char lost[200];
} piped;

static unsigned world_half(const struct lcore *lcore, uint32_t ref, unsigned half)
{
	return flow_at(lcore->flows, ref)->flags & FLOW_C2S_INSIDE ? half : !half;
}

// One byte in eight is blanked, in runs of three at most: which ones follows from their places, so
// that they are spread over all segments, and over their ends.
static bool is_blanked(uint64_t offset64)
{
	return offset64 * 0x9e3779b97f4a7c15ull >> 61 == 0 || offset64 % 61 < 2;
}

static void edit(const struct lcore *lcore, uint32_t ref, const struct span *span)
{
	struct tcp_track *track = track_at(lcore->tracker, flow_cold_at(lcore->flows, ref)->track);
	unsigned half = world_half(lcore, ref, span->half);

	for (uint64_t at = span->offset64; at < span->offset64 + span->extent; at++) {
		const struct stream_edit one = {.offset64 = at, .length = 1, .fill = '#'};

		if (is_blanked(at) &&
			track_edit(lcore->tracker, track, span->half, &one, 1) == EDIT_TAKEN)
			stream_world_edit(half, at, 1, '#');
	}
}

// In place of what the policy says (stage/inspect_content.c); in some runs it changes its mind with
// every few packets, in some one half alone is edited.
bool __wrap_inspect_edits(struct inspection *in, struct tcp_track *track);
bool __wrap_inspect_edits(struct inspection *in, struct tcp_track *track)
{
	bool edits = inspect_enforces(in->lcore, in->flow);

	if (piped.edits == STREAM_PIPE_EDITS_AT_TIMES && piped.seed % 3 == 0)
		edits &= (piped.seed ^ piped.packets++ / (1 + piped.seed % 7)) & 1;
	unsigned halves = piped.seed % 5 ? TRACK_EDITS_BOTH : 1u << (piped.seed / 5 & 1);

	track_edits(in->lcore->tracker, track, edits ? halves : 0);
	return in->ctx->flags & CTX_VIEW || packet_make_ours(in->lcore, in->ctx);
}

static bool is_gating(void)
{
	return piped.edits == STREAM_PIPE_GATES;
}

static struct tcp_half *half_of(const struct lcore *lcore, uint32_t ref, unsigned half)
{
	return &track_at(lcore->tracker, flow_cold_at(lcore->flows, ref)->track)->half[half];
}

// The newest bytes do not leave: as those that may complete a file (stage/inspect_tcp.c). Which
// spans are of a file, and how long one waits, follows from their places.
static void gate(const struct lcore *lcore, uint32_t ref, const struct span *span)
{
	struct tcp_half *half = half_of(lcore, ref, span->half);
	struct gate *gate = &piped.gates[world_half(lcore, ref, span->half)];
	uint64_t odd = (span->offset64 + piped.seed) * 0x9e3779b97f4a7c15ull;

	if (odd >> 62 == 0 || !inspect_enforces(lcore, flow_at(lcore->flows, ref)))
		return;
	track_gate(lcore->tracker, track_at(lcore->tracker, flow_cold_at(lcore->flows, ref)->track),
		span->half, half->q2.n_copies ? half->sent : span->offset64);
	*gate = (struct gate){
		.until_ns = piped.pipe->now_ns + (odd >> 40 & 63) * 1000000,
		.ref = ref,
		.half = span->half,
	};
}

// All that was inspected may leave, or there is no gate any more.
static void move_gates(void)
{
	struct lcore *lcore = piped.pipe->dp.lcores[0];

	for (unsigned i = 0; i < 2; i++) {
		struct gate *gate = &piped.gates[i];

		if (!gate->until_ns || gate->until_ns > piped.pipe->now_ns)
			continue;
		uint32_t track = flow_cold_at(lcore->flows, gate->ref)->track;

		gate->until_ns = 0;
		if (track)
			track_gate(lcore->tracker, track_at(lcore->tracker, track), gate->half,
				piped.packets++ % 3 ? half_of(lcore, gate->ref, gate->half)->next
						    : TRACK_GATE_NONE);
	}
}

static void check_gates(void)
{
	const struct lcore *lcore = piped.pipe->dp.lcores[0];

	for (unsigned i = 0; i < 2; i++) {
		const struct gate *gate = &piped.gates[i];

		if (!gate->until_ns || !flow_cold_at(lcore->flows, gate->ref)->track)
			continue;
		const struct tcp_half *half = half_of(lcore, gate->ref, gate->half);

		// behind a hole that its receiver does not wait for, all has left long since
		const struct flow_cold *cold = flow_cold_at(lcore->flows, gate->ref);

		if (half->flags & HALF_GATED && half->sent > half->gate &&
			!cold->report.half[gate->half].gaps)
			piped.gate_fails = true;
	}
}

static void span_told(void *ctx, const struct lcore *lcore, uint32_t ref, const struct span *span)
{
	unsigned half = world_half(lcore, ref, span->half);
	struct job *job = &piped.jobs[half];
	(void)ctx;

	stream_world_span(half, span->offset64, span->unchecked, span->extent, span_is_gap(span));
	if (!span_is_gap(span))
		job->bytes += span->extent;
	if (is_gating())
		gate(lcore, ref, span);
	else if (piped.edits && !span_is_gap(span))
		edit(lcore, ref, span);
	if (!job->said || job->pending || job->bytes < job->at)
		return;
	uint32_t track = flow_cold_at(lcore->flows, ref)->track;

	job->pending = true;
	job->at = job->said->every ? job->bytes + job->said->after_bytes : UINT64_MAX;
	job->until_ns = job->said->never ? UINT64_MAX
					 : piped.pipe->now_ns + job->said->delay_ms * 1000000ull;
	job->ref = ref;
	job->half = span->half;
	track_process(track_at(lcore->tracker, track), span->half);
}

static void overlap_told(void *ctx, const struct lcore *lcore, uint32_t ref, unsigned half,
	uint32_t bytes, uint32_t conflict)
{
	(void)ctx;
	(void)lcore;
	(void)ref;
	(void)half;
	(void)bytes;
	(void)conflict;
}

// The flow is gone: so are its jobs.
static void flow_told(void *ctx, const struct lcore *lcore, uint32_t ref)
{
	(void)ctx;
	(void)lcore;
	stream_world_gone();
	for (unsigned half = 0; half < 2; half++) {
		if (piped.jobs[half].pending && piped.jobs[half].ref == ref)
			piped.jobs[half] = (struct job){0};
		if (piped.gates[half].ref == ref)
			piped.gates[half].until_ns = 0;
	}
}

static const struct stream_tap tap = {.span = span_told, .overlap = overlap_told, .end = flow_told};

static struct policy *policy_of(struct pipe *pipe, unsigned kind)
{
	struct policy *policy = pipe_policy(pipe);

	policy->tcp.conflict = kind == POLICY_DROP ? TCP_CONFLICT_DROP : TCP_CONFLICT_REWRITE;
	policy->tcp.midstream = TCP_MIDSTREAM_INSPECT;
	if (kind != POLICY_OBSERVE) // of other traffic: the policy enforces, these flows pass
		pipe_rule(policy, 1, ACTION_DROP)->l4_proto = IPPROTO_UDP;
	return policy;
}

static void make(void)
{
	struct lcore_limits limits = pipe_limits();

	limits.tracker.blocks = BLOCKS;
	piped.pipe = pipe_new(1, &limits);
	piped.pipe->dp.lcores[0]->tap = &tap;
	for (unsigned i = 0; i < POLICIES; i++)
		for (unsigned k = 0; k < 2; k++)
			piped.policies[i][k] = policy_of(piped.pipe, i);
}

// A slab that is small for whoever shares it out, too: of what is taken away nobody knows.
static void make_small(struct slab *slab)
{
	while (slab_free(slab) > FEW_BLOCKS)
		piped.taken[piped.n_taken++] = slab_take(slab);
	slab->n = FEW_BLOCKS;
	slab->used = 0;
}

static void make_large(struct slab *slab)
{
	slab->n = BLOCKS;
	slab->used += piped.n_taken;
	while (piped.n_taken)
		slab_put(slab, piped.taken[--piped.n_taken]);
}

// Its caps; the lcore is at rest.
static void become(enum stream_world_kind kind)
{
	struct tracker *tracker = piped.pipe->dp.lcores[0]->tracker;
	bool small = kind == WORLD_SMALL;

	tracker->limits.fast_pass = kind != WORLD_SLOW;
	tracker->limits.half_blocks = small ? 12 : 128;
	tracker->limits.held = small ? 4 : 64;
	tracker->limits.half_held = small ? 3 : 48;
	if (small)
		make_small(&tracker->slab);
}

static void publish(void)
{
	struct policy *policy = piped.pair[piped.turn++ & 1];

	policy->generation = ++piped.generation;
	policy->edits_content = piped.edits && !is_gating();
	atomic_store(&piped.pipe->dp.policy, policy);
}

static bool piped_begin(void *ctx, const struct stream_schedule *s, uint32_t client)
{
	(void)ctx;
	(void)client;
	if (!piped.pipe)
		make();
	become(s->world);
	piped.seed = s->seed;
	piped.packets = 0;
	piped.pair = piped.policies[s->observe ? POLICY_OBSERVE
				    : s->drop  ? POLICY_DROP
					       : POLICY_REWRITE];
	publish();
	for (unsigned half = 0; half < 2; half++) {
		piped.gates[half] = (struct gate){0};
		piped.jobs[half] = (struct job){0};
		for (unsigned i = 0; i < s->n_jobs; i++)
			if (s->jobs[i].half == half)
				piped.jobs[half] = (struct job){
					.said = &s->jobs[i], .at = s->jobs[i].after_bytes};
	}
	return true;
}

static void tell_frames(void)
{
	struct pipe *pipe = piped.pipe;

	for (unsigned i = 0; i < pipe->n_sent; i++)
		stream_world_frame(pipe->sent[i].port == PIPE_INSIDE, pipe->sent[i].frame,
			pipe->sent[i].length);
	pipe->n_sent = 0;
}

static void piped_packet(
	void *ctx, const uint8_t *frame, unsigned length, unsigned half, bool split)
{
	(void)ctx;
	pipe_run_frame(piped.pipe, 0, frame, length, half, split ? 2 : 1);
	tell_frames();
	check_gates();
}

static void piped_time(void *ctx, unsigned ms)
{
	struct pipe *pipe = piped.pipe;
	uint64_t until = pipe->now_ns + ms * 1000000ull;
	(void)ctx;

	for (;;) {
		struct job *next = NULL;

		for (unsigned half = 0; half < 2; half++) {
			struct job *job = &piped.jobs[half];

			if (job->pending && job->until_ns <= until &&
				(!next || job->until_ns < next->until_ns))
				next = job;
		}
		if (!next)
			break;
		pipe->now_ns = next->until_ns > pipe->now_ns ? next->until_ns : pipe->now_ns;
		next->pending = false;
		inspect_resume(pipe->dp.lcores[0], next->ref, next->half);
		pipe_turns(pipe);
		pipe_turns(pipe);
	}
	pipe->now_ns = until;
	move_gates();
	pipe_turns(pipe);
	tell_frames();
	check_gates();
}

static void piped_reload(void *ctx)
{
	(void)ctx;
	publish();
}

static const char *piped_end(void *ctx)
{
	struct pipe *pipe = piped.pipe;
	const struct lcore *lcore = pipe->dp.lcores[0];
	const struct tracker *tracker = lcore->tracker;
	struct event event;
	(void)ctx;

	pipeline_drain(pipe->dp.lcores[0], pipe->now_ns);
	tell_frames();
	make_large(&lcore->tracker->slab);
	while (!rte_ring_sc_dequeue_elem(lcore->events, &event, sizeof(event)))
		;
	unsigned mbufs = rte_mempool_in_use_count(pipe->pool);
	int64_t unaccounted = pipe_unaccounted(pipe);

	if (piped.gate_fails) {
		piped.gate_fails = false;
		return "bytes left that stood at a gate";
	}
	if (!mbufs && !unaccounted && !tracker->slab.used && !tracker->n_held &&
		tracker->n_free == tracker->limits.tracks)
		return NULL;
	snprintf(piped.lost, sizeof(piped.lost),
		"not back: %u mbufs, %lld packets, %u blocks, %u held, %u states", mbufs,
		(long long)unaccounted, tracker->slab.used, tracker->n_held,
		tracker->limits.tracks - tracker->n_free);
	return piped.lost;
}

static struct stream_ledger piped_ledger(void *ctx)
{
	const struct lcore *lcore = piped.pipe->dp.lcores[0];
	struct stream_ledger ledger = {
		.consumed = lcore->stats.consumed_pkts,
		.injected = lcore->stats.injected_pkts,
		.held = pipeline_held(lcore),
	};
	(void)ctx;

	for (unsigned i = 0; i < DROP_REASONS_MAX; i++)
		ledger.dropped += lcore->stats.dropped_pkts[i];
	return ledger;
}

struct stream_gateway stream_pipe_editing(enum stream_pipe_edits edits)
{
	piped.edits = edits;
	return (struct stream_gateway){
		.begin = piped_begin,
		.packet = piped_packet,
		.time = piped_time,
		.reload = piped_reload,
		.end = piped_end,
		.ledger = piped_ledger,
	};
}

struct stream_gateway stream_pipe(void)
{
	return stream_pipe_editing(STREAM_PIPE_NO_EDITS);
}

void stream_pipe_free(void)
{
	if (!piped.pipe)
		return;
	atomic_store(&piped.pipe->dp.policy, piped.pipe->policy);
	pipe_free(piped.pipe);
	for (unsigned i = 0; i < POLICIES; i++)
		for (unsigned k = 0; k < 2; k++)
			policy_free(piped.policies[i][k]);
	piped.pipe = NULL;
}
