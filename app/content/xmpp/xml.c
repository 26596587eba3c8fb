// SPDX-License-Identifier: BSD-3-Clause
// Reads XML byte by byte; runs of text and of attribute values are taken at once.
#include "content/xmpp/xml.h"

#include <string.h>
#include "content/charset.h"
#include "content/http/text.h"

#define FNV_BASIS    0x811c9dc5u
#define FNV_PRIME    0x01000193u
#define FNV_BASIS_64 0xcbf29ce484222325u
#define FNV_PRIME_64 0x100000001b3u

enum state {
	STATE_TEXT,
	STATE_REFERENCE,
	STATE_OPEN, // behind '<'
	STATE_BANG, // behind "<!"
	STATE_CDATA,
	STATE_CDATA_1, // behind ']'
	STATE_CDATA_2, // behind "]]"
	STATE_NAME,
	STATE_TAG, // behind white space in a tag
	STATE_ATTRIBUTE,
	STATE_EQUALS, // behind an attribute's name
	STATE_QUOTE,  // behind '='
	STATE_VALUE,
	STATE_VALUE_END,
	STATE_EMPTY,    // behind '/'
	STATE_DECLARED, // behind '?' at the end of a declaration
	STATE_END_NAME, // behind "</"
	STATE_END_TAIL, // white space behind the name of an end tag
};

bool xml_is_name_byte(uint8_t c)
{
	uint8_t lower = octets_lower(c);

	return (lower >= 'a' && lower <= 'z') || octets_digit(c) || c == ':' || c == '-' ||
	       c == '_' || c == '.' || c >= 0x80;
}

static bool begins_name(uint8_t c)
{
	return xml_is_name_byte(c) && !octets_digit(c) && c != ':' && c != '-' && c != '.';
}

void xml_begin(struct xml_reader *reader, const struct xml_wanted *wanted)
{
	reader->wanted = wanted;
	reader->depth = 0;
	reader->state = STATE_TEXT;
}

struct content_text xml_value_of(const struct xml_reader *reader, unsigned as)
{
	const struct xml_value *value = &reader->values[as];

	return (struct content_text){reader->room + value->at, value->length};
}

struct content_text xml_name_of(const struct xml_reader *reader)
{
	uint8_t length = reader->name_length;

	return (struct content_text){reader->name, length > XML_NAME_BYTES ? 0u : length};
}

static void begin_tag(struct xml_reader *reader)
{
	reader->tag_bytes = 1;
	reader->hash = FNV_BASIS;
	reader->name_length = 0;
	reader->empty = reader->declaration = reader->limited = false;
	reader->values_length = 0;
	memset(reader->values, 0, sizeof(reader->values));
}

static void put_name(struct xml_reader *reader, uint8_t c)
{
	reader->hash = (reader->hash ^ c) * FNV_PRIME;
	if (c == ':')
		reader->name_length = 0;
	else if (reader->name_length < XML_NAME_BYTES)
		reader->name[reader->name_length++] = c;
	else
		reader->name_length = XML_NAME_BYTES + 1;
}

static void begin_attribute(struct xml_reader *reader, uint8_t c)
{
	reader->attribute_length = 1;
	reader->attribute[0] = c;
	reader->prefixed = false;
	reader->state = STATE_ATTRIBUTE;
}

static void put_attribute(struct xml_reader *reader, uint8_t c)
{
	reader->prefixed |= c == ':';
	if (reader->attribute_length < XML_NAME_BYTES)
		reader->attribute[reader->attribute_length++] = c;
	else
		reader->prefixed = true; // as long as none that is wanted
}

// False: the attribute is given twice, which XML forbids.
static bool begin_value(struct xml_reader *reader)
{
	struct content_text name = {reader->attribute, reader->attribute_length};

	reader->value = XML_WANTED_MAX;
	for (uint8_t i = 0; !reader->prefixed && reader->wanted[i].name; i++) {
		if (name.length != strlen(reader->wanted[i].name) ||
			memcmp(name.bytes, reader->wanted[i].name, name.length) != 0)
			continue;
		struct xml_value *value = &reader->values[reader->wanted[i].as];

		if (value->given)
			return false;
		reader->value = reader->wanted[i].as;
		reader->value_row = i;
		*value = (struct xml_value){
			.hash = FNV_BASIS_64, .at = reader->values_length, .given = true};
	}
	return true;
}

