// SPDX-License-Identifier: BSD-3-Clause
// One TCP connection through the whole packet path under a policy that enforces: frames in any
// order, of any content, with jobs that hold its halves. The input is a byte of settings, then
// eight bytes for each step. Whatever comes: no byte leaves with another value than it was
// inspected with, none leaves twice with different values before it was acknowledged, spans follow
// each other, and in the end every packet is accounted for and every mbuf, block and state is back.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/pipeline/pipe.h"
#include "pipeline/stage/inspect_track.h"
#include "pipeline/vocab/span.h"
#include "reassembly/tcp_track.h"
#include "pipeline/event/stream_tap.h"
#include "pipeline/flow/table.h"
#include "classify/classify.h"

#define STEP      8
#define STEPS_MAX 250
#define FOLLOWED  20000

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

enum { OUT = 1, TOLD = 2 };

static const uint32_t isn[2] = {0xffffff00u, 0x7ffffff0u};
static struct way {
	uint64_t told;
	uint32_t acked; // the highest acknowledgement of what had left
	uint32_t end;   // of what has left
	bool pending;   // a job holds it
	bool stopped;   // since before this step
	uint8_t state[FOLLOWED], left[FOLLOWED], seen[FOLLOWED];
} directions[2];
static struct pipe *pipe;
static uint32_t flow_ref;
static bool lawless; // the flow is another one
static uint8_t holds_every, spans;

static void check(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "fuzz_stream: %s\n", what);
	abort();
}

static void span_told(void *ctx, const struct lcore *lcore, uint32_t ref, const struct span *span)
{
	struct way *d = &directions[span->half];
	(void)ctx;

	flow_ref = ref;
	// a handshake that timed out: its half begins where the next segment does; or behind
	// another SYN
	const struct tcp_track *track =
		track_at(lcore->tracker, flow_cold_at(lcore->flows, ref)->track);

	lawless |=
		span->flags & SPAN_MIDSTREAM || track->half[span->half].base != isn[span->half] + 1;
	if (lawless)
		return;
	check(span->offset64 == d->told, "spans do not follow each other");
	for (uint64_t i = 0; i < span->extent && d->told + i < FOLLOWED; i++) {
		uint64_t at = d->told + i;

		if (!span->unchecked)
			continue;
		check(!(d->state[at] & OUT) || d->left[at] == span->unchecked[i],
			"inspected is not what has left");
		d->state[at] |= TOLD;
		d->seen[at] = span->unchecked[i];
	}
	d->told += span->extent;
	if (!span->unchecked || d->pending || !holds_every || ++spans % holds_every)
		return;
	d->pending = true;
	track_process(track_at(lcore->tracker, flow_cold_at(lcore->flows, ref)->track), span->half);
}

static void overlap_told(void *ctx, const struct lcore *lcore, uint32_t ref, unsigned half,
	uint32_t bytes, uint32_t conflict)
{
	(void)ctx;
	(void)lcore;
	(void)ref;
	(void)half;
	check(bytes >= conflict, "more conflicts than there are bytes");
}

static void flow_ended(void *ctx, const struct lcore *lcore, uint32_t ref)
{
	(void)ctx;
	(void)lcore;
	(void)ref;
	lawless = true;
	directions[0].pending = directions[1].pending = false;
}

static const struct stream_tap tap = {
	.span = span_told, .overlap = overlap_told, .end = flow_ended};

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static bool has_copy(unsigned half, uint64_t at)
{
	const struct lcore *lcore = pipe->dp.lcores[0];
	uint32_t index = flow_cold_at(lcore->flows, flow_ref)->track;
	const struct segment *kept =
		index ? q2_at(&track_at(lcore->tracker, index)->half[half].q2, at) : NULL;

	return kept && kept->start <= at && kept->kind == SEGMENT_COPY;
}

