// SPDX-License-Identifier: BSD-3-Clause
#include "two_ends.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "pipeline/wire/checksum.h"
#include "pipeline/flow/table.h"
#include "pipeline/stage/inspect_track.h"
#include "pipeline/event/stream_tap.h"

#define SERVER_NUMBERS 0x5000 // its first, beyond the client's

struct inspected { // of one half
	uint8_t bytes[RECEIVER_ROOM];
	bool has[RECEIVER_ROOM];
	bool over; // the flow has ended: the next span is of another
};

struct telling {
	const struct story *story;
	struct pipe *pipe;
	bool v6, enforces;
	bool edits;        // a rule that may edit messages is in force, too
	uint32_t first[2]; // number of offset 0, by half
	unsigned step;     // at hand, from 1
	unsigned left;     // frames that left at it
	uint32_t flow;
	struct stream_tap tap;
	struct inspected inspected[2];
	struct receiver receivers[2][RECEIVERS];
	char where[200];
	char wrong[400]; // what did not hold first
};

#define TELL(telling, holds, ...) tell(telling, holds, __VA_ARGS__)
__attribute__((format(printf, 3, 4))) static void tell(
	struct telling *telling, bool holds, const char *format, ...)
{
	char what[300];
	va_list args;

	if (holds || *telling->wrong)
		return;
	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	snprintf(telling->wrong, sizeof(telling->wrong), "step %u: %s", telling->step, what);
	print_error("%s, %s\n", telling->where, telling->wrong);
}

static void tap_span(void *ctx, const struct lcore *lcore, uint32_t ref, const struct span *span)
{
	struct telling *telling = ctx;
	struct inspected *inspected = &telling->inspected[span->half];

	(void)lcore;
	telling->flow = ref;
	if (inspected->over || !span->offset64)
		memset(inspected, 0, sizeof(*inspected));
	if (span_is_gap(span))
		return;
	for (uint32_t i = 0; i < span_length(span) && span->offset64 + i < RECEIVER_ROOM; i++) {
		inspected->has[span->offset64 + i] = true;
		inspected->bytes[span->offset64 + i] = span_bytes(span)[i];
	}
}

static void tap_overlap(void *ctx, const struct lcore *lcore, uint32_t ref, unsigned half,
	uint32_t bytes, uint32_t conflict)
{
	(void)ctx, (void)lcore, (void)ref, (void)half, (void)bytes, (void)conflict;
}

static void tap_end(void *ctx, const struct lcore *lcore, uint32_t ref)
{
	struct telling *telling = ctx;

	(void)lcore, (void)ref;
	telling->inspected[0].over = telling->inspected[1].over = true;
}

static void begin_receivers(struct telling *telling, uint32_t isn)
{
	telling->first[HALF_C2S] = isn + 1;
	telling->first[HALF_S2C] = isn + SERVER_NUMBERS + 1;
	for (unsigned half = 0; half < 2; half++)
		for (unsigned traits = 0; traits < RECEIVERS; traits++)
			receiver_begin(&telling->receivers[half][traits], traits,
				telling->first[half], telling->story->takes_syn_data);
}

static struct telling *begin(const struct story *story, bool v6, uint32_t isn, bool enforces,
	bool edits, enum tcp_conflict conflict)
{
	struct telling *telling = calloc(1, sizeof(*telling));
	struct lcore_limits limits = pipe_limits_edits();

	assert_non_null(telling);
	if (story->limits)
		story->limits(&limits);
	telling->story = story;
	telling->v6 = v6;
	telling->enforces = enforces;
	telling->edits = edits;
	telling->flow = FLOW_REF_NONE;
	telling->pipe = pipe_new(1, &limits);
	snprintf(telling->where, sizeof(telling->where), "%s (%s, from %#x, %s, %s)", story->name,
		v6 ? "IPv6" : "IPv4", isn,
		edits      ? "edited"
		: enforces ? "enforced"
			   : "observed",
		conflict == TCP_CONFLICT_DROP ? "drop" : "rewrite");
	struct policy *policy = pipe_policy(telling->pipe);

	if (enforces)
		pipe_rule_app(policy, 7, ACTION_RESET, "bittorrent")->cache = CACHE_NONE;
	if (edits)
		pipe_rule_edits(policy, 9);
	policy->tcp = story->tcp;
	policy->tcp.conflict = (uint8_t)conflict;
	pipe_publish(telling->pipe, policy);
	telling->tap = (struct stream_tap){
		.ctx = telling, .span = tap_span, .overlap = tap_overlap, .end = tap_end};
	telling->pipe->dp.lcores[0]->tap = &telling->tap;
	begin_receivers(telling, isn);
	return telling;
}

