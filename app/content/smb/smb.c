// SPDX-License-Identifier: BSD-3-Clause
// The decoder of SMB 2 and 3 over TCP: takes each half apart into frames ([MS-SMB2] 2.1) and the
// messages in them. What a file has goes straight on; of all else the fixed parts are gathered, and
// names. A gap within a file's bytes is a hole in it; behind another one nothing can be read.
#include <assert.h>

#include "content/decoders.h"
#include "content/memory.h"
#include "content/smb/message.h"
#include "content/stream.h"
#include "pipeline/vocab/octets.h"

#define FRAME_BYTES 4
#define MAGIC_BYTES 4

enum smb_step {
	SMB_AT_FRAME,   // its header is gathered
	SMB_AT_MAGIC,   // ... the first bytes of a message
	SMB_AT_HEAD,    // ... its header
	SMB_AT_FIXED,   // ... the fixed part of its body
	SMB_AT_LEAD,    // up to the part that is read
	SMB_AT_GATHER,  // ... which is gathered
	SMB_AT_BLOCK,   // ... which is passed on
	SMB_AT_MESSAGE, // the rest of the message is nothing to us
	SMB_AT_REST,    // ... and that of the frame
};

struct smb_half {
	uint8_t step;            // enum smb_step
	bool chained;            // another message follows in the frame
	uint32_t frame, message; // bytes that follow of either
	uint32_t lead;           // up to the part
	uint32_t left;           // of the block
	uint32_t want, have;     // of what is gathered
	uint64_t noted;          // a bit for each note that was told
	struct smb_head head;
	struct smb_part part;
	struct smb_chain chain;
	struct smb_open *open; // whose block comes; NULL: nobody's
	uint8_t *text;         // a part that is gathered; NULL: none
	uint8_t kept[SMB_HEAD_BYTES + SMB_FIXED_BYTES];
};

struct smb_state {
	struct content_stream streams[2];
	struct smb_session session;
	struct smb_half halves[2];
	bool over;
};
static_assert(sizeof(struct smb_state) <= 1024, "a connection that is idle costs little");

// What a call of take() is about.
struct smb_input {
	struct smb_state *state;
	struct smb_half *half;
	struct content_turn *turn;
	const uint8_t *bytes;
	uint32_t length, taken;
	uint64_t at64; // of bytes[0]
	uint8_t side;
};

static void note(struct smb_input *in, enum content_note what)
{
	const struct content_sink *sink = in->turn->sink;

	if (!(in->half->noted & CONTENT_NOTE_BIT(what)))
		sink->note(sink->ctx, what, in->side, in->at64 + in->taken);
	in->half->noted |= CONTENT_NOTE_BIT(what);
}

static uint32_t here(const struct smb_input *in)
{
	return in->length - in->taken;
}

static void used(struct smb_input *in, uint32_t n)
{
	struct smb_half *half = in->half;

	in->taken += n;
	half->frame -= n < half->frame ? n : half->frame;
	half->message -= n < half->message ? n : half->message;
}

// True: all that is wanted is there.
static bool gather(struct smb_input *in, uint8_t *to)
{
	uint32_t n = 0;
	bool all = content_gather(
		to, &in->half->have, in->half->want, in->bytes + in->taken, here(in), &n);

	used(in, n);
	return all;
}

// The last byte comes again, with more memory.
static enum content_fed starve(struct smb_input *in)
{
	in->half->have--;
	in->half->frame++;
	in->half->message++;
	in->taken--;
	return CONTENT_NO_MEMORY;
}

static void expect(struct smb_half *half, enum smb_step step, uint32_t want)
{
	half->step = (uint8_t)step;
	half->have = 0;
	half->want = want;
}

// ---- blocks of files ----

static void end_if_whole(struct smb_input *in, struct content_placed *placed)
{
	const struct smb_part *part = &in->half->part;

	if (content_placed_is_whole(placed) ||
		(part->last && placed->size == CONTENT_SIZE_UNKNOWN &&
			content_placed_reaches(placed, part->offset + part->length)))
		content_placed_end(placed, in->turn, CONTENT_END_CLOSED);
}

