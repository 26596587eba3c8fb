// SPDX-License-Identifier: BSD-3-Clause
// Runs a schedule: what each operation puts on the wire, and the honest end that every connection
// has a right to.
#include <stddef.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include "stream_world_state.h"

#define SETTLE_ROUNDS 100
#define SETTLE_PIECE  1200

static int32_t later(int32_t a, int32_t b)
{
	return a > b ? a : b;
}

// What the other end says that it has of this half: an offset.
static int32_t said_ack(struct direction *d, const struct stream_op *op)
{
	int32_t right = d->rcv + d->closed, most = later(d->out_end, right);

	switch (op->ack) {
	case ACK_LATE: return later(right - op->value, d->start);
	case ACK_LIE: return right + op->value < most ? right + op->value : most;
	case ACK_UNSENT: // the very first one would say which SYN was taken; a FIN may be out by
			 // then
		return d->out_end <= d->start + 1 && d->acked == d->start ? right
									  : most + op->value + 1;
	default: return right;
	}
}

// The gateway may believe it, and the receiver stands by it. Payload of a SYN has left, too.
static void note_ack(struct direction *d, const struct fate *fate, int32_t ack)
{
	int32_t most = later(later(d->out_end, d->void_end), d->rcv + d->closed);

	if (fate->bad_checksum || fate->blind || ack > most)
		return;
	d->acked = later(d->acked, ack);
	if (ack <= d->rcv + d->closed)
		return;
	stream_world.odd = true;
	d->lied = later(d->lied, ack);
}

static void send_bytes(struct fate *fate, const struct stream_frame *frame, bool split)
{
	struct world *w = &stream_world;
	const struct stream_ledger before = w->gateway->ledger(w->gateway->ctx);

	w->frame_length = stream_frame_build(frame, w->frame);
	w->current = fate;
	w->tally.packets++;
	w->gateway->packet(w->gateway->ctx, w->frame, w->frame_length, fate->half, split);
	stream_world_after(&before);
	w->current = NULL;
}

static struct fate *next_impairment(void)
{
	struct world *w = &stream_world;

	if (w->n_fates + 1u >= FATES_MAX)
		return NULL;
	struct fate *fate = &w->fates[++w->n_fates];

	*fate = (struct fate){.in = true, .id = w->n_fates};
	return fate;
}

static void send_op(const struct stream_op *op)
{
	struct world *w = &stream_world;
	const struct stream_schedule *s = w->s;
	struct direction *other = &w->dir[!op->half];
	uint8_t payload[STREAM_FRAME_MAX];
	bool syn = op->tcp_flags & TH_SYN;

	// an end that has not got the other's SYN has nothing to acknowledge
	if (op->tcp_flags & TH_ACK && !other->rx_syn && !(op->flags & STREAM_EARLY))
		return;
	// nor has one that has not sent its own anything to send
	if (!syn && !s->midstream && !w->dir[op->half].syn_sent)
		return;
	struct fate *fate = next_impairment();

	if (!fate)
		return;
	w->dir[op->half].syn_sent |= syn;
	fate->half = op->half;
	fate->tcp_flags = op->tcp_flags;
	fate->variant = op->variant;
	fate->length = op->length;
	fate->at = op->at + syn;
	fate->bad_checksum = op->flags & STREAM_BAD_CHECKSUM;
	fate->blind = op->flags & STREAM_BLIND;
	fate->lost = op->flags & STREAM_LOST;
	fate->late = op->flags & STREAM_LATE;
	fate->counts = !fate->bad_checksum && !fate->blind && !(op->tcp_flags & TH_RST) &&
		       op->tcp_flags & (TH_ACK | TH_SYN);
	fate->seq = s->isn[op->half] + 1 + (uint32_t)op->at +
		    (fate->blind ? (op->value & 1 ? 0x70000000u : 0x90000000u) : 0);
	// an end that sends more than it may is not owed that all arrives: its own acknowledgements
	// lie beyond the window then
	if (fate->counts && (int64_t)fate->at + op->length >
				    w->dir[op->half].acked + ((int64_t)s->window << s->scale))
		w->odd = true;
	for (unsigned i = 0; i < op->length; i++)
		payload[i] = stream_byte(op->half, fate->at + (int32_t)i, op->variant);
	if (op->tcp_flags & TH_ACK) {
		int32_t ack = said_ack(other, op);

		fate->ack = s->isn[!op->half] + 1 + (uint32_t)ack;
		note_ack(other, fate, ack);
	}
	uint32_t stamp = s->isn[0] + 500000 + w->clock_ms + 2u * fate->id;

	if (op->stamp == STAMP_NOW)
		w->stamp[op->half] = stamp;
	const struct stream_frame frame = {
		.v6 = s->v6,
		.client = w->client,
		.stamped = s->stamps && op->stamp != STAMP_NONE,
		.syn_options = syn,
		.scale = s->scale,
		.bad_checksum = fate->bad_checksum,
		.half = op->half,
		.tcp_flags = op->tcp_flags,
		.id = fate->id,
		.seq = fate->seq,
		.ack = fate->ack,
		.stamp = op->stamp == STAMP_OLD ? stamp - 400000 : stamp,
		.echo = w->stamp[!op->half],
		.window = s->window,
		.payload = payload,
		.length = op->length,
	};
	// from here on an end may be gone, or speak of another connection
	if (op->tcp_flags & (TH_RST | TH_FIN) || (syn && op->at != -1))
		w->odd = true;
	send_bytes(fate, &frame, op->flags & STREAM_SPLIT);
}

