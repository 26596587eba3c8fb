// SPDX-License-Identifier: BSD-3-Clause
#include "json_out.h"

#include <string.h>

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

// Length of the well-formed UTF-8 sequence (RFC 3629: no overlong form, no surrogate, nothing
// beyond U+10FFFF) that starts here, or 0.
static size_t utf8_length(const uint8_t *p, size_t left)
{
	size_t n;
	uint32_t c;

	if (p[0] >= 0xc2 && p[0] <= 0xdf) {
		n = 2;
		c = p[0] & 0x1fu;
	} else if ((p[0] & 0xf0) == 0xe0) {
		n = 3;
		c = p[0] & 0x0fu;
	} else if (p[0] >= 0xf0 && p[0] <= 0xf4) {
		n = 4;
		c = p[0] & 0x07u;
	} else {
		return 0;
	}
	if (n > left)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3fu);
	}
	if ((n == 3 && (c < 0x800 || (c >= 0xd800 && c <= 0xdfff))) ||
		(n == 4 && (c < 0x10000 || c > 0x10ffff)))
		return 0;
	return n;
}

static void put_escape(struct json_out *out, uint8_t c)
{
	static const char hex[] = "0123456789abcdef";
	char text[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};

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
		size_t n;

		if (p[i] >= 0x20 && p[i] < 0x7f && p[i] != '"' && p[i] != '\\') {
			i++;
			continue;
		}
		n = p[i] >= 0x80 ? utf8_length(p + i, length - i) : 0;
		if (n) {
			i += n;
			continue;
		}
		put(out, value + plain, i - plain);
		if (p[i] >= 0x80)
			put(out, "\\ufffd", 6);
		else
			put_escape(out, p[i]);
		plain = ++i;
	}
	put(out, value + plain, length - plain);
	put_char(out, '"');
}

void json_out_string(struct json_out *out, const char *key, const char *value)
{
	json_out_text(out, key, value, strlen(value));
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
