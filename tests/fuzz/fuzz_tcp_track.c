// SPDX-License-Identifier: BSD-3-Clause
// The tracker alone: segments of two halves in any order, a consumer that sometimes asks for a hold
// or cannot take what it is shown, verdicts, time-outs and ends at any moment. The input is a byte
// of settings, then nine bytes for each step. After each step: what is kept is in order, counted
// and within its caps; spans followed each other; what left in order was inspected with the same
// bytes, what left ahead has its copy. At the end all is given back.
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/packet/packet.h"
#include "reassembly/tcp_track.h"

#define STEP        9
#define STEPS_MAX   300
#define HEADER      54 // of a frame, in front of its payload
#define FOLLOWED    20000
#define PAYLOAD_MAX 2600
#define TRACKS      2

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

enum { OUT = 1, TOLD = 2, GAP = 4 };

static struct direction { // as the ends and the consumer know it
	uint64_t told;    // end of what the consumer was reported
	bool fin_told;
	uint8_t state[FOLLOWED], left[FOLLOWED], seen[FOLLOWED];
} directions[2];

static struct {
	struct tracker *tracker;
	struct tcp_track *track;
	struct rte_mempool *pool;
	struct stream_report report;
	const uint8_t *script; // of what the consumer answers
	size_t script_length, script_at;
	uint64_t now_ns;
	bool enforces, rewrites, passes_limits, one_sided;
	bool lawless; // a cap let something pass, or packets were missed
} world;

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "fuzz_tcp_track: %s\n", what);
	abort();
}

struct about { // what is said of a packet, kept with it to walk it again
	uint32_t seq, ack, tsval, length;
	uint16_t window;
	uint8_t tcp_flags, half;
	bool stamped;
};

static struct about about(struct rte_mbuf *m)
{
	const struct pkt *pkt = pkt_of(m);

	return (struct about){
		.seq = pkt->tcp_seq,
		.ack = pkt->tcp_ack,
		.tsval = (uint32_t)pkt->rx_ns,
		.length = pkt->payload_len,
		.window = pkt->tcp_win,
		.tcp_flags = pkt->tcp_flags,
		.half = pkt->in_port,
		.stamped = pkt->flags,
	};
}

static void note(struct rte_mbuf *m, const struct about *what)
{
	struct pkt *pkt = pkt_of(m);

	pkt->tcp_seq = what->seq;
	pkt->tcp_ack = what->ack;
	pkt->rx_ns = what->tsval;
	pkt->payload_len = (uint16_t)what->length;
	pkt->tcp_win = what->window;
	pkt->tcp_flags = what->tcp_flags;
	pkt->in_port = what->half;
	pkt->flags = what->stamped;
}

static uint8_t answer(void)
{
	return world.script_length ? world.script[world.script_at++ % world.script_length] : 0;
}

static void told_fin(const struct span *span)
{
	struct direction *d = &directions[span->half];

	must(span->extent == 0, "a FIN has bytes");
	must(span->offset64 == d->told, "a FIN that is not behind what was told");
	must(!d->fin_told, "a FIN is told twice");
	d->fin_told = true;
}

static void told(const struct span *span, const uint8_t *bytes)
{
	struct direction *d = &directions[span->half];

	must(span->extent > 0, "an empty span");
	must(span->offset64 == d->told, "spans do not follow each other");
	for (uint64_t i = 0; i < span->extent && d->told + i < FOLLOWED; i++) {
		uint64_t at = d->told + i;

		must(!(d->state[at] & (TOLD | GAP)), "told twice");
		d->state[at] |= bytes ? TOLD : GAP;
		if (!bytes)
			continue;
		must(!(d->state[at] & OUT) || world.lawless || !world.enforces ||
				d->left[at] == bytes[i],
			"inspected is not what has left");
		d->seen[at] = bytes[i];
	}
	d->told += span->extent;
}

static enum consumed consume(const struct span *span, const uint8_t *bytes)
{
	uint8_t say = world.enforces ? answer() : 0; // who only observes neither holds nor refuses

	if ((bytes || span->flags & SPAN_FIN) && say >= 0xf0)
		return CONSUMED_NOTHING;
	if (span->flags & SPAN_FIN)
		told_fin(span);
	else
		told(span, bytes);
	return say >= 0xc0 && say < 0xe0 ? CONSUMED_HOLD : CONSUMED;
}

static enum consumed take(void *ctx, const struct span *span)
{
	(void)ctx;
	must(!(span->flags & (SPAN_GAP | SPAN_FIN)) == (span->unchecked != NULL),
		"a gap has no bytes");
	return consume(span, span->unchecked);
}

