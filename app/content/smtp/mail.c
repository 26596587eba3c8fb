// SPDX-License-Identifier: BSD-3-Clause
// Mails on their way: by DATA, of which dots are taken off and the last one ends it; by BDAT, in
// chunks as they are.
//
// CR LF "." CR LF ends a mail. Servers that also take LF "." LF, or another mixture, for its end
// read the rest as commands, with a mail of which nobody else knows (SMTP smuggling):
// `end_of_mail`.
#include "content/smtp/session.h"

struct mime_about smtp_about(struct smtp_state *state)
{
	return (struct mime_about){.half = HALF_C2S,
		.from = {state->from, state->from_length},
		.to = {state->to, state->to_length},
		.to_is_list = state->n_to > 1,
		.files = &state->files};
}

void smtp_mail_begin(struct smtp_state *state, enum smtp_mode mode)
{
	state->mode = (uint8_t)mode;
	dots_begin(&state->dots);
}

static uint64_t place(const struct smtp_call *to)
{
	return to->state->halves[HALF_C2S].at64;
}

// *taken: of `bytes`.
static enum content_fed put(const struct smtp_call *to, uint64_t at64, const uint8_t *bytes,
	uint32_t length, uint32_t *taken)
{
	struct smtp_state *state = to->state;
	const struct mime_about about = smtp_about(state);

	if (!state->mail)
		state->mail = mime_open(to->turn, &about);
	if (!state->mail)
		return CONTENT_NO_MEMORY;
	state->taken = true;
	return mime_feed(state->mail, to->turn, &about, at64, bytes, length, taken);
}

static void close_mail(const struct smtp_call *to)
{
	const struct mime_about about = smtp_about(to->state);

	mime_close(to->state->mail, to->turn, &about);
	to->state->mail = NULL;
	to->state->taken = false;
}

// The mail is whole. `at64`: behind its last byte.
static enum content_fed end_mail(const struct smtp_call *to, uint64_t at64)
{
	struct smtp_state *state = to->state;
	const struct mime_about about = smtp_about(state);
	unsigned n = state->lmtp ? state->n_receivers : 1; // replies

	if (state->mail && mime_end(state->mail, to->turn, &about, at64, true) == CONTENT_MORE)
		return CONTENT_MORE;
	close_mail(to);
	if (state->mode == SMTP_IN_DATA)
		while (n--)
			smtp_await(to, SMTP_MAIL_ENDS);
	else
		state->blind |=
			state->lmtp; // replies are as many as receivers, maybe not known yet
	smtp_envelope_clear(state);
	state->mode = SMTP_COMMANDS;
	return CONTENT_FED;
}

void smtp_mail_drop(const struct smtp_call *to)
{
	close_mail(to);
	to->state->mode = SMTP_COMMANDS;
}

enum content_fed smtp_data_take(
	const struct smtp_call *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	static const uint8_t cr = '\r';
	struct smtp_state *state = to->state;
	uint64_t at64 = place(to), odd64 = 0;
	uint32_t run = 0, n = 0;
	enum content_fed fed = CONTENT_FED;
	bool odd = false;

	switch (dots_next(&state->dots, bytes, length, at64, &run)) {
	case DOTS_TAKE: *taken = 1; break;
	case DOTS_END:
		fed = end_mail(to, state->dots.dot64);
		*taken = fed == CONTENT_FED;
		break;
	case DOTS_CR:
		fed = put(to, at64 - 1, &cr, 1, &n);
		if (fed == CONTENT_FED)
			odd = dots_cr_taken(&state->dots, &odd64);
		break;
	default:
		fed = put(to, at64, bytes, run, taken);
		odd = dots_advance(&state->dots, bytes, *taken, at64, &odd64);
		break;
	}
	if (odd)
		smtp_note(to, CONTENT_NOTE_END_OF_MAIL, HALF_C2S, odd64);
	return fed;
}

enum content_fed smtp_chunk_end(const struct smtp_call *to, uint64_t at64)
{
	struct smtp_state *state = to->state;

	if (state->last)
		return end_mail(to, at64);
	state->mode = SMTP_COMMANDS;
	return CONTENT_FED;
}

enum content_fed smtp_bdat_take(
	const struct smtp_call *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct smtp_state *state = to->state;
	enum content_fed fed = CONTENT_FED;

	if (length > state->left)
		length = (uint32_t)state->left;
	if (length) {
		fed = put(to, place(to), bytes, length, taken);
		state->left -= *taken;
		if (fed != CONTENT_FED || state->left)
			return fed;
		fed = smtp_chunk_end(to, place(to) + *taken);
		*taken -= fed != CONTENT_FED; // it comes again
		return fed;
	}
	fed = smtp_chunk_end(to, place(to) + 1);
	*taken = fed == CONTENT_FED;
	return fed;
}

void smtp_mail_lose(const struct smtp_call *to, uint64_t length)
{
	struct smtp_state *state = to->state;
	const struct mime_about about = smtp_about(state);

	if (state->mail)
		mime_lose(state->mail, to->turn, &about, place(to));
	dots_lose(&state->dots);
	if (state->mode != SMTP_IN_BDAT)
		return;
	if (length < state->left) {
		state->left -= length;
		return;
	}
	// where the next command begins is not known
	state->line.skip = length > state->left;
	state->left = 0;
	state->mode = SMTP_COMMANDS;
	if (state->last || state->line.skip)
		close_mail(to);
}
