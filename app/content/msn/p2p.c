// SPDX-License-Identifier: BSD-3-Clause
// Frames of the peer-to-peer protocol: a head of 48 octets, little endian, and the bytes of a
// message from an offset on. Session 0 is MSNSLP text, which is gathered, in whatever order its
// frames come; others are files. In a switchboard a frame is the body of a message, with four
// octets behind it; between two clients its length stands before it. Frames of version 2, between
// two places of accounts, have heads of two parts, and no offsets.
#include "content/memory.h"
#include "content/msn/msn.h"
#include "pipeline/vocab/octets.h"

#define FOOTER_BYTES 4
#define SLP_BYTES    7168 // of a message that are looked at; what is behind is a preview
#define SLP_MAP      (SLP_BYTES / 8)

#define V2_LEAST 8 // bytes of either part of a head of version 2
#define V2_ID    (1u << 31)
#define V2_FIRST 1u // of a message
#define V2_FILE  4u // 4: a picture, 6: a file

enum msn_frame_kind {
	FRAME_SKIP,
	FRAME_SLP,
	FRAME_FILE,
};

enum {
	FLAG_OBJECT = 0x20,
	FLAG_FILE = 0x30,
	FLAGS_CONTROL = 0x1ce, // acknowledgements, errors, ends, nonces
};

static uint64_t le64(const uint8_t *at)
{
	return octets_le32(at) | (uint64_t)octets_le32(at + 4) << 32;
}

static uint8_t kind_of(const struct msn_frame *frame)
{
	if (frame->flags & FLAGS_CONTROL || !frame->length)
		return FRAME_SKIP;
	if (!frame->session)
		return FRAME_SLP;
	// four zeros: what is asked for is about to come
	if (frame->total == 4 && !(frame->flags & FLAG_FILE))
		return FRAME_SKIP;
	return FRAME_FILE;
}

// `follow`: octets behind the head.
static void read_head(const struct msn_turn *to, uint32_t follow)
{
	struct msn_frame *frame = &to->half->frame;
	uint32_t footer = to->state->mode == MSN_DIRECT ? 0 : FOOTER_BYTES;

	frame->session = octets_le32(frame->head);
	frame->id = octets_le32(frame->head + 4);
	frame->at = le64(frame->head + 8);
	frame->total = le64(frame->head + 16);
	frame->length = octets_le32(frame->head + 24);
	frame->flags = octets_le32(frame->head + 28);
	frame->kind = kind_of(frame);
	if (frame->kind == FRAME_SKIP)
		return;
	bool lies = frame->length > (follow > footer ? follow - footer : 0);

	if (frame->length > follow)
		frame->length = follow;
	lies |= frame->total > INT64_MAX || frame->at > frame->total ||
		frame->length > frame->total - frame->at;
	if (lies)
		msn_note(to, CONTENT_NOTE_BAD_LENGTH, to->half->begin64);
	if (frame->total > INT64_MAX || frame->at > INT64_MAX)
		frame->kind = FRAME_SKIP;
}

static void drop_slp(const struct msn_turn *to, struct msn_slp *slp)
{
	content_give(to->turn->memory, slp->bytes);
	*slp = (struct msn_slp){0};
}

static struct msn_slp *slp_at(const struct msn_turn *to, uint32_t id)
{
	struct msn_more *more = to->state->more;

	for (unsigned i = 0; i < MSN_SLPS; i++)
		if (more->slps[i].bytes && more->slps[i].id == id && more->slps[i].half == to->side)
			return &more->slps[i];
	return NULL;
}

// NULL: no memory.
static struct msn_slp *slp_of(const struct msn_turn *to, const struct msn_frame *frame)
{
	struct msn_more *more = to->state->more;
	struct msn_slp *slp = slp_at(to, frame->id);

	if (slp)
		return slp;
	uint8_t *block = content_take(to->turn->memory, SLP_BYTES + SLP_MAP);

	if (!block)
		return NULL;
	slp = &more->slps[more->next_slp];
	more->next_slp = (uint8_t)((more->next_slp + 1) % MSN_SLPS);
	if (slp->bytes)
		msn_note(to, CONTENT_NOTE_TOO_MANY_REQUESTS, to->half->begin64);
	drop_slp(to, slp);
	memset(block + SLP_BYTES, 0, SLP_MAP);
	*slp = (struct msn_slp){
		.bytes = block, .id = frame->id, .half = to->side, .total = (uint32_t)frame->total};
	return slp;
}

static bool is_whole(const struct msn_slp *slp)
{
	const uint8_t *map = slp->bytes + SLP_BYTES;
	uint32_t want = slp->total < SLP_BYTES ? slp->total : SLP_BYTES;

	for (uint32_t i = 0; i < want / 8; i++)
		if (map[i] != 0xff)
			return false;
	return !(want % 8) || map[want / 8] == (1u << want % 8) - 1;
}

