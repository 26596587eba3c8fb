// SPDX-License-Identifier: BSD-3-Clause
// The decoder of Direct Connect: takes each half apart into lines, and files between them.
//
// A line ends at '|' (NMDC) or LF (ADC): the first byte of a connection says which. Of one that was
// joined, or has lost its beginning, it is the byte behind the first end of either.
#include <assert.h>

#include "content/decoders.h"
#include "content/directconnect/session.h"
#include "content/http/text.h"
#include "content/memory.h"

#define ENTITY_BYTES 5 // of the longest one, without its end

static_assert(sizeof(struct dc_state) <= 1024, "a connection that is idle costs little");

static void drop_line(struct dc_half *half, struct content_memory *memory)
{
	content_give(memory, half->line);
	half->line = NULL;
	half->length = half->told = 0;
}

static bool is_adc_kind(uint8_t byte)
{
	return byte && strchr("BCDEFHIU", byte);
}

// `byte` begins the connection, or stands behind empty lines.
static void find_dialect(struct dc_state *state, uint8_t byte)
{
	if (state->dialect == DC_UNKNOWN && !state->has_gap && byte != '|' && byte != '\n')
		state->dialect = is_adc_kind(byte) ? DC_ADC : DC_NMDC;
}

// A whole line, whose beginning is known, and the byte behind it.
static void find_dialect_by_line(struct dc_state *state, struct content_text line, uint8_t end)
{
	bool nmdc = line.bytes[0] == '$' || line.bytes[0] == '<';
	bool adc = is_adc_kind(line.bytes[0]) && line.length >= 4 &&
		   (line.length == 4 || line.bytes[4] == ' ');

	for (unsigned i = 1; adc && i < 4; i++)
		adc = octets_upper(line.bytes[i]) || octets_digit(line.bytes[i]);
	if (nmdc && end == '|')
		state->dialect = DC_NMDC;
	else if (adc && end == '\n')
		state->dialect = DC_ADC;
}

static bool is_end(const struct dc_state *state, uint8_t byte)
{
	return (byte == '|' && state->dialect != DC_ADC) ||
	       (byte == '\n' && state->dialect != DC_NMDC);
}

static uint32_t until_end(const struct dc_state *state, const uint8_t *bytes, uint32_t length)
{
	const uint8_t *end;
	uint32_t n = 0;

	if (state->dialect == DC_UNKNOWN) {
		while (n < length && !is_end(state, bytes[n]))
			n++;
		return n;
	}
	end = memchr(bytes, state->dialect == DC_ADC ? '\n' : '|', length);
	return end ? (uint32_t)(end - bytes) : length;
}

// ---- messages ----

static struct content_text at_most(struct content_text text)
{
	if (text.length > CONTENT_PARTY_BYTES)
		text.length = CONTENT_PARTY_BYTES;
	return text;
}

// What a line that goes on may end with: a part of an escape, or of an entity.
static uint32_t without_escape(struct content_text text, bool escaped)
{
	uint32_t n = 0;

	if (!escaped) {
		for (uint32_t i = 1; i <= ENTITY_BYTES && i <= text.length; i++)
			if (text.bytes[text.length - i] == '&')
				return text.length - i;
		return text.length;
	}
	while (n < text.length)
		n += text.bytes[n] == '\\' ? 2 : 1;
	return n > text.length ? text.length - 1 : n;
}

void dc_message(const struct dc_line *line, struct content_text from, struct content_text to,
	struct content_text text, bool escaped, uint8_t blank)
{
	const struct content_sink *sink = line->turn->sink;
	struct dc_half *half = &line->state->halves[line->half];
	bool goes_on = line->stage == DC_GOES_ON;
	uint32_t end = goes_on ? without_escape(text, escaped) : text.length, n;
	uint8_t bytes[DC_LINE_BYTES];

	if (end < half->told) // an end that was a part of it, now that more is here
		end = half->told;
	struct content_text part = {text.bytes + half->told, end - half->told};
	uint64_t begins64 = line->begins64 + (uint64_t)(part.bytes - line->text.bytes);

	if (!part.length && (goes_on || !half->open))
		return;
	n = escaped ? dc_unescape(part, bytes) : dc_undo_entities(part, bytes);
	const struct content_message message = {
		.half = (uint8_t)line->half,
		.goes_on = goes_on,
		.continued = half->open,
		// a blank in the place of a part of it would end the line there
		.verbatim = !escaped && n == part.length,
		.blank = blank,
		.from = at_most(from),
		.to = at_most(to),
		.text = {bytes, n},
		.begins64 = begins64,
		.ends64 = begins64 + part.length,
		.unit64 = line->begins64,
		.unit_ends64 = line->begins64 + line->text.length,
	};