static enum consumed take_packet(void *ctx, const struct span *span, struct payload bytes)
{
	static uint8_t room[PAYLOAD_MAX];
	(void)ctx;

	must(!span->unchecked && span->extent <= PAYLOAD_MAX, "a span of the packet at hand");
	const uint8_t *there = rte_pktmbuf_read(bytes.m, bytes.at, span->extent, room);

	must(there != NULL, "a span behind the end of its packet");
	return consume(span, there);
}

static const struct stream_consumer consumer = {.take = take, .take_packet = take_packet};

static void drop(void *ctx, struct rte_mbuf *m, enum drop_reason reason)
{
	(void)ctx;
	must(reason < DROP_REASONS_MAX, "a reason");
	rte_pktmbuf_free(m);
}

static uint32_t check_half(const struct tcp_half *half, const struct direction *d)
{
	struct q2 *q2 = (struct q2 *)(uintptr_t)&half->q2;
	const struct segment *last = NULL, *held;
	uint32_t n = 0, copies = 0, n_held = 0;
	uint64_t before = 0;

	for (struct segment *at = q2_at(q2, 0); at; at = q2_after(at)) {
		must(at->kind == SEGMENT_COPY || at->kind == SEGMENT_SENT, "its kind");
		must(at->length > 0 && at->length <= SEGMENT_BYTES, "its length");
		must(!n || at->start >= before, "kept bytes overlap");
		must(at->kind == SEGMENT_SENT || at->start + at->length > half->next,
			"a copy of what was inspected");
		must(at->kind == SEGMENT_COPY || at->start + at->length <= half->next,
			"sent, but not inspected");
		before = at->start + at->length;
		last = at;
		copies += at->kind == SEGMENT_COPY;
		n++;
	}
	must(last == q2->last, "the last one");
	must(n == q2->n_blocks && copies == q2->n_copies, "blocks miscounted");
	must(n <= world.tracker->limits.half_blocks + 2 || !world.enforces, "the cap of a half");
	before = 0;
	TAILQ_FOREACH (held, &q2->held, link) {
		must(held->start >= before && held->m, "held packets in order");
		before = held->start;
		n_held++;
	}
	must(n_held == q2->n_held, "held packets miscounted");
	must(!n_held || world.track->on_holding, "held, but never looked at");
	must((half->flags & (HALF_PROCESSING | HALF_RESUMING)) != HALF_RESUMING ||
			world.track->on_resuming,
		"resumes, but never worked");
	must(half->next == d->told, "next is not what was told");
	must(!copies || !(half->flags & HALF_FREE), "copies of a half that is free");
	return n_held;
}

static void check(void)
{
	const struct tracker *tracker = world.tracker;
	uint32_t held = 0, blocks = 0, copies = 0, copiers = 0;

	for (unsigned i = 0; i < 2; i++) {
		const struct tcp_half *half = &world.track->half[i];

		held += check_half(half, &directions[i]);
		blocks += half->q2.n_blocks;
		copies += half->q2.n_copies;
		copiers += half->q2.n_copies > 0;
	}
	must(held == tracker->n_held, "packets held by the tracker");
	must(tracker->slab.used == blocks + held, "blocks of the slab");
	must(tracker->slab.copies == copies, "copies of the slab");
	must(tracker->slab.copiers == copiers, "halves with copies");
	must(held <= tracker->limits.held + 1, "the cap of held packets");
	must(rte_mempool_in_use_count(world.pool) >= held, "an mbuf was freed twice");
}

// What leaves: as the receiver gets it.
static void left(const struct tcp_segment *segment, uint64_t at, const uint8_t *payload)
{
	struct tcp_half *half = &world.track->half[segment->half];
	struct direction *d = &directions[segment->half];

	for (uint32_t i = 0; i < segment->length; i++, at++) {
		if (at >= FOLLOWED) // before the first byte, too
			continue;
		if (half->flags & HALF_FREE && at >= half->free_from)
			continue;
		if (d->state[at] & OUT) {
			must(d->left[at] == payload[i] || at < half->acked, "not the first byte");
			continue;
		}
		d->state[at] |= OUT;
		d->left[at] = payload[i];
		if (d->state[at] & TOLD) {
			must(d->seen[at] == payload[i], "left with another byte than inspected");
			continue;
		}
		if (d->state[at] & GAP)
			continue;
		const struct segment *copy = q2_at(&half->q2, at);

		must(copy && copy->start <= at && copy->kind == SEGMENT_COPY,
			"left, neither inspected nor kept");
		must(copy->bytes[at - copy->start] == payload[i], "kept with another byte");
	}
}

