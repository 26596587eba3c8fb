// SPDX-License-Identifier: BSD-3-Clause
// The decoder of HTTP/1.x: takes each half through its messages, over gaps and to its end.
#include "content/decoders.h"

#include <assert.h>

#include "content/http/message.h"

#define SEARCH_BYTES (1u << 20) // in which a message must begin, when one is looked for

static_assert(sizeof(struct http_state) <= 1024, "a connection that is idle costs little");

// Everything is given back, and open files end.
static void end_all(struct http_state *state, struct content_turn *turn)
{
	for (unsigned i = 0; i < 2; i++) {
		const struct http_turn of = {turn, &state->files, (uint8_t)i};
		struct http_half *half = &state->halves[i];

		http_body_abort(&half->body, &of, CONTENT_END_TRUNCATED, half->at64);
		content_give(turn->memory, half->reader.head);
		half->reader.head = NULL;
	}
	http_requests_clear(&state->requests, turn->memory);
	state->over = true;
}

#define BEGINS "HTTP/1." // a status line, and no file that anybody means

// What answers a request without a version: as long as it is not known whether it has a head.
static enum http_step read_perhaps_bare(
	struct http_half *half, const struct http_input *input, uint32_t *taken)
{
	if (input->bytes[0] == (uint8_t)BEGINS[half->matched]) {
		*taken = 1;
		half->matched++;
	} else {
		half->phase = HTTP_PHASE_BARE;
	}
	half->held = half->matched;
	return HTTP_ON;
}

// Bytes that are held back, as if they came now.
static struct http_input held_bytes(const struct http_half *half)
{
	return (struct http_input){.bytes = (const uint8_t *)BEGINS + half->matched - half->held,
		.at64 = half->at64 - half->held,
		.length = half->held};
}

// It is a status line, and its beginning is still to be read.
static bool reads_again(const struct http_half *half)
{
	return half->phase == HTTP_PHASE_HEAD && half->held && half->matched == sizeof(BEGINS) - 1;
}

static enum http_step read_head_part(struct http_state *state, const struct http_turn *turn,
	const struct http_input *input, uint32_t *taken)
{
	struct http_half *half = &state->halves[turn->half];
	struct http_head_reader *reader = &half->reader;
	struct http_input part = *input;
	bool searching = reader->searching;

	if (searching && half->searched >= SEARCH_BYTES) {
		http_note(turn, CONTENT_NOTE_LOST, half->at64);
		return HTTP_OVER;
	}
	if (searching && part.length > SEARCH_BYTES - half->searched)
		part.length = SEARCH_BYTES - half->searched;
	if (half->disputed)
		http_note(turn, CONTENT_NOTE_LENGTH_AND_CHUNKED, half->at64);
	half->disputed = false;
	reader->answers = reader->kind == HTTP_HEAD_RESPONSE && !searching && state->requests.first;
	enum http_head_read read = http_head_reader_read(reader, turn, &part, taken);

	half->searched = searching ? half->searched + *taken : 0;
	switch (read) {
	case HTTP_READ_MORE: return HTTP_ON;
	case HTTP_READ_NO_MEMORY: return HTTP_NO_MEMORY;
	case HTTP_READ_DONE:
		if (reader->kind == HTTP_HEAD_BEHIND)
			http_message_next(state, turn->half);
		else
			half->phase = HTTP_PHASE_HEAD_DONE;
		return HTTP_ON;
	case HTTP_READ_BAD:
		if (!searching)
			http_note(turn, CONTENT_NOTE_BAD_LINE, reader->line64);
		http_message_search(state, turn->half, turn->turn->memory);
		return HTTP_ON;
	default: http_note(turn, CONTENT_NOTE_HEAD_TOO_LONG, half->at64 + *taken); return HTTP_OVER;
	}
}

