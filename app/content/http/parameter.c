// SPDX-License-Identifier: BSD-3-Clause
// Takes a field's value apart into its first word and its parameters.
#include "content/http/parameter.h"

static void skip(struct http_value *rest, uint32_t n)
{
	rest->bytes += n;
	rest->length -= n;
}

static void skip_blanks(struct http_value *rest)
{
	while (rest->length && http_is_blank(rest->bytes[0]))
		skip(rest, 1);
}

static struct content_text take_until(struct http_value *rest, const char *ends)
{
	struct content_text taken = {rest->bytes, 0};

	while (rest->length && !(rest->bytes[0] && strchr(ends, rest->bytes[0]))) {
		taken.length++;
		skip(rest, 1);
	}
	return http_trim(taken);
}

struct content_text http_value_word(struct http_value *rest)
{
	return take_until(rest, ";");
}

// quoted-string, RFC 9110 section 5.6.4. One without an end goes to the end of the value.
static struct http_value take_quoted(struct http_value *rest)
{
	struct http_value value = {rest->bytes, 0};

	skip(rest, 1);
	while (rest->length && rest->bytes[0] != '"') {
		if (rest->bytes[0] == '\\' && rest->length > 1)
			skip(rest, 1);
		value.bytes[value.length++] = rest->bytes[0];
		skip(rest, 1);
	}
	take_until(rest, ";");
	return value;
}

bool http_parameter_next(struct http_value *rest, struct http_parameter *out)
{
	while (rest->length && (http_is_blank(rest->bytes[0]) || rest->bytes[0] == ';'))
		skip(rest, 1);
	if (!rest->length)
		return false;
	*out = (struct http_parameter){.name = take_until(rest, "=;")};
	out->value.bytes = rest->bytes;
	if (!rest->length || rest->bytes[0] != '=')
		return true;
	skip(rest, 1);
	skip_blanks(rest);
	out->quoted = rest->length && rest->bytes[0] == '"';
	if (out->quoted) {
		out->value = take_quoted(rest);
		return true;
	}
	out->value.bytes = rest->bytes;
	out->value.length = take_until(rest, ";").length;
	return true;
}