static void copy_payload(struct rte_mbuf *m, uint32_t length, uint8_t *to)
{
	const uint8_t *there = length ? rte_pktmbuf_read(m, HEADER, length, to) : to;

	must(there != NULL, "a packet became shorter");
	if (there != to)
		memcpy(to, there, length);
}

static void give(struct rte_mbuf *m, bool resumed, uint8_t how)
{
	static uint8_t before[PAYLOAD_MAX], after[PAYLOAD_MAX];
	const struct about what = about(m);
	struct tcp_half *half = &world.track->half[what.half];
	const struct direction *d = &directions[what.half];
	bool waits = half->flags & HALF_PROCESSING, unseen = half->flags & HALF_UNSEEN;
	uint64_t released = half->sent, next = d->told;
	struct tcp_segment segment = {
		.m = m,
		.now_ns = world.now_ns,
		.seq = what.seq,
		.ack = what.ack,
		.payload_at = HEADER,
		.length = what.length,
		.tsval = what.tsval,
		.tsecr = what.tsval,
		.window = what.window,
		.tcp_flags = what.tcp_flags,
		.half = what.half,
		.scale = 3,
		.has_timestamp = what.stamped,
		.one_sided = world.one_sided,
		.astray = how == 1,
		.enforces = world.enforces,
		.rewrites = world.rewrites,
		.resumed = resumed,
		.passes_limits = world.passes_limits,
		.keep_whole = how == 2,
	};

	must(rte_pktmbuf_pkt_len(m) == HEADER + what.length, "a packet of another length");
	copy_payload(m, what.length, before);
	world.lawless |= unseen;
	struct track_result result = track_segment(world.tracker, world.track, &segment, &consumer);

	world.lawless |= result.waived;
	if (result.verdict == TRACK_HELD) {
		must(world.enforces, "held, though nothing is enforced");
		return;
	}
	must(world.enforces || result.verdict == TRACK_FORWARD, "dropped, but nothing is enforced");
	copy_payload(m, what.length, after);
	must(result.rewritten || !memcmp(before, after, what.length), "changed in silence");
	must(!result.rewritten || world.rewrites, "changed against the policy");
	if (result.verdict == TRACK_FORWARD && world.enforces && !world.lawless &&
		!(what.tcp_flags & TH_RST) && half->flags & HALF_STARTED) {
		uint64_t at = next + (uint64_t)(int64_t)(int32_t)(what.seq -
								  (half->base + (uint32_t)next));

		must(!waits || resumed || half->flags & HALF_FREE || !what.length ||
				(int64_t)(at + what.length) <= (int64_t)released,
			"overtakes a verdict");
		left(&segment, at, after);
	}
	rte_pktmbuf_free(m);
}

static uint8_t content(unsigned half, uint32_t at, uint8_t variant)
{
	uint32_t x = at * 2654435761u + half;

	return (uint8_t)((x >> 24) + (variant && !(x >> 13 & 7) ? variant : 0));
}

// half 1, flags 3, variant 2, segments 2 | at 16 | length 8 | ack 8 | window 8 | stamp 8 | how 8
static void segment(const uint8_t *step)
{
	static uint8_t frame[HEADER + PAYLOAD_MAX];
	unsigned which = step[1] & 1;
	const struct tcp_half *half = &world.track->half[which],
			      *other = &world.track->half[!which];
	uint32_t length = step[4] < 128 ? step[4] : (step[4] - 127u) * 20u;
	int16_t distance = (int16_t)(step[2] | step[3] << 8);
	uint64_t at = directions[which].told + (uint64_t)(int64_t)(distance / 4);
	uint64_t ack = other->acked + (uint64_t)(int64_t)((int8_t)step[5] * 24);
	uint32_t base = half->flags & HALF_STARTED ? half->base : 0xfffffc00u;
	struct about what = {
		.half = (uint8_t)which,
		.seq = base + (uint32_t)at,
		.ack = (other->flags & HALF_STARTED ? other->base : 0) + (uint32_t)ack,
		.window = (uint16_t)(step[6] * 64),
		.tsval = 1000u + (uint32_t)(world.now_ns / 1000000) - step[7] % 8 / 7 * 200u,
		.stamped = step[7] >= 128,
		.tcp_flags = TH_ACK,
	};

	switch (step[1] >> 1 & 7) {
	case 7: what.tcp_flags |= TH_FIN; break;
	case 6:
		what.tcp_flags |= TH_RST;
		length = 0;
		break;
	case 5: length = 0; break;
	default: break;
	}
	what.length = length;
	for (uint32_t i = 0; i < length; i++)
		frame[HEADER + i] = content(which, (uint32_t)at + i, step[1] >> 4 & 3);
	struct rte_mbuf *m =
		packet_mbuf(world.pool, frame, HEADER + length, LINK_ETHERNET, 1 + (step[1] >> 6));

	note(m, &what);
	give(m, false, step[8] % 16);
}

