// SPDX-License-Identifier: BSD-3-Clause
// The kinds of messages, and what each of their parts leads to.
#include "content/edonkey/message.h"

#include "content/edonkey/chat.h"
#include "content/edonkey/hashes.h"
#include "content/edonkey/known.h"
#include "content/edonkey/list.h"
#include "content/edonkey/reader.h"
#include "content/edonkey/transfer.h"
#include "content/memory.h"
#include "pipeline/vocab/octets.h"

enum { // what an identifier has
	HAS_HASH = 1,
	HAS_SIZE = 2,
	HAS_AICH = 4,
	AICH_BYTES = 20,
};

enum { // among several of a message
	NESTED_STATUS = 0x50,
	NESTED_NAME = 0x59,
	NESTED_AICH = 0x9d,
};

#define ID(proto, opcode, fixed, at)                          \
	{                                                     \
		proto, opcode, ED2K_WHAT_ID, fixed, at, false \
	}
#define ROW(proto, opcode, what, fixed, at)                       \
	{                                                         \
		proto, opcode, ED2K_WHAT_##what, fixed, at, false \
	}
#define WIDE(opcode, what, fixed)                                       \
	{                                                               \
		EDONKEY_EMULE, opcode, ED2K_WHAT_##what, fixed, 0, true \
	}
#define NONE ED2K_NO_HASH

static const struct ed2k_row rows[] = {
	// between clients
	ROW(EDONKEY_ED2K, 0x01, HELLO, 1, NONE),
	ROW(EDONKEY_ED2K, 0x46, PART, 24, 0),
	ID(EDONKEY_ED2K, 0x47, 16, 0), // parts wanted
	ROW(EDONKEY_ED2K, 0x49, DONE, 16, NONE),
	ROW(EDONKEY_ED2K, 0x4b, SHARED, 4, NONE),
	ROW(EDONKEY_ED2K, 0x4c, HELLO_ANSWER, 26, NONE),
	ROW(EDONKEY_ED2K, 0x4e, CHAT, 2, NONE),
	ID(EDONKEY_ED2K, 0x4f, 16, 0), // the file that is asked for
	ID(EDONKEY_ED2K, 0x50, 16, 0), // which parts of it are here
	ID(EDONKEY_ED2K, 0x51, 16, 0), // digests wanted
	ROW(EDONKEY_ED2K, 0x52, HASHES, 18, 0),
	ID(EDONKEY_ED2K, 0x54, 16, 0), // may it be sent
	ROW(EDONKEY_ED2K, 0x56, DONE, 0, NONE),
	ROW(EDONKEY_ED2K, 0x57, SENT, 0, NONE),
	ID(EDONKEY_ED2K, 0x58, 16, 0), // its name wanted
	ROW(EDONKEY_ED2K, 0x59, NAME, 18, 0),
	ROW(EDONKEY_ED2K, 0x60, SHARED_FOLDER, 2, NONE),
	ROW(EDONKEY_EMULE, 0x40, BLOCK, 24, 0),
	ROW(EDONKEY_EMULE, 0x61, COMMENT, 5, NONE),
	ID(EDONKEY_EMULE, 0x81, 16, 0), // sources wanted
	ID(EDONKEY_EMULE, 0x82, 16, 0),
	ID(EDONKEY_EMULE, 0x83, 19, 3),
	ID(EDONKEY_EMULE, 0x84, 17, 1),
	ID(EDONKEY_EMULE, 0x90, 16, 0), // preview wanted
	ID(EDONKEY_EMULE, 0x92, 16, 0), // several requests
	ROW(EDONKEY_EMULE, 0x93, ANSWERS, 16, 0),
	ID(EDONKEY_EMULE, 0x9b, 16, 0), // AICH: a part's digests, the file's
	ID(EDONKEY_EMULE, 0x9c, 16, 0),
	ID(EDONKEY_EMULE, 0x9d, 16, 0),
	ID(EDONKEY_EMULE, 0x9e, 16, 0),
	WIDE(0xa1, BLOCK, 28),
	WIDE(0xa2, PART, 32),
	ID(EDONKEY_EMULE, 0xa3, 16, 0),
	ROW(EDONKEY_EMULE, 0xa4, SIZED, 24, 0),
	ROW(EDONKEY_EMULE, 0xa9, IDENTIFIER, 1, NONE),
	ROW(EDONKEY_EMULE, 0xb0, IDENTIFIER_ANSWERS, 1, NONE),
	ROW(EDONKEY_EMULE, 0xb1, IDENTIFIER, 1, NONE),
	ROW(EDONKEY_EMULE, 0xb2, IDENTIFIER_HASHES, 1, NONE),
	// with servers
	ROW(EDONKEY_ED2K, 0x15, LIST, 4, NONE), // what the client shares
	ID(EDONKEY_ED2K, 0x19, 16, 0),          // sources wanted
	ID(EDONKEY_ED2K, 0x23, 16, 0),
	ROW(EDONKEY_ED2K, 0x33, LIST, 4, NONE), // what a search has found
	ROW(EDONKEY_ED2K, 0x38, CHAT, 2, NONE),
	ID(EDONKEY_ED2K, 0x42, 16, 0),
	ID(EDONKEY_ED2K, 0x44, 16, 0),
};

