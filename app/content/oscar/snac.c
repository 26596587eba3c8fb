// SPDX-License-Identifier: BSD-3-Clause
// SNACs in which people write to each other (ICBM on channels 1, 2 and 4; chat rooms; what waited
// for who was offline), and those that say who is logged in, and in which room.
#include <stdio.h>

#include "content/oscar/oscar.h"
#include "content/oscar/tlv.h"

#define SNAC(family, subtype) ((uint32_t)(family) << 16 | (subtype))
#define CHARSET_RAW           0xffff // bytes of nobody says what
#define CHARSET_WIDE          2
#define MESSAGES              8 // of one SNAC

enum {
	SELF_INFO = SNAC(1, 0x0f),
	ICBM_SEND = SNAC(4, 6),
	ICBM_COMES = SNAC(4, 7),
	ROOM_INFO = SNAC(0x0e, 2),
	ROOM_SEND = SNAC(0x0e, 5),
	ROOM_COMES = SNAC(0x0e, 6),
	ICQ_COMES = SNAC(0x15, 3),
	LOGIN = SNAC(0x17, 2),
	LOGIN_KEY = SNAC(0x17, 6),
};

enum {
	TLV_TEXT = 2,
	TLV_MORE = 5, // a rendezvous, or a message of older clients
	TLV_USER = 3,
	TLV_ROOM_TEXT = 1,
	TLV_ROOM_CHARSET = 2,
	FRAGMENT_TEXT = 1,
	ICQ_OFFLINE = 0x41,
};

bool oscar_snac_is_read(uint16_t family, uint16_t subtype)
{
	switch (SNAC(family, subtype)) {
	case SELF_INFO:
	case ICBM_SEND:
	case ICBM_COMES:
	case ROOM_INFO:
	case ROOM_SEND:
	case ROOM_COMES:
	case ICQ_COMES:
	case LOGIN:
	case LOGIN_KEY: return true;
	default: return false;
	}
}

static struct content_text own_of(const struct oscar_state *state)
{
	return (struct content_text){state->own, state->own_length};
}

static void set_name(uint8_t *name, uint8_t *length, struct content_text text)
{
	if (!text.length || text.length > OSCAR_NAME_BYTES)
		return;
	memcpy(name, text.bytes, text.length);
	*length = (uint8_t)text.length;
}

static struct content_text until_nul(struct content_text text)
{
	text.length = http_until(text, 0);
	return text;
}

// Fragments: id u8, version u8, length u16; of a text, charset u16 and a part of it u16 come first.
// Where there are several of it a client shows them as one.
static void take_fragments(
	const struct oscar_turn *to, struct oscar_text *text, struct content_text rest)
{
	uint8_t room[CONTENT_TEXT_BYTES];
	uint32_t n = 0;
	unsigned found = 0;

	while (rest.length >= 4) {
		uint32_t length = octets_be16(rest.bytes + 2);
		struct content_text value = http_text_from(rest, 4);
		bool is_text = rest.bytes[0] == FRAGMENT_TEXT;

		if (length > value.length) {
			oscar_note(to, CONTENT_NOTE_BAD_LENGTH, to->half->begin64);
			length = value.length;
		}
		value.length = length;
		rest = http_text_from(rest, 4 + length);
		if (!is_text || length < 4)
			continue;
		text->charset = octets_be16(value.bytes);
		text->bytes = http_text_from(value, 4);
		n += oscar_text_utf8(text, room + n, (uint32_t)sizeof(room) - n);
		found++;
	}
	text->pieces = found > 1;
	if (text->pieces) {
		text->bytes = (struct content_text){room, n};
		text->charset = CHARSET_RAW;
	}
	if (text->pieces && n > sizeof(room) - 4) // some of it may be missing
		oscar_note(to, CONTENT_NOTE_HEAD_TOO_LONG, to->half->begin64);
	if (found)
		oscar_text_tell(to, text);
}

// UIN u32, type u8, flags u8, length u16, little endian; the text, NUL.
static void take_old(
	const struct oscar_turn *to, struct oscar_text *text, struct content_text value)
{
	if (value.length < 8)
		return;
	uint32_t length = octets_le16(value.bytes + 6);

	value = http_text_from(value, 8);
	if (value.length > length)
		value.length = length;
	text->charset = CHARSET_RAW;
	text->bytes = until_nul(value);
	oscar_text_tell(to, text);
}

// A field of a message. False: no memory.
static bool take_field(const struct oscar_turn *to, struct oscar_text *text, uint16_t channel,
	struct content_text value)
{
	switch (channel) {
	case 1: take_fragments(to, text, value); return true;
	case 2: return oscar_rendezvous_take(to, text->snac, value, text->from, text->to);
	case 4: take_old(to, text, value); return true;
	default: return true;
	}
}

