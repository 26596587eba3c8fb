// SPDX-License-Identifier: BSD-3-Clause
// The decoder of NFS 3 and 4 over TCP and UDP: takes each half apart into fragments and records
// (RFC 5531 11), or datagrams, and those into fields. What a file has goes straight on. A gap
// within a file's bytes is a hole in it; behind another one of a stream nothing can be read.
#include <assert.h>

#include "content/decoders.h"
#include "content/nfs/operations.h"
#include "content/stream.h"
#include "pipeline/vocab/octets.h"

#define MARK_BYTES     4
#define LAST           0x80000000u
#define FRAGMENT_BYTES (64u << 20) // nobody sends a larger one

struct nfs_state {
	struct content_stream streams[2];
	struct nfs_session session;
	struct nfs_half halves[2];
	bool over;
};
static_assert(sizeof(struct nfs_state) <= 2048, "a connection that is idle costs little");

// What a call of take() is about.
struct nfs_input {
	struct nfs_state *state;
	struct nfs_half *half;
	struct content_turn *turn;
	const uint8_t *bytes;
	uint32_t length, taken;
	uint64_t at64; // of bytes[0]
	uint8_t side;
};

static void note(struct nfs_input *in, enum content_note what)
{
	const struct content_sink *sink = in->turn->sink;

	if (!(in->half->noted & CONTENT_NOTE_BIT(what)))
		sink->note(sink->ctx, what, in->side, in->at64 + in->taken);
	in->half->noted |= CONTENT_NOTE_BIT(what);
}

static struct nfs_turn turn_of(const struct nfs_input *in)
{
	return (struct nfs_turn){.session = &in->state->session,
		.half = in->half,
		.turn = in->turn,
		.side = in->side};
}

static void note_turn(struct nfs_input *in, const struct nfs_turn *turn)
{
	if (turn->again || in->half->wrong)
		note(in, CONTENT_NOTE_BAD_LINE);
	if (turn->full)
		note(in, CONTENT_NOTE_TOO_MANY_REQUESTS);
	if (turn->encrypted)
		note(in, CONTENT_NOTE_OPAQUE_ENCRYPTED);
	if (turn->not_decoded)
		note(in, CONTENT_NOTE_CODING_UNKNOWN);
	in->half->wrong = false;
}

// Of the fragment; of a field they may be more.
static uint32_t here(const struct nfs_input *in)
{
	uint32_t left = in->length - in->taken;

	return left < in->half->fragment ? left : in->half->fragment;
}

static void used(struct nfs_input *in, uint32_t n)
{
	in->taken += n;
	in->half->fragment -= n;
}

// ---- blocks of files ----

static void drop_block(struct nfs_input *in)
{
	nfs_file_drop(in->turn, in->half->file);
	in->half->file = NULL;
}

// False: no memory.
static bool begin_block(struct nfs_input *in)
{
	struct nfs_half *half = in->half;
	struct nfs_turn turn = turn_of(in);
	uint32_t length = octets_be32(half->kept);
	const struct nfs_call *call = nfs_call_of(
		&in->state->session, half->values.xid, half->values.index, NFS_CALL_READ);
	struct nfs_file *file;
	uint64_t offset;

	if (!nfs_take_block(&turn, &file, &offset))
		return false;
	if (in->side == HALF_S2C && call && length > call->count)
		note(in, CONTENT_NOTE_BAD_LENGTH);
	half->phase = NFS_PHASE_BODY;
	half->have = half->want = 0;
	half->left = length;
	half->pad = (4 - length % 4) % 4;
	half->file = file;
	if (length && file && offset + length > offset)
		nfs_transfer_begin(&in->state->session, in->turn, file, in->side, offset, length,
			in->at64 + in->taken);
	else
		drop_block(in);
	return true;
}

static struct nfs_transfer *transfer_of(struct nfs_input *in)
{
	return nfs_transfer_of(&in->state->session, in->half->file, in->side);
}

// The server says that the file ends, or it has its size.
static void end_block(struct nfs_input *in)
{
	struct nfs_half *half = in->half;
	struct nfs_transfer *transfer = transfer_of(in);

	if (transfer && (content_placed_is_whole(&transfer->placed) ||
				(in->side == HALF_S2C && half->values.eof &&
					content_placed_is_one(&transfer->placed))))
		nfs_transfer_end(in->turn, transfer, CONTENT_END_CLOSED);
	drop_block(in);
	half->phase = NFS_PHASE_PAD;
	half->lead = half->pad;
}

