// SPDX-License-Identifier: BSD-3-Clause
// The decoder of network news: each half taken apart into lines, articles and other blocks.
#include "content/decoders.h"
#include "content/nntp/session.h"

#define TLS_0 0x16 // a handshake record's type, and its version's first octet
#define TLS_1 0x03

static_assert(sizeof(struct nntp_state) <= 2048, "a connection that is idle costs little");

void nntp_note(const struct nntp_call *to, enum content_note note, uint64_t at64)
{
	static_assert(CONTENT_NOTES_MAX <= 64, "each note has a bit");
	struct nntp_half *half = &to->state->halves[to->side];
	uint64_t bit = 1ull << note;

	if (half->notes & bit)
		return;
	half->notes |= bit;
	to->turn->sink->note(to->turn->sink->ctx, note, to->side, at64);
}

static enum content_fed end_line(const struct nntp_call *to)
{
	struct nntp_half *half = &to->state->halves[to->side];
	const struct content_text line = {half->line, half->length};
	bool goes_on = true;

	if (!half->skip && to->side == HALF_C2S)
		nntp_command(to, line);
	else if (!half->skip)
		goes_on = nntp_answer(to, line);
	half->length = 0;
	half->skip = false;
	return goes_on ? CONTENT_FED : CONTENT_OVER;
}

static bool is_tls(const struct nntp_half *half)
{
	return half->length == 2 && half->line[0] == TLS_0 && half->line[1] == TLS_1 && !half->skip;
}

static enum content_fed take_lines(
	const struct nntp_call *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct nntp_half *half = &to->state->halves[to->side];
	uint64_t at64 = to->state->streams[to->side].at64;

	for (uint32_t i = 0; i < length; i++) {
		*taken = i + 1;
		if (!half->length)
			half->line64 = at64 + i;
		if (bytes[i] == '\n')
			return end_line(to);
		if (bytes[i] != '\r' && half->length < sizeof(half->line))
			half->line[half->length++] = bytes[i];
		if (is_tls(half)) {
			nntp_note(to, CONTENT_NOTE_OPAQUE_TLS, half->line64);
			to->state->over = true;
			return CONTENT_OVER;
		}
	}
	return CONTENT_FED;
}

static enum content_fed take(void *of, unsigned side, struct content_turn *turn,
	const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct nntp_state *state = of;
	const struct nntp_call to = {state, turn, side};

	if (!state->began) { // the server speaks first
		state->blind = state->streams[side].joined;
		nntp_await(&to, NNTP_GREETING);
	}
	state->began = true;
	if (state->halves[side].mode != NNTP_LINES)
		return nntp_block_take(&to, bytes, length, taken);
	return take_lines(&to, bytes, length, taken);
}

// Of lines it is not known how many there were.
static enum content_fed lose(void *of, unsigned side, struct content_turn *turn, uint64_t length)
{
	struct nntp_state *state = of;
	const struct nntp_call to = {state, turn, side};

	(void)length;
	if (state->halves[side].mode != NNTP_LINES) {
		nntp_block_lose(&to);
		return CONTENT_FED;
	}
	state->halves[side].skip = true;
	nntp_answers_forget(state);
	return CONTENT_FED;
}

static enum content_fed fin(void *of, unsigned side, struct content_turn *turn)
{
	struct nntp_state *state = of;
	const struct nntp_call to = {state, turn, side};

	if (state->halves[side].article)
		nntp_article_drop(&to, side);
	content_placed_end(&state->halves[side].posting.placed, turn, CONTENT_END_TRUNCATED);
	return CONTENT_FED;
}

static enum content_fed feed(void *of, const struct span *span, struct content_turn *turn)
{
	static const struct content_reader reader = {take, lose, fin};
	struct nntp_state *state = of;
	unsigned side = span->half & 1;
	enum content_fed fed = CONTENT_OVER;

	if (!state->over)
		fed = content_stream_feed(state->streams, &reader, state, span, turn);
	if (fed == CONTENT_OVER)
		turn->taken = span->extent;
	if (state->halves[side].article) {
		const struct mime_about about = nntp_about(state, side);

		mime_flush(state->halves[side].article, turn, &about);
	}
	return fed;
}

static void over(void *of, struct content_turn *turn)
{
	struct nntp_state *state = of;

	for (unsigned side = 0; side < 2; side++) {
		const struct nntp_call to = {state, turn, side};

		if (state->halves[side].article)
			nntp_article_drop(&to, side);
		content_placed_end(
			&state->halves[side].posting.placed, turn, CONTENT_END_TRUNCATED);
	}
}

const struct content_decoder content_nntp = {
	.app = "nntp",
	.state_bytes = sizeof(struct nntp_state),
	.finds = CONTENT_FINDS_FILES | CONTENT_FINDS_CHAT | CONTENT_FINDS_OPAQUE,
	.feed = feed,
	.over = over,
};
