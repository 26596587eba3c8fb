// SPDX-License-Identifier: BSD-3-Clause
// The decoder of SMTP: the client's half taken apart into commands and mails, the server's into
// replies.
#include "content/decoders.h"
#include "content/http/text.h"
#include "content/smtp/session.h"

#define TLS_0 0x16 // a handshake record's type, and its version's first octet
#define TLS_1 0x03

static_assert(sizeof(struct smtp_state) <= 4096, "a connection that is idle costs little");

void smtp_note(const struct smtp_call *to, enum content_note note, unsigned half, uint64_t at64)
{
	uint64_t bit = CONTENT_NOTE_BIT(note);

	if (to->state->notes[half] & bit)
		return;
	to->state->notes[half] |= bit;
	to->turn->sink->note(to->turn->sink->ctx, note, half, at64);
}

static void end_line(const struct smtp_call *to)
{
	struct smtp_line *line = &to->state->line;
	const struct content_text text = {line->bytes, line->length};

	if (!line->skip)
		smtp_command(to, text);
	line->length = 0;
	line->cut = line->skip = line->cr = false;
}

static void put_byte(const struct smtp_call *to, uint8_t byte, uint64_t at64)
{
	struct smtp_line *line = &to->state->line;

	if (line->cr && byte != '\r') // some servers take it for the line's end
		smtp_note(to, CONTENT_NOTE_BARE_CR, HALF_C2S, at64 - 1);
	line->cr = byte == '\r';
	if (!byte)
		smtp_note(to, CONTENT_NOTE_NUL_IN_HEAD, HALF_C2S, at64);
	if (line->cr)
		return;
	if (line->length < sizeof(line->bytes))
		line->bytes[line->length++] = byte;
	else
		line->cut = true;
}

static bool is_tls(const struct smtp_state *state)
{
	const struct smtp_line *line = &state->line;

	return line->length == 2 && line->bytes[0] == TLS_0 && line->bytes[1] == TLS_1 &&
	       !line->skip;
}

// Up to the end of a line.
static enum content_fed take_commands(
	const struct smtp_call *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct smtp_state *state = to->state;
	uint64_t at64 = state->halves[HALF_C2S].at64;

	for (uint32_t i = 0; i < length; i++) {
		*taken = i + 1;
		if (!state->line.length && !state->line.cr)
			state->line64 = at64 + i;
		if (bytes[i] == '\n') {
			end_line(to);
			if (state->mode != SMTP_IN_BDAT || state->left)
				return CONTENT_FED;
			enum content_fed fed = smtp_chunk_end(to, at64 + i + 1);

			*taken -= fed != CONTENT_FED; // it comes again
			return fed;
		}
		put_byte(to, bytes[i], at64 + i);
		if (is_tls(state)) { // whose STARTTLS was lost, or that began with it
			smtp_note(to, CONTENT_NOTE_OPAQUE_TLS, HALF_C2S, state->line64);
			state->over = true;
			return CONTENT_OVER;
		}
	}
	return CONTENT_FED;
}

static enum content_fed take_client(
	const struct smtp_call *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct smtp_state *state = to->state;

	switch (state->mode) {
	case SMTP_IN_DATA: return smtp_data_take(to, bytes, length, taken);
	case SMTP_IN_BDAT: return smtp_bdat_take(to, bytes, length, taken);
	default: return take_commands(to, bytes, length, taken);
	}
}

static enum content_fed take(void *of, unsigned half, struct content_turn *turn,
	const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct smtp_state *state = of;
	const struct smtp_call to = {state, turn};

	if (!state->began) { // the server speaks first
		state->blind = state->halves[half].joined;
		smtp_await(&to, SMTP_GREETING);
	}
	state->began = true;
	if (half == HALF_S2C)
		return smtp_reply_take(&to, bytes, length, taken);
	return take_client(&to, bytes, length, taken);
}

static enum content_fed lose(void *of, unsigned half, struct content_turn *turn, uint64_t length)
{
	struct smtp_state *state = of;
	const struct smtp_call to = {of, turn};

	if (half == HALF_S2C) {
		smtp_reply_lose(&to);
	} else if (state->mode != SMTP_COMMANDS) {
		smtp_mail_lose(&to, length);
	} else {
		state->line.skip = true;
		smtp_replies_forget(state);
	}
	return CONTENT_FED;
}

// What has no end is no mail to the server.
static enum content_fed fin(void *of, unsigned half, struct content_turn *turn)
{
	struct smtp_state *state = of;
	const struct smtp_call to = {state, turn};

	if (half == HALF_C2S && state->mail)
		smtp_mail_drop(&to);
	return CONTENT_FED;
}

static enum content_fed feed(void *of, const struct span *span, struct content_turn *turn)
{
	static const struct content_reader reader = {take, lose, fin};
	struct smtp_state *state = of;
	const struct mime_about about = smtp_about(state);
	enum content_fed fed = CONTENT_OVER;

	if (!state->over)
		fed = content_stream_feed(state->halves, &reader, state, span, turn);
	if (fed == CONTENT_OVER)
		turn->taken = span->extent;
	if (state->mail)
		mime_flush(state->mail, turn, &about);
	return fed;
}

static void over(void *of, struct content_turn *turn)
{
	struct smtp_state *state = of;
	const struct smtp_call to = {state, turn};

	if (state->mail)
		smtp_mail_drop(&to);
}

// The reply to the mail at hand is the server's next one: to its end, to a chunk, or, while it
// comes, to nothing yet.
static bool answer(const void *of, unsigned half, struct content_answer *answer)
{
	const struct smtp_state *state = of;
	uint8_t next = state->n_awaited ? state->awaited[state->awaited_at] : SMTP_OTHER;
	bool comes = state->mode == SMTP_IN_DATA && !state->unsure && !state->n_awaited;
	bool came = next == SMTP_MAIL_ENDS || next == SMTP_BDAT || next == SMTP_BDAT_LAST;

	*answer = (struct content_answer){.from64 = state->halves[HALF_S2C].at64,
		.reply = true,
		.known = half == HALF_C2S && !state->blind && !state->reply_length &&
			 !state->more && (comes || came)};
	return answer->known;
}

const struct content_decoder content_smtp = {
	.app = "smtp",
	.rides_http = true, // through a proxy (CONNECT)
	.state_bytes = sizeof(struct smtp_state),
	.finds = CONTENT_FINDS_FILES | CONTENT_FINDS_CHAT | CONTENT_FINDS_OPAQUE,
	.feed = feed,
	.over = over,
	.answer = answer,
};