static void pass_time(unsigned ms)
{
	struct world *w = &stream_world;
	const struct stream_ledger before = w->gateway->ledger(w->gateway->ctx);

	w->clock_ms += ms;
	w->gateway->time(w->gateway->ctx, ms);
	stream_world_after(&before);
	stream_world_late();
}

static int32_t stream_end(const struct stream_schedule *s, unsigned half)
{
	int32_t end = s->begin[half];

	for (unsigned i = 0; i < s->n_ops; i++) {
		const struct stream_op *op = &s->ops[i];

		if (op->type == STREAM_OP_SEGMENT && op->half == half &&
			!(op->flags & (STREAM_BLIND | STREAM_BAD_CHECKSUM)) &&
			op->tcp_flags & TH_ACK && op->at + op->length < STREAM_OFFSETS_MAX)
			end = later(end, op->at + (int32_t)op->length);
	}
	return end;
}

// A segment of an honest end: what the gateway took first, where it took something.
static void send_honest(unsigned half, int32_t at, uint16_t length)
{
	struct world *w = &stream_world;
	const struct stream_schedule *s = w->s;
	struct direction *d = &w->dir[half], *other = &w->dir[!half];
	struct fate *fate = next_impairment();
	uint8_t payload[SETTLE_PIECE];

	if (!fate)
		return;
	fate->half = (uint8_t)half;
	fate->tcp_flags = TH_ACK;
	fate->at = at;
	fate->length = length;
	fate->counts = true;
	fate->seq = s->isn[half] + 1 + (uint32_t)at;
	fate->ack = s->isn[!half] + 1 + (uint32_t)(other->rcv + other->closed);
	note_ack(other, fate, other->rcv + other->closed);
	for (unsigned i = 0; i < length; i++) {
		const struct octet *o = octet(d, at + (int32_t)i);

		payload[i] = o->out_set                 ? o->out
			     : o->told_as == TOLD_BYTES ? o->told
			     : o->ref_set               ? o->ref
							: stream_byte(half, at + (int32_t)i, 0);
	}
	w->stamp[half] = s->isn[0] + 500000 + w->clock_ms + 2u * fate->id;
	const struct stream_frame frame = {
		.v6 = s->v6,
		.stamped = s->stamps,
		.half = (uint8_t)half,
		.tcp_flags = TH_ACK,
		.id = fate->id,
		.client = w->client,
		.seq = fate->seq,
		.ack = fate->ack,
		.stamp = w->stamp[half],
		.echo = w->stamp[!half],
		.window = s->window,
		.payload = payload,
		.length = length,
	};

	send_bytes(fate, &frame, false);
}

static bool owes_progress(void)
{
	const struct world *w = &stream_world;
	const struct stream_schedule *s = w->s;

	if (w->odd || w->gone || s->observe || s->midstream || s->one_sided ||
		s->world == WORLD_SMALL || w->held_dropped || !w->dir[0].rx_syn ||
		!w->dir[1].rx_syn)
		return false;
	for (unsigned i = 0; i < s->n_jobs; i++)
		if (s->jobs[i].never)
			return false;
	return true;
}

