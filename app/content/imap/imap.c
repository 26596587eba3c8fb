// SPDX-License-Identifier: BSD-3-Clause
// The decoder of IMAP: each half is decompressed (RFC 4978), and taken apart into lines and
// literals. Mails go straight on.
#include <assert.h>

#include "content/decoders.h"
#include "content/imap/session.h"
#include "content/memory.h"
#include "pipeline/vocab/octets.h"

#define TLS        0x16       // a handshake record
#define BOMB_RATIO 200u       // what decodes to more
#define BOMB_FROM  (4u << 20) // ... and to so much

static_assert(sizeof(struct imap_state) <= 2048, "a connection that is idle costs little");

static struct mime_about about_of(struct imap_state *state, unsigned side)
{
	const struct imap_half *half = &state->halves[side];
	struct mime_about about = {.half = (uint8_t)side,
		.coded = half->coded,
		.headless = half->how.headless,
		.files = &state->files};

	if (side == HALF_S2C)
		about.to = (struct content_text){state->user, state->user_length};
	return about;
}

void imap_note(struct imap_input *in, enum content_note note)
{
	const struct content_sink *sink = in->turn->sink;

	if (!(in->state->noted & CONTENT_NOTE_BIT(note)))
		sink->note(sink->ctx, note, in->side, imap_at(in));
	in->state->noted |= CONTENT_NOTE_BIT(note);
}

static void end_all(struct imap_state *state, struct content_turn *turn)
{
	for (unsigned side = 0; side < 2; side++) {
		struct imap_half *half = &state->halves[side];
		const struct mime_about about = about_of(state, side);

		content_mail_close(&half->mail, turn, &about);
		coding_close(half->coding);
		content_give(turn->memory, half->piece);
		half->coding = NULL;
		half->piece = NULL;
	}
	content_give(turn->memory, state->head);
	content_give(turn->memory, state->made);
	content_give(turn->memory, state->structures.bytes);
	state->head = state->made = NULL;
	state->structures = (struct imap_structures){0};
	state->over = true;
}

static enum content_fed refuse(struct imap_input *in, enum content_note note, uint64_t at64)
{
	struct imap_input at = {
		.state = in->state, .turn = in->turn, .at64 = at64, .side = in->side};

	imap_note(&at, note);
	end_all(in->state, in->turn);
	return CONTENT_OVER;
}

void imap_begin_mail(struct imap_input *in, struct imap_mail how)
{
	struct imap_half *half = &in->state->halves[in->side];

	if (half->mail.mime)
		content_mail_end(&half->mail, half->mail.ends64, false);
	half->opens = true;
	half->next = how;
}

void imap_forget(struct imap_state *state)
{
	state->kept.number = state->open.number = 0;
	state->structures.length = 0;
	state->structures.comes = false;
}

// ---- lines ----

static void take_digit(struct imap_line *line, uint8_t byte)
{
	line->brace = IMAP_DIGITS;
	if (line->size > INT64_MAX / 10) // nobody reads so much
		line->size = INT64_MAX;
	line->size = line->size * 10 + (uint64_t)(byte - '0');
}

// Whether a literal is announced so far.
static void take_brace(struct imap_line *line, uint8_t byte)
{
	bool in_digits = line->brace == IMAP_DIGITS;

	if ((in_digits || line->brace == IMAP_BRACE) && octets_digit(byte)) {
		take_digit(line, byte);
	} else if (in_digits && (byte == '+' || byte == '-')) {
		line->brace = IMAP_PLUS;
		line->synchronizing = false;
	} else if ((in_digits || line->brace == IMAP_PLUS) && byte == '}') {
		line->brace = IMAP_BRACE_ENDS;
	} else if (line->brace != IMAP_BRACE_ENDS || byte != '\r') {
		line->brace = byte == '{' && !line->in_quotes ? IMAP_BRACE : IMAP_NO_BRACE;
		line->size = 0;
		line->synchronizing = true;
	}
}

static void end_word(struct imap_input *in, struct imap_line *line, bool ended)
{
	if (in->side == HALF_C2S)
		imap_take_command(in, ended);
	else
		imap_take_answer(in, ended);
	if (line->words < UINT8_MAX)
		line->words++;
	line->n_word = 0;
}

// A literal begins with the next line. In text for people some read one, others do not.
static void begin_literal(struct imap_input *in, struct imap_line *line)
{
	struct imap_half *half = &in->state->halves[in->side];

	if (line->size > INT64_MAX / 2) {
		imap_note(in, CONTENT_NOTE_BAD_LENGTH);
		in->stops = true;
		return;
	}
	line->n_word = 0;
	line->in_literal = true;
	line->literal = line->size;
	half->value = (uint8_t)(in->side == HALF_C2S ? imap_command_literal(in)
						     : imap_response_literal(in, line->size));
}

