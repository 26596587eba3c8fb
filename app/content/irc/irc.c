// SPDX-License-Identifier: BSD-3-Clause
// The decoder of IRC, and of what it announces: takes each half apart into lines, over gaps; a file
// over DCC is as it is (dcc_file.c).
//
// A line ends where any host lets it end: at LF, CR LF, or CR alone (RFC 2812 asks for CR LF;
// ngircd and others take each of them, others read a CR alone as a blank or leave it out:
// `bare_cr`). What has no end when the stream ends is a line, as clients show it.
#include <assert.h>

#include "content/decoders.h"
#include "content/http/text.h"
#include "content/irc/session.h"
#include "content/memory.h"

#define TLS_0 0x16 // a handshake record's type, and its version's first octet
#define TLS_1 0x03

struct irc_half {
	uint8_t *line;    // as much as is here of a line that goes on; NULL: nothing
	uint64_t at64;    // of the next byte
	uint64_t begin64; // of the line
	uint64_t line64;  // ... behind its tags
	struct irc_told told;
	uint16_t length; // of `line`
	uint16_t tags;   // bytes of them so far
	bool started;
	bool in_tags;
	bool skip;     // up to the end of a line that is too long, or has a gap
	bool after_cr; // a line has ended at a CR: LF would belong to it
	bool tls;      // a line has begun as TLS does, and the other end has not said otherwise
};

enum irc_mode {
	IRC_NEW,
	IRC_TALK,
	IRC_CHAT, // DCC CHAT
	IRC_FILE, // DCC SEND
};

struct irc_talk {
	struct irc_session session;
	struct irc_half halves[2];
};

struct irc_state {
	uint8_t mode; // enum irc_mode
	bool tls;     // what was announced is inside
	bool over;
	union {
		struct irc_talk talk;
		struct dcc_file file;
	};
};
static_assert(sizeof(struct irc_state) <= 2048, "a connection that is idle costs little");

enum irc_step {
	IRC_ON,
	IRC_NO_MEMORY,
	IRC_OPAQUE,
};

static void drop_line(struct irc_half *half, struct content_turn *turn)
{
	content_give(turn->memory, half->line);
	half->line = NULL;
	half->length = half->tags = 0;
	half->in_tags = false;
	half->told = (struct irc_told){0};
}

static void begin_line(struct irc_half *half, struct content_turn *turn)
{
	drop_line(half, turn);
	half->skip = false;
	half->begin64 = half->line64 = half->at64;
}

static void end_all(struct irc_state *state, struct content_turn *turn)
{
	drop_line(&state->talk.halves[HALF_C2S], turn);
	drop_line(&state->talk.halves[HALF_S2C], turn);
	state->over = true;
}

static struct irc_turn turn_of(struct irc_state *state, unsigned side,
	const struct content_turn *turn, struct content_text bytes, bool whole)
{
	const struct irc_half *half = &state->talk.halves[side];

	return (struct irc_turn){.session = &state->talk.session,
		.turn = turn,
		.begin64 = half->begin64,
		.line64 = half->line64,
		.bytes = bytes,
		.half = (uint8_t)side,
		.chat = state->mode == IRC_CHAT,
		.whole = whole};
}

static void note(struct irc_state *state, unsigned side, const struct content_turn *turn,
	enum content_note what)
{
	const struct irc_turn to = turn_of(state, side, turn, (struct content_text){NULL, 0}, true);

	if (!state->talk.halves[side].tls) // TLS has all of it
		irc_note(&to, what);
}

static struct content_text kept(const struct irc_half *half)
{
	return (struct content_text){half->line, half->length};
}

// A line that has ended, without its end.
static enum irc_step take_line(struct irc_state *state, unsigned side,
	const struct content_turn *turn, struct content_text bytes)
{
	const struct irc_turn to = turn_of(state, side, turn, bytes, true);

	if (!state->talk.halves[side].tls) // it does not answer TLS
		state->talk.halves[!side].tls = false;
	irc_tell(&to, &state->talk.halves[side].told);
	return irc_take_line(&to) ? IRC_ON : IRC_OPAQUE;
}

// What was told of a line has an end, though the line is not followed to its own.
static void leave_line(struct irc_state *state, unsigned side, struct content_turn *turn,
	struct content_text bytes)
{
	struct irc_half *half = &state->talk.halves[side];
	const struct irc_turn to = turn_of(state, side, turn, bytes, true);

	irc_tell(&to, &half->told);
	drop_line(half, turn);
	half->skip = true;
}

static bool is_fresh(const struct irc_half *half)
{
	return half->at64 == half->begin64 && !half->skip;
}

