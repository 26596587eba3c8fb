// SPDX-License-Identifier: BSD-3-Clause
// What fields of a head say. Of a field that stands there twice the first counts, as most readers
// have it; where the second says something else that is noted.
#include "content/http/text.h"
#include "content/mime/work.h"
#include "content/text_decode.h"

static uint32_t hash_of(struct content_text text)
{
	uint32_t hash = 2166136261u;

	for (uint32_t i = 0; i < text.length; i++)
		if (!http_is_blank(text.bytes[i]))
			hash = (hash ^ octets_lower(text.bytes[i])) * 16777619u;
	return hash;
}

// The first word of a value, without comments (RFC 822), up to what ends it.
static uint32_t take_word(struct content_text value, char end, uint8_t *out, uint32_t size)
{
	uint32_t depth = 0, n = 0;

	for (uint32_t i = 0; i < value.length; i++) {
		uint8_t byte = value.bytes[i];

		if (byte == '(') {
			depth++;
		} else if (byte == ')' && depth) {
			depth--;
		} else if (!depth && byte == (uint8_t)end) {
			break;
		} else if (!depth && n < size && !(http_is_blank(byte) && !n)) {
			out[n++] = octets_lower(byte);
		}
	}
	while (n && http_is_blank(out[n - 1]))
		n--;
	return n;
}

static void take_boundary(
	const struct mime_call *to, struct mime_head *head, const struct mime_parameter *parameter)
{
	uint8_t bytes[MIME_FIELD_BYTES];
	struct content_text text = {bytes, mime_unquote(parameter->value, bytes)};

	while (text.length && http_is_blank(text.bytes[text.length - 1]))
		text.length--;
	if (head->boundary_length) {
		if (!http_same(text, (struct content_text){head->boundary, head->boundary_length}))
			mime_note(to, CONTENT_NOTE_TWO_BOUNDARIES, to->mime->field.value64);
		return;
	}
	if (text.length > sizeof(head->boundary)) {
		mime_note(to, CONTENT_NOTE_BAD_MULTIPART, to->mime->field.value64);
		return;
	}
	memcpy(head->boundary, text.bytes, text.length);
	head->boundary_length = (uint8_t)text.length;
}

static void take_type(const struct mime_call *to, struct content_text value)
{
	struct mime_head *head = &to->mime->head;
	struct mime_parameter parameter;
	uint32_t hash = hash_of(value);

	mime_names_find(&head->names, value, "name");
	if (head->has_type) {
		if (hash != head->type_hash)
			mime_note(to, CONTENT_NOTE_TWO_TYPES, to->mime->field.value64);
		return;
	}
	head->has_type = true;
	head->type_hash = hash;
	head->type_length = (uint8_t)take_word(value, ';', head->type, sizeof(head->type));
	value = http_text_from(value, http_until(value, ';'));
	while (mime_parameter_next(&value, &parameter)) {
		if (http_is(parameter.name, "boundary"))
			take_boundary(to, head, &parameter);
		else if (http_begins(parameter.name, "boundary*")) // few readers know it
			mime_note(to, CONTENT_NOTE_TWO_BOUNDARIES, to->mime->field.value64);
		else if (http_is(parameter.name, "charset"))
			head->charset = (uint8_t)charset_by_name(
				parameter.value.bytes, parameter.value.length);
	}
}

static void take_disposition(const struct mime_call *to, struct content_text value)
{
	struct mime_head *head = &to->mime->head;
	uint8_t word[16];
	const struct content_text what = {word, take_word(value, ';', word, sizeof(word))};

	head->attached |= http_begins(what, "attachment");
	mime_names_find(&head->names, value, "filename");
}

