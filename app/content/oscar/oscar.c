// SPDX-License-Identifier: BSD-3-Clause
// The decoder of OSCAR: conversations with servers in FLAP, and connections between clients.
#include "content/oscar/oscar.h"

#include "content/decoders.h"
#include "content/memory.h"

void oscar_note(const struct oscar_turn *to, enum content_note note, uint64_t at64)
{
	const struct content_sink *sink = to->turn->sink;
	uint64_t *noted = &to->state->noted[to->side];

	if (!(*noted & CONTENT_NOTE_BIT(note)))
		sink->note(sink->ctx, note, to->side, at64);
	*noted |= CONTENT_NOTE_BIT(note);
}

bool oscar_need_kept(const struct oscar_turn *to, uint32_t bytes)
{
	if (!to->half->kept)
		to->half->kept = content_take(to->turn->memory, bytes);
	return to->half->kept;
}

void oscar_drop_kept(const struct oscar_turn *to)
{
	content_give(to->turn->memory, to->half->kept);
	to->half->kept = NULL;
	to->half->have = 0;
}

static struct oscar_turn turn_of(
	struct oscar_state *state, unsigned side, struct content_turn *turn)
{
	return (struct oscar_turn){
		.state = state, .half = &state->halves[side], .turn = turn, .side = (uint8_t)side};
}

static void over(void *of, struct content_turn *turn)
{
	struct oscar_state *state = of;

	for (unsigned side = 0; side < 2; side++) {
		const struct oscar_turn to = turn_of(state, side, turn);

		oscar_peer_end(&to);
		oscar_drop_kept(&to);
	}
	content_give(turn->memory, state->offers);
	state->offers = NULL;
}

// Clients begin with a head of OFT or ODC, or the length of a proxy's frame.
static void begin(struct oscar_state *state, unsigned side, uint8_t first)
{
	bool joined = state->streams[side].joined;

	state->mode = !joined && (first == 'O' || first <= 3) ? OSCAR_PEER : OSCAR_TALK;
}

static enum content_fed take(void *of, unsigned side, struct content_turn *turn,
	const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct oscar_state *state = of;
	const struct oscar_turn to = turn_of(state, side, turn);

	if (state->mode == OSCAR_NEW)
		begin(state, side, bytes[0]);
	if (state->mode == OSCAR_PEER)
		return oscar_peer_take(&to, bytes, length, taken);
	if (!to.half->looked) {
		to.half->looked = true;
		if (state->streams[side].joined)
			to.half->phase = OSCAR_HUNT;
		if (bytes[0] == 'F') // "FLAPON": TOC, which is not read
			return CONTENT_OVER;
	}
	return oscar_flap_take(&to, bytes, length, taken);
}

static enum content_fed lose(void *of, unsigned side, struct content_turn *turn, uint64_t length)
{
	struct oscar_state *state = of;
	const struct oscar_turn to = turn_of(state, side, turn);
	uint64_t lost = 0;

	if (state->mode == OSCAR_NEW)
		state->mode = OSCAR_TALK;
	to.half->looked = true;
	if (state->mode == OSCAR_PEER)
		lost = oscar_peer_lose(&to, length);
	else
		oscar_flap_lose(&to, length);
	if (!lost)
		return CONTENT_FED;
	oscar_note(&to, CONTENT_NOTE_LOST, oscar_at64(&to) + length - lost);
	return CONTENT_OVER;
}

static enum content_fed fin(void *of, unsigned side, struct content_turn *turn)
{
	const struct oscar_turn to = turn_of(of, side, turn);

	oscar_peer_end(&to);
	return CONTENT_FED;
}

static enum content_fed feed(void *of, const struct span *span, struct content_turn *turn)
{
	static const struct content_reader reader = {.take = take, .lose = lose, .fin = fin};
	struct oscar_state *state = of;
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

const struct content_decoder content_oscar = {
	.app = "oscar",
	.data_app = "oscar",
	.state_bytes = sizeof(struct oscar_state),
	.finds = CONTENT_FINDS_FILES | CONTENT_FINDS_CHAT,
	.feed = feed,
	.over = over,
};