// Bytes of the message from `at` on.
static void put_slp(const struct msn_turn *to, struct msn_slp *slp, uint64_t at,
	const uint8_t *bytes, uint32_t length)
{
	uint8_t *map = slp->bytes + SLP_BYTES;
	uint32_t want = slp->total < SLP_BYTES ? slp->total : SLP_BYTES;

	for (uint32_t i = 0; i < length && at + i < want; i++) {
		uint32_t place = (uint32_t)at + i;
		uint8_t bit = (uint8_t)(1u << place % 8);

		if (map[place / 8] & bit && slp->bytes[place] != bytes[i])
			msn_note(to, CONTENT_NOTE_RESENT_DIFFERS, to->half->begin64);
		map[place / 8] |= bit;
		slp->bytes[place] = bytes[i];
	}
}

// False: no memory.
static bool take_slp(const struct msn_turn *to, const uint8_t *bytes, uint32_t length)
{
	struct msn_half *half = to->half;
	struct msn_frame *frame = &half->frame;
	struct msn_slp *slp;

	if (frame->at >= SLP_BYTES || frame->total > MSN_PAYLOAD_BYTES)
		return true;
	slp = slp_of(to, frame);
	if (!slp)
		return false;
	if (slp->total != frame->total)
		msn_note(to, CONTENT_NOTE_TWO_LENGTHS, half->begin64);
	put_slp(to, slp, frame->at + frame->gone, bytes, length);
	slp->next = (uint32_t)frame->at + frame->length;
	// what comes of a frame behind those bytes that make it whole is still of it
	if (frame->gone + length < frame->length || !is_whole(slp))
		return true;
	msn_slp_take(to,
		(struct content_text){slp->bytes, slp->total < SLP_BYTES ? slp->total : SLP_BYTES},
		slp->total > SLP_BYTES);
	drop_slp(to, slp);
	return true;
}

static struct msn_session *session_at(const struct msn_turn *to)
{
	uint32_t id = to->half->frame.session;
	struct msn_session *session = msn_session_carried(to, id);
	const struct transfer_label *label = to->turn->announced;

	if (session)
		return session;
	session = msn_session_new(to, NULL, id);
	if (label && (label->what == TRANSFER_NOT_SAID || label->half == to->side)) {
		session->announced = true;
		session->label = *label;
	}
	session->label.half = to->side;
	return session;
}

static enum content_fed take_file(
	const struct msn_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct msn_frame *frame = &to->half->frame;
	struct msn_session *session = session_at(to);

	while (*taken < length) {
		uint32_t n = msn_session_put(to, session, frame->at + frame->gone + *taken,
			frame->total, bytes + *taken, length - *taken);

		*taken += n;
		if (!n)
			break;
	}
	if (frame->gone + *taken == frame->length)
		msn_session_rest(to, session, frame->total, msn_at64(to) + *taken);
	return *taken < length ? CONTENT_MORE : CONTENT_FED;
}

// Of fields behind a head of version 2, type u8 and length u8 each: how much is still to come.
static uint64_t remaining(const uint8_t *head, uint32_t length)
{
	uint32_t at = V2_LEAST;

	while (at + 2 <= length && head[at] && at + 2 + head[at + 1] <= length) {
		if (head[at] == 1 && head[at + 1] == 8)
			return (uint64_t)octets_be32(head + at + 2) << 32 |
			       octets_be32(head + at + 6);
		at += 2u + head[at + 1];
	}
	return 0;
}

// Where a frame of version 2 goes: it says whether it is its message's first, and how much follows.
static void place_part(const struct msn_turn *to, struct msn_frame *frame, bool first)
{
	const struct msn_session *session = msn_session_carried(to, frame->session);
	const struct msn_slp *slp = slp_at(to, frame->id);

	frame->at = 0;
	if (!first && frame->session && session && session->raw.id)
		frame->at = session->base + session->raw.at;
	if (!first && !frame->session && slp)
		frame->at = slp->next;
}

// Its length u8, kind u8, number of the message u16, session u32, fields; big endian.
static void read_part(const struct msn_turn *to, uint32_t follow)
{
	struct msn_frame *frame = &to->half->frame;
	uint32_t own = frame->want;
	uint64_t rest = remaining(frame->head, own);
	uint8_t kind = frame->head[1];

	frame->id = octets_be16(frame->head + 2) | V2_ID;
	frame->session = octets_be32(frame->head + 4);
	frame->length = frame->message > own ? frame->message - own : 0;
	if (frame->length > follow || rest > INT64_MAX / 2 || frame->message < own) {
		msn_note(to, CONTENT_NOTE_BAD_LENGTH, to->half->begin64);
		frame->length = frame->length < follow ? frame->length : follow;
		rest = rest < INT64_MAX / 2 ? rest : INT64_MAX / 2;
	}
	place_part(to, frame, kind & V2_FIRST);
	frame->total = frame->at + frame->length + rest;
	if (frame->length)
		frame->kind = !frame->session  ? FRAME_SLP
			      : kind & V2_FILE ? FRAME_FILE
					       : FRAME_SKIP;
}

