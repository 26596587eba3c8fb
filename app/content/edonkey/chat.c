// SPDX-License-Identifier: BSD-3-Clause
// Tells texts, which lie in frames whose lengths count them: each byte may become a blank, and
// nothing else of the frame.
#include "content/edonkey/chat.h"

#include "content/edonkey/reader.h"

void ed2k_chat_begin(const struct ed2k_turn *to, uint32_t bytes)
{
	struct ed2k_reader *reader = &to->half->reader;

	if (to->rest != ED2K_REST_UNKNOWN && to->rest != bytes) {
		ed2k_note(to, CONTENT_NOTE_BAD_LENGTH);
		bytes = to->rest;
	}
	reader->left = bytes;
	reader->step = ED2K_STEP_CHAT;
	reader->at = to->at64;
	reader->size = to->plain ? to->at64 + bytes : to->at64;
	reader->chat_told = false;
}

static void tell(
	const struct ed2k_turn *to, struct content_text text, uint64_t ends64, bool goes_on)
{
	const struct content_sink *sink = to->turn->sink;
	struct ed2k_reader *reader = &to->half->reader;
	const struct ed2k_half *other = &to->session->halves[!to->side];
	const struct content_message message = {
		.half = (uint8_t)to->side,
		.goes_on = goes_on,
		.continued = reader->chat_told,
		.verbatim = to->clear,
		.blank = to->clear ? ' ' : 0,
		.from = {to->half->nick, to->half->nick_length},
		.to = {other->nick, other->nick_length},
		.text = text,
		.begins64 = to->at64,
		.ends64 = ends64,
		.unit64 = reader->at,
		.unit_ends64 = reader->size,
	};

	sink->message(sink->ctx, &message);
	reader->chat_told = goes_on;
}

enum content_fed ed2k_chat_take(
	const struct ed2k_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *used)
{
	struct ed2k_reader *reader = &to->half->reader;
	uint32_t here = length < reader->left ? length : reader->left;

	if (here > CONTENT_TEXT_BYTES)
		here = CONTENT_TEXT_BYTES;
	reader->left -= here;
	tell(to, (struct content_text){bytes, here}, to->plain ? to->at64 + here : to->at64,
		reader->left);
	*used += here;
	if (!reader->left)
		ed2k_rest(reader);
	return CONTENT_FED;
}

void ed2k_chat_end(const struct ed2k_turn *to)
{
	if (to->half->reader.chat_told)
		tell(to, (struct content_text){NULL, 0}, to->at64, false);
	to->half->reader.chat_told = false;
}
