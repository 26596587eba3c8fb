// SPDX-License-Identifier: BSD-3-Clause
// The decoder of FTP's control connections: takes each half apart into lines, over gaps.
#include <assert.h>

#include "content/decoders.h"
#include "content/ftp/session.h"
#include "content/http/text.h"
#include "content/memory.h"

#define LINE_BYTES 4096 // of a path that is as long as PATH_MAX allows; servers read no more
#define TLS_0      0x16 // a handshake record's type, and its version's first octet
#define TLS_1      0x03

struct ftp_half {
	uint8_t *line;    // as much as is here of a line that goes on; NULL: nothing
	uint64_t at64;    // of the next byte
	uint64_t begin64; // of the line
	uint64_t noted;   // a bit for each note that was told
	uint16_t length;
	bool started;
	bool skip; // up to the end of a line that is too long, or has a gap
};

struct ftp_state {
	struct ftp_session session;
	struct ftp_half halves[2];
	bool over;
};
static_assert(sizeof(struct ftp_state) <= 1024, "a connection that is idle costs little");

enum ftp_step {
	FTP_ON,
	FTP_NO_MEMORY,
	FTP_OPAQUE,
};

static void drop_line(struct ftp_half *half, struct content_turn *turn)
{
	content_give(turn->memory, half->line);
	half->line = NULL;
	half->length = 0;
}

static void end_all(struct ftp_state *state, struct content_turn *turn)
{
	drop_line(&state->halves[HALF_C2S], turn);
	drop_line(&state->halves[HALF_S2C], turn);
	state->over = true;
}

static void note_once(struct ftp_half *half, unsigned side, const struct content_turn *turn,
	enum content_note note, uint64_t at64)
{
	if (!(half->noted & CONTENT_NOTE_BIT(note)))
		turn->sink->note(turn->sink->ctx, note, side, at64);
	half->noted |= CONTENT_NOTE_BIT(note);
}

// Telnet's commands where they stand inside: some servers take them out, others read a name.
static bool has_telnet_inside(struct content_text line)
{
	for (uint32_t i = 1; i + 1 < line.length; i++)
		if (line.bytes[i] == 0xff && line.bytes[i + 1] >= 0xf0 && line.bytes[0] != 0xff)
			return true;
	return false;
}

// What one server reads as another does not. `bare`: no CR stood before its LF.
static void look_at_command(struct ftp_state *state, const struct content_turn *turn,
	struct content_text line, bool bare)
{
	struct ftp_half *half = &state->halves[HALF_C2S];
	const struct {
		bool is;
		enum content_note note;
	} notes[] = {
		{bare, CONTENT_NOTE_BARE_LF},
		{http_until(line, '\r') < line.length, CONTENT_NOTE_BARE_CR},
		{http_until(line, 0) < line.length, CONTENT_NOTE_NUL_IN_HEAD},
		{has_telnet_inside(line), CONTENT_NOTE_BAD_LINE},
	};

	for (unsigned i = 0; i < sizeof(notes) / sizeof(notes[0]); i++)
		if (notes[i].is)
			note_once(half, HALF_C2S, turn, notes[i].note, half->begin64);
}

// A whole line, without its LF.
static enum ftp_step take_line(struct ftp_state *state, unsigned side,
	const struct content_turn *turn, const uint8_t *bytes, uint32_t length)
{
	struct content_text line = {bytes, length};
	const struct ftp_turn to = {
		&state->session, turn, state->halves[side].begin64 + length + 1, (uint8_t)side};
	bool bare = true;

	while (line.length && line.bytes[line.length - 1] == '\r') {
		line.length--;
		bare = false;
	}
	if (side == HALF_C2S)
		look_at_command(state, turn, line, bare);
	return ftp_take_line(&to, line) ? FTP_ON : FTP_OPAQUE;
}

// Whether its second byte is the one that comes first here, or both are here.
static bool begins_tls(const struct ftp_half *half, const uint8_t *bytes, uint32_t length)
{
	if (half->skip || half->length > 1)
		return false;
	if (half->length == 1)
		return half->line[0] == TLS_0 && length && bytes[0] == TLS_1;
	return length > 1 && bytes[0] == TLS_0 && bytes[1] == TLS_1;
}

