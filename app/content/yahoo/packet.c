// SPDX-License-Identifier: BSD-3-Clause
// Bodies of YMSG: keys, which are decimal numbers, and values, each with C0 80 behind it. Several
// messages, or files, in one body come behind each other, with the same keys again.
#include "content/http/text.h"
#include "content/markup.h"
#include "content/yahoo/yahoo.h"

#define FILES_MAX 32 // that one packet names

enum { // what a key means where there is text
	KEY_OWN = 1,
	KEY_ROOM_FROM = 3,
	KEY_FROM = 4,
	KEY_TO = 5,
	KEY_CONTACT = 7,
	KEY_TEXT = 14,
	KEY_STATUS_TEXT = 19,
	KEY_FILE = 27,
	KEY_SIZE = 28,
	KEY_LIST_FROM = 31,
	KEY_HOST = 50,
	KEY_WHO = 54,
	KEY_CONFERENCE = 57,
	KEY_INVITE_TEXT = 58,
	KEY_ROOM = 104,
	KEY_ROOM_WHO = 109,
	KEY_ROOM_TEXT = 117,
	KEY_ROOM_INVITED = 118,
	KEY_ROOM_INVITES = 119,
};

static const struct form {
	uint16_t service;
	uint8_t text; // key; 0: it names files alone
} forms[] = {
	{0x03, KEY_STATUS_TEXT}, // away
	{0x06, KEY_TEXT},        // a message
	{0x0f, KEY_TEXT},        // who asks to be a contact
	{0x14, KEY_TEXT},        // of the service itself
	{0x18, KEY_INVITE_TEXT}, // conferences: invited, declined, invited again, a message
	{0x1a, KEY_TEXT},
	{0x1c, KEY_INVITE_TEXT},
	{0x1d, KEY_TEXT},
	{0x46, KEY_TEXT}, // files: the older way, with a text; between two clients
	{0x4d, KEY_TEXT},
	{0x83, KEY_TEXT},      // a contact is added
	{0x9d, KEY_ROOM_TEXT}, // rooms: invited, a message
	{0xa8, KEY_ROOM_TEXT},
	{0xc6, KEY_STATUS_TEXT},
	{0xd6, KEY_TEXT}, // who may be a contact
	{0xdc, 0},        // files: offered, where they are, taken
	{0xdd, 0},
	{0xde, 0},
};