static enum content_fed take_block(struct nfs_input *in)
{
	struct nfs_half *half = in->half;
	uint32_t n = half->left < here(in) ? half->left : here(in), put = n;
	struct nfs_transfer *transfer = transfer_of(in);

	if (transfer)
		put = content_placed_put(&transfer->placed, in->turn, in->bytes + in->taken, n,
			in->at64 + in->taken);
	used(in, put);
	half->left -= put;
	return put < n ? CONTENT_MORE : CONTENT_FED;
}

// ---- records ----

static void end_record(struct nfs_input *in)
{
	struct nfs_half *half = in->half;
	struct nfs_turn turn = turn_of(in);
	struct nfs_transfer *transfer = transfer_of(in);

	if (half->left) // the record was shorter than it
		note(in, CONTENT_NOTE_BAD_LENGTH);
	if (half->left && transfer)
		content_raw_lose(&transfer->placed.raw, half->left);
	drop_block(in);
	nfs_take_end(&turn);
	note_turn(in, &turn);
	half->in_record = half->last = false;
	half->format = NULL;
	half->lead = half->left = half->ops = 0;
	half->values.type = 0;
	half->values.xid = 0;
}

static void begin_record(struct nfs_half *half)
{
	half->in_record = true;
	half->format = "h";
	half->values.version = 0;
	nfs_field_begin(half);
}

static void take_mark(struct nfs_input *in)
{
	struct nfs_half *half = in->half;
	uint32_t mark = octets_be32(half->mark);

	half->n_mark = 0;
	half->fragment = mark & ~LAST;
	half->last = mark & LAST;
	if (half->fragment > FRAGMENT_BYTES)
		note(in, CONTENT_NOTE_BAD_LENGTH);
	if (!half->in_record)
		begin_record(half);
}

static bool is_in_block(const struct nfs_half *half)
{
	return half->format && *half->format == 'D' && half->phase == NFS_PHASE_BODY;
}

// A field whose bytes are there, or that has none. False: no memory.
static bool take_field(struct nfs_input *in)
{
	struct nfs_half *half = in->half;
	struct nfs_turn turn = turn_of(in);
	bool done = true, over = true;

	switch (*half->format) {
	case '!': done = nfs_take_operation(&turn); break;
	case '%':
		nfs_take_head(&turn);
		over = false;
		break;
	case 'D':
		over = half->phase == NFS_PHASE_PAD;
		if (half->phase == NFS_PHASE_FIRST)
			done = begin_block(in);
		else if (half->phase == NFS_PHASE_BODY)
			end_block(in);
		break;
	default: over = nfs_field_take(half); break;
	}
	note_turn(in, &turn);
	if (done && over)
		nfs_field_next(half);
	return done;
}

// What needs no more bytes. False: no memory, and it is asked again.
static bool settle(struct nfs_input *in)
{
	struct nfs_half *half = in->half;

	while (half->format && !half->lead && half->have == half->want && !half->left)
		if (!take_field(in))
			return false;
	if (half->in_record && !half->fragment && half->last)
		end_record(in);
	return true;
}

static enum content_fed take_some(struct nfs_input *in)
{
	struct nfs_half *half = in->half;
	uint32_t n;

	if (!half->fragment && half->is_datagram) {
		half->fragment = in->length - in->taken;
		half->last = true;
		begin_record(half);
	}
	if (!half->fragment) {
		bool all;

		n = 0;
		all = content_gather(half->mark, &half->n_mark, MARK_BYTES, in->bytes + in->taken,
			in->length - in->taken, &n);
		in->taken += n;
		if (all)
			take_mark(in);
		return CONTENT_FED;
	}
	n = here(in);
	if (is_in_block(half))
		return take_block(in);
	if (half->lead) {
		n = half->lead < n ? (uint32_t)half->lead : n;
		half->lead -= n;
	} else if (half->format) {
		uint32_t more = 0;

		content_gather(
			half->kept, &half->have, half->want, in->bytes + in->taken, n, &more);
		n = more;
	}
	used(in, n);
	return CONTENT_FED;
}

// ---- the decoder ----

