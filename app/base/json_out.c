// SPDX-License-Identifier: BSD-3-Clause
// A JSON writer without objects: commas and escapes, into a buffer of the caller's.
#include "base/json_out.h"

#include <string.h>
#include "base/address_text.h"
#include "base/utf8.h"

static void put(struct json_out *out, const char *text, size_t length)
{
	if (out->full || (size_t)(out->end - out->at) < length) {
		out->full = true;
		return;
	}
	memcpy(out->at, text, length);
	out->at += length;
}

static void put_char(struct json_out *out, char c)
{
	put(out, &c, 1);
}

void json_out_init(struct json_out *out, char *buffer, size_t size)
{
	*out = (struct json_out){.start = buffer, .at = buffer, .end = buffer + size};
}

size_t json_out_length(const struct json_out *out)
{
	return (size_t)(out->at - out->start);
}

static void put_key(struct json_out *out, const char *key)
{
	char last = out->at > out->start ? out->at[-1] : '{';

	if (last != '{' && last != '[' && last != '\n')
		put_char(out, ',');
	if (!key)
		return;
	put_char(out, '"');
	put(out, key, strlen(key));
	put(out, "\":", 2);
}

void json_out_open(struct json_out *out, const char *key, char bracket)
{
	put_key(out, key);
	put_char(out, bracket);
}

void json_out_close(struct json_out *out, char bracket)
{
	put_char(out, bracket);
}

static void put_escape(struct json_out *out, uint32_t c)
{
	static const char hex[] = "0123456789abcdef";
	char text[6] = {
		'\\', 'u', hex[c >> 12 & 15], hex[c >> 8 & 15], hex[c >> 4 & 15], hex[c & 15]};

	switch (c) {
	case '"': put(out, "\\\"", 2); break;
	case '\\': put(out, "\\\\", 2); break;
	case '\n': put(out, "\\n", 2); break;
	case '\r': put(out, "\\r", 2); break;
	case '\t': put(out, "\\t", 2); break;
	default: put(out, text, sizeof text); break;
	}
}

void json_out_text(struct json_out *out, const char *key, const char *value, size_t length)
{
	const uint8_t *p = (const uint8_t *)value;
	size_t plain = 0; // where the run that needs no escape began

	put_key(out, key);
	put_char(out, '"');
	for (size_t i = 0; i < length;) {
		uint32_t c = 0xfffd; // of what is no character

		if (p[i] >= 0x20 && p[i] < 0x7f && p[i] != '"' && p[i] != '\\') {
			i++;
			continue;
		}
		size_t n = utf8_take(p + i, length - i, &c);

		if (n > 1 && !utf8_is_control(c)) {
			i += n;
			continue;
		}
		put(out, value + plain, i - plain);
		put_escape(out, c);
		plain = i += n ? n : 1;
	}
	put(out, value + plain, length - plain);
	put_char(out, '"');
}

void json_out_string(struct json_out *out, const char *key, const char *value)
{
	json_out_text(out, key, value, strlen(value));
}

void json_out_address(struct json_out *out, const char *key, const uint8_t address[16])
{
	char text[ADDRESS_TEXT_BYTES];

	address_text(address, text);
	json_out_string(out, key, text);
}

void json_out_u64(struct json_out *out, const char *key, uint64_t value)
{
	char digits[20];
	size_t n = sizeof digits;

	do {
		digits[--n] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	put_key(out, key);
	put(out, digits + n, sizeof digits - n);
}

void json_out_bool(struct json_out *out, const char *key, bool value)
{
	put_key(out, key);
	put(out, value ? "true" : "false", value ? 4 : 5);
}

void json_out_raw(struct json_out *out, const char *key, const char *json, size_t length)
{
	put_key(out, key);
	put(out, json, length);
}

void json_out_newline(struct json_out *out)
{
	put_char(out, '\n');
}