static void begin_block(struct smb_input *in)
{
	struct smb_half *half = in->half;
	struct smb_session *session = &in->state->session;
	struct smb_open *open = smb_open_by_number(session, half->part.open);
	uint64_t offset = half->part.offset, begins;
	struct smb_pending *pending;

	half->open = NULL;
	if (half->part.more_than_asked)
		note(in, CONTENT_NOTE_BAD_LENGTH);
	begins = open ? smb_begins_at(session, open, in->side, offset) : 0;
	pending = in->side == HALF_S2C ? smb_pending_of(session, half->head.message) : NULL;
	if (pending)
		smb_pending_done(session, pending);
	if (!open || open->ignored || !half->left || offset + half->left < offset)
		return;
	struct content_placed *placed = open->placed[in->side];

	if (!content_placed_takes(placed, offset, half->left)) {
		struct content_file what = smb_file_of(open, in->side);

		content_placed_end(placed, in->turn, CONTENT_END_TRUNCATED);
		smb_make_way(session, in->turn);
		content_placed_open(
			placed, in->turn, &what, &session->files, in->at64 + in->taken, begins);
	}
	content_placed_begin(placed, offset, half->left);
	half->open = open;
}

static enum content_fed take_block(struct smb_input *in)
{
	struct smb_half *half = in->half;
	uint32_t n = half->left < here(in) ? half->left : here(in), put = n;
	struct content_placed *placed = half->open ? half->open->placed[in->side] : NULL;

	if (placed)
		put = content_placed_put(
			placed, in->turn, in->bytes + in->taken, n, in->at64 + in->taken);
	used(in, put);
	half->left -= put;
	return put < n ? CONTENT_MORE : CONTENT_FED;
}

// The file may be over with it; another one may have taken its place meanwhile.
static void end_block(struct smb_input *in)
{
	struct smb_half *half = in->half;
	struct content_placed *placed = half->open ? half->open->placed[in->side] : NULL;

	if (placed && content_placed_is_open(placed))
		end_if_whole(in, placed);
	half->open = NULL;
}

// ---- messages ----

static void read_magic(struct smb_input *in)
{
	static const uint8_t smb[] = {'S', 'M', 'B'};
	const uint8_t *at = in->half->kept;
	enum content_note what = CONTENT_NOTE_BAD_LINE;

	if (at[0] == 0xfe && in->half->message >= SMB_HEAD_BYTES - MAGIC_BYTES &&
		!memcmp(at + 1, smb, sizeof(smb))) {
		in->half->step = SMB_AT_HEAD;
		in->half->want = SMB_HEAD_BYTES;
		return;
	}
	if (!memcmp(at + 1, smb, sizeof(smb))) {
		if (at[0] == 0xfd)
			what = CONTENT_NOTE_OPAQUE_ENCRYPTED;
		else if (at[0] == 0xfc)
			what = CONTENT_NOTE_OPAQUE_COMPRESSED;
		else if (at[0] == 0xff)
			what = CONTENT_NOTE_OPAQUE_SMB1;
	}
	in->half->step = SMB_AT_REST;
	if (what == CONTENT_NOTE_OPAQUE_SMB1 &&
		in->half->message) { // what it asks first may be answered by SMB 2
		in->half->step = SMB_AT_HEAD;
		in->half->want = MAGIC_BYTES + 1;
		return;
	}
	note(in, what);
}

#define SMB1_NEGOTIATE 0x72

static void read_head(struct smb_input *in)
{
	struct smb_half *half = in->half;
	uint32_t rest = half->frame, fixed;

	if (half->kept[0] == 0xff) {
		if (half->kept[MAGIC_BYTES] != SMB1_NEGOTIATE)
			note(in, CONTENT_NOTE_OPAQUE_SMB1);
		half->step = SMB_AT_REST;
		return;
	}
	half->head = smb_head_read(half->kept);
	half->message = rest;
	half->chained = half->head.next;
	if (half->chained) {
		uint32_t next = half->head.next;

		// forward, and a whole header behind it: messages cannot go round in circles
		if (next < SMB_HEAD_BYTES || next % 8 || next - SMB_HEAD_BYTES >= rest) {
			note(in, CONTENT_NOTE_BAD_LENGTH);
			half->chained = false;
		} else {
			half->message = next - SMB_HEAD_BYTES;
		}
	}
	if (!(half->head.flags & 4))
		half->chain.tree = half->head.tree;
	fixed = smb_fixed_bytes(in->side, &half->head);
	half->step = SMB_AT_MESSAGE;
	if (!fixed || fixed > half->message)
		return;
	half->step = SMB_AT_FIXED;
	half->want = SMB_HEAD_BYTES + fixed;
}

static struct smb_turn turn_of(struct smb_input *in)
{
	return (struct smb_turn){.session = &in->state->session,
		.turn = in->turn,
		.chain = &in->half->chain,
		.head = in->half->head,
		.half = in->side};
}