static void put_value(struct xml_reader *reader, const uint8_t *bytes, uint32_t length)
{
	if (reader->value == XML_WANTED_MAX)
		return;
	const struct xml_wanted *wanted = &reader->wanted[reader->value_row];
	struct xml_value *value = &reader->values[reader->value];
	uint8_t *at = reader->room + value->at;

	for (uint32_t i = 0; i < length; i++)
		value->hash = (value->hash ^ bytes[i]) * FNV_PRIME_64;
	for (uint32_t i = 0; i < length; i++) {
		if (value->length == wanted->room) {
			uint16_t gone = wanted->room / 4;

			value->cut = true;
			if (!wanted->keeps_end)
				return;
			memmove(at, at + gone, value->length - gone);
			value->length = (uint16_t)(value->length - gone);
		}
		at[value->length++] = bytes[i];
	}
}

static void end_value(struct xml_reader *reader)
{
	if (reader->value != XML_WANTED_MAX)
		reader->values_length =
			(uint16_t)(reader->values_length + reader->values[reader->value].length);
}

static enum xml_event end_reference(struct xml_reader *reader, struct xml_token *token)
{
	struct content_text name = {reader->reference, reader->n_reference};
	struct text_out out = {.bytes = reader->point, .size = sizeof(reader->point)};
	int32_t point = xml_reference_point(name);

	if (point < 0)
		return XML_BAD;
	text_out_put(&out, point);
	if (reader->in_value) {
		put_value(reader, reader->point, out.written);
		reader->state = STATE_VALUE;
		return XML_MORE;
	}
	reader->state = STATE_TEXT;
	token->text = reader->point;
	token->length = out.written;
	token->raw = reader->n_reference + 2u;
	return XML_TEXT;
}

static enum xml_event step_reference(struct xml_reader *reader, uint8_t c, struct xml_token *token)
{
	if (c == ';')
		return end_reference(reader, token);
	if (reader->n_reference == XML_REFERENCE || !(xml_is_name_byte(c) || c == '#'))
		return XML_BAD;
	reader->reference[reader->n_reference++] = c;
	return XML_MORE;
}

static void begin_reference(struct xml_reader *reader, bool in_value)
{
	reader->n_reference = 0;
	reader->in_value = in_value;
	reader->state = STATE_REFERENCE;
}

// A start tag is whole.
static enum xml_event end_start(struct xml_reader *reader)
{
	reader->state = STATE_TEXT;
	if (reader->depth == UINT32_MAX)
		return XML_BAD;
	if (reader->depth < XML_DEPTH)
		reader->hashes[reader->depth] = reader->hash;
	reader->depth++;
	return XML_START;
}

static enum xml_event end_end(struct xml_reader *reader)
{
	reader->state = STATE_TEXT;
	if (!reader->depth)
		return XML_STRAY;
	reader->depth--;
	if (reader->depth < XML_DEPTH && reader->hashes[reader->depth] != reader->hash) {
		reader->depth++;
		return XML_BAD;
	}
	return XML_END;
}

static enum xml_event step_open(struct xml_reader *reader, uint8_t c)
{
	if (c == '/') {
		reader->state = STATE_END_NAME;
	} else if (c == '!' && reader->depth) {
		reader->matched = 0;
		reader->state = STATE_BANG;
	} else if (c == '?' && !reader->depth) {
		reader->declaration = true;
		reader->state = STATE_NAME;
	} else if (begins_name(c)) {
		put_name(reader, c);
		reader->state = STATE_NAME;
	} else {
		return XML_BAD;
	}
	return XML_MORE;
}

static enum xml_event step_bang(struct xml_reader *reader, uint8_t c)
{
	static const char cdata[] = "[CDATA[";

	if (c != (uint8_t)cdata[reader->matched])
		return XML_BAD;
	if (!cdata[++reader->matched])
		reader->state = STATE_CDATA;
	return XML_MORE;
}

static bool declares_xml(const struct xml_reader *reader)
{
	return reader->name_length == 3 && !memcmp(reader->name, "xml", 3);
}