const struct ed2k_row *ed2k_row_of(uint8_t proto, uint8_t opcode)
{
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].proto == proto && rows[i].opcode == opcode)
			return &rows[i];
	return NULL;
}

void ed2k_message_begin(const struct ed2k_turn *to, const struct ed2k_row *row)
{
	struct ed2k_reader *reader = &to->half->reader;

	reader->row = row;
	reader->chat_told = false;
	if (!row)
		ed2k_rest(reader);
	else if (row->fixed)
		ed2k_want(reader, ED2K_STEP_FIRST, row->fixed);
	else
		ed2k_transfer_close(to, row->what == ED2K_WHAT_SENT ? to->side : !to->side);
	if (row && !row->fixed)
		ed2k_rest(reader);
}

// A name of so many bytes, which the message has, or has not.
static void name_follows(const struct ed2k_turn *to, uint32_t bytes, bool alone)
{
	bool known = to->rest != ED2K_REST_UNKNOWN;

	if (known && (alone ? bytes != to->rest : bytes > to->rest)) {
		ed2k_note(to, CONTENT_NOTE_BAD_LENGTH);
		bytes = bytes < to->rest ? bytes : to->rest;
	}
	ed2k_text(&to->half->reader, ED2K_STEP_NAME, bytes);
}

static void sized(const struct ed2k_turn *to, unsigned half, uint64_t size)
{
	struct ed2k_known *known;

	if (to->session->known && size && !(size >> EDONKEY_SIZE_BITS)) {
		known = ed2k_known_claim(to, to->half->reader.hash, half, false);
		known->size = size;
	}
}

// What the identifier has is known: its first byte says how much of it follows.
static void identifier_follows(struct ed2k_reader *reader)
{
	reader->has = reader->field[0];
	if (reader->has & HAS_HASH)
		ed2k_want(reader, ED2K_STEP_IDENTIFIER,
			EDONKEY_HASH + (reader->has & HAS_SIZE ? 8 : 0));
	else
		ed2k_rest(reader);
}

// Who answers has the file, who asks says what it looks for.
static void take_identifier(const struct ed2k_turn *to)
{
	struct ed2k_reader *reader = &to->half->reader;
	bool asks = reader->row->what == ED2K_WHAT_IDENTIFIER;

	memcpy(reader->hash, reader->field, EDONKEY_HASH);
	ed2k_id(to, reader->hash);
	if (reader->has & HAS_SIZE)
		sized(to, asks ? !to->side : to->side, ed2k_le64(reader->field + EDONKEY_HASH));
	if (asks)
		ed2k_rest(reader);
	else
		ed2k_pass(reader, reader->has & HAS_AICH ? AICH_BYTES : 0,
			reader->row->what == ED2K_WHAT_IDENTIFIER_HASHES ? ED2K_THEN_HASHES
									 : ED2K_THEN_NESTED);
}

static void take_hello(const struct ed2k_turn *to)
{
	struct ed2k_reader *reader = &to->half->reader;
	uint32_t tags = octets_le32(reader->field + reader->have - 4);

	ed2k_tags_begin(to, tags);
}

// Behind the file's id.
static void take_about(const struct ed2k_turn *to)
{
	struct ed2k_reader *reader = &to->half->reader;
	const struct ed2k_row *row = reader->row;
	const uint8_t *behind = reader->field + EDONKEY_HASH;

	memcpy(reader->hash, reader->field + row->hash_at, EDONKEY_HASH);
	ed2k_id(to, reader->hash);
	switch (row->what) {
	case ED2K_WHAT_NAME: name_follows(to, octets_le16(behind), true); break;
	case ED2K_WHAT_ANSWERS: ed2k_want(reader, ED2K_STEP_NESTED, 1); break;
	case ED2K_WHAT_PART: ed2k_part_begin(to, row->wide); break;
	case ED2K_WHAT_BLOCK: ed2k_block_begin(to, row->wide); break;
	case ED2K_WHAT_HASHES: ed2k_hashes_begin(to); break;
	case ED2K_WHAT_SIZED: sized(to, !to->side, ed2k_le64(behind)); // fall through
	default: ed2k_rest(reader); break;
	}
}