struct telling *telling_begin(
	const struct story *story, bool v6, uint32_t isn, bool enforces, enum tcp_conflict conflict)
{
	return begin(story, v6, isn, enforces, false, conflict);
}

struct pipe *telling_pipe(struct telling *telling)
{
	return telling->pipe;
}

uint32_t telling_flow(const struct telling *telling)
{
	return telling->flow;
}

// Whatever it can put together was inspected.
static void hold_law(struct telling *telling)
{
	for (unsigned half = 0; half < 2; half++) {
		const struct inspected *inspected = &telling->inspected[half];

		for (unsigned traits = 0; traits < RECEIVERS; traits++) {
			const struct receiver *receiver = &telling->receivers[half][traits];

			TELL(telling, !receiver->misled, "URG reached half %u, receiver %#x", half,
				traits);
			for (uint32_t i = 0; i < receiver->next; i++)
				TELL(telling,
					inspected->has[i] &&
						inspected->bytes[i] == receiver->bytes[i],
					"half %u, byte %u: receiver %#x has %02x, inspected was "
					"%02x%s",
					half, i, traits, receiver->bytes[i], inspected->bytes[i],
					inspected->has[i] ? "" : " (nothing)");
		}
	}
}

// What has left since `from` gets to the receivers. What one end says of its window it has said.
static void deliver(struct telling *telling)
{
	struct pipe *pipe = telling->pipe;

	for (unsigned i = 0; i < pipe->n_sent; i++) {
		const struct pipe_sent *sent = &pipe->sent[i];
		unsigned half = sent->port == PIPE_OUTSIDE ? HALF_C2S : HALF_S2C;
		struct wire_segment segment = wire_segment(sent->frame, sent->length);

		for (unsigned traits = 0; traits < RECEIVERS; traits++)
			receiver_take(&telling->receivers[half][traits], &segment);
	}
	telling->left = pipe->n_sent ? pipe->n_sent : telling->left;
	pipe->n_sent = 0;
}

unsigned telling_left(const struct telling *telling)
{
	return telling->left;
}

struct wire_segment telling_frame(const struct telling *telling, unsigned i, enum half *half)
{
	const struct pipe_sent *sent =
		&telling->pipe->sent[i]; // forgotten, but not overwritten yet

	assert_true(i < telling->left);
	*half = sent->port == PIPE_OUTSIDE ? HALF_C2S : HALF_S2C;
	return wire_segment(sent->frame, sent->length);
}

uint32_t telling_number(const struct telling *telling, enum half half, int32_t at)
{
	return telling->first[half] + (uint32_t)at;
}

// The window that a receiver says lets its sender send so far.
static void note_window(struct telling *telling, const struct step *step, unsigned half)
{
	uint32_t end = (uint32_t)step->ack + (step->window ? step->window : 65000);

	if (step->astray || step->bad_checksum)
		return;
	for (unsigned traits = 0; traits < RECEIVERS; traits++) {
		struct receiver *receiver = &telling->receivers[!half][traits];

		if (!receiver->next || receiver->window < end)
			receiver->window = end;
	}
}

static uint16_t text_length(const struct step *step)
{
	return step->length || !step->text ? step->length : (uint16_t)strlen(step->text);
}

