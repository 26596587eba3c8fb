// SPDX-License-Identifier: BSD-3-Clause
// The head of a mail, or of a part, byte by byte: fields are gathered, folded ones put together. A
// line that is no field begins the body, as most readers take it (`bad_line`).
#include "content/mime/work.h"

#include <string.h>

static void begin_field(struct mime_field *field)
{
	field->part = MIME_FIELD_START;
	field->length = field->value_at = 0;
	field->cut = field->said = field->torn = false;
}

void mime_head_begin(const struct mime_call *to, enum mime_head_of of)
{
	struct mime *mime = to->mime;

	memset(&mime->head, 0, offsetof(struct mime_head, names.text));
	mime->head.charset = CHARSET_UNKNOWN;
	mime->in_head = true;
	mime->head_of = (uint8_t)of;
	begin_field(&mime->field);
}

static void keep(struct mime_field *field, const uint8_t *bytes, uint32_t length)
{
	uint32_t room = (uint32_t)sizeof(field->bytes) - field->length;

	if (length > room) {
		length = room;
		field->cut = true;
	}
	memcpy(field->bytes + field->length, bytes, length);
	field->length += (uint16_t)length;
}

static void finish_field(const struct mime_call *to)
{
	struct mime_field *field = &to->mime->field;

	if (field->part == MIME_FIELD_START && field->length)
		mime_field_take(to);
	begin_field(field);
}

// The line at hand is the first one of the body, or of the mail that is the body.
static void fall_out(const struct mime_call *to, uint64_t at64)
{
	struct mime *mime = to->mime;
	struct mime_field *field = &mime->field;
	uint8_t bytes[MIME_FIELD_NAME + 2];
	uint32_t length = field->length < sizeof(bytes) ? field->length : (uint32_t)sizeof(bytes);
	uint64_t begins64 = field->value64;

	memcpy(bytes, field->bytes, length);
	mime_note(to, CONTENT_NOTE_BAD_LINE, at64);
	mime->in_head = false;
	mime_part_open(to, begins64);
	if (!mime->in_head) {
		mime_part_put(to, bytes, length, begins64);
		return;
	}
	// the head of a mail within has no type: it is left for a text at most once
	uint32_t n = mime_head_put(to, bytes, length, begins64);

	if (n < length)
		mime_part_put(to, bytes + n, length - n, mime_place(to, begins64, n));
}

static bool is_name(uint8_t byte)
{
	return byte > ' ' && byte < 0x7f && byte != ':';
}

// Of the line that a mailbox puts before a mail (RFC 4155), which is no field.
static bool is_envelope(const struct mime_field *field)
{
	static const char *const begins[] = {"From ", ">From "};

	for (unsigned i = 0; i < 2; i++)
		if (field->length == strlen(begins[i]) &&
			!memcmp(field->bytes, begins[i], field->length))
			return true;
	return false;
}

enum taken {
	TAKEN,
	NO_FIELD, // nor is it a line of a head
};

// A byte before the field's colon, which is kept already.
static enum taken take_name(const struct mime_call *to, uint8_t byte, uint64_t at64)
{
	struct mime_field *field = &to->mime->field;
	bool blank = byte == ' ' || byte == '\t';

	if (byte == ':' && field->length > 1) {
		field->part = MIME_FIELD_VALUE;
		field->value_at = field->length;
		field->value64 = field->value_ends64 = mime_place(to, at64, 1);
		return TAKEN;
	}
	if (blank && is_envelope(field)) {
		field->part = MIME_FIELD_VALUE;
		field->value_at = 0;
		return TAKEN;
	}
	if (blank)
		field->part = MIME_FIELD_COLON;
	else if (field->part == MIME_FIELD_COLON || !is_name(byte))
		return NO_FIELD;
	return field->length <= MIME_FIELD_NAME ? TAKEN : NO_FIELD;
}

// Where its value lies, without blanks around.
static void place_value(const struct mime_call *to, uint8_t byte, uint64_t at64)
{
	struct mime_field *field = &to->mime->field;

	if (byte == ' ' || byte == '\t')
		return;
	if (!field->said)
		field->value64 = at64;
	field->said = true;
	field->value_ends64 = mime_place(to, at64, 1);
}

// The first byte of a line.
static void begin_line(const struct mime_call *to, uint8_t byte, uint64_t at64)
{
	struct mime_field *field = &to->mime->field;

	if ((byte == ' ' || byte == '\t') && field->length) {
		field->part = MIME_FIELD_VALUE;
		return;
	}
	finish_field(to);
	field->part = MIME_FIELD_NAMED;
	field->value64 = at64;
}

uint32_t mime_head_put(
	const struct mime_call *to, const uint8_t *bytes, uint32_t length, uint64_t at64)
{
	struct mime_field *field = &to->mime->field;

	for (uint32_t i = 0; i < length; i++) {
		uint64_t here64 = mime_place(to, at64, i);

		if (!bytes[i])
			mime_note(to, CONTENT_NOTE_NUL_IN_HEAD, here64);
		if (field->part == MIME_FIELD_START)
			begin_line(to, bytes[i], here64);
		keep(field, bytes + i, 1);
		if (field->part == MIME_FIELD_VALUE) {
			place_value(to, bytes[i], here64);
		} else if (take_name(to, bytes[i], here64) == NO_FIELD) {
			fall_out(to, here64);
			return i + 1;
		}
	}
	return length;
}

void mime_head_eol(const struct mime_call *to, enum mime_eol eol, uint64_t at64, uint64_t next64)
{
	struct mime *mime = to->mime;
	struct mime_field *field = &mime->field;

	if (field->part == MIME_FIELD_START) { // the line is empty
		finish_field(to);
		mime->in_head = false;
		mime_part_open(to, next64);
	} else if (field->part != MIME_FIELD_VALUE) { // it had no colon
		fall_out(to, at64);
		if (mime->in_head) {
			mime_head_eol(to, eol, at64, next64);
			return;
		}
		mime->lines.eol = (uint8_t)eol;
		mime->lines.eol64 = at64;
	} else {
		if (!field->value_at) // an envelope's
			begin_field(field);
		field->part = MIME_FIELD_START;
	}
}

// It ends without an empty line.
void mime_head_leave(const struct mime_call *to)
{
	finish_field(to);
	mime_subject_tell(to);
	to->mime->in_head = false;
}
