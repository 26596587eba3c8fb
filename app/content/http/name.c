// SPDX-License-Identifier: BSD-3-Clause
// Finds the name of a file in Content-Disposition or in a path.
#include "content/http/name.h"

#include "content/charset.h"

static struct content_text extension(struct content_text name)
{
	uint32_t i = name.length;

	while (i && name.bytes[i - 1] != '.')
		i--;
	return i ? http_text_from(name, i) : (struct content_text){NULL, 0};
}

bool http_name_same_extension(struct content_text a, struct content_text b)
{
	struct content_text x = extension(a), y = extension(b);
	uint32_t i = 0;

	while (i < x.length && i < y.length && octets_lower(x.bytes[i]) == octets_lower(y.bytes[i]))
		i++;
	return i == x.length && i == y.length;
}

// The end of a name that is too long, and no part of a character of UTF-8 at its beginning.
static struct http_name cut(struct content_text text, enum content_name_source source)
{
	struct http_name name = {text, (uint8_t)source, text.length > CONTENT_NAME_BYTES, false};

	if (!name.cut)
		return name;
	name.text = http_text_from(text, text.length - CONTENT_NAME_BYTES);
	for (unsigned i = 0; i < 3 && (name.text.bytes[0] & 0xc0) == 0x80; i++)
		name.text = http_text_from(name.text, 1);
	return name;
}

// Percent signs are undone in place, and characters of ISO 8859-1 become UTF-8: never more bytes
// than before. False: a percent sign that is none (RFC 8187 section 3.2.1: no value at all).
static bool decode_percent(struct http_value *value, bool latin1)
{
	uint32_t length = 0;

	for (uint32_t i = 0; i < value->length; i++) {
		uint8_t byte = value->bytes[i];

		if (byte == '%') {
			int escaped =
				value->length - i >= 3 ? text_hex_pair(value->bytes + i + 1) : -1;

			if (escaped < 0)
				return false;
			byte = (uint8_t)escaped;
			i += 2;
			if (latin1 && byte >= 0x80) {
				value->bytes[length++] = (uint8_t)(0xc0 | byte >> 6);
				byte = 0x80 | (byte & 0x3f);
			}
		}
		value->bytes[length++] = byte;
	}
	value->length = length;
	return true;
}

// ext-value of RFC 8187: charset'language'value. A charset that is not UTF-8 is read as ISO 8859-1:
// text_decode_extended() has no value then, so that the name would be that of `filename` or of the
// path, with another extension; and to it a percent sign that is none is a character.
static bool decode_extended(struct http_value *value)
{
	struct content_text rest = http_value_text(*value), charset = rest;

	charset.length = http_until(rest, '\'');
	rest = http_text_from(rest, charset.length + 1);
	uint32_t language = http_until(rest, '\'');

	if (!rest.length || language == rest.length)
		return false;
	uint32_t begin = charset.length + 1 + language + 1;

	value->bytes += begin;
	value->length -= begin;
	return decode_percent(value, !http_is(charset, "utf-8"));
}

// Some hosts end what is not quoted at the first blank, and see another extension then.
static bool blank_hides_extension(const struct http_parameter *parameter)
{
	struct content_text all = http_value_text(parameter->value), first = all;

	if (parameter->quoted)
		return false;
	first.length = http_until(all, ' ');
	return first.length < all.length && extension(first).length &&
	       !http_name_same_extension(first, all);
}

// filename*0, filename*1* and the like (RFC 2231) are no part of RFC 8187; some hosts join them.
static bool is_continuation(struct content_text name)
{
	return http_begins(name, "filename*") && name.length > 9;
}

struct http_name http_name_disposition(struct http_value value)
{
	struct content_text plain = {NULL, 0}, extended = {NULL, 0};
	struct http_parameter parameter;
	bool two = false;

	http_value_word(&value);
	while (http_parameter_next(&value, &parameter)) {
		struct content_text *into = &plain;

		if (is_continuation(parameter.name)) {
			two = true;
			continue;
		}
		if (http_is(parameter.name, "filename*")) {
			if (!decode_extended(&parameter.value))
				continue;
			into = &extended;
		} else if (!http_is(parameter.name, "filename")) {
			continue;
		}
		struct content_text text = http_value_text(parameter.value);

		two |= blank_hides_extension(&parameter);
		if (!into->bytes)
			*into = text;
		else
			two |= !http_same(*into, text);
	}
	if (plain.length && extended.length)
		two |= !http_name_same_extension(plain, extended);
	struct http_name name = {.source = CONTENT_NAME_NONE};

	if (extended.length)
		name = cut(extended, CONTENT_NAME_HEADER_EXTENDED);
	else if (plain.length)
		name = cut(plain, CONTENT_NAME_HEADER);
	name.two = two;
	return name;
}

struct http_name http_name_path(struct content_text path)
{
	struct content_text segment;
	uint32_t i;

	path.length = http_until(path, '?');
	path.length = http_until(path, '#');
	for (i = path.length; i && path.bytes[i - 1] != '/'; i--)
		;
	segment = http_text_from(path, i);
	return segment.length ? cut(segment, CONTENT_NAME_PATH) : (struct http_name){0};
}
