// SPDX-License-Identifier: BSD-3-Clause
// The decoders of Gnutella, and of FastTrack's way to have a server come: handshakes, packed and
// plain connections of descriptors, datagrams, and HTTP behind GIV.
#include <assert.h>

#include "content/decoders.h"
#include "content/gnutella/session.h"
#include "content/http/text.h"
#include "content/memory.h"
#include "pipeline/vocab/octets.h"

static_assert(sizeof(struct gnutella_state) <= 1024, "a connection that is idle costs little");

static struct gnutella_turn turn_of(
	struct gnutella_state *state, unsigned half, struct content_turn *turn)
{
	return (struct gnutella_turn){state, turn, half};
}

static void end_half(struct gnutella_half *half, struct content_memory *memory)
{
	content_give(memory, half->kept);
	content_give(memory, half->unpacked);
	coding_close(half->coding);
	half->kept = NULL;
	half->unpacked = NULL;
	half->coding = NULL;
	half->begun = false;
	half->phase = GNUTELLA_LOST;
}

static bool is_over(const struct gnutella_state *state)
{
	return state->halves[0].phase == GNUTELLA_LOST && state->halves[1].phase == GNUTELLA_LOST;
}

// ---- descriptors ----

// All memory that they will need: in what is unpacked none can be waited for.
static bool begin_descriptors(struct gnutella_half *half, struct content_turn *turn)
{
	if (!half->kept)
		half->kept = content_take(turn->memory, GNUTELLA_KEPT);
	if (half->encoded && !half->unpacked) {
		half->unpacked = content_take(turn->memory, sizeof(*half->unpacked));
		if (half->unpacked)
			memset(half->unpacked, 0, sizeof(*half->unpacked));
	}
	if (half->encoded && !half->coding)
		half->coding = coding_open(turn->memory, CODING_DEFLATE);
	return half->kept && ((half->coding && half->unpacked) || !half->encoded);
}

// What it may be unpacked to is bounded by what came.
static bool is_bomb(const struct gnutella_half *half)
{
	return half->out > GNUTELLA_BOMB_FROM && half->out / GNUTELLA_BOMB > half->in;
}

// True: there may be more without any input.
static bool unpack(
	struct gnutella_half *half, const uint8_t *bytes, uint32_t length, uint32_t *given)
{
	struct gnutella_unpacked *unpacked = half->unpacked;
	uint32_t in = length - *given, told = sizeof(unpacked->bytes);
	enum coding_state now =
		coding_feed(half->coding, bytes + *given, &in, unpacked->bytes, &told, false);

	*given += in;
	half->in += in;
	half->out += told;
	unpacked->from = 0;
	unpacked->to = told;
	unpacked->over = now != CODING_GOES_ON;
	return told == sizeof(unpacked->bytes);
}

// What was unpacked. False: the budget has ended.
static bool read_unpacked(const struct gnutella_turn *turn)
{
	struct gnutella_half *half = gnutella_half_of(turn);
	struct gnutella_unpacked *unpacked = half->unpacked;

	unpacked->from += gnutella_descriptors(
		turn, unpacked->bytes + unpacked->from, unpacked->to - unpacked->from);
	if (half->phase == GNUTELLA_LOST)
		unpacked->from = unpacked->to;
	if (unpacked->from < unpacked->to)
		return false;
	if (half->phase == GNUTELLA_LOST || !(is_bomb(half) || unpacked->over))
		return true;
	gnutella_note(turn, is_bomb(half) ? CONTENT_NOTE_BOMB : CONTENT_NOTE_CODING_LIES);
	half->phase = GNUTELLA_LOST;
	return true;
}

static enum content_fed take_packed(
	const struct gnutella_turn *turn, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct gnutella_half *half = gnutella_half_of(turn);
	bool more = half->unpacked->ahead;
	uint32_t given = more;

	for (;;) {
		if (!read_unpacked(turn)) { // the last byte is taken when all of it is
			half->unpacked->ahead = given;
			*taken = given ? given - 1 : 0;
			return CONTENT_MORE;
		}
		if (half->phase == GNUTELLA_LOST || (!more && given == length))
			break;
		more = unpack(half, bytes, length, &given);
	}
	half->unpacked->ahead = false;
	*taken = length;
	return CONTENT_FED;
}