static void end_all(struct nfs_state *state, struct content_turn *turn)
{
	for (unsigned side = 0; side < 2; side++) {
		struct nfs_half *half = &state->halves[side];

		nfs_file_drop(turn, half->file);
		nfs_file_drop(turn, half->current);
		nfs_file_drop(turn, half->saved);
		half->file = half->current = half->saved = NULL;
	}
	nfs_session_over(&state->session, turn);
	state->over = true;
}

static struct nfs_input input_of(struct nfs_state *state, unsigned side, struct content_turn *turn)
{
	return (struct nfs_input){.state = state,
		.half = &state->halves[side],
		.turn = turn,
		.at64 = state->streams[side].at64,
		.side = (uint8_t)side};
}

static enum content_fed take(void *of, unsigned side, struct content_turn *turn,
	const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct nfs_input in = input_of(of, side, turn);
	enum content_fed fed = CONTENT_FED;

	in.bytes = bytes;
	in.length = length;
	while (fed == CONTENT_FED && in.taken < length) {
		fed = take_some(&in);
		if (fed == CONTENT_FED && !settle(&in))
			fed = CONTENT_NO_MEMORY;
	}
	*taken += in.taken;
	return fed;
}

// How many of the next bytes may be lost: those of a file and behind it, or of what is not read.
static uint64_t may_lose(const struct nfs_half *half)
{
	uint64_t most = 0;

	if (!half->format)
		return half->fragment;
	if (*half->format == 'D')
		most = half->left ? half->left : half->lead;
	return most < half->fragment ? most : half->fragment;
}

static void lose_some(struct nfs_input *in, uint32_t n)
{
	struct nfs_half *half = in->half;
	struct nfs_transfer *transfer = transfer_of(in);

	if (half->left) {
		half->left -= n;
		if (transfer)
			content_raw_lose(&transfer->placed.raw, n);
	} else if (half->lead) {
		half->lead -= n;
	}
	used(in, n);
}

static enum content_fed lose(void *of, unsigned side, struct content_turn *turn, uint64_t length)
{
	struct nfs_state *state = of;
	struct nfs_input in = input_of(state, side, turn);
	enum content_fed fed = CONTENT_FED;

	if (in.half->is_datagram) {
		if (in.half->in_record)
			end_record(&in);
		in.half->fragment = 0;
		return CONTENT_FED;
	}
	while (length && fed == CONTENT_FED) {
		uint64_t most = may_lose(in.half);
		uint32_t n = (uint32_t)(length < most ? length : most);

		if (!n) {
			note(&in, CONTENT_NOTE_LOST);
			end_all(state, turn);
			return CONTENT_OVER;
		}
		lose_some(&in, n);
		length -= n;
		if (!settle(&in)) // nothing that may be lost has anything to be kept behind it
			fed = CONTENT_NO_MEMORY;
	}
	return fed;
}

// What the client has written is whole as far as it goes.
static enum content_fed fin(void *of, unsigned side, struct content_turn *turn)
{
	struct nfs_state *state = of;
	struct nfs_table *table = state->session.table;

	for (unsigned i = 0; side == HALF_C2S && table && i < NFS_TRANSFERS_MAX; i++) {
		struct nfs_transfer *transfer = &table->transfers[i];

		if (transfer->file && transfer->half == side)
			nfs_transfer_end(turn, transfer,
				content_placed_is_one(&transfer->placed) ? CONTENT_END_CLOSED
									 : CONTENT_END_TRUNCATED);
	}
	return CONTENT_FED;
}

static enum content_fed feed(void *of, const struct span *span, struct content_turn *turn)
{
	static const struct content_reader reader = {.take = take, .lose = lose, .fin = fin};
	struct nfs_state *state = of;
	struct nfs_input in = input_of(state, span->half & 1, turn);

	if (state->over) {
		turn->taken = span->extent;
		return CONTENT_OVER;
	}
	in.half->is_datagram = span->flags & SPAN_DATAGRAM;
	if (!settle(&in)) // what the call before had no memory for
		return CONTENT_NO_MEMORY;
	return content_stream_feed(state->streams, &reader, state, span, turn);
}

static void over(void *of, struct content_turn *turn)
{
	end_all(of, turn);
}

const struct content_decoder content_nfs = {
	.app = "nfs",
	.state_bytes = sizeof(struct nfs_state),
	.finds = CONTENT_FINDS_FILES | CONTENT_FINDS_OPAQUE,
	.feed = feed,
	.over = over,
};