static unsigned build(const struct telling *telling, const struct step *step, unsigned half,
	uint8_t *frame, size_t size)
{
	uint8_t times[12] = {1, 1, TCPOPT_TIMESTAMP, 10};
	struct pipe_packet packet = {
		.v6 = telling->v6,
		.from_outside = half == HALF_S2C,
		.seq = telling->first[half] + (uint32_t)step->at,
		.ack = telling->first[!half] + (uint32_t)step->ack,
		.tcp_flags = step->flags,
		.payload = step->text,
		.payload_length = text_length(step),
		.ttl = step->ttl,
		.window = step->window,
		.urgent = step->urgent,
		.bad_checksum = step->bad_checksum,
		.options = step->options,
		.options_length = step->options_length,
	};

	if (step->time) {
		for (unsigned i = 0; i < 4; i++) {
			times[4 + i] = (uint8_t)(step->time >> (24 - 8 * i));
			times[8 + i] = (uint8_t)(step->echo >> (24 - 8 * i));
		}
		packet.options = times;
		packet.options_length = sizeof(times);
	}
	if (!(step->flags & TH_ACK) && (step->flags || step->no_flags))
		packet.ack = 0;
	unsigned length = pipe_build(&packet, frame, size);

	if (step->no_flags) { // the builder would set one
		unsigned l4 = telling->v6 ? 54 : 34;

		frame[l4 + 13] = 0;
		checksum_fill(
			frame + 14, frame + l4, (uint16_t)(length - l4), IPPROTO_TCP, telling->v6);
	}
	return length;
}

static void send_segment(struct telling *telling, const struct step *step)
{
	unsigned half = step->kind == STEP_CLIENT ? HALF_C2S : HALF_S2C;
	uint8_t frame[2048];
	unsigned length = build(telling, step, half, frame, sizeof(frame));
	unsigned left =
		pipe_run_frame(telling->pipe, 0, frame, length, (half == HALF_S2C) != step->astray,
			step->flags & TH_SYN ? 1 : 1 + telling->step % 3);

	const struct pipe_sent *last = &telling->pipe->sent[telling->pipe->n_sent - left];

	if (!telling->enforces) {
		TELL(telling,
			left == 1 && last->length == length && !memcmp(last->frame, frame, length),
			"it does not leave as it came");
	} else if (step->leaves && !telling->edits) { // which has no fast pass
		TELL(telling, left == (step->leaves == NONE ? 0 : (unsigned)step->leaves),
			"%u frames leave, expected %d", left, step->leaves);
	}
	note_window(telling, step, half);
}

static void settle(struct telling *telling)
{
	if (telling->edits) // what was held leaves in the next turn
		pipe_turns(telling->pipe);
	deliver(telling);
	if (telling->enforces && !telling->story->law_waived)
		hold_law(telling);
}

static void send_pieces(struct telling *telling, const struct step *step)
{
	uint16_t length = text_length(step);

	for (uint16_t done = 0; !done || done < length;) {
		struct step piece = *step;

		piece.at += done;
		piece.text = step->text ? step->text + done : NULL;
		piece.length = step->pieces && step->pieces < length - done
				       ? step->pieces
				       : (uint16_t)(length - done);
		send_segment(telling, &piece);
		settle(telling);
		done = (uint16_t)(done + (piece.length ? piece.length : 1));
	}
}

static void open_connection(struct telling *telling, const struct step *step)
{
	const struct step steps[] = {
		CLIENT(.at = -1, .flags = TH_SYN, .time = step->time),
		SERVER(.at = -1, .flags = TH_SYN | TH_ACK, .time = step->time ? 500 : 0,
			.echo = step->time),
		CLIENT(.time = step->time, .echo = 500),
	};

	for (unsigned i = 0; i < 3; i++)
		send_segment(telling, &steps[i]);
}

static struct tcp_track *track(const struct telling *telling)
{
	const struct lcore *lcore = telling->pipe->dp.lcores[0];

	return track_at(lcore->tracker, flow_cold_at(lcore->flows, telling->flow)->track);
}

