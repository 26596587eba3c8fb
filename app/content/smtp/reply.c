// SPDX-License-Identifier: BSD-3-Clause
// Replies of the server, each to the command that waits for it longest.
#include "content/smtp/session.h"
#include "pipeline/vocab/octets.h"

void smtp_await(const struct smtp_call *to, enum smtp_awaited what)
{
	struct smtp_state *state = to->state;

	if (state->blind)
		return;
	if (state->n_awaited == SMTP_AWAITED) {
		smtp_note(to, CONTENT_NOTE_TOO_MANY_REQUESTS, HALF_C2S, state->line64);
		state->blind = true;
		return;
	}
	state->awaited[(state->awaited_at + state->n_awaited) % SMTP_AWAITED] = (uint8_t)what;
	state->n_awaited++;
}

static enum smtp_awaited next_of(struct smtp_state *state)
{
	uint8_t what = state->awaited[state->awaited_at];

	if (!state->n_awaited)
		return SMTP_OTHER;
	state->awaited_at = (uint8_t)((state->awaited_at + 1) % SMTP_AWAITED);
	state->n_awaited--;
	return what;
}

// What was taken for a mail, or for a part of one, are commands to the server.
static void refuse_data(const struct smtp_call *to)
{
	struct smtp_state *state = to->state;
	bool waits =
		state->mode == SMTP_IN_DATA && state->unsure && !state->taken && !state->dots.held;

	if (!waits)
		smtp_note(to, CONTENT_NOTE_END_OF_MAIL, HALF_C2S, state->halves[HALF_C2S].at64);
	if (state->mode == SMTP_IN_DATA && state->unsure)
		smtp_mail_drop(to);
	state->unsure = false;
}

static void take_data_reply(const struct smtp_call *to, unsigned code)
{
	if (code == 354)
		to->state->unsure = false;
	else
		refuse_data(to);
}

// A server that does not know BDAT reads the chunk as commands. Of one that does a chunk that it
// refuses ends the mail.
static void take_chunk_reply(const struct smtp_call *to, unsigned code, bool last)
{
	struct smtp_state *state = to->state;

	if (code == 500 || code == 502)
		smtp_note(to, CONTENT_NOTE_END_OF_MAIL, HALF_C2S, state->halves[HALF_C2S].at64);
	if (code >= 400 && !last && state->mode == SMTP_COMMANDS)
		smtp_mail_drop(to);
}

static enum content_fed take_starttls_reply(const struct smtp_call *to, unsigned code)
{
	if (code != 220)
		return CONTENT_FED;
	smtp_note(to, CONTENT_NOTE_OPAQUE_TLS, HALF_S2C, to->state->reply64);
	to->state->over = true;
	return CONTENT_OVER;
}

// Replies are not counted: these two cannot be to anything else.
static enum content_fed take_blindly(const struct smtp_call *to, unsigned code)
{
	struct smtp_state *state = to->state;

	if (code == 354 && state->mode == SMTP_COMMANDS && !state->mail)
		smtp_mail_begin(state, SMTP_IN_DATA);
	if (code == 354)
		state->unsure = false;
	return CONTENT_FED;
}

static enum content_fed take_reply(const struct smtp_call *to, unsigned code)
{
	struct smtp_state *state = to->state;

	if (state->blind)
		return take_blindly(to, code);
	if (code == 334 && state->n_awaited && state->awaited[state->awaited_at] == SMTP_AUTH) {
		state->challenged = true;
		return CONTENT_FED;
	}
	switch (next_of(state)) {
	case SMTP_AUTH: state->auth = false; break;
	case SMTP_RCPT:
		if (code / 100 == 2 && state->n_receivers < SMTP_AWAITED)
			state->n_receivers++;
		break;
	case SMTP_DATA: take_data_reply(to, code); break;
	case SMTP_BDAT: take_chunk_reply(to, code, false); break;
	case SMTP_BDAT_LAST: take_chunk_reply(to, code, true); break;
	case SMTP_STARTTLS: return take_starttls_reply(to, code);
	default:
		// of a command that was read as another one: lines of the mail may have been, too
		if (code == 354 && state->mode == SMTP_COMMANDS && !state->mail) {
			smtp_note(to, CONTENT_NOTE_END_OF_MAIL, HALF_C2S,
				state->halves[HALF_C2S].at64);
			smtp_mail_begin(state, SMTP_IN_DATA);
		}
		break;
	}
	return CONTENT_FED;
}

// Three digits, and a blank where it is the reply's last line.
static enum content_fed take_line(const struct smtp_call *to)
{
	struct smtp_state *state = to->state;
	const uint8_t *code = state->reply;

	if (state->reply_length < 3 || state->reply_skip || !octets_digit(code[0]) ||
		!octets_digit(code[1]) || !octets_digit(code[2]))
		return CONTENT_FED;
	state->more = state->reply_length > 3 && code[3] == '-';
	if (state->more)
		return CONTENT_FED;
	return take_reply(to, (code[0] - '0') * 100u + (code[1] - '0') * 10u + (code[2] - '0'));
}

enum content_fed smtp_reply_take(
	const struct smtp_call *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct smtp_state *state = to->state;
	enum content_fed fed = CONTENT_FED;

	for (uint32_t i = 0; i < length && fed == CONTENT_FED; i++) {
		*taken = i + 1;
		if (!state->reply_length)
			state->reply64 = state->halves[HALF_S2C].at64 + i;
		if (bytes[i] == '\n') {
			fed = take_line(to);
			state->reply_length = 0;
			state->reply_skip = false;
		} else if (bytes[i] != '\r' && state->reply_length < sizeof(state->reply)) {
			state->reply[state->reply_length++] = bytes[i];
		}
	}
	return fed;
}

void smtp_replies_forget(struct smtp_state *state)
{
	state->blind = true;
	state->auth = false;
	state->n_awaited = 0;
}

void smtp_reply_lose(const struct smtp_call *to)
{
	to->state->reply_skip = true;
	smtp_replies_forget(to->state);
}
