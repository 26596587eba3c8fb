// SPDX-License-Identifier: BSD-3-Clause
// The decoder of MSN Messenger: conversations with servers, MSNFTP, and frames between clients.
#include "content/msn/msn.h"

#include "content/decoders.h"
#include "content/memory.h"

void msn_note(const struct msn_turn *to, enum content_note note, uint64_t at64)
{
	const struct content_sink *sink = to->turn->sink;
	uint64_t *noted = &to->state->noted[to->side];

	if (!(*noted & CONTENT_NOTE_BIT(note)))
		sink->note(sink->ctx, note, to->side, at64);
	*noted |= CONTENT_NOTE_BIT(note);
}

uint32_t msn_hash(struct content_text text)
{
	uint32_t hash = 2166136261u;

	for (uint32_t i = 0; i < text.length; i++)
		hash = (hash ^ text.bytes[i]) * 16777619u;
	return hash ? hash : 1;
}

static void *need(const struct msn_turn *to, void *have, size_t bytes)
{
	if (have)
		return have;
	have = content_take(to->turn->memory, bytes);
	if (have)
		memset(have, 0, bytes);
	return have;
}

bool msn_need_more(const struct msn_turn *to)
{
	to->state->more = need(to, to->state->more, sizeof(*to->state->more));
	return to->state->more;
}

bool msn_need_people(const struct msn_turn *to)
{
	to->state->people = need(to, to->state->people, sizeof(*to->state->people));
	return to->state->people;
}

static struct msn_turn turn_of(struct msn_state *state, unsigned side, struct content_turn *turn)
{
	return (struct msn_turn){
		.state = state, .half = &state->halves[side], .turn = turn, .side = (uint8_t)side};
}

static void over(void *of, struct content_turn *turn)
{
	struct msn_state *state = of;

	msn_ftp_over(state, turn);
	msn_p2p_over(state, turn);
	for (unsigned side = 0; side < 2; side++) {
		const struct msn_turn to = turn_of(state, side, turn);

		msn_drop_kept(&to);
	}
	content_give(turn->memory, state->people);
	state->people = NULL;
}

// A frame's first length is 4 ("foo"), or that of one frame's head alone.
static uint8_t mode_of(const struct content_stream *stream, uint8_t first)
{
	return !stream->joined && (first == 4 || first == P2P_HEAD_BYTES) ? MSN_DIRECT : MSN_TALK;
}

static enum content_fed take(void *of, unsigned side, struct content_turn *turn,
	const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct msn_state *state = of;
	const struct msn_turn to = turn_of(state, side, turn);

	if (state->mode == MSN_NEW)
		state->mode = mode_of(&state->streams[side], bytes[0]);
	if (state->mode == MSN_DIRECT)
		return msn_direct_take(&to, bytes, length, taken);
	if (state->ftp && (to.half->phase == MSN_BLOCK || to.half->phase == MSN_BYTES))
		return msn_ftp_take(&to, bytes, length, taken);
	return msn_talk_take(&to, bytes, length, taken);
}

// How much of it is of no frame: behind it frames cannot be found.
static uint64_t lose_frame(const struct msn_turn *to, uint64_t length)
{
	struct msn_half *half = to->half;
	uint64_t here = length < half->left ? length : half->left;

	if (half->phase == MSN_LINE)
		return length;
	if (half->phase == MSN_P2P)
		msn_frame_lose(to, here);
	half->left -= (uint32_t)here;
	if (!half->left) {
		half->phase = MSN_LINE;
		half->frame = (struct msn_frame){0};
	}
	return length - here;
}

static enum content_fed lose(void *of, unsigned side, struct content_turn *turn, uint64_t length)
{
	struct msn_state *state = of;
	const struct msn_turn to = turn_of(state, side, turn);
	uint64_t lost = 0;

	to.half->gapped = true;
	if (state->mode == MSN_NEW)
		state->mode = MSN_TALK;
	if (state->mode == MSN_DIRECT)
		lost = lose_frame(&to, length);
	else if (state->ftp)
		lost = msn_ftp_lose(&to, length);
	if (lost) {
		msn_note(&to, CONTENT_NOTE_LOST, msn_at64(&to) + length - lost);
		return CONTENT_OVER;
	}
	if (state->mode == MSN_TALK && to.half->phase != MSN_BLOCK && to.half->phase != MSN_BYTES)
		msn_talk_lose(&to, length);
	return CONTENT_FED;
}

static enum content_fed fin(void *of, unsigned side, struct content_turn *turn)
{
	struct msn_state *state = of;
	const struct msn_turn to = turn_of(state, side, turn);

	msn_chat_close(&to);
	if (to.half->sends)
		msn_ftp_over(state, turn);
	return CONTENT_FED;
}

static enum content_fed feed(void *of, const struct span *span, struct content_turn *turn)
{
	static const struct content_reader reader = {.take = take, .lose = lose, .fin = fin};
	struct msn_state *state = of;
	enum content_fed fed = CONTENT_OVER;

	if (!state->over)
		fed = content_stream_feed(state->streams, &reader, state, span, turn);
	if (fed != CONTENT_OVER)
		return fed;
	over(state, turn);
	state->over = true;
	turn->taken = span->extent;
	return CONTENT_OVER;
}

const struct content_decoder content_msn = {
	.app = "msn",
	.data_app = "msn",
	.rides_http = true,
	.state_bytes = sizeof(struct msn_state),
	.finds = CONTENT_FINDS_FILES | CONTENT_FINDS_CHAT,
	.feed = feed,
	.over = over,
};
