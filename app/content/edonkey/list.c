// SPDX-License-Identifier: BSD-3-Clause
// Reads entries and tags.
#include "content/edonkey/list.h"

#include "content/edonkey/known.h"
#include "content/edonkey/message.h"
#include "content/edonkey/reader.h"
#include "pipeline/vocab/octets.h"

// Of files of the sender names and sizes are kept; of what others have, it only names the ids.
static bool keeps(const struct ed2k_reader *reader)
{
	return reader->row->what == ED2K_WHAT_SHARED ||
	       reader->row->what == ED2K_WHAT_SHARED_FOLDER;
}

static bool is_hello(const struct ed2k_reader *reader)
{
	return reader->row->what == ED2K_WHAT_HELLO || reader->row->what == ED2K_WHAT_HELLO_ANSWER;
}

static struct ed2k_known *known_of(const struct ed2k_turn *to)
{
	if (!to->session->known)
		return NULL;
	return ed2k_known_claim(to, to->half->reader.hash, to->side, true);
}

// The entry is over: the next one.
static void next_entry(const struct ed2k_turn *to)
{
	struct ed2k_reader *reader = &to->half->reader;
	struct ed2k_known *known;

	if (keeps(reader) && reader->size != CONTENT_SIZE_UNKNOWN) {
		known = known_of(to);
		if (known)
			known->size = reader->size;
	}
	reader->size = CONTENT_SIZE_UNKNOWN;
	if (!reader->entries) {
		ed2k_rest(reader);
		return;
	}
	reader->entries--;
	ed2k_want(reader, ED2K_STEP_ENTRY, ED2K_ENTRY_BYTES);
}

static void next_tag(const struct ed2k_turn *to)
{
	struct ed2k_reader *reader = &to->half->reader;

	if (!reader->tags) {
		next_entry(to);
		return;
	}
	reader->tags--;
	ed2k_want(reader, ED2K_STEP_TAG, 1);
}

void ed2k_list_begin(const struct ed2k_turn *to, uint32_t count)
{
	to->half->reader.entries = count;
	to->half->reader.size = CONTENT_SIZE_UNKNOWN;
	next_entry(to);
}

void ed2k_tags_begin(const struct ed2k_turn *to, uint32_t count)
{
	to->half->reader.entries = 0;
	to->half->reader.tags = count;
	next_tag(to);
}

static void take_entry(const struct ed2k_turn *to)
{
	struct ed2k_reader *reader = &to->half->reader;
	const struct content_sink *sink = to->turn->sink;
	const struct content_id id = content_id_of(CONTENT_ID_ED2K, reader->field);

	memcpy(reader->hash, reader->field, EDONKEY_HASH);
	reader->tags = octets_le32(reader->field + ED2K_ENTRY_BYTES - 4);
	content_charge(to->turn, CONTENT_TOLD_BYTES);
	sink->id(sink->ctx, &id, to->side);
	next_tag(to);
}

// A value of so many bytes.
static void take_value(const struct ed2k_turn *to, uint32_t bytes)
{
	struct ed2k_reader *reader = &to->half->reader;
	bool names = reader->tag_name == EDONKEY_NAME && edonkey_is_string(reader->tag_type);
	bool sizes = reader->tag_name == EDONKEY_SIZE || reader->tag_name == EDONKEY_SIZE_HIGH;

	if (names && is_hello(reader))
		ed2k_text(reader, ED2K_STEP_NICK, bytes);
	else if (names && keeps(reader))
		ed2k_text(reader, ED2K_STEP_NAME, bytes);
	else if (sizes && keeps(reader) && edonkey_is_number(reader->tag_type))
		ed2k_want(reader, ED2K_STEP_TAG_NUMBER, bytes);
	else
		ed2k_pass(reader, bytes, ED2K_THEN_TAG);
}

// Type and name of a tag are known.
static void take_head(const struct ed2k_turn *to)
{
	struct ed2k_reader *reader = &to->half->reader;
	uint32_t length = edonkey_value_length_bytes(reader->tag_type);
	uint32_t bytes = edonkey_value_bytes(reader->tag_type);

	if (length)
		ed2k_want(reader, ED2K_STEP_TAG_LENGTH, length);
	else if (bytes)
		take_value(to, bytes);
	else
		ed2k_rest(reader); // where it ends nobody knows
}

static void take_type(const struct ed2k_turn *to)
{
	struct ed2k_reader *reader = &to->half->reader;
	bool is_short = reader->field[0] & EDONKEY_TAG_SHORT_NAME;

	reader->tag_type = reader->field[0] & (uint8_t)~EDONKEY_TAG_SHORT_NAME;
	reader->tag_name = 0;
	ed2k_want(reader, is_short ? ED2K_STEP_TAG_NAME : ED2K_STEP_TAG_NAME_LENGTH,
		is_short ? 1 : 2);
}

static uint64_t field_number(const struct ed2k_reader *reader)
{
	uint64_t value = 0;

	for (uint32_t i = reader->have; i > 0; i--)
		value = value << 8 | reader->field[i - 1];
	return value;
}

// Where the size is cut in two the lower half comes first.
static void take_number(const struct ed2k_turn *to)
{
	struct ed2k_reader *reader = &to->half->reader;
	uint64_t value = field_number(reader);

	if (reader->tag_name == EDONKEY_SIZE)
		reader->size = value;
	else if (reader->size != CONTENT_SIZE_UNKNOWN)
		reader->size = (reader->size & UINT32_MAX) | value << 32;
	next_tag(to);
}

void ed2k_list_arrived(const struct ed2k_turn *to)
{
	struct ed2k_reader *reader = &to->half->reader;
	uint32_t length;

	switch (reader->step) {
	case ED2K_STEP_COUNT: ed2k_list_begin(to, octets_le32(reader->field)); break;
	case ED2K_STEP_ENTRY: take_entry(to); break;
	case ED2K_STEP_TAG: take_type(to); break;
	case ED2K_STEP_TAG_NAME_LENGTH:
		length = octets_le16(reader->field);
		if (length == 1)
			ed2k_want(reader, ED2K_STEP_TAG_NAME, 1);
		else if (length)
			ed2k_pass(reader, length, ED2K_THEN_TAG_VALUE);
		else
			ed2k_rest(reader);
		break;
	case ED2K_STEP_TAG_NAME:
		reader->tag_name = reader->field[0];
		take_head(to);
		break;
	case ED2K_STEP_TAG_LENGTH: take_value(to, (uint32_t)field_number(reader)); break;
	case ED2K_STEP_TAG_NUMBER: take_number(to); break;
	default: break;
	}
}

void ed2k_list_passed(const struct ed2k_turn *to)
{
	if (to->half->reader.then == ED2K_THEN_TAG_VALUE)
		take_head(to);
	else
		next_tag(to);
}

void ed2k_list_named(const struct ed2k_turn *to, struct content_text name, bool cut)
{
	struct ed2k_known *known = is_hello(&to->half->reader) ? NULL : known_of(to);
	struct ed2k_half *half = to->half;

	if (is_hello(&half->reader)) {
		half->nick_length =
			(uint8_t)(name.length < CONTENT_PARTY_BYTES ? name.length
								    : CONTENT_PARTY_BYTES);
		if (half->nick_length)
			memcpy(half->nick, name.bytes, half->nick_length);
	} else if (known) {
		ed2k_known_name(to, known, name, cut);
	}
	next_tag(to);
}