static void note_turn(struct smb_input *in, const struct smb_turn *turn)
{
	if (turn->again)
		note(in, CONTENT_NOTE_BAD_LINE);
	if (turn->full)
		note(in, CONTENT_NOTE_TOO_MANY_REQUESTS);
}

// A file that is forgotten is nobody's, while its bytes come.
static void drop_pointers(struct smb_state *state)
{
	for (unsigned side = 0; side < 2; side++) {
		const struct smb_open *open = state->session.opens;

		if (!state->halves[side].open)
			continue;
		while (open && open != state->halves[side].open)
			open = open->next;
		if (!open)
			state->halves[side].open = NULL;
	}
}

// Where the part lies that is read. One that is not inside of the message is none.
static bool find_part(struct smb_input *in)
{
	struct smb_half *half = in->half;
	const struct smb_part *part = &half->part;
	uint32_t at = half->want; // offset in the message

	half->lead = part->at - at;
	if (part->at >= at && half->lead <= half->message &&
		part->length <= half->message - half->lead)
		return true;
	if (part->length)
		note(in, CONTENT_NOTE_BAD_LENGTH);
	return false;
}

static enum content_fed read_fixed(struct smb_input *in)
{
	struct smb_half *half = in->half;
	struct smb_turn turn = turn_of(in);
	bool done;

	half->part = (struct smb_part){0};
	done = smb_take_fixed(&turn, half->kept + SMB_HEAD_BYTES, &half->part);
	note_turn(in, &turn);
	drop_pointers(in->state);
	if (!done)
		return starve(in);
	half->step = SMB_AT_MESSAGE;
	half->left = 0;
	if (!half->part.kind)
		return CONTENT_FED;
	if (find_part(in)) {
		half->left = half->part.length;
		half->step = SMB_AT_LEAD;
	} else if (half->part.kind == SMB_PART_BLOCK) {
		begin_block(in); // none, of a request that is answered
	}
	return CONTENT_FED;
}

static enum content_fed read_part(struct smb_input *in)
{
	struct smb_half *half = in->half;
	struct smb_turn turn = turn_of(in);
	bool done = smb_take_part(
		&turn, &half->part, (struct content_text){half->text, half->part.length});

	note_turn(in, &turn);
	drop_pointers(in->state);
	if (!done)
		return starve(in);
	content_give(in->turn->memory, half->text);
	half->text = NULL;
	half->step = SMB_AT_MESSAGE;
	return CONTENT_FED;
}

static enum content_fed take_part(struct smb_input *in)
{
	struct smb_half *half = in->half;

	if (!half->text)
		half->text = content_take(in->turn->memory, half->want);
	if (!half->text)
		return CONTENT_NO_MEMORY;
	return gather(in, half->text) ? read_part(in) : CONTENT_FED;
}

// ---- frames ----

// False: no frame begins so.
static bool read_frame(struct smb_input *in)
{
	const uint8_t *at = in->half->kept;

	in->half->frame = octets_be32(at) & 0xffffff;
	in->half->message = in->half->frame;
	in->half->chained = false;
	in->half->chain = (struct smb_chain){0};
	if (at[0]) {
		in->half->step = SMB_AT_REST;
		return at[0] >= 0x81 && at[0] <= 0x85; // of the session (RFC 1002 4.3)
	}
	if (in->half->frame < MAGIC_BYTES)
		in->half->step = SMB_AT_REST;
	else
		expect(in->half, SMB_AT_MAGIC, MAGIC_BYTES);
	return true;
}

// What needs no more bytes.
static void settle(struct smb_input *in)
{
	struct smb_half *half = in->half;

	if (half->step == SMB_AT_LEAD && !half->lead) {
		bool block = half->part.kind == SMB_PART_BLOCK;

		if (block)
			begin_block(in);
		expect(half, block ? SMB_AT_BLOCK : SMB_AT_GATHER, half->part.length);
		if (!block && !half->part.length) // the root of a share
			half->step = SMB_AT_MESSAGE;
	}
	if (half->step == SMB_AT_BLOCK && !half->left) {
		end_block(in);
		half->step = SMB_AT_MESSAGE;
	}
	if (half->step == SMB_AT_MESSAGE && !half->message) {
		half->message = half->frame;
		half->step = SMB_AT_REST;
		if (half->chained && half->frame >= MAGIC_BYTES)
			expect(half, SMB_AT_MAGIC, MAGIC_BYTES);
	}
	if (half->step == SMB_AT_REST && !half->frame)
		expect(half, SMB_AT_FRAME, FRAME_BYTES);
}