// In a tag, where an attribute may begin. `spaced`: white space stands before.
static enum xml_event step_tag(struct xml_reader *reader, uint8_t c, bool spaced)
{
	if (xml_is_space(c)) {
		reader->state = STATE_TAG;
	} else if (reader->declaration) {
		if (c == '?')
			reader->state = STATE_DECLARED;
		else if (spaced && xml_is_name_byte(c))
			begin_attribute(reader, c);
		else
			return XML_BAD;
	} else if (c == '>') {
		return end_start(reader);
	} else if (c == '/') {
		reader->state = STATE_EMPTY;
	} else if (spaced && xml_is_name_byte(c)) {
		begin_attribute(reader, c);
	} else {
		return XML_BAD;
	}
	return XML_MORE;
}

static enum xml_event step_name(struct xml_reader *reader, uint8_t c)
{
	if (xml_is_name_byte(c)) {
		put_name(reader, c);
		return XML_MORE;
	}
	if (reader->declaration && !declares_xml(reader))
		return XML_BAD;
	return step_tag(reader, c, false);
}

static enum xml_event step_attribute(struct xml_reader *reader, uint8_t c)
{
	if (c == '=')
		reader->state = STATE_QUOTE;
	else if (xml_is_space(c))
		reader->state = STATE_EQUALS;
	else if (xml_is_name_byte(c))
		put_attribute(reader, c);
	else
		return XML_BAD;
	return XML_MORE;
}

static enum xml_event step_quote(struct xml_reader *reader, uint8_t c)
{
	if (xml_is_space(c))
		return XML_MORE;
	if ((c != '\'' && c != '"') || !begin_value(reader))
		return XML_BAD;
	reader->quote = c;
	reader->state = STATE_VALUE;
	return XML_MORE;
}

static enum xml_event step_end(struct xml_reader *reader, uint8_t c)
{
	if (c == '>')
		return end_end(reader);
	if (xml_is_space(c)) {
		reader->state = STATE_END_TAIL;
	} else if (reader->state == STATE_END_NAME && xml_is_name_byte(c)) {
		put_name(reader, c);
	} else {
		return XML_BAD;
	}
	return XML_MORE;
}

static enum xml_event step_equals(struct xml_reader *reader, uint8_t c)
{
	if (c == '=')
		reader->state = STATE_QUOTE;
	return c == '=' || xml_is_space(c) ? XML_MORE : XML_BAD;
}

// One byte of markup.
static enum xml_event step(struct xml_reader *reader, uint8_t c, struct xml_token *token)
{
	switch ((enum state)reader->state) {
	case STATE_REFERENCE: return step_reference(reader, c, token);
	case STATE_OPEN: return step_open(reader, c);
	case STATE_BANG: return step_bang(reader, c);
	case STATE_NAME: return step_name(reader, c);
	case STATE_TAG: return step_tag(reader, c, true);
	case STATE_VALUE_END: return step_tag(reader, c, false);
	case STATE_ATTRIBUTE: return step_attribute(reader, c);
	case STATE_EQUALS: return step_equals(reader, c);
	case STATE_QUOTE: return step_quote(reader, c);
	case STATE_EMPTY: reader->empty = true; return c == '>' ? end_start(reader) : XML_BAD;
	case STATE_DECLARED: reader->state = STATE_TEXT; return c == '>' ? XML_DECLARED : XML_BAD;
	default: return step_end(reader, c);
	}
}

// How far a run goes on: up to `one`, `other` or what is no character.
static uint32_t run_of(const uint8_t *bytes, uint32_t length, uint8_t one, uint8_t other)
{
	uint32_t i = 0;

	while (i < length && bytes[i] != one && bytes[i] != other && !xml_is_control(bytes[i]))
		i++;
	return i;
}

static enum xml_event run_token(struct xml_token *token, const uint8_t *bytes, uint32_t length)
{
	token->used += length;
	token->text = bytes;
	token->length = token->raw = length;
	return XML_TEXT;
}

static enum xml_event read_text(
	struct xml_reader *reader, const uint8_t *bytes, uint32_t length, struct xml_token *token)
{
	uint32_t run = run_of(bytes, length, '<', '&');

