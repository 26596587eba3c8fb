// SPDX-License-Identifier: BSD-3-Clause
// Commands, and answers to them: which of them bring an article or another block of lines.
#include "content/http/text.h"
#include "content/nntp/session.h"

void nntp_await(const struct nntp_call *to, enum nntp_awaited what)
{
	struct nntp_state *state = to->state;

	if (state->blind)
		return;
	if (state->n_awaited == NNTP_AWAITED) {
		nntp_note(to, CONTENT_NOTE_TOO_MANY_REQUESTS, state->halves[HALF_C2S].line64);
		nntp_answers_forget(state);
		return;
	}
	state->awaited[(state->awaited_at + state->n_awaited) % NNTP_AWAITED] = (uint8_t)what;
	state->n_awaited++;
}

void nntp_answers_forget(struct nntp_state *state)
{
	state->blind = true;
	state->n_awaited = 0;
}

static enum nntp_awaited next_of(struct nntp_state *state)
{
	uint8_t what = state->awaited[state->awaited_at];

	if (!state->n_awaited)
		return NNTP_OTHER;
	state->awaited_at = (uint8_t)((state->awaited_at + 1) % NNTP_AWAITED);
	state->n_awaited--;
	return what;
}

static struct content_text word_of(struct content_text line)
{
	line = http_trim(line);
	line.length = http_until(line, ' ');
	return line;
}

void nntp_command(const struct nntp_call *to, struct content_text line)
{
	static const struct {
		const char *word;
		uint8_t what;
	} verbs[] = {
		{"compress", NNTP_COMPRESS},
		{"group", NNTP_GROUP},
		{"hdr", NNTP_FIELDS},
		{"ihave", NNTP_POST},
		{"post", NNTP_POST},
		{"starttls", NNTP_STARTTLS},
		{"xhdr", NNTP_FIELDS},
		{"xpat", NNTP_FIELDS},
	};
	const struct content_text word = word_of(line);
	enum nntp_awaited what = NNTP_OTHER;

	if (!word.length)
		return;
	for (unsigned i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (http_is(word, verbs[i].word))
			what = verbs[i].what;
	nntp_await(to, what);
	if (http_is(word, "takethis")) // RFC 4644: nobody is asked before
		nntp_article_begin(&to->state->halves[HALF_C2S], NNTP_ARTICLE, false);
}

// Whether lines follow that are no article. 211 is also GROUP's, which has none.
static bool has_block(const struct nntp_state *state, uint64_t code, enum nntp_awaited what)
{
	static const uint16_t codes[] = {100, 101, 211, 215, 221, 224, 225, 230, 231, 282, 288};

	if (code == 211 && (what == NNTP_GROUP || state->blind))
		return false;
	for (unsigned i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i] == code)
			return true;
	return false;
}

// ARTICLE, BODY, or HEAD: the code is also XHDR's.
static bool has_article(uint64_t code, enum nntp_awaited what)
{
	return code == 220 || code == 222 || (code == 221 && what != NNTP_FIELDS);
}

static bool go_opaque(const struct nntp_call *to, enum content_note note)
{
	nntp_note(to, note, to->state->halves[HALF_S2C].line64);
	to->state->over = true;
	return false;
}

// The client's article is allowed: one more answer will follow it.
static void await_article(const struct nntp_call *to)
{
	struct nntp_half *client = &to->state->halves[HALF_C2S];

	if (client->mode == NNTP_LINES)
		nntp_article_begin(client, NNTP_ARTICLE, false);
	nntp_await(to, NNTP_OTHER);
}

bool nntp_answer(const struct nntp_call *to, struct content_text line)
{
	struct nntp_state *state = to->state;
	struct nntp_half *half = &state->halves[HALF_S2C];
	const struct content_text word = word_of(line);
	uint64_t code;

	if (word.length != 3 || !http_number(word, &code))
		return true;
	enum nntp_awaited what = next_of(state);

	if (code == 382 && (what == NNTP_STARTTLS || state->blind))
		return go_opaque(to, CONTENT_NOTE_OPAQUE_TLS);
	if (code == 206 && (what == NNTP_COMPRESS || state->blind))
		return go_opaque(to, CONTENT_NOTE_OPAQUE_COMPRESSED);
	if ((code == 340 || code == 335) && (what == NNTP_POST || state->blind))
		await_article(to);
	else if (has_article(code, what))
		nntp_article_begin(half, NNTP_ARTICLE, code == 222);
	else if (has_block(state, code, what))
		nntp_article_begin(half, NNTP_BLOCK, false);
	return true;
}