static void take_encoding(const struct mime_call *to, struct content_text value)
{
	static const struct {
		const char *word;
		uint8_t encoding;
	} encodings[] = {
		{"", MIME_AS_IS},
		{"7bit", MIME_AS_IS},
		{"8bit", MIME_AS_IS},
		{"binary", MIME_AS_IS},
		{"base64", MIME_BASE64},
		{"quoted-printable", MIME_QUOTED},
		{"uuencode", MIME_UU},
		{"uue", MIME_UU},
		{"x-uuencode", MIME_UU},
		{"x-uue", MIME_UU},
	};
	struct mime_head *head = &to->mime->head;
	uint8_t bytes[32];
	const struct content_text word = {bytes, take_word(value, ';', bytes, sizeof(bytes))};
	uint32_t hash = hash_of(word);

	if (head->has_encoding && hash != head->encoding_hash)
		mime_note(to, CONTENT_NOTE_TWO_ENCODINGS, to->mime->field.value64);
	if (head->has_encoding)
		return;
	head->has_encoding = true;
	head->encoding_hash = hash;
	if (hash != hash_of(value)) // some readers do not know it then
		mime_note(to, CONTENT_NOTE_TWO_ENCODINGS, to->mime->field.value64);
	for (unsigned i = 0; i < sizeof(encodings) / sizeof(encodings[0]); i++)
		if (http_is(word, encodings[i].word)) {
			head->encoding = encodings[i].encoding;
			return;
		}
	mime_note(to, CONTENT_NOTE_CODING_UNKNOWN, to->mime->field.value64);
}

static void take_subject(const struct mime_call *to, struct content_text value)
{
	const struct mime_field *field = &to->mime->field;
	struct mime_subject *subject = &to->mime->subject;
	uint8_t *bytes = to->mime->text.bytes;

	if (to->mime->head_of == MIME_HEAD_PART || !value.length)
		return;
	mime_subject_tell(to);
	*subject = (struct mime_subject){.begins64 = field->value64,
		.ends64 = field->value_ends64,
		.length = value.length,
		// line ends, and what stands between chunks, are left out of it
		.verbatim = field->value_ends64 - field->value64 == value.length,
		.torn = field->torn};
	if (!memmem(value.bytes, value.length, "=?", 2)) {
		memcpy(bytes, value.bytes, value.length);
		return;
	}
	subject->length = text_decode_words(value.bytes, value.length, bytes, CONTENT_TEXT_BYTES);
	subject->verbatim = false;
}

static void take_from(const struct mime_call *to, struct content_text value)
{
	struct mime *mime = to->mime;
	bool full = false;

	if (mime->head_of == MIME_HEAD_MAIL && !mime->from_length)
		mime->from_length =
			(uint8_t)mime_addresses(value, mime->from, 0, sizeof(mime->from), &full);
}

static void take_to(const struct mime_call *to, struct content_text value)
{
	struct mime *mime = to->mime;

	if (mime->head_of == MIME_HEAD_MAIL && !to->about->news)
		mime->to_length = (uint16_t)mime_addresses(
			value, mime->to, mime->to_length, sizeof(mime->to), &mime->to_full);
}

static void take_groups(const struct mime_call *to, struct content_text value)
{
	struct mime *mime = to->mime;

	if (mime->head_of == MIME_HEAD_MAIL && to->about->news)
		mime->to_length = (uint16_t)mime_addresses(
			value, mime->to, mime->to_length, sizeof(mime->to), &mime->to_full);
}

static const struct {
	const char *name;
	void (*take)(const struct mime_call *to, struct content_text value);
	bool of_content;
} fields[] = {
	{"cc", take_to, false},
	{"content-disposition", take_disposition, true},
	{"content-transfer-encoding", take_encoding, true},
	{"content-type", take_type, true},
	{"from", take_from, false},
	{"newsgroups", take_groups, false},
	{"subject", take_subject, false},
	{"to", take_to, false},
};

void mime_field_take(const struct mime_call *to)
{
	struct mime_field *field = &to->mime->field;
	const struct content_text all = {field->bytes, field->length};
	struct content_text said = {field->bytes, field->value_at ? field->value_at - 1u : 0};
	struct content_text name = http_trim(said);

	for (unsigned i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (!http_is(name, fields[i].name))
			continue;
		if (fields[i].of_content && name.length < said.length)
			mime_note(to, CONTENT_NOTE_SPACE_BEFORE_COLON, field->value64);
		if (fields[i].of_content && field->cut)
			mime_note(to, CONTENT_NOTE_HEAD_TOO_LONG, field->value64);
		fields[i].take(to, http_trim(http_text_from(all, field->value_at)));
		return;
	}
}