	half->open = goes_on;
	half->told = end;
	sink->message(sink->ctx, &message);
}

// ---- lines ----

// Whether what is too long would have been looked at.
static bool is_of_use(struct content_text line)
{
	static const char *const words[] = {"$To:", "$MCTo:", "$SR ", "$ADC", "$Get ", "$UGet"};

	if (!line.length || line.bytes[0] != '$')
		return true;
	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (octets_begin(line.bytes, line.length, words[i]))
			return true;
	return false;
}

static enum content_fed take_line(struct dc_state *state, unsigned side, struct content_turn *turn,
	struct content_text text, uint8_t end, uint64_t next64)
{
	const struct dc_line line = {.state = state,
		.turn = turn,
		.text = text,
		.begins64 = state->halves[side].line64,
		.next64 = next64,
		.half = side};

	if (!text.length)
		return CONTENT_FED;
	if (state->dialect == DC_UNKNOWN)
		find_dialect_by_line(state, text, end);
	switch (state->dialect) {
	case DC_ADC: return dc_adc_line(&line);
	case DC_NMDC: return dc_nmdc_line(&line);
	default: return CONTENT_FED;
	}
}

// As much of the line as there is room for. False: no memory.
static bool keep(struct dc_half *half, struct content_turn *turn, const uint8_t *bytes, uint32_t n)
{
	if (!half->line)
		half->line = content_take(turn->memory, DC_LINE_BYTES);
	if (!half->line)
		return false;
	memcpy(half->line + half->length, bytes, n);
	half->length += n;
	return true;
}

// Of a line that is not whole.
static void take_beginning(
	struct dc_state *state, unsigned side, struct content_turn *turn, enum dc_stage stage)
{
	struct dc_half *half = &state->halves[side];
	const struct dc_line line = {.state = state,
		.turn = turn,
		.text = {half->line, half->length},
		.begins64 = half->line64,
		.half = side,
		.stage = (uint8_t)stage};

	if (half->skip || !half->length)
		return;
	if (state->dialect == DC_NMDC)
		dc_nmdc_begins(&line);
	else if (state->dialect == DC_ADC)
		dc_adc_begins(&line);
}

// The line at hand has no end: what was told of it has one.
static void break_line(struct dc_state *state, unsigned side, struct content_turn *turn)
{
	if (state->halves[side].open)
		take_beginning(state, side, turn, DC_BROKEN);
	drop_line(&state->halves[side], turn->memory);
}

// Of a line that is too long as much is told as there is room for.
static bool leave_line(
	struct dc_state *state, unsigned side, struct content_turn *turn, struct content_text part)
{
	struct dc_half *half = &state->halves[side];

	if (!keep(half, turn, part.bytes, DC_LINE_BYTES - half->length))
		return false;
	take_beginning(state, side, turn, DC_GOES_ON);
	if (state->dialect == DC_ADC || is_of_use((struct content_text){half->line, half->length}))
		turn->sink->note(turn->sink->ctx, CONTENT_NOTE_HEAD_TOO_LONG, side, half->line64);
	break_line(state, side, turn);
	half->skip = true;
	return true;
}

static void begin_line(struct dc_half *half, struct content_turn *turn)
{
	drop_line(half, turn->memory);
	half->skip = half->has_gap = false;
}

// `n` bytes more of the line. False: no memory.
static bool take_part(struct dc_state *state, unsigned side, struct content_turn *turn,
	struct content_text part, bool ended)
{
	struct dc_half *half = &state->halves[side];
	bool too_long = part.length > DC_LINE_BYTES - half->length;

	if (half->skip || (ended && !half->length && !too_long))
		return true;
	if (too_long)
		return leave_line(state, side, turn, part);
	return !part.length || keep(half, turn, part.bytes, part.length);
}

// Up to the line's end, or all that is here.
static enum content_fed read_line(struct dc_state *state, unsigned side, struct content_turn *turn,
	const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct dc_half *half = &state->halves[side];
	uint64_t at64 = state->streams[side].at64;
	enum content_fed fed = CONTENT_FED;

	if (!half->length && !half->skip) {
		half->line64 = at64;
		find_dialect(state, bytes[0]);
	}
	struct content_text line = {bytes, until_end(state, bytes, length)};
	uint32_t n = line.length;

	if (!take_part(state, side, turn, line, n < length))
		return CONTENT_NO_MEMORY;
	*taken = n;
	if (n == length) {
		take_beginning(state, side, turn, DC_GOES_ON);
		return CONTENT_FED;
	}
	if (half->length)
		line = (struct content_text){half->line, half->length};
	if (!half->skip)
		fed = take_line(state, side, turn, line, bytes[n], at64 + n + 1);
	if (fed != CONTENT_FED) {
		if (!half->length) // nobody has kept it
			*taken = 0;
		return fed;
	}
	*taken = n + 1;
	break_line(state, side, turn);
	begin_line(half, turn);
	return CONTENT_FED;
}