static void take_lf(struct imap_input *in, struct imap_line *line)
{
	bool literal = line->brace == IMAP_BRACE_ENDS;

	line->in_quotes = line->escaped = false;
	line->brace = IMAP_NO_BRACE;
	if (literal && in->side == HALF_S2C && in->state->response == IMAP_STATUS) {
		imap_note(in, CONTENT_NOTE_BAD_LINE);
		literal = false;
	}
	if (literal) {
		begin_literal(in, line);
		return;
	}
	end_word(in, line, true);
	line->words = 0;
}

static void take_byte(struct imap_input *in, struct imap_line *line, uint8_t byte)
{
	struct imap_half *half = &in->state->halves[in->side];
	bool escaped = line->escaped;

	if (byte == '\n') {
		take_lf(in, line);
		return;
	}
	take_brace(line, byte);
	if (in->side == HALF_S2C && imap_take_response(in, byte)) {
		half->value = (uint8_t)imap_response_literal(in, CONTENT_SIZE_UNKNOWN);
		line->in_value = half->value != IMAP_VALUE_SKIP;
		if (line->in_value)
			return;
	}
	line->escaped = false;
	if (line->in_quotes && !escaped && byte == '\\')
		line->escaped = true;
	else if (byte == '"' && !escaped)
		line->in_quotes = !line->in_quotes;
	else if (byte == ' ' && !line->in_quotes)
		end_word(in, line, false);
	else if (byte != '\r' && line->n_word < IMAP_WORD_BYTES)
		line->word[line->n_word++] = byte;
}

// ---- values ----

// Where the next byte of the mail stands; of one whose bytes do not stand in the half, it itself.
static uint64_t mail_at(const struct imap_input *in, const struct imap_half *half)
{
	return half->coded ? half->mail64 : imap_at(in);
}

static enum content_fed keep_head(struct imap_input *in, const uint8_t *bytes, uint32_t n)
{
	struct imap_state *state = in->state;
	uint32_t room = IMAP_HEAD_BYTES - state->head_length;

	if (!state->head)
		state->head = content_take(in->turn->memory, IMAP_HEAD_BYTES);
	if (!state->head)
		return CONTENT_NO_MEMORY;
	if (n > room) {
		state->head_whole = false;
		n = room;
	}
	memcpy(state->head + state->head_length, bytes, n);
	state->head_length += n;
	return CONTENT_FED;
}

// `n` bytes of a value; *taken: how many are done with.
static enum content_fed take_value(
	struct imap_input *in, const uint8_t *bytes, uint32_t n, uint32_t *taken)
{
	struct imap_half *half = &in->state->halves[in->side];
	const struct mime_about about = about_of(in->state, in->side);
	enum content_fed fed = CONTENT_FED;

	if (half->value == IMAP_VALUE_MAIL && half->mail.mime)
		return content_mail_put(
			&half->mail, in->turn, &about, mail_at(in, half), bytes, n, taken);
	if (half->value == IMAP_VALUE_HEAD)
		fed = keep_head(in, bytes, n);
	if (half->value == IMAP_VALUE_STRUCTURE && in->state->structures.comes)
		imap_structure_add(&in->state->structures, bytes, n);
	if (fed == CONTENT_FED)
		*taken = n;
	return fed;
}

static enum content_fed take_literal(struct imap_input *in, struct imap_line *line)
{
	uint32_t here = in->length - in->taken, n = 0;
	enum content_fed fed;

	if (here > line->literal)
		here = (uint32_t)line->literal;
	fed = take_value(in, in->bytes + in->taken, here, &n);
	in->taken += n;
	line->literal -= n;
	return fed;
}

static void end_value(struct imap_input *in)
{
	struct imap_half *half = &in->state->halves[in->side];
	bool mail = half->value == IMAP_VALUE_MAIL;

	if (in->side == HALF_S2C)
		imap_response_literal_over(in);
	if (mail && (in->side == HALF_C2S || in->state->fetch.ends))
		content_mail_end(&half->mail, half->mail.ends64, true);
	half->value = IMAP_VALUE_SKIP;
}

// A quoted string that is read as a literal would be.
static enum content_fed take_quoted(struct imap_input *in, struct imap_line *line)
{
	uint8_t byte = in->bytes[in->taken];
	enum content_fed fed = CONTENT_FED;
	uint32_t n = 0;

