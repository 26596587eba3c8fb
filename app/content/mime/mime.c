// SPDX-License-Identifier: BSD-3-Clause
// Mails as a stream: what their protocols call.
#include "content/mime/work.h"

#include "content/memory.h"

static_assert(sizeof(struct mime) <= MIME_BYTES, "a mail has one block");

void mime_note(const struct mime_call *to, enum content_note note, uint64_t at64)
{
	uint64_t bit = CONTENT_NOTE_BIT(note);

	if (to->mime->notes & bit)
		return;
	to->mime->notes |= bit;
	to->turn->sink->note(to->turn->sink->ctx, note, to->about->half, at64);
}

struct mime *mime_open(struct content_turn *turn, const struct mime_about *about)
{
	struct mime *mime = content_take(turn->memory, sizeof(*mime));
	const struct mime_call to = {mime, turn, about};

	if (!mime)
		return NULL;
	memset(mime, 0, sizeof(*mime));
	mime_head_begin(&to, MIME_HEAD_MAIL);
	if (about->headless)
		mime->headless = true;
	return mime;
}

enum content_fed mime_feed(struct mime *mime, struct content_turn *turn,
	const struct mime_about *about, uint64_t at64, const uint8_t *bytes, uint32_t length,
	uint32_t *taken)
{
	const struct mime_call to = {mime, turn, about};
	uint64_t first64 = mime_place(&to, at64, *taken);

	if (!mime_tell(&to))
		return CONTENT_MORE;
	// a dot may be blanked with the text around it; what is more is the protocol's
	if (mime->fed && !mime->again && first64 > mime->next64 + 1)
		mime->text.torn = mime->field.torn = true;
	mime->fed = true;
	*taken += mime->again;
	mime->again = false;
	if (mime->headless) { // what is known of its head is nothing
		mime->headless = false;
		mime->in_head = false;
		mime_part_open(&to, first64);
	}
	while (*taken < length) {
		uint32_t n = mime_step(
			&to, bytes + *taken, length - *taken, mime_place(&to, at64, *taken));

		*taken += n;
		if (mime_tell(&to))
			continue;
		// what comes again brings the turn in which the rest is told
		mime->again = n;
		*taken -= mime->again;
		mime->next64 = mime_place(&to, at64, *taken + mime->again);
		return CONTENT_MORE;
	}
	mime->next64 = mime_place(&to, at64, length);
	return CONTENT_FED;
}

void mime_flush(struct mime *mime, struct content_turn *turn, const struct mime_about *about)
{
	const struct mime_call to = {mime, turn, about};

	mime_text_flush(&to);
}

// What was held back, or decoded and not told, is lost with the rest: it may be half of something.
static void lose(const struct mime_call *to, uint64_t at64)
{
	struct mime *mime = to->mime;

	mime->decoded_at = mime->n_decoded = mime->n_runs = 0;
	mime_inline_lose(&mime->within);
	mime->again = mime->lines.cr = mime->headless = false;
	mime->lines.eol = MIME_EOL_NONE;
	mime->lines.line = MIME_LINE_GOES_ON;
	if (mime->in_head)
		mime_head_leave(to);
	mime->truncated = true;
	mime->ends = true;
	mime->ends64 = at64;
	mime_tell(to); // nothing is left that needs a budget
	mime->truncated = false;
}

void mime_lose(
	struct mime *mime, struct content_turn *turn, const struct mime_about *about, uint64_t at64)
{
	const struct mime_call to = {mime, turn, about};

	lose(&to, at64);
	if (!mime->n_levels) // nothing says where it goes on
		mime_note(&to, CONTENT_NOTE_LOST, at64);
}

enum content_fed mime_end(struct mime *mime, struct content_turn *turn,
	const struct mime_about *about, uint64_t at64, bool whole)
{
	const struct mime_call to = {mime, turn, about};

	if (!mime_tell(&to))
		return CONTENT_MORE;
	mime->again = false;
	if (!mime->ending) {
		mime->ending = true;
		mime->truncated = !whole;
		mime_lines_finish(&to, at64);
	}
	if (!mime_tell(&to))
		return CONTENT_MORE;
	if (!mime->over)
		mime_part_finish(&to, at64);
	mime->over = true;
	return mime_tell(&to) ? CONTENT_FED : CONTENT_MORE;
}

void mime_close(struct mime *mime, struct content_turn *turn, const struct mime_about *about)
{
	const struct mime_call to = {mime, turn, about};

	if (!mime)
		return;
	lose(&to, mime->next64);
	content_give(turn->memory, mime);
}
