// SPDX-License-Identifier: BSD-3-Clause
// A text as its reader sees it: UTF-16 as UTF-8, without markup.
#include "content/charset.h"
#include "content/markup.h"
#include "content/oscar/oscar.h"

#define CHARSET_WIDE 2
#define WIDE_BYTES   5000 // of UTF-16 that are as UTF-8 no more than a message has
#define OVERLAP      500  // of pieces of a text that is longer

static struct content_text narrow(struct content_text wide, uint8_t *out, uint32_t room)
{
	struct text_out to = {.bytes = out, .size = room};

	charset_text(&to, CHARSET_UTF16BE, wide.bytes, wide.length);
	return (struct content_text){out, to.written};
}

uint32_t oscar_text_utf8(const struct oscar_text *text, uint8_t *out, uint32_t room)
{
	uint32_t length = text->bytes.length < room ? text->bytes.length : room;

	if (text->charset == CHARSET_WIDE)
		return narrow(text->bytes, out, room).length;
	if (length)
		memcpy(out, text->bytes.bytes, length);
	return length;
}

// A piece that is no longer than a message may be.
static void tell(
	const struct oscar_turn *to, const struct oscar_text *text, struct content_text piece)
{
	const struct content_sink *sink = to->turn->sink;
	const struct oscar_snac *snac = text->snac;
	uint8_t wide[CONTENT_TEXT_BYTES], plain[CONTENT_TEXT_BYTES];
	struct content_text shown = piece;
	struct content_message message = {
		.half = to->side,
		.blank = ' ',
		.from = text->from,
		.to = text->to,
		.begins64 = snac->body64,
		.ends64 = snac->body64 + snac->body.length,
	};

	if (text->charset == CHARSET_WIDE)
		shown = narrow(piece, wide, sizeof(wide));
	uint32_t length = markup_plain(MARKUP_HTML, shown.bytes, shown.length, plain);

	message.verbatim = length == piece.length && text->charset != CHARSET_WIDE;
	message.text = (struct content_text){plain, length};
	if (!text->pieces) {
		message.begins64 += (uint64_t)(piece.bytes - snac->body.bytes);
		message.ends64 = message.begins64 + piece.length;
	} else { // other fields lie between them
		message.verbatim = false;
		message.blank = 0;
	}
	message.unit64 = message.begins64;
	message.unit_ends64 = message.ends64;
	if (length)
		sink->message(sink->ctx, &message);
}

void oscar_text_tell(const struct oscar_turn *to, const struct oscar_text *text)
{
	uint32_t most = text->charset == CHARSET_WIDE ? WIDE_BYTES : CONTENT_TEXT_BYTES;
	struct content_text piece = text->bytes;

	for (uint32_t at = 0; at < text->bytes.length; at += most - OVERLAP) {
		piece.bytes = text->bytes.bytes + at;
		piece.length = text->bytes.length - at < most ? text->bytes.length - at : most;
		tell(to, text, piece);
		if (at + piece.length == text->bytes.length)
			return;
	}
}