static enum content_fed take_descriptors(
	const struct gnutella_turn *turn, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct gnutella_half *half = gnutella_half_of(turn);

	if (!half->begun) {
		if (!begin_descriptors(half, turn->turn))
			return CONTENT_NO_MEMORY;
		half->begun = true;
		half->length = 0;
		half->begins64 = turn->state->streams[turn->half].at64;
	}
	enum content_fed fed = CONTENT_FED;

	*taken = length;
	if (half->coding)
		fed = take_packed(turn, bytes, length, taken);
	else
		gnutella_descriptors(turn, bytes, length);
	if (half->phase == GNUTELLA_LOST)
		end_half(half, turn->turn->memory);
	return fed;
}

// ---- lines ----

static bool says_giv(const struct gnutella_half *half)
{
	return octets_begin(half->kept, half->length, "GIV ") ||
	       octets_begin(half->kept, half->length, "GIVE ");
}

// What its client has begun with is none of the three.
static bool is_foreign(const struct gnutella_half *half)
{
	static const char *const words[] = {"GNUTELLA ", "GIV ", "GIVE "};
	uint32_t n = half->length;

	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++) {
		uint32_t length = (uint32_t)strlen(words[i]);

		if (!memcmp(half->kept, words[i], n < length ? n : length))
			return false;
	}
	return half->kept[0] != '\r';
}

// Of a line, up to its end; what there is no room for says nothing.
static enum content_fed take_line(
	const struct gnutella_turn *turn, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct gnutella_state *state = turn->state;
	struct gnutella_half *half = gnutella_half_of(turn);
	const uint8_t *end = memchr(bytes, '\n', length);
	uint32_t n = end ? (uint32_t)(end - bytes) : length;

	if (!half->kept)
		half->kept = content_take(turn->turn->memory, GNUTELLA_KEPT);
	if (!half->kept)
		return CONTENT_NO_MEMORY;
	uint32_t room = GNUTELLA_KEPT - half->length, part = n < room ? n : room;

	memcpy(half->kept + half->length, bytes, part);
	half->length += part;
	*taken = n;
	if (turn->half == HALF_C2S && half->phase == GNUTELLA_LINES && !half->lines &&
		half->length && is_foreign(half)) {
		state->halves[0].phase = state->halves[1].phase = GNUTELLA_LOST;
		return CONTENT_OVER;
	}
	if (!end)
		return CONTENT_FED;
	if (turn->half == HALF_C2S && !state->reversed && says_giv(half)) {
		state->reversed = content_take(turn->turn->memory, sizeof(*state->reversed));
		if (!state->reversed)
			return CONTENT_NO_MEMORY;
		memset(state->reversed, 0, sizeof(*state->reversed));
	}
	*taken = n + 1;
	gnutella_line(turn, (struct content_text){half->kept, half->length});
	half->length = 0;
	return CONTENT_FED;
}

// A line of its own, then an empty one; Kazaa's, too. What comes against it, and behind it, is
// HTTP. Behind a gap between the two nobody knows where it begins.
static bool is_reversed(const struct gnutella_state *state, unsigned side)
{
	uint8_t phase = state->halves[side].phase;

	return state->reversed &&
	       (side == HALF_S2C || (phase != GNUTELLA_LINES && phase != GNUTELLA_LOST));
}

static enum content_fed take(void *of, unsigned side, struct content_turn *turn,
	const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct gnutella_state *state = of;
	const struct gnutella_turn here = turn_of(state, side, turn);
	struct gnutella_half *half = &state->halves[side];

	if (is_reversed(state, side)) {
		state->hands_over = true;
		return CONTENT_MORE; // of this reader
	}
	switch (half->phase) {
	case GNUTELLA_LINES:
	case GNUTELLA_CONFIRM: return take_line(&here, bytes, length, taken);
	case GNUTELLA_DESCRIPTORS: return take_descriptors(&here, bytes, length, taken);
	default:
		*taken = length;
		end_half(half, turn->memory);
		return is_over(state) ? CONTENT_OVER : CONTENT_FED;
	}
}

static enum content_fed lose(void *of, unsigned side, struct content_turn *turn, uint64_t length)
{
	struct gnutella_state *state = of;
	const struct gnutella_turn here = turn_of(state, side, turn);
	struct gnutella_half *half = &state->halves[side];

	uint64_t lost = 0;

