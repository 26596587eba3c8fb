// SPDX-License-Identifier: BSD-3-Clause
// Frames of the peer-to-peer protocol: a head of 48 octets, little endian, and the bytes of a
// message from an offset on. Session 0 is MSNSLP text, which is gathered, in whatever order its
// frames come; others are files. In a switchboard a frame is the body of a message, with four
// octets behind it; between two clients its length stands before it.
#include "content/memory.h"
#include "content/msn/msn.h"
#include "pipeline/vocab/octets.h"

#define FOOTER_BYTES 4
#define SLP_BYTES    7168 // of a message that are looked at; what is behind is a preview
#define SLP_MAP      (SLP_BYTES / 8)

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

static struct msn_slp *slp_of(const struct msn_turn *to, const struct msn_frame *frame)
{
	struct msn_more *more = to->state->more;

	for (unsigned i = 0; i < MSN_SLPS; i++)
		if (more->slps[i].bytes && more->slps[i].id == frame->id &&
			more->slps[i].half == to->side)
			return &more->slps[i];
	uint8_t *block = content_take(to->turn->memory, SLP_BYTES + SLP_MAP);
	struct msn_slp *slp = &more->slps[more->next_slp];

	if (!block)
		return NULL;
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

	if (frame->at >= SLP_BYTES || frame->total > MSN_PAYLOAD_BYTES ||
		frame->id == half->slp_done)
		return true;
	slp = slp_of(to, frame);
	if (!slp)
		return false;
	if (slp->total != frame->total)
		msn_note(to, CONTENT_NOTE_TWO_LENGTHS, half->begin64);
	put_slp(to, slp, frame->at + frame->gone, bytes, length);
	// what comes of a frame behind those bytes that make it whole is still of it
	if (frame->gone + length < frame->length || !is_whole(slp))
		return true;
	msn_slp_take(to,
		(struct content_text){slp->bytes, slp->total < SLP_BYTES ? slp->total : SLP_BYTES},
		slp->total > SLP_BYTES);
	half->slp_done = frame->id;
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

static void take_head(
	const struct msn_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct msn_frame *frame = &to->half->frame;

	if (content_gather(frame->head, &frame->have, P2P_HEAD_BYTES, bytes, length, taken))
		read_head(to, to->half->left - *taken);
}

enum content_fed msn_frame_take(
	const struct msn_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct msn_frame *frame = &to->half->frame;
	uint32_t here = frame->length - frame->gone;
	enum content_fed fed = CONTENT_FED;

	if (frame->have < P2P_HEAD_BYTES) {
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

	if (frame->have < P2P_HEAD_BYTES) {
		frame->have = P2P_HEAD_BYTES;
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
		half->phase = half->left < P2P_HEAD_BYTES ? MSN_SKIP : MSN_P2P;
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