// The first field is whole.
static void take_first(const struct ed2k_turn *to)
{
	struct ed2k_reader *reader = &to->half->reader;
	const uint8_t *field = reader->field;

	switch (reader->row->what) {
	case ED2K_WHAT_IDENTIFIER:
	case ED2K_WHAT_IDENTIFIER_ANSWERS:
	case ED2K_WHAT_IDENTIFIER_HASHES: identifier_follows(reader); break;
	case ED2K_WHAT_LIST:
	case ED2K_WHAT_SHARED: ed2k_list_begin(to, octets_le32(field)); break;
	case ED2K_WHAT_SHARED_FOLDER: ed2k_pass(reader, octets_le16(field), ED2K_THEN_COUNT); break;
	case ED2K_WHAT_HELLO: // between clients the length of the hash comes first
		ed2k_want(reader, ED2K_STEP_HELLO, field[0] == EDONKEY_HASH ? 26 : 25);
		break;
	case ED2K_WHAT_HELLO_ANSWER: take_hello(to); break;
	case ED2K_WHAT_CHAT: ed2k_chat_begin(to, octets_le16(field)); break;
	case ED2K_WHAT_COMMENT: ed2k_chat_begin(to, octets_le32(field + 1)); break;
	case ED2K_WHAT_DONE:
		ed2k_transfer_close(to, !to->side);
		ed2k_rest(reader);
		break;
	default: take_about(to); break;
	}
}

static void take_nested(struct ed2k_reader *reader)
{
	switch (reader->field[0]) {
	case NESTED_NAME: ed2k_want(reader, ED2K_STEP_NESTED_NAME, 2); break;
	case NESTED_STATUS: ed2k_want(reader, ED2K_STEP_NESTED_STATUS, 2); break;
	case NESTED_AICH: ed2k_pass(reader, AICH_BYTES, ED2K_THEN_NESTED); break;
	default: ed2k_rest(reader); break;
	}
}

static void take_field(const struct ed2k_turn *to)
{
	struct ed2k_reader *reader = &to->half->reader;
	const uint8_t *field = reader->field;

	switch (reader->step) {
	case ED2K_STEP_FIRST: take_first(to); break;
	case ED2K_STEP_HELLO: take_hello(to); break;
	case ED2K_STEP_NESTED: take_nested(reader); break;
	case ED2K_STEP_NESTED_NAME: name_follows(to, octets_le16(field), false); break;
	case ED2K_STEP_NESTED_STATUS: // a bit for each part
		ed2k_pass(reader, (octets_le16(field) + 7u) / 8, ED2K_THEN_NESTED);
		break;
	case ED2K_STEP_IDENTIFIER: take_identifier(to); break;
	case ED2K_STEP_HASHES_OF: // those of MD4 come first
		if (field[0] & 1)
			ed2k_want(reader, ED2K_STEP_HASHES_HEAD, EDONKEY_HASH + 2);
		else
			ed2k_rest(reader);
		break;
	case ED2K_STEP_HASHES_HEAD: ed2k_hashes_begin(to); break;
	default: ed2k_list_arrived(to); break;
	}
}

static void take_passed(const struct ed2k_turn *to)
{
	struct ed2k_reader *reader = &to->half->reader;

	switch (reader->then) {
	case ED2K_THEN_NESTED: ed2k_want(reader, ED2K_STEP_NESTED, 1); break;
	case ED2K_THEN_COUNT: ed2k_want(reader, ED2K_STEP_COUNT, 4); break;
	case ED2K_THEN_HASHES: ed2k_want(reader, ED2K_STEP_HASHES_OF, 1); break;
	default: ed2k_list_passed(to); break;
	}
}

static void give_text(const struct ed2k_turn *to)
{
	content_give(to->turn->memory, to->half->reader.text);
	to->half->reader.text = NULL;
}

// A name or nick is whole.
static void take_text(const struct ed2k_turn *to)
{
	struct ed2k_reader *reader = &to->half->reader;
	const struct content_text text = {reader->text, reader->text_length};
	uint8_t what = reader->row->what;

	if (what == ED2K_WHAT_NAME || what == ED2K_WHAT_ANSWERS ||
		what == ED2K_WHAT_IDENTIFIER_ANSWERS) {
		if (text.length)
			ed2k_known_name(to, ed2k_known_claim(to, reader->hash, to->side, false),
				text, reader->text_cut);
		if (what == ED2K_WHAT_NAME)
			ed2k_rest(reader);
		else
			ed2k_want(reader, ED2K_STEP_NESTED, 1);
	} else {
		ed2k_list_named(to, text, reader->text_cut);
	}
	give_text(to);
}

