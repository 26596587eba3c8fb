// SPDX-License-Identifier: BSD-3-Clause
#include "host_name.h"
#include "classify.h"
#include "names_follow.h"
#include "tls_hello.h"
#include "tls_record.h"

static enum host_seen take_name(struct text from, struct host_name *name)
{
	if (!from.length || from.length > HOST_NAME_BYTES)
		return HOST_NONE;
	memcpy(name->bytes, from.at, from.length);
	name->length = (uint8_t)from.length;
	return HOST_FOUND;
}

// RFC 6066 3: literal addresses are not permitted there; and are sent.
static bool is_address(struct text name)
{
	for (uint32_t i = 0; i < name.length; i++)
		if (!octets_digit(name.at[i]) && name.at[i] != '.')
			return text_contains_byte(name, ':');
	return true;
}

// RFC 5246 E.2: a hello in the form of SSL 2 has no place for a name.
static bool is_ssl2_hello(struct text half)
{
	return half.length >= 3 && half.at[0] & 0x80 && half.at[2] == 1;
}

static enum host_seen host_of_tls(struct text half, struct host_name *name)
{
	uint8_t bytes[NAME_HEAD_BYTES];
	struct text message;
	struct tls_hello hello;

	if (half.length > sizeof(bytes))
		half.length = sizeof(bytes);
	bool goes_on = tls_hello_join(half, true, bytes, &message);
	enum tls_hello_seen seen = tls_hello_read(message, TLS_OVER_TCP, &hello);

	name->app = tls_hello_application(&hello);

	if (hello.name.length)
		return is_address(hello.name) ? HOST_UNASKED : take_name(hello.name, name);
	if (seen == TLS_HELLO_WHOLE)
		return HOST_UNASKED;
	return seen == TLS_HELLO_MORE && goes_on ? HOST_MORE : HOST_NONE;
}

// RFC 3986 3.2: [ userinfo "@" ] host [ ":" port ]. An address in brackets is no name.
static enum host_seen take_authority(struct text authority, struct host_name *name)
{
	struct text host = authority;

	while (text_contains_byte(host, '@'))
		text_take(&host, '@');
	if (host.length && host.at[0] == '[')
		return HOST_NONE;
	return take_name(text_take(&host, ':'), name);
}

static struct text trimmed(struct text value)
{
	while (value.length && (value.at[0] == ' ' || value.at[0] == '\t'))
		value = text_from(value, 1);
	while (value.length &&
		(value.at[value.length - 1] == ' ' || value.at[value.length - 1] == '\t'))
		value.length--;
	return value;
}

static enum host_seen host_field(struct text rest, struct host_name *name)
{
	struct text line;

	while (text_take_line(&rest, &line)) {
		if (!line.length)
			return HOST_NONE;
		if (text_is(text_take(&line, ':'), "host"))
			return take_authority(trimmed(line), name);
	}
	return HOST_MORE;
}

// scheme "://" authority, up to the path, query or fragment. False: another form of target.
static bool absolute_form(struct text target, struct text *authority)
{
	uint32_t i = 0;

	if (!target.length || !text_is_letter(target.at[0]))
		return false;
	while (i < target.length && target.at[i] != ':')
		i++;
	struct text rest = text_from(target, i);

	if (!text_begins(rest, "://"))
		return false;
	rest = text_from(rest, 3);
	for (i = 0; i < rest.length; i++)
		if (rest.at[i] == '/' || rest.at[i] == '?' || rest.at[i] == '#')
			break;
	*authority = (struct text){rest.at, i};
	return true;
}

static enum host_seen host_of_http(struct text half, struct host_name *name)
{
	struct text rest = half, line, target, authority;

	// RFC 9112 2.2: a server takes empty lines before the request line.
	while (rest.length && (rest.at[0] == '\r' || rest.at[0] == '\n'))
		rest = text_from(rest, 1);
	if (rest.length && !text_is_letter(rest.at[0]))
		return HOST_NONE;
	if (!text_take_line(&rest, &line))
		return text_is_printable(rest) || text_contains_byte(rest, '\r') ? HOST_MORE
										 : HOST_NONE;
	struct text method = text_take_word(&line);

	target = text_take_word(&line);
	if (!target.length || !text_begins(line, "HTTP/1."))
		return HOST_NONE;
	if (text_is(method, "CONNECT"))
		return take_authority(target, name);
	if (absolute_form(target, &authority))
		return take_authority(authority, name);
	return host_field(rest, name);
}

enum host_seen host_name_find(const uint8_t *bytes, uint32_t length, struct host_name *name)
{
	struct text half = {bytes, length};

	name->app = APP_NONE;
	if (!length)
		return HOST_MORE;
	if (is_ssl2_hello(half))
		return HOST_UNASKED;
	return tls_may_begin(bytes[0]) ? host_of_tls(half, name) : host_of_http(half, name);
}
