// SPDX-License-Identifier: BSD-3-Clause
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include "stream_world_state.h"

struct world stream_world;

void stream_problem(const char *format, ...)
{
	struct world *w = &stream_world;
	va_list args;

	if (w->problem[0])
		return;
	int n = w->now ? snprintf(w->problem, sizeof(w->problem), "at %u: ", w->now) : 0;

	va_start(args, format);
	vsnprintf(w->problem + n, sizeof(w->problem) - (size_t)n, format, args);
	va_end(args);
}

void stream_world_frame(unsigned from_half, const uint8_t *frame, unsigned length)
{
	struct world *w = &stream_world;

	if (w->n_left == LEFT_MAX || w->left_bytes + length > sizeof(w->left_room)) {
		stream_problem("too many frames leave at once");
		return;
	}
	uint8_t *kept = w->left_room + w->left_bytes;
	struct stream_read read;

	if (w->verbose && stream_frame_read(frame, length, &read))
		fprintf(stderr, "at %u: half %u packet %u leaves: flags %02x at %d+%u ack %d\n",
			w->now, from_half, read.id, read.tcp_flags,
			(int)(read.seq - w->s->isn[from_half]) - 1, read.length,
			(int)(read.ack - w->s->isn[!from_half]) - 1);

	memcpy(kept, frame, length);
	w->left_bytes += length;
	w->left[w->n_left++] =
		(struct left){.half = (uint8_t)from_half, .frame = kept, .length = length};
}

// ---- what is inspected ----

// The half begins anew: its receiver left what was on the SYN. What it got since is first now.
static void begin_anew(unsigned half)
{
	struct world *w = &stream_world;
	struct direction *d = &w->dir[half];

	if (d->rcv > d->start && !d->lied && !w->s->observe)
		stream_problem("half %u begins anew, its receiver is at %d", half, d->rcv);
	for (int32_t at = d->base; at < d->told_end; at++) {
		struct octet *o = octet(d, at);

		o->told_as = TOLD_NOT;
		o->ref_set = o->out_set = o->edit_set = false;
	}
	for (unsigned i = 1; i <= w->n_fates; i++) {
		const struct fate *fate = &w->fates[i];

		if (fate == w->current || fate->half != half || !fate->counts ||
			fate->tcp_flags & TH_SYN || !(fate->out || fate->held))
			continue;
		for (unsigned k = 0; k < fate->length && followed(fate->at + (int32_t)k); k++) {
			struct octet *o = octet(d, fate->at + (int32_t)k);

			if (!o->ref_set)
				o->ref = stream_byte(half, fate->at + (int32_t)k, fate->variant);
			o->ref_set = true;
		}
	}
	d->n_told = 0;
	d->void_end = 0;
	d->based = false;
}

void stream_world_span(
	unsigned half, uint64_t offset64, const uint8_t *bytes, uint32_t length, bool gap)
{
	struct world *w = &stream_world;
	struct direction *d = &w->dir[half];

	if (w->verbose)
		fprintf(stderr, "at %u: half %u inspects %llu+%u%s\n", w->now, half,
			(unsigned long long)offset64, length, gap ? " gap" : "");
	if (d->ended || (w->ending && gap) || (!w->current && gap && length > STREAM_OFFSETS_MAX)) {
		d->ended = true; // what lies behind a hole of an ended half is delivered to nobody
		return;
	}
	if (!offset64 && d->n_told)
		begin_anew(half);
	if (!d->n_told && offset64)
		stream_problem(
			"half %u: the first span is at %llu", half, (unsigned long long)offset64);
	if (offset64 != d->n_told)
		stream_problem("half %u: a span at %llu, not at %llu", half,
			(unsigned long long)offset64, (unsigned long long)d->n_told);
	if (!length || length > STREAM_OFFSETS_MAX || w->n_fresh == FRESH_MAX ||
		(!gap && w->fresh_bytes + length > sizeof(w->fresh_room))) {
		stream_problem("half %u: a span of %u bytes", half, length);
		return;
	}
	d->n_told += length;
	w->fresh[w->n_fresh++] = (struct fresh){.half = (uint8_t)half,
		.gap = gap,
		.offset = offset64,
		.length = length,
		.bytes = w->fresh_room + w->fresh_bytes};
	if (gap)
		return;
	memcpy(w->fresh_room + w->fresh_bytes, bytes, length);
	w->fresh_bytes += length;
}

