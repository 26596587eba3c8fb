// SPDX-License-Identifier: BSD-3-Clause
// Reads the head of a connection's first request for its words alone (words.h), while nobody knows
// yet what the connection is: where it comes in several segments, those before the last one leave
// before there is a decoder. It reports nothing else, and is over where anything but more of that
// head comes.
#include "content/decoders.h"

#include "content/http/head_reader.h"

struct first_state {
	struct http_head_reader reader;
	uint64_t at64; // of the next byte
	uint32_t files;
	bool started, over;
};

static void no_note(void *ctx, enum content_note note, unsigned half, uint64_t at64)
{
	(void)ctx, (void)note, (void)half, (void)at64;
}

static void end(struct first_state *state, struct content_turn *turn)
{
	content_give(turn->memory, state->reader.head);
	state->reader.head = NULL;
	state->over = true;
}

static enum content_fed first_feed(void *of, const struct span *span, struct content_turn *turn)
{
	struct first_state *state = of;
	const struct content_sink words = {
		.word = turn->sink->word, .note = no_note, .ctx = turn->sink->ctx};
	struct content_turn quiet = {.sink = &words, .memory = turn->memory};
	const struct http_turn here = {&quiet, &state->files, HALF_C2S};
	const struct http_input input = {
		span_bytes(span), span->offset64, span_length(span), false};
	uint32_t taken = 0;

	if (!state->started)
		http_head_reader_begin(&state->reader, HTTP_HEAD_REQUEST);
	if (state->over || span->half != HALF_C2S || span->offset64 != state->at64 ||
		span_is_gap(span)) {
		end(state, turn);
		return CONTENT_OVER;
	}
	state->started = true;
	if (http_head_reader_read(&state->reader, &here, &input, &taken) != HTTP_READ_MORE)
		end(state, turn);
	state->at64 += taken;
	turn->taken = taken;
	return state->over ? CONTENT_OVER : CONTENT_FED;
}

static void first_over(void *of, struct content_turn *turn)
{
	end(of, turn);
}

const struct content_decoder content_http_first = {
	.app = "http",
	.state_bytes = sizeof(struct first_state),
	.words = true,
	.feed = first_feed,
	.over = first_over,
};