// Whether its second byte is the one that comes first here, or both are here.
static bool begins_tls(const struct irc_half *half, const uint8_t *bytes, uint32_t left)
{
	if (half->length == 1 && half->line64 == half->begin64 && !half->skip)
		return half->line[0] == TLS_0 && bytes[0] == TLS_1;
	return is_fresh(half) && left > 1 && bytes[0] == TLS_0 && bytes[1] == TLS_1;
}

// One end alone may write what looks like TLS to a server that ignores it: until the other does,
// too, lines are read on.
static bool take_tls(struct irc_state *state, unsigned side, const struct content_turn *turn)
{
	struct irc_half *half = &state->talk.halves[side];
	bool answers = state->talk.halves[!side].tls;

	if (!half->tls && !answers)
		turn->sink->note(turn->sink->ctx, CONTENT_NOTE_OPAQUE_TLS, side, half->begin64);
	half->tls = true;
	return answers;
}

static uint32_t until_end(const uint8_t *bytes, uint32_t length)
{
	uint32_t at = 0;

	while (at < length && bytes[at] != '\n' && bytes[at] != '\r')
		at++;
	return at;
}

static void advance(struct irc_half *half, struct content_turn *turn, uint32_t n)
{
	turn->taken += n;
	half->at64 += n;
}

// Up to the blank behind them: nothing of them is kept.
static void take_tags(struct irc_state *state, unsigned side, struct content_turn *turn,
	const uint8_t *bytes, uint32_t here)
{
	struct irc_half *half = &state->talk.halves[side];
	const uint8_t *blank = memchr(bytes, ' ', here);
	uint32_t n = blank ? (uint32_t)(blank - bytes) + 1 : here;

	half->in_tags = !blank;
	advance(half, turn, n);
	half->line64 = half->at64;
	if (half->tags + n > IRC_TAGS_BYTES) {
		note(state, side, turn, CONTENT_NOTE_HEAD_TOO_LONG);
		drop_line(half, turn);
		half->skip = true;
		return;
	}
	half->tags += (uint16_t)n;
}

// `here` bytes more of the line, at most what a line may have.
static bool keep(
	struct irc_half *half, struct content_turn *turn, const uint8_t *bytes, uint32_t here)
{
	if (!here)
		return true;
	if (!half->line)
		half->line = content_take(turn->memory, IRC_LINE_BYTES);
	if (!half->line)
		return false;
	memcpy(half->line + half->length, bytes, here);
	half->length += (uint16_t)here;
	return true;
}

// `here` bytes of the line, behind its tags. `ended`: its end comes behind them.
static enum irc_step take_part(struct irc_state *state, unsigned side, struct content_turn *turn,
	const uint8_t *bytes, uint32_t here, bool ended)
{
	struct irc_half *half = &state->talk.halves[side];
	uint32_t room = IRC_LINE_BYTES - half->length;
	bool too_long = here > room, at_once = !half->length && (ended || too_long);
	struct content_text line = {bytes, too_long ? room : here};

	if (!at_once && !keep(half, turn, bytes, line.length))
		return IRC_NO_MEMORY;
	if (http_until(line, 0) < line.length)
		note(state, side, turn, CONTENT_NOTE_NUL_IN_HEAD);
	if (!at_once)
		line = kept(half);
	advance(half, turn, here);
	if (too_long) {
		leave_line(state, side, turn, line);
		note(state, side, turn, CONTENT_NOTE_HEAD_TOO_LONG);
	} else if (ended) {
		return take_line(state, side, turn, line);
	} else {
		const struct irc_turn to = turn_of(state, side, turn, line, false);

		irc_tell(&to, &half->told);
	}
	return IRC_ON;
}

// Behind a CR: LF is of the same line end; anything but another line end was not to follow.
static bool takes_lf(
	struct irc_state *state, unsigned side, struct content_turn *turn, uint8_t byte)
{
	struct irc_half *half = &state->talk.halves[side];

	if (!half->after_cr)
		return false;
	half->after_cr = false;
	if (byte == '\n') {
		advance(half, turn, 1);
		begin_line(half, turn);
		return true;
	}
	if (byte != '\r')
		note(state, side, turn, CONTENT_NOTE_BARE_CR);
	return false;
}