static bool lies_at(struct direction *d, const struct fresh *fresh, int32_t at)
{
	for (uint32_t i = 0; i < fresh->length && i < 16; i++) {
		if (!followed(at + (int32_t)i))
			return false;
		const struct octet *o = octet(d, at + (int32_t)i);

		if (!o->ref_set || o->ref != fresh->bytes[i])
			return false;
	}
	return true;
}

void stream_world_gone(void)
{
	stream_world.gone = true;
}

// Where the gateway's offset 0 is: the first byte of the connection, or the first that it saw.
static void find_base(struct direction *d, const struct fresh *fresh)
{
	const struct fate *now = stream_world.current;
	int32_t places[4] = {d->start, now ? now->at : 0, 0,
		now ? now->at + (int32_t)(now->length - fresh->length) : 0};

	if (stream_world.s->midstream && d->begun)
		places[0] = d->begun_at;
	else if (stream_world.s->midstream && now)
		places[0] = now->at;
	d->based = true;
	d->base = d->told_end = places[0];
	for (unsigned i = 0; i < 4 && !fresh->gap; i++)
		if (lies_at(d, fresh, places[i])) {
			d->base = d->told_end = places[i];
			break;
		}
	d->edge = d->base;
}

static void take_fresh(const struct fresh *fresh)
{
	struct world *w = &stream_world;
	struct direction *d = &w->dir[fresh->half];

	if (!d->based)
		find_base(d, fresh);
	int32_t first = d->base + (int32_t)fresh->offset;

	if (fresh->gap) {
		w->tally.gaps++;
		w->odd = true;
		d->gave_up = true;
		// given up for a reason: the receiver has it, or nobody hears what it has
		if (!w->s->observe && !w->s->one_sided && !w->ending && !w->gone &&
			first + (int32_t)fresh->length > d->acked)
			stream_problem("half %u: a gap at %d+%u, acknowledged is %d", fresh->half,
				first, fresh->length, d->acked);
	}
	for (uint32_t i = 0; i < fresh->length; i++) {
		int32_t at = first + (int32_t)i;

		if (!followed(at)) {
			stream_problem("half %u: inspected at %d", fresh->half, at);
			return;
		}
		struct octet *o = octet(d, at);

		o->told_as = fresh->gap ? TOLD_GAP : TOLD_BYTES;
		if (fresh->gap)
			continue;
		o->told = fresh->bytes[i];
		if (!o->ref_set)
			stream_problem(
				"half %u: byte %d was inspected, but never taken", fresh->half, at);
		else if (!d->lax && o->told != o->ref)
			stream_problem("half %u: byte %d inspected as %02x, taken as %02x",
				fresh->half, at, o->told, o->ref);
		if (o->out_set && o->out != o->told && at >= d->acked)
			stream_problem("half %u: byte %d inspected as %02x, forwarded as %02x",
				fresh->half, at, o->told, o->out);
	}
	if (!fresh->gap)
		w->tally.inspected += fresh->length;
	d->told_end = first + (int32_t)fresh->length;
}

// ---- what is delivered ----

static void deliver(unsigned half)
{
	struct world *w = &stream_world;
	struct direction *d = &w->dir[half];

	for (; followed(d->rcv) && octet(d, d->rcv)->got; d->rcv++) {
		const struct octet *o = octet(d, d->rcv);

		w->tally.delivered++;
		if ((w->s->midstream && (!d->based || d->rcv < d->base)) || w->s->observe ||
			o->told_as == TOLD_GAP || d->rcv < d->lied)
			continue; // older than all that we have seen; given up; claimed
		// behind a hole that was given up for a lie, copies may wait for a job
		if (o->told_as == TOLD_NOT && (d->lied || d->gave_up) && (w->s->n_jobs || d->lax))
			continue;
		if (o->told_as == TOLD_NOT)
			stream_problem(
				"half %u: byte %d is delivered, not inspected", half, d->rcv);
		else if (o->first != leaves_as(o, o->told) || o->last != leaves_as(o, o->told))
			stream_problem(
				"half %u: byte %d is delivered as %02x or %02x, inspected %02x",
				half, d->rcv, o->first, o->last, leaves_as(o, o->told));
	}
	if (d->fin_got && d->rcv == d->fin)
		d->closed = true;
}