// Nothing is lost any more, and both ends send what is missing: then all must arrive.
static void settle(void)
{
	struct world *w = &stream_world;
	int32_t end[2];

	stream_world_late();
	w->now = 0;
	for (unsigned half = 0; half < 2; half++)
		end[half] = stream_end(w->s, half);
	for (unsigned round = 0; round < SETTLE_ROUNDS && owes_progress(); round++) {
		bool done = true;

		pass_time(10000);
		for (unsigned half = 0; half < 2 && !w->problem[0]; half++) {
			struct direction *d = &w->dir[half];

			for (int32_t at = d->rcv; at < end[half] && at - d->rcv < 3 * SETTLE_PIECE;
				at += SETTLE_PIECE) {
				int32_t left = end[half] - at;

				if (at - d->rcv + left > w->s->window) // scaled or not
					left = w->s->window - (at - d->rcv) < left
						       ? w->s->window - (at - d->rcv)
						       : left;
				if (left <= 0)
					break;
				send_honest(half, at,
					(uint16_t)(left < SETTLE_PIECE ? left : SETTLE_PIECE));
			}
			send_honest(!half, later(w->dir[!half].rcv, 0), 0);
			done &= d->rcv >= end[half];
		}
		if (w->problem[0])
			return;
		if (done) {
			w->tally.settled++;
			return;
		}
	}
	if (owes_progress())
		stream_problem("the ends have %d of %d and %d of %d bytes", w->dir[0].rcv, end[0],
			w->dir[1].rcv, end[1]);
}

static void check_end(const struct stream_ledger *first)
{
	struct world *w = &stream_world;
	const struct stream_ledger before = w->gateway->ledger(w->gateway->ctx);

	w->ending = true;
	const char *lost = w->gateway->end(w->gateway->ctx);

	stream_world_after(&before);
	if (lost)
		stream_problem("%s", lost);
	struct stream_ledger last = w->gateway->ledger(w->gateway->ctx);
	uint64_t missing = 0,
		 told = last.dropped - first->dropped + last.consumed - first->consumed;

	for (unsigned i = 1; i <= w->n_fates; i++)
		missing += !w->fates[i].out;
	if (missing != told)
		stream_problem("%llu packets did not leave, %llu are counted",
			(unsigned long long)missing, (unsigned long long)told);
	if (last.held)
		stream_problem("%llu packets are held still", (unsigned long long)last.held);
	if (w->s->observe && missing)
		stream_problem("%llu packets did not leave", (unsigned long long)missing);
}

static void begin(const struct stream_gateway *gateway, const struct stream_schedule *s)
{
	static uint32_t client;
	struct world *w = &stream_world;

	for (unsigned half = 0; half < 2; half++) {
		struct direction *d = &w->dir[half];

		memset(d->octets, 0,
			sizeof(d->octets[0]) * (size_t)(d->touched + 1 - OFFSET_LEAST));
		memset(&d->touched, 0,
			offsetof(struct direction, late) - offsetof(struct direction, touched));
		d->rcv = d->start = d->acked = d->lied = d->out_end = s->begin[half];
		d->lax = s->observe && s->world == WORLD_SMALL; // what a cap meets is forgotten
		d->rx_syn = s->midstream || (s->one_sided && half);
	}
	memset(&w->tally, 0, sizeof(w->tally));
	w->gateway = gateway;
	w->s = s;
	w->current = NULL;
	w->odd = w->held_dropped = w->was_held = w->ending = w->gone = false;
	w->now = w->clock_ms = w->stamp[0] = w->stamp[1] = 0;
	w->n_fates = 0;
	w->n_fresh = w->n_left = w->n_edits = w->fresh_bytes = w->left_bytes = 0;
	w->problem[0] = 0;
	w->client = client = (client + 1) & 0xffffff;
}

void stream_world_tell(bool on)
{
	stream_world.verbose = on;
}

const char *stream_world_run(const struct stream_gateway *gateway, const struct stream_schedule *s,
	struct stream_tally *tally)
{
	struct world *w = &stream_world;

	begin(gateway, s);
	if (!gateway->begin(gateway->ctx, s, w->client))
		return "no gateway";
	const struct stream_ledger first = gateway->ledger(gateway->ctx);

	for (unsigned i = 0; i < s->n_ops && !w->problem[0] && !w->gone; i++) {
		const struct stream_op *op = &s->ops[i];

		w->now = i + 1;
		if (op->type == STREAM_OP_TIME)
			pass_time(op->value);
		else if (op->type == STREAM_OP_RELOAD)
			gateway->reload(gateway->ctx);
		else
			send_op(op);
	}
	settle();
	w->now = 0;
	check_end(&first);
	for (unsigned i = 0; i < sizeof(*tally) / sizeof(uint64_t); i++)
		((uint64_t *)tally)[i] += ((const uint64_t *)&w->tally)[i];
	return w->problem[0] ? w->problem : NULL;
}