static void job_begins(struct telling *telling)
{
	if (telling->enforces) // nothing is held for a job of a policy that enforces nothing
		track_process(track(telling), HALF_C2S);
}

static void job_ends(struct telling *telling)
{
	if (!telling->enforces)
		return;
	inspect_resume(telling->pipe->dp.lcores[0], telling->flow, HALF_C2S);
	for (unsigned turn = 0; turn < 4; turn++)
		pipe_turns(telling->pipe);
}

void telling_step(struct telling *telling, const struct step *step)
{
	telling->step++;
	telling->left = 0;
	if (*telling->wrong)
		return;
	switch (step->kind) {
	case STEP_CLIENT:
	case STEP_SERVER:
		for (unsigned i = 0; i <= step->again; i++)
			send_pieces(telling, step);
		break;
	case STEP_OPEN: open_connection(telling, step); break;
	case STEP_WAIT: pipe_advance(telling->pipe, step->seconds); break;
	case STEP_HOLD: job_begins(telling); break;
	case STEP_RELEASE: job_ends(telling); break;
	case STEP_ANEW:
		begin_receivers(telling, telling->first[HALF_C2S] + (uint32_t)step->at);
		break;
	default: fail_msg("no such step");
	}
	settle(telling);
}

static uint64_t counter(const struct stats *stats, size_t at)
{
	uint64_t value;

	memcpy(&value, (const uint8_t *)stats + at, sizeof(value));
	return value;
}

static void hold_outcome(struct telling *telling)
{
	const struct story *story = telling->story;
	const struct receiver *ordinary = &telling->receivers[HALF_C2S][0];
	struct stats stats = pipe_stats(telling->pipe);

	TELL(telling, (stats.flows_condemned > 0) == story->blocked, "the flow is%s blocked",
		story->blocked ? " not" : "");
	for (unsigned i = 0; i < 4 && story->counters[i].at && !telling->edits; i++) {
		uint64_t is = counter(&stats, story->counters[i].at);

		TELL(telling, is >= story->counters[i].least, "counter %u is %lu, expected %lu", i,
			(unsigned long)is, (unsigned long)story->counters[i].least);
	}
	if (!story->delivers || telling->pipe->policy->tcp.conflict != TCP_CONFLICT_REWRITE)
		return;
	TELL(telling,
		ordinary->next == strlen(story->delivers) &&
			!memcmp(ordinary->bytes, story->delivers, ordinary->next),
		"delivered is \"%.*s\", not \"%s\"", (int)ordinary->next,
		(const char *)ordinary->bytes, story->delivers);
}

void telling_end(struct telling *telling)
{
	telling->pipe->n_sent = 0;
	if (telling->enforces && !(telling->edits && telling->story->by_fast_pass))
		hold_outcome(telling);
	pipe_free(telling->pipe);
	char wrong[700];

	snprintf(wrong, sizeof(wrong), "%s, %s", telling->where, telling->wrong);
	bool holds = !*telling->wrong;

	free(telling);
	if (!holds)
		fail_msg("%s", wrong);
}

static void tell_whole(struct telling *telling)
{
	for (const struct step *step = telling->story->steps; step->kind; step++)
		telling_step(telling, step);
	telling_end(telling);
}

void story_tell(const struct story *story)
{
	static const uint32_t numbers[] = {1000, 0xfffffff8, 0x7ffffff8};

	for (unsigned way = 0; way < 2 * 3 * 3; way++) {
		bool v6 = way / 3 & 1;
		uint32_t isn = numbers[way / 6];

		tell_whole(telling_begin(story, v6, isn, way % 3 != 2,
			way % 3 == 1 ? TCP_CONFLICT_DROP : TCP_CONFLICT_REWRITE));
		if (way % 3 != 2)
			tell_whole(begin(story, v6, isn, true, true,
				way % 3 ? TCP_CONFLICT_DROP : TCP_CONFLICT_REWRITE));
	}
}