// `length` bytes more of the line; it may end behind them.
static enum ftp_step keep(struct ftp_half *half, unsigned side, struct content_turn *turn,
	const uint8_t *bytes, uint32_t length)
{
	if (half->skip || !length)
		return FTP_ON;
	if (half->length + length > LINE_BYTES) {
		note_once(half, side, turn, CONTENT_NOTE_HEAD_TOO_LONG, half->begin64);
		half->skip = true;
		drop_line(half, turn);
		return FTP_ON;
	}
	if (!half->line)
		half->line = content_take(turn->memory, LINE_BYTES);
	if (!half->line)
		return FTP_NO_MEMORY;
	memcpy(half->line + half->length, bytes, length);
	half->length += (uint16_t)length;
	return FTP_ON;
}

// Up to the end of the line, or of what is here.
static enum ftp_step take_some(struct ftp_state *state, unsigned side, struct content_turn *turn,
	const uint8_t *bytes, uint32_t left)
{
	struct ftp_half *half = &state->halves[side];
	const uint8_t *end = memchr(bytes, '\n', left);
	uint32_t here = end ? (uint32_t)(end - bytes) : left;
	bool at_once = end && !half->length && !half->skip && here <= LINE_BYTES;
	enum ftp_step step = FTP_ON;

	if (begins_tls(half, bytes, here)) {
		turn->sink->note(turn->sink->ctx, CONTENT_NOTE_OPAQUE_TLS, side, half->begin64);
		return FTP_OPAQUE;
	}
	if (!at_once)
		step = keep(half, side, turn, bytes, here);
	if (step == FTP_NO_MEMORY)
		return step;
	if (end && side == HALF_C2S)
		ftp_count_command(&state->session);
	if (end && !half->skip)
		step = at_once ? take_line(state, side, turn, bytes, here)
			       : take_line(state, side, turn, half->line, half->length);
	turn->taken += here + (end != NULL);
	half->at64 += here + (end != NULL);
	if (end) {
		drop_line(half, turn);
		half->skip = false;
		half->begin64 = half->at64;
	}
	return step;
}

// A line that lacks something says nothing; nor can it be known where it ends but at its LF.
static void lose(struct ftp_state *state, unsigned side, struct content_turn *turn, uint64_t to64)
{
	struct ftp_half *half = &state->halves[side];

	drop_line(half, turn);
	if (side == HALF_S2C)
		ftp_lose_answers(&state->session);
	half->skip = true;
	half->at64 = to64;
}

static enum ftp_step take_span(
	struct ftp_state *state, const struct span *span, struct content_turn *turn)
{
	unsigned side = span->half & 1;
	struct ftp_half *half = &state->halves[side];
	uint32_t length = span_length(span);
	enum ftp_step step = FTP_ON;

	if (!half->started)
		half->at64 = half->begin64 = span->offset64;
	half->started = true;
	// what the producer left out without a word is a gap, too
	if (span->offset64 + turn->taken > half->at64)
		lose(state, side, turn, span->offset64 + turn->taken);
	while (turn->taken < length && step == FTP_ON)
		step = take_some(
			state, side, turn, span_bytes(span) + turn->taken, length - turn->taken);
	if (!length && turn->taken < span->extent) {
		lose(state, side, turn, span->offset64 + span->extent);
		turn->taken = span->extent;
	}
	return step;
}

static enum content_fed feed(void *of, const struct span *span, struct content_turn *turn)
{
	struct ftp_state *state = of;

	if (!state->over) {
		switch (take_span(state, span, turn)) {
		case FTP_ON: return CONTENT_FED;
		case FTP_NO_MEMORY: return CONTENT_NO_MEMORY;
		default: end_all(state, turn); break;
		}
	}
	turn->taken = span->extent;
	return CONTENT_OVER;
}

static void over(void *of, struct content_turn *turn)
{
	end_all(of, turn);
}

const struct content_decoder content_ftp = {
	.app = "ftp",
	.data_app = "ftp-data",
	.state_bytes = sizeof(struct ftp_state),
	.finds = CONTENT_FINDS_FILES | CONTENT_FINDS_OPAQUE,
	.feed = feed,
	.over = over,
};