static bool is_over(const struct dc_state *state)
{
	return state->halves[0].mode == DC_LOST && state->halves[1].mode == DC_LOST;
}

static enum content_fed take(void *of, unsigned side, struct content_turn *turn,
	const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct dc_state *state = of;
	struct dc_half *half = &state->halves[side];

	if (half->mode == DC_BYTES || half->mode == DC_PACKED)
		return dc_file_put(state, side, turn, bytes, length, taken);
	if (half->mode == DC_LOST) {
		*taken = length;
		return is_over(state) ? CONTENT_OVER : CONTENT_FED;
	}
	if (half->mode == DC_AWAITS) // it has changed its mind
		half->mode = DC_LINES;
	return read_line(state, side, turn, bytes, length, taken);
}

static enum content_fed lose(void *of, unsigned side, struct content_turn *turn, uint64_t length)
{
	struct dc_state *state = of;
	struct dc_half *half = &state->halves[side];
	uint64_t lost = 0;

	if (half->mode == DC_BYTES || half->mode == DC_PACKED)
		lost = dc_file_lose(state, side, turn, length);
	length -= lost;
	if (!length || half->mode == DC_LOST)
		return CONTENT_FED;
	// a file may have begun there
	if (state->halves[!side].role == DC_ROLE_CLIENT && !half->has_gap)
		turn->sink->note(
			turn->sink->ctx, CONTENT_NOTE_LOST, side, state->streams[side].at64 + lost);
	break_line(state, side, turn);
	begin_line(half, turn);
	half->mode = DC_LINES;
	half->skip = half->has_gap = state->has_gap = true;
	return CONTENT_FED;
}

static enum content_fed fin(void *of, unsigned side, struct content_turn *turn)
{
	struct dc_state *state = of;

	break_line(state, side, turn);
	dc_file_end(state, side, turn, CONTENT_END_TRUNCATED, state->streams[side].at64);
	state->halves[side].mode = DC_LOST;
	return is_over(state) ? CONTENT_OVER : CONTENT_FED;
}

static const struct content_reader reader = {.take = take, .lose = lose, .fin = fin};

// A datagram is a line of its own; of which dialect, it says itself.
static void begin_datagram(struct dc_state *state, unsigned side, struct content_turn *turn)
{
	// what is open in the other half ends by its own dialect
	for (unsigned half = 0; half < 2; half++) {
		break_line(state, half, turn);
		begin_line(&state->halves[half], turn);
	}
	state->halves[side].mode = DC_LINES;
	state->dialect = DC_UNKNOWN;
	// searches and their results, but no transfers
	state->halves[0].role = state->halves[1].role = DC_ROLE_HUB;
}

// The first byte of the half is not the connection's: of its line nothing is known.
static void begin_joined(struct dc_state *state, unsigned side)
{
	state->halves[side].skip = state->halves[side].has_gap = state->has_gap = true;
}

// All is given back.
static void end_all(struct dc_state *state, struct content_turn *turn)
{
	for (unsigned side = 0; side < 2; side++) {
		break_line(state, side, turn);
		dc_wish_drop(&state->halves[side], turn->memory);
		dc_file_end(state, side, turn, CONTENT_END_TRUNCATED, state->streams[side].at64);
	}
	content_give(turn->memory, state->nicks);
	state->nicks = NULL;
	state->over = true;
}

static enum content_fed feed_on(
	struct dc_state *state, const struct span *span, struct content_turn *turn)
{
	unsigned side = span->half & 1;
	struct dc_half *half = &state->halves[side];

	if (span->flags & SPAN_DATAGRAM && !turn->taken)
		begin_datagram(state, side, turn);
	else if (!state->streams[side].started && span->flags & SPAN_MIDSTREAM)
		begin_joined(state, side);
	if (half->mode == DC_PACKED && half->file.waits) {
		uint32_t none = 0;
		enum content_fed fed = dc_file_put(state, side, turn, span_nothing(), 0, &none);

		if (fed != CONTENT_FED)
			return fed;
	}
	return content_stream_feed(state->streams, &reader, state, span, turn);
}

static enum content_fed feed(void *of, const struct span *span, struct content_turn *turn)
{
	struct dc_state *state = of;
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

const struct content_decoder content_directconnect = {
	.app = "directconnect",
	.state_bytes = sizeof(struct dc_state),
	.finds =
		CONTENT_FINDS_FILES | CONTENT_FINDS_CHAT | CONTENT_FINDS_IDS | CONTENT_FINDS_OPAQUE,
	.feed = feed,
	.over = over,
};