static enum http_step read_head(struct http_state *state, const struct http_turn *turn,
	const struct http_input *input, uint32_t *taken)
{
	struct http_half *half = &state->halves[turn->half];
	uint32_t given = 0;

	if (reads_again(half)) {
		const struct http_input held = held_bytes(half);
		enum http_step step = read_head_part(state, turn, &held, &given);

		half->held = (uint8_t)(half->held - given);
		return step;
	}
	if (turn->half == HALF_S2C && http_message_may_be_bare(state))
		return read_perhaps_bare(half, input, taken);
	return read_head_part(state, turn, input, taken);
}

static enum http_step put(struct http_half *half, const struct http_turn *turn,
	const struct http_input *input, uint64_t *remaining, uint32_t *taken)
{
	uint32_t length = *remaining < input->length ? (uint32_t)*remaining : input->length;
	enum http_step step =
		http_body_put(&half->body, turn, input->bytes, input->at64, length, taken);

	*remaining -= *taken;
	return step;
}

static enum http_step read_trailer(struct http_half *half, const struct http_turn *turn,
	const struct http_input *input, uint32_t *taken)
{
	switch (http_head_reader_read(&half->reader, turn, input, taken)) {
	case HTTP_READ_MORE: return HTTP_ON;
	case HTTP_READ_DONE: half->phase = HTTP_PHASE_BODY_END; return HTTP_ON;
	default: http_note(turn, CONTENT_NOTE_HEAD_TOO_LONG, half->at64 + *taken); return HTTP_OVER;
	}
}

static enum http_step read_chunked(struct http_half *half, const struct http_turn *turn,
	const struct http_input *input, uint32_t *taken)
{
	struct http_chunks *chunks = &half->chunks;
	enum http_step step;

	if (chunks->state == HTTP_CHUNK_BYTES) {
		step = put(half, turn, input, &chunks->remaining, taken);
		if (step == HTTP_ON && !chunks->remaining)
			chunks->state = HTTP_CHUNK_BEHIND;
		return step;
	}
	if (chunks->state == HTTP_CHUNK_TRAILER)
		return read_trailer(half, turn, input, taken);
	enum http_chunk_read read = http_chunk_byte(chunks, input->bytes[0]);

	if (read != HTTP_CHUNK_ON)
		http_note_once(turn, &half->body.notes, CONTENT_NOTE_BAD_CHUNK, input->at64);
	if (read == HTTP_CHUNK_BAD)
		return HTTP_LOST;
	*taken = 1;
	if (chunks->state == HTTP_CHUNK_TRAILER)
		http_head_reader_begin(&half->reader, HTTP_HEAD_TRAILER);
	return HTTP_ON;
}

static enum http_step put_held(struct http_half *half, const struct http_turn *turn)
{
	const struct http_input held = held_bytes(half);
	uint32_t taken = 0;
	enum http_step step =
		http_body_put(&half->body, turn, held.bytes, held.at64, held.length, &taken);

	half->held = (uint8_t)(half->held - taken);
	if (step == HTTP_ON && half->over)
		half->phase = HTTP_PHASE_BODY_END;
	return step;
}

static enum http_step read_body(struct http_half *half, const struct http_turn *turn,
	const struct http_input *input, uint32_t *taken)
{
	uint64_t all = UINT64_MAX;
	enum http_step step;

	if (half->held)
		return put_held(half, turn);
	switch (half->body.framing) {
	case HTTP_FRAMING_CHUNKED: return read_chunked(half, turn, input, taken);
	case HTTP_FRAMING_CLOSE: return put(half, turn, input, &all, taken);
	default: break;
	}
	step = put(half, turn, input, &half->remaining, taken);
	if (step == HTTP_ON && !half->remaining)
		half->phase = HTTP_PHASE_BODY_END;
	return step;
}

static enum http_step open_body(struct http_half *half, const struct http_turn *turn)
{
	enum http_step step = http_body_open(&half->body, turn);