static bool synchronize(struct direction *d, const struct stream_read *read, int32_t at)
{
	const struct stream_schedule *s = stream_world.s;
	bool answer = read->tcp_flags & TH_ACK;

	if (d->rx_syn || answer != (d == &stream_world.dir[1]))
		return false;
	d->rx_syn = true;
	d->rcv = d->start = at;
	return s->fast_open || answer;
}

// One segment, as RFC 9293 section 3.10.7 has it; RST is believed as RFC 5961 wants, or not at all.
static void receive(unsigned half, const struct stream_read *read)
{
	const struct stream_schedule *s = stream_world.s;
	struct direction *d = &stream_world.dir[half];
	bool syn = read->tcp_flags & TH_SYN;
	int32_t at = (int32_t)(read->seq - s->isn[half]) - !syn;

	if (!read->checksum_good || d->reset)
		return;
	if (syn) {
		if (!synchronize(d, read, at))
			return;
	} else if (!d->rx_syn) {
		return;
	}
	if (read->tcp_flags & TH_RST) {
		d->reset = s->obeys_rst && at == d->rcv;
		return;
	}
	if (!(read->tcp_flags & (TH_ACK | TH_SYN)) || d->closed)
		return;
	if (read->stamped && d->stamped && (int32_t)(read->stamp - d->stamp) < -100000)
		return; // PAWS
	if (read->stamped && (!d->stamped || (int32_t)(read->stamp - d->stamp) > 0)) {
		d->stamped = true;
		d->stamp = read->stamp;
	}
	int64_t window = (int64_t)d->rcv + ((int64_t)s->window << s->scale);

	for (unsigned i = 0; i < read->length; i++) {
		int32_t place = at + (int32_t)i;

		if (place < d->rcv || place >= window || !followed(place))
			continue;
		struct octet *o = octet(d, place);

		if (!o->got)
			o->first = read->payload[i];
		o->got = true;
		o->last = read->payload[i];
	}
	if (read->tcp_flags & TH_FIN) {
		int32_t fin = at + (int32_t)read->length;

		if (fin >= d->rcv && (!d->fin_got || fin < d->fin)) {
			d->fin_got = true;
			d->fin = fin;
		}
	}
	deliver(half);
}

static void receive_late(unsigned half)
{
	struct direction *d = &stream_world.dir[half];
	struct stream_read read;

	if (d->late_length && stream_frame_read(d->late, d->late_length, &read))
		receive(half, &read);
	d->late_length = 0;
}

// ---- what leaves ----

static void check_injected(const struct left *left, const struct stream_read *read)
{
	struct world *w = &stream_world;
	const struct direction *d = &w->dir[left->half];

	w->tally.injected++;
	if (!read->checksum_good)
		stream_problem("a packet of ours has a wrong checksum");
	if (w->s->observe)
		stream_problem("a packet of ours, though the policy enforces nothing");
	if (read->tcp_flags & TH_RST) {
		w->odd = true;
		return;
	}
	if (read->length || read->tcp_flags != TH_ACK) {
		stream_problem("a packet of ours with flags %02x and %u bytes", read->tcp_flags,
			read->length);
		return;
	}
	int32_t at = (int32_t)(read->seq - w->s->isn[left->half]) - 1;
	int32_t ack = (int32_t)(read->ack - w->s->isn[!left->half]) - 1;

	if (at > d->out_end + 1 && d->begun && !w->s->midstream && !d->lax)
		stream_problem("half %u: our ACK is at %d, sent is %d", left->half, at, d->out_end);
	// where nothing was seen of the other half, any may be true
	if (ack > w->dir[!left->half].acked && !w->s->one_sided && !w->s->midstream)
		stream_problem("half %u: our ACK says %d, its end %d", left->half, ack,
			w->dir[!left->half].acked);
}

static void check_header(const struct left *left, const struct stream_read *read,
	const struct fate *fate, bool same_bytes)
{
	struct world *w = &stream_world;
	uint8_t urgent = w->s->observe ? 0 : TH_URG;

	if (left->half != fate->half)
		stream_problem("packet %u left by the wrong port", read->id);
	if (read->seq != fate->seq || read->length != fate->length ||
		(read->tcp_flags | urgent) != (fate->tcp_flags | urgent))
		stream_problem("packet %u left as another", read->id);
	if (read->checksum_good == fate->bad_checksum)
		stream_problem("packet %u left with a %s checksum", read->id,
			read->checksum_good ? "mended" : "wrong");
	if (fate != w->current) {
		if (w->s->observe)
			stream_problem("packet %u left late", read->id);
		if (fate->tcp_flags & TH_ACK && (int32_t)(read->ack - fate->ack) < 0)
			stream_problem("packet %u left with an older ack", read->id);
		return;
	}
	bool cleared = fate->tcp_flags & TH_URG && !w->s->observe;

	if (same_bytes && !cleared &&
		(left->length != w->frame_length || memcmp(left->frame, w->frame, left->length)))
		stream_problem("packet %u was changed", read->id);
	if (read->ack != fate->ack || read->window != w->s->window)
		stream_problem("packet %u left with another header", read->id);
}