	if (half->phase == GNUTELLA_DESCRIPTORS && !half->encoded)
		lost = gnutella_descriptors_lose(&here, length);
	if (lost == length)
		return CONTENT_FED;
	if (half->phase != GNUTELLA_LOST)
		turn->sink->note(
			turn->sink->ctx, CONTENT_NOTE_LOST, side, state->streams[side].at64 + lost);
	end_half(half, turn->memory);
	return is_over(state) ? CONTENT_OVER : CONTENT_FED;
}

static const struct content_reader reader = {.take = take, .lose = lose};

// ---- HTTP behind GIV ----

static enum content_fed feed_reversed(
	struct gnutella_state *state, const struct span *span, struct content_turn *turn)
{
	unsigned side = span->half & 1;
	struct gnutella_half *half = &state->halves[side];

	if (!http_reversed_begin(state->reversed, turn->memory))
		return CONTENT_NO_MEMORY;
	if (half->phase != GNUTELLA_HTTP) {
		end_half(half, turn->memory);
		half->phase = GNUTELLA_HTTP;
		state->reversed->from64[side] = span->offset64 + turn->taken;
	}
	return http_reversed_feed(state->reversed, span, turn);
}

// ---- the decoder ----

// Others are of Gnutella2, of a hash table, or packed.
static bool is_descriptor(const struct span *span)
{
	uint32_t length = span_length(span);
	const uint8_t *at = length < GNUTELLA_HEAD ? NULL : span_bytes(span);

	return at && at[17] < 16 && at[18] < 16 && octets_le32(at + 19) <= length - GNUTELLA_HEAD;
}

static void begin_datagram(struct gnutella_state *state, const struct span *span)
{
	struct gnutella_half *half = &state->halves[span->half & 1];
	struct content_stream *stream = &state->streams[span->half & 1];

	*stream = (struct content_stream){.started = true, .at64 = span->offset64};
	half->phase = GNUTELLA_DESCRIPTORS;
	gnutella_descriptors_begin(half);
}

static enum content_fed feed_on(
	struct gnutella_state *state, const struct span *span, struct content_turn *turn)
{
	unsigned side = span->half & 1;
	struct gnutella_half *half = &state->halves[side];

	if (span->flags & SPAN_DATAGRAM && !turn->taken)
		begin_datagram(state, span);
	if (span->flags & SPAN_DATAGRAM && !is_descriptor(span)) {
		turn->taken = span->extent;
		return CONTENT_FED;
	}
	if (!state->streams[side].started && span->flags & SPAN_MIDSTREAM && !state->reversed) {
		half->phase = GNUTELLA_DESCRIPTORS; // app/classify has seen that one begins there
	}
	if (is_reversed(state, side))
		return feed_reversed(state, span, turn);
	enum content_fed fed = content_stream_feed(state->streams, &reader, state, span, turn);

	if (!state->hands_over)
		return fed;
	state->hands_over = false;
	return feed_reversed(state, span, turn);
}

static void end_all(struct gnutella_state *state, struct content_turn *turn)
{
	for (unsigned side = 0; side < 2; side++)
		end_half(&state->halves[side], turn->memory);
	if (state->reversed)
		http_reversed_over(state->reversed, turn);
	content_give(turn->memory, state->reversed);
	state->reversed = NULL;
	state->over = true;
}

static enum content_fed feed(void *of, const struct span *span, struct content_turn *turn)
{
	struct gnutella_state *state = of;
	enum content_fed fed = state->over ? CONTENT_OVER : feed_on(state, span, turn);

	if (fed == CONTENT_OVER) {
		end_all(state, turn);
		turn->taken = span->extent;
	}
	return fed;
}

static void over(void *of, struct content_turn *turn)
{
	end_all(of, turn);
}

const struct content_decoder content_gnutella = {
	.app = "gnutella",
	.rides_http = true,
	.state_bytes = sizeof(struct gnutella_state),
	.words = 1u << HALF_S2C,
	.finds = CONTENT_FINDS_FILES | CONTENT_FINDS_IDS,
	.feed = feed,
	.over = over,
};

const struct content_decoder content_fasttrack = {
	.app = "fasttrack",
	.rides_http = true,
	.state_bytes = sizeof(struct gnutella_state),
	.words = 1u << HALF_S2C,
	.finds = CONTENT_FINDS_FILES | CONTENT_FINDS_IDS,
	.feed = feed,
	.over = over,
};