	if (step == HTTP_ON)
		half->phase = half->body.framing == HTTP_FRAMING_NONE ? HTTP_PHASE_BODY_END
								      : HTTP_PHASE_BODY;
	return step;
}

static enum http_step one_step(struct http_state *state, const struct http_turn *turn,
	const struct http_input *input, uint32_t *taken)
{
	struct http_half *half = &state->halves[turn->half];
	enum http_step step;

	switch (half->phase) {
	case HTTP_PHASE_HEAD: return read_head(state, turn, input, taken);
	case HTTP_PHASE_HEAD_DONE:
		return turn->half == HALF_C2S ? http_message_request(state, turn)
					      : http_message_response(state, turn);
	case HTTP_PHASE_BARE: return http_message_bare(state, turn);
	case HTTP_PHASE_BODY_OPEN: return open_body(half, turn);
	case HTTP_PHASE_BODY: return read_body(half, turn, input, taken);
	case HTTP_PHASE_BODY_END:
		step = http_body_finish(&half->body, turn, half->at64);
		if (step == HTTP_ON)
			http_message_next(state, turn->half);
		return step;
	default:
		half->passed = true;
		*taken = input->length;
		return HTTP_ON;
	}
}

// Whether nothing happens before the next byte comes.
static bool waits_for_bytes(const struct http_half *half)
{
	if (half->phase == HTTP_PHASE_HEAD)
		return !reads_again(half);
	return half->phase == HTTP_PHASE_TUNNEL ||
	       (half->phase == HTTP_PHASE_BODY && !half->body.waits && !half->held);
}

static void lose(struct http_state *state, const struct http_turn *turn, enum content_end end)
{
	struct http_half *half = &state->halves[turn->half];

	http_body_abort(&half->body, turn, end, half->at64);
	half->searched = 0;
	http_message_search(state, turn->half, turn->turn->memory);
}

// Steps, until all bytes of the span are taken and nothing is left to be done without others.
static enum http_step run(struct http_state *state, const struct http_turn *turn,
	const uint8_t *bytes, uint32_t length)
{
	struct http_half *half = &state->halves[turn->half];
	struct content_turn *out = turn->turn;

	while (out->taken < length || !waits_for_bytes(half)) {
		uint32_t at = out->taken < length ? out->taken : length;
		const struct http_input input = {bytes + at, half->at64, length - at, false};
		uint32_t taken = 0;
		enum http_step step = one_step(state, turn, &input, &taken);

		out->taken += taken;
		half->at64 += taken;
		if (step == HTTP_LOST)
			lose(state, turn, CONTENT_END_ERROR);
		else if (step != HTTP_ON)
			return step;
	}
	return HTTP_ON;
}

// How much of a gap lies in the body, or in its chunk, as far as the end of that is known.
static uint64_t lose_in_body(struct http_half *half, const struct http_turn *turn, uint64_t length)
{
	uint64_t *remaining = &half->remaining;

	if (half->phase != HTTP_PHASE_BODY)
		return 0;
	if (half->body.framing == HTTP_FRAMING_CLOSE) {
		http_body_lose(&half->body, turn, half->at64, length);
		return length;
	}
	if (half->body.framing == HTTP_FRAMING_CHUNKED) {
		if (half->chunks.state != HTTP_CHUNK_BYTES)
			return 0;
		remaining = &half->chunks.remaining;
	}
	uint64_t lost = length < *remaining ? length : *remaining;

	http_body_lose(&half->body, turn, half->at64, lost);
	*remaining -= lost;
	if (!half->remaining && half->body.framing == HTTP_FRAMING_LENGTH) {
		// nothing of it is left to be told, so that it ends at once
		http_body_finish(&half->body, turn, half->at64 + lost);
		half->phase = HTTP_PHASE_BODY_END;
	}
	return lost;
}

