// SPDX-License-Identifier: BSD-3-Clause
// Parses a ServerHello: its version, cipher suite and extensions.
#include "classify/handshake/tls_server.h"

#define RANDOM_BYTES 32
#define SESSION_MAX  32

enum extension {
	EXTENSION_ALPN = 16,
	EXTENSION_VERSIONS = 43,
};

static void read_extension(uint16_t type, struct text body, struct tls_server_hello *out)
{
	if (type == EXTENSION_VERSIONS && body.length == 2)
		out->version = octets_be16(body.at);
	// RFC 7301 3.1: a list of one name
	if (type == EXTENSION_ALPN && body.length > 3 && body.at[2] == body.length - 3 &&
		octets_be16(body.at) == body.length - 2)
		out->protocol = text_from(body, 3);
}

bool tls_server_hello_read(struct text body, struct tls_server_hello *out)
{
	memset(out, 0, sizeof(*out));
	if (body.length < 2 + RANDOM_BYTES + 1)
		return false;
	uint8_t session = body.at[2 + RANDOM_BYTES];

	out->version = octets_be16(body.at);
	body = text_from(body, 2 + RANDOM_BYTES + 1);
	if (session > SESSION_MAX || body.length < session + 3u)
		return false;
	body = text_from(body, session);
	out->cipher = octets_be16(body.at);
	body = text_from(body, 3);
	if (!body.length) // none before RFC 4366
		return true;
	if (body.length < 2 || octets_be16(body.at) != body.length - 2)
		return false;
	body = text_from(body, 2);
	while (body.length >= 4) {
		uint16_t type = octets_be16(body.at);
		uint32_t length = octets_be16(body.at + 2);

		body = text_from(body, 4);
		if (length > body.length)
			return false;
		read_extension(type, (struct text){body.at, length}, out);
		body = text_from(body, length);
	}
	return !body.length;
}