static void judge(const struct pipe_sent *sent)
{
	const uint8_t *tcp = sent->frame + 34;
	unsigned half = sent->port == PIPE_INSIDE, header = 34 + (tcp[12] >> 4) * 4u;
	unsigned end = 14u + (unsigned)(sent->frame[16] << 8 | sent->frame[17]);
	struct way *d = &directions[half];
	uint64_t at = d->told + (uint64_t)(int64_t)(int32_t)(be32(tcp + 4) -
							     (isn[half] + 1 + (uint32_t)d->told));

	check(end <= sent->length && header <= end, "a torn frame");
	if (lawless || tcp[13] & (TH_RST | TH_SYN))
		return;
	for (unsigned i = header; i < end; i++, at++) {
		if (at >= FOLLOWED)
			continue;
		check(!(d->state[at] & TOLD) || d->seen[at] == sent->frame[i] || at < d->acked,
			"left with another byte than inspected");
		check(!(d->state[at] & OUT) || d->left[at] == sent->frame[i] || at < d->acked,
			"left twice with different bytes");
		if (d->state[at] & OUT)
			continue;
		d->state[at] |= OUT;
		d->left[at] = sent->frame[i];
		d->end = at < d->end ? d->end : (uint32_t)at + 1;
		// ahead of a hole in the turn that filled it, before the job began
		check(!d->pending || at < d->told || (!d->stopped && has_copy(half, at)),
			"left behind a hold, not inspected");
	}
}

static void judge_all(void)
{
	for (unsigned i = 0; i < pipe->n_sent; i++)
		judge(&pipe->sent[i]);
	pipe->n_sent = 0;
}

static uint8_t content(unsigned half, uint32_t at, uint8_t variant)
{
	uint32_t x = at * 2654435761u + half;

	return (uint8_t)((x >> 24) + (variant && !(x >> 13 & 7) ? variant : 0));
}

static void packet(unsigned half, uint32_t seq, uint32_t ack, uint8_t flags)
{
	struct pipe_packet packet = {
		.from_outside = half, .seq = seq, .ack = ack, .tcp_flags = flags};

	pipe_run(pipe, 0, &packet);
	judge_all();
}

// half 1, kind 3, variant 2, segments 2 | at 16 | length 8 | ack 8 | window 8 | stamp 8
static void segment(const uint8_t *step)
{
	static uint8_t payload[1400];
	unsigned half = step[1] & 1;
	struct way *d = &directions[half], *other = &directions[!half];
	uint32_t length = step[4] < 128 ? step[4] : (step[4] - 127u) * 10u;
	int32_t distance = (int16_t)(step[2] | step[3] << 8) / 4;
	int64_t at = (int64_t)d->told + distance;
	uint32_t value = 1000u + (uint32_t)(pipe->now_ns / NS_PER_MS) - step[7] % 8 / 7 * 200u;
	uint8_t options[12] = {1, 1, 8, 10};
	struct pipe_packet packet = {
		.from_outside = half,
		.seq = isn[half] + 1 + (uint32_t)at,
		.ack = isn[!half] + 1 + other->acked + (uint32_t)((int8_t)step[5] * 24),
		.window = (uint16_t)(step[6] * 128 + 1),
		.tcp_flags = TH_ACK,
		.bad_checksum = step[7] == 100,
		.segments = 1 + (step[1] >> 6),
		.payload = payload,
		.payload_length = (uint16_t)length,
	};

	for (unsigned i = 0; i < 4; i++)
		options[4 + i] = options[8 + i] = (uint8_t)(value >> (24 - 8 * i));
	if (step[7] >= 128) {
		packet.options = options;
		packet.options_length = sizeof(options);
	}
	switch (step[1] >> 1 & 7) {
	case 7: packet.tcp_flags |= TH_FIN; break;
	case 6:
		packet.tcp_flags = step[7] & 1 ? TH_RST : TH_SYN;
		packet.payload_length = 0;
		break;
	case 5: packet.payload_length = 0; break;
	default: break;
	}
	for (uint32_t i = 0; i < length; i++)
		payload[i] = content(half, (uint32_t)at + i, step[1] >> 4 & 3);
	uint32_t ack = packet.ack - isn[!half] - 1;

	if (!packet.bad_checksum && packet.tcp_flags & TH_ACK && ack <= other->end + 1 &&
		ack > other->acked)
		other->acked = ack;
	pipe_run(pipe, 0, &packet);
	if (packet.bad_checksum)
		pipe->n_sent = 0; // it passes, and no receiver takes it
	judge_all();
}