static void take_gap(struct http_state *state, const struct http_turn *turn, uint64_t length)
{
	struct http_half *half = &state->halves[turn->half];
	uint64_t lost = lose_in_body(half, turn, length);

	half->at64 += lost;
	if (half->phase == HTTP_PHASE_TUNNEL)
		half->passed = true;
	else if (lost < length)
		lose(state, turn, CONTENT_END_TRUNCATED);
	half->at64 += length - lost;
}

// Nothing follows: a body without a length is whole (RFC 9112 section 8), others are not.
static void take_fin(struct http_state *state, const struct http_turn *turn)
{
	struct http_half *half = &state->halves[turn->half];

	half->over = true;
	if (half->phase == HTTP_PHASE_BODY && half->body.framing == HTTP_FRAMING_CLOSE) {
		half->phase = HTTP_PHASE_BODY_END;
		return;
	}
	if (half->phase == HTTP_PHASE_HEAD && half->held) {
		half->phase = HTTP_PHASE_BARE; // less than a status line's beginning
		return;
	}
	http_body_abort(&half->body, turn, CONTENT_END_TRUNCATED, half->at64);
	content_give(turn->turn->memory, half->reader.head);
	half->reader.head = NULL;
	http_message_next(state, turn->half);
}

static void start_half(
	struct http_state *state, const struct http_turn *turn, const struct span *span)
{
	struct http_half *half = &state->halves[turn->half];

	half->started = true;
	half->at64 = span->offset64;
	http_message_next(state, turn->half);
	// what it begins with may be a message; where it is none, messages were lost
	if (span->offset64 || span->flags & SPAN_MIDSTREAM)
		http_head_reader_search(&half->reader, half->reader.kind);
}

static enum http_step take_span(
	struct http_state *state, const struct http_turn *turn, const struct span *span)
{
	struct http_half *half = &state->halves[turn->half];
	uint32_t length = span_length(span);
	struct content_turn *out = turn->turn;
	enum http_step step = HTTP_ON;

	if (!half->started)
		start_half(state, turn, span);
	// what the producer left out without a word is a gap, too
	if (span->offset64 + out->taken > half->at64)
		take_gap(state, turn, span->offset64 + out->taken - half->at64);
	half->at64 = span->offset64 + out->taken;
	if (length) {
		step = run(state, turn, span_bytes(span), length);
	} else if (out->taken < span->extent) {
		take_gap(state, turn, span->extent - out->taken);
		out->taken = span->extent;
	} else { // what waits for its turn comes before the end
		step = run(state, turn, span_nothing(), 0);
	}
	if (step != HTTP_ON)
		return step;
	if (span->flags & SPAN_FIN && !half->over)
		take_fin(state, turn);
	return run(state, turn, span_nothing(), 0);
}

static enum content_fed http_feed(void *of, const struct span *span, struct content_turn *turn)
{
	struct http_state *state = of;
	const struct http_turn here = {turn, &state->files, span->half & 1};

	if (!state->over) {
		switch (take_span(state, &here, span)) {
		case HTTP_ON: return CONTENT_FED;
		case HTTP_MORE: return CONTENT_MORE;
		case HTTP_NO_MEMORY: return CONTENT_NO_MEMORY;
		default: end_all(state, turn); break;
		}
	}
	turn->taken = span->extent;
	return CONTENT_OVER;
}

static void http_over(void *of, struct content_turn *turn)
{
	struct http_state *state = of;

	if (!state->over)
		end_all(state, turn);
}

static bool http_answer(const void *of, unsigned half, struct content_answer *answer)
{
	const struct http_state *state = of;

	return !state->over && http_message_answer(state, half, answer);
}

const struct content_decoder content_http = {
	.app = "http",
	.state_bytes = sizeof(struct http_state),
	.words = 1u << HALF_C2S,
	.finds = CONTENT_FINDS_FILES | CONTENT_FINDS_IDS | CONTENT_FINDS_OPAQUE,
	.feed = http_feed,
	.over = http_over,
	.answer = http_answer,
};