// Of a name that is longer than there is room for, its end is kept.
static enum content_fed gather_text(
	const struct ed2k_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *used)
{
	struct ed2k_reader *reader = &to->half->reader;
	uint32_t here = length < reader->left ? length : reader->left;

	if (reader->left > CONTENT_NAME_BYTES && !reader->text_length) {
		uint32_t skips = reader->left - CONTENT_NAME_BYTES;

		here = here < skips ? here : skips;
		reader->left -= here;
		*used += here;
		return CONTENT_FED;
	}
	if (!reader->text)
		reader->text = content_take(to->turn->memory, CONTENT_NAME_BYTES);
	// what it names is kept: where there is no room, its last byte is not taken
	if (!reader->text || (reader->step == ED2K_STEP_NAME && !ed2k_known_ready(to)))
		return CONTENT_NO_MEMORY;
	memcpy(reader->text + reader->text_length, bytes, here);
	reader->text_length += here;
	reader->left -= here;
	*used += here;
	return CONTENT_FED;
}

// The field at hand has a size, which is kept.
static bool says_size(const struct ed2k_reader *reader)
{
	return (reader->step == ED2K_STEP_FIRST && reader->row->what == ED2K_WHAT_SIZED) ||
	       (reader->step == ED2K_STEP_IDENTIFIER && reader->has & HAS_SIZE);
}

static enum content_fed gather_field(
	const struct ed2k_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *used)
{
	struct ed2k_reader *reader = &to->half->reader;

	if (says_size(reader) && !ed2k_known_ready(to))
		return CONTENT_NO_MEMORY;
	// a frame that is compressed may list thousands of files
	if (reader->step == ED2K_STEP_ENTRY && !to->turn->output)
		return CONTENT_MORE;
	content_gather(reader->field, &reader->have, reader->want, bytes, length, used);
	return CONTENT_FED;
}

// One step, of at least one byte, if the step stays the same.
static enum content_fed take_step(
	const struct ed2k_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *used)
{
	struct ed2k_reader *reader = &to->half->reader;

	switch (reader->step) {
	case ED2K_STEP_REST: *used = length; return CONTENT_FED;
	case ED2K_STEP_SKIP:
		*used = length < reader->left ? length : reader->left;
		reader->left -= *used;
		return CONTENT_FED;
	case ED2K_STEP_NAME:
	case ED2K_STEP_NICK: return gather_text(to, bytes, length, used);
	case ED2K_STEP_CHAT: return ed2k_chat_take(to, bytes, length, used);
	case ED2K_STEP_HASHES: return ed2k_hashes_take(to, bytes, length, used);
	case ED2K_STEP_DATA: return ed2k_part_take(to, bytes, length, used);
	case ED2K_STEP_BLOCK: return ed2k_block_take(to, bytes, length, used);
	default: return gather_field(to, bytes, length, used);
	}
}

static bool is_field(uint8_t step)
{
	return step >= ED2K_STEP_FIRST;
}

// What needs no more bytes is done with.
static void settle(const struct ed2k_turn *to)
{
	struct ed2k_reader *reader = &to->half->reader;

	for (;;) {
		if (is_field(reader->step) && reader->have == reader->want)
			take_field(to);
		else if (reader->step == ED2K_STEP_SKIP && !reader->left)
			take_passed(to);
		else if ((reader->step == ED2K_STEP_NAME || reader->step == ED2K_STEP_NICK) &&
			 !reader->left)
			take_text(to);
		else
			return;
	}
}

enum content_fed ed2k_message_take(
	struct ed2k_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *used)
{
	enum content_fed fed = CONTENT_FED;
	uint32_t at = 0;

	while (fed == CONTENT_FED && at < length) {
		uint32_t n = 0;

		fed = take_step(to, bytes + at, length - at, &n);
		at += n;
		to->at64 += to->plain ? n : 0;
		to->rest -= to->rest == ED2K_REST_UNKNOWN ? 0 : n;
		settle(to);
	}
	*used += at;
	return fed;
}

void ed2k_message_lose(const struct ed2k_turn *to, uint32_t length)
{
	struct ed2k_reader *reader = &to->half->reader;

	switch (reader->step) {
	case ED2K_STEP_DATA: ed2k_part_lose(to, length); break;
	case ED2K_STEP_BLOCK: ed2k_block_lose(to); break;
	default: ed2k_message_end(to); break;
	}
}

void ed2k_message_end(const struct ed2k_turn *to)
{
	struct ed2k_reader *reader = &to->half->reader;

	ed2k_chat_end(to);
	ed2k_hashes_drop(to);
	give_text(to);
	ed2k_rest(reader);
}