static void skip(struct smb_input *in, uint32_t *left)
{
	uint32_t n = *left < here(in) ? *left : here(in);

	if (left == &in->half->lead)
		*left -= n;
	used(in, n);
}

static enum content_fed take_some(struct smb_input *in)
{
	struct smb_half *half = in->half;

	switch (half->step) {
	case SMB_AT_FRAME:
		half->want = FRAME_BYTES;
		if (gather(in, half->kept) && !read_frame(in)) {
			note(in, CONTENT_NOTE_BAD_LENGTH);
			return CONTENT_OVER;
		}
		return CONTENT_FED;
	case SMB_AT_MAGIC:
		if (gather(in, half->kept))
			read_magic(in);
		return CONTENT_FED;
	case SMB_AT_HEAD:
		if (gather(in, half->kept))
			read_head(in);
		return CONTENT_FED;
	case SMB_AT_FIXED: return gather(in, half->kept) ? read_fixed(in) : CONTENT_FED;
	case SMB_AT_LEAD: skip(in, &half->lead); return CONTENT_FED;
	case SMB_AT_GATHER: return take_part(in);
	case SMB_AT_BLOCK: return take_block(in);
	case SMB_AT_MESSAGE: skip(in, &half->message); return CONTENT_FED;
	default: skip(in, &half->frame); return CONTENT_FED;
	}
}

static void end_all(struct smb_state *state, struct content_turn *turn)
{
	for (unsigned side = 0; side < 2; side++) {
		state->halves[side].open = NULL;
		content_give(turn->memory, state->halves[side].text);
		state->halves[side].text = NULL;
	}
	smb_session_over(&state->session, turn);
	state->over = true;
}

static enum content_fed take(void *of, unsigned side, struct content_turn *turn,
	const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct smb_state *state = of;
	struct smb_input in = {.state = state,
		.half = &state->halves[side],
		.turn = turn,
		.bytes = bytes,
		.length = length,
		.at64 = state->streams[side].at64,
		.side = (uint8_t)side};
	enum content_fed fed = CONTENT_FED;

	while (fed == CONTENT_FED && in.taken < length) {
		fed = take_some(&in);
		if (fed == CONTENT_FED)
			settle(&in);
	}
	*taken += in.taken;
	if (fed == CONTENT_OVER)
		end_all(state, turn);
	return fed;
}

// How many of the next bytes may be lost: those of a file, or of what is not read.
static uint32_t may_lose(const struct smb_half *half)
{
	switch (half->step) {
	case SMB_AT_BLOCK: return half->left;
	case SMB_AT_MESSAGE: return half->message;
	case SMB_AT_REST: return half->frame;
	default: return 0;
	}
}

static enum content_fed lose(void *of, unsigned side, struct content_turn *turn, uint64_t length)
{
	struct smb_state *state = of;
	struct smb_input in = {.state = state,
		.half = &state->halves[side],
		.turn = turn,
		.at64 = state->streams[side].at64,
		.side = (uint8_t)side};

	while (length) {
		uint32_t most = may_lose(in.half);
		uint32_t n = length < most ? (uint32_t)length : most;

		if (!n) {
			note(&in, CONTENT_NOTE_LOST);
			end_all(state, turn);
			return CONTENT_OVER;
		}
		if (in.half->step == SMB_AT_BLOCK) {
			in.half->left -= n;
			if (in.half->open)
				content_raw_lose(&in.half->open->placed[side]->raw, n);
		}
		used(&in, n);
		settle(&in);
		length -= n;
	}
	return CONTENT_FED;
}

static enum content_fed feed(void *of, const struct span *span, struct content_turn *turn)
{
	static const struct content_reader reader = {.take = take, .lose = lose};
	struct smb_state *state = of;

	if (state->over || span->flags & SPAN_DATAGRAM) { // the browser's, and mail slots
		end_all(state, turn);
		turn->taken = span->extent;
		return CONTENT_OVER;
	}
	return content_stream_feed(state->streams, &reader, state, span, turn);
}

static void over(void *of, struct content_turn *turn)
{
	end_all(of, turn);
}

const struct content_decoder content_smb = {
	.app = "smb",
	.state_bytes = sizeof(struct smb_state),
	.finds = CONTENT_FINDS_FILES | CONTENT_FINDS_OPAQUE,
	.feed = feed,
	.over = over,
};
