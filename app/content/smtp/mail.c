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
	state->begun = SMTP_AFTER_CRLF;
	state->dots = 0;
	state->odd_dot = false;
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
			smtp_await(to, SMTP_OTHER);
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

// The state behind bytes that were taken.
static void advance(
	const struct smtp_call *to, const uint8_t *bytes, uint32_t length, uint64_t at64)
{
	struct smtp_state *state = to->state;

	for (uint32_t i = 0; i < length; i++) {
		bool cr = state->begun == SMTP_AFTER_CR;
		uint8_t byte = bytes[i];

		if (state->odd_dot && (byte == '\r' || byte == '\n'))
			smtp_note(to, CONTENT_NOTE_END_OF_MAIL, HALF_C2S, at64 + i);
		state->odd_dot = byte == '.' && (cr || state->begun == SMTP_AFTER_LF);
		if (byte == '\r')
			state->begun = SMTP_AFTER_CR;
		else if (byte == '\n')
			state->begun = cr ? SMTP_AFTER_CRLF : SMTP_AFTER_LF;
		else
			state->begun = SMTP_MIDDLE;
	}
}

// How far it goes without a dot that begins a line.
static uint32_t run_length(const struct smtp_state *state, const uint8_t *bytes, uint32_t length)
{
	bool cr = state->begun == SMTP_AFTER_CR;

	for (uint32_t from = 0; from < length;) {
		const uint8_t *lf = memchr(bytes + from, '\n', length - from);

		if (!lf)
			break;
		from = (uint32_t)(lf - bytes) + 1;
		bool crlf = from > 1 ? bytes[from - 2] == '\r' : cr;

		if (crlf && from < length && bytes[from] == '.')
			return from;
	}
	return length;
}

// Behind a dot, and maybe a CR, at the beginning of a line.
static enum content_fed take_behind_dot(const struct smtp_call *to, uint8_t byte, uint32_t *taken)
{
	static const uint8_t cr = '\r';
	struct smtp_state *state = to->state;
	uint64_t at64 = place(to);
	uint32_t fed_cr = 0;

	if (state->dots == 1 && byte == '\r') {
		state->dots = 2;
		*taken = 1;
		return CONTENT_FED;
	}
	if (state->dots == 2 && byte == '\n') {
		enum content_fed fed = end_mail(to, state->dot64);

		if (fed == CONTENT_FED) {
			state->dots = 0;
			*taken = 1;
		}
		return fed;
	}
	if (state->dots == 2) {
		enum content_fed fed = put(to, at64 - 1, &cr, 1, &fed_cr);

		if (fed != CONTENT_FED)
			return fed;
	}
	if (state->dots == 2 || byte == '\n')
		smtp_note(to, CONTENT_NOTE_END_OF_MAIL, HALF_C2S, state->dot64);
	state->begun = state->dots == 2 ? SMTP_AFTER_CR : SMTP_MIDDLE;
	state->dots = 0;
	return CONTENT_FED;
}

enum content_fed smtp_data_take(
	const struct smtp_call *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct smtp_state *state = to->state;
	uint64_t at64 = place(to);
	uint32_t fed_length = 0;

	if (state->dots) {
		enum content_fed fed = take_behind_dot(to, bytes[0], taken);

		if (fed != CONTENT_FED || *taken || state->dots)
			return fed;
	} else if (state->begun == SMTP_AFTER_CRLF && bytes[0] == '.') {
		state->dots = 1;
		state->dot64 = at64;
		*taken = 1;
		return CONTENT_FED;
	}
	enum content_fed fed = put(to, at64, bytes, run_length(state, bytes, length), &fed_length);

	advance(to, bytes, fed_length, at64);
	*taken = fed_length;
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
	state->dots = 0;
	state->odd_dot = false;
	state->begun = SMTP_MIDDLE;
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
