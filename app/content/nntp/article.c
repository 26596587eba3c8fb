// SPDX-License-Identifier: BSD-3-Clause
// Articles on their way, and other blocks of lines.
#include "content/nntp/session.h"

struct mime_about nntp_about(struct nntp_state *state, unsigned side)
{
	return (struct mime_about){.half = (uint8_t)side,
		.news = true,
		.headless = state->halves[side].headless,
		.files = &state->files,
		.posting = &state->halves[side].posting};
}

void nntp_article_begin(struct nntp_half *half, enum nntp_mode mode, bool headless)
{
	half->mode = (uint8_t)mode;
	half->headless = headless;
	dots_begin(&half->dots);
}

static enum content_fed put(const struct nntp_call *to, uint64_t at64, const uint8_t *bytes,
	uint32_t length, uint32_t *taken)
{
	struct nntp_half *half = &to->state->halves[to->side];
	const struct mime_about about = nntp_about(to->state, to->side);

	if (half->mode == NNTP_BLOCK) {
		*taken = length;
		return CONTENT_FED;
	}
	if (!half->article)
		half->article = mime_open(to->turn, &about);
	if (!half->article)
		return CONTENT_NO_MEMORY;
	return mime_feed(half->article, to->turn, &about, at64, bytes, length, taken);
}

void nntp_article_drop(const struct nntp_call *to, unsigned side)
{
	struct nntp_half *half = &to->state->halves[side];
	const struct mime_about about = nntp_about(to->state, side);

	mime_close(half->article, to->turn, &about);
	half->article = NULL;
	half->mode = NNTP_LINES;
}

static enum content_fed end_block(const struct nntp_call *to)
{
	struct nntp_half *half = &to->state->halves[to->side];
	const struct mime_about about = nntp_about(to->state, to->side);

	if (half->article &&
		mime_end(half->article, to->turn, &about, half->dots.dot64, true) == CONTENT_MORE)
		return CONTENT_MORE;
	nntp_article_drop(to, to->side);
	return CONTENT_FED;
}

enum content_fed nntp_block_take(
	const struct nntp_call *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	static const uint8_t cr = '\r';
	struct nntp_half *half = &to->state->halves[to->side];
	uint64_t at64 = to->state->streams[to->side].at64, odd64 = 0;
	uint32_t run = 0, n = 0;
	enum content_fed fed = CONTENT_FED;
	bool odd = false;

	switch (dots_next(&half->dots, bytes, length, at64, &run)) {
	case DOTS_TAKE: *taken = 1; break;
	case DOTS_END:
		fed = end_block(to);
		*taken = fed == CONTENT_FED;
		break;
	case DOTS_CR:
		fed = put(to, at64 - 1, &cr, 1, &n);
		if (fed == CONTENT_FED)
			odd = dots_cr_taken(&half->dots, &odd64);
		break;
	default:
		fed = put(to, at64, bytes, run, taken);
		odd = dots_advance(&half->dots, bytes, *taken, at64, &odd64);
		break;
	}
	if (odd && half->mode == NNTP_ARTICLE)
		nntp_note(to, CONTENT_NOTE_END_OF_MAIL, odd64);
	return fed;
}

void nntp_block_lose(const struct nntp_call *to)
{
	struct nntp_half *half = &to->state->halves[to->side];
	const struct mime_about about = nntp_about(to->state, to->side);

	if (half->article)
		mime_lose(half->article, to->turn, &about, to->state->streams[to->side].at64);
	dots_lose(&half->dots);
}
