// SPDX-License-Identifier: BSD-3-Clause
// Commands of the client: who sends a mail to whom, and where one begins.
#include "content/http/text.h"
#include "content/smtp/session.h"

static struct content_text take_word(struct content_text *rest)
{
	struct content_text word = *rest;

	word.length = http_until(word, ' ');
	*rest = http_text_from(*rest, word.length);
	while (rest->length && http_is_blank(rest->bytes[0]))
		*rest = http_text_from(*rest, 1);
	return word;
}

// Behind "FROM:" or "TO:": what stands in brackets, else the word.
static struct content_text path_of(struct content_text rest)
{
	rest = http_text_from(rest, http_until(rest, ':') + 1);
	rest = http_trim(rest);
	if (rest.length && rest.bytes[0] == '<') {
		rest = http_text_from(rest, 1);
		rest.length = http_until(rest, '>');
	} else {
		rest.length = http_until(rest, ' ');
	}
	return rest;
}

void smtp_envelope_clear(struct smtp_state *state)
{
	state->from_length = state->n_to = state->n_receivers = 0;
	state->to_length = 0;
}

static void take_mail(const struct smtp_call *to, struct content_text rest)
{
	struct smtp_state *state = to->state;
	struct content_text path = path_of(rest);

	smtp_envelope_clear(state);
	if (path.length > sizeof(state->from)) // the domain says more than the name
		path = http_text_from(path, path.length - (uint32_t)sizeof(state->from));
	memcpy(state->from, path.bytes, path.length);
	state->from_length = (uint8_t)path.length;
	smtp_await(to, SMTP_OTHER);
}

static void take_rcpt(const struct smtp_call *to, struct content_text rest)
{
	struct smtp_state *state = to->state;
	struct content_text path = path_of(rest);
	uint32_t room = (uint32_t)sizeof(state->to) - state->to_length;

	smtp_await(to, SMTP_RCPT);
	if (state->n_to == CONTENT_PARTIES_MAX || !path.length || path.length + 1 > room)
		return;
	if (state->n_to++)
		state->to[state->to_length++] = ',';
	memcpy(state->to + state->to_length, path.bytes, path.length);
	state->to_length += (uint16_t)path.length;
}

static void take_data(const struct smtp_call *to, struct content_text rest)
{
	(void)rest;
	if (to->state->mail) // of chunks without a last one
		smtp_mail_drop(to);
	smtp_await(to, SMTP_DATA);
	smtp_mail_begin(to->state, SMTP_IN_DATA);
	to->state->unsure = true;
}

static void take_bdat(const struct smtp_call *to, struct content_text rest)
{
	struct smtp_state *state = to->state;
	uint64_t number;

	if (!http_number(take_word(&rest), &number)) {
		smtp_note(to, CONTENT_NOTE_BAD_LENGTH, HALF_C2S, state->line64);
		smtp_await(to, SMTP_OTHER);
		return;
	}
	if (!state->mail)
		smtp_mail_begin(state, SMTP_IN_BDAT);
	state->mode = SMTP_IN_BDAT;
	state->left = number;
	state->last = http_is(http_trim(rest), "last");
	smtp_await(to, state->last ? SMTP_BDAT_LAST : SMTP_BDAT);
}

static void take_reset(const struct smtp_call *to, struct content_text rest)
{
	(void)rest;
	if (to->state->mail)
		smtp_mail_drop(to);
	smtp_envelope_clear(to->state);
	smtp_await(to, SMTP_OTHER);
}

static void take_lhlo(const struct smtp_call *to, struct content_text rest)
{
	to->state->lmtp = true;
	take_reset(to, rest);
}

static void take_auth(const struct smtp_call *to, struct content_text rest)
{
	(void)rest;
	smtp_await(to, SMTP_AUTH);
	to->state->auth = !to->state->blind;
	to->state->challenged = false;
}

static void take_starttls(const struct smtp_call *to, struct content_text rest)
{
	(void)rest;
	smtp_await(to, SMTP_STARTTLS);
}

static const struct verb {
	const char *word;
	void (*take)(const struct smtp_call *to, struct content_text rest);
} verbs[] = {
	{"auth", take_auth},
	{"bdat", take_bdat},
	{"data", take_data},
	{"ehlo", take_reset},
	{"helo", take_reset},
	{"lhlo", take_lhlo},
	{"mail", take_mail},
	{"rcpt", take_rcpt},
	{"rset", take_reset},
	{"starttls", take_starttls},
};

static const struct verb *verb_of(struct content_text word)
{
	for (unsigned i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (http_is(word, verbs[i].word))
			return &verbs[i];
	return NULL;
}

void smtp_command(const struct smtp_call *to, struct content_text line)
{
	struct smtp_state *state = to->state;
	struct content_text rest = http_trim(line);
	const struct verb *verb = verb_of(take_word(&rest));

	bool challenged = state->challenged;

	state->challenged = false;
	// base64, or '*': nothing of it is kept. Before the server asks, a verb is one: a client
	// that sends on need not have its AUTH taken.
	if (state->auth && !(verb && (rest.length || !challenged)))
		return;
	state->auth = false;
	if (verb && state->line.cut)
		smtp_note(to, CONTENT_NOTE_HEAD_TOO_LONG, HALF_C2S, state->line64);
	if (verb)
		verb->take(to, rest);
	else
		smtp_await(to, SMTP_OTHER);
}