static const struct form *form_of(uint16_t service)
{
	for (unsigned i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (forms[i].service == service)
			return &forms[i];
	return NULL;
}

bool yahoo_is_read(uint16_t service)
{
	return form_of(service);
}

struct packet {
	const struct yahoo_turn *to;
	const struct form *form;
	const uint8_t *body;
	uint64_t body64;
	struct content_text from, own, to_whom, room, text, file;
	uint64_t size;
	unsigned n_files;
};

static struct content_text party(struct content_text text)
{
	if (text.length > CONTENT_PARTY_BYTES)
		text.length = CONTENT_PARTY_BYTES;
	return text;
}

// At most as much of a text as a message has.
static void tell_piece(const struct packet *packet, struct content_text piece)
{
	const struct yahoo_turn *to = packet->to;
	const struct content_sink *sink = to->turn->sink;
	uint64_t at64 = packet->body64 + (uint64_t)(piece.bytes - packet->body);
	uint8_t plain[CONTENT_TEXT_BYTES];
	uint32_t length = markup_plain(MARKUP_YAHOO, piece.bytes, piece.length, plain);
	const struct content_message message = {
		.half = to->side,
		.verbatim = length == piece.length,
		.blank = ' ',
		.from = party(packet->from.length ? packet->from : packet->own),
		.to = party(packet->room.length ? packet->room : packet->to_whom),
		.text = {plain, length},
		.begins64 = at64,
		.ends64 = at64 + piece.length,
		.unit64 = at64,
		.unit_ends64 = at64 + piece.length,
	};

	if (length)
		sink->message(sink->ctx, &message);
}

#define OVERLAP 500 // of pieces of a text that is longer

// What was read of a message is all of it.
static void tell_text(struct packet *packet)
{
	struct content_text text = packet->text, piece;

	packet->text.length = 0;
	for (uint32_t at = 0; at < text.length; at += CONTENT_TEXT_BYTES - OVERLAP) {
		piece = http_text_from(text, at);
		bool last = piece.length <= CONTENT_TEXT_BYTES;

		if (!last)
			piece.length = CONTENT_TEXT_BYTES;
		tell_piece(packet, piece);
		if (last)
			return;
	}
}

static void tell_file(struct packet *packet)
{
	const struct yahoo_turn *to = packet->to;
	const struct content_sink *sink = to->turn->sink;
	struct content_file file = content_file_of_path(
		packet->file, party(packet->from.length ? packet->from : packet->own));

	if (!packet->file.length)
		return;
	packet->file.length = 0;
	if (packet->n_files++ == FILES_MAX) {
		yahoo_note(to, CONTENT_NOTE_TOO_MANY_REQUESTS, to->half->begin64);
		return;
	}
	if (file.name.length)
		file.name_source = CONTENT_NAME_OFFER;
	file.id = ++to->state->files;
	file.half = to->side;
	file.elsewhere = true;
	if (packet->size)
		file.size = packet->size;
	packet->size = 0;
	sink->file(sink->ctx, &file);
}

static void set_text(struct packet *packet, struct content_text value)
{
	tell_text(packet);
	packet->text = value;
}

static void take_names(struct packet *packet, uint64_t key, struct content_text value)
{
	switch (key) {
	case KEY_OWN: packet->own = value; break;
	case KEY_ROOM_FROM:
	case KEY_FROM:
	case KEY_HOST:
	case KEY_WHO:
	case KEY_ROOM_WHO:
	case KEY_ROOM_INVITES: packet->from = value; break;
	case KEY_TO:
	case KEY_CONTACT:
	case KEY_ROOM_INVITED: packet->to_whom = value; break;
	case KEY_CONFERENCE:
	case KEY_ROOM: packet->room = value; break;
	default: break;
	}
}

// Names that come again are those of the next message, or file.
static bool begins_anew(const struct packet *packet, uint64_t key)
{
	return key == KEY_LIST_FROM || (key == KEY_FROM && packet->from.length) ||
	       (key == KEY_TO && packet->to_whom.length);
}

static void take_pair(struct packet *packet, uint64_t key, struct content_text value)
{
	uint64_t size;

	if (begins_anew(packet, key)) {
		tell_text(packet);
		tell_file(packet);
	}
	if (packet->form->text && key == packet->form->text) {
		set_text(packet, value);
	} else if (key == KEY_FILE) {
		tell_file(packet);
		packet->file = value;
	} else if (key == KEY_SIZE) {
		if (http_number(value, &size))
			packet->size = size;
	} else {
		take_names(packet, key, value);
	}
}

// Up to C0 80, which is taken; false: there is none.
static bool take_field(struct content_text *rest, struct content_text *field)
{
	const uint8_t *end = rest->length ? memmem(rest->bytes, rest->length, "\xc0\x80", 2) : NULL;

	if (!end)
		return false;
	*field = (struct content_text){rest->bytes, (uint32_t)(end - rest->bytes)};
	*rest = http_text_from(*rest, field->length + 2);
	return true;
}

// A value without its end is one at the end of the body, as some read it.
void yahoo_packet_take(
	const struct yahoo_turn *to, uint16_t service, struct content_text body, uint64_t body64)
{
	struct packet packet = {
		.to = to, .form = form_of(service), .body = body.bytes, .body64 = body64};
	struct content_text key, value;
	uint64_t number;

	while (take_field(&body, &key)) {
		if (!http_number(key, &number)) {
			yahoo_note(to, CONTENT_NOTE_BAD_LINE, to->half->begin64);
			number = 0;
		}
		if (!take_field(&body, &value)) {
			value = body;
			body.length = 0;
			if (value.length)
				yahoo_note(to, CONTENT_NOTE_BAD_LINE, to->half->begin64);
		}
		take_pair(&packet, number, value);
	}
	tell_text(&packet);
	tell_file(&packet);
}