static void take_step(const uint8_t *step)
{
	unsigned half = step[1] & 1;

	for (unsigned i = 0; i < 2; i++)
		directions[i].stopped = directions[i].pending;
	switch (step[0] % 16) {
	case 0:
		if (!directions[half].pending)
			break;
		directions[half].pending = directions[half].stopped = false;
		inspect_resume(pipe->dp.lcores[0], flow_ref, half);
		break;
	case 1:
	case 2: break;
	case 3: pipe_advance(pipe, step[2] * 0.1); break;
	default: segment(step); return;
	}
	pipe_turns(pipe);
	judge_all();
}

static void free_pipe(void)
{
	pipe_free(pipe);
}

static void begin(uint8_t settings)
{
	struct tracker *tracker;

	if (!pipe) {
		pipe = pipe_new(1, NULL);
		struct policy *policy = pipe_policy(pipe);

		// of other traffic: what is under test is under a policy that enforces, and passes
		pipe_rule(policy, 1, ACTION_DROP)->l4_proto = IPPROTO_UDP;
		pipe_publish(pipe, policy);
		pipe->dp.lcores[0]->tap = &tap;
		atexit(free_pipe);
	}
	pipe->policy->tcp.conflict = settings & 1 ? TCP_CONFLICT_DROP : TCP_CONFLICT_REWRITE;
	tracker = pipe->dp.lcores[0]->tracker;
	tracker->limits.fast_pass = !(settings & 2);
	tracker->limits.half_blocks = settings & 4 ? 8 : 128;
	tracker->limits.half_held = settings & 8 ? 3 : 16;
	holds_every = settings >> 4;
	spans = 0;
	lawless = false;
	memset(directions, 0, sizeof(directions));
	packet(0, isn[0], 0, TH_SYN);
	packet(1, isn[1], isn[0] + 1, TH_SYN | TH_ACK);
	packet(0, isn[0] + 1, isn[1] + 1, TH_ACK);
}

static void settle(void)
{
	const struct lcore *lcore = pipe->dp.lcores[0];
	struct event event;

	lawless = true; // from here on nobody is there to read it
	pipe->now_ns += 8000 * NS_PER_S;
	for (unsigned i = 0; i < 12; i++) {
		pipe_turns(pipe);
		pipe->n_sent = 0;
	}
	while (pipe_event(pipe, 0, EVENT_TRACE, &event))
		;
	struct stats stats = pipe_stats(pipe);

	check(pipe_unaccounted(pipe) == 0, "a packet is unaccounted for");
	check(stats.flows_active + stats.embryos_active == 0, "a flow outlived its time-out");
	check(rte_mempool_in_use_count(pipe->pool) == 0, "an mbuf was lost");
	check(lcore->tracker->slab.used == 0 && lcore->tracker->n_held == 0, "a block was lost");
	check(lcore->tracker->n_free == lcore->tracker->limits.tracks, "a state was lost");
	check(classifier_states_free(lcore->classifier) == classifier_states_max(lcore->classifier),
		"a classifier state was lost");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	if (!len)
		return 0;
	begin(bytes[0]);
	size_t at = 1;

	for (unsigned n = 0; n < STEPS_MAX && at + STEP <= len; n++, at += STEP)
		take_step(bytes + at);
	settle();
	return 0;
}
