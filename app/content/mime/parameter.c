// SPDX-License-Identifier: BSD-3-Clause
// Parameters of a field (RFC 2045 section 5.1), as mail readers find them: also where no semicolon
// stands before them.
#include "content/http/text.h"
#include "content/mime/work.h"

static uint32_t quoted_length(struct content_text text)
{
	uint32_t i = 0;

	while (i < text.length && text.bytes[i] != '"')
		i += text.bytes[i] == '\\' && i + 1 < text.length ? 2 : 1;
	return i;
}

static uint32_t until_any(struct content_text text, const char *ends)
{
	uint32_t i = 0;

	while (i < text.length && !(text.bytes[i] && strchr(ends, text.bytes[i])))
		i++;
	return i;
}

static struct content_text last_word(struct content_text text)
{
	uint32_t i;

	text = http_trim(text);
	for (i = text.length; i && !http_is_blank(text.bytes[i - 1]); i--)
		;
	return http_text_from(text, i);
}

bool mime_parameter_next(struct content_text *rest, struct mime_parameter *out)
{
	for (;;) {
		struct content_text name = *rest;

		name.length = until_any(*rest, "=;");
		if (name.length == rest->length)
			return false;
		bool has_value = rest->bytes[name.length] == '=';

		*rest = http_text_from(*rest, name.length + 1);
		if (!has_value)
			continue;
		while (rest->length && http_is_blank(rest->bytes[0]))
			*rest = http_text_from(*rest, 1);
		*out = (struct mime_parameter){
			.name = last_word(name), .quoted = rest->length && rest->bytes[0] == '"'};
		if (out->quoted)
			*rest = http_text_from(*rest, 1);
		out->value = *rest;
		out->value.length = out->quoted ? quoted_length(*rest) : http_until(*rest, ';');
		*rest = http_text_from(*rest, out->value.length + out->quoted);
		if (!out->quoted)
			out->value = http_trim(out->value);
		return true;
	}
}

uint32_t mime_unquote(struct content_text value, uint8_t *out)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < value.length; i++) {
		i += value.bytes[i] == '\\' && i + 1 < value.length;
		out[n++] = value.bytes[i];
	}
	return n;
}