// The bytes of a forwarded segment: those that came first, unless the receiver has them already.
static bool check_bytes(const struct stream_read *read, const struct fate *fate)
{
	struct world *w = &stream_world;
	struct direction *d = &w->dir[fate->half];
	bool same = fate == w->current && read->length == fate->length &&
		    !memcmp(read->payload, w->frame + w->frame_length - fate->length, fate->length);

	for (unsigned i = 0; i < read->length && fate->counts; i++) {
		int32_t at = fate->at + (int32_t)i;
		uint8_t byte = read->payload[i];

		if (!followed(at))
			break;
		struct octet *o = octet(d, at);

		if (at < d->acked || (d->based && at < d->base) ||
			(w->s->midstream && d->begun && at < d->begun_at) ||
			o->told_as == TOLD_GAP || w->s->observe)
			continue;
		if (o->ref_set && !d->lax && byte != leaves_as(o, o->ref))
			stream_problem("packet %u left with byte %d as %02x, first was %02x",
				read->id, at, byte, leaves_as(o, o->ref));
		if (o->edit_set && !d->lax && byte != o->edited)
			stream_problem("packet %u left with byte %d as %02x, edited to %02x",
				read->id, at, byte, o->edited);
		if (o->out_set && byte != o->out)
			stream_problem("packet %u left with byte %d as %02x, before it was %02x",
				read->id, at, byte, o->out);
		if (fate->tcp_flags & TH_SYN && !w->s->fast_open)
			continue; // its receiver leaves it
		o->out_set = true;
		o->out = byte;
	}
	return same;
}

// An ACK of ours in place of a packet that is held: it has its header.
static bool is_in_place_of(const struct stream_read *read, const struct fate *fate)
{
	return !read->length && read->tcp_flags == TH_ACK && !stream_world.s->observe &&
	       (fate->length || fate->tcp_flags & TH_FIN);
}

static void take_left(const struct left *left)
{
	struct world *w = &stream_world;
	struct stream_read read;

	if (!stream_frame_read(left->frame, left->length, &read)) {
		stream_problem("what left is no segment");
		return;
	}
	if (!read.id) {
		check_injected(left, &read);
		return;
	}
	struct fate *fate = &w->fates[read.id];

	if (read.id >= FATES_MAX || !fate->in) {
		stream_problem("packet %u left, but never came", read.id);
		return;
	}
	if (is_in_place_of(&read, fate)) {
		check_injected(left, &read);
		return;
	}
	if (fate->out)
		stream_problem("packet %u left twice", read.id);
	fate->out = true;
	if (fate != w->current)
		w->tally.held++;
	if (fate->blind && !fate->bad_checksum && !w->s->observe && !w->s->midstream &&
		!w->s->one_sided && fate->length)
		stream_problem("packet %u left from out of the window", read.id);
	bool same = check_bytes(&read, fate);

	w->tally.rewritten += !same && fate == w->current;
	if (!same && w->s->observe)
		stream_problem("packet %u was changed", read.id);
	check_header(left, &read, fate, same);
	struct direction *d = &w->dir[fate->half];
	int32_t end = fate->at + (int32_t)fate->length + !!(fate->tcp_flags & TH_FIN);

	if (!d->begun && fate->counts && (fate->length || fate->tcp_flags & TH_FIN)) {
		d->begun = true;
		d->begun_at = fate->at;
	}
	// its receiver leaves them: the gateway may forget them now or keep to them
	if (fate->tcp_flags & TH_SYN && fate->length && !w->s->fast_open) {
		d->lax = true;
		if (d->void_end < end)
			d->void_end = end;
	}
	// a bare ACK sends nothing; nor do bytes that their receiver leaves
	if ((fate->tcp_flags & TH_SYN && !w->s->fast_open) ||
		(!fate->length && !(fate->tcp_flags & TH_FIN)))
		end = d->out_end;
	if (fate->counts && end > d->out_end)
		d->out_end = end;
	if (fate->late && !d->late_length) {
		memcpy(d->late, left->frame, left->length);
		d->late_length = left->length;
	} else if (!fate->lost) {
		receive(fate->half, &read);
		receive_late(fate->half);
	}
}

