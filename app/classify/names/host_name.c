// SPDX-License-Identifier: BSD-3-Clause
// Extracts the host name from a ClientHello or from the head of an HTTP/1 request.
#include "classify/names/host_name.h"
#include "classify/names/http_line.h"
#include "classify/names/follow.h"
#include "classify/handshake/tls_hello.h"
#include "classify/handshake/tls_record.h"

static enum host_seen take_name(struct text from, struct host_name *name)
{
	if (!from.length || from.length > HOST_NAME_BYTES)
		return HOST_NONE;
	memcpy(name->bytes, from.at, from.length);
	name->length = (uint8_t)from.length;
	return HOST_FOUND;
}

// RFC 6066 3: literal addresses are not permitted there, nor is a port; and are sent.
static bool is_address(struct text name)
{
	struct text rest = name, host = text_take(&rest, ':');
	uint32_t i = 0;

	while (i < host.length && (octets_digit(host.at[i]) || host.at[i] == '.'))
		i++;
	if (i == host.length)
		return true;
	for (i = 0; i < name.length; i++)
		if (octets_hex(name.at[i]) < 0 && (!name.at[i] || !strchr(":.[]", name.at[i])))
			return false;
	return text_contains_byte(rest, ':'); // of version 6
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

static enum host_seen take_authority(struct text authority, struct host_name *name)
{
	struct host_name names[HTTP_HOSTS];

	http_line_hosts(authority, names);
	return take_name((struct text){names[0].bytes, names[0].length}, name);
}

static enum host_seen host_field(struct text rest, struct host_name *name)
{
	struct http_field field;
	struct text line;

	while (text_take_line(&rest, &line)) {
		if (!line.length)
			return HOST_NONE;
		http_line_field(line, &field);
		if (text_is(field.name, "host"))
			return take_authority(field.value, name);
	}
	return HOST_MORE;
}

static enum host_seen host_of_http(struct text half, struct host_name *name)
{
	struct text rest = half, line;
	struct http_line request;

	// RFC 9112 2.2: a server takes empty lines before the request line.
	while (rest.length && (rest.at[0] == '\r' || rest.at[0] == '\n'))
		rest = text_from(rest, 1);
	if (!text_take_line(&rest, &line))
		return http_line_may_be_request(rest) &&
				       (text_is_printable(rest) || text_contains_byte(rest, '\r'))
			       ? HOST_MORE
			       : HOST_NONE;
	if (!http_line_request(line, &request))
		return HOST_NONE;
	return request.authority.length ? take_authority(request.authority, name)
					: host_field(rest, name);
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