// Up to the end of the line, of its tags, or of what is here.
static enum irc_step take_some(struct irc_state *state, unsigned side, struct content_turn *turn,
	const uint8_t *bytes, uint32_t left)
{
	struct irc_half *half = &state->talk.halves[side];
	enum irc_step step = IRC_ON;

	if (takes_lf(state, side, turn, bytes[0]))
		return IRC_ON;
	if (state->mode == IRC_TALK && begins_tls(half, bytes, left) && take_tls(state, side, turn))
		return IRC_OPAQUE;
	uint32_t here = until_end(bytes, left);
	bool ended = here < left;

	half->in_tags |= is_fresh(half) && bytes[0] == '@' && state->mode == IRC_TALK;
	if (half->in_tags && here) {
		take_tags(state, side, turn, bytes, here);
		return IRC_ON;
	}
	if (half->skip)
		advance(half, turn, here);
	else
		step = take_part(state, side, turn, bytes, here, ended);
	if (step == IRC_ON && ended) {
		half->after_cr = bytes[here] == '\r';
		advance(half, turn, 1);
		begin_line(half, turn);
	}
	return step;
}

// A line that lacks something says no more; where the next begins is known at its end.
static void lose(struct irc_state *state, unsigned side, struct content_turn *turn, uint64_t to64)
{
	struct irc_half *half = &state->talk.halves[side];

	if (half->told.open)
		leave_line(state, side, turn, kept(half));
	drop_line(half, turn);
	half->skip = true;
	half->after_cr = false;
	half->at64 = to64;
}

static enum irc_step take_fin(struct irc_state *state, unsigned side, struct content_turn *turn)
{
	struct irc_half *half = &state->talk.halves[side];
	enum irc_step step = IRC_ON;

	if (half->length)
		step = take_line(state, side, turn, kept(half));
	begin_line(half, turn);
	return step;
}

static enum irc_step take_span(
	struct irc_state *state, const struct span *span, struct content_turn *turn)
{
	unsigned side = span->half & 1;
	struct irc_half *half = &state->talk.halves[side];
	uint32_t length = span_length(span);
	enum irc_step step = IRC_ON;

	if (!half->started)
		half->at64 = half->begin64 = half->line64 = span->offset64;
	half->started = true;
	// what the producer left out without a word is a gap, too
	if (span->offset64 + turn->taken > half->at64)
		lose(state, side, turn, span->offset64 + turn->taken);
	while (turn->taken < length && step == IRC_ON)
		step = take_some(
			state, side, turn, span_bytes(span) + turn->taken, length - turn->taken);
	if (!length && turn->taken < span->extent) {
		lose(state, side, turn, span->offset64 + span->extent);
		turn->taken = span->extent;
	}
	if (step == IRC_ON && span->flags & SPAN_FIN)
		step = take_fin(state, side, turn);
	return step;
}

// What was announced says what it carries; what was not is a session.
static enum irc_mode mode_of(const struct transfer_label *label)
{
	if (!label)
		return IRC_TALK;
	if (label->what == TRANSFER_NOT_SAID)
		return label->file[0] ? IRC_FILE : IRC_CHAT;
	return label->what == TRANSFER_CHAT ? IRC_CHAT : IRC_FILE;
}

static void begin(struct irc_state *state, const struct content_turn *turn)
{
	const struct transfer_label *label = turn->announced;

	state->mode = (uint8_t)mode_of(label);
	state->tls = label && label->coded;
	if (state->mode == IRC_CHAT)
		irc_set_own(
			&state->talk.session, content_label_text(label->user, sizeof(label->user)));
}

static enum content_fed feed(void *of, const struct span *span, struct content_turn *turn)
{
	struct irc_state *state = of;

	if (state->mode == IRC_NEW)
		begin(state, turn);
	if (!state->over && state->tls && span->extent) {
		turn->sink->note(
			turn->sink->ctx, CONTENT_NOTE_OPAQUE_TLS, span->half & 1, span->offset64);
		state->over = true;
	}
	if (!state->over && state->mode == IRC_FILE)
		return dcc_file_feed(&state->file, span, turn);
	if (!state->over) {
		switch (take_span(state, span, turn)) {
		case IRC_ON: return CONTENT_FED;
		case IRC_NO_MEMORY: return CONTENT_NO_MEMORY;
		default: end_all(state, turn); break;
		}
	}
	turn->taken = span->extent;
	return CONTENT_OVER;
}

static void over(void *of, struct content_turn *turn)
{
	struct irc_state *state = of;

	if (state->mode == IRC_FILE)
		dcc_file_over(&state->file, turn);
	else
		end_all(state, turn);
}

const struct content_decoder content_irc = {
	.app = "irc",
	.data_app = "irc",
	.state_bytes = sizeof(struct irc_state),
	.finds = CONTENT_FINDS_FILES | CONTENT_FINDS_CHAT | CONTENT_FINDS_OPAQUE,
	.feed = feed,
	.over = over,
};