// Its length u8, operation u8, length of the message u16, number u32, fields; then, if there is a
// message, its own head.
static void take_head_v2(
	const struct msn_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct msn_frame *frame = &to->half->frame;

	if (!frame->want)
		frame->want = V2_LEAST;
	if (!content_gather(frame->head, &frame->have, frame->want, bytes, length, taken))
		return;
	if (frame->head[0] < V2_LEAST || frame->head[0] > P2P_HEAD_BYTES) {
		msn_note(to, CONTENT_NOTE_BAD_LENGTH, to->half->begin64);
		frame->ready = true;
	} else if (frame->have < frame->head[0]) {
		frame->want = frame->head[0];
	} else if (!frame->second) {
		frame->message = octets_be16(frame->head + 2);
		frame->ready = !frame->message;
		frame->second = true;
		frame->have = 0;
		frame->want = V2_LEAST;
	} else {
		frame->ready = true;
		read_part(to, to->half->left - *taken);
	}
}

// Between two clients the first frame of a half tells: its lengths are those of version 2, or it is
// of session 0. False: four octets of it are not here.
static bool knows_version(
	const struct msn_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct msn_half *half = to->half;
	struct msn_frame *frame = &half->frame;

	if (to->state->mode != MSN_DIRECT || half->looked)
		return true;
	if (!content_gather(frame->head, &frame->have, 4, bytes, length, taken))
		return false;
	half->looked = true;
	half->v2 = frame->head[0] >= V2_LEAST && frame->head[0] <= P2P_HEAD_BYTES &&
		   frame->head[0] + octets_be16(frame->head + 2) == half->left - *taken + 4;
	return false;
}

static void take_head(
	const struct msn_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct msn_frame *frame = &to->half->frame;

	if (!knows_version(to, bytes, length, taken))
		return;
	if (to->half->v2) {
		take_head_v2(to, bytes, length, taken);
		return;
	}
	if (!content_gather(frame->head, &frame->have, P2P_HEAD_BYTES, bytes, length, taken))
		return;
	frame->ready = true;
	read_head(to, to->half->left - *taken);
}

enum content_fed msn_frame_take(
	const struct msn_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct msn_frame *frame = &to->half->frame;
	uint32_t here = frame->length - frame->gone;
	enum content_fed fed = CONTENT_FED;

	if (!frame->ready) {
		take_head(to, bytes, length, taken);
		return CONTENT_FED;
	}
	here = here < length ? here : length;
	if (frame->kind == FRAME_SKIP || !here) {
		*taken = length;
		return CONTENT_FED;
	}
	if (frame->kind == FRAME_FILE) {
		fed = take_file(to, bytes, here, taken);
	} else {
		if (!take_slp(to, bytes, here))
			return CONTENT_NO_MEMORY;
		*taken = here;
	}
	frame->gone += *taken;
	return fed;
}

// The next frame says where it belongs.
void msn_frame_lose(const struct msn_turn *to, uint64_t length)
{
	struct msn_frame *frame = &to->half->frame;
	uint64_t here = frame->length - frame->gone;

	if (!frame->ready) {
		frame->ready = true;
		frame->kind = FRAME_SKIP;
		frame->length = frame->gone = 0;
		return;
	}
	if (length < here)
		here = length;
	if (frame->kind == FRAME_SLP)
		frame->kind = FRAME_SKIP;
	frame->gone += (uint32_t)here;
}

static enum content_fed take_length(
	const struct msn_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct msn_half *half = to->half;
	struct msn_frame *frame = &half->frame;

	if (!frame->have)
		half->begin64 = msn_at64(to);
	if (!content_gather(frame->head, &frame->have, 4, bytes, length, taken))
		return CONTENT_FED;
	half->left = octets_le32(frame->head);
	*frame = (struct msn_frame){0};
	if (half->left > MSN_PAYLOAD_BYTES) {
		msn_note(to, CONTENT_NOTE_BAD_LENGTH, half->begin64);
		return CONTENT_OVER;
	}
	if (half->left)
		half->phase = half->left < V2_LEAST ? MSN_SKIP : MSN_P2P;
	return CONTENT_FED;
}

enum content_fed msn_direct_take(
	const struct msn_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct msn_half *half = to->half;
	enum content_fed fed = CONTENT_FED;

	if (half->phase == MSN_LINE)
		return take_length(to, bytes, length, taken);
	if (!msn_need_more(to))
		return CONTENT_NO_MEMORY;
	length = length < half->left ? length : half->left;
	if (half->phase == MSN_P2P)
		fed = msn_frame_take(to, bytes, length, taken);
	else
		*taken = length;
	half->left -= *taken;
	if (!half->left && fed == CONTENT_FED) {
		half->phase = MSN_LINE;
		half->frame = (struct msn_frame){0};
	}
	return fed;
}

void msn_p2p_over(struct msn_state *state, struct content_turn *turn)
{
	const struct msn_turn to = {.state = state, .half = &state->halves[0], .turn = turn};

	if (!state->more)
		return;
	for (unsigned i = 0; i < MSN_SESSIONS; i++)
		msn_session_end(&to, &state->more->sessions[i]);
	for (unsigned i = 0; i < MSN_SLPS; i++)
		drop_slp(&to, &state->more->slps[i]);
	content_give(turn->memory, state->more);
	state->more = NULL;
}