// What comes has fields of its sender before those of the message.
static void skip_sender(struct content_text *rest)
{
	struct oscar_tlv tlv;

	if (rest->length < 4)
		return;
	uint16_t count = octets_be16(rest->bytes + 2);

	*rest = http_text_from(*rest, 4);
	while (count-- && oscar_tlv_next(rest, &tlv))
		;
}

static bool take_icbm(const struct oscar_turn *to, const struct oscar_snac *snac, bool comes)
{
	struct content_text rest = http_text_from(snac->body, 10), name, own = own_of(to->state);
	struct oscar_tlv tlv;
	unsigned n = 0;

	if (snac->body.length < 10 || !oscar_name_take(&rest, &name))
		return true;
	uint16_t channel = octets_be16(snac->body.bytes + 8);
	struct oscar_text text = {
		.snac = snac, .from = comes ? name : own, .to = comes ? own : name};

	if (comes)
		skip_sender(&rest);
	while (oscar_tlv_next(&rest, &tlv)) {
		if (tlv.type != (channel == 1 ? TLV_TEXT : TLV_MORE))
			continue;
		if (n++ == MESSAGES) {
			oscar_note(to, CONTENT_NOTE_TOO_MANY_REQUESTS, to->half->begin64);
			return true;
		}
		if (!take_field(to, &text, channel, tlv.value))
			return false;
	}
	if (rest.length) // its last field goes beyond it
		oscar_note(to, CONTENT_NOTE_BAD_LENGTH, to->half->begin64);
	return true;
}

// Of a room: cookie, channel; who writes, and TLVs of the text.
static void take_room(const struct oscar_turn *to, const struct oscar_snac *snac, bool comes)
{
	struct content_text rest = http_text_from(snac->body, 10), user, inside;
	struct oscar_state *state = to->state;
	struct oscar_text text = {.snac = snac,
		.from = own_of(state),
		.to = {state->room, state->room_length},
		.charset = CHARSET_RAW};

	user = oscar_tlv_find(rest, TLV_USER);
	inside = oscar_tlv_find(rest, TLV_MORE);
	if (comes && !oscar_name_take(&user, &text.from))
		text.from.length = 0;
	text.bytes = oscar_tlv_find(inside, TLV_ROOM_TEXT);
	if (http_begins(oscar_tlv_find(inside, TLV_ROOM_CHARSET), "unicode"))
		text.charset = CHARSET_WIDE;
	oscar_text_tell(to, &text);
}

// Length u16, UIN u32, kind u16, number u16, UIN u32 of who wrote, when (6), type u8, flags u8,
// length u16: little endian; the text.
static void take_waited(const struct oscar_turn *to, const struct oscar_snac *snac)
{
	struct content_text value = oscar_tlv_find(snac->body, 1);
	struct oscar_text text = {.snac = snac, .to = own_of(to->state), .charset = CHARSET_RAW};
	char from[12];

	if (value.length < 24 || octets_le16(value.bytes + 6) != ICQ_OFFLINE)
		return;
	uint32_t length = octets_le16(value.bytes + 22);
	int n = snprintf(from, sizeof(from), "%u", octets_le32(value.bytes + 10));

	text.from = (struct content_text){(const uint8_t *)from, (uint32_t)n};
	value = http_text_from(value, 24);
	if (value.length > length)
		value.length = length;
	text.bytes = until_nul(value);
	oscar_text_tell(to, &text);
}

static void take_names(const struct oscar_turn *to, uint32_t kind, struct content_text body)
{
	struct oscar_state *state = to->state;
	struct content_text name = {NULL, 0};

	if (kind == ROOM_INFO) { // exchange u16
		body = http_text_from(body, 2);
		if (oscar_name_take(&body, &name))
			set_name(state->room, &state->room_length, name);
		return;
	}
	if (kind != SELF_INFO)
		name = oscar_tlv_find(body, 1);
	else if (!oscar_name_take(&body, &name))
		return;
	set_name(state->own, &state->own_length, name);
}

// What one end writes counts of that end alone.
bool oscar_snac_take(const struct oscar_turn *to, const struct oscar_snac *snac)
{
	uint32_t kind = SNAC(snac->family, snac->subtype);

	switch (kind) {
	case ICBM_SEND:
	case ICBM_COMES: return take_icbm(to, snac, kind == ICBM_COMES);
	case ROOM_SEND:
	case ROOM_COMES: take_room(to, snac, kind == ROOM_COMES); break;
	case ICQ_COMES: take_waited(to, snac); break;
	default: take_names(to, kind, snac->body); break;
	}
	return true;
}
