// SPDX-License-Identifier: BSD-3-Clause
// Text of a payload. It is told when its bytes come, in parts where they come in pieces. A message
// that is sent in chunks, each a payload of its own, is told with each of them: behind what the
// earlier ones had last, so that a keyword may lie over two chunks.
#include "content/memory.h"
#include "content/msn/command.h"
#include "content/msn/fields.h"

#define PIECE_BYTES (CONTENT_TEXT_BYTES - MSN_TAIL_BYTES)

static struct msn_chunked *slot_at(const struct msn_turn *to)
{
	return to->half->slot ? &to->state->people->chunked[to->half->slot - 1] : NULL;
}

static unsigned slot_of(struct msn_people *people, uint32_t id, uint8_t side)
{
	struct msn_chunked *slot;

	for (unsigned i = 0; i < MSN_CHUNKED; i++)
		if (people->chunked[i].id == id && people->chunked[i].half == side)
			return i + 1;
	slot = &people->chunked[people->next];
	*slot = (struct msn_chunked){.id = id, .half = side};
	people->next = (uint8_t)((people->next + 1) % MSN_CHUNKED);
	return (unsigned)(slot - people->chunked) + 1;
}

// The first chunk says how many there are, each other one which it is, from 1.
enum content_fed msn_chat_begin(const struct msn_turn *to)
{
	struct msn_half *half = to->half;
	const struct content_text head = {half->kept + half->line, half->head};
	struct content_text id = msn_head_field(head, "message-id");
	bool first = msn_head_field(head, "chunks").length;
	bool chunk = id.length && (first || msn_head_field(head, "chunk").length);

	if (chunk && !msn_need_people(to))
		return CONTENT_NO_MEMORY;
	half->slot = 0;
	if (chunk) {
		struct msn_parties parties = msn_parties_of(to);
		uint32_t hash = msn_hash(id) ^ msn_hash(parties.from);

		half->slot = (uint8_t)slot_of(to->state->people, hash ? hash : 1, to->side);
		if (first)
			slot_at(to)->length = 0;
	}
	half->unit64 = msn_at64(to);
	half->told = 0;
	half->phase = MSN_TEXT;
	return CONTENT_FED;
}

static void keep_tail(struct msn_chunked *slot, const uint8_t *bytes, uint32_t length)
{
	uint32_t keeps;

	if (length > MSN_TAIL_BYTES) {
		bytes += length - MSN_TAIL_BYTES;
		length = MSN_TAIL_BYTES;
	}
	keeps = MSN_TAIL_BYTES - length;
	if (keeps < slot->length) {
		memmove(slot->tail, slot->tail + slot->length - keeps, keeps);
		slot->length = (uint16_t)keeps;
	}
	memcpy(slot->tail + slot->length, bytes, length);
	slot->length += (uint16_t)length;
}

static void tell(const struct msn_turn *to, struct content_text text, uint32_t length, bool goes_on)
{
	const struct content_sink *sink = to->turn->sink;
	struct msn_half *half = to->half;
	struct msn_parties parties = msn_parties_of(to);
	uint64_t at64 = msn_at64(to);
	const struct content_message message = {
		.half = to->side,
		.goes_on = goes_on,
		.continued = half->open,
		.to_is_list = parties.to_is_list,
		.verbatim = text.length == length,
		.blank = ' ',
		.from = parties.from,
		.to = parties.to,
		.text = text,
		.begins64 = at64,
		.ends64 = at64 + length,
		.unit64 = half->unit64,
		.unit_ends64 = at64 + length,
	};

	sink->message(sink->ctx, &message);
	half->open = goes_on;
}

void msn_chat_close(const struct msn_turn *to)
{
	if (to->half->open)
		tell(to, (struct content_text){NULL, 0}, 0, false);
}

// A message of that many bytes is nobody's who means well: what is more is another one.
void msn_chat_take(
	const struct msn_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct msn_half *half = to->half;
	struct msn_chunked *slot = slot_at(to);
	struct content_text text = {bytes, length};
	uint8_t room[CONTENT_TEXT_BYTES];

	if (half->told == PIECE_BYTES) {
		msn_note(to, CONTENT_NOTE_HEAD_TOO_LONG, half->begin64);
		half->told = 0;
		half->unit64 = msn_at64(to);
	}
	if (length > PIECE_BYTES - half->told)
		length = PIECE_BYTES - half->told;
	text.length = length;
	if (slot && slot->length && !half->open) {
		memcpy(room, slot->tail, slot->length);
		memcpy(room + slot->length, bytes, length);
		text = (struct content_text){room, slot->length + length};
	}
	bool goes_on = length < half->left && half->told + length < PIECE_BYTES;

	half->told += length;
	tell(to, text, length, goes_on);
	if (slot)
		keep_tail(slot, bytes, length);
	*taken = length;
}