// ---- after each step ----

// Bytes of the packet at hand that are the first of their offsets.
static void take_first(const struct fate *fate)
{
	struct world *w = &stream_world;
	struct direction *d = &w->dir[fate->half];
	const uint8_t *came = w->frame + w->frame_length - fate->length;

	for (unsigned i = 0; i < fate->length; i++) {
		int32_t at = fate->at + (int32_t)i;

		if (!followed(at))
			break;
		struct octet *o = octet(d, at);

		if (o->ref_set)
			continue;
		o->ref_set = true;
		o->ref = came[i];
	}
}

static bool left_now(const struct fate *fate)
{
	const struct world *w = &stream_world;
	struct stream_read read;

	for (unsigned i = 0; i < w->n_left; i++)
		if (stream_frame_read(w->left[i].frame, w->left[i].length, &read) &&
			read.id == fate->id && !is_in_place_of(&read, fate))
			return true;
	return false;
}

// Held bytes that were dropped are as if they had never come; those that left stay.
static void forget_held(struct direction *d)
{
	d->lax = true;
}

// A hole was given up for it, and what lies behind inspected; which may wait for a job. Payload of
// a SYN was inspected before, and says nothing.
static bool is_believed(struct direction *d)
{
	int32_t end = d->lied;

	if (d->told_end <= d->void_end)
		return false;
	if (stream_world.s->n_jobs)
		while (followed(end) && octet(d, end)->out_set)
			end++;
	return d->told_end >= end;
}

void stream_world_after(const struct stream_ledger *before)
{
	struct world *w = &stream_world;
	struct stream_ledger now = w->gateway->ledger(w->gateway->ctx);
	uint64_t dropped = now.dropped - before->dropped;

	if (w->current) {
		struct fate *fate = w->current;
		bool left = left_now(fate), rst = fate->tcp_flags & TH_RST;

		// with a RST, or the packet's own drop, others that were held go
		if (!left && !dropped)
			fate->held = true;
		// one that would have to be held may be dropped when it was looked at already
		bool seen = false;

		for (unsigned i = 0; i < w->n_fresh; i++)
			seen |= w->fresh[i].half == fate->half && !w->fresh[i].gap;
		if ((fate->held || left || seen) && fate->counts)
			take_first(fate);
		if (dropped > (left ? 0 : 1) || (rst && dropped))
			w->held_dropped = true;
		if (now.consumed > before->consumed || fate->held)
			w->was_held = true;
	} else if (dropped) {
		w->held_dropped = true;
	}
	if (w->held_dropped)
		for (unsigned half = 0; half < 2; half++)
			forget_held(&w->dir[half]);
	for (unsigned i = 0; i < w->n_fresh; i++)
		take_fresh(&w->fresh[i]);
	for (unsigned i = 0; i < w->n_edits; i++)
		stream_take_edit(&w->edits[i]);
	for (unsigned i = 0; i < w->n_left; i++)
		take_left(&w->left[i]);
	for (unsigned half = 0; half < 2 && !w->s->observe; half++) {
		struct direction *d = &w->dir[half];

		if (!d->based)
			continue;
		if (d->lied > d->rcv && is_believed(d)) { // the end stands by it
			d->rcv = d->lied;
			d->rx_syn = true;
			deliver(half);
		}
		while (followed(d->edge) &&
			(octet(d, d->edge)->out_set || octet(d, d->edge)->told_as == TOLD_GAP))
			d->edge++;
		// what lies behind a hole that was given up may wait for a job
		if (d->edge > d->told_end && !(w->s->n_jobs && (d->lied || d->gave_up)))
			stream_problem("half %u: forwarded up to %d, inspected up to %d", half,
				d->edge, d->told_end);
	}
	w->tally.dropped += dropped;
	w->n_fresh = w->n_left = w->n_edits = 0;
	w->fresh_bytes = w->left_bytes = 0;
}

void stream_world_late(void)
{
	receive_late(0);
	receive_late(1);
}
