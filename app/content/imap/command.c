// SPDX-License-Identifier: BSD-3-Clause
// What the client says: commands whose answers change what follows, who logs in, mails that are
// appended, parts that are asked for. Nothing else is kept; credentials are not.
#include "content/http/text.h"
#include "content/imap/session.h"

static struct content_text word_of(const struct imap_input *in)
{
	const struct imap_line *line = &in->state->halves[HALF_C2S].line;

	return (struct content_text){line->word, line->n_word};
}

static void keep_tag(struct imap_state *state, struct content_text word)
{
	state->verb = IMAP_OTHER;
	state->tag_length = (uint8_t)(word.length < IMAP_TAG_BYTES ? word.length : IMAP_TAG_BYTES);
	if (word.length)
		memcpy(state->tag, word.bytes, state->tag_length);
}

static uint8_t verb_of(struct content_text word)
{
	static const struct {
		const char *word;
		uint8_t verb;
	} verbs[] = {{"append", IMAP_APPEND}, {"compress", IMAP_COMPRESS}, {"login", IMAP_LOGIN},
		{"select", IMAP_SELECT}, {"examine", IMAP_SELECT}, {"starttls", IMAP_STARTTLS}};

	for (unsigned i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (http_is(word, verbs[i].word))
			return verbs[i].verb;
	return IMAP_OTHER;
}

static void take_verb(struct imap_state *state, struct content_text word)
{
	state->verb = verb_of(word);
	if (state->verb == IMAP_SELECT)
		imap_forget(state);
}

// "]<0.20480>"
static void take_asked(struct imap_state *state, struct content_text word)
{
	struct content_text rest = http_text_from(word, http_until(word, '<') + 1), count;
	struct imap_asked asked;
	uint32_t origin = http_until(rest, '.');

	count = http_text_from(rest, origin + 1);
	count.length = http_until(count, '>');
	rest.length = origin;
	if (!http_number(rest, &asked.origin) || !http_number(count, &asked.count))
		return;
	state->asked[state->n_asked++ % IMAP_ASKED] = asked;
}

static void take_user(struct imap_state *state, struct content_text word)
{
	state->user_length =
		(uint8_t)(word.length < sizeof(state->user) ? word.length : sizeof(state->user));
	if (word.length)
		memcpy(state->user, word.bytes, state->user_length);
}

void imap_take_command(struct imap_input *in, bool ended)
{
	struct imap_state *state = in->state;
	unsigned place = state->halves[HALF_C2S].line.words;
	struct content_text word = word_of(in);

	if (!place)
		keep_tag(state, word);
	else if (place == 1)
		take_verb(state, word);
	else if (place == 2 && state->verb == IMAP_LOGIN)
		take_user(state, word);
	else if (place > 2 && state->verb == IMAP_APPEND && http_is(word, "catenate"))
		imap_note(in, CONTENT_NOTE_CODING_UNKNOWN); // of mails that the server has
	else
		take_asked(state, word);
	if (!ended || (state->verb != IMAP_COMPRESS && state->verb != IMAP_STARTTLS))
		return;
	state->awaited = state->verb;
	state->awaited_length = state->tag_length;
	memcpy(state->awaited_tag, state->tag, state->tag_length);
}

enum imap_value imap_command_literal(struct imap_input *in)
{
	struct imap_state *state = in->state;

	// the third is the mailbox
	if (state->verb != IMAP_APPEND || state->halves[HALF_C2S].line.words < 3)
		return IMAP_VALUE_SKIP;
	imap_begin_mail(in, (struct imap_mail){.headless = false});
	return IMAP_VALUE_MAIL;
}