	if (!line->escaped && (byte == '"' || byte == '\n')) {
		line->in_value = false;
		end_value(in);
		in->taken += byte == '"';
		return CONTENT_FED;
	}
	if (!line->escaped && byte == '\\')
		n = 1;
	else
		fed = take_value(in, in->bytes + in->taken, 1, &n);
	in->taken += n;
	if (n)
		line->escaped = !line->escaped && byte == '\\';
	return fed;
}

// ---- what is owed before the next byte ----

// The head of a part, as the structure of its message says it. False: no memory.
static bool make_head(struct imap_input *in, struct imap_mail *how)
{
	struct imap_state *state = in->state;
	struct content_text path = {state->open.bytes, state->open.length};

	if (!state->made)
		state->made = content_take(in->turn->memory, IMAP_MADE_BYTES);
	if (!state->made)
		return false;
	how->prefix.bytes = state->made;
	how->prefix.length =
		imap_structure_head(&state->structures, state->open.number, path, state->made);
	return true;
}

static enum content_fed settle_mail(struct imap_input *in)
{
	struct imap_half *half = &in->state->halves[in->side];
	struct mime_about about = about_of(in->state, in->side);
	enum content_fed fed = content_mail_settle(&half->mail, in->turn, &about);
	uint32_t left = half->how.prefix.length - half->prefix_at, n = 0;

	if (fed != CONTENT_FED)
		return fed;
	if (half->opens) {
		if (half->next.made && !make_head(in, &half->next))
			return CONTENT_NO_MEMORY;
		half->how = half->next;
		half->coded = in->coded || half->how.prefix.length || half->how.quoted;
		about = about_of(in->state, in->side);
		if (!content_mail_open(&half->mail, in->turn, &about))
			return CONTENT_NO_MEMORY;
		half->mail64 = half->mail.ends64 = imap_at(in);
		half->opens = false;
		half->prefix_at = 0;
		left = half->how.prefix.length;
	}
	if (!half->mail.mime || !left)
		return CONTENT_FED;
	fed = content_mail_put(&half->mail, in->turn, &about, mail_at(in, half),
		half->how.prefix.bytes + half->prefix_at, left, &n);
	half->prefix_at += n;
	return fed;
}

static enum content_fed settle(struct imap_input *in)
{
	struct imap_line *line = &in->state->halves[in->side].line;
	struct imap_structures *structures = &in->state->structures;
	enum content_fed fed = settle_mail(in);

	if (in->state->fetch.structure && !structures->bytes) {
		structures->bytes = content_take(in->turn->memory, IMAP_STRUCTURES_BYTES);
		if (!structures->bytes)
			return CONTENT_NO_MEMORY;
	}
	if (fed != CONTENT_FED || !line->in_literal || line->literal)
		return fed;
	line->in_literal = false;
	end_value(in);
	return settle_mail(in);
}

static enum content_fed take_plain(struct imap_input *in)
{
	struct imap_half *half = &in->state->halves[in->side];
	enum content_fed fed = settle(in);

	while (fed == CONTENT_FED && in->taken < in->length && !in->stops && !half->compresses) {
		if (half->line.in_literal) {
			fed = take_literal(in, &half->line);
		} else if (half->line.in_value) {
			fed = take_quoted(in, &half->line);
		} else {
			in->taken++;
			take_byte(in, &half->line, in->bytes[in->taken - 1]);
		}
		if (fed == CONTENT_FED)
			fed = settle(in);
	}
	if (!in->stops)
		return fed;
	end_all(in->state, in->turn);
	return CONTENT_OVER;
}

// ---- compression ----

static bool open_coding(struct imap_input *in, struct imap_half *half)
{
	if (!half->piece)
		half->piece = content_take(in->turn->memory, IMAP_PIECE_BYTES);
	if (half->piece && !half->coding) {
		half->coding = coding_open(in->turn->memory, CODING_DEFLATE);
		half->coding64 = imap_at(in);
	}
	half->compresses = half->compresses && !half->coding;
	return half->coding;
}

static enum content_fed take_piece(struct imap_input *in)
{
	struct imap_half *half = &in->state->halves[in->side];
	struct imap_input piece = *in;
	enum content_fed fed;

	piece.bytes = half->piece + half->piece_at;
	piece.length = half->piece_n - half->piece_at;
	piece.taken = 0;
	piece.at64 = half->coding64;
	piece.coded = true;
	fed = take_plain(&piece);
	half->piece_at += piece.taken;
	return fed;
}

// In steps, so that what is too much does not depend on how it was cut.
static enum content_fed inflate_some(struct imap_input *in)
{
	struct imap_half *half = &in->state->halves[in->side];
	uint32_t n = in->length - in->taken;
	uint32_t room = IMAP_PIECE_BYTES - (uint32_t)(half->out % IMAP_PIECE_BYTES);
	enum coding_state told =
		coding_feed(half->coding, in->bytes + in->taken, &n, half->piece, &room, false);