	if (run)
		return run_token(token, bytes, run);
	if (xml_is_control(bytes[0]))
		return XML_BAD;
	token->used++;
	if (bytes[0] == '&') {
		begin_reference(reader, false);
	} else {
		begin_tag(reader);
		reader->state = STATE_OPEN;
	}
	return XML_MORE;
}

// "]]>" ends it; what came of that and does not go on is text.
static enum xml_event read_cdata(
	struct xml_reader *reader, const uint8_t *bytes, uint32_t length, struct xml_token *token)
{
	static const uint8_t brackets[] = "]]";
	uint32_t run = run_of(bytes, length, ']', ']');

	if (reader->state == STATE_CDATA) {
		if (run)
			return run_token(token, bytes, run);
		if (xml_is_control(bytes[0]))
			return XML_BAD;
		token->used++;
		reader->state = STATE_CDATA_1;
		return XML_MORE;
	}
	bool two = reader->state == STATE_CDATA_2;

	if (bytes[0] == ']' || (two && bytes[0] == '>')) {
		token->used++;
		reader->state = bytes[0] == '>' ? STATE_TEXT : STATE_CDATA_2;
		if (!two || bytes[0] == '>')
			return XML_MORE;
		token->back = 2;
	} else {
		reader->state = STATE_CDATA;
	}
	token->text = brackets;
	token->length = token->raw = two && !token->back ? 2 : 1;
	return XML_TEXT;
}

static void count_tag(struct xml_reader *reader, uint32_t length)
{
	bool fits = length <= UINT32_MAX - reader->tag_bytes;

	reader->tag_bytes = fits ? reader->tag_bytes + length : UINT32_MAX;
}

static enum xml_event read_value(
	struct xml_reader *reader, const uint8_t *bytes, uint32_t length, struct xml_token *token)
{
	uint32_t run = 0;

	while (run < length && bytes[run] != reader->quote && bytes[run] != '&' &&
		bytes[run] != '<' && !xml_is_control(bytes[run]))
		run++;
	put_value(reader, bytes, run);
	token->used += run;
	count_tag(reader, run);
	if (run == length)
		return XML_MORE;
	if (bytes[run] == '&') {
		begin_reference(reader, true);
	} else if (bytes[run] == reader->quote) {
		end_value(reader);
		reader->state = STATE_VALUE_END;
	} else {
		return XML_BAD;
	}
	token->used++;
	count_tag(reader, 1);
	return XML_MORE;
}

// Whether the tag at hand has just become too long. At a byte that does not depend on how the
// stream was cut: `allowed` bytes of it may still be read.
static uint32_t allowed(const struct xml_reader *reader)
{
	return reader->limited ? UINT32_MAX : XML_TAG_BYTES - reader->tag_bytes;
}

static bool in_tag(const struct xml_reader *reader)
{
	return reader->state >= STATE_NAME ||
	       (reader->state == STATE_REFERENCE && reader->in_value);
}

static enum xml_event read_markup(
	struct xml_reader *reader, const uint8_t *bytes, uint32_t length, struct xml_token *token)
{
	bool tag = in_tag(reader) || reader->state == STATE_OPEN;

	if (tag && !allowed(reader)) {
		reader->limited = true;
		return XML_LIMIT;
	}
	if (tag && length > allowed(reader))
		length = allowed(reader);
	if (reader->state == STATE_VALUE)
		return read_value(reader, bytes, length, token);
	enum xml_event event = step(reader, bytes[0], token);

	if (event == XML_BAD)
		return event;
	token->used++;
	if (tag)
		count_tag(reader, 1);
	return event;
}

enum xml_event xml_read(
	struct xml_reader *reader, const uint8_t *bytes, uint32_t length, struct xml_token *token)
{
	enum xml_event event = XML_MORE;

	*token = (struct xml_token){0};
	while (event == XML_MORE && token->used < length) {
		const uint8_t *at = bytes + token->used;
		uint32_t left = length - token->used;

		if (reader->state == STATE_TEXT)
			event = read_text(reader, at, left, token);
		else if (reader->state >= STATE_CDATA && reader->state <= STATE_CDATA_2)
			event = read_cdata(reader, at, left, token);
		else
			event = read_markup(reader, at, left, token);
	}
	return event;
}