static void work(unsigned which)
{
	bool more = true;

	for (unsigned budget = 8; more && budget--;) {
		struct rte_mbuf *m = track_work(
			world.tracker, world.track, which, world.now_ns, &consumer, &more);

		if (!m)
			break;
		must(about(m).half == which, "a packet of the other half");
		give(m, true, 0);
		check();
	}
}

static void turn(void)
{
	struct tracker *tracker = world.tracker;
	struct tcp_track *track = TAILQ_FIRST(&tracker->resuming);

	if (!track)
		return;
	must(track == world.track, "of a flow that is gone");
	work(0);
	work(1);
	TAILQ_REMOVE(&tracker->resuming, track, resuming);
	track->on_resuming = track_has_work(track);
	if (track->on_resuming)
		TAILQ_INSERT_TAIL(&tracker->resuming, track, resuming);
}

static bool settles(void)
{
	for (unsigned i = 0; i < 2; i++)
		if (world.track->half[i].flags & (HALF_PROCESSING | HALF_RESUMING) ||
			world.track->half[i].q2.n_held)
			return false;
	return true;
}

static void step(const uint8_t *bytes)
{
	unsigned which = bytes[1] & 1;
	struct tcp_half *half = &world.track->half[which];

	switch (bytes[0] % 16) {
	case 0:
		if (half->flags & HALF_PROCESSING)
			track_resume(world.tracker, world.track, which);
		break;
	case 1:
	case 2: turn(); break;
	case 3:
		world.now_ns += bytes[2] * 10000000ull;
		track_age(world.tracker, world.now_ns, 1 + bytes[3] % 4);
		break;
	case 4:
		if (bytes[2] == 77 && settles())
			track_set_free(world.tracker, world.track);
		break;
	case 5:
		if (half->flags & HALF_TAKEN)
			break;
		track_syn(half, 0xfffffff0u + bytes[2]);
		break;
	case 6:
		if (bytes[2] % 8 == 7)
			track_unseen(world.track);
		break;
	default: segment(bytes);
	}
	check();
}

static void begin(uint8_t settings)
{
	const struct tracker_limits limits = {
		.tracks = TRACKS,
		.blocks = 64,
		.half_blocks = 20,
		.held = 16,
		.half_held = 8,
		.hold_ns = 1000000000,
		.fast_pass = true,
	};

	if (!world.tracker) {
		world.pool = packet_pool();
		world.tracker = tracker_new(&limits, SOCKET_ID_ANY);
		must(world.tracker != NULL, "no memory");
		world.tracker->drop = drop;
	}
	world.tracker->limits.fast_pass = !(settings & 1);
	world.enforces = !(settings & 2);
	world.rewrites = settings & 4;
	world.passes_limits = settings & 8;
	world.one_sided = settings & 16;
	world.tracker->limits.half_blocks = settings & 32 ? 6 : 20;
	world.lawless = false;
	world.now_ns = 1000000000;
	memset(directions, 0, sizeof(directions));
	world.report = (struct stream_report){0};
	uint32_t index = track_take(world.tracker, 7, &world.report);

	must(index != TRACK_NONE, "a state was lost");
	world.track = track_at(world.tracker, index);
	if (!(settings & 64))
		for (unsigned half = 0; half < 2; half++)
			track_syn(&world.track->half[half], 0xffffff00u);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	if (!len)
		return 0;
	begin(bytes[0]);
	world.script = bytes;
	world.script_length = bytes[0] & 128 ? 0 : len;
	world.script_at = 0;
	size_t at = 1;

	for (unsigned n = 0; n < STEPS_MAX && at + STEP <= len; n++, at += STEP)
		step(bytes + at);
	if (bytes[0] & 1)
		for (unsigned half = 0; half < 2; half++)
			track_finish(world.tracker, world.track, half, &consumer);
	track_give(
		world.tracker, (uint32_t)(world.track - world.tracker->tracks), DROP_HELD_CLOSED);
	must(world.tracker->slab.used == 0 && world.tracker->n_held == 0, "blocks are not back");
	must(world.tracker->slab.copiers == 0, "nobody has copies");
	must(world.tracker->n_free == TRACKS, "a state is not back");
	must(TAILQ_EMPTY(&world.tracker->resuming) && TAILQ_EMPTY(&world.tracker->holding),
		"lists are not empty");
	must(rte_mempool_in_use_count(world.pool) == 0, "an mbuf was lost");
	return 0;
}