	in->taken += n;
	half->in += n;
	half->out += room;
	half->piece_at = 0;
	half->piece_n = room;
	if (half->out > BOMB_FROM && !(half->out % IMAP_PIECE_BYTES) &&
		half->out / BOMB_RATIO > half->in)
		return refuse(in, CONTENT_NOTE_BOMB, half->coding64);
	half->broken = told == CODING_BROKEN || (told == CODING_END && in->taken < in->length);
	return CONTENT_FED;
}

// What was decoded and not read, then what is coded; what fills its room may have more behind it.
static enum content_fed take_coded(struct imap_input *in)
{
	struct imap_half *half = &in->state->halves[in->side];
	enum content_fed fed = CONTENT_FED;
	bool full;

	if (!open_coding(in, half))
		return CONTENT_NO_MEMORY;
	do {
		fed = take_piece(in);
		if (fed != CONTENT_FED)
			return fed;
		full = half->piece_n && !(half->out % IMAP_PIECE_BYTES);
		half->piece_at = half->piece_n = 0;
		if (half->broken)
			return refuse(in, CONTENT_NOTE_CODING_LIES, half->coding64);
		if (in->taken < in->length || full)
			fed = inflate_some(in);
	} while (fed == CONTENT_FED && (half->piece_n || half->broken || in->taken < in->length));
	return fed;
}

// ---- the decoder ----

static struct imap_input input_of(
	struct imap_state *state, unsigned side, struct content_turn *turn)
{
	return (struct imap_input){.state = state,
		.turn = turn,
		.at64 = state->streams[side].at64,
		.side = (uint8_t)side};
}

static enum content_fed take_any(struct imap_input *in)
{
	const struct imap_half *half = &in->state->halves[in->side];
	enum content_fed fed = CONTENT_FED;

	if (!half->coding && !half->compresses)
		fed = take_plain(in);
	if (fed == CONTENT_FED && (half->coding || half->compresses))
		fed = take_coded(in);
	if (fed == CONTENT_FED && half->lost)
		fed = refuse(in, CONTENT_NOTE_LOST, half->lost64);
	return fed;
}

static enum content_fed take(void *of, unsigned side, struct content_turn *turn,
	const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct imap_input in = input_of(of, side, turn);
	enum content_fed fed;

	in.bytes = bytes;
	in.length = length;
	if (!in.at64 && bytes[0] == TLS) {
		end_all(in.state, turn);
		return CONTENT_OVER;
	}
	fed = take_any(&in);
	*taken += in.taken;
	return fed;
}

// Bytes of a literal may be lost.
static enum content_fed lose(void *of, unsigned side, struct content_turn *turn, uint64_t length)
{
	struct imap_state *state = of;
	struct imap_half *half = &state->halves[side];
	struct imap_input in = input_of(state, side, turn);
	const struct mime_about about = about_of(state, side);
	bool plain = !half->coding && !half->compresses && half->line.in_literal;
	uint64_t n = plain ? half->line.literal : 0;

	if (n > length)
		n = length;
	if (n) {
		content_mail_lose(&half->mail, turn, &about, in.at64);
		half->mail.ends64 = in.at64 + n;
		half->line.literal -= n;
		state->head_whole &= half->value != IMAP_VALUE_HEAD;
	}
	in.at64 += n;
	half->lost = n < length;
	half->lost64 = in.at64;
	return take_any(&in);
}

static enum content_fed feed(void *of, const struct span *span, struct content_turn *turn)
{
	static const struct content_reader reader = {.take = take, .lose = lose};
	struct imap_state *state = of;
	unsigned side = span->half & 1;
	struct imap_input in = input_of(state, side, turn);
	enum content_fed fed = state->over ? CONTENT_OVER : take_any(&in); // what was left over

	if (fed == CONTENT_FED)
		fed = content_stream_feed(state->streams, &reader, state, span, turn);
	else if (fed == CONTENT_OVER)
		turn->taken = span->extent;
	for (side = 0; side < 2; side++) {
		const struct mime_about about = about_of(state, side);

		content_mail_flush(&state->halves[side].mail, turn, &about);
	}
	return fed;
}

static void over(void *of, struct content_turn *turn)
{
	end_all(of, turn);
}

const struct content_decoder content_imap = {
	.app = "imap",
	.state_bytes = sizeof(struct imap_state),
	.finds = CONTENT_FINDS_FILES | CONTENT_FINDS_CHAT | CONTENT_FINDS_OPAQUE,
	.feed = feed,
	.over = over,
};
