// SPDX-License-Identifier: BSD-3-Clause
#include "host_name.h"
#include "classify.h"
#include "tls_record.h"

static enum host_seen take_name(struct text from, struct host_name *name)
{
	if (!from.length || from.length > HOST_NAME_BYTES)
		return HOST_NONE;
	memcpy(name->bytes, from.at, from.length);
	name->length = (uint8_t)from.length;
	return HOST_FOUND;
}

// The handshake messages without the headers of the records they come in (RFC 8446 5.1: they may be
// cut anywhere). False: a record of another kind, or none; what stands before it counts.
static bool handshake_join(struct text half, uint8_t *bytes, struct text *joined)
{
	*joined = (struct text){bytes, 0};
	while (half.length >= TLS_RECORD_BYTES) {
		if (!tls_is_record(half) || half.at[0] != TLS_HANDSHAKE)
			return false;
		uint32_t length = octets_be16(half.at + 3);

		half = text_from(half, TLS_RECORD_BYTES);
		if (length > half.length)
			length = half.length;
		memcpy(bytes + joined->length, half.at, length);
		joined->length += length;
		half = text_from(half, length);
	}
	return !half.length || half.at[0] == TLS_HANDSHAKE;
}

// A vector: its length in `width` bytes, then that many, of which `here` may be less than all.
struct vector {
	struct text here;
	bool whole;
};

// False: not even its length is here. `rest` goes behind it.
static bool take_vector(struct text *rest, unsigned width, struct vector *vector)
{
	uint32_t length = 0;

	if (rest->length < width)
		return false;
	for (unsigned i = 0; i < width; i++)
		length = length << 8 | rest->at[i];
	*rest = text_from(*rest, width);
	vector->whole = length <= rest->length;
	vector->here = (struct text){rest->at, vector->whole ? length : rest->length};
	*rest = text_from(*rest, length);
	return true;
}

// RFC 6066 3: a list of (type 0, name); there is one name of that type, at most.
static enum host_seen server_name(struct vector extension, struct host_name *name)
{
	struct text rest = extension.here;
	enum host_seen open = extension.whole ? HOST_NONE : HOST_MORE;
	struct vector list, entry;

	if (!take_vector(&rest, 2, &list))
		return open;
	rest = list.here;
	while (rest.length) {
		uint8_t type = rest.at[0];

		rest = text_from(rest, 1);
		if (!take_vector(&rest, 2, &entry))
			return open;
		if (type)
			continue;
		return entry.whole ? take_name(entry.here, name) : open;
	}
	return open;
}

// RFC 8446 4.1.2. `hello` is what is here of the message behind its header.
static enum host_seen client_hello(struct vector hello, struct host_name *name)
{
	struct text rest = hello.here;
	enum host_seen open = hello.whole ? HOST_NONE : HOST_MORE;
	struct vector skip, extensions, extension;

	if (rest.length < 2 + 32)
		return open;
	rest = text_from(rest, 2 + 32); // version, random
	// session id, cipher suites, compression methods
	if (!take_vector(&rest, 1, &skip) || !take_vector(&rest, 2, &skip) ||
		!take_vector(&rest, 1, &skip) || !take_vector(&rest, 2, &extensions))
		return open;
	rest = extensions.here;
	while (rest.length) {
		if (rest.length < 2)
			return open;
		uint16_t type = octets_be16(rest.at);

		rest = text_from(rest, 2);
		if (!take_vector(&rest, 2, &extension))
			return open;
		if (type == 0)
			return server_name(extension, name);
	}
	return extensions.whole ? HOST_NONE : open;
}

static enum host_seen host_of_tls(struct text half, struct host_name *name)
{
	uint8_t bytes[CLASSIFY_PREFIX_BYTES];
	struct text message;
	struct vector hello;

	if (half.length > sizeof(bytes))
		half.length = sizeof(bytes);
	bool goes_on = handshake_join(half, bytes, &message);

	if (message.length && message.at[0] != 1) // client_hello
		return HOST_NONE;
	message = text_from(message, 1);
	if (!take_vector(&message, 3, &hello))
		return goes_on ? HOST_MORE : HOST_NONE;
	enum host_seen seen = client_hello(hello, name);

	return seen == HOST_MORE && !goes_on ? HOST_NONE : seen;
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

	if (!length)
		return HOST_MORE;
	return bytes[0] == TLS_HANDSHAKE ? host_of_tls(half, name) : host_of_http(half, name);
}
