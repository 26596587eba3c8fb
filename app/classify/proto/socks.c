// SPDX-License-Identifier: BSD-3-Clause
// SOCKS 4 and 4a (NEC's and Lee's notes), SOCKS 5 (RFC 1928). Requests are a few bytes that may
// mean anything: the answer must fit the question.
#include "classify/app_proto.h"
#include "classify/text.h"
#include "classify/proto/xmpp/offers.h"

#define SOCKS4_BYTES  8
#define REQUEST_KNOWN 5 // octets of a request that say to what kind of address

// RFC 1928 3, and IANA's registry of methods.
#define METHOD_GSSAPI   1
#define METHOD_PASSWORD 2
#define METHOD_LAST     9
#define METHOD_PRIVATE  0x80
#define METHOD_NONE     0xff

// 0.0.0.x: the host follows by name.
static bool is_socks4a(struct text client)
{
	return octets_be32(client.at + 4) <= 0xff && client.at[7];
}

// The half ends with its last NUL: user id, and for 4a (0.0.0.x) the host's name.
static bool is_socks4_request(struct text client)
{
	if (client.length <= SOCKS4_BYTES || (client.at[1] != 1 && client.at[1] != 2) ||
		!octets_be16(client.at + 2))
		return false;
	bool named = is_socks4a(client);
	struct text rest = text_from(client, SOCKS4_BYTES), user, host;

	if (!text_contains_byte(rest, 0))
		return false;
	user = text_take(&rest, 0);
	if (!named)
		return !rest.length && text_is_printable(user);
	if (!text_contains_byte(rest, 0))
		return false;
	host = text_take(&rest, 0);
	return !rest.length && host.length && text_is_printable(host);
}

static enum verify verify_socks4(const struct probe *probe, struct text client, struct text server)
{
	if (client.length <= SOCKS4_BYTES)
		return VERIFY_MORE;
	if (!server.length && !is_socks4_request(client))
		return VERIFY_NO;
	if (!server.length) // version, command, address of no host, both ends: 55 bits
		return probe->one_sided && is_socks4a(client) ? VERIFY_ALONE : VERIFY_MORE;
	if (server.length < SOCKS4_BYTES)
		return VERIFY_MORE;
	// Version 0, 90 granted, 91..93 refused. What the client sent since hides where its
	// request ended: ask the answer alone then.
	if (server.at[0] != 0 || server.at[1] < 90 || server.at[1] > 93)
		return VERIFY_NO;
	return is_socks4_request(client) ? VERIFY_YES : VERIFY_PARTIAL;
}

// RFC 1928 4: 5, command, 0, kind of address, address, port. Behind the methods: 44 bits.
static bool is_socks5_request(struct text request)
{
	if (request.length < REQUEST_KNOWN || request.at[0] != 5 || !request.at[1] ||
		request.at[1] > 3 || request.at[2])
		return false;
	switch (request.at[3]) {
	case 1: return request.length >= 4 + 4 + 2;
	case 3:
		return request.at[4] && request.length >= 4u + 1 + request.at[4] + 2 &&
		       text_is_printable((struct text){request.at + 5, request.at[4]});
	case 4: return request.length >= 4 + 16 + 2;
	default: return false;
	}
}

// As much as tells to what kind of address.
static bool is_request_head(struct text next)
{
	const uint8_t *at = next.at;

	return at[0] == 5 && at[1] && at[1] <= 3 && !at[2] &&
	       (at[3] == 1 || at[3] == 3 || at[3] == 4);
}

// What the client says once the server has chosen. It waits for the choice, and the server for it.
static enum verify verify_chosen(uint8_t method, struct text next, uint32_t n_server)
{
	if (!next.length)
		return n_server == 2 ? VERIFY_PARTIAL : VERIFY_NO;
	if (method == METHOD_GSSAPI || method == METHOD_PASSWORD) // RFC 1961 3, RFC 1929 2
		return next.at[0] == 1 ? VERIFY_YES : VERIFY_NO;
	if (method) // others have no frame that they share
		return method <= METHOD_LAST || method >= METHOD_PRIVATE ? VERIFY_PARTIAL
									 : VERIFY_NO;
	// a name of 40 letters may be a bytestream's of XMPP: that shows when all of it is here
	if (next.length < REQUEST_KNOWN || (next.at[3] == 3 && next.at[4] == XMPP_BYTESTREAM_NAME &&
						   next.length < XMPP_BYTESTREAM_REQUEST))
		return VERIFY_PARTIAL;
	return is_request_head(next) ? VERIFY_YES : VERIFY_NO;
}

// RFC 1928 3: 5, n, n methods; the answer: 5, one of them or 0xff.
static enum verify verify_socks5(const struct probe *probe, struct text client, struct text server)
{
	if (client.length < 3)
		return VERIFY_MORE;
	uint32_t n = client.at[1];

	if (xmpp_bytestream(probe) >= VERIFY_DPI)
		return VERIFY_NO; // not a proxy's client

	if (!n || client.length < 2 + n)
		return n ? VERIFY_MORE : VERIFY_NO;
	if (!server.length && probe->one_sided && is_socks5_request(text_from(client, 2 + n)))
		return VERIFY_ALONE;
	if (!server.length)
		return client.length == 2 + n || probe->one_sided ? VERIFY_MORE : VERIFY_NO;
	if (server.at[0] != 5)
		return VERIFY_NO;
	if (server.length < 2)
		return VERIFY_MORE;
	if (server.at[1] == METHOD_NONE)
		return server.length == 2 && client.length == 2 + n ? VERIFY_DPI : VERIFY_NO;
	if (!memchr(client.at + 2, server.at[1], n))
		return VERIFY_NO;
	return verify_chosen(server.at[1], text_from(client, 2 + n), server.length);
}

static enum verify verify(const struct probe *probe)
{
	struct text client = text_of(probe, HALF_C2S), server = text_of(probe, HALF_S2C);

	if (!client.length)
		return VERIFY_MORE;
	if (client.at[0] == 4)
		return verify_socks4(probe, client, server);
	return client.at[0] == 5 ? verify_socks5(probe, client, server) : VERIFY_NO;
}

const struct app_proto app_proto_socks = {
	.name = "socks",
	.title = "SOCKS",
	.group = "proxy",
	.category = APP_CATEGORY_NETWORK,
	.verify = verify,
	.tcp_ports = {1080},
};
